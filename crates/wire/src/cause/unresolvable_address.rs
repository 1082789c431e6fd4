//! Unresolvable Address: the sender cannot use this address (RFC 9260 section 3.3.10.5).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            code = 5           |             length            |
//! +-------------------------------+-------------------------------+
//! |                   address parameter, padded                   |
//! +---------------------------------------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;

/// An Unresolvable Address cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnresolvableAddress<'a> {
    /// The address parameter, complete with type, length and value.
    pub parameter: &'a [u8],
}

impl<'a> UnresolvableAddress<'a> {
    /// Cause code.
    pub const CODE: u16 = code::UNRESOLVABLE_ADDRESS;

    /// Reads the cause.
    ///
    /// # Errors
    /// None today: any value will do.
    pub fn parse(raw: RawCause<'a>) -> Result<Self, TlvError> {
        Ok(Self { parameter: raw.value })
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::CODE, self.parameter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::layout;

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 5, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0];
        layout(
            &UnresolvableAddress { parameter: &[1, 2, 3, 4, 5] },
            UnresolvableAddress::emit,
            UnresolvableAddress::parse,
            &bytes,
        );
    }
}
