//! Events of the send buffer that a user has asked for.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_base::Dscp;

/// Streams and thresholds that the user is told of.
#[derive(Debug, Default)]
pub(super) struct Backpressure {
    /// Thresholds of streams, and of all together (`None`).
    pub(super) low: BTreeMap<Option<u16>, Low>,
    /// Streams on which `send` said StreamFull: Writable is owed.
    pub(super) full: BTreeSet<u16>,
    /// Streams on which `send` said OtherSubflow, and the code point that they had: Writable is owed once no data of theirs is in flight,
    /// or they have another code point.
    pub(super) busy: BTreeMap<u16, Dscp>,
    /// Streams that have had data sent or acknowledged since the last look at them.
    pub(super) touched: Vec<u16>,
    /// All streams are to be looked at: messages have gone in another way than by leaving.
    pub(super) all_touched: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Low {
    pub(super) threshold: usize,
    /// The buffered bytes were above the threshold at the last look.
    pub(super) above: bool,
}

impl Backpressure {
    /// A chunk of a stream has left.
    #[inline]
    pub(super) fn left(&mut self, stream: u16) {
        if self.touched.last() != Some(&stream) {
            self.touched.push(stream);
        }
    }
}
