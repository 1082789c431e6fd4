//! Retransmissions that prove needless: the original had arrived. The proof is a timestamp (Eifel detection, RFC
//! 3522), new data after a timeout (F-RTO, RFC 5682), or a DSACK for each of them (RFC 3708).

use anabranch_base::{Duration, Instant};

/// A reduction that may prove needless.
#[derive(Clone, Copy, Debug, Default)]
struct UndoEvidence {
    /// When the first retransmission of this episode left.
    first: Option<Instant>,
    /// Retransmissions that no DSACK has reported.
    unreported: u32,
    /// Retransmissions end here.
    end: u64,
}

/// An acknowledgement after a timeout, as F-RTO judges it.
pub(super) struct AfterTimeout {
    /// The acknowledgement moved the cumulative point.
    pub(super) advanced: bool,
    /// The acknowledgement has SACK news above that point.
    pub(super) sacked: bool,
    /// A segment that was outstanding at the timeout and never sent again has arrived.
    pub(super) original_arrived: bool,
    /// New data has left since the timeout.
    pub(super) sent_new: bool,
    /// A segment that was outstanding at the timeout is not acknowledged.
    pub(super) incomplete: bool,
    /// There is new data, and the peer's window lets it out.
    pub(super) may_send: bool,
}

/// Evidence that the last reduction was needless.
#[derive(Debug, Default)]
pub(super) struct Spurious {
    evidence: Option<UndoEvidence>,
    /// F-RTO looks whether the timeout was spurious.
    frto: bool,
    /// Only new data may leave at the moment.
    frto_new: bool,
}

impl Spurious {
    /// Only new data may leave at the moment: F-RTO waits for its acknowledgement.
    #[inline]
    pub(super) fn wants_new_data(&self) -> bool {
        self.frto_new
    }

    /// F-RTO looks whether the last timeout was spurious.
    #[inline]
    pub(super) fn tests_timeout(&self) -> bool {
        self.frto
    }

    /// The window is about to be reduced for a loss. `undo`: it may be restored. `under_way` is when the first retransmission left of the
    /// episode before that may still arrive: an echo of it is no original's.
    pub(super) fn begin(&mut self, undo: bool, under_way: impl FnOnce() -> Option<Instant>) {
        self.evidence = undo.then(|| UndoEvidence { first: under_way(), ..UndoEvidence::default() });
    }

    /// Loss recovery ended: only a DSACK may still come.
    pub(super) fn settle(&mut self, dsack: bool) {
        self.evidence = self.evidence.filter(|_| dsack);
    }

    /// The reduction is taken back.
    pub(super) fn undone(&mut self) {
        self.evidence = None;
        self.frto = false;
    }

    /// A segment that ends at `end` was sent again.
    #[inline]
    pub(super) fn resent(&mut self, now: Instant, end: u64) {
        if let Some(evidence) = &mut self.evidence {
            evidence.first.get_or_insert(now);
            evidence.unreported += 1;
            evidence.end = evidence.end.max(end);
        }
    }

    /// RFC 3522, section 3.2, step 5: the acknowledgement echoes a timestamp older than the first retransmission.
    pub(super) fn echoes_original(&self, now: Instant, echo_age: Option<Duration>) -> bool {
        let first = self.evidence.and_then(|evidence| evidence.first);
        let (Some(first), Some(age)) = (first, echo_age) else { return false };
        // The timestamp clock ticks in milliseconds.
        let millis = |at: Instant| at.as_nanos() / 1_000_000;
        millis(now) < millis(first) + age.as_millis()
    }

    /// RFC 3708, section 2: a duplicate that ends at `end` was reported. Answers whether by now every retransmission was.
    pub(super) fn reported(&mut self, end: u64) -> bool {
        let Some(evidence) = &mut self.evidence else { return false };
        if evidence.unreported == 0 || end > evidence.end {
            return false;
        }
        evidence.unreported -= 1;
        evidence.unreported == 0
    }

    /// A timeout. RFC 5682, section 3.1, step 1: `frto` not for one within recovery from another loss.
    pub(super) fn on_timeout(&mut self, frto: bool) {
        self.frto_new = false;
        self.frto = frto;
    }

    /// An acknowledgement comes: new data that was to tell something has left.
    #[inline]
    pub(super) fn ack_comes(&mut self) {
        self.frto_new = false;
    }

    /// RFC 5682, section 3.1: the SACK-enhanced algorithm, for every acknowledgement after a timeout. Answers whether the timeout was
    /// spurious.
    pub(super) fn step_frto(&mut self, ack: &AfterTimeout) -> bool {
        // Step 3b.
        if ack.original_arrived {
            return true;
        }
        if ack.sent_new {
            // Step 3a: new data arrived before, or nothing did: the loss was real.
            self.frto &= ack.advanced && !ack.sacked;
        } else if ack.advanced && ack.incomplete {
            // Step 2b: send new data, if there is any that may be sent.
            self.frto = ack.may_send;
            self.frto_new = self.frto;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn an_echo_from_before_the_first_retransmission_is_the_originals() {
        let mut spurious = Spurious::default();
        spurious.begin(true, || None);
        assert!(
            !spurious.echoes_original(at(100), Some(Duration::from_millis(60))),
            "nothing was sent again"
        );
        spurious.resent(at(50), 10);
        spurious.resent(at(70), 20);
        assert!(spurious.echoes_original(at(100), Some(Duration::from_millis(60))));
        assert!(!spurious.echoes_original(at(100), Some(Duration::from_millis(50))));
        spurious.begin(false, || None);
        spurious.resent(at(50), 10);
        assert!(
            !spurious.echoes_original(at(100), Some(Duration::from_millis(60))),
            "it could not be undone"
        );
    }

    #[test]
    fn every_retransmission_must_be_reported() {
        let mut spurious = Spurious::default();
        spurious.begin(true, || None);
        spurious.resent(at(1), 10);
        spurious.resent(at(2), 20);
        assert!(!spurious.reported(30), "that was never sent again");
        assert!(!spurious.reported(10));
        assert!(spurious.reported(20));
        assert!(!spurious.reported(20));
    }

    #[test]
    fn frto_sends_new_data_and_looks_at_what_it_brings() {
        let nothing = AfterTimeout {
            advanced: false,
            sacked: false,
            original_arrived: false,
            sent_new: false,
            incomplete: true,
            may_send: true,
        };
        let mut spurious = Spurious::default();
        spurious.on_timeout(true);
        assert!(!spurious.step_frto(&AfterTimeout { advanced: true, ..nothing }));
        assert!(spurious.wants_new_data());
        spurious.ack_comes();
        assert!(spurious.step_frto(&AfterTimeout { original_arrived: true, sent_new: true, ..nothing }));
        assert!(!spurious.step_frto(&AfterTimeout { sacked: true, sent_new: true, ..nothing }));
        assert!(!spurious.tests_timeout(), "the loss was real");
    }
}
