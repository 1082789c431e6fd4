//! The sequence numbers of the peer that have arrived.

use anabranch_transport::ranges::RangeSet;

/// The place of an arriving sequence number among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::receiver) enum Arrival {
    /// The next in sequence.
    InOrder,
    /// New, with a hole before it.
    BeyondHole,
    /// New, and it closed (part of) a hole.
    FillsHole,
    /// The chunk had arrived before.
    Duplicate,
}

/// Received sequence numbers: everything below `next`, and the islands above.
#[derive(Debug, Default)]
pub(in crate::receiver::arrivals) struct ReceiveMap {
    next: u64,
    islands: RangeSet,
    /// Ranges looked at or shifted, for the test that the work per packet does not grow with the window.
    #[cfg(test)]
    work: u64,
}

impl ReceiveMap {
    /// The earliest sequence number that has not arrived.
    pub(in crate::receiver::arrivals) fn next(&self) -> u64 {
        self.next
    }

    /// True if something is missing below the highest number that arrived.
    pub(in crate::receiver::arrivals) fn has_holes(&self) -> bool {
        !self.islands.is_empty()
    }

    /// Number of islands: gap blocks that a SACK would need.
    pub(in crate::receiver::arrivals) fn gaps(&self) -> usize {
        self.islands.len()
    }

    /// One past the highest that arrived.
    pub(in crate::receiver::arrivals) fn end(&self) -> u64 {
        self.islands.end().unwrap_or(self.next)
    }

    /// The place that `seq` would have, without recording it.
    #[inline]
    pub(in crate::receiver::arrivals) fn classify(&self, seq: u64) -> Arrival {
        if seq == self.next && self.islands.is_empty() {
            Arrival::InOrder
        } else {
            self.classify_out_of_order(seq)
        }
    }

    #[inline(never)]
    fn classify_out_of_order(&self, seq: u64) -> Arrival {
        if seq < self.next || (!self.islands.is_empty() && self.islands.contains(seq)) {
            Arrival::Duplicate
        } else if seq < self.end() || seq == self.next {
            Arrival::FillsHole
        } else {
            Arrival::BeyondHole
        }
    }

    /// Records a sequence number that is not a duplicate.
    #[inline]
    pub(in crate::receiver::arrivals) fn record(&mut self, seq: u64) {
        if seq == self.next && self.islands.is_empty() {
            self.next += 1;
        } else {
            self.record_beside_holes(seq);
        }
    }

    #[inline(never)]
    fn record_beside_holes(&mut self, seq: u64) {
        if seq != self.next {
            #[cfg(test)]
            {
                self.work += self.islands.work(seq);
            }
            self.islands.insert(seq);
            return;
        }
        self.next += 1;
        if let Some((start, end)) = self.islands.first() {
            if start == self.next {
                self.next = end;
                self.islands.remove_below(end);
            }
        }
    }

    /// Everything below `next` counts as received: the peer has given it up.
    pub(in crate::receiver::arrivals) fn advance_to(&mut self, next: u64) {
        self.next = self.next.max(next);
        self.islands.remove_below(self.next);
        if let Some((start, end)) = self.islands.first() {
            if start == self.next {
                self.next = end;
                self.islands.remove_below(end);
            }
        }
    }

    /// Islands that end above `seq`, as the numbers `start..end`.
    pub(in crate::receiver::arrivals) fn islands_from(
        &self,
        seq: u64,
    ) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.islands.iter_from(seq)
    }

    /// The island that holds `seq`.
    pub(in crate::receiver::arrivals) fn island_of(&self, seq: u64) -> Option<(u64, u64)> {
        self.islands.containing(seq)
    }

    /// True if the offset of an island fits 16 bits.
    pub(in crate::receiver::arrivals) fn is_listable(&self, (start, _): (u64, u64)) -> bool {
        start - self.next < u64::from(u16::MAX)
    }

    /// The highest island whose offset fits 16 bits.
    pub(in crate::receiver::arrivals) fn highest_listable(&self) -> Option<(u64, u64)> {
        self.islands.last_from_below(self.next + u64::from(u16::MAX))
    }

    /// Gap blocks as offsets from the cumulative TSN (which is `next - 1`), as many as 16-bit offsets reach.
    // rfc9260:3.3.4-2
    pub(in crate::receiver::arrivals) fn gap_blocks(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        self.islands.iter().map_while(|island| self.gap_block(island))
    }

    /// The gap block of an island.
    pub(in crate::receiver::arrivals) fn gap_block(&self, (start, end): (u64, u64)) -> Option<(u16, u16)> {
        let first = u16::try_from(start - self.next + 1).ok()?;
        // The last member's offset is (end - 1) - (next - 1).
        let last = u16::try_from(end - self.next).unwrap_or(u16::MAX);
        Some((first, last))
    }

    /// Ranges looked at so far.
    #[cfg(test)]
    pub(in crate::receiver::arrivals) fn work(&self) -> u64 {
        self.work
    }

    /// `start..end`, above the numbers that have arrived in sequence, counts as not received any more (6.2: "drop the largest TSN held for
    /// reordering").
    // rfc9260:6.2-27
    pub(in crate::receiver::arrivals) fn forget(&mut self, start: u64, end: u64) {
        self.islands.remove_range(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_order_with_duplicates(order in prop::collection::vec(0_u64..40, 1..200)) {
            let (mut map, mut seen) = (ReceiveMap::default(), std::collections::BTreeSet::new());
            for seq in order {
                let arrival = map.classify(seq);
                prop_assert_eq!(arrival == Arrival::Duplicate, !seen.insert(seq));
                if arrival != Arrival::Duplicate {
                    map.record(seq);
                }
                let next = (0..).find(|s| !seen.contains(s)).unwrap();
                prop_assert_eq!(map.next(), next);
                let listed: Vec<u64> = map.gap_blocks().flat_map(|(s, e)| u64::from(s)..=u64::from(e)).map(|o| next + o - 1).collect();
                let above: Vec<u64> = seen.iter().copied().filter(|s| *s >= next).collect();
                prop_assert_eq!(listed, above);
            }
        }
    }

    #[test]
    fn what_is_given_up_counts_as_received() {
        for (to, next, gaps) in
            [(1, 2, 2), (3, 3, 2), (5, 7, 1), (6, 7, 1), (7, 7, 1), (8, 8, 1), (20, 20, 0)]
        {
            let mut map = ReceiveMap::default();
            for seq in [0, 1, 5, 6, 9] {
                map.record(seq);
            }
            map.advance_to(to);
            assert_eq!((map.next(), map.gaps()), (next, gaps), "{to}");
        }
    }

    #[test]
    fn offsets_end_where_16_bits_end() {
        let mut map = ReceiveMap::default();
        for seq in [1, 65_534, 65_535, 70_000] {
            map.record(seq);
        }
        assert_eq!(map.gap_blocks().collect::<Vec<_>>(), [(2, 2), (65_535, 65_535)]);
    }
}
