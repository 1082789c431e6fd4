//! The peer broke a rule that ends the association.

use anabranch_wire::Tsn;
use anabranch_wire::cause::SfReason;

/// What is said of the fragments of one message on two subflows.
pub(crate) const SPLIT_MESSAGE: &str = "the fragments of a message came on two subflows";

/// What the ABORT says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// "it SHOULD send an ABORT chunk with a 'No User Data' error cause" (RFC 9260, 6.2).
    NoUserData(Tsn),
    /// Anything else: ABORT with a Protocol Violation cause.
    Protocol(&'static str),
    /// Of the extension SF: ABORT with an SF-Violation cause.
    Subflow {
        /// The subflow identifier, and its incarnation.
        fid: u8,
        epoch: u8,
        reason: SfReason,
        what: &'static str,
    },
}
