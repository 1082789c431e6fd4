//! What leaves next: a retransmission, new data, or nothing.

use super::state::{Alarm, Context, Fin, Phase, Sender};
use crate::config::LossRecovery;
use anabranch_base::{Instant, RetransmitReason, TraceEvent};

/// The segment that may leave now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    kind: Kind,
    pub(crate) outgoing: Outgoing,
}

/// What goes into the packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) seq: u64,
    pub(crate) len: u32,
    pub(crate) fin: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    New,
    Resend { index: u64, reason: RetransmitReason, forced: bool, rescue: bool },
}

impl Sender {
    /// The next segment. `room` is the payload that fits beside the options of this moment.
    pub(crate) fn choose(&mut self, now: Instant, room: u64) -> Option<Choice> {
        if self.probe_byte && self.queue.end() > self.max {
            let outgoing = Outgoing { seq: self.max, len: 1, fin: false };
            return Some(Choice { kind: Kind::New, outgoing });
        }
        if self.probing_new {
            if let Some(choice) = self.new_data(u64::MAX, room) {
                return Some(choice);
            }
            self.probing_new = false;
        }
        if let Some((index, reason)) = self.forced {
            match self.resend(index, reason, true) {
                Some(choice) => return Some(choice),
                None => self.forced = None,
            }
        }
        if self.config.max_burst > 0 && self.burst >= self.config.max_burst && self.pacing_rate().is_none() {
            return None;
        }
        let choice = match (self.phase, self.recovery) {
            (Phase::Fast | Phase::Loss, LossRecovery::Sack6675 | LossRecovery::Rack) => {
                self.choose_by_pipe(room)
            }
            (Phase::Fast, LossRecovery::Ns2Sack1) => self.choose_ns2(room),
            (Phase::Fast, LossRecovery::Reno | LossRecovery::NewReno) => {
                let inflated = (self.cwnd() as i64 + self.inflation).max(0) as u64;
                self.new_data(inflated.saturating_sub(self.flight.outstanding()), room)
            }
            (Phase::Loss, _) => self.choose_go_back_n(room),
            (Phase::Open, _) => {
                self.restart_after_idle(now);
                self.choose_open(room)
            }
        };
        if choice.is_none() && self.flight.is_empty() && self.timer.is_none() && self.queue.end() > self.max {
            // Data waits, nothing is outstanding, and the peer's window is shut: the persist timer.
            self.arm(now, self.rtt.rto().min(self.config.persist_max), Alarm::Timeout);
        }
        if choice.is_none() {
            self.clear_pacing_timer();
        }
        choice.filter(|_| !self.must_wait(now))
    }

    fn choose_open(&mut self, room: u64) -> Option<Choice> {
        let window = self.cwnd();
        let limited = self.config.limited_transmit && self.duplicates < self.config.duplicate_threshold;
        let (used, extra) = match self.recovery {
            // RFC 6675, section 5, step 3: limited transmit by the pipe.
            LossRecovery::Sack6675 | LossRecovery::Rack if self.config.limited_transmit => {
                (self.flight.pipe(), 0)
            }
            // RFC 3042: "the amount of outstanding data would remain less than or equal to cwnd plus 2 segments".
            _ if limited => (self.flight.outstanding(), u64::from(self.duplicates.min(2)) * self.mss),
            _ => (self.flight.outstanding(), 0),
        };
        self.new_data((window + extra).saturating_sub(used), room)
    }

    /// RFC 6675, section 5, step C: "If cwnd - pipe >= 1 SMSS, the sender SHOULD transmit one or more segments".
    fn choose_by_pipe(&mut self, room: u64) -> Option<Choice> {
        let allowed = self.cwnd().saturating_sub(self.flight.pipe());
        if allowed < self.mss {
            self.cwnd_limited_to = self.max;
            return None;
        }
        let reason = self.reason();
        if self.frto_new {
            return self.new_data(allowed, room);
        }
        if let Some(index) = self.flight.next_lost() {
            return self.resend(index, reason, false);
        }
        if let Some(choice) = self.new_data(allowed, room) {
            return Some(choice);
        }
        if self.recovery == LossRecovery::Rack {
            return None;
        }
        if self.phase == Phase::Fast && self.config.nextseg_rule3 {
            if let Some(index) = self.flight.next_hole() {
                return self.resend(index, reason, false);
            }
        }
        if self.phase == Phase::Fast && self.config.rescue_retransmission && !self.rescued {
            let index = self.flight.last_unsacked()?;
            if self.flight.get(index).is_some_and(|s| !s.resent) {
                let mut choice = self.resend(index, reason, false)?;
                if let Kind::Resend { rescue, .. } = &mut choice.kind {
                    *rescue = true;
                }
                return Some(choice);
            }
        }
        None
    }

    /// ns-2's Sack1 in recovery: while pipe < cwnd, holes first, then new data, which cwnd does not hold back.
    fn choose_ns2(&mut self, room: u64) -> Option<Choice> {
        let window = (self.congestion.window() / self.mss) as i64;
        if self.ns2_entering || self.ns2_pipe >= window {
            return None;
        }
        match self.flight.next_hole() {
            Some(index) => self.resend(index, RetransmitReason::Recovery, false),
            None => self.new_data(u64::MAX, room),
        }
    }

    /// After a timeout without a scoreboard: everything again from `una`, as the window opens.
    fn choose_go_back_n(&mut self, room: u64) -> Option<Choice> {
        let mut window = self.cwnd().min(self.limit());
        if self.duplicates > 0
            && self.config.limited_transmit
            && self.duplicates < self.config.duplicate_threshold
        {
            window += u64::from(self.duplicates.min(2)) * self.mss;
        }
        let at = self.flight.cursor_seq().unwrap_or(self.max) - self.una;
        let Some(index) = self.flight.at_cursor() else {
            return self.new_data(window.saturating_sub(at), room);
        };
        let size = self.flight.get(index)?.size();
        // The first one always leaves: it is what the timeout is for.
        if at > 0 && at + size > window {
            self.cwnd_limited_to = self.max;
            return None;
        }
        self.resend(index, RetransmitReason::Timeout, false)
    }

    fn reason(&self) -> RetransmitReason {
        if self.phase == Phase::Loss { RetransmitReason::Timeout } else { RetransmitReason::Recovery }
    }

    fn resend(&self, index: u64, reason: RetransmitReason, forced: bool) -> Option<Choice> {
        let s = self.flight.get(index)?;
        let outgoing = Outgoing { seq: s.seq, len: s.len, fin: s.fin };
        Some(Choice { kind: Kind::Resend { index, reason, forced, rescue: false }, outgoing })
    }

    /// New data, at most `allowed` bytes by the congestion window.
    fn new_data(&mut self, allowed: u64, room: u64) -> Option<Choice> {
        let available = self.queue.end().saturating_sub(self.max);
        let fin_waits = self.fin == Fin::Queued;
        if available == 0 {
            let outgoing = Outgoing { seq: self.max, len: 0, fin: true };
            return fin_waits.then_some(Choice { kind: Kind::New, outgoing });
        }
        let mut len = available.min(self.mss).min(room.max(1));
        let ending = fin_waits && len == available && self.config.fin_beyond_window && self.probe.is_none();
        if len > allowed && !ending {
            self.cwnd_limited_to = self.max;
            return None;
        }
        let peer = (self.una + self.limit()).saturating_sub(self.max);
        if len > peer {
            // A part of a segment only when nothing else is on its way (sender's silly window avoidance, RFC 1122, 4.2.3.4).
            if peer == 0 || !self.flight.is_empty() {
                return None;
            }
            len = peer;
        }
        let last = len == available;
        let fin = last && fin_waits;
        if self.config.nagle && len < self.mss && !fin && !self.flight.is_empty() {
            return None;
        }
        Some(Choice { kind: Kind::New, outgoing: Outgoing { seq: self.max, len: len as u32, fin } })
    }

    /// RFC 5681, section 4.1: "cwnd ... reduced ... if the TCP has not sent data in an interval exceeding the RTO".
    fn restart_after_idle(&mut self, now: Instant) {
        let idle = self.config.slow_start_restart
            && self.flight.is_empty()
            && self.last_sent.is_some_and(|at| now - at > self.rtt.rto());
        if idle && self.queue.end() > self.max {
            self.last_sent = None;
            self.congestion.restart(self.config.initial_window.bytes(self.mss));
        }
    }

    /// The chosen segment leaves.
    pub(crate) fn commit(&mut self, cx: &mut Context<'_>, choice: &Choice) {
        let Outgoing { seq, len, fin } = choice.outgoing;
        self.last_sent = Some(cx.now);
        let first = self.flight.is_empty();
        let flight_before = self.flight.pipe();
        let retransmit = match choice.kind {
            Kind::New => {
                self.commit_new(cx, choice.outgoing);
                None
            }
            Kind::Resend { index, reason, forced, rescue } => {
                if rescue || self.alarmed_probe(reason) {
                    self.rescued |= rescue;
                    self.flight.rescue(index, cx.now);
                } else {
                    self.flight.resend(index, cx.now);
                }
                if let Some(doubt) = &mut self.doubt {
                    doubt.on_resent(cx.now, seq + u64::from(len) + u64::from(fin));
                }
                if reason == RetransmitReason::Timeout && self.config.quirk_faulty_recovery && !forced {
                    self.rtt.back_off();
                }
                if forced {
                    self.forced = None;
                } else if self.phase == Phase::Fast {
                    self.ns2_pipe += 1;
                }
                cx.stats.retransmissions += u64::from(len > 0);
                // Karn: what has been sent twice cannot be timed.
                let end = seq + u64::from(len) + u64::from(fin);
                self.timed = self.timed.filter(|(timed, _)| *timed != end);
                Some(reason)
            }
        };
        match retransmit {
            None => {
                self.timer_after_new(cx.now, first);
                self.probe_left();
            }
            Some(_) if self.timer.is_none() => self.restart_timer(cx.now),
            Some(_) => {}
        }
        if let Some(reducing) = &mut self.reducing {
            reducing.on_sent(self.mss);
        }
        self.count_paced(cx.now, flight_before, u64::from(len) + u64::from(fin));
        if len > 0 {
            self.burst += 1;
            cx.stats.packets_sent += 1;
            cx.stats.payload_bytes_sent += u64::from(len);
            cx.record(|| TraceEvent::Sent { seq: seq - 1, len, retransmit });
        } else {
            cx.stats.control_sent += u64::from(fin);
        }
    }

    /// A tail loss probe, not a zero-window probe: retransmission goes on where it was.
    fn alarmed_probe(&self, reason: RetransmitReason) -> bool {
        reason == RetransmitReason::Probe && self.probe.is_some()
    }

    fn commit_new(&mut self, cx: &mut Context<'_>, Outgoing { seq, len, fin }: Outgoing) {
        if self.flight.is_empty() {
            self.timer = None;
        }
        self.probe_byte = false;
        self.flight.push(seq, len, fin, cx.now);
        self.max = seq + u64::from(len) + u64::from(fin);
        if fin {
            self.fin = Fin::Sent(self.max - 1);
        }
        if self.timed.is_none() {
            self.timed = Some((self.max, cx.now));
        }
        if self.phase == Phase::Fast {
            self.ns2_pipe += 1;
        } else if self.duplicates > 0 {
            self.limited += u64::from(len);
        }
        cx.stats.packets_sent_unique += u64::from(len > 0);
        cx.stats.payload_bytes_unique += u64::from(len);
    }
}
