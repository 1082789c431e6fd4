//! The sequence spaces of subflows: made when the handshake or the peer opens their FIDs.

use anabranch_wire::Tsn;

use super::allowance::Allowance;
use super::subflow::Life;
use super::subflow_scope::SubflowChanges;
use super::tables::Tables;
use crate::config::Coupling;
use crate::context::Context;
use crate::encoding::Encoding;
use crate::ids::{SpaceId, SubflowId};

impl Tables {
    /// The first TSN of a space.
    pub(crate) fn initial_of(&self, at: SpaceId) -> Tsn {
        self.spaces.get(at).map_or(Tsn::new(0), |space| space.base)
    }

    /// The last TSN of a space that is acknowledged cumulatively.
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

    /// True if a chunk of the TSN space at or beyond `seq` is acknowledged cumulatively.
    pub(crate) fn is_acknowledged(&self, seq: u64) -> bool {
        self.spaces.first().is_some_and(|space| space.flight.first() > seq)
    }

    /// True if all messages of these streams (none listed: of all) that may have numbers have left.
    pub(crate) fn have_left(&self, streams: &[u16]) -> bool {
        let queued = self.subflows.rows().iter().any(|subflow| match streams {
            [] => !subflow.out.is_empty(),
            _ => streams.iter().any(|stream| subflow.out.waits(*stream)),
        });
        // The request names only the last TSN: chunks in other sequence spaces must be acknowledged.
        !queued && !self.spaces.rows().iter().skip(1).any(|space| space.flight.carries(streams))
    }

    /// True if no message of ours that may have a number waits or is in flight.
    pub(crate) fn is_quiet(&self) -> bool {
        self.have_left(&[]) && self.spaces.rows().iter().all(|space| space.flight.is_empty())
    }
}

impl SubflowChanges<'_> {
    /// Moves a subflow into the space of its FID, if it has one, and none of its chunks is in flight elsewhere.
    pub(crate) fn settle_subflow(&mut self, cx: &Context, id: SubflowId) {
        if cx.env.config().subflows.coupling == Coupling::Shared {
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

    /// We may send under a FID, from `initial` on.
    pub(crate) fn open_space(&mut self, cx: &Context, at: SpaceId, epoch: u8, initial: Tsn) {
        let initial_credit = self.peer.initial_credit();
        // The peer counts the packets of this incarnation from 0 on.
        for (id, _) in self.tables.lanes.iter().filter(|(_, lane)| lane.space() == at) {
            self.ecn.forget_lane(id);
        }
        let Some(space) = self.tables.spaces.get_mut(at) else { return };
        space.flight.restart();
        space.base = initial;
        space.epoch = epoch;
        space.allowance = if cx.env.agreed().encoding() == Encoding::Sf2007 {
            Allowance::UNLIMITED
        } else {
            Allowance { window: u64::from(initial_credit) }
        };
    }
}
