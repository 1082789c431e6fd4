//! Messages with options, where there are any: their reliability, and the tickets that they get.

use super::abandonment::Special;
use super::reset_bounds::ResetBounds;
use super::tickets::{Limit, Ticket};
use crate::context::Context;
use crate::encoding::Encoding;
use crate::error::SendError;
use crate::ids::PathId;
use crate::message::Message;
use crate::options::{Abandonments, MessageId, MessageOptions, Policy, Reliability};

/// State that most associations do without, in one place; made when it is needed first.
#[derive(Debug, Default)]
pub(crate) struct SpecialMessages {
    /// State that only messages with options need, and events that the user has to ask for.
    special: Option<Box<Special>>,
    /// The peer lets us skip messages that we give up (RFC 3758).
    partial_reliability: bool,
    /// Resets that limit FORWARD-TSN.
    reset_bounds: Option<Box<ResetBounds>>,
}

impl SpecialMessages {
    /// True if there is anything besides plain messages.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.special.is_some()
    }

    /// The state of messages that are not plain, if there are any.
    #[inline]
    pub(super) fn get(&self) -> Option<&Special> {
        self.special.as_deref()
    }

    /// The state of messages that are not plain, to be changed, if there are any.
    #[inline]
    pub(super) fn get_mut(&mut self) -> Option<&mut Special> {
        self.special.as_deref_mut()
    }

    /// The state of messages that are not plain, with the resets that limit FORWARD-TSN.
    pub(super) fn with_bounds(&mut self) -> Option<(&mut Special, Option<&ResetBounds>)> {
        Some((self.special.as_deref_mut()?, self.reset_bounds.as_deref()))
    }

    /// True if the peer lets us skip messages that we give up.
    pub(crate) fn is_partially_reliable(&self) -> bool {
        self.partial_reliability
    }

    /// Sets whether the peer lets us skip messages that we give up.
    pub(super) fn adopt(&mut self, partial_reliability: bool) {
        self.partial_reliability = partial_reliability;
    }

    /// Turns the event on or off that tells that nothing is left to send. Returns true if there is state in which to
    /// note that.
    pub(super) fn tell_when_dry(&mut self, on: bool) -> bool {
        let tells = on || self.special.is_some();
        if tells {
            self.special.get_or_insert_default().fates.tell_when_dry(on);
        }
        tells
    }

    /// Sets the reliability of messages that do not choose one: of one stream, or of all that have no policy of their own.
    ///
    /// # Errors
    /// When no message may be given up.
    pub(super) fn set_reliability(
        &mut self,
        cx: &Context,
        stream: Option<u16>,
        reliability: Reliability,
    ) -> Result<(), SendError> {
        if let Some(why) = self.why_reliable(cx).filter(|_| reliability != Reliability::Full) {
            return Err(SendError::Reliable { why });
        }
        self.special.get_or_insert_default().reliability.set_policy(stream, reliability);
        Ok(())
    }

    /// The peer is asked to reset streams of ours, whose messages so far have numbers below `end`.
    pub(super) fn asks_for_reset(&mut self, end: u64) {
        if self.partial_reliability {
            self.reset_bounds.get_or_insert_default().unanswered = Some(end);
        }
    }

    /// The peer has answered the request for a reset, and performed it or not; `first` is not acknowledged yet.
    /// Returns true if a reset limited FORWARD-TSN.
    pub(super) fn reset_is_answered(&mut self, first: u64, streams: &[u16], performed: bool) -> bool {
        let Some(bounds) = &mut self.reset_bounds else { return false };
        bounds.performed.retain(|(end, _)| *end > first);
        if let Some(end) = bounds.unanswered.take().filter(|end| performed && *end > first) {
            bounds.performed.push((end, streams.to_vec()));
        }
        if bounds.performed.is_empty() {
            self.reset_bounds = None;
        }
        true
    }

    /// Checks the options of a message, before anything has changed; returns the reliability that it is to have.
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
            // The policy of a stream is a wish; that of a message is a wish only with `or_reliable`.
            Some(_) if options.reliability.is_none() || options.or_reliable => Ok(Reliability::Full),
            Some(why) => Err(SendError::Reliable { why }),
        }
    }

    /// Reason why no message may be given up; `None` where messages may be, or the handshake has yet to tell.
    fn why_reliable(&self, cx: &Context) -> Option<&'static str> {
        if self.partial_reliability {
            None
        } else if cx.env.agreed().encoding() == Encoding::Sf2007 {
            Some(
                "the encoding of the thesis (subflow level sf2007) has no chunk that tells the peer what to skip",
            )
        } else if !cx.env.config().extensions.partial_reliability {
            Some("partial reliability is not offered (option `partial_reliability`)")
        } else if cx.env.state().is_before_init_ack() {
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
        let limit = Limit::of(reliability, cx.env.now());
        let ticket = Ticket::new(MessageId(cx.report.stats.messages_accepted), message.stream, limit);
        let (context, or_reliable) = (options.context, options.or_reliable || options.reliability.is_none());
        let len = message.payload.len();
        special.fates.open(Ticket { context, tells, or_reliable, len, ..ticket })
    }

    /// Reliability that a message is to have.
    ///
    /// # Errors
    /// When the message's options cannot be met.
    pub(super) fn reliability_of(&self, cx: &Context, message: &Message) -> Result<Reliability, SendError> {
        let asks = message.options.is_some() || self.special.is_some();
        if asks { self.check_options(cx, message) } else { Ok(Reliability::Full) }
    }

    /// Turns reports of fate on or off for every message that does not choose for itself.
    pub(crate) fn tell_fates(&mut self, on: bool) {
        if on || self.special.is_some() {
            self.special.get_or_insert_default().fates.tell_fates(on);
        }
    }

    /// Number of messages given up, under one policy or all, on one stream or all.
    pub(crate) fn abandoned(&self, stream: Option<u16>, policy: Option<Policy>) -> Abandonments {
        self.special
            .as_ref()
            .map_or(Abandonments::default(), |special| special.reliability.abandoned(stream, policy))
    }

    /// Numbers begin anew: FORWARD-TSNs and resets by number are forgotten.
    pub(super) fn forget_numbers(&mut self) {
        self.reset_bounds = None;
        if let Some(special) = &mut self.special {
            special.reliability.forget_forwards();
            special.fates.forget_numbers();
        }
    }

    /// True if the lifetime of a message has ended.
    #[inline]
    pub(crate) fn has_ended(&self, cx: &Context) -> bool {
        self.special
            .as_ref()
            .is_some_and(|special| special.fates.next_end().is_some_and(|end| end <= cx.env.now()))
    }

    /// True if a FORWARD-TSN must leave.
    #[inline]
    pub(crate) fn owes_forward(&self) -> bool {
        self.special.as_ref().is_some_and(|special| special.reliability.owes_forward())
    }

    /// The path on which a FORWARD-TSN must leave, if one must.
    #[cold]
    pub(crate) fn forward_path(&self) -> Option<PathId> {
        self.special.as_ref()?.reliability.forward_path()
    }

    /// The peer does not support FORWARD-TSN, though its INIT or INIT ACK said so: from now on no message may be given up.
    pub(crate) fn forget_partial_reliability(&mut self) {
        self.partial_reliability = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_are_minded_where_something_may_be_skipped() {
        let mut special = SpecialMessages::default();
        special.asks_for_reset(5);
        assert!(!special.reset_is_answered(0, &[], true));
        special.adopt(true);
        special.asks_for_reset(5);
        assert!(special.reset_is_answered(0, &[1], true));
        assert!(special.reset_is_answered(4, &[], false), "number 4 is of before the reset");
        assert!(special.reset_is_answered(5, &[], false), "and acknowledged now");
        assert!(!special.reset_is_answered(5, &[], false));
    }

    #[test]
    fn nothing_is_made_for_who_wants_to_learn_nothing() {
        let mut special = SpecialMessages::default();
        special.tell_fates(false);
        assert!(!special.tell_when_dry(false) && !special.is_any());
        assert!(special.tell_when_dry(true) && special.is_any());
    }
}
