//! Sets of sequence numbers as sorted, disjoint, non-adjacent ranges.

use std::collections::VecDeque;

/// Half-open ranges `start..end` of unwrapped sequence numbers, ascending.
///
/// Appending at the end and filling at the front, what a network does almost always, cost O(1); anything else
/// O(log n) to find and O(n) to shift, n being the number of gaps, not of packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    ranges: VecDeque<(u64, u64)>,
    /// Ranges looked at or shifted, for the test that the work per packet does not grow with the window.
    #[cfg(test)]
    pub(crate) work: u64,
}

impl RangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + ExactSizeIterator + '_ {
        self.ranges.iter().copied()
    }

    pub(crate) fn first(&self) -> Option<(u64, u64)> {
        self.ranges.front().copied()
    }

    /// One past the highest member.
    pub(crate) fn end(&self) -> Option<u64> {
        self.ranges.back().map(|r| r.1)
    }

    pub(crate) fn contains(&self, seq: u64) -> bool {
        let i = self.ranges.partition_point(|r| r.1 <= seq);
        self.ranges.get(i).is_some_and(|r| r.0 <= seq)
    }

    /// Adds one member; false when it was there.
    pub(crate) fn insert(&mut self, seq: u64) -> bool {
        #[cfg(test)]
        {
            let i = self.ranges.partition_point(|r| r.1 < seq);
            // What a binary search reads, and what an insertion or removal there would shift.
            self.work +=
                1 + u64::from(self.ranges.len().max(1).ilog2()) + i.min(self.ranges.len() - i) as u64;
        }
        match self.ranges.back_mut() {
            None => {
                self.ranges.push_back((seq, seq + 1));
                return true;
            }
            Some(last) if last.1 == seq => {
                last.1 += 1;
                return true;
            }
            Some(last) if last.1 < seq => {
                self.ranges.push_back((seq, seq + 1));
                return true;
            }
            Some(_) => {}
        }
        // The first range that ends at or after seq: seq extends it, is in it, or goes before it.
        let i = self.ranges.partition_point(|r| r.1 < seq);
        let Some(range) = self.ranges.get_mut(i) else { return false };
        if range.0 <= seq && seq < range.1 {
            return false;
        }
        if range.1 == seq {
            range.1 += 1;
            let joined = range.1;
            if let Some(&(start, end)) = self.ranges.get(i + 1) {
                if start == joined {
                    self.ranges[i].1 = end;
                    self.ranges.remove(i + 1);
                }
            }
        } else if range.0 == seq + 1 {
            range.0 = seq;
        } else {
            self.ranges.insert(i, (seq, seq + 1));
        }
        true
    }

    /// Removes everything below `seq`.
    pub(crate) fn remove_below(&mut self, seq: u64) {
        while let Some(first) = self.ranges.front_mut() {
            if first.1 <= seq {
                self.ranges.pop_front();
            } else {
                first.0 = first.0.max(seq);
                break;
            }
        }
    }

    /// Replaces the whole set. The caller gives sorted, disjoint, non-adjacent ranges.
    pub(crate) fn assign(&mut self, ranges: &[(u64, u64)]) {
        self.ranges.clear();
        self.ranges.extend(ranges);
    }

    /// Removes the highest member and returns it.
    pub(crate) fn pop_highest(&mut self) -> Option<u64> {
        let last = self.ranges.back_mut()?;
        last.1 -= 1;
        let seq = last.1;
        if last.0 == last.1 {
            self.ranges.pop_back();
        }
        Some(seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_as_a_set(steps in prop::collection::vec((0_u8..8, 0_u64..60), 1..200)) {
            let (mut ranges, mut model) = (RangeSet::default(), BTreeSet::new());
            for (what, seq) in steps {
                match what {
                    0 => {
                        ranges.remove_below(seq);
                        model = model.split_off(&seq);
                    }
                    1 => prop_assert_eq!(ranges.pop_highest(), model.pop_last()),
                    _ => prop_assert_eq!(ranges.insert(seq), model.insert(seq)),
                }
                let members: Vec<u64> = ranges.iter().flat_map(|(s, e)| s..e).collect();
                prop_assert_eq!(&members, &model.iter().copied().collect::<Vec<_>>());
                let list: Vec<_> = ranges.iter().collect();
                prop_assert!(list.windows(2).all(|w| w[0].1 < w[1].0), "adjacent ranges are joined: {:?}", list);
                prop_assert!((0..60).all(|s| ranges.contains(s) == model.contains(&s)));
            }
        }
    }
}
