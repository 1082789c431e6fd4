//! Stream resets (RFC 6525) that FORWARD-TSN (RFC 3758) must mind, as it names messages by numbers that begin anew.
//!
//! The peer performs a reset when everything up to the last TSN before it has come or was given up, and we hear of that later. A
//! FORWARD-TSN that named old messages beyond that point would reach a stream that counts from 0 again, and make it skip as many new
//! ones. So until the answer has come the point goes no further than to the reset, where a FORWARD-TSN that comes late is out of date;
//! and afterwards old messages are passed without being named.

use crate::ids::SpaceId;

/// The resets whose numbers may still be in flight.
#[derive(Debug, Default)]
pub(super) struct ResetBounds {
    /// One past the last number before the reset that the peer was asked for and has not answered.
    pub(super) unanswered: Option<u64>,
    /// Performed: one past the last number before, and the streams (all, if none is listed).
    pub(super) performed: Vec<(u64, Vec<u16>)>,
}

impl ResetBounds {
    /// Whether a number is of a message of before the reset of its stream.
    pub(super) fn is_old(&self, seq: u64, stream: u16) -> bool {
        let covers = |streams: &[u16]| streams.is_empty() || streams.contains(&stream);
        self.performed.iter().any(|(end, streams)| seq < *end && covers(streams))
    }
}

/// How far a FORWARD-TSN may reach for the sake of resets.
pub(super) fn forward_bound(bounds: Option<&ResetBounds>, at: SpaceId) -> u64 {
    let unanswered = bounds.and_then(|bounds| bounds.unanswered);
    unanswered.filter(|_| at == SpaceId::FIRST).unwrap_or(u64::MAX)
}

/// Whether the peer knows a message's number no more.
pub(super) fn is_of_before_reset(bounds: Option<&ResetBounds>, at: SpaceId, seq: u64, stream: u16) -> bool {
    at == SpaceId::FIRST && bounds.is_some_and(|bounds| bounds.is_old(seq, stream))
}
