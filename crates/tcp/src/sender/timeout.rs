//! The retransmission timer expired, or the persist timer, which is the same timer with a shut window.

use super::state::{Alarm, Context, Phase, Sender};
use anabranch_base::{RetransmitReason, TraceEvent};
use anabranch_transport::congestion::Congestion;

impl Sender {
    /// Answers false when it is time to give up.
    pub(crate) fn on_timer(&mut self, cx: &mut Context<'_>) -> bool {
        if self.is_persisting() {
            self.probe(cx);
            return true;
        }
        match self.alarm {
            Alarm::Timeout => {}
            Alarm::Probe => {
                self.on_probe_timer(cx);
                return true;
            }
            Alarm::Reordering => {
                self.on_reordering_timer(cx);
                return true;
            }
        }
        self.failures += 1;
        if self.failures > self.config.retransmissions {
            return false;
        }
        cx.stats.timeouts += 1;
        // RFC 5681, section 3.1: when "the given segment has already been retransmitted by way of the
        // retransmission timer at least once, the value of ssthresh is held constant".
        let held = self.failures > 1 && self.config.ssthresh_held_on_backoff;
        let base = (!held).then(|| self.loss_base());
        if base.is_some() {
            self.doubt();
        }
        self.congestion.on_congestion(Congestion::Timeout(base));
        self.rtt.back_off();
        let fresh = self.phase != Phase::Fast;
        self.phase = Phase::Loss;
        self.reducing = None;
        self.timeout_recover = Some(self.max);
        self.recover = Some(self.max);
        self.answered = false;
        self.duplicates = 0;
        self.limited = 0;
        self.inflation = 0;
        self.forced = None;
        self.timed = None;
        self.burst = 0;
        let scoreboard = self.recovery.has_scoreboard();
        if !scoreboard || !self.config.keep_sack_on_timeout {
            self.flight.clear_sacks();
        }
        self.lose_at_timeout(cx.now);
        // A model hears of the timeout, not of each loss: what volume was too much a timeout does not say.
        self.flight.take_losses();
        self.probe = None;
        self.probing_new = false;
        self.frto_new = false;
        // RFC 5682, section 3.1, step 1: not for a timeout within recovery from another loss.
        self.frto = self.config.frto && scoreboard && fresh;
        // The first unacknowledged segment goes out whatever else is true (RFC 6298, 5.4).
        if scoreboard {
            self.forced = Some((self.flight.front_index(), RetransmitReason::Timeout));
        }
        let rto = self.rtt.rto();
        self.timeout_at = cx.now + rto;
        self.arm(cx.now, rto, Alarm::Timeout);
        cx.record(|| TraceEvent::Timeout { rto });
        self.record_window(cx);
        true
    }

    /// RFC 9293, section 3.8.6.1: keeps asking a shut window, as long as the peer answers, at growing intervals.
    fn probe(&mut self, cx: &mut Context<'_>) {
        self.timer = None;
        if self.window > 0 || (self.flight.is_empty() && self.queue.end() == self.max) {
            return;
        }
        self.probing = true;
        self.timed = None;
        cx.stats.window_probes += 1;
        self.rtt.back_off();
        if self.flight.is_empty() {
            // One byte of new data although the window is shut.
            self.probe_byte = true;
        } else {
            self.forced = Some((self.flight.front_index(), RetransmitReason::Probe));
        }
        self.arm(cx.now, self.rtt.rto().min(self.config.persist_max), Alarm::Timeout);
    }
}
