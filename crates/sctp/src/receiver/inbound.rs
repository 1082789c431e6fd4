//! Messages on their way in: reassembly, then delivery in the order of their stream.

use std::collections::{BTreeMap, VecDeque};

use anabranch_wire::Mid;

use super::interleaved::{Added, DeliveryOrder, Finished, Interleaved, Piece};
pub(crate) use super::reassembly::Arrived;
use super::reassembly::{Inconsistent, Reassembly, Whole};
use crate::event::Received;
use crate::ids::{Id, SpaceId};
use crate::room::{grow, push};

/// Memory charged for a message beside its payload, so that tiny messages cannot hold more than they advertise.
const OVERHEAD: usize = 128;

#[derive(Debug, Default)]
struct Stream {
    /// SSN of the next message to deliver.
    next: u16,
    /// Whole messages that wait for an earlier one, by TSN. Within a stream the order of TSNs is the order of SSNs,
    /// and TSNs do not come round after 65,536 messages.
    waiting: BTreeMap<u64, Whole>,
}

/// What messages longer than their share of the buffer do not count for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Excess {
    /// Payload.
    pub(crate) bytes: usize,
    /// Payload and bookkeeping.
    pub(crate) memory: usize,
    /// Payload of one space, and with bookkeeping.
    pub(crate) own: usize,
    pub(crate) own_memory: usize,
}

/// Messages of encodings that number them, or their fragments, in another way than by TSN.
#[derive(Debug, Default)]
struct Numbered {
    /// Messages with numbers of their own (I-DATA, SF-DATA).
    interleaved: Interleaved,
    order: DeliveryOrder,
    /// Fragments by sequence space, where each numbers its own and messages have no other number (encoding of 2007).
    by_space: Vec<Reassembly>,
}

/// Everything received and not yet taken by the user.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    reassembly: Reassembly,
    streams: Vec<Stream>,
    /// For encodings other than that of RFC 9260; made when it is needed first.
    numbered: Option<Box<Numbered>>,
    /// What the user may take, with the sequence space that brought it.
    ready: VecDeque<(SpaceId, Received)>,
    /// User data held, in reassembly, in order or ready, bytes.
    buffered_bytes: usize,
    /// Pieces held, for the memory bound.
    buffered_pieces: usize,
    /// Of this, what each sequence space but the first brought: bytes and pieces.
    buffered_of_others: Vec<(usize, usize)>,
}

/// What a message of so many bytes and fragments has beyond `limit`: bytes of payload, and of memory.
fn beyond(limit: usize, len: usize, fragments: usize) -> (usize, usize) {
    let excess = len.saturating_sub(limit);
    (excess, excess + (fragments as u64 * excess as u64 / len.max(1) as u64) as usize * OVERHEAD)
}

/// What the message that grows at `next` has beyond `limit`.
fn excess(growing: &Reassembly, next: u64, limit: usize) -> (usize, usize) {
    growing.waiting_for(next).map_or((0, 0), |(len, fragments)| beyond(limit, len, fragments))
}

impl Inbound {
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

    /// Memory held for what a sequence space brought, payload and bookkeeping, bytes.
    pub(crate) fn memory_of(&self, space: SpaceId) -> usize {
        let pieces = match space.row().checked_sub(1) {
            Some(other) => self.buffered_of_others.get(other).map_or(0, |(_, pieces)| *pieces),
            None => self
                .buffered_pieces
                .saturating_sub(self.buffered_of_others.iter().map(|(_, pieces)| pieces).sum()),
        };
        self.buffered_of(space) + pieces * OVERHEAD
    }

    /// Accounts for bytes that a space brought.
    #[inline]
    fn charge(&mut self, space: SpaceId, bytes: usize) {
        self.buffered_bytes += bytes;
        let Some(index) = space.row().checked_sub(1) else { return };
        if index >= self.buffered_of_others.len() {
            self.buffered_of_others.resize(index + 1, (0, 0));
        }
        if let Some((held, _)) = self.buffered_of_others.get_mut(index) {
            *held += bytes;
        }
    }

    /// So many pieces more, and fewer, that a space brought.
    #[inline]
    fn count_pieces(&mut self, space: SpaceId, more: usize, fewer: usize) {
        self.buffered_pieces = (self.buffered_pieces + more).saturating_sub(fewer);
        let other = space.row().checked_sub(1);
        if let Some((_, pieces)) = other.and_then(|index| self.buffered_of_others.get_mut(index)) {
            *pieces = (*pieces + more).saturating_sub(fewer);
        }
    }

    #[inline]
    fn release(&mut self, space: SpaceId, bytes: usize) {
        self.buffered_bytes = self.buffered_bytes.saturating_sub(bytes);
        let Some(index) = space.row().checked_sub(1) else { return };
        if let Some((held, _)) = self.buffered_of_others.get_mut(index) {
            *held = held.saturating_sub(bytes);
        }
    }

    /// Of what is held, the part of the longest message in the making of each space that exceeds `limit`: bytes of payload
    /// and of memory in all, and bytes of the space asked about. For messages with numbers of their own.
    pub(crate) fn interleaved_excess(&self, limit: usize, space: SpaceId) -> Excess {
        let mut all = Excess::default();
        let Some(numbered) = &self.numbered else { return all };
        for (of, (len, fragments)) in numbered.interleaved.longest() {
            let (excess, memory) = beyond(limit, len, fragments);
            all.bytes += excess;
            all.memory += memory;
            if of == space {
                (all.own, all.own_memory) = (excess, memory);
            }
        }
        all
    }

    /// Of what is held, the part of the message growing at `next` that exceeds `limit`: bytes of payload, and of
    /// memory.
    pub(crate) fn excess(&self, next: u64, limit: usize) -> (usize, usize) {
        excess(&self.reassembly, next, limit)
    }

    /// The same of a sequence space that numbers its fragments one after the other.
    pub(crate) fn excess_of_space(&self, space: SpaceId, next: u64, limit: usize) -> (usize, usize) {
        let fragments = self.numbered.as_ref().and_then(|numbered| numbered.by_space.get(space.row()));
        fragments.map_or((0, 0), |fragments| excess(fragments, next, limit))
    }

    /// Memory that is held, payload and bookkeeping, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.buffered_bytes + self.buffered_pieces * OVERHEAD
    }

    /// Whether `chunk` would make the message that it continues longer than `limit`.
    pub(crate) fn message_would_exceed(&self, chunk: &Arrived<'_>, limit: usize) -> bool {
        !chunk.beginning
            && self
                .reassembly
                .waiting_for(chunk.seq)
                .is_some_and(|(len, _)| len + chunk.payload.len() > limit)
    }

    /// Takes a new chunk. True when a message became ready where none was.
    ///
    /// # Errors
    /// When fragments contradict each other.
    pub(crate) fn add(&mut self, chunk: &Arrived<'_>) -> Result<bool, Inconsistent> {
        self.charge(SpaceId::FIRST, chunk.payload.len());
        self.buffered_pieces += 1;
        let was_empty = self.ready.is_empty();
        // A message that has to wait must not keep alive the memory of others that are read and gone.
        let waits = !chunk.unordered
            && self.streams.get(usize::from(chunk.stream)).map_or(0, |s| s.next) != chunk.ssn;
        let Some(whole) = self.reassembly.add(chunk, waits)? else { return Ok(false) };
        // From here on the message counts as one piece however many fragments it came in.
        self.buffered_pieces = self.buffered_pieces.saturating_sub(whole.fragments - 1);
        if whole.message.unordered {
            push(&mut self.ready, (SpaceId::FIRST, whole.message));
        } else {
            self.deliver_in_order(whole);
        }
        Ok(was_empty && !self.ready.is_empty())
    }

    fn deliver_in_order(&mut self, whole: Whole) {
        let id = usize::from(whole.message.stream);
        grow(&mut self.streams, id + 1);
        let Some(stream) = self.streams.get_mut(id) else { return };
        if whole.ssn == stream.next
            && stream.waiting.first_key_value().is_none_or(|(seq, _)| *seq > whole.first_seq)
        {
            stream.next = stream.next.wrapping_add(1);
            push(&mut self.ready, (SpaceId::FIRST, whole.message));
        } else {
            stream.waiting.insert(whole.first_seq, whole);
        }
        while let Some(entry) = stream.waiting.first_entry() {
            if entry.get().ssn != stream.next {
                break;
            }
            stream.next = stream.next.wrapping_add(1);
            push(&mut self.ready, (SpaceId::FIRST, entry.remove().message));
        }
    }

    /// Takes a new chunk of a message with a number of its own. True when a message became ready where none was.
    ///
    /// # Errors
    /// When fragments contradict each other, or the message is longer than `limit`.
    pub(crate) fn add_piece(&mut self, piece: &Piece<'_>, limit: usize) -> Result<bool, Inconsistent> {
        let numbered = self.numbered.get_or_insert_default();
        let number = numbered.interleaved.number(piece.stream, piece.unordered, piece.mid);
        // Before the first message of the stream, delivered, or here and waiting: it came again under another number of
        // a sequence space, as it does when a subflow's data is sent again on another.
        let Some(number) = number else { return Ok(false) };
        if !piece.unordered && numbered.order.knows(piece.stream, number) {
            return Ok(false);
        }
        let so_far = numbered.interleaved.length_so_far(piece.stream, piece.unordered, number);
        if so_far > 0 && so_far + piece.payload.len() > limit {
            return Err(Inconsistent("a message is longer than this endpoint takes"));
        }
        let was_empty = self.ready.is_empty();
        let waits = !piece.unordered && numbered.order.next(piece.stream) != number;
        let whole = match numbered.interleaved.add(piece, number, waits)? {
            Added::Duplicate => return Ok(false),
            Added::Waits => {
                self.charge(piece.space, piece.payload.len());
                self.count_pieces(piece.space, 1, 0);
                return Ok(false);
            }
            Added::Whole(whole) => whole,
        };
        self.charge(piece.space, piece.payload.len());
        self.finished(piece.stream, number, whole);
        Ok(was_empty && !self.ready.is_empty())
    }

    /// Takes a new chunk of a sequence space that numbers its fragments one after the other, while the order of a stream is
    /// that of its stream sequence numbers, whatever space brought them. Fewer than 2^15 messages of a stream may wait.
    ///
    /// # Errors
    /// When fragments contradict each other, or the message is longer than `limit`.
    #[inline(never)]
    pub(crate) fn add_of_space(
        &mut self,
        space: SpaceId,
        chunk: &Arrived<'_>,
        limit: usize,
    ) -> Result<bool, Inconsistent> {
        let index = space.row();
        let numbered = self.numbered.get_or_insert_default();
        grow(&mut numbered.by_space, index + 1);
        let Some(reassembly) = numbered.by_space.get_mut(index) else { return Ok(false) };
        let so_far = reassembly.waiting_for(chunk.seq).map_or(0, |(len, _)| len);
        if !chunk.beginning && so_far + chunk.payload.len() > limit {
            return Err(Inconsistent("a message is longer than this endpoint takes"));
        }
        let was_empty = self.ready.is_empty();
        let whole = reassembly.add(chunk, true)?;
        self.charge(space, chunk.payload.len());
        let Some(whole) = whole else {
            self.count_pieces(space, 1, 0);
            return Ok(false);
        };
        let order = &self.numbered.get_or_insert_default().order;
        let next = order.next(chunk.stream);
        let ahead = whole.ssn.wrapping_sub(next as u16) as i16;
        let number = next.checked_add_signed(i64::from(ahead));
        let finished = Finished { space, message: whole.message, fragments: whole.fragments };
        match number {
            _ if finished.message.unordered => self.finished(chunk.stream, 0, finished),
            Some(number) if !order.knows(chunk.stream, number) => {
                self.finished(chunk.stream, number, finished);
            }
            _ => return Err(Inconsistent("two messages with one stream sequence number")),
        }
        Ok(was_empty && !self.ready.is_empty())
    }

    /// A whole message whose last fragment has just been accounted for as bytes.
    fn finished(&mut self, stream: u16, number: u64, whole: Finished) {
        // From here on the message counts as one piece, and as brought by the space of its first fragment.
        self.count_pieces(whole.space, 2, whole.fragments);
        let ready = &mut self.ready;
        if whole.message.unordered {
            ready.push_back((whole.space, whole.message));
        } else {
            let order = &mut self.numbered.get_or_insert_default().order;
            order.add(stream, number, whole, |space, message| ready.push_back((space, message)));
        }
    }

    /// The next message for the user.
    pub(crate) fn pop(&mut self) -> Option<Received> {
        let (space, message) = self.ready.pop_front()?;
        self.release(space, message.len());
        self.count_pieces(space, 0, 1);
        Some(message)
    }

    /// Drops a fragment that waits for its predecessor, to make room; false when `seq` is not such a one.
    pub(crate) fn forget_orphan(&mut self, seq: u64) -> bool {
        let Some(len) = self.reassembly.forget_orphan(seq) else { return false };
        self.release(SpaceId::FIRST, len);
        self.buffered_pieces = self.buffered_pieces.saturating_sub(1);
        true
    }

    /// The peer gives up the messages of a stream, ordered or unordered, up to `mid`. True when a message became ready where
    /// none was.
    pub(crate) fn skip(&mut self, stream: u16, unordered: bool, mid: Mid) -> bool {
        let numbered = self.numbered.get_or_insert_default();
        let Some(number) = numbered.interleaved.number(stream, unordered, mid) else { return false };
        for (space, bytes, pieces) in numbered.interleaved.give_up(stream, unordered, number) {
            self.release(space, bytes);
            self.count_pieces(space, 0, pieces);
        }
        let was_empty = self.ready.is_empty();
        if !unordered {
            let ready = &mut self.ready;
            let order = &mut self.numbered.get_or_insert_default().order;
            order.skip(stream, number, |space, message| ready.push_back((space, message)));
        }
        was_empty && !self.ready.is_empty()
    }

    /// The next message of some streams (of all, if none is listed) has the number 0. Nothing of them can wait for another,
    /// unless the peer left out numbers: that is given up.
    pub(crate) fn reset_streams(&mut self, streams: &[u16]) {
        let numbered = self.numbered.as_ref().map_or(0, |numbered| numbered.interleaved.streams());
        let last = self.streams.len().max(numbered);
        let all = 0..u16::try_from(last).unwrap_or(u16::MAX);
        let (listed, all) = if streams.is_empty() { (&[][..], all) } else { (streams, 0..0) };
        for id in listed.iter().copied().chain(all) {
            if let Some(stream) = self.streams.get_mut(usize::from(id)) {
                let waiting = std::mem::take(stream).waiting;
                for whole in waiting.into_values() {
                    self.release(SpaceId::FIRST, whole.message.len());
                    self.buffered_pieces = self.buffered_pieces.saturating_sub(1);
                }
            }
            let Some(numbered) = &mut self.numbered else { continue };
            let (given_up, waiting) = (numbered.interleaved.reset(id), numbered.order.reset(id));
            for (space, bytes, pieces) in given_up {
                self.release(space, bytes);
                self.count_pieces(space, 0, pieces);
            }
            for (space, bytes) in waiting {
                self.release(space, bytes);
                self.count_pieces(space, 0, 1);
            }
        }
    }

    /// Begins sequence spaces anew (restart); what is ready stays readable.
    pub(crate) fn restart(&mut self) {
        self.reassembly = Reassembly::default();
        self.streams.clear();
        self.numbered = None;
        // What is ready belongs to no space any more: none is charged for it.
        self.buffered_of_others.clear();
        for (space, _) in &mut self.ready {
            *space = SpaceId::FIRST;
        }
        self.buffered_bytes = 0;
        let ready: usize = self.ready.iter().map(|(_, message)| message.len()).sum();
        self.charge(SpaceId::FIRST, ready);
        self.buffered_pieces = self.ready.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(seq: u64, ssn: u16) -> Arrived<'static> {
        Arrived {
            seq,
            stream: 0,
            ssn,
            ppid: 0,
            unordered: false,
            beginning: true,
            ending: true,
            before: seq > 0,
            after: false,
            payload: b"m",
        }
    }

    #[test]
    fn a_hole_near_the_wrap_of_the_ssn_stalls_nothing_after_it_is_filled() {
        let mut inbound = Inbound::default();
        let mut delivered = 0_u64;
        let lost = 65_530_u64;
        for seq in 0..140_000_u64 {
            if seq == lost {
                continue;
            }
            inbound.add(&message(seq, seq as u16)).unwrap();
            if seq == lost + 70_000 {
                // More than 65,536 messages behind the hole: SSNs alone could not tell them apart.
                while inbound.pop().is_some() {
                    delivered += 1;
                }
                assert_eq!(delivered, lost);
                inbound.add(&message(lost, lost as u16)).unwrap();
            }
            while inbound.pop().is_some() {
                delivered += 1;
            }
        }
        assert_eq!(delivered, 140_000);
        assert_eq!((inbound.buffered_bytes(), inbound.memory()), (0, 0));
    }

    #[test]
    fn unordered_messages_do_not_wait() {
        let mut inbound = Inbound::default();
        assert!(!inbound.add(&message(1, 1)).unwrap());
        assert!(inbound.add(&Arrived { unordered: true, ..message(2, 0) }).unwrap());
        assert!(inbound.pop().unwrap().unordered);
        assert!(inbound.add(&message(0, 0)).unwrap());
        assert_eq!(inbound.buffered_bytes(), 2);
        assert!(inbound.pop().is_some() && inbound.pop().is_some() && inbound.pop().is_none());
    }
}
