//! How much may be outstanding: the congestion controllers.
//!
//! The connection says what happened; the controller answers with a window. It does not know what is lost or why.
//! All share slow start, restart and undo ([`Reno`]); they differ in congestion avoidance and in what a loss leaves.

mod bic;
mod cubic;
mod hystart;
mod reno;
#[cfg(test)]
mod tests;
mod vegas;

use crate::config::{Config, Controller, InitialWindow};
use anabranch_base::{Duration, Instant};
use bic::Bic;
use cubic::Cubic;
use hystart::HyStart;
use reno::Reno;
use vegas::Vegas;

/// What an acknowledgement of new data means for the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    /// Bytes acknowledged for the first time.
    pub(crate) bytes: u64,
    pub(crate) now: Instant,
    /// The round-trip sample that it gave, if any.
    pub(crate) rtt: Option<Duration>,
    pub(crate) srtt: Option<Duration>,
    /// First sequence number not acknowledged, and first never sent: rounds are told by them.
    pub(crate) una: u64,
    pub(crate) max: u64,
}

/// The law of congestion avoidance. An enum, not a trait object: there are few, and they are on the hot path.
#[derive(Clone, Debug)]
enum Law {
    Reno,
    Bic(Bic),
    Cubic(Cubic),
    Vegas(Vegas),
}

/// A congestion controller.
#[derive(Debug)]
pub(crate) struct Congestion {
    base: Reno,
    law: Law,
    hystart: Option<HyStart>,
    /// As it was before the last reduction, for one that proves needless.
    before: Option<Box<(Reno, Law)>>,
    /// Whether anybody will ever ask for it.
    keeps: bool,
}

impl Congestion {
    pub(crate) fn new(config: &Config, mss: u64) -> Self {
        let law = match config.controller {
            Controller::Reno => Law::Reno,
            Controller::Bic => Law::Bic(Bic::new()),
            Controller::Cubic => Law::Cubic(Cubic::new()),
            Controller::Vegas => Law::Vegas(Vegas::new()),
        };
        Self {
            base: Reno::new(config, mss),
            law,
            hystart: config.hystart.then(HyStart::new),
            before: None,
            keeps: config.undo,
        }
    }

    /// Congestion window in bytes.
    pub(crate) fn window(&self) -> u64 {
        self.base.window()
    }

    pub(crate) fn ssthresh(&self) -> u64 {
        self.base.ssthresh
    }

    /// New data was acknowledged outside loss recovery.
    pub(crate) fn on_ack(&mut self, acked: Acked) {
        let Self { base, law, hystart, .. } = self;
        let mut acked = acked;
        if let (Some(hystart), true) = (hystart, base.in_slow_start()) {
            acked.bytes = hystart.on_ack(base, &acked);
        }
        match law {
            Law::Vegas(vegas) => vegas.on_ack(base, &acked),
            _ if base.in_slow_start() => base.slow_start(acked.bytes),
            Law::Reno => base.avoid(acked.bytes),
            Law::Bic(bic) => bic.avoid(base, &acked),
            Law::Cubic(cubic) => cubic.avoid(base, &acked),
        }
    }

    /// Fast retransmit begins; `base` bytes are what RFC 5681 calls FlightSize.
    pub(crate) fn on_fast_retransmit(&mut self, base: Base) {
        self.keep();
        let after = self.reduced(base);
        self.base.on_fast_retransmit(after);
    }

    /// The retransmission timer expired; `base` is `None` when ssthresh must stay as it is.
    pub(crate) fn on_timeout(&mut self, base: Option<Base>) {
        if base.is_some() {
            self.keep();
        }
        let after = base.map(|base| self.reduced(base));
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.on_timeout();
        }
        self.base.on_timeout(after);
    }

    /// What is left of `base` after a loss, before any floor.
    fn reduced(&mut self, base: Base) -> f64 {
        let Self { base: reno, law, hystart, .. } = self;
        // RFC 9406, section 4.2: "Standard HyStart++ ... for the initial slow start"; a loss ends it.
        *hystart = None;
        match law {
            Law::Reno | Law::Vegas(_) => reno.of(base) / 2.0,
            Law::Bic(bic) => bic.reduced(reno, reno.of(base)),
            Law::Cubic(cubic) => cubic.reduced(reno, reno.of(base)),
        }
    }

    fn keep(&mut self) {
        if self.keeps {
            self.before = Some(Box::new((self.base.clone(), self.law.clone())));
        }
    }

    /// The last reduction was needless: window and threshold are at least what they were (RFC 4015, section 3.2, with
    /// the whole window at once).
    pub(crate) fn undo(&mut self) {
        if let Some((base, law)) = self.before.take().map(|kept| *kept) {
            let cwnd = self.base.cwnd.max(base.cwnd);
            self.base = base;
            self.base.cwnd = cwnd;
            self.law = law;
        }
    }

    /// Fast recovery is over; the window is at most `limit`.
    pub(crate) fn on_recovered(&mut self, limit: Option<u64>) {
        if let Some(limit) = limit {
            self.base.cwnd = self.base.cwnd.min(limit as f64);
        }
    }

    /// The window is what another rule made of it (gradual reduction, FreeBSD's extra segment).
    pub(crate) fn set_window(&mut self, bytes: u64) {
        self.base.cwnd = bytes as f64;
    }

    /// The threshold that an earlier connection to the same host left.
    pub(crate) fn seed_ssthresh(&mut self, bytes: u64) {
        self.base.ssthresh = bytes.max(2 * self.base.mss as u64);
    }

    /// After an idle time, or a handshake with losses: start again with at most `window`.
    pub(crate) fn restart(&mut self, window: InitialWindow) {
        self.base.cwnd = self.base.cwnd.min(window.bytes(self.base.mss as u64) as f64);
        match &mut self.law {
            Law::Cubic(cubic) => cubic.restart(),
            Law::Vegas(vegas) => vegas.restart(),
            Law::Reno | Law::Bic(_) => {}
        }
    }
}

/// What a loss reduces.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    /// So many bytes in flight.
    Flight(u64),
    /// The window itself, but no more than this limit.
    Window(u64),
}
