//! What a stream reset (RFC 6525) means for FORWARD-TSN (RFC 3758), which names messages by numbers that begin anew.
//!
//! The peer performs a reset when everything up to the last TSN before it has come or was given up, and we hear of that later. A
//! FORWARD-TSN that named old messages beyond that point would reach a stream that counts from 0 again, and make it skip as many new
//! ones. So until the answer has come the point goes no further than to the reset, where a FORWARD-TSN that comes late is out of date;
//! and afterwards old messages are passed without being named.

use super::Sender;
use crate::context::Context;
use crate::ids::SpaceId;

/// The resets whose numbers may still be in flight.
#[derive(Debug, Default)]
pub(super) struct ResetBounds {
    /// One past the last number before the reset that the peer was asked for and has not answered.
    unanswered: Option<u64>,
    /// Performed: one past the last number before, and the streams (all, if none is listed).
    performed: Vec<(u64, Vec<u16>)>,
}

impl ResetBounds {
    /// Whether a number is of a message of before the reset of its stream.
    fn is_old(&self, seq: u64, stream: u16) -> bool {
        let covers = |streams: &[u16]| streams.is_empty() || streams.contains(&stream);
        self.performed.iter().any(|(end, streams)| seq < *end && covers(streams))
    }
}

impl Sender {
    /// The peer is asked to reset streams of ours, after all that has a number by now.
    pub(crate) fn asks_for_reset(&mut self) {
        if self.partial_reliability {
            let end = self.next_tsn().0;
            self.reset_bounds.get_or_insert_default().unanswered = Some(end);
        }
    }

    /// The peer has answered that; the streams (all, if none is listed) count from 0 if it has performed it.
    pub(crate) fn reset_is_answered(&mut self, cx: &Context, streams: &[u16], performed: bool) {
        if performed {
            self.reset_numbering(streams);
        }
        let first = self.spaces.first().map_or(0, |space| space.flight.first());
        let Some(bounds) = &mut self.reset_bounds else { return };
        bounds.performed.retain(|(end, _)| *end > first);
        if let Some(end) = bounds.unanswered.take().filter(|end| performed && *end > first) {
            bounds.performed.push((end, streams.to_vec()));
        }
        if bounds.performed.is_empty() {
            self.reset_bounds = None;
        }
        self.advance_forwards(cx, false);
    }

    /// How far a FORWARD-TSN may reach for the sake of resets.
    pub(super) fn forward_bound(&self, at: SpaceId) -> u64 {
        let unanswered = self.reset_bounds.as_ref().and_then(|bounds| bounds.unanswered);
        unanswered.filter(|_| at == SpaceId::FIRST).unwrap_or(u64::MAX)
    }

    /// Whether the peer knows a message's number no more.
    pub(super) fn is_of_before_reset(&self, at: SpaceId, seq: u64, stream: u16) -> bool {
        at == SpaceId::FIRST && self.reset_bounds.as_ref().is_some_and(|bounds| bounds.is_old(seq, stream))
    }
}
