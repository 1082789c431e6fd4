//! The sequence spaces of the peer's subflows, and the FIDs that it has opened for them.

use anabranch_wire::Tsn;

use super::Arrivals;
use super::space::ReceiveSpace;
use crate::ids::{Id, SpaceId};
use crate::negotiation::fids::{Answer, Judged};

impl Arrivals {
    /// A space for a FID: both halves of a space have the same place in their tables.
    pub(crate) fn add_space(&mut self, fid: u8) {
        self.spaces.push(ReceiveSpace::new(fid));
    }

    /// The FIDs that the peer has open, besides 0.
    pub(crate) fn open_fids(&self) -> Vec<u8> {
        self.fids.as_ref().map_or_else(Vec::new, |fids| fids.each().collect())
    }

    /// True if subflows have parts of the receive buffer to themselves, which the peer was told with its size.
    #[inline]
    pub(crate) fn has_floors(&self) -> bool {
        self.fids.is_some()
    }

    /// Number of FIDs that the peer has open, besides 0; `None` where subflows have no spaces of their own.
    pub(in crate::receiver) fn open_count(&self) -> Option<u8> {
        self.fids.as_ref().map(|fids| fids.open())
    }

    /// The spaces under whose FIDs the peer may send, where subflows have spaces of their own.
    pub(in crate::receiver) fn open_spaces(&self) -> Option<impl Iterator<Item = SpaceId> + '_> {
        let fids = self.fids.as_ref()?;
        Some(self.spaces.iter().filter(|(_, space)| fids.epoch(space.fid).is_some()).map(|(at, _)| at))
    }

    /// The peer begins to send under a FID.
    pub(in crate::receiver) fn open(&mut self, at: SpaceId, epoch: u8, initial: Tsn) {
        let Some(space) = self.spaces.get_mut(at) else { return };
        space.restart(initial);
        space.epoch = epoch;
        space.newest = None;
        space.out_of_order = 0;
    }

    /// The peer is told, with the answer to its SF-ADD, that it may send so many bytes in a space.
    pub(in crate::receiver) fn grant(&mut self, at: SpaceId, credit: u32) {
        if let Some(space) = self.spaces.get_mut(at) {
            space.timing.last_advertised = credit;
        }
    }

    /// The first number of a peer's FID, where nothing has come under it yet (encoding of 2007).
    pub(crate) fn set_initial(&mut self, at: SpaceId, initial: Tsn) {
        if let Some(space) = self.spaces.get_mut(at).filter(|space| space.received.end() == 0) {
            space.set_base(initial);
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
