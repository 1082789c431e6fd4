//! The model as a window and a rate (draft-ietf-ccwg-bbr-05, 5.6).

use anabranch_base::Duration;

use super::constants::{COUPLED_GAIN, MARGIN, MIN_PIPE, MOST_QUANTUM, NONE, PROBE_RTT_GAIN, STARTUP_GAIN};
use super::{Bbr, State};
use crate::delivery::Sample;

impl Bbr {
    /// `send_quantum`, bytes (draft-ietf-ccwg-bbr-05, 5.6.3).
    pub(crate) fn quantum(&self) -> u64 {
        ((self.pacing_rate * 0.001) as u64).min(MOST_QUANTUM).max(2 * self.unit)
    }

    /// "BBRInitPacingRate": the first window in the first round trip, times the gain of Startup.
    pub(super) fn init_pacing_rate(&mut self, rtt: Option<Duration>) {
        if let Some(rtt) = rtt.filter(|rtt| *rtt > Duration::ZERO) {
            self.pacing_rate = STARTUP_GAIN * self.initial_window as f64 / rtt.as_secs_f64();
        }
    }

    /// Gain of the window. A lane of a coupled association has its share of the data in flight beyond the path's own: a queue serves its
    /// flows in proportion to the data of each in it.
    fn cwnd_gain(&self) -> f64 {
        let gain = self.state.cwnd_gain();
        match self.state {
            State::Startup | State::ProbeRtt => gain,
            _ => COUPLED_GAIN + (gain - COUPLED_GAIN) * self.share,
        }
    }

    /// "BBRSetPacingRateWithGain".
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.model.send_bw() * MARGIN;
        if rate >= 1.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// "BBRQuantizationBudget".
    fn with_budget(&self, inflight: u64) -> u64 {
        let least = inflight.max(self.quantum()).max(MIN_PIPE * self.unit);
        if self.state == State::Up { least.saturating_add(2 * self.unit) } else { least }
    }

    /// "BBRInflight": with the rate that the model allows.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> u64 {
        self.with_budget(self.model.bdp_multiple(bw, gain).unwrap_or(self.initial_window))
    }

    /// "BBRSetCwnd".
    pub(super) fn set_cwnd(&mut self, sample: &Sample) {
        let most = self.model.bdp_multiple(self.model.send_bw(), self.cwnd_gain());
        let most = most.unwrap_or(self.initial_window).saturating_add(self.model.extra_acked());
        let max_inflight = self.with_budget(most);
        if self.full_bw_reached {
            self.cwnd = self.cwnd.saturating_add(sample.newly).min(max_inflight);
        } else if self.cwnd < max_inflight || self.delivery.delivered() < self.initial_window {
            self.cwnd = self.cwnd.saturating_add(sample.newly);
        }
        self.cwnd = self.cwnd.max(MIN_PIPE * self.unit);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd();
    }

    /// "BBRProbeRTTCwnd".
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        let half =
            self.model.bdp_multiple(self.model.send_bw(), PROBE_RTT_GAIN).unwrap_or(self.initial_window);
        half.max(MIN_PIPE * self.unit)
    }

    /// "BBRBoundCwndForModel".
    fn bound_cwnd(&mut self) {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.model.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.model.inflight_with_headroom(self.unit),
            State::Startup | State::Drain => NONE,
        };
        let cap = cap.min(self.model.inflight_shortterm).max(MIN_PIPE * self.unit);
        self.cwnd = self.cwnd.min(cap);
    }

    /// "BBRSaveCwnd".
    pub(super) fn save_cwnd(&mut self) {
        let reduced = self.in_recovery || self.timeout_until.is_some() || self.state == State::ProbeRtt;
        self.prior_cwnd = if reduced { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// "BBRRestoreCwnd".
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
