//! Messages that the user may take: in the order in which they became whole, or, once a stream was read alone, stream by stream.

use std::collections::{BTreeMap, VecDeque};

use super::parked::Parked;
use crate::ids::SpaceId;
use crate::message::Received;
use crate::room;

/// A queue with room for more messages than that gives room back.
const LARGE: usize = 1024;

/// Messages, and parts of such, that the user may take.
#[derive(Debug, Default)]
pub(in crate::receiver) struct Ready {
    /// In the order of delivery, as long as the user has read no stream alone; then it is empty between two calls.
    queue: VecDeque<Received>,
    by_stream: Option<Box<ByStream>>,
}

/// Messages that the user may take, with an index: taking a message from anywhere costs the logarithm of the number
/// that wait, and messages that wait on other streams are not looked at.
#[derive(Debug, Default)]
pub(in crate::receiver) struct ByStream {
    /// By stream, and by place in the order of delivery.
    messages: BTreeMap<(u16, u64), Box<Parked>>,
    /// Place in the order of delivery, and stream.
    order: BTreeMap<u64, u16>,
    /// The next place.
    next: u64,
}

impl Ready {
    /// Number of messages and parts.
    pub(in crate::receiver) fn len(&self) -> usize {
        self.queue.len() + self.by_stream.as_ref().map_or(0, |all| all.messages.len())
    }

    /// True if there is none.
    #[inline]
    pub(in crate::receiver) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.by_stream.as_ref().is_none_or(|all| all.messages.is_empty())
    }

    /// True if a message on `stream` would be news to the user: there is none, or none of the stream where the user
    /// reads streams alone.
    #[inline]
    pub(in crate::receiver) fn is_quiet(&self, stream: u16) -> bool {
        self.queue.is_empty() && self.by_stream.as_ref().is_none_or(|all| Self::has_none_of(all, stream))
    }

    #[cold]
    fn has_none_of(all: &ByStream, stream: u16) -> bool {
        all.first_of(stream).is_none()
    }

    /// A message of one chunk, the common case.
    #[allow(clippy::inline_always, reason = "what is appended is not moved twice; measured")]
    #[inline(always)]
    pub(in crate::receiver) fn push(&mut self, message: Received) {
        room::push(&mut self.queue, message);
        if self.by_stream.is_some() {
            self.index();
        }
    }

    /// Any other message, or part of one.
    #[inline(never)]
    pub(in crate::receiver) fn push_other(&mut self, message: Received) {
        self.push(message);
    }

    /// The messages in the queue go to their places.
    #[cold]
    fn index(&mut self) {
        if let Some(all) = &mut self.by_stream {
            self.queue.drain(..).for_each(|message| all.push(message));
        }
    }

    /// The next message, of any stream.
    #[inline]
    pub(in crate::receiver) fn pop(&mut self) -> Option<Received> {
        if self.by_stream.is_some() {
            self.fetch();
        }
        if self.queue.capacity() > LARGE {
            self.shrink();
        }
        self.queue.pop_front()
    }

    /// The queue's spare capacity is freed when it holds little: no count of memory includes it.
    #[cold]
    fn shrink(&mut self) {
        if self.queue.len() < self.queue.capacity() / 4 {
            self.queue.shrink_to(self.queue.capacity() / 2);
        }
    }

    /// The next message comes into the queue, to be taken from there.
    #[cold]
    fn fetch(&mut self) {
        let next = self.by_stream.as_mut().and_then(|all| all.pop());
        self.queue.extend(next);
    }

    /// The next message of a stream.
    pub(in crate::receiver) fn pop_from(&mut self, stream: u16) -> Option<Received> {
        self.by_stream.get_or_insert_default();
        self.index();
        self.by_stream.as_mut()?.pop_from(stream)
    }

    /// True if the user reads streams alone.
    pub(in crate::receiver) fn is_by_stream(&self) -> bool {
        self.by_stream.is_some()
    }

    /// The streams of which there is something, ascending.
    pub(in crate::receiver) fn streams(&self) -> Vec<u16> {
        match &self.by_stream {
            None => {
                let mut streams: Vec<u16> = self.queue.iter().map(|message| message.stream).collect();
                streams.sort_unstable();
                streams.dedup();
                streams
            }
            Some(all) => all.streams().collect(),
        }
    }

    /// The charge of each: the space that brought it, its bytes, and its number of pieces.
    pub(in crate::receiver) fn sizes(&self) -> impl Iterator<Item = (SpaceId, usize, usize)> + '_ {
        let parked = self.by_stream.iter().flat_map(|all| all.messages.values());
        let queued = self.queue.iter().map(|message| (message.space, message.len(), message.count()));
        queued.chain(parked.map(|message| message.size()))
    }

    /// All messages here belong to the first space from now on.
    pub(in crate::receiver) fn leave_spaces(&mut self) {
        self.queue.iter_mut().for_each(|message| message.space = SpaceId::FIRST);
        let parked = self.by_stream.iter_mut().flat_map(|all| all.messages.values_mut());
        parked.for_each(|message| message.leave_space());
    }
}

impl ByStream {
    fn push(&mut self, message: Received) {
        self.order.insert(self.next, message.stream);
        self.messages.insert((message.stream, self.next), Box::new(Parked::of(message)));
        self.next += 1;
    }

    fn pop(&mut self) -> Option<Received> {
        let (place, stream) = self.order.pop_first()?;
        self.messages.remove(&(stream, place)).map(|message| message.of_stream(stream))
    }

    fn pop_from(&mut self, stream: u16) -> Option<Received> {
        let key = self.first_of(stream)?;
        self.order.remove(&key.1);
        self.messages.remove(&key).map(|message| message.of_stream(stream))
    }

    fn first_of(&self, stream: u16) -> Option<(u16, u64)> {
        self.messages.range((stream, 0)..=(stream, u64::MAX)).next().map(|(key, _)| *key)
    }

    fn streams(&self) -> impl Iterator<Item = u16> + '_ {
        let mut from = Some((0, 0));
        std::iter::from_fn(move || {
            let ((stream, _), _) = self.messages.range(from?..).next()?;
            from = stream.checked_add(1).map(|next| (next, 0));
            Some(*stream)
        })
    }
}

#[cfg(test)]
mod tests {
    use anabranch_base::Instant;
    use bytes::Bytes;

    use super::*;

    fn message(stream: u16, number: u32) -> Received {
        Received {
            stream,
            ppid: 0,
            unordered: false,
            immediate: false,
            path: 0,
            number,
            tsn: 0,
            at: Instant::ZERO,
            part: None,
            space: SpaceId::FIRST,
            first: Bytes::from_static(b"x"),
            rest: None,
        }
    }

    fn named(message: Option<Received>) -> Option<(u16, u32)> {
        message.map(|message| (message.stream, message.number))
    }

    #[test]
    fn a_stream_is_read_alone_and_the_rest_in_order_of_delivery() {
        let mut ready = Ready::default();
        for (stream, number) in [(3, 0), (1, 0), (3, 1), (u16::MAX, 0), (1, 1)] {
            ready.push(message(stream, number));
        }
        assert!(!ready.is_quiet(7) && !ready.is_by_stream());
        assert_eq!(ready.streams(), [1, 3, u16::MAX]);
        assert_eq!(named(ready.pop_from(1)), Some((1, 0)));
        assert!(ready.is_quiet(7) && !ready.is_quiet(1) && ready.is_by_stream());
        assert_eq!(ready.streams(), [1, 3, u16::MAX]);
        ready.push(message(0, 0));
        assert_eq!(named(ready.pop_from(1)), Some((1, 1)));
        assert_eq!(named(ready.pop_from(1)), None);
        let rest: Vec<_> = std::iter::from_fn(|| named(ready.pop())).collect();
        assert_eq!(rest, [(3, 0), (3, 1), (u16::MAX, 0), (0, 0)]);
        assert!(ready.is_empty() && ready.streams().is_empty());
    }
}
