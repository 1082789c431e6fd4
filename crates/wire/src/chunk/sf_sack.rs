//! SF-SACK: the received chunks of one subflow other than 0 (extension SF, level 1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------+-+-+-+-------------------------------+
//! |  type = 0x9F  |   res   |N|T|C|            length             |
//! +---------------+---------+-+-+-+-------------------------------+
//! |      FID      |     epoch     |           reserved            |
//! +---------------+---------------+-------------------------------+
//! |                     cumulative STSN ack                       |
//! +---------------------------------------------------------------+
//! |               a_rwnd of the association (bytes)               |
//! +---------------------------------------------------------------+
//! |                a_fwnd of this subflow (bytes)                 |
//! +-------------------------------+-------------------------------+
//! |  number of gap ack blocks G   |  number of duplicate STSNs D  |
//! +-------------------------------+-------------------------------+
//! |      gap ack block start      |       gap ack block end       |  x G, offsets from the cumulative STSN ack
//! +-------------------------------+-------------------------------+
//! |                        duplicate STSN                         |  x D
//! +---------------------------------------------------------------+
//! | T: receive time of the highest newly received STSN, us        |
//! | T: delay of this acknowledgement since then, us               |
//! +---------------------------------------------------------------+
//! | C: packets received with ECT(0) | ECT(1) | CE (32 bits each)  |
//! +---------------------------------------------------------------+
//! ```

use super::raw::RawChunk;
use super::sack::{Duplicates, GapBlock, Gaps};
use crate::emit::MAX_LENGTH;
use crate::error::ChunkError;
use crate::serial::Tsn;
use crate::sf::CodePoints;

/// Bytes before the gap blocks, chunk header included.
pub const HEADER: usize = 24;
/// Bytes of the two timestamps.
const TIMES: usize = 8;
/// Bytes of the three counters.
const COUNTERS: usize = 12;
/// The largest number of gap blocks and duplicates together that the length field can count, with any flags.
pub const MAX_ENTRIES: usize = (MAX_LENGTH - HEADER - TIMES - COUNTERS) / 4;

/// N: the gap blocks are final, the receiver will not take them back.
const NON_RENEGABLE: u8 = 4;
/// T: timestamps follow.
const TIMESTAMPS: u8 = 2;
/// C: ECN counters follow.
const ECN_COUNTERS: u8 = 1;

/// When the highest newly received STSN arrived, by the receiver's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReceiveTime {
    /// Microseconds by a clock of unknown origin; wraps after 71 minutes. Only differences have a meaning.
    pub received_us: u32,
    /// Microseconds between that arrival and this acknowledgement.
    pub ack_delay_us: u32,
}

/// Packets of the subflow so far by the ECN field they arrived with (RFC 3168, RFC 9331); each wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EcnCounters {
    /// ECT(0).
    pub ect0: u32,
    /// ECT(1).
    pub ect1: u32,
    /// Congestion experienced.
    pub ce: u32,
}

impl EcnCounters {
    /// Bytes that they take of a chunk.
    pub const LEN: usize = COUNTERS;
}

/// The fields of an SF-SACK besides its lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SfSackHead {
    /// Subflow identifier.
    pub fid: u8,
    /// Incarnation of the FID.
    pub epoch: u8,
    /// Every STSN up to and including this one was received.
    pub cumulative: Tsn,
    /// Free bytes in the receive buffer of the association.
    pub a_rwnd: u32,
    /// Bytes that this subflow may have outstanding.
    pub a_fwnd: u32,
    /// N: chunks listed in gap blocks will not be dropped again.
    pub non_renegable: bool,
}

/// Bytes of a whole chunk. There is never padding.
#[inline]
#[must_use]
pub const fn wire_len(gaps: usize, duplicates: usize, times: bool, counters: bool) -> usize {
    HEADER + 4 * (gaps + duplicates) + if times { TIMES } else { 0 } + if counters { COUNTERS } else { 0 }
}

/// Appends an SF-SACK chunk of type `kind` ([`CodePoints::sack`]). Beyond [`MAX_ENTRIES`], duplicates are left out
/// first, then the last gap blocks.
#[inline]
pub fn emit(
    out: &mut Vec<u8>,
    kind: u8,
    head: &SfSackHead,
    gaps: &[GapBlock],
    duplicates: &[Tsn],
    times: Option<ReceiveTime>,
    counters: Option<EcnCounters>,
) {
    let gaps = gaps.get(..MAX_ENTRIES).unwrap_or(gaps);
    let duplicates = duplicates.get(..MAX_ENTRIES - gaps.len()).unwrap_or(duplicates);
    let length = wire_len(gaps.len(), duplicates.len(), times.is_some(), counters.is_some());
    out.reserve(length);
    let flag = |set, bit| if set { bit } else { 0 };
    let mut start = [0; HEADER];
    start[0] = kind;
    start[1] = flag(head.non_renegable, NON_RENEGABLE)
        | flag(times.is_some(), TIMESTAMPS)
        | flag(counters.is_some(), ECN_COUNTERS);
    start[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    start[4] = head.fid;
    start[5] = head.epoch;
    start[8..12].copy_from_slice(&head.cumulative.get().to_be_bytes());
    start[12..16].copy_from_slice(&head.a_rwnd.to_be_bytes());
    start[16..20].copy_from_slice(&head.a_fwnd.to_be_bytes());
    start[20..22].copy_from_slice(&(gaps.len() as u16).to_be_bytes());
    start[22..24].copy_from_slice(&(duplicates.len() as u16).to_be_bytes());
    out.extend_from_slice(&start);
    for gap in gaps {
        let ([a, b], [c, d]) = (gap.start.to_be_bytes(), gap.end.to_be_bytes());
        out.extend_from_slice(&[a, b, c, d]);
    }
    for stsn in duplicates {
        out.extend_from_slice(&stsn.get().to_be_bytes());
    }
    if let Some(times) = times {
        out.extend_from_slice(&times.received_us.to_be_bytes());
        out.extend_from_slice(&times.ack_delay_us.to_be_bytes());
    }
    if let Some(counters) = counters {
        for count in [counters.ect0, counters.ect1, counters.ce] {
            out.extend_from_slice(&count.to_be_bytes());
        }
    }
}

/// An SF-SACK chunk: a view over the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SfSack<'a> {
    /// Subflow, cumulative STSN ack and windows.
    pub head: SfSackHead,
    gap_count: u16,
    duplicate_count: u16,
    times: bool,
    counters: bool,
    /// Everything behind the fixed fields.
    body: &'a [u8],
}

impl<'a> SfSack<'a> {
    /// Reads an SF-SACK chunk. Its values are not checked: that is the task of the protocol core.
    ///
    /// # Errors
    /// Shorter than its fixed fields, or its length does not fit its counts and flags.
    #[inline]
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[fid, epoch, _, _, c0, c1, c2, c3, w0, w1, w2, w3, f0, f1, f2, f3, g0, g1, d0, d1], body) =
            raw.at_least::<20>()?;
        let gap_count = u16::from_be_bytes([g0, g1]);
        let duplicate_count = u16::from_be_bytes([d0, d1]);
        let times = raw.flags & TIMESTAMPS != 0;
        let counters = raw.flags & ECN_COUNTERS != 0;
        let expected = wire_len(gap_count.into(), duplicate_count.into(), times, counters);
        if raw.bytes.len() != expected {
            return Err(ChunkError::WrongLength { kind: raw.kind, length: raw.bytes.len(), expected });
        }
        Ok(Self {
            head: SfSackHead {
                fid,
                epoch,
                cumulative: Tsn::new(u32::from_be_bytes([c0, c1, c2, c3])),
                a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
                a_fwnd: u32::from_be_bytes([f0, f1, f2, f3]),
                non_renegable: raw.flags & NON_RENEGABLE != 0,
            },
            gap_count,
            duplicate_count,
            times,
            counters,
            body,
        })
    }

    /// Number of gap blocks.
    #[inline]
    #[must_use]
    pub fn gap_count(&self) -> usize {
        self.gap_count.into()
    }

    /// Number of duplicate STSNs.
    #[inline]
    #[must_use]
    pub fn duplicate_count(&self) -> usize {
        self.duplicate_count.into()
    }

    /// The gap blocks in the order they were sent in.
    #[inline]
    #[must_use]
    pub fn gaps(&self) -> Gaps<'a> {
        Gaps::new(self.body.get(..4 * self.gap_count()).unwrap_or_default())
    }

    /// STSNs that arrived again since the last SF-SACK of this subflow, once for each time.
    #[inline]
    #[must_use]
    pub fn duplicates(&self) -> Duplicates<'a> {
        let start = 4 * self.gap_count();
        Duplicates::new(self.body.get(start..start + 4 * self.duplicate_count()).unwrap_or_default())
    }

    /// Timestamps, with flag T.
    #[inline]
    #[must_use]
    pub fn times(&self) -> Option<ReceiveTime> {
        if !self.times {
            return None;
        }
        let start = 4 * (self.gap_count() + self.duplicate_count());
        let &[a, b, c, d, e, f, g, h] = self.body.get(start..)?.first_chunk::<TIMES>()?;
        Some(ReceiveTime {
            received_us: u32::from_be_bytes([a, b, c, d]),
            ack_delay_us: u32::from_be_bytes([e, f, g, h]),
        })
    }

    /// ECN counters, with flag C.
    #[inline]
    #[must_use]
    pub fn counters(&self) -> Option<EcnCounters> {
        if !self.counters {
            return None;
        }
        let &[a, b, c, d, e, f, g, h, i, j, k, l] = self.body.last_chunk::<COUNTERS>()?;
        Some(EcnCounters {
            ect0: u32::from_be_bytes([a, b, c, d]),
            ect1: u32::from_be_bytes([e, f, g, h]),
            ce: u32::from_be_bytes([i, j, k, l]),
        })
    }

    /// Appends the chunk.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let gaps: Vec<GapBlock> = self.gaps().collect();
        let duplicates: Vec<Tsn> = self.duplicates().collect();
        let kind = CodePoints::DEFAULT.sack;
        emit(out, kind, &self.head, &gaps, &duplicates, self.times(), self.counters());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    const HEAD: SfSackHead = SfSackHead {
        fid: 5,
        epoch: 6,
        cumulative: Tsn::new(0x0A0B_0C0D),
        a_rwnd: 0x0001_0000,
        a_fwnd: 0x0000_2000,
        non_renegable: true,
    };

    #[test]
    fn layout() {
        let mut out = Vec::new();
        let gaps = [GapBlock { start: 2, end: 0x0103 }];
        let times = ReceiveTime { received_us: 0x11, ack_delay_us: 0x12 };
        let counters = EcnCounters { ect0: 0x13, ect1: 0x14, ce: 0x15 };
        emit(&mut out, 0x9F, &HEAD, &gaps, &[Tsn::new(9)], Some(times), Some(counters));
        assert_eq!(
            out,
            [
                0x9F, 7, 0, 52, 5, 6, 0, 0, 10, 11, 12, 13, 0, 1, 0, 0, 0, 0, 0x20, 0, 0, 1, 0, 1, 0, 2, 1,
                3, 0, 0, 0, 9, 0, 0, 0, 0x11, 0, 0, 0, 0x12, 0, 0, 0, 0x13, 0, 0, 0, 0x14, 0, 0, 0, 0x15
            ]
        );
        assert_eq!(out.len(), wire_len(1, 1, true, true));
        let sack = SfSack::parse(raw(&out)).unwrap();
        assert_eq!(sack.head, HEAD);
        assert!(sack.gaps().eq(gaps) && sack.duplicates().eq([Tsn::new(9)]));
        assert_eq!((sack.times(), sack.counters()), (Some(times), Some(counters)));
    }

    #[test]
    fn optional_parts() {
        for (times, counters) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut out = Vec::new();
            let given = (
                times.then_some(ReceiveTime { received_us: 1, ack_delay_us: 2 }),
                counters.then_some(EcnCounters { ect0: 3, ect1: 4, ce: 5 }),
            );
            emit(&mut out, 0x9F, &HEAD, &[], &[], given.0, given.1);
            assert_eq!(out.len(), wire_len(0, 0, times, counters));
            let sack = SfSack::parse(raw(&out)).unwrap();
            assert_eq!((sack.times(), sack.counters()), given);
        }
    }

    #[test]
    fn counts_and_flags_must_fit_the_length() {
        for (flags, gaps, duplicates) in
            [(0, 1, 0), (0, 0, 1), (2, 0, 0), (1, 0, 0), (3, 0, 0), (0, 65_535, 65_535), (7, 65_535, 0)]
        {
            let mut bytes = vec![0; 24];
            bytes[..4].copy_from_slice(&[0x9F, flags, 0, 24]);
            bytes[20..22].copy_from_slice(&u16::to_be_bytes(gaps));
            bytes[22..24].copy_from_slice(&u16::to_be_bytes(duplicates));
            assert!(matches!(SfSack::parse(raw(&bytes)), Err(ChunkError::WrongLength { .. })));
        }
    }

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(0x9F, HEADER) {
            assert_eq!(SfSack::parse(raw(&bytes)).is_ok(), length == HEADER, "length {length}");
        }
    }

    #[test]
    fn more_entries_than_the_length_can_count() {
        let mut out = Vec::new();
        let times = Some(ReceiveTime::default());
        let counters = Some(EcnCounters::default());
        emit(&mut out, 0x9F, &HEAD, &[GapBlock::default(); 65_535], &[Tsn::new(1)], times, counters);
        let sack = SfSack::parse(raw(&out)).unwrap();
        assert_eq!((sack.gap_count(), sack.duplicate_count()), (MAX_ENTRIES, 0));
        assert!(out.len() <= MAX_LENGTH);
    }
}
