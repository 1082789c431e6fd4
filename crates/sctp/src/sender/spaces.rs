//! The sequence spaces of subflows: made when the handshake or the peer opens their FIDs, and folded into one when the
//! extension ends.

use anabranch_wire::Tsn;

use super::Sender;
use super::allowance::Allowance;
use super::credit::Credit;
use super::ecn_state::EcnState;
use super::flight::{ChunkState, Counted};
use super::lane::counted_header;
use super::space::{SendSpace, WindowProbe};
use super::subflow::Life;
use crate::config::Coupling;
use crate::context::Context;
use crate::encoding::Encoding;
use crate::ids::{SpaceId, SubflowId};
use crate::negotiation::offer::Extensions;
use crate::stats::count_lost;

impl Sender {
    /// What both sides speak from now on. Nothing was sent yet, or a peer that had to be asked again answers otherwise:
    /// then what was sent leaves again on subflow 0.
    pub(crate) fn adopt(&mut self, cx: &Context, agreed: &Extensions) {
        self.encoding = Encoding::of(agreed);
        self.numbering.identify(self.encoding.identifies_messages());
        self.resettable = agreed.reconfiguration;
        self.partial_reliability = agreed.partial_reliability;
        self.credit = match (&agreed.sf, agreed.sf2007) {
            (_, Some((ours, _))) => Some(Box::new(Credit::of_sf2007(ours))),
            (Some(sf), None) => Some(Box::new(Credit::new(sf))),
            (None, None) => None,
        };
        self.ecn = agreed.ecn.then(|| Box::new(EcnState::new(agreed)));
        self.next_asn = self.base();
        let header = counted_header(&cx.config, self.encoding);
        for id in self.lanes.ids() {
            let Some(lane) = self.lanes.get_mut(id).filter(|lane| lane.chunk_header != header) else {
                continue;
            };
            lane.chunk_header = header;
            // What is in flight is counted with the header that it will have when it leaves again.
            let Some(space) = self.spaces.get_mut(lane.space) else { continue };
            for (_, chunk) in space.flight.iter_mut().filter(|(_, chunk)| chunk.lane == id) {
                let before = Counted::one(chunk);
                chunk.overhead = lane.overhead_of(chunk.fragment.payload.len() as u64);
                if chunk.state == ChunkState::InFlight {
                    lane.recount(before, Counted::one(chunk));
                }
            }
        }
    }

    /// Back to RFC 9260.
    pub(crate) fn forget_extensions(&mut self) {
        if self.spaces.len() > 1 {
            self.fold_spaces();
        }
        self.encoding = Encoding::Rfc9260;
        self.credit = None;
        self.deferred = None;
        self.beside_data = 0;
        self.resettable = false;
        self.partial_reliability = false;
        self.ecn = None;
    }

    /// The peer does not skip what we would give up, though its INIT or INIT ACK said so: from now on nothing may be.
    pub(crate) fn forget_partial_reliability(&mut self) {
        self.partial_reliability = false;
    }

    /// The FIDs that we have open, besides 0.
    pub(crate) fn open_fids(&self) -> Vec<u8> {
        self.credit.as_ref().map_or_else(Vec::new, |credit| credit.fids.each().collect())
    }

    /// A space for a FID: both halves of a space have the same place in their tables.
    pub(crate) fn add_space(&mut self, fid: u8) -> SpaceId {
        self.spaces.push(SendSpace::new(fid, Tsn::new(0)))
    }

    /// We may send under a FID, from `initial` on.
    pub(crate) fn open_space(&mut self, at: SpaceId, epoch: u8, initial: Tsn) {
        let initial_credit = self.credit.as_ref().map_or(0, |credit| credit.initial);
        if let Some(ecn) = &mut self.ecn {
            // The peer counts the packets of this incarnation from 0 on.
            self.lanes.iter().filter(|(_, lane)| lane.space == at).for_each(|(id, _)| ecn.forget_lane(id));
        }
        let Some(space) = self.spaces.get_mut(at) else { return };
        space.flight.restart();
        space.base = initial;
        space.epoch = epoch;
        space.allowance = if self.encoding == Encoding::Sf2007 {
            Allowance::UNLIMITED
        } else {
            Allowance { window: u64::from(initial_credit) }
        };
    }

    /// What the peer grants a FID at first, where nothing was sent under it yet (encoding of 2007).
    pub(crate) fn set_initial_credit(&mut self, at: SpaceId, a_fwnd: u32) {
        if let Some(space) = self.spaces.get_mut(at).filter(|space| space.flight.next() == 0) {
            space.allowance = Allowance { window: u64::from(a_fwnd) };
        }
    }

    /// The first number of a FID.
    pub(crate) fn initial_of(&self, at: SpaceId) -> Tsn {
        self.spaces.get(at).map_or(Tsn::new(0), |space| space.base)
    }

    /// Moves a subflow into the space of its FID, if it has one, and nothing of it is under way elsewhere.
    pub(crate) fn settle_subflow(&mut self, cx: &Context, id: SubflowId) {
        if cx.config.subflows.coupling == Coupling::Shared {
            return;
        }
        let Some(at) = self.space_of(id.get()) else { return };
        let under_way = self.has_in_flight(id);
        let Some(subflow) = self.subflows.get_mut(id) else { return };
        let Some(lane) = self.lanes.get_mut(subflow.lane) else { return };
        subflow.awaits_fid = false;
        if subflow.life != Life::Open || under_way {
            return;
        }
        subflow.space = at;
        lane.space = at;
        lane.timed = None;
        lane.end_recovery();
        lane.loss.restart();
        if let Some(ecn) = &mut self.ecn {
            ecn.forget_lane(subflow.lane);
        }
        self.share_spaces();
    }

    /// The extension SF ends: subflows go on as at level 0.
    pub(crate) fn downgrade(&mut self, cx: &mut Context) {
        self.mark_folded_lost(cx);
        self.after_marking(cx);
        let acknowledged = self.fold_spaces();
        self.encoding = Encoding::Interleaved;
        self.credit = None;
        for subflow in self.subflows.rows_mut() {
            if subflow.life == Life::Deleting {
                subflow.life = Life::Free;
            }
        }
        for ticket in acknowledged {
            self.chunk_acknowledged(cx, ticket);
        }
        self.advance_forwards(cx, false);
    }

    /// What is in flight under other FIDs is to leave again: it is marked where it is, so that what must not leave again has no other
    /// number yet when it is given up.
    fn mark_folded_lost(&mut self, cx: &mut Context) {
        for (id, lane) in self.lanes.iter_mut().filter(|(_, lane)| lane.space != SpaceId::FIRST) {
            let Some(space) = self.spaces.get_mut(lane.space) else { continue };
            let mut all = Counted::default();
            lane.loss.mark_lane(&mut space.flight, id, |chunk| {
                all.add(chunk);
                count_lost(&mut cx.streams, chunk.fragment.stream);
            });
            lane.on_lost(all);
        }
    }

    /// Subflows go on as at level 0, and what was sent under other FIDs and not acknowledged leaves
    /// again under subflow 0, with new TSNs. A peer that has it already knows an ordered message by its identifier; an
    /// unordered one may then be delivered twice.
    fn fold_spaces(&mut self) -> Vec<u32> {
        let mut acknowledged = Vec::new();
        if let Some(ecn) = &mut self.ecn {
            ecn.forget_numbers();
        }
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
                let Some(lane) = self.lanes.get_mut(chunk.lane) else { continue };
                if chunk.state == ChunkState::InFlight {
                    lane.on_lost(Counted::one(&chunk));
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
            if lane.space != SpaceId::FIRST {
                lane.space = SpaceId::FIRST;
                // What it was allowed, or waited for, was in numbers that are gone: it begins as after a merger.
                lane.forget_recovery();
                lane.round_end = 0;
                lane.controller.end_round();
                lane.loss.restart();
            }
        }
        self.share_spaces();
        for (id, lane) in self.lanes.iter_mut() {
            if let Some(zero) = self.spaces.first() {
                lane.loss.took_over(&zero.flight, id);
                lane.earliest = lane.loss.earliest(&zero.flight);
            }
        }
        if let Some(special) = &mut self.special {
            if let Some(zero) = self.spaces.first() {
                special.renumber(SpaceId::FIRST, &zero.flight);
            }
            special.forget_forwards();
        }
        acknowledged.retain(|ticket| *ticket != 0);
        acknowledged
    }

    /// All streams are numbered anew, or those that are listed (stream reset).
    pub(crate) fn reset_numbering(&mut self, streams: &[u16]) {
        self.numbering.begin_anew(streams);
    }

    /// Whether the next message of each of some streams (of all, if none is listed) is its first.
    pub(crate) fn is_fresh(&self, streams: &[u16]) -> bool {
        self.numbering.is_fresh(streams)
    }

    /// An SSN/TSN reset was performed: "new data MUST be sent from the Receiver's Next TSN" (RFC 6525, 5.2.7, H5).
    pub(crate) fn reset_all(&mut self, cx: &mut Context, base: Tsn) {
        self.numbering.begin_anew(&[]);
        self.forget_special();
        if let Some(table) = &mut cx.streams {
            table.forget_numbers();
        }
        if let Some(ecn) = &mut self.ecn {
            ecn.forget_numbers();
        }
        if let Some(space) = self.spaces.first_mut() {
            space.flight.restart();
            space.probe = WindowProbe::default();
            space.base = base;
        }
        for lane in self.lanes.rows_mut() {
            // What waits for a number would wait for one of before.
            lane.forget_numbers();
            lane.loss.restart();
        }
    }

    /// The last number of a space that is acknowledged cumulatively.
    pub(crate) fn acknowledged_tsn(&self, at: SpaceId) -> Tsn {
        self.spaces.get(at).map_or(Tsn::new(0), |space| space.tsn_of(space.flight.first()).sub(1))
    }

    /// The number of the next chunk of the TSN space, unwrapped and as a TSN.
    pub(crate) fn next_tsn(&self) -> (u64, Tsn) {
        self.spaces.first().map_or((0, Tsn::new(0)), |space| {
            let next = space.flight.next();
            (next, space.tsn_of(next))
        })
    }

    /// Whether a chunk of the TSN space at or beyond `seq` is acknowledged cumulatively.
    pub(crate) fn is_acknowledged(&self, seq: u64) -> bool {
        self.spaces.first().is_some_and(|space| space.flight.first() > seq)
    }

    /// Bytes of a chunk that must ride with every packet of data.
    pub(crate) fn keep_room_beside_data(&mut self, bytes: u16) {
        self.beside_data = bytes;
    }

    /// Whether all messages of some streams (none listed: of all) that may have numbers have left.
    pub(crate) fn have_left(&self, streams: &[u16]) -> bool {
        let queued = self.subflows.rows().iter().any(|subflow| match streams {
            [] => !subflow.out.is_empty(),
            _ => streams.iter().any(|stream| subflow.out.waits(*stream)),
        });
        // The last TSN, which the request names, says nothing of other sequence spaces: what went there must be acknowledged.
        !queued && !self.spaces.rows().iter().skip(1).any(|space| space.flight.carries(streams))
    }

    /// Nothing of ours that may have a number waits or is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.have_left(&[]) && self.spaces.rows().iter().all(|space| space.flight.is_empty())
    }
}
