//! Attacks by verification tags and lengths of chunks, in every state (docs/explanation/attacks.md, group A).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{Config, State};
use anabranch_wire::cause::Causes;
use anabranch_wire::chunk::{
    Abort, CookieAck, ErrorChunk, Heartbeat, HeartbeatKind, Shutdown, ShutdownAck, ShutdownComplete, kind,
    sack,
};
use anabranch_wire::param::HeartbeatInfo;
use anabranch_wire::{Checksum, Packet, Tsn, crc32c};
use common::script::{STATES, Script, TAG_Z, TSN_Z, data, packet};
use common::{Pair, Side};

/// Chunks of every kind that ends or changes an association, and some that are answered.
fn chunks() -> Vec<(&'static str, Vec<u8>)> {
    let of = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        out
    };
    vec![
        ("ABORT", of(&|o| Abort { reflected_tag: false, causes: Causes::EMPTY }.emit(o))),
        ("ABORT, T bit", of(&|o| Abort { reflected_tag: true, causes: Causes::EMPTY }.emit(o))),
        ("ERROR", of(&|o| ErrorChunk { causes: Causes::EMPTY }.emit(o))),
        ("SHUTDOWN", of(&|o| Shutdown { cumulative: Tsn::new(1) }.emit(o))),
        ("SHUTDOWN ACK", of(&|o| ShutdownAck.emit(o))),
        ("SHUTDOWN COMPLETE", of(&|o| ShutdownComplete { reflected_tag: false }.emit(o))),
        ("SHUTDOWN COMPLETE, T bit", of(&|o| ShutdownComplete { reflected_tag: true }.emit(o))),
        ("COOKIE ACK", of(&|o| CookieAck.emit(o))),
        ("DATA", of(&|o| data(TSN_Z, 0, b"x").emit(o))),
        ("SACK", of(&|o| sack::emit(o, Tsn::new(1), 0, &[], &[]))),
        (
            "HEARTBEAT",
            of(&|o| Heartbeat { info: HeartbeatInfo { info: b"hello" } }.emit(HeartbeatKind::Request, o)),
        ),
        ("an unknown chunk", vec![0xff, 0, 0, 4]),
        ("a chunk shorter than its header", vec![kind::SHUTDOWN, 0, 0, 3]),
        ("a chunk longer than the packet", vec![kind::ABORT, 0, 0xea, 0x60]),
    ]
}

/// A2. "The receiver of an SCTP packet MUST ensure that the value in the Verification Tag field of the received SCTP packet matches
/// its own tag. If the received Verification Tag value does not match ... the receiver MUST silently discard the packet" (8.5), whatever
/// it holds and in every state; SHUTDOWN ACK during the handshake is answered as out of the blue (8.5.1 E).
#[test]
fn a_wrong_tag_in_every_state() {
    for state in STATES {
        let mut script = Script::in_state(&Config::rfc9260(), state);
        let right = script.tag_a;
        for (name, chunk) in chunks() {
            for tag in [1, right ^ 1, right.swap_bytes(), right.wrapping_add(1), TAG_Z ^ 0x8000_0000] {
                assert!(tag != right && tag != TAG_Z);
                let bytes = packet(tag, |out| out.extend_from_slice(&chunk));
                script.pair.inject(Side::Z, &bytes);
                script.pair.pump();
                assert_eq!(script.state(), state, "{name}");
                let shaking = matches!(state, State::CookieWait | State::CookieEchoed);
                if shaking && name == "SHUTDOWN ACK" {
                    assert_eq!(script.pair.names(), ["Ax SHUTDOWN-COMPLETE"], "{state:?}");
                    let answer = Packet::parse(&script.pair.log[0].bytes, Checksum::Verify).unwrap();
                    assert_eq!(answer.header().verification_tag, tag, "the tag is reflected");
                    script.pair.log.clear();
                }
                assert!(script.pair.log.is_empty(), "{name} in {state:?}: {:?}", script.pair.names());
            }
        }
    }
}

/// A3 and A4. The tag and the T bit with which a chunk ends an association (8.5.1 B and C): our own tag without the T
/// bit, the peer's with it; the peer's is not known in COOKIE-WAIT. Neither chunk is ever answered.
#[test]
fn the_t_bit_in_every_state() {
    for state in STATES {
        for complete in [false, true] {
            for tag in [Some(true), Some(false), None] {
                for reflected_tag in [false, true] {
                    let mut script = Script::in_state(&Config::rfc9260(), state);
                    let value = match tag {
                        Some(true) => script.tag_a,
                        Some(false) => TAG_Z,
                        None => 0,
                    };
                    let bytes = packet(value, |out| {
                        if complete {
                            ShutdownComplete { reflected_tag }.emit(out);
                        } else {
                            Abort { reflected_tag, causes: Causes::EMPTY }.emit(out);
                        }
                    });
                    script.pair.inject(Side::Z, &bytes);
                    script.pair.pump();
                    let believed = match tag {
                        Some(own) => own != reflected_tag && (own || state != State::CookieWait),
                        None => false,
                    };
                    let ends = believed && (!complete || state == State::ShutdownAckSent);
                    let case = format!("{state:?}, complete {complete}, tag {tag:?}, T {reflected_tag}");
                    assert_eq!(script.state() == State::Closed, ends, "{case}");
                    assert!(script.pair.log.is_empty(), "{case}: {:?}", script.pair.names());
                }
            }
        }
    }
}

/// Chunk types with rules of their own, and unknown ones of all four classes: ASCONF, AUTH and FORWARD-TSN are among them.
const KINDS: [u8; 24] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0x0f, 0x40, 0x80, 0x81, 0x82, 0x84, 0xc0, 0xc1, 0xff];

/// A5. A chunk whose length is below its header or beyond the packet ends the reading of it: nothing behind it counts, nothing is
/// answered, whether there is an association or not; what stood before it counts.
#[test]
fn lengths_that_cannot_be() {
    let mut nobody = Pair::new(1);
    nobody.z.listen(Arc::new(Config::rfc9260())).unwrap();
    for chunk in KINDS {
        for (length, rest) in [(0, 0), (1, 0), (2, 5), (3, 40), (0, 40), (61, 56), (0xffff, 56)] {
            let bad = |out: &mut Vec<u8>| {
                let [high, low] = u16::to_be_bytes(length);
                out.extend_from_slice(&[chunk, 0, high, low]);
                out.resize(out.len() + rest, 0);
            };
            for tag in [0, 9] {
                nobody.inject(Side::A, &packet(tag, bad));
                nobody.pump();
                assert_eq!((nobody.log.len(), nobody.z.associations()), (0, 0), "{chunk} {length}");
            }
            for state in STATES {
                let mut script = Script::in_state(&Config::rfc9260(), state);
                script.send(bad);
                assert_eq!(script.state(), state, "{chunk} {length}");
                assert!(
                    script.pair.log.is_empty(),
                    "{chunk} {length} in {state:?}: {:?}",
                    script.pair.names()
                );
                if length == 61 {
                    continue; // with something behind it, it would be whole
                }
                script.send(|out| {
                    Heartbeat { info: HeartbeatInfo { info: b"hello" } }.emit(HeartbeatKind::Request, out);
                    bad(out);
                    Abort { reflected_tag: false, causes: Causes::EMPTY }.emit(out);
                });
                assert_eq!(script.state(), state, "{chunk} {length}");
                assert!(script.pair.log.len() <= 1, "{:?}", script.pair.names());
            }
        }
    }
}

/// A6. Somebody tries tags: a million, none right. All are counted, none is answered, and the association goes on.
#[test]
fn tags_are_guessed_in_vain() {
    let mut script = Script::established(&Config::rfc9260());
    let mut dice = Rng::stream(6, "test", "tags");
    let mut packets: Vec<Vec<u8>> =
        chunks().into_iter().map(|(_, chunk)| packet(1, |out| out.extend_from_slice(&chunk))).collect();
    let before = script.pair.a.endpoint_stats().bad_tag;
    let tries = 1 << 20;
    for n in 0..tries {
        let count = packets.len();
        let bytes = &mut packets[n % count];
        let tag = dice.u32();
        assert!(tag != script.tag_a && tag != TAG_Z);
        bytes[4..8].copy_from_slice(&tag.to_be_bytes());
        bytes[8..12].fill(0);
        let sum = crc32c::packet_checksum(bytes);
        bytes[8..12].copy_from_slice(&crc32c::store(sum));
        let now = script.pair.now;
        script.pair.a.handle_datagram(now, common::meta(Side::Z), bytes);
    }
    script.pair.pump();
    assert!(script.pair.log.is_empty());
    assert_eq!(script.pair.a.endpoint_stats().bad_tag - before, tries as u64);
    script.pair.send(Side::A, script.a, 0, b"still here");
    script.be_honest(Duration::from_secs(1), 100_000, &mut std::collections::BTreeSet::new());
    script.has_sent_all();
}
