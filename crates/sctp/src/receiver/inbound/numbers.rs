//! The numbers of a sequence space under which a message came: they count as not received any more where the message
//! is given up.

use anabranch_transport::ranges::RangeSet;

/// Most messages come under consecutive numbers; fragments that others have stood between do not.
#[derive(Debug, Default)]
pub(in crate::receiver) struct Numbers {
    start: u64,
    /// Length of the run of numbers that begins at `start`; 0: there are none at all.
    len: u32,
    others: Option<Box<RangeSet>>,
}

impl Numbers {
    /// The numbers from `start` to before `end`.
    pub(in crate::receiver) fn of(start: u64, end: u64) -> Self {
        Self { start, len: u32::try_from(end.saturating_sub(start)).unwrap_or(u32::MAX), others: None }
    }

    /// A further fragment came under that number.
    #[inline]
    pub(in crate::receiver) fn add(&mut self, seq: u64) {
        if self.len == 0 {
            (self.start, self.len) = (seq, 1);
        } else if seq == self.end() {
            self.len += 1;
        } else {
            self.add_apart(seq);
        }
    }

    #[inline(never)]
    fn add_apart(&mut self, seq: u64) {
        self.others.get_or_insert_default().insert(seq);
    }

    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Bytes that are charged for those that do not follow each other.
    pub(in crate::receiver) fn memory(&self) -> usize {
        self.others.as_ref().map_or(0, |others| 128 + 32 * others.len())
    }

    /// True if all of them are above `seq`.
    pub(in crate::receiver) fn are_above(&self, seq: u64) -> bool {
        let others = self.others.as_ref().and_then(|others| others.first());
        self.len > 0 && self.start > seq && others.is_none_or(|(start, _)| start > seq)
    }

    /// The highest.
    pub(in crate::receiver) fn highest(&self) -> u64 {
        let others = self.others.as_ref().and_then(|others| others.end());
        self.end().max(others.unwrap_or(0)).saturating_sub(1)
    }

    /// All of them, as the numbers `start..end`.
    pub(in crate::receiver) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let others = self.others.iter().flat_map(|others| others.iter());
        std::iter::once((self.start, self.end())).chain(others)
    }
}
