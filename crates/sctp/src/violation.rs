//! The peer broke a rule that ends the association.

use anabranch_wire::Tsn;
use anabranch_wire::cause::SfReason;

/// Description of the violation: the fragments of one message came on two subflows.
pub(crate) const SPLIT_MESSAGE: &str = "the fragments of a message came on two subflows";

/// Violation of the protocol that the ABORT reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// "it SHOULD send an ABORT chunk with a 'No User Data' error cause" (RFC 9260, 6.2).
    NoUserData(Tsn),
    /// Anything else: ABORT with a Protocol Violation cause.
    Protocol(&'static str),
    /// A violation of the extension SF: ABORT with an SF-Violation cause.
    Subflow {
        /// The subflow identifier, and its incarnation.
        fid: u8,
        epoch: u8,
        reason: SfReason,
        what: &'static str,
    },
}
