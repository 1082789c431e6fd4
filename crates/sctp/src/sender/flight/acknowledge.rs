//! Acknowledgement of a flight by a SACK, or by the point of a SHUTDOWN chunk: chunks newly acknowledged, and chunks taken back.

use anabranch_base::cold_path;
use anabranch_wire::chunk::sack::GapBlock;

use super::{AckOutcome, BogusSack, ChunkState, Flight, GapList, LaneAck, NotThere, SentChunk};
use crate::ids::{Id, LaneId};

/// Blocks in a SACK from which on it may have been cut to the size of a packet: the smallest packet, 512 bytes, has
/// room for some 120.
const MANY_BLOCKS: usize = 100;

/// Blocks of a selection that are put among those known one by one.
const FEW_BLOCKS: usize = 32;

impl Flight {
    /// A SACK that lists all gap blocks.
    #[cfg(test)]
    pub(crate) fn acknowledge(
        &mut self,
        next_expected: u64,
        gaps: impl ExactSizeIterator<Item = GapBlock>,
        lanes: usize,
        out: &mut AckOutcome,
    ) -> Result<(), BogusSack> {
        self.acknowledge_listed(next_expected, GapList::all(gaps), lanes, out)
    }

    /// Applies a SACK. `next_expected` is one past its Cumulative TSN Ack, unwrapped; the caller has dropped those
    /// that are older than [`Flight::first`].
    // rfc9260:12.4-4
    pub(crate) fn acknowledge_listed(
        &mut self,
        next_expected: u64,
        gaps: GapList<impl ExactSizeIterator<Item = GapBlock>>,
        lanes: usize,
        out: &mut AckOutcome,
    ) -> Result<(), BogusSack> {
        out.reset(lanes);
        self.check_sent(next_expected)?;
        // Most SACKs have no blocks.
        self.scratch.clear();
        let count = gaps.blocks.len();
        if count > 0 {
            self.read_blocks(next_expected, gaps.blocks)?;
        }
        if gaps.selected {
            self.note_age(next_expected, count, out);
        }
        if !self.reserved.is_empty() {
            cold_path();
            self.check_reserved()?;
        }
        self.acknowledge_cumulatively(next_expected, out);
        // Most SACKs have no blocks, nor had the one before.
        if gaps.selected {
            self.add_gaps(out);
        } else if !(self.scratch.is_empty() && self.gap_acked.is_empty()) {
            self.acknowledge_gaps(out);
        }
        // A list without blocks takes back all chunks above the point, and leaves no gap-acked chunk there to show them missing.
        if out.not_there == NotThere::First && count == 0 && !gaps.selected {
            out.not_there = NotThere::All;
        }
        Ok(())
    }

    /// Applies the Cumulative TSN Ack of a SHUTDOWN chunk. It has no gap blocks, and their absence has no meaning:
    /// "the receiver of the SHUTDOWN chunk MUST NOT interpret the lack of a Gap Ack Block as a renege" (RFC 9260,
    /// 3.3.8).
    ///
    /// The point itself may show a renege. By the same section all up to it "have been received and the next one has
    /// not been received": if that one had been acknowledged the peer has dropped it ([`Flight::take_back_first`]).
    /// Chunks above it were dropped before, as "the receiver SHOULD drop the largest TSN held for reordering" (6.2),
    /// and no gap blocks will come any more that would show this one chunk after the other: all of them are taken back. A peer
    /// that drops in another order, and has some of them, gets those twice.
    // rfc9260:3.3.8-2
    #[cold]
    pub(crate) fn acknowledge_up_to(
        &mut self,
        next_expected: u64,
        lanes: usize,
        out: &mut AckOutcome,
    ) -> Result<(), BogusSack> {
        out.reset(lanes);
        self.check_sent(next_expected)?;
        self.acknowledge_cumulatively(next_expected, out);
        if out.not_there == NotThere::First {
            out.not_there = NotThere::All;
            for (start, end) in std::mem::take(&mut self.gap_acked).iter() {
                self.renege(start, end, out);
            }
        }
        Ok(())
    }

    /// Chunks that gap blocks had acknowledged begin right behind the point, to which an acknowledgement has just moved it. That number was
    /// received once and is not there any more, or the point would have passed it: the peer has dropped it again (6.2.1 D iii). No older
    /// acknowledgement that comes late can look like this: the gap blocks came with a lower point, and "Cumulative TSN Ack is
    /// monotonically increasing" (6.2.1 D i), so this one was sent after all that have come. One that does not move the point
    /// finds that number taken back already.
    #[cold]
    #[inline(never)]
    fn take_back_first(&mut self, out: &mut AckOutcome) {
        out.not_there = NotThere::First;
        self.gap_acked.remove_below(self.first + 1);
        self.renege(self.first, self.first + 1, out);
    }

    /// Chunks that were acknowledged on a lane, were taken back, and have not left again since; with `all`, or only the earliest number of all.
    pub(crate) fn taken_back(&self, lane: LaneId, all: bool) -> impl Iterator<Item = (u64, &SentChunk)> {
        let count = if all { self.chunks.len() } else { 1 };
        self.note_read(count);
        let numbered = (self.first..).zip(self.chunks.iter()).take(count);
        numbered.filter(move |(_, chunk)| chunk.lane == lane && chunk.is_taken_back())
    }

    fn check_sent(&self, next_expected: u64) -> Result<(), BogusSack> {
        let never_sent = self.reserved.front().is_some_and(|seq| *seq < next_expected);
        if next_expected > self.next() || never_sent {
            return Err(BogusSack("a SACK acknowledges a TSN that was never sent"));
        }
        Ok(())
    }

    /// Fills `scratch`, which is empty, with the SACK's blocks as unwrapped, sorted, merged ranges.
    #[inline(never)]
    fn read_blocks(
        &mut self,
        next_expected: u64,
        gaps: impl Iterator<Item = GapBlock>,
    ) -> Result<(), BogusSack> {
        let mut sorted = true;
        for block in gaps {
            // Offsets count from the Cumulative TSN Ack, which is next_expected - 1; 0 would be that TSN itself. A block of that TSN
            // alone says nothing new, and the rest of the SACK counts.
            if (block.start, block.end) == (0, 0) {
                continue;
            }
            if block.start == 0 || block.end < block.start {
                return Err(BogusSack("a gap block ends before it starts, or starts at the cumulative TSN"));
            }
            let (start, end) =
                (next_expected + u64::from(block.start) - 1, next_expected + u64::from(block.end));
            if end > self.next() {
                return Err(BogusSack("a gap block acknowledges a TSN that was never sent"));
            }
            // The number right behind the point has not been received, or the point would have passed it: a block that names it is not
            // believed there, or nothing would ever send it again.
            let start = start.max(next_expected + 1);
            if start >= end {
                continue;
            }
            match self.scratch.last_mut() {
                Some(last) if start == last.1 => last.1 = end,
                last => {
                    sorted &= last.is_none_or(|last| start > last.1);
                    self.scratch.push((start, end));
                }
            }
        }
        if !sorted {
            // No rule asks for an order; every stack keeps one.
            merge(&mut self.scratch);
        }
        Ok(())
    }

    /// No block may cover a number under which nothing has left.
    fn check_reserved(&self) -> Result<(), BogusSack> {
        for &(start, end) in &self.scratch {
            let next = self.reserved.partition_point(|seq| *seq < start);
            if self.reserved.get(next).is_some_and(|seq| *seq < end) {
                return Err(BogusSack("a gap block acknowledges a TSN that was never sent"));
            }
        }
        Ok(())
    }

    // rfc9260:6.7-3 rfc3758:3.5-3
    fn acknowledge_cumulatively(&mut self, next_expected: u64, out: &mut AckOutcome) {
        let count = (next_expected.saturating_sub(self.first) as usize).min(self.chunks.len());
        if count == 0 {
            return;
        }
        out.advanced = true;
        // Read in place and removed together: taking out each chunk would move it.
        let mut bytes = 0;
        for (seq, chunk) in (self.first..).zip(self.chunks.range(..count)) {
            let len = chunk.fragment.payload.len() as u64;
            bytes += len;
            let Some(lane) = out.lanes.get_mut(chunk.lane.row()) else { continue };
            lane.earliest_acked = true;
            lane.fast_retransmitted_acked |= chunk.fast_retransmitted;
            if chunk.state == ChunkState::GapAcked {
                lane.earlier_gap += chunk.size();
            } else if chunk.state == ChunkState::Abandoned {
                // "MUST NOT credit an 'abandoned' data chunk to the partial_bytes_acked" (RFC 3758, 3.5, A2).
                self.abandoned -= 1;
                // Counted for configurations that credit abandoned chunks which have arrived (`credit_given_up`).
                if self.has_arrived(seq, next_expected) {
                    lane.given_up = lane.given_up.saturating_add(chunk.fragment.ppid);
                }
            } else {
                if chunk.acked_at != 0 && !chunk.counts_anew() {
                    cold_path();
                    count_again(lane, chunk);
                } else {
                    lane.cumulative += chunk.size();
                }
                out.payload += len;
                newly(lane, seq, chunk);
            }
        }
        #[cfg(test)]
        {
            self.visited += count as u64;
        }
        if let Some(by_stream) = &mut self.by_stream {
            self.chunks.range(..count).for_each(|chunk| by_stream.remove(&chunk.fragment));
        }
        if count == 1 {
            self.chunks.pop_front();
        } else {
            self.chunks.drain(..count);
        }
        self.bytes -= bytes;
        self.first += count as u64;
        out.highest_acked = Some(self.first - 1);
        self.gap_acked.remove_below(self.first);
        if self.gap_acked.first().is_some_and(|(start, _)| start == self.first) {
            self.take_back_first(out);
        }
    }

    /// Walks the SACK's blocks and the known ones side by side: numbers in only one of the two have changed.
    fn acknowledge_gaps(&mut self, out: &mut AckOutcome) {
        let mut blocks = std::mem::take(&mut self.scratch);
        if let Some(&(_, end)) = blocks.last() {
            out.highest_acked = Some(end - 1);
        }
        let known = std::mem::take(&mut self.gap_acked);
        let mut old = known.iter().peekable();
        let mut at = self.first;
        for &(start, end) in &blocks {
            // Known ranges before this block are not in the SACK any more.
            while let Some(&(s, e)) = old.peek() {
                if e > start {
                    break;
                }
                self.renege(s.max(at), e, out);
                old.next();
            }
            let mut from = start;
            while let Some(&(s, e)) = old.peek() {
                if s >= end {
                    break;
                }
                if s.max(at) < start {
                    self.renege(s.max(at), start, out);
                }
                self.gap_ack(from, s.max(from), out);
                from = from.max(e.min(end));
                if e > end {
                    break;
                }
                old.next();
            }
            self.gap_ack(from, end, out);
            at = end;
        }
        // A SACK holds "as many Gap Ack Blocks as can fit" (6.2). One with many may have been cut short: chunks above
        // its last block keep their state until a later SACK covers them.
        let cut_short = blocks.len() >= MANY_BLOCKS;
        for (s, e) in old {
            let s = s.max(at);
            if !cut_short {
                self.renege(s, e, out);
            } else if let Some(last) = blocks.last_mut().filter(|last| last.1 == s) {
                last.1 = e;
            } else if s < e {
                blocks.push((s, e));
            }
        }
        self.gap_acked = known;
        self.gap_acked.assign(&blocks);
        self.scratch = blocks;
    }

    /// Notes if a selection is older than one that was read before: each has the highest block there is, as long as
    /// it cannot have been cut.
    #[inline(never)]
    fn note_age(&self, next_expected: u64, count: usize, out: &mut AckOutcome) {
        if next_expected == self.first && count < MANY_BLOCKS {
            let highest = self.scratch.last().map_or(self.first, |block| block.1);
            out.overtaken = self.gap_acked.end() > Some(highest);
        }
    }

    /// The SACK's blocks are a selection: they add to those of before.
    #[inline(never)]
    fn add_gaps(&mut self, out: &mut AckOutcome) {
        if self.scratch.is_empty() {
            return;
        }
        if self.scratch.len() > FEW_BLOCKS {
            // Inserting each block among the known ones would cost too much: the two lists are merged.
            self.scratch.extend(self.gap_acked.iter());
            merge(&mut self.scratch);
            self.acknowledge_gaps(out);
            return;
        }
        let blocks = std::mem::take(&mut self.scratch);
        let mut known = std::mem::take(&mut self.gap_acked);
        for &(start, end) in &blocks {
            known.insert_range(start, end, |start, end| self.gap_ack(start, end, out));
        }
        out.highest_acked = known.end().map(|end| end - 1);
        self.gap_acked = known;
        self.scratch = blocks;
    }

    fn gap_ack(&mut self, start: u64, end: u64, out: &mut AckOutcome) {
        for seq in start..end {
            let Some(chunk) = self.get_mut(seq) else { continue };
            let Some(lane) = out.lanes.get_mut(chunk.lane.row()) else { continue };
            if matches!(chunk.state, ChunkState::GapAcked | ChunkState::Abandoned) {
                continue;
            }
            newly(lane, seq, chunk);
            chunk.state = ChunkState::GapAcked;
            if chunk.counts_anew() {
                lane.gap += chunk.size();
            } else {
                count_again(lane, chunk);
            }
            chunk.acked_at = chunk.transmissions;
            out.payload += chunk.fragment.payload.len() as u64;
        }
    }

    /// 6.2.1 D iii: chunks that were gap-acked and are not any more count as outstanding again.
    fn renege(&mut self, start: u64, end: u64, out: &mut AckOutcome) {
        for seq in start..end {
            let Some(chunk) = self.get_mut(seq) else { continue };
            if chunk.state != ChunkState::GapAcked {
                continue;
            }
            chunk.state = ChunkState::InFlight;
            if let Some(lane) = out.lanes.get_mut(chunk.lane.row()) {
                lane.reneged += chunk.size();
                lane.reneged_chunks += 1;
                lane.reneged_overhead += u32::from(chunk.overhead);
            }
        }
    }
}

/// Sorts ranges and joins those that touch.
fn merge(ranges: &mut Vec<(u64, u64)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let joins = next.0 <= kept.1;
        if joins {
            kept.1 = kept.1.max(next.1);
        }
        joins
    });
}

/// The chunk was acknowledged before, and taken back: windows that grow by acknowledged bytes have grown by it already.
#[cold]
fn count_again(lane: &mut LaneAck, chunk: &SentChunk) {
    lane.again = lane.again.saturating_add(u32::try_from(chunk.size()).unwrap_or(u32::MAX));
}

// rfc9260:6.3.1-4
fn newly(lane: &mut LaneAck, seq: u64, chunk: &SentChunk) {
    lane.acked_chunks += 1;
    // Chunks come in the order of their numbers.
    debug_assert!(lane.highest_newly_acked < Some(seq), "{seq} after {:?}", lane.highest_newly_acked);
    lane.highest_newly_acked = Some(seq);
    if chunk.state == ChunkState::InFlight {
        lane.left_flight += chunk.size();
        lane.left_chunks += 1;
        lane.left_overhead += u32::from(chunk.overhead);
    }
    // Karn's algorithm (6.3.1, C5): only chunks sent once. A chunk marked lost may have been sent once, and then its
    // sample would include the wait of the peer's SACKs that we missed: leave it out, too.
    // Nor does the acknowledgement of a chunk that was taken back and not sent again since give a round-trip time.
    if chunk.state != ChunkState::InFlight || chunk.is_taken_back() {
        return;
    }
    if chunk.transmissions == 1 {
        lane.newest_once = Some((seq, chunk.sent_at));
        lane.longest_once = lane.longest_once.max(chunk.fragment.payload.len() as u32);
    } else {
        lane.newest_resent = lane.newest_resent.max(Some((chunk.sent_at, seq)));
        lane.longest_resent = lane.longest_resent.max(chunk.fragment.payload.len() as u32);
    }
}
