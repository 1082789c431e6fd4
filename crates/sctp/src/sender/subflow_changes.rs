//! Subflows that are opened, closed or merged while data flows, and their FIDs.

use anabranch_base::Dscp;
use anabranch_wire::Tsn;

use super::credit::OpenFid;
use super::flight::{ChunkState, SentChunk};
use super::lane::Lane;
use super::subflow::{Life, Subflow};
use super::subflow_scope::SubflowChanges;
use super::tables::Tables;
use crate::config::{Coupling, SubflowSpec};
use crate::context::Context;
use crate::error::SubflowError;
use crate::ids::{SpaceId, SubflowId};

impl Tables {
    /// Joins the chunks in flight and the window of subflow `id`, which has just been removed, to those of `into`: windows add up,
    /// and the data in flight stays the same (Zou 2007, 3.2, "combines subflows with the similar congestion state
    /// parameters"). False where both use one lane already.
    pub(crate) fn absorb_subflow(&mut self, cx: &Context, id: SubflowId, into: SubflowId) -> bool {
        let lane_of = |subflow| self.subflows.get(subflow).map(|s| s.lane);
        let (Some(from), Some(to)) = (lane_of(id), lane_of(into)) else { return false };
        let space_of = |lane| self.lanes.get(lane).map(Lane::space);
        let same_space = space_of(from) == space_of(to);
        if from == to {
            return false;
        }
        let Some(old) = self.lanes.get(from) else { return false };
        let (window, ssthresh, space) = (old.window.cwnd(), old.window.ssthresh(), old.space());
        if let Some(lane) = self.lanes.get_mut(to) {
            lane.window.absorb(window, ssthresh);
        }
        if same_space {
            if let Some(space) = self.spaces.get_mut(space) {
                let sent = |chunk: &SentChunk| chunk.lane == from && chunk.state != ChunkState::Reserved;
                for (_, chunk) in space.flight.iter_mut().filter(|(_, chunk)| sent(chunk)) {
                    chunk.subflow = into;
                    if !chunk.is_outstanding() {
                        chunk.lane = to;
                    }
                }
            }
            self.hand_over(cx, from, to);
        }
        true
    }

    /// The open subflow with a code point.
    pub(crate) fn with_dscp(&self, dscp: Dscp) -> Option<SubflowId> {
        let mut all = self.subflows.iter();
        all.find(|(_, subflow)| subflow.life == Life::Open && subflow.dscp == dscp).map(|(id, _)| id)
    }

    /// Open subflows besides the first that send in the TSN space.
    pub(crate) fn without_fid(&self) -> Vec<SubflowId> {
        let open = self.subflows.iter().skip(1).filter(|(_, s)| s.life == Life::Open);
        open.filter(|(_, s)| s.space == SpaceId::FIRST).map(|(id, _)| id).collect()
    }

    /// Code point and weight of a subflow, which the request for its FID tells the peer.
    pub(crate) fn treatment(&self, id: SubflowId) -> (u8, u16) {
        self.subflows.get(id).map_or((0, 1), |subflow| (subflow.dscp.get(), subflow.weight))
    }
}

impl SubflowChanges<'_> {
    /// Opens another subflow; its streams move there with [`StreamMap::move_stream`]. It starts like a new association: in slow
    /// start.
    ///
    /// # Errors
    /// When there are as many subflows as `max_subflows` allows.
    // rfc9260:7.2.5.1-1
    pub(crate) fn add_subflow(
        &mut self,
        cx: &mut Context,
        spec: &SubflowSpec,
    ) -> Result<SubflowId, SubflowError> {
        let limit = cx.env.config().subflows.max;
        if self.tables.subflows.rows().iter().filter(|s| s.life != Life::Free).count() >= usize::from(limit) {
            return Err(SubflowError::TooMany { limit });
        }
        let id = self.place_subflow(cx, spec);
        let rwnd = self.peer.on_wire();
        if cx.env.config().subflows.coupling != Coupling::Shared {
            if let Some(lane) = self.tables.subflows.get(id).map(|subflow| subflow.lane) {
                self.renew_lane(cx, lane, rwnd);
            }
        }
        Ok(id)
    }

    /// Closes a subflow; its streams move to `to`. Its chunks in flight are acknowledged or sent again as before.
    ///
    /// # Errors
    /// When one of the two subflows is not open, or they are the same.
    pub(crate) fn remove_subflow(
        &mut self,
        cx: &mut Context,
        id: SubflowId,
        to: SubflowId,
    ) -> Result<(), SubflowError> {
        self.tables.check_open(id)?;
        self.tables.check_open(to)?;
        if id == to {
            return Err(SubflowError::Same { index: id.get() });
        }
        self.stream_map.move_all_streams(self.tables, cx, id, to);
        let lane_of = |subflow| self.tables.subflows.get(subflow).map(|s| s.lane);
        if lane_of(id) == lane_of(to) {
            self.tables.relabel(id, to);
        }
        if let Some(subflow) = self.tables.subflows.get_mut(id) {
            subflow.life = Life::Closing;
        }
        self.coupling.set_phi(self.tables, cx);
        Ok(())
    }

    /// Removed subflows are gone once all their chunks are acknowledged cumulatively. `give_back` tells the peer that a FID is
    /// free again; false when the peer cannot be told.
    pub(crate) fn close_drained_subflows(
        &mut self,
        cx: &mut Context,
        mut give_back: impl FnMut(OpenFid) -> bool,
    ) {
        if self.tables.subflows.len() == 1 {
            return;
        }
        let mut gone = false;
        for id in self.tables.subflows.ids() {
            let Some(subflow) = self.tables.subflows.get(id) else { continue };
            if subflow.life != Life::Closing || !subflow.out.is_empty() {
                continue;
            }
            let unacked = self.tables.lanes.get(subflow.lane).map_or(0, |lane| lane.in_flight.unacked());
            let shared = cx.env.config().subflows.coupling == Coupling::Shared;
            let drained = (unacked == 0 || shared) && !self.tables.has_in_flight(id);
            if !drained {
                continue;
            }
            let space = self.tables.spaces.get(subflow.space).filter(|space| space.fid != 0);
            let deleting = space.is_some_and(|space| {
                give_back(OpenFid { fid: space.fid, epoch: space.epoch, last: space.last_tsn() })
            });
            if let Some(subflow) = self.tables.subflows.get_mut(id) {
                subflow.life = if deleting { Life::Deleting } else { Life::Free };
                gone = true;
            }
        }
        if gone {
            self.coupling.set_phi(self.tables, cx);
        }
    }

    /// A FID is open from now on.
    pub(crate) fn record_fid(&mut self, fid: u8, epoch: u8) {
        self.peer.record_fid(fid, epoch);
    }

    /// True if a subflow has no FID of its own, and does not wait for one.
    pub(crate) fn lacks_fid(&self, id: SubflowId) -> bool {
        let lacks = |s: &Subflow| !s.awaits_fid && s.space == SpaceId::FIRST;
        self.peer.has_fids() && id != SubflowId::FIRST && self.tables.subflows.get(id).is_some_and(lacks)
    }

    /// The peer has opened a FID: its subflow may send under it. False when the subflow is gone by now: then the FID must be
    /// given back.
    pub(crate) fn fid_opened(&mut self, cx: &Context, id: SubflowId) -> bool {
        let Some(subflow) = self.tables.subflows.get_mut(id) else { return true };
        subflow.awaits_fid = false;
        match subflow.life {
            Life::Open => {
                self.settle_subflow(cx, id);
                return true;
            }
            Life::Free => subflow.life = Life::Deleting,
            Life::Closing | Life::Deleting => {}
        }
        false
    }

    /// The peer knows that a FID is free, or denies that it was open; the FID is not used in this incarnation any more
    /// either way.
    pub(crate) fn fid_closed(&mut self, cx: &mut Context, id: SubflowId, epoch: u8, last: Tsn) {
        self.peer.fid_closed(id.get(), epoch, last);
        if let Some(subflow) = self.tables.subflows.get_mut(id) {
            if subflow.life == Life::Deleting {
                subflow.life = Life::Free;
                subflow.space = SpaceId::FIRST;
            }
        }
        // The lane of a subflow that is gone belongs to space 0 until a new subflow needs it.
        let lane = self.tables.subflows.get(id).map(|s| s.lane).unwrap_or_default();
        if let Some(lane) = self.tables.lanes.get_mut(lane) {
            if lane.in_flight.unacked() == 0 && lane.space() != SpaceId::FIRST {
                lane.move_to(SpaceId::FIRST);
            }
        }
        self.tables.share_spaces();
        self.coupling.set_phi(self.tables, cx);
    }
}
