//! Packets of a size that a path does not carry any more, silently (RFC 8899, 4.3): found whatever else gets through.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::ops::Range;

use anabranch_base::{Duration, Instant};
use anabranch_sctp::config::{LossDetection, MtuDiscovery, SubflowLevel};
use anabranch_sctp::{AssociationId, Config, Event, State};
use common::{Pair, Side, subflow_config};

/// Both ends are up, A probes, and has found `carries`; then the path silently carries `then`.
fn shrunk(config: &Config, carries: usize, then: usize) -> (Pair, AssociationId) {
    let config = config.clone().with(|c| c.path_mtu.discovery = MtuDiscovery::Probes);
    let (mut pair, a) = Pair::connecting(5, &config);
    pair.carries = Some(carries);
    pair.run_for(Duration::from_secs(60));
    assert_eq!(usize::from(pair.a.view(a).unwrap().path_mtu()), carries);
    pair.carries = Some(then);
    (pair, a)
}

/// Messages on a stream, one every `every`, while the network runs.
fn talk(pair: &mut Pair, a: AssociationId, stream: u16, len: usize, numbers: Range<u32>, every: Duration) {
    for n in numbers {
        pair.send_numbered(Side::A, a, stream, n, len);
        pair.run_for(every);
    }
}

/// Losses of subflow B show a black hole though subflow A has answers on the same path all the time; also where A's
/// packets are half as long.
#[test]
fn another_subflow_that_gets_through_hides_no_black_hole() {
    for (level, small) in [SubflowLevel::Zero, SubflowLevel::One, SubflowLevel::Sf2007]
        .into_iter()
        .flat_map(|level| [(level, 100), (level, 700)])
    {
        let (mut pair, a) = shrunk(&subflow_config(level, 2), 1500, 1300);
        pair.send_numbered(Side::A, a, 1, 0, 1400);
        talk(&mut pair, a, 0, small, 0..50, Duration::from_millis(200));
        assert_eq!(pair.in_order(Side::Z).get(&1), Some(&1), "{level:?}, {small} bytes beside");
        talk(&mut pair, a, 0, small, 50..100, Duration::from_millis(200));
        pair.run_for(Duration::from_secs(5));
        assert_eq!(pair.a.view(a).unwrap().path_mtu(), 1300, "{level:?}, {small} bytes beside");
        assert_eq!(pair.in_order(Side::Z).get(&0), Some(&100));
    }
}

/// HEARTBEATs more often than an RTO: each answer says that the path is well, and nothing of the size of packets.
#[test]
fn heartbeats_that_are_answered_hide_no_black_hole() {
    for len in [1400, 60] {
        let config = Config::rfc9260().with(|c| c.timers.heartbeat_interval = Duration::from_millis(1));
        let (mut pair, a) = shrunk(&config, 1500, 1300);
        // The short ones leave in packets that are full.
        let count = 1400 / len;
        pair.send_all(Side::A, a, 1, count, usize::try_from(len).unwrap());
        pair.run_for(Duration::from_secs(20));
        pair.check_all(Side::Z, 1, count);
        pair.run_for(Duration::from_secs(60));
        assert_eq!(pair.a.view(a).unwrap().path_mtu(), 1300, "{len} bytes");
    }
}

/// RACK finds the same chunk lost again and again while small ones get through: T3-rtx need never expire, whatever a recovery does to the
/// window.
#[test]
fn what_rack_finds_lost_again_and_again_is_a_black_hole() {
    let rack = Config::rfc9260().with(|c| c.congestion.loss_detection = LossDetection::Rack);
    for (config, within) in [(rack, 1), (Config::modern(), 1)] {
        let (mut pair, a) = shrunk(&config, 1500, 1300);
        let before = pair.a.view(a).unwrap().stats().timeouts;
        pair.send_numbered(Side::A, a, 1, 0, 1400);
        talk(&mut pair, a, 0, 100, 0..within * 50, Duration::from_millis(20));
        assert_eq!(pair.in_order(Side::Z).get(&1), Some(&1), "within {within} s");
        assert_eq!(pair.a.view(a).unwrap().stats().timeouts, before);
    }
}

/// "Black hole" leads from Search and Search Complete to Base also where the base is what was used, and from there to Error (RFC 8899,
/// figure 5): a size smaller than the base is tried.
#[test]
fn a_black_hole_at_the_base() {
    for (carries, then) in [(1200, 1000), (1000, 700), (1500, 1000)] {
        let (mut pair, a) = shrunk(&Config::rfc9260(), carries, then);
        pair.send_numbered(Side::A, a, 0, 0, then - 32);
        pair.run_for(Duration::from_secs(60));
        pair.check_all(Side::Z, 1, 1);
        // The search goes on; its result is used.
        pair.run_for(Duration::from_secs(120));
        let view = pair.a.view(a).unwrap();
        assert_eq!(
            (usize::from(view.path_mtu()), view.state()),
            (then, State::Established),
            "{carries} bytes"
        );
    }
}

/// Losses that hit packets of every size are none: where a long one gets through between two that do not, the size stays. A peer that
/// reads nothing is none either: its window is probed for minutes.
#[test]
fn losses_are_no_black_hole() {
    let lossy = |seed: u64, share: f64| {
        let mut losses = anabranch_base::Rng::stream(seed, "losses", "black hole");
        move |_: &common::Logged| losses.chance(share)
    };
    for (name, config) in [("rfc9260", Config::rfc9260()), ("modern", Config::modern())] {
        let (mut pair, a) = shrunk(&config, 1500, 1500);
        pair.events.clear();
        pair.drop_if(lossy(3, 0.1));
        talk(&mut pair, a, 0, 1400, 0..400, Duration::from_millis(100));
        pair.run_for(Duration::from_secs(30));
        pair.check_all(Side::Z, 1, 400);
        assert!(pair.a.view(a).unwrap().stats().chunks_lost > 0, "{name}");
        assert!(
            !pair.saw(Side::A, |event| matches!(event, Event::PathMtu { .. })),
            "{name}: {:?}",
            pair.events
        );
    }
    let (mut pair, a) = shrunk(&Config::rfc9260().with(|c| c.limits.send_buffer = 1 << 20), 1500, 1500);
    pair.reads[1] = false;
    let until: Instant = pair.now + Duration::from_secs(600);
    pair.send_all(Side::A, a, 1, 200, 1400);
    while pair.now < until {
        pair.run_for(Duration::from_secs(60));
        assert_eq!(pair.a.view(a).unwrap().path_mtu(), 1500);
    }
}

/// The same where the lost packet is full of short messages, each of which would get through by itself.
#[test]
fn what_rack_finds_lost_again_may_be_many_short_messages() {
    let rack = Config::rfc9260().with(|c| c.congestion.loss_detection = LossDetection::Rack);
    for config in [rack, Config::modern()] {
        for len in [60, 400, 700] {
            let (mut pair, a) = shrunk(&config, 1500, 1300);
            let count = 1480 / (len + 16);
            pair.send_all(Side::A, a, 1, count, usize::try_from(len).unwrap());
            talk(&mut pair, a, 1, 100, 0..50, Duration::from_millis(20));
            let received = pair.in_order(Side::Z);
            assert_eq!((received.get(&0), received.get(&1)), (Some(&count), Some(&50)), "{len} bytes");
        }
    }
}
