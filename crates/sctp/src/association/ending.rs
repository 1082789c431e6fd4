//! The end of an association other than by SHUTDOWN: errors that are counted, ABORT of either side, and what closes with it
//! (RFC 9260, 8.1 and 9.1).

use anabranch_base::Instant;
use anabranch_wire::cause::Causes;

use super::Association;
use super::phase::Phase;
use crate::causes;
use crate::event::{CloseReason, Event};
use crate::ids::PathId;
use crate::state::State;

impl Association {
    /// Ends the association. What is waiting to be sent is dropped; what was received stays.
    // rfc9260:8.1-4
    pub(super) fn close(&mut self, reason: CloseReason) {
        if self.cx.state == State::Closed {
            return;
        }
        self.enter(Phase::Closed);
        self.reconfig = None;
        if let Some(wishes) = &mut self.wishes {
            wishes.deadline = None;
        }
        self.return_undelivered();
        self.sender.close();
        self.receiver.close();
        for path in self.cx.paths.rows_mut() {
            path.stop_heartbeats();
        }
        self.control.close();
        self.cx.tell(Event::Closed(reason));
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

    /// Something has come that proves that a path works (8.1, 8.2).
    // rfc9260:8.1-5
    pub(super) fn clear_errors(&mut self, path: PathId) {
        self.errors = 0;
        self.clear_path_errors(path);
    }

    /// Something has come that proves that a path works (8.2).
    pub(super) fn clear_path_errors(&mut self, path: PathId) {
        if let Some(up) = self.cx.paths.on_answer(path) {
            self.cx.tell(up);
        }
    }

    /// A HEARTBEAT, or a probe of the MTU, has been answered.
    pub(super) fn clear_errors_by_heartbeat(&mut self, id: PathId) {
        self.clear_path_errors(id);
        if self.sender.unacknowledged_chunks() == 0 {
            self.errors = 0;
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
