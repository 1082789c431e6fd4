//! I-DATA (RFC 8260) between two endpoints: negotiation, messages of several streams mixed, exclusivity with DATA.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Rng};
use anabranch_sctp::config::{StreamScheduling, SubflowLevel};
use anabranch_sctp::{AssociationId, CloseReason, Config, Event, Message, State, SubflowSpec};
use anabranch_wire::chunk::{Chunk, CookieAck, Data, DataFlags, IData, IForwardTsn, i_forward_tsn, kind};
use anabranch_wire::param::{Param, SupportedExtensions};
use anabranch_wire::{Checksum, Mid, Packet, Ssn, Tsn};
use bytes::Bytes;
use common::script::{Script, packet};
use common::{Logged, PORT, Pair, Side, address};

fn config(interleaving: bool) -> Config {
    Config::rfc9260().with(|c| {
        c.extensions.interleaving = interleaving;
        c.timers.heartbeat_interval = Duration::ZERO;
    })
}

/// Up, with a configuration for each side.
fn connected(seed: u64, a: &Config, z: &Config) -> (Pair, AssociationId, AssociationId) {
    let mut pair = Pair::new(seed);
    pair.z.listen(Arc::new(z.clone())).unwrap();
    let now = pair.now;
    let id = pair.a.connect(now, address(Side::Z), PORT, Arc::new(a.clone())).unwrap();
    pair.run_for(Duration::from_millis(200));
    let z = pair.id_of(Side::Z);
    (pair, id, z)
}

fn kinds(logged: &Logged) -> Vec<u8> {
    let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
    packet.chunks().map(|raw| raw.unwrap().kind).collect()
}

fn send(pair: &mut Pair, side: Side, id: AssociationId, stream: u16, unordered: bool, payload: Vec<u8>) {
    let now = pair.now;
    let message = Message { unordered, ..Message::new(stream, Bytes::from(payload)) };
    pair.endpoint(side).association(id).unwrap().send(now, message).unwrap();
}

// rfc8260:2.2.1-3
#[test]
fn the_list_of_extensions_says_what_is_on() {
    for (interleaving, reconfiguration, expected) in [
        (false, false, None),
        (true, false, Some(vec![0x40])),
        (false, true, Some(vec![0x82])),
        (true, true, Some(vec![0x40, 0x82])),
    ] {
        let config = config(interleaving).with(|c| c.extensions.reconfiguration = reconfiguration);
        let (pair, ..) = connected(1, &config, &config);
        for logged in pair.log.iter().take(2) {
            let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
            let raw = packet.chunks().next().unwrap().unwrap();
            let (Chunk::Init(init) | Chunk::InitAck(init)) = Chunk::parse(raw).unwrap() else { panic!() };
            let lists: Vec<Vec<u8>> = init
                .params
                .iter()
                .filter_map(|raw| match Param::parse(raw.unwrap()).unwrap() {
                    Param::SupportedExtensions(list) => Some(list.chunk_types.to_vec()),
                    _ => None,
                })
                .collect();
            // "The sender MUST NOT include multiple Supported Extensions Parameter within any chunk."
            assert_eq!(lists, expected.iter().cloned().collect::<Vec<_>>());
        }
    }
}

/// With a peer that lacks the extension everything but our INIT is as if we lacked it, too, byte for byte.
#[test]
fn a_peer_without_it_gets_plain_bytes() {
    let life = |a: &Config, z: &Config| {
        let (mut pair, a, z) = connected(2, a, z);
        for i in 0..20 {
            send(&mut pair, Side::A, a, i % 5, i % 3 == 0, vec![i as u8; 1 + 700 * usize::from(i)]);
            send(&mut pair, Side::Z, z, i % 4, false, vec![i as u8; 10 + usize::from(i)]);
        }
        pair.run_for(Duration::from_secs(5));
        let now = pair.now;
        pair.a.association(a).unwrap().shutdown(now);
        pair.run_for(Duration::from_secs(5));
        assert!(pair.saw(Side::Z, |e| *e == Event::Closed(CloseReason::Graceful)));
        pair.log.iter().map(|p| p.bytes.clone()).collect::<Vec<_>>()
    };
    let both = |interleaving, reconfiguration| {
        config(interleaving).with(|c| c.extensions.reconfiguration = reconfiguration)
    };
    let plain = life(&both(false, false), &both(false, false));
    let ours = life(&both(true, true), &both(false, false));
    assert_eq!(ours[0].len(), plain[0].len() + 8, "the list of extensions");
    assert!(ours[1..] == plain[1..]);
    // The side that answers says in the INIT ACK and in the cookie that nothing was agreed on.
    let theirs = life(&both(false, false), &both(true, true));
    assert!(theirs == plain);
}

/// Something on the way takes the Supported Extensions out of the INIT, so only the side that asks can know of the
/// other's. The INIT ACK lists the extensions agreed on: both speak plain SCTP, and nobody aborts.
#[test]
fn a_list_of_extensions_that_is_lost_on_the_way() {
    for (level, reconfiguration) in
        [(SubflowLevel::Zero, false), (SubflowLevel::Zero, true), (SubflowLevel::One, true)]
    {
        let config = config(true).with(|c| {
            c.subflows.level = level;
            c.extensions.reconfiguration = reconfiguration;
        });
        let mut pair = Pair::new(21);
        pair.tamper(|from, bytes| {
            if from == Side::A && bytes[12] == 1 {
                // Of the type of padding, which is skipped (RFC 4820, 4).
                let at = bytes.windows(2).position(|two| two == [0x80, 0x08]).unwrap();
                bytes[at + 1] = 0x05;
                bytes[8..12].fill(0);
                let sum = anabranch_wire::crc32c::packet_checksum(bytes);
                bytes[8..12].copy_from_slice(&anabranch_wire::crc32c::store(sum));
            }
        });
        pair.z.listen(Arc::new(config.clone())).unwrap();
        let now = pair.now;
        let a = pair.a.connect(now, common::address(Side::Z), PORT, Arc::new(config)).unwrap();
        send(&mut pair, Side::A, a, 0, false, vec![1; 3000]);
        pair.run_for(Duration::from_millis(200));
        let z = pair.id_of(Side::Z);
        send(&mut pair, Side::Z, z, 0, false, vec![2; 3000]);
        pair.run_for(Duration::from_millis(2000));
        assert_eq!(pair.received.len(), 2, "{level:?}: {:?}", pair.ladder());
        assert!(!pair.log.iter().any(|p| p.has("ABORT") || p.has("ERROR")), "{:?}", pair.ladder());
    }
}

/// The time, in ms, at which a small message comes that was given after a large one on another stream.
fn delay_of_small(interleaving: bool, scheduling: StreamScheduling, values: &[(u16, u16)]) -> f64 {
    let config = config(interleaving).with(|c| {
        c.streams.scheduling = scheduling;
        c.streams.values = values.to_vec();
        c.congestion.initial_window = anabranch_sctp::config::InitialWindow::Packets(2);
    });
    let (mut pair, a, _) = connected(3, &config, &config);
    let start = pair.now;
    send(&mut pair, Side::A, a, 1, false, vec![1; 100_000]);
    pair.pump();
    send(&mut pair, Side::A, a, 2, false, vec![2; 50]);
    for _ in 0..10_000 {
        pair.run_for(Duration::from_millis(5));
        if pair.received.iter().any(|(_, m)| m.stream == 2) {
            let after = (pair.now - start).as_secs_f64() * 1000.0;
            pair.run_for(Duration::from_secs(10));
            assert_eq!(pair.received.len(), 2);
            return after;
        }
    }
    panic!("never")
}

/// The purpose of the extension: no "sender-side head-of-line blocking".
#[test]
fn a_large_message_does_not_hold_up_a_small_one() {
    use StreamScheduling::{FairCapacity, Fcfs, Priority, RoundRobin, RoundRobinPacket, WeightedFair};
    for scheduling in [RoundRobin, RoundRobinPacket, Priority, FairCapacity, WeightedFair] {
        let values = [(1, 10), (2, if scheduling == Priority { 0 } else { 10 })];
        let (with, without) =
            (delay_of_small(true, scheduling, &values), delay_of_small(false, scheduling, &values));
        // The next round trip of 20 ms; without it, the slow start of 100 kB.
        assert!(with <= 45.0, "{scheduling:?}: {with}");
        assert!(without >= 100.0, "{scheduling:?}: {without}");
    }
    assert!(delay_of_small(true, Fcfs, &[]) >= 100.0, "in the order in which they were given");
}

/// Every message comes once, ordered ones in order, whatever the network does and whichever scheduler mixes them.
// rfc8260:2.2.2-4 rfc8260:2.2.2-5
#[test]
fn every_scheduler_over_a_bad_network() {
    for (seed, scheduling) in (10..).zip(StreamScheduling::ALL) {
        let mut config = config(true);
        config.streams.scheduling = scheduling;
        config.streams.values = vec![(0, 3), (1, 7)];
        config.limits.association_max_retrans = 100;
        config.limits.path_max_retrans = 100;
        config.limits.send_buffer = 1 << 20;
        let (mut pair, a, z) = connected(seed, &config, &config);
        pair.latency = Duration::from_millis(7);
        let mut coin = Rng::stream(seed, "test", "loss");
        pair.drop_if(move |_| coin.chance(0.1));
        pair.max_packets = 4;
        let mut rng = Rng::stream(seed, "test", "messages");
        let mut sent: BTreeMap<(u16, bool), Vec<Vec<u8>>> = BTreeMap::new();
        for i in 0..300_u32 {
            let (stream, unordered) = (rng.below(6) as u16, rng.chance(0.3));
            let mut payload = i.to_be_bytes().to_vec();
            payload.resize(4 + rng.below(6000) as usize, i as u8);
            sent.entry((stream, unordered)).or_default().push(payload.clone());
            send(&mut pair, Side::A, a, stream, unordered, payload);
            if i % 10 == 0 {
                pair.a.association(a).unwrap().set_stream_value(stream, rng.below(9) as u16).unwrap();
                pair.run_for(Duration::from_millis(rng.below(60)));
            }
        }
        pair.run_for(Duration::from_secs(600));
        let mut came: BTreeMap<(u16, bool), Vec<Vec<u8>>> = BTreeMap::new();
        for (_, message) in pair.received.drain(..) {
            let key = (message.stream, message.unordered);
            came.entry(key).or_default().push(message.into_bytes().to_vec());
        }
        for ((_, unordered), list) in sent.iter_mut().chain(&mut came) {
            if *unordered {
                list.sort();
            }
        }
        assert!(sent == came, "{scheduling:?}");
        assert!(pair.log.iter().all(|p| !kinds(p).contains(&kind::DATA)));
        for (side, id) in [(Side::A, a), (Side::Z, z)] {
            assert_eq!(pair.endpoint(side).view(id).unwrap().state(), State::Established);
        }
    }
}

/// "It bundles only DATA or I-DATA chunks referring to the same stream in a packet" (3.3).
#[test]
fn a_packet_of_one_stream() {
    for interleaving in [false, true] {
        let config = config(interleaving).with(|c| c.streams.scheduling = StreamScheduling::RoundRobinPacket);
        let (mut pair, a, _) = connected(4, &config, &config);
        for i in 0..60 {
            send(&mut pair, Side::A, a, i % 3, false, vec![0; 400]);
        }
        pair.run_for(Duration::from_secs(5));
        assert_eq!(pair.received.len(), 60);
        let mut several = 0;
        for logged in &pair.log {
            let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
            let streams: Vec<u16> = packet
                .chunks()
                .filter_map(|raw| match Chunk::parse(raw.unwrap()).unwrap() {
                    Chunk::Data(d) => Some(d.stream),
                    Chunk::IData(d) => Some(d.stream),
                    _ => None,
                })
                .collect();
            assert!(streams.windows(2).all(|w| w[0] == w[1]), "{streams:?}");
            several += usize::from(streams.len() > 1);
        }
        assert!(several >= 10, "bundles: {several}");
    }
}

/// Tag that A's packets carry, and the TSN that A gives next.
fn next_of_a(pair: &mut Pair, a: AssociationId) -> (u32, u32) {
    send(pair, Side::A, a, 0, false, vec![1]);
    pair.run_for(Duration::from_secs(1));
    let logged = pair
        .log
        .iter()
        .rev()
        .find(|p| p.from == Side::A && kinds(p).iter().any(|k| matches!(*k, kind::DATA | kind::I_DATA)))
        .unwrap();
    let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
    let tsn = packet
        .chunks()
        .find_map(|raw| match Chunk::parse(raw.unwrap()).unwrap() {
            Chunk::Data(d) => Some(d.tsn.get()),
            Chunk::IData(d) => Some(d.tsn.get()),
            _ => None,
        })
        .unwrap();
    (packet.header().verification_tag, tsn.wrapping_add(1))
}

fn i_data(tsn: u32, mid: u32, ppid_or_fsn: u32, flags: DataFlags, payload: &[u8]) -> IData<'_> {
    IData { flags, tsn: Tsn::new(tsn), stream: 0, mid: Mid::new(mid), ppid_or_fsn, payload }
}

/// 2.2.3: DATA where I-DATA was agreed, and I-DATA where it was offered and not agreed, end the association; to who does
/// not know I-DATA at all it is an unknown chunk.
// rfc8260:2.2.3-3
#[test]
fn data_and_i_data_exclude_each_other() {
    for (ours, theirs, with_data, ends) in [
        (true, true, true, true),
        (true, true, false, false),
        (false, true, false, true),
        (false, true, true, false),
        (true, false, false, false),
        (false, false, false, false),
    ] {
        let (mut pair, a, z) = connected(5, &config(ours), &config(theirs));
        let (tag, tsn) = next_of_a(&mut pair, a);
        let before = pair.received.len();
        let bytes = packet(tag, |out| {
            if with_data {
                let (tsn, ssn) = (Tsn::new(tsn), Ssn::new(1));
                Data { flags: DataFlags::WHOLE, tsn, stream: 0, ssn, ppid: 0, payload: b"x" }.emit(out);
            } else {
                i_data(tsn, 1, 0, DataFlags::WHOLE, b"x").emit(out);
            }
        });
        pair.inject(Side::A, &bytes);
        pair.pump();
        let case = format!("{ours} {theirs} {with_data}");
        let state = pair.z.view(z).unwrap().state();
        assert_eq!(state == State::Closed, ends, "{case}");
        let agreed = ours && theirs;
        assert_eq!(pair.received.len() - before, usize::from(!ends && agreed != with_data), "{case}");
        let last = pair.log.last().unwrap();
        if ends {
            assert_eq!(kinds(last), [kind::ABORT]);
            // Cause 13, "Protocol Violation".
            assert_eq!(last.bytes[16..18], [0, 13], "{case}");
        } else if !agreed && !with_data {
            assert!(kinds(last).contains(&kind::ERROR), "{case}");
        }
    }
}

/// Fragments in no order, that contradict each other or never end: no panic, bounded memory, and an ABORT at most.
#[test]
fn fragments_without_sense() {
    for seed in 0..100 {
        let mut rng = Rng::stream(seed, "test", "fragments");
        let config = config(true).with(|c| {
            c.limits.receive_window = 50_000;
            c.limits.max_message = 20_000;
        });
        let (mut pair, a, z) = connected(seed, &config, &config);
        let (tag, mut tsn) = next_of_a(&mut pair, a);
        let payload = vec![7; 1000];
        for _ in 0..400 {
            let flags = DataFlags {
                immediate: false,
                unordered: rng.chance(0.3),
                beginning: rng.chance(0.3),
                ending: rng.chance(0.05),
            };
            let most = 1 << rng.below(33);
            let (mid, fsn) = (rng.below(most) as u32, rng.below(20) as u32);
            let stream = rng.below(12) as u16;
            let len = 1 + rng.below(1000) as usize;
            let bytes = packet(tag, |out| {
                IData { stream, ..i_data(tsn, mid, fsn, flags, &payload[..len]) }.emit(out);
            });
            tsn = tsn.wrapping_add(1 + rng.below(2) as u32);
            pair.inject(Side::A, &bytes);
            pair.pump();
            if pair.z.view(z).unwrap().state() == State::Closed {
                break;
            }
        }
        let stats = pair.z.view(z).unwrap().stats();
        assert!(stats.payload_bytes_received_new <= 50_000 * 3 + stats.payload_bytes_delivered, "{stats:?}");
    }
}

/// A peer that restarts without the extension, or with it, gets what the new handshake agrees on.
// rfc8260:2-1
#[test]
fn a_restart_agrees_anew() {
    for (before, after) in [(true, false), (false, true), (true, true)] {
        let (mut pair, a, z) = connected(6, &config(before), &config(true));
        send(&mut pair, Side::A, a, 3, false, vec![1; 5000]);
        send(&mut pair, Side::Z, z, 3, false, vec![1; 5000]);
        pair.run_for(Duration::from_secs(1));
        // The same address and port come back as another endpoint, which knows nothing.
        let endpoint = anabranch_sctp::EndpointConfig::new(address(Side::A), PORT).keeping_closed();
        pair.a = anabranch_sctp::Endpoint::new(endpoint, Rng::stream(77, "a", "again").secret());
        pair.events.retain(|(side, ..)| *side == Side::Z);
        let now = pair.now;
        let a = pair.a.connect(now, address(Side::Z), PORT, Arc::new(config(after))).unwrap();
        pair.log.clear();
        pair.run_for(Duration::from_secs(1));
        assert!(pair.saw(Side::Z, |e| matches!(e, Event::Restarted { .. })), "{:?}", pair.events);
        pair.received.clear();
        for i in 0..5 {
            send(&mut pair, Side::A, a, 3, false, vec![i; 3000]);
            send(&mut pair, Side::Z, z, 3, false, vec![i; 3000]);
        }
        pair.run_for(Duration::from_secs(2));
        assert_eq!(pair.received.len(), 10);
        let (used, other) = if after { (kind::I_DATA, kind::DATA) } else { (kind::DATA, kind::I_DATA) };
        assert!(pair.log.iter().any(|p| kinds(p).contains(&used)));
        assert!(!pair.log.iter().any(|p| kinds(p).contains(&other)));
    }
}

/// 2.3.1: what a peer gives up holds up nothing, and what came of it is forgotten.
// rfc8260:2-2 rfc8260:2.3.1-6
#[test]
fn messages_that_the_peer_gives_up() {
    let config = config(true).with(|c| c.subflows.level = anabranch_sctp::config::SubflowLevel::One);
    let (mut pair, a, z) = connected(7, &config, &config);
    let (tag, tsn) = next_of_a(&mut pair, a);
    pair.received.clear();
    // A knows nothing of what is sent in its name.
    pair.drop_if(|p| p.from == Side::Z);
    let whole = DataFlags::WHOLE;
    let begins = DataFlags { ending: false, ..whole };
    let unordered = DataFlags { unordered: true, ..begins };
    let chunk =
        |tsn, mid, flags, text: &'static [u8]| packet(tag, |out| i_data(tsn, mid, 0, flags, text).emit(out));
    // Message 1 is lost, 2 is here, 3 has only begun, 4 is lost, 5 and 6 are here; an unordered one has begun.
    for bytes in [
        chunk(tsn.wrapping_add(1), 2, whole, b"two"),
        chunk(tsn.wrapping_add(2), 3, begins, b"thr"),
        chunk(tsn.wrapping_add(5), 5, whole, b"five"),
        chunk(tsn.wrapping_add(6), 6, whole, b"six"),
        chunk(tsn.wrapping_add(7), 0, unordered, b"unor"),
    ] {
        pair.inject(Side::A, &bytes);
    }
    pair.pump();
    assert!(pair.received.is_empty());
    let forward = |to: u32, mid: u32, unordered: bool| {
        let skipped = [anabranch_wire::chunk::Skipped { stream: 0, unordered, mid: Mid::new(mid) }];
        packet(tag, |out| anabranch_wire::chunk::i_forward_tsn::emit(out, Tsn::new(to), &skipped))
    };
    pair.log.clear();
    pair.inject(Side::A, &forward(tsn.wrapping_add(4), 3, false));
    pair.pump();
    let texts = |pair: &Pair| pair.received.iter().map(|(_, m)| m.clone().into_bytes()).collect::<Vec<_>>();
    assert_eq!(texts(&pair), [&b"two"[..]]);
    assert_eq!(pair.ladder(), [format!("Zx SACK {}", tsn.wrapping_add(7))]);
    pair.inject(Side::A, &forward(tsn.wrapping_add(8), 4, false));
    pair.pump();
    assert_eq!(texts(&pair), [&b"two"[..], b"five", b"six"]);
    // An old one is answered and changes nothing.
    pair.log.clear();
    pair.inject(Side::A, &forward(tsn.wrapping_add(3), 900, true));
    pair.inject(Side::A, &forward(tsn.wrapping_add(9), 0, true));
    pair.inject(Side::A, &chunk(tsn.wrapping_add(10), 7, whole, b"seven"));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(texts(&pair).len(), 4);
    assert_eq!(pair.names().last().unwrap(), "Zx SACK");
    // Nothing is left of what was given up: the whole window is free. "for the purposes of sending a SACK, the receiver MUST follow
    // the same rules as if a DATA chunk had been received" (RFC 3758, 3.6): it may wait for a second packet.
    pair.inject(Side::A, &forward(tsn.wrapping_add(11), 0, true));
    pair.inject(Side::A, &forward(tsn.wrapping_add(12), 0, true));
    pair.pump();
    let sack = pair.log.last().unwrap();
    let parsed = Packet::parse(&sack.bytes, Checksum::Ignore).unwrap();
    let Chunk::Sack(sack) = Chunk::parse(parsed.chunks().next().unwrap().unwrap()).unwrap() else { panic!() };
    assert_eq!(sack.a_rwnd, config.limits.receive_window);
    assert_eq!(pair.z.view(z).unwrap().state(), State::Established);
    // FORWARD-TSN is for DATA: "the receiver of the FORWARD-TSN chunk MUST abort the association".
    let bytes = packet(tag, |out| anabranch_wire::chunk::forward_tsn::emit(out, Tsn::new(tsn), &[]));
    pair.inject(Side::A, &bytes);
    pair.pump();
    assert_eq!(pair.z.view(z).unwrap().state(), State::Closed);
    assert_eq!(kinds(pair.log.last().unwrap()), [kind::ABORT]);
}

/// As many entries as I-FORWARD-TSN can hold, each for a stream of its own or all for one, over and over, while messages wait.
#[test]
fn as_many_skipped_as_a_chunk_holds() {
    for one in [false, true] {
        let config = config(true).with(|c| {
            c.subflows.level = anabranch_sctp::config::SubflowLevel::One;
            c.streams.inbound = 65_535;
        });
        let (mut pair, a, z) = connected(7, &config, &config);
        let (tag, tsn) = next_of_a(&mut pair, a);
        pair.received.clear();
        pair.drop_if(|p| p.from == Side::Z);
        let mid_of = |n: u32| 1 + n / 10;
        for n in 0..100 {
            // On each stream the first message is missing.
            let waits = IData {
                stream: (n % 10) as u16,
                mid: Mid::new(100 + mid_of(n)),
                ..i_data(tsn.wrapping_add(1 + n), 0, 0, DataFlags::WHOLE, b"waits")
            };
            pair.inject(Side::A, &packet(tag, |out| waits.emit(out)));
            pair.pump();
        }
        assert!(pair.received.is_empty());
        for round in 0..100_u32 {
            let skipped: Vec<_> = (0..IForwardTsn::MAX_ENTRIES as u32)
                .map(|i| anabranch_wire::chunk::Skipped {
                    stream: if one { 9 } else { i as u16 },
                    unordered: i > 9 && i % 7 == 6,
                    mid: Mid::new(if one { i / 50 } else { round + 1 }),
                })
                .collect();
            let to = Tsn::new(tsn.wrapping_add(round * 50));
            pair.log.clear();
            pair.inject(Side::A, &packet(tag, |out| i_forward_tsn::emit(out, to, &skipped)));
            pair.pump();
        }
        pair.z.view(z).unwrap().audit().unwrap();
        assert_eq!(pair.received.len(), if one { 10 } else { 100 });
        assert_eq!(pair.z.view(z).unwrap().state(), State::Established);
    }
}

/// Linux numbers the fragments of I-DATA from 0 with the second of a message; RFC 8260, 2.1 has them start with the
/// first: "the FSN is implicitly considered to be 0". So a Linux that is asked to echo every message echoes only
/// those that were not fragmented. A peer of such a Linux sets the quirk, and all arrives.
#[test]
fn fragments_of_linux() {
    let linux = Config::named("linux-6.1").unwrap().with(|c| c.extensions.interleaving = true);
    let plain = config(true);
    let quirk = config(true).with(|c| c.emulation.quirks.fsn_from_second = true);
    for (ours, theirs, arrives) in
        [(&plain, &linux, false), (&linux, &plain, false), (&quirk, &linux, true), (&linux, &quirk, true)]
    {
        let (mut pair, a, _) = connected(21, ours, theirs);
        for stream in 0..3 {
            pair.send(Side::A, a, stream, &[7; 100]);
            pair.send(Side::A, a, stream, &vec![7; 1000 + 1000 * usize::from(stream)]);
        }
        pair.run_for(Duration::from_secs(30));
        let got = pair.received.iter().filter(|(side, _)| *side == Side::Z).count();
        assert_eq!(got == 6, arrives, "{got}");
        // One in three is no longer than a packet, and the short ones went ahead.
        assert!(got >= 4 || ours.profile == "linux-6.1", "{got}");
    }
}

/// Of messages whose fragments number themselves two may leave side by side, from two subflows. A peer that gives its user nothing before a
/// message is whole could end neither if its window holds but one: the second is not begun before the first has left.
// rfc8260:2.2.2-6
#[test]
fn no_subflow_begins_what_the_window_cannot_hold() {
    for (window, beside) in [(20_000, false), (200_000, true)] {
        let config = common::subflow_config(SubflowLevel::Zero, 2).with(|c| {
            c.extensions.interleaving = true;
            c.limits.receive_window = window;
        });
        let (mut pair, a, _) = Pair::between(3, &config, &config);
        for stream in 0..2 {
            send(&mut pair, Side::A, a, stream, false, vec![stream as u8; 15_000]);
        }
        pair.run_for(Duration::from_secs(20));
        assert_eq!(pair.received.len(), 2);
        let mut streams = Vec::new();
        for logged in pair.log.iter().filter(|p| p.from == Side::A) {
            let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
            streams.extend(packet.chunks().filter_map(|raw| match Chunk::parse(raw.unwrap()).unwrap() {
                Chunk::IData(data) => Some(data.stream),
                _ => None,
            }));
        }
        let changes = streams.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(changes > 1, beside, "{window}: {streams:?}");
    }
}

/// A pair of which A asks, and to whose INIT ACK something on the way does what padding is: the list of extensions is skipped.
fn without_the_list_of_the_answer(config: &Config) -> (Pair, AssociationId, AssociationId) {
    let mut pair = Pair::new(22);
    pair.tamper(|from, bytes| {
        if from == Side::Z && bytes[12] == kind::INIT_ACK {
            let at = bytes.windows(2).position(|two| two == [0x80, 0x08]).unwrap();
            bytes[at + 1] = 0x05;
        }
    });
    pair.z.listen(Arc::new(config.clone())).unwrap();
    let a = pair.a.connect(pair.now, common::address(Side::Z), PORT, Arc::new(config.clone())).unwrap();
    pair.run_for(Duration::from_millis(200));
    let z = pair.id_of(Side::Z);
    (pair, a, z)
}

/// The other direction: A does not hear what Z has agreed on, and nothing in a COOKIE ECHO could tell Z. Z "MUST abort the association" with
/// the first DATA chunk (RFC 8260, 2.2.3), so an ABORT is unavoidable here. It comes at once and says why, and nobody waits for ever.
// rfc8260:2.2.3-3
#[test]
fn an_answer_whose_list_of_extensions_is_lost_ends_with_the_first_message() {
    let (mut pair, a, _) = without_the_list_of_the_answer(&config(true));
    send(&mut pair, Side::A, a, 0, false, vec![1; 3000]);
    pair.run_for(Duration::from_millis(50));
    assert!(pair.received.is_empty(), "{:?}", pair.ladder());
    assert!(pair.saw(Side::Z, |e| matches!(e, Event::Closed(CloseReason::ProtocolViolation { .. }))));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(CloseReason::AbortedByPeer { .. }))));
}

/// The first INIT lost its list of extensions on the way, a message has begun to leave as DATA with the COOKIE ECHO, and numbers were kept
/// for its rest when it got company. The cookie was stale, and the peer that was asked again knows I-DATA, whose header is longer: "When
/// determining when to fragment, the SCTP implementation MUST take into account the SCTP packet header as well as the DATA chunk
/// header(s)" (RFC 9260, 6.9).
#[test]
fn a_message_that_began_as_data_goes_on_in_fragments_that_fit() {
    let config = config(true);
    let mut script = Script::calling(&config);
    let (now, a) = (script.pair.now, script.a);
    send(&mut script.pair, Side::A, a, 0, false, vec![7; 5000]);
    script.init_ack(10);
    assert!(script.pair.log.iter().any(|packet| packet.has("DATA")), "a fragment rode with COOKIE ECHO");
    let other = SubflowSpec { streams: vec![1], ..SubflowSpec::new(Dscp::new(10).unwrap()) };
    script.pair.a.association(a).unwrap().add_subflow(now, &other).unwrap();
    script.stale_cookie();
    let list = SupportedExtensions { chunk_types: &[kind::I_DATA] };
    script.init_ack_with(10, &[Param::SupportedExtensions(list)]);
    script.send(|out| CookieAck.emit(out));
    let longest = script.pair.log.iter().map(|packet| packet.bytes.len()).max().unwrap();
    assert_eq!(longest, config.max_packet() as usize, "as long as they may be, and no longer");
    let (mut fragments, mut bytes) = (Vec::new(), 0);
    for logged in &script.pair.log {
        let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
        for raw in packet.chunks() {
            if let Chunk::IData(chunk) = Chunk::parse(raw.unwrap()).unwrap() {
                fragments.push((chunk.tsn.get().wrapping_sub(script.tsn_a), chunk.flags.ending));
                bytes += chunk.payload.len();
            }
        }
    }
    assert_eq!(bytes, 5000, "{fragments:?}");
    assert!(fragments.iter().enumerate().all(|(i, (number, _))| *number == i as u32), "{fragments:?}");
    assert!(fragments.last().unwrap().1, "{fragments:?}");
}

/// Unordered messages left as DATA with the COOKIE ECHO, which has no number for them. The peer that is asked again knows I-DATA, where
/// fragments are joined by their Message Identifier (RFC 8260, 2.1): each message has one of its own, and a message that has begun keeps it.
#[test]
fn unordered_messages_that_left_as_data_have_numbers_of_their_own() {
    let config = config(true);
    let mut script = Script::calling(&config);
    let a = script.a;
    send(&mut script.pair, Side::A, a, 0, true, vec![5; 10]);
    send(&mut script.pair, Side::A, a, 0, true, vec![6; 10]);
    send(&mut script.pair, Side::A, a, 0, true, vec![7; 2000]);
    script.init_ack(10);
    assert!(script.pair.log.iter().any(|packet| packet.has("DATA")), "messages rode with COOKIE ECHO");
    script.stale_cookie();
    let list = SupportedExtensions { chunk_types: &[kind::I_DATA] };
    script.init_ack_with(10, &[Param::SupportedExtensions(list)]);
    script.send(|out| CookieAck.emit(out));
    send(&mut script.pair, Side::A, a, 0, true, vec![8; 10]);
    script.pair.pump();
    let mut seen = std::collections::BTreeSet::new();
    for logged in &script.pair.log {
        let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
        for raw in packet.chunks() {
            if let Chunk::IData(chunk) = Chunk::parse(raw.unwrap()).unwrap() {
                assert!(chunk.flags.unordered);
                seen.insert((chunk.mid.get(), chunk.payload[0]));
            }
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [(0, 5), (1, 6), (2, 7), (3, 8)]);
}
