//! The send buffer: messages that wait beside the queues of subflows, and limits on the memory for sent data. It
//! reports to the user the bytes in it, of each stream and in all, a stream that is full, and a fall to a threshold.
//! Without a request for reports a message pays one branch for them.

use std::collections::BTreeMap;

use anabranch_base::Dscp;

use super::buffer_watch::{Backpressure, Low};
use super::deferred::Deferred;
use super::flight::{CHUNK, Flight};
use super::lane::Lane;
use super::retention::{MOST_IN_FLIGHT, beyond_buffer, least_room, most_retained};
use super::stream_map::StreamMap;
use super::subflow::Subflow;
use super::tables::Tables;
use crate::config::{Config, LimitConfig, SendBufferCounts};
use crate::context::Context;
use crate::error::SendError;
use crate::event::Event;
use crate::ids::SubflowId;
use crate::message::Message;
use crate::stream::outbound::{Queued, Removed};

/// The send buffer, bytes: it grows with the window of the lane that the data leaves on, so that there is always as much to
/// send as a round trip takes; and not where the endpoint has little memory left.
#[cold]
#[inline(never)]
pub(super) fn send_buffer(cx: &Context, lane: Option<&Lane>) -> usize {
    let limits = &cx.env.config().limits;
    if limits.max_send_buffer <= limits.send_buffer
        || cx.budget.as_ref().is_some_and(|budget| budget.is_nearly_spent())
    {
        return limits.send_buffer;
    }
    // Whether sent bytes count or not, there is room for a window of waiting data.
    let unacknowledged = limits.send_buffer_counts == SendBufferCounts::Unacknowledged;
    let windows = if unacknowledged { 2 } else { 1 };
    let wanted = windows * lane.map_or(0, |lane| lane.window.cwnd());
    usize::try_from(wanted).unwrap_or(usize::MAX).clamp(limits.send_buffer, limits.max_send_buffer)
}

/// The send buffer without the queues, which belong to the subflows.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    /// `send` said Full: Writable is owed.
    writable_owed: bool,
    /// The memory for sent data has nearly reached its limit.
    near_retention_limit: bool,
    /// All memory of messages counts against the send buffer: where the memory for sent data is near its limit, and
    /// where streams have a least part of a full buffer. Otherwise the larger of payload and bookkeeping counts.
    weighs_all: bool,
    /// Memory reserved for the receiver, which holds more than one window, bytes: so much less may be kept for sent
    /// data.
    receiver_reservation: u64,
    /// Messages that wait for the answer to a stream reset.
    deferred: Option<Box<Deferred>>,
    /// Events of the send buffer that the user has asked for.
    backpressure: Option<Box<Backpressure>>,
}

impl SendBuffer {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            writable_owed: false,
            near_retention_limit: false,
            weighs_all: config.limits.stream_send_minimum != 0,
            receiver_reservation: 0,
            deferred: None,
            backpressure: None,
        }
    }

    /// True if all memory of messages counts, and not only their payload.
    #[inline]
    pub(super) fn weighs_all(&self) -> bool {
        self.weighs_all
    }

    /// True if Writable is owed.
    pub(super) fn owes_writable(&self) -> bool {
        self.writable_owed
    }

    /// True if a limit counts more than the messages that wait on a subflow, or the user wants to be told of
    /// thresholds.
    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.backpressure.is_some()
    }

    /// True if messages of some streams must wait for the answer to a stream reset.
    #[inline]
    pub(super) fn defers_any(&self) -> bool {
        self.deferred.is_some()
    }

    /// Bytes of payload and messages that wait for a subflow, with all those that are deferred.
    pub(super) fn payload_and_messages(&self, subflow: Option<&Subflow>) -> (usize, usize) {
        let deferred = self.deferred.as_ref();
        let (mut payload, mut messages) =
            deferred.map_or((0, 0), |deferred| (deferred.bytes(), deferred.messages()));
        if let Some(subflow) = subflow {
            payload += subflow.out.queued_bytes();
            messages += subflow.out.messages();
        }
        (payload, messages)
    }

    /// The user was told that there is no room: Writable is owed.
    pub(super) fn refuse(&mut self, subflow: &mut Subflow) {
        subflow.writable_owed = true;
        self.writable_owed = true;
    }

    /// `send` has refused a message as its stream has too much in the buffer: Writable is owed.
    pub(super) fn refuse_stream(&mut self, stream: u16) {
        self.backpressure.get_or_insert_default().full.insert(stream);
    }

    /// A message that must wait for the answer to a stream reset is kept here; any other is given back.
    pub(super) fn hold_back(&mut self, message: Queued) -> Option<Queued> {
        match self.deferred.as_mut().filter(|deferred| deferred.defers(message.stream)) {
            Some(deferred) => {
                deferred.push(message);
                None
            }
            None => Some(message),
        }
    }

    /// No message waits for the answer to a stream reset any more; returns those that did.
    pub(super) fn take_deferred(&mut self) -> impl Iterator<Item = Queued> {
        self.deferred.take().into_iter().flat_map(|deferred| deferred.into_messages())
    }

    /// Messages that wait for the answer to a stream reset are dropped.
    pub(super) fn drop_deferred(&mut self) {
        self.deferred = None;
    }

    /// Tickets of the deferred messages: for tests.
    pub(super) fn deferred_tickets(&self) -> impl Iterator<Item = u32> + '_ {
        self.deferred.iter().flat_map(|deferred| deferred.tickets())
    }

    /// A chunk of a stream has left.
    #[inline]
    pub(super) fn chunk_left(&mut self, stream: u16) {
        if let Some(backpressure) = &mut self.backpressure {
            anabranch_base::cold_path();
            backpressure.left(stream);
        }
    }

    /// Takes a message, or the rest of one, out of its queue.
    pub(super) fn remove_queued(
        &mut self,
        tables: &mut Tables,
        map: &StreamMap,
        interleaves: bool,
        stream: u16,
        number: u32,
    ) -> Option<Removed> {
        let subflow = map.subflow_of(stream);
        let removed = tables.subflows.get_mut(subflow)?.out.remove(stream, number, interleaves);
        if let Some((_, removed)) = removed {
            return Some(removed);
        }
        let message = self.deferred.as_mut()?.remove(number)?;
        Some(Removed { begun: None, unordered: message.unordered })
    }

    /// Takes a message of which nothing has left out of its queue.
    pub(super) fn take_queued(
        &mut self,
        tables: &mut Tables,
        map: &StreamMap,
        interleaves: bool,
        stream: u16,
        number: u32,
    ) -> Option<Queued> {
        let subflow = map.subflow_of(stream);
        let removed = tables.subflows.get_mut(subflow)?.out.remove(stream, number, interleaves);
        removed.map(|(message, _)| message).or_else(|| self.deferred.as_mut()?.remove(number))
    }

    /// Memory of messages accepted and not yet sent, payload and bookkeeping, bytes.
    pub(crate) fn waiting_memory(&self, tables: &Tables) -> usize {
        let queued: usize = tables.subflows.rows().iter().map(|subflow| subflow.out.memory()).sum();
        queued + self.deferred.as_ref().map_or(0, |deferred| deferred.memory())
    }

    /// Bytes accepted and not yet sent.
    pub(crate) fn queued_bytes(&self, tables: &Tables) -> usize {
        tables.subflows.rows().iter().map(|s| s.out.queued_bytes()).sum::<usize>() + self.deferred_bytes()
    }

    /// Bytes of messages that wait for a stream reset.
    pub(crate) fn deferred_bytes(&self) -> usize {
        self.deferred.as_ref().map_or(0, |deferred| deferred.bytes())
    }

    /// Replaces the set of streams that must wait: messages that need not wait any more go on.
    pub(crate) fn defer(
        &mut self,
        tables: &mut Tables,
        map: &StreamMap,
        cx: &Context,
        all: bool,
        mut streams: Vec<u16>,
    ) {
        if self.deferred.is_none() && !all && streams.is_empty() {
            return;
        }
        streams.sort_unstable();
        streams.dedup();
        let mut deferred = Deferred::of(all, streams);
        let before = self.deferred.take().map(|before| before.into_messages()).unwrap_or_default();
        let arrival = cx.report.stats.messages_accepted;
        for message in before {
            if deferred.defers(message.stream) {
                deferred.push(message);
                continue;
            }
            let subflow = map.subflow_of(message.stream);
            if let Some(subflow) = tables.subflows.get_mut(subflow) {
                subflow.out.push(message, arrival);
            }
        }
        if deferred.is_any() {
            self.deferred = Some(Box::new(deferred));
        }
    }

    /// True if a message of a stream waits, or is not acknowledged cumulatively and not given up. Where flights do
    /// not count by stream it looks at all chunks.
    pub(crate) fn is_under_way(&self, tables: &Tables, stream: u16) -> bool {
        tables.subflows.rows().iter().any(|subflow| subflow.out.queued_on(stream) > 0)
            || self.deferred.as_ref().is_some_and(|deferred| deferred.bytes_of(stream) > 0)
            || tables.spaces.rows().iter().any(|space| space.flight.bytes_of(stream) > 0)
    }

    /// The configuration may need the count by stream, or a look at thresholds.
    pub(super) fn follow_buffers(&mut self, tables: &mut Tables, cx: &Context) {
        let limits = &cx.env.config().limits;
        self.weighs_all = self.near_retention_limit || limits.stream_send_minimum != 0;
        if limits.stream_send_buffer != 0 || limits.send_buffer_counts != SendBufferCounts::Unsent {
            self.backpressure.get_or_insert_default();
        }
        if limits.send_buffer_counts == SendBufferCounts::Unacknowledged {
            self.count_by_stream(tables);
        }
        self.note_gone();
    }

    /// Bytes that count against the send buffer: of a stream, or of all.
    pub(crate) fn buffered_bytes(&self, tables: &Tables, cx: &Context, stream: Option<u16>) -> usize {
        let unacknowledged = cx.env.config().limits.send_buffer_counts == SendBufferCounts::Unacknowledged;
        let flights = || tables.spaces.rows().iter().map(|space| &space.flight);
        let (queued, sent) = match stream {
            None => (
                self.queued_bytes(tables),
                if unacknowledged { flights().map(Flight::bytes).sum() } else { 0 },
            ),
            Some(stream) => {
                let queued: usize = tables.subflows.rows().iter().map(|s| s.out.queued_on(stream)).sum();
                let deferred = self.deferred.as_ref().map_or(0, |deferred| deferred.bytes_of(stream));
                let sent = if unacknowledged { flights().map(|f| f.bytes_of(stream)).sum() } else { 0 };
                (queued + deferred, sent)
            }
        };
        queued.saturating_add(usize::try_from(sent).unwrap_or(usize::MAX))
    }

    /// `send` has refused a message because others of its stream wait or are in flight with another code point: Writable is owed.
    pub(crate) fn owe_idle(&mut self, tables: &mut Tables, map: &StreamMap, stream: u16) {
        self.count_by_stream(tables);
        let dscp = map.dscp_of_stream(tables, stream);
        self.backpressure.get_or_insert_default().busy.insert(stream, dscp);
    }

    /// Tells of streams that waited until none of their data is in flight, and of those whose code point has changed meanwhile.
    #[inline(never)]
    fn tell_idle_streams(
        &mut self,
        tables: &mut Tables,
        map: &StreamMap,
        cx: &mut Context,
        busy: &mut BTreeMap<u16, Dscp>,
    ) {
        self.count_by_stream(tables);
        busy.retain(|stream, before| {
            let waits = map.dscp_of_stream(tables, *stream) == *before && self.is_under_way(tables, *stream);
            if !waits {
                cx.tell(Event::Writable { stream: Some(*stream) });
            }
            waits
        });
    }

    /// The user wants an event when the buffered bytes of a stream, or of all, have fallen to `threshold` or below; `None` ends it.
    ///
    /// # Errors
    /// When there is no such stream.
    pub(crate) fn set_low_threshold(
        &mut self,
        tables: &mut Tables,
        map: &StreamMap,
        cx: &Context,
        stream: Option<u16>,
        threshold: Option<usize>,
    ) -> Result<(), SendError> {
        if let Some(stream) = stream.filter(|stream| *stream >= map.streams()) {
            return Err(SendError::NoSuchStream { stream, streams: map.streams() });
        }
        let above = threshold.is_some_and(|threshold| self.buffered_bytes(tables, cx, stream) > threshold);
        let backpressure = self.backpressure.get_or_insert_default();
        match threshold {
            Some(threshold) => {
                backpressure.low.insert(stream, Low { threshold, above });
            }
            None => {
                backpressure.low.remove(&stream);
            }
        }
        if cx.env.config().limits.send_buffer_counts == SendBufferCounts::Unacknowledged {
            self.count_by_stream(tables);
        }
        Ok(())
    }

    /// Bytes that have left and are not acknowledged are counted for each stream from now on, also in spaces opened since the last
    /// call.
    pub(super) fn count_by_stream(&mut self, tables: &mut Tables) {
        let mut anew = false;
        for space in tables.spaces.rows_mut() {
            anew |= space.flight.count_by_stream();
        }
        // Acknowledgements before this call were not counted by stream.
        if anew {
            self.note_gone();
        }
    }

    /// A message was accepted: the buffered bytes may have risen above a threshold.
    #[inline(never)]
    pub(super) fn note_accepted(&mut self, tables: &Tables, cx: &Context, stream: u16) {
        for which in [None, Some(stream)] {
            let known = self.backpressure.as_ref().and_then(|all| all.low.get(&which));
            let Some(low) = known.filter(|low| !low.above) else { continue };
            let above = self.buffered_bytes(tables, cx, which) > low.threshold;
            if let Some(low) = self.backpressure.as_mut().and_then(|all| all.low.get_mut(&which)) {
                low.above = above;
            }
        }
    }

    /// Messages have gone in another way than by leaving: all thresholds are to be looked at.
    pub(crate) fn note_gone(&mut self) {
        if let Some(backpressure) = &mut self.backpressure {
            backpressure.all_touched = true;
        }
    }

    /// `send` said Full and there is room again: tells the user once.
    #[inline]
    pub(crate) fn tell_writable(&mut self, tables: &mut Tables, map: &StreamMap, cx: &mut Context) {
        if self.writable_owed && !self.is_full_for_sure(tables, cx) {
            self.tell_writable_if_room(tables, cx);
        }
        if self.backpressure.is_some() {
            self.tell_backpressure(tables, map, cx);
        }
    }

    /// True if the only subflow has more than half of the largest possible send buffer waiting: the question asked with
    /// every packet.
    #[inline]
    fn is_full_for_sure(&self, tables: &Tables, cx: &Context) -> bool {
        let [subflow] = tables.subflows.rows() else { return false };
        let limits = &cx.env.config().limits;
        let weight = subflow.out.weight(false);
        if !subflow.writable_owed || weight <= limits.send_buffer / 2 {
            return false;
        }
        limits.max_send_buffer <= limits.send_buffer || weight > self.largest_now(tables, limits) / 2
    }

    /// The present size of a send buffer that grows with the window.
    #[inline]
    fn largest_now(&self, tables: &Tables, limits: &LimitConfig) -> usize {
        let [lane] = tables.lanes.rows() else { return usize::MAX };
        let windows = usize::try_from(2 * lane.window.cwnd()).unwrap_or(usize::MAX);
        windows.clamp(limits.send_buffer, limits.max_send_buffer)
    }

    #[inline(never)]
    fn tell_writable_if_room(&mut self, tables: &mut Tables, cx: &mut Context) {
        let limit = send_buffer(cx, tables.lanes.rows().iter().max_by_key(|lane| lane.window.cwnd())) / 2;
        if self.deferred_bytes() > limit {
            return;
        }
        let unacknowledged = cx.env.config().limits.send_buffer_counts == SendBufferCounts::Unacknowledged;
        if unacknowledged && self.buffered_bytes(tables, cx, None) > limit {
            return;
        }
        let (mut told, mut owed) = (false, false);
        for subflow in tables.subflows.rows_mut() {
            // With either count, half of the buffer has room for bookkeeping.
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

    /// Tells the user of streams that take messages again, and of thresholds that were reached.
    #[inline(never)]
    fn tell_backpressure(&mut self, tables: &mut Tables, map: &StreamMap, cx: &mut Context) {
        if cx.env.config().limits.send_buffer_counts == SendBufferCounts::Unacknowledged {
            self.count_by_stream(tables);
        }
        let Some(mut backpressure) = self.backpressure.take() else { return };
        let mut touched = std::mem::take(&mut backpressure.touched);
        for space in tables.spaces.rows_mut() {
            space.flight.take_fallen(&mut touched);
        }
        let all = std::mem::take(&mut backpressure.all_touched);
        if all {
            touched.extend(backpressure.full.iter());
            touched.extend(backpressure.low.keys().flatten());
        }
        touched.sort_unstable();
        touched.dedup();
        // With no limit on streams any more, every stream that waits has room.
        let room = match cx.env.config().limits.stream_send_buffer {
            0 => usize::MAX,
            most => most / 2,
        };
        for stream in touched.drain(..) {
            let is_full = backpressure.full.contains(&stream);
            let low = backpressure.low.get_mut(&Some(stream)).filter(|low| low.above);
            if !is_full && low.is_none() {
                continue;
            }
            let bytes = self.buffered_bytes(tables, cx, Some(stream));
            if is_full && bytes <= room {
                backpressure.full.remove(&stream);
                cx.tell(Event::Writable { stream: Some(stream) });
            }
            if let Some(low) = low.filter(|low| bytes <= low.threshold) {
                low.above = false;
                cx.tell(Event::BufferedLow { stream: Some(stream) });
            }
        }
        backpressure.touched = touched;
        if !backpressure.busy.is_empty() {
            self.tell_idle_streams(tables, map, cx, &mut backpressure.busy);
        }
        if let Some(low) = backpressure.low.get_mut(&None).filter(|low| low.above) {
            if self.buffered_bytes(tables, cx, None) <= low.threshold {
                low.above = false;
                cx.tell(Event::BufferedLow { stream: None });
            }
        }
        self.backpressure = Some(backpressure);
    }

    /// True if the send buffer of a subflow has no room for a stream, when so many bytes are in it.
    #[cold]
    #[inline(never)]
    pub(super) fn is_full(
        &self,
        tables: &Tables,
        cx: &Context,
        id: SubflowId,
        message: &Message,
        waiting: usize,
    ) -> bool {
        let lane = tables.subflows.get(id).and_then(|subflow| tables.lanes.get(subflow.lane));
        let buffer = send_buffer(cx, lane);
        waiting >= buffer && !self.has_minimum(tables, cx, message, waiting, buffer)
    }

    /// True if a message may be added to a send buffer that is full, as its stream has less than its minimum there.
    /// The minimums of all streams are half of the buffer together, and a message longer than its stream's minimum is
    /// taken only while the buffer is exceeded by less than that half: one long message of another stream must not
    /// take the room that is left to short ones.
    pub(super) fn has_minimum(
        &self,
        tables: &Tables,
        cx: &Context,
        message: &Message,
        buffered: usize,
        buffer: usize,
    ) -> bool {
        let (least, most) = (cx.env.config().limits.stream_send_minimum, buffer / 2);
        let fits = message.payload.len() <= least || buffered < buffer.saturating_add(most);
        let of_stream =
            || tables.subflows.rows().iter().map(|s| s.out.memory_on(message.stream)).sum::<usize>();
        if !fits
            || self.near_retention_limit
            || self.buffered_bytes(tables, cx, Some(message.stream)).max(of_stream()) >= least
        {
            return false;
        }
        let mut taken = self.deferred_bytes();
        let mut waiting = tables.subflows.rows().iter().flat_map(|subflow| subflow.out.waiting());
        waiting.all(|bytes| {
            taken = taken.saturating_add(bytes.min(least));
            taken < most
        })
    }

    /// Bytes that may still be sent before those that are not acknowledged cumulatively fill their limit.
    ///
    /// A peer may take back an acknowledgement by gap blocks (6.2.1), so that data is kept. An honest peer has a
    /// buffer for it, and its a_rwnd is the room left. One that lies, with a huge a_rwnd and gap blocks for
    /// all but one TSN, could make us keep any amount: therefore a send buffer and a receive buffer together
    /// are the limit, bookkeeping included. Both halves of an association share that memory ("Bounds on memory",
    /// docs/explanation/engines.md): the receiver's data beyond one window is taken off here, and so are the messages
    /// that wait beyond the send buffers.
    // rfc9260:6.1-22
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "every packet of new data asks; measured")]
    pub(super) fn retention_left_here(&self, tables: &Tables, cx: &Context) -> u64 {
        let config = cx.env.config();
        let limits = &config.limits;
        let (buffers, beyond, most) = match tables.subflows.rows() {
            // With one send buffer the shared memory is the limit.
            [subflow] => {
                (limits.largest_send_buffer() as u64, beyond_buffer(subflow, limits), MOST_IN_FLIGHT * CHUNK)
            }
            several => {
                let beyond = several.iter().map(|subflow| beyond_buffer(subflow, limits)).sum();
                (self.send_buffers(tables, cx), beyond, most_retained(config))
            }
        };
        let waiting = if beyond == 0 { 0 } else { beyond.saturating_sub(least_room(config)) };
        let shared = buffers.saturating_add(limits.largest_receive_window().into());
        let limit = shared.saturating_sub(self.receiver_reservation + waiting).min(most);
        limit.saturating_sub(tables.retained())
    }

    /// [`Self::retention_left_here`], out of line.
    #[inline(never)]
    pub(super) fn retention_left(&self, tables: &Tables, cx: &Context) -> u64 {
        self.retention_left_here(tables, cx)
    }

    /// The send buffers of all subflows, as large as they may grow, bytes. The place of a subflow that was removed
    /// counts until the association ends: the messages that waited there have moved to another.
    #[inline]
    pub(crate) fn send_buffers(&self, tables: &Tables, cx: &Context) -> u64 {
        (cx.env.config().limits.largest_send_buffer() as u64).saturating_mul(tables.subflows.len() as u64)
    }

    /// Bytes that wait beyond the send buffers.
    #[inline]
    fn waits_beyond(&self, tables: &Tables, cx: &Context) -> u64 {
        let limits = &cx.env.config().limits;
        let beyond: u64 = match tables.subflows.rows() {
            [subflow] => beyond_buffer(subflow, limits),
            several => several.iter().map(|subflow| beyond_buffer(subflow, limits)).sum(),
        };
        if beyond == 0 { 0 } else { beyond.saturating_sub(least_room(cx.env.config())) }
    }

    /// `left` bytes may still be kept for sent data. Where that is less than the send buffers, the bookkeeping of
    /// messages counts against these, so that both stay within the limit together.
    #[inline]
    pub(super) fn note_retention_left(&mut self, tables: &Tables, cx: &Context, left: u64) {
        if self.near_retention_limit || left < self.send_buffers(tables, cx) {
            self.look_whether_near(tables, cx, left);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_whether_near(&mut self, tables: &Tables, cx: &Context, left: u64) {
        self.near_retention_limit =
            left.saturating_add(least_room(cx.env.config())) < self.send_buffers(tables, cx);
        self.weighs_all = self.near_retention_limit || cx.env.config().limits.stream_send_minimum != 0;
    }

    /// Bytes that are kept beyond the send buffers of all subflows, sent or waiting: that much less may the receiver hold. A packet of
    /// each sequence space, which may be in flight whatever the limits, is not counted.
    pub(crate) fn kept_beyond_buffers(&self, tables: &Tables, cx: &Context) -> u64 {
        let packets = u64::from(cx.env.config().mtu) * tables.spaces.len() as u64;
        let kept = tables.retained() + self.waits_beyond(tables, cx);
        kept.saturating_sub(self.send_buffers(tables, cx).saturating_add(packets))
    }

    /// Reserves memory for the receiver, which holds `bytes` more than one window.
    pub(crate) fn reserve_for_receiver(&mut self, bytes: u64) {
        self.receiver_reservation = bytes;
    }

    /// The most bytes of undelivered messages at a time, which may be handed back: messages that wait,
    /// and those that are not acknowledged.
    pub(crate) fn most_undelivered(&self, tables: &Tables, cx: &Context) -> u64 {
        self.send_buffers(tables, cx).saturating_add(most_retained(cx.env.config()))
    }
}
