//! With one subflow the stack does what it did before there were any: the same packets at the same times. Up to the version whose
//! tags and TSNs come from a generator that nobody can guess, that was tested byte for byte against the version that knew no
//! subflows; the numbers here were taken from the last of those. A change that is meant to alter packets changes them here.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::common;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::Config;
use common::{Pair, Side};

/// Packets, and FNV-1a over the time, the side, the length and the chunk types of each.
fn life(profile: &str) -> (usize, u64) {
    let config = Config::named(profile).unwrap().with(|c| {
        c.streams.outbound = 4;
        c.limits.send_buffer = 4 << 20;
        // Heartbeats come at random times.
        c.timers.heartbeat_interval = Duration::ZERO;
    });
    let (mut pair, id) = Pair::connecting(7, &config);
    let mut dice = Rng::stream(7, "loss", "golden");
    pair.drop_if(move |_| dice.below(25) == 0);
    pair.run_for(Duration::from_secs(30));
    let z = pair.id_of(Side::Z);
    for n in 0..400_usize {
        pair.send(Side::A, id, (n % 3) as u16, &vec![n as u8; 1 + n * 37 % 6000]);
        if n % 5 == 0 {
            pair.send(Side::Z, z, 1, &vec![n as u8; 300]);
            pair.run_for(Duration::from_millis(40));
        }
    }
    pair.run_for(Duration::from_secs(100));
    assert_eq!(pair.received.len(), 480);
    let now = pair.now;
    pair.a.association(id).unwrap().shutdown(now);
    pair.run_for(Duration::from_secs(20));
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |byte: u8| sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for packet in &pair.log {
        packet.at.as_nanos().to_be_bytes().into_iter().for_each(&mut eat);
        eat(packet.from as u8);
        packet.bytes.len().to_be_bytes().into_iter().for_each(&mut eat);
        packet.kinds().into_iter().for_each(&mut eat);
    }
    (pair.log.len(), sum)
}

#[test]
fn packets_are_those_of_a_stack_without_subflows() {
    let lives = ["rfc9260", "rfc2960", "ns2-2.28", "ns2-2.35"].map(life);
    let expected = [
        (1597, 0xcb45_bb04_0e2e_dd5e),
        (1538, 0xf325_c729_c49a_507d),
        (1854, 0xf885_68e5_0a59_f358),
        (1864, 0xc31a_70a1_223d_41b9),
    ];
    assert_eq!(lives, expected);
}
