//! The first chunk of the next packet with data.

use anabranch_base::Dscp;

use crate::ids::{LaneId, PathId, SpaceId, SubflowId};

/// The subflow whose data leaves next, and its first chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub(crate) subflow: SubflowId,
    pub(crate) path: PathId,
    pub(super) lane: LaneId,
    pub(super) space: SpaceId,
    pub(super) first: First,
    /// Code point of the packet.
    pub(crate) dscp: Dscp,
}

/// The chunk that goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The chunk with this number is sent again.
    Lost(u64),
    /// A new chunk. `roomy`: any chunk of a packet fits the peer's window, so that the window need not be looked at
    /// again.
    New { roomy: bool },
}
