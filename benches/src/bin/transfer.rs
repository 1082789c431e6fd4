//! A fixed amount of transfer, for instruction counts and profilers: `transfer [messages] [size] [packet] [batch]
//! [snapshots]`; the last are taken when all has been delivered.
#![forbid(unsafe_code)]

use anabranch_bench::{Pair, bulk_config};
use anabranch_sctp::config::Checksums;

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u64>().unwrap_or(0));
    let mut next = |default| args.next().unwrap_or(default);
    let (messages, size, packet, batch, snapshots) =
        (next(2000), next(16 << 10), next(1452), next(16), next(0));
    let mut pair = Pair::new(bulk_config(packet as u16, Checksums::Crc32c), batch as usize);
    let bytes = pair.transfer(messages, size as usize);
    let seen: u64 = (0..snapshots).map(|_| pair.look().stats.chunks_sent).sum();
    #[allow(clippy::print_stdout, reason = "the result of a command-line program")]
    {
        println!("{bytes} bytes delivered, {seen} chunks counted");
    }
}
