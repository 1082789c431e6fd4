//! ABORT: the association ends now (RFC 9260 section 3.3.7).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+-------------+-+-------------------------------+
//! |   type = 6    |  reserved   |T|            length             |
//! +---------------+-------------+-+-------------------------------+
//! |                    error causes, or none                      |
//! +---------------------------------------------------------------+
//! ```

use super::kind;
use super::raw::RawChunk;
use crate::cause::{CauseWriter, Causes};
use crate::emit::{begin_chunk, end};
use crate::error::ChunkError;

/// An ABORT chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort<'a> {
    /// T: the verification tag of the packet is the one that the receiver itself sent, reflected, because the
    /// sender knows no other.
    pub reflected_tag: bool,
    /// The reasons for the abort.
    pub causes: Causes<'a>,
}

impl<'a> Abort<'a> {
    /// Reads an ABORT chunk. Causes are looked at when they are iterated over.
    ///
    /// # Errors
    /// None today: every chunk that a packet can hold is long enough.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        Ok(Self { reflected_tag: raw.flags & 1 != 0, causes: Causes::new(raw.value) })
    }

    /// Appends the chunk with the causes it holds, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.emit_with(out, |_| {});
    }

    /// Appends the chunk, padded: the causes it holds, then those of `more`.
    pub fn emit_with(&self, out: &mut Vec<u8>, more: impl FnOnce(&mut CauseWriter<'_>)) {
        let start = begin_chunk(out, kind::ABORT, u8::from(self.reflected_tag));
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
    use crate::cause::{Cause, OutOfResource};
    use crate::chunk::tests::raw;

    #[test]
    fn layout() {
        let mut out = Vec::new();
        Abort { reflected_tag: true, causes: Causes::EMPTY }.emit(&mut out);
        assert_eq!(out, [6, 1, 0, 4]);
        assert!(Abort::parse(raw(&out)).unwrap().reflected_tag);

        out.clear();
        Abort { reflected_tag: false, causes: Causes::EMPTY }.emit_with(&mut out, |causes| {
            causes.add(&Cause::OutOfResource(OutOfResource));
            causes.raw(12, b"x");
        });
        assert_eq!(out, [6, 0, 0, 13, 0, 4, 0, 4, 0, 12, 0, 5, b'x', 0, 0, 0]);
        assert_eq!(Abort::parse(raw(&out)).unwrap().causes.iter().count(), 2);
    }
}
