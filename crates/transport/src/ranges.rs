//! Sets of numbers as sorted, disjoint ranges that do not touch: packets that arrived out of order, or that gap blocks or SACK blocks
//! acknowledged.

use std::collections::VecDeque;

/// An empty set keeps room for so many ranges at most.
const LARGE: usize = 256;

/// A number of a sequence: 64 bits where numbers are counted on without wrapping, 32 where they wrap and the caller sees to
/// it that no set holds half of them.
pub trait Position: Copy + Ord {
    /// The number after this one.
    #[must_use]
    fn after(self) -> Self;
}

macro_rules! positions {
    ($($kind:ty),+) => {
        $(impl Position for $kind {
            #[inline]
            fn after(self) -> Self {
                self + 1
            }
        })+
    };
}

positions!(u32, u64, i64);

/// Half-open ranges `start..end`, ascending.
///
/// Appending at the end and filling at the front, almost the only cases in a network, cost O(1); anything else
/// O(log n) to find and O(n) to shift, n being the number of gaps, not of packets.
#[derive(Clone, Debug)]
pub struct RangeSet<P = u64> {
    ranges: VecDeque<(P, P)>,
}

impl<P> Default for RangeSet<P> {
    fn default() -> Self {
        Self { ranges: VecDeque::new() }
    }
}

impl<P: Position> RangeSet<P> {
    /// Whether it has no member.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of ranges.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Forgets every member.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Ranges from low to high.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (P, P)> + ExactSizeIterator + '_ {
        self.ranges.iter().copied()
    }

    /// Ranges that end above `at`, from low to high.
    pub fn iter_from(&self, at: P) -> impl Iterator<Item = (P, P)> + '_ {
        self.ranges.range(self.ranges.partition_point(|r| r.1 <= at)..).copied()
    }

    /// The highest range that begins below `at`.
    #[must_use]
    pub fn last_from_below(&self, at: P) -> Option<(P, P)> {
        let above = self.ranges.partition_point(|r| r.0 < at);
        above.checked_sub(1).and_then(|last| self.ranges.get(last)).copied()
    }

    /// The lowest range.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<(P, P)> {
        self.ranges.front().copied()
    }

    /// One past the highest member.
    #[inline]
    #[must_use]
    pub fn end(&self) -> Option<P> {
        self.ranges.back().map(|r| r.1)
    }

    /// The range that holds `at`.
    #[must_use]
    pub fn containing(&self, at: P) -> Option<(P, P)> {
        let i = self.ranges.partition_point(|r| r.1 <= at);
        self.ranges.get(i).copied().filter(|r| r.0 <= at)
    }

    /// Whether `at` is a member.
    #[must_use]
    pub fn contains(&self, at: P) -> bool {
        self.containing(at).is_some()
    }

    /// Whether all of `start..end`, which is not empty, is there.
    #[must_use]
    pub fn covers(&self, start: P, end: P) -> bool {
        let i = self.ranges.partition_point(|r| r.1 < end);
        self.ranges.get(i).is_some_and(|r| r.0 <= start)
    }

    /// Adds one member; false when it was there.
    pub fn insert(&mut self, at: P) -> bool {
        match self.ranges.back_mut() {
            None => {
                self.ranges.push_back((at, at.after()));
                return true;
            }
            Some(last) if last.1 == at => {
                last.1 = at.after();
                return true;
            }
            Some(last) if last.1 < at => {
                self.ranges.push_back((at, at.after()));
                return true;
            }
            Some(_) => {}
        }
        // The first range that ends at or after it: the number extends it, is in it, or goes before it.
        let i = self.ranges.partition_point(|r| r.1 < at);
        let Some(range) = self.ranges.get_mut(i) else { return false };
        if range.0 <= at && at < range.1 {
            return false;
        }
        if range.1 == at {
            range.1 = at.after();
            let joined = range.1;
            if let Some(&(start, end)) = self.ranges.get(i + 1) {
                if start == joined {
                    self.ranges[i].1 = end;
                    self.ranges.remove(i + 1);
                }
            }
        } else if range.0 == at.after() {
            range.0 = at;
        } else {
            self.ranges.insert(i, (at, at.after()));
        }
        true
    }

    /// Adds `start..end`, merging neighbours, and calls `newly` for each part that was not there before, in order.
    /// Answers the range that holds it now; an empty one where `start..end` is empty.
    pub fn insert_range(&mut self, start: P, end: P, mut newly: impl FnMut(P, P)) -> (P, P) {
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

    /// Ranges that [`RangeSet::insert`] reads and shifts for this number, in the worst case: for tests that the work for a
    /// packet does not grow with the window.
    #[must_use]
    pub fn work(&self, at: P) -> u64 {
        let i = self.ranges.partition_point(|r| r.1 < at);
        1 + u64::from(self.ranges.len().max(1).ilog2()) + i.min(self.ranges.len() - i) as u64
    }

    /// Removes everything below `at`.
    pub fn remove_below(&mut self, at: P) {
        while let Some(first) = self.ranges.front_mut() {
            if first.1 <= at {
                self.ranges.pop_front();
            } else {
                first.0 = first.0.max(at);
                return;
            }
        }
        // Room for many, which was needed once, is not kept.
        if self.ranges.capacity() > LARGE {
            self.ranges = VecDeque::new();
        }
    }

    /// Replaces the whole set. The caller gives sorted, disjoint ranges that do not touch.
    pub fn assign(&mut self, ranges: &[(P, P)]) {
        self.ranges.clear();
        self.ranges.extend(ranges);
    }

    /// Removes `start..end`; numbers that are not members may be among them.
    pub fn remove_range(&mut self, start: P, end: P) {
        if start >= end {
            return;
        }
        // The first range that reaches beyond the start, and the first that lies behind the end.
        let first = self.ranges.partition_point(|r| r.1 <= start);
        let behind = self.ranges.partition_point(|r| r.0 < end);
        let (Some(&(left, _)), Some(&(_, right))) =
            (self.ranges.get(first), behind.checked_sub(1).and_then(|last| self.ranges.get(last)))
        else {
            return;
        };
        if first >= behind {
            return;
        }
        self.ranges.drain(first..behind);
        // The rests at both sides, the higher first: each goes to the same place.
        if right > end {
            self.ranges.insert(first, (end, right));
        }
        if left < start {
            self.ranges.insert(first, (left, start));
        }
    }
}

#[cfg(test)]
mod exhaustive;
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_as_a_set(steps in prop::collection::vec((0_u8..10, 0_u64..60, 0_u64..12), 1..200)) {
            let (mut ranges, mut model) = (RangeSet::default(), BTreeSet::new());
            for (what, at, len) in steps {
                match what {
                    0 => {
                        ranges.remove_below(at);
                        model = model.split_off(&at);
                    }
                    1 => {
                        ranges.remove_range(at, at + len);
                        model.retain(|n| !(at..at + len).contains(n));
                    }
                    2 => {
                        let copied: Vec<_> = ranges.iter().collect();
                        ranges.clear();
                        prop_assert!(ranges.is_empty() && ranges.first().is_none());
                        ranges.assign(&copied);
                    }
                    3..6 => {
                        let mut fresh = Vec::new();
                        let (start, end) = ranges.insert_range(at, at + len, |a, b| fresh.push((a, b)));
                        prop_assert!(start <= at && at + len <= end);
                        prop_assert!(fresh.windows(2).all(|w| w[0].1 < w[1].0));
                        let expected: Vec<u64> = (at..at + len).filter(|n| model.insert(*n)).collect();
                        prop_assert_eq!(fresh.iter().flat_map(|(a, b)| *a..*b).collect::<Vec<_>>(), expected);
                    }
                    _ => prop_assert_eq!(ranges.insert(at), model.insert(at)),
                }
                let members: Vec<u64> = ranges.iter().flat_map(|(s, e)| s..e).collect();
                prop_assert_eq!(&members, &model.iter().copied().collect::<Vec<_>>());
                let list: Vec<_> = ranges.iter().collect();
                prop_assert!(list.windows(2).all(|w| w[0].1 < w[1].0), "ranges that touch are one: {:?}", list);
                prop_assert_eq!(ranges.end(), model.last().map(|last| last + 1));
                for n in 0..80 {
                    prop_assert_eq!(ranges.contains(n), model.contains(&n));
                    let holder = list.iter().copied().find(|(s, e)| (*s..*e).contains(&n));
                    prop_assert_eq!(ranges.containing(n), holder);
                    let whole = (n..n + 3).all(|n| model.contains(&n));
                    prop_assert_eq!(ranges.covers(n, n + 3), whole);
                }
            }
        }
    }

    #[test]
    fn numbers_below_zero_and_of_32_bits() {
        let mut ranges = RangeSet::<i64>::default();
        let mut added = |start, end| {
            let mut fresh = Vec::new();
            ranges.insert_range(start, end, |a, b| fresh.push((a, b)));
            fresh
        };
        assert_eq!(added(-10, 20), [(-10, 20)]);
        assert_eq!(added(30, 40), [(30, 40)]);
        assert_eq!(added(15, 35), [(20, 30)]);
        assert_eq!(added(-15, 50), [(-15, -10), (40, 50)]);
        assert_eq!(added(12, 13), []);
        assert_eq!(added(50, 50), []);
        assert!(ranges.covers(-15, 50) && !ranges.covers(-15, 51) && !ranges.covers(-16, 6));
        assert_eq!((ranges.len(), ranges.end()), (1, Some(50)));
        let mut small = RangeSet::<u32>::default();
        assert!(small.insert(5) && small.insert(4) && !small.insert(5));
        assert_eq!(small.iter().collect::<Vec<_>>(), [(4, 6)]);
    }

    /// In order, or into the first hole: the same work however many ranges there are, but for the binary search.
    #[test]
    fn the_ends_are_cheap() {
        let mut ranges = RangeSet::default();
        for n in 0..1000_u64 {
            ranges.insert(10 + 2 * n);
        }
        assert!(
            ranges.work(11) <= 12 && ranges.work(5000) <= 12,
            "{} {}",
            ranges.work(11),
            ranges.work(5000)
        );
        assert!(ranges.work(1010) > 400, "in the middle half of the ranges may shift");
    }
}
