//! Level 0: subflows that only the sender knows of, towards a peer that has never heard of them; and the case that shares one
//! window, in which they hurt each other.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Instant};
use anabranch_sctp::config::{Coupling, SubflowScheduler};
use anabranch_sctp::{AssociationId, CloseReason, Config, Event, SubflowSpec, SubflowStats};
use common::{Pair, Side};

const BE: Dscp = Dscp::DEFAULT;

fn dscp(value: u8) -> Dscp {
    Dscp::new(value).unwrap()
}

fn ef() -> Dscp {
    dscp(46)
}

/// A SACK per packet, as the thesis has it.
fn plain() -> Config {
    Config::rfc9260().with(|c| {
        c.sack.delay = Duration::ZERO;
        c.limits.send_buffer = 64 << 20;
        c.limits.receive_window = 4 << 20;
    })
}

fn with(coupling: Coupling, scheduler: SubflowScheduler, specs: &[(Dscp, u16, u8)]) -> Config {
    let spec = |&(dscp, weight, priority): &(Dscp, u16, u8)| SubflowSpec {
        weight,
        priority,
        ..SubflowSpec::new(dscp)
    };
    plain().with(|c| {
        c.subflows.coupling = coupling;
        c.subflows.scheduler = scheduler;
        c.subflows.open = specs.iter().map(spec).collect();
    })
}

/// A has subflows, Z is an ordinary endpoint.
fn towards_plain(seed: u64, config: &Config) -> (Pair, AssociationId) {
    let mut pair = Pair::new(seed);
    pair.z.listen(Arc::new(plain())).unwrap();
    let id =
        pair.a.connect(pair.now, common::address(Side::Z), common::PORT, Arc::new(config.clone())).unwrap();
    (pair, id)
}

fn up(seed: u64, config: &Config) -> (Pair, AssociationId) {
    let (mut pair, id) = towards_plain(seed, config);
    pair.run_for(Duration::from_millis(300));
    pair.log.clear();
    (pair, id)
}

fn stats(pair: &Pair, id: AssociationId, index: u8) -> SubflowStats {
    pair.a.view(id).unwrap().subflow_stats(index).unwrap()
}

/// `count` numbered messages of `len` bytes on each stream.
fn queue(pair: &mut Pair, id: AssociationId, streams: std::ops::Range<u16>, count: u32, len: usize) {
    for n in 0..count {
        for stream in streams.clone() {
            let mut payload = vec![stream as u8; len];
            payload[..4].copy_from_slice(&n.to_be_bytes());
            pair.send(Side::A, id, stream, &payload);
        }
    }
}

/// Each message of each stream arrived once, in order and whole.
#[track_caller]
fn all_arrived(pair: &Pair, streams: std::ops::Range<u16>, count: u32, len: usize) {
    let mut next = BTreeMap::<u16, u32>::new();
    for (_, message) in pair.received.iter().filter(|(side, _)| *side == Side::Z) {
        let bytes = message.clone().into_bytes();
        assert_eq!(bytes.len(), len);
        assert!(bytes[4..].iter().all(|b| *b == message.stream as u8), "mixed up");
        let expected = next.entry(message.stream).or_insert(0);
        assert_eq!(
            u32::from_be_bytes(bytes[..4].try_into().unwrap()),
            *expected,
            "stream {}",
            message.stream
        );
        *expected += 1;
    }
    for stream in streams {
        assert_eq!(next.get(&stream), Some(&count), "stream {stream}");
    }
}

/// When the last message of a stream arrived, found by letting time pass.
fn time_until(pair: &mut Pair, stream: u16, count: usize) -> Duration {
    let start = pair.now;
    while pair.received.iter().filter(|(s, m)| *s == Side::Z && m.stream == stream).count() < count {
        pair.run_for(Duration::from_millis(5));
        assert!(pair.now - start < Duration::from_secs(600), "never");
    }
    pair.now - start
}

#[test]
fn false_sharing_where_one_window_serves_all_and_none_at_level_0() {
    // Nothing is lost. Packets of EF take 10 ms, those of BE 50 ms: they overtake.
    let run = |coupling| {
        let config = with(coupling, SubflowScheduler::WeightedRoundRobin, &[(BE, 1, 0), (ef(), 1, 0)]);
        let (mut pair, id) = up(1, &config);
        pair.latency_of.insert(BE, Duration::from_millis(50));
        queue(&mut pair, id, 0..2, 1500, 1000);
        let fast = time_until(&mut pair, 1, 1500);
        pair.run_for(Duration::from_secs(60));
        all_arrived(&pair, 0..2, 1500, 1000);
        let total = pair.a.view(id).unwrap().stats();
        (fast, total, stats(&pair, id, 0), stats(&pair, id, 1))
    };
    let (shared_time, shared, ..) = run(Coupling::Shared);
    let (own_time, own, be, fast) = run(Coupling::Independent);
    // "Even though the packets may not be lost, when four SACKs reporting the same TSN gap are received, the SCTP sender has to
    // respond with an unnecessary Fast Retransmit" (Zou 2007, 3.2).
    assert!(shared.fast_retransmits > 0 && shared.retransmissions > 0, "{shared:?}");
    assert_eq!((own.fast_retransmits, own.retransmissions, own.timeouts), (0, 0, 0));
    assert!(own_time < shared_time, "{own_time} {shared_time}");
    // Each its own round trip: SACKs come back in 10 ms.
    let near = |s: &SubflowStats, ms: u64| {
        let srtt = s.srtt.unwrap();
        assert!((Duration::from_millis(ms)..Duration::from_millis(ms + 2)).contains(&srtt), "{srtt}");
    };
    near(&be, 60);
    near(&fast, 20);
    assert_eq!(
        (be.min_rtt, fast.min_rtt),
        (Some(Duration::from_millis(60)), Some(Duration::from_millis(20)))
    );
}

#[test]
fn on_the_wire_it_is_rfc_9260() {
    let config =
        with(Coupling::Independent, SubflowScheduler::Fcfs, &[(BE, 1, 0), (dscp(10), 1, 0), (ef(), 1, 0)]);
    // The handshake is that of an endpoint without subflows, byte for byte.
    let handshake = |config: &Config| {
        let (mut pair, id) = towards_plain(3, config);
        pair.run_for(Duration::from_millis(300));
        pair.a.view(id).unwrap();
        pair.log.iter().map(|p| p.bytes.clone()).collect::<Vec<_>>()
    };
    assert_eq!(handshake(&config), handshake(&plain()));
    let (mut pair, id) = up(3, &config);
    let mut rng = anabranch_base::Rng::stream(3, "loss", "test");
    pair.drop_if(move |_| rng.below(20) == 0);
    queue(&mut pair, id, 0..6, 100, 700);
    pair.run_for(Duration::from_secs(60));
    all_arrived(&pair, 0..6, 100, 700);
    let mut numbers = BTreeSet::new();
    for packet in pair.log.iter().filter(|p| p.from == Side::A) {
        assert!(!packet.has("OTHER") && !packet.has("SF-SACK"), "{:?}", packet.words());
        // Data of one subflow in a packet, and the packet has its code point: streams take the subflows in turn.
        for data in packet.data() {
            let expected = [BE, dscp(10), ef()][usize::from(data.stream % 3)];
            assert_eq!(packet.dscp, expected);
            numbers.insert(data.tsn.get());
        }
    }
    // One numbering without holes.
    assert_eq!(numbers.len(), 600);
    let first = numbers.first().unwrap();
    assert!(numbers.iter().enumerate().all(|(i, tsn)| *tsn == first + i as u32));
    assert!(!pair.log.iter().any(|p| p.has("ABORT") || p.has("ERROR")));
}

#[test]
fn what_one_subflow_loses_costs_the_other_nothing() {
    let config = with(Coupling::Independent, SubflowScheduler::Fcfs, &[(BE, 1, 0), (ef(), 1, 0)]);
    let run = |lossy: bool| {
        let (mut pair, id) = up(5, &config);
        let mut rng = anabranch_base::Rng::stream(5, "loss", "test");
        pair.drop_if(move |p| lossy && p.from == Side::A && p.dscp == BE && rng.below(20) == 0);
        queue(&mut pair, id, 0..2, 2000, 1000);
        let fast = time_until(&mut pair, 1, 2000);
        (pair, id, fast)
    };
    let (_, _, alone) = run(false);
    let (mut pair, id, fast) = run(true);
    let (slow, quick) = (stats(&pair, id, 0), stats(&pair, id, 1));
    assert!(slow.fast_retransmits > 3 && slow.cwnd < quick.cwnd, "{slow:?} {quick:?}");
    assert_eq!((quick.fast_retransmits, quick.timeouts, quick.retransmissions), (0, 0, 0));
    assert!(fast <= alone + Duration::from_millis(20), "{fast} {alone}");
    pair.run_for(Duration::from_secs(120));
    all_arrived(&pair, 0..2, 2000, 1000);
}

#[test]
fn a_path_that_swallows_one_code_point_stops_only_that_one() {
    let config = with(Coupling::Independent, SubflowScheduler::Fcfs, &[(BE, 1, 0), (ef(), 1, 0)]);
    let (mut pair, id) = up(6, &config);
    let heals = pair.now + Duration::from_secs(20);
    pair.drop_if(move |p| p.from == Side::A && p.dscp == ef() && p.at < heals);
    queue(&mut pair, id, 1..2, 300, 1000);
    queue(&mut pair, id, 0..1, 300, 1000);
    let through = time_until(&mut pair, 0, 300);
    assert!(through < Duration::from_secs(2), "{through}");
    pair.run_for(Duration::from_secs(15));
    let (be, lost) = (stats(&pair, id, 0), stats(&pair, id, 1));
    assert!(lost.timeouts >= 3 && lost.rto > Duration::from_secs(5), "{lost:?}");
    assert_eq!((be.timeouts, be.retransmissions, be.rto), (0, 0, Duration::from_secs(1)));
    pair.run_for(Duration::from_secs(60));
    all_arrived(&pair, 0..2, 300, 1000);
}

#[test]
fn long_messages_of_several_subflows_stay_whole() {
    // DATA has no fragment numbers: a message needs consecutive TSNs, whoever else sends at the time.
    for coupling in [Coupling::Independent, Coupling::Shared] {
        for scheduler in [
            SubflowScheduler::Fcfs,
            SubflowScheduler::WeightedRoundRobin,
            SubflowScheduler::WeightedFair,
            SubflowScheduler::Priority,
        ] {
            for seed in 0..5 {
                let config = with(coupling, scheduler, &[(BE, 1, 0), (ef(), 2, 1), (dscp(10), 1, 1)]);
                let (mut pair, id) = up(seed, &config);
                pair.latency_of.insert(BE, Duration::from_millis(35));
                let mut rng = anabranch_base::Rng::stream(seed, "loss", "test");
                pair.drop_if(move |p| rng.below(30) == 0 && p.at > Instant::ZERO);
                queue(&mut pair, id, 0..6, 12, 20_000);
                pair.run_for(Duration::from_secs(120));
                all_arrived(&pair, 0..6, 12, 20_000);
            }
        }
    }
}

#[test]
fn a_long_message_that_is_held_up_holds_up_nobody_else() {
    let config = with(Coupling::Independent, SubflowScheduler::Fcfs, &[(BE, 1, 0), (ef(), 1, 0)]);
    let (mut pair, id) = up(8, &config);
    // The long one is in the middle when its path dies.
    let (dies, heals) = (pair.now + Duration::from_millis(45), pair.now + Duration::from_secs(30));
    pair.drop_if(move |p| p.from == Side::A && p.dscp == BE && p.at >= dies && p.at < heals);
    queue(&mut pair, id, 0..1, 1, 400_000);
    queue(&mut pair, id, 1..2, 500, 1000);
    let other = time_until(&mut pair, 1, 500);
    assert!(other < Duration::from_secs(1), "{other}");
    let be = stats(&pair, id, 0);
    assert!(be.queued_bytes > 200_000, "{be:?}");
    pair.run_for(Duration::from_secs(90));
    assert_eq!(stats(&pair, id, 0).queued_bytes, 0);
    let lengths: Vec<usize> = pair.received.iter().map(|(_, m)| m.len()).filter(|len| *len > 1000).collect();
    assert_eq!(lengths, [400_000]);
}

#[test]
fn long_messages_and_a_small_receive_buffer_go_on() {
    for window in [3000_u32, 20_000, 60_000] {
        for coupling in [Coupling::Independent, Coupling::Shared] {
            let config = with(coupling, SubflowScheduler::WeightedRoundRobin, &[(BE, 1, 0), (ef(), 1, 0)]);
            let mut pair = Pair::new(9);
            pair.z.listen(Arc::new(plain().with(|c| c.limits.receive_window = window))).unwrap();
            let z = common::address(Side::Z);
            let id = pair.a.connect(pair.now, z, common::PORT, Arc::new(config)).unwrap();
            pair.run_for(Duration::from_millis(300));
            pair.latency_of.insert(BE, Duration::from_millis(30));
            let mut rng = anabranch_base::Rng::stream(9, "loss", "test");
            pair.drop_if(move |_| rng.below(50) == 0);
            queue(&mut pair, id, 0..2, 5, 50_000);
            pair.run_for(Duration::from_secs(2000));
            all_arrived(&pair, 0..2, 5, 50_000);
        }
    }
}

/// Streams of the packets with DATA that A sent, in order.
fn order(pair: &Pair) -> Vec<u16> {
    let data = pair.log.iter().filter(|p| p.from == Side::A);
    data.filter_map(|p| p.data().first().map(|d| d.stream)).collect()
}

/// Packets of two subflows that share a window, so that the gate alone decides.
fn contest(scheduler: SubflowScheduler, specs: &[(Dscp, u16, u8)], lens: &[usize]) -> Vec<u16> {
    let config = with(Coupling::Shared, scheduler, specs);
    let (mut pair, id) = up(11, &config);
    for (stream, len) in lens.iter().enumerate() {
        queue(&mut pair, id, stream as u16..stream as u16 + 1, 400, *len);
    }
    pair.run_for(Duration::from_secs(20));
    order(&pair)
}

#[test]
fn the_gate_gives_out_what_its_rule_says() {
    let count = |order: &[u16], stream| order.iter().filter(|s| **s == stream).count();
    let equal = [(BE, 1, 0), (ef(), 1, 0)];
    // First come, first served: the whole queue of stream 0 was there before.
    let fcfs = contest(SubflowScheduler::Fcfs, &equal, &[1000, 1000]);
    assert_eq!((count(&fcfs[..400], 0), count(&fcfs[400..], 1)), (400, 400));
    // In turn, packet by packet.
    let wrr = contest(SubflowScheduler::WeightedRoundRobin, &equal, &[1000, 1000]);
    assert!(wrr[..800].windows(2).all(|pair| pair[0] != pair[1]), "{wrr:?}");
    let wrr = contest(SubflowScheduler::WeightedRoundRobin, &[(BE, 3, 0), (ef(), 1, 0)], &[1000, 1000]);
    assert_eq!(count(&wrr[..400], 0), 300);
    // By bytes: packets of 1,400 and of 700 bytes of user data.
    let wfq = contest(SubflowScheduler::WeightedFair, &equal, &[1400, 1400, 700, 700]);
    let first = &wfq[..300];
    let bytes = [count(first, 0), count(first, 1)];
    assert!(bytes[0].abs_diff(bytes[1]) <= 2, "{bytes:?}");
    // Strictly by priority: the smaller number first, in whatever order the messages came.
    let strict = contest(SubflowScheduler::Priority, &[(BE, 1, 1), (ef(), 1, 0)], &[1000, 1000]);
    assert_eq!((count(&strict[..400], 1), count(&strict[400..], 0)), (400, 400));
}

#[test]
fn a_subflow_that_may_not_send_stops_nobody_whatever_the_rule() {
    for scheduler in [
        SubflowScheduler::Fcfs,
        SubflowScheduler::WeightedRoundRobin,
        SubflowScheduler::WeightedFair,
        SubflowScheduler::Priority,
    ] {
        let config = with(Coupling::Independent, scheduler, &[(BE, 1, 0), (ef(), 1, 9)]);
        let (mut pair, id) = up(12, &config);
        pair.drop_if(|p| p.from == Side::A && p.dscp == BE);
        queue(&mut pair, id, 0..1, 200, 1000);
        queue(&mut pair, id, 1..2, 200, 1000);
        let through = time_until(&mut pair, 1, 200);
        assert!(through < Duration::from_secs(1), "{scheduler:?}: {through}");
    }
}

#[test]
fn phi_divides_the_growth_and_only_that() {
    let run = |coupling| {
        let mut config = with(
            coupling,
            SubflowScheduler::Fcfs,
            &[(BE, 1, 0), (ef(), 1, 0), (dscp(10), 1, 0), (dscp(12), 1, 0)],
        );
        config.congestion.initial_ssthresh = Some(10_000);
        let (mut pair, id) = up(13, &config);
        queue(&mut pair, id, 0..4, 6000, 1400);
        pair.run_for(Duration::from_secs(1));
        let windows: Vec<u64> = (0..4).map(|index| stats(&pair, id, index).cwnd).collect();
        assert!(windows.iter().all(|w| *w == windows[0]), "{windows:?}");
        windows[0]
    };
    // 50 round trips of 20 ms: one packet for each, less slow start.
    let pmdcs = u64::from(plain().pmdcs());
    let packets = |window: u64| (window - 10_000) / pmdcs;
    let [one, n, square] = [Coupling::Independent, Coupling::FccN, Coupling::FccN2].map(run).map(packets);
    assert!((44..=50).contains(&one), "{one}");
    assert!((11..=13).contains(&n), "{n}");
    assert!((3..=4).contains(&square), "{square}");
    assert_eq!(run(Coupling::Fcc(4.0)), run(Coupling::FccN));
}

/// A message on each of 25 subflows, and a silence that begins before they leave.
fn silence() -> (Pair, AssociationId) {
    let specs: Vec<_> = (1..=25).map(|code| (dscp(code), 1, 0)).collect();
    let config = with(Coupling::Independent, SubflowScheduler::Fcfs, &specs).with(|c| {
        c.streams.outbound = 25;
        // HEARTBEATs without an answer count, too (8.1): here T3-rtx is alone.
        c.timers.heartbeat_interval = Duration::ZERO;
    });
    let (mut pair, id) = up(44, &config);
    pair.drop_if(|_| true);
    queue(&mut pair, id, 0..25, 1, 1000);
    (pair, id)
}

/// The timers of all subflows expire in one silence of the path: that is one error, not one for each of them.
#[test]
fn a_short_silence_does_not_end_an_association_with_many_subflows() {
    let (mut pair, id) = silence();
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.a.view(id).unwrap().stats().timeouts, 25);
    pair.drop_if(|_| false);
    pair.run_for(Duration::from_secs(10));
    all_arrived(&pair, 0..25, 1, 1000);
}

/// One that lasts ends it as it ends one without subflows, at the eleventh time: 1, 2, 4, 8, 16, 32 and five times 60 s.
#[test]
fn a_long_silence_ends_an_association_with_many_subflows() {
    let (mut pair, id) = silence();
    pair.run_for(Duration::from_secs(360));
    assert_eq!(pair.a.view(id).unwrap().stats().timeouts, 250);
    pair.run_for(Duration::from_secs(5));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(CloseReason::Unreachable { .. }))));
}

/// The network drops every packet with one code point, from the first INIT on: whether it is that of the first subflow, which control
/// chunks go with, or of the one whose data rides with the COOKIE ECHO.
#[test]
fn a_code_point_that_is_dropped_keeps_nobody_else_back() {
    let af41 = dscp(34);
    for (first, second, through) in [(ef(), af41, 1_u16), (af41, ef(), 0), (BE, ef(), 0), (ef(), BE, 1)] {
        // The dropped one has priority: its data is chosen to go with the COOKIE ECHO.
        let specs = [(first, 1, u8::from(through == 0)), (second, 1, u8::from(through == 1))];
        let config = with(Coupling::Independent, SubflowScheduler::Priority, &specs);
        let (mut pair, id) = towards_plain(7, &config);
        pair.drop_if(|packet| packet.from == Side::A && packet.dscp == ef());
        queue(&mut pair, id, 0..2, 20, 400);
        pair.run_for(Duration::from_secs(10));
        let arrived = pair.received.iter().filter(|(side, _)| *side == Side::Z);
        let by_stream = arrived.fold([0; 2], |mut counts: [u32; 2], (_, message)| {
            counts[usize::from(message.stream)] += 1;
            counts
        });
        let mut expected = [0; 2];
        expected[usize::from(through)] = 20;
        assert_eq!(by_stream, expected, "first {first:?}, second {second:?}");
    }
}
