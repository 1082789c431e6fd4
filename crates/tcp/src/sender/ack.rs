//! An acknowledgement arrived.

use super::ack_info::AckInfo;
use super::context::Context;
use super::phase::Phase;
use super::rack::is_of_original;
use super::state::Sender;
use super::timer::Alarm;
use crate::config::{LossRecovery, RttSampling};
use crate::flight::CumulativelyAcked;
use anabranch_base::{Duration, Instant, RetransmitReason, TraceEvent};
use anabranch_transport::congestion::{Acked, Timing};
use anabranch_transport::rack::ProbeAnswer;

/// Amounts that an acknowledgement reported.
struct Reported {
    taken: CumulativelyAcked,
    /// By how much it moved `una`.
    advanced: u64,
    /// Bytes SACKed for the first time.
    sacked: u64,
    /// Pipe before it came.
    flight_before: u64,
}

impl Sender {
    pub(crate) fn on_ack(&mut self, cx: &mut Context<'_>, info: &AckInfo<'_>) {
        cx.stats.acks_received += 1;
        if info.ack < self.una {
            return;
        }
        self.burst = 0;
        self.recovery.ack_comes();
        let window_changed = self.on_window(cx.now, info);
        let advanced = info.ack - self.una;
        let flight_before = self.flight.pipe();
        self.flight.forget_news();
        let taken = self.flight.acknowledge(info.ack);
        self.una = info.ack;
        self.buffer.acknowledged(info.ack);
        let sacked = self.note_sacks(info.sacks);
        self.flight.sort_news();
        let report = (taken.newly + sacked).min(u64::from(u32::MAX)) as u32;
        let (cumulative, gaps) = (info.ack.saturating_sub(1), info.sacks.len() as u16);
        cx.record(|| TraceEvent::AckReceived { cumulative, newly_acked: report, gaps });

        self.recovery.packet_left_network();
        if info.duplicate.is_some_and(|(_, end)| self.spurious.reported(end)) {
            self.undo(cx);
        }
        let segments = self.terms.config().rtt_sampling == RttSampling::Segments;
        if segments && advanced == 0 && sacked > 0 {
            self.measure(cx, info, taken);
        }
        if self.terms.config().sack_restarts_timer && advanced == 0 && self.reports_older_than_front() {
            self.restart_timer(cx.now);
        }
        if advanced > 0 {
            self.on_new_ack(cx, info, taken, advanced);
        } else if !self.flight.is_empty() && self.is_duplicate(info, window_changed, sacked) {
            self.on_duplicate(cx);
        }
        let reported = Reported { taken, advanced, sacked, flight_before };
        if let Some((acked, timing)) = self.told_to_model(cx.now, info.echo_any, &reported) {
            self.window.tell_acked(&acked, timing);
        }
        if self.terms.recovery() == LossRecovery::Sack6675 && !self.recovery.is_open() {
            let limit = self.lost_limit();
            self.flight.mark_lost_below(limit);
        }
        self.step_frto(cx, advanced > 0, sacked);
        let probed = self.on_probe_ack(cx, info, advanced > 0, sacked);
        self.rack_on_ack(cx, info, probed);
        self.window.tell_losses(cx.now, self.flight.take_losses());
        self.window.reported(taken.newly + sacked, advanced > 0, self.flight.pipe());
        self.record_window(cx);
    }

    /// The peer's window; where a probe has found it open, sending goes on. Answers whether it changed.
    fn on_window(&mut self, now: Instant, info: &AckInfo<'_>) -> bool {
        let update = self.peer.update((info.seq, info.ack), info.window);
        if update.reopened {
            self.trips.clear_back_off();
            self.timer.stop();
            if self.flight.front().is_some_and(|s| s.seq >= info.ack) {
                self.forced = Some((self.flight.front_index(), RetransmitReason::Probe));
                self.timer.arm(now, self.trips.rto(), Alarm::Timeout);
            }
        }
        update.changed
    }

    fn note_sacks(&mut self, sacks: &[(u64, u64)]) -> u64 {
        if !self.terms.sack() || self.recovery.is_deaf(&self.terms) {
            return 0;
        }
        let (una, max) = (self.una, self.max);
        sacks
            .iter()
            .map(|(start, end)| (*start.max(&una), *end.min(&max)))
            .filter(|(start, end)| start < end)
            .map(|(start, end)| self.flight.sack(start, end))
            .sum()
    }

    /// RFC 5681, section 2; with SACK RFC 6675, section 2: "a segment that ... carries ... previously unknown" blocks.
    fn is_duplicate(&self, info: &AckInfo<'_>, window_changed: bool, sacked: u64) -> bool {
        if self.terms.config().quirk_window_update {
            return info.empty && !window_changed;
        }
        match self.terms.recovery() {
            LossRecovery::Sack6675 | LossRecovery::Rack | LossRecovery::Ns2Sack1 => sacked > 0,
            LossRecovery::Reno | LossRecovery::NewReno => {
                info.empty && !(window_changed && self.terms.config().window_update_is_no_duplicate)
            }
        }
    }

    fn on_new_ack(
        &mut self,
        cx: &mut Context<'_>,
        info: &AckInfo<'_>,
        taken: CumulativelyAcked,
        advanced: u64,
    ) {
        self.timer.answered();
        self.forced = None;
        let rtt = self.measure(cx, info, taken);
        let (srtt, una, max) = (self.trips.srtt(), self.una, self.max);
        let timing = Timing { now: cx.now, rtt, srtt, una, max, ..Timing::default() };
        self.window.measure(&self.terms, &timing);
        if !self.recovery.is_open() && self.spurious.echoes_original(cx.now, info.echo_age) {
            self.undo(cx);
        }
        let finished = self.recovery.is_finished_by(self.una);
        match self.recovery.phase() {
            Phase::Fast if finished || self.terms.recovery() == LossRecovery::Reno => {
                self.leave_fast_recovery();
            }
            Phase::Fast => {
                self.on_partial_ack(cx.now, advanced);
                return;
            }
            Phase::Open | Phase::Loss => {
                self.recovery.new_ack();
                self.window.grow(&self.terms, advanced, timing);
                if self.terms.recovery() == LossRecovery::Ns2Sack1 {
                    self.flight.clear_sacks();
                }
                if self.recovery.phase() == Phase::Loss && finished {
                    self.recovered();
                    self.recovery.end_loss();
                }
            }
        }
        self.restart_timer(cx.now);
    }

    fn measure(
        &mut self,
        cx: &mut Context<'_>,
        info: &AckInfo<'_>,
        taken: CumulativelyAcked,
    ) -> Option<Duration> {
        let sampling = self.terms.config().rtt_sampling;
        let segment = if sampling == RttSampling::Segments { self.timed_segment() } else { None };
        self.trips.measure(cx, sampling, info, self.max, (taken, segment))
    }

    /// With `segments`: when the first segment left that this acknowledgement reports and that was sent once. Among those
    /// acknowledged cumulatively none may have been sent twice.
    fn timed_segment(&self) -> Option<Instant> {
        let news = self.flight.news();
        let (acked, sacked) = news.split_at(news.partition_point(|d| d.end <= self.una));
        let clean = acked.iter().all(|d| d.sends == 1);
        let first = acked.first().filter(|_| clean).or_else(|| sacked.iter().find(|d| d.sends == 1));
        first.map(|d| d.sent_at)
    }

    /// True if the first segment reported now left before the first outstanding segment was last sent: the timeout
    /// must not run from there.
    fn reports_older_than_front(&self) -> bool {
        let front = self.flight.front().map(|front| front.sent_at);
        self.flight.news().iter().find(|d| d.sends == 1).is_some_and(|d| Some(d.sent_at) < front)
    }

    fn on_partial_ack(&mut self, now: Instant, advanced: u64) {
        self.recovery.partial_ack(&self.terms, advanced);
        if matches!(self.terms.recovery(), LossRecovery::NewReno | LossRecovery::Reno) {
            self.flight.mark_front_lost();
            self.forced = Some((self.flight.front_index(), RetransmitReason::Recovery));
        }
        if self.terms.config().partial_ack_clears_backoff {
            self.trips.clear_back_off();
        }
        if self.terms.config().partial_ack_restarts_timer || self.recovery.is_first_partial() {
            self.restart_timer(now);
        }
    }

    fn on_duplicate(&mut self, cx: &mut Context<'_>) {
        cx.stats.duplicate_acks += 1;
        if !self.recovery.duplicate(&self.terms) {
            return;
        }
        let scoreboard = self.scoreboard_says_lost();
        // RACK enters recovery by time alone.
        let enough = self.recovery.duplicates() >= self.terms.config().duplicate_threshold
            && self.terms.recovery() != LossRecovery::Rack;
        if (enough || scoreboard) && self.recovery.may_retransmit_fast(&self.terms, self.una) {
            self.enter_fast_recovery(cx);
        }
    }

    /// A model hears of every acknowledgement that reports something, also in recovery and without a cumulative advance.
    fn told_to_model(
        &self,
        now: Instant,
        echo: Option<Duration>,
        reported: &Reported,
    ) -> Option<(Acked, Timing)> {
        let &Reported { taken, advanced, sacked, flight_before } = reported;
        if !self.window.is_model() || taken.newly + sacked == 0 {
            return None;
        }
        let acked = Acked {
            cumulative: taken.newly,
            gap: sacked,
            flight_before,
            cumulative_advanced: advanced > 0,
            in_recovery: self.recovery.phase() == Phase::Fast,
            all_acked: self.flight.is_empty(),
            ..Acked::default()
        };
        let min_rtt = self.trips.min();
        let (mut once, mut newest) = (None, None);
        for d in self.flight.news() {
            if d.sends == 1 {
                once = once.max(Some(d.sent_at));
            } else if is_of_original(d, now, echo, min_rtt) {
                continue;
            }
            newest = newest.max(Some(d.sent_at));
        }
        let timing = Timing {
            now,
            rtt: once.map(|sent_at| now - sent_at),
            srtt: self.trips.srtt(),
            una: self.una,
            max: self.max,
            newest_sent: newest,
            flight_before,
            flight: self.flight.pipe(),
            starved: self.is_starved(),
        };
        Some((acked, timing))
    }

    /// Lowers the window when a tail loss probe has repaired a loss. Returns true if the acknowledgement reports the
    /// probe itself as a duplicate.
    fn on_probe_ack(
        &mut self,
        cx: &mut Context<'_>,
        info: &AckInfo<'_>,
        advanced: bool,
        sacked: u64,
    ) -> bool {
        let Some((answer, reported)) = self.tail.on_ack(info, advanced, sacked) else { return false };
        if answer == ProbeAnswer::Repaired {
            let base = self.loss_base();
            self.window.answer_loss(base);
            self.record_window(cx);
        }
        reported
    }
}
