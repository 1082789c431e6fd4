//! What is known of a reduction that may prove needless.

use anabranch_base::Instant;

/// A reduction that may prove needless.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubt {
    /// When the first retransmission of this episode left.
    pub(super) first: Option<Instant>,
    /// Retransmissions that no DSACK has reported.
    pub(super) unreported: u32,
    /// Retransmissions end here.
    pub(super) end: u64,
}

impl Doubt {
    pub(super) fn on_resent(&mut self, now: Instant, end: u64) {
        self.first.get_or_insert(now);
        self.unreported += 1;
        self.end = self.end.max(end);
    }
}
