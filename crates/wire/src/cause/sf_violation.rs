//! SF-Violation: the peer broke a rule of the subflow extension (extension SF, level 1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |         code = 0x5F01         |             length            |
//! +---------------+---------------+-------------------------------+
//! |      FID      |     epoch     |            reason             |
//! +---------------+---------------+-------------------------------+
//! |                 additional information, padded                |
//! +---------------------------------------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;

/// The rule that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SfReason {
    /// 1: a subflow that is not open, or 0, which has no SF chunks.
    UnknownSubflow,
    /// 2: an acknowledgement of data that was never sent.
    NeverSent,
    /// 3: more outstanding than the subflow had credit for.
    CreditExceeded,
    /// 4: fragments of one message on two subflows.
    MessageSplit,
    /// 5: an SF-ADD or SF-DEL that contradicts the open subflows.
    BadRequest,
    /// 6: an impossible stream or message identifier.
    BadMessage,
    /// Any other number.
    Other(u16),
}

impl SfReason {
    /// From the wire.
    #[must_use]
    pub const fn from_code(code: u16) -> Self {
        match code {
            1 => Self::UnknownSubflow,
            2 => Self::NeverSent,
            3 => Self::CreditExceeded,
            4 => Self::MessageSplit,
            5 => Self::BadRequest,
            6 => Self::BadMessage,
            other => Self::Other(other),
        }
    }

    /// As on the wire.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::UnknownSubflow => 1,
            Self::NeverSent => 2,
            Self::CreditExceeded => 3,
            Self::MessageSplit => 4,
            Self::BadRequest => 5,
            Self::BadMessage => 6,
            Self::Other(other) => other,
        }
    }
}

/// An SF-Violation cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SfViolation<'a> {
    /// Subflow identifier.
    pub fid: u8,
    /// Incarnation of the FID.
    pub epoch: u8,
    /// The rule that was broken.
    pub reason: SfReason,
    /// Free form.
    pub information: &'a [u8],
}

impl<'a> SfViolation<'a> {
    /// Cause code.
    pub const CODE: u16 = code::SF_VIOLATION;

    /// Reads the cause.
    ///
    /// # Errors
    /// Shorter than its fixed fields.
    pub fn parse(raw: RawCause<'a>) -> Result<Self, TlvError> {
        let (&[fid, epoch, r0, r1], information) = raw.at_least::<4>()?;
        Ok(Self { fid, epoch, reason: SfReason::from_code(u16::from_be_bytes([r0, r1])), information })
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.emit_as(Self::CODE, out);
    }

    /// Appends the cause under another code ([`CodePoints::violation`](crate::sf::CodePoints)).
    pub fn emit_as(&self, code: u16, out: &mut Vec<u8>) {
        let start = emit::begin_tlv(out, code);
        out.extend_from_slice(&[self.fid, self.epoch]);
        out.extend_from_slice(&self.reason.code().to_be_bytes());
        out.extend_from_slice(self.information);
        emit::end(out, start, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases, raw};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0x5F, 1, 0, 10, 3, 4, 0, 2, b'h', b'i', 0, 0];
        layout(
            &SfViolation { fid: 3, epoch: 4, reason: SfReason::NeverSent, information: b"hi" },
            SfViolation::emit,
            SfViolation::parse,
            &bytes,
        );
    }

    #[test]
    fn reasons() {
        for code in 0..20 {
            assert_eq!(SfReason::from_code(code).code(), code);
        }
        assert_eq!(SfReason::from_code(0), SfReason::Other(0));
    }

    #[test]
    fn lengths() {
        for (length, bytes) in length_cases(0x5F01, 8) {
            assert_eq!(SfViolation::parse(raw(&bytes)).is_ok(), length >= 8, "length {length}");
        }
    }
}
