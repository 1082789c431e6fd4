//! The common form of all chunks: a header of type, flags and length (RFC 9260 section 3.2).

use crate::emit;
use crate::error::ChunkError;
use crate::padding::padded;
use crate::unknown::{self, UnknownAction};

/// A chunk by its header only: type, flags, and where it begins and ends (RFC 9260 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawChunk<'a> {
    /// Chunk type: see [`chunk::kind`](crate::chunk::kind).
    pub kind: u8,
    /// Chunk flags.
    pub flags: u8,
    /// Bytes after the chunk header, without padding.
    pub value: &'a [u8],
    /// Chunk header and value, without padding, as an error cause echoes them.
    pub bytes: &'a [u8],
}

impl<'a> RawChunk<'a> {
    /// Bytes of a chunk header.
    pub const HEADER: usize = 4;

    /// Reads one chunk from the start of `bytes`; also returns the bytes behind its padding.
    ///
    /// # Errors
    /// No room for a header, or a length that is none or more than there is.
    // rfc9260:3.2-4 rfc9260:6.10-7
    #[inline]
    pub fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), ChunkError> {
        let &[kind, flags, hi, lo, ..] = bytes else {
            return Err(ChunkError::HeaderCut { left: bytes.len() });
        };
        let length = u16::from_be_bytes([hi, lo]);
        let end = usize::from(length);
        if end < Self::HEADER {
            return Err(ChunkError::LengthBelowHeader { kind, length });
        }
        let left = bytes.len();
        let (Some(whole), Some(value)) = (bytes.get(..end), bytes.get(Self::HEADER..end)) else {
            return Err(ChunkError::LengthPastEnd { kind, length, left });
        };
        // The padding of the last chunk may be missing.
        let rest = bytes.get(padded(end)..).unwrap_or_default();
        let chunk = Self { kind, flags, value, bytes: whole };
        Ok((chunk, rest))
    }

    /// The treatment of this chunk by a receiver that does not know its type.
    #[inline]
    #[must_use]
    pub const fn unknown_action(&self) -> UnknownAction {
        unknown::chunk_action(self.kind)
    }

    /// Appends the chunk as it is, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = emit::begin_chunk(out, self.kind, self.flags);
        out.extend_from_slice(self.value);
        emit::end(out, start, 0);
    }

    /// The value as an array of exactly `N` bytes, for chunks whose length the RFC fixes.
    #[inline]
    pub(crate) fn exactly<const N: usize>(&self) -> Result<&'a [u8; N], ChunkError> {
        self.value.try_into().map_err(|_| ChunkError::WrongLength {
            kind: self.kind,
            length: self.bytes.len(),
            expected: Self::HEADER + N,
        })
    }

    /// The first `N` bytes of the value, and the others.
    #[inline]
    pub(crate) fn at_least<const N: usize>(&self) -> Result<(&'a [u8; N], &'a [u8]), ChunkError> {
        self.value.split_first_chunk().ok_or(ChunkError::TooShort {
            kind: self.kind,
            length: self.bytes.len(),
            least: Self::HEADER + N,
        })
    }
}
