//! Bad input: wrong tags, forged cookies, malformed chunks, lies. Nothing panics, nothing grows, nothing is answered
//! that must not be (RFC 9260, 5.2, 8.4, 8.5; RFC 5062).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{CloseReason, Config, Endpoint, EndpointConfig, Event, State};
use anabranch_wire::cause::Causes;
use anabranch_wire::chunk::{
    Abort, CookieAck, CookieEcho, Data, DataFlags, ErrorChunk, GapBlock, Init, InitKind, Shutdown,
    ShutdownAck, ShutdownComplete, sack,
};
use anabranch_wire::param::Params;
use anabranch_wire::{Checksum, Packet, Ssn, Tsn, crc32c};
use common::script::packet;
use common::{PORT, Pair, Side};
use proptest::prelude::{any, prop, proptest};

fn reseal(bytes: &mut [u8]) {
    if bytes.len() >= 12 {
        bytes[8..12].fill(0);
        let sum = crc32c::packet_checksum(bytes);
        bytes[8..12].copy_from_slice(&crc32c::store(sum));
    }
}

/// Tags of an established pair: A's own (what Z writes) and Z's own.
fn tags(pair: &mut Pair, a: anabranch_sctp::AssociationId, z: anabranch_sctp::AssociationId) -> (u32, u32) {
    pair.send(Side::A, a, 0, b"a");
    pair.send(Side::Z, z, 0, b"z");
    pair.run_for(Duration::from_secs(1));
    let tag = |side| {
        let p = pair.log.iter().find(|p| p.from == side).unwrap();
        Packet::parse(&p.bytes, Checksum::Verify).unwrap().header().verification_tag
    };
    let found = (tag(Side::Z), tag(Side::A));
    pair.log.clear();
    pair.received.clear();
    found
}

fn init(tag: u32) -> Init<'static> {
    Init {
        initiate_tag: tag,
        a_rwnd: 100_000,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn::new(1),
        params: Params::EMPTY,
    }
}

fn alive(pair: &mut Pair, a: anabranch_sctp::AssociationId, z: anabranch_sctp::AssociationId) {
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
    assert_eq!(pair.z.view(z).unwrap().state(), State::Established);
    let before = pair.received.len();
    pair.send(Side::A, a, 0, b"still here");
    pair.send(Side::Z, z, 0, b"still here");
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.received.len(), before + 2, "{:?}", pair.ladder());
}

/// 8.5.1: which tag, with which T bit, ends an association.
// rfc9260:8.5.1-6 rfc9260:8.5.1-10
#[test]
fn abort_and_shutdown_complete_by_tag_and_t_bit() {
    for (own, reflected, ends) in
        [(true, false, true), (false, true, true), (true, true, false), (false, false, false)]
    {
        let (mut pair, a, z) = Pair::established(1, &Config::rfc9260());
        let (tag_a, tag_z) = tags(&mut pair, a, z);
        let tag = if own { tag_z } else { tag_a };
        let bytes = packet(tag, |out| Abort { reflected_tag: reflected, causes: Causes::EMPTY }.emit(out));
        pair.inject(Side::A, &bytes);
        pair.pump();
        let closed = pair.saw(Side::Z, |e| matches!(e, Event::Closed(_)));
        assert_eq!(closed, ends, "own tag {own}, T {reflected}");
        assert!(pair.log.is_empty(), "an ABORT is never answered");
        let complete = packet(tag_z, |out| ShutdownComplete { reflected_tag: false }.emit(out));
        if !ends {
            pair.inject(Side::A, &complete);
            alive(&mut pair, a, z);
        }
    }
}

// rfc9260:8.5-3
#[test]
fn wrong_tags_change_nothing_and_get_no_answer() {
    let (mut pair, a, z) = Pair::established(2, &Config::rfc9260());
    let mut rng = Rng::stream(2, "test", "tags");
    for i in 0..20_000_u32 {
        let tag = rng.u32();
        let bytes = packet(tag, |out| match i % 6 {
            0 => Data {
                flags: DataFlags::WHOLE,
                tsn: Tsn::new(i),
                stream: 0,
                ssn: Ssn::new(0),
                ppid: 0,
                payload: b"x",
            }
            .emit(out),
            1 => Abort { reflected_tag: i % 2 == 0, causes: Causes::EMPTY }.emit(out),
            2 => sack::emit(out, Tsn::new(i), 0, &[GapBlock { start: 2, end: 9 }], &[]),
            3 => ShutdownAck.emit(out),
            4 => ErrorChunk { causes: Causes::EMPTY }.emit(out),
            _ => Shutdown { cumulative: Tsn::new(i) }.emit(out),
        });
        pair.inject(Side::A, &bytes);
    }
    // Zero is never right, in COOKIE-WAIT either.
    pair.inject(Side::A, &packet(0, |out| Abort { reflected_tag: true, causes: Causes::EMPTY }.emit(out)));
    pair.pump();
    assert!(pair.log.is_empty());
    assert!(pair.z.endpoint_stats().bad_tag >= 20_000);
    alive(&mut pair, a, z);
    let (mut pair, id) = Pair::connecting(3, &Config::rfc9260());
    pair.drop_if(|p| p.from == Side::Z);
    pair.pump();
    pair.inject(Side::Z, &packet(0, |out| Abort { reflected_tag: true, causes: Causes::EMPTY }.emit(out)));
    pair.pump();
    assert_eq!(pair.a.view(id).unwrap().state(), State::CookieWait);
}

/// CVE-2021-3772: a spoofed INIT makes no ABORT that carries a tag of the association.
// rfc9260:5.2.2-9
#[test]
fn a_spoofed_init_harms_no_association() {
    let (mut pair, a, z) = Pair::established(4, &Config::rfc9260());
    let (tag_a, tag_z) = tags(&mut pair, a, z);
    let bad = [
        Init { initiate_tag: 0, ..init(1) },
        Init { a_rwnd: 1499, ..init(0x77) },
        Init { outbound_streams: 0, ..init(0x77) },
        Init { inbound_streams: 0, ..init(0x77) },
        init(0x77),
    ];
    for init in bad {
        for tag in [0, tag_z, 5] {
            pair.inject(Side::A, &packet(tag, |out| init.emit(InitKind::Init, out)));
            pair.pump();
        }
    }
    // Bundled with anything: discarded.
    pair.inject(
        Side::A,
        &packet(0, |out| {
            init(0x78).emit(InitKind::Init, out);
            CookieAck.emit(out);
        }),
    );
    pair.pump();
    for reply in &pair.log {
        let tag = Packet::parse(&reply.bytes, Checksum::Verify).unwrap().header().verification_tag;
        assert_eq!(tag, 0x77, "the INIT's own tag");
        assert!(tag != tag_a && tag != tag_z);
    }
    assert_eq!(pair.names().iter().filter(|n| *n == "Z: ABORT").count(), 3, "{:?}", pair.names());
    alive(&mut pair, a, z);
}

/// Z gets an INIT from an address that somebody made up; its length.
fn forged_init(pair: &mut Pair, rng: &mut Rng) -> usize {
    let bytes = packet(0, |out| init(rng.u32() | 1).emit(InitKind::Init, out));
    let mut meta = common::meta(Side::A);
    meta.source = (std::net::Ipv4Addr::from(0x0b00_0000 | (rng.u32() >> 8)), 0).into();
    pair.z.handle_datagram(pair.now, meta, &bytes);
    bytes.len()
}

// rfc9260:5.1-6
#[test]
fn an_init_flood_keeps_no_state() {
    let (mut pair, id) = Pair::connecting(5, &Config::rfc9260());
    let mut rng = Rng::stream(5, "test", "flood");
    let mut out = Vec::new();
    for _ in 0..1_000_000 {
        let len = forged_init(&mut pair, &mut rng);
        let now = pair.now;
        while pair.z.poll_transmit(now, 1, &mut out).is_some() {
            assert!(out.len() <= len + 512);
            out.clear();
        }
    }
    assert_eq!(pair.z.associations(), 0);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.a.view(id).unwrap().state(), State::Established);
}

/// The answers to a flood are as many as the user allows; a peer that asks when it is over is let in.
#[test]
fn an_init_flood_is_answered_so_often() {
    let mut pair = Pair::new(6);
    let told =
        EndpointConfig { max_inits_per_second: 1000, ..EndpointConfig::new(common::address(Side::Z), PORT) };
    pair.z = Endpoint::new(told, Rng::stream(6, "z", "flood").secret());
    pair.z.listen(Arc::new(Config::rfc9260())).unwrap();
    let mut rng = Rng::stream(6, "test", "flood");
    let mut out = Vec::new();
    for _ in 0..20_000 {
        pair.now += Duration::from_micros(100);
        forged_init(&mut pair, &mut rng);
        let now = pair.now;
        while pair.z.poll_transmit(now, 1, &mut out).is_some() {
            out.clear();
        }
    }
    let stats = pair.z.endpoint_stats().clone();
    assert_eq!(stats.inits_answered + stats.inits_dropped, 20_000);
    // A burst of a second's worth and two seconds.
    assert!((2999..=3001).contains(&stats.inits_answered), "{stats:?}");
    pair.now += Duration::from_millis(10);
    let id = pair.a.connect(pair.now, common::address(Side::Z), PORT, Arc::new(Config::rfc9260())).unwrap();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.a.view(id).unwrap().state(), State::Established);
}

// rfc9260:5.1.5-2 rfc9260:5.1.5-3
#[test]
fn forged_and_replayed_cookies() {
    let (mut pair, a) = Pair::connecting(6, &Config::rfc9260());
    pair.run_for(Duration::from_secs(1));
    let echo = pair.log.iter().find(|p| p.has("COOKIE-ECHO")).unwrap().bytes.clone();
    let z = pair.id_of(Side::Z);
    // The same cookie again: COOKIE ACK, nothing else (5.2.4 D).
    pair.log.clear();
    for _ in 0..10 {
        pair.inject(Side::A, &echo);
        pair.pump();
    }
    assert!(pair.names().iter().all(|n| n == "Z: COOKIE-ACK"), "{:?}", pair.names());
    assert_eq!(pair.z.associations(), 1);
    // Any bit flipped: silence.
    pair.log.clear();
    let end = 12 + usize::from(u16::from_be_bytes([echo[14], echo[15]]));
    for bit in (16 * 8..end * 8).step_by(3) {
        let mut forged = echo.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        reseal(&mut forged);
        pair.inject(Side::A, &forged);
    }
    pair.pump();
    assert!(pair.log.is_empty(), "{:?}", pair.names());
    // From another address: not the one that the INIT came from.
    let mut meta = common::meta(Side::A);
    meta.source = ([10, 9, 9, 9], 0).into();
    let now = pair.now;
    pair.z.handle_datagram(now, meta, &echo);
    assert_eq!(pair.z.associations(), 1);
    alive(&mut pair, a, z);
}

/// RFC 5062, address camping: an association that lists somebody else's address does not keep that somebody out.
#[test]
fn a_claimed_address_blocks_nobody() {
    let mut pair = Pair::new(12);
    pair.z.listen(Arc::new(Config::rfc9260())).unwrap();
    // The attacker, at 10.6.6.6, claims A's address and completes its handshake.
    let mut claim = Vec::new();
    anabranch_wire::param::Ipv4Address { address: [10, 0, 0, 1].into() }.emit(&mut claim);
    let list = Init { params: Params::new(&claim), ..init(0x66) };
    let mut meta = common::meta(Side::A);
    meta.source = ([10, 6, 6, 6], 0).into();
    let (now, mut buf) = (pair.now, Vec::new());
    pair.z.handle_datagram(now, meta, &packet(0, |o| list.emit(InitKind::Init, o)));
    pair.z.poll_transmit(now, 1, &mut buf).unwrap();
    let answer = Packet::parse(&buf, Checksum::Verify).unwrap();
    let raw = answer.chunks().next().unwrap().unwrap();
    let anabranch_wire::chunk::Chunk::InitAck(ack) = anabranch_wire::chunk::Chunk::parse(raw).unwrap() else {
        panic!()
    };
    let cookie = ack.params.iter().map(Result::unwrap).find(|p| p.kind == 7).unwrap().value.to_vec();
    let echo = packet(ack.initiate_tag, |o| CookieEcho { cookie: &cookie }.emit(o));
    pair.z.handle_datagram(now, meta, &echo);
    assert_eq!(pair.z.associations(), 1);
    buf.clear();
    while pair.z.poll_transmit(now, 1, &mut buf).is_some() {}
    while pair.z.poll_event().is_some() {}
    // The true A sets up its own association.
    let a = pair.a.connect(now, common::address(Side::Z), PORT, Arc::new(Config::rfc9260())).unwrap();
    pair.send(Side::A, a, 0, b"mine");
    pair.run_for(Duration::from_millis(500));
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
    assert_eq!((pair.z.associations(), pair.received.len()), (2, 1));
}

// rfc9260:8.4-10
#[test]
fn out_of_the_blue() {
    let mut pair = Pair::new(7);
    pair.z.listen(Arc::new(Config::rfc9260())).unwrap();
    let cases: [(&str, Vec<u8>, &[&str]); 6] = [
        ("ABORT", packet(9, |o| Abort { reflected_tag: false, causes: Causes::EMPTY }.emit(o)), &[]),
        ("SHUTDOWN ACK", packet(9, |o| ShutdownAck.emit(o)), &["Z: SHUTDOWN-COMPLETE"]),
        ("SHUTDOWN COMPLETE", packet(9, |o| ShutdownComplete { reflected_tag: true }.emit(o)), &[]),
        ("COOKIE ACK", packet(9, |o| CookieAck.emit(o)), &[]),
        ("COOKIE ECHO", packet(9, |o| CookieEcho { cookie: &[1; 100] }.emit(o)), &[]),
        ("SACK", packet(9, |o| sack::emit(o, Tsn::new(1), 0, &[], &[])), &["Z: ABORT"]),
    ];
    for (name, bytes, expected) in cases {
        pair.log.clear();
        pair.inject(Side::A, &bytes);
        pair.pump();
        assert_eq!(pair.names(), expected, "{name}");
        for reply in &pair.log {
            let packet = Packet::parse(&reply.bytes, Checksum::Verify).unwrap();
            assert_eq!(packet.header().verification_tag, 9, "the tag is reflected");
            assert_eq!(packet.chunks().next().unwrap().unwrap().flags & 1, 1, "with the T bit");
        }
    }
    // Never to a group.
    pair.log.clear();
    for source in [[224, 0, 0, 1], [255, 255, 255, 255], [0, 0, 0, 0]] {
        let mut meta = common::meta(Side::A);
        meta.source = (source, 0).into();
        let now = pair.now;
        pair.z.handle_datagram(now, meta, &packet(9, |o| sack::emit(o, Tsn::new(1), 0, &[], &[])));
        pair.z.handle_datagram(now, meta, &packet(0, |o| init(3).emit(InitKind::Init, o)));
    }
    pair.pump();
    assert!(pair.log.is_empty());
}

// rfc9260:12.4-4
#[test]
fn lies_in_sacks_and_data() {
    let data = |tsn, payload: &'static [u8], flags| Data {
        flags,
        tsn: Tsn::new(tsn),
        stream: 0,
        ssn: Ssn::new(0),
        ppid: 0,
        payload,
    };
    // A SACK for chunks that were never sent ends the association with a Protocol Violation.
    let (mut pair, a, z) = Pair::established(8, &Config::rfc9260());
    let (_, tag_z) = tags(&mut pair, a, z);
    pair.inject(Side::A, &packet(tag_z, |o| sack::emit(o, Tsn::new(0x7000_0000), 0, &[], &[])));
    pair.pump();
    assert_eq!(pair.names(), ["Z: ABORT"]);
    assert!(pair.saw(Side::Z, |e| matches!(e, Event::Closed(CloseReason::ProtocolViolation { .. }))));
    // DATA without user data: ABORT.
    let (mut pair, a, z) = Pair::established(9, &Config::rfc9260());
    let (_, tag_z) = tags(&mut pair, a, z);
    pair.inject(Side::A, &packet(tag_z, |o| data(5, b"", DataFlags::WHOLE).emit(o)));
    pair.pump();
    assert_eq!(pair.names(), ["Z: ABORT"]);
    assert!(pair.saw(Side::Z, |e| matches!(e, Event::Closed(_))));
}

/// A receiver that never reads: the memory that a peer can make us hold stays near the window we advertise, however small the pieces.
#[test]
fn tiny_messages_cannot_exhaust_memory() {
    let mut config = Config::rfc9260();
    config.limits.receive_window = 64 << 10;
    let (mut pair, a, z) = Pair::established(10, &config);
    let (_, tag_z) = tags(&mut pair, a, z);
    pair.reads = [true, false];
    pair.send(Side::A, a, 0, b"where we are");
    pair.pump();
    let base = pair.log.iter().rev().find_map(|p| p.data().first().map(|d| d.tsn.get())).unwrap();
    for i in 0..200_000_u32 {
        let chunk = Data {
            flags: DataFlags { unordered: true, ..DataFlags::WHOLE },
            tsn: Tsn::new(base.wrapping_add(2 + i)),
            stream: 0,
            ssn: Ssn::new(0),
            ppid: 0,
            payload: b".",
        };
        pair.inject(Side::A, &packet(tag_z, |o| chunk.emit(o)));
    }
    let stats = pair.z.view(z).unwrap().stats();
    assert!(stats.payload_bytes_received_new < 3 * 65_536 / 128 + 100, "{stats:?}");
    assert!(stats.dropped_no_buffer > 190_000);
}

proptest! {
    /// Arbitrary bytes behind a right header, in an established association and in none.
    #[test]
    fn arbitrary_chunks(bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..20), own in any::<bool>()) {
        let (mut pair, a, z) = Pair::established(11, &Config::rfc9260());
        let (_, tag_z) = tags(&mut pair, a, z);
        for body in bodies {
            pair.inject(Side::A, &packet(if own { tag_z } else { 7 }, |o| o.extend_from_slice(&body)));
            pair.pump();
        }
        pair.run_for(Duration::from_secs(400));
    }

    /// Real packets of a conversation with a few bytes changed, checksum made right again.
    #[test]
    fn mutated_conversations(seed in any::<u64>(), changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..6), every in 1_usize..5) {
        let (mut pair, a) = Pair::connecting(seed, &Config::rfc9260());
        for i in 0..20_u8 {
            pair.send(Side::A, a, 0, &vec![i; usize::from(i) * 300 + 1]);
        }
        pair.run_for(Duration::from_millis(200));
        let recorded: Vec<(Side, Vec<u8>)> = pair.log.iter().map(|p| (p.from, p.bytes.clone())).collect();
        let (mut pair, a) = Pair::connecting(seed, &Config::rfc9260());
        pair.send(Side::A, a, 0, b"x");
        for (i, (from, mut bytes)) in recorded.into_iter().enumerate() {
            if i % every == 0 {
                for (at, value) in &changes {
                    let at = usize::from(*at) % bytes.len();
                    bytes[at] = *value;
                }
                reseal(&mut bytes);
            }
            pair.inject(from, &bytes);
            pair.pump();
        }
        pair.run_for(Duration::from_secs(400));
    }

    /// Any datagram at all.
    #[test]
    fn arbitrary_datagrams(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut endpoint = Endpoint::new(EndpointConfig::new(common::address(Side::Z), PORT).keeping_closed(), Rng::stream(1, "z", "endpoint").secret());
        endpoint.listen(Arc::new(Config::rfc9260())).unwrap();
        let mut sealed = bytes.clone();
        reseal(&mut sealed);
        for datagram in [bytes, sealed] {
            endpoint.handle_datagram(anabranch_base::Instant::ZERO, common::meta(Side::A), &datagram);
        }
    }
}

/// A COOKIE ECHO with DATA that comes again after everything is over: nothing is delivered twice, and no ghost rises.
#[test]
fn a_cookie_replayed_after_the_end() {
    let (mut pair, a) = Pair::connecting(12, &Config::rfc9260());
    pair.send(Side::A, a, 0, b"pay 100 crowns");
    pair.run_for(Duration::from_secs(1));
    let echo = pair.log.iter().find(|p| p.has("COOKIE-ECHO")).unwrap().bytes.clone();
    assert_eq!(pair.received.len(), 1);
    pair.a.association(a).unwrap().shutdown(pair.now);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.z.associations(), 0);
    for wait in [0, 10, 40, 100] {
        pair.run_for(Duration::from_secs(wait));
        pair.inject(Side::A, &echo);
        pair.pump();
        assert_eq!((pair.z.associations(), pair.received.len()), (0, 1), "after {wait} s more");
    }
}
