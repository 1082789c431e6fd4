//! What the sender knows of explicit congestion notification.

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use super::lane::marked::Marked;
use crate::ids::{Id, LaneId, PathId};
use crate::negotiation::offer::Extensions;

/// What is agreed on, and heard.
#[derive(Debug)]
pub(super) struct EcnState {
    /// The peer counts marks in SF-SACKs: without that nobody would tell of those on subflows with a space of their own.
    pub(super) peer_counts: bool,
    /// What left before the handshake was over went as Not-ECT.
    pub(super) from: u64,
    /// The last report by ECNE: the chunk, and how many packets were marked since the last CWR.
    pub(super) heard: Option<(u64, u32)>,
    /// What the next CWR answers, and when the last one left.
    pub(super) cwr: Tsn,
    pub(super) cwr_at: Option<Instant>,
    /// Its path: the lane may not be known any more when the peer repeats its report.
    pub(super) cwr_path: Option<PathId>,
    /// What routers have marked of each lane.
    lanes: Vec<Marked>,
}

impl EcnState {
    pub(super) fn new(agreed: &Extensions) -> Self {
        let peer_counts = agreed.sf.as_ref().is_some_and(|sf| sf.peer_counts);
        Self {
            peer_counts,
            from: 0,
            heard: None,
            cwr: Tsn::new(0),
            cwr_at: None,
            cwr_path: None,
            lanes: Vec::new(),
        }
    }

    /// TSNs begin anew.
    pub(super) fn forget_numbers(&mut self) {
        (self.from, self.heard) = (0, None);
        self.lanes.clear();
    }

    /// A lane goes on under other numbers.
    pub(super) fn forget_lane(&mut self, id: LaneId) {
        if let Some(marked) = self.lanes.get_mut(id.row()) {
            *marked = Marked::default();
        }
    }

    /// What is known of a lane's marks.
    pub(super) fn of(&self, id: LaneId) -> Option<&Marked> {
        self.lanes.get(id.row())
    }

    /// What is known of a lane's marks, to be changed.
    pub(super) fn of_mut(&mut self, id: LaneId) -> Option<&mut Marked> {
        if self.lanes.len() <= id.row() {
            self.lanes.resize_with(id.row() + 1, Marked::default);
        }
        self.lanes.get_mut(id.row())
    }

    /// Whether what a mark has reduced is not acknowledged yet, up to `first`: "The sending TCP SHOULD NOT increase the congestion window in
    /// response to the receipt of an ECN-Echo ACK packet" (RFC 3168, 6.1.2).
    pub(super) fn has_reduced(&self, id: LaneId, first: u64) -> bool {
        self.of(id).is_some_and(|marked| marked.covers(first))
    }
}
