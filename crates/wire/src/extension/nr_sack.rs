//! NR-SACK: a SACK that also lists non-renegable chunks (draft-tuexen-tsvwg-sctp-multipath; FreeBSD and usrsctp send it).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 0x10  |     flags     | length = 20 + 4 * (N + R + M) |
//! +---------------+---------------+-------------------------------+
//! |                    cumulative TSN ack                         |
//! +---------------------------------------------------------------+
//! |            advertised receiver window credit (bytes)          |
//! +-------------------------------+-------------------------------+
//! |   number of gap ack blocks N  |  number of NR gap ack blocks R|
//! +-------------------------------+-------------------------------+
//! |   number of duplicate TSNs M  |            reserved           |
//! +-------------------------------+-------------------------------+
//! |      gap ack blocks, NR gap ack blocks, duplicate TSNs        |
//! +---------------------------------------------------------------+
//! ```

use crate::chunk::kind;
use crate::chunk::raw::RawChunk;
use crate::chunk::sack::{Duplicates, Gaps};
use crate::error::ChunkError;
use crate::serial::Tsn;

/// Bytes before the gap blocks, chunk header included.
pub const HEADER: usize = 20;

/// An NR-SACK chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NrSack<'a> {
    /// Every TSN up to and including this one was received.
    pub cumulative: Tsn,
    /// Free bytes in the receiver's buffer.
    pub a_rwnd: u32,
    gaps: &'a [u8],
    kept: &'a [u8],
    duplicates: &'a [u8],
}

impl<'a> NrSack<'a> {
    /// Chunk type.
    pub const KIND: u8 = kind::NR_SACK;

    /// Reads the chunk.
    ///
    /// # Errors
    /// Shorter than its fixed fields, or its length does not fit the three counts.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[c0, c1, c2, c3, w0, w1, w2, w3, g0, g1, n0, n1, d0, d1, _, _], entries) =
            raw.at_least::<16>()?;
        let [gaps, kept, duplicates] =
            [[g0, g1], [n0, n1], [d0, d1]].map(|count| 4 * usize::from(u16::from_be_bytes(count)));
        let expected = HEADER + gaps + kept + duplicates;
        let wrong = ChunkError::WrongLength { kind: raw.kind, length: raw.bytes.len(), expected };
        if raw.bytes.len() != expected {
            return Err(wrong);
        }
        let (gaps, entries) = entries.split_at_checked(gaps).ok_or(wrong)?;
        let (kept, duplicates) = entries.split_at_checked(kept).ok_or(wrong)?;
        Ok(Self {
            cumulative: Tsn::new(u32::from_be_bytes([c0, c1, c2, c3])),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            gaps,
            kept,
            duplicates,
        })
    }

    /// TSNs that were received and that the receiver may still drop (renegable).
    #[must_use]
    pub fn gaps(&self) -> Gaps<'a> {
        Gaps::new(self.gaps)
    }

    /// TSNs that were received and that the receiver will not drop (non-renegable).
    #[must_use]
    pub fn kept(&self) -> Gaps<'a> {
        Gaps::new(self.kept)
    }

    /// TSNs that arrived again.
    #[must_use]
    pub fn duplicates(&self) -> Duplicates<'a> {
        Duplicates::new(self.duplicates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::GapBlock;
    use crate::chunk::tests::{length_cases, raw};

    #[test]
    fn layout() {
        let bytes = [
            16, 0, 0, 32, 0, 0, 0, 7, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 2, 0, 3, 0, 5, 0, 6, 0, 0, 0, 9,
        ];
        let chunk = NrSack::parse(raw(&bytes)).unwrap();
        assert_eq!((chunk.cumulative.get(), chunk.a_rwnd), (7, 65_536));
        assert!(chunk.gaps().eq([GapBlock { start: 2, end: 3 }]));
        assert!(chunk.kept().eq([GapBlock { start: 5, end: 6 }]));
        assert!(chunk.duplicates().eq([Tsn::new(9)]));
    }

    #[test]
    fn counts_must_fit_the_length() {
        for at in [12, 14, 16] {
            let mut bytes = vec![0; 20];
            (bytes[0], bytes[3], bytes[at]) = (16, 20, 0xff);
            assert!(matches!(NrSack::parse(raw(&bytes)), Err(ChunkError::WrongLength { .. })));
        }
        for case in length_cases(kind::NR_SACK, HEADER) {
            assert_eq!(NrSack::parse(raw(&case.bytes)).is_ok(), case.length == HEADER);
        }
    }
}
