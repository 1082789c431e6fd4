//! Messages on their way from the user to their subflow: whether there is room for one, and which less important ones are dropped for it
//! (RFC 7496, 3.2).

use super::messages::Messages;
use super::send_buffer::send_buffer;
use super::tickets::{Limit, Ticket};
use crate::config::SendBufferCounts;
use crate::context::Context;
use crate::error::SendError;
use crate::ids::SubflowId;
use crate::message::Message;
use crate::options::{MessageId, Reliability};
use crate::stream::outbound::Queued;

impl Messages<'_> {
    /// Takes a message; the association has looked whether it is open.
    ///
    /// # Errors
    /// Says why it is not taken.
    // rfc9260:3.3.1-5 rfc9260:5.1.1-3 rfc9260:6.5-1
    pub(crate) fn send(&mut self, cx: &mut Context, message: Message) -> Result<MessageId, SendError> {
        self.check_message(cx, &message)?;
        // `|`, not `||`: one branch for all conditions.
        let rare = message.options.is_some()
            | self.special.is_any()
            | self.buffer.is_watched()
            | self.buffer.defers_any()
            | cx.report.streams.is_some();
        if rare { self.lend().accept_rare(cx, message) } else { self.accept::<true>(cx, message) }
    }

    /// Checks that a message can be sent at all.
    ///
    /// # Errors
    /// When it is empty or too long, or its stream does not exist.
    #[inline]
    pub(crate) fn check_message(&self, cx: &Context, message: &Message) -> Result<(), SendError> {
        let (stream, len, limit) =
            (message.stream, message.payload.len(), cx.env.config().limits.max_message);
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

    /// Takes a message when a feature is in use that most associations do without.
    #[cold]
    #[inline(never)]
    fn accept_rare(&mut self, cx: &mut Context, message: Message) -> Result<MessageId, SendError> {
        self.accept::<false>(cx, message)
    }

    /// A message that may be sent goes to its subflow. `PLAIN`: no special feature is in use.
    #[allow(clippy::inline_always, reason = "one copy for plain messages, one for others; measured")]
    #[inline(always)]
    fn accept<const PLAIN: bool>(
        &mut self,
        cx: &mut Context,
        message: Message,
    ) -> Result<MessageId, SendError> {
        let stream = message.stream;
        if !PLAIN && self.buffer.is_watched() {
            self.check_buffers(cx, &message)?;
        }
        let id = self.stream_map.subflow_of(stream);
        let mut ticket = 0;
        if !PLAIN && (message.options.is_some() || self.special.is_any()) {
            ticket = self.admit(cx, id, &message)?;
        }
        let Some(mut subflow) = self.tables.subflows.get_mut(id) else { return Err(SendError::Closing) };
        let mut waiting = subflow.out.weight(self.buffer.weighs_all());
        if !PLAIN && self.buffer.defers_any() {
            let (payload, messages) = self.buffer.payload_and_messages(Some(subflow));
            waiting = Queued::weight(payload, messages, self.buffer.weighs_all());
        }
        if waiting >= cx.env.config().limits.send_buffer {
            let full = self.buffer.is_full(self.tables, cx, id, &message, waiting);
            let Some(again) = self.tables.subflows.get_mut(id) else { return Err(SendError::Closing) };
            if full {
                self.buffer.refuse(again);
                return Err(SendError::Full);
            }
            subflow = again;
        }
        if let Some(table) = cx.report.streams.as_mut().filter(|_| !PLAIN) {
            let counters = table.outgoing(stream);
            counters.messages += 1;
            counters.payload_bytes += message.payload.len() as u64;
        }
        let (mut message, number) =
            (Queued::new(message, ticket), MessageId(cx.report.stats.messages_accepted));
        if !PLAIN && self.buffer.defers_any() {
            let Some(not_deferred) = self.buffer.hold_back(message) else {
                cx.report.stats.messages_accepted += 1;
                if self.buffer.is_watched() {
                    self.buffer.note_accepted(self.tables, cx, stream);
                }
                return Ok(number);
            };
            message = not_deferred;
        }
        subflow.out.push(message, number.0);
        cx.report.stats.messages_accepted += 1;
        let at = subflow.space;
        let lane_id = subflow.lane;
        if let Some(lane) = self.tables.lanes.get_mut(lane_id) {
            if lane.in_flight.unacked() == 0 {
                // A lane that waits for a window is not idle: "Zero window probing does not affect the calculation of cwnd" (6.1 A).
                let idle =
                    !self.tables.spaces.get(at).is_some_and(|space| space.probe.waits()) && lane.decay(cx);
                lane.open_burst();
                if idle {
                    self.coupling.couple_pause(self.tables, cx, lane_id);
                }
            }
        }
        if !PLAIN && self.buffer.is_watched() {
            self.buffer.note_accepted(self.tables, cx, stream);
        }
        Ok(number)
    }

    /// Checks that there is room for a message, where the send buffer counts more than the messages that wait on its
    /// subflow. Less important messages make room (RFC 7496, 3.2).
    ///
    /// # Errors
    /// Without room: Writable is owed. When the message's options cannot be met.
    #[inline(never)]
    fn check_buffers(&mut self, cx: &mut Context, message: &Message) -> Result<(), SendError> {
        let (limits, stream) = (&cx.env.config().limits, message.stream);
        let most = limits.stream_send_buffer;
        let counts_all = limits.send_buffer_counts == SendBufferCounts::Unacknowledged;
        if counts_all {
            self.buffer.count_by_stream(self.tables);
        }
        let id = self.stream_map.subflow_of(stream);
        let beyond = |bytes: usize, limit: usize| (bytes + 1).saturating_sub(limit);
        let of_stream = if most == 0 {
            0
        } else {
            beyond(self.buffer.buffered_bytes(self.tables, cx, Some(stream)), most)
        };
        let of_all = if counts_all {
            let lane = self.tables.subflows.get(id).and_then(|subflow| self.tables.lanes.get(subflow.lane));
            beyond(self.buffer.buffered_bytes(self.tables, cx, None), send_buffer(cx, lane))
        } else {
            0
        };
        if of_stream == 0 && of_all == 0 {
            return Ok(());
        }
        let wanted = self.special.reliability_of(cx, message)?;
        let Some(mut less) =
            self.less_important(wanted, |less, _| less >= of_stream, &[], |ticket| ticket.stream == stream)
        else {
            self.buffer.refuse_stream(stream);
            return Err(SendError::StreamFull { stream });
        };
        let of_all = of_all.saturating_sub(self.bytes_of_tickets(&less));
        let Some(others) = self.less_important(wanted, |less, _| less >= of_all, &less, |_| true) else {
            let lane = self.tables.subflows.get(id).and_then(|subflow| self.tables.lanes.get(subflow.lane));
            let (all, buffer) = (self.buffer.buffered_bytes(self.tables, cx, None), send_buffer(cx, lane));
            if of_stream == 0 && self.buffer.has_minimum(self.tables, cx, message, all, buffer) {
                return Ok(());
            }
            if let Some(subflow) = self.tables.subflows.get_mut(id) {
                self.buffer.refuse(subflow);
            }
            return Err(SendError::Full);
        };
        less.extend(others);
        self.abandon(cx, &less);
        Ok(())
    }

    /// A ticket for a message that is taken for a subflow, where the message or the association uses options; 0 where it needs none
    /// or there is no room for it.
    ///
    /// # Errors
    /// When the message's options cannot be met.
    #[cold]
    #[inline(never)]
    fn admit(&mut self, cx: &mut Context, id: SubflowId, message: &Message) -> Result<u32, SendError> {
        let reliability = self.special.check_options(cx, message)?;
        if !self.make_room(cx, id, message, reliability) {
            return Ok(0);
        }
        Ok(self.special.open_ticket(cx, message, reliability))
    }

    /// The send buffer of a subflow is full: messages of the least priority are given up for a more important one (RFC
    /// 7496, 3.2). True if there is room now.
    fn make_room(&mut self, cx: &mut Context, id: SubflowId, message: &Message, wanted: Reliability) -> bool {
        let (payload, messages) = self.buffer.payload_and_messages(self.tables.subflows.get(id));
        let lane = self.tables.subflows.get(id).and_then(|subflow| self.tables.lanes.get(subflow.lane));
        let (buffer, all) = (send_buffer(cx, lane), self.buffer.weighs_all());
        let enough = |less: usize, fewer: usize| {
            let (payload, messages) = (payload.saturating_sub(less), messages.saturating_sub(fewer));
            Queued::weight(payload, messages, all) < buffer
        };
        let Some(less) = self
            .less_important(wanted, enough, &[], |ticket| self.stream_map.subflow_of(ticket.stream) == id)
        else {
            return self.buffer.has_minimum(
                self.tables,
                cx,
                message,
                Queued::weight(payload, messages, all),
                buffer,
            );
        };
        self.abandon(cx, &less);
        true
    }

    /// Unsent messages less important than one of reliability `wanted`: the least important first, of equal ones the youngest, until
    /// `enough` is true of their bytes of payload and their number. `None` if all of them are not enough: nothing is given up in vain.
    /// Those in `besides` are left out.
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
        let candidates = self.special.get()?.fates.iter().filter_map(|(number, ticket)| match ticket.limit {
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
        let Some(special) = self.special.get() else { return 0 };
        numbers.iter().filter_map(|number| special.fates.get(*number)).map(|ticket| ticket.len).sum()
    }

    /// `send` said Full and there is room again: tells the user once.
    #[inline]
    pub(crate) fn tell_writable(&mut self, cx: &mut Context) {
        self.buffer.tell_writable(self.tables, self.stream_map, cx);
    }

    /// `send` has refused a message because others of its stream wait or are in flight with another code point: Writable is owed.
    pub(crate) fn owe_idle(&mut self, stream: u16) {
        self.buffer.owe_idle(self.tables, self.stream_map, stream);
    }

    /// The user wants an event when the buffered bytes of a stream, or of all, have fallen to `threshold` or below; `None` ends it.
    ///
    /// # Errors
    /// When there is no such stream.
    pub(crate) fn set_low_threshold(
        &mut self,
        cx: &Context,
        stream: Option<u16>,
        threshold: Option<usize>,
    ) -> Result<(), SendError> {
        self.buffer.set_low_threshold(self.tables, self.stream_map, cx, stream, threshold)
    }

    /// Replaces the set of streams that must wait: messages that need not wait any more go on.
    pub(crate) fn defer(&mut self, cx: &Context, all: bool, streams: Vec<u16>) {
        self.buffer.defer(self.tables, self.stream_map, cx, all, streams);
    }

    /// Reserves memory for the receiver, which holds `bytes` more than one window.
    pub(crate) fn reserve_for_receiver(&mut self, bytes: u64) {
        self.buffer.reserve_for_receiver(bytes);
    }
}
