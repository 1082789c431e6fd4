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
    /// Streams on which `send` said OtherSubflow, and the code point that they had: Writable is owed once nothing of theirs is under way,
    /// or they have another.
    pub(super) busy: BTreeMap<u16, Dscp>,
    /// Streams of which something has left or was acknowledged since they were looked at last.
    pub(super) touched: Vec<u16>,
    /// Something rare has happened: all are to be looked at.
    pub(super) all_touched: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Low {
    pub(super) threshold: usize,
    /// More was buffered when it was looked at last.
    pub(super) above: bool,
}

impl Backpressure {
    /// Something of a stream has left.
    #[inline]
    pub(super) fn left(&mut self, stream: u16) {
        if self.touched.last() != Some(&stream) {
            self.touched.push(stream);
        }
    }
}
