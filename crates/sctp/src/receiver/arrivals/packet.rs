//! A packet while its chunks are read.

use super::space::timing::PacketSummary;
use crate::ids::{PathId, SpaceId};

/// The state of a packet while its chunks are read.
#[derive(Debug)]
pub(crate) struct PacketRead {
    /// Path that it came on: its data is acknowledged there.
    pub(super) path: PathId,
    /// The sequence space that the packet's data belongs to.
    pub(super) space: SpaceId,
    /// The data that it has brought for that.
    pub(super) summary: PacketSummary,
    /// The packet brought data, and new data, for spaces that it has left.
    had_data: bool,
    had_new: bool,
}

impl PacketRead {
    /// The state at the beginning of a packet that came on a path.
    pub(crate) fn on(path: PathId) -> Self {
        Self {
            path,
            space: SpaceId::FIRST,
            summary: PacketSummary::default(),
            had_data: false,
            had_new: false,
        }
    }

    /// True if the packet has brought data, new or not.
    pub(crate) fn has_data(&self) -> bool {
        self.had_data || self.summary.has_data
    }

    /// True if the packet has brought new data.
    pub(crate) fn has_new(&self) -> bool {
        self.had_new || self.summary.new
    }

    /// The sequence space that the packet's data belongs to.
    #[inline]
    pub(in crate::receiver) fn space(&self) -> SpaceId {
        self.space
    }

    /// A chunk was dropped for lack of buffer: the packet is acknowledged at once.
    pub(in crate::receiver) fn on_refused(&mut self) {
        self.summary.immediate = true;
    }

    /// The chunks that follow are of another space: the data that came for this one, if any did.
    pub(super) fn leave_space(&mut self) -> Option<PacketSummary> {
        if !self.summary.has_data {
            return None;
        }
        let summary = std::mem::take(&mut self.summary);
        self.had_data |= summary.has_data;
        self.had_new |= summary.new;
        Some(summary)
    }
}
