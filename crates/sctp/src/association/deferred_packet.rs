//! A packet that was built and must wait.

use anabranch_base::{Dscp, Ecn};

use crate::ids::PathId;

/// The path of a packet, and the fields of its IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) path: PathId,
    pub(super) dscp: Dscp,
    pub(super) ecn: Ecn,
    /// No router may fragment it.
    pub(super) dont_fragment: bool,
}

/// A packet that was built and did not fit the batch: it leaves first next time.
#[derive(Debug)]
pub(super) struct DeferredPacket {
    pub(super) bytes: Vec<u8>,
    pub(super) route: Route,
}
