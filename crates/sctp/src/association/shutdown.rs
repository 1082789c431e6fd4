//! Ending: SHUTDOWN in every state, and ABORT (RFC 9260, 9).

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use super::Association;
use super::phase::{Guard, Phase, ShutdownTimers};
use crate::causes;
use crate::control::Kind;
use crate::encoding::Encoding;
use crate::event::{CloseReason, Event};
use crate::ids::SpaceId;
use crate::sender::{GapList, Windows};
use crate::state::State;
use crate::violation::Violation;

impl Association {
    /// SHUTDOWN primitive of the user.
    pub(crate) fn shutdown(&mut self, now: Instant) {
        self.cx.set_now(now);
        self.begin_shutdown();
    }

    /// As [`Association::shutdown`]; what has not ended by `deadline` is aborted then.
    pub(crate) fn shutdown_by(&mut self, now: Instant, deadline: Instant) {
        self.shutdown(now);
        if self.cx.state != State::Closed {
            self.wishes.get_or_insert_default().deadline = Some(deadline);
        }
    }

    /// The peer reads the reason; messages that it has not acknowledged go back to our user.
    pub(super) fn on_shutdown_deadline(&mut self) {
        if self.cx.state == State::CookieWait {
            self.close(CloseReason::ShutdownDeadline);
        } else {
            let cause = causes::user_abort(b"the shutdown took too long");
            self.abort_with(CloseReason::ShutdownDeadline, cause);
        }
    }

    // rfc9260:9.2-7
    pub(super) fn begin_shutdown(&mut self) {
        match &mut self.phase {
            Phase::Established => {
                self.enter(Phase::ShutdownPending(self.new_guard()));
                self.sender.note_shutdown(&self.cx);
                self.advance_shutdown();
            }
            // The peer knows nothing of us yet, and nothing was promised to anybody.
            Phase::CookieWait(_) if self.sender.has_nothing_outstanding() => {
                self.close(CloseReason::AbortedLocally);
            }
            // What was accepted is delivered first, and the peer may be up already: it must hear of the end. A
            // handshake that fails ends it, too.
            Phase::CookieWait(handshake) | Phase::CookieEchoed(handshake) => handshake.shutdown_wanted = true,
            // "it MUST ignore ULP shutdown requests": the peer's is under way, and only if that peer is gone ours is needed.
            Phase::ShutdownReceived(guard) => guard.closed_by_user = true,
            // In the others it runs already.
            _ => {}
        }
    }

    /// Goes on with a shutdown once everything outstanding has been acknowledged.
    // rfc9260:3.3.8-1 rfc9260:9.2-1 rfc9260:9.2-8 rfc9260:9.2-13 rfc9260:9.2-20
    pub(super) fn advance_shutdown(&mut self) {
        if !matches!(self.cx.state, State::ShutdownPending | State::ShutdownReceived) {
            return;
        }
        self.end_when_nothing_is_outstanding();
    }

    #[cold]
    fn end_when_nothing_is_outstanding(&mut self) {
        if !self.sender.has_nothing_outstanding() {
            return;
        }
        let t2 = Some(self.t2_from_now());
        if self.cx.state == State::ShutdownPending {
            let t5 = self.t5_from_now();
            self.control.ask(Kind::Shutdown, self.cx.paths.for_control());
            let timers = ShutdownTimers { t2, t5, ..ShutdownTimers::default() };
            self.enter(Phase::ShutdownSent(Box::new(timers)));
            self.arm_shutdown_probe();
        } else {
            self.answer_shutdown(ShutdownTimers { t2, ..ShutdownTimers::default() });
        }
    }

    /// Both sides have nothing left to send.
    fn answer_shutdown(&mut self, timers: ShutdownTimers) {
        self.control.ask(Kind::ShutdownAck, self.cx.paths.for_control());
        self.enter(Phase::ShutdownAckSent(Box::new(timers)));
        self.arm_shutdown_probe();
        self.receiver.arrivals_mut().acknowledge_no_more();
    }

    /// When T5-shutdown-guard expires that is started now.
    // rfc9260:9.2-12
    fn t5_from_now(&self) -> Option<Instant> {
        let config = &self.cx.config;
        let guard = config.timers.rto_max * u64::from(config.timers.shutdown_guard_rto_max);
        (config.timers.shutdown_guard_rto_max > 0).then(|| self.cx.now + guard)
    }

    /// T5 as it runs while data is outstanding.
    fn new_guard(&self) -> Guard {
        let closed_by_user = self.is_closed_by_user();
        Guard { t5: self.t5_from_now(), progress: self.sender.progress(), closed_by_user }
    }

    /// Whether our user has asked for the end: that outlives a restart of the peer.
    pub(super) fn is_closed_by_user(&self) -> bool {
        match &self.phase {
            Phase::ShutdownPending(_) | Phase::ShutdownSent(_) => true,
            Phase::ShutdownReceived(guard) => guard.closed_by_user,
            _ => false,
        }
    }

    /// T5-shutdown-guard expired: "the sender SHOULD abort the association" (9.2). The RFC starts it with the SHUTDOWN chunk, and so
    /// leaves it to a peer that never opens its window how long an association lasts that our user has closed. So it runs as long
    /// as data is outstanding, too, and there a peer that reads slowly is not at fault: it begins anew if the cumulative point
    /// has moved.
    // rfc9260:9.2-11
    pub(super) fn on_t5(&mut self) {
        let next = self.new_guard();
        if let Some(guard) = self.phase.guard_mut().filter(|guard| guard.progress != next.progress) {
            *guard = next;
            return;
        }
        self.abort_with(CloseReason::ShutdownGuard, Vec::new());
    }

    /// When T2-shutdown expires that is started now.
    // rfc9260:9.2-3
    fn t2_from_now(&self) -> Instant {
        self.cx
            .config
            .clock()
            .after(self.cx.now, self.cx.paths.rto(&self.cx.config, self.cx.paths.for_control()))
    }

    fn restart_t2(&mut self) {
        let t2 = self.t2_from_now();
        if let Some(timers) = self.phase.shutdown_timers_mut() {
            timers.t2 = Some(t2);
        }
        self.arm_shutdown_probe();
    }

    /// An INIT came in SHUTDOWN-ACK-SENT: "discard the INIT chunk and retransmit the SHUTDOWN ACK chunk" (9.2).
    // rfc9260:9.2-22
    pub(crate) fn resend_shutdown_ack(&mut self) {
        self.control.ask(Kind::ShutdownAck, self.cx.paths.for_control());
    }

    /// A packet arrived in SHUTDOWN-SENT: "SHOULD clear the endpoint's retransmission count and restart the
    /// T2-shutdown timer".
    // rfc9260:6.2-15 rfc9260:9.2-6 rfc9260:9.2-9
    #[inline]
    pub(super) fn heard_in_shutdown_sent(&mut self, had_data: bool) {
        if self.cx.state != State::ShutdownSent {
            return;
        }
        self.errors = 0;
        self.restart_t2();
        if had_data {
            // "MUST immediately respond to each received packet containing one or more DATA chunks with a SHUTDOWN
            // chunk", and a SACK where gaps or duplicates exist.
            self.control.ask(Kind::Shutdown, self.cx.paths.for_control());
            self.receiver.demand_unsaid(&self.cx);
        }
    }

    /// SHUTDOWN chunk.
    // rfc9260:3.3.8-2 rfc9260:9.2-7 rfc9260:9.2-24 rfc9260:9.2-25
    pub(super) fn on_shutdown(&mut self, cumulative: Tsn) {
        match self.cx.state {
            // "If a SHUTDOWN chunk is received in the COOKIE-WAIT or COOKIE ECHOED state, the SHUTDOWN chunk SHOULD
            // be silently discarded."
            State::CookieWait | State::CookieEchoed | State::Closed => return,
            State::Established | State::ShutdownPending => {
                self.enter(Phase::ShutdownReceived(self.new_guard()));
                self.cx.tell(Event::PeerShutdown);
            }
            State::ShutdownSent => {
                // "SHOULD respond immediately with a SHUTDOWN ACK chunk to its peer and move into the
                // SHUTDOWN-ACK-SENT state, restarting its T2-shutdown timer."
                let timers = ShutdownTimers { probed: false, ..self.phase.shutdown_timers() };
                self.control.cancel(Kind::Shutdown);
                self.answer_shutdown(timers);
                self.restart_t2();
            }
            State::ShutdownReceived => {}
            State::ShutdownAckSent => {
                self.control.ask(Kind::ShutdownAck, self.cx.paths.for_control());
                self.arm_shutdown_probe();
            }
        }
        if self.encoding != Encoding::Sf2007 {
            // In the encoding of 2007 it is an association sequence number, which acknowledges nothing. There are stacks that put a
            // number of their own there: what was never sent is not acknowledged by it, and that they close is true all the same.
            // SACKs tell of what is outstanding.
            let no_gaps = GapList::all(std::iter::empty());
            let _not_believed: Result<(), Violation> =
                self.on_acknowledgement(SpaceId::FIRST, cumulative, Windows::default(), no_gaps, None);
        }
        self.advance_shutdown();
    }

    /// SHUTDOWN ACK chunk in a state where it belongs to this association.
    // rfc9260:9.2-17 rfc9260:9.2-26
    pub(super) fn on_shutdown_ack(&mut self) {
        if matches!(self.cx.state, State::ShutdownSent | State::ShutdownAckSent) {
            self.control.ask(Kind::ShutdownComplete, self.cx.paths.for_control());
            self.close(CloseReason::Graceful);
        }
    }

    /// SHUTDOWN COMPLETE chunk: "verifies that it is in the SHUTDOWN-ACK-SENT state; if it is not, the chunk SHOULD
    /// be discarded".
    // rfc9260:8.5.1-11 rfc9260:9.2-18 rfc9260:9.2-19
    pub(crate) fn on_shutdown_complete(&mut self) {
        if self.cx.state == State::ShutdownAckSent {
            self.close(CloseReason::Graceful);
        }
    }

    /// T2-shutdown expired.
    // rfc9260:9.2-2 rfc9260:9.2-4 rfc9260:9.2-14 rfc9260:9.2-15
    pub(super) fn on_t2(&mut self) {
        if let Some(timers) = self.phase.shutdown_timers_mut() {
            timers.t2 = None;
            (timers.probe, timers.probed) = (None, true);
        }
        if let Some(path) = self.cx.paths.primary_mut() {
            path.back_off();
        }
        self.count_error(self.cx.paths.for_control());
        match self.cx.state {
            State::ShutdownSent => self.control.ask(Kind::Shutdown, self.cx.paths.for_control()),
            State::ShutdownAckSent => self.control.ask(Kind::ShutdownAck, self.cx.paths.for_control()),
            _ => return,
        }
        self.restart_t2();
    }
}
