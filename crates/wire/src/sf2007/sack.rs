//! The acknowledgement of the thesis, one for each subflow (Fig. 3.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   type = 3    |   flags = 0   |  length = 20 + 4 * (N + X)    |
//! +---------------+---------------+-------------------------------+
//! |                     cumulative ASN ack                        |
//! +---------------+-----------------------------------------------+
//! |      FID      |              cumulative FSN ack               |
//! +---------------+-----------------------------------------------+
//! |             advertised flow receiver window (a_fwnd)          |
//! +-------------------------------+-------------------------------+
//! |     number of gap blocks N    |   number of duplicate FSNs X  |
//! +-------------------------------+-------------------------------+
//! |     FSN offset of the start   |     FSN offset of the end     |  x N
//! +-------------------------------+-------------------------------+
//! |                        duplicate FSN                          |  x X
//! +---------------------------------------------------------------+
//! ```

use super::Fsn;
use crate::chunk::kind;
use crate::chunk::raw::RawChunk;
use crate::chunk::sack::{Duplicates, GapBlock, Gaps};
use crate::emit::MAX_LENGTH;
use crate::error::ChunkError;
use crate::serial::Tsn;

/// Bytes before the gap blocks, chunk header included.
pub const HEADER: usize = 20;
const MAX_ENTRIES: usize = (MAX_LENGTH - HEADER) / 4;

/// Bytes of a whole chunk with so many gap blocks and duplicates.
#[inline]
#[must_use]
pub const fn wire_len(gaps: usize, duplicates: usize) -> usize {
    HEADER + 4 * (gaps + duplicates)
}

/// The fixed fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackHead {
    /// Every ASN up to and including this one was received.
    pub cumulative_asn: Tsn,
    /// Subflow identifier.
    pub fid: u8,
    /// Every FSN of the subflow up to and including this one was received.
    pub cumulative_fsn: Fsn,
    /// Bytes that this subflow may have outstanding.
    pub a_fwnd: u32,
}

/// Appends the chunk. Entries beyond the range of the length field are left out: duplicates first, then the last gap
/// blocks.
#[inline]
pub fn emit(out: &mut Vec<u8>, head: &SackHead, gaps: &[GapBlock], duplicates: &[Fsn]) {
    let gaps = gaps.get(..MAX_ENTRIES).unwrap_or(gaps);
    let duplicates = duplicates.get(..MAX_ENTRIES - gaps.len()).unwrap_or(duplicates);
    let length = wire_len(gaps.len(), duplicates.len());
    let [l0, l1] = (length as u16).to_be_bytes();
    let [_, f0, f1, f2] = head.cumulative_fsn.get().to_be_bytes();
    out.reserve(length);
    out.extend_from_slice(&[kind::SACK, 0, l0, l1]);
    out.extend_from_slice(&head.cumulative_asn.get().to_be_bytes());
    out.extend_from_slice(&[head.fid, f0, f1, f2]);
    out.extend_from_slice(&head.a_fwnd.to_be_bytes());
    out.extend_from_slice(&(gaps.len() as u16).to_be_bytes());
    out.extend_from_slice(&(duplicates.len() as u16).to_be_bytes());
    for gap in gaps {
        let ([a, b], [c, d]) = (gap.start.to_be_bytes(), gap.end.to_be_bytes());
        out.extend_from_slice(&[a, b, c, d]);
    }
    for fsn in duplicates {
        out.extend_from_slice(&fsn.get().to_be_bytes());
    }
}

/// A SACK chunk of the thesis: a view over the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sack<'a> {
    /// The fixed fields.
    pub head: SackHead,
    gaps: &'a [u8],
    duplicates: &'a [u8],
}

impl<'a> Sack<'a> {
    /// Reads the chunk.
    ///
    /// # Errors
    /// Shorter than its fixed fields, or its length does not fit the two counts.
    #[inline]
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[a0, a1, a2, a3, fid, f0, f1, f2, w0, w1, w2, w3, g0, g1, d0, d1], entries) =
            raw.at_least::<16>()?;
        let gap_count = usize::from(u16::from_be_bytes([g0, g1]));
        let duplicate_count = usize::from(u16::from_be_bytes([d0, d1]));
        let expected = wire_len(gap_count, duplicate_count);
        let wrong = ChunkError::WrongLength { kind: raw.kind, length: raw.bytes.len(), expected };
        if raw.bytes.len() != expected {
            return Err(wrong);
        }
        let (gaps, duplicates) = entries.split_at_checked(4 * gap_count).ok_or(wrong)?;
        Ok(Self {
            head: SackHead {
                cumulative_asn: Tsn::new(u32::from_be_bytes([a0, a1, a2, a3])),
                fid,
                cumulative_fsn: Fsn::new(u32::from_be_bytes([0, f0, f1, f2])),
                a_fwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            },
            gaps,
            duplicates,
        })
    }

    /// The gap blocks in the order they were sent in.
    #[must_use]
    pub fn gaps(&self) -> Gaps<'a> {
        Gaps::new(self.gaps)
    }

    /// FSNs that arrived again since the last SACK of this subflow.
    pub fn duplicates(&self) -> impl ExactSizeIterator<Item = Fsn> + 'a {
        Duplicates::new(self.duplicates).map(Fsn::from)
    }

    /// Appends the chunk.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let gaps: Vec<GapBlock> = self.gaps().collect();
        let duplicates: Vec<Fsn> = self.duplicates().collect();
        emit(out, &self.head, &gaps, &duplicates);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    #[test]
    fn layout_of_figure_3_2() {
        let head = SackHead {
            cumulative_asn: Tsn::new(0x0102_0304),
            fid: 5,
            cumulative_fsn: Fsn::new(0x0006_0708),
            a_fwnd: 0x0001_0000,
        };
        let gaps = [GapBlock { start: 2, end: 0x0103 }];
        let mut out = Vec::new();
        emit(&mut out, &head, &gaps, &[Fsn::new(0x000A_0B0C)]);
        assert_eq!(
            out,
            [3, 0, 0, 28, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 0, 0, 0, 1, 0, 1, 0, 2, 1, 3, 0, 10, 11, 12]
        );
        assert_eq!(out.len(), wire_len(1, 1));
        let sack = Sack::parse(raw(&out)).unwrap();
        assert_eq!(sack.head, head);
        assert!(sack.gaps().eq(gaps) && sack.duplicates().eq([Fsn::new(0x000A_0B0C)]));
        let mut again = Vec::new();
        sack.emit(&mut again);
        assert_eq!(again, out);
    }

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(3, HEADER) {
            assert_eq!(Sack::parse(raw(&bytes)).is_ok(), length == HEADER, "length {length}");
        }
    }

    #[test]
    fn counts_must_fit_the_length() {
        for (gaps, duplicates) in [(1, 0), (0, 1), (65_535, 65_535)] {
            let mut bytes = vec![0; 20];
            (bytes[0], bytes[3]) = (3, 20);
            bytes[16..18].copy_from_slice(&u16::to_be_bytes(gaps));
            bytes[18..20].copy_from_slice(&u16::to_be_bytes(duplicates));
            assert!(matches!(Sack::parse(raw(&bytes)), Err(ChunkError::WrongLength { .. })));
        }
    }
}
