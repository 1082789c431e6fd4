//! Attacks on the handshake: cookies, INIT and INIT ACK of every kind and at any time (docs/explanation/attacks.md, group B).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;

use anabranch_base::{Duration, Instant, Rng};
use anabranch_sctp::{Config, Endpoint, EndpointConfig, Event, State};
use anabranch_wire::cause::Causes;
use anabranch_wire::chunk::{Abort, Chunk, CookieAck, CookieEcho, Init, InitKind, kind};
use anabranch_wire::param::{Ipv4Address, Ipv6Address, Params};
use anabranch_wire::{Checksum, Packet, Tsn, crc32c};
use common::script::{STATES, Script, TAG_Z, TSN_Z, packet};
use common::{PORT, Pair, Side};

fn init(tag: u32, params: &[u8]) -> Init<'_> {
    Init {
        initiate_tag: tag,
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn::new(TSN_Z),
        params: Params::new(params),
    }
}

/// A State Cookie parameter.
fn cookie(value: &[u8]) -> Vec<u8> {
    parameter(7, value)
}

fn parameter(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut out = kind.to_be_bytes().to_vec();
    out.extend_from_slice(&(value.len() as u16 + 4).to_be_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn reseal(bytes: &mut [u8]) {
    bytes[8..12].fill(0);
    let sum = crc32c::packet_checksum(bytes);
    bytes[8..12].copy_from_slice(&crc32c::store(sum));
}

fn tag_of(bytes: &[u8]) -> u32 {
    Packet::parse(bytes, Checksum::Verify).unwrap().header().verification_tag
}

/// B2 and B8. Cookies cut, longer, made up, with their halves exchanged, or from another port than that of the INIT: no association, and
/// not a word (5.1.5). The true one is good all the same.
#[test]
fn forged_cookies() {
    let (mut pair, a) = Pair::connecting(2, &Config::rfc9260());
    pair.drop_if(|p| p.has("COOKIE-ECHO"));
    pair.run_for(Duration::from_millis(100));
    let echo = pair.log.iter().find(|p| p.has("COOKIE-ECHO")).unwrap().bytes.clone();
    let length = usize::from(u16::from_be_bytes([echo[14], echo[15]]));
    let (tag, true_cookie) = (tag_of(&echo), echo[16..12 + length].to_vec());
    let mut dice = Rng::stream(2, "test", "cookies");
    let mut forged: Vec<Vec<u8>> = (0..true_cookie.len()).map(|len| true_cookie[..len].to_vec()).collect();
    for more in 1..40 {
        forged.push([&true_cookie[..], &vec![0; more]].concat());
        forged.push([&true_cookie[..], &true_cookie[..more]].concat());
        forged.push([&true_cookie[more..], &true_cookie[..more]].concat());
        forged.push((0..dice.below(600)).map(|_| dice.u32() as u8).collect());
    }
    pair.log.clear();
    let mut tries = 0;
    for cookie in &forged {
        // The padding of a chunk does not count.
        if cookie.len() < true_cookie.len() && true_cookie[cookie.len()..].iter().all(|byte| *byte == 0) {
            continue;
        }
        tries += 1;
        pair.inject(Side::A, &packet(tag, |out| CookieEcho { cookie }.emit(out)));
    }
    let mut moved = echo.clone();
    moved[1] ^= 1;
    reseal(&mut moved);
    pair.inject(Side::A, &moved);
    // From port 0 nothing comes.
    moved[..2].fill(0);
    reseal(&mut moved);
    pair.inject(Side::A, &moved);
    pair.pump();
    assert_eq!(pair.z.associations(), 0);
    assert!(pair.log.iter().all(|p| p.from == Side::A), "{:?}", pair.names());
    assert!(pair.z.endpoint_stats().bad_cookies >= tries);
    pair.drop_if(|_| false);
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
}

/// B5. In COOKIE-ECHOED, Stale Cookie errors that are cut, and one behind another cause: nothing is read beyond a cause, and only a whole
/// one begins the handshake anew.
#[test]
fn stale_cookie_errors_of_any_length() {
    let stale = [0, 3, 0, 8, 0, 0, 0, 5];
    let cases: [(&[u8], bool); 8] = [
        (&stale, true),
        (&[0, 3, 0, 4], false),
        (&[0, 3, 0, 6, 0, 0, 0, 0], false),
        (&[0, 3, 0, 3], false),
        (&[0, 3, 0, 0], false),
        (&[0, 3, 1, 0, 0, 0, 0, 5], false),
        (&[0, 1, 0, 8, 0, 1, 0, 0, 0, 3, 0, 8, 0, 0, 0, 5], true),
        (&[0, 1, 0, 3, 0, 3, 0, 8, 0, 0, 0, 5], false),
    ];
    for (causes, anew) in cases {
        let mut script = Script::in_state(&Config::rfc9260(), State::CookieEchoed);
        script.send(|out| {
            out.extend_from_slice(&[kind::ERROR, 0, 0, causes.len() as u8 + 4]);
            out.extend_from_slice(causes);
        });
        let expected = if anew { State::CookieWait } else { State::CookieEchoed };
        assert_eq!(script.state(), expected, "{causes:?}");
        assert_eq!(script.pair.names(), if anew { vec!["Ax INIT"] } else { vec![] }, "{causes:?}");
        script.init_ack(10);
        script.send(|out| CookieAck.emit(out));
        assert_eq!(script.state(), State::Established, "{causes:?}");
    }
}

/// B9. INIT ACKs in COOKIE-WAIT: the answer to each, and the state of the association (3.3.3, 5.1.2). With another
/// verification tag than ours none has any effect, so nobody who has not seen the INIT can end the attempt.
#[test]
fn init_acks_in_cookie_wait() {
    let good = cookie(b"cookie");
    let two = [cookie(b"first!"), cookie(b"second")].concat();
    let host_name = [&good[..], &parameter(11, b"evil.example\0")].concat();
    let small = Init { a_rwnd: 1499, ..init(TAG_Z, &good) };
    // An address of three bytes; a parameter that ends behind its chunk, one that ends in its own header, half a header.
    let short_address = [&good[..], &parameter(5, &[10, 0, 0])].concat();
    let too_long = [&good[..], &[0x80, 8, 0, 200, 1, 2, 3, 4]].concat();
    let too_short = [&good[..], &[0x80, 8, 0, 3]].concat();
    let half = [&good[..], &[0x80, 8]].concat();
    let cases = [
        ("good", init(TAG_Z, &good), State::CookieEchoed, "Ax COOKIE-ECHO"),
        ("two cookies", init(TAG_Z, &two), State::CookieEchoed, "Ax COOKIE-ECHO"),
        ("no cookie", init(TAG_Z, &[]), State::Closed, "Ax ABORT"),
        ("a host name", init(TAG_Z, &host_name), State::Closed, "Ax ABORT"),
        ("tag 0", init(0, &good), State::Closed, "Ax ABORT"),
        ("no stream out", Init { outbound_streams: 0, ..init(TAG_Z, &good) }, State::Closed, "Ax ABORT"),
        ("no stream in", Init { inbound_streams: 0, ..init(TAG_Z, &good) }, State::Closed, "Ax ABORT"),
        ("a small window", small, State::CookieWait, "Ax ABORT"),
        ("an address of three bytes", init(TAG_Z, &short_address), State::Closed, "Ax ABORT"),
        ("a parameter beyond its chunk", init(TAG_Z, &too_long), State::Closed, "Ax ABORT"),
        ("a parameter of three bytes", init(TAG_Z, &too_short), State::Closed, "Ax ABORT"),
        ("half a parameter", init(TAG_Z, &half), State::Closed, "Ax ABORT"),
        ("tag 0", init(0, &too_long), State::Closed, "Ax ABORT"),
        ("a small window", Init { a_rwnd: 0, ..init(TAG_Z, &too_long) }, State::CookieWait, "Ax ABORT"),
    ];
    for (name, ack, state, answer) in cases {
        let mut script = Script::in_state(&Config::rfc9260(), State::CookieWait);
        for wrong in [0, 1, script.tag_a ^ 1, TAG_Z] {
            script.pair.inject(Side::Z, &packet(wrong, |out| ack.emit(InitKind::InitAck, out)));
            script.pair.pump();
            assert_eq!(
                (script.state(), script.pair.log.len()),
                (State::CookieWait, 0),
                "{name}, tag {wrong}"
            );
        }
        script.send(|out| ack.emit(InitKind::InitAck, out));
        assert_eq!((script.state(), script.pair.names()), (state, vec![answer.to_owned()]), "{name}");
        let sent = &script.pair.log[0].bytes;
        if name == "tag 0" {
            assert_eq!((tag_of(sent), sent[13]), (script.tag_a, 1), "the tag is reflected, with the T bit");
        } else {
            assert_eq!((tag_of(sent), sent[13]), (TAG_Z, 0), "{name}");
        }
        if name == "two cookies" {
            assert_eq!(sent[16..22], b"first!"[..]);
        }
        if state == State::CookieWait {
            // T1-init runs on, and a better one is taken.
            script.pair.log.clear();
            script.pair.run_for(Duration::from_millis(1000));
            assert_eq!(script.pair.names(), ["Ax INIT"]);
            script.init_ack(10);
            script.send(|out| CookieAck.emit(out));
            assert_eq!(script.state(), State::Established);
        }
    }
}

/// B9. An INIT ACK whose fixed fields are cut, or which is longer than its packet, has no tag that an answer could be sent with: dropped,
/// and INIT goes again.
#[test]
fn init_acks_that_are_cut() {
    let whole = packet(0, |out| init(TAG_Z, &cookie(b"cookie")).emit(InitKind::InitAck, out));
    // The chunk begins at byte 12; its length is in bytes 14 and 15.
    for (length, kept) in [(19, 32), (8, 20), (4, 16), (3, 16), (0, 16), (60, 44), (0xFFFF, 44)] {
        let mut script = Script::in_state(&Config::rfc9260(), State::CookieWait);
        script.send(|out| {
            out.extend_from_slice(
                &[&whole[12..14], &u16::to_be_bytes(length)[..], &whole[16..kept]].concat(),
            );
        });
        assert_eq!((script.state(), script.pair.log.len()), (State::CookieWait, 0), "length {length}");
        script.init_ack(10);
        script.send(|out| CookieAck.emit(out));
        assert_eq!(script.state(), State::Established, "length {length}");
    }
}

/// B9. "If an INIT ACK chunk is received by an endpoint in any state other than the COOKIE-WAIT or CLOSED state, the endpoint SHOULD
/// discard the INIT ACK chunk" (5.2.3).
#[test]
fn init_acks_at_any_other_time() {
    let good = cookie(b"another");
    for state in STATES.into_iter().filter(|state| *state != State::CookieWait) {
        for ack in [
            init(TAG_Z, &good),
            init(7, &good),
            init(0, &good),
            Init { a_rwnd: 0, ..init(TAG_Z, &good) },
            init(TAG_Z, &[0x80, 8, 0, 3]),
        ] {
            let mut script = Script::in_state(&Config::rfc9260(), state);
            script.send(|out| ack.emit(InitKind::InitAck, out));
            assert_eq!(script.state(), state);
            assert!(script.pair.log.is_empty(), "{state:?}: {:?}", script.pair.names());
        }
    }
}

/// B17. A State Cookie of 60,000 bytes: it is echoed alone, in a packet that IP may fragment, and again with T1-cookie; an ERROR and data
/// follow the COOKIE ACK.
#[test]
fn a_cookie_as_long_as_a_packet() {
    let mut script = Script::calling(&Config::rfc9260());
    let a = script.a;
    script.pair.send(Side::A, a, 0, b"waits");
    script.pair.log.clear();
    let mut params = parameter(7, &[7; 60_000]);
    params.extend_from_slice(&parameter(0xc077, b"unknown"));
    script.send(|out| init(TAG_Z, &params).emit(InitKind::InitAck, out));
    let echoed = |script: &Script| {
        assert_eq!(script.pair.names(), ["Ax COOKIE-ECHO"]);
        assert_eq!((script.pair.log[0].bytes.len(), script.pair.log[0].dont_fragment), (60_016, false));
    };
    echoed(&script);
    script.pair.log.clear();
    script.pair.run_for(Duration::from_secs(1));
    echoed(&script);
    script.pair.log.clear();
    script.send(|out| CookieAck.emit(out));
    assert_eq!(script.pair.names(), ["Ax ERROR + DATA"]);
    assert!(script.pair.log[0].dont_fragment);
}

/// B10. An INIT from the peer's address in every state: while we ask, the answer has the tag that we asked with (5.2.1); later another
/// (5.2.2); in SHUTDOWN-ACK-SENT our SHUTDOWN ACK leaves again (9.2). The state never changes, and the peer's tag is not given away.
#[test]
fn an_init_in_every_state() {
    for state in STATES {
        let mut script = Script::in_state(&Config::rfc9260(), state);
        script.pair.inject(Side::Z, &packet(0, |out| init(0x7777, &[]).emit(InitKind::Init, out)));
        script.pair.pump();
        assert_eq!(script.state(), state);
        if state == State::ShutdownAckSent {
            assert_eq!(script.pair.names(), ["Ax SHUTDOWN-ACK"]);
            continue;
        }
        assert_eq!(script.pair.names(), ["Ax INIT-ACK"], "{state:?}");
        let sent = &script.pair.log[0].bytes;
        assert_eq!(tag_of(sent), 0x7777);
        let answer = Packet::parse(sent, Checksum::Verify).unwrap();
        let Ok(Chunk::InitAck(ack)) = Chunk::parse(answer.chunks().next().unwrap().unwrap()) else {
            panic!("no INIT ACK")
        };
        let asking = matches!(state, State::CookieWait | State::CookieEchoed);
        assert_eq!(ack.initiate_tag == script.tag_a, asking, "{state:?}");
        let shows = |tag: u32| sent.windows(4).any(|bytes| bytes == tag.to_be_bytes());
        assert!(!shows(TAG_Z), "{state:?}: the peer's tag is in the INIT ACK");
        assert!(asking || !shows(script.tag_a), "{state:?}: our tag is in the INIT ACK");
    }
}

/// B6. The peer asks anew in every state, echoes its cookie, and echoes it again: while we ask it is a collision,
/// later a restart (5.2.4, A and B), and the second copy gets one COOKIE ACK and changes nothing (D). Packets with
/// the old tags have no effect.
#[test]
fn a_restart_in_every_state() {
    // In SHUTDOWN-ACK-SENT the INIT gets no cookie: that is in another test.
    for state in STATES.into_iter().filter(|state| *state != State::ShutdownAckSent) {
        let mut script = Script::in_state(&Config::rfc9260(), state);
        script.pair.inject(Side::Z, &packet(0, |out| init(0x7777, &[]).emit(InitKind::Init, out)));
        script.pair.pump();
        let sent = script.pair.log[0].bytes.clone();
        let answer = Packet::parse(&sent, Checksum::Verify).unwrap();
        let Ok(Chunk::InitAck(ack)) = Chunk::parse(answer.chunks().next().unwrap().unwrap()) else {
            panic!("no INIT ACK")
        };
        let cookie = ack.params.iter().map(Result::unwrap).find(|p| p.kind == 7).unwrap().value;
        let echo = packet(ack.initiate_tag, |out| CookieEcho { cookie }.emit(out));
        script.pair.log.clear();
        script.pair.inject(Side::Z, &echo);
        script.pair.pump();
        let closes = matches!(state, State::ShutdownPending | State::ShutdownSent);
        let expected = if closes { State::ShutdownSent } else { State::Established };
        assert_eq!(script.state(), expected, "from {state:?}");
        assert!(script.pair.log[0].has("COOKIE-ACK"), "{state:?}: {:?}", script.pair.names());
        assert_eq!(tag_of(&script.pair.log[0].bytes), 0x7777);
        let asking = matches!(state, State::CookieWait | State::CookieEchoed);
        let restarted = script.pair.saw(Side::A, |event| matches!(event, Event::Restarted { .. }));
        assert_eq!(restarted, !asking, "{state:?}");
        script.pair.log.clear();
        script.pair.inject(Side::Z, &echo);
        script.pair.pump();
        assert_eq!(script.state(), expected, "from {state:?}, again");
        assert_eq!(script.pair.log.len(), 1, "{state:?}: {:?}", script.pair.names());
        if !asking {
            script.pair.log.clear();
            script.send(|out| Abort { reflected_tag: false, causes: Causes::EMPTY }.emit(out));
            assert_eq!((script.state(), script.pair.log.len()), (expected, 0), "from {state:?}, the old tag");
        }
    }
}

/// B11. Parameters of an INIT that are too many, cut, or of another length than their type has: an answer that fits a packet and is not
/// much longer than the question; an INIT that cannot be read is answered with ABORT (RFC 9260, 5.1).
#[test]
fn parameters_of_an_init() {
    let unknown = |kind: u16, count: usize| parameter(kind, b"1234").repeat(count);
    let mut v4 = Vec::new();
    let mut v6 = Vec::new();
    for n in 0..1000_u16 {
        Ipv4Address { address: [10, 1, (n >> 8) as u8, n as u8].into() }.emit(&mut v4);
        Ipv6Address { address: [0x2001, 0xdb8, 0, 0, 0, 0, 0, n].into() }.emit(&mut v6);
    }
    let last = parameter(0x8777, b"12345");
    let cases: [(&str, Vec<u8>, bool); 13] = [
        ("no parameter", vec![], true),
        ("hundreds of unknown ones to report", unknown(0xc777, 300), true),
        ("hundreds to skip", unknown(0x8777, 300), true),
        ("one that stops, with garbage behind it", [unknown(0x0777, 1), vec![0, 5, 0, 0]].concat(), true),
        ("a last one without padding", last[..9].to_vec(), true),
        ("a thousand addresses", v4, true),
        ("a thousand long addresses", v6, true),
        ("a length of 0", vec![0xc7, 0x77, 0, 0], false),
        ("a length of 3", vec![0xc7, 0x77, 0, 3], false),
        ("a length beyond the end", vec![0xc7, 0x77, 0, 9, 1, 2, 3, 4], false),
        ("the type of a short address, the length of a long one", parameter(5, &[0; 16]), false),
        ("the type of a long address, the length of a short one", parameter(6, &[0; 4]), false),
        ("half a header", vec![0xc7, 0x77], false),
    ];
    for (name, params, agreeable) in cases {
        let mut pair = Pair::new(11);
        pair.z.listen(Arc::new(Config::rfc9260())).unwrap();
        let question = packet(0, |out| {
            init(5, &[]).emit(InitKind::Init, out);
            out.extend_from_slice(&params);
            let length = (out.len() - 12) as u16;
            out[14..16].copy_from_slice(&length.to_be_bytes());
        });
        pair.inject(Side::A, &question);
        pair.pump();
        assert_eq!(pair.z.associations(), 0);
        assert_eq!(pair.names(), [if agreeable { "Z: INIT-ACK" } else { "Z: ABORT" }], "{name}");
        for answer in &pair.log {
            let len = answer.bytes.len();
            assert!(agreeable || len <= 64, "{name}: {len} bytes");
            assert!(len <= question.len() + 512 && len <= 1480, "{name}: {len} bytes for {}", question.len());
        }
    }
}

/// B14. An endpoint that calls itself: no packets without end, and no association with more than one end.
#[test]
fn a_call_to_oneself() {
    for listens in [false, true] {
        let here = common::address(Side::A);
        let mut endpoint = Endpoint::new(
            EndpointConfig::new(here, PORT).keeping_closed(),
            Rng::stream(14, "a", "endpoint").secret(),
        );
        if listens {
            endpoint.listen(Arc::new(Config::rfc9260())).unwrap();
        }
        let mut now = Instant::ZERO;
        let _id = endpoint.connect(now, here, PORT, Arc::new(Config::rfc9260())).unwrap();
        let meta = anabranch_base::Meta { source: here, destination: here, ..common::meta(Side::A) };
        let (mut packets, mut buf) = (0, Vec::new());
        while now < Instant::ZERO + Duration::from_secs(400) {
            while endpoint.poll_transmit(now, 1, &mut buf).is_some() {
                packets += 1;
                assert!(packets < 1000, "packets without end at {now}");
                let bytes = std::mem::take(&mut buf);
                endpoint.handle_datagram(now, meta, &bytes);
            }
            while endpoint.poll_event().is_some() {}
            let Some((at, _)) = endpoint.poll_timeout() else { break };
            now = at.max(now);
            endpoint.handle_timeout(now);
        }
        assert!(endpoint.associations() <= 1);
    }
}
