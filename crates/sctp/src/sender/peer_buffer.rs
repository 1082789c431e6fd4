//! What the peer has room for: in its buffer as a whole, and for each FID (levels 1 and sf2007).

use super::Sender;
use super::flight::{CHUNK, Counted};
use super::subflow::Subflow;
use crate::config::{Config, LimitConfig};
use crate::context::Context;
use crate::ids::{LaneId, SpaceId};
use crate::negotiation::fids::Judged;

/// Bytes of header that the peer's window is charged for a chunk, where it is charged any.
pub(super) const WINDOW_HEADER: u64 = 16;

/// Messages, or fragments of one, that may be in flight: "MUST NOT have more than 2**31 - 1" (RFC 8260, 2.1), so that their numbers, and the
/// TSNs, can be told apart from older ones.
const MOST_IN_FLIGHT: u64 = (1 << 31) - 1;

/// What may be kept of what was sent, bytes. Every chunk counts [`CHUNK`] and its payload, so the buffers of a user who has 180 GB for them
/// are the limit, and the numbers are for who has more.
// rfc8260:2.1-4 rfc8260:2.1-6
fn most_retained(config: &Config) -> u64 {
    let limits = &config.limits;
    let (send, receive) = (limits.largest_send_buffer() as u64, u64::from(limits.largest_receive_window()));
    send.saturating_add(receive).min(MOST_IN_FLIGHT * CHUNK)
}

/// What there may be of bookkeeping where the receive window is below 32 KiB, bytes: small windows have a least room ("Bounds on memory",
/// docs/explanation/engines.md), and a send buffer beside one takes as many messages as beside any other.
fn least_room(config: &Config) -> u64 {
    (32_u64 << 10).saturating_sub(config.limits.largest_receive_window().into())
}

/// What one subflow has beyond its send buffer, bytes: what is kept of messages besides their payload, and what streams have as their
/// least part of a full buffer. Not the message that exceeds it: a long one must not keep what is sent from leaving. Where
/// streams have a least part it is not told apart, and as much again as the buffer is what counts at most.
#[inline]
fn beyond_buffer(subflow: &Subflow, limits: &LimitConfig) -> u64 {
    let besides = subflow.out.bookkeeping();
    let is_plain = limits.stream_send_minimum == 0;
    // Of a few long messages that is less than the packet that may be under way whatever the limits.
    if is_plain && besides < 1500 {
        return 0;
    }
    let (payload, buffer) = (subflow.out.queued_bytes(), limits.largest_send_buffer());
    let beyond = (payload + besides).saturating_sub(buffer);
    if is_plain { beyond.min(besides) as u64 } else { beyond.min(buffer) as u64 }
}

impl Sender {
    /// What may still be sent before that which is not acknowledged cumulatively fills its limit, bytes.
    ///
    /// A peer may take back what gap blocks have acknowledged (6.2.1), so it is kept. An honest peer has a buffer for it, and its
    /// a_rwnd says what is left. One that lies, with a huge a_rwnd and gap blocks for everything but one TSN, could make us keep any
    /// amount: therefore a send buffer and a receive buffer together are the limit, bookkeeping included. Both halves of an
    /// association share what there is for them ("Bounds on memory", docs/explanation/engines.md): what the receiver holds beyond one window is missing here, and what
    /// waits beyond the send buffers.
    // rfc9260:6.1-22
    #[inline]
    pub(super) fn retention_left(&self, cx: &Context) -> u64 {
        let window = u64::from(cx.config.limits.largest_receive_window());
        let shared = self.send_buffers(cx).saturating_add(window);
        let limit = shared.saturating_sub(self.lent_to_receiver + self.waits_beyond(cx));
        // With one send buffer it is what is shared that is the limit.
        let most =
            if self.tables.subflows.len() == 1 { MOST_IN_FLIGHT * CHUNK } else { Self::retention_limit(cx) };
        limit.min(most).saturating_sub(self.tables.retained())
    }

    /// A send buffer and a receive buffer, as large as they may grow, bytes.
    pub(super) fn retention_limit(cx: &Context) -> u64 {
        most_retained(&cx.config)
    }

    /// 6.2.1 D ii: "Set rwnd equal to the newly received a_rwnd minus the number of bytes still outstanding".
    // rfc9260:6.2.1-1
    pub(super) fn update_peer_window(&mut self, cx: &Context, a_rwnd: u32) {
        let outstanding = self.tables.outstanding(cx, None);
        let left = self.retention_left(cx);
        self.peer_rwnd = u64::from(a_rwnd).saturating_sub(outstanding).min(left);
        self.note_retention_left(cx, left);
    }

    /// With the encoding of 2007 there is no window of the association in the encoding of 2007. Where it has one space, that space's window
    /// is all there is, and it is looked at as that of the association is.
    pub(crate) fn forget_peer_window(&mut self, cx: &Context) {
        self.peer_rwnd = self.retention_left(cx);
        if let [space] = self.tables.spaces.rows() {
            self.peer_rwnd = self.peer_rwnd.min(space.allowance.window);
        }
    }

    /// The send buffers of all subflows, as large as they may grow, bytes. The place of one that was removed counts until the
    /// association ends: what waited there has moved to another.
    #[inline]
    pub(crate) fn send_buffers(&self, cx: &Context) -> u64 {
        (cx.config.limits.largest_send_buffer() as u64).saturating_mul(self.tables.subflows.len() as u64)
    }

    /// The most that can be undelivered at a time, and is kept of what is handed back, bytes: what waits, and what is not acknowledged.
    pub(crate) fn most_undelivered(&self, cx: &Context) -> u64 {
        self.send_buffers(cx).saturating_add(Self::retention_limit(cx))
    }

    /// What waits beyond the send buffers, bytes.
    #[inline]
    fn waits_beyond(&self, cx: &Context) -> u64 {
        let limits = &cx.config.limits;
        let beyond: u64 = match self.tables.subflows.rows() {
            [subflow] => beyond_buffer(subflow, limits),
            several => several.iter().map(|subflow| beyond_buffer(subflow, limits)).sum(),
        };
        if beyond == 0 { 0 } else { beyond.saturating_sub(least_room(&cx.config)) }
    }

    /// So much may still be kept of what was sent. Where that is less than the send buffers, what messages take besides their payload
    /// counts against these, so that both stay within the limit together.
    #[inline]
    pub(super) fn note_retention_left(&mut self, cx: &Context, left: u64) {
        if self.is_tight || left < self.send_buffers(cx) {
            self.look_whether_tight(cx, left);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_whether_tight(&mut self, cx: &Context, left: u64) {
        self.is_tight = left.saturating_add(least_room(&cx.config)) < self.send_buffers(cx);
        self.weighs_all = self.is_tight || cx.config.limits.stream_send_minimum != 0;
    }

    /// What is kept beyond the send buffers of all subflows, of what was sent or waits, bytes: that much less may the receiver hold. A packet of
    /// each sequence space, which may be under way whatever the limits, is not counted.
    pub(crate) fn kept_beyond_buffers(&self, cx: &Context) -> u64 {
        let packets = u64::from(cx.config.mtu) * self.tables.spaces.len() as u64;
        let kept = self.tables.retained() + self.waits_beyond(cx);
        kept.saturating_sub(self.send_buffers(cx).saturating_add(packets))
    }

    /// The receiver holds so much more than one window, bytes.
    pub(crate) fn lend_to_receiver(&mut self, bytes: u64) {
        self.lent_to_receiver = bytes;
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
        self.peer_rwnd = self.peer_rwnd.saturating_add(freed).min(self.retention_left(cx));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// "MUST NOT have more than 2**31 - 1 ordered messages", nor unordered ones, nor fragments "in flight" (RFC 8260, 2.1), however large the
    /// buffers are; where they are not, they are the limit.
    // rfc8260:2.1-4 rfc8260:2.1-6
    #[test]
    fn so_many_messages_are_in_flight_at_most() {
        let config = Config::rfc9260();
        let (send, receive) = (config.limits.send_buffer as u64, u64::from(config.limits.receive_window));
        assert_eq!(most_retained(&config), send + receive);
        let (size, numbers) = (CHUNK + 1, (1_u64 << 31) - 1);
        for send_buffer in [1 << 36, 1 << 40, usize::MAX] {
            let boundless = config.clone().with(|c| {
                c.limits.send_buffer = send_buffer;
                c.limits.receive_window = u32::MAX;
            });
            assert!(most_retained(&boundless) / size <= numbers, "{send_buffer}");
        }
    }
}
