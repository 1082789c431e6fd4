//! The treatment of chunks and parameters of unknown type.

/// The two highest bits of a chunk or parameter type: the action of a receiver that does not know it
/// (RFC 9260 sections 3.2 and 3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnknownAction {
    /// 00: drop it and everything after it.
    Stop,
    /// 01: drop it and everything after it, and report it.
    StopReport,
    /// 10: go on with the next.
    Skip,
    /// 11: go on with the next, and report it.
    SkipReport,
}

impl UnknownAction {
    const fn from_upper_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Stop,
            1 => Self::StopReport,
            2 => Self::Skip,
            _ => Self::SkipReport,
        }
    }

    /// Whether the following chunks or parameters are processed.
    #[must_use]
    pub const fn goes_on(self) -> bool {
        matches!(self, Self::Skip | Self::SkipReport)
    }

    /// Whether the peer is told.
    #[must_use]
    pub const fn reports(self) -> bool {
        matches!(self, Self::StopReport | Self::SkipReport)
    }
}

/// The treatment of a chunk by a receiver that does not know its type `kind` (section 3.2, table 2).
#[inline]
#[must_use]
pub const fn chunk_action(kind: u8) -> UnknownAction {
    UnknownAction::from_upper_bits(kind >> 6)
}

/// The treatment of a parameter by a receiver that does not know its type `kind` (section 3.2.1, table 3).
#[must_use]
pub const fn param_action(kind: u16) -> UnknownAction {
    UnknownAction::from_upper_bits((kind >> 14) as u8)
}
