//! SF-FORWARD: messages that a subflow other than 0 gives up (extension SF, level 1). It is I-FORWARD-TSN (RFC 8260 section
//! 2.3.1) with a subflow.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 0xDF  |     flags     |      length = 12 + 8 * N      |
//! +---------------+---------------+-------------------------------+
//! |      FID      |     epoch     |           reserved            |
//! +---------------+---------------+-------------------------------+
//! |                     new cumulative STSN                       |
//! +-------------------------------+-----------------------------+-+
//! |       stream identifier       |          reserved           |U|  x N
//! +-------------------------------+-----------------------------+-+
//! |                      message identifier                       |
//! +---------------------------------------------------------------+
//! ```

pub use super::i_forward_tsn::{Skipped, SkippedMessages};
use super::raw::RawChunk;
use crate::emit::MAX_LENGTH;
use crate::error::ChunkError;
use crate::serial::Tsn;
use crate::sf::CodePoints;

/// An SF-FORWARD chunk: a view over the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SfForward<'a> {
    /// Subflow identifier.
    pub fid: u8,
    /// Incarnation of the FID.
    pub epoch: u8,
    /// The receiver treats everything up to this STSN as received.
    pub cumulative: Tsn,
    skipped: &'a [u8],
}

impl<'a> SfForward<'a> {
    /// Bytes before the skipped messages, chunk header included.
    pub const HEADER: usize = 12;
    /// Bytes of one skipped message.
    const ENTRY: usize = 8;
    /// The largest number of skipped messages that the length field can count.
    pub const MAX_ENTRIES: usize = (MAX_LENGTH - Self::HEADER) / Self::ENTRY;

    /// Reads an SF-FORWARD chunk.
    ///
    /// # Errors
    /// Shorter than its fixed fields, or the rest is no whole number of entries.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[fid, epoch, _, _, c0, c1, c2, c3], skipped) = raw.at_least::<8>()?;
        let over = skipped.len() % Self::ENTRY;
        if over != 0 {
            let length = raw.bytes.len();
            return Err(ChunkError::WrongLength { kind: raw.kind, length, expected: length - over });
        }
        Ok(Self { fid, epoch, cumulative: Tsn::new(u32::from_be_bytes([c0, c1, c2, c3])), skipped })
    }

    /// The skipped messages in the order they were sent in.
    #[must_use]
    pub fn skipped(&self) -> SkippedMessages<'a> {
        SkippedMessages(self.skipped.chunks_exact(Self::ENTRY))
    }

    /// Appends the chunk.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = crate::emit::begin_chunk(out, CodePoints::DEFAULT.forward, 0);
        fixed(out, self.fid, self.epoch, self.cumulative);
        out.extend_from_slice(self.skipped);
        crate::emit::end(out, start, 0);
    }
}

fn fixed(out: &mut Vec<u8>, fid: u8, epoch: u8, cumulative: Tsn) {
    out.extend_from_slice(&[fid, epoch, 0, 0]);
    out.extend_from_slice(&cumulative.get().to_be_bytes());
}

/// Appends an SF-FORWARD chunk of type `kind` ([`CodePoints::forward`]). Entries beyond
/// [`SfForward::MAX_ENTRIES`] are left out.
pub fn emit(out: &mut Vec<u8>, kind: u8, fid: u8, epoch: u8, cumulative: Tsn, skipped: &[Skipped]) {
    let skipped = skipped.get(..SfForward::MAX_ENTRIES).unwrap_or(skipped);
    let start = crate::emit::begin_chunk(out, kind, 0);
    fixed(out, fid, epoch, cumulative);
    for one in skipped {
        one.emit(out);
    }
    crate::emit::end(out, start, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};
    use crate::serial::Mid;

    #[test]
    fn layout() {
        let skipped = [
            Skipped { stream: 0x0102, unordered: true, mid: Mid::new(0x0304_0506) },
            Skipped { stream: 7, unordered: false, mid: Mid::new(8) },
        ];
        let mut out = Vec::new();
        emit(&mut out, 0xDF, 9, 10, Tsn::new(0x0B0C_0D0E), &skipped);
        assert_eq!(
            out,
            [0xDF, 0, 0, 28, 9, 10, 0, 0, 11, 12, 13, 14, 1, 2, 0, 1, 3, 4, 5, 6, 0, 7, 0, 0, 0, 0, 0, 8]
        );
        let forward = SfForward::parse(raw(&out)).unwrap();
        assert_eq!((forward.fid, forward.epoch, forward.cumulative), (9, 10, Tsn::new(0x0B0C_0D0E)));
        assert!(forward.skipped().eq(skipped));
        let mut again = Vec::new();
        forward.emit(&mut again);
        assert_eq!(again, out);
    }

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(0xDF, SfForward::HEADER) {
            assert_eq!(SfForward::parse(raw(&bytes)).is_ok(), length == SfForward::HEADER, "length {length}");
        }
        for length in 12..40_u8 {
            let mut bytes = vec![0; 40];
            (bytes[0], bytes[3]) = (0xDF, length);
            assert_eq!(SfForward::parse(raw(&bytes)).is_ok(), (length - 12) % 8 == 0, "length {length}");
        }
    }

    #[test]
    fn more_entries_than_the_length_can_count() {
        let mut out = Vec::new();
        emit(&mut out, 0xDF, 1, 0, Tsn::new(0), &[Skipped::default(); 9000]);
        assert_eq!(SfForward::parse(raw(&out)).unwrap().skipped().len(), SfForward::MAX_ENTRIES);
    }
}
