//! Stream resets (RFC 6525) that FORWARD-TSN (RFC 3758) must mind, as it names messages by numbers that begin anew.
//!
//! The peer performs a reset when all numbers up to the last TSN before it have arrived or were skipped, and we learn of that later. A
//! FORWARD-TSN that named old messages beyond that point would reach a stream that counts from 0 again, and make it skip as many new
//! ones. So until the answer has come, the FORWARD-TSN point goes no further than the reset, where a late FORWARD-TSN is out of date;
//! and afterwards old messages are passed without being named.

use crate::ids::SpaceId;

/// The resets before which numbers may still be in flight.
#[derive(Debug, Default)]
pub(super) struct ResetBounds {
    /// One past the last number before the reset that was requested and is not answered.
    pub(super) unanswered: Option<u64>,
    /// Performed resets: one past the last number before, and the streams (all, if none is listed).
    pub(super) performed: Vec<(u64, Vec<u16>)>,
}

impl ResetBounds {
    /// True if a number belongs to a message from before the reset of its stream.
    pub(super) fn is_old(&self, seq: u64, stream: u16) -> bool {
        let covers = |streams: &[u16]| streams.is_empty() || streams.contains(&stream);
        self.performed.iter().any(|(end, streams)| seq < *end && covers(streams))
    }
}

/// Number up to which a FORWARD-TSN may reach while a reset is not answered.
pub(super) fn forward_bound(bounds: Option<&ResetBounds>, at: SpaceId) -> u64 {
    let unanswered = bounds.and_then(|bounds| bounds.unanswered);
    unanswered.filter(|_| at == SpaceId::FIRST).unwrap_or(u64::MAX)
}

/// True if the message of a number is from before the reset of its stream, so that its SSN means nothing to the peer.
pub(super) fn is_of_before_reset(bounds: Option<&ResetBounds>, at: SpaceId, seq: u64, stream: u16) -> bool {
    at == SpaceId::FIRST && bounds.is_some_and(|bounds| bounds.is_old(seq, stream))
}
