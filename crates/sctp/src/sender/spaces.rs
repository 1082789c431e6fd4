//! The sequence spaces of subflows: made when the handshake or the peer opens their FIDs.

use std::collections::BTreeMap;

use anabranch_wire::{Mid, Tsn};

use super::Sender;
use super::allowance::Allowance;
use super::flight::{ChunkState, Counted, SentChunk};
use super::lane::counted_header;
use super::subflow::Life;
use crate::config::Coupling;
use crate::context::Context;
use crate::encoding::Encoding;
use crate::ids::{SpaceId, SubflowId};
use crate::negotiation::offer::Extensions;

impl Sender {
    /// What both sides speak from now on. Nothing was sent yet, or a peer that had to be asked again answers otherwise:
    /// then what was sent leaves again on subflow 0.
    pub(crate) fn adopt(&mut self, cx: &Context, agreed: &Extensions) {
        self.format.speak(Encoding::of(agreed));
        if self.numbering.identify(self.format.encoding().identifies_messages()) {
            self.number_unordered();
        }
        self.resettable = agreed.reconfiguration;
        self.special.adopt(agreed.partial_reliability);
        self.peer.adopt(agreed);
        self.ecn.adopt(agreed);
        self.numbering.begin_asn(self.tables.base());
        let header = counted_header(&cx.config, self.format.encoding());
        for id in self.tables.lanes.ids() {
            let Some(lane) = self.tables.lanes.get_mut(id) else { continue };
            if !lane.in_flight.change_header(header) {
                continue;
            }
            // What is in flight is counted with the header that it will have when it leaves again.
            let Some(space) = self.tables.spaces.get_mut(lane.space()) else { continue };
            for (_, chunk) in space.flight.iter_mut().filter(|(_, chunk)| chunk.lane == id) {
                let before = Counted::one(chunk);
                chunk.overhead = lane.in_flight.overhead_of(chunk.fragment.payload.len() as u64);
                if chunk.state == ChunkState::InFlight {
                    lane.in_flight.recount(before, Counted::one(chunk));
                }
            }
        }
        self.tables.cut_rests_anew(self.format, cx);
    }

    /// Messages have identifiers from now on, and what left as DATA leaves again with them. DATA has none for unordered messages; with
    /// I-DATA those of a stream count for themselves, from 0, and every fragment has that of its message (RFC 8260, 2.1): in the order
    /// in which they left first, and what only leaves now goes on behind.
    fn number_unordered(&mut self) {
        let mut of_streams: BTreeMap<u16, Mid> = BTreeMap::new();
        for space in self.tables.spaces.rows_mut() {
            let unordered =
                |chunk: &&mut SentChunk| chunk.fragment.unordered && chunk.state != ChunkState::Reserved;
            for chunk in space.flight.iter_mut().map(|(_, chunk)| chunk).filter(unordered) {
                let fragment = &mut chunk.fragment;
                if fragment.beginning || !of_streams.contains_key(&fragment.stream) {
                    of_streams.insert(fragment.stream, self.numbering.take(fragment.stream, true));
                }
                fragment.mid = of_streams[&fragment.stream];
            }
        }
        for subflow in self.tables.subflows.rows_mut() {
            of_streams.iter().for_each(|(stream, mid)| subflow.out.number_begun(*stream, *mid));
        }
    }

    /// We may send under a FID, from `initial` on.
    pub(crate) fn open_space(&mut self, at: SpaceId, epoch: u8, initial: Tsn) {
        let initial_credit = self.peer.initial_credit();
        // The peer counts the packets of this incarnation from 0 on.
        for (id, _) in self.tables.lanes.iter().filter(|(_, lane)| lane.space() == at) {
            self.ecn.forget_lane(id);
        }
        let Some(space) = self.tables.spaces.get_mut(at) else { return };
        space.flight.restart();
        space.base = initial;
        space.epoch = epoch;
        space.allowance = if self.format.encoding() == Encoding::Sf2007 {
            Allowance::UNLIMITED
        } else {
            Allowance { window: u64::from(initial_credit) }
        };
    }

    /// The first number of a FID.
    pub(crate) fn initial_of(&self, at: SpaceId) -> Tsn {
        self.tables.spaces.get(at).map_or(Tsn::new(0), |space| space.base)
    }

    /// Moves a subflow into the space of its FID, if it has one, and nothing of it is under way elsewhere.
    pub(crate) fn settle_subflow(&mut self, cx: &Context, id: SubflowId) {
        if cx.config.subflows.coupling == Coupling::Shared {
            return;
        }
        let Some(at) = self.tables.space_of(id.get()) else { return };
        let under_way = self.tables.has_in_flight(id);
        let Some(subflow) = self.tables.subflows.get_mut(id) else { return };
        let Some(lane) = self.tables.lanes.get_mut(subflow.lane) else { return };
        subflow.awaits_fid = false;
        if subflow.life != Life::Open || under_way {
            return;
        }
        subflow.space = at;
        lane.settle_in(at);
        self.ecn.forget_lane(subflow.lane);
        self.tables.share_spaces();
    }

    /// The last number of a space that is acknowledged cumulatively.
    pub(crate) fn acknowledged_tsn(&self, at: SpaceId) -> Tsn {
        self.tables.spaces.get(at).map_or(Tsn::new(0), |space| space.tsn_of(space.flight.first()).sub(1))
    }

    /// The number of the next chunk of the TSN space, unwrapped and as a TSN.
    pub(crate) fn next_tsn(&self) -> (u64, Tsn) {
        self.tables.spaces.first().map_or((0, Tsn::new(0)), |space| {
            let next = space.flight.next();
            (next, space.tsn_of(next))
        })
    }

    /// Whether a chunk of the TSN space at or beyond `seq` is acknowledged cumulatively.
    pub(crate) fn is_acknowledged(&self, seq: u64) -> bool {
        self.tables.spaces.first().is_some_and(|space| space.flight.first() > seq)
    }

    /// Bytes of a chunk that must ride with every packet of data.
    pub(crate) fn keep_room_beside_data(&mut self, bytes: u16) {
        self.format.keep_room_beside_data(bytes);
    }
}
