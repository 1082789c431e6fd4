//! Messages that must not get a number yet: their stream is being reset (RFC 6525, A1).

use std::collections::VecDeque;

use super::Sender;
use crate::context::Context;
use crate::event::Message;

/// Which streams wait, and what waits on them.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    all: bool,
    /// Sorted.
    streams: Vec<u16>,
    messages: VecDeque<Message>,
    bytes: usize,
}

impl Deferred {
    /// Whether new messages of a stream must wait.
    pub(super) fn defers(&self, stream: u16) -> bool {
        self.all || self.streams.binary_search(&stream).is_ok()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, message: Message) {
        self.bytes += message.payload.len();
        self.messages.push_back(message);
    }
}

impl Sender {
    /// Bytes of messages that wait for a stream reset.
    pub(crate) fn deferred_bytes(&self) -> usize {
        self.deferred.as_ref().map_or(0, |deferred| deferred.bytes)
    }

    /// Which streams must wait has changed, perhaps: messages that need not wait any more go on.
    pub(crate) fn defer(&mut self, cx: &Context, all: bool, mut streams: Vec<u16>) {
        if self.deferred.is_none() && !all && streams.is_empty() {
            return;
        }
        streams.sort_unstable();
        streams.dedup();
        let mut deferred = Deferred { all, streams, ..Deferred::default() };
        let before = self.deferred.take().map(|before| before.messages).unwrap_or_default();
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
        if deferred.all || !deferred.streams.is_empty() {
            self.deferred = Some(Box::new(deferred));
        }
    }
}
