//! I-FORWARD-TSN: messages that the sender of I-DATA gives up (RFC 8260 section 2.3.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 0xC2  |     flags     |      length = 8 + 8 * N       |
//! +---------------+---------------+-------------------------------+
//! |                      new cumulative TSN                       |
//! +-------------------------------+-----------------------------+-+
//! |       stream identifier       |          reserved           |U|  x N
//! +-------------------------------+-----------------------------+-+
//! |                      message identifier                       |
//! +---------------------------------------------------------------+
//! ```

use core::iter::FusedIterator;
use core::slice::ChunksExact;

use super::kind;
use super::raw::RawChunk;
use crate::emit::MAX_LENGTH;
use crate::error::ChunkError;
use crate::serial::{Mid, Tsn};

/// The last message of a stream that is skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Skipped {
    /// Stream identifier.
    pub stream: u16,
    /// U: the unordered messages of the stream are meant.
    pub unordered: bool,
    /// The largest message identifier skipped.
    pub mid: Mid,
}

impl Skipped {
    // rfc8260:2.3.1-2 rfc8260:2.3.1-3
    pub(super) fn emit(self, out: &mut Vec<u8>) {
        let [s0, s1] = self.stream.to_be_bytes();
        let [m0, m1, m2, m3] = self.mid.get().to_be_bytes();
        out.extend_from_slice(&[s0, s1, 0, u8::from(self.unordered), m0, m1, m2, m3]);
    }
}

/// An I-FORWARD-TSN chunk: a view over the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IForwardTsn<'a> {
    /// The receiver treats everything up to this TSN as received.
    pub cumulative: Tsn,
    skipped: &'a [u8],
}

impl<'a> IForwardTsn<'a> {
    /// Bytes before the skipped messages, chunk header included.
    pub const HEADER: usize = 8;
    /// Bytes of one skipped message.
    const ENTRY: usize = 8;
    /// The largest number of skipped messages that the length field can count.
    pub const MAX_ENTRIES: usize = (MAX_LENGTH - Self::HEADER) / Self::ENTRY;

    /// Reads an I-FORWARD-TSN chunk.
    ///
    /// # Errors
    /// Shorter than its fixed field, or the rest is no whole number of entries.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&cumulative, skipped) = raw.at_least::<4>()?;
        let over = skipped.len() % Self::ENTRY;
        if over != 0 {
            let length = raw.bytes.len();
            return Err(ChunkError::WrongLength { kind: raw.kind, length, expected: length - over });
        }
        Ok(Self { cumulative: Tsn::new(u32::from_be_bytes(cumulative)), skipped })
    }

    /// The skipped messages in the order they were sent in.
    #[must_use]
    pub fn skipped(&self) -> SkippedMessages<'a> {
        SkippedMessages(self.skipped.chunks_exact(Self::ENTRY))
    }

    /// Appends the chunk.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = crate::emit::begin_chunk(out, kind::I_FORWARD_TSN, 0);
        out.extend_from_slice(&self.cumulative.get().to_be_bytes());
        out.extend_from_slice(self.skipped);
        crate::emit::end(out, start, 0);
    }
}

/// Appends an I-FORWARD-TSN chunk. Entries beyond [`IForwardTsn::MAX_ENTRIES`] are left out.
pub fn emit(out: &mut Vec<u8>, cumulative: Tsn, skipped: &[Skipped]) {
    let skipped = skipped.get(..IForwardTsn::MAX_ENTRIES).unwrap_or(skipped);
    let start = crate::emit::begin_chunk(out, kind::I_FORWARD_TSN, 0);
    out.extend_from_slice(&cumulative.get().to_be_bytes());
    for one in skipped {
        one.emit(out);
    }
    crate::emit::end(out, start, 0);
}

/// Iterator over skipped messages.
#[derive(Clone, Debug)]
pub struct SkippedMessages<'a>(pub(super) ChunksExact<'a, u8>);

impl Iterator for SkippedMessages<'_> {
    type Item = Skipped;

    fn next(&mut self) -> Option<Skipped> {
        match self.0.next() {
            Some(&[s0, s1, _, u, m0, m1, m2, m3]) => Some(Skipped {
                stream: u16::from_be_bytes([s0, s1]),
                unordered: u & 1 != 0,
                mid: Mid::new(u32::from_be_bytes([m0, m1, m2, m3])),
            }),
            _ => None,
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for SkippedMessages<'_> {}
impl FusedIterator for SkippedMessages<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    // rfc8260:2.3.1-2 rfc8260:2.3.1-3
    #[test]
    fn layout() {
        let skipped = [
            Skipped { stream: 0x0102, unordered: true, mid: Mid::new(0x0304_0506) },
            Skipped { stream: 7, unordered: false, mid: Mid::new(8) },
        ];
        let mut out = Vec::new();
        emit(&mut out, Tsn::new(0x0B0C_0D0E), &skipped);
        assert_eq!(out, [0xC2, 0, 0, 24, 11, 12, 13, 14, 1, 2, 0, 1, 3, 4, 5, 6, 0, 7, 0, 0, 0, 0, 0, 8]);
        let forward = IForwardTsn::parse(raw(&out)).unwrap();
        assert_eq!(forward.cumulative, Tsn::new(0x0B0C_0D0E));
        assert!(forward.skipped().eq(skipped));
        let mut again = Vec::new();
        forward.emit(&mut again);
        assert_eq!(again, out);
    }

    #[test]
    fn lengths() {
        for Mutated { length, bytes } in length_cases(kind::I_FORWARD_TSN, 24) {
            let good = length >= 8 && length % 8 == 0;
            assert_eq!(IForwardTsn::parse(raw(&bytes)).is_ok(), good, "length {length}");
        }
    }

    #[test]
    fn more_entries_than_the_length_can_count() {
        let mut out = Vec::new();
        emit(&mut out, Tsn::new(0), &[Skipped::default(); 9000]);
        assert_eq!(IForwardTsn::parse(raw(&out)).unwrap().skipped().len(), IForwardTsn::MAX_ENTRIES);
    }
}
