//! Whole messages that wait for others of their stream.

use std::collections::BTreeMap;

use super::numbers::Numbers;
use super::parked::Parked;
use crate::ids::SpaceId;
use crate::message::Received;

/// A message that waits.
#[derive(Debug)]
struct Waits {
    message: Parked,
    numbers: Numbers,
}

impl Waits {
    /// Bytes that are charged for it.
    fn memory(&self) -> usize {
        self.message.memory() + self.numbers.memory()
    }
}

/// Messages that wait, of all streams: most streams have none, and a table for each would take more than the messages do.
#[derive(Debug, Default)]
pub(in crate::receiver) struct Waiting {
    /// By stream, and by a number that rises with their order in it.
    messages: BTreeMap<(u16, u64), Box<Waits>>,
    /// Bytes that are charged for the waiting messages.
    held: usize,
    /// Bytes of `held` that are charged for the TSNs of messages whose TSNs do not follow each other.
    apart: usize,
}

impl Waiting {
    /// True if nothing waits, the common case.
    #[inline]
    pub(in crate::receiver) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Bytes that are charged for messages that wait.
    #[inline]
    pub(in crate::receiver) fn held(&self) -> usize {
        self.held
    }

    /// The part of `held` for the TSNs of messages whose TSNs do not follow each other.
    #[inline]
    pub(in crate::receiver) fn apart(&self) -> usize {
        self.apart
    }

    /// The first waiting message of a stream: its unwrapped number, and its number on the wire.
    pub(in crate::receiver) fn first_of(&self, stream: u16) -> Option<(u64, u32)> {
        let (key, waits) = self.messages.range((stream, 0)..=(stream, u64::MAX)).next()?;
        Some((key.1, waits.message.number()))
    }

    /// True if a message of a stream waits under this number.
    pub(in crate::receiver) fn has(&self, stream: u16, number: u64) -> bool {
        !self.messages.is_empty() && self.messages.contains_key(&(stream, number))
    }

    /// A message waits, which came under these numbers of its sequence space.
    pub(in crate::receiver) fn insert(&mut self, number: u64, message: Received, numbers: Numbers) {
        let key = (message.stream, number);
        let waits = Waits { message: Parked::of(message), numbers };
        self.held += waits.memory();
        self.apart += waits.numbers.memory();
        self.messages.insert(key, Box::new(waits));
    }

    /// Takes a message out, which waits no more.
    pub(in crate::receiver) fn remove(&mut self, stream: u16, number: u64) -> Option<Received> {
        self.take_back(stream, number).map(|(message, _)| message)
    }

    /// Messages of the TSN space that came under numbers above `seq` alone, and of which no part was handed over: stream, number, the highest
    /// under which it came, and its charge.
    pub(in crate::receiver) fn above(&self, seq: u64) -> impl Iterator<Item = (u16, u64, u64, usize)> + '_ {
        let all = self.messages.iter().filter(move |(_, waits)| {
            let of_first = waits.message.size().0 == SpaceId::FIRST && !waits.message.is_part();
            of_first && waits.numbers.are_above(seq)
        });
        all.map(|((stream, number), waits)| (*stream, *number, waits.numbers.highest(), waits.memory()))
    }

    /// A message is given up, with the numbers under which it came.
    pub(in crate::receiver) fn take_back(&mut self, stream: u16, number: u64) -> Option<(Received, Numbers)> {
        let waits = self.messages.remove(&(stream, number))?;
        self.held -= waits.memory();
        self.apart -= waits.numbers.memory();
        Some((waits.message.of_stream(stream), waits.numbers))
    }

    /// Takes the messages of a stream that wait, in their order.
    pub(in crate::receiver) fn take(&mut self, stream: u16) -> Vec<Received> {
        let first =
            std::iter::from_fn(|| self.first_of(stream).and_then(|(number, _)| self.remove(stream, number)));
        first.collect()
    }

    /// All waiting messages.
    pub(in crate::receiver) fn iter(&self) -> impl Iterator<Item = &Parked> {
        self.messages.values().map(|waits| &waits.message)
    }

    /// The streams of which something waits, each as often as something does.
    pub(in crate::receiver) fn streams(&self) -> impl Iterator<Item = u16> + '_ {
        self.messages.keys().map(|(stream, _)| *stream)
    }
}
