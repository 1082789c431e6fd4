//! The timers of a connection: the next one, and the actions when one expires.

use super::{Connection, Outside};
use crate::event::{Failure, Timer};
use crate::sender::Sender;
use anabranch_base::Instant;

impl Connection {
    /// The next timer, and which.
    pub(crate) fn timeout(&self) -> Option<(Instant, Timer)> {
        let timers = [
            self.syn.timer().map(|at| (at, Timer::Retransmission)),
            self.sender.timer().map(|at| (at, self.sender.timer_kind())),
            self.sender.pacing_timer().map(|at| (at, Timer::Pacing)),
            self.acks.timer().map(|at| (at, Timer::DelayedAck)),
            self.time_wait.map(|at| (at, Timer::TimeWait)),
        ];
        timers.into_iter().flatten().min()
    }

    /// Fires the timers that are due.
    pub(crate) fn on_timeout(&mut self, out: &mut Outside<'_>) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= out.now);
        if due(self.time_wait) {
            self.time_wait = None;
            self.enter_closed();
            return;
        }
        if due(self.acks.timer()) {
            self.acks.on_timer();
            // It was delayed for long enough for the user to read.
            self.receiver.hold_back(0);
        }
        if due(self.sender.pacing_timer()) {
            // The caller lets the connection send once its timers have fired.
            self.sender.clear_pacing_timer();
        }
        if due(self.syn.timer()) {
            self.on_syn_timeout(out);
        } else if due(self.sender.timer()) {
            let go_on = self.with_sender(out, Sender::on_timer);
            if !go_on {
                self.fail(out, Failure::RetransmissionLimit);
            }
        }
    }
}
