//! Attacks on the end of an association: full packets, readers who sleep, windows of a byte, peers who begin again or never finish
//! (docs/explanation/attacks.md, B16 and C16).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::BTreeSet;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{CloseReason, Config, Direction, State, SubflowLevel};
use anabranch_wire::cause::{Cause, Causes, CookieWhileShuttingDown};
use anabranch_wire::chunk::{
    Abort, CookieEcho, ErrorChunk, Heartbeat, HeartbeatKind, Init, InitKind, ReConfig, Shutdown, ShutdownAck,
    kind, sack,
};
use anabranch_wire::param::{HeartbeatInfo, Param, Params, ReconfigResponse, SupportedExtensions};
use anabranch_wire::{Checksum, Packet, Tsn};
use common::script::{Script, TAG_Z, TSN_Z, data, packet};
use common::{Logged, Pair, Side};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A driver may hand in several packets before it asks for answers. What is out of the blue behind the SHUTDOWN ACK is
/// answered with ABORT (RFC 9260, 8.4, 8), but after SHUTDOWN COMPLETE: the peer's association has ended in order.
#[test]
fn shutdown_complete_leaves_before_answers_to_packets_behind_it() {
    let behind: [fn(&mut Vec<u8>); 3] = [
        |out| Heartbeat { info: HeartbeatInfo { info: b"are you there" } }.emit(HeartbeatKind::Request, out),
        |out| data(TSN_Z, 0, b"x").emit(out),
        |out| sack::emit(out, Tsn::new(1), 1500, &[], &[]),
    ];
    for write in behind {
        let mut script = Script::in_state(&Config::rfc9260(), State::ShutdownSent);
        let packets = [packet(script.tag_a, |out| ShutdownAck.emit(out)), packet(script.tag_a, write)];
        packets.iter().for_each(|bytes| script.pair.inject(Side::Z, bytes));
        script.pair.pump();
        assert_eq!(script.closed(), Some(CloseReason::Graceful));
        assert_eq!(script.pair.names(), ["Ax SHUTDOWN-COMPLETE", "Ax ABORT"]);
    }
}

/// An association that was about to answer, and was closed by the next packet, has nothing to say: the answer to a packet behind
/// that leaves all the same, and at once.
#[test]
fn an_association_that_closes_without_a_word_holds_back_no_answer() {
    let mut script = Script::established(&Config::rfc9260());
    let packets: [fn(&mut Vec<u8>); 3] = [
        |out| Heartbeat { info: HeartbeatInfo { info: b"are you there" } }.emit(HeartbeatKind::Request, out),
        |out| Abort { reflected_tag: false, causes: Causes::EMPTY }.emit(out),
        |out| data(TSN_Z, 0, b"x").emit(out),
    ];
    for write in packets {
        let bytes = packet(script.tag_a, write);
        script.pair.inject(Side::Z, &bytes);
    }
    let (now, mut left) = (script.pair.now, Vec::new());
    assert!(script.pair.a.poll_transmit(now, 1, &mut left).is_some(), "the ABORT out of the blue");
    assert!(script.pair.a.poll_transmit(now, 1, &mut left).is_none());
    assert!(!script.pair.a.has_ready());
}

/// The network may hand over that ABORT first: an end that waits for SHUTDOWN COMPLETE and hears that its peer has no association any
/// more has ended in order. In any other state, and with a cause, it was aborted.
#[test]
fn a_peer_without_an_association_has_closed_where_only_shutdown_complete_is_missing() {
    let protocol_violation = [0, 13, 0, 4];
    for state in [State::Established, State::ShutdownSent, State::ShutdownReceived, State::ShutdownAckSent] {
        for causes in [Causes::EMPTY, Causes::new(&protocol_violation)] {
            let mut script = Script::in_state(&Config::rfc9260(), state);
            let with_reflected_tag = packet(TAG_Z, |out| Abort { reflected_tag: true, causes }.emit(out));
            script.pair.inject(Side::Z, &with_reflected_tag);
            script.pair.pump();
            let ended = script.closed().unwrap();
            let in_order = state == State::ShutdownAckSent && causes.bytes().is_empty();
            assert_eq!(ended == CloseReason::Graceful, in_order, "{state:?}: {ended:?}");
            assert_eq!(matches!(ended, CloseReason::AbortedByPeer { .. }), !in_order, "{state:?}: {ended:?}");
            assert!(script.pair.log.is_empty());
        }
    }
}

/// Beside an answer that fills the packet there is no room for SHUTDOWN, or SHUTDOWN ACK: it leaves with the next packet, at once, and is
/// the last chunk of it. No packet exceeds the path MTU.
#[test]
fn a_shutdown_without_room_leaves_with_the_next_packet() {
    let config = Config::rfc9260();
    let limit = config.max_packet() as usize;
    for state in [State::ShutdownSent, State::ShutdownAckSent] {
        let mut packets = BTreeSet::new();
        for spare in (0..60).step_by(4) {
            let mut script = Script::in_state(&config, state);
            let info = vec![9; limit - 20 - spare];
            let acknowledged = Tsn::new(script.tsn_a.wrapping_sub(1));
            script.send(|out| {
                Heartbeat { info: HeartbeatInfo { info: &info } }.emit(HeartbeatKind::Request, out);
                match state {
                    // Behind a hole, which SHUTDOWN alone cannot tell of.
                    State::ShutdownSent => data(TSN_Z + 1, 0, b"x").emit(out),
                    _ => Shutdown { cumulative: acknowledged }.emit(out),
                }
            });
            let sent: Vec<Vec<String>> = script.pair.log.iter().map(Logged::words).collect();
            assert!(script.pair.log.iter().all(|p| p.bytes.len() <= limit), "{spare}: {sent:?}");
            let count =
                |name: &str| sent.iter().flatten().filter(|w| w.split(' ').next() == Some(name)).count();
            let expected = if state == State::ShutdownSent { (1, 1, 0) } else { (0, 0, 1) };
            assert_eq!(
                (count("SACK"), count("SHUTDOWN"), count("SHUTDOWN-ACK")),
                expected,
                "{spare}: {sent:?}"
            );
            assert_eq!(count("HEARTBEAT-ACK"), 1, "{spare}: {sent:?}");
            for words in &sent {
                let at = words.iter().position(|word| word.starts_with("SHUTDOWN ") || word == "SHUTDOWN");
                assert!(at.is_none_or(|at| at + 1 == words.len()), "{spare}: {sent:?}");
            }
            packets.insert(sent.len());
        }
        assert!(packets.len() > 1, "with room, and without: {packets:?}");
    }
}

/// The same while the peer sends what it still has, with losses, and with SACKs of several sequence spaces: SHUTDOWN is the last chunk of
/// its packet, in every encoding, and everything comes.
#[test]
fn a_shutdown_goes_last_in_every_encoding() {
    let levels =
        [(SubflowLevel::Zero, 1), (SubflowLevel::Zero, 3), (SubflowLevel::One, 3), (SubflowLevel::Sf2007, 3)];
    for (seed, (level, subflows)) in (0..12).zip(levels.into_iter().cycle()) {
        let config = common::subflow_config(level, subflows).with(|c| {
            c.mtu = 576;
            c.timers.rto_max = ms(2000);
            c.timers.shutdown_guard_rto_max = 1000;
            c.limits.association_max_retrans = 100;
        });
        let limit = config.max_packet() as usize;
        let (mut pair, a, z) = Pair::established(seed, &config);
        let mut dice = Rng::stream(seed, "loss", "shutdown");
        pair.drop_if(move |p| p.from == Side::Z && p.bytes.len() > 300 && dice.chance(0.3));
        pair.send_all(Side::Z, z, 3, 60, 300);
        pair.a.association(a).unwrap().shutdown(pair.now);
        let tag = pair.a.view(a).unwrap().tags().0;
        for n in 0..400 {
            pair.run_for(ms(7));
            let info = vec![9; limit - 20 - 4 * (n % 30)];
            let heartbeat = Heartbeat { info: HeartbeatInfo { info: &info } };
            pair.inject(Side::Z, &packet(tag, |out| heartbeat.emit(HeartbeatKind::Request, out)));
            pair.pump();
        }
        pair.drop_if(|_| false);
        pair.run_for(Duration::from_secs(100));
        pair.check_all(Side::A, 3, 60);
        assert_eq!(pair.a.view(a).unwrap().state(), State::Closed, "{level:?} {subflows}, seed {seed}");
        let said: Vec<_> = pair.log.iter().filter(|p| p.kinds().contains(&kind::SHUTDOWN)).collect();
        assert!(said.len() > 5, "{level:?}: {}", said.len());
        assert!(said.iter().all(|p| p.kinds().last() == Some(&kind::SHUTDOWN)), "{level:?}");
        assert!(pair.log.iter().all(|p| p.from == Side::Z || p.bytes.len() <= limit), "{level:?}");
    }
}

/// 8.5.1 E and 8.4, rule 5: a peer that asks anew and gets SHUTDOWN ACK under a tag that it does not have answers
/// with SHUTDOWN COMPLETE, wherever the chunk stands: a peer that refuses the cookie of a restart sends an ERROR
/// besides (5.2.4 A).
#[test]
fn a_shutdown_ack_behind_an_error_ends_the_old_association() {
    for state in [State::CookieWait, State::CookieEchoed] {
        for ack_first in [true, false] {
            let mut script = Script::in_state(&Config::rfc9260(), state);
            let mut cause = Vec::new();
            Cause::CookieWhileShuttingDown(CookieWhileShuttingDown).emit(&mut cause);
            let bytes = packet(0x1234_5678, |out| {
                if ack_first {
                    ShutdownAck.emit(out);
                }
                ErrorChunk { causes: Causes::new(&cause) }.emit(out);
                if !ack_first {
                    ShutdownAck.emit(out);
                }
            });
            script.pair.inject(Side::Z, &bytes);
            script.pair.pump();
            assert_eq!(script.pair.names(), ["Ax SHUTDOWN-COMPLETE"], "{state:?} {ack_first}");
            let answer = Packet::parse(&script.pair.log[0].bytes, Checksum::Verify).unwrap();
            assert_eq!(answer.header().verification_tag, 0x1234_5678);
            assert_eq!(script.state(), state);
        }
    }
}

/// The cookie of a restart comes in SHUTDOWN-ACK-SENT: "resend the SHUTDOWN ACK chunk and send an ERROR chunk" (5.2.4 A), in this order. A
/// peer that has begun anew does not have the tag of this packet, and may look no further than to its first chunk.
#[test]
fn the_cookie_of_a_restart_in_shutdown_ack_sent() {
    let mut script = Script::in_state(&Config::rfc9260(), State::ShutdownReceived);
    let init = Init {
        initiate_tag: 0x7777,
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn::new(5),
        params: Params::EMPTY,
    };
    script.pair.inject(Side::Z, &packet(0, |out| init.emit(InitKind::Init, out)));
    script.pair.pump();
    let offer = &script.pair.log.last().unwrap().bytes;
    let offer = Packet::parse(offer, Checksum::Verify).unwrap();
    let raw = offer.chunks().next().unwrap().unwrap();
    let tag = u32::from_be_bytes(raw.value[..4].try_into().unwrap());
    let params = Params::new(&raw.value[16..]);
    let cookie = params.iter().map(Result::unwrap).find(|p| p.kind == 7).unwrap().value.to_vec();
    script.sack(1, 100_000, &[]);
    assert_eq!(script.state(), State::ShutdownAckSent);
    script.pair.log.clear();
    script.pair.inject(Side::Z, &packet(tag, |out| CookieEcho { cookie: &cookie }.emit(out)));
    script.pair.pump();
    assert_eq!(script.pair.names(), ["Ax SHUTDOWN-ACK + ERROR"]);
    assert_eq!(script.state(), State::ShutdownAckSent);
}

/// A peer that has our SHUTDOWN ACK and never answers it is given up after Association.Max.Retrans (9.2). Its report
/// that it works on a request of ours is no answer: repeated again and again it would keep an association for ever
/// that our user may have closed.
#[test]
fn a_request_in_progress_does_not_keep_shutdown_ack_sent() {
    let config = Config::rfc9260().with(|c| c.extensions.reconfiguration = true);
    let list = Param::SupportedExtensions(SupportedExtensions { chunk_types: &[130] });
    let mut script = Script::established_with(&config, &[list]);
    let (now, a, request) = (script.pair.now, script.a, script.tsn_a);
    let out = Direction::Outgoing;
    script.pair.a.association(a).unwrap().reset_streams(now, out, &[1]).unwrap();
    script.pair.send(Side::A, a, 0, b"x");
    script.pair.a.association(a).unwrap().shutdown(now);
    script.pair.pump();
    assert_eq!(script.pair.names(), ["Ax RE-CONFIG + DATA"]);
    let cumulative = Tsn::new(script.tsn_a);
    script.send(|out| Shutdown { cumulative }.emit(out));
    assert_eq!(script.state(), State::ShutdownAckSent);
    for _ in 0..200 {
        script.pair.run_for(Duration::from_secs(10));
        let mut answer = Vec::new();
        // "In progress" (RFC 6525, 4.4).
        Param::ReconfigResponse(ReconfigResponse { request, result: 6, next_tsns: None }).emit(&mut answer);
        let params = Params::new(&answer);
        script.send(|out| ReConfig { params }.emit(out));
    }
    assert_eq!(script.closed(), Some(CloseReason::Unreachable { limit: "Association.Max.Retrans" }));
}

/// DATA and SHUTDOWN in one packet: what came is acknowledged with the SHUTDOWN ACK or not at all. A SACK that leaves later finds nobody,
/// and the ABORT in answer takes the place of a SHUTDOWN COMPLETE that was lost.
#[test]
fn no_sack_follows_the_shutdown_ack() {
    for before in 0..3 {
        for state in [State::Established, State::ShutdownSent] {
            let mut script = Script::in_state(&Config::rfc9260(), state);
            for n in 0..before {
                script.send(|out| data(TSN_Z + n, 1, b"x").emit(out));
            }
            let cumulative = Tsn::new(script.tsn_a.wrapping_sub(1));
            script.pair.log.clear();
            script.send(|out| {
                data(TSN_Z + before, 0, b"x").emit(out);
                Shutdown { cumulative }.emit(out);
            });
            assert_eq!(script.state(), State::ShutdownAckSent);
            let first = script.pair.log.len();
            script.pair.run_for(ms(900));
            assert_eq!(script.pair.names()[first..], [] as [String; 0], "{state:?} {before}");
            let named = script.pair.log.iter().filter(|p| p.has("SHUTDOWN-ACK")).count();
            assert_eq!((first, named), (1, 1), "{state:?} {before}: {:?}", script.pair.names());
        }
    }
}

/// A peer whose window is a byte, or little more, for ever: everything leaves, however slowly, and the shutdown ends. So it is with windows
/// that are counted with headers.
#[test]
fn a_shutdown_through_a_window_of_a_byte() {
    for profile in ["rfc9260", "rfc9260-rack", "linux-6.1", "modern", "webrtc", "ns2-2.35"] {
        for (window, len) in [(1, 1), (1, 2), (1, 100), (16, 1), (17, 1), (100, 99), (100, 3000)] {
            let mut script = Script::established(&Config::named(profile).unwrap());
            let a = script.a;
            script.sack(0, window, &[]);
            for _ in 0..5 {
                script.pair.send(Side::A, a, 0, &vec![1; len]);
            }
            script.pair.a.association(a).unwrap().shutdown(script.pair.now);
            script.be_honest(Duration::from_secs(200), window, &mut BTreeSet::new());
            assert_eq!(
                script.state(),
                State::ShutdownSent,
                "{profile} {window} {len}: {:?}",
                script.closed()
            );
            script.has_sent_all();
            script.send(|out| ShutdownAck.emit(out));
            assert_eq!(script.closed(), Some(CloseReason::Graceful), "{profile} {window} {len}");
        }
    }
}

/// A user who has closed and sleeps still reads: the window that opens in SHUTDOWN-SENT is told, and everything that
/// the peer had accepted comes.
#[test]
fn a_reader_who_sleeps_in_shutdown_sent() {
    for (window, len) in [(1500, 1), (4000, 1), (1500, 1000), (4000, 1000), (4000, 3000), (100_000, 3000)] {
        let config = Config::rfc9260().with(|c| c.limits.receive_window = window);
        let (mut pair, a, z) = Pair::established(4, &config);
        pair.reads[Side::A as usize] = false;
        let mut sent = 0;
        while pair.z.view(z).unwrap().queued_bytes() < 200_000 && sent < 100 {
            pair.send(Side::Z, z, 0, &vec![7; len]);
            sent += 1;
        }
        pair.run_for(ms(500));
        pair.a.association(a).unwrap().shutdown(pair.now);
        pair.run_for(Duration::from_secs(250));
        assert_eq!(pair.a.view(a).unwrap().state(), State::ShutdownSent, "{window} {len}");
        pair.reads[Side::A as usize] = true;
        pair.run_for(Duration::from_secs(40));
        assert_eq!(pair.received.len(), sent, "{window} {len}");
        for (side, id) in [(Side::A, a), (Side::Z, z)] {
            assert_eq!(pair.endpoint(side).view(id).unwrap().state(), State::Closed, "{window} {len}");
        }
    }
}
