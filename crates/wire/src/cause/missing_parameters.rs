//! Missing Mandatory Parameter: an INIT or INIT ACK lacks parameters (RFC 9260 section 3.3.10.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |           code = 2            |        length = 8 + 2 N       |
//! +-------------------------------+-------------------------------+
//! |                number of missing parameters N                 |
//! +-------------------------------+-------------------------------+
//! |       parameter type 1        |       parameter type 2        |
//! +-------------------------------+-------------------------------+
//! |                              ...                              |
//! +---------------------------------------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;
use crate::tlv::U16s;

/// A Missing Mandatory Parameter cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingParameters<'a> {
    types: &'a [u8],
}

impl<'a> MissingParameters<'a> {
    /// Cause code.
    pub const CODE: u16 = code::MISSING_PARAMETERS;
    /// "The State Cookie is missing": the only parameter that RFC 9260 makes mandatory (in an INIT ACK).
    pub const STATE_COOKIE: MissingParameters<'static> = MissingParameters { types: &[0, 7] };

    /// Reads the cause.
    ///
    /// # Errors
    /// Shorter than its fixed fields, or its length does not fit its count.
    pub fn parse(raw: RawCause<'a>) -> Result<Self, TlvError> {
        let (count, types) = raw.at_least::<4>()?;
        let count = u32::from_be_bytes(*count) as usize;
        if types.len() % 2 != 0 || types.len() / 2 != count {
            return Err(raw.wrong_length(count.saturating_mul(2).saturating_add(8)));
        }
        Ok(Self { types })
    }

    /// The types of the parameters that are missing.
    #[must_use]
    pub fn types(&self) -> U16s<'a> {
        U16s::new(self.types)
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = emit::begin_tlv(out, Self::CODE);
        out.extend_from_slice(&((self.types.len() / 2) as u32).to_be_bytes());
        out.extend_from_slice(self.types);
        emit::end(out, start, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, raw};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 2, 0, 10, 0, 0, 0, 1, 0, 7, 0, 0];
        let cause = MissingParameters::STATE_COOKIE;
        layout(&cause, MissingParameters::emit, MissingParameters::parse, &bytes);
        assert!(cause.types().eq([7]));
    }

    #[test]
    fn the_count_must_fit_the_length() {
        for count in [0_u32, 2, 3, 0x7FFF_FFFF, 0x8000_0001, u32::MAX] {
            let mut bytes = [0, 2, 0, 10, 0, 0, 0, 0, 0, 7, 0, 0];
            bytes[4..8].copy_from_slice(&count.to_be_bytes());
            let parsed = MissingParameters::parse(raw(&bytes));
            assert!(matches!(parsed, Err(TlvError::WrongLength { .. })), "count {count}");
        }
        assert!(MissingParameters::parse(raw(&[0, 2, 0, 7, 0, 0, 0])).is_err());
        assert!(MissingParameters::parse(raw(&[0, 2, 0, 9, 0, 0, 0, 1, 0])).is_err());
    }
}
