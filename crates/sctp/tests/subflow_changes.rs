//! Subflows that change while data flows, over a network that loses, delays and overtakes: nothing is lost, nothing comes twice,
//! every stream keeps its order.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Instant, Rng};
use anabranch_sctp::config::{Coupling, StreamScheduling, SubflowLevel, SubflowScheduler};
use anabranch_sctp::{AssociationId, Config, Message, SendError, SubflowError, SubflowSpec, SubflowStats};
use bytes::Bytes;
use common::{PORT, Pair, Side, address};

fn dscp(value: u8) -> Dscp {
    Dscp::new(value).unwrap()
}

fn config(subflows: u8) -> Config {
    Config::rfc9260().with(|c| {
        c.sack.delay = Duration::ZERO;
        c.limits.send_buffer = 64 << 20;
        c.limits.receive_window = 4 << 20;
        c.subflows.open = (0..subflows).map(|i| SubflowSpec::new(dscp(i))).collect();
    })
}

fn up(seed: u64, config: &Config) -> (Pair, AssociationId) {
    let mut pair = Pair::new(seed);
    pair.z.listen(Arc::new(config.clone().with(|c| c.subflows.open = Vec::new()))).unwrap();
    let id = pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(config.clone())).unwrap();
    pair.run_for(Duration::from_millis(300));
    pair.log.clear();
    (pair, id)
}

fn stats(pair: &Pair, id: AssociationId, index: u8) -> SubflowStats {
    pair.a.view(id).unwrap().subflow_stats(index).unwrap()
}

/// Lengths of the messages sent on each stream.
#[derive(Default)]
struct Sent(BTreeMap<u16, Vec<usize>>);

impl Sent {
    fn send(&mut self, pair: &mut Pair, id: AssociationId, stream: u16, len: usize) -> bool {
        let list = self.0.entry(stream).or_default();
        let mut payload = vec![stream as u8 ^ list.len() as u8; len.max(4)];
        payload[..4].copy_from_slice(&(list.len() as u32).to_be_bytes());
        match pair.a.association(id).unwrap().send(pair.now, Message::new(stream, Bytes::from(payload))) {
            Ok(_) => {
                list.push(len.max(4));
                true
            }
            Err(SendError::Full) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Everything arrived, once, whole and in the order of its stream.
    #[track_caller]
    fn check(&self, pair: &Pair, what: &str) {
        let mut got = BTreeMap::<u16, u32>::new();
        for (_, message) in pair.received.iter().filter(|(side, _)| *side == Side::Z) {
            let bytes = message.clone().into_bytes();
            let next = got.entry(message.stream).or_insert(0);
            let number = u32::from_be_bytes(bytes[..4].try_into().unwrap());
            assert_eq!(number, *next, "{what}: stream {}", message.stream);
            let filling = message.stream as u8 ^ number as u8;
            assert!(bytes[4..].iter().all(|b| *b == filling), "{what}: mixed up");
            assert_eq!(bytes.len(), self.0[&message.stream][number as usize], "{what}");
            *next += 1;
        }
        for (stream, list) in &self.0 {
            assert_eq!(got.get(stream).copied().unwrap_or(0) as usize, list.len(), "{what}: stream {stream}");
        }
    }
}

fn lossy(pair: &mut Pair, seed: u64, one_in: u64) {
    let mut rng = Rng::stream(seed, "loss", "test");
    pair.drop_if(move |_| rng.below(one_in) == 0);
}

#[test]
fn a_stream_that_migrates_keeps_counting() {
    for seed in 0..10 {
        let (mut pair, id) = up(seed, &config(2));
        pair.latency_of.insert(dscp(0), Duration::from_millis(80));
        lossy(&mut pair, seed, 15);
        let mut sent = Sent::default();
        for n in 0..300 {
            // Now and then one of several chunks.
            sent.send(&mut pair, id, 0, if n % 7 == 0 { 5000 } else { 900 });
            sent.send(&mut pair, id, 1, 900);
        }
        for _ in 0..6 {
            pair.run_for(Duration::from_millis(150));
            let now = pair.now;
            let there = pair.a.association(id).unwrap().set_stream_dscp(now, 0, dscp(1)).unwrap();
            assert_eq!(there, 1);
            pair.run_for(Duration::from_millis(150));
            let back = pair.a.association(id).unwrap().set_stream_dscp(pair.now, 0, dscp(0)).unwrap();
            assert_eq!(back, 0);
        }
        assert_eq!(pair.a.view(id).unwrap().subflows(), 2);
        pair.run_for(Duration::from_secs(120));
        sent.check(&pair, &format!("seed {seed}"));
        // Both code points carried it, and its numbers went on without a break.
        let (mut codes, mut ssns) = (BTreeMap::new(), BTreeMap::new());
        for packet in pair.log.iter().filter(|p| p.from == Side::A) {
            for data in packet.data().iter().filter(|d| d.stream == 0) {
                *codes.entry(packet.dscp).or_insert(0) += 1;
                let known = ssns.insert(data.tsn.get(), data.ssn.get());
                assert!(known.is_none_or(|ssn| ssn == data.ssn.get()));
            }
        }
        assert!(codes.len() == 2 && codes.values().all(|n| *n > 10), "{codes:?}");
        let order: Vec<u16> = ssns.into_values().collect();
        assert!(order.windows(2).all(|w| w[1] == w[0] || w[1] == w[0] + 1), "{order:?}");
        assert_eq!((order.first(), order.last()), (Some(&0), Some(&299)));
    }
}

#[test]
fn a_migration_takes_along_what_waits_and_leaves_what_flies() {
    let (mut pair, id) = up(1, &config(2));
    let mut sent = Sent::default();
    for _ in 0..200 {
        sent.send(&mut pair, id, 0, 1000);
    }
    pair.pump();
    let before = stats(&pair, id, 0);
    assert!(before.flight > 0 && before.queued_bytes > 150_000);
    pair.a.association(id).unwrap().set_stream_subflow(pair.now, 0, 1).unwrap();
    let (old, new) = (stats(&pair, id, 0), stats(&pair, id, 1));
    assert_eq!((old.flight, old.queued_bytes, new.queued_bytes), (before.flight, 0, before.queued_bytes));
    pair.run_for(Duration::from_secs(20));
    sent.check(&pair, "migration");
    assert_eq!(stats(&pair, id, 0).packets_sent, before.packets_sent);
}

#[test]
fn a_new_code_point_opens_a_subflow_up_to_the_limit() {
    let mut limited = config(1);
    limited.subflows.max = 3;
    let (mut pair, id) = up(2, &limited);
    let now = pair.now;
    assert_eq!(pair.a.association(id).unwrap().set_stream_dscp(now, 1, dscp(46)), Ok(1));
    assert_eq!(pair.a.association(id).unwrap().set_stream_dscp(now, 2, dscp(46)), Ok(1));
    assert_eq!(pair.a.association(id).unwrap().set_stream_dscp(now, 3, dscp(10)), Ok(2));
    assert_eq!(
        pair.a.association(id).unwrap().set_stream_dscp(now, 4, dscp(12)),
        Err(SubflowError::TooMany { limit: 3 })
    );
    let streams = pair.a.view(id).unwrap().outbound_streams();
    let beyond = pair.a.association(id).unwrap().set_stream_dscp(now, streams, dscp(46));
    assert_eq!(beyond, Err(SubflowError::NoSuchStream { stream: streams, streams }));
    assert_eq!(
        pair.a.association(id).unwrap().remove_subflow(now, 7, 0),
        Err(SubflowError::NotOpen { index: 7 })
    );
    assert_eq!(
        pair.a.association(id).unwrap().remove_subflow(now, 1, 1),
        Err(SubflowError::Same { index: 1 })
    );
    // A place that is free is taken again.
    assert_eq!(pair.a.association(id).unwrap().remove_subflow(now, 1, 0), Ok(()));
    assert_eq!(pair.a.association(id).unwrap().add_subflow(now, &SubflowSpec::new(dscp(12))), Ok(1));
    pair.a.association(id).unwrap().shutdown(now);
    assert_eq!(
        pair.a.association(id).unwrap().add_subflow(now, &SubflowSpec::new(dscp(14))),
        Err(SubflowError::Closing)
    );
}

/// A subflow in the place of the first one begins with the round trip of its path: T2-shutdown, RE-CONFIG and heartbeats go by it, too.
#[test]
fn a_new_first_subflow_leaves_the_round_trip_of_its_path_alone() {
    let (mut pair, id) = up(4, &config(2));
    let mut sent = Sent::default();
    sent.send(&mut pair, id, 0, 1000);
    pair.run_for(Duration::from_secs(1));
    let measured = |pair: &mut Pair| {
        let status = pair.a.association(id).unwrap().status();
        status.primary().map(|path| (path.srtt, path.rto)).filter(|(srtt, _)| srtt.is_some())
    };
    let before = measured(&mut pair);
    assert!(before.is_some());
    pair.a.association(id).unwrap().remove_subflow(pair.now, 0, 1).unwrap();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.a.association(id).unwrap().add_subflow(pair.now, &SubflowSpec::new(dscp(9))), Ok(0));
    assert_eq!(measured(&mut pair), before);
}

/// Streams that are added when the first subflow is gone belong to the one that took its streams: messages on them have a subflow, and
/// keeps it when another takes the free place.
#[test]
fn streams_that_are_added_go_where_those_of_the_first_went() {
    let config = config(2).with(|c| {
        c.extensions.reconfiguration = true;
        c.streams.outbound = 4;
        c.streams.max_outbound = 16;
        c.streams.inbound = 16;
    });
    let (mut pair, id) = up(4, &config);
    let mut sent = Sent::default();
    sent.send(&mut pair, id, 0, 1000);
    pair.a.association(id).unwrap().remove_subflow(pair.now, 0, 1).unwrap();
    pair.run_for(Duration::from_secs(2));
    pair.a.association(id).unwrap().add_streams(pair.now, 4, 0).unwrap();
    pair.run_for(Duration::from_secs(2));
    pair.log.clear();
    for _ in 0..50 {
        sent.send(&mut pair, id, 6, 20_000);
    }
    assert!(stats(&pair, id, 1).queued_bytes > 0);
    assert_eq!(pair.a.association(id).unwrap().add_subflow(pair.now, &SubflowSpec::new(dscp(9))), Ok(0));
    pair.run_for(Duration::from_secs(20));
    sent.check(&pair, "added streams");
    let with_data = |p: &&common::Logged| p.from == Side::A && p.has("DATA");
    assert!(pair.log.iter().filter(with_data).all(|p| p.dscp == dscp(1)));
}

#[test]
fn removal_ends_when_its_flight_is_acknowledged() {
    let (mut pair, id) = up(3, &config(3));
    let mut sent = Sent::default();
    for _ in 0..100 {
        for stream in 0..3 {
            sent.send(&mut pair, id, stream, 1000);
        }
    }
    pair.drop_if(|p| p.from == Side::A && p.dscp == dscp(1));
    pair.run_for(Duration::from_millis(100));
    pair.a.association(id).unwrap().remove_subflow(pair.now, 1, 2).unwrap();
    pair.run_for(Duration::from_millis(500));
    let removed = stats(&pair, id, 1);
    assert!(!removed.open && removed.flight > 0 && removed.queued_bytes == 0);
    // Its place is not given away while it has something in flight.
    assert_eq!(pair.a.association(id).unwrap().add_subflow(pair.now, &SubflowSpec::new(dscp(9))), Ok(3));
    pair.drop_if(|_| false);
    pair.run_for(Duration::from_secs(20));
    sent.check(&pair, "removal");
    assert_eq!(stats(&pair, id, 1).flight, 0);
    assert_eq!(pair.a.association(id).unwrap().add_subflow(pair.now, &SubflowSpec::new(dscp(8))), Ok(1));
    assert_eq!(stats(&pair, id, 1).dscp, dscp(8));
}

#[test]
fn merged_windows_add_up_and_so_does_what_flies() {
    let (mut pair, id) = up(4, &config(2));
    let mut sent = Sent::default();
    for _ in 0..2000 {
        sent.send(&mut pair, id, 0, 1000);
        sent.send(&mut pair, id, 1, 1000);
    }
    pair.run_for(Duration::from_millis(105));
    let (a, b) = (stats(&pair, id, 0), stats(&pair, id, 1));
    assert!(a.flight > 0 && b.flight > 0);
    assert!(pair.a.view(id).unwrap().alike(0, 1, 0.25));
    let total = pair.a.view(id).unwrap().flight_bytes();
    pair.a.association(id).unwrap().merge_subflows(pair.now, 1, 0).unwrap();
    let merged = stats(&pair, id, 0);
    assert_eq!((merged.cwnd, merged.flight), (a.cwnd + b.cwnd, a.flight + b.flight));
    assert_eq!(pair.a.view(id).unwrap().flight_bytes(), total);
    assert_eq!(pair.a.view(id).unwrap().subflows(), 1);
    // From now on everything has one code point, and new data leaves at once where the window allows it.
    let mark = pair.log.len();
    pair.run_for(Duration::from_secs(30));
    sent.check(&pair, "merging");
    assert!(pair.log[mark..].iter().filter(|p| !p.data().is_empty()).all(|p| p.dscp == dscp(0)));
}

#[test]
fn a_merged_subflow_whose_packets_are_all_lost_is_sent_again() {
    let (mut pair, id) = up(5, &config(2));
    let mut sent = Sent::default();
    for _ in 0..4 {
        sent.send(&mut pair, id, 1, 1000);
    }
    pair.drop_if(|p| p.from == Side::A);
    pair.pump();
    pair.a.association(id).unwrap().merge_subflows(pair.now, 1, 0).unwrap();
    pair.drop_if(|_| false);
    pair.run_for(Duration::from_secs(10));
    sent.check(&pair, "merging what is lost");
}

#[test]
fn a_message_that_was_alone_gets_company() {
    for coupling in [Coupling::Independent, Coupling::Shared] {
        let one = config(1).with(|c| {
            c.subflows.coupling = coupling;
            c.subflows.scheduler = SubflowScheduler::WeightedRoundRobin;
        });
        let (mut pair, id) = up(6, &one);
        let mut sent = Sent::default();
        sent.send(&mut pair, id, 0, 300_000);
        pair.run_for(Duration::from_millis(25));
        assert!(stats(&pair, id, 0).queued_bytes > 200_000);
        let spec = SubflowSpec { streams: vec![1], ..SubflowSpec::new(dscp(46)) };
        pair.a.association(id).unwrap().add_subflow(pair.now, &spec).unwrap();
        for _ in 0..100 {
            sent.send(&mut pair, id, 1, 1000);
        }
        pair.run_for(Duration::from_secs(30));
        sent.check(&pair, "company");
    }
}

#[derive(Debug)]
struct Plan {
    config: Config,
    peer: Config,
    loss: u64,
    late: [u64; 6],
}

impl Plan {
    fn draw(rng: &mut Rng) -> Self {
        let profiles = Config::PROFILES;
        let mut config = Config::named(profiles[rng.below(profiles.len() as u64) as usize]).unwrap();
        config.subflows.coupling =
            [Coupling::Independent, Coupling::Shared, Coupling::FccN2, Coupling::FccN][rng.below(4) as usize];
        common::uncouple(&mut config);
        config.subflows.scheduler = [
            SubflowScheduler::Fcfs,
            SubflowScheduler::WeightedRoundRobin,
            SubflowScheduler::WeightedFair,
            SubflowScheduler::Priority,
        ][rng.below(4) as usize];
        config.subflows.level = [SubflowLevel::Zero, SubflowLevel::One][rng.below(2) as usize];
        config.streams.scheduling = [
            StreamScheduling::Fcfs,
            StreamScheduling::RoundRobin,
            StreamScheduling::RoundRobinPacket,
            StreamScheduling::Priority,
            StreamScheduling::FairCapacity,
            StreamScheduling::WeightedFair,
        ][rng.below(6) as usize];
        config.subflows.open = (0..rng.below(4)).map(|i| SubflowSpec::new(dscp(i as u8))).collect();
        config.subflows.max = 1 + rng.below(6) as u8;
        config.streams.outbound = 8;
        config.limits.send_buffer = [20_000, 256 << 10][rng.below(2) as usize];
        config.mtu = [600, 1500][rng.below(2) as usize];
        config.sack.delay = Duration::from_millis([0, 200][rng.below(2) as usize]);
        config.limits.association_max_retrans = 1000;
        config.timers.rto_max = Duration::from_secs(4);
        config.timers.heartbeat_interval = Duration::ZERO;
        let mut peer = config.clone().with(|c| c.subflows.open = Vec::new());
        peer.limits.receive_window = [5_000, 30_000, 1 << 20][rng.below(3) as usize];
        if config.subflows.level == SubflowLevel::One {
            // Each subflow has a part of the buffer for itself: it must hold the longest message.
            peer.limits.receive_window = peer.limits.receive_window.max(1 << 18);
            // Half of the peers do not have the extension: level 0 results.
            if rng.chance(0.5) {
                peer.subflows.level = SubflowLevel::Zero;
            }
        }
        let loss = [0, 30, 8][rng.below(3) as usize];
        let late = std::array::from_fn(|_| 1 + rng.below(60));
        Self { config, peer, loss, late }
    }
}

/// One life: messages and changes at random times, then quiet.
fn life(seed: u64) -> usize {
    let mut rng = Rng::stream(seed, "test", "changes");
    let plan = Plan::draw(&mut rng);
    let what = format!("seed {seed}: {:?} {:?}", plan.config.subflows.coupling, plan.config.subflows.level);
    let mut pair = Pair::new(seed);
    pair.z.listen(Arc::new(plan.peer.clone())).unwrap();
    let id = pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(plan.config.clone())).unwrap();
    for (code, ms) in plan.late.iter().enumerate() {
        pair.latency_of.insert(dscp(code as u8), Duration::from_millis(*ms));
    }
    let heals = Instant::ZERO + Duration::from_secs(20);
    if plan.loss > 0 {
        let mut dice = Rng::stream(seed, "loss", "changes");
        let one_in = plan.loss;
        pair.drop_if(move |p| p.at < heals && dice.below(one_in) == 0);
    }
    let mut sent = Sent::default();
    let mut changes = 0;
    for _ in 0..250 {
        let now = pair.now;
        let (stream, subflow, to) = (rng.below(8) as u16, rng.below(6) as u8, rng.below(6) as u8);
        let code = dscp(rng.below(6) as u8);
        let done = match rng.below(16) {
            0 => pair.a.association(id).unwrap().set_stream_dscp(now, stream, code).is_ok(),
            1 => pair.a.association(id).unwrap().set_stream_subflow(now, stream, subflow).is_ok(),
            2 => {
                let spec = SubflowSpec {
                    streams: vec![stream],
                    weight: 1 + u16::from(to),
                    ..SubflowSpec::new(code)
                };
                pair.a.association(id).unwrap().add_subflow(now, &spec).is_ok()
            }
            3 => pair.a.association(id).unwrap().remove_subflow(now, subflow, to).is_ok(),
            4 => pair.a.association(id).unwrap().merge_subflows(now, subflow, to).is_ok(),
            5 | 6 => {
                pair.run_for(Duration::from_millis(rng.below(120)));
                false
            }
            _ => {
                let len = [10, 1000, 9000][rng.below(3) as usize];
                for _ in 0..=rng.below(4) {
                    sent.send(&mut pair, id, stream, len);
                }
                false
            }
        };
        changes += usize::from(done);
        let assoc = pair.a.view(id).unwrap();
        assert!(assoc.subflows() >= 1, "{what}");
        assert_eq!(assoc.audit(), Ok(()), "{what}");
        let known: u64 = (0..=255).map_while(|i| assoc.subflow_stats(i)).map(|s| s.queued_bytes).sum();
        assert_eq!(known as usize, assoc.queued_bytes(), "{what}");
    }
    // Until everything is acknowledged.
    let start = pair.now;
    loop {
        pair.run_for(Duration::from_secs(5));
        let assoc = pair.a.view(id).unwrap();
        if assoc.queued_bytes() == 0 && assoc.unacknowledged_chunks() == 0 {
            break;
        }
        assert!(
            pair.now - start < Duration::from_secs(1500),
            "{what}: stuck at {}: {:?}",
            pair.now,
            assoc.stats()
        );
    }
    sent.check(&pair, &what);
    // The removed subflow is gone, and an orderly end is possible.
    let end = pair.now;
    pair.a.association(id).unwrap().shutdown(end);
    pair.run_for(Duration::from_secs(20));
    let state = pair.a.view(id).map(anabranch_sctp::Association::state);
    assert_eq!(state, Some(anabranch_sctp::State::Closed), "{what}");
    changes
}

#[test]
fn random_changes() {
    let changes: usize = (0..400).map(life).sum();
    assert!(changes > 4000, "{changes}");
}

/// `LIVES=20000 cargo test --release --test subflow_changes -- --ignored`
#[test]
#[ignore = "takes as long as it is told to: make soak"]
fn random_changes_for_long() {
    let lives: u64 = std::env::var("LIVES").ok().and_then(|n| n.parse().ok()).unwrap_or(5000);
    for seed in 1000..1000 + lives {
        life(seed);
    }
}

/// "If a DSCP change might result in outgoing packets being queued in different queues, the congestion control parameters ... MUST be reset to
/// their initial values" (7.2.5.1): a stream that changes its code point, and another code point in the place of a removed subflow, begin
/// with the initial window, however far that of before has grown or been cut.
// rfc9260:7.2.5.1-1
#[test]
fn another_code_point_begins_with_the_initial_window() {
    let (mut pair, id) = up(7, &config(2));
    let initial = stats(&pair, id, 1).cwnd;
    let mut sent = Sent::default();
    for _ in 0..200 {
        sent.send(&mut pair, id, 1, 1000);
    }
    pair.run_for(Duration::from_secs(5));
    assert!(stats(&pair, id, 1).cwnd > 2 * initial, "{}", stats(&pair, id, 1).cwnd);
    let now = pair.now;
    assert_eq!(pair.a.association(id).unwrap().set_stream_dscp(now, 1, dscp(46)), Ok(2));
    assert_eq!(stats(&pair, id, 2).cwnd, initial, "a stream with another code point");
    pair.a.association(id).unwrap().remove_subflow(now, 1, 0).unwrap();
    assert_eq!(pair.a.association(id).unwrap().add_subflow(now, &SubflowSpec::new(dscp(10))), Ok(1));
    assert_eq!(stats(&pair, id, 1).cwnd, initial, "another code point in the place of one that was removed");
    sent.check(&pair, "another code point");
}
