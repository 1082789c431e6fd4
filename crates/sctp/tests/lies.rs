//! Chunks that lie about their message: somebody on the way, or the peer itself, gives a TSN to another stream,
//! message number, fragment or flag than the sender did. The chunk that belongs to that TSN never comes, data that
//! waits for it fills the buffer, and the association ends (docs/explanation/engines.md, "A hole that nobody fills").
//! Honest peers are never ended so, however slow, unlucky and forgetful.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use anabranch_base::{Dscp, Duration, Instant, Rng};
use anabranch_sctp::config::StreamScheduling;
use anabranch_sctp::{
    Association, AssociationId, CloseReason, Config, Direction, Event, Message, State, SubflowLevel,
};
use anabranch_wire::chunk::kind;
use bytes::Bytes;
use common::{Pair, Side, subflow_config};

/// Field of one chunk that is changed.
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

/// Changes a chunk of data. The layouts: RFC 9260, 3.3.1; RFC 8260, 2.1; docs/explanation/subflows.md.
fn apply(encoding: Encoding, lie: Lie, chunk: &mut [u8]) {
    let stream = encoding.stream_at();
    let number = if encoding.is_numbered() { 12..16 } else { stream + 2..stream + 4 };
    let add = |bytes: &mut [u8], by: i8| {
        let width = bytes.len();
        let old = bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        let new = old.wrapping_add_signed(i64::from(by)).to_be_bytes();
        bytes.copy_from_slice(&new[8 - width..]);
    };
    match lie {
        Lie::Number(by) => add(&mut chunk[number], by),
        Lie::Stream(another) => chunk[stream..stream + 2].copy_from_slice(&another.to_be_bytes()),
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

/// Encoding of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Data,
    Interleaved,
    Sf,
    Sf2007,
}

const WINDOW: u32 = 20_000;

impl Encoding {
    /// True if messages and their fragments have numbers of their own.
    fn is_numbered(self) -> bool {
        matches!(self, Self::Interleaved | Self::Sf)
    }

    /// Offset of the stream number in the chunk, bytes.
    fn stream_at(self) -> usize {
        if self == Self::Sf2007 { 12 } else { 8 }
    }

    fn is_data(self, chunk: &[u8], stream: u16) -> bool {
        let at = self.stream_at();
        [kind::DATA, kind::I_DATA, SF_DATA].contains(&chunk[0]) && chunk[at..at + 2] == stream.to_be_bytes()
    }

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
    fn on(encoding: Encoding, lie: Lie, nth: usize) -> Self {
        let config = encoding.config();
        let (mut pair, a, z) = Pair::between(3, &config, &config);
        let has_lied = Rc::new(Cell::new(false));
        let (told, mut seen) = (Rc::clone(&has_lied), 0);
        pair.tamper(move |from, packet| {
            chunks(packet, |chunk| {
                if from == Side::A && encoding.is_data(chunk, VICTIM) {
                    if seen == nth {
                        apply(encoding, lie, chunk);
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

    /// All was taken, and nothing waits.
    fn is_through(&self) -> bool {
        let a = self.pair.a.view(self.a).unwrap();
        let held = self.pair.z.view(self.z).unwrap().stats();
        a.state() == State::Established
            && (a.flight_bytes(), a.queued_bytes()) == (0, 0)
            && held.payload_bytes_delivered > 0
    }

    /// Z says what A did; both have ended.
    #[track_caller]
    fn has_ended(&self, what: &str) {
        assert!(self.has_lied.get(), "{what}: nothing was changed");
        let ended = matches!(self.closed(Side::Z), Some(CloseReason::ProtocolViolation { .. }));
        assert!(
            ended,
            "{what}: {:?}, {:?}",
            self.closed(Side::Z),
            self.pair.z.view(self.z).map(Association::stats)
        );
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
            let first = len == 900 || nth == 3;
            if matches!(lie, Lie::Fragment(_)) && (!encoding.is_numbered() || first) {
                continue;
            }
            // The message ends early, and what follows of it is of one that is known: it is cut, and nothing waits.
            let cuts = encoding.is_numbered() && lie == Lie::Ending && len > 900 && nth != 5;
            let what = format!("{encoding:?} {lie:?}, chunk {nth} of messages of {len} bytes");
            let mut attack = Attack::on(encoding, lie, nth);
            for _ in 0..(400_000 / len).min(250) {
                attack.send(VICTIM, len, false);
            }
            attack.pair.run_for(Duration::from_secs(1));
            let before = attack.pair.log.len();
            attack.pair.run_for(longest);
            let packets = attack.pair.log.len() - before;
            if cuts && attack.is_through() {
                continue;
            }
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

/// The missing fragment might have been sent on another subflow, and be under way still: the receiver waits for it.
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
        for lie in [Lie::Number(1), Lie::Stream(2), Lie::Unordered, Lie::Ending, Lie::Fragment(3)] {
            // The number of an unordered message says nothing in DATA.
            if !encoding.is_numbered() && matches!(lie, Lie::Number(_) | Lie::Fragment(_)) {
                continue;
            }
            let mut attack = Attack::on(encoding, lie, 7);
            attack.send(VICTIM, 20 * WINDOW as usize, true);
            attack.pair.run_for(Duration::from_secs(2000));
            attack.has_ended(&format!("{encoding:?} {lie:?}"));
        }
    }
}

/// The stream that waits has nothing more to send once the buffer is full; others have. Their messages are delivered,
/// one chunk for each probe of a window that is closed for ever: that is no life either.
#[test]
fn a_lie_that_others_survive() {
    for encoding in [Encoding::Data, Encoding::Interleaved] {
        for lie in [Lie::Number(9), Lie::Number(1), Lie::Stream(2), Lie::Unordered] {
            let mut attack = Attack::on(encoding, lie, 5);
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
        let mut attack = Attack::on(encoding, Lie::Number(9), 5);
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

/// A message of a stream is lost again and again, as the network carries nothing with its code point; the stream
/// moves to another subflow meanwhile, and the messages that follow fill the buffer there. That is no lie: after ten
/// minutes the code point gets through again, and everything is delivered.
#[test]
fn what_another_subflow_has_under_way_is_waited_for() {
    for encoding in [Encoding::Sf, Encoding::Sf2007] {
        let config = encoding.config();
        let patient = config.clone().with(|c| c.limits.association_max_retrans = 1000);
        let (mut pair, a, z) = Pair::between(3, &patient, &config);
        let heals = pair.now + Duration::from_secs(600);
        pair.drop_if(move |p| p.from == Side::A && p.dscp == Dscp::new(1).unwrap() && p.at < heals);
        pair.send_numbered(Side::A, a, VICTIM, 0, 900);
        pair.run_for(Duration::from_millis(100));
        pair.a.association(a).unwrap().set_stream_subflow(pair.now, VICTIM, 2).unwrap();
        for n in 1..100 {
            pair.send_numbered(Side::A, a, VICTIM, n, 900);
        }
        pair.run_for(Duration::from_secs(590));
        let refused = pair.z.view(z).unwrap().stats().dropped_no_buffer;
        assert!(refused >= 10, "{encoding:?}: {refused}");
        pair.run_for(Duration::from_secs(300));
        let closed = pair.events.iter().find(|(_, _, event)| matches!(event, Event::Closed(_)));
        assert!(closed.is_none(), "{encoding:?}: {closed:?}");
        assert_eq!(pair.in_order(Side::Z).get(&VICTIM), Some(&100), "{encoding:?}");
    }
}

/// An honest pair: the encoding of data, the size of the window, and the faults of the network and of the reader.
struct Honest {
    dice: Rng,
    pair: Pair,
    a: AssociationId,
    z: AssociationId,
    streams: u16,
    subflows: u8,
    largest: u64,
    gives_up: bool,
    what: String,
}

impl Honest {
    fn draw(seed: u64) -> Self {
        let mut dice = Rng::stream(seed, "test", "honest");
        let mut pick = |n: usize| dice.below(n as u64) as usize;
        let (level, interleaving, subflows) = [
            (SubflowLevel::Zero, false, 1),
            (SubflowLevel::Zero, true, 1),
            (SubflowLevel::Zero, false, 3),
            (SubflowLevel::Zero, true, 3),
            (SubflowLevel::One, false, 3),
            (SubflowLevel::One, false, 5),
            (SubflowLevel::Sf2007, false, 3),
        ][pick(7)];
        let streams = 1 + pick(10) as u16;
        let gives_up = level != SubflowLevel::Sf2007 && pick(2) == 0;
        let window = [1500, 2000, 3000, 5000, 10_000, 20_000, 60_000][pick(7)];
        let largest = [10, 200, 2000, window / 2, 3 * window, 10 * window][pick(6)] as u64;
        let z = subflow_config(level, subflows).with(|c| {
            c.extensions.interleaving = interleaving;
            c.extensions.reconfiguration = pick(2) == 0;
            c.extensions.partial_reliability = gives_up;
            c.streams.scheduling = StreamScheduling::ALL[pick(StreamScheduling::ALL.len())];
            c.limits.receive_window = window as u32;
            c.limits.send_buffer = 200_000;
            // The fewest that the peer might be given: then it ends after five seconds.
            c.limits.association_max_retrans = 8;
            c.timers.rto_max = Duration::from_secs(1);
            c.timers.heartbeat_interval = Duration::ZERO;
            c.mtu = [600, 1500, 9000][pick(3)];
            c.limits.partial_delivery_point = [1, 25, 50][pick(3)];
        });
        // The network may be as bad as it likes: A goes on.
        let a = z.clone().with(|c| c.limits.association_max_retrans = 10_000);
        let (loss, late) = ([0.0, 0.05, 0.2, 0.4][pick(4)], [0, 100, 1500][pick(3)]);
        let what = format!(
            "seed {seed}: {level:?}, interleaving {interleaving}, {subflows} subflows, {streams} streams, window {window}, \
             up to {largest} bytes, gives up: {gives_up}, loss {loss}, late {late}, {:?}",
            z.streams.scheduling
        );
        let (mut pair, a, z) = Pair::between(seed, &a, &z);
        let mut losses = Rng::stream(seed, "loss", "honest");
        pair.drop_if(move |p| p.at < HEALS && losses.chance(loss));
        let jitter = RefCell::new(Rng::stream(seed, "late", "honest"));
        pair.delay_by(move |p| {
            let more = if p.at < HEALS && late > 0 { jitter.borrow_mut().below(late) } else { 0 };
            Duration::from_millis(10 + more)
        });
        Self { dice, pair, a, z, streams, subflows, largest, gives_up, what }
    }

    /// The user of A does something.
    fn act(&mut self) {
        let now = self.pair.now;
        let stream = self.dice.below(u64::from(self.streams)) as u16;
        let len = 1 + self.dice.below(self.largest) as usize;
        let mut message = Message::new(stream, Bytes::from(vec![stream as u8; len]));
        message.unordered = self.dice.chance(0.3);
        if self.gives_up {
            message = match self.dice.below(4) {
                0 => message.lifetime(Duration::from_millis(self.dice.below(3000))),
                1 => message.max_retransmissions(self.dice.below(3) as u16),
                _ => message,
            };
        }
        let changes =
            self.dice.chance(0.05).then(|| (self.dice.below(4), self.dice.below(u64::from(self.subflows))));
        let mut a = self.pair.a.association(self.a).unwrap();
        // It may be full, and an option that cannot be changed now is not.
        let _said = a.send(now, message);
        match changes {
            Some((0, _)) => drop(a.reset_streams(now, Direction::Outgoing, &[stream])),
            Some((1 | 2, subflow)) => drop(a.set_stream_subflow(now, stream, subflow as u8)),
            Some((_, subflow)) => drop(a.merge_subflows(now, subflow as u8, 0)),
            None => {}
        }
    }

    #[track_caller]
    fn lives(&self) {
        let closed = self.pair.events.iter().find(|(_, _, event)| matches!(event, Event::Closed(_)));
        assert!(closed.is_none(), "{}: {closed:?}", self.what);
    }
}

const HEALS: Instant = Instant::from_nanos(90_000_000_000);

/// A life of honest peers. Gives how many chunks were refused.
fn honest(seed: u64) -> u64 {
    let mut life = Honest::draw(seed);
    while life.pair.now < HEALS {
        life.pair.reads[Side::Z as usize] = life.dice.chance(0.4);
        for _ in 0..life.dice.below(12) {
            life.act();
        }
        life.pair.run_for(Duration::from_millis(300));
        life.lives();
    }
    life.pair.reads[Side::Z as usize] = true;
    for _ in 0..60 {
        life.pair.run_for(Duration::from_secs(60));
        let a = life.pair.a.view(life.a).unwrap();
        if (a.flight_bytes(), a.queued_bytes()) == (0, 0) {
            break;
        }
    }
    life.lives();
    let a = life.pair.a.view(life.a).unwrap();
    assert_eq!((a.flight_bytes(), a.queued_bytes()), (0, 0), "{}: {:?}", life.what, a.stats());
    life.pair.z.view(life.z).unwrap().stats().dropped_no_buffer
}

fn honest_lives(seeds: std::ops::Range<u64>) {
    let (mut refused, mut failed) = (0, Vec::new());
    for seed in seeds {
        match std::panic::catch_unwind(|| honest(seed)) {
            Ok(chunks) => refused += u64::from(chunks > 0),
            Err(_) => failed.push(seed),
        }
    }
    assert!(failed.is_empty(), "{} lives failed: seeds {failed:?}", failed.len());
    assert!(refused > 0, "no window was ever closed");
}

/// Tiny windows, readers that sleep, messages that are given up, resets, streams that move from subflow to subflow, and a network that
/// loses and delays: whatever happens, nobody is taken for a liar, and everything arrives or is given up.
#[test]
fn honest_peers_are_never_taken_for_liars() {
    honest_lives(0..300);
}

/// `FIRST=n LIVES=5000 cargo test -p anabranch-sctp --test all lies::honest -- --ignored`
#[test]
#[ignore = "takes as long as it is told to"]
fn honest_peers_for_long() {
    let number = |name, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let first = number("FIRST", 1000);
    honest_lives(first..first + number("LIVES", 2000));
}
