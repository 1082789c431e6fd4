//! A fixed amount of transfer, for instruction counts and profilers: `transfer [messages] [size] [packet] [batch]`.
#![forbid(unsafe_code)]

use anabranch_bench::{Pair, bulk_config};
use anabranch_sctp::config::Checksums;

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u64>().unwrap_or(0));
    let mut next = |default| args.next().unwrap_or(default);
    let (messages, size, packet, batch) = (next(2000), next(16 << 10), next(1452), next(16));
    let mut pair = Pair::new(bulk_config(packet as u16, Checksums::Crc32c), batch as usize);
    let bytes = pair.transfer(messages, size as usize);
    #[allow(clippy::print_stdout, reason = "the result of a command-line program")]
    {
        println!("{bytes} bytes delivered");
    }
}
