//! A path MTU that changes while messages leave (RFC 9260, 6.9 and 7.3; issue "faults": the TSNs of a message stay together).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::BTreeMap;

use anabranch_base::Duration;
use anabranch_sctp::config::{MtuDiscovery, SubflowLevel};
use anabranch_sctp::{AssociationId, Config, PathMtuError, State};
use common::{Logged, Pair, Side, icmp_message, subflow_config};

/// Bytes of an IP packet.
fn size(packet: &Logged) -> usize {
    packet.bytes.len() + 20
}

/// Every encoding, with one numbering and with several subflows.
fn shapes() -> Vec<(&'static str, Config)> {
    let plain = || Config::rfc9260().with(|c| c.limits.send_buffer = 4 << 20);
    let shared = subflow_config(SubflowLevel::Zero, 3)
        .with(|c| c.subflows.coupling = anabranch_sctp::Coupling::Shared);
    vec![
        ("one subflow", plain()),
        ("I-DATA", plain().with(|c| c.extensions.interleaving = true)),
        ("level 0", subflow_config(SubflowLevel::Zero, 3)),
        ("level 0, one window", shared),
        ("level 0, I-DATA", subflow_config(SubflowLevel::Zero, 3).with(|c| c.extensions.interleaving = true)),
        (
            "level 0, RACK",
            subflow_config(SubflowLevel::Zero, 3).with(|c| {
                c.congestion.loss_detection = anabranch_sctp::config::LossDetection::Rack;
                c.pacing.enabled = true;
            }),
        ),
        ("level 1", subflow_config(SubflowLevel::One, 3)),
        ("sf2007", subflow_config(SubflowLevel::Sf2007, 3)),
        ("sf2007, one subflow", subflow_config(SubflowLevel::Sf2007, 1)),
    ]
}

fn set_mtu(pair: &mut Pair, a: AssociationId, mtu: u16) {
    let now = pair.now;
    pair.a.association(a).unwrap().set_path_mtu(now, mtu).unwrap();
}

/// "Once a user message is fragmented, it cannot be re-fragmented. Instead, if the PMTU has been reduced, then IP fragmentation MUST
/// be used" (RFC 9260, 6.9). The MTU shrinks and grows with fragments of messages in flight, lost and yet to come; everything is
/// delivered, and nothing but what was cut before is larger than the path.
#[test]
fn messages_leave_whole_while_the_path_mtu_changes() {
    let mut fragmented = BTreeMap::new();
    for (shape, config) in shapes() {
        // Losses must not make a silence of minutes.
        let config = config.with(|c| {
            c.timers.rto_max = Duration::from_secs(2);
            c.limits.association_max_retrans = 100;
        });
        for seed in 0..12 {
            let (mut pair, a, _) = Pair::established(seed, &config);
            let mut dice = anabranch_base::Rng::stream(seed, "loss", "path mtu");
            let loss = [0.0, 0.05, 0.2][seed as usize % 3];
            pair.drop_if(move |_| dice.chance(loss));
            pair.send_all(Side::A, a, 3, 6, 30_000);
            let mut dice = anabranch_base::Rng::stream(seed, "mtu", "path mtu");
            for _ in 0..8 {
                pair.run_for(Duration::from_millis(20 + dice.below(60)));
                let mtu = [576, 700, 999, 1280, 1500, 9000][dice.below(6) as usize];
                set_mtu(&mut pair, a, mtu);
                pair.run_for(Duration::from_millis(dice.below(30)));
                assert_eq!(pair.a.view(a).unwrap().audit(), Ok(()), "{shape}, seed {seed}");
            }
            set_mtu(&mut pair, a, 600);
            pair.run_for(Duration::from_secs(600));
            let arrived: BTreeMap<_, _> = pair.in_order(Side::Z);
            assert_eq!(arrived, (0..3).map(|s| (s, 6)).collect(), "{shape}, seed {seed}");
            let now = pair.now;
            // Everything that is new fits the path now.
            let before = pair.log.len();
            pair.send_all(Side::A, a, 3, 7, 5000);
            pair.received.clear();
            pair.a.association(a).unwrap().shutdown(now);
            pair.run_for(Duration::from_secs(600));
            pair.check_all(Side::Z, 3, 7);
            assert_eq!(pair.a.view(a).unwrap().state(), State::Closed, "{shape}, seed {seed}");
            assert!(pair.log[before..].iter().all(|p| size(p) <= 600), "{shape}, seed {seed}");
            let from_a = pair.log.iter().filter(|p| p.from == Side::A && !p.dont_fragment).count();
            *fragmented.entry(shape).or_insert(0) += from_a;
        }
    }
    assert!(
        fragmented.values().all(|packets| *packets > 0),
        "every shape had chunks that fit no packet any more: {fragmented:?}"
    );
}

/// Where the user says what the path carries, nothing asks for packets that are not fragmented, and ICMP is not listened to; where
/// ICMP says it, all packets must stay whole but those that are too long by now.
#[test]
fn only_what_does_not_fit_may_be_fragmented() {
    for discovery in [MtuDiscovery::Off, MtuDiscovery::Icmp] {
        let config = Config::rfc9260().with(|c| c.path_mtu.discovery = discovery);
        let (mut pair, a, _) = Pair::established(1, &config);
        if discovery == MtuDiscovery::Icmp {
            (pair.carries, pair.routers_answer) = (Some(800), true);
        } else {
            // The first packets are lost and sent again later, when they are too long.
            pair.drop_if(|p| {
                p.from == Side::A && p.at < anabranch_base::Instant::ZERO + Duration::from_millis(300)
            });
        }
        pair.send_all(Side::A, a, 1, 1, 4000);
        pair.run_for(Duration::from_millis(50));
        if discovery == MtuDiscovery::Off {
            set_mtu(&mut pair, a, 800);
        }
        assert_eq!(pair.a.view(a).unwrap().path_mtu(), 800);
        pair.run_for(Duration::from_secs(60));
        pair.check_all(Side::Z, 1, 1);
        let from_a: Vec<_> = pair.log.iter().filter(|p| p.from == Side::A && p.has("DATA")).collect();
        let resent: Vec<_> = from_a.iter().filter(|p| !p.dropped && size(p) > 800).collect();
        assert!(!resent.is_empty());
        assert!(resent.iter().all(|p| !p.dont_fragment && p.data().len() == 1), "alone, as short as can be");
        let whole = discovery == MtuDiscovery::Icmp;
        assert!(from_a.iter().filter(|p| p.dropped || size(p) <= 800).all(|p| p.dont_fragment == whole));
        pair.received.clear();
        pair.send_all(Side::A, a, 1, 1, 4000);
        let before = pair.log.len();
        pair.run_for(Duration::from_secs(60));
        pair.check_all(Side::Z, 1, 1);
        assert!(pair.log[before..].iter().all(|p| size(p) <= 800));
    }
}

/// An acknowledgement of many gaps that does not fit beside a chunk of the old size, and answers to heartbeats, leave in packets of
/// their own: the chunk goes alone.
#[test]
fn a_chunk_that_fits_no_packet_waits_for_nothing() {
    let config = Config::rfc9260();
    let (mut pair, a, z) = Pair::established(2, &config);
    pair.drop_if(|p| {
        p.from == Side::A
            && p.has("DATA")
            && p.at < anabranch_base::Instant::ZERO + Duration::from_millis(400)
    });
    pair.send_all(Side::A, a, 1, 4, 5000);
    pair.run_for(Duration::from_millis(20));
    set_mtu(&mut pair, a, 576);
    // The other direction loses, too: SACKs with gaps ride along.
    for _ in 0..20 {
        pair.send_all(Side::Z, z, 1, 1, 1200);
        pair.run_for(Duration::from_millis(50));
    }
    pair.run_for(Duration::from_secs(60));
    pair.check_all(Side::Z, 1, 4);
}

/// What is not possible is refused.
#[test]
fn the_least_path_mtu() {
    let (mut pair, a, _) = Pair::established(1, &Config::rfc9260());
    let now = pair.now;
    let refused = pair.a.association(a).unwrap().set_path_mtu(now, 575);
    assert_eq!(refused, Err(PathMtuError { mtu: 575 }));
    assert_eq!(pair.a.view(a).unwrap().path_mtu(), 1500);
    set_mtu(&mut pair, a, 576);
    assert_eq!(pair.a.view(a).unwrap().path_mtu(), 576);
}

/// ICMP says to A that a packet of its was too big, and quotes what every message quotes.
fn say_too_big(pair: &mut Pair, mtu: u16) {
    let sent = pair.log.iter().rev().find(|p| p.from == Side::A && p.has("DATA"));
    let quoted = sent.unwrap().bytes[..8].to_vec();
    pair.inject_icmp(Side::A, &icmp_message(Side::A, 3, 4, mtu, &quoted));
}

/// What leaves again has left the flight, and "add the data size of those chunks to the rwnd" (RFC 9260, 6.2.1 C): the window is what the
/// peer said less what is in flight, and never more than may still be kept of what was sent (a send buffer and a receive buffer).
#[test]
fn what_was_too_big_gives_the_window_back_within_what_may_be_kept() {
    const A_RWND: u64 = 1 << 20;
    // A chunk takes memory besides its payload.
    for (send, receive) in [(1 << 20, 1 << 20), (20_000, 20_000)] {
        let z = Config::rfc9260();
        let a = z.clone().with(|c| (c.limits.send_buffer, c.limits.receive_window) = (send, receive));
        let (mut pair, a, _) = Pair::between(1, &a, &z);
        pair.run_for(Duration::from_millis(200));
        let window = |pair: &Pair| pair.a.view(a).unwrap().peer_window();
        let kept = send as u64 + u64::from(receive);
        let empty = window(&pair);
        assert_eq!(empty, A_RWND.min(kept));
        pair.send_all(Side::A, a, 1, 3, 1400);
        pair.pump();
        // What was in flight is kept all the same, each chunk with its bookkeeping.
        let after = window(&pair);
        let all = 3 * 1400;
        assert!(after <= empty - all, "{after}");
        say_too_big(&mut pair, 1000);
        assert_eq!(pair.a.view(a).unwrap().flight_bytes(), 0, "everything is to leave again");
        let expected = if A_RWND < kept { A_RWND } else { after };
        assert_eq!(window(&pair), expected, "buffers of {send} and {receive} bytes");
        pair.pump();
        assert_eq!(window(&pair), expected - all);
        pair.run_for(Duration::from_secs(5));
        assert_eq!(window(&pair), empty);
    }
}
