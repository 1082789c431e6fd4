//! Path MTU discovery by probes (RFC 8899, 5 and 6.2; RFC 4820).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use anabranch_base::{Duration, Instant};
use anabranch_sctp::config::{MtuDiscovery, SubflowLevel};
use anabranch_sctp::{AssociationId, Config, Event, State};
use anabranch_wire::chunk::kind;
use common::{Logged, Pair, Side, subflow_config};

fn probing() -> Config {
    with_probes(Config::rfc9260().with(|c| c.limits.send_buffer = 4 << 20))
}

fn with_probes(config: Config) -> Config {
    config.with(|c| c.path_mtu.discovery = MtuDiscovery::Probes)
}

fn size(packet: &Logged) -> usize {
    packet.bytes.len() + 20
}

/// Sizes of the probes that a side has sent.
fn probes(pair: &Pair, side: Side) -> Vec<usize> {
    let of = pair.log.iter().filter(|p| p.from == side && p.kinds() == [kind::HEARTBEAT, kind::PAD]);
    of.map(size).collect()
}

fn mtu(pair: &Pair, a: AssociationId) -> u16 {
    pair.a.view(a).unwrap().path_mtu()
}

/// Only A probes; the network carries `carries` bytes.
fn between(seed: u64, carries: usize, answers: bool) -> (Pair, AssociationId, AssociationId) {
    connected(seed, carries, answers, &Config::rfc9260().with(|c| c.limits.send_buffer = 4 << 20))
}

/// The same, with the extensions of both ends.
fn connected(
    seed: u64,
    carries: usize,
    answers: bool,
    both: &Config,
) -> (Pair, AssociationId, AssociationId) {
    let mut pair = Pair::new(seed);
    (pair.carries, pair.routers_answer) = (Some(carries), answers);
    pair.z.listen(std::sync::Arc::new(both.clone())).unwrap();
    let probing = std::sync::Arc::new(with_probes(both.clone()));
    let a = pair.a.connect(pair.now, common::address(Side::Z), common::PORT, probing).unwrap();
    pair.run_for(Duration::from_millis(200));
    let z = pair.id_of(Side::Z);
    (pair, a, z)
}

/// "Probe packets consist of an SCTP common header followed by a HEARTBEAT chunk and a PAD chunk" (6.2.1.2); the base is confirmed
/// first, and then the largest size is tried.
// rfc8899:3-3 rfc8899:3-5 rfc8899:3-8 rfc8899:4.1-1 rfc8899:5.2-1 rfc8899:5.3.2-1 rfc8899:6.2-1
#[test]
fn the_common_path_takes_two_probes() {
    let (mut pair, a, _) = between(1, 1500, false);
    assert_eq!(probes(&pair, Side::A), [1200, 1500]);
    assert_eq!(mtu(&pair, a), 1500);
    assert!(!pair.a.view(a).unwrap().is_searching_path_mtu());
    assert!(pair.log.iter().filter(|p| p.kinds().contains(&kind::PAD)).all(|p| p.dont_fragment));
    // "all probes are HEARTBEATs": those without PAD go on as ever, and the association lives.
    pair.run_for(Duration::from_secs(500));
    assert_eq!(probes(&pair, Side::A).len(), 2);
    // PMTU_RAISE_TIMER: no size is larger than the one in use.
    pair.run_for(Duration::from_secs(200));
    assert_eq!(probes(&pair, Side::A).len(), 2);
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
}

/// An end that sends no data has no use for the result of probes: an association that is only set up and ended takes
/// seven packets, whoever may probe. Probes begin behind the first data, also of an end that only receives.
#[test]
fn probes_that_wait_for_data() {
    let waiting = || with_probes(Config::rfc9260().with(|c| c.path_mtu.waits_for_data = true));
    let (mut pair, a, z) = connected(1, 1500, false, &waiting());
    assert!(pair.a.view(a).unwrap().is_searching_path_mtu());
    pair.run_for(Duration::from_secs(20));
    assert_eq!((probes(&pair, Side::A).len(), mtu(&pair, a)), (0, 1200));
    pair.send(Side::A, a, 0, &[7; 10]);
    pair.run_for(Duration::from_secs(1));
    assert_eq!((probes(&pair, Side::A), mtu(&pair, a)), (vec![1200, 1500], 1500));
    assert_eq!(probes(&pair, Side::Z).len(), 0);
    pair.send(Side::Z, z, 0, &[7; 10]);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(probes(&pair, Side::Z), [1200, 1500]);

    let (mut pair, a, _) = connected(2, 1500, false, &waiting());
    pair.a.association(a).unwrap().shutdown(pair.now);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.log.len(), 7);
}

/// Every size is found, with answers of routers and without, and used.
// rfc8899:3-1 rfc8899:3-11 rfc8899:3-18 rfc8899:4.3-1 rfc8899:4.6.2-1 rfc8899:6.2.1.4-2 rfc6951:5.6-3
#[test]
fn paths_of_every_size() {
    for (seed, carries) in
        [576, 600, 999, 1196, 1200, 1204, 1280, 1300, 1400, 1492, 1496, 1500].into_iter().enumerate()
    {
        for answers in [false, true] {
            let (mut pair, a, _) = between(seed as u64, carries, answers);
            pair.run_for(Duration::from_secs(60));
            assert_eq!(usize::from(mtu(&pair, a)), carries / 4 * 4, "{carries}, ICMP: {answers}");
            assert!(!pair.a.view(a).unwrap().is_searching_path_mtu());
            if answers {
                assert!(probes(&pair, Side::A).len() <= 4, "{:?}", probes(&pair, Side::A));
            }
            let before = pair.log.len();
            pair.send_all(Side::A, a, 2, 3, 20_000);
            pair.run_for(Duration::from_secs(60));
            pair.check_all(Side::Z, 2, 3);
            let data = pair.log[before..].iter().filter(|p| p.has("DATA"));
            assert_eq!(data.map(size).max(), Some(carries / 4 * 4), "full packets");
            assert_eq!(pair.a.view(a).unwrap().stats().timeouts, 0);
        }
    }
}

/// "An unsuccessful probe is discounted" (6.2.1.2): no window is cut, no error counted, no RTO backed off.
// rfc8899:3-7 rfc8899:3-12 rfc8899:3-13 rfc8899:8-1
#[test]
fn lost_probes_are_no_sign_of_anything() {
    let (mut pair, a, _) = between(5, 1200, false);
    let before = pair.a.view(a).unwrap().stats();
    pair.run_for(Duration::from_secs(60));
    let after = pair.a.view(a).unwrap().stats();
    assert!(probes(&pair, Side::A).iter().filter(|size| **size > 1200).count() >= 9);
    assert_eq!((after.cwnd, after.rto, after.timeouts), (before.cwnd, before.rto, 0));
    assert!(!pair.saw(Side::A, |e| matches!(e, Event::PathDown { .. } | Event::Closed(_))));
    // "This value MUST NOT be smaller than 1 second" (5.1.1): so far apart are probes that are lost.
    let lost: Vec<Instant> = pair.log.iter().filter(|p| p.dropped).map(|p| p.at).collect();
    assert!(lost.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_secs(1)));
}

/// A path that shrinks in the middle of a transfer, silently or with ICMP, and grows again: everything arrives once and in order, in
/// all encodings, and the path MTU is used (4.3: black holes; 4.6: PTB messages).
// rfc9260:7.3-1 rfc8899:3-21 rfc8899:3-24 rfc8899:8-4
#[test]
fn a_path_that_shrinks_and_grows_again() {
    for (shape, config) in [
        ("one subflow", probing()),
        ("I-DATA", probing().with(|c| c.extensions.interleaving = true)),
        ("level 0", with_probes(subflow_config(SubflowLevel::Zero, 3))),
        ("level 1", with_probes(subflow_config(SubflowLevel::One, 3))),
        ("sf2007", with_probes(subflow_config(SubflowLevel::Sf2007, 3))),
    ] {
        for answers in [false, true] {
            let what = format!("{shape}, ICMP: {answers}");
            let config = config.clone().with(|c| c.path_mtu.raise_timer = Duration::from_secs(30));
            let (mut pair, a, _) = Pair::established(11, &config);
            pair.routers_answer = answers;
            pair.run_for(Duration::from_millis(200));
            assert_eq!(mtu(&pair, a), 1500, "{what}");
            pair.send_all(Side::A, a, 3, 20, 20_000);
            pair.run_for(Duration::from_millis(60));
            pair.carries = Some(1320);
            pair.run_for(Duration::from_secs(120));
            assert_eq!(mtu(&pair, a), 1320, "{what}");
            pair.check_all(Side::Z, 3, 20);
            pair.received.clear();
            let before = pair.log.len();
            pair.send_all(Side::A, a, 3, 5, 20_000);
            pair.run_for(Duration::from_secs(20));
            pair.check_all(Side::Z, 3, 5);
            let data =
                pair.log[before..].iter().filter(|p| p.from == Side::A && !p.kinds().contains(&kind::PAD));
            assert_eq!(data.map(size).max(), Some(1320), "{what}");
            pair.carries = None;
            pair.run_for(Duration::from_secs(60));
            assert_eq!(mtu(&pair, a), 1500, "{what}: raised");
            let now = pair.now;
            pair.a.association(a).unwrap().shutdown(now);
            pair.run_for(Duration::from_secs(60));
            assert_eq!(pair.a.view(a).unwrap().state(), State::Closed, "{what}");
        }
    }
}

/// The largest message that leaves in one chunk follows the path and the encoding: "the maximum size of data block that can be sent"
/// (4.4). One byte more makes two chunks.
// rfc8899:3-19 rfc8899:4.4-1 rfc8899:5-2
#[test]
fn the_largest_message_that_is_not_fragmented() {
    let plain = Config::rfc9260();
    let interleaved = plain.clone().with(|c| c.extensions.interleaving = true);
    for (config, header) in [(plain, 16), (interleaved, 20)] {
        // A packet of 1,320 bytes is not among the sizes that a search begins with: the base is used until more is known.
        for (wait, mtu) in [(0, 1200), (60, 1320)] {
            let (mut pair, a, _) = connected(7, 1320, false, &config);
            pair.run_for(Duration::from_secs(wait));
            let most = pair.a.view(a).unwrap().max_unfragmented();
            assert_eq!(most, mtu - 20 - 12 - header, "{mtu}");
            for (more, chunks) in [(0, 1), (1, 2)] {
                let before = pair.log.len();
                pair.send(Side::A, a, 0, &vec![1; most + more]);
                pair.run_for(Duration::from_millis(1));
                let kinds: Vec<u8> = pair.log[before..].iter().flat_map(Logged::kinds).collect();
                let sent = kinds.iter().filter(|kind| [kind::DATA, kind::I_DATA].contains(kind)).count();
                assert_eq!(sent, chunks, "{mtu} + {more}");
            }
        }
    }
}

/// An outage is no black hole for long: the size is found again.
#[test]
fn an_outage() {
    let (mut pair, a, _) = between(3, 1500, false);
    pair.send_all(Side::A, a, 2, 10, 20_000);
    pair.run_for(Duration::from_millis(40));
    let (from, until) = (pair.now, pair.now + Duration::from_secs(20));
    pair.drop_if(move |p| p.at >= from && p.at < until);
    pair.run_for(Duration::from_secs(15));
    assert!(mtu(&pair, a) < 1500, "suspected");
    pair.run_for(Duration::from_secs(120));
    assert_eq!(mtu(&pair, a), 1500);
    pair.check_all(Side::Z, 2, 10);
}

/// Answers that nobody asked for, or of others, do not raise the MTU.
// rfc8899:4.1-2
#[test]
fn forged_answers() {
    let (mut pair, a, _) = between(4, 1200, false);
    assert_eq!(mtu(&pair, a), 1200);
    let answer = |pair: &Pair| {
        let ack = pair.log.iter().rev().find(|p| p.from == Side::Z && p.kinds() == [kind::HEARTBEAT_ACK]);
        ack.unwrap().bytes.clone()
    };
    // The answer to the base, again and again, while the next probe waits for its own.
    let replay = answer(&pair);
    for _ in 0..20 {
        pair.inject(Side::Z, &replay);
        pair.pump();
    }
    for byte in 20..37 {
        let mut forged = replay.clone();
        forged[byte] ^= 0x40;
        forged[8..12].fill(0);
        let sum = anabranch_wire::crc32c::packet_checksum(&forged);
        forged[8..12].copy_from_slice(&anabranch_wire::crc32c::store(sum));
        pair.inject(Side::Z, &forged);
        pair.pump();
    }
    assert_eq!(mtu(&pair, a), 1200);
}

/// HEARTBEAT with PAD is answered like any other, by ends that probe and ends that do not; PAD means nothing (RFC
/// 4820, 3).
#[test]
fn both_ends_may_probe() {
    let (pair, a, z) = Pair::established(6, &probing());
    let mut pair = pair;
    pair.run_for(Duration::from_secs(1));
    assert_eq!((mtu(&pair, a), pair.z.view(z).unwrap().path_mtu()), (1500, 1500));
    assert_eq!(probes(&pair, Side::A), probes(&pair, Side::Z));
}

/// "The sending of HEARTBEAT chunks ... is discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK chunk" (RFC 9260, 8.3).
#[test]
fn no_probe_after_the_shutdown() {
    let (mut pair, a, _) = between(7, 1200, false);
    let sent = probes(&pair, Side::A).len();
    let now = pair.now;
    pair.drop_if(|p| p.from == Side::Z);
    pair.a.association(a).unwrap().shutdown(now);
    pair.run_for(Duration::from_secs(30));
    assert_eq!(pair.a.view(a).unwrap().state(), State::ShutdownSent);
    assert_eq!(probes(&pair, Side::A).len(), sent);
}

/// Random lives: a path whose MTU changes all the time, with losses, silent or not, in both directions.
#[test]
fn random_lives() {
    for seed in 0..60 {
        let mut dice = anabranch_base::Rng::stream(seed, "lives", "mtu");
        let level = [SubflowLevel::Zero, SubflowLevel::One, SubflowLevel::Sf2007][dice.below(3) as usize];
        let subflows = 1 + dice.below(3) as u8;
        let config = with_probes(subflow_config(level, subflows)).with(|c| {
            c.extensions.interleaving = dice.chance(0.5) && level == SubflowLevel::Zero;
            c.path_mtu.raise_timer = Duration::from_secs(20);
            c.timers.rto_max = Duration::from_secs(4);
            c.limits.association_max_retrans = 60;
            if dice.chance(0.3) {
                c.path_mtu.discovery = MtuDiscovery::Icmp;
            }
        });
        let silent = config.path_mtu.discovery == MtuDiscovery::Probes && dice.chance(0.5);
        let (mut pair, a, z) = Pair::established(seed, &config);
        pair.routers_answer = !silent;
        let loss = [0.0, 0.02, 0.1][dice.below(3) as usize];
        let mut losses = anabranch_base::Rng::stream(seed, "losses", "mtu");
        pair.drop_if(move |_| losses.chance(loss));
        for round in 0..6 {
            for (side, id) in [(Side::A, a), (Side::Z, z)] {
                for stream in 0..2 {
                    pair.send_numbered(side, id, stream, round, 1 + 4 + dice.below(30_000) as usize);
                }
            }
            pair.carries = Some(576 + dice.below(925) as usize);
            pair.run_for(Duration::from_millis(dice.below(400)));
            assert_eq!(pair.a.view(a).unwrap().audit(), Ok(()), "seed {seed}");
        }
        pair.carries = Some(1004);
        pair.drop_if(|_| false);
        pair.run_for(Duration::from_secs(300));
        for side in [Side::A, Side::Z] {
            pair.check_all(side, 2, 6);
        }
        let now = pair.now;
        pair.a.association(a).unwrap().shutdown(now);
        pair.run_for(Duration::from_secs(60));
        assert_eq!(pair.a.view(a).unwrap().state(), State::Closed, "seed {seed}");
        // Without probes the largest size is taken for granted again after a while in which nothing was sent.
        if config.path_mtu.discovery == MtuDiscovery::Probes {
            assert!(mtu(&pair, a) <= 1004, "seed {seed}: {}", mtu(&pair, a));
        }
    }
}

/// A peer that answers no HEARTBEAT with a PAD chunk behind it: acknowledged data shows that the base arrives ("Probing using application
/// data", 4.1), and a larger size is not used.
#[test]
fn data_confirms_the_base_of_a_peer_that_answers_no_probes() {
    for carries in [1500, 1100] {
        let mut pair = Pair::new(7);
        pair.carries = Some(carries);
        pair.drop_if(|p| p.kinds() == [kind::HEARTBEAT, kind::PAD]);
        pair.z.listen(std::sync::Arc::new(probing())).unwrap();
        let a = pair
            .a
            .connect(pair.now, common::address(Side::Z), common::PORT, std::sync::Arc::new(probing()))
            .unwrap();
        pair.run_for(Duration::from_millis(200));
        for _ in 0..20 {
            pair.send(Side::A, a, 0, &[7; 20_000]);
            pair.run_for(Duration::from_secs(5));
        }
        let used = usize::from(mtu(&pair, a));
        // Packets of the base size do not arrive here, and no report says that they do.
        assert_eq!(used, if carries == 1500 { 1200 } else { 576 });
        let data = pair.log.iter().filter(|p| p.kinds().contains(&kind::DATA));
        assert_eq!(data.map(size).max(), Some(1200));
        assert_eq!(pair.received.len(), 20);
    }
}

/// "An update to the PLPMTU (or MPS) MUST NOT increase the congestion window measured in bytes" (RFC 8899, 3): a path that carries more is found
/// while nothing is sent, and the window has as many bytes as before, in every controller.
// rfc8899:3-14
#[test]
fn a_larger_mtu_raises_no_window() {
    for control in ["reno", "cubic", "bic", "vegas", "bbr"] {
        let mut both = Config::rfc9260().with(|c| {
            c.limits.send_buffer = 4 << 20;
            c.path_mtu.raise_timer = Duration::from_secs(30);
        });
        both.set("congestion_control", control).unwrap();
        let (mut pair, a, _) = connected(12, 1200, false, &both);
        pair.send_all(Side::A, a, 1, 10, 20_000);
        pair.run_for(Duration::from_secs(20));
        pair.check_all(Side::Z, 1, 10);
        assert_eq!(mtu(&pair, a), 1200, "{control}");
        let before = pair.a.view(a).unwrap().stats().cwnd;
        pair.carries = Some(1500);
        pair.run_for(Duration::from_secs(120));
        assert_eq!(mtu(&pair, a), 1500, "{control}");
        assert_eq!(pair.a.view(a).unwrap().stats().cwnd, before, "{control}");
    }
}

/// "A method is REQUIRED to be robust to the possibility that a flow encounters reordering or that the traffic (including probe packets) is
/// divided over more than one network path" (RFC 8899, 3): every second packet takes three seconds longer, so that answers come behind
/// those to later probes. The size is found, none that does not fit is ever used, and every message comes once.
// rfc8899:3-22
#[test]
fn packets_and_probes_that_take_two_paths() {
    for (seed, carries) in [1200, 1320, 1500].into_iter().enumerate() {
        let config = Config::rfc9260().with(|c| c.limits.send_buffer = 4 << 20);
        let mut pair = Pair::new(seed as u64);
        pair.carries = Some(carries);
        let count = std::cell::Cell::new(0);
        pair.delay_by(move |_| {
            count.set(count.get() + 1);
            Duration::from_millis(if count.get() % 2 == 0 { 3010 } else { 10 })
        });
        pair.z.listen(std::sync::Arc::new(config.clone())).unwrap();
        let probing = std::sync::Arc::new(with_probes(config));
        let a = pair.a.connect(pair.now, common::address(Side::Z), common::PORT, probing).unwrap();
        pair.run_for(Duration::from_secs(20));
        pair.send_all(Side::A, a, 1, 10, 20_000);
        pair.run_for(Duration::from_secs(300));
        assert_eq!(usize::from(mtu(&pair, a)), carries);
        let told = pair.events.iter().filter_map(|(_, _, e)| match e {
            Event::PathMtu { mtu, .. } => Some(usize::from(*mtu)),
            _ => None,
        });
        assert!(told.max() <= Some(carries), "{:?}", pair.events);
        pair.check_all(Side::Z, 1, 10);
    }
}

/// "Flow control SHOULD NOT apply to DPLPMTU when probe packets use a design that does not carry user data to the remote application"
/// (RFC 8899, 3): the window of a peer that does not read is closed, and a larger size is found all the same.
// rfc8899:3-16
#[test]
fn probes_leave_into_a_closed_window() {
    let both = Config::rfc9260().with(|c| {
        c.limits.receive_window = 4000;
        c.path_mtu.raise_timer = Duration::from_secs(30);
    });
    let (mut pair, a, _) = connected(13, 1200, false, &both);
    pair.reads = [true, false];
    for _ in 0..20 {
        pair.send(Side::A, a, 0, &[1; 500]);
    }
    pair.run_for(Duration::from_secs(20));
    assert_eq!(mtu(&pair, a), 1200);
    pair.carries = Some(1500);
    pair.run_for(Duration::from_secs(120));
    assert!(pair.a.view(a).unwrap().queued_bytes() > 0, "the window is closed");
    assert_eq!(mtu(&pair, a), 1500);
}
