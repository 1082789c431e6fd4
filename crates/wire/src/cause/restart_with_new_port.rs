//! Restart of an Association with New Encapsulation Port: an INIT came from another UDP port than the association that exists
//! (draft-ietf-tsvwg-rfc6951-bis).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |           code = 14           |           length = 8          |
//! +-------------------------------+-------------------------------+
//! |  current encapsulation port   |    new encapsulation port     |
//! +-------------------------------+-------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;

/// A Restart of an Association with New Encapsulation Port cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartWithNewPort {
    /// UDP port of the association that exists; 0: it goes without UDP.
    pub current: u16,
    /// UDP port that the INIT came from; 0: without UDP.
    pub new: u16,
}

impl RestartWithNewPort {
    /// Cause code.
    pub const CODE: u16 = code::RESTART_WITH_NEW_PORT;

    /// Reads the cause.
    ///
    /// # Errors
    /// Its length is not 8.
    pub fn parse(raw: RawCause<'_>) -> Result<Self, TlvError> {
        let &[a, b, c, d] = raw.exactly()?;
        Ok(Self { current: u16::from_be_bytes([a, b]), new: u16::from_be_bytes([c, d]) })
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let [[a, b], [c, d]] = [self.current, self.new].map(u16::to_be_bytes);
        emit::tlv(out, Self::CODE, &[a, b, c, d]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 14, 0, 8, 1, 2, 3, 4];
        layout(
            &RestartWithNewPort { current: 0x0102, new: 0x0304 },
            RestartWithNewPort::emit,
            RestartWithNewPort::parse,
            &bytes,
        );
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(RestartWithNewPort::CODE, 8) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(RestartWithNewPort::parse(raw).is_ok(), length == 8, "length {length}");
        }
    }
}
