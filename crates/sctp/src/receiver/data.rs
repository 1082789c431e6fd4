//! Data chunks that arrive (RFC 9260, 6.2): the new ones among them, the room for them, and the time to acknowledge.

use anabranch_base::cold_path;

use super::Receiver;
use super::arrivals::{Arrival, PacketRead};
use super::deadlock::DEADLOCK;
use super::inbound::interleaved::Piece;
use super::inbound::limits::Limits;
use super::inbound::partial_message::Inconsistent;
use crate::context::Context;
use crate::encoding::{DataChunk, Encoding};
use crate::event::Event;
use crate::ids::SpaceId;
use crate::violation::Violation;

/// The outcome of a data chunk that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataOutcome {
    /// Nothing more is to be said of it.
    Done,
    /// "it MUST acknowledge the reception of the DATA chunk following the normal procedure and immediately send an
    /// ERROR chunk with cause set to 'Invalid Stream Identifier'" (6.5).
    NoSuchStream,
}

/// The outcome of a closer look at a chunk for which there is not plenty of room.
enum Entrance {
    /// The chunk is taken.
    Open,
    /// There is no room for the chunk.
    Shut,
    /// Nothing that the peer can send would be of use any more: the association must be aborted.
    Deadlock,
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
    ) -> Result<DataOutcome, Violation> {
        let (seq, arrival) = match self.note_arrival(cx, read, chunk)? {
            Ok(new) => new,
            Err(outcome) => return Ok(outcome),
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
    ) -> Result<DataOutcome, Violation> {
        let (seq, arrival) = match self.note_arrival(cx, read, chunk)? {
            Ok(new) => new,
            Err(outcome) => return Ok(outcome),
        };
        let ready = self.reassemble(cx, read.space(), seq, arrival, chunk);
        tell_readable(cx, chunk.stream, ready)
    }

    /// Notes that a chunk has arrived: its unwrapped number where its message is to be delivered, or its outcome.
    // rfc3758:3.6-1
    #[allow(clippy::inline_always, reason = "one copy for DATA, one for all others; measured")]
    #[inline(always)]
    fn note_arrival(
        &mut self,
        cx: &mut Context,
        read: &mut PacketRead,
        data: &DataChunk<'_>,
    ) -> Result<Result<(u64, Arrival), DataOutcome>, Violation> {
        if data.payload.is_empty() {
            return Err(Violation::NoUserData(data.tsn));
        }
        let plenty = self.has_plenty(cx, data.payload.len());
        let Some((seq, arrival)) = self.arrivals.look(cx, read, data, self.window.size()) else {
            return Ok(Err(DataOutcome::Done));
        };
        if let Some(resets) = &self.resets {
            cold_path();
            if read.space() == SpaceId::FIRST && resets.comes_too_early(seq, data.stream) {
                return Ok(Err(DataOutcome::Done));
            }
        }
        if !plenty {
            cold_path();
            match self.let_in(cx, read, data) {
                Entrance::Open => {}
                Entrance::Shut => return Ok(Err(DataOutcome::Done)),
                Entrance::Deadlock => return Err(DEADLOCK),
            }
        }
        let exists = data.stream < self.streams;
        self.arrivals.record(cx, read, (seq, arrival), data, exists);
        if !exists {
            cold_path();
            return Ok(Err(DataOutcome::NoSuchStream));
        }
        Ok(Ok((seq, arrival)))
    }

    /// Decides about a new chunk where a closer look at the room for it is needed. In a function of its own, and
    /// answered in a byte, so that chunks for which there is plenty do not pay for it.
    #[inline(never)]
    fn let_in(&mut self, cx: &mut Context, read: &mut PacketRead, data: &DataChunk<'_>) -> Entrance {
        let Some((seq, arrival)) = self.arrivals.classify(read.space(), data.tsn) else {
            return Entrance::Shut;
        };
        let is_taken = self.find_room(cx, read.space(), seq, arrival, data);
        if self.is_deadlocked(cx, read.space(), (seq, arrival), data, is_taken) {
            return Entrance::Deadlock;
        }
        if is_taken {
            return Entrance::Open;
        }
        // "the receiver MUST immediately send back a SACK chunk with the current receive window".
        cx.report.stats.dropped_no_buffer = cx.report.stats.dropped_no_buffer.saturating_add(1);
        read.on_refused();
        Entrance::Shut
    }

    /// Gives a chunk of DATA to reassembly.
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
        let (arrivals, window) = (&self.arrivals, &self.window);
        self.inbound.add(&arrived, || Limits { config: cx.env.config(), window, arrivals })
    }

    /// Gives a chunk of another encoding to reassembly: it numbers messages, or fragments, in its own way.
    #[inline(never)]
    fn reassemble(
        &mut self,
        cx: &Context,
        space: SpaceId,
        seq: u64,
        arrival: Arrival,
        data: &DataChunk<'_>,
    ) -> Result<bool, Inconsistent> {
        let arrived =
            (cx.env.agreed().encoding() == Encoding::Sf2007).then(|| self.arrived(space, seq, arrival, data));
        let limits = Limits { config: cx.env.config(), window: &self.window, arrivals: &self.arrivals };
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
) -> Result<DataOutcome, Violation> {
    match ready {
        Ok(true) => cx.tell(Event::Readable { stream }),
        Ok(false) => {}
        Err(inconsistent) => {
            cold_path();
            return Err(Violation::Protocol(inconsistent.0));
        }
    }
    Ok(DataOutcome::Done)
}
