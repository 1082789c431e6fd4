//! What all schedulers are told: which chunk has left, and the values of streams.

/// A chunk that has left, as far as schedulers care.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) stream: u16,
    /// User data, bytes.
    pub(crate) bytes: usize,
    /// It was the last of its message.
    pub(crate) ending: bool,
    /// Its stream has more to say, be it of this message or of another.
    pub(crate) more: bool,
    /// Another stream may speak before the message has ended.
    pub(crate) interleaves: bool,
}

impl Left {
    /// Whether another stream may speak now.
    pub(super) fn may_change(self) -> bool {
        self.ending || self.interleaves
    }
}

/// Values of streams: priorities or weights. Those that nobody has set are 1.
#[derive(Debug)]
pub(super) struct Values(Vec<u16>);

impl Values {
    pub(super) fn new(set: &[(u16, u16)]) -> Self {
        let mut values = Self(Vec::new());
        for &(stream, value) in set {
            values.set(stream, value);
        }
        values
    }

    pub(super) fn set(&mut self, stream: u16, value: u16) {
        let id = usize::from(stream);
        if id >= self.0.len() {
            self.0.resize(id + 1, 1);
        }
        if let Some(slot) = self.0.get_mut(id) {
            *slot = value;
        }
    }

    pub(super) fn get(&self, stream: u16) -> u16 {
        self.0.get(usize::from(stream)).copied().unwrap_or(1)
    }
}
