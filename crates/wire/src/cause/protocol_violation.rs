//! Protocol Violation: the peer broke a rule that no other cause covers (RFC 9260 section 3.3.10.13).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |           code = 13           |             length            |
//! +-------------------------------+-------------------------------+
//! |                 additional information, padded                |
//! +---------------------------------------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;

/// A Protocol Violation cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolViolation<'a> {
    /// The violation; free form.
    pub information: &'a [u8],
}

impl<'a> ProtocolViolation<'a> {
    /// Cause code.
    pub const CODE: u16 = code::PROTOCOL_VIOLATION;

    /// Reads the cause.
    ///
    /// # Errors
    /// None today: any value will do.
    pub fn parse(raw: RawCause<'a>) -> Result<Self, TlvError> {
        Ok(Self { information: raw.value })
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::CODE, self.information);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::layout;

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 13, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0];
        layout(
            &ProtocolViolation { information: &[1, 2, 3, 4, 5] },
            ProtocolViolation::emit,
            ProtocolViolation::parse,
            &bytes,
        );
    }
}
