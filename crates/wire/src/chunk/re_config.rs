//! RE-CONFIG: requests to change an association that is up, and answers to them (RFC 6525 section 3.1). It holds one
//! parameter, or two in the combinations that the RFC lists.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 0x82  |     flags     |            length             |
//! +---------------+---------------+-------------------------------+
//! |                 re-configuration parameters                   |
//! +---------------------------------------------------------------+
//! ```

use super::kind;
use super::raw::RawChunk;
use crate::emit::{begin_chunk, end};
use crate::error::ChunkError;
use crate::param::{ParamWriter, Params};

/// A RE-CONFIG chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReConfig<'a> {
    /// Requests and answers.
    pub params: Params<'a>,
}

impl<'a> ReConfig<'a> {
    /// Reads a RE-CONFIG chunk. Parameters are looked at when they are iterated over.
    ///
    /// # Errors
    /// None today: every chunk that a packet can hold is long enough.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        Ok(Self { params: Params::new(raw.value) })
    }

    /// Appends the chunk with the parameters it holds, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.emit_with(out, |_| {});
    }

    /// Appends the chunk, padded: the parameters it holds, then those of `more`.
    pub fn emit_with(&self, out: &mut Vec<u8>, more: impl FnOnce(&mut ParamWriter<'_>)) {
        let start = begin_chunk(out, kind::RE_CONFIG, 0);
        let mut params = ParamWriter::new(out);
        params.region(self.params);
        more(&mut params);
        let padding = params.last_padding();
        end(out, start, padding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::raw;
    use crate::param::{Param, ReconfigResponse};

    #[test]
    fn layout() {
        let response = ReconfigResponse { request: 0x0102_0304, result: 1, next_tsns: None };
        let mut out = Vec::new();
        ReConfig { params: Params::EMPTY }
            .emit_with(&mut out, |params| params.add(&Param::ReconfigResponse(response)));
        assert_eq!(out, [0x82, 0, 0, 16, 0, 16, 0, 12, 1, 2, 3, 4, 0, 0, 0, 1]);
        let chunk = ReConfig::parse(raw(&out)).unwrap();
        assert_eq!(chunk.params.iter().count(), 1);
        let mut again = Vec::new();
        chunk.emit(&mut again);
        assert_eq!(again, out);
    }
}
