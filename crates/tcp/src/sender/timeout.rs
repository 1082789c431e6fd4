//! The timer of the sender expired, in each of its uses.

use super::context::Context;
use super::state::Sender;
use super::timer::Alarm;
use anabranch_base::{RetransmitReason, TraceEvent};

impl Sender {
    /// Answers false when it is time to give up.
    pub(crate) fn on_timer(&mut self, cx: &mut Context<'_>) -> bool {
        if self.is_persisting() {
            self.on_persist_timer(cx);
            return true;
        }
        match self.timer.alarm() {
            Alarm::Timeout => return self.on_timeout(cx),
            Alarm::Probe => self.on_probe_timer(cx),
            Alarm::Reordering => self.on_reordering_timer(cx),
        }
        true
    }

    /// The retransmission timer expired. Answers false when it is time to give up.
    fn on_timeout(&mut self, cx: &mut Context<'_>) -> bool {
        let failures = self.timer.failed();
        if failures > self.terms.config().retransmissions {
            return false;
        }
        cx.stats.timeouts += 1;
        // RFC 5681, section 3.1: when "the given segment has already been retransmitted by way of the
        // retransmission timer at least once, the value of ssthresh is held constant".
        let held = failures > 1 && self.terms.config().ssthresh_held_on_backoff;
        let base = (!held).then(|| self.loss_base());
        if base.is_some() {
            self.spurious.begin(self.terms.config().undo, || None);
        }
        self.window.on_timeout(base);
        self.trips.back_off();
        let within = self.recovery.on_timeout(self.max);
        self.forced = None;
        self.trips.stop_timing();
        self.burst = 0;
        let scoreboard = self.terms.recovery().has_scoreboard();
        if !scoreboard || !self.terms.config().keep_sack_on_timeout {
            self.flight.clear_sacks();
        }
        self.lose_at_timeout(cx.now);
        // A model hears of the timeout, not of each loss: a timeout does not show which volume was too much.
        self.flight.take_losses();
        self.tail.on_timeout();
        // RFC 5682, section 3.1, step 1: not for a timeout within recovery from another loss.
        self.spurious.on_timeout(self.terms.config().frto && scoreboard && !within);
        // The first unacknowledged segment goes out in any case (RFC 6298, 5.4).
        if scoreboard {
            self.forced = Some((self.flight.front_index(), RetransmitReason::Timeout));
        }
        let rto = self.trips.rto();
        self.timer.timeout_in(cx.now, rto);
        self.timer.arm(cx.now, rto, Alarm::Timeout);
        cx.record(|| TraceEvent::Timeout { rto });
        self.record_window(cx);
        true
    }

    /// RFC 8985, section 7.3: TLP_send_probe.
    fn on_probe_timer(&mut self, cx: &mut Context<'_>) {
        self.timer.stop();
        let samples = self.trips.samples();
        if !self.tail.may_begin(samples) {
            if self.terms.config().rto_from_head {
                self.resume_timeout(cx.now);
            } else {
                self.timer.arm(cx.now, self.trips.rto(), Alarm::Timeout);
            }
            return;
        }
        cx.stats.tail_probes += 1;
        let len = self.buffer.unsent(self.max).min(self.terms.mss());
        let fits = self.una + self.limit() >= self.max + len;
        if len > 0 && fits {
            self.tail.begin(samples, None);
        } else {
            let last = self.flight.last_unsacked().unwrap_or(self.flight.front_index());
            self.forced = Some((last, RetransmitReason::Probe));
            self.tail.begin(samples, Some(self.max));
        }
        self.timer.timeout_in(cx.now, self.trips.rto());
        self.timer.arm(cx.now, self.trips.rto(), Alarm::Timeout);
    }

    /// The reordering timer expired: segments still missing are lost.
    fn on_reordering_timer(&mut self, cx: &mut Context<'_>) {
        self.timer.stop();
        let was_open = self.recovery.is_open();
        self.rack_detect_loss(cx);
        if was_open {
            // The last report began this recovery; no later acknowledgement will count it.
            self.window.reported(self.terms.mss(), false, self.flight.pipe());
        }
        if !self.timer.is_running() {
            self.resume_timeout(cx.now);
        }
        self.record_window(cx);
    }

    /// RFC 9293, section 3.8.6.1: keeps asking a shut window, as long as the peer answers, at growing intervals.
    fn on_persist_timer(&mut self, cx: &mut Context<'_>) {
        self.timer.stop();
        let nothing = self.flight.is_empty() && self.buffer.queue().end() == self.max;
        if self.peer.bytes() > 0 || nothing {
            return;
        }
        self.trips.stop_timing();
        cx.stats.window_probes += 1;
        self.trips.back_off();
        self.peer.probe(self.flight.is_empty());
        if !self.flight.is_empty() {
            self.forced = Some((self.flight.front_index(), RetransmitReason::Probe));
        }
        self.timer.arm(cx.now, self.trips.rto().min(self.terms.config().persist_max), Alarm::Timeout);
    }
}
