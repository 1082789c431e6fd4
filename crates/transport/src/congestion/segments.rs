//! The controllers of TCP: slow start, restart and undo are one (`Reno`); the laws of congestion avoidance differ, and what
//! a loss leaves.

use super::bic::Bic;
use super::cubic::Cubic;
use super::event::{Acked, Base, Congestion, Timing};
use super::hystart::HyStart;
use super::reno::{Reno, WindowRules};
use super::vegas::Vegas;
use super::window::Window;
use super::words::words;

words! {
    /// Congestion controllers.
    Algorithm {
        /// RFC 5681.
        Reno = "reno",
        /// Binary increase (Xu, Harfoush, Rhee 2004), as in Linux 2.6.15.
        Bic = "bic",
        /// RFC 9438.
        Cubic = "cubic",
        /// Brakmo, O'Malley, Peterson 1994, as in Linux 2.6.15.
        Vegas = "vegas",
    }
}

/// What such a controller is told.
#[derive(Clone, Copy, Debug)]
pub struct SegmentRules {
    /// The law of congestion avoidance.
    pub algorithm: Algorithm,
    /// Leaves slow start by HyStart++ (RFC 9406).
    pub hystart: bool,
    /// Window, threshold and how acknowledgements are counted.
    pub window: WindowRules,
    /// Remembers the window before a reduction, for one that proves needless.
    pub undo: bool,
    /// Grows only while the window is full (RFC 9260, 7.2.1); else the caller looks.
    pub needs_full_window: bool,
    /// Grows only when the cumulative point moves (RFC 9260, 7.2.1).
    pub needs_advance: bool,
    /// A further timeout at a window of one segment leaves ssthresh alone; else the caller looks.
    pub backoff_keeps_ssthresh: bool,
    /// The window halves for every RTO without a transmission, down to so many bytes (RFC 9260, 7.2.1).
    pub idle_floor: Option<u64>,
}

/// The law of congestion avoidance. An enum, not a trait object: there are few, and they are on the hot path.
#[derive(Clone, Debug)]
enum Law {
    Reno,
    Bic(Bic),
    Cubic(Cubic),
    Vegas(Vegas),
}

impl Law {
    fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Reno => Self::Reno,
            Algorithm::Bic => Self::Bic(Bic::new()),
            Algorithm::Cubic => Self::Cubic(Cubic::new()),
            Algorithm::Vegas => Self::Vegas(Vegas::new()),
        }
    }

    /// Time has passed in which nothing was sent.
    fn restart(&mut self) {
        match self {
            Self::Cubic(cubic) => cubic.restart(),
            Self::Vegas(vegas) => vegas.restart(),
            Self::Reno | Self::Bic(_) => {}
        }
    }
}

/// A controller that counts segments.
#[derive(Clone, Debug)]
pub struct Segments {
    base: Reno,
    law: Law,
    hystart: Option<HyStart>,
    /// As it was before the last reduction, for one that proves needless.
    before: Option<Box<(Reno, Law)>>,
    /// Whether anybody will ever ask for it.
    keeps: bool,
    needs_full_window: bool,
    needs_advance: bool,
    backoff_keeps_ssthresh: bool,
    idle_floor: Option<u64>,
    /// Nothing sent since the last decay: ssthresh was set already.
    idle: bool,
}

impl Segments {
    pub(super) fn new(rules: &SegmentRules) -> Self {
        Self {
            base: Reno::new(&rules.window),
            law: Law::new(rules.algorithm),
            hystart: rules.hystart.then(HyStart::new),
            before: None,
            keeps: rules.undo,
            needs_full_window: rules.needs_full_window,
            needs_advance: rules.needs_advance,
            backoff_keeps_ssthresh: rules.backoff_keeps_ssthresh,
            idle_floor: rules.idle_floor,
            idle: false,
        }
    }

    pub(super) fn window(&self) -> Window {
        Window { cwnd: self.base.window(), ssthresh: self.base.ssthresh }
    }

    /// A segment has another size, bytes.
    pub(super) fn resize(&mut self, segment: u64) {
        let old = self.base.resize(segment);
        self.idle_floor = self.idle_floor.map(|bytes| bytes / old * segment);
        self.before = None;
    }

    // By value, so that nothing need be in memory for the rules of RFC 9260.
    #[inline(never)]
    pub(super) fn on_ack(&mut self, acked: Acked, timing: Timing) {
        self.idle = false;
        let full = !self.needs_full_window || acked.flight_before >= self.base.window();
        let advanced = !self.needs_advance || acked.cumulative_advanced;
        let mut bytes = acked.newly();
        if !full || !advanced || acked.in_recovery || bytes == 0 {
            return;
        }
        let Self { base, law, hystart, .. } = self;
        if let (Some(hystart), true) = (hystart, base.in_slow_start()) {
            bytes = hystart.on_ack(base, &timing, bytes);
        }
        match law {
            Law::Vegas(vegas) => vegas.on_ack(base, &timing, bytes),
            _ if base.in_slow_start() => base.slow_start(bytes),
            Law::Reno => base.avoid(bytes),
            Law::Bic(bic) => bic.avoid(base, &timing, bytes),
            Law::Cubic(cubic) => cubic.avoid(base, &timing, bytes),
        }
    }

    pub(super) fn on_congestion(&mut self, event: Congestion) {
        match event {
            Congestion::FastRetransmit(of) | Congestion::Ecn(of) => {
                self.keep();
                let after = self.reduced(of);
                self.base.on_fast_retransmit(after);
            }
            Congestion::OtherLane => {
                let before = self.base.cwnd;
                let after = self.reduced(Base::CWND);
                self.base.on_fast_retransmit(after);
                // Nothing of this lane was lost: no raise, and congestion avoidance.
                self.base.cwnd = self.base.cwnd.min(before);
                self.base.ssthresh = self.base.window();
            }
            Congestion::Timeout(of) => self.on_timeout(of),
        }
    }

    fn on_timeout(&mut self, of: Option<Base>) {
        let held = self.backoff_keeps_ssthresh && self.base.cwnd <= self.base.mss;
        let of = of.filter(|_| !held);
        if of.is_some() {
            self.keep();
        }
        let after = of.map(|of| self.reduced(of));
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.on_timeout();
        }
        self.base.on_timeout(after);
    }

    /// What is left after a loss, before any floor.
    fn reduced(&mut self, of: Base) -> f64 {
        let Self { base, law, hystart, .. } = self;
        // RFC 9406, section 4.2: "Standard HyStart++ ... for the initial slow start"; a loss ends it.
        *hystart = None;
        match law {
            Law::Reno | Law::Vegas(_) => base.of(of) / 2.0,
            Law::Bic(bic) => bic.reduced(base, base.of(of)),
            Law::Cubic(cubic) => cubic.reduced(base, base.of(of)),
        }
    }

    fn keep(&mut self) {
        if self.keeps {
            self.before = Some(Box::new((self.base.clone(), self.law.clone())));
        }
    }

    pub(super) fn undo(&mut self) {
        if let Some((base, law)) = self.before.take().map(|kept| *kept) {
            let cwnd = self.base.cwnd.max(base.cwnd);
            self.base = base;
            self.base.cwnd = cwnd;
            self.law = law;
        }
    }

    pub(super) fn on_idle(&mut self) {
        let Some(floor) = self.idle_floor else { return };
        if !self.idle {
            // "Before the first cwnd adjustment, the ssthresh SHOULD be set to the cwnd" (RFC 9260, 7.2.1).
            self.base.ssthresh = self.base.ssthresh.max(self.base.window());
            self.idle = true;
        }
        let cwnd = self.base.cwnd;
        self.base.cwnd = cwnd.min((cwnd / 2.0).max(floor as f64));
        self.law.restart();
    }

    pub(super) fn absorb(&mut self, window: u64, ssthresh: u64) {
        self.base.cwnd += window as f64;
        self.base.ssthresh = self.base.ssthresh.saturating_add(ssthresh);
        self.law.restart();
    }

    pub(super) fn set_cwnd(&mut self, bytes: u64) {
        self.base.cwnd = bytes as f64;
    }

    pub(super) fn limit_cwnd(&mut self, bytes: u64) {
        self.base.cwnd = self.base.cwnd.min(bytes as f64);
    }

    pub(super) fn restart(&mut self) {
        self.law.restart();
    }

    pub(super) fn seed_ssthresh(&mut self, bytes: u64) {
        self.base.ssthresh = bytes.max(2 * self.base.mss as u64);
    }
}

#[cfg(test)]
mod tests;
