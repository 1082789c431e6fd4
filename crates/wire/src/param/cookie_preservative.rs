//! Cookie Preservative: please let the State Cookie live longer (RFC 9260 section 3.3.2.1.3).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            type = 9           |           length = 8          |
//! +-------------------------------+-------------------------------+
//! |                    life-span increment (ms)                   |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// A Cookie Preservative parameter, in an INIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookiePreservative {
    /// Milliseconds to add to the life of the cookie.
    pub increment_ms: u32,
}

impl CookiePreservative {
    /// Parameter type.
    pub const KIND: u16 = kind::COOKIE_PRESERVATIVE;

    /// Reads the parameter.
    ///
    /// # Errors
    /// Its length is not 8.
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        let increment_ms = u32::from_be_bytes(*raw.exactly()?);
        Ok(Self { increment_ms })
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, &self.increment_ms.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 9, 0, 8, 1, 2, 3, 4];
        layout(
            &CookiePreservative { increment_ms: 0x0102_0304 },
            CookiePreservative::emit,
            CookiePreservative::parse,
            &bytes,
        );
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(CookiePreservative::KIND, 8) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(CookiePreservative::parse(raw).is_ok(), length == 8, "length {length}");
        }
    }
}
