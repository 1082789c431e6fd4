//! Numbers that wrap: RFC 1982 serial arithmetic.
//!
//! "Comparisons and arithmetic on TSNs in this document SHOULD use Serial Number Arithmetic" with 32 bits, and those
//! on SSNs with 16 (RFC 9260 section 1.6). A number that wraps has no total order: 10 is after 4,294,967,290, and of
//! two numbers exactly half the space apart neither is after the other. Therefore these types are not `Ord`: each
//! comparison names its question.

macro_rules! serial {
    ($(#[$doc:meta])* $name:ident, $raw:ty, $signed:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name($raw);

        impl $name {
            /// How far apart two numbers must be for their order to be undefined.
            const HALF: $raw = 1 << (<$raw>::BITS - 1);

            /// The number as it stands on the wire.
            #[inline]
            #[must_use]
            pub const fn new(raw: $raw) -> Self {
                Self(raw)
            }

            /// The number on the wire.
            #[inline]
            #[must_use]
            pub const fn get(self) -> $raw {
                self.0
            }

            /// The number that follows; the largest is followed by 0.
            // rfc9260:1.6-4
            #[inline]
            #[must_use]
            pub const fn next(self) -> Self {
                self.add(1)
            }

            /// The number `n` places later. Only `n` below half the space gives a number that `is_after` this one.
            // rfc9260:1.6-1
            #[inline]
            #[must_use]
            pub const fn add(self, n: $raw) -> Self {
                Self(self.0.wrapping_add(n))
            }

            /// The number `n` places earlier.
            #[inline]
            #[must_use]
            pub const fn sub(self, n: $raw) -> Self {
                Self(self.0.wrapping_sub(n))
            }

            /// Places from `earlier` up to this number, counted upwards and through the wrap.
            #[inline]
            #[must_use]
            pub const fn distance_from(self, earlier: Self) -> $raw {
                self.0.wrapping_sub(earlier.0)
            }

            /// Places from `other` to this number, negative if this number is before it. The smallest value of
            /// the type stands for exactly half the space, where neither is after the other.
            #[inline]
            #[must_use]
            pub const fn signed_distance_from(self, other: Self) -> $signed {
                self.0.wrapping_sub(other.0) as $signed
            }

            /// Whether this number is later than `other`: 1 to half the space minus 1 places ahead. False for
            /// equal numbers and for exactly half the space, whose order RFC 1982 leaves undefined.
            // rfc9260:1.6-2 rfc9260:1.6-5
            #[inline]
            #[must_use]
            pub const fn is_after(self, other: Self) -> bool {
                let ahead = self.distance_from(other);
                ahead != 0 && ahead < Self::HALF
            }

            /// Whether `other` is later than this number. False for equal numbers and for exactly half the space.
            #[inline]
            #[must_use]
            pub const fn is_before(self, other: Self) -> bool {
                other.is_after(self)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.0, f)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

serial!(
    /// Transmission Sequence Number: numbers DATA chunks (RFC 9260 section 1.6).
    Tsn, u32, i32
);
serial!(
    /// Stream Sequence Number: orders the messages of a stream (RFC 9260 section 6.5).
    Ssn, u16, i16
);
serial!(
    /// Message Identifier: in I-DATA, in place of the SSN (RFC 8260 section 2.1).
    Mid, u32, i32
);

#[cfg(test)]
mod tests;
