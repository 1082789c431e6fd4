//! SHUTDOWN: no more user data from here (RFC 9260 section 3.3.8).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   type = 7    |     flags     |          length = 8           |
//! +---------------+---------------+-------------------------------+
//! |                      cumulative TSN ack                       |
//! +---------------------------------------------------------------+
//! ```

use super::kind;
use super::raw::RawChunk;
use crate::error::ChunkError;
use crate::serial::Tsn;

/// A SHUTDOWN chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shutdown {
    /// Every TSN up to and including this one was received. It says nothing about gaps, so it takes none back.
    pub cumulative: Tsn,
}

impl Shutdown {
    /// Reads the chunk.
    ///
    /// # Errors
    /// Its length is not 8.
    pub fn parse(raw: RawChunk<'_>) -> Result<Self, ChunkError> {
        let cumulative = Tsn::new(u32::from_be_bytes(*raw.exactly()?));
        Ok(Self { cumulative })
    }

    /// Appends the chunk.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let [a, b, c, d] = self.cumulative.get().to_be_bytes();
        out.extend_from_slice(&[kind::SHUTDOWN, 0, 0, 8, a, b, c, d]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    #[test]
    fn layout() {
        let mut out = Vec::new();
        let shutdown = Shutdown { cumulative: Tsn::new(0x0102_0304) };
        shutdown.emit(&mut out);
        assert_eq!(out, [7, 0, 0, 8, 1, 2, 3, 4]);
        assert_eq!(Shutdown::parse(raw(&out)), Ok(shutdown));
    }

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(kind::SHUTDOWN, 8) {
            assert_eq!(Shutdown::parse(raw(&bytes)).is_ok(), length == 8, "length {length}");
        }
    }
}
