//! Encodings of user data and of its acknowledgement. Only the encodings, a closed set, know whether the number of a
//! chunk is a TSN, an STSN or an FSN: chunks are read into a [`DataChunk`], and acknowledgements written from an
//! [`Acknowledgement`].

mod acknowledgement;
mod frame;
pub(crate) mod sf2007;

use anabranch_base::Instant;
use anabranch_wire::chunk::{Data, DataFlags, IData, SfData};
use anabranch_wire::sf::CodePoints;
use anabranch_wire::{Mid, Tsn};

use crate::negotiation::offer::Extensions;
pub(crate) use acknowledgement::{AckLayout, Acknowledgement};
pub(crate) use frame::Framing;

/// Encoding of data that both sides use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// DATA and SACK (RFC 9260).
    #[default]
    Rfc9260,
    /// I-DATA and SACK (RFC 8260).
    Interleaved,
    /// I-DATA and SACK for subflow 0, SF-DATA and SF-SACK for the others (docs/explanation/subflows.md, level 1).
    Sf,
    /// The chunks of the thesis of 2007, on networks of this project's own only.
    Sf2007,
}

impl Encoding {
    /// The encoding that follows from the extensions agreed on. The extension SF stands on I-DATA.
    pub(crate) fn of(agreed: &Extensions) -> Self {
        if agreed.sf2007.is_some() {
            Self::Sf2007
        } else if agreed.sf.is_some() {
            Self::Sf
        } else if agreed.interleaving {
            Self::Interleaved
        } else {
            Self::Rfc9260
        }
    }

    /// Bytes of header of a data chunk.
    #[inline]
    pub(crate) fn header_len(self) -> usize {
        if self == Self::Rfc9260 { Data::HEADER } else { IData::HEADER }
    }

    /// True if messages, and not only their fragments, have numbers that no other message of their stream has:
    /// I-DATA, SF-DATA.
    #[inline]
    pub(crate) fn identifies_messages(self) -> bool {
        matches!(self, Self::Interleaved | Self::Sf)
    }

    /// The layout of chunks sent under a FID in its incarnation `epoch`.
    // rfc8260:2-1
    #[inline]
    pub(crate) fn framing(self, codes: &CodePoints, fid: u8, epoch: u8) -> Framing {
        if self == Self::Rfc9260 { Framing::Data } else { self.other_framing(codes, fid, epoch) }
    }

    #[inline(never)]
    fn other_framing(self, codes: &CodePoints, fid: u8, epoch: u8) -> Framing {
        match self {
            Self::Rfc9260 => Framing::Data,
            Self::Sf2007 => Framing::Sf2007 { fid },
            Self::Sf if fid != 0 => Framing::Sf { kind: codes.data, fid, epoch },
            Self::Interleaved | Self::Sf => Framing::IData,
        }
    }

    /// True if a message is known by the sequence numbers of its fragments: "the TSNs for each fragment of a
    /// fragmented user message MUST be strictly sequential" (RFC 9260, 3.3.1). I-DATA and SF-DATA number fragments
    /// themselves.
    #[inline]
    pub(crate) fn needs_sequence(self) -> bool {
        matches!(self, Self::Rfc9260 | Self::Sf2007)
    }

    /// The layout of an acknowledgement of chunks that came under a FID.
    #[inline]
    pub(crate) fn acknowledgement(self, fid: u8) -> AckLayout {
        match self {
            Self::Sf2007 => AckLayout::Sf2007,
            Self::Sf if fid != 0 => AckLayout::Sf,
            Self::Rfc9260 | Self::Interleaved | Self::Sf => AckLayout::Sack,
        }
    }
}

/// Contents of any kind of data chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataChunk<'a> {
    pub(crate) flags: DataFlags,
    /// Its number in its sequence space.
    pub(crate) tsn: Tsn,
    pub(crate) stream: u16,
    /// Number of its message; of DATA the stream sequence number.
    pub(crate) mid: Mid,
    /// Place of the fragment in its message, where it has one.
    pub(crate) fragment: u32,
    pub(crate) ppid: u32,
    pub(crate) payload: &'a [u8],
}

impl<'a> From<&Data<'a>> for DataChunk<'a> {
    #[inline]
    fn from(data: &Data<'a>) -> Self {
        Self {
            flags: data.flags,
            tsn: data.tsn,
            stream: data.stream,
            mid: Mid::new(u32::from(data.ssn.get())),
            fragment: 0,
            ppid: data.ppid,
            payload: data.payload,
        }
    }
}

impl<'a> From<&IData<'a>> for DataChunk<'a> {
    fn from(data: &IData<'a>) -> Self {
        Self {
            flags: data.flags,
            tsn: data.tsn,
            stream: data.stream,
            mid: data.mid,
            fragment: data.fragment(),
            ppid: data.ppid().unwrap_or(0),
            payload: data.payload,
        }
    }
}

impl<'a> From<&SfData<'a>> for DataChunk<'a> {
    fn from(data: &SfData<'a>) -> Self {
        Self {
            flags: data.flags,
            tsn: data.stsn,
            stream: data.stream,
            mid: data.mid,
            fragment: data.fragment(),
            ppid: data.ppid().unwrap_or(0),
            payload: data.payload,
        }
    }
}

/// A clock of 32 bits, for timestamps: microseconds.
pub(crate) fn micros(at: Instant) -> u32 {
    (at.as_nanos() / 1000) as u32
}
