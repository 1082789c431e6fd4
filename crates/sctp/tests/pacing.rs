//! Pacing: packets spread over the round trip, each lane for itself, and nothing else held back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::Config;
use anabranch_sctp::config::SubflowLevel;
use common::{Pair, Side, subflow_config};

/// Packets, and FNV-1a over the time, the side and the bytes of each: a life with losses and pauses.
fn life(config: &Config) -> (usize, u64) {
    let (mut pair, id) = Pair::connecting(7, config);
    let mut dice = Rng::stream(7, "loss", "golden");
    pair.drop_if(move |_| dice.below(25) == 0);
    pair.run_for(Duration::from_secs(30));
    for n in 0..400_usize {
        pair.send(Side::A, id, (n % 3) as u16, &vec![n as u8; 1 + n * 37 % 6000]);
        if n % 5 == 0 {
            pair.run_for(Duration::from_millis(40));
        }
    }
    pair.run_for(Duration::from_secs(100));
    assert_eq!(pair.received.len(), 400);
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |byte: u8| sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for packet in &pair.log {
        packet.at.as_nanos().to_be_bytes().into_iter().for_each(&mut eat);
        eat(packet.from as u8);
        packet.bytes.iter().copied().for_each(&mut eat);
    }
    (pair.log.len(), sum)
}

/// The numbers were taken from the version that had no pacer.
#[test]
fn without_pacing_packets_are_those_of_a_stack_without_a_pacer() {
    let one = |name: &str| life(&Config { send_buffer: 4 << 20, ..Config::named(name).unwrap() });
    let three = |level| life(&subflow_config(level, 3));
    let lives = [
        one("rfc9260-rack"),
        one("linux-6.1"),
        one("kame-2006-bugs"),
        three(SubflowLevel::Zero),
        three(SubflowLevel::One),
    ];
    panic!("{lives:#x?}");
}
