//! A chunk that was sent, and the counting of chunks.

use anabranch_base::Instant;

use crate::ids::{LaneId, SubflowId};
use crate::stream::outbound::Fragment;

/// State of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkState {
    /// In the network, as far as we know.
    InFlight,
    /// Marked for retransmission.
    Lost,
    /// Acknowledged by a gap block; the peer may still take that back.
    GapAcked,
    /// A number without a chunk: the message that it is kept for has begun to leave, and its fragments have consecutive
    /// numbers.
    Reserved,
    /// Given up: it waits for the cumulative point to pass it, without its payload (RFC 3758, 3.5, A2).
    Abandoned,
}

/// Memory for a chunk that was sent, besides its payload, bytes.
pub(in crate::sender) const CHUNK: u64 = size_of::<SentChunk>() as u64;

/// A chunk that has been sent.
#[derive(Debug)]
pub(crate) struct SentChunk {
    pub(crate) fragment: Fragment,
    pub(crate) sent_at: Instant,
    pub(crate) state: ChunkState,
    /// Lane that carried it last.
    pub(crate) lane: LaneId,
    /// Subflow that it belongs to.
    pub(crate) subflow: SubflowId,
    /// Missing reports so far.
    pub(crate) missing: u8,
    /// Times sent, saturating.
    pub(crate) transmissions: u16,
    /// Fast retransmitted once: "ineligible for a subsequent Fast Retransmit" (RFC 9260, 7.2.4).
    pub(crate) fast_retransmitted: bool,
    /// Cause of its mark, for the trace: set when T3-rtx marked it.
    pub(crate) lost_by_timeout: bool,
    /// Bytes of header and padding that count in flight.
    pub(crate) overhead: u8,
    /// True if the chunk asks for a SACK at once also when it is sent again.
    pub(crate) immediate: bool,
    /// True if the chunk is sent again as a probe of the tail.
    pub(crate) probe: bool,
    /// True if the chunk has left again because the path carries no packets of its size, or is to.
    pub(crate) too_long: bool,
    /// Number of transmissions when a gap block acknowledged the chunk last; 0: none has. If the acknowledgement is taken back and
    /// comes again, the chunk counts no more.
    pub(crate) acked_at: u16,
}

impl SentChunk {
    pub(in crate::sender) fn reserved(lane: LaneId, subflow: SubflowId) -> Self {
        Self {
            fragment: Fragment::default(),
            sent_at: Instant::ZERO,
            state: ChunkState::Reserved,
            lane,
            subflow,
            missing: 0,
            transmissions: 0,
            fast_retransmitted: false,
            lost_by_timeout: false,
            overhead: 0,
            immediate: false,
            probe: false,
            too_long: false,
            acked_at: 0,
        }
    }

    /// True if the chunk is in flight, or marked for retransmission.
    pub(crate) fn is_outstanding(&self) -> bool {
        matches!(self.state, ChunkState::InFlight | ChunkState::Lost)
    }

    /// True if the chunk was acknowledged, taken back by the peer, and has not left again since: it is in flight again.
    pub(crate) fn is_taken_back(&self) -> bool {
        self.acked_at > 0 && self.transmissions <= self.acked_at && self.is_outstanding()
    }

    /// True if windows may grow by the acknowledgement of the chunk: the first one, or one after a retransmission since the peer took it
    /// back.
    #[inline]
    pub(crate) fn counts_anew(&self) -> bool {
        self.transmissions > self.acked_at
    }

    /// Bytes that count in flight: the chunk, as a rule with its header and its padding.
    pub(crate) fn size(&self) -> u64 {
        u64::from(self.overhead) + self.fragment.payload.len() as u64
    }
}

/// Chunks, as windows count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Bytes, with headers and padding that count.
    pub(crate) bytes: u64,
    pub(crate) chunks: u32,
    /// Headers and padding among the bytes.
    pub(crate) overhead: u32,
}

impl Counted {
    /// One chunk more.
    pub(crate) fn add(&mut self, chunk: &SentChunk) {
        self.bytes += chunk.size();
        self.chunks += 1;
        self.overhead += u32::from(chunk.overhead);
    }

    /// One chunk.
    pub(crate) fn one(chunk: &SentChunk) -> Self {
        Self { bytes: chunk.size(), chunks: 1, overhead: chunk.overhead.into() }
    }

    /// Bytes that the peer's window is charged for them: "the data size of the chunk" (RFC 9260, 6.2.1 B), with ns-2 headers of 16 bytes, too.
    pub(crate) fn charged(self, with_headers: bool) -> u64 {
        let header = if with_headers { 16 } else { 0 };
        self.bytes + header * u64::from(self.chunks) - u64::from(self.overhead)
    }
}
