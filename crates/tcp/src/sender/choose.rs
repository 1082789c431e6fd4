//! Choice of the next segment to leave: a retransmission, new data, or nothing.

use super::context::Context;
use super::phase::Phase;
use super::state::Sender;
use super::timer::Alarm;
use super::window::Departure;
use crate::config::LossRecovery;
use anabranch_base::{Instant, RetransmitReason, TraceEvent};

/// The segment that may leave now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    kind: Kind,
    pub(crate) outgoing: Outgoing,
}

/// Sequence numbers that go into the packet.
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
        if self.peer.wants_byte() && self.buffer.unsent(self.max) > 0 {
            let outgoing = Outgoing { seq: self.max, len: 1, fin: false };
            return Some(Choice { kind: Kind::New, outgoing });
        }
        if self.tail.wants_new_data() {
            if let Some(choice) = self.new_data(u64::MAX, room) {
                return Some(choice);
            }
            self.tail.nothing_new();
        }
        if let Some((index, reason)) = self.forced {
            match self.resend(index, reason, true) {
                Some(choice) => return Some(choice),
                None => self.forced = None,
            }
        }
        if self.has_sent_burst() {
            return None;
        }
        let choice = match (self.recovery.phase(), self.terms.recovery()) {
            (Phase::Fast | Phase::Loss, LossRecovery::Sack6675 | LossRecovery::Rack) => {
                self.choose_by_pipe(room)
            }
            (Phase::Fast, LossRecovery::Ns2Sack1) => self.choose_ns2(room),
            (Phase::Fast, LossRecovery::Reno | LossRecovery::NewReno) => {
                let inflated = self.recovery.inflated(self.cwnd());
                self.new_data(inflated.saturating_sub(self.flight.outstanding()), room)
            }
            (Phase::Loss, _) => self.choose_go_back_n(room),
            (Phase::Open, _) => {
                let waits = self.flight.is_empty() && self.buffer.unsent(self.max) > 0;
                if waits && self.terms.config().slow_start_restart {
                    self.window.restart_after_idle(&self.terms, now, self.trips.rto());
                }
                self.choose_open(room)
            }
        };
        let waits = self.flight.is_empty() && self.buffer.unsent(self.max) > 0;
        if choice.is_none() && waits && !self.timer.is_running() {
            // Data waits, nothing is outstanding, and the peer's window is shut: the persist timer.
            self.timer.arm(now, self.trips.rto().min(self.terms.config().persist_max), Alarm::Timeout);
        }
        if choice.is_none() {
            self.window.clear_pacing_timer();
        }
        choice.filter(|_| !self.must_wait(now))
    }

    /// As many segments as may leave at once have left since the last acknowledgement, and no pacer spaces them.
    fn has_sent_burst(&self) -> bool {
        let most = self.terms.config().max_burst;
        most > 0 && self.burst >= most && self.window.pacing_rate(self.trips.srtt()).is_none()
    }

    fn choose_open(&mut self, room: u64) -> Option<Choice> {
        let window = self.cwnd();
        let config = self.terms.config();
        let limited = config.limited_transmit && self.recovery.duplicates() < config.duplicate_threshold;
        let (used, extra) = match self.terms.recovery() {
            // RFC 6675, section 5, step 3: limited transmit by the pipe.
            LossRecovery::Sack6675 | LossRecovery::Rack if config.limited_transmit => (self.flight.pipe(), 0),
            // RFC 3042: "the amount of outstanding data would remain less than or equal to cwnd plus 2 segments".
            _ if limited => (self.flight.outstanding(), self.recovery.beyond_window() * self.terms.mss()),
            _ => (self.flight.outstanding(), 0),
        };
        self.new_data((window + extra).saturating_sub(used), room)
    }

    /// RFC 6675, section 5, step C: "If cwnd - pipe >= 1 SMSS, the sender SHOULD transmit one or more segments".
    fn choose_by_pipe(&mut self, room: u64) -> Option<Choice> {
        let allowed = self.cwnd().saturating_sub(self.flight.pipe());
        if allowed < self.terms.mss() {
            self.window.held_back(self.max);
            return None;
        }
        let reason = self.reason();
        if self.spurious.wants_new_data() {
            return self.new_data(allowed, room);
        }
        if let Some(index) = self.flight.next_lost() {
            return self.resend(index, reason, false);
        }
        if let Some(choice) = self.new_data(allowed, room) {
            return Some(choice);
        }
        if self.terms.recovery() == LossRecovery::Rack {
            return None;
        }
        let fast = self.recovery.phase() == Phase::Fast;
        if fast && self.terms.config().nextseg_rule3 {
            if let Some(index) = self.flight.next_hole() {
                return self.resend(index, reason, false);
            }
        }
        if fast && self.terms.config().rescue_retransmission && self.recovery.may_rescue() {
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
        let window = (self.window.size() / self.terms.mss()) as i64;
        if !self.recovery.ns2_has_room(window) {
            return None;
        }
        match self.flight.next_hole() {
            Some(index) => self.resend(index, RetransmitReason::Recovery, false),
            None => self.new_data(u64::MAX, room),
        }
    }

    /// After a timeout without a scoreboard: everything again from `una`, as the window opens.
    fn choose_go_back_n(&mut self, room: u64) -> Option<Choice> {
        let config = self.terms.config();
        let mut window = self.cwnd().min(self.limit());
        if config.limited_transmit && self.recovery.duplicates() < config.duplicate_threshold {
            window += self.recovery.beyond_window() * self.terms.mss();
        }
        let at = self.flight.cursor_seq().unwrap_or(self.max) - self.una;
        let Some(index) = self.flight.at_cursor() else {
            return self.new_data(window.saturating_sub(at), room);
        };
        let size = self.flight.get(index)?.size();
        // The first one always leaves: the timeout is for it.
        if at > 0 && at + size > window {
            self.window.held_back(self.max);
            return None;
        }
        self.resend(index, RetransmitReason::Timeout, false)
    }

    fn reason(&self) -> RetransmitReason {
        match self.recovery.phase() {
            Phase::Loss => RetransmitReason::Timeout,
            Phase::Open | Phase::Fast => RetransmitReason::Recovery,
        }
    }

    fn resend(&self, index: u64, reason: RetransmitReason, forced: bool) -> Option<Choice> {
        let s = self.flight.get(index)?;
        let outgoing = Outgoing { seq: s.seq, len: s.len, fin: s.fin };
        Some(Choice { kind: Kind::Resend { index, reason, forced, rescue: false }, outgoing })
    }

    /// New data, at most `allowed` bytes by the congestion window.
    fn new_data(&mut self, allowed: u64, room: u64) -> Option<Choice> {
        let available = self.buffer.unsent(self.max);
        let fin_waits = self.buffer.fin_waits();
        if available == 0 {
            let outgoing = Outgoing { seq: self.max, len: 0, fin: true };
            return fin_waits.then_some(Choice { kind: Kind::New, outgoing });
        }
        let (config, mss) = (self.terms.config(), self.terms.mss());
        let mut len = available.min(mss).min(room.max(1));
        let ending = fin_waits && len == available && config.fin_beyond_window && !self.tail.is_out();
        if len > allowed && !ending {
            self.window.held_back(self.max);
            return None;
        }
        let peer = self.peer_room();
        if len > peer {
            // A part of a segment only when nothing else is on its way (sender's silly window avoidance, RFC 1122, 4.2.3.4).
            if peer == 0 || !self.flight.is_empty() {
                return None;
            }
            len = peer;
        }
        let last = len == available;
        let fin = last && fin_waits;
        if config.nagle && len < mss && !fin && !self.flight.is_empty() {
            return None;
        }
        Some(Choice { kind: Kind::New, outgoing: Outgoing { seq: self.max, len: len as u32, fin } })
    }

    /// True if the pacer keeps the next segment back.
    fn must_wait(&mut self, now: Instant) -> bool {
        let waits = self.window.must_wait(now, self.trips.srtt());
        // "A sender SHOULD NOT consider itself application limited if it would have fully utilized the congestion window without pacing
        // delay" (RFC 9002, 7.8).
        if waits && self.buffer.from(self.una) >= self.cwnd() {
            self.window.held_back(self.max);
        }
        waits
    }

    /// The chosen segment leaves.
    pub(crate) fn commit(&mut self, cx: &mut Context<'_>, choice: &Choice) {
        let Outgoing { seq, len, fin } = choice.outgoing;
        let first = self.flight.is_empty();
        let flight_before = self.flight.pipe();
        let retransmit = match choice.kind {
            Kind::New => {
                self.commit_new(cx, choice.outgoing);
                self.timer_after_new(cx.now, first);
                self.tail.new_data_left(self.max);
                None
            }
            Kind::Resend { index, reason, forced, rescue } => {
                if rescue || self.is_tail_probe(reason) {
                    if rescue {
                        self.recovery.rescue_left();
                    }
                    self.flight.rescue(index, cx.now);
                } else {
                    self.flight.resend(index, cx.now);
                }
                let end = seq + u64::from(len) + u64::from(fin);
                self.spurious.resent(cx.now, end);
                if reason == RetransmitReason::Timeout && self.terms.config().quirk_faulty_recovery && !forced
                {
                    self.trips.back_off();
                }
                if forced {
                    self.forced = None;
                } else {
                    self.recovery.resent();
                }
                cx.stats.retransmissions += u64::from(len > 0);
                self.trips.resent(end);
                if !self.timer.is_running() {
                    self.restart_timer(cx.now);
                }
                Some(reason)
            }
        };
        let departure = Departure {
            bytes: u64::from(len) + u64::from(fin),
            pipe: (flight_before, self.flight.pipe()),
            starved: self.is_starved(),
            srtt: self.trips.srtt(),
        };
        self.window.on_sent(&self.terms, cx.now, &departure);
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
    fn is_tail_probe(&self, reason: RetransmitReason) -> bool {
        reason == RetransmitReason::Probe && self.tail.is_out()
    }

    fn commit_new(&mut self, cx: &mut Context<'_>, Outgoing { seq, len, fin }: Outgoing) {
        if self.flight.is_empty() {
            self.timer.stop();
        }
        self.peer.new_data_left();
        self.flight.push(seq, len, fin, cx.now);
        self.max = seq + u64::from(len) + u64::from(fin);
        if fin {
            self.buffer.fin_left(self.max - 1);
        }
        self.trips.new_segment_left(self.max, cx.now);
        self.recovery.new_data_left(len);
        cx.stats.packets_sent_unique += u64::from(len > 0);
        cx.stats.payload_bytes_unique += u64::from(len);
    }
}
