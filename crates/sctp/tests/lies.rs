//! Chunks that lie about their message: somebody on the way, or the peer itself, gives a TSN to another stream, message number, fragment or
//! flag than the sender did. What should have come under that TSN never comes, what waits for it fills the buffer, and the association
//! ends (docs/sctp.md, "A hole that nobody fills"). Honest peers are never ended so, however slow, unlucky and forgetful.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::cell::Cell;
use std::rc::Rc;

use anabranch_base::Duration;
use anabranch_sctp::{Association, AssociationId, CloseReason, Config, Event, Message, SubflowLevel};
use anabranch_wire::chunk::kind;
use bytes::Bytes;
use common::{Pair, Side, subflow_config};

/// What is changed of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    /// The SSN or MID, by so much.
    Number(i8),
    Stream(u16),
    Unordered,
    /// The B bit is the other way round.
    Beginning,
    /// The E bit likewise.
    Ending,
    /// The FSN, by so much.
    Fragment(i8),
}

const LIES: [Lie; 11] = [
    Lie::Number(1),
    Lie::Number(9),
    Lie::Number(-1),
    Lie::Stream(2),
    // One that does not exist.
    Lie::Stream(60_000),
    Lie::Unordered,
    Lie::Beginning,
    Lie::Ending,
    Lie::Fragment(1),
    Lie::Fragment(7),
    Lie::Fragment(-1),
];

const SF_DATA: u8 = 0x5f;

/// Changes a chunk of data. The layouts: RFC 9260, 3.3.1; RFC 8260, 2.1; docs/subflows.md.
fn apply(lie: Lie, chunk: &mut [u8]) {
    let numbered = chunk[0] != kind::DATA;
    let add = |bytes: &mut [u8], by: i8| {
        let width = bytes.len();
        let old = bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        let new = old.wrapping_add_signed(i64::from(by)).to_be_bytes();
        bytes.copy_from_slice(&new[8 - width..]);
    };
    match lie {
        Lie::Number(by) if numbered => add(&mut chunk[12..16], by),
        Lie::Number(by) => add(&mut chunk[10..12], by),
        Lie::Stream(stream) => chunk[8..10].copy_from_slice(&stream.to_be_bytes()),
        Lie::Unordered => chunk[1] ^= 4,
        Lie::Beginning => chunk[1] ^= 2,
        Lie::Ending => chunk[1] ^= 1,
        Lie::Fragment(by) => add(&mut chunk[16..20], by),
    }
}

/// The chunks of a packet, as they lie in it.
fn chunks(packet: &mut [u8], mut visit: impl FnMut(&mut [u8])) {
    let mut at = 12;
    while at + 4 <= packet.len() {
        let len = usize::from(u16::from_be_bytes([packet[at + 2], packet[at + 3]])).max(4);
        let end = (at + len).min(packet.len());
        visit(&mut packet[at..end]);
        at += len.next_multiple_of(4);
    }
}

fn is_data(chunk: &[u8], stream: u16) -> bool {
    [kind::DATA, kind::I_DATA, SF_DATA].contains(&chunk[0]) && chunk[8..10] == stream.to_be_bytes()
}

/// How data travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Data,
    Interleaved,
    Sf,
    Sf2007,
}

const WINDOW: u32 = 20_000;

impl Encoding {
    fn config(self) -> Config {
        let (level, subflows) = match self {
            Self::Data | Self::Interleaved => (SubflowLevel::Zero, 1),
            Self::Sf => (SubflowLevel::One, 3),
            Self::Sf2007 => (SubflowLevel::Sf2007, 3),
        };
        subflow_config(level, subflows).with(|c| {
            c.extensions.interleaving = self == Self::Interleaved;
            c.limits.receive_window = WINDOW;
            c.timers.heartbeat_interval = Duration::ZERO;
        })
    }
}

/// The stream whose chunk is changed. At level 1 it is on subflow 1.
const VICTIM: u16 = 1;

struct Attack {
    pair: Pair,
    a: AssociationId,
    z: AssociationId,
    has_lied: Rc<Cell<bool>>,
}

impl Attack {
    /// The chunk `nth` of the victim will say something else than A has sent.
    fn on(config: &Config, lie: Lie, nth: usize) -> Self {
        let (mut pair, a, z) = Pair::between(3, config, config);
        let has_lied = Rc::new(Cell::new(false));
        let (told, mut seen) = (Rc::clone(&has_lied), 0);
        pair.tamper(move |from, packet| {
            chunks(packet, |chunk| {
                if from == Side::A && is_data(chunk, VICTIM) {
                    if seen == nth {
                        apply(lie, chunk);
                        told.set(true);
                    }
                    seen += 1;
                }
            });
        });
        Self { pair, a, z, has_lied }
    }

    fn send(&mut self, stream: u16, len: usize, unordered: bool) {
        let now = self.pair.now;
        let message = Message { unordered, ..Message::new(stream, Bytes::from(vec![7; len])) };
        // It may have ended meanwhile.
        let _sent = self.pair.a.association(self.a).unwrap().send(now, message);
    }

    fn closed(&self, side: Side) -> Option<&CloseReason> {
        self.pair.events.iter().find_map(|(of, _, event)| match event {
            Event::Closed(reason) if *of == side => Some(reason),
            _ => None,
        })
    }

    /// Z says what A did; both have ended.
    #[track_caller]
    fn has_ended(&self, what: &str) {
        assert!(self.has_lied.get(), "{what}: nothing was changed");
        let ended = matches!(self.closed(Side::Z), Some(CloseReason::ProtocolViolation { .. }));
        assert!(ended, "{what}: {:?}, {:?}", self.closed(Side::Z), self.pair.z.view(self.z).map(Association::stats));
        let causes = match self.closed(Side::A) {
            Some(CloseReason::AbortedByPeer { causes, .. }) => causes.clone(),
            other => panic!("{what}: {other:?}"),
        };
        // "Protocol Violation", or "SF-Violation".
        assert!(causes == [13] || causes == [0x5f01], "{what}: {causes:?}");
    }
}

/// Whole messages and such in fragments, a lie about the first, about one in the middle and about the last chunk of a message: the
/// association ends with a sentence, a few packets after its window is closed.
fn ends(encoding: Encoding, longest: Duration) {
    for lie in LIES {
        for (len, nth) in [(900, 0), (900, 5), (3500, 3), (3500, 4), (3500, 5), (100_000, 7)] {
            // Of one chunk, or the first of several: the field holds something else.
            let numbered = encoding == Encoding::Interleaved || encoding == Encoding::Sf;
            let first = len == 900 || nth == 3;
            if matches!(lie, Lie::Fragment(_)) && (!numbered || first) {
                continue;
            }
            let what = format!("{encoding:?} {lie:?}, chunk {nth} of messages of {len} bytes");
            let mut attack = Attack::on(&encoding.config(), lie, nth);
            for _ in 0..(400_000 / len).min(250) {
                attack.send(VICTIM, len, false);
            }
            attack.pair.run_for(Duration::from_secs(1));
            let before = attack.pair.log.len();
            attack.pair.run_for(longest);
            let packets = attack.pair.log.len() - before;
            attack.has_ended(&what);
            assert!(packets <= 100, "{what}: {packets} packets");
        }
    }
}

#[test]
fn a_lie_about_data() {
    ends(Encoding::Data, Duration::from_secs(30));
}

#[test]
fn a_lie_about_i_data() {
    ends(Encoding::Interleaved, Duration::from_secs(30));
}

/// What is missing might have been sent on another subflow, and be under way still: that is waited for.
#[test]
fn a_lie_about_sf_data() {
    ends(Encoding::Sf, Duration::from_secs(2000));
}

#[test]
fn a_lie_in_the_encoding_of_2007() {
    ends(Encoding::Sf2007, Duration::from_secs(2000));
}

/// A message of 20 windows that is unordered, and loses a fragment so: no other waits for it, and it fills the buffer alone.
#[test]
fn a_lie_inside_an_unordered_message() {
    for encoding in [Encoding::Data, Encoding::Interleaved, Encoding::Sf] {
        for lie in [Lie::Number(1), Lie::Stream(2), Lie::Unordered, Lie::Ending] {
            let mut attack = Attack::on(&encoding.config(), lie, 7);
            attack.send(VICTIM, 20 * WINDOW as usize, true);
            attack.pair.run_for(Duration::from_secs(2000));
            attack.has_ended(&format!("{encoding:?} {lie:?}"));
        }
    }
}

/// The stream that waits has nothing more to send once the buffer is full; others have. What they send is delivered, one chunk for each
/// probe of a window that is closed for ever: that is no life either.
#[test]
fn a_lie_that_others_survive() {
    for encoding in [Encoding::Data, Encoding::Interleaved] {
        for lie in [Lie::Number(9), Lie::Number(1), Lie::Stream(2), Lie::Unordered] {
            let mut attack = Attack::on(&encoding.config(), lie, 5);
            // Exactly so many that the window is closed.
            while attack.pair.a.view(attack.a).unwrap().peer_window() > 0 {
                attack.send(VICTIM, 900, false);
                attack.pair.run_for(Duration::from_millis(500));
            }
            for _ in 0..30 {
                attack.send(0, 900, false);
            }
            attack.pair.run_for(Duration::from_secs(100));
            attack.has_ended(&format!("{encoding:?} {lie:?}"));
        }
    }
}

/// The user has something to read: nothing ends before he has read it. He has all that came before the hole.
#[test]
fn what_can_be_read_is_read_first() {
    for encoding in [Encoding::Data, Encoding::Interleaved] {
        let mut attack = Attack::on(&encoding.config(), Lie::Number(9), 5);
        attack.pair.reads[Side::Z as usize] = false;
        for _ in 0..50 {
            attack.send(VICTIM, 900, false);
        }
        attack.pair.run_for(Duration::from_secs(3600));
        assert_eq!(attack.closed(Side::Z), None, "{encoding:?}");
        attack.pair.reads[Side::Z as usize] = true;
        attack.pair.run_for(Duration::from_secs(300));
        attack.has_ended(&format!("{encoding:?}"));
        assert_eq!(attack.pair.received.len(), 5, "{encoding:?}");
    }
}
