//! Room at the peer: in its buffer as a whole, and for each FID (levels 1 and sf2007).

use anabranch_wire::Tsn;

use super::credit::Credit;
use super::tables::Tables;
use crate::context::Context;
use crate::ids::{SpaceId, SubflowId};
use crate::negotiation::fids::Judged;
use crate::negotiation::offer::Extensions;

/// Bytes of header that the peer's window is charged for a chunk, where it is charged any.
pub(super) const WINDOW_HEADER: u64 = 16;

/// Our view of the peer's buffer.
#[derive(Debug, Default)]
pub(crate) struct PeerWindow {
    /// Free bytes, less those in flight.
    rwnd: u64,
    /// FIDs under which we send, where subflows have spaces of their own, and the credit that the peer grants them.
    credit: Option<Box<Credit>>,
}

impl PeerWindow {
    /// Room in the peer's buffer, less the bytes in flight.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.rwnd
    }

    /// Room in the peer's buffer, in the 32 bits of an a_rwnd.
    pub(super) fn on_wire(&self) -> u32 {
        u32::try_from(self.rwnd).unwrap_or(u32::MAX)
    }

    /// The peer's INIT or INIT ACK has announced `a_rwnd`; `left` bytes more may be kept of sent data.
    pub(super) fn learn(&mut self, a_rwnd: u32, left: u64) {
        self.rwnd = u64::from(a_rwnd).min(left);
    }

    /// 6.2.1 D ii: "Set rwnd equal to the newly received a_rwnd minus the number of bytes still outstanding". `left`
    /// bytes may be kept of sent data.
    // rfc9260:6.2.1-1
    pub(super) fn update(&mut self, a_rwnd: u32, outstanding: u64, left: u64) {
        self.rwnd = u64::from(a_rwnd).saturating_sub(outstanding).min(left);
    }

    /// The encoding of 2007 has no window of the association. Where there is one space, its window is the only one,
    /// and takes the place of the association's.
    pub(super) fn forget(&mut self, tables: &Tables, left: u64) {
        self.rwnd = left;
        if let [space] = tables.spaces.rows() {
            self.rwnd = self.rwnd.min(space.allowance.window);
        }
    }

    /// A chunk leaves that is charged `bytes`.
    #[inline]
    pub(super) fn charge(&mut self, bytes: u64) {
        self.rwnd = self.rwnd.saturating_sub(bytes);
    }

    /// A new chunk leaves that is charged `bytes`; `left` bytes may be kept of sent data from then on.
    #[inline]
    pub(super) fn charge_new(&mut self, bytes: u64, left: u64) {
        self.rwnd = self.rwnd.saturating_sub(bytes).min(left);
    }

    /// Chunks that were charged `bytes` are to leave again: 6.2.1 C, "add the data size of those chunks to the rwnd".
    pub(super) fn give_back(&mut self, bytes: u64, left: u64) {
        self.rwnd = self.rwnd.saturating_add(bytes).min(left);
    }

    /// An encoding was agreed on: the FIDs that are open, and the credits that they are granted.
    pub(super) fn adopt(&mut self, agreed: &Extensions) {
        self.credit = match (&agreed.sf, agreed.sf2007) {
            (_, Some((ours, _))) => Some(Box::new(Credit::of_sf2007(ours))),
            (Some(sf), None) => Some(Box::new(Credit::new(sf))),
            (None, None) => None,
        };
    }

    /// Subflows have no spaces of their own any more.
    pub(super) fn forget_fids(&mut self) {
        self.credit = None;
    }

    /// True if subflows may have spaces of their own.
    pub(super) fn has_fids(&self) -> bool {
        self.credit.is_some()
    }

    /// Bytes that a new FID may have outstanding at first.
    pub(super) fn initial_credit(&self) -> u32 {
        self.credit.as_ref().map_or(0, |credit| credit.initial)
    }

    /// The FIDs that we have open, besides 0.
    pub(crate) fn open_fids(&self) -> Vec<u8> {
        self.credit.as_ref().map_or_else(Vec::new, |credit| credit.fids.each().collect())
    }

    /// A FID is open from now on.
    pub(crate) fn record_fid(&mut self, fid: u8, epoch: u8) {
        if let Some(credit) = &mut self.credit {
            credit.fids.add(fid, epoch);
        }
    }

    /// The peer knows that a FID is free.
    pub(super) fn fid_closed(&mut self, fid: u8, epoch: u8, last: Tsn) {
        if let Some(credit) = &mut self.credit {
            credit.fids.delete(fid, epoch, last, last);
        }
    }

    /// The verdict on a FID and incarnation that the peer names, and the space of that FID; `None` where FIDs are not in use.
    pub(crate) fn judge(&self, tables: &Tables, fid: u8, epoch: u8) -> Option<(Judged, Option<SpaceId>)> {
        let judged = self.credit.as_ref()?.fids.judge(fid, epoch);
        Some((judged, tables.space_of(fid)))
    }

    /// The space of a FID that is open, in the encoding of 2007, which has no incarnations.
    pub(crate) fn open_space_of(&self, tables: &Tables, fid: u8) -> Option<SpaceId> {
        self.credit.as_ref()?.fids.epoch(fid)?;
        tables.space_of(fid)
    }

    /// True if the peer has room for a chunk of this space: in its buffer, and in the subflow's credit.
    // rfc9260:6.1-2 rfc9260:6.1-9
    #[inline]
    pub(super) fn fits(&self, tables: &Tables, cx: &Context, at: SpaceId, payload: usize) -> bool {
        let header = if cx.env.config().emulation.rwnd_counts_headers { WINDOW_HEADER } else { 0 };
        self.has_room(tables, at, payload as u64 + header)
    }

    /// True if the peer has room for so many bytes of this space, as windows count them: in its buffer, and in the
    /// subflow's credit.
    #[inline]
    pub(super) fn has_room(&self, tables: &Tables, at: SpaceId, bytes: u64) -> bool {
        self.has_room_in(tables, self.rwnd, at, bytes)
    }

    /// True if the peer would have room for so many bytes of this space with `rwnd` free bytes in its buffer.
    #[inline]
    pub(super) fn has_room_in(&self, tables: &Tables, rwnd: u64, at: SpaceId, bytes: u64) -> bool {
        if tables.spaces.len() == 1 { bytes <= rwnd } else { self.has_room_beside(tables, rwnd, at, bytes) }
    }

    /// True if the peer has room for so many bytes, where other subflows have spaces, and room of their own.
    #[inline(never)]
    fn has_room_beside(&self, tables: &Tables, rwnd: u64, at: SpaceId, bytes: u64) -> bool {
        if tables.spaces.get(at).is_some_and(|space| bytes > space.allowance.window) {
            return false;
        }
        // In a large window there is room for every floor, and they need not be looked at one by one.
        bytes.saturating_add(self.floors_at_most(tables)) <= rwnd
            || bytes.saturating_add(self.floors_of_others(tables, at)) <= rwnd
            || (bytes <= rwnd && self.within_own_floor(tables, at, bytes))
    }

    /// Bytes of the peer's buffer that the floors of our other subflows need, which no subflow but their own may use.
    /// Data of a subflow that was acknowledged may still be in the buffer: then its credit is smaller.
    fn floors_of_others(&self, tables: &Tables, at: SpaceId) -> u64 {
        let Some(credit) = &self.credit else { return 0 };
        let floor = u64::from(credit.floor);
        let others = tables.spaces.iter().filter(|(other, _)| *other != at);
        let open = others.filter(|(_, space)| credit.fids.epoch(space.fid).is_some());
        open.map(|(_, space)| floor.saturating_sub(space.flight.bytes()).min(space.allowance.window)).sum()
    }

    /// The most that the floors of our subflows may need together.
    fn floors_at_most(&self, tables: &Tables) -> u64 {
        self.credit.as_ref().map_or(0, |credit| u64::from(credit.floor) * tables.spaces.len() as u64)
    }

    /// True if so many bytes more of a space, which its credit allows, stay within its own floor. The data of the
    /// others in the buffer does not matter then, and it may be more than we know: subflow 0 has no credit that would
    /// show its room.
    fn within_own_floor(&self, tables: &Tables, at: SpaceId, bytes: u64) -> bool {
        let (Some(credit), Some(space)) = (&self.credit, tables.spaces.get(at)) else { return false };
        space.allowance.is_limited() && space.flight.bytes() + bytes <= u64::from(credit.floor)
    }

    /// The epoch in which the peer is to be asked for the FID of a subflow that has none; `asked` requests for FIDs have no
    /// answer yet. `None` where there is no extension, no FID left, or nothing to ask for: then the subflow goes on as at
    /// level 0.
    pub(crate) fn wanted_epoch(&self, id: SubflowId, asked: usize) -> Option<u8> {
        let credit = self.credit.as_ref()?;
        if usize::from(credit.fids.open()) + asked >= usize::from(credit.fids.limit()) {
            return None;
        }
        credit.fids.next_epoch(id.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_is_charged_and_comes_back_within_what_may_be_kept() {
        let mut peer = PeerWindow::default();
        peer.learn(8_000, 10_000);
        assert_eq!(peer.bytes(), 8_000);
        peer.update(10_000, 3_000, 5_000);
        assert_eq!(peer.bytes(), 5_000, "no more than may be kept");
        peer.charge(2_000);
        assert_eq!(peer.bytes(), 3_000);
        peer.charge_new(1_000, 1_500);
        assert_eq!(peer.bytes(), 1_500);
        peer.give_back(10_000, 4_000);
        assert_eq!(peer.bytes(), 4_000);
        peer.charge(5_000);
        assert_eq!(peer.on_wire(), 0, "a probe may exceed it");
    }

    #[test]
    fn a_window_that_is_only_supposed_changes_nothing() {
        let (peer, tables) = (PeerWindow::default(), Tables::new(Tsn::new(1)));
        assert!(!peer.has_room(&tables, SpaceId::FIRST, 100));
        assert!(peer.has_room_in(&tables, 100, SpaceId::FIRST, 100));
        assert!(!peer.has_room_in(&tables, 99, SpaceId::FIRST, 100));
    }
}
