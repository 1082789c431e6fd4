//! Stream sequence numbers that a peer can still tell apart.
//!
//! "any arithmetic done on Stream Sequence Numbers SHOULD use Serial Number Arithmetic ... where SERIAL_BITS = 16" (RFC 9260, 1.6):
//! of two that are 2^15 apart nobody can say which comes first. So among the messages of a stream that are not acknowledged for good
//! no two are, and none has a number that another has, too. What is beyond waits. I-DATA counts messages with 32 bits.

use super::flight::{ChunkState, Flight};
use crate::stream::numbering::Numbering;
use crate::stream::outbound::Outbound;

/// Ordered messages of one stream that may be outstanding; with fewer chunks under way there is nothing to look at.
pub(super) const MOST: usize = (1 << 15) - 1;

/// Whether the message that goes next would get a stream sequence number too far from the earliest outstanding one of its stream.
#[cold]
#[inline(never)]
pub(super) fn run_out(out: &Outbound, numbering: &Numbering, flight: &Flight) -> bool {
    if numbering.identifies() {
        return false;
    }
    let Some(stream) = out.begins_ordered() else { return false };
    let mut chunks = flight.iter().filter(|chunk| chunk.state != ChunkState::Reserved);
    let earliest = chunks.find(|chunk| chunk.fragment.stream == stream && !chunk.fragment.unordered);
    let distance = |first: u32| numbering.next(stream).get().wrapping_sub(first);
    earliest.is_some_and(|chunk| distance(chunk.fragment.mid.get()) >= MOST as u32)
}
