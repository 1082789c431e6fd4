//! Messages on their way from the user to their subflow: whether there is room for one, and which less important ones make room
//! (RFC 7496, 3.2).

use super::Sender;
use super::queue::send_buffer;
use super::tickets::{Limit, Ticket};
use crate::config::SendBufferCounts;
use crate::context::Context;
use crate::error::SendError;
use crate::ids::SubflowId;
use crate::message::Message;
use crate::options::{MessageId, Reliability};
use crate::stream::outbound::Queued;

impl Sender {
    /// Takes a message; the association has looked whether it is open.
    ///
    /// # Errors
    /// Says why it is not taken.
    // rfc9260:3.3.1-5 rfc9260:5.1.1-3 rfc9260:6.5-1
    pub(crate) fn send(&mut self, cx: &mut Context, message: Message) -> Result<MessageId, SendError> {
        self.check_message(cx, &message)?;
        // Bit by bit: one branch for all of them.
        let rare = message.options.is_some()
            | self.special.is_some()
            | self.backpressure.is_some()
            | self.deferred.is_some()
            | cx.streams.is_some();
        if rare { self.accept_rare(cx, message) } else { self.accept::<true>(cx, message) }
    }

    /// Whether a message can be sent at all.
    ///
    /// # Errors
    /// When it is empty or too long, or its stream does not exist.
    #[inline]
    pub(crate) fn check_message(&self, cx: &Context, message: &Message) -> Result<(), SendError> {
        let (stream, len, limit) = (message.stream, message.payload.len(), cx.config.limits.max_message);
        if len == 0 {
            return Err(SendError::Empty);
        }
        if len > limit {
            return Err(SendError::TooLong { len, limit });
        }
        if stream >= self.stream_map.streams() {
            return Err(SendError::NoSuchStream { stream, streams: self.stream_map.streams() });
        }
        Ok(())
    }

    /// Takes a message where something is wanted that most associations do without.
    #[cold]
    #[inline(never)]
    fn accept_rare(&mut self, cx: &mut Context, message: Message) -> Result<MessageId, SendError> {
        self.accept::<false>(cx, message)
    }

    /// A message that may be sent goes to its subflow. `PLAIN`: there is nothing besides that.
    #[allow(clippy::inline_always, reason = "one copy for plain messages, one for others; measured")]
    #[inline(always)]
    fn accept<const PLAIN: bool>(
        &mut self,
        cx: &mut Context,
        message: Message,
    ) -> Result<MessageId, SendError> {
        let stream = message.stream;
        if !PLAIN && self.backpressure.is_some() {
            self.check_buffers(cx, &message)?;
        }
        let id = self.stream_map.subflow_of(stream);
        let mut ticket = 0;
        if !PLAIN && (message.options.is_some() || self.special.is_some()) {
            ticket = self.admit(cx, id, &message)?;
        }
        let Some(mut subflow) = self.tables.subflows.get_mut(id) else { return Err(SendError::Closing) };
        let mut waiting = subflow.out.weight(self.weighs_all);
        if let Some(deferred) = self.deferred.as_ref().filter(|_| !PLAIN) {
            let (payload, messages) = (subflow.out.queued_bytes(), subflow.out.messages());
            waiting =
                Queued::weight(payload + deferred.bytes(), messages + deferred.messages(), self.weighs_all);
        }
        if waiting >= cx.config.limits.send_buffer {
            let full = self.is_full(cx, id, &message, waiting);
            let Some(again) = self.tables.subflows.get_mut(id) else { return Err(SendError::Closing) };
            if full {
                again.writable_owed = true;
                self.writable_owed = true;
                return Err(SendError::Full);
            }
            subflow = again;
        }
        let deferred = if PLAIN { None } else { self.deferred.as_mut() };
        if let Some(table) = cx.streams.as_mut().filter(|_| !PLAIN) {
            let counters = table.outgoing(stream);
            counters.messages += 1;
            counters.payload_bytes += message.payload.len() as u64;
        }
        let (message, number) = (Queued::new(message, ticket), MessageId(cx.stats.messages_accepted));
        if let Some(deferred) = deferred.filter(|deferred| deferred.defers(stream)) {
            deferred.push(message);
            cx.stats.messages_accepted += 1;
            if self.backpressure.is_some() {
                self.note_accepted(cx, stream);
            }
            return Ok(number);
        }
        subflow.out.push(message, number.0);
        cx.stats.messages_accepted += 1;
        let at = subflow.space;
        let lane_id = subflow.lane;
        if let Some(lane) = self.tables.lanes.get_mut(lane_id) {
            if lane.in_flight.unacked() == 0 {
                // Who waits for a window is not idle: "Zero window probing does not affect the calculation of cwnd" (6.1 A).
                let idle =
                    !self.tables.spaces.get(at).is_some_and(|space| space.probe.waits()) && lane.decay(cx);
                lane.open_burst();
                if idle {
                    self.couple_pause(cx, lane_id);
                }
            }
        }
        if !PLAIN && self.backpressure.is_some() {
            self.note_accepted(cx, stream);
        }
        Ok(number)
    }

    /// Whether the send buffer of a subflow has no room for a stream, when so many bytes are in it.
    #[cold]
    #[inline(never)]
    fn is_full(&self, cx: &Context, id: SubflowId, message: &Message, waiting: usize) -> bool {
        let lane = self.tables.subflows.get(id).and_then(|subflow| self.tables.lanes.get(subflow.lane));
        let buffer = send_buffer(cx, lane);
        waiting >= buffer && !self.has_minimum(cx, message, waiting, buffer)
    }

    /// Whether a message may be added to a send buffer that is full, as its stream has less than its minimum there. The minimums of all
    /// streams are half of the buffer together, and a message longer than one is taken only while the buffer is exceeded by less
    /// than that: one long message of another stream must not take what is left to short ones.
    fn has_minimum(&self, cx: &Context, message: &Message, buffered: usize, buffer: usize) -> bool {
        let (least, most) = (cx.config.limits.stream_send_minimum, buffer / 2);
        let fits = message.payload.len() <= least || buffered < buffer.saturating_add(most);
        let of_stream =
            || self.tables.subflows.rows().iter().map(|s| s.out.memory_on(message.stream)).sum::<usize>();
        if !fits || self.is_tight || self.buffered_bytes(cx, Some(message.stream)).max(of_stream()) >= least {
            return false;
        }
        let mut taken = self.deferred_bytes();
        let mut waiting = self.tables.subflows.rows().iter().flat_map(|subflow| subflow.out.waiting());
        waiting.all(|bytes| {
            taken = taken.saturating_add(bytes.min(least));
            taken < most
        })
    }

    /// Whether there is room for a message, where the send buffer counts more than what waits on its subflow. Less important messages
    /// make room (RFC 7496, 3.2).
    ///
    /// # Errors
    /// When there is none: Writable is owed. When the message cannot have what it asks for.
    #[inline(never)]
    fn check_buffers(&mut self, cx: &mut Context, message: &Message) -> Result<(), SendError> {
        let (limits, stream) = (&cx.config.limits, message.stream);
        let most = limits.stream_send_buffer;
        let counts_all = limits.send_buffer_counts == SendBufferCounts::Unacknowledged;
        if counts_all {
            self.count_by_stream();
        }
        let id = self.stream_map.subflow_of(stream);
        let beyond = |bytes: usize, limit: usize| (bytes + 1).saturating_sub(limit);
        let of_stream = if most == 0 { 0 } else { beyond(self.buffered_bytes(cx, Some(stream)), most) };
        let of_all = if counts_all {
            let lane = self.tables.subflows.get(id).and_then(|subflow| self.tables.lanes.get(subflow.lane));
            beyond(self.buffered_bytes(cx, None), send_buffer(cx, lane))
        } else {
            0
        };
        if of_stream == 0 && of_all == 0 {
            return Ok(());
        }
        let wanted = self.reliability_of(cx, message)?;
        let Some(mut less) =
            self.less_important(wanted, |less, _| less >= of_stream, &[], |ticket| ticket.stream == stream)
        else {
            self.backpressure.get_or_insert_default().full.insert(stream);
            return Err(SendError::StreamFull { stream });
        };
        let of_all = of_all.saturating_sub(self.bytes_of_tickets(&less));
        let Some(others) = self.less_important(wanted, |less, _| less >= of_all, &less, |_| true) else {
            let lane = self.tables.subflows.get(id).and_then(|subflow| self.tables.lanes.get(subflow.lane));
            let (all, buffer) = (self.buffered_bytes(cx, None), send_buffer(cx, lane));
            if of_stream == 0 && self.has_minimum(cx, message, all, buffer) {
                return Ok(());
            }
            if let Some(subflow) = self.tables.subflows.get_mut(id) {
                subflow.writable_owed = true;
                self.writable_owed = true;
            }
            return Err(SendError::Full);
        };
        less.extend(others);
        self.abandon(cx, &less);
        Ok(())
    }

    /// A message is to be taken for a subflow, and it, or something of the association, is special: its ticket, or 0 where it needs none
    /// or there is no room for it.
    ///
    /// # Errors
    /// When it cannot have what it asks for.
    #[cold]
    #[inline(never)]
    fn admit(&mut self, cx: &mut Context, id: SubflowId, message: &Message) -> Result<u32, SendError> {
        let reliability = self.check_options(cx, message)?;
        if !self.make_room(cx, id, message, reliability) {
            return Ok(0);
        }
        Ok(self.open_ticket(cx, message, reliability))
    }

    /// The send buffer of a subflow is full: messages of the least priority make room for one that has more (RFC 7496, 3.2). Whether
    /// there is room now.
    fn make_room(&mut self, cx: &mut Context, id: SubflowId, message: &Message, wanted: Reliability) -> bool {
        let (mut payload, mut messages) =
            self.deferred.as_ref().map_or((0, 0), |deferred| (deferred.bytes(), deferred.messages()));
        if let Some(subflow) = self.tables.subflows.get(id) {
            payload += subflow.out.queued_bytes();
            messages += subflow.out.messages();
        }
        let lane = self.tables.subflows.get(id).and_then(|subflow| self.tables.lanes.get(subflow.lane));
        let (buffer, all) = (send_buffer(cx, lane), self.weighs_all);
        let enough = |less: usize, fewer: usize| {
            let (payload, messages) = (payload.saturating_sub(less), messages.saturating_sub(fewer));
            Queued::weight(payload, messages, all) < buffer
        };
        let Some(less) = self
            .less_important(wanted, enough, &[], |ticket| self.stream_map.subflow_of(ticket.stream) == id)
        else {
            return self.has_minimum(cx, message, Queued::weight(payload, messages, all), buffer);
        };
        self.abandon(cx, &less);
        true
    }

    /// Unsent messages that are less important than one that wants so much: the least important first, of those the youngest; so many
    /// that they are `enough`, which is asked of bytes of payload and of messages, or `None`, as nothing is given up in vain. None of those
    /// `besides`.
    fn less_important(
        &self,
        wanted: Reliability,
        enough: impl Fn(usize, usize) -> bool,
        besides: &[u32],
        among: impl Fn(&Ticket) -> bool,
    ) -> Option<Vec<u32>> {
        if enough(0, 0) {
            return Some(Vec::new());
        }
        let value = match wanted {
            Reliability::Priority(value) => Some(value),
            _ => None,
        };
        let candidates = self.special.as_ref()?.iter().filter_map(|(number, ticket)| match ticket.limit {
            Limit::Priority(theirs)
                if !ticket.sent
                    && value.is_none_or(|value| theirs > value)
                    && among(ticket)
                    && !besides.contains(&number) =>
            {
                Some((theirs, ticket.id, number, ticket.len))
            }
            _ => None,
        });
        let mut candidates: Vec<_> = candidates.collect();
        candidates.sort_unstable();
        let (mut chosen, mut payload) = (Vec::new(), 0);
        while !enough(payload, chosen.len()) {
            let (_, _, number, len) = candidates.pop()?;
            chosen.push(number);
            payload += len;
        }
        Some(chosen)
    }

    /// Bytes of messages with these tickets.
    fn bytes_of_tickets(&self, numbers: &[u32]) -> usize {
        let Some(special) = &self.special else { return 0 };
        numbers.iter().filter_map(|number| special.get(*number)).map(|ticket| ticket.len).sum()
    }
}
