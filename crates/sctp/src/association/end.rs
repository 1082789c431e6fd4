//! The end of an association: the reason that the user is told, and the peer's part.

use anabranch_wire::cause::Causes;

use super::packet_reader::sf_violation;
use crate::causes;
use crate::context::Context;
use crate::event::CloseReason;
use crate::state::State;
use crate::violation::Violation;

/// The peer's part in an end.
#[derive(Debug)]
pub(super) enum Notice {
    /// The peer knows of the end, or does not answer.
    None,
    /// The peer gets an ABORT with encoded causes.
    Abort(Vec<u8>),
    /// As `Abort`, unless the peer has only had our INIT: then it has no association to end.
    AbortIfKnown(Vec<u8>),
    /// The peer has aborted, and gets no answer.
    ByPeer,
}

/// An end that an owner has come to, for the association to carry out.
#[derive(Debug)]
#[must_use]
pub(crate) struct End {
    reason: CloseReason,
    notice: Notice,
}

impl End {
    /// The peer is not told.
    pub(super) fn silent(reason: CloseReason) -> Self {
        Self { reason, notice: Notice::None }
    }

    /// The peer gets an ABORT with encoded causes, whether or not it knows the association.
    // rfc9260:9.1-1
    pub(super) fn aborting(reason: CloseReason, causes: Vec<u8>) -> Self {
        Self { reason, notice: Notice::Abort(causes) }
    }

    /// The peer broke a rule.
    pub(super) fn violation(cx: &Context, violation: Violation) -> Self {
        let (what, cause) = match violation {
            Violation::NoUserData(tsn) => ("a DATA chunk without user data", causes::no_user_data(tsn)),
            Violation::Protocol(what) => (what, causes::protocol_violation(what)),
            Violation::Subflow { fid, epoch, reason, what } => {
                (what, sf_violation(cx, fid, epoch, reason, what.as_bytes()))
            }
        };
        Self::aborting(CloseReason::ProtocolViolation { what }, cause)
    }

    /// The peer has not answered for too long. The RFC only says that nothing more is sent except to end the association (8.1); an
    /// ABORT lets a peer that can still hear us end its side now instead of keeping it until its own timers run out.
    #[cold]
    pub(super) fn unreachable(limit: &'static str) -> Self {
        Self { reason: CloseReason::Unreachable { limit }, notice: Notice::AbortIfKnown(Vec::new()) }
    }

    /// The time is over that our user has given the shutdown. The peer reads the reason; messages that it has not acknowledged go back to
    /// our user.
    pub(super) fn shutdown_deadline() -> Self {
        let cause = causes::user_abort(b"the shutdown took too long");
        Self { reason: CloseReason::ShutdownDeadline, notice: Notice::AbortIfKnown(cause) }
    }

    /// ABORT primitive of the user; the reason travels as a User-Initiated Abort cause.
    // rfc9260:9.1-3
    pub(crate) fn by_user(reason: &[u8]) -> Self {
        let cause = causes::user_abort(reason);
        Self { reason: CloseReason::AbortedLocally, notice: Notice::AbortIfKnown(cause) }
    }

    /// ABORT of the peer, with a tag that has been checked.
    // rfc9260:3.3.7-4 rfc9260:9.1-6
    pub(crate) fn by_peer(list: Causes<'_>) -> Self {
        let (causes, reason) = (causes::codes(list), causes::abort_reason(list));
        Self { reason: CloseReason::AbortedByPeer { causes, reason }, notice: Notice::ByPeer }
    }

    /// ABORT with our peer's tag reflected: the peer has no association. In SHUTDOWN-ACK-SENT, and without a cause, that is as good as
    /// SHUTDOWN COMPLETE: both ends have acknowledged everything. A peer that has closed answers so what came behind our SHUTDOWN ACK, and the
    /// answer may be here before its SHUTDOWN COMPLETE.
    pub(crate) fn by_reflected_abort(state: State, list: Causes<'_>) -> Self {
        if state == State::ShutdownAckSent && list.bytes().is_empty() {
            return Self { reason: CloseReason::Graceful, notice: Notice::ByPeer };
        }
        Self::by_peer(list)
    }

    /// The peer's host does not know SCTP, or the port of UDP: as if the peer had sent an ABORT without causes (10, ICMP8), but
    /// the user is told what ICMP said.
    pub(super) fn by_icmp(reason: CloseReason) -> Self {
        Self { reason, notice: Notice::ByPeer }
    }

    /// SHUTDOWN COMPLETE chunk: "verifies that it is in the SHUTDOWN-ACK-SENT state; if it is not, the chunk SHOULD
    /// be discarded".
    // rfc9260:8.5.1-11 rfc9260:9.2-18 rfc9260:9.2-19
    pub(crate) fn by_shutdown_complete(state: State) -> Option<Self> {
        (state == State::ShutdownAckSent).then(|| Self::silent(CloseReason::Graceful))
    }

    /// The reason for the user, and the peer's part.
    pub(super) fn into_parts(self) -> (CloseReason, Notice) {
        (self.reason, self.notice)
    }
}
