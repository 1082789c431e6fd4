//! Unrecognized Chunk Type: a chunk came whose type asks for this report (RFC 9260 section 3.3.10.6).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            code = 6           |             length            |
//! +-------------------------------+-------------------------------+
//! |                   unrecognized chunk, padded                  |
//! +---------------------------------------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;

/// An Unrecognized Chunk Type cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnrecognizedChunk<'a> {
    /// The chunk, complete with type, flags, length and value.
    pub chunk: &'a [u8],
}

impl<'a> UnrecognizedChunk<'a> {
    /// Cause code.
    pub const CODE: u16 = code::UNRECOGNIZED_CHUNK;

    /// Reads the cause.
    ///
    /// # Errors
    /// None today: any value will do.
    pub fn parse(raw: RawCause<'a>) -> Result<Self, TlvError> {
        Ok(Self { chunk: raw.value })
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::CODE, self.chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::layout;

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 6, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0];
        layout(
            &UnrecognizedChunk { chunk: &[1, 2, 3, 4, 5] },
            UnrecognizedChunk::emit,
            UnrecognizedChunk::parse,
            &bytes,
        );
    }
}
