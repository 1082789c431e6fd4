//! What the peer has room for: in its buffer as a whole, and for each FID (levels 1 and sf2007).

use super::Sender;
use super::flight::Counted;
use crate::context::Context;
use crate::ids::{LaneId, SpaceId};
use crate::negotiation::fids::Judged;

/// Bytes of header that the peer's window is charged for a chunk, where it is charged any.
pub(super) const WINDOW_HEADER: u64 = 16;

impl Sender {
    /// 6.2.1 D ii: "Set rwnd equal to the newly received a_rwnd minus the number of bytes still outstanding".
    // rfc9260:6.2.1-1
    pub(super) fn update_peer_window(&mut self, cx: &Context, a_rwnd: u32) {
        let outstanding = self.tables.outstanding(cx, None);
        let left = self.buffer.retention_left(&self.tables, cx);
        self.peer_rwnd = u64::from(a_rwnd).saturating_sub(outstanding).min(left);
        self.buffer.note_retention_left(&self.tables, cx, left);
    }

    /// With the encoding of 2007 there is no window of the association in the encoding of 2007. Where it has one space, that space's window
    /// is all there is, and it is looked at as that of the association is.
    pub(crate) fn forget_peer_window(&mut self, cx: &Context) {
        self.peer_rwnd = self.buffer.retention_left(&self.tables, cx);
        if let [space] = self.tables.spaces.rows() {
            self.peer_rwnd = self.peer_rwnd.min(space.allowance.window);
        }
    }

    /// Chunks of a lane were found lost, or are taken for it, whatever has said so.
    pub(super) fn lose(&mut self, cx: &Context, id: LaneId, lost: Counted) {
        if let Some(lane) = self.tables.lanes.get_mut(id) {
            lane.loss.count_more(lost.chunks);
        }
        self.take_out_of_flight(cx, id, lost);
    }

    /// Chunks of a lane are marked to leave again: "marked for retransmission" is not in flight any more, and is charged again when
    /// it leaves: 6.2.1 C, "add the data size of those chunks to the rwnd". Its memory is kept all the same, and other lanes must
    /// not fill its room with new data. Nothing else takes what is to leave again out of a flight; what is given up is
    /// "finally acked" (RFC 3758, 3.5, A2), and the peer's next window speaks of that.
    #[inline(never)]
    pub(super) fn take_out_of_flight(&mut self, cx: &Context, id: LaneId, marked: Counted) {
        let Some(lane) = self.tables.lanes.get_mut(id) else { return };
        lane.in_flight.marked_lost(marked);
        let freed = marked.charged(cx.config.emulation.rwnd_counts_headers);
        if let Some(space) = self.tables.spaces.get_mut(lane.space()) {
            space.allowance.give_back(freed);
        }
        self.peer_rwnd =
            self.peer_rwnd.saturating_add(freed).min(self.buffer.retention_left(&self.tables, cx));
    }

    /// The space of what the peer says of a FID, if it is open in that incarnation.
    pub(crate) fn judge(&self, fid: u8, epoch: u8) -> Option<(Judged, Option<SpaceId>)> {
        let judged = self.credit.as_ref()?.fids.judge(fid, epoch);
        Some((judged, self.tables.space_of(fid)))
    }

    /// The space of a FID that is open, in the encoding of 2007, which has no incarnations.
    pub(crate) fn open_space_of(&self, fid: u8) -> Option<SpaceId> {
        self.credit.as_ref()?.fids.epoch(fid)?;
        self.tables.space_of(fid)
    }

    /// Whether the peer has room for a chunk of this space: in its buffer, and in what it gives the subflow.
    // rfc9260:6.1-2 rfc9260:6.1-9
    #[inline]
    pub(super) fn fits_peer_window(&self, cx: &Context, at: SpaceId, payload: usize) -> bool {
        let header = if cx.config.emulation.rwnd_counts_headers { WINDOW_HEADER } else { 0 };
        self.has_room(at, payload as u64 + header)
    }

    /// Whether the peer has room for so many bytes of this space, as windows count them: in its buffer, and in what it gives
    /// the subflow.
    #[inline]
    pub(super) fn has_room(&self, at: SpaceId, bytes: u64) -> bool {
        if self.tables.spaces.len() == 1 { bytes <= self.peer_rwnd } else { self.has_room_beside(at, bytes) }
    }

    /// Whether the peer has room for so many bytes, where other subflows have spaces, and room of their own.
    #[inline(never)]
    fn has_room_beside(&self, at: SpaceId, bytes: u64) -> bool {
        if self.tables.spaces.get(at).is_some_and(|space| bytes > space.allowance.window) {
            return false;
        }
        // A wide open window has room for every floor, and they need not be looked at one by one.
        bytes.saturating_add(self.floors_at_most()) <= self.peer_rwnd
            || bytes.saturating_add(self.floors_of_others(at)) <= self.peer_rwnd
            || (bytes <= self.peer_rwnd && self.within_own_floor(at, bytes))
    }

    /// Bytes of the peer's buffer that the floors of our other subflows need: they are left to them. What one has of its own was
    /// acknowledged, perhaps, and is still there: then its credit says so.
    fn floors_of_others(&self, at: SpaceId) -> u64 {
        let Some(credit) = &self.credit else { return 0 };
        let floor = u64::from(credit.floor);
        let others = self.tables.spaces.iter().filter(|(other, _)| *other != at);
        let open = others.filter(|(_, space)| credit.fids.epoch(space.fid).is_some());
        open.map(|(_, space)| floor.saturating_sub(space.flight.bytes()).min(space.allowance.window)).sum()
    }

    /// What the floors of our subflows may need together.
    fn floors_at_most(&self) -> u64 {
        self.credit.as_ref().map_or(0, |credit| u64::from(credit.floor) * self.tables.spaces.len() as u64)
    }

    /// Whether so many bytes more of a space, which its credit allows, stay within the floor of its own. What the others have
    /// in the buffer does not matter then, and it may be more than we know: of subflow 0 there is no credit that says what it
    /// has left.
    fn within_own_floor(&self, at: SpaceId, bytes: u64) -> bool {
        let (Some(credit), Some(space)) = (&self.credit, self.tables.spaces.get(at)) else { return false };
        space.allowance.is_limited() && space.flight.bytes() + bytes <= u64::from(credit.floor)
    }
}
