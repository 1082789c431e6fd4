//! CUBIC (RFC 9438), windows in segments and time in seconds, as the RFC writes its equations.

use super::event::Timing;
use super::reno::Reno;
use anabranch_base::{Duration, Instant};

/// C (RFC 9438, section 5): 0.4.
const C: f64 = 0.4;
/// Multiplicative decrease factor (RFC 9438, section 4.6).
const BETA: f64 = 0.7;
/// RFC 9438, section 4.3: alpha_cubic = 3 * (1 - beta) / (1 + beta).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// Windows that differ by less are the same: which packet a queue drops is chance.
const NOISE: f64 = 0.05;

#[derive(Clone, Debug)]
pub(super) struct Cubic {
    /// W_max: the window before the last reduction.
    maximum: f64,
    /// The window at the last reduction, before fast convergence (cwnd_prior).
    prior: f64,
    epoch: Option<Epoch>,
    /// Since when the user has sent less than the window lets him.
    limited: Option<Instant>,
    /// After a timeout W_max is the window at the start of congestion avoidance (RFC 9438, section 4.8).
    forget: bool,
    /// Fast convergence only where another flow may be the reason.
    gentle: bool,
    /// The window that the last reduction left.
    left: f64,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// C, as the coupling had it then.
    c: f64,
    /// K: time from the start to W_max, seconds.
    k: f64,
    maximum: f64,
    /// W_est: the window that Reno would have.
    estimate: f64,
}

impl Cubic {
    pub(super) fn new(gentle: bool) -> Self {
        Self { gentle, left: 0.0, maximum: 0.0, prior: 0.0, epoch: None, limited: None, forget: false }
    }

    /// With a coupling (docs/explanation/couplings.md) it grows as a flow with C / Phi^2 and alpha / Phi: at the same losses it gets 1 / sqrt(Phi) of
    /// the rate on the curve (proportional to the fourth root of C: RFC 9438, section 5.1) and in the region of Reno (to the root of alpha)
    /// alike.
    pub(super) fn avoid(&mut self, base: &mut Reno, timing: &Timing, bytes: u64, phi: f64) {
        let cwnd = base.cwnd / base.mss;
        if let (Some(since), Some(epoch)) = (self.limited.take(), &mut self.epoch) {
            // RFC 9438, section 5.8: time in which the user did not fill the window is not time that the curve has had.
            epoch.start += timing.now.saturating_since(since);
        }
        let epoch = self.epoch.get_or_insert_with(|| {
            let maximum = if self.forget || self.maximum < cwnd { cwnd } else { self.maximum };
            // RFC 9438, equation 2: K = cbrt((W_max - cwnd_epoch) / C).
            let c = C / (phi * phi);
            Epoch { start: timing.now, c, k: ((maximum - cwnd) / c).cbrt(), maximum, estimate: cwnd }
        });
        let segments = bytes as f64 / base.mss;
        // RFC 9438, section 4.3: once W_est has reached cwnd_prior, alpha is that of Reno, 1.
        let alpha = if epoch.estimate < self.prior { ALPHA } else { 1.0 };
        epoch.estimate += alpha / phi * segments / cwnd;
        let t = (timing.now - epoch.start).as_secs_f64();
        // RFC 9438, equation 1: W_cubic(t) = C * (t - K)^3 + W_max.
        let curve = |t: f64| epoch.c * (t - epoch.k).powi(3) + epoch.maximum;
        let next = if curve(t) < epoch.estimate {
            // Reno-friendly region: "cwnd SHOULD be set to W_est".
            epoch.estimate.max(cwnd)
        } else {
            // RFC 9438, section 4.2: the target a round trip from now, between cwnd and 1.5 cwnd.
            let rtt = timing.srtt.map_or(0.0, Duration::as_secs_f64);
            let target = curve(t + rtt).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * segments
        };
        base.cwnd = next * base.mss;
    }

    /// The window that remains of `bytes` after a loss, bytes (RFC 9438, sections 4.6 and 4.7): `BETA` of it, or
    /// another part.
    pub(super) fn reduced(&mut self, base: &Reno, bytes: f64, part: Option<f64>) -> f64 {
        let part = part.unwrap_or(BETA);
        let cwnd = base.cwnd / base.mss;
        self.prior = cwnd;
        // Fast convergence: W_max = cwnd * (1 + beta) / 2 when this maximum is below the last.
        // A flow that is cut again before it has grown, as after a slow start that went too far, has learnt nothing of others; nor has one
        // that reached its old maximum but for a packet or two.
        let shrinks = if self.gentle {
            cwnd < self.maximum * (1.0 - NOISE) && cwnd > self.left * (1.0 + NOISE)
        } else {
            cwnd < self.maximum
        };
        self.maximum = if shrinks { cwnd * f64::midpoint(1.0, part) } else { cwnd };
        self.left = bytes * part / base.mss;
        self.epoch = None;
        self.forget = false;
        bytes * part
    }

    /// RFC 9438, section 4.8: after a timeout "K = 0 and W_max = cwnd_epoch" in the first congestion avoidance stage.
    pub(super) fn on_timeout(&mut self) {
        self.epoch = None;
        self.forget = true;
    }

    /// The window is not full at `now`, and nothing else keeps it from being full than the user.
    pub(super) fn limited(&mut self, now: Instant) {
        self.limited.get_or_insert(now);
    }

    /// The application was idle: time that passed must not count (RFC 9438, section 4.2, "application-limited").
    pub(super) fn restart(&mut self) {
        self.epoch = None;
    }
}
