//! Loss detection by missing reports, with the HTNA rule (RFC 9260, 7.2.4).
//!
//! A chunk below the highest newly acknowledged TSN becomes a suspect once, and is looked at until it has enough
//! missing reports or is acknowledged: a constant number of times, whatever the window.

use std::collections::VecDeque;

use anabranch_base::{Instant, cold_path};

use crate::ids::LaneId;
use crate::sender::flight::{ChunkState, Flight, SentChunk};

#[derive(Debug, Default)]
pub(crate) struct Loss {
    threshold: u8,
    /// Numbers in flight, below the highest acknowledged, with fewer missing reports than the threshold; ascending.
    suspects: VecDeque<u64>,
    /// All chunks below were looked at once: each is acknowledged, lost or a suspect.
    scanned: u64,
    /// Numbers marked for retransmission, ascending.
    lost: VecDeque<u64>,
    /// Where lanes share a sequence space: numbers that this lane has sent and that are not acknowledged, ascending.
    /// `None`: every chunk of the space is this lane's.
    own: Option<VecDeque<u64>>,
    /// Highest sequence number of the lane that was ever acknowledged (kept where lanes share a space).
    highest_acked: Option<u64>,
    /// A chunk left under a number below one that had been looked at: suspects are not in the order of time.
    disordered: bool,
    /// The lane's earliest unacknowledged chunk, where lanes share a space, as of the last search for it.
    earliest: u64,
    /// Chunks that were taken for lost so far.
    count: u32,
}

impl Loss {
    /// With `spare_first` the earliest chunk of all is never suspected.
    pub(crate) fn new(threshold: u8, spare_first: bool) -> Self {
        Self {
            threshold,
            suspects: VecDeque::new(),
            scanned: u64::from(spare_first),
            lost: VecDeque::new(),
            own: None,
            highest_acked: None,
            disordered: false,
            earliest: 0,
            count: 0,
        }
    }

    /// Takes over the state of the old lane whose place this one takes, except for its count.
    pub(super) fn inherit(&mut self, old: &mut Self) {
        *self = Self { count: self.count, ..std::mem::take(old) };
    }

    /// Chunks that were taken for lost so far.
    pub(in crate::sender) fn count(&self) -> u32 {
        self.count
    }

    /// So many chunks were found lost, or are taken for it.
    pub(in crate::sender) fn count_more(&mut self, chunks: u32) {
        self.count = self.count.saturating_add(chunks);
    }

    /// The first number that is not acknowledged: of the space, or where lanes share it, of this lane as of the last search for it.
    #[inline]
    pub(in crate::sender) fn first(&self, flight: &Flight) -> u64 {
        if self.own.is_some() { self.earliest } else { flight.first() }
    }

    /// Looks for the lane's earliest chunk ([`Loss::earliest`]), and keeps it.
    pub(in crate::sender) fn find_earliest(&mut self, flight: &Flight) -> u64 {
        self.earliest = self.earliest(flight);
        self.earliest
    }

    /// Sets whether other lanes send under the same sequence space. `lane` is this one.
    pub(crate) fn share_space(&mut self, shared: bool, flight: &Flight, lane: LaneId) {
        self.own = shared.then(|| flight.of_lane(lane).collect());
    }

    /// Chunks of the lane from its earliest on, where lanes share a space.
    pub(crate) fn own_len(&self) -> u64 {
        self.own.as_ref().map_or(0, |own| own.len() as u64)
    }

    /// True if the space is shared with other lanes.
    pub(crate) fn shares_space(&self) -> bool {
        self.own.is_some()
    }

    /// A chunk is being sent for the first time.
    #[inline]
    pub(crate) fn sent(&mut self, seq: u64) {
        let Some(own) = &mut self.own else { return };
        cold_path();
        if own.back().is_some_and(|last| *last > seq) || self.highest_acked > Some(seq) {
            return self.sent_late(seq);
        }
        own.push_back(seq);
        if own.len() == 1 {
            self.earliest = seq;
        }
    }

    /// A chunk is sent under a number that was kept for the rest of a message, after higher numbers: those of a subflow that has been
    /// merged into this one.
    #[cold]
    fn sent_late(&mut self, seq: u64) {
        if seq < self.scanned {
            insert_sorted(&mut self.suspects, seq);
            self.disordered = true;
        }
        let Some(own) = &mut self.own else { return };
        insert_sorted(own, seq);
        if own.front() == Some(&seq) {
            self.earliest = seq;
        }
    }

    /// The lane's earliest chunk that is not acknowledged; the next sequence number of the space when there is none. It
    /// stands for the cumulative point where lanes share a space (the rule CUC of concurrent multipath transfer).
    pub(crate) fn earliest(&mut self, flight: &Flight) -> u64 {
        let Some(own) = &mut self.own else { return flight.first() };
        cold_path();
        while let Some(&seq) = own.front() {
            if flight
                .get(seq)
                .is_some_and(|c| !matches!(c.state, ChunkState::GapAcked | ChunkState::Abandoned))
            {
                return seq;
            }
            own.pop_front();
        }
        flight.next()
    }

    /// The highest sequence number that the lane has sent.
    pub(crate) fn newest(&self, flight: &Flight) -> u64 {
        let last = flight.next().saturating_sub(1);
        self.own.as_ref().map_or(last, |own| own.back().copied().unwrap_or(last))
    }

    /// Number up to which a SACK reports chunks missing: the highest newly acknowledged of the lane, or, with
    /// `all_missing`, the highest that was acknowledged at all. `all_missing` is set while in Fast Recovery when the
    /// cumulative point advanced: then "the miss indications are incremented for all TSNs reported missing in the
    /// SACK".
    // rfc9260:7.2.4-3
    pub(crate) fn limit(
        &mut self,
        flight: &Flight,
        newly: Option<u64>,
        highest_acked: Option<u64>,
        all_missing: bool,
    ) -> Option<u64> {
        if self.own.is_some() {
            self.highest_acked = self.highest_acked.max(newly);
            return if all_missing { self.highest_acked } else { newly };
        }
        if all_missing { highest_acked.max(flight.highest_gap_acked()) } else { newly }
    }

    /// Counts the missing reports of a SACK for all chunks of the lane below `limit`. Returns the chunks that reached the
    /// threshold now, through `marked`, earliest first.
    // rfc9260:6.7-4 rfc9260:6.7-5 rfc9260:7.2.4-2
    pub(crate) fn report(
        &mut self,
        flight: &mut Flight,
        limit: u64,
        mut marked: impl FnMut(u64, &mut SentChunk),
    ) {
        // A chunk that is acknowledged cumulatively is reported missing no more, and as a rule a SACK acknowledges no other.
        if limit <= flight.first() && self.suspects.is_empty() {
            return;
        }
        self.collect(flight, limit);
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

    /// Every chunk of the lane below `limit` that is in flight becomes a suspect, once.
    #[inline]
    fn collect(&mut self, flight: &mut Flight, limit: u64) {
        self.suspects_below(flight.first());
        let from = self.scanned.max(flight.first());
        let missing = |flight: &mut Flight, seq| {
            flight.get_mut(seq).is_some_and(|c| c.state == ChunkState::InFlight && !c.fast_retransmitted)
        };
        match &self.own {
            None => {
                for seq in from..limit {
                    if missing(flight, seq) {
                        self.suspects.push_back(seq);
                    }
                }
            }
            Some(own) => {
                let start = own.partition_point(|seq| *seq < from);
                for &seq in own.range(start..).take_while(|seq| **seq < limit) {
                    if missing(flight, seq) {
                        self.suspects.push_back(seq);
                    }
                }
            }
        }
        self.scanned = self.scanned.max(limit);
    }

    /// Every chunk of the lane below `limit` that is in flight becomes a suspect, for [`super::rack`]: in the order of
    /// sending, which is that of numbers but for chunks sent again and subflows that were merged. The flag is true if
    /// a suspect was among them that has been passed by the cumulative point.
    pub(in crate::sender) fn suspects_up_to(
        &mut self,
        flight: &mut Flight,
        limit: Option<u64>,
    ) -> (&mut VecDeque<u64>, bool) {
        let late = self.suspects.front().is_some_and(|seq| *seq < flight.first());
        if let Some(limit) = limit {
            self.suspects_below(flight.first());
            let before = self.suspects.len();
            self.collect(flight, limit);
            let sent = |seq: &u64| flight.get(*seq).map(|chunk| chunk.sent_at);
            self.disordered |= !self.suspects.range(before.saturating_sub(1)..).is_sorted_by_key(sent);
        }
        if std::mem::take(&mut self.disordered) {
            self.order_by_time(flight);
        }
        (&mut self.suspects, late)
    }

    #[cold]
    fn order_by_time(&mut self, flight: &Flight) {
        let sent = |seq: &u64| (flight.get(*seq).map(|chunk| chunk.sent_at), *seq);
        self.suspects.make_contiguous().sort_unstable_by_key(sent);
    }

    /// Marks one chunk of the lane that is in flight.
    pub(crate) fn mark<'f>(&mut self, flight: &'f mut Flight, seq: u64) -> Option<&'f mut SentChunk> {
        let chunk = flight.get_mut(seq).filter(|chunk| chunk.state == ChunkState::InFlight)?;
        chunk.state = ChunkState::Lost;
        chunk.fast_retransmitted = true;
        chunk.lost_by_timeout = false;
        insert_sorted(&mut self.lost, seq);
        Some(chunk)
    }

    /// The newest chunk of the lane in flight.
    pub(crate) fn newest_in_flight(&self, flight: &Flight) -> Option<u64> {
        let in_flight = |seq: &u64| flight.get(*seq).is_some_and(|c| c.state == ChunkState::InFlight);
        match &self.own {
            None => (flight.first()..flight.next()).rev().find(in_flight),
            Some(own) => own.iter().rev().copied().find(in_flight),
        }
    }

    /// Suspects that were sent at `sent` or before.
    pub(crate) fn suspects_sent_by(&self, flight: &Flight, sent: Instant) -> Vec<u64> {
        let old = |seq: &u64| {
            let chunk = flight.get(*seq);
            chunk.is_some_and(|c| c.state == ChunkState::InFlight && c.missing > 0 && c.sent_at <= sent)
        };
        self.suspects.iter().copied().filter(old).collect()
    }

    /// True if a chunk was reported missing, and is not marked.
    pub(crate) fn suspects_any(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// Marks all chunks of `lane` that are in flight (E3 of 6.3.3: T3-rtx expired); calls `marked` for each.
    pub(crate) fn mark_lane(
        &mut self,
        flight: &mut Flight,
        lane: LaneId,
        mut marked: impl FnMut(&SentChunk),
    ) {
        // One pass sees every marked chunk, old and new, in order: the list is built anew.
        self.lost.clear();
        for (seq, chunk) in flight.iter_mut() {
            if chunk.lane == lane && matches!(chunk.state, ChunkState::InFlight | ChunkState::Lost) {
                chunk.missing = 0;
                chunk.lost_by_timeout = true;
                if chunk.state == ChunkState::InFlight {
                    chunk.state = ChunkState::Lost;
                    marked(chunk);
                }
            }
            if chunk.state == ChunkState::Lost && chunk.lane == lane {
                self.lost.push_back(seq);
            }
        }
        self.suspects.clear();
    }

    /// True if chunks may be marked; it stays true until [`Loss::next_lost`] has passed marked chunks that were acknowledged.
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

    /// Chunks that are marked for retransmission, or were when they were given up or acknowledged.
    pub(crate) fn marked(&self) -> impl Iterator<Item = u64> + '_ {
        self.lost.iter().copied()
    }

    /// Chunks from `first` to `last` were given up, all or some of them. Each list is scanned once, however many they are.
    #[cold]
    pub(crate) fn forget_abandoned(&mut self, flight: &Flight, first: u64, last: u64) {
        let stays = |seq: u64| flight.get(seq).is_none_or(|chunk| chunk.state != ChunkState::Abandoned);
        for list in std::iter::once(&mut self.lost).chain(&mut self.own) {
            let from = list.partition_point(|seq| *seq < first);
            let end = list.partition_point(|seq| *seq <= last);
            let mut kept = from;
            for place in from..end {
                let Some(seq) = list.get(place).copied().filter(|seq| stays(*seq)) else { continue };
                if let Some(slot) = list.get_mut(kept) {
                    *slot = seq;
                }
                kept += 1;
            }
            list.drain(kept..end);
        }
        // With RACK suspects are not always in the order of numbers.
        self.suspects.retain(|seq| stays(*seq));
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
    #[cold]
    pub(crate) fn reneged(&mut self, flight: &Flight, lane: LaneId) {
        self.look_again(flight, lane);
        self.suspects.clear();
    }

    /// Chunks have come from another lane: finds anew the chunks of this lane.
    pub(crate) fn took_over(&mut self, flight: &Flight, lane: LaneId) {
        self.look_again(flight, lane);
        self.lost = flight
            .of_lane(lane)
            .filter(|seq| flight.get(*seq).is_some_and(|c| c.state == ChunkState::Lost))
            .collect();
        self.suspects.clear();
    }

    fn look_again(&mut self, flight: &Flight, lane: LaneId) {
        self.scanned = self.scanned.min(flight.first());
        if self.own.is_some() {
            self.own = Some(flight.of_lane(lane).collect());
        }
    }

    /// Forgets everything (restart).
    pub(crate) fn restart(&mut self) {
        let own = self.own.is_some().then(VecDeque::new);
        let (earliest, count) = (self.earliest, self.count);
        *self = Self { own, earliest, count, ..Self::new(self.threshold, false) };
    }

    /// Numbers begin anew.
    pub(super) fn forget_numbers(&mut self) {
        self.restart();
        self.earliest = 0;
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
