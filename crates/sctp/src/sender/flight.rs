//! Chunks that a subflow has sent and that are not acknowledged cumulatively.
//!
//! A ring of chunks, indexed by sequence number, and the set of those that gap blocks have acknowledged. Reading a
//! SACK costs its newly acknowledged chunks plus the number of its blocks; nothing ever scans the window.

mod acknowledge;
mod chunk;
mod outcome;

use std::collections::{BTreeMap, VecDeque};

use anabranch_base::cold_path;
use anabranch_transport::ranges::RangeSet;

use crate::ids::{LaneId, SubflowId};
use crate::room;
use crate::stream::outbound::Fragment;

pub(in crate::sender) use chunk::CHUNK;
pub(crate) use chunk::{ChunkState, Counted, SentChunk};
pub(crate) use outcome::{AckOutcome, BogusSack, LaneAck, NotThere};

/// The gap blocks of a SACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GapList<I> {
    pub(crate) blocks: I,
    /// A selection of the gap blocks: other chunks keep their state. Otherwise they count as not received (RFC 9260, 6.2.1).
    pub(crate) selected: bool,
}

impl<I> GapList<I> {
    pub(crate) fn all(blocks: I) -> Self {
        Self { blocks, selected: false }
    }
}

/// User data of each stream.
#[derive(Debug, Default)]
struct ByStream {
    bytes: BTreeMap<u16, u64>,
    /// Streams of which something was acknowledged.
    fallen: Vec<u16>,
}

impl ByStream {
    fn add(&mut self, fragment: &Fragment) {
        if !fragment.payload.is_empty() {
            *self.bytes.entry(fragment.stream).or_default() += fragment.payload.len() as u64;
        }
    }

    fn remove(&mut self, fragment: &Fragment) {
        if let Some(bytes) = self.bytes.get_mut(&fragment.stream) {
            *bytes = bytes.saturating_sub(fragment.payload.len() as u64);
            if *bytes == 0 {
                self.bytes.remove(&fragment.stream);
            }
        }
        if self.fallen.last() != Some(&fragment.stream) {
            self.fallen.push(fragment.stream);
        }
    }
}

/// Sent chunks from the cumulative point on.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    first: u64,
    chunks: VecDeque<SentChunk>,
    /// User data in `chunks`.
    bytes: u64,
    gap_acked: RangeSet,
    /// Numbers without a chunk yet, ascending.
    reserved: VecDeque<u64>,
    /// User data in `chunks` by stream, where the user asks for it.
    by_stream: Option<Box<ByStream>>,
    /// Chunks that were given up.
    abandoned: usize,
    /// One past the numbers to which the last FORWARD-TSN but one, and the last, let the peer skip.
    forwarded: (u64, u64),
    scratch: Vec<(u64, u64)>,
    /// Chunks looked at, for the test that the work per packet does not grow with the window.
    #[cfg(test)]
    pub(crate) visited: u64,
    /// Chunks read, for the test that many messages are given up in linear time.
    #[cfg(test)]
    read: std::cell::Cell<u64>,
}

impl Flight {
    /// The earliest sequence number not cumulatively acknowledged.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The next sequence number to send.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.chunks.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// True if it holds a chunk of these streams; of any stream, where none is listed. It looks at every chunk: for rare
    /// events only.
    pub(crate) fn carries(&self, streams: &[u16]) -> bool {
        self.chunks.iter().any(|chunk| streams.is_empty() || streams.contains(&chunk.fragment.stream))
    }

    pub(crate) fn get(&self, seq: u64) -> Option<&SentChunk> {
        self.note_read(1);
        self.chunks.get(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    /// Chunks looked at and read so far.
    #[cfg(test)]
    pub(crate) fn read(&self) -> u64 {
        self.visited + self.read.get()
    }

    #[inline]
    fn note_read(&self, count: usize) {
        #[cfg(test)]
        self.read.set(self.read.get() + count as u64);
        #[cfg(not(test))]
        let _ = count;
    }

    pub(crate) fn get_mut(&mut self, seq: u64) -> Option<&mut SentChunk> {
        #[cfg(test)]
        {
            self.visited += 1;
        }
        self.chunks.get_mut(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    /// The unacknowledged chunks of a lane, ascending. It looks at every chunk: for rare events only.
    pub(crate) fn of_lane(&self, lane: LaneId) -> impl Iterator<Item = u64> + '_ {
        self.note_read(self.chunks.len());
        let mine = move |chunk: &SentChunk| {
            chunk.lane == lane && matches!(chunk.state, ChunkState::InFlight | ChunkState::Lost)
        };
        self.chunks.iter().enumerate().filter(move |(_, c)| mine(c)).map(|(i, _)| self.first + i as u64)
    }

    /// User data that is not acknowledged cumulatively, bytes; looked at where subflows share the peer's buffer.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// User data of a stream that is not acknowledged cumulatively, bytes, where it is counted by stream.
    pub(crate) fn bytes_of(&self, stream: u16) -> u64 {
        match &self.by_stream {
            Some(by_stream) => by_stream.bytes.get(&stream).copied().unwrap_or(0),
            None => self
                .chunks
                .iter()
                .map(|c| &c.fragment)
                .filter(|f| f.stream == stream)
                .map(|f| f.payload.len() as u64)
                .sum(),
        }
    }

    /// User data is counted by stream from now on. True if it was not before.
    pub(crate) fn count_by_stream(&mut self) -> bool {
        if self.by_stream.is_some() {
            return false;
        }
        let mut by_stream = Box::<ByStream>::default();
        self.chunks.iter().for_each(|chunk| by_stream.add(&chunk.fragment));
        self.by_stream = Some(by_stream);
        true
    }

    /// Streams of which something was acknowledged since the last call.
    pub(crate) fn take_fallen(&mut self, fallen: &mut Vec<u16>) {
        if let Some(by_stream) = &mut self.by_stream {
            fallen.append(&mut by_stream.fallen);
        }
    }

    /// Takes out all chunks, in order, to send them elsewhere. The numbers given so far stay given.
    pub(crate) fn take_all(&mut self) -> VecDeque<SentChunk> {
        self.first = self.next();
        self.gap_acked = RangeSet::default();
        self.bytes = 0;
        if let Some(by_stream) = &mut self.by_stream {
            by_stream.fallen.extend(std::mem::take(&mut by_stream.bytes).into_keys());
        }
        self.abandoned = 0;
        self.reserved.clear();
        std::mem::take(&mut self.chunks)
    }

    /// Numbers from the cumulative point to the last one given.
    pub(crate) fn span(&self) -> usize {
        self.chunks.len()
    }

    /// Numbers from the cumulative point on under which a chunk was sent, or given up.
    pub(crate) fn sent(&self) -> usize {
        self.chunks.len() - self.reserved.len()
    }

    /// Keeps the next `count` numbers for the rest of a message that `lane` sends; the first of them.
    pub(crate) fn reserve(&mut self, count: u64, lane: LaneId, subflow: SubflowId) -> u64 {
        let first = self.next();
        for seq in first..first + count {
            self.reserved.push_back(seq);
            self.chunks.push_back(SentChunk::reserved(lane, subflow));
        }
        first
    }

    /// The earliest number without a chunk.
    pub(crate) fn first_reserved(&self) -> Option<u64> {
        self.reserved.front().copied()
    }

    /// The chunk for which `seq` was kept is being sent.
    pub(crate) fn fill(&mut self, seq: u64, chunk: SentChunk) {
        if let Ok(index) = self.reserved.binary_search(&seq) {
            self.reserved.remove(index);
        }
        self.bytes += chunk.fragment.payload.len() as u64;
        if let Some(by_stream) = &mut self.by_stream {
            by_stream.add(&chunk.fragment);
        }
        if let Some(place) = self.get_mut(seq) {
            *place = chunk;
        }
    }

    /// Gives a chunk up: it keeps its number, and the message that it belongs to keeps its own.
    #[cold]
    pub(crate) fn abandon(&mut self, seq: u64) {
        let Some(index) = seq.checked_sub(self.first).and_then(|index| usize::try_from(index).ok()) else {
            return;
        };
        let Some(chunk) = self.chunks.get_mut(index).filter(|chunk| chunk.state != ChunkState::Abandoned)
        else {
            return;
        };
        if let Some(by_stream) = &mut self.by_stream {
            by_stream.remove(&chunk.fragment);
        }
        // The PPID is not needed any more: its field keeps the bytes with which the chunk may still be credited, none
        // if a gap block has brought them.
        let credit = if chunk.state == ChunkState::GapAcked { 0 } else { chunk.size() };
        chunk.fragment.ppid = credit as u32;
        chunk.state = ChunkState::Abandoned;
        chunk.fragment.ticket = 0;
        self.bytes -= std::mem::take(&mut chunk.fragment.payload).len() as u64;
        self.abandoned += 1;
    }

    /// A FORWARD-TSN that names numbers up to this one, not included, has been written.
    #[cold]
    pub(crate) fn forwarded_to(&mut self, end: u64) {
        if end > self.forwarded.1 {
            self.forwarded = (self.forwarded.1, end);
        }
    }

    /// True if a chunk that was given up has arrived, now that all before `next_expected` counts as received: no
    /// FORWARD-TSN up to that point lets the peer skip the chunk.
    fn has_arrived(&self, seq: u64, next_expected: u64) -> bool {
        let (before, last) = self.forwarded;
        let reached = [last, before].into_iter().find(|point| next_expected >= *point);
        reached.is_none_or(|point| seq >= point)
    }

    /// A number that was kept for a chunk which will never leave.
    #[cold]
    pub(crate) fn abandon_reserved(&mut self, seq: u64, end: &SentChunk) {
        if let Ok(index) = self.reserved.binary_search(&seq) {
            self.reserved.remove(index);
        }
        if let Some(place) = self.get_mut(seq).filter(|place| place.state == ChunkState::Reserved) {
            place.state = ChunkState::Abandoned;
            place.fragment = end.fragment.clone();
            self.abandoned += 1;
        }
    }

    /// Adds an abandoned chunk under a new number, behind all others.
    #[cold]
    pub(crate) fn push_abandoned(&mut self, end: SentChunk) {
        self.abandoned += 1;
        self.bytes += end.fragment.payload.len() as u64;
        self.chunks.push_back(end);
    }

    /// Chunks that were given up.
    #[inline]
    pub(crate) fn abandoned(&self) -> usize {
        self.abandoned
    }

    /// One past the numbers given up that follow the cumulative point without a gap: "move 'Advanced.Peer.Ack.Point' up as long as the
    /// chunk next in the out-queue space is marked as 'abandoned'" (RFC 3758, 3.5, C2).
    pub(crate) fn abandoned_to(&self) -> u64 {
        if self.abandoned == 0 {
            return self.first;
        }
        let count = self.chunks.iter().take_while(|chunk| chunk.state == ChunkState::Abandoned).count();
        self.note_read(count);
        self.first + count as u64
    }

    /// Adds a chunk that is being sent for the first time, under the number [`Flight::next`].
    // rfc9260:3.3.1-13
    #[inline]
    pub(crate) fn push(&mut self, chunk: SentChunk) {
        self.bytes += chunk.fragment.payload.len() as u64;
        if let Some(by_stream) = &mut self.by_stream {
            cold_path();
            by_stream.add(&chunk.fragment);
        }
        room::push(&mut self.chunks, chunk);
    }

    /// Every chunk. For rare events only.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &SentChunk> {
        self.note_read(self.chunks.len());
        self.chunks.iter()
    }

    /// Every chunk with its sequence number. For rare events only: a timeout looks at all chunks of a lane.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut SentChunk)> {
        self.note_read(self.chunks.len());
        let first = self.first;
        self.chunks.iter_mut().enumerate().map(move |(i, c)| (first + i as u64, c))
    }

    /// True if a gap block acknowledges a number: one of the last SACK, or where SACKs are selections of an earlier one.
    pub(crate) fn is_gap_acked(&self, seq: u64) -> bool {
        self.gap_acked.contains(seq)
    }

    /// Highest sequence number that a gap block acknowledges, if any.
    pub(crate) fn highest_gap_acked(&self) -> Option<u64> {
        self.gap_acked.end().map(|e| e - 1)
    }

    /// Forgets everything and begins at 0 (restart).
    pub(crate) fn restart(&mut self) {
        let by_stream = self.by_stream.take().map(|_| Box::default());
        *self = Self { by_stream, ..Self::default() };
    }
}

#[cfg(test)]
pub(super) mod tests;
