//! Receive buffers that are short: whatever one subflow lacks, the others go on, and what was closed opens again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::common;

use std::collections::BTreeMap;

use anabranch_base::{Dscp, Duration, Instant, Rng};
use anabranch_sctp::config::{Coupling, SubflowScheduler};
use anabranch_sctp::{
    AssociationId, Config, Endpoint, EndpointConfig, Message, SendError, SubflowLevel, SubflowSpec,
};
use anabranch_wire::chunk::kind;
use bytes::Bytes;
use common::{PORT, Pair, Side, address, subflow_config};

const GATES: [SubflowScheduler; 4] = [
    SubflowScheduler::Fcfs,
    SubflowScheduler::WeightedRoundRobin,
    SubflowScheduler::WeightedFair,
    SubflowScheduler::Priority,
];

/// Level 1, with a buffer that is divided among so many subflows.
fn level1(subflows: u8, receive_window: u32, subflow_floor: u32) -> Config {
    subflow_config(SubflowLevel::One, subflows).with(|c| {
        c.limits.receive_window = receive_window;
        c.subflows.buffer_floor = subflow_floor;
        c.subflows.max_inbound = subflows;
    })
}

/// The first chunk that one subflow of A sends from now on does not get through for so long.
fn stall(pair: &mut Pair, fid: u8, time: Duration) {
    let (mut first, until) = (None, pair.now + time);
    pair.drop_if(move |p| {
        let of_stalled = p.fids().into_iter().find(|(of, _)| *of == fid);
        let Some((_, number)) = of_stalled.filter(|_| p.from == Side::A) else { return false };
        p.at < until && *first.get_or_insert(number) == number
    });
}

/// A subflow has stalled behind a hole and holds all but the floors. The others have two chunks a round trip of 20 ms.
#[test]
fn a_floor_is_a_floor_each_round_trip() {
    for gate in GATES {
        for stalled in 0..3_u8 {
            let config = level1(3, 64 << 10, 3000).with(|c| c.subflows.scheduler = gate);
            let (mut pair, a, _) = Pair::established(3, &config);
            stall(&mut pair, stalled, Duration::from_secs(25));
            for n in 0..400 {
                pair.send_numbered(Side::A, a, u16::from(stalled), n, 1400);
            }
            pair.run_for(Duration::from_secs(5));
            for n in 0..1000 {
                for stream in (0..3).filter(|stream| *stream != u16::from(stalled)) {
                    pair.send_numbered(Side::A, a, stream, n, 1400);
                }
            }
            pair.run_for(Duration::from_secs(19));
            let got = pair.in_order(Side::Z);
            for stream in (0..3).filter(|stream| *stream != u16::from(stalled)) {
                let count = got.get(&stream).copied().unwrap_or(0);
                assert!(count > 800, "{gate:?}, {stalled} stalled: {count} messages on {stream}, of 1000");
            }
            pair.run_for(Duration::from_secs(60));
            let got = pair.in_order(Side::Z);
            assert_eq!(got.values().sum::<u32>(), 2400, "{gate:?} {stalled}: {got:?}");
        }
    }
}

/// Messages of a few bytes fill the buffer with bookkeeping: that is the part of their subflow, too.
#[test]
fn small_messages_behind_a_hole_leave_the_floors() {
    for stalled in 0..2_u8 {
        let (mut pair, a, _) = Pair::established(4, &level1(2, 64 << 10, 3000));
        stall(&mut pair, stalled, Duration::from_secs(25));
        for n in 0..6000 {
            pair.send_numbered(Side::A, a, u16::from(stalled), n, 20);
        }
        pair.run_for(Duration::from_secs(5));
        let other = u16::from(1 - stalled);
        for n in 0..500 {
            pair.send_numbered(Side::A, a, other, n, 1400);
        }
        pair.run_for(Duration::from_secs(19));
        let got = pair.in_order(Side::Z);
        // Not the floor each round trip: what the stalled one sends again in vain counts as outstanding. But more than probes.
        let count = got.get(&other).copied().unwrap_or(0);
        assert!(count > 60, "{stalled} stalled: {count}");
        pair.run_for(Duration::from_secs(60));
        assert_eq!(pair.in_order(Side::Z).values().sum::<u32>(), 6500, "{stalled}");
    }
}

/// Messages that wait for an earlier one of their stream were acknowledged long ago, and still fill the buffer: the
/// subflows that brought them have had their floors, and the others have theirs.
#[test]
fn messages_that_moved_ahead_leave_the_floors() {
    let (mut pair, a, _) = Pair::established(5, &level1(4, 64 << 10, 4000));
    stall(&mut pair, 0, Duration::from_secs(25));
    pair.send_numbered(Side::A, a, 0, 0, 1400);
    pair.run_for(Duration::from_millis(5));
    pair.a.association(a).unwrap().set_stream_subflow(pair.now, 0, 1).unwrap();
    for n in 1..400 {
        pair.send_numbered(Side::A, a, 0, n, 1400);
    }
    pair.run_for(Duration::from_secs(5));
    for n in 0..500 {
        pair.send_numbered(Side::A, a, 2, n, 1400);
        pair.send_numbered(Side::A, a, 3, n, 1400);
    }
    pair.run_for(Duration::from_secs(19));
    let got = pair.in_order(Side::Z);
    assert_eq!((got.get(&2), got.get(&3)), (Some(&500), Some(&500)), "{got:?}");
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.in_order(Side::Z).values().sum::<u32>(), 1400);
}

/// The extension ends while one packet is all that a timeout allows: what is to be sent again does not wait for an answer to that
/// packet, which nobody will give.
#[test]
fn the_extension_ends_while_a_timeout_is_being_repaired() {
    for deaf in [500, 1500, 3500] {
        let config = level1(3, 64 << 10, 3000);
        let (mut pair, a, _) = Pair::established(6, &config);
        let until = pair.now + Duration::from_millis(deaf);
        pair.drop_if(move |p| p.at < until && p.has("ERROR"));
        // Nobody knows SF-DATA, and the peer says so.
        pair.tamper(|_, bytes| {
            let mut at = 12;
            while at + 4 <= bytes.len() {
                if bytes[at] == kind::SF_DATA {
                    bytes[at] = 0x7E;
                }
                if bytes[at] == kind::ERROR && bytes.get(at + 8) == Some(&0x7E) {
                    bytes[at + 8] = kind::SF_DATA;
                }
                let length = usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]]));
                at += length.next_multiple_of(4).max(4);
            }
        });
        for n in 0..10 {
            pair.send_numbered(Side::A, a, 1, n, 1400);
        }
        pair.run_for(Duration::from_secs(60));
        assert_eq!(pair.in_order(Side::Z).get(&1), Some(&10), "deaf for {deaf} ms");
    }
}

/// The peer has forgotten everything while a stream was about to move: where it was to go does not exist any more.
#[test]
fn a_restart_forgets_streams_that_were_about_to_move() {
    let config = level1(2, 64 << 10, 3000).with(|c| c.subflows.max_inbound = 8);
    let (mut pair, a, z) = Pair::established(7, &config);
    pair.send_numbered(Side::A, a, 0, 0, 10);
    let third = pair
        .z
        .association(z)
        .unwrap()
        .add_subflow(pair.now, &SubflowSpec::new(Dscp::new(9).unwrap()))
        .unwrap();
    pair.run_for(Duration::from_millis(100));
    pair.send(Side::Z, z, 0, &[0; 50_000]);
    pair.pump();
    pair.z.association(z).unwrap().set_stream_subflow(pair.now, 0, third).unwrap();
    let mut forgetful = Endpoint::new(
        EndpointConfig::new(address(Side::A), PORT).keeping_closed(),
        Rng::stream(99, "a", "again").secret(),
    );
    forgetful.connect(pair.now, address(Side::Z), PORT, std::sync::Arc::new(config)).unwrap();
    pair.a = forgetful;
    pair.run_for(Duration::from_secs(1));
    pair.received.clear();
    for n in 0..20 {
        pair.send_numbered(Side::Z, z, 0, n, 1000);
    }
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.in_order(Side::A).get(&0), Some(&20));
}

/// A life with little room.
fn life(seed: u64) {
    let mut rng = Rng::stream(seed, "test", "credit");
    let mut pick = |n: u64| rng.below(n) as usize;
    let level = [SubflowLevel::Zero, SubflowLevel::One, SubflowLevel::One, SubflowLevel::Sf2007][pick(4)];
    let subflows = [2, 3, 5, 25][pick(4)];
    let engines = ["rfc9260", "rfc9260", "ns2-2.28", "modern"];
    let engine = engines.into_iter().nth(pick(4)).and_then(Config::named).unwrap_or_else(Config::rfc9260);
    let engine = if level == SubflowLevel::Sf2007 { Config::sf2007() } else { engine };
    let plan = subflow_config(level, subflows);
    let config = engine.with(|c| {
        c.subflows.level = level;
        c.subflows.open = plan
            .subflows
            .open
            .into_iter()
            .map(|s| SubflowSpec { weight: 1 + pick(4) as u16, priority: pick(3) as u8, ..s })
            .collect();
        c.limits.send_buffer = 1 << 20;
        c.limits.receive_window = [4000, 10_000, 30_000, 90_000][pick(4)];
        c.subflows.buffer_floor = [500, 3000, 9000][pick(3)];
        c.subflows.max_inbound = if pick(3) == 0 { 2 } else { subflows };
        c.subflows.coupling =
            [Coupling::Independent, Coupling::Independent, Coupling::Shared, Coupling::FccN2][pick(4)];
        common::uncouple(c);
        c.subflows.scheduler = GATES[pick(4)];
        c.mtu = [600, 1500][pick(2)];
        c.sack.delay = Duration::from_millis([0, 200][pick(2)]);
        c.streams.outbound = 32;
        c.streams.inbound = 32;
        c.limits.association_max_retrans = 1000;
        c.timers.rto_max = Duration::from_secs(4);
        c.timers.heartbeat_interval = Duration::ZERO;
    });
    // The thesis has no fragment numbers: messages that wait behind a hole must fit the buffer.
    let longest =
        if level == SubflowLevel::Sf2007 && config.limits.receive_window < 5000 { 1400 } else { 5000 };
    let what = format!(
        "seed {seed}: {level:?} {subflows} {:?} {:?} {} {}",
        config.subflows.coupling,
        config.subflows.scheduler,
        config.limits.receive_window,
        config.subflows.buffer_floor
    );
    let (mut pair, a, z) = Pair::between(seed, &config, &config);
    pair.max_packets = 1 + pick(3);
    let late: Vec<u64> = (0..64).map(|_| 1 + pick(200) as u64).collect();
    let back = pick(2) == 0;
    pair.delay_by(move |p| {
        Duration::from_millis(if p.from == Side::A || back { late[usize::from(p.dscp.get())] } else { 10 })
    });
    let one_in = [0, 40, 8][pick(3)] as u64;
    let heals = Instant::ZERO + Duration::from_secs(20);
    let mut dice = Rng::stream(seed, "loss", "credit");
    pair.drop_if(move |p| one_in > 0 && p.at < heals && dice.below(one_in) == 0);
    let mut sent = BTreeMap::<u16, u32>::new();
    for _ in 0..120 {
        match pick(12) {
            0 => pair.reads = [true, pick(2) == 0],
            1 => {
                drop(pair.a.association(a).unwrap().set_stream_subflow(
                    pair.now,
                    pick(8) as u16,
                    pick(u64::from(subflows)) as u8,
                ));
            }
            2..=5 => pair.run_for(Duration::from_millis(pick(150) as u64)),
            6 => pair.send(Side::Z, z, pick(8) as u16, &[1; 700]),
            _ => {
                let (stream, len) = (pick(8) as u16, [10, 500, 1400, longest][pick(4)]);
                for _ in 0..pick(12) {
                    let n = sent.entry(stream).or_insert(0);
                    let mut payload = vec![stream as u8; len];
                    payload[..4].copy_from_slice(&n.to_be_bytes());
                    match pair
                        .a
                        .association(a)
                        .unwrap()
                        .send(pair.now, Message::new(stream, Bytes::from(payload)))
                    {
                        Ok(_) => *n += 1,
                        Err(SendError::Full) => {}
                        Err(error) => panic!("{what}: {error}"),
                    }
                }
            }
        }
        for (side, id) in [(Side::A, a), (Side::Z, z)] {
            assert_eq!(pair.endpoint(side).view(id).unwrap().audit(), Ok(()), "{what}");
        }
    }
    pair.reads = [true, true];
    let start = pair.now;
    loop {
        pair.run_for(Duration::from_secs(5));
        let done = |endpoint: &Endpoint, id: AssociationId| {
            let association = endpoint.view(id).unwrap();
            association.queued_bytes() == 0 && association.unacknowledged_chunks() == 0
        };
        if done(&pair.a, a) && done(&pair.z, z) {
            break;
        }
        let stuck = pair.now - start > Duration::from_secs(900);
        assert!(!stuck, "{what}: {:?}", pair.a.view(a).map(anabranch_sctp::Association::stats));
    }
    sent.retain(|_, n| *n > 0);
    assert_eq!(pair.in_order(Side::Z), sent, "{what}");
}

/// Short buffers, slow and lossy code points, pauses of the reader, streams that move, every gate: all arrives, and whoever the
/// gate chooses has something to send (the library asserts it).
#[test]
fn lives_with_little_room() {
    for seed in 0..150 {
        life(seed);
    }
}

/// `LIVES=5000 cargo test --release --test subflows_credit -- --ignored`
#[test]
#[ignore = "takes as long as it is told to: make soak"]
fn lives_with_little_room_for_long() {
    let lives: u64 = std::env::var("LIVES").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    for seed in 1000..1000 + lives {
        life(seed);
    }
}
