//! Strict priorities (RFC 8260, 3.4): "Streams having a higher priority will be scheduled first"; those of one priority take
//! turns. The smaller value is the higher priority, as in RFC 8260, 4.3.3.

use std::collections::{BTreeMap, VecDeque};

use super::turn::{Left, Values};

#[derive(Debug)]
pub(crate) struct Priority {
    values: Values,
    levels: BTreeMap<u16, VecDeque<u16>>,
    /// A message of this stream has begun and must end before another stream speaks.
    begun: Option<u16>,
}

impl Priority {
    pub(super) fn new(values: &[(u16, u16)]) -> Self {
        Self { values: Values::new(values), levels: BTreeMap::new(), begun: None }
    }

    pub(super) fn wait(&mut self, stream: u16) {
        self.levels.entry(self.values.get(stream)).or_default().push_back(stream);
    }

    pub(super) fn next(&self) -> Option<u16> {
        self.begun.or_else(|| self.levels.values().next()?.front().copied())
    }

    pub(super) fn left(&mut self, chunk: Left) {
        self.begun = (!chunk.may_change()).then_some(chunk.stream);
        if chunk.may_change() {
            self.forget(chunk.stream);
            if chunk.more {
                self.wait(chunk.stream);
            }
        }
    }

    pub(super) fn begin_inside(&mut self, stream: u16) {
        self.begun = Some(stream);
    }

    pub(super) fn set_value(&mut self, stream: u16, value: u16) {
        let waited = self.forget(stream);
        self.values.set(stream, value);
        if waited {
            self.wait(stream);
        }
    }

    /// Takes a stream out; whether it was there.
    fn forget(&mut self, stream: u16) -> bool {
        let value = self.values.get(stream);
        let Some(level) = self.levels.get_mut(&value) else { return false };
        let place = level.iter().position(|id| *id == stream);
        if let Some(place) = place {
            level.remove(place);
        }
        if level.is_empty() {
            self.levels.remove(&value);
        }
        place.is_some()
    }

    pub(super) fn retain(&mut self, keep: impl Fn(u16) -> bool) {
        for level in self.levels.values_mut() {
            level.retain(|id| keep(*id));
        }
        self.levels.retain(|_, level| !level.is_empty());
        self.begun = self.begun.filter(|id| keep(*id));
    }
}
