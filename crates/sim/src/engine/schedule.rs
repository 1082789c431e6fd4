//! When the packets of a source leave.

use anabranch_base::{Instant, Rng};

use crate::scenario::{PacketSource, Rhythm};

/// The times at which packets leave, one after the other.
#[derive(Debug)]
pub(crate) struct Schedule {
    clock: Clock,
    jitter: f64,
    state: State,
    rng: Rng,
}

/// The time of the last packet, exact: the gap is seldom a whole number of nanoseconds, so the remainder is carried.
#[derive(Debug)]
struct Clock {
    at: u64,
    /// In `1 / rate` nanoseconds; below `rate`.
    fraction: u64,
    /// The gap: whole nanoseconds, and the rest in `1 / rate` nanoseconds.
    gap: (u64, u64),
    rate: u64,
}

#[derive(Debug)]
enum State {
    Steady,
    /// Sending until `edge`; the next period begins at `next_on`.
    Square {
        edge: u64,
        next_on: u64,
        period: u64,
    },
    OnOff {
        rhythm: Rhythm,
        /// Packets left in the burst.
        left: u64,
    },
}

impl Schedule {
    /// The schedule of a flow that starts at `start`, and the time of its first packet.
    pub(crate) fn new(source: &PacketSource, start: Instant, rng: Rng) -> (Self, Instant) {
        let start = start.as_nanos();
        let rate = source.rate.max(1);
        let work = u64::from(source.packet) * 8_000_000_000;
        let clock = Clock { at: start, fraction: 0, gap: (work / rate, work % rate), rate };
        let mut first = start;
        let state = match source.rhythm {
            Rhythm::Steady => State::Steady,
            Rhythm::Square { on, off, phase } => {
                let (on, off, phase) = (on.as_nanos(), off.as_nanos(), phase.as_nanos());
                let period = on.saturating_add(off);
                // In its silence it waits for the next period.
                let wait = if phase < on { 0 } else { period - phase };
                first = start.saturating_add(wait);
                let edge = if wait == 0 { start + (on - phase) } else { first.saturating_add(on) };
                State::Square { edge, next_on: edge.saturating_add(off), period }
            }
            rhythm @ Rhythm::OnOff { .. } => State::OnOff { rhythm, left: 0 },
        };
        let mut schedule = Self { clock, jitter: source.jitter, state, rng };
        if matches!(schedule.state, State::OnOff { .. }) {
            first = schedule.following().as_nanos();
        }
        schedule.clock.at = first;
        (schedule, Instant::from_nanos(first))
    }

    /// When the packet after the last one leaves.
    pub(crate) fn following(&mut self) -> Instant {
        match &mut self.state {
            State::Steady => self.clock.step(self.jitter, &mut self.rng),
            State::Square { edge, next_on, period } => {
                self.clock.step(self.jitter, &mut self.rng);
                if self.clock.at >= *edge {
                    self.clock.set(*next_on);
                    *edge = edge.saturating_add(*period);
                    *next_on = next_on.saturating_add(*period);
                }
            }
            State::OnOff { rhythm, left } => {
                if *left == 0 {
                    // As ns-2's on/off sources: silence comes first, the length of a burst is counted in whole packets, at
                    // least one, and the silence begins a gap after the last packet.
                    if let Rhythm::OnOff { distribution, on, off } = *rhythm {
                        let mean = on.as_nanos() as f64 / self.clock.gap_ns();
                        *left = (distribution.draw(mean, &mut self.rng) + 0.5).max(1.0) as u64;
                        let silence = distribution.draw(off.as_nanos() as f64, &mut self.rng);
                        self.clock.set(self.clock.at.saturating_add(silence as u64));
                    }
                }
                *left -= 1;
                self.clock.step(self.jitter, &mut self.rng);
            }
        }
        Instant::from_nanos(self.clock.at)
    }
}

impl Clock {
    fn gap_ns(&self) -> f64 {
        self.gap.0 as f64 + self.gap.1 as f64 / self.rate as f64
    }

    fn set(&mut self, at: u64) {
        self.at = at;
        self.fraction = 0;
    }

    fn step(&mut self, jitter: f64, rng: &mut Rng) {
        if jitter > 0.0 {
            let gap = self.gap_ns() * (1.0 + jitter * (rng.f64() - 0.5));
            self.at = self.at.saturating_add(gap.round() as u64);
            return;
        }
        let (nanos, rest) = self.gap;
        let room = self.rate - rest;
        let carry = self.fraction >= room;
        self.fraction = if carry { self.fraction - room } else { self.fraction + rest };
        self.at = self.at.saturating_add(nanos + u64::from(carry));
    }
}

#[cfg(test)]
mod tests;
