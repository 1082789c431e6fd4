//! Stale Cookie: the State Cookie was valid and has expired (RFC 9260 section 3.3.10.3).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            code = 3           |           length = 8          |
//! +-------------------------------+-------------------------------+
//! |                   measure of staleness (us)                   |
//! +---------------------------------------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;

/// A Stale Cookie cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleCookie {
    /// Microseconds since it expired, rounded up; 0 if the sender does not tell.
    pub staleness_us: u32,
}

impl StaleCookie {
    /// Cause code.
    pub const CODE: u16 = code::STALE_COOKIE;

    /// Reads the cause.
    ///
    /// # Errors
    /// Its length is not 8.
    pub fn parse(raw: RawCause<'_>) -> Result<Self, TlvError> {
        let staleness_us = u32::from_be_bytes(*raw.exactly()?);
        Ok(Self { staleness_us })
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::CODE, &self.staleness_us.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 3, 0, 8, 1, 2, 3, 4];
        layout(&StaleCookie { staleness_us: 0x0102_0304 }, StaleCookie::emit, StaleCookie::parse, &bytes);
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(StaleCookie::CODE, 8) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(StaleCookie::parse(raw).is_ok(), length == 8, "length {length}");
        }
    }
}
