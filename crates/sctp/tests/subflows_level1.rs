//! The extension SF end to end: subflows with sequence spaces of their own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration};
use anabranch_sctp::config::SubflowLevel;
use anabranch_sctp::{Config, Event, SubflowSpec};
use anabranch_wire::chunk::{Chunk, kind};
use anabranch_wire::{Checksum, Packet};
use common::{Logged, Pair, Side, address};

fn config(level: SubflowLevel, subflows: u8) -> Config {
    let spec = |index: u8| SubflowSpec {
        streams: vec![u16::from(index)],
        ..SubflowSpec::new(Dscp::new(index).unwrap())
    };
    Config { subflow_level: level, subflows: (0..subflows).map(spec).collect(), ..Config::rfc9260() }
}

/// Chunk types of a packet.
fn kinds(packet: &Logged) -> Vec<u8> {
    let packet = Packet::parse(&packet.bytes, Checksum::Ignore).unwrap();
    packet.chunks().map(|raw| raw.unwrap().kind).collect()
}

fn used(pair: &Pair) -> std::collections::BTreeSet<u8> {
    pair.log.iter().flat_map(kinds).collect()
}

/// Sends `count` messages of each length on each stream, numbered.
fn send_all(
    pair: &mut Pair,
    side: Side,
    id: anabranch_sctp::AssociationId,
    streams: u16,
    count: u32,
    len: usize,
) {
    for n in 0..count {
        for stream in 0..streams {
            let mut payload = vec![stream as u8; len];
            payload[..4].copy_from_slice(&n.to_be_bytes());
            pair.send(side, id, stream, &payload);
        }
    }
}

/// Every message of every stream arrived, once, in order.
fn check_all(pair: &Pair, side: Side, streams: u16, count: u32, len: usize) {
    let mut next = BTreeMap::new();
    for (to, message) in &pair.received {
        if *to != side {
            continue;
        }
        let bytes = message.clone().into_bytes();
        assert_eq!(bytes.len(), len);
        let n = u32::from_be_bytes(bytes[..4].try_into().unwrap());
        let expected = next.entry(message.stream).or_insert(0_u32);
        assert_eq!(n, *expected, "stream {}", message.stream);
        *expected += 1;
    }
    for stream in 0..streams {
        assert_eq!(next.get(&stream).copied().unwrap_or(0), count, "stream {stream}");
    }
}

#[test]
fn each_subflow_has_its_own_chunks() {
    let (mut pair, a, z) = Pair::established(1, &config(SubflowLevel::One, 3));
    send_all(&mut pair, Side::A, a, 3, 40, 900);
    send_all(&mut pair, Side::Z, z, 3, 40, 900);
    pair.run_for(Duration::from_secs(5));
    check_all(&pair, Side::Z, 3, 40, 900);
    check_all(&pair, Side::A, 3, 40, 900);
    let used = used(&pair);
    assert!(!used.contains(&kind::DATA));
    for kind in [kind::I_DATA, kind::SACK, kind::SF_DATA, kind::SF_SACK] {
        assert!(used.contains(&kind), "{kind:#x} of {used:?}");
    }
    assert!(!pair.log.iter().any(|p| p.has("ERROR") || p.has("ABORT")));
    // Data of one subflow only in each packet.
    for packet in &pair.log {
        let packet = Packet::parse(&packet.bytes, Checksum::Ignore).unwrap();
        let fids: std::collections::BTreeSet<u8> = packet
            .chunks()
            .filter_map(|raw| match Chunk::parse(raw.unwrap()).unwrap() {
                Chunk::SfData(data) => Some(data.fid),
                Chunk::IData(_) => Some(0),
                _ => None,
            })
            .collect();
        assert!(fids.len() <= 1);
    }
    let stats = pair.a.association(a).unwrap();
    assert!(stats.subflow_stats(1).unwrap().one_way_delay_us.is_some());
}

#[test]
fn losses_in_both_directions() {
    for seed in 0..20 {
        let (mut pair, a, z) = Pair::established(seed, &config(SubflowLevel::One, 4));
        let mut rng = anabranch_base::Rng::stream(seed, "loss", "test");
        pair.drop_if(move |_| rng.below(10) == 0);
        send_all(&mut pair, Side::A, a, 4, 60, 2000);
        send_all(&mut pair, Side::Z, z, 4, 30, 100);
        pair.run_for(Duration::from_secs(120));
        check_all(&pair, Side::Z, 4, 60, 2000);
        check_all(&pair, Side::A, 4, 30, 100);
    }
}

#[test]
fn the_end_waits_for_every_subflow() {
    let (mut pair, a, _) = Pair::established(7, &config(SubflowLevel::One, 4));
    let mut rng = anabranch_base::Rng::stream(7, "loss", "test");
    pair.drop_if(move |p| p.from == Side::A && rng.below(4) == 0);
    send_all(&mut pair, Side::A, a, 4, 50, 500);
    let now = pair.now;
    pair.a.shutdown(now, a);
    pair.run_for(Duration::from_secs(200));
    check_all(&pair, Side::Z, 4, 50, 500);
    let graceful = |e: &Event| matches!(e, Event::Closed(anabranch_sctp::CloseReason::Graceful));
    assert!(pair.saw(Side::A, graceful) && pair.saw(Side::Z, graceful), "{:?}", pair.events);
}

#[test]
fn sf2007_end_to_end() {
    for seed in 0..10 {
        let config = Arc::new(Config { sack_delay: Duration::ZERO, ..config(SubflowLevel::Sf2007, 3) });
        let mut pair = Pair::sealed(seed);
        pair.z.listen(Arc::clone(&config)).unwrap();
        let now = pair.now;
        let a = pair.a.connect(now, address(Side::Z), common::PORT, config).unwrap();
        pair.run_for(Duration::from_millis(200));
        let z = pair.id_of(Side::Z);
        let mut rng = anabranch_base::Rng::stream(seed, "loss", "test");
        pair.drop_if(move |_| rng.below(12) == 0);
        send_all(&mut pair, Side::A, a, 3, 60, 3000);
        send_all(&mut pair, Side::Z, z, 3, 30, 100);
        pair.run_for(Duration::from_secs(120));
        check_all(&pair, Side::Z, 3, 60, 3000);
        check_all(&pair, Side::A, 3, 30, 100);
        let now = pair.now;
        pair.a.shutdown(now, a);
        pair.run_for(Duration::from_secs(200));
        let graceful = |e: &Event| matches!(e, Event::Closed(anabranch_sctp::CloseReason::Graceful));
        assert!(pair.saw(Side::A, graceful) && pair.saw(Side::Z, graceful), "{:?}", pair.events);
    }
}
