//! Stream sequence numbers that a peer can still tell apart.
//!
//! "any arithmetic done on Stream Sequence Numbers SHOULD use Serial Number Arithmetic ... where SERIAL_BITS = 16"
//! (RFC 9260, 1.6): the order of two numbers that are 2^15 apart is undefined. Therefore the messages of a stream
//! that are not acknowledged for good span fewer than 2^15 numbers, and so no number is in use twice; a message
//! beyond that waits. I-DATA has message identifiers of 32 bits and needs no such limit.

use super::flight::{ChunkState, Flight};
use crate::stream::numbering::Numbering;
use crate::stream::outbound::Outbound;

/// Ordered messages of one stream that may be outstanding; a flight with fewer chunks cannot reach the limit.
pub(super) const MOST: usize = (1 << 15) - 1;

/// True if the next message would get a stream sequence number too far from the earliest outstanding one of its
/// stream.
// rfc9260:6.1-23
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
