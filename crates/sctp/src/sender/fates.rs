//! Fates of messages with options: after a SACK or a timer, at the end of a lifetime, and at the request of the user.

use anabranch_wire::PacketBuilder;

use super::abandonment::{Queues, Special};
use super::messages::Messages;
use super::space::SendSpace;
use super::timer_kind::SenderTimer;
use crate::context::Context;
use crate::error::SendError;
use crate::ids::{PathId, SpaceId};
use crate::message::Message;
use crate::options::Reliability;

impl Messages<'_> {
    /// Tells the user once that nothing is left to send, if it wants that event.
    pub(super) fn tell_if_dry(&mut self, cx: &mut Context) {
        if self.special.is_any() && self.is_dry() {
            if let Some(special) = self.special.get_mut() {
                special.fates.dry(cx);
            }
        }
    }

    /// True if no user data waits to be sent or to be acknowledged. A message that was given up does not count.
    fn is_dry(&self) -> bool {
        let given_up = |space: &SendSpace| space.flight.abandoned() == space.flight.span();
        self.tables.spaces.rows().iter().all(given_up)
            && self.tables.subflows.rows().iter().all(|subflow| subflow.out.is_empty())
            && self.buffer.deferred_bytes() == 0
    }

    /// Turns the event on or off that tells that nothing is left to send: "If the subscriber ... there is no data in flight, the
    /// event is generated at once" (RFC 6458, 6.1.9, in other words).
    pub(crate) fn tell_when_dry(&mut self, cx: &mut Context, on: bool) {
        if self.special.tell_when_dry(on) {
            self.tell_if_dry(cx);
        }
    }

    /// Sets the reliability of messages that do not choose for themselves: of one stream, or of all that have no
    /// policy of their own.
    ///
    /// # Errors
    /// When there is no such stream, or nothing may be given up.
    pub(crate) fn set_reliability(
        &mut self,
        cx: &Context,
        stream: Option<u16>,
        reliability: Reliability,
    ) -> Result<(), SendError> {
        if let Some(stream) = stream.filter(|stream| *stream >= self.stream_map.streams()) {
            return Err(SendError::NoSuchStream { stream, streams: self.stream_map.streams() });
        }
        self.special.set_reliability(cx, stream, reliability)
    }

    /// State that only messages with options need, where there are any, and the places of messages that may be given up.
    fn special_and_queues(&mut self) -> Option<(&mut Special, Queues<'_>)> {
        let (special, bounds) = self.special.with_bounds()?;
        let queues = Queues {
            tables: self.tables,
            map: self.stream_map,
            buffer: self.buffer,
            bounds,
            interleaves: self.numbering.identifies(),
        };
        Some((special, queues))
    }

    /// Gives up messages that have outlived their lifetime, except those that are only in flight.
    #[cold]
    #[inline(never)]
    pub(crate) fn end_lifetimes(&mut self, cx: &mut Context) {
        if let Some((special, mut queues)) = self.special_and_queues() {
            special.end_lifetimes(&mut queues, cx);
        }
        self.tell_if_dry(cx);
        self.buffer.tell_writable(self.tables, self.stream_map, cx);
    }

    /// Gives messages up, to make room for others.
    pub(super) fn abandon(&mut self, cx: &mut Context, numbers: &[u32]) {
        if let Some((special, mut queues)) = self.special_and_queues() {
            special.abandon(&mut queues, cx, numbers);
        }
    }

    /// Chunks may have been marked for retransmission, for whatever reason: messages that must not be sent again are given up. Every function that marks
    /// chunks ends here, if not through a timer or with a SACK ([`Messages::review_after_sack`]).
    pub(crate) fn after_marking(&mut self, cx: &mut Context) {
        // Before the INIT ACK it is not known whether the peer supports FORWARD-TSN, and nothing leaves.
        if cx.env.state().is_before_init_ack() {
            return;
        }
        if let Some((special, mut queues)) = self.special_and_queues() {
            special.review_losses(&mut queues, cx);
            self.tell_if_dry(cx);
        }
    }

    /// A SACK for a space was read, and windows were reduced for abandoned chunks that it shows to be lost.
    pub(super) fn review_after_sack(&mut self, cx: &mut Context, at: SpaceId) {
        if let Some((special, mut queues)) = self.special_and_queues() {
            special.review_losses(&mut queues, cx);
            special.review_overdue(&mut queues, cx);
            if special.reliability.passes_abandoned() {
                // The peer has answered, though not to data that it has received.
                for lane in queues.tables.lanes.rows_mut().iter_mut().filter(|lane| lane.space() == at) {
                    lane.heard();
                }
            }
            special.reliability.advance_forwards(queues.tables, queues.bounds, cx, false);
        }
        self.tell_if_dry(cx);
    }

    /// Reviews messages after a timer has expired.
    // rfc3758:3.5-14
    pub(super) fn review_timer(&mut self, cx: &mut Context, timer: SenderTimer) {
        let Some((special, mut queues)) = self.special_and_queues() else { return };
        match timer {
            // "Any time the T3-rtx timer expires, on any destination, the sender SHOULD try to advance" (RFC 3758, 3.5, A5).
            SenderTimer::T3(_) => {
                special.review_losses(&mut queues, cx);
                special.reliability.advance_forwards(queues.tables, queues.bounds, cx, true);
            }
            SenderTimer::Loss(_) => special.review_losses(&mut queues, cx),
            _ => {}
        }
        self.tell_if_dry(cx);
    }

    /// Advances the FORWARD-TSN points, where they may have moved.
    pub(crate) fn advance_forwards(&mut self, cx: &Context) {
        if let Some((special, queues)) = self.special_and_queues() {
            special.reliability.advance_forwards(queues.tables, queues.bounds, cx, false);
        }
    }

    /// Writes the FORWARD-TSNs that are due on a path, as many as fit. False when some are left for the next packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn write_forwards(
        &mut self,
        cx: &Context,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        path: PathId,
    ) -> bool {
        let Some((special, bounds)) = self.special.with_bounds() else { return true };
        special.reliability.write_forwards(self.tables, bounds, cx, packet, limit, path)
    }

    /// The peer has answered the request to reset streams of ours; if performed, they (all, if none is listed) count from 0.
    pub(crate) fn reset_is_answered(&mut self, cx: &Context, streams: &[u16], performed: bool) {
        if performed {
            self.numbering.begin_anew(streams);
        }
        let first = self.tables.spaces.first().map_or(0, |space| space.flight.first());
        if self.special.reset_is_answered(first, streams, performed) {
            self.advance_forwards(cx);
        }
    }

    /// Checks the options of a message, before anything has changed; returns the reliability that it is to have.
    ///
    /// # Errors
    /// When the message's options cannot be met.
    pub(crate) fn check_options(&self, cx: &Context, message: &Message) -> Result<Reliability, SendError> {
        self.special.check_options(cx, message)
    }
}
