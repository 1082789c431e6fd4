//! An acknowledgement is written.

use anabranch_wire::Tsn;
use anabranch_wire::chunk::sack::{self, GapBlock};
use anabranch_wire::chunk::{EcnCounters, ReceiveTime, SfSackHead, sf_sack};
use anabranch_wire::sf::CodePoints;
use anabranch_wire::sf2007::{self, Fsn};

/// The layout of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckLayout {
    /// SACK (RFC 9260, 3.3.4).
    Sack,
    /// SF-SACK.
    Sf,
    /// The SACK of the thesis (Fig. 3.2).
    Sf2007,
}

/// Acknowledgement of a sequence space. A layout writes those values for which it has a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement<'a> {
    pub(crate) cumulative: Tsn,
    /// Cumulative association sequence number.
    pub(crate) asn: Tsn,
    pub(crate) fid: u8,
    pub(crate) epoch: u8,
    /// Free bytes of the receive buffer, and the number of them that the subflow may fill.
    pub(crate) a_rwnd: u32,
    pub(crate) a_fwnd: u32,
    pub(crate) gaps: &'a [GapBlock],
    /// True if chunks that the gap blocks do not name keep their state.
    pub(crate) selected: bool,
    pub(crate) duplicates: &'a [Tsn],
    pub(crate) times: Option<ReceiveTime>,
    /// Marks of the packets received (RFC 3168), where both sides are ECN capable.
    pub(crate) counters: Option<EcnCounters>,
}

impl AckLayout {
    /// Bytes of a chunk with so many gap blocks and duplicates.
    #[inline]
    pub(crate) fn len(self, lists: usize) -> usize {
        match self {
            Self::Sack => 16 + 4 * lists,
            Self::Sf => sf_sack::wire_len(lists, 0, true, false),
            Self::Sf2007 => sf2007::sack_wire_len(lists, 0),
        }
    }

    /// Appends the chunk.
    pub(crate) fn emit(self, ack: &Acknowledgement<'_>, codes: &CodePoints, out: &mut Vec<u8>) {
        match self {
            Self::Sack if ack.selected => {
                sack::emit_selected(out, ack.cumulative, ack.a_rwnd, ack.gaps, ack.duplicates);
            }
            Self::Sack => sack::emit(out, ack.cumulative, ack.a_rwnd, ack.gaps, ack.duplicates),
            Self::Sf => {
                let head = SfSackHead {
                    fid: ack.fid,
                    epoch: ack.epoch,
                    cumulative: ack.cumulative,
                    a_rwnd: ack.a_rwnd,
                    a_fwnd: ack.a_fwnd,
                    // Nothing that arrived is dropped again: messages with identifiers are never taken back.
                    non_renegable: true,
                };
                sf_sack::emit(out, codes.sack, &head, ack.gaps, ack.duplicates, ack.times, ack.counters);
            }
            Self::Sf2007 => {
                let duplicates: Vec<Fsn> = ack.duplicates.iter().map(|tsn| Fsn::from(*tsn)).collect();
                let head = sf2007::SackHead {
                    cumulative_asn: ack.asn,
                    fid: ack.fid,
                    cumulative_fsn: ack.cumulative.into(),
                    a_fwnd: ack.a_fwnd,
                };
                sf2007::emit_sack(out, &head, ack.gaps, &duplicates);
            }
        }
    }
}
