//! What a receive window that grows keeps.

use anabranch_base::{Duration, Instant};
use anabranch_transport::autotune::Autotune;

use crate::budget::Share;

/// HEARTBEATs that measure the round trip are so far apart at least.
const INTERVAL: Duration = Duration::from_secs(1);

/// What a receive window that grows is told by; from the first message on that is read.
#[derive(Debug)]
pub(super) struct Growth {
    pub(super) rate: Autotune,
    /// The window that the association began with, bytes.
    pub(super) first: u32,
    /// What it has beyond that.
    pub(super) share: Option<Share>,
    /// When a round trip was asked for last, and what had been read and sent by then, bytes: for who sends no data.
    pub(super) asked: (Instant, u64, u64),
    /// What the answer was.
    pub(super) heard: Option<Duration>,
}

impl Growth {
    /// Whether a HEARTBEAT shall measure the round trip: only data that is acknowledged does it otherwise, and none was sent while a whole `window`
    /// was read. At most one a second.
    pub(super) fn asks(&mut self, now: Instant, read: u64, sent: u64, window: u64) -> bool {
        let (at, read_then, sent_then) = self.asked;
        if sent != sent_then {
            // Data measures it.
            (self.asked, self.heard) = ((now, read, sent), None);
            return false;
        }
        let due = now.saturating_since(at) >= INTERVAL && read.saturating_sub(read_then) >= window;
        if due {
            self.asked = (now, read, sent);
        }
        due
    }
}
