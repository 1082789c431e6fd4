//! BIC (Xu, Harfoush, Rhee: "Binary increase congestion control for fast long-distance networks", INFOCOM 2004), with
//! the constants of Linux 2.6.15, whose default it was.

use super::event::Timing;
use super::reno::Reno;
use anabranch_base::{Duration, Instant};

/// Largest growth a round trip, segments (S_max).
const MOST: f64 = 16.0;
/// The search halves no more than this much of the distance: a quarter of it a round trip.
const PART: f64 = 4.0;
/// Below this window BIC is Reno.
const LOW: f64 = 14.0;
/// Near the old maximum a segment takes PART/SMOOTH of the round trips.
const SMOOTH: f64 = 20.0;
/// The part of a window above LOW that remains after a loss: 819/1024.
const BETA: f64 = 819.0 / 1024.0;
/// The step is computed again after so long even when the window stays.
const PERIOD: Duration = Duration::from_nanos(31_250_000);

#[derive(Clone, Debug)]
pub(super) struct Bic {
    /// Window before the last loss, segments; 0 before the first.
    maximum: f64,
    /// Segments acknowledged for one segment of growth.
    step: f64,
    computed: Option<(f64, Instant)>,
    counted: f64,
}

impl Bic {
    pub(super) fn new() -> Self {
        Self { maximum: 0.0, step: 1.0, computed: None, counted: 0.0 }
    }

    pub(super) fn avoid(&mut self, base: &mut Reno, timing: &Timing, bytes: u64) {
        let cwnd = (base.cwnd / base.mss).floor().max(1.0);
        if self.computed.is_none_or(|(window, at)| window != cwnd || timing.now - at > PERIOD) {
            self.computed = Some((cwnd, timing.now));
            self.step = self.step_at(cwnd).max(1.0);
        }
        self.counted += bytes as f64 / base.mss;
        while self.counted >= self.step {
            self.counted -= self.step;
            base.cwnd += base.mss;
        }
    }

    fn step_at(&self, cwnd: f64) -> f64 {
        if cwnd <= LOW {
            return cwnd;
        }
        let slow = cwnd * SMOOTH / PART;
        let step = if cwnd < self.maximum {
            let distance = (self.maximum - cwnd) / PART;
            if distance > MOST {
                // Additive increase until the search is near enough.
                cwnd / MOST
            } else if distance <= 1.0 {
                slow
            } else {
                // Binary search.
                cwnd / distance
            }
        } else if cwnd < self.maximum + PART {
            // Max probing: slowly away from the old maximum, faster and faster, then linearly.
            slow
        } else if cwnd < self.maximum + MOST * (PART - 1.0) {
            cwnd * (PART - 1.0) / (cwnd - self.maximum)
        } else {
            cwnd / MOST
        };
        // Before the first loss there is no maximum to search for: at least one segment for twenty.
        if self.maximum == 0.0 { step.min(20.0) } else { step }
    }

    /// The part of `bytes` that remains after a loss, bytes.
    pub(super) fn reduced(&mut self, base: &Reno, bytes: f64) -> f64 {
        let cwnd = bytes / base.mss;
        // Fast convergence: a flow that has lost before its maximum gives way.
        self.maximum = if cwnd < self.maximum { cwnd * f64::midpoint(1.0, BETA) } else { cwnd };
        self.computed = None;
        self.counted = 0.0;
        if cwnd <= LOW { bytes / 2.0 } else { bytes * BETA }
    }
}
