//! In-memory transfer between two endpoints: CPU for every payload byte, both ends together.
#![forbid(unsafe_code)]

use anabranch_bench::{Pair, bulk_config};
use anabranch_sctp::config::Checksums;
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

const MESSAGES: u64 = 512;
const SIZE: usize = 16 << 10;

/// 16 KiB messages; SCTP packets of 1,228 and 1,452 bytes; one packet at a time, and 16 as segmentation offload wants.
#[divan::bench(args = [(1228, 1), (1452, 1), (1228, 16), (1452, 16)])]
fn crc32c(bencher: Bencher<'_, '_>, (packet, batch): (u16, usize)) {
    let mut pair = Pair::new(bulk_config(packet, Checksums::Crc32c), batch);
    bencher.counter(BytesCount::new(MESSAGES * SIZE as u64)).bench_local(|| pair.transfer(MESSAGES, SIZE));
}

/// A transfer in memory without checksums.
#[divan::bench(args = [(1228, 16), (1452, 16)])]
fn elided(bencher: Bencher<'_, '_>, (packet, batch): (u16, usize)) {
    let mut pair = Pair::new(bulk_config(packet, Checksums::Elided), batch);
    bencher.counter(BytesCount::new(MESSAGES * SIZE as u64)).bench_local(|| pair.transfer(MESSAGES, SIZE));
}

/// Small messages: the cost of each message.
#[divan::bench(args = [32, 256, 1024])]
fn small_messages(bencher: Bencher<'_, '_>, size: usize) {
    let mut pair = Pair::new(bulk_config(1452, Checksums::Crc32c), 16);
    bencher.counter(divan::counter::ItemsCount::new(8192_u64)).bench_local(|| pair.transfer(8192, size));
}
