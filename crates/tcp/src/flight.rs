//! Data in flight, sent and not acknowledged: a ring of segments, the SACK scoreboard, and the sums that loss
//! recovery needs, kept up to date so that no acknowledgement walks the window.

use anabranch_base::{Duration, Instant};
use anabranch_transport::ranges::RangeSet;
use std::collections::VecDeque;

/// One segment as it was first sent; retransmissions keep its boundaries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) seq: u64,
    /// Payload bytes.
    pub(crate) len: u32,
    /// Carries the FIN, which takes one sequence number after the payload.
    pub(crate) fin: bool,
    pub(crate) sacked: bool,
    pub(crate) lost: bool,
    /// Sent again since it was last held for lost.
    pub(crate) resent: bool,
    /// The delivery or loss of the last sending has been reported, where losses are tracked.
    told: bool,
    pub(crate) sent_at: Instant,
    pub(crate) sends: u32,
}

impl Segment {
    pub(crate) fn size(&self) -> u64 {
        u64::from(self.len) + u64::from(self.fin)
    }

    pub(crate) fn end(&self) -> u64 {
        self.seq + self.size()
    }
}

/// Effect of a cumulative acknowledgement on the flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CumulativelyAcked {
    /// Bytes not SACKed before.
    pub(crate) newly: u64,
    /// Time at which the newest of the segments sent exactly once left (Karn's rule).
    pub(crate) sent_once: Option<Instant>,
}

/// A sending that was found lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) sent_at: Instant,
    /// Bytes.
    pub(crate) size: u64,
}

/// A segment that an acknowledgement reported for the first time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub(crate) sent_at: Instant,
    pub(crate) end: u64,
    pub(crate) sends: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Flight {
    ring: VecDeque<Segment>,
    /// Absolute index of the ring's front; indices never change while a segment lives.
    base: u64,
    /// Ranges that the peer has SACKed above the cumulative acknowledgement.
    sacks: RangeSet,
    outstanding: u64,
    sacked: u64,
    /// Segments SACKed.
    sacked_segments: usize,
    /// Held for lost and not SACKed.
    lost: u64,
    /// Sent again and not SACKed.
    resent: u64,
    /// Next segment to consider for retransmission (HighRxt of RFC 6675, snd.nxt of go-back-N).
    cursor: u64,
    /// Below this index loss has been decided.
    judged: u64,
    /// True if `news` is kept: segments that the last acknowledgement reported for the first time.
    keeps_news: bool,
    news: Vec<Delivered>,
    /// Losses found since the last call of `take_losses`: each sending once.
    keeps_losses: bool,
    losses: Vec<Lost>,
    /// Every sending in order of time: time, index of the segment, number of its sendings so far. Entries that a
    /// later sending or a report overtook are skipped.
    keeps_order: bool,
    order: VecDeque<(Instant, u64, u32)>,
    /// Entries that wait for the reordering window.
    waiting: Vec<(Instant, u64, u32)>,
    /// Steps of all loops over segments, for the test that they are O(1) a segment.
    #[cfg(test)]
    pub(crate) steps: u64,
}

impl Flight {
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Keeps the segments that acknowledgements report, and with `order` the times that time-based loss detection
    /// needs.
    pub(crate) fn track(&mut self, news: bool, order: bool) {
        (self.keeps_news, self.keeps_order) = (news, order);
    }

    /// Keeps the losses that are found.
    pub(crate) fn track_losses(&mut self, losses: bool) {
        self.keeps_losses = losses;
    }

    /// Losses found since the last call.
    pub(crate) fn take_losses(&mut self) -> Vec<Lost> {
        std::mem::take(&mut self.losses)
    }

    /// Time at which the first of the segments left that were sent again and are still under way. Walks the window
    /// where there are any.
    pub(crate) fn oldest_resent(&self) -> Option<Instant> {
        let under_way = self.ring.iter().filter(|s| self.resent > 0 && s.resent && !s.sacked);
        under_way.map(|s| s.sent_at).min()
    }

    /// A lost segment has not been sent again. A segment that was sent again without being lost, by a probe, may hide one.
    pub(crate) fn owes(&self) -> bool {
        self.lost > self.resent
    }

    /// Segments SACKed and not cumulatively acknowledged.
    pub(crate) fn sacked_segments(&self) -> usize {
        self.sacked_segments
    }

    /// Segments that the last acknowledgement reported for the first time, by sequence number.
    pub(crate) fn news(&self) -> &[Delivered] {
        &self.news
    }

    /// An acknowledgement is about to be taken.
    pub(crate) fn forget_news(&mut self) {
        self.news.clear();
    }

    /// Sorts the news, once the acknowledgement has been read.
    pub(crate) fn sort_news(&mut self) {
        self.news.sort_unstable_by_key(|d| d.end);
    }

    /// Sent and not cumulatively acknowledged, sequence numbers.
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// "pipe" of RFC 6675, section 4: bytes not SACKed and not lost, plus those sent again.
    pub(crate) fn pipe(&self) -> u64 {
        (self.outstanding - self.sacked - self.lost) + self.resent
    }

    pub(crate) fn front(&self) -> Option<&Segment> {
        self.ring.front()
    }

    /// Segments sent and not cumulatively acknowledged.
    pub(crate) fn segments(&self) -> usize {
        self.ring.len()
    }

    pub(crate) fn front_index(&self) -> u64 {
        self.base
    }

    pub(crate) fn get(&self, index: u64) -> Option<&Segment> {
        self.ring.get(index.checked_sub(self.base)? as usize)
    }

    fn end_index(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    pub(crate) fn push(&mut self, seq: u64, len: u32, fin: bool, now: Instant) {
        let caught_up = self.cursor >= self.end_index();
        let segment = Segment {
            seq,
            len,
            fin,
            sacked: false,
            lost: false,
            resent: false,
            told: false,
            sent_at: now,
            sends: 1,
        };
        self.outstanding += segment.size();
        if self.keeps_order {
            self.order.push_back((now, self.end_index(), 1));
        }
        self.ring.push_back(segment);
        if caught_up {
            self.cursor = self.end_index();
        }
    }

    /// Everything below `ack` has arrived.
    pub(crate) fn acknowledge(&mut self, ack: u64) -> CumulativelyAcked {
        let mut taken = CumulativelyAcked::default();
        while let Some(front) = self.ring.front().copied() {
            self.step();
            if front.seq >= ack {
                break;
            }
            if front.end() > ack {
                self.shorten_front(ack, &mut taken);
                break;
            }
            self.ring.pop_front();
            self.base += 1;
            self.forget(&front, front.size());
            if front.sacked {
                self.sacked_segments -= 1;
            } else {
                taken.newly += front.size();
                self.report(&front);
            }
            if front.sends == 1 {
                taken.sent_once = Some(front.sent_at);
            }
        }
        self.sacks.remove_below(ack);
        self.cursor = self.cursor.max(self.base);
        self.judged = self.judged.max(self.base);
        taken
    }

    /// The peer acknowledged a part of a segment: legal, and rare.
    fn shorten_front(&mut self, ack: u64, taken: &mut CumulativelyAcked) {
        let Some(front) = self.ring.front_mut() else { return };
        let cut = (ack - front.seq).min(u64::from(front.len));
        let before = *front;
        front.seq += cut;
        front.len -= cut as u32;
        self.forget(&before, cut);
        if !before.sacked {
            taken.newly += cut;
        }
    }

    fn report(&mut self, segment: &Segment) {
        if self.keeps_news {
            let Segment { sent_at, sends, .. } = *segment;
            self.news.push(Delivered { sent_at, end: segment.end(), sends });
        }
    }

    /// Takes `bytes` of a segment out of every sum it is in.
    fn forget(&mut self, segment: &Segment, bytes: u64) {
        self.outstanding -= bytes;
        if segment.sacked {
            self.sacked -= bytes;
        } else {
            self.lost -= if segment.lost { bytes } else { 0 };
            self.resent -= if segment.resent { bytes } else { 0 };
        }
    }

    /// The peer reports `start..end`. Answers how many bytes were not known before.
    pub(crate) fn sack(&mut self, start: u64, end: u64) -> u64 {
        let mut fresh: [Option<(u64, u64)>; 8] = [None; 8];
        let mut more = 0;
        let merged = self.sacks.insert_range(start, end, |a, b| match fresh.get_mut(more) {
            Some(slot) => {
                *slot = Some((a, b));
                more += 1;
            }
            // More than eight holes filled by one block: extend the last piece over the rest.
            None => {
                if let Some(Some(last)) = fresh.last_mut() {
                    last.1 = b;
                }
            }
        });
        let mut newly = 0;
        for (a, b) in fresh.into_iter().flatten() {
            newly += self.mark_sacked(a, b, merged);
        }
        newly
    }

    fn mark_sacked(&mut self, a: u64, b: u64, known: (u64, u64)) -> u64 {
        let mut newly = 0;
        let mut i = self.ring.partition_point(|s| s.end() <= a);
        while let Some(segment) = self.ring.get_mut(i) {
            if segment.seq >= b {
                break;
            }
            let whole = known.0 <= segment.seq && segment.end() <= known.1;
            if whole && !segment.sacked {
                let size = segment.size();
                let (lost, resent) = (segment.lost, segment.resent);
                segment.sacked = true;
                let segment = *segment;
                self.report(&segment);
                self.sacked_segments += 1;
                self.sacked += size;
                self.lost -= if lost { size } else { 0 };
                self.resent -= if resent { size } else { 0 };
                newly += size;
            }
            i += 1;
            self.step();
        }
        newly
    }

    /// Below which sequence number RFC 6675's IsLost holds: `duplicates` separate SACKed ranges above, or more
    /// than (`duplicates` - 1) segments' bytes. At most `duplicates` ranges are looked at.
    pub(crate) fn lost_below(&self, duplicates: u32, mss: u64) -> u64 {
        let (mut bytes, mut count) = (0, 0);
        for (start, end) in self.sacks.iter().rev() {
            bytes += end - start;
            count += 1;
            if count >= duplicates || bytes > u64::from(duplicates.saturating_sub(1)) * mss {
                return start;
            }
        }
        0
    }

    /// Sequence number below which data is lost by FACK: `duplicates` segments or more below the end of the highest
    /// one SACKed.
    pub(crate) fn lost_below_forward(&self, duplicates: u32, mss: u64) -> u64 {
        self.sacks.end().unwrap_or(0).saturating_sub(u64::from(duplicates) * mss)
    }

    /// Marks every segment below `limit` that is not SACKed as lost. Each is judged once.
    pub(crate) fn mark_lost_below(&mut self, limit: u64) {
        while let Some(i) = self.judged.checked_sub(self.base) {
            let Some(segment) = self.ring.get_mut(i as usize).filter(|s| s.end() <= limit) else { break };
            if !segment.sacked && !segment.lost {
                segment.lost = true;
                self.lost += segment.size();
                note_lost(segment, self.keeps_losses, &mut self.losses);
            }
            self.judged += 1;
            self.step();
        }
    }

    /// The first segment is lost, whatever the scoreboard says (fast retransmit).
    pub(crate) fn mark_front_lost(&mut self) {
        if let Some(front) = self.ring.front_mut().filter(|s| !s.sacked && !s.lost) {
            front.lost = true;
            self.lost += front.size();
            note_lost(front, self.keeps_losses, &mut self.losses);
        }
    }

    /// RFC 8985, section 6.2, step 5: segments sent before `newest` (time, and end), `span` or more ago, are lost. Returns
    /// whether any are, and the time until the last of those within `span` would be.
    pub(crate) fn lose_older(
        &mut self,
        newest: (Instant, u64),
        span: Duration,
        now: Instant,
    ) -> (bool, Option<Duration>) {
        let (mut lost, mut longest) = (false, None);
        while let Some((at, index, sends)) = self.order.front().copied() {
            self.step();
            let alive = self.get(index).filter(|s| s.sends == sends && !s.sacked && (!s.lost || s.resent));
            let Some(end) = alive.map(Segment::end) else {
                self.order.pop_front();
                continue;
            };
            if at > newest.0 {
                break;
            }
            self.order.pop_front();
            if (at, end) >= newest {
                // Sent at the same moment, and not before it.
                self.waiting.push((at, index, sends));
                continue;
            }
            let due = at + span;
            if due <= now {
                lost = true;
                self.lose(index);
            } else {
                longest = longest.max(Some(due - now));
                self.waiting.push((at, index, sends));
            }
        }
        while let Some(entry) = self.waiting.pop() {
            self.order.push_front(entry);
        }
        (lost, longest)
    }

    /// This segment, or its retransmission, is lost and may be sent again.
    fn lose(&mut self, index: u64) {
        let Some(i) = index.checked_sub(self.base) else { return };
        let Some(segment) = self.ring.get_mut(i as usize).filter(|s| !s.sacked) else { return };
        note_lost(segment, self.keeps_losses, &mut self.losses);
        let size = segment.size();
        if segment.resent {
            segment.resent = false;
            self.resent -= size;
        }
        if !segment.lost {
            segment.lost = true;
            self.lost += size;
        }
        self.cursor = self.cursor.min(index);
    }

    /// RFC 8985, section 6.3: at a timeout the first segment is lost, others when they left `span` ago or earlier.
    pub(crate) fn lose_at_timeout(&mut self, span: Duration, now: Instant) {
        for index in self.base..self.end_index() {
            if self.get(index).is_some_and(|s| index == self.base || s.sent_at + span <= now) {
                self.lose(index);
            }
        }
        self.cursor = self.base;
    }

    /// After a timeout: everything that is not SACKed is lost, and nothing has been sent again. The one walk over
    /// the window; a timeout costs at least a round trip, in which the window would have been handled anyway.
    pub(crate) fn mark_all_lost(&mut self) {
        (self.lost, self.resent) = (0, 0);
        for segment in &mut self.ring {
            segment.resent = false;
            segment.lost = !segment.sacked;
            if segment.lost {
                self.lost += segment.size();
                note_lost(segment, self.keeps_losses, &mut self.losses);
            }
        }
        self.cursor = self.base;
        self.judged = self.end_index();
    }

    /// Nothing is held for lost any more, and segments sent again count once.
    pub(crate) fn forget_losses(&mut self) {
        (self.lost, self.resent) = (0, 0);
        for segment in &mut self.ring {
            (segment.lost, segment.resent) = (false, false);
        }
        self.judged = self.base;
        self.cursor = self.base;
        self.sort_order();
    }

    /// Segments have come back under observation that had been judged: all that may still be lost, by time.
    fn sort_order(&mut self) {
        if self.keeps_order {
            let entry = |(i, s): (usize, &Segment)| (s.sent_at, self.base + i as u64, s.sends);
            let open = self.ring.iter().enumerate().filter(|(_, s)| !s.sacked && (!s.lost || s.resent));
            self.order = open.map(entry).collect();
            self.order.make_contiguous().sort_unstable();
        }
    }

    /// Forgets the scoreboard.
    pub(crate) fn clear_sacks(&mut self) {
        for (start, end) in std::mem::take(&mut self.sacks).iter() {
            let first = self.ring.partition_point(|s| s.end() <= start);
            for segment in self.ring.range_mut(first..).take_while(|s| s.seq < end) {
                if segment.sacked {
                    segment.sacked = false;
                    // It has arrived once, and is no loss of the network.
                    segment.told = true;
                    self.sacked_segments -= 1;
                    self.sacked -= segment.size();
                    self.lost += if segment.lost { segment.size() } else { 0 };
                    self.resent += if segment.resent { segment.size() } else { 0 };
                }
            }
        }
        self.sort_order();
    }

    /// A recovery begins: retransmissions start from the front again.
    pub(crate) fn rewind(&mut self) {
        self.cursor = self.base;
    }

    /// Sequence number at go-back-N's cursor; `None` when it has caught up.
    pub(crate) fn cursor_seq(&self) -> Option<u64> {
        self.get(self.cursor).map(|s| s.seq)
    }

    /// Index of the segment at the cursor, in any state.
    pub(crate) fn at_cursor(&self) -> Option<u64> {
        (self.cursor < self.end_index()).then_some(self.cursor)
    }

    /// NextSeg rule 1: the next segment that is lost, not SACKed and not sent again.
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        self.skip(|s| s.sacked || s.resent);
        self.get(self.cursor).filter(|s| s.lost).map(|_| self.cursor)
    }

    /// The next segment that is not SACKed while something above it is (NextSeg rule 3; ns-2's idea of lost).
    pub(crate) fn next_hole(&mut self) -> Option<u64> {
        self.skip(|s| s.sacked);
        let top = self.sacks.end().unwrap_or(0);
        self.get(self.cursor).filter(|s| s.seq < top).map(|_| self.cursor)
    }

    /// The last segment that is not SACKed (NextSeg rule 4).
    pub(crate) fn last_unsacked(&self) -> Option<u64> {
        let back = self.ring.iter().rev().position(|s| !s.sacked)?;
        Some(self.end_index() - 1 - back as u64)
    }

    fn skip(&mut self, over: impl Fn(&Segment) -> bool) {
        while self.get(self.cursor).is_some_and(&over) {
            self.cursor += 1;
            self.step();
        }
    }

    /// The segment at `index` leaves again, and retransmission goes on behind it.
    pub(crate) fn resend(&mut self, index: u64, now: Instant) {
        self.rescue(index, now);
        self.cursor = self.cursor.max(index + 1);
    }

    /// The segment at `index` leaves again; retransmission goes on where it was ("HighRxt MUST NOT be updated").
    pub(crate) fn rescue(&mut self, index: u64, now: Instant) {
        let Some(i) = index.checked_sub(self.base) else { return };
        let Some(segment) = self.ring.get_mut(i as usize) else { return };
        segment.sends += 1;
        segment.sent_at = now;
        segment.told = false;
        if self.keeps_order {
            self.order.push_back((now, index, segment.sends));
        }
        if !segment.resent && !segment.sacked {
            self.resent += segment.size();
        }
        segment.resent = true;
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "counts in tests only"))]
    #[inline]
    fn step(&mut self) {
        #[cfg(test)]
        {
            self.steps += 1;
        }
    }
}

/// The last transmission of a segment is lost: reported once, even if it is marked lost again before it leaves again.
fn note_lost(segment: &mut Segment, keeps: bool, losses: &mut Vec<Lost>) {
    if keeps && !std::mem::replace(&mut segment.told, true) {
        losses.push(Lost { sent_at: segment.sent_at, size: segment.size() });
    }
}

#[cfg(test)]
mod tests;
