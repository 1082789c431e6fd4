//! The sequence spaces of the peer's subflows, and the FIDs that it has opened for them.

use anabranch_wire::Tsn;

use super::Receiver;
use super::space::ReceiveSpace;
use crate::context::Context;
use crate::ids::{Id, SpaceId};
use crate::negotiation::fids::{Answer, Judged};

impl Receiver {
    /// A space for a FID: both halves of a space have the same place in their tables.
    pub(crate) fn add_space(&mut self, fid: u8) {
        self.spaces.push(ReceiveSpace::new(fid));
    }

    /// The FIDs that the peer has open, besides 0.
    pub(crate) fn open_fids(&self) -> Vec<u8> {
        self.fids.as_ref().map_or_else(Vec::new, |fids| fids.each().collect())
    }

    /// The peer begins to send under a FID.
    pub(crate) fn open(&mut self, cx: &Context, at: SpaceId, epoch: u8, initial: Tsn) {
        let Some(space) = self.spaces.get_mut(at) else { return };
        space.restart(initial);
        space.epoch = epoch;
        space.newest = None;
        space.out_of_order = 0;
        let credit = self.credit_of(cx, at);
        if let Some(space) = self.spaces.get_mut(at) {
            space.timing.last_advertised = credit;
        }
    }

    /// SF-ADD of the peer: whether it may have that FID. If it is open already, it must be with the same first number.
    pub(crate) fn add_fid(&mut self, fid: u8, epoch: u8, initial: Tsn) -> Answer {
        let Some(fids) = &mut self.fids else { return Answer::Denied };
        let answer = fids.add(fid, epoch);
        let known = self.space_of(fid).and_then(|at| self.spaces.get(at));
        if answer == Answer::Nothing && known.is_none_or(|space| space.base() != initial) {
            return Answer::Denied;
        }
        answer
    }

    /// SF-DEL of the peer.
    pub(crate) fn delete_fid(&mut self, fid: u8, epoch: u8, last: Tsn) -> Answer {
        let Some(space) = self.space_of(fid).and_then(|at| self.spaces.get(at)) else {
            return Answer::Denied;
        };
        let received = space.cumulative();
        let Some(fids) = &mut self.fids else { return Answer::Denied };
        fids.delete(fid, epoch, received, last)
    }

    fn space_of(&self, fid: u8) -> Option<SpaceId> {
        self.spaces.rows().iter().position(|space| space.fid == fid).map(SpaceId::at)
    }

    /// The space of data under a FID, if it is open in that incarnation.
    pub(crate) fn judge(&self, fid: u8, epoch: u8) -> Option<(Judged, Option<SpaceId>)> {
        let judged = self.fids.as_ref()?.judge(fid, epoch);
        Some((judged, self.space_of(fid)))
    }

    /// The space of a FID that is open, in the encoding of 2007, which has no incarnations.
    pub(crate) fn open_space_of(&self, fid: u8) -> Option<SpaceId> {
        self.fids.as_ref()?.epoch(fid)?;
        self.space_of(fid)
    }
}
