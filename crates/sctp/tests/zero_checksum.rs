//! Packets with a checksum of zero (RFC 9653): ends that may send them, packets that are accepted, and that nobody
//! else gains by them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;

use anabranch_base::{Duration, Instant, Rng};
use anabranch_sctp::config::ErrorDetection;
use anabranch_sctp::{Config, Endpoint, EndpointConfig, Event, State};
use anabranch_wire::chunk::{Chunk, kind};
use anabranch_wire::param::Param;
use anabranch_wire::{Checksum, Packet};
use common::{Logged, PORT, Pair, Side, address, meta};

fn dtls() -> Config {
    Config::rfc9260().with(|c| c.extensions.zero_checksum = Some(ErrorDetection::Dtls))
}

fn sum(bytes: &[u8]) -> u32 {
    Packet::parse(bytes, Checksum::Ignore).unwrap().checksum()
}

fn is_right(bytes: &[u8]) -> bool {
    Packet::parse(bytes, Checksum::Verify).is_ok()
}

/// The packet with another checksum.
fn with_sum(bytes: &[u8], sum: u32) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[8..12].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// The last packet of a side that holds a chunk of that type.
fn last(pair: &Pair, from: Side, kind: u8) -> Logged {
    pair.log.iter().rev().find(|p| p.from == from && p.kinds().contains(&kind)).unwrap().clone()
}

fn received(pair: &Pair, side: Side) -> usize {
    pair.received.iter().filter(|(s, _)| *s == side).count()
}

/// "If none of the above restrictions apply, an endpoint SHOULD use zero as the checksum"; with INIT and COOKIE ECHO it "MUST
/// include a correct CRC32c checksum" (RFC 9653, 5.2).
// rfc9653:4-1 rfc9653:5.1-1 rfc9653:5.2-2 rfc9653:5.2-4 rfc9653:5.2-6 rfc9653:5.3-1
#[test]
fn all_but_init_and_cookie_echo_leave_without_a_checksum() {
    let (mut pair, a, z) = Pair::between(1, &dtls(), &dtls());
    pair.send(Side::A, a, 0, b"hello");
    pair.send(Side::Z, z, 0, b"hello");
    pair.run_for(Duration::from_secs(40));
    let now = pair.now;
    pair.a.association(a).unwrap().shutdown(now);
    pair.run_for(Duration::from_secs(1));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(anabranch_sctp::CloseReason::Graceful))));
    assert_eq!((received(&pair, Side::A), received(&pair, Side::Z)), (1, 1));
    let (mut zero, mut right) = (0, 0);
    for packet in &pair.log {
        if matches!(packet.kinds()[0], kind::INIT | kind::COOKIE_ECHO) {
            assert!(is_right(&packet.bytes), "{:?}", packet.words());
            right += 1;
        } else {
            assert_eq!(sum(&packet.bytes), 0, "{:?}", packet.words());
            zero += 1;
        }
    }
    assert!(right == 2 && zero >= 7, "{right} {zero}");
}

/// An end without an association takes no packet without a checksum (5.3). A packet to a peer that did not answer in
/// time has one, so that the peer can say that it has forgotten the association, or that all is done.
#[test]
fn a_peer_that_has_forgotten_the_association_is_heard() {
    // The SHUTDOWN COMPLETE is lost: the other end is gone already, and answers the second SHUTDOWN ACK out of the blue (8.4).
    let (mut pair, a, _) = Pair::between(1, &dtls(), &dtls());
    let mut lost = 0;
    pair.drop_if(move |p| {
        let lose = lost == 0 && p.kinds().contains(&kind::SHUTDOWN_COMPLETE);
        lost += usize::from(lose);
        lose
    });
    let now = pair.now;
    pair.a.association(a).unwrap().shutdown(now);
    pair.run_for(Duration::from_secs(5));
    let graceful = |e: &Event| matches!(e, Event::Closed(anabranch_sctp::CloseReason::Graceful));
    assert!(pair.saw(Side::A, graceful) && pair.saw(Side::Z, graceful), "{:?}", pair.events);
    let acks: Vec<_> = pair.log.iter().filter(|p| p.kinds().contains(&kind::SHUTDOWN_ACK)).collect();
    assert_eq!(acks.iter().map(|p| sum(&p.bytes) == 0).collect::<Vec<_>>(), [true, false]);

    // The peer's program has begun anew: the data that is sent again is answered with ABORT (8.4).
    let (mut pair, a, _) = Pair::between(1, &dtls(), &dtls());
    pair.z = Endpoint::new(EndpointConfig::new(address(Side::Z), PORT), Rng::stream(2, "z", "test").secret());
    pair.z.listen(Arc::new(dtls())).unwrap();
    pair.send(Side::A, a, 0, b"who are you?");
    pair.run_for(Duration::from_secs(5));
    let aborted = |e: &Event| matches!(e, Event::Closed(anabranch_sctp::CloseReason::AbortedByPeer { .. }));
    assert!(pair.saw(Side::A, aborted), "{:?}", pair.events);
}

/// "If an endpoint has not received an INIT or INIT ACK chunk containing a Zero Checksum Acceptable Chunk Parameter indicating
/// an alternate error detection method it supports from its peer ..., it MUST use a correct CRC32c checksum" (5.2).
#[test]
fn one_side_alone_changes_nothing() {
    for (of_a, of_z) in [(dtls(), Config::rfc9260()), (Config::rfc9260(), dtls())] {
        let (mut pair, a, z) = Pair::between(2, &of_a, &of_z);
        pair.send(Side::A, a, 0, b"hello");
        pair.send(Side::Z, z, 0, b"hello");
        pair.run_for(Duration::from_secs(40));
        assert_eq!((received(&pair, Side::A), received(&pair, Side::Z)), (1, 1));
        assert!(pair.log.iter().all(|packet| is_right(&packet.bytes)));
    }
}

/// Changes the EDMID of the Zero Checksum Acceptable parameter in INIT and INIT ACK.
fn another_method(side: Side) -> impl FnMut(Side, &mut Vec<u8>) {
    move |from, bytes| {
        if from == side {
            if let Some(at) = bytes.windows(8).position(|w| w == [0x80, 1, 0, 8, 0, 0, 0, 1]) {
                bytes[at + 7] = 2;
            }
        }
    }
}

/// A method that we do not have, or no longer the one that we have.
// rfc9653:4-3 rfc9653:5.2-1
#[test]
fn an_unknown_method_counts_as_none() {
    let config = dtls();
    for side in [Side::A, Side::Z] {
        let (mut pair, a) = Pair::connecting(3, &config);
        pair.tamper(another_method(side));
        pair.run_for(Duration::from_secs(1));
        let z = pair.id_of(Side::Z);
        // Packets from now on are not changed on the way, and logged as they left.
        let now = pair.now;
        let mut buf = Vec::new();
        pair.a.association(a).unwrap().abort(now, b"end");
        pair.a.poll_transmit(now, 1, &mut buf).unwrap();
        assert_eq!(is_right(&buf), side == Side::Z, "A leaves checksums out if Z has said that it may");
        buf.clear();
        pair.z.association(z).unwrap().abort(now, b"end");
        pair.z.poll_transmit(now, 1, &mut buf).unwrap();
        assert_eq!(is_right(&buf), side == Side::A);
    }
}

/// Attack C9. "Otherwise, the endpoint MUST drop all SCTP packets with an incorrect CRC32c checksum" (5.3).
// rfc9653:5.3-1 rfc9653:5.3-2
#[test]
fn zero_is_taken_only_where_it_was_announced() {
    for announced in [false, true] {
        let config = if announced { dtls() } else { Config::rfc9260() };
        let (mut pair, a, z) = Pair::between(4, &config, &config);
        pair.reads = [true, true];
        pair.send(Side::A, a, 0, b"hello");
        pair.drop_if(|_| true);
        pair.pump();
        pair.drop_if(|_| false);
        let data = last(&pair, Side::A, kind::DATA).bytes;
        let bad = pair.z.endpoint_stats().bad_checksum;
        // Any other wrong sum is a wrong sum.
        pair.inject(Side::A, &with_sum(&data, 1));
        pair.pump();
        assert_eq!(pair.z.endpoint_stats().bad_checksum, bad + 1);
        assert_eq!(received(&pair, Side::Z), 0);
        // Of strangers, to strangers, or with a wrong tag: not even an answer.
        let mut stray = with_sum(&data, 0);
        stray[4] ^= 1;
        pair.inject(Side::A, &stray);
        let zero = with_sum(&data, 0);
        let mut from_elsewhere = meta(Side::A);
        from_elsewhere.source = ([10, 0, 0, 66], 0).into();
        let now = pair.now;
        pair.z.handle_datagram(now, from_elsewhere, &zero);
        let mut to_nobody = zero.clone();
        to_nobody[3] ^= 1;
        pair.inject(Side::A, &to_nobody);
        let sent = pair.log.len();
        pair.pump();
        assert_eq!(pair.log.len(), sent, "nobody is answered");
        assert_eq!(pair.z.endpoint_stats().bad_checksum, bad + 4);
        // The peer's.
        pair.inject(Side::A, &zero);
        pair.pump();
        assert_eq!(received(&pair, Side::Z), usize::from(announced));
        assert_eq!(pair.z.endpoint_stats().bad_checksum, bad + 4 + u64::from(!announced));
        assert_eq!(pair.z.view(z).unwrap().state(), State::Established);
    }
}

/// Attack C9: "never for INIT / COOKIE ECHO", although the sender has announced the method and the association takes zero.
#[test]
fn an_init_or_a_cookie_echo_needs_its_checksum() {
    let (mut pair, _, z) = Pair::between(5, &dtls(), &dtls());
    let init = last(&pair, Side::A, kind::INIT).bytes;
    let echo = last(&pair, Side::A, kind::COOKIE_ECHO).bytes;
    let sent = pair.log.len();
    let (bad, answered) = (pair.z.endpoint_stats().bad_checksum, pair.z.endpoint_stats().inits_answered);
    for packet in [&init, &echo] {
        let zero = with_sum(packet, 0);
        pair.inject(Side::A, &zero);
    }
    pair.pump();
    assert_eq!(pair.log.len(), sent);
    assert_eq!(pair.z.endpoint_stats().bad_checksum, bad + 2);
    assert_eq!(pair.z.endpoint_stats().inits_answered, answered);
    // They are answered as they are.
    pair.inject(Side::A, &init);
    pair.inject(Side::A, &echo);
    pair.pump();
    assert_eq!(pair.log.len(), sent + 2);
    assert_eq!(pair.z.view(z).unwrap().state(), State::Established);
}

/// Answering an INIT keeps no state, so the cookie says what was announced in the INIT ACK, and what the INIT said: whoever
/// listens may have changed its mind since.
#[test]
fn the_cookie_says_what_was_announced() {
    for (first, then) in [(dtls(), Config::rfc9260()), (Config::rfc9260(), dtls())] {
        let mut pair = Pair::new(6);
        pair.z.listen(Arc::new(first.clone())).unwrap();
        let id = pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(dtls())).unwrap();
        pair.run_for(Duration::from_millis(15));
        pair.z.listen(Arc::new(then)).unwrap();
        pair.run_for(Duration::from_millis(100));
        pair.log.clear();
        pair.send(Side::A, id, 0, b"hello");
        let z = pair.id_of(Side::Z);
        pair.send(Side::Z, z, 0, b"hello");
        pair.run_for(Duration::from_secs(1));
        assert_eq!((received(&pair, Side::A), received(&pair, Side::Z)), (1, 1));
        let zero = first.extensions.zero_checksum.is_some();
        assert!(pair.log.len() >= 4);
        for packet in &pair.log {
            assert_eq!(sum(&packet.bytes) == 0, zero, "{:?}", packet.words());
            assert_eq!(is_right(&packet.bytes), !zero);
        }
    }
}

/// A peer that restarts without the extension gets checksums again.
#[test]
fn a_restart_agrees_anew() {
    let (mut pair, _, z) = Pair::between(7, &dtls(), &dtls());
    // A forgets everything.
    let mut fresh = Pair::new(8);
    std::mem::swap(&mut pair.a, &mut fresh.a);
    let a = pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(Config::rfc9260())).unwrap();
    pair.log.clear();
    pair.run_for(Duration::from_secs(1));
    assert!(pair.saw(Side::Z, |e| matches!(e, Event::Restarted { .. })));
    pair.send(Side::Z, z, 0, b"hello");
    pair.send(Side::A, a, 0, b"hello");
    pair.run_for(Duration::from_secs(1));
    assert_eq!((received(&pair, Side::A), received(&pair, Side::Z)), (1, 1));
    assert!(pair.log.len() >= 8 && pair.log.iter().all(|packet| is_right(&packet.bytes)));
}

/// A stale cookie begins the handshake anew: its second INIT has a checksum, too.
#[test]
fn the_second_init_after_a_stale_cookie_has_a_checksum() {
    let (mut pair, a) =
        Pair::connecting(9, &dtls().with(|c| c.timers.valid_cookie_life = Duration::from_millis(5)));
    pair.run_for(Duration::from_secs(3));
    let inits = pair.log.iter().filter(|p| p.kinds()[0] == kind::INIT).count();
    assert!(inits >= 2, "{:?}", pair.ladder());
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
    for packet in &pair.log {
        let right = matches!(packet.kinds()[0], kind::INIT | kind::COOKIE_ECHO | kind::ERROR);
        assert_eq!(is_right(&packet.bytes), right, "{:?}", packet.words());
    }
}

/// The methods that the parameters Zero Checksum Acceptable of a packet name.
fn announced(logged: &Logged) -> Vec<u32> {
    let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
    let raw = packet.chunks().next().unwrap().unwrap();
    let (Chunk::Init(init) | Chunk::InitAck(init)) = Chunk::parse(raw).unwrap() else { return Vec::new() };
    let params = init.params.iter().map(|raw| Param::parse(raw.unwrap()).unwrap());
    let method = |param| match param {
        Param::ZeroChecksumAcceptable(acceptable) => Some(acceptable.method),
        _ => None,
    };
    params.filter_map(method).collect()
}

/// "The parameter MUST NOT appear more than once in any chunk" (RFC 9653, 4): not in an INIT, an INIT ACK, nor in the INIT that is sent again.
// rfc9653:4-2
#[test]
fn the_parameter_is_there_once() {
    let (mut pair, _) = Pair::connecting(7, &dtls());
    pair.drop_if(|p| p.at == Instant::ZERO);
    pair.run_for(Duration::from_secs(5));
    let setup = |p: &&Logged| matches!(p.kinds()[0], kind::INIT | kind::INIT_ACK);
    let lists: Vec<Vec<u32>> = pair.log.iter().filter(setup).map(announced).collect();
    assert_eq!(lists, [[1], [1], [1]], "two INITs and an INIT ACK, with DTLS each: {:?}", pair.ladder());
    assert!(pair.log.iter().filter(|p| !setup(p)).all(|p| announced(p).is_empty()));
}
