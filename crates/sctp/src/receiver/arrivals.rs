//! Data chunks that arrive (RFC 9260, 6.2): what is new, whether there is room for it, and when to acknowledge.

use super::Receiver;
use super::inbound::growing::Inconsistent;
use super::inbound::interleaved::Piece;
use super::inbound::limits::Limits;
use super::space::map::Arrival;
use super::space::timing::{AckPolicy, PacketSummary};
use super::standstill::STANDSTILL;
use crate::context::Context;
use crate::encoding::{DataChunk, Encoding};
use crate::event::Event;
use crate::ids::{PathId, SpaceId, SubflowId};
use crate::violation::Violation;
use anabranch_base::{TraceEvent, rare};

/// What is known of a packet while its chunks are read.
#[derive(Debug, Default)]
pub(crate) struct PacketRead {
    /// Where it came from: its data is acknowledged there.
    path: PathId,
    /// The sequence space that the packet's data belongs to, and what it has brought for that.
    pub(super) space: SpaceId,
    pub(super) summary: PacketSummary,
    /// What the packet brought for spaces that it has left.
    had_data: bool,
    had_new: bool,
}

impl PacketRead {
    /// Of a packet that came on a path.
    pub(crate) fn on(path: PathId) -> Self {
        Self { path, ..Self::default() }
    }

    /// Whether the packet has brought data, new or not.
    pub(crate) fn has_data(&self) -> bool {
        self.had_data || self.summary.has_data
    }

    /// Whether the packet has brought new data.
    pub(crate) fn has_new(&self) -> bool {
        self.had_new || self.summary.new
    }
}

/// What became of a data chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Nothing more is to be said of it.
    Done,
    /// "it MUST acknowledge the reception of the DATA chunk following the normal procedure and immediately send an
    /// ERROR chunk with cause set to 'Invalid Stream Identifier'" (6.5).
    NoSuchStream,
}

/// What becomes of a chunk for which there is not plenty of room.
enum Entrance {
    /// It is taken.
    Open,
    /// There is no room for it.
    Shut,
    /// Nothing that the peer can send would be of use any more: the association must be aborted.
    Standstill,
}

impl Receiver {
    /// Takes a DATA chunk of RFC 9260.
    ///
    /// # Errors
    /// When the association must be aborted.
    #[allow(
        clippy::inline_always,
        reason = "the loop over the chunks of a packet is its only caller; measured"
    )]
    #[inline(always)]
    pub(crate) fn take_plain(
        &mut self,
        cx: &mut Context,
        read: &mut PacketRead,
        chunk: &DataChunk<'_>,
    ) -> Result<Taken, Violation> {
        let (seq, arrival) = match self.note_arrival(cx, read, chunk)? {
            Ok(new) => new,
            Err(taken) => return Ok(taken),
        };
        let ready = self.reassemble_plain(cx, seq, arrival, chunk);
        tell_readable(cx, chunk.stream, ready)
    }

    /// Takes a data chunk of another encoding, of the space that the packet has entered. Apart from DATA, so that each is
    /// compiled for itself.
    ///
    /// # Errors
    /// When the association must be aborted.
    #[inline(never)]
    pub(crate) fn take(
        &mut self,
        cx: &mut Context,
        read: &mut PacketRead,
        chunk: &DataChunk<'_>,
    ) -> Result<Taken, Violation> {
        let (seq, arrival) = match self.note_arrival(cx, read, chunk)? {
            Ok(new) => new,
            Err(taken) => return Ok(taken),
        };
        let ready = self.reassemble(cx, read.space, seq, arrival, chunk);
        tell_readable(cx, chunk.stream, ready)
    }

    /// What follows in the packet belongs to that sequence space: what it brought for the one before is complete.
    pub(crate) fn enter_space(&mut self, cx: &Context, read: &mut PacketRead, at: SpaceId) {
        if read.space == at {
            return;
        }
        if read.summary.has_data {
            let summary = std::mem::take(&mut read.summary);
            read.had_data |= summary.has_data;
            read.had_new |= summary.new;
            if let Some(space) = self.spaces.get_mut(read.space) {
                space.path = read.path;
                space.timing.on_packet(cx.now, summary, AckPolicy::of(&cx.config));
            }
        }
        read.space = at;
    }

    /// After the last chunk: when to acknowledge.
    // rfc9260:6.2-10
    #[inline]
    pub(crate) fn finish_packet(&mut self, cx: &Context, read: &PacketRead) {
        if read.summary.has_data {
            if let Some(space) = self.spaces.get_mut(read.space) {
                space.path = read.path;
                space.timing.on_packet(cx.now, read.summary, AckPolicy::of(&cx.config));
            }
        }
    }

    /// Notes that a chunk has arrived: its unwrapped number where its message is to be delivered, or what became of it.
    // rfc3758:3.6-1
    // rfc9260:6.2-1 rfc9260:6.2-4 rfc9260:6.2-5 rfc9260:6.2-31
    #[allow(clippy::inline_always, reason = "one copy for DATA, one for all others; measured")]
    #[inline(always)]
    fn note_arrival(
        &mut self,
        cx: &mut Context,
        read: &mut PacketRead,
        data: &DataChunk<'_>,
    ) -> Result<Result<(u64, Arrival), Taken>, Violation> {
        if data.payload.is_empty() {
            return Err(Violation::NoUserData(data.tsn));
        }
        let plenty = self.has_plenty(cx, data.payload.len());
        let Some(mut space) = self.spaces.get_mut(read.space) else { return Ok(Err(Taken::Done)) };
        read.summary.has_data = true;
        let Some(seq) = space.unwrap(data.tsn) else {
            // Before the peer's Initial TSN: not a TSN of this association.
            return Ok(Err(Taken::Done));
        };
        read.summary.hole |= space.received.has_holes() && cx.config.emulation.sack_filled_hole;
        let arrival = space.received.classify(seq);
        let len = data.payload.len();
        if arrival == Arrival::Duplicate {
            rare();
            read.summary.duplicate = true;
            space.timing.on_duplicate(data.tsn);
            // The peer may not know: the SACK that reports it has its block.
            if let Some(selection) = space.selection.as_mut().filter(|_| seq > space.received.next()) {
                selection.note(seq);
            }
            cx.stats.duplicates_received += 1;
            let event = TraceEvent::Received { seq, len: len as u32, duplicate: true };
            cx.record(SubflowId::FIRST, read.path, event);
            return Ok(Err(Taken::Done));
        }
        if arrival == Arrival::BeyondHole && seq >= space.reach(self.window.size()) {
            // Of another incarnation of the association, or of a sender without regard for the window, which has no room for it.
            cx.stats.dropped_no_buffer = cx.stats.dropped_no_buffer.saturating_add(1);
            read.summary.immediate = true;
            return Ok(Err(Taken::Done));
        }
        if let Some(resets) = &self.resets {
            rare();
            if read.space == SpaceId::FIRST && resets.comes_too_early(seq, data.stream) {
                return Ok(Err(Taken::Done));
            }
        }
        if !plenty {
            rare();
            match self.let_in(cx, read, data) {
                Entrance::Open => {}
                Entrance::Shut => return Ok(Err(Taken::Done)),
                Entrance::Standstill => return Err(STANDSTILL),
            }
            let Some(again) = self.spaces.get_mut(read.space) else { return Ok(Err(Taken::Done)) };
            space = again;
        }
        space.received.record(seq);
        if self.fids.is_some() && space.received.end() == seq + 1 {
            space.newest = Some(cx.now);
        }
        read.summary.new = true;
        read.summary.hole |= space.received.has_holes();
        read.summary.immediate |= data.flags.immediate && cx.config.sack.immediate_bit_obeyed;
        cx.stats.payload_bytes_received_new += len as u64;
        if arrival != Arrival::InOrder {
            rare();
            cx.stats.out_of_order_received += 1;
            space.out_of_order = space.out_of_order.saturating_add(1);
            if self.selects_gaps {
                space.selection.get_or_insert_default().note(seq);
            }
            if let Some(streams) = cx.streams.as_mut().filter(|_| data.stream < self.streams) {
                streams.incoming(data.stream).out_of_order += 1;
            }
        }
        let event = TraceEvent::Received { seq, len: len as u32, duplicate: false };
        cx.record(SubflowId::FIRST, read.path, event);
        if data.stream >= self.streams {
            rare();
            return Ok(Err(Taken::NoSuchStream));
        }
        Ok(Ok((seq, arrival)))
    }

    /// Whether a new chunk is taken where a closer look at the room for it is needed. In a function of its own, and told in a byte, so that
    /// those for which there is plenty do not pay for it.
    #[inline(never)]
    fn let_in(&mut self, cx: &mut Context, read: &mut PacketRead, data: &DataChunk<'_>) -> Entrance {
        let space = self.spaces.get(read.space);
        let Some((space, seq)) = space.and_then(|space| Some((space, space.unwrap(data.tsn)?))) else {
            return Entrance::Shut;
        };
        let arrival = space.received.classify(seq);
        let is_taken = self.find_room(cx, read.space, seq, arrival, data);
        if self.stands_still(cx, read.space, (seq, arrival), data, is_taken) {
            return Entrance::Standstill;
        }
        if is_taken {
            return Entrance::Open;
        }
        // "the receiver MUST immediately send back a SACK chunk with the current receive window".
        cx.stats.dropped_no_buffer = cx.stats.dropped_no_buffer.saturating_add(1);
        read.summary.immediate = true;
        Entrance::Shut
    }

    /// Gives what came as DATA to reassembly.
    #[allow(clippy::inline_always, reason = "used once; measured")]
    #[inline(always)]
    fn reassemble_plain(
        &mut self,
        cx: &Context,
        seq: u64,
        arrival: Arrival,
        data: &DataChunk<'_>,
    ) -> Result<bool, Inconsistent> {
        let arrived = self.arrived(SpaceId::FIRST, seq, arrival, data);
        let (spaces, window, lent) = (&self.spaces, &self.window, self.lent_to_sender);
        self.inbound.add(&arrived, || Limits { config: &cx.config, window, spaces: spaces.rows(), lent })
    }

    /// Gives what came in another encoding to reassembly: it numbers messages, or fragments, in its own way.
    #[inline(never)]
    fn reassemble(
        &mut self,
        cx: &Context,
        space: SpaceId,
        seq: u64,
        arrival: Arrival,
        data: &DataChunk<'_>,
    ) -> Result<bool, Inconsistent> {
        let arrived = (self.encoding == Encoding::Sf2007).then(|| self.arrived(space, seq, arrival, data));
        let limits = Limits {
            config: &cx.config,
            window: &self.window,
            spaces: self.spaces.rows(),
            lent: self.lent_to_sender,
        };
        if let Some(arrived) = arrived {
            return self.inbound.add_of_space(space, &arrived, &limits);
        }
        self.inbound.add_piece(&Piece::of(space, seq, data), &limits)
    }
}

#[inline]
fn tell_readable(
    cx: &mut Context,
    stream: u16,
    ready: Result<bool, Inconsistent>,
) -> Result<Taken, Violation> {
    match ready {
        Ok(true) => cx.tell(Event::Readable { stream }),
        Ok(false) => {}
        Err(inconsistent) => {
            rare();
            return Err(Violation::Protocol(inconsistent.0));
        }
    }
    Ok(Taken::Done)
}
