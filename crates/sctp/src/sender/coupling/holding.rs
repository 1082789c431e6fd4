//! Active test for a shared queue: now and then one class sends less for two round trips, and others take the
//! capacity that it leaves. Where they wait in one queue that changes the delay of none of them; where each has its
//! own queue, one becomes shorter and the other longer.
//!
//! Passive comparison is enough in most cases: docs/explanation/couplings.md has the rates with and without this test.

use anabranch_base::{Duration, Instant};

/// Share of its packets in flight that a held class may have.
const HELD: f64 = 0.75;
/// Fewer packets in flight cannot be held.
const LEAST: u64 = 4;
/// Round trips before the first holding, between two holdings, of the measurement of the flight, and of the holding.
const FIRST: u64 = 16;
const BETWEEN: u64 = 9;
const LOOK: u64 = 1;
const HOLD: u64 = 2;

/// The class that is held, in turn, and the stage of the test.
#[derive(Debug, Default)]
pub(super) struct Holding {
    class: usize,
    stage: Stage,
    until: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    #[default]
    Rest,
    /// Bytes in flight of the class: the sum of all samples, and the number of samples.
    Look { flight: u64, times: u64 },
    /// Bytes that the class may have in flight.
    Hold { limit: u64 },
}

impl Holding {
    /// Bytes that a class may have in flight while it is held.
    pub(super) fn limit(&self, class: usize) -> Option<u64> {
        match self.stage {
            Stage::Hold { limit } if class == self.class => Some(limit),
            _ => None,
        }
    }

    /// The class whose turn it is.
    pub(super) fn class(&self) -> usize {
        self.class
    }

    /// Something was acknowledged of one of several classes. `flight` is the flight of the class whose turn it is, `unit` a full
    /// packet, bytes.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        round_trip: Duration,
        classes: usize,
        flight: u64,
        unit: u64,
    ) {
        if let Stage::Look { flight: sum, times } = &mut self.stage {
            *sum += flight;
            *times += 1;
        }
        if now < *self.until.get_or_insert(now + round_trip * FIRST) {
            return;
        }
        let (stage, lasts) = match self.stage {
            Stage::Rest => {
                self.class = (self.class + 1) % classes.max(1);
                (Stage::Look { flight: 0, times: 0 }, LOOK)
            }
            Stage::Look { flight, times } if flight >= LEAST * unit * times.max(1) => {
                let limit = (flight as f64 / times as f64 * HELD) as u64;
                (Stage::Hold { limit }, HOLD)
            }
            Stage::Look { .. } | Stage::Hold { .. } => (Stage::Rest, BETWEEN),
        };
        self.stage = stage;
        self.until = Some(now + round_trip * lasts);
    }
}
