//! Size of a lane's flight, as windows count it. The flight itself lies in the sequence space, which lanes may share.

use crate::config::Config;
use crate::encoding::Encoding;
use crate::sender::flight::{ChunkState, Counted, LaneAck};

/// Counts of a lane's chunks in flight.
#[derive(Debug)]
pub(in crate::sender) struct InFlight {
    /// Bytes in flight, as windows count them: DATA chunk headers included, or not.
    bytes: u64,
    /// Chunks in flight.
    chunks: u32,
    /// Headers and padding in the flight, bytes.
    overhead: u32,
    /// Chunks neither cumulatively nor gap acknowledged: in flight or marked lost.
    unacked: u32,
    /// Bytes of header that count for each chunk.
    header: u8,
    /// Padding that counts for each chunk: 3, or 0 for none.
    padding: u8,
}

/// Counts that a lane hands over to another.
#[derive(Clone, Copy, Debug)]
pub(in crate::sender) struct HandedOver {
    flight: Counted,
    unacked: u32,
}

impl InFlight {
    pub(super) fn new(config: &Config, encoding: Encoding) -> Self {
        Self {
            bytes: 0,
            chunks: 0,
            overhead: 0,
            unacked: 0,
            header: counted_header(config, encoding),
            padding: if config.emulation.flight_counts_padding { 3 } else { 0 },
        }
    }

    /// Bytes in flight.
    #[inline]
    pub(in crate::sender) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Chunks in flight.
    #[inline]
    pub(in crate::sender) fn chunks(&self) -> u32 {
        self.chunks
    }

    /// Chunks in flight or marked lost.
    #[inline]
    pub(in crate::sender) fn unacked(&self) -> u32 {
        self.unacked
    }

    /// Chunks that are marked to leave again.
    pub(in crate::sender) fn marked(&self) -> u32 {
        self.unacked.saturating_sub(self.chunks)
    }

    /// Bytes, chunks and overhead in flight.
    #[inline]
    pub(in crate::sender) fn counted(&self) -> Counted {
        Counted { bytes: self.bytes, chunks: self.chunks, overhead: self.overhead }
    }

    /// Bytes that windows count of a chunk besides its `len` bytes of user data: header, and padding to four bytes. "the length of the
    /// DATA chunk, including the padding, SHOULD be used" (RFC 9260, 7.2).
    // rfc9260:7.2-4
    #[inline]
    pub(in crate::sender) fn overhead_of(&self, len: u64) -> u8 {
        self.header + ((len as u8).wrapping_neg() & self.padding)
    }

    /// A chunk enters the flight for the first time.
    #[inline]
    pub(super) fn sent_first(&mut self, size: u64, overhead: u8) {
        self.sent(size, overhead);
        self.unacked += 1;
    }

    /// A chunk enters the flight, for the first time or again.
    #[inline]
    pub(super) fn sent(&mut self, size: u64, overhead: u8) {
        self.bytes += size;
        self.chunks += 1;
        self.overhead += u32::from(overhead);
    }

    /// Chunks are to be sent again: "marked for retransmission" is not in flight any more.
    pub(in crate::sender) fn marked_lost(&mut self, chunks: Counted) {
        self.bytes = self.bytes.saturating_sub(chunks.bytes);
        self.chunks = self.chunks.saturating_sub(chunks.chunks);
        self.overhead = self.overhead.saturating_sub(chunks.overhead);
    }

    /// A chunk that was in `state` is given up.
    pub(super) fn given_up(&mut self, state: ChunkState, one: Counted) {
        match state {
            ChunkState::InFlight => {
                self.marked_lost(one);
                self.unacked = self.unacked.saturating_sub(1);
            }
            ChunkState::Lost => self.unacked = self.unacked.saturating_sub(1),
            ChunkState::GapAcked | ChunkState::Reserved | ChunkState::Abandoned => {}
        }
    }

    /// Applies the changes by a SACK: chunks that left the flight, and reneged chunks that came back.
    #[inline]
    pub(super) fn acknowledged(&mut self, ack: &LaneAck) {
        self.bytes = (self.bytes + ack.reneged).saturating_sub(ack.left_flight);
        self.chunks = (self.chunks + ack.reneged_chunks).saturating_sub(ack.left_chunks);
        self.overhead = (self.overhead + ack.reneged_overhead).saturating_sub(ack.left_overhead);
        self.unacked = (self.unacked + ack.reneged_chunks).saturating_sub(ack.acked_chunks);
    }

    /// Sets the size of a chunk header as windows count it, bytes. True if that is a change.
    pub(in crate::sender) fn change_header(&mut self, header: u8) -> bool {
        std::mem::replace(&mut self.header, header) != header
    }

    /// A chunk in flight goes on with another overhead.
    pub(in crate::sender) fn recount(&mut self, before: Counted, after: Counted) {
        self.bytes = (self.bytes + after.bytes).saturating_sub(before.bytes);
        self.overhead = (self.overhead + after.overhead).saturating_sub(before.overhead);
    }

    /// All chunks go over to another lane.
    pub(super) fn hand_over(&mut self) -> HandedOver {
        let all = HandedOver { flight: self.counted(), unacked: self.unacked };
        self.clear();
        all
    }

    /// Takes over the chunks that another lane hands over.
    pub(super) fn take_over(&mut self, HandedOver { flight, unacked }: HandedOver) {
        self.bytes += flight.bytes;
        self.chunks += flight.chunks;
        self.overhead += flight.overhead;
        self.unacked += unacked;
    }

    /// Nothing is in flight any more.
    pub(super) fn clear(&mut self) {
        (self.bytes, self.chunks, self.overhead, self.unacked) = (0, 0, 0, 0);
    }
}

/// Bytes of header that windows count for a data chunk, as many as are sent: outstanding data is "the total size of the DATA
/// chunks associated with outstanding TSNs" (RFC 9260, 2.3).
pub(in crate::sender) fn counted_header(config: &Config, encoding: Encoding) -> u8 {
    if config.emulation.flight_counts_headers { encoding.header_len() as u8 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_two_chunks() -> InFlight {
        let mut flight = InFlight::new(&Config::rfc9260(), Encoding::Rfc9260);
        flight.sent_first(116, 16);
        flight.sent_first(216, 16);
        flight
    }

    #[test]
    fn what_is_marked_lost_is_unacknowledged_until_it_is_given_up() {
        let mut flight = with_two_chunks();
        let one = Counted { bytes: 116, chunks: 1, overhead: 16 };
        flight.marked_lost(one);
        assert_eq!((flight.bytes(), flight.chunks(), flight.unacked(), flight.marked()), (216, 1, 2, 1));
        flight.given_up(ChunkState::Lost, one);
        assert_eq!((flight.bytes(), flight.unacked(), flight.marked()), (216, 1, 0));
        flight.given_up(ChunkState::InFlight, Counted { bytes: 216, chunks: 1, overhead: 16 });
        assert_eq!((flight.counted(), flight.unacked()), (Counted::default(), 0));
    }

    #[test]
    fn another_lane_has_what_was_handed_over() {
        let (mut from, mut to) = (with_two_chunks(), with_two_chunks());
        to.take_over(from.hand_over());
        assert_eq!((from.counted(), from.unacked()), (Counted::default(), 0));
        assert_eq!(to.counted(), Counted { bytes: 664, chunks: 4, overhead: 64 });
        assert_eq!(to.unacked(), 4);
    }
}
