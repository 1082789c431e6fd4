//! What the next packet with data begins with.

use crate::ids::{LaneId, PathId, SpaceId, SubflowId};

/// The subflow whose data leaves next, and its first chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub(crate) subflow: SubflowId,
    pub(crate) path: PathId,
    pub(super) lane: LaneId,
    pub(super) space: SpaceId,
    pub(super) first: First,
    /// When its earliest message came; 0 for a retransmission, which has waited longest.
    pub(super) since: u64,
}

/// The chunk that goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The chunk with this number is sent again.
    Lost(u64),
    /// A new chunk. Whether any of a packet fits the peer's window, so that it need not be asked again.
    New { roomy: bool },
}
