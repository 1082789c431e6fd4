//! The controllers of TCP: slow start, restart and undo are one (`Reno`); the laws of congestion avoidance and the
//! window after a loss differ.

use super::bic::Bic;
use super::cubic::Cubic;
use super::event::{Acked, Base, Congestion, Timing};
use super::growth::Growth;
use super::hystart::HyStart;
use super::reno::{Reno, WindowRules};
use super::validation::{PERIOD, Validation};
use super::vegas::Vegas;
use super::window::Window;
use super::words::words;
use anabranch_base::{Duration, cold_path};

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
        /// BBR, version 3 (draft-ietf-ccwg-bbr-05).
        Bbr = "bbr",
    }
}

/// The parameters of a controller that counts segments.
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
    /// CUBIC: fast convergence (RFC 9438, 4.7) only where the window has grown since the last reduction, and is smaller than the one before
    /// by more than chance makes it.
    pub gentle_convergence: bool,
    /// The window stays while the user does not fill it, and a loss reduces the used part (RFC 7661).
    pub validation: bool,
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
    /// `None` for BBR, which has no window of segments.
    fn new(rules: &SegmentRules) -> Option<Self> {
        Some(match rules.algorithm {
            Algorithm::Reno => Self::Reno,
            Algorithm::Bic => Self::Bic(Bic::new()),
            Algorithm::Cubic => Self::Cubic(Cubic::new(rules.gentle_convergence)),
            Algorithm::Vegas => Self::Vegas(Vegas::new()),
            Algorithm::Bbr => return None,
        })
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

/// The state before a reduction, for its undo.
#[derive(Clone, Debug)]
struct Before {
    base: Reno,
    law: Law,
    hystart: Option<HyStart>,
}

/// A controller that counts segments.
#[derive(Clone, Debug)]
pub struct Segments {
    base: Reno,
    law: Law,
    hystart: Option<HyStart>,
    /// The window before the last reduction, in case that proves needless.
    before: Option<Box<Before>>,
    /// Whether the values before a reduction are kept.
    keeps: bool,
    needs_full_window: bool,
    needs_advance: bool,
    backoff_keeps_ssthresh: bool,
    idle_floor: Option<u64>,
    validation: Option<Validation>,
    /// A packet in so many round trips, as the coupling of the lanes has it; growth less than a byte.
    phi: f64,
    owed: f64,
    /// Nothing sent since the last decay: ssthresh was set already.
    idle: bool,
}

impl Segments {
    /// `None` where the algorithm is none of this family.
    pub(super) fn new(rules: &SegmentRules) -> Option<Self> {
        Some(Self {
            base: Reno::new(&rules.window),
            law: Law::new(rules)?,
            hystart: rules.hystart.then(HyStart::new),
            before: None,
            keeps: rules.undo,
            needs_full_window: rules.needs_full_window,
            needs_advance: rules.needs_advance,
            backoff_keeps_ssthresh: rules.backoff_keeps_ssthresh,
            idle_floor: rules.idle_floor,
            validation: rules.validation.then(|| Validation::new(rules.window.initial_window)),
            phi: 1.0,
            owed: 0.0,
            idle: false,
        })
    }

    /// Reno and CUBIC are slower in congestion avoidance under a coupling.
    pub(super) fn set_growth(&mut self, growth: Growth) {
        self.phi = growth.phi();
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

    /// `cwnd` is the value of [`Self::window`], which the caller has at hand.
    #[inline]
    pub(super) fn on_ack(&mut self, acked: &Acked, timing: &Timing, cwnd: u64) {
        self.idle = false;
        let full = !self.needs_full_window || acked.flight_before >= cwnd;
        let advanced = !self.needs_advance || acked.cumulative_advanced;
        let mut bytes = acked.newly();
        if let Some(validation) = &mut self.validation {
            if validation.on_ack(acked, cwnd, timing.now) {
                cold_path();
                self.shrink_unused();
            }
            if let (Law::Cubic(cubic), false) = (&mut self.law, full || acked.in_recovery) {
                cubic.limited(timing.now);
            }
        }
        if acked.in_recovery || bytes == 0 {
            return;
        }
        let Self { base, law, hystart, .. } = self;
        // Rounds and round trips are looked at whether the window grows or not.
        if let (Some(hystart), true) = (hystart, base.in_slow_start()) {
            bytes = hystart.on_ack(base, timing, bytes);
        }
        if !full || !advanced {
            return;
        }
        match law {
            Law::Vegas(vegas) => vegas.on_ack(base, timing, bytes),
            _ if base.in_slow_start() => base.slow_start(bytes),
            Law::Reno if self.phi > 1.0 => {
                let due = self.owed + bytes as f64 / self.phi;
                self.owed = due.fract();
                base.avoid(due as u64);
            }
            Law::Reno => base.avoid(bytes),
            Law::Bic(bic) => bic.avoid(base, timing, bytes),
            Law::Cubic(cubic) => cubic.avoid(base, timing, bytes, self.phi),
        }
    }

    pub(super) fn on_congestion(&mut self, event: Congestion) {
        match event {
            Congestion::FastRetransmit(of) => {
                self.keep();
                let after = self.reduced(of, None);
                self.base.on_fast_retransmit(after);
            }
            Congestion::LostAgain(of) => {
                // The reduction was needed: there is nothing to take back.
                self.before = None;
                let before = self.base.cwnd;
                let after = self.reduced(of, None);
                self.base.on_fast_retransmit(after);
                self.base.cwnd = self.base.cwnd.min(before);
            }
            Congestion::Ecn(of) => {
                // A mark shows that there was a queue: the reduction is never taken back.
                self.before = None;
                let after = self.reduced(of, None);
                self.base.on_fast_retransmit(after);
            }
            Congestion::EcnKeep(millionths) => {
                self.before = None;
                let before = self.base.cwnd;
                let after = self.reduced(Base::CWND, Some(f64::from(millionths) / 1e6));
                self.base.on_fast_retransmit(after);
                self.base.cwnd = self.base.cwnd.min(before);
            }
            Congestion::OtherLane => {
                let before = self.base.cwnd;
                let after = self.reduced(Base::CWND, None);
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
        let after = of.map(|of| self.reduced(of, None));
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.on_timeout();
        }
        self.base.on_timeout(after);
    }

    /// The window after a loss, before any floor; `part` of it, where the law is not to decide.
    fn reduced(&mut self, of: Base, part: Option<f64>) -> f64 {
        // RFC 7661, 4.4.1: where less than half of the window was used, the used part is reduced.
        if let Some(used) =
            self.validation.as_ref().and_then(|validation| validation.used(self.base.window()))
        {
            self.base.cwnd = self.base.cwnd.min(used.max(2 * self.base.mss as u64) as f64);
        }
        let Self { base, law, hystart, .. } = self;
        // RFC 9406, section 4.2: "Standard HyStart++ ... for the initial slow start"; a loss ends it.
        *hystart = None;
        match law {
            Law::Reno | Law::Vegas(_) => base.of(of) * part.unwrap_or(0.5),
            Law::Bic(bic) => {
                let bytes = base.of(of);
                let after = bic.reduced(base, bytes);
                part.map_or(after, |part| bytes * part)
            }
            Law::Cubic(cubic) => cubic.reduced(base, base.of(of), part),
        }
    }

    fn keep(&mut self) {
        if self.keeps {
            let (base, law, hystart) = (self.base.clone(), self.law.clone(), self.hystart.clone());
            self.before = Some(Box::new(Before { base, law, hystart }));
        }
    }

    pub(super) fn undo(&mut self) {
        if let Some(Before { base, law, hystart }) = self.before.take().map(|kept| *kept) {
            let cwnd = self.base.cwnd.max(base.cwnd);
            self.base = base;
            self.base.cwnd = cwnd;
            self.law = law;
            // Where nothing was lost the initial slow start has not ended (RFC 9406, 4.2). Its round has, meanwhile.
            self.hystart = hystart;
            if let Some(hystart) = &mut self.hystart {
                hystart.end_round();
            }
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

    /// "ssthresh = max(ssthresh, 3*cwnd/4); cwnd = max(cwnd/2, IW)" (RFC 7661, 4.4.2).
    #[cold]
    fn shrink_unused(&mut self) {
        let Some(validation) = &self.validation else { return };
        let cwnd = self.base.window();
        self.base.ssthresh = self.base.ssthresh.max(cwnd / 4 * 3);
        self.base.cwnd = self.base.cwnd.min((cwnd / 2).max(validation.initial) as f64);
    }

    /// Nothing was sent for so long.
    pub(super) fn on_pause(&mut self, idle: Duration) {
        let Some(validation) = &mut self.validation else { return };
        if idle >= PERIOD {
            validation.on_pause();
        }
        // For each five minutes.
        for _ in 0..(idle.as_nanos() / PERIOD.as_nanos()).min(60) {
            self.shrink_unused();
        }
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

    /// See [`super::Controller::end_round`].
    pub(super) fn end_round(&mut self) {
        if let Law::Vegas(vegas) = &mut self.law {
            vegas.end_round();
        }
        if let Some(hystart) = &mut self.hystart {
            hystart.end_round();
        }
    }

    pub(super) fn seed_ssthresh(&mut self, bytes: u64) {
        self.base.ssthresh = bytes.max(2 * self.base.mss as u64);
    }
}

#[cfg(test)]
mod tests;
