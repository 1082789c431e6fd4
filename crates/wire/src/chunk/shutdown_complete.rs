//! SHUTDOWN COMPLETE: the association is gone (RFC 9260 section 3.3.13).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   type = 14   |  reserved   |T|          length = 4           |
//! +---------------+---------------+-------------------------------+
//! ```

use super::kind;
use super::raw::RawChunk;
use crate::error::ChunkError;

/// A SHUTDOWN COMPLETE chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownComplete {
    /// T: the verification tag of the packet is the one that the receiver itself sent, reflected, because the
    /// sender knows no other.
    pub reflected_tag: bool,
}

impl ShutdownComplete {
    /// Reads the chunk; flags that are reserved are ignored.
    ///
    /// # Errors
    /// Its length is not 4.
    pub fn parse(raw: RawChunk<'_>) -> Result<Self, ChunkError> {
        let [] = raw.exactly()?;
        Ok(Self { reflected_tag: raw.flags & 1 != 0 })
    }

    /// Appends the chunk.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[kind::SHUTDOWN_COMPLETE, u8::from(self.reflected_tag), 0, 4]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(kind::SHUTDOWN_COMPLETE, 4) {
            assert_eq!(ShutdownComplete::parse(raw(&bytes)).is_ok(), length == 4, "length {length}");
        }
    }

    #[test]
    fn layout() {
        for reflected_tag in [false, true] {
            let mut out = Vec::new();
            ShutdownComplete { reflected_tag }.emit(&mut out);
            assert_eq!(out, [14, u8::from(reflected_tag), 0, 4]);
            assert_eq!(ShutdownComplete::parse(raw(&out)), Ok(ShutdownComplete { reflected_tag }));
        }
        // Reserved flags are ignored.
        assert_eq!(
            ShutdownComplete::parse(raw(&[14, 0xFE, 0, 4])),
            Ok(ShutdownComplete { reflected_tag: false })
        );
    }
}
