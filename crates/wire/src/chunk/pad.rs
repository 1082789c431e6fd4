//! PAD: bytes that fill a packet up to a size, and mean nothing (RFC 4820 section 3).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! | type = 0x84   |     flags     |            length             |
//! +---------------+---------------+-------------------------------+
//! |                         padding data                          |
//! +---------------------------------------------------------------+
//! ```

use super::kind;
use super::raw::RawChunk;
use crate::emit::{begin_chunk, end};

/// A PAD chunk. "The receiver of the PAD chunk MUST discard this chunk".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pad {
    /// Bytes of padding data, without the chunk's header.
    pub len: u16,
}

impl Pad {
    /// Bytes of the chunk's header.
    pub const HEADER: usize = 4;

    /// Reads the chunk; any content will do.
    #[must_use]
    pub fn parse(raw: RawChunk<'_>) -> Self {
        Self { len: raw.value.len() as u16 }
    }

    /// Appends the chunk, with zeros: "The Padding Data SHOULD be set to 0 by the sender".
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = begin_chunk(out, kind::PAD, 0);
        out.resize(out.len() + usize::from(self.len), 0);
        end(out, start, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::raw;

    #[test]
    fn any_content_is_padding() {
        for len in [0, 1, 3, 4, 1411] {
            let mut out = Vec::new();
            Pad { len }.emit(&mut out);
            assert_eq!(out.len(), (4 + usize::from(len)).next_multiple_of(4));
            assert_eq!(out[..4], [0x84, 0, ((len + 4) >> 8) as u8, (len + 4) as u8]);
            assert!(out[4..].iter().all(|byte| *byte == 0));
            assert_eq!(Pad::parse(raw(&out)), Pad { len });
            out[4..].fill(0xAA);
            out[1] = 0xFF;
            assert_eq!(Pad::parse(raw(&out)), Pad { len }, "neither flags nor content matter");
        }
    }

    /// "The highest-order two bits ... 10": a receiver that does not know the chunk skips it and says nothing (RFC
    /// 4820, 3).
    #[test]
    fn it_is_skipped_by_who_does_not_know_it() {
        let action = crate::chunk::unknown_action(kind::PAD);
        assert!(action.goes_on() && !action.reports());
    }
}
