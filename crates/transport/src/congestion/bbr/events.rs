//! Events for BBR: packets that leave, acknowledgements, losses (draft-ietf-ccwg-bbr-05, 5.2).

use anabranch_base::Instant;

use super::constants::BETA;
use super::{Bbr, State, Undo};
use crate::congestion::event::{Acked, Congestion, Timing};
use crate::delivery::Sample;

impl Bbr {
    /// A packet left; bytes in flight before it, and with it. `dry`: nothing else waits to be sent.
    pub(crate) fn on_sent(&mut self, now: Instant, before: u64, in_flight: u64, dry: bool) {
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
    pub(crate) fn on_lost(&mut self, now: Instant, sent_at: Instant, bytes: u64) {
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

    /// "BBRUpdateOnACK".
    pub(crate) fn on_ack(&mut self, acked: &Acked, timing: &Timing) {
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

    /// Counts the losses of this round as noise, which any load may have, where no queue explains them.
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

    /// The response to congestion that the transport reports: recovery begins, or T3-rtx has expired.
    pub(crate) fn on_congestion(&mut self, event: Congestion) {
        match event {
            // The model has heard of each loss; "BBROnEnterFastRecovery" only remembers the window.
            Congestion::FastRetransmit(_) => {
                self.save_cwnd();
                self.note_loss();
                self.in_recovery = true;
            }
            // The model has heard of this loss, too.
            Congestion::LostAgain(_) => self.note_loss(),
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
    pub(crate) fn undo(&mut self) {
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
}
