//! The machine of states: Startup, Drain, the four phases of ProbeBW, ProbeRTT (draft-ietf-ccwg-bbr-05, 5.3).

use anabranch_base::{Duration, Instant};

use super::constants::{BETA, NONE, PROBE_RTT_DURATION, STARTUP_LOSSES};
use super::{AckPhase, Bbr, State};
use crate::delivery::Sample;

/// Rounds of Drain after which its estimate is given up.
const DRAIN_ROUNDS: u64 = 3;
/// Rounds between two probes, where Reno would need so few (draft-ietf-ccwg-bbr-05, 5.3.3.5).
const RENO_ROUNDS: u64 = 63;

impl Bbr {
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// "BBRResetFullBW", with a new baseline.
    pub(super) fn reset_full_bw(&mut self, baseline: f64) {
        self.full_bw = baseline;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// "BBRCheckFullBWReached": three rounds without a quarter more.
    pub(super) fn check_full_bw(&mut self, sample: &Sample) {
        if self.full_bw_now || !self.model.round_start || sample.app_limited || sample.rate <= 0.0 {
            return;
        }
        if sample.rate >= self.full_bw * 1.25 {
            return self.reset_full_bw(sample.rate);
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// "BBRCheckStartupDone".
    pub(super) fn check_startup_done(&mut self, sample: &Sample) {
        self.check_startup_loss(sample);
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.model.round_count;
        }
    }

    /// "BBRCheckStartupHighLoss" (draft-ietf-ccwg-bbr-05, 5.3.1.3).
    fn check_startup_loss(&mut self, sample: &Sample) {
        if self.full_bw_reached || !self.model.loss_round_start {
            return;
        }
        let many = std::mem::take(&mut self.loss_events) >= STARTUP_LOSSES;
        // A path whose rate still grows is not full, even if it loses packets.
        let stagnant = self.full_bw_count > 0;
        if many
            && stagnant
            && self.in_recovery
            && sample.known
            && self.model.too_many_lost(sample.lost, sample.in_flight)
        {
            self.full_bw_reached = true;
            let bdp = self.model.bdp_multiple(self.model.send_max_bw(), 1.0).unwrap_or(0);
            self.model.inflight_longterm = bdp.max(self.model.inflight_latest());
        }
    }

    /// "BBRCheckDrainDone".
    pub(super) fn check_drain_done(&mut self, now: Instant) {
        if self.state != State::Drain {
            return;
        }
        let late = self.model.round_count > self.drain_start_round + DRAIN_ROUNDS;
        if late || self.inflight <= self.inflight(self.model.send_bw(), 1.0) {
            self.start_down(now);
        }
    }

    /// "BBRStartProbeBW_DOWN".
    fn start_down(&mut self, now: Instant) {
        self.model.reset_congestion_signals();
        self.model.noise.age();
        self.probe_up_count = f64::INFINITY;
        self.pick_probe_wait(now);
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.model.start_round(self.delivery.delivered());
        self.state = State::Down;
    }

    fn start_refill(&mut self) {
        self.model.reset_shortterm();
        self.probe_up_rounds = 0;
        self.probe_up_acks = 0;
        self.ack_phase = AckPhase::Refilling;
        self.model.start_round(self.delivery.delivered());
        self.state = State::Refill;
    }

    pub(super) fn start_up(&mut self, bw: f64) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.model.start_round(self.delivery.delivered());
        self.reset_full_bw(bw);
        self.state = State::Up;
        self.raise_longterm_slope();
    }

    /// "BBRPickProbeWait": 2 to 3 seconds, and 0 or 1 rounds less. Flows differ: time and bytes delivered are the seed.
    fn pick_probe_wait(&mut self, now: Instant) {
        let draw = mixed(now.as_nanos() ^ self.delivery.delivered().rotate_left(32));
        self.rounds_since_probe = draw & 1;
        self.probe_wait = Duration::from_secs(2) + Duration::from_nanos((draw >> 1) % 1_000_000_000);
    }

    /// "BBRTargetInflight".
    fn target_inflight(&self) -> u64 {
        self.model.bdp_multiple(self.model.send_bw(), 1.0).unwrap_or(self.initial_window).min(self.cwnd)
    }

    /// "BBRIsTimeToProbeBW".
    fn probe_is_due(&self, now: Instant) -> bool {
        let packets = self.target_inflight() / self.unit;
        now > self.cycle_stamp + self.probe_wait || self.rounds_since_probe >= packets.min(RENO_ROUNDS)
    }

    /// "BBRUpdateProbeBWCyclePhase".
    pub(super) fn update_probe_bw(&mut self, now: Instant, sample: &Sample) {
        if !self.full_bw_reached {
            return;
        }
        self.adapt_longterm(now, sample);
        match self.state {
            State::Down => {
                if self.probe_is_due(now) {
                    self.start_refill();
                } else if self.is_time_to_cruise() {
                    self.state = State::Cruise;
                }
            }
            State::Cruise => {
                if self.probe_is_due(now) {
                    self.start_refill();
                }
            }
            State::Refill => {
                if self.model.round_start {
                    self.probe_samples = true;
                    self.start_up(sample.rate);
                }
            }
            State::Up => {
                if self.is_time_to_go_down(sample) {
                    self.start_down(now);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    fn is_time_to_cruise(&self) -> bool {
        self.inflight <= self.model.inflight_with_headroom(self.unit)
            && self.inflight <= self.inflight(self.model.send_max_bw(), 1.0)
    }

    /// The window was full in the last round trip.
    fn is_cwnd_limited(&self) -> bool {
        self.limited_now || self.limited_before
    }

    fn is_time_to_go_down(&mut self, sample: &Sample) -> bool {
        if self.is_cwnd_limited() && self.cwnd >= self.model.inflight_longterm {
            // The bound keeps the rate down: a plateau says nothing.
            self.reset_full_bw(sample.rate);
            return false;
        }
        self.full_bw_now
    }

    /// "BBRAdaptLongTermModel".
    fn adapt_longterm(&mut self, now: Instant, sample: &Sample) {
        if self.model.round_start {
            match self.ack_phase {
                AckPhase::ProbeStarting => self.ack_phase = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    self.probe_samples = false;
                    self.ack_phase = AckPhase::Init;
                    if self.state.probes_bandwidth_in_turns() && !sample.app_limited {
                        self.model.advance_max_bw();
                    }
                }
                _ => {}
            }
        }
        if sample.known && self.model.too_many_lost(sample.lost, sample.in_flight) {
            if self.probe_samples {
                self.handle_inflight_too_high(now, sample.in_flight, sample.app_limited);
            }
            return;
        }
        if self.model.inflight_longterm == NONE {
            return;
        }
        self.model.inflight_longterm = self.model.inflight_longterm.max(sample.in_flight);
        if self.state == State::Up {
            self.probe_longterm_upward(sample);
        }
    }

    /// "BBRHandleInflightTooHigh".
    pub(super) fn handle_inflight_too_high(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        self.probe_samples = false;
        if !app_limited {
            let least = (self.target_inflight() as f64 * BETA) as u64;
            self.model.inflight_longterm = in_flight.max(least);
        }
        if self.state == State::Up {
            self.start_down(now);
        }
    }

    /// "BBRRaiseInflightLongtermSlope": bytes to be acknowledged for a byte more.
    fn raise_longterm_slope(&mut self) {
        let growth = self.unit << self.probe_up_rounds.min(30);
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(30);
        self.probe_up_count = (self.cwnd as f64 / growth as f64).max(1.0);
    }

    /// "BBRProbeInflightLongtermUpward".
    fn probe_longterm_upward(&mut self, sample: &Sample) {
        if !self.is_cwnd_limited() || self.cwnd < self.model.inflight_longterm {
            return;
        }
        self.probe_up_acks = self.probe_up_acks.saturating_add(sample.newly);
        let delta = (self.probe_up_acks as f64 / self.probe_up_count) as u64;
        if delta > 0 {
            let used = (delta as f64 * self.probe_up_count) as u64;
            self.probe_up_acks = self.probe_up_acks.saturating_sub(used);
            self.model.inflight_longterm = self.model.inflight_longterm.saturating_add(delta);
        }
        if self.model.round_start {
            self.raise_longterm_slope();
        }
    }

    /// "BBRCheckProbeRTT".
    pub(super) fn check_probe_rtt(&mut self, now: Instant, sample: &Sample) {
        if self.state != State::ProbeRtt && self.model.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.model.start_round(self.delivery.delivered());
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(now);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// "BBRHandleProbeRTT".
    fn handle_probe_rtt(&mut self, now: Instant) {
        // Low rates of this time say nothing of the path.
        self.delivery.limited_by_application(self.inflight);
        if self.probe_rtt_done.is_none() {
            if self.inflight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done = Some(now + PROBE_RTT_DURATION);
                self.probe_rtt_round_done = false;
                self.model.start_round(self.delivery.delivered());
            }
            return;
        }
        self.probe_rtt_round_done |= self.model.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(now);
        }
    }

    /// "BBRCheckProbeRTTDone" and "BBRExitProbeRTT".
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.model.probe_rtt_stamp = now;
        self.restore_cwnd();
        self.model.reset_shortterm();
        if self.full_bw_reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.enter_startup();
        }
    }
}

/// Bits that look random (the finish of SplitMix64).
fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
