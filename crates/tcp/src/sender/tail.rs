//! Tail loss probe (RFC 8985, section 7), and the one timer that serves timeout, probe and reordering (section 8).

use super::ack_info::AckInfo;
use super::state::{Alarm, Context, Phase, Sender};
use anabranch_base::{Duration, Instant, RetransmitReason};
use anabranch_transport::congestion::Congestion;
use anabranch_transport::rack::{Probe, ProbeAnswer};

impl Sender {
    /// Arms the one timer.
    pub(super) fn arm(&mut self, now: Instant, span: Duration, alarm: Alarm) {
        self.timer = Some(self.config.clock().after(now, span));
        self.alarm = alarm;
    }

    /// RFC 6298, 5.2 and 5.3: off when nothing is outstanding, else restarted; as a probe timer where one may be sent.
    pub(super) fn restart_timer(&mut self, now: Instant) {
        self.timer = None;
        if !self.flight.is_empty() {
            let rto = self.rtt.rto();
            self.timeout_at = now + rto;
            if !self.schedule_probe(now, rto) {
                self.arm(now, rto, Alarm::Timeout);
            }
        }
    }

    /// What is left of the timeout.
    fn timeout_left(&self, now: Instant) -> Duration {
        let at = match self.flight.front() {
            Some(front) if self.config.rto_from_head => front.sent_at + self.rtt.rto(),
            _ => self.timeout_at,
        };
        at - now
    }

    /// The retransmission timer runs on where it was.
    pub(super) fn resume_timeout(&mut self, now: Instant) {
        if !self.flight.is_empty() {
            let left = self.timeout_left(now).max(Duration::from_micros(1));
            self.arm(now, left, Alarm::Timeout);
        }
    }

    /// RFC 8985, section 7.2: TLP_calc_PTO, for a timeout that is `left` away. Answers whether a probe may be sent at all.
    fn schedule_probe(&mut self, now: Instant, left: Duration) -> bool {
        // "The connection supports SACK", it is "not in loss recovery", and "has no SACKed sequences in the scoreboard".
        let may = self.config.tlp
            && self.sack
            && self.recovery.has_scoreboard()
            && self.phase == Phase::Open
            && self.flight.sacked_segments() == 0
            && !self.flight.is_empty();
        if may {
            let span = self.rtt.srtt().map_or(Duration::from_secs(1), |srtt| {
                let single = self.flight.segments() == 1;
                srtt * 2 + if single { self.config.tlp_ack_delay } else { self.config.probe_margin }
            });
            let span = if left > Duration::ZERO { span.min(left) } else { span };
            self.arm(now, span, Alarm::Probe);
        }
        may
    }

    /// A segment with something new left.
    pub(super) fn timer_after_new(&mut self, now: Instant, first: bool) {
        if first {
            self.timeout_at = now + self.rtt.rto();
        }
        if self.config.tlp && !self.probing_new {
            let probing = self.timer.is_some() && self.alarm == Alarm::Probe;
            let left = self.timeout_left(now);
            if !self.schedule_probe(now, left) && probing {
                self.resume_timeout(now);
            }
        }
        if self.timer.is_none() {
            // RFC 6298, 5.1.
            self.arm(now, self.rtt.rto(), Alarm::Timeout);
        }
    }

    /// RFC 8985, section 7.3: TLP_send_probe.
    pub(super) fn on_probe_timer(&mut self, cx: &mut Context<'_>) {
        self.timer = None;
        // One probe at a time, and a round-trip sample since the last: else probes would hide that the path got longer.
        let measured = self.probed_at_sample != Some(self.samples);
        if self.probe.is_some() || !measured {
            if self.config.rto_from_head {
                self.resume_timeout(cx.now);
            } else {
                self.arm(cx.now, self.rtt.rto(), Alarm::Timeout);
            }
            return;
        }
        cx.stats.tail_probes += 1;
        self.probed_at_sample = Some(self.samples);
        let len = (self.queue.end() - self.max.min(self.queue.end())).min(self.mss);
        let fits = self.una + self.limit() >= self.max + len;
        if len > 0 && fits {
            self.probing_new = true;
        } else {
            let last = self.flight.last_unsacked().unwrap_or(self.flight.front_index());
            self.forced = Some((last, RetransmitReason::Probe));
            self.probe = Some(Probe { end: self.max, resent: Some(self.max) });
        }
        self.timeout_at = cx.now + self.rtt.rto();
        self.arm(cx.now, self.rtt.rto(), Alarm::Timeout);
    }

    /// The probe with new data has left.
    pub(super) fn probe_left(&mut self) {
        if std::mem::take(&mut self.probing_new) {
            self.probe = Some(Probe { end: self.max, resent: None });
        }
    }

    /// RFC 8985, section 7.4.2: TLP_process_ack: whether the probe repaired a loss that the window must answer for. Answers whether
    /// the acknowledgement reports the probe itself as a duplicate.
    pub(super) fn on_probe_ack(
        &mut self,
        cx: &mut Context<'_>,
        info: &AckInfo<'_>,
        advanced: bool,
        sacked: u64,
    ) -> bool {
        let Some(probe) = self.probe.filter(|probe| info.ack >= probe.end) else { return false };
        let reported = info.duplicate.is_some_and(|(_, end)| end == probe.end);
        let repeated = !advanced && sacked == 0 && info.empty;
        let answer = if reported { ProbeAnswer::Needless } else { probe.answer(info.ack, repeated) };
        if answer != ProbeAnswer::Open {
            self.probe = None;
        }
        if answer == ProbeAnswer::Repaired {
            let base = self.loss_base();
            self.congestion.on_congestion(Congestion::FastRetransmit(base));
            self.record_window(cx);
        }
        reported
    }
}
