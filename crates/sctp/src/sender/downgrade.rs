//! The extension SF ends: the spaces of all subflows are folded into one.

use super::flight::ChunkState;
use super::tables::Tables;
use crate::ids::SpaceId;

impl Tables {
    /// Subflows go on as at level 0, and unacknowledged chunks that were sent under other FIDs leave
    /// again under subflow 0, with new TSNs. A peer that has such a chunk already knows an ordered message by its identifier; an
    /// unordered one may then be delivered twice. Returns the tickets of chunks that gap blocks had acknowledged.
    pub(super) fn fold_spaces(&mut self) -> Vec<u32> {
        let mut acknowledged = Vec::new();
        for space in &mut self.spaces.split_off_first() {
            for mut chunk in space.flight.take_all() {
                if chunk.state == ChunkState::GapAcked {
                    acknowledged.push(chunk.fragment.ticket);
                    continue; // the peer has the chunk
                }
                if chunk.state == ChunkState::Abandoned {
                    // Its message is still to be skipped.
                    if let Some(zero) = self.spaces.first_mut() {
                        chunk.transmissions = 0;
                        zero.flight.push_abandoned(chunk);
                    }
                    continue;
                }
                if self.lanes.get(chunk.lane).is_none() {
                    continue;
                }
                chunk.state = ChunkState::Lost;
                chunk.lost_by_timeout = true;
                chunk.missing = 0;
                if let Some(zero) = self.spaces.first_mut() {
                    zero.flight.push(chunk);
                }
            }
        }
        for subflow in self.subflows.rows_mut() {
            subflow.space = SpaceId::FIRST;
            subflow.awaits_fid = false;
        }
        for lane in self.lanes.rows_mut() {
            if lane.space() != SpaceId::FIRST {
                lane.fold_into(SpaceId::FIRST);
            }
        }
        self.share_spaces();
        for (id, lane) in self.lanes.iter_mut() {
            if let Some(zero) = self.spaces.first() {
                lane.loss.took_over(&zero.flight, id);
                lane.loss.find_earliest(&zero.flight);
            }
        }
        acknowledged.retain(|ticket| *ticket != 0);
        acknowledged
    }
}
