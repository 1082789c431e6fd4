//! What a loss recovery of a lane has beside its exit point, where more is asked for than RFC 9260 has: a window that comes down in
//! proportion (RFC 9937), and the doubt whether anything was lost at all (RFC 3708).

use std::collections::BTreeMap;

use anabranch_base::Instant;
use anabranch_transport::reduction::Reducing;

/// A recovery under way, or one that may still prove needless.
#[derive(Debug, Default)]
pub(in crate::sender) struct Recovery {
    /// When the window was reduced.
    pub(in crate::sender) since: Instant,
    /// The window while it comes down; `None`: it came down at once.
    pub(in crate::sender) reducing: Option<Reducing>,
    /// Whether all of it was for nothing.
    pub(in crate::sender) doubt: Option<Doubt>,
}

/// RFC 3708, 2: "if all retransmitted segments ... are reported as duplicates" nothing was lost, and the window comes back.
#[derive(Debug)]
pub(in crate::sender) struct Doubt {
    /// The last number that had been sent when the window was cut.
    end: u64,
    /// How often each number up to `end` was sent again since, less how often it was reported as a duplicate. Other duplicates are the
    /// network's: they say nothing of what was sent again.
    unreported: BTreeMap<u64, u32>,
    resent: bool,
    /// The recovery is over; reports may come until this is acknowledged.
    until: Option<u64>,
}

impl Doubt {
    pub(in crate::sender) fn new(end: u64) -> Self {
        Self { end, unreported: BTreeMap::new(), resent: false, until: None }
    }
}

impl Recovery {
    /// A chunk is being sent, so many bytes of the flight; `again`: under this number, that has been sent before.
    pub(in crate::sender) fn on_sent(&mut self, bytes: u64, again: Option<u64>) {
        if let Some(reducing) = &mut self.reducing {
            reducing.on_sent(bytes);
        }
        if let (Some(doubt), Some(seq)) = (&mut self.doubt, again) {
            if seq <= doubt.end {
                *doubt.unreported.entry(seq).or_default() += 1;
                doubt.resent = true;
            }
        }
    }

    /// The peer has a chunk twice. True when that is so of everything that was sent again.
    pub(in crate::sender) fn on_duplicate(&mut self, seq: u64) -> bool {
        let Some(doubt) = &mut self.doubt else { return false };
        let Some(times) = doubt.unreported.get_mut(&seq) else { return false };
        *times -= 1;
        if *times == 0 {
            doubt.unreported.remove(&seq);
        }
        doubt.unreported.is_empty()
    }

    /// Everything up to `first` is acknowledged, and with it the exit point; `next` is the first number not sent. True when nothing
    /// is left to wait for.
    pub(in crate::sender) fn over(&mut self, first: u64, next: u64) -> bool {
        self.reducing = None;
        let Some(doubt) = &mut self.doubt else { return true };
        let until = *doubt.until.get_or_insert(next);
        !doubt.resent || first > until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_that_a_chunk_was_sent_again_counts() {
        let mut recovery = Recovery { doubt: Some(Doubt::new(10)), ..Recovery::default() };
        recovery.on_sent(1000, Some(3));
        recovery.on_sent(1000, Some(3));
        assert!(!recovery.on_duplicate(3), "one of the two was needed");
        assert!(recovery.on_duplicate(3));
        assert!(!recovery.on_duplicate(3), "it is told once");
    }

    #[test]
    fn needless_is_what_was_reported_twice_for_every_chunk() {
        let mut recovery = Recovery { doubt: Some(Doubt::new(10)), ..Recovery::default() };
        assert!(!recovery.on_duplicate(3), "nothing was sent again");
        recovery.on_sent(1000, Some(3));
        recovery.on_sent(1000, Some(4));
        recovery.on_sent(1000, Some(11));
        recovery.on_sent(1000, None);
        assert!(!recovery.on_duplicate(12));
        assert!(!recovery.on_duplicate(5), "the network has doubled what was sent once");
        assert!(!recovery.on_duplicate(3));
        assert!(recovery.on_duplicate(4));
        assert!(!recovery.over(11, 20), "reports may still come");
        assert!(!recovery.over(20, 30));
        assert!(recovery.over(21, 30));
    }
}
