//! The FIDs under which we send, and the credit that the peer grants them (levels 1 and sf2007).

use crate::negotiation::agreement::SfAgreement;
use crate::negotiation::fids::Fids;

/// The FIDs and credits that the peer grants.
#[derive(Debug)]
pub(super) struct Credit {
    /// FIDs under which we send.
    pub(super) fids: Fids,
    /// Bytes that we may have outstanding on a new subflow.
    pub(super) initial: u32,
    /// Bytes that the peer keeps free for each of our subflows.
    pub(super) floor: u32,
}

/// A FID that is in use, in one incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenFid {
    pub(crate) fid: u8,
    pub(crate) epoch: u8,
    /// The last number that was sent under it.
    pub(crate) last: anabranch_wire::Tsn,
}

impl Credit {
    pub(super) fn new(agreed: &SfAgreement) -> Self {
        Self {
            fids: Fids::new(agreed.outbound, &agreed.our_opens),
            initial: agreed.peer_credit,
            floor: agreed.peer_floor,
        }
    }

    /// All FIDs from 0 on are open; nothing changes later, and there are no floors.
    pub(super) fn of_sf2007(count: u8) -> Self {
        Self { fids: Fids::all(count), initial: 0, floor: 0 }
    }
}
