//! The memory that the configuration allows the receiver to hold, and the cost of a chunk in it.

use super::partial_message::PIECE;
use crate::config::Config;
use crate::receiver::arrivals::Arrivals;
use crate::receiver::window::{ReceiveWindow, packet_of_peer};

/// Memory charged for a gap in the sequence of received TSNs, bytes.
pub(in crate::receiver) const GAP: usize = 32;

/// Least bound, bytes: with less a short window could not take as many small messages as it has bytes for.
const LEAST_BOUND: usize = 64 << 10;

/// The memory that the configuration allows to hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits<'a> {
    pub(in crate::receiver) config: &'a Config,
    pub(in crate::receiver) window: &'a ReceiveWindow,
    /// The numbers that have come in each sequence space, with their gaps.
    pub(in crate::receiver) arrivals: &'a Arrivals,
}

impl Limits<'_> {
    /// Subflows have spaces of their own.
    #[inline]
    fn several(&self) -> bool {
        self.arrivals.are_several()
    }

    /// Memory that gaps take, bytes: until the missing chunks come, whatever the user reads.
    #[inline]
    pub(in crate::receiver) fn gaps(&self) -> usize {
        self.arrivals.gaps() * GAP
    }

    /// Longest message, bytes.
    #[inline]
    pub(in crate::receiver) fn message(&self) -> usize {
        self.config.limits.max_message
    }

    /// The receive window, bytes.
    fn window(&self) -> usize {
        self.window.size() as usize
    }

    /// The memory that messages in the making may hold before the one that grows is handed over in parts: less where several subflows
    /// grow theirs side by side, and each has a part of the window only.
    #[inline]
    pub(in crate::receiver) fn point(&self) -> usize {
        let share = self.window() * usize::from(self.config.limits.partial_delivery_point) / 100;
        if self.several() { share / 2 } else { share }
    }

    /// True if a message of which so many bytes are here is handed over in parts, whatever else is held (RFC 6458,
    /// 8.1.21: "any single message having a length smaller than or equal to the SCTP partial delivery point will be
    /// delivered in a single read call").
    #[inline]
    pub(in crate::receiver) fn is_long(&self, bytes: impl FnOnce() -> usize) -> bool {
        let point = self.config.limits.partial_delivery_bytes;
        point != 0 && bytes() > point
    }

    /// Memory that may be held in all, bytes: two windows, less the part reserved for the sender, which is one window
    /// at most. Where two windows are less than the least bound, that bound is the receiver's whatever the sender
    /// has.
    pub(in crate::receiver) fn bound(&self) -> usize {
        let both = 2 * self.window.largest(&self.config.limits) as usize;
        let room = both.saturating_sub(self.window.sender_reservation() as usize);
        let least = if both < LEAST_BOUND { LEAST_BOUND } else { LEAST_BOUND.min(room) };
        (2 * self.window()).min(room).max(self.window()).max(least)
    }

    /// The bytes of the receive window that so much memory takes. Bookkeeping counts a third as long as memory is no
    /// more than half of its bound; beyond that messages of a few bytes close the window, which is shut at three
    /// quarters. Where subflows have floors it counts a third only, so that a subflow which has filled its part does
    /// not close the window to all.
    #[inline]
    pub(in crate::receiver) fn charge(&self, memory: usize) -> usize {
        let (third, half) = (memory / 3, self.bound() / 2);
        if self.several() || memory <= half {
            return third;
        }
        third.max((memory - half) * self.window() / (half / 2))
    }

    /// Memory that may be held of data that the user cannot have yet, beside the gaps, bytes.
    pub(in crate::receiver) fn held_back(&self) -> usize {
        self.bound().saturating_sub(self.reserve() + self.gaps())
    }

    /// Memory reserved for chunks that the user can have at once, bytes. Of a small buffer it is no more than a
    /// quarter, however long packets may be: data that a_rwnd invites is taken, and the window closes at three
    /// quarters.
    pub(in crate::receiver) fn reserve(&self) -> usize {
        cost(packet_of_peer(self.config).into()).min(self.bound() / 4).max(self.window() / 4)
    }
}

/// The memory that a chunk may cost: its payload, a piece, a message that begins with it, a gap.
pub(in crate::receiver) fn cost(payload: usize) -> usize {
    payload + 2 * PIECE + GAP
}
