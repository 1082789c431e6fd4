//! The times at which samples are taken.

use anabranch_base::{Duration, Instant};

use crate::scenario::{Record, Scenario};

/// The times at which samples are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    next: Instant,
    every: Duration,
    until: Instant,
}

impl Ticks {
    /// `None` when nothing is sampled.
    pub(crate) fn new(record: &Record, scenario: &Scenario) -> Option<Self> {
        let every = record.sample.filter(|every| *every > Duration::ZERO)?;
        Some(Self {
            next: Instant::ZERO + record.sample_from,
            every,
            until: Instant::ZERO + record.sample_until.unwrap_or(scenario.duration).min(scenario.duration),
        })
    }

    /// The next one that has come at `now`; it is over then.
    #[inline]
    pub(super) fn due(&mut self, now: Instant) -> Option<Instant> {
        let tick = self.next().filter(|tick| *tick <= now)?;
        self.next = tick + self.every;
        Some(tick)
    }

    /// The next one.
    pub(crate) fn next(&self) -> Option<Instant> {
        Some(self.next).filter(|next| *next <= self.until)
    }
}
