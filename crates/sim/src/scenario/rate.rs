//! Rates of links.

/// The rate of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bits per second, at least 1.
    BitsPerSecond(u64),
    /// A packet leaves in no time; nothing ever waits.
    Infinite,
}

impl Rate {
    /// Bits per second, or `None` when infinite.
    #[must_use]
    pub const fn bits_per_second(self) -> Option<u64> {
        match self {
            Self::BitsPerSecond(bits) => Some(bits),
            Self::Infinite => None,
        }
    }
}
