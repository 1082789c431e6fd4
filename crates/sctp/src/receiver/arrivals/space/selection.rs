//! The gap blocks that a SACK lists where the peer keeps the state of the others (Selected Gap Blocks, docs/reference/extensions.md).
//!
//! "The first SACK block ... MUST specify the contiguous block of data containing the segment which triggered this ACK", and the next
//! blocks repeat those "most recently reported" (RFC 2018, 4): so no news depends on one SACK alone. The other half are all blocks in
//! turn: a block whose SACKs were lost comes again.

use super::map::ReceiveMap;

/// Arrivals that are remembered: those of consecutive numbers count as one.
const RECENT: usize = 16;

/// The choice of gap blocks of a space.
#[derive(Debug, Default)]
pub(in crate::receiver::arrivals) struct Selection {
    /// The numbers that arrived last while something was missing; a ring.
    recent: [u64; RECENT],
    newest: usize,
    /// Number at which the next list of blocks begins.
    turn: u64,
    /// A number below this was dropped again after it had been acknowledged: only a SACK that lists all blocks takes it back.
    taken_back: u64,
    chosen: Vec<(u64, u64)>,
}

impl Selection {
    /// A number arrived.
    pub(in crate::receiver::arrivals) fn note(&mut self, seq: u64) {
        if let Some(newest) = self.recent.get_mut(self.newest) {
            if *newest + 1 == seq {
                *newest = seq;
                return;
            }
        }
        self.newest = (self.newest + 1) % RECENT;
        if let Some(slot) = self.recent.get_mut(self.newest) {
            *slot = seq;
        }
    }

    /// A number counts as not received any more.
    pub(in crate::receiver::arrivals) fn take_back(&mut self, seq: u64) {
        self.taken_back = self.taken_back.max(seq + 1);
    }

    /// True if a SACK may leave blocks out.
    pub(in crate::receiver::arrivals) fn is_allowed(&self, received: &ReceiveMap) -> bool {
        received.next() >= self.taken_back
    }

    /// At most `most` blocks, three or more, in order, as the numbers `start..end`: the highest, by which the peer tells a list that was
    /// overtaken; those that changed last, until half are chosen; and the next in turn.
    pub(in crate::receiver::arrivals) fn choose(
        &mut self,
        received: &ReceiveMap,
        most: usize,
    ) -> &[(u64, u64)] {
        self.chosen.clear();
        self.chosen.extend(received.highest_listable());
        for back in 0..RECENT {
            if self.chosen.len() >= most.div_ceil(2) {
                break;
            }
            let seq = self.recent.get((self.newest + RECENT - back) % RECENT);
            if let Some(block) = seq.and_then(|seq| received.island_of(*seq)) {
                if received.is_listable(block) && !self.chosen.contains(&block) {
                    self.chosen.push(block);
                }
            }
        }
        // Blocks that no 16-bit offset reaches are behind all others: the search stops at the first of them.
        let listable = |block: &(u64, u64)| received.is_listable(*block);
        let start = self.turn;
        let after = received.islands_from(start).take_while(listable);
        let before = received.islands_from(0).take_while(|block| block.0 < start && listable(block));
        for block in after.chain(before) {
            if self.chosen.len() >= most {
                break;
            }
            if !self.chosen.contains(&block) {
                self.chosen.push(block);
                self.turn = block.1;
            }
        }
        self.chosen.sort_unstable();
        &self.chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn every_second(n: u64) -> ReceiveMap {
        let mut map = ReceiveMap::default();
        (0..n).for_each(|i| map.record(2 * i + 1));
        map
    }

    #[test]
    fn the_newest_and_the_others_in_turn() {
        let (map, mut selection) = (every_second(10), Selection::default());
        for seq in [17, 3, 9] {
            selection.note(seq);
        }
        let one = |n: u64| (n, n + 1);
        // The highest is 19, the newest 9.
        assert_eq!(selection.choose(&map, 4), [one(1), one(3), one(9), one(19)]);
        assert_eq!(selection.choose(&map, 4), [one(5), one(7), one(9), one(19)]);
        assert_eq!(selection.choose(&map, 4), [one(9), one(11), one(13), one(19)]);
        assert_eq!(selection.choose(&map, 4), [one(9), one(15), one(17), one(19)]);
        // Again from the beginning.
        assert_eq!(selection.choose(&map, 4), [one(1), one(3), one(9), one(19)]);
        assert_eq!(selection.choose(&map, 6), [one(3), one(5), one(7), one(9), one(11), one(19)]);
    }

    #[test]
    fn consecutive_numbers_are_one_arrival() {
        let mut map = every_second(30);
        let mut selection = Selection::default();
        selection.note(3);
        for seq in 60..100 {
            map.record(seq);
            selection.note(seq);
        }
        assert!(selection.choose(&map, 4).contains(&(3, 4)));
        assert!(selection.choose(&map, 4).contains(&(59, 100)));
    }

    #[test]
    fn what_was_taken_back_asks_for_all_until_it_is_passed() {
        let (mut map, mut selection) = (every_second(10), Selection::default());
        assert!(selection.is_allowed(&map));
        selection.take_back(19);
        assert!(!selection.is_allowed(&map));
        map.advance_to(18);
        assert!(!selection.is_allowed(&map));
        map.advance_to(20);
        assert!(selection.is_allowed(&map));
    }

    #[test]
    fn blocks_that_no_offset_reaches_are_left_out() {
        let (mut map, mut selection) = (every_second(3), Selection::default());
        for seq in (70_000..90_000).step_by(2) {
            map.record(seq);
            selection.note(seq);
        }
        assert_eq!(selection.choose(&map, 8), [(1, 2), (3, 4), (5, 6)]);
        map.record(65_534);
        assert_eq!(selection.choose(&map, 3), [(1, 2), (5, 6), (65_534, 65_535)]);
        map.record(65_535);
        assert_eq!(selection.choose(&map, 3), [(3, 4), (5, 6), (65_534, 65_536)]);
    }

    proptest! {
        /// For any arrivals, a list has blocks of the map alone, in order, no more than asked for; and after as many
        /// SACKs as one turn through all blocks takes, every block was in one.
        #[test]
        fn every_block_is_listed_before_long(
            arrivals in prop::collection::vec(0_u64..400, 1..200),
            most in 3_usize..20,
        ) {
            let (mut map, mut selection) = (ReceiveMap::default(), Selection::default());
            for seq in arrivals {
                if map.classify(seq) != super::super::map::Arrival::Duplicate {
                    map.record(seq);
                    selection.note(seq);
                }
            }
            let mut missing: Vec<_> = map.islands_from(0).collect();
            for _ in 0..=map.gaps().div_ceil(most / 2) {
                let chosen = selection.choose(&map, most);
                prop_assert_eq!(chosen.last().copied(), map.highest_listable());
                prop_assert!(chosen.len() <= most && chosen.windows(2).all(|pair| pair[0].1 < pair[1].0));
                prop_assert!(chosen.iter().all(|block| map.island_of(block.0) == Some(*block)));
                missing.retain(|block| !chosen.contains(block));
            }
            prop_assert_eq!(missing, []);
        }
    }
}
