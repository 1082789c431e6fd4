//! Admission of new chunks: it bounds the memory that a peer can make us hold, and refuses no chunk without which
//! a reading user would wait in vain.
//!
//! Memory is payload, 128 bytes for each piece and for each message in the making, and 32 bytes for each gap. With
//! W the receive window, it stays within 2 W, or 64 KiB where that is more; a single chunk that opens no gap is taken
//! whatever its size while no other payload is held.
//!
//! - The window closes at W bytes of payload or three quarters of that memory.
//! - Chunks that fill a hole are taken beyond that. Data that stays whatever the user reads (fragments of messages
//!   that are not whole, messages that wait for others, gaps) leaves room for a packet of the configured MTU, or for
//!   W/4 if that is more.
//! - That room is for chunks that the user can have at once: a message whose turn it is, or a further fragment of
//!   one. Among the missing chunks, the one that was sent first is of this kind. It can therefore always be taken
//!   once the user has read; if it is a fragment, the fragments of its message that are here are handed over as a
//!   part, so the room is free again.

use super::Receiver;
use super::arrivals::Arrival;
use super::inbound::Arrived;
use super::inbound::interleaved::Piece;
use super::inbound::limits::{GAP, cost};
use super::inbound::partial_message::PIECE;
use super::window::packet_of_peer;
use crate::context::Context;
use crate::encoding::{DataChunk, Encoding};
use crate::ids::SpaceId;

/// For each chunk that needs room, one in so many of the pieces behind the hole is dropped, so that looking for the
/// largest TSN costs little for each.
const SHARE: usize = 64;

/// A chunk that asks for room.
#[derive(Clone, Copy)]
struct Asked {
    len: usize,
    /// The user can have it as soon as it is here.
    at_once: bool,
    opens_gap: bool,
}

impl Receiver {
    /// Memory held beyond one receive window, with the reserve for chunks that the user can have at once, bytes: the
    /// sender may keep that much less. No more than a window, so that the sender has its buffers whatever is
    /// received.
    pub(crate) fn held_beyond_window(&self, cx: &Context) -> u64 {
        let window = self.window.largest(&cx.env.config().limits) as usize;
        (self.memory() + self.limits(cx).reserve()).saturating_sub(window).min(window) as u64
    }

    /// True if about half of the receive window or more is held, so that the sender must be told.
    #[inline]
    pub(crate) fn is_filling(&self) -> bool {
        self.is_filling
    }

    /// Reserves memory for the sender, which keeps `bytes` more than its send buffers. Data that is held already
    /// stays, and beside the data that the user cannot have yet there is room for chunks that the user can have at
    /// once: without it the chunk that everything waits for would be refused. Messages that the user could read and
    /// has not read gain no further room.
    pub(crate) fn reserve_for_sender(&mut self, cx: &Context, bytes: u64) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let both = 2 * self.window.largest(&cx.env.config().limits) as usize;
        let limits = self.limits(cx);
        let needed = self.memory().max(self.inbound.held_back() + limits.gaps() + limits.reserve());
        let rest = both.saturating_sub(needed);
        self.window.reserve_for_sender(bytes.min(u32::try_from(rest).unwrap_or(u32::MAX)));
        self.is_filling = self.memory() > self.window.size() as usize / 2;
    }

    /// True if there is buffer for a new chunk without a closer look, the common case: less than half of the window
    /// is held, with this and another packet.
    #[inline]
    pub(super) fn has_plenty(&self, cx: &Context, payload: usize) -> bool {
        let packets = payload + usize::from(packet_of_peer(cx.env.config()));
        self.memory() + packets + 4 * PIECE <= self.window.size() as usize / 2
    }

    /// True if there is buffer for a new chunk, or some can be made.
    ///
    /// A chunk that fills a hole may push out data that waits behind it: "the receiver SHOULD drop the largest TSN
    /// held for reordering and accept the new incoming DATA chunk" (6.2). Where whole messages wait behind the hole
    /// they are kept and the chunk is taken on top: refusing it would leave them waiting for ever.
    // rfc9260:6.2-2 rfc9260:6.2-3 rfc9260:6.2-26 rfc9260:6.2-29
    #[inline(never)]
    pub(super) fn find_room(
        &mut self,
        cx: &Context,
        at: SpaceId,
        seq: u64,
        arrival: Arrival,
        data: &DataChunk<'_>,
    ) -> bool {
        self.is_filling = true;
        let at_once = self.gives_at_once(cx, at, seq, arrival, data);
        let fills_hole = arrival == Arrival::FillsHole;
        let opens_gap = arrival != Arrival::InOrder && self.arrivals.neighbours(at, seq) == (false, false);
        let chunk = Asked { len: data.payload.len(), at_once, opens_gap };
        loop {
            let fits = self.fits(cx, chunk, 0);
            if fits && self.window_of(cx, at) > 0 {
                return true;
            }
            if fills_hole && cx.env.agreed().encoding() == Encoding::Rfc9260 {
                let highest = self.arrivals.highest(at);
                if highest > seq && self.inbound.forget_orphan(highest) {
                    self.arrivals.take_back(cx, at, highest, highest + 1);
                    continue;
                }
            }
            if !fits && fills_hole {
                return self.take_back_behind(cx, at, seq, chunk);
            }
            // A fragment that a message in the making needs to become whole is taken on top, too: others may wait for
            // it, brought by other subflows, and fill the buffer.
            let in_order = arrival == Arrival::InOrder;
            let needed = self.arrivals.has_floors() && !data.flags.beginning;
            let on_top = fills_hole || (in_order && (needed || (at_once && self.inbound.is_read())));
            return fits && on_top;
        }
    }

    /// True if a chunk fits the memory that may be held, `less` bytes of which are given up. The gap that it opens
    /// stays, though the user can have the chunk at once.
    fn fits(&self, cx: &Context, chunk: Asked, less: usize) -> bool {
        let limits = self.limits(cx);
        let cost = cost(chunk.len);
        let held = self.memory().saturating_sub(less) + cost;
        let held_back = self.inbound.held_back().saturating_sub(less);
        if chunk.at_once {
            let room_stays = !chunk.opens_gap || held_back + GAP <= limits.held_back();
            return room_stays && (held <= limits.bound() || self.inbound.buffered_bytes() == 0);
        }
        held <= limits.bound() && held_back + cost <= limits.held_back()
    }

    /// Gives up data behind the hole that a chunk fills, whole messages too, the largest TSN first, until there is
    /// room for the chunk: that data is of no use without the chunk, and was received to no avail if the chunk is
    /// refused until the peer gives up. Messages of which the user has read a part stay, and so does data of subflows
    /// with spaces of their own: a copy may have come under another number, which is acknowledged.
    ///
    /// The chunk that everything waits for is taken whatever its size, if the user has nothing to read that would make room for it.
    // rfc9260:6.2-26 rfc9260:6.2-27
    #[cold]
    fn take_back_behind(&mut self, cx: &Context, at: SpaceId, seq: u64, chunk: Asked) -> bool {
        let is_first = self.arrivals.next(at) == Some(seq);
        let on_top = is_first && chunk.at_once && self.inbound.is_read();
        let renumbered =
            self.renumbered || self.arrivals.has_floors() || cx.env.agreed().encoding() == Encoding::Sf2007;
        if at != SpaceId::FIRST || renumbered {
            return on_top;
        }
        // After a search through all that is held found nothing, the next chunks are refused without one.
        if self.futile > 0 {
            self.futile -= 1;
            return on_top;
        }
        let mut behind = self.inbound.behind(seq);
        let share = behind.len() / SHARE;
        if !self.fits(cx, chunk, behind.iter().map(|one| one.memory).sum()) {
            // All that is held was looked at, also where little of it lies behind the hole.
            let looked = self.inbound.memory() / PIECE / SHARE;
            self.futile = u32::try_from(looked).unwrap_or(u32::MAX);
            return on_top;
        }
        let mut least = share;
        while least > 0 || !self.fits(cx, chunk, 0) {
            let Some(last) = behind.pop() else { break };
            for (start, end) in self.inbound.take_back(&last) {
                self.arrivals.take_back(cx, at, start, end);
            }
            least = least.saturating_sub(1);
        }
        self.fits(cx, chunk, 0) || on_top
    }

    /// True if the user can have a chunk as soon as it is here, or nothing is kept of it.
    pub(super) fn gives_at_once(
        &self,
        cx: &Context,
        at: SpaceId,
        seq: u64,
        arrival: Arrival,
        data: &DataChunk<'_>,
    ) -> bool {
        if data.stream >= self.streams {
            return true;
        }
        match cx.env.agreed().encoding() {
            Encoding::Rfc9260 => self.inbound.gives_at_once(&self.arrived(at, seq, arrival, data)),
            Encoding::Sf2007 => {
                self.inbound.gives_at_once_of_space(at, &self.arrived(at, seq, arrival, data))
            }
            _ => self.inbound.gives_piece_at_once(&Piece::of(at, seq, data)),
        }
    }

    /// A chunk that has a number of its sequence space only.
    #[inline]
    pub(super) fn arrived<'a>(
        &self,
        at: SpaceId,
        seq: u64,
        arrival: Arrival,
        data: &DataChunk<'a>,
    ) -> Arrived<'a> {
        let (before, after) =
            if arrival == Arrival::InOrder { (true, false) } else { self.arrivals.neighbours(at, seq) };
        Arrived {
            seq,
            tsn: data.tsn,
            stream: data.stream,
            ssn: data.mid.get() as u16,
            ppid: data.ppid,
            unordered: data.flags.unordered,
            immediate: data.flags.immediate,
            beginning: data.flags.beginning,
            ending: data.flags.ending,
            before,
            after,
            payload: data.payload,
        }
    }

    /// Checks the charged memory against a fresh count, and against its bound: for tests, after every step of a life.
    ///
    /// # Errors
    /// The check that failed, in words.
    pub(crate) fn audit(&self, cx: &Context) -> Result<(), String> {
        self.inbound.audit()?;
        // The chunk that everything waited for may lie beyond, until it is read.
        let on_top = if self.inbound.is_read() { 0 } else { cost(u16::MAX.into()) };
        let (held, bound) = (self.memory(), self.limits(cx).bound() + on_top);
        if held > bound && !self.inbound.is_single() {
            return Err(format!("the receiver holds {held} bytes, more than {bound}"));
        }
        Ok(())
    }
}
