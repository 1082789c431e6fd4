//! The end of an association: SHUTDOWN of either side, counted errors, ABORT of either side, and closing
//! (RFC 9260, 8.1 and 9).

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use super::Association;
use super::end::{End, Notice};
use crate::control::Kind;
use crate::encoding::Encoding;
use crate::event::{CloseReason, Event};
use crate::ids::{PathId, SpaceId};
use crate::scope::scope_of;
use crate::sender::{GapList, Windows};
use crate::state::State;
use crate::violation::Violation;

impl Association {
    /// Ends the association. Messages that wait to be sent are dropped; those that were received stay.
    // rfc9260:8.1-4
    pub(crate) fn end(&mut self, end: End) {
        let state = self.cx.env.state();
        let (reason, notice) = end.into_parts();
        let (by_peer, causes) = match notice {
            Notice::Abort(causes) => (false, Some(causes)),
            Notice::AbortIfKnown(causes) => {
                (false, Some(causes).filter(|_| !matches!(state, State::CookieWait | State::Closed)))
            }
            Notice::None => (false, None),
            Notice::ByPeer => (true, None),
        };
        if let Some(causes) = causes {
            self.control.abort(self.cx.paths.for_control(), causes);
        }
        if state != State::Closed {
            self.life.close(&mut self.cx);
            // No request is answered any more, or waits for an answer.
            self.reconfig = None;
            self.handed_back.take_undelivered(&mut self.cx, &mut self.sender);
            self.sender.close();
            self.receiver.close();
            for path in self.cx.paths.rows_mut() {
                path.stop_heartbeats();
            }
            self.control.close();
            self.cx.tell(Event::Closed(reason));
        }
        if by_peer {
            // "MUST NOT respond to an ABORT" (9.1): chunks and packets that waited are dropped.
            self.control.clear();
            self.writer.forget_deferred();
        }
    }

    /// SHUTDOWN primitive of the user. If there is a `deadline`, an association that has not ended by then is aborted.
    pub(crate) fn shutdown(&mut self, now: Instant, deadline: Option<Instant>) {
        self.cx.env.set_now(now);
        self.begin_shutdown();
        if let Some(deadline) = deadline.filter(|_| self.cx.env.state() != State::Closed) {
            self.life.set_deadline(deadline);
        }
    }

    /// Our user asks for the end.
    pub(super) fn begin_shutdown(&mut self) {
        if let Some(end) = self.life.begin_shutdown(&mut scope_of!(self)) {
            self.end(end);
        }
    }

    /// Messages were given up: a subflow that closes, or a shutdown, may have waited for nothing else.
    pub(super) fn after_abandonment(&mut self) {
        self.subflow_manager().close_drained_subflows();
        self.life.advance_shutdown(&mut scope_of!(self));
    }

    /// The peer asks anew in SHUTDOWN-ACK-SENT. Of an INIT: "discard the INIT chunk and retransmit the SHUTDOWN ACK chunk" (9.2). Of the cookie
    /// of a restart: "it MUST NOT set up a new association but instead resend the SHUTDOWN ACK chunk and send an ERROR chunk with a 'Cookie
    /// Received While Shutting Down' error cause" (5.2.4), which is the `error`.
    // rfc9260:5.2.4-6 rfc9260:9.2-22
    pub(crate) fn repeat_shutdown_ack(&mut self, error: Option<Vec<u8>>) {
        let path = self.cx.paths.for_control();
        self.control.ask(Kind::ShutdownAck, path);
        if let Some(cause) = error {
            self.control.report(path, cause);
        }
    }

    /// SHUTDOWN chunk: it acknowledges, too.
    pub(super) fn on_shutdown(&mut self, cumulative: Tsn) {
        if !self.life.on_shutdown(&mut scope_of!(self)) {
            return;
        }
        if self.cx.env.agreed().encoding() != Encoding::Sf2007 {
            // In the encoding of 2007 it is an association sequence number, which acknowledges nothing. Some stacks put a
            // number of their own there: a number that was never sent acknowledges nothing, and their shutdown is valid all the same.
            // Outstanding data is acknowledged by SACKs.
            let (windows, no_gaps) = (Windows::default(), GapList::all(std::iter::empty()));
            let mut reader = self.packet_reader();
            let _not_believed: Result<(), Violation> =
                reader.on_acknowledgement(SpaceId::FIRST, cumulative, windows, no_gaps, None);
        }
        self.life.advance_shutdown(&mut scope_of!(self));
    }

    /// Association error counter (8.1), and that of the path (8.2).
    // rfc9260:8.1-1 rfc9260:8.1-3 rfc9260:9.2-5 rfc9260:9.2-16
    pub(super) fn count_error(&mut self, path: PathId) {
        if let Some(down) = self.cx.paths.on_error(self.cx.env.config(), path) {
            self.cx.tell(down);
            self.sender.follow_paths(&mut self.cx);
        }
        // "If the value of this counter exceeds the limit indicated in the protocol parameter
        // 'Association.Max.Retrans', the endpoint SHOULD consider the peer endpoint unreachable".
        if self.cx.paths.errors() > self.cx.env.config().limits.association_max_retrans {
            self.end(End::unreachable("Association.Max.Retrans"));
        }
    }

    /// The peer's host does not know SCTP, or the port of UDP. "MUST treat this message as an abort with the T bit set if it does not
    /// contain an INIT chunk. If it does contain an INIT chunk and the association is in the COOKIE-WAIT state, handle the ICMP message like
    /// an ABORT chunk" (10, ICMP8). False: ignored.
    pub(crate) fn abort_by_icmp(&mut self, now: Instant, init: bool, reason: CloseReason) -> bool {
        let aborts = !init || self.cx.env.state() == State::CookieWait;
        if aborts {
            self.cx.env.set_now(now);
            self.end(End::by_icmp(reason));
        }
        aborts
    }
}
