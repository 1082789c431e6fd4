//! A set of disjoint half-open ranges of sequence numbers: what was SACKed, what arrived out of order.
//!
//! Holes are few, so a sorted deque with binary search serves; nothing here depends on the size of the window.

use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    ranges: VecDeque<(u64, u64)>,
}

impl RangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Ranges from low to high.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }

    /// One past the highest member; 0 when empty.
    pub(crate) fn end(&self) -> u64 {
        self.ranges.back().map_or(0, |r| r.1)
    }

    /// The range that holds `at`.
    pub(crate) fn containing(&self, at: u64) -> Option<(u64, u64)> {
        let i = self.ranges.partition_point(|r| r.1 <= at);
        self.ranges.get(i).copied().filter(|r| r.0 <= at)
    }

    /// Adds `start..end`, merging neighbours, and calls `newly` for each part that was not there before.
    /// Answers the range that holds it now.
    pub(crate) fn insert(&mut self, start: u64, end: u64, mut newly: impl FnMut(u64, u64)) -> (u64, u64) {
        if start >= end {
            return (start, start);
        }
        let first = self.ranges.partition_point(|r| r.1 < start);
        let (mut merged, mut at, mut last) = ((start, end), start, first);
        while let Some(&(left, right)) = self.ranges.get(last) {
            if left > end {
                break;
            }
            if at < left {
                newly(at, left);
            }
            at = at.max(right);
            merged = (merged.0.min(left), merged.1.max(right));
            last += 1;
        }
        if at < end {
            newly(at, end);
        }
        match self.ranges.get_mut(first) {
            Some(slot) if last > first => {
                *slot = merged;
                self.ranges.drain(first + 1..last);
            }
            _ => self.ranges.insert(first, merged),
        }
        merged
    }

    /// Forgets everything below `to`.
    pub(crate) fn trim(&mut self, to: u64) {
        while let Some(front) = self.ranges.front_mut() {
            if front.1 > to {
                front.0 = front.0.max(to);
                break;
            }
            self.ranges.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain array of booleans.
        #[test]
        fn behaves_like_a_bitmap(steps in prop::collection::vec((0_u64..60, 0_u64..12, any::<bool>()), 1..60)) {
            let (mut set, mut model) = (RangeSet::default(), [false; 80]);
            for (start, len, trim) in steps {
                if trim && len == 0 {
                    set.trim(start);
                    model[..start as usize].fill(false);
                    continue;
                }
                let mut fresh = Vec::new();
                set.insert(start, start + len, |a, b| fresh.extend(a..b));
                let expected: Vec<u64> = (start..start + len).filter(|i| !model[*i as usize]).collect();
                prop_assert_eq!(fresh, expected);
                model[start as usize..(start + len) as usize].fill(true);
                let members: Vec<u64> = set.iter().flat_map(|(a, b)| a..b).collect();
                let expected: Vec<u64> = (0..80).filter(|i| model[*i as usize]).collect();
                prop_assert_eq!(members, expected);
                prop_assert!(set.iter().zip(set.iter().skip(1)).all(|(a, b)| a.1 < b.0), "ranges that touch are one");
                for at in 0..80 {
                    prop_assert_eq!(set.containing(at).is_some(), model[at as usize]);
                }
            }
        }
    }
}
