//! Fair shares of the capacity: equal ones (RFC 8260, 3.5) or in proportion to weights (RFC 8260, 3.6), by start-time fair queueing.
//!
//! Every stream has a tag, the bytes it has sent over its weight; the smallest is next. A stream that comes back after a pause
//! begins where the others are: it gets nothing for the time in which it had nothing to say.

use std::collections::BTreeSet;

use super::turn::{Left, Values};
use crate::per_stream::PerStream;

/// A byte at weight 1. Weights divide it without much loss.
const UNIT: u64 = 1 << 16;

#[derive(Debug)]
pub(crate) struct Fair {
    /// `None`: all weigh the same.
    weights: Option<Values>,
    /// Tags of all streams that ever spoke.
    tags: PerStream<u64>,
    waiting: BTreeSet<(u64, u16)>,
    /// Tag of the stream that spoke last, when it began to.
    now: u64,
    /// A message of this stream has begun and must end before another stream speaks.
    begun: Option<u16>,
}

impl Fair {
    pub(super) fn new(weights: Option<&Vec<(u16, u16)>>) -> Self {
        Self {
            weights: weights.map(|set| Values::new(set)),
            tags: PerStream::default(),
            waiting: BTreeSet::new(),
            now: 0,
            begun: None,
        }
    }

    fn tag(&self, stream: u16) -> u64 {
        self.tags.get(stream).copied().unwrap_or(0)
    }

    fn set_tag(&mut self, stream: u16, tag: u64) {
        self.tags.make(stream);
        if let Some(slot) = self.tags.get_mut(stream) {
            *slot = tag;
        }
    }

    pub(super) fn wait(&mut self, stream: u16) {
        let tag = self.tag(stream).max(self.now);
        self.set_tag(stream, tag);
        self.waiting.insert((tag, stream));
    }

    pub(super) fn next(&self) -> Option<u16> {
        self.begun.or_else(|| self.waiting.first().map(|(_, stream)| *stream))
    }

    pub(super) fn left(&mut self, chunk: Left) {
        let tag = self.tag(chunk.stream);
        let weight = self.weights.as_ref().map_or(1, |w| w.get(chunk.stream).max(1));
        let charged = tag + chunk.bytes as u64 * UNIT / u64::from(weight);
        self.now = self.now.max(tag);
        self.begun = (!chunk.may_change()).then_some(chunk.stream);
        self.waiting.remove(&(tag, chunk.stream));
        self.set_tag(chunk.stream, charged);
        if chunk.more {
            self.waiting.insert((charged, chunk.stream));
        }
    }

    pub(super) fn begin_inside(&mut self, stream: u16) {
        self.begun = Some(stream);
    }

    pub(super) fn set_value(&mut self, stream: u16, value: u16) {
        if let Some(weights) = &mut self.weights {
            weights.set(stream, value);
        }
    }

    pub(super) fn retain(&mut self, keep: impl Fn(u16) -> bool) {
        self.waiting.retain(|(_, id)| keep(*id));
        self.begun = self.begun.filter(|id| keep(*id));
    }
}
