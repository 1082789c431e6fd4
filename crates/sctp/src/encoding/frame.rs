//! A chunk of user data is written.

use anabranch_wire::chunk::{Data, DataFlags, IData, SfData};
use anabranch_wire::sf::CodePoints;
use anabranch_wire::{Tsn, sf2007};

use crate::stream::outbound::Fragment;

/// The layout of a data chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// DATA (RFC 9260, 3.3.1).
    Data,
    /// I-DATA (RFC 8260, 2.1).
    IData,
    /// SF-DATA.
    Sf,
    /// The data chunk of the thesis (Fig. 3.1).
    Sf2007,
}

/// What a chunk says besides its message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    pub(crate) tsn: Tsn,
    pub(crate) immediate: bool,
    /// Of the subflow, and its incarnation.
    pub(crate) fid: u8,
    pub(crate) epoch: u8,
}

impl Framing {
    /// Whether a message is known by the sequence numbers of its fragments: "the TSNs for each fragment of a fragmented user
    /// message MUST be strictly sequential" (RFC 9260, 3.3.1). I-DATA and SF-DATA number fragments themselves.
    #[inline]
    pub(crate) fn needs_sequence(self) -> bool {
        matches!(self, Self::Data | Self::Sf2007)
    }

    /// Writes one chunk: the only copy of the payload on its way out.
    #[allow(clippy::inline_always, reason = "used once for new chunks, once for lost ones; measured")]
    #[inline(always)]
    pub(crate) fn emit(self, fragment: &Fragment, label: Label, codes: &CodePoints, out: &mut Vec<u8>) {
        let flags = DataFlags {
            immediate: fragment.immediate || label.immediate,
            unordered: fragment.unordered,
            beginning: fragment.beginning,
            ending: fragment.ending,
        };
        if self != Self::Data {
            self.emit_extended(flags, fragment, label, codes, out);
            return;
        }
        Data {
            flags,
            tsn: label.tsn,
            stream: fragment.stream,
            ssn: fragment.ssn(),
            ppid: fragment.ppid,
            payload: &fragment.payload,
        }
        .emit(out);
    }

    /// Everything but DATA. Apart, so that DATA costs what it did without it.
    #[inline(never)]
    fn emit_extended(
        self,
        flags: DataFlags,
        fragment: &Fragment,
        label: Label,
        codes: &CodePoints,
        out: &mut Vec<u8>,
    ) {
        let Label { tsn, fid, epoch, .. } = label;
        let (stream, mid, payload) = (fragment.stream, fragment.mid, &fragment.payload[..]);
        let ppid_or_fsn = fragment.ppid_or_number();
        match self {
            Self::Data => {}
            Self::IData => IData { flags, tsn, stream, mid, ppid_or_fsn, payload }.emit(out),
            Self::Sf => {
                SfData { flags, fid, epoch, stsn: tsn, stream, mid, ppid_or_fsn, payload }
                    .emit_as(codes.data, out);
            }
            Self::Sf2007 => sf2007::Data {
                flags,
                asn: Tsn::new(fragment.number),
                fid,
                fsn: tsn.into(),
                stream,
                ssn: fragment.ssn(),
                ppid: fragment.ppid,
                payload,
            }
            .emit(out),
        }
    }
}
