//! Messages on their way out: one queue a stream, a scheduler over them, and fragmentation.

use std::collections::VecDeque;

use anabranch_wire::{Mid, Ssn, padded};
use bytes::{Buf, Bytes};

use super::numbering::Numbering;
use super::scheduler::{Left, Scheduler};
use crate::config::Config;
use crate::message::Message;
use crate::per_stream::PerStream;
use crate::room::push;

/// One DATA chunk's worth of a message, before it has a TSN.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fragment {
    pub(crate) payload: Bytes,
    pub(crate) stream: u16,
    /// Number of its message in its stream.
    pub(crate) mid: Mid,
    /// Its place in the message: 0 for the first fragment. In the encoding of the thesis, which has no such number, the
    /// association sequence number once the chunk was sent.
    pub(crate) number: u32,
    pub(crate) ppid: u32,
    pub(crate) unordered: bool,
    pub(crate) beginning: bool,
    pub(crate) ending: bool,
    pub(crate) immediate: bool,
    /// Ticket of its message, by which the sender finds its options and its fate; 0: it has none.
    pub(crate) ticket: u32,
}

/// A message that waits.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub(crate) payload: Bytes,
    pub(crate) ppid: u32,
    pub(crate) ticket: u32,
    pub(crate) stream: u16,
    pub(crate) unordered: bool,
    pub(crate) immediate: bool,
}

impl Queued {
    /// Memory that a waiting message takes besides its payload, bytes.
    pub(crate) const COST: usize = size_of::<Self>();

    /// Bytes that so many messages with so much payload count against the send buffer: with `all` payload and
    /// bookkeeping together, otherwise the larger of the two.
    #[inline]
    pub(crate) fn weight(payload: usize, messages: usize, all: bool) -> usize {
        let besides = messages * Self::COST;
        if all { payload + besides } else { payload.max(besides) }
    }

    #[inline]
    pub(crate) fn new(message: Message, ticket: u32) -> Self {
        let Message { stream, ppid, unordered, immediate, payload, .. } = message;
        Self { payload, ppid, ticket, stream, unordered, immediate }
    }
}

/// A message that was taken out of its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removed {
    /// A part of it has left: its number.
    pub(crate) begun: Option<Mid>,
    pub(crate) unordered: bool,
}

impl Fragment {
    /// The stream sequence number, which DATA carries.
    // rfc9260:6.5-5
    pub(crate) fn ssn(&self) -> Ssn {
        Ssn::new(self.mid.get() as u16)
    }

    /// The last word of I-DATA's header: "Payload Protocol Identifier / Fragment Sequence Number".
    pub(crate) fn ppid_or_number(&self) -> u32 {
        if self.beginning { self.ppid } else { self.number }
    }
}

#[derive(Debug, Default)]
struct Stream {
    queue: VecDeque<Queued>,
    /// Bytes that wait.
    bytes: usize,
    /// Bytes of the message in front that have left already.
    offset: usize,
    /// Its number, once its first fragment has left, and that of its next fragment.
    mid: Mid,
    number: u32,
}

impl Stream {
    fn memory(&self) -> usize {
        self.bytes + self.queue.len() * Queued::COST
    }
}

/// Messages that `send` has accepted and that have not left.
#[derive(Debug)]
pub(crate) struct Outbound {
    streams: PerStream<Stream>,
    scheduler: Scheduler,
    queued_bytes: usize,
    /// Messages that wait.
    messages: usize,
    /// When each message came, where several subflows wait for their turn: in the order in which they leave, nearly.
    arrivals: Option<VecDeque<u64>>,
}

impl Outbound {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            streams: PerStream::default(),
            scheduler: Scheduler::new(config),
            queued_bytes: 0,
            messages: 0,
            arrivals: None,
        }
    }

    /// The number of the message of a stream that has begun to leave, if that is an unordered one: its chunks in flight were numbered anew.
    pub(crate) fn number_begun(&mut self, stream: u16, mid: Mid) {
        let Some(stream) = self.streams.get_mut(stream).filter(|stream| stream.offset > 0) else { return };
        if stream.queue.front().is_some_and(|message| message.unordered) {
            stream.mid = mid;
        }
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Bytes that count against the send buffer ([`Queued::weight`]).
    #[inline]
    pub(crate) fn weight(&self, all: bool) -> usize {
        Queued::weight(self.queued_bytes, self.messages, all)
    }

    /// Messages that wait.
    pub(crate) fn messages(&self) -> usize {
        self.messages
    }

    /// Memory that the waiting messages take besides their payload, bytes.
    #[inline]
    pub(crate) fn bookkeeping(&self) -> usize {
        self.messages * Queued::COST
    }

    /// Memory of waiting messages, payload and bookkeeping, bytes.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.queued_bytes + self.bookkeeping()
    }

    /// Bytes that wait on a stream.
    pub(crate) fn queued_on(&self, id: u16) -> usize {
        self.streams.get(id).map_or(0, |stream| stream.bytes)
    }

    /// Memory of the messages that wait on each stream that was used, payload and bookkeeping, bytes.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        self.streams.values().map(Stream::memory)
    }

    /// Memory of one stream's waiting messages, bytes.
    pub(crate) fn memory_on(&self, id: u16) -> usize {
        self.streams.get(id).map_or(0, Stream::memory)
    }

    /// True if the counts of bytes agree with the queues: for tests.
    pub(crate) fn is_counted(&self) -> bool {
        let waits = |stream: &Stream| {
            stream.queue.iter().map(|m| m.payload.len()).sum::<usize>().saturating_sub(stream.offset)
        };
        self.streams.values().all(|stream| stream.bytes == waits(stream))
            && self.queued_bytes == self.streams.values().map(|stream| stream.bytes).sum::<usize>()
            && self.messages == self.streams.values().map(|stream| stream.queue.len()).sum::<usize>()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queued_bytes == 0
    }

    /// True if the waiting messages take `room` bytes or more as chunks of at most `most` bytes of payload, each with
    /// a header of `header` bytes and its padding.
    pub(crate) fn fills(&self, room: usize, header: usize, most: usize) -> bool {
        let mut left = room;
        for stream in self.streams.values() {
            let mut begun = stream.offset;
            for message in &stream.queue {
                let payload = message.payload.len() - std::mem::take(&mut begun);
                let chunks = payload.div_ceil(most.max(1)) * header + padded(payload);
                if chunks >= left {
                    return true;
                }
                left -= chunks;
            }
        }
        false
    }

    /// Keeps the order of arrival, or stops: for a subflow scheduler that asks for it.
    pub(crate) fn keep_arrivals(&mut self, keep: bool) {
        if keep && self.arrivals.is_none() {
            let waiting = self.streams.values().map(|stream| stream.queue.len()).sum();
            self.arrivals = Some(std::iter::repeat_n(0, waiting).collect());
        } else if !keep {
            self.arrivals = None;
        }
    }

    /// When the message that has waited longest came, in the count of the association; 0 when that is not kept.
    pub(crate) fn waiting_since(&self) -> u64 {
        self.arrivals.as_ref().and_then(|arrivals| arrivals.front().copied()).unwrap_or(0)
    }

    /// `arrival` counts the messages of the association.
    #[allow(clippy::inline_always, reason = "used once for each message; measured")]
    #[inline(always)]
    pub(crate) fn push(&mut self, message: Queued, arrival: u64) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.push_back(arrival);
        }
        self.streams.make(message.stream);
        if let Some(stream) = self.streams.get_mut(message.stream) {
            self.queued_bytes += message.payload.len();
            self.messages += 1;
            stream.bytes += message.payload.len();
            self.scheduler.queued(message.stream, stream.queue.is_empty());
            push(&mut stream.queue, message);
        }
    }

    /// Payload bytes of the next fragment when one may hold at most `limit`; `None` when nothing waits, or nothing that may
    /// go into the packet being filled.
    pub(crate) fn peek(&self, limit: usize) -> Option<usize> {
        let stream = self.streams.get(self.scheduler.next()?)?;
        let message = stream.queue.front()?;
        Some((message.payload.len() - stream.offset).min(limit))
    }

    /// The stream of the fragment that goes next, if an ordered message begins with it.
    pub(crate) fn begins_ordered(&self) -> Option<u16> {
        let id = self.scheduler.next()?;
        let stream = self.streams.get(id).filter(|stream| stream.offset == 0)?;
        stream.queue.front().filter(|message| !message.unordered).map(|_| id)
    }

    /// Takes the next fragment: as many bytes as `cut` makes of those that wait of its message, or nothing where it says
    /// `None`. The payload is shared with the message, not copied.
    // rfc8260:2.1-5 rfc8260:2.2.2-1 rfc8260:2.2.2-2 rfc8260:2.2.2-3 rfc8260:2.2.2-5
    // rfc9260:3.3.1-4 rfc9260:3.3.1-6 rfc9260:3.3.1-11 rfc9260:6-8 rfc9260:6.9-2 rfc9260:6.9-9 rfc9260:6.9-13
    #[inline]
    pub(crate) fn pop(
        &mut self,
        numbering: &mut Numbering,
        cut: impl FnOnce(usize) -> Option<usize>,
    ) -> Option<Fragment> {
        let stream_id = self.scheduler.next()?;
        let stream = self.streams.get_mut(stream_id)?;
        let message = stream.queue.front()?;
        let offset = stream.offset;
        let len = cut(message.payload.len() - offset)?;
        let ending = offset + len == message.payload.len();
        if offset == 0 {
            stream.mid = numbering.take(stream_id, message.unordered);
            stream.number = 0;
        }
        let (ppid, unordered, immediate) = (message.ppid, message.unordered, message.immediate && ending);
        let ticket = message.ticket;
        self.queued_bytes -= len;
        stream.bytes -= len;
        let payload = if ending {
            let mut payload = stream.queue.pop_front()?.payload;
            self.messages -= 1;
            payload.advance(offset);
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.pop_front();
            }
            stream.offset = 0;
            payload
        } else {
            stream.offset += len;
            message.payload.slice(offset..offset + len)
        };
        let fragment = Fragment {
            payload,
            stream: stream_id,
            mid: stream.mid,
            number: stream.number,
            ppid,
            unordered,
            beginning: offset == 0,
            ending,
            immediate,
            ticket,
        };
        stream.number = stream.number.wrapping_add(1);
        let more = !stream.queue.is_empty();
        let interleaves = numbering.identifies();
        self.scheduler.left(Left { stream: stream_id, bytes: len, ending, more, interleaves });
        Some(fragment)
    }

    /// No more chunks go into the packet being filled.
    #[inline]
    pub(crate) fn packet_ended(&mut self) {
        self.scheduler.packet_ended();
    }

    /// Replaces the scheduler, or the values of streams. Waiting messages are taken in turns: the order in which they
    /// came is not known any more.
    pub(crate) fn reschedule(&mut self, config: &Config) {
        self.scheduler = Scheduler::new(config);
        // A message that has begun to leave ends first: its fragments may have to follow each other.
        let begun = self.streams.iter().find(|(_, stream)| stream.offset > 0).map(|(id, _)| id);
        let waiting = |id: u16, stream: &Stream| {
            (0..stream.queue.len()).map(move |place| (place, Some(id) != begun, id))
        };
        let mut order: Vec<_> = self.streams.iter().flat_map(|(id, stream)| waiting(id, stream)).collect();
        order.sort_unstable();
        for (place, _, stream) in order {
            self.scheduler.queued(stream, place == 0);
        }
        if let Some(begun) = begun {
            self.scheduler.begin_inside(begun);
        }
    }

    /// The value of a stream (priority or weight) has changed.
    pub(crate) fn set_stream_value(&mut self, stream: u16, value: u16) {
        self.scheduler.set_value(stream, value);
    }

    /// Takes away the messages that wait on a stream of which none has begun to leave, for another subflow.
    pub(crate) fn take_stream(&mut self, id: u16) -> VecDeque<Queued> {
        let Some(stream) = self.streams.get_mut(id) else { return VecDeque::new() };
        let moved = std::mem::take(&mut stream.queue);
        self.queued_bytes -= std::mem::take(&mut stream.bytes);
        self.messages -= moved.len();
        self.scheduler.retain(|other| other != id);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.truncate(arrivals.len() - moved.len().min(arrivals.len()));
        }
        moved
    }

    /// Takes out one message of a stream, or the rest of it that has not left.
    #[cold]
    pub(crate) fn remove(&mut self, id: u16, ticket: u32, interleaves: bool) -> Option<(Queued, Removed)> {
        let stream = self.streams.get_mut(id)?;
        let place = stream.queue.iter().position(|message| message.ticket == ticket)?;
        let message = stream.queue.remove(place)?;
        self.messages -= 1;
        let begun = (place == 0 && stream.offset > 0).then_some(stream.mid);
        let left = if begun.is_some() { std::mem::take(&mut stream.offset) } else { 0 };
        let waited = message.payload.len() - left;
        self.queued_bytes -= waited;
        stream.bytes -= waited;
        let more = !stream.queue.is_empty();
        self.scheduler.removed(id, place, begun.is_some(), more, interleaves);
        if let Some(arrivals) = &mut self.arrivals {
            // In the order in which they leave, nearly.
            if place == 0 {
                arrivals.pop_front()
            } else {
                arrivals.pop_back()
            };
        }
        let unordered = message.unordered;
        Some((message, Removed { begun, unordered }))
    }

    /// True if a part of a message on a stream has left, and another part has not.
    pub(crate) fn has_begun(&self, id: u16) -> bool {
        self.streams.get(id).is_some_and(|stream| stream.offset > 0)
    }

    /// True if a message waits on a stream.
    pub(crate) fn waits(&self, id: u16) -> bool {
        self.streams.get(id).is_some_and(|stream| !stream.queue.is_empty())
    }

    /// Tickets of waiting messages: for tests.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = u32> + '_ {
        let tickets =
            self.streams.values().flat_map(|stream| stream.queue.iter().map(|message| message.ticket));
        tickets.filter(|ticket| *ticket != 0)
    }

    /// Streams on which something waits.
    pub(crate) fn waiting_streams(&self) -> impl Iterator<Item = u16> + '_ {
        let waits = |stream: &Stream| !stream.queue.is_empty();
        self.streams.iter().filter(move |(_, stream)| waits(stream)).map(|(id, _)| id)
    }

    /// Takes out everything that waits, stream by stream; with the number of a message that has begun to leave. The
    /// caller clears the rest.
    pub(crate) fn take_all(&mut self) -> Vec<(Queued, Option<u32>)> {
        let mut all = Vec::new();
        for (_, stream) in self.streams.iter_mut() {
            let begun = (stream.offset > 0).then_some(stream.mid.get());
            let numbers = std::iter::once(begun).chain(std::iter::repeat(None));
            all.extend(stream.queue.drain(..).zip(numbers));
        }
        self.clear();
        all
    }

    /// Takes out the messages that wait on streams that the peer did not grant.
    pub(crate) fn drop_streams_from(&mut self, limit: u16) -> Vec<Queued> {
        let mut dropped = Vec::new();
        for (_, stream) in self.streams.iter_mut().filter(|(id, _)| *id >= limit) {
            stream.offset = 0;
            self.queued_bytes -= std::mem::take(&mut stream.bytes);
            self.messages -= stream.queue.len();
            dropped.extend(stream.queue.drain(..));
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.truncate(arrivals.len() - dropped.len().min(arrivals.len()));
        }
        self.scheduler.retain(|id| id < limit);
        dropped
    }

    /// Forgets everything: the association was aborted or restarted.
    pub(crate) fn clear(&mut self) {
        self.streams.clear();
        self.scheduler.clear();
        (self.queued_bytes, self.messages) = (0, 0);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(stream: u16, text: &'static str, unordered: bool) -> Queued {
        let payload = Bytes::from_static(text.as_bytes());
        Queued::new(Message { unordered, ..Message::new(stream, payload) }, 0)
    }

    fn drain(out: &mut Outbound, limit: usize) -> Vec<String> {
        let mut numbering = Numbering::default();
        let mut all = Vec::new();
        while let Some(peek) = out.peek(limit) {
            let f = out.pop(&mut numbering, |rest| Some(rest.min(limit))).unwrap();
            assert_eq!(peek, f.payload.len());
            let marks = format!(
                "{}{}{}",
                if f.beginning { "B" } else { "" },
                if f.ending { "E" } else { "" },
                if f.unordered { "U" } else { "" }
            );
            all.push(format!(
                "{}/{} {} {}",
                f.stream,
                f.ssn().get(),
                String::from_utf8_lossy(&f.payload),
                marks
            ));
        }
        assert!(out.is_empty() && out.pop(&mut numbering, Some).is_none());
        all
    }

    // rfc9260:3.3.1-6
    #[test]
    fn fragments_share_an_ssn_and_unordered_messages_use_none() {
        let mut out = Outbound::new(&Config::rfc9260());
        out.push(message(3, "abcdefg", false), 0);
        out.push(message(3, "x", true), 0);
        out.push(message(1, "y", false), 0);
        out.push(message(3, "z", false), 0);
        assert_eq!(out.queued_bytes(), 10);
        let expected = ["3/0 abc B", "3/0 def ", "3/0 g E", "3/1 x BEU", "1/0 y BE", "3/1 z BE"];
        assert_eq!(drain(&mut out, 3), expected);
    }

    #[test]
    fn round_robin_changes_stream_at_message_boundaries_only() {
        let mut out = Outbound::new(
            &Config::rfc9260().with(|c| c.streams.scheduling = crate::config::StreamScheduling::RoundRobin),
        );
        for text in ["aaaa", "b"] {
            out.push(message(0, text, false), 0);
        }
        out.push(message(5, "c", false), 0);
        assert_eq!(drain(&mut out, 2), ["0/0 aa B", "0/0 aa E", "5/0 c BE", "0/1 b BE"]);
    }
}
