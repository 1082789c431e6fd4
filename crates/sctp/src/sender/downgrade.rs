//! The extension SF ends: the spaces of all subflows are folded into one.

use super::Sender;
use super::flight::ChunkState;
use super::format::Format;
use super::subflow::Life;
use super::tables::Tables;
use crate::context::Context;
use crate::encoding::Encoding;
use crate::ids::SpaceId;

impl Tables {
    /// Subflows go on as at level 0, and what was sent under other FIDs and not acknowledged leaves
    /// again under subflow 0, with new TSNs. A peer that has it already knows an ordered message by its identifier; an
    /// unordered one may then be delivered twice. The tickets of what gap blocks had acknowledged.
    pub(super) fn fold_spaces(&mut self) -> Vec<u32> {
        let mut acknowledged = Vec::new();
        for space in &mut self.spaces.split_off_first() {
            for mut chunk in space.flight.take_all() {
                if chunk.state == ChunkState::GapAcked {
                    acknowledged.push(chunk.fragment.ticket);
                    continue; // it is there
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

impl Sender {
    /// The extension SF ends: subflows go on as at level 0.
    pub(crate) fn downgrade(&mut self, cx: &mut Context) {
        self.mark_folded_lost(cx);
        self.after_marking(cx);
        let acknowledged = self.fold_spaces();
        self.format.speak(Encoding::Interleaved);
        self.peer.forget_fids();
        for subflow in self.tables.subflows.rows_mut() {
            if subflow.life == Life::Deleting {
                subflow.life = Life::Free;
            }
        }
        for ticket in acknowledged {
            if let Some(special) = self.special.get_mut() {
                special.fates.chunk_acknowledged(cx, ticket);
            }
        }
        self.advance_forwards(cx);
    }

    /// What is in flight under other FIDs is to leave again: it is marked where it is, so that what must not leave again has no other
    /// number yet when it is given up.
    fn mark_folded_lost(&mut self, cx: &mut Context) {
        for id in self.tables.lanes.ids() {
            if self.tables.lanes.get(id).is_some_and(|lane| lane.space() != SpaceId::FIRST) {
                self.mark_all_lost(cx, id);
            }
        }
    }

    /// Back to RFC 9260.
    pub(crate) fn forget_extensions(&mut self, cx: &mut Context) {
        if self.tables.spaces.len() > 1 {
            self.mark_folded_lost(cx);
            self.fold_spaces();
        }
        self.format = Format::PLAIN;
        self.peer.forget_fids();
        self.buffer.drop_deferred();
        self.resettable = false;
        self.special.forget_partial_reliability();
        self.ecn.forget();
    }

    /// Subflows go on under one numbering, and what is known of numbers is forgotten. The tickets of what gap blocks had acknowledged.
    fn fold_spaces(&mut self) -> Vec<u32> {
        self.ecn.forget_numbers();
        let acknowledged = self.tables.fold_spaces();
        if let (Some(special), Some(zero)) = (self.special.get_mut(), self.tables.spaces.first()) {
            special.fates.renumber(SpaceId::FIRST, &zero.flight);
            special.reliability.forget_forwards();
        }
        acknowledged
    }
}
