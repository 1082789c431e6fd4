//! The summary statistics of RFC 8382, section 3.2, for packets that go the same way.

/// Base intervals for skewness and variability (M).
const M: usize = 30;
/// Base intervals for oscillation and loss (N).
const N: usize = 50;
/// A crossing of the mean counts when it goes beyond it by this share of the variability (p_v).
const P_V: f64 = 0.7;
/// Skewness below which a bottleneck is seen (c_s).
const C_S: f64 = 0.1;
/// Skewness below which a bottleneck that was seen before is still seen (c_h).
const C_H: f64 = 0.3;
/// Loss above which one is seen (p_l); RFC 8382, section 2.2, names no value, 5 % is the one of the authors' study.
pub(super) const P_L: f64 = 0.05;

/// What one base interval T brought.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    samples: f64,
    mean: f64,
    skew_base: f64,
    var_base: f64,
    lost: f64,
    packets: f64,
    crossing: bool,
}

/// Estimates of delay's shape. Delays are in any unit, from any zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Estimates {
    /// skew_est, -1 to 1.
    pub(super) skew: f64,
    /// var_est, in the unit of the delays.
    pub(super) variability: f64,
    /// freq_est, 0 to 1.
    pub(super) oscillation: f64,
    /// pkt_loss.
    pub(super) loss: f64,
}

/// Delay and loss over the last base intervals.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    /// The last N, the oldest first.
    past: std::collections::VecDeque<Interval>,
    current: Interval,
    sum: f64,
    /// mean_delay: of the last M intervals, without the current one.
    mean_delay: f64,
    /// E_T of the last interval with samples.
    last_mean: Option<f64>,
    /// Which side of mean_delay the last significant crossing led to.
    side: Option<bool>,
    estimates: Estimates,
    /// PB: a bottleneck was seen the last time.
    bottleneck: bool,
    intervals: usize,
}

impl Statistics {
    pub(super) fn sample(&mut self, delay: f64) {
        let t = &mut self.current;
        t.samples += 1.0;
        self.sum += delay;
        if let Some(last) = self.last_mean {
            if delay < self.mean_delay {
                t.skew_base += 1.0;
            } else if delay > self.mean_delay {
                t.skew_base -= 1.0;
            }
            t.var_base += (delay - last).abs();
        }
    }

    pub(super) fn acked(&mut self, packets: u64) {
        self.current.packets += packets as f64;
    }

    pub(super) fn lost(&mut self, packets: u64) {
        self.current.lost += packets as f64;
    }

    /// Ends a base interval.
    pub(super) fn end_interval(&mut self) {
        let mut t = std::mem::take(&mut self.current);
        let first = self.last_mean.is_none();
        if t.samples > 0.0 {
            t.mean = self.sum / t.samples;
            self.last_mean = Some(t.mean);
        } else {
            t.mean = self.last_mean.unwrap_or_default();
        }
        self.sum = 0.0;
        if first && t.samples > 0.0 {
            self.mean_delay = t.mean;
        }
        let beyond = P_V * self.estimates.variability;
        let side = t.mean > self.mean_delay;
        if (t.mean - self.mean_delay).abs() > beyond && !first {
            t.crossing = self.side.is_some_and(|before| before != side);
            self.side = Some(side);
        }
        self.past.push_back(t);
        if self.past.len() > N {
            self.past.pop_front();
        }
        self.intervals += 1;
        self.estimate();
    }

    fn estimate(&mut self) {
        let recent = || self.past.iter().rev().take(M);
        let total: f64 = recent().map(|t| t.samples).sum();
        if total > 0.0 {
            self.estimates.skew = recent().map(|t| t.skew_base).sum::<f64>() / total;
            self.estimates.variability = recent().map(|t| t.var_base).sum::<f64>() / total;
        }
        let count = recent().count() as f64;
        self.mean_delay = recent().map(|t| t.mean).sum::<f64>() / count;
        self.estimates.oscillation = self.past.iter().filter(|t| t.crossing).count() as f64 / N as f64;
        let packets: f64 = self.past.iter().map(|t| t.packets + t.lost).sum();
        let lost: f64 = self.past.iter().map(|t| t.lost).sum();
        self.estimates.loss = if packets > 0.0 { lost / packets } else { 0.0 };
        // RFC 8382, section 3.3.1, step 1.
        let Estimates { skew, loss, .. } = self.estimates;
        self.bottleneck = total > 0.0 && (skew < C_S || (skew < C_H && self.bottleneck) || loss > P_L);
    }

    pub(super) fn estimates(&self) -> &Estimates {
        &self.estimates
    }

    /// Whether a bottleneck is seen; known from the 2 M-th interval on ("we recommend that grouping decisions not be made
    /// until 2*M T intervals").
    pub(super) fn sees_bottleneck(&self) -> bool {
        self.is_mature() && self.bottleneck
    }

    pub(super) fn is_mature(&self) -> bool {
        self.intervals >= 2 * M
    }
}
