//! Invalid Stream Identifier: a DATA chunk came for a stream that does not exist (RFC 9260 section 3.3.10.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            code = 1           |           length = 8          |
//! +-------------------------------+-------------------------------+
//! |             stream            |            reserved           |
//! +-------------------------------+-------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;

/// An Invalid Stream Identifier cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidStream {
    /// The stream that the DATA chunk named.
    pub stream: u16,
}

impl InvalidStream {
    /// Cause code.
    pub const CODE: u16 = code::INVALID_STREAM;

    /// Reads the cause.
    ///
    /// # Errors
    /// Its length is not 8.
    pub fn parse(raw: RawCause<'_>) -> Result<Self, TlvError> {
        let &[hi, lo, _, _] = raw.exactly()?;
        Ok(Self { stream: u16::from_be_bytes([hi, lo]) })
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let [hi, lo] = self.stream.to_be_bytes();
        emit::tlv(out, Self::CODE, &[hi, lo, 0, 0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 1, 0, 8, 1, 2, 0, 0];
        layout(&InvalidStream { stream: 0x0102 }, InvalidStream::emit, InvalidStream::parse, &bytes);
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(InvalidStream::CODE, 8) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(InvalidStream::parse(raw).is_ok(), length == 8, "length {length}");
        }
    }
}
