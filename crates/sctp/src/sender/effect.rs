//! Effects of a reaction on one lane upon the rest of the sender.

use anabranch_base::Instant;

use super::coupling::Lost;
use super::flight::{Counted, SentChunk};

/// The result of a reaction on a lane, which has changed only the lane and its space: the caller passes it on to other owners.
#[derive(Debug, Default)]
#[must_use]
pub(super) struct Effect {
    /// Bytes given back to the peer's window: their chunks are to leave again, and are charged again when they leave.
    pub(super) freed: Option<u64>,
    /// Chunks were found lost: the loss, for which other lanes may have to shrink with this one, and the first chunk.
    pub(super) lost: Option<(Lost, u64)>,
    /// The window has changed.
    pub(super) window_changed: bool,
    /// The longest packet that was lost again, bytes of chunks: it may be too long for its path. 0: none was.
    pub(super) lost_again: usize,
}

impl Effect {
    /// The effect where chunks have only left the flight.
    pub(super) fn freed(bytes: u64) -> Self {
        Self { freed: Some(bytes), ..Self::default() }
    }
}

/// Chunks that were found lost together.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewlyLost {
    /// The counts to subtract from the flight.
    pub(super) all: Counted,
    /// The first and the last of them.
    pub(super) earliest: u64,
    pub(super) highest: u64,
    /// Bytes of the flight that were acknowledged by the SACK which showed the loss; `None` where time has shown it.
    pub(super) newly: Option<u64>,
    /// Bytes among `newly` that had been acknowledged and taken back before.
    pub(super) again: u32,
    /// Time at which the last retransmission among them left.
    pub(super) resent_at: Option<Instant>,
}

impl NewlyLost {
    /// One lost chunk. Its counts are 0 until `note` adds them, and stay so where the chunk has left the flight already.
    pub(super) fn only(seq: u64) -> Self {
        Self { all: Counted::default(), earliest: seq, highest: seq, newly: None, again: 0, resent_at: None }
    }

    /// Adds a chunk to those that were found lost together, in the order of their numbers.
    pub(super) fn note(together: &mut Option<Self>, seq: u64, chunk: &SentChunk) {
        let lost = together.get_or_insert_with(|| Self::only(seq));
        lost.all.add(chunk);
        lost.highest = seq;
        if chunk.transmissions > 1 {
            lost.resent_at = lost.resent_at.max(Some(chunk.sent_at));
        }
    }
}
