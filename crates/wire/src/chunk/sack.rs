//! SACK: the received TSNs (RFC 9260 section 3.3.4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   type = 3    |    res    |S|0|   length = 16 + 4 * (N + M)   |
//! +---------------+---------------+-------------------------------+
//! |                    cumulative TSN ack                         |
//! +---------------------------------------------------------------+
//! |            advertised receiver window credit (bytes)          |
//! +-------------------------------+-------------------------------+
//! |   number of gap ack blocks N  |   number of duplicate TSNs M  |
//! +-------------------------------+-------------------------------+
//! |      gap ack block 1 start    |      gap ack block 1 end      |  offsets from the cumulative TSN ack
//! +-------------------------------+-------------------------------+
//! |                              ...                              |
//! +---------------------------------------------------------------+
//! |                        duplicate TSN 1                        |
//! +---------------------------------------------------------------+
//! |                              ...                              |
//! +---------------------------------------------------------------+
//! ```
//!
//! RFC 9260 has no flags here. S is this project's, for peers that have both said Selected Gap Blocks in the handshake: a chunk
//! that no gap block lists keeps its state.

use core::iter::FusedIterator;
use core::slice::ChunksExact;

use super::kind;
use super::raw::RawChunk;
use crate::emit::MAX_LENGTH;
use crate::error::ChunkError;
use crate::serial::Tsn;

/// TSNs received beyond the cumulative TSN ack: first and last of a run, as offsets from it. The values of a peer are
/// not checked here: they may be reversed, overlapping or zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GapBlock {
    /// Offset of the first TSN of the run.
    pub start: u16,
    /// Offset of the last TSN of the run.
    pub end: u16,
}

/// Bytes before the gap blocks, chunk header included.
pub const HEADER: usize = 16;
/// The largest number of gap blocks and duplicate TSNs together that the length field can count.
pub const MAX_ENTRIES: usize = (MAX_LENGTH - HEADER) / 4;

/// S: TSNs that no gap block names keep their state.
const SELECTED: u8 = 2;

/// Bytes of a whole chunk with so many gap blocks and duplicate TSNs. There is never padding.
#[inline]
#[must_use]
pub const fn wire_len(gaps: usize, duplicates: usize) -> usize {
    HEADER + 4 * (gaps + duplicates)
}

/// Appends a SACK chunk. Beyond [`MAX_ENTRIES`], duplicates are left out first, then the last gap blocks.
// rfc9260:3.3.4-1
#[inline]
pub fn emit(out: &mut Vec<u8>, cumulative: Tsn, a_rwnd: u32, gaps: &[GapBlock], duplicates: &[Tsn]) {
    let gaps = gaps.get(..MAX_ENTRIES).unwrap_or(gaps);
    let duplicates = duplicates.get(..MAX_ENTRIES - gaps.len()).unwrap_or(duplicates);
    let length = wire_len(gaps.len(), duplicates.len());
    out.reserve(length);
    let mut head = [kind::SACK; HEADER];
    head[1] = 0;
    head[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    head[4..8].copy_from_slice(&cumulative.get().to_be_bytes());
    head[8..12].copy_from_slice(&a_rwnd.to_be_bytes());
    head[12..14].copy_from_slice(&(gaps.len() as u16).to_be_bytes());
    head[14..16].copy_from_slice(&(duplicates.len() as u16).to_be_bytes());
    out.extend_from_slice(&head);
    for gap in gaps {
        let ([a, b], [c, d]) = (gap.start.to_be_bytes(), gap.end.to_be_bytes());
        out.extend_from_slice(&[a, b, c, d]);
    }
    for tsn in duplicates {
        out.extend_from_slice(&tsn.get().to_be_bytes());
    }
}

/// Appends a SACK chunk with the flag S: TSNs that no gap block names keep their state.
pub fn emit_selected(out: &mut Vec<u8>, cumulative: Tsn, a_rwnd: u32, gaps: &[GapBlock], duplicates: &[Tsn]) {
    let start = out.len();
    emit(out, cumulative, a_rwnd, gaps, duplicates);
    if let Some(flags) = out.get_mut(start + 1) {
        *flags = SELECTED;
    }
}

/// A SACK chunk: a view over the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sack<'a> {
    /// Every TSN up to and including this one was received.
    pub cumulative: Tsn,
    /// Advertised receiver window credit: free bytes in the peer's buffer.
    pub a_rwnd: u32,
    /// S: TSNs that no gap block names keep their state. It has a meaning only for a sender of data that has offered to
    /// read it.
    pub selected: bool,
    gaps: &'a [u8],
    duplicates: &'a [u8],
}

impl<'a> Sack<'a> {
    /// Reads a SACK chunk. Its values are not checked: that is the task of the protocol core.
    ///
    /// # Errors
    /// Shorter than its fixed fields, or its length does not fit the two counts.
    #[inline]
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[c0, c1, c2, c3, w0, w1, w2, w3, g0, g1, d0, d1], entries) = raw.at_least::<12>()?;
        let gap_count = usize::from(u16::from_be_bytes([g0, g1]));
        let duplicate_count = usize::from(u16::from_be_bytes([d0, d1]));
        let expected = wire_len(gap_count, duplicate_count);
        let wrong = ChunkError::WrongLength { kind: raw.kind, length: raw.bytes.len(), expected };
        if raw.bytes.len() != expected {
            return Err(wrong);
        }
        let (gaps, duplicates) = entries.split_at_checked(4 * gap_count).ok_or(wrong)?;
        Ok(Self {
            cumulative: Tsn::new(u32::from_be_bytes([c0, c1, c2, c3])),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            selected: raw.flags & SELECTED != 0,
            gaps,
            duplicates,
        })
    }

    /// Number of gap blocks.
    #[inline]
    #[must_use]
    pub const fn gap_count(&self) -> usize {
        self.gaps.len() / 4
    }

    /// Number of duplicate TSNs.
    #[inline]
    #[must_use]
    pub const fn duplicate_count(&self) -> usize {
        self.duplicates.len() / 4
    }

    /// The gap blocks in the order they were sent in.
    #[inline]
    #[must_use]
    pub fn gaps(&self) -> Gaps<'a> {
        Gaps::new(self.gaps)
    }

    /// TSNs that arrived again since the last SACK, once for each time.
    #[inline]
    #[must_use]
    pub fn duplicates(&self) -> Duplicates<'a> {
        Duplicates::new(self.duplicates)
    }

    /// Appends the chunk.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(out, self.cumulative, self.a_rwnd, &[], &[]);
        let start = out.len() - HEADER;
        let length = wire_len(self.gap_count(), self.duplicate_count()) as u16;
        out.extend_from_slice(self.gaps);
        out.extend_from_slice(self.duplicates);
        if let Some(head) = out.get_mut(start..start + HEADER) {
            head[1] = if self.selected { SELECTED } else { 0 };
            head[2..4].copy_from_slice(&length.to_be_bytes());
            head[12..14].copy_from_slice(&(self.gap_count() as u16).to_be_bytes());
            head[14..16].copy_from_slice(&(self.duplicate_count() as u16).to_be_bytes());
        }
    }
}

/// Iterator over gap blocks.
#[derive(Clone, Debug)]
pub struct Gaps<'a>(ChunksExact<'a, u8>);

impl<'a> Gaps<'a> {
    /// The blocks that stand in `bytes`, four bytes each.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.chunks_exact(4))
    }
}

impl Iterator for Gaps<'_> {
    type Item = GapBlock;

    #[inline]
    fn next(&mut self) -> Option<GapBlock> {
        match self.0.next() {
            Some(&[a, b, c, d]) => {
                Some(GapBlock { start: u16::from_be_bytes([a, b]), end: u16::from_be_bytes([c, d]) })
            }
            _ => None,
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Gaps<'_> {}
impl FusedIterator for Gaps<'_> {}

/// Iterator over duplicate TSNs.
#[derive(Clone, Debug)]
pub struct Duplicates<'a>(ChunksExact<'a, u8>);

impl<'a> Duplicates<'a> {
    /// The numbers that stand in `bytes`, four bytes each.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.chunks_exact(4))
    }
}

impl Iterator for Duplicates<'_> {
    type Item = Tsn;

    #[inline]
    fn next(&mut self) -> Option<Tsn> {
        match self.0.next() {
            Some(&[a, b, c, d]) => Some(Tsn::new(u32::from_be_bytes([a, b, c, d]))),
            _ => None,
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Duplicates<'_> {}
impl FusedIterator for Duplicates<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    // rfc9260:3.3.4-1
    #[test]
    fn layout() {
        let mut out = Vec::new();
        let gaps = [GapBlock { start: 2, end: 3 }, GapBlock { start: 5, end: 0x0105 }];
        emit(&mut out, Tsn::new(0x0A0B_0C0D), 0x0001_0000, &gaps, &[Tsn::new(9)]);
        assert_eq!(
            out,
            [3, 0, 0, 28, 10, 11, 12, 13, 0, 1, 0, 0, 0, 2, 0, 1, 0, 2, 0, 3, 0, 5, 1, 5, 0, 0, 0, 9]
        );
        assert_eq!(out.len(), wire_len(2, 1));
        let sack = Sack::parse(raw(&out)).unwrap();
        assert_eq!(sack.gaps().len(), 2);
        assert!(sack.gaps().eq(gaps));
        assert!(sack.duplicates().eq([Tsn::new(9)]));
    }

    #[test]
    fn a_selection_has_its_flag() {
        let (mut out, mut again) = (vec![7], Vec::new());
        emit_selected(&mut out, Tsn::new(1), 2, &[GapBlock { start: 2, end: 3 }], &[]);
        assert_eq!(out, [7, 3, 2, 0, 20, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 2, 0, 3]);
        let sack = Sack::parse(raw(&out[1..])).unwrap();
        assert!(sack.selected);
        sack.emit(&mut again);
        assert_eq!(again, out[1..]);
        out[2] = 0xFD;
        assert!(!Sack::parse(raw(&out[1..])).unwrap().selected, "other flags are no selection");
    }

    #[test]
    fn counts_must_fit_the_length() {
        for (gaps, duplicates) in [(1, 0), (0, 1), (65_535, 0), (0, 65_535), (65_535, 65_535)] {
            let mut bytes = vec![3, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0];
            bytes[12..14].copy_from_slice(&u16::to_be_bytes(gaps));
            bytes[14..16].copy_from_slice(&u16::to_be_bytes(duplicates));
            assert!(matches!(Sack::parse(raw(&bytes)), Err(ChunkError::WrongLength { .. })));
        }
    }

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(kind::SACK, HEADER) {
            assert_eq!(Sack::parse(raw(&bytes)).is_ok(), length == HEADER, "length {length}");
        }
    }

    #[test]
    fn more_entries_than_the_length_can_count() {
        let mut out = Vec::new();
        emit(&mut out, Tsn::new(0), 0, &[GapBlock::default(); 65_535], &[Tsn::new(1)]);
        assert_eq!(out.len(), 65_532);
        let sack = Sack::parse(raw(&out)).unwrap();
        assert_eq!((sack.gap_count(), sack.duplicate_count()), (MAX_ENTRIES, 0));
    }
}
