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
/// delivered, and only fragments cut before are larger than the path MTU.
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

/// With a path MTU set by the user no packet asks not to be fragmented, and ICMP is not listened to; with one learnt
/// from ICMP all packets must stay whole but those that are too long by now.
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

/// A path MTU that is too small is refused.
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

/// ICMP says to A that a packet of its was too big, and quotes as much as every message quotes.
fn say_too_big(pair: &mut Pair, mtu: u16) {
    let sent = pair.log.iter().rev().find(|p| p.from == Side::A && p.bytes[4..8] != [0; 4]);
    let quoted = sent.unwrap().bytes[..8].to_vec();
    pair.inject_icmp(Side::A, &icmp_message(Side::A, 3, 4, mtu, &quoted));
}

/// Chunks that leave again have left the flight, and "add the data size of those chunks to the rwnd" (RFC 9260, 6.2.1
/// C): the window is the peer's last a_rwnd less the bytes in flight, and never more than may still be kept of the
/// data sent (a send buffer and a receive buffer).
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
        // The chunks that were in flight are kept all the same, each with its bookkeeping.
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

/// TSNs, with their FIDs, of the data that A has sent from a packet on, each time it left.
fn left_since(pair: &Pair, first: usize) -> BTreeMap<(u8, u32), usize> {
    let mut times = BTreeMap::new();
    for packet in pair.log[first..].iter().filter(|p| p.from == Side::A) {
        let plain = packet.data().into_iter().map(|data| (0, data.tsn.get()));
        for chunk in plain.chain(packet.fids()) {
            *times.entry(chunk).or_insert(0) += 1;
        }
    }
    times
}

/// Bytes that A has sent from a packet on, in SCTP packets.
fn bytes_since(pair: &Pair, first: usize) -> usize {
    pair.log[first..].iter().filter(|p| p.from == Side::A).map(|p| p.bytes.len()).sum()
}

fn listening(config: Config) -> Config {
    config.with(|c| {
        c.path_mtu.discovery = MtuDiscovery::Icmp;
        c.limits.send_buffer = 4 << 20;
    })
}

/// The sizes of a staircase, one below the other.
fn staircase() -> impl Iterator<Item = u16> {
    (1..=20).map(|step| 1500 - 16 * step)
}

/// An observer forges twenty messages in one round trip, a smaller size with each: 1,120 bytes. The chunks in flight
/// leave again once, for the first message, and do not leave again for the others; no more is in flight than before,
/// which cwnd allowed (RFC 9260, 6.1 B).
#[test]
fn a_staircase_of_sizes_makes_the_flight_leave_again_once() {
    for (shape, config) in shapes() {
        let config = listening(config);
        let (mut pair, a, _) = Pair::established(1, &config);
        pair.send_all(Side::A, a, 3, 60, 10_000);
        pair.run_for(Duration::from_millis(85));
        pair.pump();
        let flight = pair.a.view(a).unwrap().flight_bytes();
        assert!(flight > 10_000, "{shape}: {flight}");
        let before = pair.log.len();
        for mtu in staircase() {
            say_too_big(&mut pair, mtu);
            pair.pump();
            assert_eq!(pair.a.view(a).unwrap().audit(), Ok(()), "{shape}");
            let now = pair.a.view(a).unwrap().flight_bytes();
            // A packet of each lane may begin while a byte of its window is left.
            assert!(now <= flight + 3 * 1500, "{shape}: {now} bytes in flight after {flight}");
        }
        assert_eq!(pair.a.view(a).unwrap().path_mtu(), 1180);
        // Headers are a tenth of it at most, and each lane may have begun a packet.
        let drawn = bytes_since(&pair, before) as u64;
        assert!(drawn <= flight + flight / 10 + 3 * 1500, "{shape}: {drawn} bytes for a flight of {flight}");
        assert!(left_since(&pair, before).values().all(|times| *times == 1), "{shape}");
        pair.run_for(Duration::from_secs(120));
        assert_eq!(pair.in_order(Side::Z), (0..3).map(|s| (s, 60)).collect(), "{shape}");
    }
}

/// The same with the messages spread over a round trip, while acknowledgements come and new data leaves: that fits a size already, and a
/// smaller one may make it leave again, but nothing leaves for two of them.
#[test]
fn nothing_leaves_again_for_two_sizes_in_a_round_trip() {
    for (shape, config) in shapes() {
        let config = listening(config);
        let (mut pair, a, _) = Pair::established(2, &config);
        pair.send_all(Side::A, a, 3, 60, 10_000);
        pair.run_for(Duration::from_millis(85));
        let before = pair.log.len();
        let round_trip = pair.a.view(a).unwrap().stats().srtt.unwrap();
        for mtu in staircase() {
            say_too_big(&mut pair, mtu);
            pair.run_for(Duration::from_nanos(round_trip.as_nanos() / 20));
        }
        // Chunks in flight at the first message have left once before.
        let most = left_since(&pair, before).into_values().max();
        assert!(most <= Some(2), "{shape}: {most:?} times");
        pair.run_for(Duration::from_secs(120));
        assert_eq!(pair.in_order(Side::Z), (0..3).map(|s| (s, 60)).collect(), "{shape}");
    }
}

/// Where routers do not fragment, a second hop may carry less than the first (IPv6). Its message arrives when the
/// chunks have left again for the first: it takes effect not at once, as those may have arrived, but a round trip
/// later; and T3-rtx finds the chunks for which no message comes.
#[test]
fn a_smaller_hop_behind_the_first_is_listened_to_a_round_trip_later() {
    let (mut pair, a, _) = Pair::established(1, &Config::rfc9260());
    pair.send_all(Side::A, a, 1, 10, 1400);
    pair.run_for(Duration::from_millis(400));
    pair.received.clear();
    pair.drop_if(|p| p.from == Side::A);
    let before = pair.log.len();
    pair.send_all(Side::A, a, 1, 3, 1400);
    pair.pump();
    let mut times = vec![];
    for (mtu, wait) in [
        (1400, Duration::ZERO),
        (1300, Duration::from_millis(500)),
        (1200, Duration::ZERO),
        (1100, Duration::from_secs(2)),
    ] {
        say_too_big(&mut pair, mtu);
        pair.pump();
        times.push(left_since(&pair, before).into_values().collect::<Vec<_>>());
        if wait > Duration::ZERO {
            pair.run_for(wait);
        }
        if mtu == 1100 {
            // T3-rtx sends one packet.
            times.push(left_since(&pair, before).into_values().collect());
        }
    }
    assert_eq!(times, [[2; 3], [2; 3], [3; 3], [3; 3], [4, 3, 3]]);
    pair.drop_if(|_| false);
    pair.run_for(Duration::from_secs(10));
    pair.check_all(Side::Z, 1, 3);
}

/// A path carries less, and a while later less again, and its routers say so: what did not arrive leaves again at once each time, no
/// timer has to find it and no window is cut.
#[test]
fn what_is_too_big_twice_is_repaired_at_once_twice() {
    for (shape, config) in shapes() {
        let config = listening(config);
        let (mut pair, a, _) = Pair::established(3, &config);
        pair.routers_answer = true;
        let mut sent = 0;
        for carries in [1500, 1300, 1000, 700] {
            pair.carries = Some(carries);
            let start = pair.now;
            for n in sent..sent + 3 {
                for stream in 0..3 {
                    pair.send_numbered(Side::A, a, stream, n, 1300);
                }
            }
            sent += 3;
            while pair.in_order(Side::Z).values().sum::<u32>() < 3 * sent {
                pair.run_for(Duration::from_millis(5));
                assert!(pair.now - start < Duration::from_millis(250), "{shape}, {carries} bytes");
            }
        }
        let view = pair.a.view(a).unwrap();
        assert_eq!((view.stats().timeouts, view.path_mtu()), (0, 700), "{shape}");
    }
}
