//! Loss detection and its consequences: by duplicates and the scoreboard (RFC 5681, section 3.2; RFC 6582; RFC 6675),
//! or by time: RACK (RFC 8985, section 6), for which a segment is lost when one that was sent long enough after it
//! has arrived. A reduction that proves needless is taken back (RFC 4015).

use super::ack_info::AckInfo;
use super::context::Context;
use super::phase::Phase;
use super::rack::Rack;
use super::spurious::AfterTimeout;
use super::state::Sender;
use super::timer::Alarm;
use crate::config::LossRecovery;
use anabranch_base::{Duration, Instant, RetransmitReason, TraceEvent};

impl Sender {
    /// Sequence number below which data that is not SACKed is lost.
    pub(super) fn lost_limit(&self) -> u64 {
        let (threshold, mss) = (self.terms.config().duplicate_threshold, self.terms.mss());
        let limit = self.flight.lost_below(threshold, mss);
        if self.terms.config().fack {
            limit.max(self.flight.lost_below_forward(threshold, mss))
        } else {
            limit
        }
    }

    /// The scoreboard alone is reason enough to start recovery: by RFC 6675's IsLost, or by FACK.
    pub(super) fn scoreboard_says_lost(&self) -> bool {
        let (config, mss) = (self.terms.config(), self.terms.mss());
        if self.terms.recovery() != LossRecovery::Sack6675 || config.quirk_window_update {
            return false;
        }
        let rfc6675 = config.scoreboard_starts_recovery
            && self.flight.lost_below(config.duplicate_threshold, mss) > self.una;
        let forward = self.flight.lost_below_forward(config.duplicate_threshold, mss);
        rfc6675 || config.fack && self.flight.front().is_some_and(|front| front.end() <= forward)
    }

    /// A loss was found: the window comes down, and the first segment that is missing leaves again.
    pub(super) fn enter_fast_recovery(&mut self, cx: &mut Context<'_>) {
        cx.stats.fast_retransmits += 1;
        let base = self.loss_base();
        self.spurious.begin(self.terms.config().undo, || self.flight.oldest_resent());
        self.window.reduce(&self.terms, base, self.flight.outstanding());
        self.recovery.enter_fast(&self.terms, self.max, self.flight.segments());
        self.trips.stop_timing();
        self.flight.rewind();
        self.tail.give_up();
        let first = match self.terms.recovery() {
            LossRecovery::Rack => self.flight.next_lost().unwrap_or(self.flight.front_index()),
            _ => self.flight.front_index(),
        };
        if !matches!(self.terms.recovery(), LossRecovery::Ns2Sack1 | LossRecovery::Rack) {
            self.flight.mark_front_lost();
        }
        // "The TCP sender MUST retransmit the lost segment", whatever the window says.
        self.forced = Some((first, RetransmitReason::FastRetransmit));
        if self.terms.config().fast_retransmit_restarts_timer {
            self.restart_timer(cx.now);
        }
        let seq = self.una.saturating_sub(1);
        cx.record(|| TraceEvent::FastRetransmit { seq });
    }

    /// Fast recovery ends: all data outstanding at its beginning is acknowledged, or with Reno any new data.
    pub(super) fn leave_fast_recovery(&mut self) {
        self.window.recovered();
        self.recovered();
        self.recovery.end();
        if self.terms.recovery() == LossRecovery::Ns2Sack1 {
            self.flight.clear_sacks();
        }
        // RFC 6582, section 3.2, step 3: "min (ssthresh, max(FlightSize, SMSS) + SMSS)".
        let deflate = self.terms.recovery() == LossRecovery::NewReno && self.terms.config().deflate_to_flight;
        if deflate {
            let mss = self.terms.mss();
            self.window.limit(self.flight.outstanding().max(mss) + mss);
        }
    }

    /// Recovery ended, whether a timeout or fast retransmit began it.
    pub(super) fn recovered(&mut self) {
        self.spurious.settle(self.terms.config().dsack);
        if let Some(rack) = &mut self.rack {
            rack.recovered();
        }
    }

    /// Everything is as it was before the reduction.
    pub(super) fn undo(&mut self, cx: &mut Context<'_>) {
        cx.stats.undone += 1;
        self.spurious.undone();
        self.window.undo();
        self.flight.forget_losses();
        self.recovery.end();
        self.forced = None;
        self.record_window(cx);
    }

    /// RFC 5682, section 3.1: the SACK-enhanced algorithm, for every acknowledgement after a timeout.
    pub(super) fn step_frto(&mut self, cx: &mut Context<'_>, advanced: bool, sacked: u64) {
        self.spurious.ack_comes();
        let tested = self.spurious.tests_timeout() && self.recovery.phase() == Phase::Loss;
        let Some(recover) = self.recovery.point().filter(|_| tested) else { return };
        let ack = AfterTimeout {
            advanced,
            sacked: sacked > 0,
            original_arrived: self.flight.news().iter().any(|d| d.sends == 1 && d.end <= recover),
            sent_new: self.max > recover,
            incomplete: self.una < recover,
            may_send: self.buffer.unsent(self.max) > 0 && self.peer_room() > 0,
        };
        if self.spurious.step_frto(&ack) {
            self.undo(cx);
        }
    }

    /// RACK's steps 2 to 5 for an acknowledgement.
    pub(super) fn rack_on_ack(&mut self, cx: &mut Context<'_>, info: &AckInfo<'_>, probed: bool) {
        let min_rtt = self.trips.min();
        let Some(rack) = &mut self.rack else { return };
        let news = self.flight.news();
        rack.update(news, cx.now, info.echo_any, min_rtt);
        rack.detect_reordering(news);
        let needs_reordering = self.terms.config().rack_dsack_needs_reordering;
        let spared = needs_reordering && (probed || !rack.reordering_seen());
        if info.duplicate.is_some() && !spared {
            rack.duplicate(self.una, self.max);
        }
        self.rack_detect_loss(cx);
    }

    /// RACK.rtt and RACK.reo_wnd, step 4.
    fn patience(&self, rack: &Rack) -> Duration {
        let enough = self.flight.sacked_segments() >= self.terms.config().duplicate_threshold as usize;
        let hurry = !self.recovery.is_open() || enough;
        rack.patience(hurry, self.trips.min(), self.trips.srtt())
    }

    /// RACK's step 5.
    pub(super) fn rack_detect_loss(&mut self, cx: &mut Context<'_>) {
        let Some(rack) = &self.rack else { return };
        let Some(newest) = rack.newest() else { return };
        let span = self.patience(rack);
        let (lost, wait) = self.flight.lose_older(newest, span, cx.now);
        self.window.tell_losses(cx.now, self.flight.take_losses());
        if lost && self.recovery.is_open() {
            self.enter_fast_recovery(cx);
        }
        if let Some(wait) = wait {
            self.timer.arm(cx.now, wait + self.terms.config().probe_margin, Alarm::Reordering);
        }
    }

    /// RFC 8985, section 6.3: which segments a timeout holds for lost.
    pub(super) fn lose_at_timeout(&mut self, now: Instant) {
        match &self.rack {
            Some(rack) if self.terms.recovery() == LossRecovery::Rack => {
                let span = self.patience(rack);
                self.flight.lose_at_timeout(span, now);
                // Segments still under way do not count against the loss window.
                let loss_window = u64::from(self.terms.config().loss_window.max(1)) * self.terms.mss();
                self.window.set(self.flight.pipe() + loss_window);
            }
            _ => self.flight.mark_all_lost(),
        }
    }
}
