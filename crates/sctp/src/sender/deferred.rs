//! Messages that must not get a number yet: their stream is being reset (RFC 6525, 5.1.2, A1).

use std::collections::{BTreeMap, VecDeque};

use crate::stream::outbound::Queued;

/// Streams that wait for the answer to a stream reset, and the messages that wait on them.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    all: bool,
    /// Streams that wait, sorted.
    streams: Vec<u16>,
    messages: VecDeque<Queued>,
    bytes: usize,
    by_stream: BTreeMap<u16, usize>,
}

impl Deferred {
    /// New messages wait for all streams, or for some, which are sorted.
    pub(super) fn of(all: bool, streams: Vec<u16>) -> Self {
        Self { all, streams, ..Self::default() }
    }

    /// True if new messages of a stream must wait.
    pub(super) fn defers(&self, stream: u16) -> bool {
        self.all || self.streams.binary_search(&stream).is_ok()
    }

    /// True if any stream waits.
    pub(super) fn is_any(&self) -> bool {
        self.all || !self.streams.is_empty()
    }

    /// The waiting messages, to be queued again.
    pub(super) fn into_messages(self) -> VecDeque<Queued> {
        self.messages
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Memory of the waiting messages, payload and bookkeeping, bytes.
    pub(super) fn memory(&self) -> usize {
        self.bytes + self.messages.len() * Queued::COST
    }

    /// Messages that wait.
    pub(super) fn messages(&self) -> usize {
        self.messages.len()
    }

    /// Bytes that wait on a stream.
    pub(super) fn bytes_of(&self, stream: u16) -> usize {
        self.by_stream.get(&stream).copied().unwrap_or(0)
    }

    pub(super) fn push(&mut self, message: Queued) {
        *self.by_stream.entry(message.stream).or_default() += message.payload.len();
        self.bytes += message.payload.len();
        self.messages.push_back(message);
    }

    /// Tickets of the waiting messages: for tests.
    pub(super) fn tickets(&self) -> impl Iterator<Item = u32> + '_ {
        self.messages.iter().map(|message| message.ticket).filter(|ticket| *ticket != 0)
    }

    /// Takes out one message.
    #[cold]
    pub(super) fn remove(&mut self, ticket: u32) -> Option<Queued> {
        let place = self.messages.iter().position(|message| message.ticket == ticket)?;
        let message = self.messages.remove(place)?;
        self.bytes -= message.payload.len();
        if let Some(bytes) = self.by_stream.get_mut(&message.stream) {
            *bytes -= message.payload.len();
        }
        Some(message)
    }
}
