//! ECN Capable: reserved for explicit congestion notification (RFC 9260 section 3.3.2, table 6).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |         type = 0x8000         |           length = 4          |
//! +-------------------------------+-------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// An ECN Capable parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnCapable;

impl EcnCapable {
    /// Parameter type.
    pub const KIND: u16 = kind::ECN_CAPABLE;

    /// Reads the parameter.
    ///
    /// # Errors
    /// Its length is not 4.
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        let [] = raw.exactly()?;
        Ok(Self)
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [128, 0, 0, 4];
        layout(&EcnCapable, EcnCapable::emit, EcnCapable::parse, &bytes);
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(EcnCapable::KIND, 4) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(EcnCapable::parse(raw).is_ok(), length == 4, "length {length}");
        }
    }
}
