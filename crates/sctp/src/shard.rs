//! Several endpoints behind the same addresses, each on a thread of its own: choice of the endpoint for a packet.

/// One of several endpoints that share addresses and ports. A verification tag that one of them draws is its index modulo `count`,
/// so that the distributor of packets needs no table.
///
/// ```
/// use anabranch_sctp::Shard;
///
/// let third = Shard::new(2, 4).expect("2 of 0 to 3");
/// assert_eq!(Shard::of_tag(third.tag(0x1234_5678), 4), 2);
/// assert!(Shard::new(4, 4).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u16,
    count: u16,
}

impl Shard {
    /// The only endpoint at its addresses and ports.
    pub const ALONE: Self = Self { index: 0, count: 1 };

    /// Number `index` of `count`, counted from 0; `None` when there is no such.
    #[must_use]
    pub fn new(index: u16, count: u16) -> Option<Self> {
        (index < count).then_some(Self { index, count })
    }

    /// Its number.
    #[must_use]
    pub fn index(self) -> u16 {
        self.index
    }

    /// Number of shards.
    #[must_use]
    pub fn count(self) -> u16 {
        self.count
    }

    /// Number of the shard, of `count`, that a tag belongs to.
    #[must_use]
    pub fn of_tag(tag: u32, count: u16) -> u16 {
        (tag % u32::from(count.max(1))) as u16
    }

    /// A tag of this one, made of any that was drawn. Of 2^32 tags 2^32 / `count` are left to guess.
    #[must_use]
    pub fn tag(self, drawn: u32) -> u32 {
        let (index, count) = (u32::from(self.index), u32::from(self.count));
        if count == 1 {
            return drawn;
        }
        let base = drawn - drawn % count;
        match base.checked_add(index) {
            // 0 is no tag (RFC 9260, 3.3.2).
            Some(0) => count,
            Some(tag) => tag,
            None => base - count + index,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_says_whose_it_is() {
        for count in [1, 2, 3, 7, 64, u16::MAX] {
            for index in [0, 1, 2, 5, count - 1].into_iter().filter(|index| *index < count) {
                let shard = Shard::new(index, count).expect("it is one of them");
                for drawn in [1, 2, 3, 1000, 0x8000_0000, u32::MAX - 1, u32::MAX] {
                    let tag = shard.tag(drawn);
                    assert_ne!(tag, 0);
                    assert_eq!(Shard::of_tag(tag, count), index, "{drawn} of {index} of {count}");
                }
            }
        }
        assert_eq!(Shard::ALONE.tag(77), 77);
    }
}
