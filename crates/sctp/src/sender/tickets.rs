//! Records of messages with options. Each of them has a ticket, which its place
//! in a queue and its chunks in flight carry; most messages have none (0), and cost nothing here.

use std::collections::BTreeSet;

use anabranch_base::{Duration, Instant};
use anabranch_wire::Mid;

use super::flight::Flight;
use crate::context::Context;
use crate::event::Event;
use crate::ids::SpaceId;
use crate::options::{MessageId, Policy, Reliability};
use crate::undelivered::{Returned, Undelivered};

/// Condition under which a message is abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Never.
    None,
    /// From this time on.
    Until(Instant),
    /// When a chunk would be sent again more often.
    Retransmissions(u16),
    /// When a message of a smaller value needs its room.
    Priority(u32),
}

impl Limit {
    pub(super) fn of(reliability: Reliability, now: Instant) -> Self {
        match reliability {
            Reliability::Full => Self::None,
            // The message may still leave at the end of its lifetime; so one with a lifetime of zero leaves at once, or never.
            Reliability::Lifetime(lifetime) => Self::Until(now + lifetime + Duration::from_nanos(1)),
            Reliability::Retransmissions(most) => Self::Retransmissions(most),
            Reliability::Priority(value) => Self::Priority(value),
        }
    }

    pub(super) fn policy(self) -> Option<Policy> {
        match self {
            Self::None => None,
            Self::Until(_) => Some(Policy::Lifetime),
            Self::Retransmissions(_) => Some(Policy::Retransmissions),
            Self::Priority(_) => Some(Policy::Priority),
        }
    }

    /// True if the limit is a lifetime, and that is over.
    pub(super) fn has_passed(self, now: Instant) -> bool {
        matches!(self, Self::Until(end) if now >= end)
    }

    /// True if a chunk that was sent so often must not be sent again.
    pub(super) fn forbids(self, now: Instant, transmissions: u16) -> bool {
        match self {
            Self::None | Self::Priority(_) => false,
            // A chunk that has left before does not leave again at the very end of its lifetime: "Before transmitting or retransmitting ...
            // If the lifetime of the message is expired, the SCTP sender MUST 'abandon' the message" (RFC 3758, 4.1, TR4).
            Self::Until(end) => now + Duration::from_nanos(1) >= end,
            Self::Retransmissions(most) => transmissions > most,
        }
    }
}

/// The record of one message.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub(super) id: MessageId,
    pub(super) context: u32,
    pub(super) stream: u16,
    /// True if the fate of the message is reported to the user.
    pub(super) tells: bool,
    /// True if the message may be sent reliably.
    pub(super) or_reliable: bool,
    pub(super) limit: Limit,
    /// The message, or its rest, waits in a queue.
    pub(super) queued: bool,
    /// A part of the message has left.
    pub(super) sent: bool,
    /// Chunks of the message that have left and are not acknowledged cumulatively.
    pub(super) chunks: u32,
    /// Space and numbers of the chunks, from the first to the last, if they are all in one space.
    pub(super) at: Option<(SpaceId, u64, u64)>,
    /// The number of the message.
    pub(super) mid: Mid,
    /// Payload of the message, bytes.
    pub(super) len: usize,
}

/// Messages that have a ticket, and the events that the user is told of them.
#[derive(Debug, Default)]
pub(super) struct MessageFates {
    tickets: Vec<Option<Ticket>>,
    free: Vec<u32>,
    /// Ends of the lifetimes of waiting messages.
    ends: BTreeSet<(Instant, u32)>,
    /// Tickets of the chunks that the current SACK acknowledges cumulatively.
    passed: Vec<u32>,
    /// The fate of every message is told.
    tells_all: bool,
    tells_dry: bool,
    /// A message was sent since the user was last told that nothing is left to send.
    wet: bool,
}

impl Ticket {
    pub(super) fn new(id: MessageId, stream: u16, limit: Limit) -> Self {
        Self {
            id,
            context: 0,
            stream,
            tells: false,
            or_reliable: false,
            limit,
            queued: true,
            sent: false,
            chunks: 0,
            at: None,
            mid: Mid::new(0),
            len: 0,
        }
    }

    /// A range of numbers that contains all chunks of the message in a space; empty where there cannot be any.
    pub(super) fn numbers_in(&self, at: SpaceId, flight: &Flight) -> std::ops::Range<u64> {
        let all = flight.first()..flight.next();
        match self.at {
            None => all,
            Some((space, first, last)) if space == at => first.max(all.start)..(last + 1).min(all.end),
            Some(_) => 0..0,
        }
    }
}

impl MessageFates {
    /// Opens a ticket for a message that waits now.
    pub(super) fn open(&mut self, ticket: Ticket) -> u32 {
        let limit = ticket.limit;
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.tickets.push(None);
                self.tickets.len() as u32
            }
        };
        if let Some(slot) = self.slot(number) {
            *slot = Some(ticket);
        }
        if let Limit::Until(end) = limit {
            self.ends.insert((end, number));
        }
        number
    }

    fn slot(&mut self, ticket: u32) -> Option<&mut Option<Ticket>> {
        self.tickets.get_mut((ticket as usize).checked_sub(1)?)
    }

    pub(super) fn get(&self, ticket: u32) -> Option<&Ticket> {
        self.tickets.get((ticket as usize).checked_sub(1)?)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, ticket: u32) -> Option<&mut Ticket> {
        self.slot(ticket)?.as_mut()
    }

    /// Closes the ticket of a message with a known fate.
    pub(super) fn close(&mut self, ticket: u32) -> Option<Ticket> {
        let closed = self.slot(ticket)?.take()?;
        self.free.push(ticket);
        self.forget_end(ticket, closed.limit);
        if self.free.len() == self.tickets.len() {
            // No ticket is in use: the memory for a burst of messages is not kept for ever.
            self.tickets.clear();
            self.free.clear();
            if self.tickets.capacity() > KEPT {
                self.tickets.shrink_to(KEPT);
                self.free.shrink_to(KEPT);
            }
        }
        Some(closed)
    }

    /// True if a chunk of a message that was sent so often must not be sent again.
    pub(super) fn forbids(&self, ticket: u32, now: Instant, transmissions: u16) -> bool {
        self.get(ticket).is_some_and(|ticket| ticket.limit.forbids(now, transmissions))
    }

    /// True if a chunk of a message may leave again: a chunk that was marked in time may leave at the very end of the
    /// lifetime.
    pub(super) fn may_leave_again(&self, ticket: u32, now: Instant, transmissions: u16) -> bool {
        self.get(ticket).is_none_or(|ticket| match ticket.limit {
            Limit::Retransmissions(most) => transmissions <= most,
            limit => !limit.has_passed(now),
        })
    }

    /// Every ticket in use.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Ticket)> {
        (1..).zip(&self.tickets).filter_map(|(number, ticket)| Some((number, ticket.as_ref()?)))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Ticket> {
        self.tickets.iter_mut().flatten()
    }

    /// Chunks of a space have left for the first time.
    #[cold]
    #[inline(never)]
    pub(super) fn have_left(&mut self, at: SpaceId, flight: &Flight, numbers: std::ops::Range<u64>) {
        for seq in numbers {
            let Some(fragment) = flight.get(seq).map(|chunk| &chunk.fragment) else { continue };
            if fragment.ticket != 0 {
                self.left(fragment.ticket, at, seq, fragment.mid, fragment.ending);
            }
        }
    }

    fn left(&mut self, ticket: u32, at: SpaceId, seq: u64, mid: Mid, ending: bool) {
        let Some(ticket) = self.get_mut(ticket) else { return };
        ticket.at = match ticket.at {
            None if !ticket.sent => Some((at, seq, seq)),
            Some((space, first, last)) if space == at => Some((at, first.min(seq), last.max(seq))),
            _ => None,
        };
        ticket.sent = true;
        ticket.mid = mid;
        ticket.queued = !ending;
        ticket.chunks += 1;
    }

    /// Chunks have got other numbers, all of them in one space.
    pub(super) fn renumber(&mut self, at: SpaceId, flight: &Flight) {
        for ticket in self.iter_mut() {
            ticket.at = None;
        }
        for seq in flight.first()..flight.next() {
            let number = flight.get(seq).map_or(0, |chunk| chunk.fragment.ticket);
            let Some(ticket) = self.get_mut(number) else { continue };
            let first = ticket.at.map_or(seq, |(_, first, _)| first);
            ticket.at = Some((at, first, seq));
        }
    }

    /// The end of a lifetime is not waited for any more.
    pub(super) fn forget_end(&mut self, ticket: u32, limit: Limit) {
        if let Limit::Until(end) = limit {
            self.ends.remove(&(end, ticket));
        }
    }

    /// The time at which the next lifetime ends.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// Takes out a message whose lifetime is over; each is returned once.
    pub(super) fn next_ended(&mut self, now: Instant) -> Option<u32> {
        self.ends.first().filter(|(end, _)| *end <= now)?;
        self.ends.pop_first().map(|(_, ticket)| ticket)
    }

    /// A SACK is being read.
    pub(super) fn begin_sack(&mut self) {
        self.passed.clear();
    }

    /// The current SACK acknowledges a chunk with that ticket cumulatively; 0: a chunk without one.
    pub(super) fn pass(&mut self, ticket: u32) {
        if ticket != 0 {
            self.passed.push(ticket);
        }
    }

    /// A message was accepted: the event that nothing is left to send may be told again.
    pub(super) fn note_wet(&mut self) {
        self.wet = true;
    }

    /// True if the fate is reported of every message that does not choose for itself.
    pub(super) fn tells_all(&self) -> bool {
        self.tells_all
    }

    /// Turns reports of fate on or off for every message that does not choose for itself.
    pub(super) fn tell_fates(&mut self, on: bool) {
        self.tells_all = on;
    }

    /// Sets whether the user is told when nothing is left to send.
    pub(super) fn tell_when_dry(&mut self, on: bool) {
        self.tells_dry = on;
        self.wet = true;
    }

    /// Nothing is left to send: tells the user once, if it wants that event.
    pub(super) fn dry(&mut self, cx: &mut Context) {
        if self.tells_dry && self.wet {
            self.wet = false;
            cx.tell(Event::SenderDry);
        }
    }

    /// A SACK was read: messages whose chunks are all acknowledged were delivered.
    pub(super) fn tell_delivered(&mut self, cx: &mut Context) {
        let passed = std::mem::take(&mut self.passed);
        for &number in &passed {
            self.chunk_acknowledged(cx, number);
        }
        self.passed = passed;
    }

    /// A chunk of a message is acknowledged for good.
    pub(super) fn chunk_acknowledged(&mut self, cx: &mut Context, number: u32) {
        let Some(ticket) = self.get_mut(number) else { return };
        ticket.chunks = ticket.chunks.saturating_sub(1);
        if ticket.chunks > 0 || ticket.queued {
            return;
        }
        if let Some(ticket) = self.close(number).filter(|ticket| ticket.tells) {
            cx.tell(Event::Delivered { message: ticket.id, context: ticket.context });
        }
    }

    /// Messages that are handed back get their identifiers, and their fate is told.
    pub(super) fn name_returned<'a>(
        &mut self,
        cx: &mut Context,
        returned: impl Iterator<Item = &'a mut Undelivered>,
    ) {
        for message in returned {
            let Some(ticket) = self.close(std::mem::take(&mut message.ticket)) else { continue };
            (message.id, message.context) = (Some(ticket.id), ticket.context);
            if ticket.tells {
                let (message, context, sent) = (ticket.id, ticket.context, ticket.sent);
                cx.tell(Event::Failed { message, context, sent });
            }
        }
    }

    /// Handed-back messages with tickets get their identifiers, and the fate of each is told.
    pub(super) fn name_all_returned(&mut self, cx: &mut Context, returned: &mut Returned) {
        let all = returned.unsent.iter_mut().chain(&mut returned.unacknowledged);
        self.name_returned(cx, all);
        // Chunks that gap blocks had acknowledged when spaces were folded into one have arrived.
        let left: Vec<u32> = self.iter().map(|(number, _)| number).collect();
        for number in left {
            if let Some(ticket) = self.close(number).filter(|ticket| ticket.tells) {
                cx.tell(Event::Delivered { message: ticket.id, context: ticket.context });
            }
        }
    }

    /// A message becomes fully reliable.
    pub(super) fn make_reliable(&mut self, number: u32) {
        let Some(ticket) = self.get(number).cloned() else { return };
        self.forget_end(number, ticket.limit);
        if let Some(ticket) = self.get_mut(number) {
            ticket.limit = Limit::None;
        }
    }

    /// Numbers begin anew: the chunks passed by the current SACK are forgotten.
    pub(super) fn forget_numbers(&mut self) {
        self.passed = Vec::new();
    }
}

/// Tickets for which memory is kept when none is in use.
const KEPT: usize = 64;
