//! Which of the flight is lost, and why we think so: missing reports by the HTNA rule (RFC 9260, 7.2.4).
//!
//! A chunk below the highest newly acknowledged TSN becomes a suspect once, and is looked at until it has enough
//! missing reports or is acknowledged: a constant number of times, whatever the window.

use std::collections::VecDeque;

use super::flight::{AckOutcome, ChunkState, Flight};

#[derive(Debug)]
pub(crate) struct Loss {
    threshold: u8,
    /// In flight, below what has been acknowledged, fewer reports than the threshold; ascending.
    suspects: VecDeque<u64>,
    /// Everything below has been looked at once: it is acknowledged, lost or a suspect.
    scanned: u64,
    /// Marked for retransmission, ascending.
    lost: VecDeque<u64>,
}

impl Loss {
    pub(crate) fn new(threshold: u8) -> Self {
        Self { threshold, suspects: VecDeque::new(), scanned: 0, lost: VecDeque::new() }
    }

    /// Counts the missing reports of a SACK. `all_missing` is set while in Fast Recovery when the cumulative point
    /// advanced: then "the miss indications are incremented for all TSNs reported missing in the SACK". Returns
    /// the chunks that reached the threshold now, through `marked`, earliest first.
    pub(crate) fn report(
        &mut self,
        flight: &mut Flight,
        outcome: &AckOutcome,
        all_missing: bool,
        mut marked: impl FnMut(u64, &mut super::flight::SentChunk),
    ) {
        self.suspects_below(flight.first());
        let limit = if all_missing {
            outcome.highest_acked.max(flight.highest_gap_acked())
        } else {
            outcome.highest_newly_acked
        };
        let Some(limit) = limit else { return };
        for seq in self.scanned.max(flight.first())..limit {
            if flight.get_mut(seq).is_some_and(|c| c.state == ChunkState::InFlight && !c.fast_retransmitted) {
                self.suspects.push_back(seq);
            }
        }
        self.scanned = self.scanned.max(limit);
        let prefix = self.suspects.partition_point(|s| *s < limit);
        if prefix == 0 {
            return;
        }
        // Every suspect below the limit is visited; those that stay are put back in order.
        let mut kept = 0;
        for i in 0..prefix {
            let Some(&seq) = self.suspects.get(i) else { break };
            let Some(chunk) = flight.get_mut(seq) else { continue };
            if chunk.state != ChunkState::InFlight || chunk.fast_retransmitted {
                continue;
            }
            chunk.missing = chunk.missing.saturating_add(1);
            if chunk.missing >= self.threshold {
                chunk.state = ChunkState::Lost;
                chunk.fast_retransmitted = true;
                chunk.lost_by_timeout = false;
                insert_sorted(&mut self.lost, seq);
                marked(seq, chunk);
            } else {
                if let Some(slot) = self.suspects.get_mut(kept) {
                    *slot = seq;
                }
                kept += 1;
            }
        }
        self.suspects.drain(kept..prefix);
    }

    /// Marks everything of `lane` that is in flight (E3 of 6.3.3: T3-rtx expired); calls `marked` for each.
    pub(crate) fn mark_lane(
        &mut self,
        flight: &mut Flight,
        lane: u8,
        mut marked: impl FnMut(&super::flight::SentChunk),
    ) {
        // One pass sees every marked chunk, old and new, in order: the list is written anew.
        self.lost.clear();
        for (seq, chunk) in flight.iter_mut() {
            if chunk.lane == lane && chunk.state != ChunkState::GapAcked {
                chunk.missing = 0;
                chunk.lost_by_timeout = true;
                if chunk.state == ChunkState::InFlight {
                    chunk.state = ChunkState::Lost;
                    marked(chunk);
                }
            }
            if chunk.state == ChunkState::Lost {
                self.lost.push_back(seq);
            }
        }
        self.suspects.clear();
    }

    /// Whether something may be marked; true also for what has been acknowledged since.
    pub(crate) fn any(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The earliest chunk marked for retransmission.
    pub(crate) fn next_lost(&mut self, flight: &Flight) -> Option<u64> {
        while let Some(&seq) = self.lost.front() {
            if flight.get(seq).is_some_and(|c| c.state == ChunkState::Lost) {
                return Some(seq);
            }
            self.lost.pop_front(); // acknowledged meanwhile
        }
        None
    }

    /// The chunk that [`Loss::next_lost`] named is being sent again.
    pub(crate) fn retransmitted(&mut self, seq: u64, eligible: bool) {
        if self.lost.front() == Some(&seq) {
            self.lost.pop_front();
        }
        if eligible && seq < self.scanned {
            insert_sorted(&mut self.suspects, seq);
        }
    }

    fn suspects_below(&mut self, first: u64) {
        while self.suspects.front().is_some_and(|s| *s < first) {
            self.suspects.pop_front();
        }
    }

    /// A reneged chunk must be looked at again.
    pub(crate) fn reneged(&mut self, first: u64) {
        self.scanned = self.scanned.min(first);
        self.suspects.clear();
    }

    /// Forgets everything (restart).
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.threshold);
    }
}

fn insert_sorted(list: &mut VecDeque<u64>, seq: u64) {
    match list.back() {
        Some(&last) if last >= seq => {
            let i = list.partition_point(|s| *s < seq);
            if list.get(i) != Some(&seq) {
                list.insert(i, seq);
            }
        }
        _ => list.push_back(seq),
    }
}

#[cfg(test)]
mod tests;
