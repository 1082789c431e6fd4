//! The order of the messages of each stream, where they have numbers of their own.

use super::numbers::Numbers;
use super::waiting::Waiting;
use crate::message::Received;
use crate::per_stream::PerStream;

/// The order of the messages of each stream, by number.
#[derive(Debug, Default)]
pub(crate) struct DeliveryOrder {
    /// Number of the next message to deliver.
    next: PerStream<u64>,
    waiting: Waiting,
}

impl DeliveryOrder {
    /// Streams of which something was ever delivered in order, or waits for that.
    pub(crate) fn streams(&self) -> impl Iterator<Item = u16> + '_ {
        self.next.iter().map(|(stream, _)| stream).chain(self.waiting.streams())
    }

    /// Bytes that are charged for messages that wait for others.
    pub(crate) fn held(&self) -> usize {
        self.waiting.held()
    }

    /// Messages that wait.
    pub(in crate::receiver) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Messages that wait, to give some up.
    pub(in crate::receiver) fn waiting_mut(&mut self) -> &mut Waiting {
        &mut self.waiting
    }

    /// Messages up to `number` that have not come never will. Those that have are delivered, and messages that waited
    /// for them.
    pub(crate) fn skip(&mut self, stream: u16, number: u64, mut deliver: impl FnMut(Received)) {
        let next = self.next.at(stream);
        let passed = number.saturating_add(1);
        while let Some((number, _)) = self.waiting.first_of(stream) {
            // The next in order, or one that has others missing before it which are given up.
            if number >= passed && number != (*next).max(passed) {
                break;
            }
            *next = number + 1;
            self.waiting.remove(stream, number).into_iter().for_each(&mut deliver);
        }
        *next = (*next).max(passed);
    }

    /// A stream is reset: messages that wait for others are given up.
    pub(crate) fn reset(&mut self, stream: u16) -> Vec<Received> {
        if let Some(next) = self.next.get_mut(stream) {
            *next = 0;
        }
        self.waiting.take(stream)
    }

    /// Number of the next message to deliver.
    pub(crate) fn next(&self, stream: u16) -> u64 {
        self.next.get(stream).copied().unwrap_or(0)
    }

    /// The number of a message that has 16 bits of it; fewer than 2^15 messages of a stream wait.
    pub(crate) fn number(&self, stream: u16, ssn: u16) -> Option<u64> {
        let next = self.next(stream);
        next.checked_add_signed(i64::from(ssn.wrapping_sub(next as u16) as i16))
    }

    /// True if the message with this SSN is the next to deliver.
    pub(crate) fn is_next(&self, stream: u16, ssn: u16) -> bool {
        self.next(stream) as u16 == ssn
    }

    /// True if an ordered message with this number was delivered, or is here and waits.
    pub(crate) fn knows(&self, stream: u16, number: u64) -> bool {
        number < self.next(stream) || self.waiting.has(stream, number)
    }

    /// Takes a whole message that it does not know; `deliver` is called for it and for messages that waited for it,
    /// in order.
    pub(in crate::receiver) fn add(
        &mut self,
        number: u64,
        message: Received,
        numbers: Numbers,
        mut deliver: impl FnMut(Received),
    ) {
        let stream = message.stream;
        if number != self.next(stream) {
            self.waiting.insert(number, message, numbers);
            return;
        }
        let next = self.next.at(stream);
        *next += 1;
        deliver(message);
        while !self.waiting.is_empty() {
            let Some(message) = self.waiting.remove(stream, *next) else { break };
            *next += 1;
            deliver(message);
        }
    }
}
