//! The end of an association: SHUTDOWN of either side, errors that are counted, ABORT of either side, and what closes with it
//! (RFC 9260, 8.1 and 9).

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use super::Association;
use super::packet_reader::sf_violation;
use crate::causes;
use crate::control::Kind;
use crate::encoding::Encoding;
use crate::event::{CloseReason, Event};
use crate::ids::{PathId, SpaceId};
use crate::scope::scope_of;
use crate::sender::{GapList, Windows};
use crate::state::State;
use crate::violation::Violation;

impl Association {
    /// Ends the association. What is waiting to be sent is dropped; what was received stays.
    // rfc9260:8.1-4
    pub(super) fn close(&mut self, reason: CloseReason) {
        if self.cx.state == State::Closed {
            return;
        }
        self.life.close(&mut self.cx);
        self.agreed.end_reconfiguration();
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
            self.life.set_deadline(deadline);
        }
    }

    /// Our user asks for the end.
    pub(super) fn begin_shutdown(&mut self) {
        if let Some(reason) = self.life.begin_shutdown(&mut scope_of!(self)) {
            self.close(reason);
        }
    }

    /// What was given up may have been the last that something waited for.
    pub(super) fn after_abandonment(&mut self) {
        self.subflow_manager().close_drained_subflows();
        self.life.advance_shutdown(&mut scope_of!(self));
    }

    /// An INIT came in SHUTDOWN-ACK-SENT: "discard the INIT chunk and retransmit the SHUTDOWN ACK chunk" (9.2).
    // rfc9260:9.2-22
    pub(crate) fn resend_shutdown_ack(&mut self) {
        self.control.ask(Kind::ShutdownAck, self.cx.paths.for_control());
    }

    /// SHUTDOWN chunk: it acknowledges, too.
    pub(super) fn on_shutdown(&mut self, cumulative: Tsn) {
        if !self.life.on_shutdown(&mut scope_of!(self)) {
            return;
        }
        if self.agreed.encoding() != Encoding::Sf2007 {
            // In the encoding of 2007 it is an association sequence number, which acknowledges nothing. There are stacks that put a
            // number of their own there: what was never sent is not acknowledged by it, and that they close is true all the same.
            // SACKs tell of what is outstanding.
            let (windows, no_gaps) = (Windows::default(), GapList::all(std::iter::empty()));
            let mut reader = self.packet_reader();
            let _not_believed: Result<(), Violation> =
                reader.on_acknowledgement(SpaceId::FIRST, cumulative, windows, no_gaps, None);
        }
        self.life.advance_shutdown(&mut scope_of!(self));
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
        }
        // "If the value of this counter exceeds the limit indicated in the protocol parameter
        // 'Association.Max.Retrans', the endpoint SHOULD consider the peer endpoint unreachable".
        if self.errors > self.cx.config.limits.association_max_retrans {
            self.give_up("Association.Max.Retrans");
        }
    }

    /// The peer has not answered for too long. The RFC only says that nothing more is sent but for what ends the association (8.1); an
    /// ABORT lets a peer that can still hear us end its side now instead of keeping it until its own timers run out.
    #[cold]
    pub(super) fn give_up(&mut self, limit: &'static str) {
        self.end(CloseReason::Unreachable { limit }, Vec::new());
    }

    /// Our side ends the association, and says so with ABORT and encoded causes. A peer that has only had our INIT has no side to end.
    pub(super) fn end(&mut self, reason: CloseReason, causes: Vec<u8>) {
        if self.cx.state == State::CookieWait {
            self.close(reason);
        } else {
            self.abort_with(reason, causes);
        }
    }

    /// ABORT primitive of the user; the reason travels as a User-Initiated Abort cause.
    // rfc9260:9.1-3
    pub(crate) fn abort(&mut self, reason: &[u8]) {
        if self.cx.state != State::Closed {
            self.end(CloseReason::AbortedLocally, causes::user_abort(reason));
        }
    }

    /// The peer broke a rule.
    pub(super) fn abort_violation(&mut self, violation: Violation) {
        let (what, cause) = match violation {
            Violation::NoUserData(tsn) => ("a DATA chunk without user data", causes::no_user_data(tsn)),
            Violation::Protocol(what) => (what, causes::protocol_violation(what)),
            Violation::Subflow { fid, epoch, reason, what } => {
                (what, sf_violation(&self.cx, fid, epoch, reason, what.as_bytes()))
            }
        };
        self.abort_with(CloseReason::ProtocolViolation { what }, cause);
    }

    /// Sends ABORT with encoded causes and closes.
    // rfc9260:9.1-1
    pub(super) fn abort_with(&mut self, reason: CloseReason, causes: Vec<u8>) {
        self.control.abort(self.cx.paths.for_control(), causes);
        self.close(reason);
    }

    /// The peer has aborted, with a tag that has been checked.
    // rfc9260:3.3.7-4 rfc9260:9.1-6
    pub(crate) fn end_aborted(&mut self, reason: CloseReason) {
        self.close(reason);
        // "MUST NOT respond to an ABORT" (9.1): whatever waited is gone.
        self.control.clear();
        self.writer.forget_deferred();
    }

    /// The peer's host does not know SCTP, or the port of UDP. "MUST treat this message as an abort with the T bit set if it does not
    /// contain an INIT chunk. If it does contain an INIT chunk and the association is in the COOKIE-WAIT state, handle the ICMP message like
    /// an ABORT chunk" (10, ICMP8). False: ignored.
    pub(crate) fn abort_by_icmp(&mut self, now: Instant, init: bool, reason: CloseReason) -> bool {
        let aborts = !init || self.cx.state == State::CookieWait;
        if aborts {
            self.cx.set_now(now);
            self.end_aborted(reason);
        }
        aborts
    }
}
