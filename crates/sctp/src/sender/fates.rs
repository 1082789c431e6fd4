//! Messages with options: how reliable they are to be, and what is told of their fate.

use anabranch_wire::PacketBuilder;

use super::Sender;
use super::abandonment::{Queues, Special};
use super::space::SendSpace;
use super::tickets::{Limit, Ticket};
use super::timer_kind::SenderTimer;
use crate::context::Context;
use crate::encoding::Encoding;
use crate::error::SendError;
use crate::ids::{PathId, SpaceId};
use crate::message::Message;
use crate::options::{Abandonments, MessageId, MessageOptions, Policy, Reliability};

impl Sender {
    /// Whether there is anything besides plain messages.
    #[inline]
    pub(crate) fn has_special(&self) -> bool {
        self.special.is_some()
    }

    /// Looks at the options of a message, before anything has changed; how reliable it is to be.
    pub(crate) fn check_options(&self, cx: &Context, message: &Message) -> Result<Reliability, SendError> {
        let options = message.options.as_deref().copied().unwrap_or_default();
        let of_stream =
            || self.special.as_ref().map(|special| special.reliability.reliability_of(message.stream));
        let reliability = options.reliability.or_else(of_stream).unwrap_or_default();
        if reliability == Reliability::Full {
            return Ok(reliability);
        }
        match self.why_reliable(cx) {
            None => Ok(reliability),
            // What a stream has is a wish; what the message has is one, too, only if it says so.
            Some(_) if options.reliability.is_none() || options.or_reliable => Ok(Reliability::Full),
            Some(why) => Err(SendError::Reliable { why }),
        }
    }

    /// Why nothing may be given up; `None` where it may, or the handshake has yet to tell.
    fn why_reliable(&self, cx: &Context) -> Option<&'static str> {
        if self.partial_reliability {
            None
        } else if self.format.encoding() == Encoding::Sf2007 {
            Some(
                "the encoding of the thesis (subflow level sf2007) has no chunk that tells the peer what to skip",
            )
        } else if !cx.config.extensions.partial_reliability {
            Some("partial reliability is not offered (option `partial_reliability`)")
        } else if cx.state.is_before_init_ack() {
            None
        } else {
            Some("the peer does not know partial reliability (RFC 3758)")
        }
    }

    /// A ticket for a message that is being taken, if it needs one; else 0.
    pub(super) fn open_ticket(&mut self, cx: &Context, message: &Message, reliability: Reliability) -> u32 {
        let options: MessageOptions = message.options.as_deref().copied().unwrap_or_default();
        let tells_all = self.special.as_ref().is_some_and(|special| special.fates.tells_all());
        let tells = options.fate.unwrap_or(tells_all);
        if let Some(special) = &mut self.special {
            special.fates.note_wet();
        }
        if !tells && options.context == 0 && reliability == Reliability::Full {
            return 0;
        }
        let special = self.special.get_or_insert_default();
        let limit = Limit::of(reliability, cx.now);
        let ticket = Ticket::new(MessageId(cx.stats.messages_accepted), message.stream, limit);
        let (context, or_reliable) = (options.context, options.or_reliable || options.reliability.is_none());
        let len = message.payload.len();
        special.fates.open(Ticket { context, tells, or_reliable, len, ..ticket })
    }

    /// How reliable a message is to be.
    ///
    /// # Errors
    /// When it cannot have what it asks for.
    pub(super) fn reliability_of(&self, cx: &Context, message: &Message) -> Result<Reliability, SendError> {
        let asks = message.options.is_some() || self.special.is_some();
        if asks { self.check_options(cx, message) } else { Ok(Reliability::Full) }
    }

    /// Tells the user once that nothing is left to send, where it wants to know.
    pub(super) fn tell_if_dry(&mut self, cx: &mut Context) {
        if self.special.is_some() && self.is_dry() {
            if let Some(special) = &mut self.special {
                special.fates.dry(cx);
            }
        }
    }

    /// No user data waits, to be sent or to be acknowledged. What was given up is none.
    fn is_dry(&self) -> bool {
        let given_up = |space: &SendSpace| space.flight.abandoned() == space.flight.span();
        self.tables.spaces.rows().iter().all(given_up)
            && self.tables.subflows.rows().iter().all(|subflow| subflow.out.is_empty())
            && self.buffer.deferred_bytes() == 0
    }

    /// Whether the fate of every message is told that does not say otherwise.
    pub(crate) fn tell_fates(&mut self, on: bool) {
        if on || self.special.is_some() {
            self.special.get_or_insert_default().fates.tell_fates(on);
        }
    }

    /// Whether the user is told that nothing is left to send: "If the subscriber ... there is no data in flight, the event is
    /// generated at once" (RFC 6458, 6.1.9, in other words).
    pub(crate) fn tell_when_dry(&mut self, cx: &mut Context, on: bool) {
        if !on && self.special.is_none() {
            return;
        }
        self.special.get_or_insert_default().fates.tell_when_dry(on);
        self.tell_if_dry(cx);
    }

    /// How reliable messages are that do not say so: of one stream, or of all that have no policy of their own.
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
        if let Some(why) = self.why_reliable(cx).filter(|_| reliability != Reliability::Full) {
            return Err(SendError::Reliable { why });
        }
        self.special.get_or_insert_default().reliability.set_policy(stream, reliability);
        Ok(())
    }

    /// How many messages were given up, under a policy or any, on a stream or any.
    pub(crate) fn abandoned(&self, stream: Option<u16>, policy: Option<Policy>) -> Abandonments {
        self.special
            .as_ref()
            .map_or(Abandonments::default(), |special| special.reliability.abandoned(stream, policy))
    }

    /// Numbers are gone, and with them what was to be skipped.
    pub(super) fn forget_special(&mut self) {
        self.reset_bounds = None;
        if let Some(special) = &mut self.special {
            special.reliability.forget_forwards();
            special.fates.forget_numbers();
        }
    }

    /// What only messages with options need, where there are any, and where messages are that may be given up.
    fn special_and_queues(&mut self) -> Option<(&mut Special, Queues<'_>)> {
        let queues = Queues {
            tables: &mut self.tables,
            map: &mut self.stream_map,
            buffer: &mut self.buffer,
            bounds: self.reset_bounds.as_deref(),
            interleaves: self.numbering.identifies(),
        };
        Some((self.special.as_deref_mut()?, queues))
    }

    /// Whether the lifetime of something has ended.
    #[inline]
    pub(crate) fn has_ended(&self, cx: &Context) -> bool {
        self.special.as_ref().is_some_and(|special| special.fates.next_end().is_some_and(|end| end <= cx.now))
    }

    /// Gives up what has outlived its lifetime, but for what is only in flight.
    #[cold]
    #[inline(never)]
    pub(crate) fn end_lifetimes(&mut self, cx: &mut Context) {
        if let Some((special, mut queues)) = self.special_and_queues() {
            special.end_lifetimes(&mut queues, cx);
        }
        self.tell_if_dry(cx);
        self.buffer.tell_writable(&mut self.tables, &self.stream_map, cx);
    }

    /// Gives messages up, to make room for others.
    pub(super) fn abandon(&mut self, cx: &mut Context, numbers: &[u32]) {
        if let Some((special, mut queues)) = self.special_and_queues() {
            special.abandon(&mut queues, cx, numbers);
        }
    }

    /// Chunks may have been marked for retransmission, for whatever reason: what must not be sent again is given up. Whatever marks
    /// chunks ends here, if not through [`Sender::on_timer`] or with a SACK ([`Sender::after_acknowledgement`]).
    pub(crate) fn after_marking(&mut self, cx: &mut Context) {
        // Before the INIT ACK nobody knows whether the peer skips anything, and nothing leaves.
        if cx.state.is_before_init_ack() {
            return;
        }
        if let Some((special, mut queues)) = self.special_and_queues() {
            special.review_losses(&mut queues, cx);
            self.tell_if_dry(cx);
        }
    }

    /// A SACK for a space was read.
    #[cold]
    #[inline(never)]
    pub(super) fn after_acknowledgement(&mut self, cx: &mut Context, at: SpaceId) {
        if let Some(special) = &mut self.special {
            special.fates.tell_delivered(cx);
        }
        self.review_watched(cx, at);
        if let Some((special, mut queues)) = self.special_and_queues() {
            special.review_losses(&mut queues, cx);
            special.review_overdue(&mut queues, cx);
            if special.reliability.passes_abandoned() {
                // The peer has answered, if not to data.
                for lane in queues.tables.lanes.rows_mut().iter_mut().filter(|lane| lane.space() == at) {
                    lane.heard();
                }
            }
            special.reliability.advance_forwards(queues.tables, queues.bounds, cx, false);
        }
        self.tell_if_dry(cx);
    }

    /// After a timer.
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

    /// How far the peer may be told to go on has changed, perhaps.
    pub(super) fn advance_forwards(&mut self, cx: &Context) {
        if let Some((special, queues)) = self.special_and_queues() {
            special.reliability.advance_forwards(queues.tables, queues.bounds, cx, false);
        }
    }

    /// Whether a FORWARD-TSN must leave.
    #[inline]
    pub(crate) fn owes_forward(&self) -> bool {
        self.special.as_ref().is_some_and(|special| special.reliability.owes_forward())
    }

    /// The path on which a FORWARD-TSN must leave, if one must.
    #[cold]
    pub(crate) fn forward_path(&self) -> Option<PathId> {
        self.special.as_ref()?.reliability.forward_path()
    }

    /// Writes what is due on a path, as much as fits. False when something is left for the next packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn write_forwards(
        &mut self,
        cx: &Context,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        path: PathId,
    ) -> bool {
        let Some(special) = &mut self.special else { return true };
        let how = (self.reset_bounds.as_deref(), self.format);
        special.reliability.write_forwards(&mut self.tables, how, cx, packet, limit, path)
    }

    /// The peer has answered the request to reset streams of ours; they (all, if none is listed) count from 0 if it has performed it.
    pub(crate) fn reset_is_answered(&mut self, cx: &Context, streams: &[u16], performed: bool) {
        if performed {
            self.numbering.begin_anew(streams);
        }
        let first = self.tables.spaces.first().map_or(0, |space| space.flight.first());
        let Some(bounds) = &mut self.reset_bounds else { return };
        bounds.performed.retain(|(end, _)| *end > first);
        if let Some(end) = bounds.unanswered.take().filter(|end| performed && *end > first) {
            bounds.performed.push((end, streams.to_vec()));
        }
        if bounds.performed.is_empty() {
            self.reset_bounds = None;
        }
        self.advance_forwards(cx);
    }
}
