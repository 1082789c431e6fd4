//! COOKIE ACK: the association exists (RFC 9260 section 3.3.12).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   type = 11   |     flags     |          length = 4           |
//! +---------------+---------------+-------------------------------+
//! ```

use super::kind;
use super::raw::RawChunk;
use crate::error::ChunkError;

/// A COOKIE ACK chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieAck;

impl CookieAck {
    /// Reads the chunk; flags that are reserved are ignored.
    ///
    /// # Errors
    /// Its length is not 4.
    pub fn parse(raw: RawChunk<'_>) -> Result<Self, ChunkError> {
        let [] = raw.exactly()?;
        Ok(Self)
    }

    /// Appends the chunk.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[kind::COOKIE_ACK, 0, 0, 4]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(kind::COOKIE_ACK, 4) {
            assert_eq!(CookieAck::parse(raw(&bytes)).is_ok(), length == 4, "length {length}");
        }
    }

    #[test]
    fn layout() {
        let mut out = Vec::new();
        CookieAck.emit(&mut out);
        assert_eq!(out, [11, 0, 0, 4]);
        // Flags are ignored.
        assert_eq!(CookieAck::parse(raw(&[11, 0xFF, 0, 4])), Ok(CookieAck));
    }
}
