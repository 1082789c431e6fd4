//! FORWARD-TSN: messages that the sender of DATA gives up (RFC 3758 section 3.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 0xC0  |     flags     |      length = 8 + 4 * N       |
//! +---------------+---------------+-------------------------------+
//! |                      new cumulative TSN                       |
//! +-------------------------------+-------------------------------+
//! |       stream identifier       |     stream sequence number    |  x N
//! +-------------------------------+-------------------------------+
//! ```

use core::iter::FusedIterator;
use core::slice::ChunksExact;

use super::kind;
use super::raw::RawChunk;
use crate::emit::MAX_LENGTH;
use crate::error::ChunkError;
use crate::serial::{Ssn, Tsn};

/// The last ordered message of a stream that is skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SkippedSsn {
    /// Stream identifier.
    pub stream: u16,
    /// The largest stream sequence number skipped.
    pub ssn: Ssn,
}

/// A FORWARD-TSN chunk: a view over the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardTsn<'a> {
    /// The receiver treats everything up to this TSN as received.
    pub cumulative: Tsn,
    skipped: &'a [u8],
}

impl<'a> ForwardTsn<'a> {
    /// Bytes before the skipped messages, chunk header included.
    pub const HEADER: usize = 8;
    /// Bytes of one skipped message.
    const ENTRY: usize = 4;
    /// The largest number of skipped messages that the length field can count.
    pub const MAX_ENTRIES: usize = (MAX_LENGTH - Self::HEADER) / Self::ENTRY;

    /// Reads a FORWARD-TSN chunk.
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
    pub fn skipped(&self) -> SkippedSsns<'a> {
        SkippedSsns(self.skipped.chunks_exact(Self::ENTRY))
    }

    /// Appends the chunk.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = crate::emit::begin_chunk(out, kind::FORWARD_TSN, 0);
        out.extend_from_slice(&self.cumulative.get().to_be_bytes());
        out.extend_from_slice(self.skipped);
        crate::emit::end(out, start, 0);
    }
}

/// Appends a FORWARD-TSN chunk. Entries beyond [`ForwardTsn::MAX_ENTRIES`] are left out.
pub fn emit(out: &mut Vec<u8>, cumulative: Tsn, skipped: &[SkippedSsn]) {
    let skipped = skipped.get(..ForwardTsn::MAX_ENTRIES).unwrap_or(skipped);
    let start = crate::emit::begin_chunk(out, kind::FORWARD_TSN, 0);
    out.extend_from_slice(&cumulative.get().to_be_bytes());
    for one in skipped {
        out.extend_from_slice(&one.stream.to_be_bytes());
        out.extend_from_slice(&one.ssn.get().to_be_bytes());
    }
    crate::emit::end(out, start, 0);
}

/// Iterator over skipped messages.
#[derive(Clone, Debug)]
pub struct SkippedSsns<'a>(ChunksExact<'a, u8>);

impl Iterator for SkippedSsns<'_> {
    type Item = SkippedSsn;

    fn next(&mut self) -> Option<SkippedSsn> {
        match self.0.next() {
            Some(&[s0, s1, n0, n1]) => Some(SkippedSsn {
                stream: u16::from_be_bytes([s0, s1]),
                ssn: Ssn::new(u16::from_be_bytes([n0, n1])),
            }),
            _ => None,
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for SkippedSsns<'_> {}
impl FusedIterator for SkippedSsns<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    #[test]
    fn layout() {
        let skipped = [
            SkippedSsn { stream: 0x0102, ssn: Ssn::new(0x0304) },
            SkippedSsn { stream: 7, ssn: Ssn::new(8) },
        ];
        let mut out = Vec::new();
        emit(&mut out, Tsn::new(0x0B0C_0D0E), &skipped);
        assert_eq!(out, [0xC0, 0, 0, 16, 11, 12, 13, 14, 1, 2, 3, 4, 0, 7, 0, 8]);
        let forward = ForwardTsn::parse(raw(&out)).unwrap();
        assert_eq!(forward.cumulative, Tsn::new(0x0B0C_0D0E));
        assert!(forward.skipped().eq(skipped));
        let mut again = Vec::new();
        forward.emit(&mut again);
        assert_eq!(again, out);
    }

    #[test]
    fn lengths() {
        for Mutated { length, bytes } in length_cases(kind::FORWARD_TSN, 20) {
            let good = length >= 8 && length % 4 == 0;
            assert_eq!(ForwardTsn::parse(raw(&bytes)).is_ok(), good, "length {length}");
        }
    }

    #[test]
    fn more_entries_than_the_length_can_count() {
        let mut out = Vec::new();
        emit(&mut out, Tsn::new(0), &[SkippedSsn::default(); 17_000]);
        assert_eq!(ForwardTsn::parse(raw(&out)).unwrap().skipped().len(), ForwardTsn::MAX_ENTRIES);
    }
}
