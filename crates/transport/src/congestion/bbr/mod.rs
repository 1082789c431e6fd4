//! BBR, version 3 (draft-ietf-ccwg-bbr-05): window and pacing rate follow a model of the path, not each loss.
//!
//! The model has the rate that the path delivers (`max_bw`), its shortest round trip (`min_rtt`), and bounds of rate and volume that
//! losses have taught: those of the short term hold until bandwidth is probed next, the one of the long term until probing raises it.
//! `model` keeps it, `phases` probes it, `window` turns it into a window and a rate, and
//! `events` takes the events of the sender.
//!
//! docs/explanation/rate.md explains the differences from the draft: samples as small as the least one confirm it (no `ProbeRTT` for
//! a flow that sees an empty queue anyway), and losses that come at any load do not count as congestion (`noise`).

mod constants;
mod events;
mod model;
mod noise;
mod phases;
#[cfg(test)]
mod tests;
mod window;

use anabranch_base::{Duration, Instant};

use super::growth::Growth;
use super::window::Window;
use crate::delivery::Delivery;
use constants::{CWND_GAIN, CWND_GAIN_UP, DRAIN_GAIN, NONE, PROBE_RTT_GAIN, STARTUP_GAIN};
use model::Model;

/// The parameters of BBR.
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

/// The state that is restored when a loss episode proves spurious (draft-ietf-ccwg-bbr-05, 5.5.11).
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
    /// The part that this lane is to have of the rate of a flow alone: 1 / sqrt(Phi).
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
    /// BBR.full_bw and its state.
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

    /// As the coupling of the lanes has it.
    pub(super) fn set_growth(&mut self, growth: Growth) {
        self.share = growth.phi().sqrt().recip();
    }

    /// One of the departures that are remembered, chosen by `draw`.
    #[cfg(test)]
    fn on_known_departure(&self, draw: u64) -> Option<Instant> {
        self.delivery.departure_at(draw)
    }

    /// A full packet has another size, bytes.
    pub(super) fn resize(&mut self, unit: u64) {
        self.unit = unit.max(1);
        self.model.noise.resize(unit);
    }

    /// The window of another lane comes here, bytes.
    pub(super) fn absorb(&mut self, window: u64) {
        self.cwnd = self.cwnd.saturating_add(window);
    }

    /// Sets the window to a size that another rule has given, bytes.
    pub(super) fn set_cwnd_to(&mut self, bytes: u64) {
        self.cwnd = bytes;
    }
}
