//! COOKIE ECHO: the initiator returns the State Cookie (RFC 9260 section 3.3.11).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   type = 10   |     flags     |            length             |
//! +---------------+---------------+-------------------------------+
//! |        value of the State Cookie parameter, unchanged         |
//! +---------------------------------------------------------------+
//! ```

use super::kind;
use super::raw::RawChunk;
use crate::emit::{begin_chunk, end};
use crate::error::ChunkError;

/// A COOKIE ECHO chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieEcho<'a> {
    /// The cookie, opaque to everyone but its maker.
    pub cookie: &'a [u8],
}

impl<'a> CookieEcho<'a> {
    /// Reads a COOKIE ECHO chunk.
    ///
    /// # Errors
    /// None today: every chunk that a packet can hold is long enough.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        Ok(Self { cookie: raw.value })
    }

    /// Appends the chunk, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = begin_chunk(out, kind::COOKIE_ECHO, 0);
        out.extend_from_slice(self.cookie);
        end(out, start, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::raw;

    #[test]
    fn layout() {
        let mut out = Vec::new();
        CookieEcho { cookie: &[1, 2, 3, 4, 5] }.emit(&mut out);
        assert_eq!(out, [10, 0, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0]);
        assert_eq!(CookieEcho::parse(raw(&out)).unwrap().cookie, [1, 2, 3, 4, 5]);
    }
}
