//! The 24-bit subflow sequence number: RFC 1982 serial arithmetic with 24 bits.

use crate::serial::Tsn;

/// Flow Sequence Number of the thesis: 24 bits that wrap. (RFC 8260 calls something else FSN.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fsn(u32);

impl Fsn {
    /// Bits of the number.
    pub const BITS: u32 = 24;
    const MASK: u32 = (1 << Self::BITS) - 1;
    /// How far apart two numbers must be for their order to be undefined.
    const HALF: u32 = 1 << (Self::BITS - 1);

    /// The low 24 bits of `raw`.
    #[must_use]
    pub const fn new(raw: u32) -> Self {
        Self(raw & Self::MASK)
    }

    /// The number on the wire: below 2^24.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number `n` places later.
    #[must_use]
    pub const fn add(self, n: u32) -> Self {
        Self::new(self.0.wrapping_add(n))
    }

    /// The number that follows; the largest is followed by 0.
    #[must_use]
    pub const fn next(self) -> Self {
        self.add(1)
    }

    /// Places from `earlier` up to this number, counted upwards and through the wrap.
    #[must_use]
    pub const fn distance_from(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0) & Self::MASK
    }

    /// Whether this number is later than `other`: 1 to half the space minus 1 places ahead.
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        let ahead = self.distance_from(other);
        ahead != 0 && ahead < Self::HALF
    }

    /// The 32-bit number of which these are the low 24 bits, next to `near`: at most half the 24-bit space before
    /// it, less than half the space after it. One sender and one receiver that keep 32-bit numbers need no other
    /// code for this encoding, as long as less than 2^23 chunks are outstanding.
    #[must_use]
    pub const fn widen(self, near: Tsn) -> Tsn {
        let ahead = self.distance_from(Self::new(near.get()));
        let wide = near.add(ahead);
        if ahead < Self::HALF { wide } else { wide.sub(1 << Self::BITS) }
    }
}

impl From<Tsn> for Fsn {
    fn from(wide: Tsn) -> Self {
        Self::new(wide.get())
    }
}

impl core::fmt::Display for Fsn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(&self.0, f)
    }
}

impl core::fmt::Debug for Fsn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Fsn({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LARGEST: u32 = 0x00FF_FFFF;

    #[test]
    fn the_largest_is_followed_by_zero() {
        assert_eq!(Fsn::new(LARGEST).next(), Fsn::new(0));
        assert_eq!(Fsn::new(0xAB00_0001), Fsn::new(1));
        assert!(Fsn::new(0).is_after(Fsn::new(LARGEST)));
        assert!(!Fsn::new(LARGEST).is_after(Fsn::new(0)));
        assert_eq!(Fsn::new(5).distance_from(Fsn::new(LARGEST)), 6);
    }

    #[test]
    fn half_the_space_apart_neither_is_after_the_other() {
        let (a, b) = (Fsn::new(3), Fsn::new(3 + (1 << 23)));
        assert!(!a.is_after(b) && !b.is_after(a) && !a.is_after(a));
        assert!(Fsn::new(2 + (1 << 23)).is_after(a));
    }

    #[test]
    fn widened_next_to_what_is_known() {
        let near = |raw| Tsn::new(raw);
        assert_eq!(Fsn::new(3).widen(near(0x00FF_FFFE)), Tsn::new(0x0100_0003));
        assert_eq!(Fsn::new(LARGEST).widen(near(0x0100_0000)), Tsn::new(0x00FF_FFFF));
        assert_eq!(Fsn::new(LARGEST).widen(near(0)), Tsn::new(0xFFFF_FFFF));
        assert_eq!(Fsn::new(0).widen(near(0xFFFF_FFFF)), Tsn::new(0));
    }

    proptest! {
        #[test]
        fn serial_numbers_of_24_bits(a in 0..=LARGEST, n in 0..=LARGEST) {
            let (a, b) = (Fsn::new(a), Fsn::new(a).add(n));
            prop_assert_eq!(b.distance_from(a), n);
            prop_assert_eq!(b.is_after(a), n != 0 && n < 1 << 23);
            prop_assert!(!(a.is_after(b) && b.is_after(a)));
            prop_assert!(b.get() <= LARGEST);
        }

        #[test]
        fn widening_gives_back_every_number_within_half_the_space(wide: u32, off in -(1_i64 << 23)..(1 << 23)) {
            let wide = Tsn::new(wide);
            let near = Tsn::new((i64::from(wide.get()) - off) as u32);
            prop_assert_eq!(Fsn::from(wide).widen(near), wide);
        }
    }
}
