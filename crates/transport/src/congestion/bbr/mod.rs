//! BBR, version 3 (draft-ietf-ccwg-bbr-05): window and pacing rate follow a model of the path, not each loss.
//!
//! The model has the rate that the path delivers (`max_bw`), its shortest round trip (`min_rtt`), and bounds of rate and volume that
//! losses have taught: those of the short term hold until bandwidth is probed next, the one of the long term until probing raises it.
//! `model` keeps it, `phases` probes it, this file turns it into a window and a rate.
//!
//! Where this differs from the draft, and why, says docs/rate-bbr.md: samples as small as the least one confirm it (no `ProbeRTT` for
//! a flow that sees an empty queue anyway), and losses that come at any load do not count as congestion (`noise`).

mod constants;
mod model;
mod noise;
mod phases;
#[cfg(test)]
mod tests;

use anabranch_base::{Duration, Instant};

use super::event::{Acked, Congestion, Timing};
use super::growth::Growth;
use super::window::Window;
use crate::delivery::{Delivery, Sample};
use constants::{
    BETA, COUPLED_GAIN, CWND_GAIN, CWND_GAIN_UP, DRAIN_GAIN, MARGIN, MIN_PIPE, MOST_QUANTUM, NONE,
    PROBE_RTT_GAIN, STARTUP_GAIN,
};
use model::Model;

/// What BBR is told.
#[derive(Clone, Copy, Debug)]
pub struct BbrRules {
    /// A full packet as windows count it, bytes: SMSS.
    pub unit: u64,
    /// The first window, bytes.
    pub initial_window: u64,
}

/// BBR.state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// "IsInAProbeBWState".
    fn probes_bandwidth_in_turns(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// "BBRIsProbingBW".
    fn accelerates(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    /// Pacing gain (draft-ietf-ccwg-bbr-05, table of 5.6.1).
    fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_GAIN,
            Self::Drain => DRAIN_GAIN,
            Self::Down => 0.90,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
            Self::Up => 1.25,
        }
    }

    /// Gain of the window.
    fn cwnd_gain(self) -> f64 {
        match self {
            Self::Up => CWND_GAIN_UP,
            Self::ProbeRtt => PROBE_RTT_GAIN,
            _ => CWND_GAIN,
        }
    }
}

/// `ack_phase`: which acknowledgements those are that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// What is restored when a loss episode proves spurious (draft-ietf-ccwg-bbr-05, 5.5.11).
#[derive(Clone, Copy, Debug)]
struct Undo {
    state: State,
    bw_shortterm: f64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

/// A controller that follows a model of the path.
#[derive(Clone, Debug)]
pub struct Bbr {
    cwnd: u64,
    unit: u64,
    /// Of what a flow alone would take, the part that this lane is to have: 1 / sqrt(Phi).
    share: f64,
    initial_window: u64,
    delivery: Delivery,
    model: Model,
    state: State,
    /// Bytes a second; zero until a round trip is known.
    pacing_rate: f64,
    /// The last window that neither recovery nor `ProbeRTT` had reduced.
    prior_cwnd: u64,
    /// Until so much is delivered the window is that of a timeout.
    timeout_until: Option<u64>,
    /// BBR.full_bw and what belongs to it.
    full_bw: f64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    drain_start_round: u64,
    ack_phase: AckPhase,
    cycle_stamp: Instant,
    probe_wait: Duration,
    rounds_since_probe: u64,
    probe_up_rounds: u32,
    probe_up_acks: u64,
    probe_up_count: f64,
    probe_samples: bool,
    probe_rtt_done: Option<Instant>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    /// Losses of the round of Startup: how often some were found, and when last.
    loss_events: u32,
    last_loss_event: Option<Instant>,
    /// The window was full at a time of this round, and of the last one.
    limited_now: bool,
    limited_before: bool,
    in_recovery: bool,
    undo: Option<Undo>,
    /// In flight after the acknowledgement that is being read, or the last packet.
    inflight: u64,
}

impl Bbr {
    pub(super) fn new(rules: &BbrRules) -> Self {
        Self {
            cwnd: rules.initial_window.max(rules.unit),
            unit: rules.unit.max(1),
            share: 1.0,
            initial_window: rules.initial_window,
            delivery: Delivery::default(),
            model: Model::new(rules.unit),
            state: State::Startup,
            pacing_rate: 0.0,
            prior_cwnd: 0,
            timeout_until: None,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            drain_start_round: 0,
            ack_phase: AckPhase::Init,
            cycle_stamp: Instant::ZERO,
            probe_wait: Duration::ZERO,
            rounds_since_probe: 0,
            probe_up_rounds: 0,
            probe_up_acks: 0,
            probe_up_count: f64::INFINITY,
            probe_samples: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            loss_events: 0,
            last_loss_event: None,
            limited_now: false,
            limited_before: false,
            in_recovery: false,
            undo: None,
            inflight: 0,
        }
    }

    pub(super) fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: NONE }
    }

    /// Bytes a second; `None` until a round trip is known.
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        (self.pacing_rate >= 1.0).then_some(self.pacing_rate as u64)
    }

    /// `send_quantum`, bytes (draft-ietf-ccwg-bbr-05, 5.6.3).
    pub(super) fn quantum(&self) -> u64 {
        ((self.pacing_rate * 0.001) as u64).min(MOST_QUANTUM).max(2 * self.unit)
    }

    /// A packet left; bytes in flight before it, and with it. `dry`: nothing else waits to be sent.
    pub(super) fn on_sent(&mut self, now: Instant, before: u64, in_flight: u64, dry: bool) {
        // "BBRHandleRestartFromIdle" (draft-ietf-ccwg-bbr-05, 5.4.1).
        if before == 0 && self.delivery.is_app_limited() {
            self.idle_restart = true;
            self.model.restart_aggregation(now);
            if self.state.probes_bandwidth_in_turns() {
                self.set_pacing_rate(1.0);
            } else if self.state == State::ProbeRtt {
                self.check_probe_rtt_done(now);
            }
        }
        self.delivery.sent(now, before, in_flight);
        self.inflight = in_flight;
        if in_flight.saturating_add(self.unit) > self.cwnd {
            self.limited_now = true;
        } else if dry {
            self.delivery.ran_dry(now, in_flight);
        }
    }

    /// A part of the flight was declared lost (draft-ietf-ccwg-bbr-05, 5.5.10.2).
    pub(super) fn on_lost(&mut self, now: Instant, sent_at: Instant, bytes: u64) {
        let lost = self.delivery.lost_at(sent_at, bytes);
        self.model.note_loss_bytes(bytes);
        self.note_loss();
        if self.last_loss_event != Some(now) {
            self.last_loss_event = Some(now);
            self.loss_events = self.loss_events.saturating_add(1);
        }
        let Some(lost) = lost.filter(|_| self.probe_samples) else { return };
        if self.model.too_many_lost(lost.lost, lost.in_flight) {
            let at_loss = self.model.inflight_at_loss(&lost, bytes);
            self.handle_inflight_too_high(now, at_loss, lost.app_limited);
        }
    }

    /// "BBRNoteLoss".
    fn note_loss(&mut self) {
        if !self.model.loss_in_round {
            self.model.loss_round_delivered = self.delivery.delivered();
            self.save_for_undo();
        }
        self.model.loss_in_round = true;
    }

    /// "BBRSaveStateUponLoss".
    fn save_for_undo(&mut self) {
        self.undo = Some(Undo {
            state: self.state,
            bw_shortterm: self.model.bw_shortterm,
            inflight_shortterm: self.model.inflight_shortterm,
            inflight_longterm: self.model.inflight_longterm,
        });
    }

    /// "BBRSaveCwnd".
    fn save_cwnd(&mut self) {
        let reduced = self.in_recovery || self.timeout_until.is_some() || self.state == State::ProbeRtt;
        self.prior_cwnd = if reduced { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// "BBRUpdateOnACK".
    pub(super) fn on_ack(&mut self, acked: &Acked, timing: &Timing) {
        let now = timing.now;
        if timing.starved && timing.flight_before < self.cwnd {
            self.delivery.limited_by_application(timing.flight_before);
        }
        self.inflight = timing.flight;
        let sample = self.delivery.acked(now, acked.newly(), timing.newest_sent, timing.rtt);
        if sample.newly == 0 {
            return;
        }
        if self.pacing_rate < 1.0 {
            self.init_pacing_rate(timing.srtt.or(timing.rtt));
        }
        if self.in_recovery && !acked.in_recovery {
            self.in_recovery = false;
            self.restore_cwnd();
        }
        self.update_model_and_state(now, &sample);
        // "BBRUpdateControlParameters".
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_cwnd(&sample);
        if self.model.round_start {
            self.limited_before = std::mem::take(&mut self.limited_now);
        }
    }

    fn update_model_and_state(&mut self, now: Instant, sample: &Sample) {
        let delivered = self.delivery.delivered();
        self.model.update_latest_signals(sample, delivered);
        if self.model.update_round(sample, delivered) {
            self.rounds_since_probe += 1;
            if self.timeout_until.is_some_and(|until| sample.prior_delivered >= until) {
                self.timeout_until = None;
                self.restore_cwnd();
            }
        }
        self.model.update_max_bw(sample);
        if self.model.loss_round_start {
            self.count_noise(sample);
            self.adapt_lower_bounds();
            self.model.loss_in_round = false;
        }
        self.model.update_aggregation(now, sample, self.cwnd, self.full_bw_reached);
        self.check_full_bw(sample);
        self.check_startup_done(sample);
        self.check_drain_done(now);
        self.update_probe_bw(now, sample);
        self.model.update_min_rtt(now, sample.rtt);
        self.check_probe_rtt(now, sample);
        self.model.advance_latest_signals(sample);
        self.model.bound_bw();
    }

    /// What was lost in this round may be lost at any load.
    fn count_noise(&mut self, sample: &Sample) {
        let losses = self.model.round_losses();
        if self.state == State::Startup {
            let grew = self.full_bw_count == 0 && sample.rate >= self.full_bw;
            self.model.noise.count_startup(losses, grew);
        } else if matches!(self.state, State::Cruise | State::Down) && self.model.round_was_quiet() {
            self.model.noise.count(losses);
        }
    }

    /// "BBRAdaptLowerBoundsFromCongestion".
    fn adapt_lower_bounds(&mut self) {
        if self.model.loss_in_round && !self.state.accelerates() {
            self.model.lower_bounds(self.cwnd);
        }
    }

    /// "BBRInitPacingRate": the first window in the first round trip, times the gain of Startup.
    fn init_pacing_rate(&mut self, rtt: Option<Duration>) {
        if let Some(rtt) = rtt.filter(|rtt| *rtt > Duration::ZERO) {
            self.pacing_rate = STARTUP_GAIN * self.initial_window as f64 / rtt.as_secs_f64();
        }
    }

    /// Gain of the window. A lane of a coupled association has its share of what is in flight beyond the path's own: a queue goes to its
    /// flows in proportion to what each has in it.
    fn cwnd_gain(&self) -> f64 {
        let gain = self.state.cwnd_gain();
        match self.state {
            State::Startup | State::ProbeRtt => gain,
            _ => COUPLED_GAIN + (gain - COUPLED_GAIN) * self.share,
        }
    }

    /// "BBRSetPacingRateWithGain".
    fn set_pacing_rate(&mut self, gain: f64) {
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
    fn inflight(&self, bw: f64, gain: f64) -> u64 {
        self.with_budget(self.model.bdp_multiple(bw, gain).unwrap_or(self.initial_window))
    }

    /// "BBRSetCwnd".
    fn set_cwnd(&mut self, sample: &Sample) {
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
    fn probe_rtt_cwnd(&self) -> u64 {
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

    /// "BBRRestoreCwnd".
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// What the transport makes of losses: recovery begins, or T3-rtx has expired.
    pub(super) fn on_congestion(&mut self, event: Congestion) {
        match event {
            // The model has heard of each loss; "BBROnEnterFastRecovery" only remembers the window.
            Congestion::FastRetransmit(_) => {
                self.save_cwnd();
                self.note_loss();
                self.in_recovery = true;
            }
            // A marked packet counts as a lost one (`on_lost`), and nothing must be sent again: there is no recovery.
            Congestion::Ecn(_) | Congestion::EcnKeep(_) => {}
            Congestion::Timeout(_) => {
                // "BBROnEnterRTO": one packet, and the window from before once a round trip has gone well.
                self.save_cwnd();
                self.save_for_undo();
                self.timeout_until = Some(self.delivery.delivered());
                self.in_recovery = false;
                self.cwnd = self.unit;
            }
            // Another lane lost something at the bottleneck that both share.
            Congestion::OtherLane => self.model.scale_shortterm(self.cwnd, BETA),
        }
    }

    /// "BBRHandleSpuriousLossDetection".
    pub(super) fn undo(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.model.loss_in_round = false;
        self.reset_full_bw(0.0);
        self.model.bw_shortterm = self.model.bw_shortterm.max(undo.bw_shortterm);
        self.model.inflight_shortterm = self.model.inflight_shortterm.max(undo.inflight_shortterm);
        self.model.inflight_longterm = self.model.inflight_longterm.max(undo.inflight_longterm);
        self.in_recovery = false;
        self.timeout_until = None;
        self.restore_cwnd();
        if self.state != State::ProbeRtt && self.state != undo.state {
            match undo.state {
                State::Startup => self.enter_startup(),
                State::Up => self.start_up(self.model.bw_latest),
                _ => {}
            }
        }
    }

    /// As the coupling of the lanes has it.
    pub(super) fn set_growth(&mut self, growth: Growth) {
        self.share = growth.phi().sqrt().recip();
    }

    /// One of the departures that are remembered.
    #[cfg(test)]
    fn on_known_departure(&self, draw: u64) -> Option<Instant> {
        self.delivery.departure_at(draw)
    }

    /// A full packet has another size, bytes.
    pub(super) fn resize(&mut self, unit: u64) {
        self.unit = unit.max(1);
    }

    /// The window of another lane comes here, bytes.
    pub(super) fn absorb(&mut self, window: u64) {
        self.cwnd = self.cwnd.saturating_add(window);
    }

    /// The window is what another rule made of it, bytes.
    pub(super) fn set_cwnd_to(&mut self, bytes: u64) {
        self.cwnd = bytes;
    }
}
