//! The payload of a message in the making: joined fragment by fragment, handed over whole or in parts.

use std::collections::BTreeMap;

use anabranch_base::Instant;
use anabranch_wire::Tsn;
use bytes::Bytes;

use crate::ids::SpaceId;
use crate::message::{Part, Received, Rest};
use crate::violation::SPLIT_MESSAGE;

/// The peer sent fragments that cannot be one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inconsistent(pub(crate) &'static str);

/// Memory charged for each piece of payload, and for each message in the making, beside the payload itself: so that tiny
/// messages cannot hold more than they advertise.
pub(in crate::receiver) const PIECE: usize = 128;

/// Pieces are made at least as long as the data that is here, up to this.
const LONGEST_PIECE: usize = 64 << 10;

/// Takes the values at some keys out of a map.
pub(in crate::receiver) fn take_all<K: Ord + Copy, V>(map: &mut BTreeMap<K, V>, keys: &[K]) -> Vec<(K, V)> {
    keys.iter().filter_map(|key| map.remove_entry(key)).collect()
}

/// The attributes that all parts of a message have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::receiver) struct Label {
    pub(in crate::receiver) stream: u16,
    pub(in crate::receiver) ppid: u32,
    pub(in crate::receiver) unordered: bool,
    pub(in crate::receiver) immediate: bool,
    /// SSN or MID.
    pub(in crate::receiver) number: u32,
    /// TSN of its first chunk.
    pub(in crate::receiver) tsn: Tsn,
    /// Sequence space that is charged for it.
    pub(in crate::receiver) space: SpaceId,
}

impl Label {
    /// The message, or a part of it; when and where its last chunk came is still to be said.
    #[allow(
        clippy::inline_always,
        reason = "messages of one chunk are made in place; measured with all others there"
    )]
    #[inline(always)]
    pub(in crate::receiver) fn received(
        self,
        part: Option<Part>,
        first: Bytes,
        rest: Option<Box<Rest>>,
    ) -> Received {
        Received {
            stream: self.stream,
            ppid: self.ppid,
            unordered: self.unordered,
            immediate: self.immediate,
            path: 0,
            number: self.number,
            tsn: self.tsn.get(),
            at: Instant::ZERO,
            part,
            space: self.space,
            first,
            rest,
        }
    }
}

/// A message that was handed over in part and will never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::receiver) struct Aborted {
    pub(in crate::receiver) stream: u16,
    pub(in crate::receiver) unordered: bool,
    pub(in crate::receiver) message: u32,
}

/// Fragments of a message of which none is missing in between.
#[derive(Debug, Default)]
pub(in crate::receiver) struct PartialMessage {
    done: Vec<Bytes>,
    open: Vec<u8>,
    /// Bytes and fragments that are here.
    held: usize,
    fragments: usize,
    /// Bytes that the user has been given already.
    handed: usize,
    /// Number under which he has been given them.
    number: Option<u32>,
}

impl PartialMessage {
    /// With a first fragment, and room for more.
    pub(in crate::receiver) fn begin(payload: &[u8], room: usize) -> Self {
        let mut open = Vec::with_capacity(room.max(payload.len()));
        open.extend_from_slice(payload);
        Self { open, held: payload.len(), fragments: 1, ..Self::default() }
    }

    /// Gives back the room that is reserved beyond the data that is here.
    pub(in crate::receiver) fn trim(&mut self) {
        self.open.shrink_to_fit();
    }

    /// Bytes that are here.
    pub(in crate::receiver) fn held(&self) -> usize {
        self.held
    }

    /// Fragments that are here.
    pub(in crate::receiver) fn fragments(&self) -> usize {
        self.fragments
    }

    /// Room that is reserved beyond the data that is here, for tests.
    #[cfg(test)]
    pub(in crate::receiver) fn capacity(&self) -> usize {
        self.open.capacity()
    }

    /// Bytes so far, with those that were handed over.
    pub(in crate::receiver) fn total(&self) -> usize {
        self.handed + self.held
    }

    /// Bytes that are charged for it.
    pub(in crate::receiver) fn memory(&self) -> usize {
        self.held + self.fragments * PIECE
    }

    /// The next fragment.
    ///
    /// # Errors
    /// When the message would be longer than `limit`, however much of it has been handed over.
    #[inline]
    pub(in crate::receiver) fn append(&mut self, payload: &[u8], limit: usize) -> Result<(), Inconsistent> {
        if self.total() + payload.len() > limit {
            return Err(TOO_LONG);
        }
        if self.open.capacity() - self.open.len() < payload.len() {
            // A new piece, not a larger buffer: partial would copy the data that is there.
            let room = self.held.max(payload.len()).min(LONGEST_PIECE).max(payload.len());
            self.close_piece();
            self.open = Vec::with_capacity(room);
        }
        self.open.extend_from_slice(payload);
        self.held += payload.len();
        self.fragments += 1;
        Ok(())
    }

    /// The next fragment, which has waited in memory of its own.
    ///
    /// # Errors
    /// As [`PartialMessage::append`].
    pub(in crate::receiver) fn attach(&mut self, payload: Bytes, limit: usize) -> Result<(), Inconsistent> {
        if self.total() + payload.len() > limit {
            return Err(TOO_LONG);
        }
        self.close_piece();
        self.held += payload.len();
        self.fragments += 1;
        self.done.push(payload);
        Ok(())
    }

    fn close_piece(&mut self) {
        if !self.open.is_empty() {
            // The charge counts payload: memory beyond it is freed where it is more than the payload itself.
            if self.open.capacity() - self.open.len() > self.open.len() {
                self.open.shrink_to_fit();
            }
            self.done.push(Bytes::from(std::mem::take(&mut self.open)));
        }
    }

    /// The bytes that are here, as the next part of the message; `numbers` counts messages that are handed over in parts.
    pub(in crate::receiver) fn part(&mut self, label: Label, numbers: &mut u32) -> Received {
        let message = *self.number.get_or_insert_with(|| {
            *numbers = numbers.wrapping_add(1);
            *numbers
        });
        let part = self.take(label, Some(Part { message, more: true }));
        self.handed += self.held;
        (self.held, self.fragments) = (0, 0);
        part
    }

    /// The message, or its last part.
    pub(in crate::receiver) fn finish(mut self, label: Label) -> Received {
        let part = self.number.map(|message| Part { message, more: false });
        self.take(label, part)
    }

    fn take(&mut self, label: Label, part: Option<Part>) -> Received {
        self.close_piece();
        let mut pieces = std::mem::take(&mut self.done).into_iter();
        let first = pieces.next().unwrap_or_default();
        let rest = if pieces.len() == 0 { None } else { Some(Box::new(Rest(pieces.collect()))) };
        label.received(part, first, rest)
    }

    /// True if the user has had a part of it.
    pub(in crate::receiver) fn has_parts(&self) -> bool {
        self.number.is_some()
    }

    /// The event for the user if this never ends: none, where he has not heard of it.
    pub(in crate::receiver) fn abort(&self, stream: u16, unordered: bool) -> Option<Aborted> {
        self.number.map(|message| Aborted { stream, unordered, message })
    }
}

pub(in crate::receiver) const SPLIT: Inconsistent = Inconsistent(SPLIT_MESSAGE);
pub(in crate::receiver) const TOO_LONG: Inconsistent =
    Inconsistent("a message is longer than this endpoint takes");
