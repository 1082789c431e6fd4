//! Alternative error detection methods in place of the CRC32c (RFC 9653).

use anabranch_wire::param::ZeroChecksumAcceptable;

/// An alternate error detection method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorDetection {
    /// Every packet travels in a DTLS record, which has an authentication tag (RFC 9653, 6; RFC 8261).
    Dtls,
}

impl ErrorDetection {
    /// Error Detection Method Identifier (RFC 9653, 8).
    #[must_use]
    pub const fn id(self) -> u32 {
        match self {
            Self::Dtls => ZeroChecksumAcceptable::DTLS,
        }
    }
}
