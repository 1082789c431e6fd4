//! Out of Resource: the sender lacks the resources (RFC 9260 section 3.3.10.4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            code = 4           |           length = 4          |
//! +-------------------------------+-------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;

/// An Out of Resource cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfResource;

impl OutOfResource {
    /// Cause code.
    pub const CODE: u16 = code::OUT_OF_RESOURCE;

    /// Reads the cause.
    ///
    /// # Errors
    /// Its length is not 4.
    pub fn parse(raw: RawCause<'_>) -> Result<Self, TlvError> {
        let [] = raw.exactly()?;
        Ok(Self)
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::CODE, &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 4, 0, 4];
        layout(&OutOfResource, OutOfResource::emit, OutOfResource::parse, &bytes);
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(OutOfResource::CODE, 4) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(OutOfResource::parse(raw).is_ok(), length == 4, "length {length}");
        }
    }
}
