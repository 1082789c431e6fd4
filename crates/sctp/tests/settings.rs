//! Options that can be changed while an association lives, and the moment from which a change counts (RFC 6458, 8.1;
//! docs/explanation/engines.md, "Options changed while an association lives").
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::cell::Cell;
use std::rc::Rc;

use anabranch_base::{Dscp, Duration, Rng};
use anabranch_sctp::config::{Coupling, MtuDiscovery, StreamScheduling};
use anabranch_sctp::{
    AssociationHandle, AssociationId, ChangeError, Config, Event, Message, SubflowLevel, SubflowScheduler,
};
use anabranch_wire::chunk::Chunk;
use anabranch_wire::{Checksum, Packet};
use bytes::Bytes;
use common::script::Script;
use common::{Logged, Pair, Side, subflow_config};

const SECOND: Duration = Duration::from_secs(1);

fn a(pair: &mut Pair, id: AssociationId) -> AssociationHandle<'_> {
    pair.a.association(id).unwrap()
}

fn set(pair: &mut Pair, id: AssociationId, key: &str, value: &str) {
    let now = pair.now;
    a(pair, id).set(now, key, value).unwrap();
}

/// Payload lengths of DATA and I-DATA, and their streams, in the order of leaving.
fn data(pair: &Pair) -> Vec<(u16, usize)> {
    let chunks = |p: &Logged| {
        let packet = Packet::parse(&p.bytes, Checksum::Ignore).unwrap();
        let chunk = |raw: anabranch_wire::RawChunk<'_>| match Chunk::parse(raw).unwrap() {
            Chunk::Data(d) => Some((d.stream, d.payload.len())),
            Chunk::IData(d) => Some((d.stream, d.payload.len())),
            _ => None,
        };
        packet.chunks().filter_map(|raw| chunk(raw.unwrap())).collect::<Vec<_>>()
    };
    pair.log.iter().filter(|p| p.from == Side::A).flat_map(chunks).collect()
}

/// SCTP_MAXSEG: the next fragments have the new size, also those of a message that has begun to leave.
#[test]
fn fragments_have_another_size_from_now_on() {
    for interleaving in [false, true] {
        let config = Config::rfc9260().with(|c| c.extensions.interleaving = interleaving);
        let (mut pair, id, _) = Pair::established(1, &config);
        pair.send(Side::A, id, 0, &[7; 20_000]);
        pair.pump();
        let before = data(&pair).len();
        set(&mut pair, id, "max_fragment", "100 B");
        pair.run_for(SECOND * 5);
        let sent = data(&pair);
        assert!(sent[..before].iter().all(|(_, len)| *len > 1000), "{sent:?}");
        assert!(sent[before..].iter().all(|(_, len)| *len <= 100) && sent.len() > 100 + before);
        set(&mut pair, id, "max_fragment", "0 B");
        pair.log.clear();
        pair.send(Side::A, id, 0, &[8; 3000]);
        pair.run_for(SECOND);
        assert!(data(&pair)[0].1 > 1000, "{:?}", data(&pair));
        assert_eq!(pair.received.iter().map(|(_, m)| m.len()).collect::<Vec<_>>(), [20_000, 3000]);
    }
}

/// Where TSNs are kept for the rest of a message, its fragments keep their size (RFC 9260, 6.9), and no packet
/// exceeds the path MTU.
#[test]
fn fragments_with_numbers_keep_their_size() {
    let config = subflow_config(SubflowLevel::Zero, 2);
    let (mut pair, id, _) = Pair::established(2, &config);
    pair.send(Side::A, id, 0, &[7; 40_000]);
    pair.send(Side::A, id, 1, &[8; 40_000]);
    pair.pump();
    set(&mut pair, id, "max_fragment", "600 B");
    for _ in 0..3 {
        pair.send(Side::A, id, 0, &[9; 5000]);
        pair.send(Side::A, id, 1, &[9; 5000]);
    }
    pair.run_for(SECOND * 20);
    assert_eq!(pair.received.len(), 8);
    assert!(pair.log.iter().all(|p| p.bytes.len() + 20 <= 1500));
    assert!(data(&pair).iter().filter(|(_, len)| *len <= 600).count() >= 54);
}

/// The scheduler of streams, and their values, while messages wait; with one that has begun to leave.
#[test]
fn streams_are_scheduled_anew() {
    for interleaving in [false, true] {
        for rule in StreamScheduling::ALL {
            let config = Config::rfc9260().with(|c| c.extensions.interleaving = interleaving);
            let (mut pair, id, _) = Pair::established(3, &config);
            // The first message fills the window and has begun to leave; the others wait.
            pair.send(Side::A, id, 5, &[5; 10_000]);
            for stream in [2, 1, 3] {
                for _ in 0..20 {
                    pair.send(Side::A, id, stream, &[stream as u8; 1400]);
                }
            }
            pair.pump();
            let now = pair.now;
            a(&mut pair, id)
                .update(now, |c| {
                    c.streams.scheduling = rule;
                    c.streams.values = vec![(1, 0), (2, 9), (3, 5)];
                })
                .unwrap();
            let before = data(&pair).len();
            pair.run_for(SECOND * 10);
            assert_eq!(pair.received.len(), 61, "{rule:?}");
            let later: Vec<u16> = data(&pair)[before..].iter().map(|(stream, _)| *stream).collect();
            let first_of = |stream| later.iter().position(|s| *s == stream).unwrap();
            let last_of = |stream| later.iter().rposition(|s| *s == stream).unwrap();
            if !interleaving {
                assert!((1..4).all(|stream| last_of(5) < first_of(stream)), "{rule:?}: {later:?}");
            }
            match rule {
                StreamScheduling::Priority => {
                    assert!(last_of(1) < first_of(3) && last_of(3) < first_of(2), "{later:?}");
                }
                StreamScheduling::WeightedFair => assert!(last_of(2) < last_of(3), "{later:?}"),
                _ => assert!(first_of(3) < last_of(1) && first_of(1) < last_of(2), "{rule:?}: {later:?}"),
            }
            assert_eq!(a(&mut pair, id).audit(), Ok(()));
        }
    }
}

/// The scheduler of subflows, their coupling, and the code point of an association without subflows of its own.
#[test]
fn subflows_are_scheduled_and_coupled_anew() {
    let (mut pair, id, _) = Pair::established(4, &subflow_config(SubflowLevel::Zero, 3));
    let now = pair.now;
    for rule in [
        SubflowScheduler::Priority,
        SubflowScheduler::WeightedRoundRobin,
        SubflowScheduler::WeightedFair,
        SubflowScheduler::Fcfs,
    ] {
        for coupling in
            [Coupling::FccN2, Coupling::Lia, Coupling::Olia, Coupling::Adaptive, Coupling::Independent]
        {
            for stream in 0..3 {
                pair.send(Side::A, id, stream, &[0; 20_000]);
            }
            pair.run_for(SECOND / 50);
            let now = pair.now;
            a(&mut pair, id)
                .update(now, |c| {
                    c.subflows.scheduler = rule;
                    c.subflows.coupling = coupling;
                })
                .unwrap();
            pair.run_for(SECOND * 2);
            assert_eq!(a(&mut pair, id).audit(), Ok(()));
        }
    }
    assert_eq!(pair.received.len(), 60);
    // One window for all needs one lane for all.
    let refused = a(&mut pair, id).update(now, |c| c.subflows.coupling = Coupling::Shared);
    assert!(
        matches!(&refused, Err(ChangeError::Settled { key: "coupling", stays, .. }) if stays == "independent"),
        "{refused:?}"
    );
    let (mut pair, id, _) = Pair::established(5, &Config::rfc9260());
    set(&mut pair, id, "dscp", "46");
    pair.send(Side::A, id, 0, b"x");
    pair.pump();
    assert_eq!(pair.log[0].dscp, Dscp::new(46).unwrap());
}

/// The window that three subflows had as one flow is divided when they are told to be flows of their own.
#[test]
fn the_window_of_one_flow_is_divided() {
    let mut config = subflow_config(SubflowLevel::Zero, 3);
    config.subflows.coupling = Coupling::Adaptive;
    let (mut pair, id, _) = Pair::established(6, &config);
    for stream in 0..3 {
        pair.send(Side::A, id, stream, &[0; 60_000]);
    }
    pair.run_for(SECOND);
    let windows = |pair: &mut Pair| {
        (0..3).map(|number| a(pair, id).subflow_stats(number).unwrap().cwnd).collect::<Vec<_>>()
    };
    let together = windows(&mut pair);
    assert!(together.iter().all(|&window| window == together[0]), "{together:?}");
    let now = pair.now;
    a(&mut pair, id).update(now, |c| c.subflows.coupling = Coupling::Independent).unwrap();
    assert_eq!(windows(&mut pair), [together[0] / 3; 3]);
}

/// a_rwnd less the bytes outstanding, by the SACKs of Z: the highest TSN that A may send, and a_rwnd itself.
fn edges(pair: &Pair) -> Vec<(u64, u32)> {
    let mut cumulative: Option<(u32, u64)> = None;
    let mut edges = Vec::new();
    for p in pair.log.iter().filter(|p| p.from == Side::Z) {
        let packet = Packet::parse(&p.bytes, Checksum::Ignore).unwrap();
        for raw in packet.chunks() {
            if let Chunk::Sack(sack) = Chunk::parse(raw.unwrap()).unwrap() {
                let (last, so_far) = cumulative.unwrap_or((sack.cumulative.get(), 0));
                let at = so_far + u64::from(sack.cumulative.get().wrapping_sub(last));
                cumulative = Some((sack.cumulative.get(), at));
                edges.push((at * 1000 + u64::from(sack.a_rwnd), sack.a_rwnd));
            }
        }
    }
    edges
}

/// A smaller window comes as messages are read: an offer is never taken back. A larger one is told at once.
#[test]
fn the_receive_window_shrinks_without_taking_back() {
    let config = Config::rfc9260().with(|c| {
        c.limits.receive_window = 200_000;
        c.limits.send_buffer = 4 << 20;
    });
    let (mut pair, id, z) = Pair::established(6, &config);
    pair.reads = [true, false];
    for _ in 0..1000 {
        pair.send(Side::A, id, 0, &[1; 1000]);
    }
    pair.run_for(SECOND);
    let now = pair.now;
    pair.z.association(z).unwrap().set(now, "receive_window", "20 kB").unwrap();
    assert_eq!(
        pair.z.view(z).unwrap().status().receive_window,
        200_000 - 1000 * pair.z.view(z).unwrap().status().pending as u32
    );
    let (mut read, mut rng) = (0, Rng::stream(6, "test", "reader"));
    while read < 1000 {
        for _ in 0..rng.below(40) {
            read += u32::from(pair.z.association(z).unwrap().receive().is_some());
            assert_eq!(pair.z.view(z).unwrap().audit(), Ok(()));
        }
        pair.run_for(SECOND / 20);
    }
    let edges = edges(&pair);
    assert!(edges.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{edges:?}");
    pair.run_for(SECOND);
    assert_eq!(pair.z.view(z).unwrap().configuration().limits.receive_window, 20_000);
    assert_eq!(pair.z.view(z).unwrap().status().receive_window, 20_000);
    // It grows: the peer learns of it without sending anything.
    pair.log.clear();
    let now = pair.now;
    pair.z.association(z).unwrap().set(now, "receive_window", "500 kB").unwrap();
    pair.run_for(SECOND);
    assert_eq!(pair.a.view(id).unwrap().peer_window(), 500_000, "{:?}", pair.ladder());
    // Where subflows have parts of the buffer to themselves the peer was told of its size.
    let (mut pair, id, _) = Pair::established(7, &subflow_config(SubflowLevel::One, 2));
    let now = pair.now;
    let refused = a(&mut pair, id).set(now, "receive_window", "2 MiB");
    assert_eq!(
        refused.unwrap_err().to_string(),
        "SCTP option `receive_window` stays 1048576: each subflow has a part of the receive buffer to itself, and the \
         handshake told the peer its size; it can be changed only while the subflow level agreed on is 0"
    );
    // Too small a one is told with the least that is allowed, also where it could be changed.
    let (mut pair, id, _) = Pair::established(7, &Config::rfc9260());
    let now = pair.now;
    let refused = a(&mut pair, id).set(now, "receive_window", "1499 B");
    assert_eq!(
        refused.unwrap_err().to_string(),
        "SCTP option `receive_window` is 1499: 1500 is the least (RFC 9260, 3.3.3)"
    );
}

/// SPP_PMTUD_ENABLE on an association that lives: probes begin, find the path MTU, and end when they are turned off.
#[test]
fn probes_of_the_path_mtu_begin_on_a_living_association() {
    let config = Config::rfc9260().with(|c| {
        c.mtu = 4000;
        c.path_mtu.discovery = MtuDiscovery::Off;
        c.timers.heartbeat_interval = Duration::ZERO;
    });
    let (mut pair, id, _) = Pair::established(8, &config);
    pair.carries = Some(2600);
    pair.run_for(SECOND * 10);
    assert_eq!((pair.a.view(id).unwrap().path_mtu(), pair.log.len()), (4000, 0));
    set(&mut pair, id, "mtu_discovery", "probes");
    assert_eq!(a(&mut pair, id).path_mtu(), 1200, "BASE_PLPMTU");
    assert!(a(&mut pair, id).is_searching_path_mtu());
    pair.run_for(SECOND * 120);
    assert!(!a(&mut pair, id).is_searching_path_mtu());
    assert_eq!(a(&mut pair, id).path_mtu(), 2600);
    assert!(pair.saw(Side::A, |e| matches!(e, Event::PathMtu { path: 0, mtu: 2600 })));
    // Without probes the MTU that was found is kept.
    set(&mut pair, id, "mtu_discovery", "off");
    pair.log.clear();
    pair.run_for(SECOND * 2000);
    assert_eq!((pair.a.view(id).unwrap().path_mtu(), pair.log.len()), (2600, 0));
    // A path MTU that the user has fixed is not searched for before the user says so.
    let now = pair.now;
    a(&mut pair, id).set_path_mtu(now, 1500).unwrap();
    set(&mut pair, id, "mtu_discovery", "probes");
    pair.run_for(SECOND * 10);
    assert_eq!((pair.a.view(id).unwrap().path_mtu(), pair.log.len()), (1500, 0));
    let now = pair.now;
    a(&mut pair, id).discover_path_mtu(now);
    pair.run_for(SECOND * 120);
    assert_eq!(a(&mut pair, id).path_mtu(), 2600);
}

/// SRTO_INITIAL and the like on an association that tries to come up: the next RTO of INIT keeps to the new bound.
#[test]
fn the_longest_rto_of_the_handshake_changes() {
    let (mut pair, id) = Pair::connecting(9, &Config::rfc9260());
    let silent = Rc::new(Cell::new(true));
    let lost = Rc::clone(&silent);
    pair.drop_if(move |_| lost.get());
    pair.run_for(SECOND / 2);
    set(&mut pair, id, "rto_max_init", "1500 ms");
    pair.run_for(SECOND * 10);
    let at: Vec<u64> = pair.log.iter().map(|p| p.at.as_nanos() / 1_000_000).collect();
    assert_eq!(at[..5], [0, 1000, 2500, 4000, 5500]);
    silent.set(false);
    pair.run_for(SECOND * 5);
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Established { .. })));
}

/// Every value that may change while an association lives, with some that let it live on under loss.
const CHANGES: &[(&str, &[&str])] = &[
    ("adaptive_cut", &["group", "lane"]),
    ("association_max_retrans", &["1000", "2000"]),
    ("fcc_count", &["configured", "active"]),
    ("heartbeat_interval", &["0 s", "500 ms", "30 s"]),
    ("immediate_bit", &["off", "shutdown", "shutdown-kept", "last"]),
    ("immediate_bit_obeyed", &["true", "false"]),
    ("max_init_retransmits", &["1", "20"]),
    ("max_send_buffer", &["0 B", "1 MiB"]),
    ("mtu_base", &["600", "1200"]),
    ("mtu_max_probes", &["1", "10"]),
    ("mtu_probe_timer", &["1 s", "10 s"]),
    ("mtu_raise_timer", &["1 s", "600 s"]),
    ("path_max_retrans", &["1", "5"]),
    ("peer_adds_streams", &["true", "false"]),
    ("peer_resets_association", &["true", "false"]),
    ("peer_resets_streams", &["true", "false"]),
    ("rto_initial", &["500 ms", "3 s"]),
    ("rto_max", &["1 s", "2 s"]),
    ("rto_max_init", &["0 s", "1 s"]),
    ("send_buffer", &["3 kB", "100 kB"]),
    ("shutdown_guard_rto_max", &["0", "50"]),
    ("valid_cookie_life", &["1 s", "60 s"]),
    ("max_fragment", &["0 B", "100 B", "700 B", "9 kB"]),
    ("stream_scheduling", &["fcfs", "round-robin", "round-robin-packet", "priority", "fair-capacity", "wfq"]),
    ("stream_values", &["", "0=3 1=2", "2=7"]),
    ("subflow_scheduler", &["fcfs", "wrr", "priority", "wfq"]),
    ("coupling", &["independent", "fcc(n)", "lia", "olia", "adaptive"]),
    ("receive_window", &["3 kB", "20 kB", "1 MiB", "2 MiB"]),
    ("nagle", &["true", "false"]),
    ("partial_delivery_bytes", &["0 B", "1 B", "2500 B"]),
    ("partial_delivery_point", &["1", "50"]),
    ("send_buffer_counts", &["unsent", "unacknowledged"]),
    ("stream_send_buffer", &["0 B", "5 kB"]),
    ("stream_send_minimum", &["0 B", "2 kB"]),
    ("mtu_discovery", &["off", "icmp", "probes"]),
    ("sack_delay", &["0 ms", "500 ms"]),
    ("sack_every", &["1", "5"]),
    ("max_burst", &["off", "clamp 2", "acknowledged 2"]),
    ("rto_min", &["10 ms", "1 s"]),
    ("dscp", &["0", "10"]),
];

#[test]
fn the_lives_change_whatever_can_be_changed() {
    let mut keys: Vec<&str> = CHANGES.iter().map(|(key, _)| *key).collect();
    keys.sort_unstable();
    assert_eq!(keys, Config::changeable());
}

/// Lives whose users change everything that can be changed, at any time: each message once, in order.
#[test]
fn anything_may_change_at_any_time() {
    for seed in 0..60 {
        let mut rng = Rng::stream(seed, "test", "changes");
        let mut pick = |n: u64| rng.below(n) as usize;
        let (level, subflows) = [
            (SubflowLevel::Zero, 1),
            (SubflowLevel::Zero, 3),
            (SubflowLevel::One, 3),
            (SubflowLevel::Sf2007, 3),
        ][pick(4)];
        let config = subflow_config(level, subflows).with(|c| {
            c.extensions.interleaving = pick(2) == 0 && level == SubflowLevel::Zero;
            c.limits.association_max_retrans = 1000;
            c.timers.rto_max = SECOND * 2;
        });
        let (mut pair, id, z) = Pair::between(seed, &config, &config);
        let loss = [0, 20][pick(2)];
        let mut dice = Rng::stream(seed, "loss", "changes");
        pair.drop_if(move |_| loss > 0 && dice.below(loss) == 0);
        let (mut sent, mut changes) = ([0_u32; 4], 0);
        for _ in 0..100 {
            for _ in 0..pick(4) {
                let (stream, longest) = (pick(4), [20, 3000, 30_000][pick(3)]);
                let len = 4 + pick(longest);
                let mut payload = vec![stream as u8; len];
                payload[..4].copy_from_slice(&sent[stream].to_be_bytes());
                let message = Message::new(stream as u16, Bytes::from(payload));
                let now = pair.now;
                sent[stream] += u32::from(a(&mut pair, id).send(now, message).is_ok());
            }
            let (key, values) = CHANGES[pick(CHANGES.len() as u64)];
            let value = values[pick(values.len() as u64)];
            let now = pair.now;
            let changed = match pick(2) {
                0 => a(&mut pair, id).set(now, key, value),
                _ => pair.z.association(z).unwrap().set(now, key, value),
            };
            changes += u32::from(changed.is_ok());
            let limit = pair.now + Duration::from_millis(pick(300) as u64);
            while pair.step(limit) {
                assert_eq!(a(&mut pair, id).audit(), Ok(()), "seed {seed}");
                assert_eq!(pair.z.view(z).unwrap().audit(), Ok(()), "seed {seed}");
            }
            pair.now = limit;
        }
        pair.run_for(SECOND * 100);
        let got = pair.in_order(Side::Z);
        let expected = (0..4).filter(|s| sent[*s] > 0).map(|s| (s as u16, sent[s])).collect();
        assert_eq!(got, expected, "seed {seed}: {changes} changes");
        assert!(changes > 60);
    }
}

/// Data that fills a packet does not wait (RFC 6458, 8.1.5), and small messages fill it with their chunks: of 4 bytes
/// 74 do, at 20 each beside 12 of the common header and 20 of IP in 1,500, long before their payload would.
#[test]
fn small_messages_that_fill_a_packet_do_not_wait() {
    let mut script = Script::established(&Config::rfc9260().with(|c| c.congestion.nagle = true));
    let now = script.pair.now;
    let send = |script: &mut Script, len: usize| {
        script.pair.a.association(script.a).unwrap().send(now, Message::new(0, vec![7; len])).unwrap();
        script.pair.pump();
        script.left().len()
    };
    assert_eq!(send(&mut script, 10), 1);
    for _ in 0..73 {
        assert_eq!(send(&mut script, 4), 1, "it waits");
    }
    assert_eq!(send(&mut script, 4), 1 + 73, "the 74th fills the packet, and begins the next");
    script.sack(74, 100_000, &[]);
    assert_eq!(script.left().len(), 75);
}

/// The same with one message, where fragments are short: the size of its chunks counts.
#[test]
fn a_message_whose_fragments_fill_a_packet_does_not_wait() {
    let mut script = Script::established(&Config::rfc9260().with(|c| {
        c.congestion.nagle = true;
        c.limits.max_fragment = 100;
    }));
    let now = script.pair.now;
    for (len, left) in [(10, 1), (1300, 1 + 12)] {
        script.pair.a.association(script.a).unwrap().send(now, Message::new(0, vec![7; len])).unwrap();
        script.pair.pump();
        assert_eq!(script.left().len(), left);
    }
}
