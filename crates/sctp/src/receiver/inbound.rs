//! Messages on their way in: reassembly, then delivery in the order of their stream.

mod delivery_order;
mod giving_up;
pub(super) mod interleaved;
pub(super) mod limits;
mod numbers;
mod parked;
pub(super) mod partial_message;
mod progress;
mod ready;
mod reassembly;
mod refused;
mod taking_back;
mod waiting;

use anabranch_base::{Instant, cold_path};

use crate::ids::{Id, PathId, SpaceId};
use crate::message::Received;
use crate::per_stream::PerStream;
use crate::room::grow;
use delivery_order::DeliveryOrder;
use interleaved::{Added, Finished, Interleaved, Piece};
use limits::Limits;
use numbers::Numbers;
use parked::Parked;
use partial_message::{Inconsistent, PIECE};
use ready::Ready;
pub(crate) use reassembly::Arrived;
use reassembly::{Joined, Reassembly, Whole};
use refused::Refused;
use waiting::Waiting;

/// Streams of DATA and their order.
#[derive(Debug, Default)]
struct Streams {
    /// SSN of the next message to deliver.
    next: PerStream<u16>,
    /// Whole messages that wait for an earlier one, by TSN. Within a stream the order of TSNs is the order of SSNs,
    /// and TSNs do not come round after 65,536 messages.
    waiting: Waiting,
}

impl Streams {
    /// SSN of the next message to deliver.
    #[inline]
    fn next(&self, stream: u16) -> u16 {
        self.next.get(stream).copied().unwrap_or(0)
    }

    /// True if a message is the next to deliver, of a stream that may be new. One behind 65,535 others that wait has
    /// the same SSN.
    #[inline]
    fn is_next(&self, stream: u16, ssn: u16, first_seq: u64) -> bool {
        ssn == self.next(stream) && (self.waiting.is_empty() || self.is_before_all(stream, first_seq))
    }

    #[inline(never)]
    fn is_before_all(&self, stream: u16, first_seq: u64) -> bool {
        self.waiting.first_of(stream).is_none_or(|(seq, _)| seq > first_seq)
    }

    /// Goes on to the next message of a stream that was used, if this one can be delivered at once and none waits.
    #[inline]
    fn passes(&mut self, stream: u16, ssn: u16) -> bool {
        let Some(next) = self.next.get_mut(stream) else { return false };
        let at_once = ssn == *next && self.waiting.is_empty();
        *next = next.wrapping_add(u16::from(at_once));
        at_once
    }
}

/// Messages of encodings that number them, or their fragments, in another way than by TSN.
#[derive(Debug, Default)]
struct Numbered {
    /// Messages with numbers of their own (I-DATA, SF-DATA).
    interleaved: Interleaved,
    order: DeliveryOrder,
    /// Fragments by sequence space, where each numbers its own and messages have no other number (encoding of 2007).
    by_space: Vec<Reassembly>,
    /// A chunk that waits for others and has no room.
    refused: Option<Box<Refused>>,
}

/// Everything received and not yet taken by the user.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    reassembly: Reassembly,
    streams: Streams,
    /// For encodings other than that of RFC 9260; made when it is needed first.
    numbered: Option<Box<Numbered>>,
    /// Messages that the user may take.
    ready: Ready,
    /// Time and path of the packet that is being read: a message that becomes whole has come with it.
    came_at: Instant,
    came_on: u8,
    /// Messages that were handed over in parts so far.
    in_parts: u32,
    /// User data held, in reassembly, in order or ready, bytes.
    buffered_bytes: usize,
    /// Pieces held, and messages in the making, for the memory bound.
    buffered_pieces: usize,
    /// Memory charged for numbers that do not follow each other, of messages that wait, bytes.
    apart: usize,
    /// Bytes and pieces held of each sequence space but the first.
    buffered_of_others: Vec<(usize, usize)>,
}

impl Inbound {
    /// Messages, or parts of such, that the user may take.
    pub(crate) fn pending(&self) -> usize {
        self.ready.len()
    }

    /// User data held, bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.buffered_bytes
    }

    /// User data held that a sequence space brought, bytes.
    pub(crate) fn buffered_of(&self, space: SpaceId) -> usize {
        match space.row().checked_sub(1) {
            Some(other) => self.buffered_of_others.get(other).map_or(0, |(bytes, _)| *bytes),
            None => self
                .buffered_bytes
                .saturating_sub(self.buffered_of_others.iter().map(|(bytes, _)| bytes).sum()),
        }
    }

    /// Memory held for the data of a sequence space, payload and bookkeeping, bytes.
    pub(crate) fn memory_of(&self, space: SpaceId) -> usize {
        let pieces = match space.row().checked_sub(1) {
            Some(other) => self.buffered_of_others.get(other).map_or(0, |(_, pieces)| *pieces),
            None => self
                .buffered_pieces
                .saturating_sub(self.buffered_of_others.iter().map(|(_, pieces)| pieces).sum()),
        };
        self.buffered_of(space) + pieces * PIECE
    }

    /// Accounts for bytes that a space brought.
    #[inline]
    fn charge(&mut self, space: SpaceId, bytes: usize) {
        self.buffered_bytes += bytes;
        let Some(index) = space.row().checked_sub(1) else { return };
        cold_path();
        if index >= self.buffered_of_others.len() {
            self.buffered_of_others.resize(index + 1, (0, 0));
        }
        if let Some((held, _)) = self.buffered_of_others.get_mut(index) {
            *held += bytes;
        }
    }

    /// Counts pieces of a space: so many more, and so many fewer.
    #[inline]
    fn count_pieces(&mut self, space: SpaceId, more: usize, fewer: usize) {
        self.buffered_pieces = (self.buffered_pieces + more).saturating_sub(fewer);
        let Some(index) = space.row().checked_sub(1) else { return };
        cold_path();
        if let Some((_, pieces)) = self.buffered_of_others.get_mut(index) {
            *pieces = (*pieces + more).saturating_sub(fewer);
        }
    }

    /// Takes the charge of data of the TSN space back.
    fn uncharge(&mut self, bytes: usize, pieces: usize) {
        self.release(SpaceId::FIRST, bytes);
        self.count_pieces(SpaceId::FIRST, 0, pieces);
    }

    #[inline]
    fn release(&mut self, space: SpaceId, bytes: usize) {
        self.buffered_bytes = self.buffered_bytes.saturating_sub(bytes);
        let Some(index) = space.row().checked_sub(1) else { return };
        cold_path();
        if let Some((held, _)) = self.buffered_of_others.get_mut(index) {
            *held = held.saturating_sub(bytes);
        }
    }

    /// Memory that is held, payload and bookkeeping, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.buffered_bytes + self.buffered_pieces * PIECE + self.apart
    }

    /// Memory charged for messages in the making, bytes.
    #[inline]
    fn making(&self) -> usize {
        let numbered = self.numbered.as_ref().map_or(0, |numbered| {
            numbered.interleaved.held() + numbered.by_space.iter().map(Reassembly::held).sum::<usize>()
        });
        self.reassembly.held() + numbered
    }

    /// Memory charged for all that the user cannot have yet, bytes.
    #[inline]
    pub(crate) fn held_back(&self) -> usize {
        self.making()
            + self.streams.waiting.held()
            + self.numbered.as_ref().map_or(0, |numbered| numbered.order.held())
    }

    /// True if no payload is held but that of one chunk, which the user can have.
    pub(crate) fn is_single(&self) -> bool {
        self.ready.len() == 1
            && self.ready.sizes().all(|(_, len, count)| count == 1 && len == self.buffered_bytes)
    }

    /// True if the user has read everything that is ready.
    pub(crate) fn is_read(&self) -> bool {
        self.ready.is_empty()
    }

    /// True if a message that grows is to be handed over as far as it goes.
    fn is_pressed(&self, limits: &Limits<'_>) -> bool {
        self.making() > limits.point() || self.held_back() > limits.held_back() || self.is_crowded(limits)
    }

    /// True if data that the user leaves unread on some streams may take the room that a message needs to become
    /// whole: a reader of the other streams must not have to wait for that.
    fn is_crowded(&self, limits: &Limits<'_>) -> bool {
        self.ready.is_by_stream() && self.memory() > limits.point()
    }

    /// Takes a new chunk. True when a message became ready where none was.
    ///
    /// # Errors
    /// When fragments contradict each other, or the message is longer than allowed.
    #[inline]
    pub(crate) fn add<'l>(
        &mut self,
        chunk: &Arrived<'_>,
        limits: impl FnOnce() -> Limits<'l>,
    ) -> Result<bool, Inconsistent> {
        self.charge(SpaceId::FIRST, chunk.payload.len());
        self.buffered_pieces += 1;
        let was_quiet = self.ready.is_quiet(chunk.stream);
        if chunk.beginning && chunk.ending {
            // The usual case, with one look at the stream. A chunk that contradicts others ends the association: no matter that its
            // stream has gone on.
            if !chunk.unordered && self.streams.passes(chunk.stream, chunk.ssn) {
                let whole = self.reassembly.add_whole(chunk, false)?;
                self.ready.push(self.came_now(whole.message));
            } else {
                self.add_in_turn(*chunk)?;
            }
        } else {
            self.add_fragment(*chunk, &limits())?;
        }
        Ok(was_quiet && !self.ready.is_quiet(chunk.stream))
    }

    /// A message of one chunk that is unordered, the first of its stream, or not alone in it. The chunk comes by value, here and
    /// below, so that the usual case need not write it to memory.
    #[inline(never)]
    fn add_in_turn(&mut self, chunk: Arrived<'_>) -> Result<(), Inconsistent> {
        // A message that has to wait must not keep alive the memory of others that are read and gone.
        let waits = !chunk.unordered && self.streams.next(chunk.stream) != chunk.ssn;
        let whole = self.reassembly.add_whole(&chunk, waits)?;
        self.deliver(whole);
        Ok(())
    }

    #[inline(never)]
    fn add_fragment(&mut self, chunk: Arrived<'_>, limits: &Limits<'_>) -> Result<(), Inconsistent> {
        match self.reassembly.add_part(&chunk, limits.message())? {
            Joined::Whole(whole) => {
                // From here on the message counts as its pieces, however many fragments it came in.
                self.buffered_pieces = self.buffered_pieces.saturating_sub(whole.freed);
                self.deliver_other(whole);
                return Ok(());
            }
            Joined::GivenUp { bytes, pieces } => {
                self.uncharge(bytes, pieces);
                return Ok(());
            }
            Joined::Waits => {}
        }
        self.buffered_pieces += usize::from(chunk.beginning);
        let is_long = limits.is_long(|| self.reassembly.held_of(chunk.seq));
        let held_back = self.reassembly.held() + self.streams.waiting.held() + limits.gaps();
        if is_long || held_back > limits.point() || self.is_crowded(limits) {
            self.hand_over(chunk.seq, is_long, limits);
        }
        Ok(())
    }

    // rfc9260:3.3.1-2 rfc9260:3.3.1-3 rfc9260:6.6-1 rfc9260:6.6-2
    #[allow(
        clippy::inline_always,
        reason = "one copy for messages of one chunk, which are not moved about; measured"
    )]
    #[inline(always)]
    fn deliver(&mut self, whole: Whole) {
        let mut others_wait = false;
        if !whole.message.unordered {
            if !self.streams.is_next(whole.message.stream, whole.ssn, whole.first_seq) {
                self.wait(whole);
                return;
            }
            *self.streams.next.at(whole.message.stream) = whole.ssn.wrapping_add(1);
            others_wait = !self.streams.waiting.is_empty();
        }
        let id = whole.message.stream;
        self.ready.push(self.came_now(whole.message));
        if others_wait {
            self.deliver_waiting(id);
        }
    }

    /// Delivers a message of several chunks.
    #[inline(never)]
    fn deliver_other(&mut self, whole: Whole) {
        self.deliver(whole);
    }

    /// A message, or a part of one, that has come with the packet that is being read.
    #[allow(clippy::inline_always, reason = "as above; measured")]
    #[inline(always)]
    fn came_now(&self, mut message: Received) -> Received {
        (message.at, message.path) = (self.came_at, self.came_on);
        message
    }

    /// The packet that is being read came there and then.
    #[inline]
    pub(crate) fn begin_packet(&mut self, at: Instant, path: PathId) {
        (self.came_at, self.came_on) = (at, path.get());
    }

    /// Hands over the part that is here of the message that the chunk `seq` of DATA has made grow, where that is long or messages in the
    /// making hold too much, and it is that message's turn.
    // rfc9260:6.9-15
    #[inline(never)]
    fn hand_over(&mut self, seq: u64, is_long: bool, limits: &Limits<'_>) {
        if !is_long && !self.is_pressed(limits) {
            return;
        }
        let streams = &self.streams;
        let its_turn = |stream, ssn, first| streams.is_next(stream, ssn, first);
        if let Some((part, freed)) = self.reassembly.part(seq, &mut self.in_parts, its_turn) {
            self.buffered_pieces = self.buffered_pieces.saturating_sub(freed);
            self.ready.push_other(self.came_now(part));
        }
    }

    /// A whole message waits for others of its stream.
    #[inline(never)]
    fn wait(&mut self, mut whole: Whole) {
        whole.message = self.came_now(whole.message);
        let numbers = Numbers::of(whole.first_seq, whole.end_seq);
        self.streams.waiting.insert(whole.first_seq, whole.message, numbers);
    }

    /// Messages of a stream that have waited for the one that was delivered.
    #[inline(never)]
    fn deliver_waiting(&mut self, id: u16) {
        let Streams { next, waiting } = &mut self.streams;
        let next = next.at(id);
        while let Some((seq, ssn)) = waiting.first_of(id) {
            if ssn != u32::from(*next) {
                break;
            }
            *next = next.wrapping_add(1);
            let message = waiting.remove(id, seq);
            message.into_iter().for_each(|message| self.ready.push_other(message));
        }
    }

    /// Takes a new chunk of a message with a number of its own. True when a message became ready where none was.
    ///
    /// # Errors
    /// When fragments contradict each other, or the message is longer than allowed.
    pub(crate) fn add_piece(&mut self, piece: &Piece<'_>, limits: &Limits<'_>) -> Result<bool, Inconsistent> {
        let numbered = self.numbered.get_or_insert_default();
        let number = numbered.interleaved.number(piece.stream, piece.unordered, piece.mid);
        // Before the first message of the stream, delivered, or here and waiting: it came again under another number of
        // a sequence space, as it does when a subflow's data is sent again on another.
        let Some(number) = number else { return Ok(false) };
        if !piece.unordered && numbered.order.knows(piece.stream, number) {
            return Ok(false);
        }
        if numbered.interleaved.passes_over(piece, number) {
            return Ok(false);
        }
        let was_quiet = self.ready.is_quiet(piece.stream);
        let waits = !piece.unordered && numbered.order.next(piece.stream) != number;
        let whole = match numbered.interleaved.add(piece, number, waits, limits.message())? {
            Added::Duplicate => return Ok(false),
            Added::Waits(space, pieces) => {
                self.charge(space, piece.payload.len());
                self.count_pieces(space, pieces, 0);
                if !waits && (self.is_long(piece, number, limits) || self.is_pressed(limits)) {
                    self.hand_over_numbered(piece, number);
                }
                return Ok(was_quiet && !self.ready.is_quiet(piece.stream));
            }
            Added::Whole(whole) => whole,
        };
        self.charge(whole.message.space, piece.payload.len());
        self.finished(number, whole);
        Ok(was_quiet && !self.ready.is_quiet(piece.stream))
    }

    /// True if a message with a number of its own has grown to the point from which on it is handed over in parts.
    fn is_long(&self, piece: &Piece<'_>, number: u64, limits: &Limits<'_>) -> bool {
        limits.is_long(|| {
            let numbered = self.numbered.as_ref();
            numbered.map_or(0, |all| all.interleaved.held_of(piece.stream, piece.unordered, number))
        })
    }

    /// As [`Inbound::hand_over`], of a message with a number of its own whose turn it is.
    fn hand_over_numbered(&mut self, piece: &Piece<'_>, number: u64) {
        let numbered = self.numbered.get_or_insert_default();
        let part = numbered.interleaved.part(piece.stream, piece.unordered, number, &mut self.in_parts);
        if let Some((part, charged)) = part {
            self.count_pieces(part.space, part.count(), charged);
            self.ready.push_other(self.came_now(part));
        }
    }

    /// Takes a new chunk of a sequence space that numbers its fragments one after the other, while the order of a stream is
    /// that of its stream sequence numbers, whatever space brought them. Fewer than 2^15 messages of a stream may wait.
    ///
    /// # Errors
    /// When fragments contradict each other, or the message is longer than allowed.
    #[inline(never)]
    pub(crate) fn add_of_space(
        &mut self,
        space: SpaceId,
        chunk: &Arrived<'_>,
        limits: &Limits<'_>,
    ) -> Result<bool, Inconsistent> {
        let index = space.row();
        let numbered = self.numbered.get_or_insert_default();
        grow(&mut numbered.by_space, index + 1);
        let Some(reassembly) = numbered.by_space.get_mut(index) else { return Ok(false) };
        let was_quiet = self.ready.is_quiet(chunk.stream);
        let joined = reassembly.add(chunk, true, limits.message())?;
        self.charge(space, chunk.payload.len());
        // No message is given up in this encoding: one that is not whole waits.
        let Joined::Whole(mut whole) = joined else {
            self.count_pieces(space, 1 + usize::from(chunk.beginning), 0);
            let of_space = || self.numbered.as_ref().and_then(|numbered| numbered.by_space.get(index));
            let is_long = limits.is_long(|| of_space().map_or(0, |reassembly| reassembly.held_of(chunk.seq)));
            if is_long || self.is_pressed(limits) {
                self.hand_over_of_space(space, chunk.seq);
            }
            return Ok(was_quiet && !self.ready.is_quiet(chunk.stream));
        };
        whole.message.space = space;
        let order = &self.numbered.get_or_insert_default().order;
        let number = order.number(chunk.stream, whole.ssn);
        // Its pieces were charged, but for the last; `finished` charges those that it has now.
        let charged = whole.message.count() + whole.freed - 1;
        let numbers = Numbers::of(whole.first_seq, whole.end_seq);
        let finished = Finished { message: whole.message, numbers, charged };
        match number {
            _ if finished.message.unordered => self.finished(0, finished),
            Some(number) if !order.knows(chunk.stream, number) => {
                self.finished(number, finished);
            }
            _ => return Err(Inconsistent("two messages with one stream sequence number")),
        }
        Ok(was_quiet && !self.ready.is_quiet(chunk.stream))
    }

    /// As [`Inbound::hand_over`], of a space that numbers its fragments one after the other.
    fn hand_over_of_space(&mut self, space: SpaceId, seq: u64) {
        let Numbered { order, by_space, .. } = &mut **self.numbered.get_or_insert_default();
        let Some(reassembly) = by_space.get_mut(space.row()) else { return };
        let its_turn = |stream, ssn, _| order.is_next(stream, ssn);
        let Some((mut part, freed)) = reassembly.part(seq, &mut self.in_parts, its_turn) else { return };
        part.space = space;
        self.count_pieces(space, 0, freed);
        self.ready.push_other(self.came_now(part));
    }

    /// A whole message whose last fragment has just been accounted for as bytes.
    fn finished(&mut self, number: u64, whole: Finished) {
        // From here on the message counts as its pieces, and as brought by the space of its first fragment.
        self.count_pieces(whole.message.space, whole.message.count(), whole.charged);
        let message = self.came_now(whole.message);
        let ready = &mut self.ready;
        if message.unordered {
            ready.push_other(message);
        } else {
            let order = &mut self.numbered.get_or_insert_default().order;
            order.add(number, message, whole.numbers, |message| ready.push_other(message));
            self.apart = order.waiting().apart();
        }
    }

    /// True if the user can have a chunk of DATA as soon as it is here: it is a message whose turn it is, or goes on
    /// with one.
    pub(crate) fn gives_at_once(&self, chunk: &Arrived<'_>) -> bool {
        if chunk.beginning {
            return chunk.unordered || self.streams.is_next(chunk.stream, chunk.ssn, chunk.seq);
        }
        match self.reassembly.goes_on_with(chunk.seq) {
            Some(Some((stream, ssn, first))) => self.streams.is_next(stream, ssn, first),
            Some(None) => true,
            None => self.reassembly.passes_over(chunk),
        }
    }

    /// True if the user can have a chunk as soon as it is here, in a space that numbers its fragments one after the
    /// other.
    pub(crate) fn gives_at_once_of_space(&self, space: SpaceId, chunk: &Arrived<'_>) -> bool {
        let is_next = |stream, ssn| match &self.numbered {
            Some(numbered) => numbered.order.is_next(stream, ssn),
            None => ssn == 0,
        };
        if chunk.beginning {
            return chunk.unordered || is_next(chunk.stream, chunk.ssn);
        }
        let of_space = self.numbered.as_ref().and_then(|numbered| numbered.by_space.get(space.row()));
        match of_space.and_then(|reassembly| reassembly.goes_on_with(chunk.seq)) {
            Some(Some((stream, ssn, _))) => is_next(stream, ssn),
            unordered => unordered.is_some(),
        }
    }

    /// True if the user can have a chunk as soon as it is here, of a message with a number of its own. A chunk that
    /// has come before costs nothing.
    pub(crate) fn gives_piece_at_once(&self, piece: &Piece<'_>) -> bool {
        let fragment = if piece.beginning { 0 } else { piece.fragment };
        let Some(numbered) = &self.numbered else {
            return fragment == 0 && (piece.unordered || piece.mid.get() == 0);
        };
        let Some(number) = numbered.interleaved.number_of(piece.stream, piece.unordered, piece.mid) else {
            return true;
        };
        // Nothing is kept of a chunk that is here already, or was given up.
        if !piece.unordered && numbered.order.knows(piece.stream, number)
            || numbered.interleaved.passes_over(piece, number)
        {
            return true;
        }
        let turn = piece.unordered || numbered.order.next(piece.stream) == number;
        turn && numbered.interleaved.is_next(piece.stream, piece.unordered, number, fragment)
    }

    /// The next message for the user, or part of one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Received> {
        let message = self.ready.pop();
        if let Some(message) = &message {
            self.forget(message);
        }
        message
    }

    /// The next message of a stream, or part of one.
    pub(crate) fn pop_from(&mut self, stream: u16) -> Option<Received> {
        let message = self.ready.pop_from(stream)?;
        self.forget(&message);
        Some(message)
    }

    /// True if the user reads streams alone.
    pub(crate) fn is_by_stream(&self) -> bool {
        self.ready.is_by_stream()
    }

    /// The streams of which the user may take something, ascending.
    pub(crate) fn ready_streams(&self) -> Vec<u16> {
        self.ready.streams()
    }

    /// A message is not held any more.
    #[inline]
    fn forget(&mut self, message: &Received) {
        self.release(message.space, message.len());
        self.count_pieces(message.space, 0, message.count());
    }

    /// Drops a fragment that waits for its predecessor, to make room; false when `seq` is not such a one.
    pub(crate) fn forget_orphan(&mut self, seq: u64) -> bool {
        let Some(len) = self.reassembly.forget_orphan(seq) else { return false };
        self.uncharge(len, 1);
        true
    }

    /// Checks the charges, in all and of each space, against a fresh count: for tests.
    ///
    /// # Errors
    /// The first number that differs, in words.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let mut counted: Vec<(usize, usize)> = vec![(0, 0); 1 + self.buffered_of_others.len()];
        let mut count = |space: SpaceId, bytes: usize, pieces: usize| {
            grow(&mut counted, space.row() + 1);
            if let Some(of_space) = counted.get_mut(space.row()) {
                *of_space = (of_space.0 + bytes, of_space.1 + pieces);
            }
            bytes + pieces * PIECE
        };
        let ready: usize = self.ready.sizes().map(|(space, len, pieces)| count(space, len, pieces)).sum();
        let mut count_waiting = |waiting: &Waiting| {
            let sizes = waiting.iter().map(Parked::size);
            sizes.map(|(space, len, pieces)| count(space, len, pieces)).sum::<usize>()
        };
        let mut back = count_waiting(&self.streams.waiting);
        if let Some(numbered) = &self.numbered {
            back += count_waiting(numbered.order.waiting()) + numbered.order.waiting().apart();
        }
        let (bytes, pieces) = self.reassembly.count();
        back += count(SpaceId::FIRST, bytes, pieces);
        if let Some(numbered) = &self.numbered {
            for (index, reassembly) in numbered.by_space.iter().enumerate() {
                let (bytes, pieces) = reassembly.count();
                back += count(SpaceId::at(index), bytes, pieces);
            }
            for (space, bytes, pieces) in numbered.interleaved.count() {
                back += count(space, bytes, pieces);
            }
        }
        let known = (self.memory(), self.held_back());
        if known != (ready + back, back) {
            return Err(format!("charged (in all, held back) {known:?}, counted {:?}", (ready + back, back)));
        }
        for (index, (bytes, pieces)) in counted.into_iter().enumerate() {
            let (at, own) = (SpaceId::at(index), bytes + pieces * PIECE);
            if (self.buffered_of(at), self.memory_of(at)) != (bytes, own) {
                let known = (self.buffered_of(at), self.memory_of(at));
                return Err(format!("space {index} is charged {known:?}, counted {:?}", (bytes, own)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
