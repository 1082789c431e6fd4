//! An acknowledgement arrived.

use super::ack_info::AckInfo;
use super::pacing::Told;
use super::state::{Alarm, Context, Phase, Sender};
use crate::config::{LossRecovery, RttSampling};
use crate::flight::Taken;
use anabranch_base::{Duration, Instant, RetransmitReason, TraceEvent};
use anabranch_transport::congestion::{Acked, Timing};

impl Sender {
    pub(crate) fn on_ack(&mut self, cx: &mut Context<'_>, info: &AckInfo<'_>) {
        cx.stats.acks_received += 1;
        if info.ack < self.una {
            return;
        }
        self.burst = 0;
        self.ns2_entering = false;
        let window_changed = self.on_window(cx, info);
        let advanced = info.ack - self.una;
        let flight_before = self.flight.pipe();
        self.flight.forget_news();
        let taken = self.flight.acknowledge(info.ack);
        self.una = info.ack;
        self.queue.trim(info.ack);
        let sacked = self.note_sacks(info.sacks);
        self.flight.sort_news();
        let report = (taken.newly + sacked).min(u64::from(u32::MAX)) as u32;
        let (cumulative, gaps) = (info.ack.saturating_sub(1), info.sacks.len() as u16);
        cx.record(|| TraceEvent::AckReceived { cumulative, newly_acked: report, gaps });

        // ns-2: every ACK in recovery means that one packet has left the network.
        if self.phase == Phase::Fast {
            self.ns2_pipe -= 1;
        }
        if let Some(duplicate) = info.duplicate {
            self.on_duplicate_report(cx, duplicate);
        }
        if self.config.rtt_sampling == RttSampling::Segments && advanced == 0 && sacked > 0 {
            self.measure(cx, info, taken);
        }
        if self.config.sack_restarts_timer && advanced == 0 && self.reports_older_than_front() {
            self.restart_timer(cx.now);
        }
        if advanced > 0 {
            self.on_new_ack(cx, info, taken, advanced);
        } else if !self.flight.is_empty() && self.is_duplicate(info, window_changed, sacked) {
            self.on_duplicate(cx);
        }
        self.tell_acked(cx.now, info.echo_any, &Told { taken, advanced, sacked, flight_before });
        if self.recovery == LossRecovery::Sack6675 && self.phase != Phase::Open {
            let limit = self.lost_limit();
            self.flight.mark_lost_below(limit);
        }
        self.step_frto(cx, advanced > 0, sacked);
        let probed = self.on_probe_ack(cx, info, advanced > 0, sacked);
        let spared = probed && self.config.rack_dsack_needs_reordering;
        self.rack_on_ack(cx, info.echo_any, info.duplicate.is_some() && !spared);
        self.tell_losses(cx.now);
        if let Some(reducing) = &mut self.reducing {
            let pipe = self.flight.pipe();
            reducing.on_ack(taken.newly + sacked, 0, advanced > 0, pipe, self.congestion.ssthresh());
        }
        self.record_window(cx);
    }

    /// RFC 9293, section 3.10.7.4: an older segment must not change the window. Answers whether it changed.
    fn on_window(&mut self, cx: &Context<'_>, info: &AckInfo<'_>) -> bool {
        let from = (info.seq, info.ack);
        if from < self.window_from {
            return false;
        }
        self.window_from = from;
        let before = std::mem::replace(&mut self.window, info.window);
        if before == 0 && info.window > 0 && self.probing {
            self.probing = false;
            self.rtt.clear_back_off();
            self.timer = None;
            if self.flight.front().is_some_and(|s| s.seq >= info.ack) {
                self.forced = Some((self.flight.front_index(), RetransmitReason::Probe));
                self.arm(cx.now, self.rtt.rto(), Alarm::Timeout);
            }
        }
        before != info.window
    }

    fn note_sacks(&mut self, sacks: &[(u64, u64)]) -> u64 {
        // ns-2 looks at SACK blocks only once the timeout's retransmission has been answered.
        let deaf = self.recovery == LossRecovery::Ns2Sack1 && self.phase == Phase::Loss && !self.answered;
        if !self.sack || deaf {
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

    /// Below which sequence number what is not SACKed is lost.
    fn lost_limit(&self) -> u64 {
        let (threshold, mss) = (self.config.duplicate_threshold, self.mss);
        let limit = self.flight.lost_below(threshold, mss);
        if self.config.fack { limit.max(self.flight.lost_below_forward(threshold, mss)) } else { limit }
    }

    /// RFC 5681, section 2; with SACK RFC 6675, section 2: "a segment that ... carries ... previously unknown" blocks.
    fn is_duplicate(&self, info: &AckInfo<'_>, window_changed: bool, sacked: u64) -> bool {
        if self.config.quirk_window_update {
            return info.empty && !window_changed;
        }
        match self.recovery {
            LossRecovery::Sack6675 | LossRecovery::Rack | LossRecovery::Ns2Sack1 => sacked > 0,
            LossRecovery::Reno | LossRecovery::NewReno => {
                info.empty && !(window_changed && self.config.window_update_is_no_duplicate)
            }
        }
    }

    fn on_new_ack(&mut self, cx: &mut Context<'_>, info: &AckInfo<'_>, taken: Taken, advanced: u64) {
        self.failures = 0;
        self.forced = None;
        let rtt = self.measure(cx, info, taken);
        if let Some(inflight) = &mut self.inflight {
            inflight.on_ack(cx.now, self.una, rtt, self.rtt.srtt(), self.mss);
        }
        if self.echoes_original(cx, info) {
            self.undo(cx);
        }
        let finished = self.recover.is_none_or(|r| self.una >= r);
        match self.phase {
            Phase::Fast if finished || self.recovery == LossRecovery::Reno => self.leave_fast_recovery(),
            Phase::Fast => {
                self.on_partial_ack(cx, advanced);
                return;
            }
            Phase::Open | Phase::Loss => {
                self.answered = true;
                self.duplicates = 0;
                self.limited = 0;
                self.grow(cx, advanced, rtt);
                if self.recovery == LossRecovery::Ns2Sack1 {
                    self.flight.clear_sacks();
                }
                if self.phase == Phase::Loss && finished {
                    self.settle_doubt();
                    if let Some(rack) = &mut self.rack {
                        rack.core.recovered();
                    }
                    self.phase = Phase::Open;
                }
            }
        }
        self.restart_timer(cx.now);
    }

    fn measure(&mut self, cx: &mut Context<'_>, info: &AckInfo<'_>, taken: Taken) -> Option<Duration> {
        self.rtt.at_sequence(self.una, self.max);
        let sample = if let Some(sent) = self.timed_segment() {
            Some(self.rtt.sample_between(sent, cx.now))
        } else if let Some(age) = info.echo_age {
            Some(self.rtt.sample(age))
        } else {
            let sent = match self.config.rtt_sampling {
                RttSampling::Timed => {
                    let timed = self.timed.filter(|(end, _)| info.ack >= *end);
                    if timed.is_some() {
                        self.timed = None;
                    }
                    timed.map(|(_, at)| at)
                }
                RttSampling::Every => taken.sent_once,
                RttSampling::Segments => None,
            };
            sent.map(|at| self.rtt.sample_between(at, cx.now))
        };
        if let (Some(sample), Some(srtt)) = (sample, self.rtt.srtt()) {
            let rto = self.rtt.rto();
            cx.record(|| TraceEvent::Rtt { sample, srtt, rto });
            self.samples = self.samples.saturating_add(1);
            self.note_round_trip(sample, cx.now);
        }
        sample
    }

    /// With `segments`: when the first segment left that this acknowledgement reports and that was sent once. Among those
    /// acknowledged cumulatively none may have been sent twice.
    fn timed_segment(&self) -> Option<Instant> {
        if self.config.rtt_sampling != RttSampling::Segments {
            return None;
        }
        let news = self.flight.news();
        let (acked, sacked) = news.split_at(news.partition_point(|d| d.end <= self.una));
        let clean = acked.iter().all(|d| d.sends == 1);
        let first = acked.first().filter(|_| clean).or_else(|| sacked.iter().find(|d| d.sends == 1));
        first.map(|d| d.sent_at)
    }

    /// What is reported first left before the first outstanding segment was last sent: the timeout must not run from there.
    fn reports_older_than_front(&self) -> bool {
        let front = self.flight.front().map(|front| front.sent_at);
        self.flight.news().iter().find(|d| d.sends == 1).is_some_and(|d| Some(d.sent_at) < front)
    }

    fn grow(&mut self, cx: &Context<'_>, bytes: u64, rtt: Option<Duration>) {
        if self.congestion.is_model() {
            // It hears of every acknowledgement that reports something, in recovery as well.
            return;
        }
        if !self.config.growth_needs_full_window || self.una <= self.cwnd_limited_to {
            let acked = Acked {
                cumulative: bytes,
                flight_before: u64::MAX,
                cumulative_advanced: true,
                ..Acked::default()
            };
            let (now, srtt, una, max) = (cx.now, self.rtt.srtt(), self.una, self.max);
            self.congestion.on_ack(&acked, || Timing { now, rtt, srtt, una, max, ..Timing::default() });
        }
    }

    fn on_partial_ack(&mut self, cx: &Context<'_>, advanced: u64) {
        self.partials += 1;
        match self.recovery {
            LossRecovery::NewReno | LossRecovery::Reno => {
                // RFC 6582: "deflate the congestion window by the amount of new data acknowledged ... add back SMSS".
                self.inflation -= advanced as i64;
                if advanced >= self.mss {
                    self.inflation += self.mss as i64;
                }
                self.flight.mark_front_lost();
                self.forced = Some((self.flight.front_index(), RetransmitReason::Recovery));
            }
            // A retransmission has left the network too: one more than for any ACK.
            LossRecovery::Ns2Sack1 => self.ns2_pipe -= 1,
            LossRecovery::Sack6675 | LossRecovery::Rack => {}
        }
        if self.config.partial_ack_clears_backoff {
            self.rtt.clear_back_off();
        }
        if self.config.partial_ack_restarts_timer || self.partials == 1 {
            self.restart_timer(cx.now);
        }
    }

    fn on_duplicate(&mut self, cx: &mut Context<'_>) {
        cx.stats.duplicate_acks += 1;
        match self.phase {
            Phase::Fast => {
                // RFC 5681, section 3.2, step 4.
                if matches!(self.recovery, LossRecovery::Reno | LossRecovery::NewReno) {
                    self.inflation += self.mss as i64;
                }
            }
            Phase::Loss if !self.answered => {}
            Phase::Open | Phase::Loss => {
                self.duplicates += 1;
                let threshold = self.config.duplicate_threshold;
                let scoreboard = self.scoreboard_says_lost();
                // RACK enters recovery by time alone.
                let enough = self.duplicates >= threshold && self.recovery != LossRecovery::Rack;
                if (enough || scoreboard) && self.may_retransmit_fast() {
                    self.enter_fast_recovery(cx);
                }
            }
        }
    }

    /// The scoreboard alone is reason enough to start recovery: by RFC 6675's IsLost, or by FACK.
    fn scoreboard_says_lost(&self) -> bool {
        let (duplicate_threshold, fack) = (self.config.duplicate_threshold, self.config.fack);
        if self.recovery != LossRecovery::Sack6675 || self.config.quirk_window_update {
            return false;
        }
        let rfc6675 = self.config.scoreboard_starts_recovery
            && self.flight.lost_below(duplicate_threshold, self.mss) > self.una;
        let forward = self.flight.lost_below_forward(duplicate_threshold, self.mss);
        rfc6675 || fack && self.flight.front().is_some_and(|front| front.end() <= forward)
    }

    /// RFC 6582, section 3.2, step 2, against a second reduction for the same window of data.
    fn may_retransmit_fast(&self) -> bool {
        if self.config.quirk_faulty_recovery && self.timeout_recover == Some(self.una) {
            return false;
        }
        if !self.config.recovery_point {
            return true;
        }
        match self.recovery {
            LossRecovery::Sack6675 | LossRecovery::Rack => self.phase == Phase::Open,
            _ => self.recover.is_none_or(|r| self.una > r),
        }
    }
}
