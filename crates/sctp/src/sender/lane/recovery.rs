//! Loss recovery of a lane: its exit point (RFC 9260, 7.2.4); and where configured, proportional reduction of its
//! window (RFC 9937), and detection of recoveries that were needless (RFC 3708).

use std::collections::BTreeMap;

use anabranch_base::{Instant, cold_path};
use anabranch_transport::reduction::Reducing;

use crate::config::{CongestionConfig, Reduction};
use crate::sender::flight::LaneAck;

/// State of the current or last recovery of a lane.
#[derive(Debug, Default)]
pub(in crate::sender) struct Recovery {
    exit: Option<Exit>,
    /// State that is kept only if the configuration needs more than an exit point.
    episode: Option<Box<Episode>>,
}

/// The Fast Recovery exit point, or the last one.
#[derive(Clone, Copy, Debug)]
struct Exit {
    last: u64,
    /// The exit point is the last number sent before T3-rtx expired: the window grows below it, and losses there
    /// cause no second cut.
    by_timeout: bool,
}

/// Start values of a window reduction.
#[derive(Clone, Copy, Debug)]
pub(in crate::sender) struct Fall {
    /// In flight before the loss was found, bytes (RecoverFS of RFC 9937).
    pub(in crate::sender) prior: u64,
    /// Bytes of `prior` that a window had let leave, or the window itself where that was more.
    pub(in crate::sender) most: u64,
}

/// A recovery under way, or one that may still prove needless.
#[derive(Debug, Default)]
struct Episode {
    /// When the window was reduced.
    since: Instant,
    /// The window while it comes down; `None`: it came down at once.
    reducing: Option<Reducing>,
    /// Evidence that the recovery may have been needless.
    evidence: Option<UndoEvidence>,
}

/// RFC 3708, 2: "if all retransmitted segments ... are reported as duplicates" no chunk was lost, and the window is restored.
#[derive(Debug)]
struct UndoEvidence {
    /// The last number that had been sent when the window was cut.
    end: u64,
    /// Retransmissions of each number up to `end` since then, less those reported as duplicates. Other duplicates
    /// come from the network: they do not concern retransmissions.
    unreported: BTreeMap<u64, u32>,
    resent: bool,
    /// The recovery is over; duplicates may still be reported until this number is acknowledged.
    until: Option<u64>,
}

impl UndoEvidence {
    fn new(end: u64) -> Self {
        Self { end, unreported: BTreeMap::new(), resent: false, until: None }
    }
}

impl Episode {
    /// A chunk is being sent, of so many bytes in flight; `again`: its number, where it is a retransmission.
    fn on_sent(&mut self, bytes: u64, again: Option<u64>) {
        if let Some(reducing) = &mut self.reducing {
            reducing.on_sent(bytes);
        }
        if let (Some(evidence), Some(seq)) = (&mut self.evidence, again) {
            if seq <= evidence.end {
                *evidence.unreported.entry(seq).or_default() += 1;
                evidence.resent = true;
            }
        }
    }

    /// The peer has received a chunk twice. True when it has received every retransmitted chunk twice.
    fn on_duplicate(&mut self, seq: u64) -> bool {
        let Some(evidence) = &mut self.evidence else { return false };
        let Some(times) = evidence.unreported.get_mut(&seq) else { return false };
        *times -= 1;
        if *times == 0 {
            evidence.unreported.remove(&seq);
        }
        evidence.unreported.is_empty()
    }

    /// All numbers up to `first` are acknowledged, and with them the exit point; `next` is the first number not sent. True when no
    /// report of duplicates is waited for any more.
    fn over(&mut self, first: u64, next: u64) -> bool {
        self.reducing = None;
        let Some(evidence) = &mut self.evidence else { return true };
        let until = *evidence.until.get_or_insert(next);
        !evidence.resent || first > until
    }
}

impl Recovery {
    /// True if `cumulative` (the earliest sequence number not acknowledged) is still at or below the exit point.
    pub(in crate::sender) fn is_at(&self, cumulative: u64) -> bool {
        self.exit.is_some_and(|exit| !exit.by_timeout && cumulative <= exit.last)
    }

    /// True if `cumulative` is at or below the exit point, be it of a recovery or of a timeout: a loss
    /// there causes no second cut.
    #[inline]
    pub(in crate::sender) fn is_below_exit(&self, cumulative: u64) -> bool {
        self.exit.is_some_and(|exit| cumulative <= exit.last)
    }

    /// True if the exit point is that of a timeout.
    pub(in crate::sender) fn is_after_timeout(&self) -> bool {
        self.exit.is_some_and(|exit| exit.by_timeout)
    }

    /// True if there is an exit point, passed or not.
    pub(in crate::sender) fn has_exit(&self) -> bool {
        self.exit.is_some()
    }

    /// True if there is more state than an exit point.
    #[inline]
    pub(in crate::sender) fn has_more(&self) -> bool {
        self.episode.is_some()
    }

    /// Time at which the window was reduced last, while that is remembered.
    pub(in crate::sender) fn since(&self) -> Option<Instant> {
        self.episode.as_ref().map(|episode| episode.since)
    }

    /// The window while it comes down.
    #[inline]
    pub(super) fn reducing(&self) -> Option<&Reducing> {
        self.episode.as_ref().and_then(|episode| episode.reducing.as_ref())
    }

    /// Forgets the recovery.
    pub(in crate::sender) fn end(&mut self) {
        *self = Self::default();
    }

    /// The exit point was passed; reports of duplicates may still come.
    pub(in crate::sender) fn pass_exit(&mut self) {
        self.exit = None;
    }

    /// A recovery begins, or without `fall` T3-rtx has expired; `last` is the last number sent so far. PRR, where configured, reduces
    /// the window in proportion, from `fall` on, in units of `mss` bytes.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        config: &CongestionConfig,
        last: u64,
        fall: Option<Fall>,
        (is_model, mss): (bool, u64),
    ) {
        // A model sets the bytes that may be in flight during recovery, too.
        let prr = fall.filter(|_| !is_model && config.reduction == Reduction::Prr);
        self.exit = Some(Exit { last, by_timeout: fall.is_none() });
        let remembers = prr.is_some() || config.undo || config.lost_again_cuts;
        self.episode = remembers.then(|| {
            Box::new(Episode {
                since: now,
                reducing: prr.map(|fall| Reducing::proportional(fall.prior, fall.most, mss, 1)),
                evidence: config.undo.then(|| UndoEvidence::new(last)),
            })
        });
    }

    /// A chunk is being sent, of so many bytes in flight; `again`: its number, where it is a retransmission.
    #[inline]
    pub(super) fn sent(&mut self, bytes: u64, again: Option<u64>) {
        if let Some(episode) = &mut self.episode {
            cold_path();
            episode.on_sent(bytes, again);
        }
    }

    /// A SACK; `first` is the first number not acknowledged, `next` the first not sent. `safe`: the cumulative point moved, nothing more
    /// was found lost, and nothing taken back. `pipe` bytes are in flight.
    pub(super) fn step(
        &mut self,
        ack: &LaneAck,
        safe: bool,
        (first, next): (u64, u64),
        (pipe, ssthresh): (u64, u64),
    ) {
        let (delivered, taken_back) = (ack.delivered(), ack.reneged);
        let below = self.is_below_exit(first);
        let Some(episode) = &mut self.episode else { return };
        if !below {
            if episode.over(first, next) {
                self.episode = None;
            }
        } else if let Some(reducing) = episode.reducing.as_mut().filter(|_| delivered + taken_back > 0) {
            reducing.on_ack(delivered, taken_back, safe, pipe, ssthresh);
        }
    }

    /// Recovery begins at a timer, without a SACK: PRR lets the retransmission leave, and no more until a SACK comes.
    pub(super) fn begin_reduction(&mut self, pipe: u64, ssthresh: u64) {
        if let Some(reducing) = self.episode.as_mut().and_then(|episode| episode.reducing.as_mut()) {
            reducing.on_ack(0, 0, false, pipe, ssthresh);
        }
    }

    /// The peer has received a chunk twice. True when it has received every retransmitted chunk twice.
    pub(in crate::sender) fn on_duplicate(&mut self, seq: u64) -> bool {
        self.episode.as_mut().is_some_and(|episode| episode.on_duplicate(seq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn below_the_point_of_a_timeout_the_window_grows() {
        let config = Config::rfc9260();
        let mut recovery = Recovery::default();
        recovery.begin(Instant::ZERO, &config.congestion, 10, None, (false, 1000));
        assert!(recovery.is_after_timeout() && recovery.is_below_exit(10) && !recovery.is_at(10));
        let fall = Fall { prior: 8000, most: 8000 };
        recovery.begin(Instant::ZERO, &config.congestion, 10, Some(fall), (false, 1000));
        assert!(recovery.is_at(10) && !recovery.is_at(11) && !recovery.is_after_timeout());
        recovery.end();
        assert!(!recovery.has_exit() && !recovery.has_more());
    }

    #[test]
    fn every_time_that_a_chunk_was_sent_again_counts() {
        let mut recovery = Episode { evidence: Some(UndoEvidence::new(10)), ..Episode::default() };
        recovery.on_sent(1000, Some(3));
        recovery.on_sent(1000, Some(3));
        assert!(!recovery.on_duplicate(3), "one of the two was needed");
        assert!(recovery.on_duplicate(3));
        assert!(!recovery.on_duplicate(3), "it is told once");
    }

    #[test]
    fn needless_is_what_was_reported_twice_for_every_chunk() {
        let mut recovery = Episode { evidence: Some(UndoEvidence::new(10)), ..Episode::default() };
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
