//! The end of an association: SHUTDOWN in every state, errors that are counted, ABORT of either side, and what closes with it
//! (RFC 9260, 8.1 and 9).

use anabranch_base::Instant;
use anabranch_wire::Tsn;
use anabranch_wire::cause::Causes;

use super::Association;
use super::phase::Phase;
use super::shutdown::Shutdown;
use crate::causes;
use crate::control::Kind;
use crate::encoding::Encoding;
use crate::event::{CloseReason, Event};
use crate::ids::{PathId, SpaceId};
use crate::scope::scope_of;
use crate::sender::{GapList, Windows, follow_paths};
use crate::state::State;
use crate::violation::Violation;

impl Association {
    /// Ends the association. What is waiting to be sent is dropped; what was received stays.
    // rfc9260:8.1-4
    pub(super) fn close(&mut self, reason: CloseReason) {
        if self.cx.state == State::Closed {
            return;
        }
        self.enter(Phase::Closed);
        self.reconfig = None;
        if let Some(seldom) = &mut self.seldom {
            seldom.deadline = None;
        }
        self.handed_back.take_undelivered(&mut self.cx, &mut self.sender);
        self.sender.close();
        self.receiver.close();
        for path in self.cx.paths.rows_mut() {
            path.stop_heartbeats();
        }
        self.control.close();
        self.cx.tell(Event::Closed(reason));
    }

    /// SHUTDOWN primitive of the user.
    pub(crate) fn shutdown(&mut self, now: Instant) {
        self.cx.set_now(now);
        self.begin_shutdown();
    }

    /// As [`Association::shutdown`]; what has not ended by `deadline` is aborted then.
    pub(crate) fn shutdown_by(&mut self, now: Instant, deadline: Instant) {
        self.shutdown(now);
        if self.cx.state != State::Closed {
            self.seldom.get_or_insert_default().deadline = Some(deadline);
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
                let shutdown = Shutdown::of_user(&scope_of!(self));
                self.enter(Phase::Ending(Box::new(shutdown)));
                self.sender.note_shutdown(&self.cx);
                self.advance_shutdown();
            }
            // The peer knows nothing of us yet, and nothing was promised to anybody.
            Phase::CookieWait(_) if self.sender.has_nothing_outstanding() => {
                self.close(CloseReason::AbortedLocally);
            }
            // What was accepted is delivered first, and the peer may be up already: it must hear of the end. A
            // handshake that fails ends it, too.
            Phase::CookieWait(handshake) | Phase::CookieEchoed(handshake) => handshake.want_shutdown(),
            Phase::Ending(shutdown) => shutdown.user_closes(),
            Phase::Closed => {}
        }
    }

    /// Goes on with a shutdown once everything outstanding has been acknowledged.
    pub(super) fn advance_shutdown(&mut self) {
        if matches!(self.cx.state, State::ShutdownPending | State::ShutdownReceived) {
            self.in_shutdown(Shutdown::advance);
        }
    }

    /// Whether our user has asked for the end: that outlives a restart of the peer.
    pub(super) fn is_closed_by_user(&self) -> bool {
        self.phase.shutdown().is_some_and(Shutdown::is_closed_by_user)
    }

    /// An INIT came in SHUTDOWN-ACK-SENT: "discard the INIT chunk and retransmit the SHUTDOWN ACK chunk" (9.2).
    // rfc9260:9.2-22
    pub(crate) fn resend_shutdown_ack(&mut self) {
        self.control.ask(Kind::ShutdownAck, self.cx.paths.for_control());
    }

    /// SHUTDOWN chunk.
    // rfc9260:3.3.8-2 rfc9260:9.2-7 rfc9260:9.2-24 rfc9260:9.2-25
    pub(super) fn on_shutdown(&mut self, cumulative: Tsn) {
        match self.cx.state {
            // "If a SHUTDOWN chunk is received in the COOKIE-WAIT or COOKIE ECHOED state, the SHUTDOWN chunk SHOULD
            // be silently discarded."
            State::CookieWait | State::CookieEchoed | State::Closed => return,
            State::Established | State::ShutdownPending => {
                let closed_by_user = self.is_closed_by_user();
                let shutdown = Shutdown::of_peer(&scope_of!(self), closed_by_user);
                self.enter(Phase::Ending(Box::new(shutdown)));
                self.cx.tell(Event::PeerShutdown);
            }
            State::ShutdownSent | State::ShutdownReceived | State::ShutdownAckSent => {
                self.in_shutdown(Shutdown::on_shutdown);
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

    /// Association error counter (8.1), and that of the path (8.2).
    // rfc9260:8.1-1 rfc9260:8.1-3 rfc9260:9.2-5 rfc9260:9.2-16
    pub(super) fn count_error(&mut self, path: PathId) {
        self.errors += 1;
        if let Some(down) = self.cx.paths.on_error(&self.cx.config, path) {
            self.cx.tell(down);
            follow_paths(&mut self.sender, &mut self.cx);
        }
        // "If the value of this counter exceeds the limit indicated in the protocol parameter
        // 'Association.Max.Retrans', the endpoint SHOULD consider the peer endpoint unreachable".
        if self.errors > self.cx.config.limits.association_max_retrans {
            self.give_up("Association.Max.Retrans");
        }
    }

    /// The peer has not answered for too long. The RFC only says that nothing more is sent but for what ends the association (8.1); an
    /// ABORT lets a peer that can still hear us end its side now instead of keeping it until its own timers run out. A peer that
    /// has only had our INIT has no side to end.
    #[cold]
    pub(super) fn give_up(&mut self, limit: &'static str) {
        let reason = CloseReason::Unreachable { limit };
        if self.cx.state == State::CookieWait {
            self.close(reason);
        } else {
            self.abort_with(reason, Vec::new());
        }
    }

    /// ABORT primitive of the user; the reason travels as a User-Initiated Abort cause.
    // rfc9260:9.1-3
    pub(crate) fn abort(&mut self, reason: &[u8]) {
        match self.cx.state {
            State::Closed => {}
            State::CookieWait => self.close(CloseReason::AbortedLocally),
            _ => {
                let cause = causes::user_abort(reason);
                self.abort_with(CloseReason::AbortedLocally, cause);
            }
        }
    }

    /// Sends ABORT with encoded causes and closes.
    // rfc9260:9.1-1
    pub(super) fn abort_with(&mut self, reason: CloseReason, causes: Vec<u8>) {
        self.control.abort(self.cx.paths.for_control(), causes);
        self.close(reason);
    }

    /// The peer has aborted.
    pub(super) fn end_aborted(&mut self, reason: CloseReason) {
        self.close(reason);
        // "MUST NOT respond to an ABORT" (9.1): whatever waited is gone.
        self.control.clear();
        self.writer.forget_deferred();
    }

    /// ABORT chunk whose tag the endpoint has checked.
    // rfc9260:3.3.7-4 rfc9260:9.1-6
    pub(crate) fn on_abort(&mut self, list: Causes<'_>) {
        let (causes, reason) = (causes::codes(list), causes::abort_reason(list));
        self.end_aborted(CloseReason::AbortedByPeer { causes, reason });
    }

    /// The peer's host does not know SCTP: as if it had sent an ABORT without causes (10, ICMP8).
    pub(crate) fn abort_by_icmp(&mut self, now: Instant, reason: CloseReason) {
        self.cx.set_now(now);
        self.end_aborted(reason);
    }
}
