//! Messages with options: how reliable they are to be, and what is told of their fate.

use super::Sender;
use super::space::SendSpace;
use super::tickets::{Limit, Ticket};
use crate::context::Context;
use crate::encoding::Encoding;
use crate::error::SendError;
use crate::event::Event;
use crate::message::Message;
use crate::options::{Abandonments, MessageId, MessageOptions, Policy, Reliability};
use crate::undelivered::{Returned, Undelivered};

impl Sender {
    /// Whether there is anything besides plain messages.
    #[inline]
    pub(crate) fn has_special(&self) -> bool {
        self.special.is_some()
    }

    /// Looks at the options of a message, before anything has changed; how reliable it is to be.
    pub(crate) fn check_options(&self, cx: &Context, message: &Message) -> Result<Reliability, SendError> {
        let options = message.options.as_deref().copied().unwrap_or_default();
        let of_stream = || self.special.as_ref().map(|special| special.reliability_of(message.stream));
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
        let tells_all = self.special.as_ref().is_some_and(|special| special.tells_fates);
        let tells = options.fate.unwrap_or(tells_all);
        if let Some(special) = &mut self.special {
            special.wet = true;
        }
        if !tells && options.context == 0 && reliability == Reliability::Full {
            return 0;
        }
        let special = self.special.get_or_insert_default();
        let limit = Limit::of(reliability, cx.now);
        let ticket = Ticket::new(MessageId(cx.stats.messages_accepted), message.stream, limit);
        let (context, or_reliable) = (options.context, options.or_reliable || options.reliability.is_none());
        let len = message.payload.len();
        special.open(Ticket { context, tells, or_reliable, len, ..ticket })
    }

    /// How reliable a message is to be.
    ///
    /// # Errors
    /// When it cannot have what it asks for.
    pub(super) fn reliability_of(&self, cx: &Context, message: &Message) -> Result<Reliability, SendError> {
        let asks = message.options.is_some() || self.special.is_some();
        if asks { self.check_options(cx, message) } else { Ok(Reliability::Full) }
    }

    /// A SACK was read: messages of which nothing is missing any more were delivered.
    pub(super) fn tell_delivered(&mut self, cx: &mut Context) {
        let Some(special) = &mut self.special else { return };
        let passed = std::mem::take(&mut special.passed);
        for &number in &passed {
            self.chunk_acknowledged(cx, number);
        }
        if let Some(special) = &mut self.special {
            special.passed = passed;
        }
    }

    /// A chunk of a message is acknowledged for good.
    pub(super) fn chunk_acknowledged(&mut self, cx: &mut Context, number: u32) {
        let Some(special) = &mut self.special else { return };
        let Some(ticket) = special.get_mut(number) else { return };
        ticket.chunks = ticket.chunks.saturating_sub(1);
        if ticket.chunks > 0 || ticket.queued {
            return;
        }
        if let Some(ticket) = special.close(number).filter(|ticket| ticket.tells) {
            cx.tell(Event::Delivered { message: ticket.id, context: ticket.context });
        }
    }

    /// Tells the user once that nothing is left to send, where it wants to know.
    pub(super) fn tell_if_dry(&mut self, cx: &mut Context) {
        let dry = self.is_dry();
        let Some(special) = &mut self.special else { return };
        if special.tells_dry && special.wet && dry {
            special.wet = false;
            cx.tell(Event::SenderDry);
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
            self.special.get_or_insert_default().tells_fates = on;
        }
    }

    /// Whether the user is told that nothing is left to send: "If the subscriber ... there is no data in flight, the event is
    /// generated at once" (RFC 6458, 6.1.9, in other words).
    pub(crate) fn tell_when_dry(&mut self, cx: &mut Context, on: bool) {
        if !on && self.special.is_none() {
            return;
        }
        let special = self.special.get_or_insert_default();
        special.tells_dry = on;
        special.wet = true;
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
        let special = self.special.get_or_insert_default();
        match stream {
            Some(stream) => {
                special.streams.insert(stream, reliability);
            }
            None => special.every_stream = reliability,
        }
        Ok(())
    }

    /// How many messages were given up, under a policy or any, on a stream or any.
    pub(crate) fn abandoned(&self, stream: Option<u16>, policy: Option<Policy>) -> Abandonments {
        self.special.as_ref().map_or(Abandonments::default(), |special| special.abandoned(stream, policy))
    }

    /// What is handed back is named, and its fate told.
    pub(super) fn name_returned<'a>(
        &mut self,
        cx: &mut Context,
        returned: impl Iterator<Item = &'a mut Undelivered>,
    ) {
        let Some(special) = &mut self.special else { return };
        for message in returned {
            let Some(ticket) = special.close(std::mem::take(&mut message.ticket)) else { continue };
            (message.id, message.context) = (Some(ticket.id), ticket.context);
            if ticket.tells {
                let (message, context, sent) = (ticket.id, ticket.context, ticket.sent);
                cx.tell(Event::Failed { message, context, sent });
            }
        }
    }

    /// Every message that is left is named, and its fate told.
    pub(super) fn name_all_returned(&mut self, cx: &mut Context, returned: &mut Returned) {
        let all = returned.unsent.iter_mut().chain(&mut returned.unacknowledged);
        self.name_returned(cx, all);
        // What gap blocks had acknowledged when spaces were folded into one is there.
        let Some(special) = &mut self.special else { return };
        let left: Vec<u32> = special.iter().map(|(number, _)| number).collect();
        for number in left {
            if let Some(ticket) = special.close(number).filter(|ticket| ticket.tells) {
                cx.tell(Event::Delivered { message: ticket.id, context: ticket.context });
            }
        }
        self.forget_special();
    }

    /// Numbers are gone, and with them what was to be skipped.
    pub(super) fn forget_special(&mut self) {
        self.reset_bounds = None;
        if let Some(special) = &mut self.special {
            special.forget_forwards();
            special.passed = Vec::new();
        }
    }
}
