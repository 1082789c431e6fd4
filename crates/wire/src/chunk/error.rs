//! ERROR: something went wrong, and the association lives on (RFC 9260 section 3.3.10).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   type = 9    |     flags     |            length             |
//! +---------------+---------------+-------------------------------+
//! |                   error causes, at least one                  |
//! +---------------------------------------------------------------+
//! ```

use super::kind;
use super::raw::RawChunk;
use crate::cause::{CauseWriter, Causes};
use crate::emit::{begin_chunk, end};
use crate::error::ChunkError;

/// An ERROR chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorChunk<'a> {
    /// The causes. A chunk without any can be parsed, although it reports nothing.
    pub causes: Causes<'a>,
}

impl<'a> ErrorChunk<'a> {
    /// Reads an ERROR chunk. Causes are looked at when they are iterated over.
    ///
    /// # Errors
    /// None today: every chunk that a packet can hold is long enough.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        Ok(Self { causes: Causes::new(raw.value) })
    }

    /// Appends the chunk with the causes it holds, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.emit_with(out, |_| {});
    }

    /// Appends the chunk, padded: the causes it holds, then those of `more`.
    pub fn emit_with(&self, out: &mut Vec<u8>, more: impl FnOnce(&mut CauseWriter<'_>)) {
        let start = begin_chunk(out, kind::ERROR, 0);
        let mut causes = CauseWriter::new(out);
        causes.region(self.causes);
        more(&mut causes);
        let padding = causes.last_padding();
        end(out, start, padding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::{Cause, InvalidStream};
    use crate::chunk::tests::raw;

    #[test]
    fn layout() {
        let mut out = Vec::new();
        ErrorChunk { causes: Causes::EMPTY }.emit_with(&mut out, |causes| {
            causes.add(&Cause::InvalidStream(InvalidStream { stream: 0x0102 }));
        });
        assert_eq!(out, [9, 0, 0, 12, 0, 1, 0, 8, 1, 2, 0, 0]);
        assert_eq!(ErrorChunk::parse(raw(&out)).unwrap().causes.iter().count(), 1);
    }
}
