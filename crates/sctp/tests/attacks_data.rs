//! Attacks by what chunks hold, once an association is up or on its way (docs/explanation/attacks.md, group C).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{CloseReason, Config, State};
use anabranch_wire::chunk::{Data, DataFlags, kind};
use anabranch_wire::{Checksum, Packet, Ssn, crc32c};
use common::Side;
use common::script::{STATES, Script, TSN_Z, data, packet};

const WINDOW: u32 = 100_000;

/// Limits on the effect of any packet: the state stays, or the association ends with an ABORT; there are few answers,
/// each fits a packet.
#[track_caller]
fn is_harmless(script: &Script, before: State, told: &str) {
    let ended = script.state() == State::Closed;
    let aborted = matches!(script.closed(), Some(CloseReason::ProtocolViolation { .. }));
    assert!(!ended || aborted || before == State::Closed, "{told}: {:?}", script.closed());
    assert!(script.pair.log.len() <= 2, "{told}: {:?}", script.pair.names());
    assert!(script.pair.log.iter().all(|p| p.bytes.len() <= 1480), "{told}");
    script.pair.a.view(script.a).unwrap().audit().unwrap();
}

/// C1. Every type of chunk with every length around that of its fixed part, with padding that is missing and padding that is not zero,
/// in every state.
#[test]
fn lengths_around_every_header() {
    for state in STATES {
        for chunk in (0..=15).chain([0x40, 0x80, 0x82, 0xc0, 0xc1, 0xc2]) {
            // Those that end it, or begin it anew, are for other tests.
            if matches!(chunk, kind::ABORT | kind::SHUTDOWN | kind::SHUTDOWN_ACK | kind::SHUTDOWN_COMPLETE) {
                continue;
            }
            if chunk == kind::COOKIE_ACK || chunk == kind::INIT_ACK {
                continue;
            }
            for length in 4..=24_u8 {
                for cut in [false, true] {
                    let mut script = Script::in_state(&Config::rfc9260(), state);
                    script.send(|out| {
                        out.extend_from_slice(&[chunk, 3, 0, length]);
                        out.resize(12 + usize::from(length), 0x5a);
                        if !cut {
                            out.resize(out.len().next_multiple_of(4), 0xff);
                        }
                    });
                    is_harmless(&script, state, &format!("chunk {chunk}, length {length}, {state:?}"));
                }
            }
        }
    }
}

/// C3, and what belongs to AUTH and ASCONF. Chunks of extensions that were not agreed are unknown ones, whatever they hold: the two highest
/// bits of the type say whether the rest of the packet is read, and whether the peer is told (3.2).
#[test]
fn chunks_of_extensions_that_were_not_agreed() {
    for (name, chunk, reads_on, reports) in [
        ("AUTH", 0x0f, false, false),
        ("I-DATA", 0x40, false, true),
        ("ASCONF-ACK", 0x80, true, false),
        ("PKTDROP", 0x81, true, false),
        ("RE-CONFIG", 0x82, true, false),
        ("PAD", 0x84, true, false),
        ("FORWARD-TSN", 0xc0, true, true),
        ("ASCONF", 0xc1, true, true),
        ("I-FORWARD-TSN", 0xc2, true, true),
    ] {
        for len in [0, 4, 8, 1000] {
            let mut script = Script::established(&Config::rfc9260());
            script.send(|out| {
                out.extend_from_slice(&[chunk, 0]);
                out.extend_from_slice(&(4 + len as u16).to_be_bytes());
                out.resize(out.len() + len, 0xff);
                data(TSN_Z, 0, b"behind it").emit(out);
            });
            assert_eq!(script.state(), State::Established, "{name}");
            assert_eq!(script.pair.received.len(), usize::from(reads_on), "{name} of {len} bytes");
            let told = script.pair.log.iter().any(|p| p.has("ERROR"));
            assert_eq!(told, reports, "{name} of {len} bytes: {:?}", script.pair.names());
            is_harmless(&script, State::Established, name);
        }
    }
}

/// C4. Acknowledgements of chunks that were never sent, and blocks that make no sense, end the association (6.2.1 says nothing of them; 3.3.10.13
/// has the cause). Old ones, blocks that overlap, and windows that open and close change nothing that counts.
#[test]
fn lies_of_acknowledgements() {
    for (acknowledged, gaps, ends) in [
        (4, &[][..], true),
        (1 << 20, &[], true),
        (1 << 30, &[], true),
        (0, &[(0, 1)], true),
        (0, &[(0, 0)], false),
        (0, &[(0, 0), (2, 3)], false),
        (0, &[(3, 3), (0, 0), (2, 2)], false),
        (0, &[(3, 2)], true),
        (0, &[(2, 4)], true),
        (0, &[(65_535, 65_535)], true),
        (1, &[(2, 3)], true),
        (0, &[(2, 3), (2, 2), (3, 3), (2, 3)], false),
        (0, &[(3, 3), (2, 2)], false),
        (u32::MAX, &[], false),
        (u32::MAX - 1000, &[(1, 65_535)], false),
        (0, &[(1, 3)], false),
    ] {
        let mut script = Script::established(&Config::rfc9260());
        for _ in 0..3 {
            script.pair.send(Side::A, script.a, 0, &[1; 1400]);
        }
        script.pair.pump();
        assert_eq!(script.left(), [0, 1, 2]);
        script.pair.log.clear();
        let cwnd = script.pair.a.view(script.a).unwrap().stats().cwnd;
        script.sack(acknowledged, WINDOW, gaps);
        let told = format!("{acknowledged} {gaps:?}");
        assert_eq!(script.state() == State::Closed, ends, "{told}");
        is_harmless(&script, State::Established, &told);
        if ends {
            assert_eq!(script.pair.names(), ["Ax ABORT"], "{told}");
            continue;
        }
        for n in 0..200_u32 {
            script.sack(acknowledged, [0, WINDOW, u32::MAX][n as usize % 3], gaps);
        }
        assert!(script.pair.a.view(script.a).unwrap().stats().cwnd <= cwnd, "{told}");
        script.be_honest(Duration::from_secs(10), WINDOW, &mut (0..3).collect());
        script.has_sent_all();
    }
}

/// C4. As many gap blocks as a packet holds, of all that is in flight: they are read, and nothing is sent for them.
#[test]
fn thousands_of_gap_blocks() {
    let mut script = Script::established(&Config::rfc9260());
    for _ in 0..3 {
        script.pair.send(Side::A, script.a, 0, &[1; 1400]);
    }
    script.pair.pump();
    let blocks = vec![(2, 2); 16_000];
    for _ in 0..20 {
        script.sack(0, WINDOW, &blocks);
    }
    assert_eq!(script.state(), State::Established);
    script.be_honest(Duration::from_secs(10), WINDOW, &mut (0..3).collect());
    script.has_sent_all();
}

/// C5. DATA far from what is expected, before it and half of the numbers ahead: dropped or held within bounds, never delivered; then what
/// is expected comes, and is delivered once.
#[test]
fn numbers_far_from_the_window() {
    for ahead in [u32::MAX, 1 << 31, (1 << 31) - 1, (1 << 31) + 1, 1 << 30, 70_000, 0xffff_0000] {
        let mut script = Script::established(&Config::rfc9260());
        for n in 0..200 {
            let tsn = TSN_Z.wrapping_add(ahead).wrapping_sub(3 * n);
            // Not the next of its stream: that one could be delivered.
            let far = Data { ssn: Ssn::new(5), ..data(tsn, 0, b"far away") };
            script.pair.inject(Side::Z, &packet(script.tag_a, |out| far.emit(out)));
        }
        script.pair.pump();
        assert_eq!(script.state(), State::Established, "{ahead:x}");
        assert_eq!(script.pair.received.len(), 0, "{ahead:x}");
        script.pair.a.view(script.a).unwrap().audit().unwrap();
        for _ in 0..3 {
            script.send(|out| data(TSN_Z, 0, b"expected").emit(out));
        }
        assert_eq!(script.pair.received.len(), 1, "{ahead:x}");
    }
}

/// C5. Every chunk takes a byte of the window at least: what is numbered further ahead is of another incarnation (a restart may keep the
/// tags), and would be joined with the messages of this one. Up to there it is taken.
#[test]
fn numbers_beyond_what_the_window_holds() {
    for (window, reach) in [(20_000, 1 << 17), (1 << 20, 1 << 20)] {
        for (ahead, taken) in [(reach - 1, true), (reach, false), (reach + 1, false), (139_000_000, false)] {
            let config = Config::rfc9260().with(|c| c.limits.receive_window = window);
            let mut script = Script::established(&config);
            let far = Data {
                flags: DataFlags { unordered: true, ..DataFlags::WHOLE },
                ..data(TSN_Z.wrapping_add(ahead), 0, b"far away")
            };
            script.send(|out| far.emit(out));
            assert_eq!(script.pair.received.len(), usize::from(taken), "{ahead} with a window of {window}");
            // Nor is it acknowledged: its sender may send it again.
            let island = script.pair.a.view(script.a).unwrap().stats().out_of_order_received;
            assert_eq!(island, u64::from(taken), "{ahead} with a window of {window}");
        }
    }
}

/// C5. Fragments, whole messages, ordered and not, with and without user data, in any order: an ABORT at most, and books in order.
#[test]
fn data_without_sense() {
    for seed in 0..200 {
        let mut dice = Rng::stream(seed, "test", "data");
        let mut script = Script::established(&Config::rfc9260().with(|c| c.limits.receive_window = 20_000));
        for _ in 0..100 {
            script.pair.log.clear();
            let flags = DataFlags {
                unordered: dice.chance(0.3),
                beginning: dice.chance(0.6),
                ending: dice.chance(0.6),
                immediate: dice.chance(0.1),
            };
            let payload = vec![7; dice.below(1400) as usize];
            let chunk = Data {
                flags,
                ssn: Ssn::new(dice.below(4) as u16),
                ..data(TSN_Z.wrapping_add(dice.below(60) as u32), dice.below(12) as u16, &payload)
            };
            script.send(|out| chunk.emit(out));
            is_harmless(&script, State::Established, &format!("seed {seed}"));
            if script.state() == State::Closed {
                break;
            }
        }
    }
}

/// C7. A chunk of 65,000 bytes, as it comes where IP fragments it: one message, whole.
#[test]
fn the_longest_chunk() {
    let mut script = Script::established(&Config::rfc9260());
    let payload = vec![9; 65_000];
    script.send(|out| data(TSN_Z, 0, &payload).emit(out));
    assert_eq!(script.pair.received.len(), 1);
    assert_eq!(script.pair.received[0].1.len(), 65_000);
    is_harmless(&script, State::Established, "65,000 bytes");
}

/// C8. ECNE and CWR, which nobody agreed on, and a packet of a common header alone: nothing, in every state.
#[test]
fn what_says_nothing() {
    for state in STATES {
        let mut script = Script::in_state(&Config::rfc9260(), state);
        for chunk in [&[12, 0, 0, 8, 0, 0, 3, 0xe8][..], &[13, 0, 0, 8, 0, 0, 3, 0xe8], &[]] {
            script.send(|out| out.extend_from_slice(chunk));
            script.pair.inject(Side::Z, &packet(0, |out| out.extend_from_slice(chunk)));
            script.pair.pump();
            assert_eq!((script.state(), script.pair.log.len()), (state, 0), "{chunk:?}");
        }
    }
}

/// C9. A wrong checksum, and none at all: "the receiver of an SCTP packet ... silently discard the invalid SCTP packet" (6.8), INIT and
/// COOKIE ECHO among them.
#[test]
fn checksums_that_are_wrong_or_zero() {
    let (mut pair, a) = common::Pair::connecting(9, &Config::rfc9260());
    pair.send(Side::A, a, 0, b"message");
    pair.run_for(Duration::from_millis(500));
    let recorded: Vec<_> = pair.log.iter().filter(|p| p.from == Side::A).map(|p| p.bytes.clone()).collect();
    assert!(recorded.len() >= 2);
    let (mut pair, _) = common::Pair::connecting(9, &Config::rfc9260());
    let mut counted = 0;
    for bytes in &recorded {
        let true_sum: [u8; 4] = bytes[8..12].try_into().unwrap();
        let adler = [0x12, 0x34, 0x56, 0x78];
        let reversed = [true_sum[3], true_sum[2], true_sum[1], true_sum[0]];
        for sum in [[0; 4], [0xff; 4], adler, reversed] {
            let mut wrong = bytes.clone();
            wrong[8..12].copy_from_slice(&sum);
            assert!(Packet::parse(&wrong, Checksum::Verify).is_err());
            pair.inject(Side::A, &wrong);
            counted += 1;
        }
    }
    assert_eq!(pair.z.endpoint_stats().bad_checksum, counted);
    assert_eq!(pair.z.associations(), 0);
}

/// C10. Bytes at random behind a right header, from nothing to the longest packet, in every state, whole and behind a true chunk.
#[test]
fn anything_at_all_in_every_state() {
    for state in STATES {
        for seed in 0..150 {
            let mut dice = Rng::stream(seed, "test", "anything");
            let mut script = Script::in_state(&Config::rfc9260(), state);
            let len = if seed % 10 == 0 { dice.below(65_000) } else { dice.below(200) } as usize;
            let noise: Vec<u8> = (0..len).map(|_| dice.u32() as u8).collect();
            let mut bytes = packet(script.tag_a, |out| {
                if seed % 3 == 0 {
                    // A likely type and a length that fits.
                    let length = u16::try_from(len + 4).unwrap_or(u16::MAX).to_be_bytes();
                    out.extend_from_slice(&[dice.below(15) as u8, dice.u32() as u8, length[0], length[1]]);
                }
                out.extend_from_slice(&noise);
            });
            bytes[8..12].fill(0);
            let sum = crc32c::packet_checksum(&bytes);
            bytes[8..12].copy_from_slice(&crc32c::store(sum));
            script.pair.inject(Side::Z, &bytes);
            script.pair.pump();
            assert!(script.pair.log.len() <= 20, "{:?}", script.pair.names());
            assert!(script.pair.log.iter().all(|p| p.bytes.len() <= 1480));
            script.pair.a.view(script.a).unwrap().audit().unwrap();
            // For every attack, nothing goes on for ever.
            script.pair.run_for(Duration::from_secs(3000));
            if state != State::Established {
                assert_eq!(script.state(), State::Closed, "{state:?}, seed {seed}");
            }
        }
    }
}
