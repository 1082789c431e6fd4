//! Plays patterns: which entry holds for a packet, and the rate over time.

use anabranch_base::{Duration, Instant};

use super::{Driven, Kind, POSITION_NANOS, Pattern, Value};
use crate::Frame;
use crate::loss::Applies;

/// A pattern in use.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    pattern: Pattern,
    applies: Applies,
    /// Packets seen (data-driven).
    seen: u64,
    /// The first entry that does not lie before the last position looked at.
    cursor: usize,
    /// How often the pattern has begun anew.
    cycle: u64,
    /// For a pattern of states: the entry that holds now.
    holds: Option<usize>,
}

impl Player {
    pub(crate) fn new(pattern: Pattern, applies: Applies) -> Self {
        Self { pattern, applies, seen: 0, cursor: 0, cycle: 0, holds: None }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.pattern.kind()
    }

    pub(crate) fn hold_limit(&self) -> Duration {
        self.pattern.hold()
    }

    /// Whether the rate must be followed through time, not packet by packet.
    pub(crate) fn is_schedule(&self) -> bool {
        self.pattern.kind() == Kind::Bandwidth && self.pattern.driven() == Driven::Time
    }

    /// The value that holds for a packet at `now`. Packets come in order of time.
    pub(crate) fn next(&mut self, now: Instant, frame: &Frame) -> Option<&Value> {
        if !self.applies.to(frame) {
            // A state holds for every packet; it only does not move on.
            let holds = self.holds.filter(|_| self.pattern.kind().is_state());
            return holds.and_then(|index| self.pattern.entries().get(index)).map(|entry| &entry.value);
        }
        let position = match self.pattern.driven() {
            Driven::Data => {
                self.seen = self.seen.saturating_add(1);
                self.seen
            }
            Driven::Time => now.as_nanos() / POSITION_NANOS + 1,
        };
        self.at(position)
    }

    fn at(&mut self, position: u64) -> Option<&Value> {
        let (cycle, position) = match self.pattern.length() {
            Some(length) if self.pattern.repeats() => ((position - 1) / length, (position - 1) % length + 1),
            _ => (0, position),
        };
        let state = self.pattern.kind().is_state();
        let entries = self.pattern.entries();
        if cycle != self.cycle {
            // The last state of the cycle before holds until the first entry of this cycle.
            if state && !entries.is_empty() {
                self.holds = Some(entries.len() - 1);
            }
            self.cycle = cycle;
            self.cursor = 0;
        }
        while let Some(entry) = entries.get(self.cursor) {
            let passed = if state { entry.first <= position } else { entry.last < position };
            if !passed {
                break;
            }
            if state {
                self.holds = Some(self.cursor);
            }
            self.cursor += 1;
        }
        let index = if state {
            self.holds?
        } else {
            Some(self.cursor).filter(|&at| entries.get(at).is_some_and(|entry| entry.first <= position))?
        };
        entries.get(index).map(|entry| &entry.value)
    }
}

/// A rate that changes with time: a bandwidth pattern that is driven by time.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    player: Player,
    /// The link's own rate, until the first entry.
    own: u64,
}

impl Schedule {
    pub(crate) fn new(player: Player, own: u64) -> Self {
        Self { player, own }
    }

    /// The rate at `now` (nanoseconds), and when it changes next; `u64::MAX` when never. `now` never goes back.
    pub(crate) fn rate_at(&mut self, now: u64) -> (u64, u64) {
        let position = now / POSITION_NANOS + 1;
        let rate = match self.player.at(position) {
            Some(Value::Rate(rate)) => *rate,
            _ => self.own,
        };
        let pattern = &self.player.pattern;
        let in_cycle = |entry: &super::Entry| entry.first - 1;
        let next = match (pattern.entries().get(self.player.cursor), pattern.length()) {
            (Some(entry), Some(length)) if pattern.repeats() => {
                Some(self.player.cycle.saturating_mul(length).saturating_add(in_cycle(entry)))
            }
            (Some(entry), _) => Some(in_cycle(entry)),
            (None, Some(length)) if pattern.repeats() => pattern
                .entries()
                .first()
                .map(|first| (self.player.cycle + 1).saturating_mul(length).saturating_add(in_cycle(first))),
            (None, _) => None,
        };
        (rate, next.map_or(u64::MAX, |position| position.saturating_mul(POSITION_NANOS)))
    }

    /// When `bits` that start at `start` have been sent. Rounded up to a nanosecond.
    pub(crate) fn end_of(&mut self, start: u64, bits: u64) -> u64 {
        const UNIT: u128 = 1_000_000_000;
        let mut left = u128::from(bits) * UNIT;
        let mut at = start;
        // A pattern whose every rate is 0 would be walked for ever: a whole cycle without a bit is the end.
        let mut idle = 0;
        loop {
            let (rate, until) = self.rate_at(at);
            let span = u128::from(until - at);
            let capacity = span * u128::from(rate);
            if capacity >= left && rate > 0 {
                return at.saturating_add(u64::try_from(left.div_ceil(u128::from(rate))).unwrap_or(u64::MAX));
            }
            if until == u64::MAX {
                return u64::MAX;
            }
            idle = if rate == 0 { idle + 1 } else { 0 };
            if idle > self.player.pattern.entries().len() + 1 {
                return u64::MAX;
            }
            left -= capacity;
            at = until;
        }
    }
}
