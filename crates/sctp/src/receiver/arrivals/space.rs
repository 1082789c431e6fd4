//! The receiving half of a sequence space: the peer's numbers that have arrived, and the acknowledgements owed.

pub(super) mod map;
mod marks;
mod selection;
pub(super) mod timing;

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use crate::ids::PathId;
use map::ReceiveMap;
use marks::Marks;
use selection::Selection;
use timing::AckTiming;

/// Least distance from the highest number received up to which a peer's numbers are accepted, however small the
/// receive window is: a peer that gives up a few messages each time its retransmission timer expires, and gets no
/// answer, gives up more numbers than a window has bytes.
const LEAST_REACH: u64 = 1 << 17;

/// Numbers are unwrapped: 0 is the peer's Initial TSN.
#[derive(Debug)]
pub(super) struct ReceiveSpace {
    pub(super) received: ReceiveMap,
    pub(super) timing: AckTiming,
    /// The peer's Initial TSN.
    base: Tsn,
    /// Its subflow identifier on the wire; 0 is the TSN space of the association.
    pub(super) fid: u8,
    /// Incarnation of the FID.
    pub(super) epoch: u8,
    /// Chunks that were new and came when one with a lower number was missing; it stops at 2^32 - 1.
    pub(super) out_of_order: u32,
    /// Path on which data came last: it is acknowledged there (RFC 9260, 6.2).
    pub(super) path: Option<PathId>,
    /// Time of arrival of the highest number so far (the extension SF tells the peer).
    pub(super) newest: Option<Instant>,
    /// ECN codepoints of its packets, where any was ECN-capable.
    pub(super) marks: Option<Box<Marks>>,
    /// Choice of the gap blocks in SACKs that may leave some out; `None` before there were any.
    pub(super) selection: Option<Box<Selection>>,
}

impl ReceiveSpace {
    pub(super) fn new(fid: u8) -> Self {
        Self {
            received: ReceiveMap::default(),
            timing: AckTiming::default(),
            base: Tsn::new(0),
            fid,
            epoch: 0,
            out_of_order: 0,
            path: None,
            newest: None,
            marks: None,
            selection: None,
        }
    }

    pub(super) fn base(&self) -> Tsn {
        self.base
    }

    pub(super) fn set_base(&mut self, base: Tsn) {
        self.base = base;
    }

    /// Nothing has arrived; the first number will be `base`.
    pub(super) fn restart(&mut self, base: Tsn) {
        self.received = ReceiveMap::default();
        self.timing = AckTiming::default();
        self.marks = None;
        self.selection = None;
        self.base = base;
    }

    /// The TSN that stands for an unwrapped number.
    pub(super) fn tsn_of(&self, seq: u64) -> Tsn {
        self.base.add(seq as u32)
    }

    /// True if everything that gap blocks acknowledged is still there, or has been passed since.
    pub(super) fn has_dropped_nothing(&self) -> bool {
        self.selection.as_ref().is_none_or(|selection| selection.is_allowed(&self.received))
    }

    /// The last TSN received in sequence: the Cumulative TSN Ack of a SACK or SHUTDOWN.
    // rfc9260:6.2-16
    pub(super) fn cumulative(&self) -> Tsn {
        self.base.add((self.received.next() as u32).wrapping_sub(1))
    }

    /// The first number that an honest peer cannot have reached yet: each takes a byte of the window at least. A
    /// chunk with that number or a higher one was meant for another incarnation of the association (before a restart,
    /// or an SSN/TSN reset), or is forged.
    pub(super) fn reach(&self, receive_window: u32) -> u64 {
        self.received.end() + LEAST_REACH.max(u64::from(receive_window))
    }

    /// Unwraps a TSN around the numbers received; `None` before the peer's Initial TSN.
    pub(super) fn unwrap(&self, tsn: Tsn) -> Option<u64> {
        let reference = self.received.next();
        let distance = tsn.signed_distance_from(self.tsn_of(reference));
        reference.checked_add_signed(i64::from(distance))
    }
}
