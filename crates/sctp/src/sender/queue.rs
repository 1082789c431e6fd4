//! Messages on their way from the user to their subflow.

use std::sync::Arc;

use super::Sender;
use super::deferred::Deferred;
use super::lane::Lane;
use crate::config::SendBufferCounts;
use crate::context::Context;
use crate::error::SendError;
use crate::event::Event;
use crate::ids::SubflowId;
use crate::message::Message;
use crate::options::MessageId;
use crate::stream::outbound::Queued;
use crate::undelivered::Undelivered;

/// The send buffer, bytes: it grows with the window of the lane that the data leaves on, so that there is always as much to
/// send as a round trip takes; and not where the endpoint has little memory left.
#[cold]
#[inline(never)]
pub(super) fn send_buffer(cx: &Context, lane: Option<&Lane>) -> usize {
    let limits = &cx.config.limits;
    if limits.max_send_buffer <= limits.send_buffer
        || cx.budget.as_ref().is_some_and(|budget| budget.is_tight())
    {
        return limits.send_buffer;
    }
    // What was sent counts, or not: a window waits in either case.
    let unacknowledged = limits.send_buffer_counts == SendBufferCounts::Unacknowledged;
    let windows = if unacknowledged { 2 } else { 1 };
    let wanted = windows * lane.map_or(0, |lane| lane.controller.window());
    usize::try_from(wanted).unwrap_or(usize::MAX).clamp(limits.send_buffer, limits.max_send_buffer)
}

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
        if stream >= self.streams {
            return Err(SendError::NoSuchStream { stream, streams: self.streams });
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
        let id = self.subflow_of(stream);
        let mut ticket = 0;
        if !PLAIN && (message.options.is_some() || self.special.is_some()) {
            ticket = self.admit(cx, id, &message)?;
        }
        let Some(mut subflow) = self.subflows.get_mut(id) else { return Err(SendError::Closing) };
        let mut waiting = subflow.out.weight(self.weighs_all);
        if let Some(deferred) = self.deferred.as_ref().filter(|_| !PLAIN) {
            let (payload, messages) = (subflow.out.queued_bytes(), subflow.out.messages());
            waiting =
                Queued::weight(payload + deferred.bytes(), messages + deferred.messages(), self.weighs_all);
        }
        if waiting >= cx.config.limits.send_buffer {
            let full = self.is_full(cx, id, &message, waiting);
            let Some(again) = self.subflows.get_mut(id) else { return Err(SendError::Closing) };
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
        if let Some(lane) = self.lanes.get_mut(subflow.lane) {
            if lane.unacked == 0 {
                // Who waits for a window is not idle: "Zero window probing does not affect the calculation of cwnd" (6.1 A).
                if !self.spaces.get(at).is_some_and(|space| space.probe.waits()) {
                    lane.decay(cx);
                }
                lane.open_burst();
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
        let lane = self.subflows.get(id).and_then(|subflow| self.lanes.get(subflow.lane));
        let buffer = send_buffer(cx, lane);
        waiting >= buffer && !self.has_minimum(cx, message, waiting, buffer)
    }

    /// Whether a message may be added to a send buffer that is full, as its stream has less than its minimum there. The minimums of all
    /// streams are half of the buffer together, and a message longer than one is taken only while the buffer is exceeded by less
    /// than that: one long message of another stream must not take what is left to short ones.
    pub(super) fn has_minimum(
        &self,
        cx: &Context,
        message: &Message,
        buffered: usize,
        buffer: usize,
    ) -> bool {
        let (least, most) = (cx.config.limits.stream_send_minimum, buffer / 2);
        let fits = message.payload.len() <= least || buffered < buffer.saturating_add(most);
        let of_stream =
            || self.subflows.rows().iter().map(|s| s.out.memory_on(message.stream)).sum::<usize>();
        if !fits || self.is_tight || self.buffered_bytes(cx, Some(message.stream)).max(of_stream()) >= least {
            return false;
        }
        let mut taken = self.deferred_bytes();
        let mut waiting = self.subflows.rows().iter().flat_map(|subflow| subflow.out.waiting());
        waiting.all(|bytes| {
            taken = taken.saturating_add(bytes.min(least));
            taken < most
        })
    }

    /// Sets the value (priority or weight) of a stream for the scheduling of streams.
    ///
    /// # Errors
    /// When there is no such stream.
    pub(crate) fn set_stream_value(
        &mut self,
        cx: &mut Context,
        stream: u16,
        value: u16,
    ) -> Result<(), SendError> {
        if stream >= self.streams {
            return Err(SendError::NoSuchStream { stream, streams: self.streams });
        }
        // Subflows that are opened later begin with it, too.
        let values = &mut Arc::make_mut(&mut cx.config).streams.values;
        values.retain(|(id, _)| *id != stream);
        values.push((stream, value));
        for subflow in self.subflows.rows_mut() {
            subflow.out.set_stream_value(stream, value);
        }
        Ok(())
    }

    /// The subflow of a stream.
    #[inline]
    pub(super) fn subflow_of(&self, stream: u16) -> SubflowId {
        self.stream_map.get(usize::from(stream)).copied().unwrap_or(self.unmapped)
    }

    /// Memory of what was accepted and has not left, payload and bookkeeping, bytes.
    pub(crate) fn waiting_memory(&self) -> usize {
        let queued: usize = self.subflows.rows().iter().map(|subflow| subflow.out.memory()).sum();
        queued + self.deferred.as_ref().map_or(0, |deferred| deferred.memory())
    }

    /// Bytes accepted and not yet sent.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.subflows.rows().iter().map(|s| s.out.queued_bytes()).sum::<usize>() + self.deferred_bytes()
    }

    /// `send` said Full and there is room again: tells the user once.
    #[inline]
    pub(crate) fn tell_writable(&mut self, cx: &mut Context) {
        if self.writable_owed && !self.is_full_for_sure(cx) {
            self.tell_writable_if_room(cx);
        }
        if self.backpressure.is_some() {
            self.tell_backpressure(cx);
        }
    }

    /// Whether the only subflow has more than half of any send buffer: the question asked with every packet.
    #[inline]
    fn is_full_for_sure(&self, cx: &Context) -> bool {
        let [subflow] = self.subflows.rows() else { return false };
        subflow.writable_owed && subflow.out.weight(false) > cx.config.limits.largest_send_buffer() / 2
    }

    #[inline(never)]
    fn tell_writable_if_room(&mut self, cx: &mut Context) {
        let limit = send_buffer(cx, self.lanes.rows().iter().max_by_key(|lane| lane.controller.window())) / 2;
        if self.deferred_bytes() > limit {
            return;
        }
        let unacknowledged = cx.config.limits.send_buffer_counts == SendBufferCounts::Unacknowledged;
        if unacknowledged && self.buffered_bytes(cx, None) > limit {
            return;
        }
        let (mut told, mut owed) = (false, false);
        for subflow in self.subflows.rows_mut() {
            // Whatever counts, half of the buffer has room for what is kept besides.
            if subflow.writable_owed && subflow.out.weight(false) <= limit {
                subflow.writable_owed = false;
                told = true;
            }
            owed |= subflow.writable_owed;
        }
        self.writable_owed = owed;
        if told {
            cx.tell(Event::Writable { stream: None });
        }
    }

    /// Messages on streams that the peer did not grant can never be sent (5.1.1): they are handed back.
    pub(crate) fn drop_ungranted_streams(&mut self, cx: &mut Context) -> Vec<Undelivered> {
        let limit = self.streams;
        let mut dropped = Vec::new();
        for subflow in self.subflows.rows_mut() {
            dropped.append(&mut subflow.out.drop_streams_from(limit));
        }
        if !dropped.is_empty() {
            cx.tell(Event::StreamsReduced { messages_dropped: dropped.len() });
            self.note_gone();
        }
        let mut dropped: Vec<Undelivered> = dropped.into_iter().map(Undelivered::unsent).collect();
        self.name_returned(cx, dropped.iter_mut());
        dropped
    }

    /// Bytes of messages that wait for a stream reset.
    pub(crate) fn deferred_bytes(&self) -> usize {
        self.deferred.as_ref().map_or(0, |deferred| deferred.bytes())
    }

    /// Which streams must wait has changed, perhaps: messages that need not wait any more go on.
    pub(crate) fn defer(&mut self, cx: &Context, all: bool, mut streams: Vec<u16>) {
        if self.deferred.is_none() && !all && streams.is_empty() {
            return;
        }
        streams.sort_unstable();
        streams.dedup();
        let mut deferred = Deferred::of(all, streams);
        let before = self.deferred.take().map(|before| before.into_messages()).unwrap_or_default();
        let arrival = cx.stats.messages_accepted;
        for message in before {
            if deferred.defers(message.stream) {
                deferred.push(message);
                continue;
            }
            let subflow = self.subflow_of(message.stream);
            if let Some(subflow) = self.subflows.get_mut(subflow) {
                subflow.out.push(message, arrival);
            }
        }
        if deferred.is_any() {
            self.deferred = Some(Box::new(deferred));
        }
    }
}
