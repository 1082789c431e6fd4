//! Effects of patterns on the packets of a link, behind its transmitter.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant};

use crate::pattern::player::{Player, Schedule};
use crate::pattern::{Kind, Pattern, Signal, Value};
use crate::{Applies, Frame};

/// Frames in propagation with their arrival times in nanoseconds, in order of arrival.
type Line = VecDeque<(u64, Frame)>;

/// The rate for the next packet.
#[derive(Debug)]
pub(crate) enum RateNow<'s> {
    /// The rate of the link.
    Own,
    /// Bits per second.
    Bits(u64),
    /// A rate that changes while the packet is being sent.
    Changing(&'s mut Schedule),
}

/// A packet that others pass.
#[derive(Clone, Debug)]
struct Held {
    frame: Frame,
    /// How many packets must still pass this one.
    behind: u32,
    /// When the packet goes on at the latest (nanoseconds).
    until: u64,
}

/// The patterns of a link.
#[derive(Clone, Debug)]
pub(crate) struct Impairments {
    /// All but bandwidth, in the order in which they were given.
    players: Vec<Player>,
    rate: Option<Player>,
    schedule: Option<Schedule>,
    held: Vec<Held>,
    /// The last arrival (nanoseconds): a shorter delay does not make a packet overtake the one before it.
    last: u64,
    pub(crate) signals: VecDeque<Signal>,
}

impl Impairments {
    pub(crate) fn new(patterns: Vec<(Pattern, Applies)>, own_rate: Option<u64>) -> Self {
        let mut new = Self {
            players: Vec::new(),
            rate: None,
            schedule: None,
            held: Vec::new(),
            last: 0,
            signals: VecDeque::new(),
        };
        for (pattern, applies) in patterns {
            let player = Player::new(pattern, applies);
            if player.is_schedule() {
                // An endless rate sends at once; so does a rate that no packet reaches.
                new.schedule = Some(Schedule::new(player, own_rate.unwrap_or(u64::MAX)));
            } else if player.kind() == Kind::Bandwidth {
                new.rate = Some(player);
            } else {
                new.players.push(player);
            }
        }
        new
    }

    /// The rate for a packet whose sending starts at `start`.
    pub(crate) fn rate(&mut self, start: Instant, frame: &Frame) -> RateNow<'_> {
        if let Some(schedule) = &mut self.schedule {
            return RateNow::Changing(schedule);
        }
        match self.rate.as_mut().and_then(|player| player.next(start, frame)) {
            Some(Value::Rate(rate)) => RateNow::Bits(*rate),
            _ => RateNow::Own,
        }
    }

    /// A packet has been sent at `end`. It and its copies go to the line, or it waits for others. Returns it
    /// when it is lost.
    pub(crate) fn pass(
        &mut self,
        end: u64,
        own_delay: u64,
        mut frame: Frame,
        line: &mut Line,
    ) -> Option<Frame> {
        if end == u64::MAX {
            return Some(frame); // a stopped link: it never leaves
        }
        let now = Instant::from_nanos(end);
        let (mut lost, mut copies, mut behind) = (false, 0, 0);
        let (mut delay, mut hold) = (own_delay, Duration::ZERO);
        for player in &mut self.players {
            let limit = player.hold_limit();
            match player.next(now, &frame) {
                None | Some(Value::Rate(_)) => {}
                Some(Value::Lost) => lost = true,
                Some(Value::Bits(bits)) => lost |= !flip(&mut frame.bytes, bits),
                Some(Value::Delay(longer)) => delay = longer.as_nanos(),
                Some(Value::Behind(places)) => (behind, hold) = (*places, limit),
                Some(Value::Copies(more)) => copies = *more,
                Some(Value::Signal(value)) => self.signals.push_back(Signal { at: now, value: *value }),
            }
        }
        if lost {
            return Some(frame);
        }
        let arrival = end.saturating_add(delay).max(self.last);
        self.release(arrival, line);
        self.last = arrival;
        let copy = (copies > 0).then(|| frame.clone());
        if behind > 0 {
            self.held.push(Held { frame, behind, until: arrival.saturating_add(hold.as_nanos()) });
        } else {
            put(line, arrival, frame);
            self.count(arrival, line);
        }
        for _ in 0..copies {
            if let Some(copy) = &copy {
                put(line, arrival, copy.clone());
                self.count(arrival, line);
            }
        }
        None
    }

    /// A packet has passed those that are held: the ones that were passed often enough follow it.
    fn count(&mut self, arrival: u64, line: &mut Line) {
        let mut index = 0;
        while let Some(held) = self.held.get_mut(index) {
            held.behind -= 1;
            if held.behind == 0 {
                let held = self.held.remove(index);
                put(line, arrival, held.frame);
            } else {
                index += 1;
            }
        }
    }

    /// Packets that have waited long enough to be passed go on although no packet passed them.
    pub(crate) fn release(&mut self, now: u64, line: &mut Line) {
        let mut index = 0;
        while let Some(held) = self.held.get(index) {
            if held.until <= now {
                let held = self.held.remove(index);
                put(line, held.until, held.frame);
            } else {
                index += 1;
            }
        }
    }

    /// The time at which the link must be woken: `arrival` is the next on the line, `free_at` the time at which the
    /// transmitter takes the next waiting frame.
    pub(crate) fn wake(&self, arrival: Option<u64>, free_at: Option<u64>) -> Option<Instant> {
        let held = self.held.iter().map(|held| held.until).min();
        // The delay of a waiting frame is not known yet: it is read when the frame's turn comes.
        let free_at = free_at.filter(|&at| at != u64::MAX);
        [arrival, free_at, held].into_iter().flatten().min().map(Instant::from_nanos)
    }
}

/// Puts a frame in its place on the line, behind those of the same time.
fn put(line: &mut Line, arrival: u64, frame: Frame) {
    let place = line.partition_point(|(at, _)| *at <= arrival);
    line.insert(place, (arrival, frame));
}

/// Flips bits. False when there is nothing to flip them in: then the packet counts as destroyed.
fn flip(bytes: &mut [u8], bits: &[u32]) -> bool {
    for bit in bits {
        if let Some(byte) = bytes.get_mut((bit / 8) as usize) {
            *byte ^= 0x80 >> (bit % 8);
        }
    }
    !bytes.is_empty()
}
