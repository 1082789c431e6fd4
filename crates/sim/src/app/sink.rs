//! The application that takes the data of a source.

use anabranch_base::Instant;

use super::received::{Received, Receiving};
use crate::content::is_content;
use crate::engine::Engine;
use crate::scenario::{Flow, Traffic};

/// Takes everything at once.
#[derive(Debug)]
pub(crate) struct Sink {
    /// Bytes of a transfer.
    expected: Option<u64>,
    /// Whether received data is compared with the data sent: only for a transfer in order.
    check: bool,
    /// Bytes taken so far, for each stream.
    streams: Vec<u64>,
    pub(crate) taken: u64,
    pub(crate) intact: bool,
    pub(crate) received: Received,
    pub(crate) failed: Option<String>,
}

impl Sink {
    pub(crate) fn new(flow: &Flow) -> Self {
        let expected = match flow.traffic {
            Traffic::Greedy { .. } | Traffic::Packets(_) | Traffic::Objects(_) | Traffic::Messages(_) => None,
            Traffic::Transfer { bytes, .. } => Some(bytes),
        };
        Self {
            expected,
            check: expected.is_some() && !flow.unordered,
            streams: vec![0; usize::from(flow.streams.max(1))],
            taken: 0,
            intact: true,
            received: Received::default(),
            failed: None,
        }
    }

    /// Whether every byte of a transfer came and was right; `None` when content is not checked, and while bytes are missing.
    pub(crate) fn verdict(&self) -> Option<bool> {
        let whole = Some(self.taken) == self.expected;
        let too_much = self.expected.is_some_and(|expected| self.taken > expected);
        if !self.check || (self.intact && !whole && !too_much) { None } else { Some(self.intact && whole) }
    }
}

impl Receiving for Sink {
    fn notes(&mut self) -> (&mut Received, &mut Option<String>) {
        (&mut self.received, &mut self.failed)
    }

    fn take(&mut self, now: Instant, engine: &mut Engine) {
        let before = self.taken;
        engine.take_all(now, |stream, piece| {
            self.taken += piece.len() as u64;
            if self.check {
                match self.streams.get_mut(usize::from(stream)) {
                    Some(position) => {
                        self.intact &= is_content(stream, *position, piece);
                        *position += piece.len() as u64;
                    }
                    None => self.intact = false,
                }
            }
        });
        if self.taken > before {
            self.received.first_byte_at.get_or_insert(now);
            self.received.last_byte_at = Some(now);
        }
        if Some(self.taken) == self.expected {
            self.received.complete_at.get_or_insert(now);
        }
    }
}
