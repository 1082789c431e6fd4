//! A set of numbers as ranges.

use std::collections::BTreeMap;

/// Half-open ranges, disjoint and not touching.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(BTreeMap<i64, i64>);

impl Ranges {
    /// Adds `[start, end)` and returns the parts of it that were not there, in order.
    pub(crate) fn insert(&mut self, start: i64, end: i64) -> Vec<(i64, i64)> {
        let mut fresh = Vec::new();
        if start >= end {
            return fresh;
        }
        let (mut first, mut last, mut at) = (start, end, start);
        if let Some((&from, &to)) = self.0.range(..start).next_back() {
            if to >= start {
                first = from;
                last = last.max(to);
                at = at.max(to);
            }
        }
        let inside: Vec<(i64, i64)> = self.0.range(start..=end).map(|(&from, &to)| (from, to)).collect();
        for (from, to) in inside {
            if from > at {
                fresh.push((at, from.min(end)));
            }
            at = at.max(to);
            last = last.max(to);
            self.0.remove(&from);
        }
        if at < end {
            fresh.push((at, end));
        }
        self.0.insert(first, last);
        fresh
    }

    /// Whether all of `[start, end)` is there.
    pub(crate) fn covers(&self, start: i64, end: i64) -> bool {
        self.0.range(..=start).next_back().is_some_and(|(_, &to)| to >= end)
    }

    /// The end of the last range.
    pub(crate) fn highest(&self) -> Option<i64> {
        self.0.values().next_back().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_is_told() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(10, 20), [(10, 20)]);
        assert_eq!(ranges.insert(30, 40), [(30, 40)]);
        assert_eq!(ranges.insert(15, 35), [(20, 30)]);
        assert_eq!(ranges.insert(5, 50), [(5, 10), (40, 50)]);
        assert_eq!(ranges.insert(12, 13), []);
        assert_eq!(ranges.insert(50, 50), []);
        assert!(ranges.covers(5, 50) && !ranges.covers(5, 51) && !ranges.covers(4, 6));
        assert_eq!((ranges.0.len(), ranges.highest()), (1, Some(50)));
    }
}
