//! No User Data: a DATA chunk came without any (RFC 9260 section 3.3.10.9).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            code = 9           |           length = 8          |
//! +-------------------------------+-------------------------------+
//! |                              TSN                              |
//! +---------------------------------------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;
use crate::serial::Tsn;

/// A No User Data cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoUserData {
    /// The TSN of the empty chunk.
    pub tsn: Tsn,
}

impl NoUserData {
    /// Cause code.
    pub const CODE: u16 = code::NO_USER_DATA;

    /// Reads the cause.
    ///
    /// # Errors
    /// Its length is not 8.
    pub fn parse(raw: RawCause<'_>) -> Result<Self, TlvError> {
        let tsn = Tsn::new(u32::from_be_bytes(*raw.exactly()?));
        Ok(Self { tsn })
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::CODE, &self.tsn.get().to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 9, 0, 8, 1, 2, 3, 4];
        layout(&NoUserData { tsn: Tsn::new(0x0102_0304) }, NoUserData::emit, NoUserData::parse, &bytes);
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(NoUserData::CODE, 8) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(NoUserData::parse(raw).is_ok(), length == 8, "length {length}");
        }
    }
}
