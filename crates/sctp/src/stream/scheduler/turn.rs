//! Input of all schedulers: the chunk that has left, and the values of streams.

use std::collections::BTreeMap;

/// A chunk that has left, as far as schedulers care.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) stream: u16,
    /// User data, bytes.
    pub(crate) bytes: usize,
    /// True if the chunk was the last of its message.
    pub(crate) ending: bool,
    /// Its stream has more to say, be it of this message or of another.
    pub(crate) more: bool,
    /// Another stream may speak before the message has ended.
    pub(crate) interleaves: bool,
}

impl Left {
    /// True if another stream may speak now.
    pub(super) fn may_change(self) -> bool {
        self.ending || self.interleaves
    }
}

/// Values of streams: priorities or weights. The default is 1.
#[derive(Debug)]
pub(super) struct Values(BTreeMap<u16, u16>);

impl Values {
    pub(super) fn new(set: &[(u16, u16)]) -> Self {
        Self(set.iter().copied().collect())
    }

    pub(super) fn set(&mut self, stream: u16, value: u16) {
        self.0.insert(stream, value);
    }

    pub(super) fn get(&self, stream: u16) -> u16 {
        self.0.get(&stream).copied().unwrap_or(1)
    }
}
