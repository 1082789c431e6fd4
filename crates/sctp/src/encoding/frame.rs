//! A chunk of user data is written.

use anabranch_wire::chunk::{Data, DataFlags, IData, SfData};
use anabranch_wire::{Tsn, sf2007};

use crate::stream::outbound::Fragment;

/// The layout of a data chunk, and its contents besides its number and its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// DATA (RFC 9260, 3.3.1).
    Data,
    /// I-DATA (RFC 8260, 2.1).
    IData,
    /// SF-DATA, with the type it has here, the subflow and its incarnation.
    Sf { kind: u8, fid: u8, epoch: u8 },
    /// The data chunk of the thesis (Fig. 3.1).
    Sf2007 { fid: u8 },
}

impl Framing {
    /// Writes one chunk: the only copy of the payload on its way out.
    // rfc9260:3.3.1-7
    #[allow(clippy::inline_always, reason = "used once for new chunks, once for lost ones; measured")]
    #[inline(always)]
    pub(crate) fn emit(self, fragment: &Fragment, tsn: Tsn, immediate: bool, out: &mut Vec<u8>) {
        let flags = DataFlags {
            immediate: fragment.immediate || immediate,
            unordered: fragment.unordered,
            beginning: fragment.beginning,
            ending: fragment.ending,
        };
        if self != Self::Data {
            self.emit_extended(flags, fragment, tsn, out);
            return;
        }
        Data {
            flags,
            tsn,
            stream: fragment.stream,
            ssn: fragment.ssn(),
            ppid: fragment.ppid,
            payload: &fragment.payload,
        }
        .emit(out);
    }

    /// Everything but DATA. Apart, so that DATA costs no more with it than without it.
    #[inline(never)]
    fn emit_extended(self, flags: DataFlags, fragment: &Fragment, tsn: Tsn, out: &mut Vec<u8>) {
        let (stream, mid, payload) = (fragment.stream, fragment.mid, &fragment.payload[..]);
        let ppid_or_fsn = fragment.ppid_or_number();
        match self {
            Self::Data => {}
            Self::IData => IData { flags, tsn, stream, mid, ppid_or_fsn, payload }.emit(out),
            Self::Sf { kind, fid, epoch } => {
                SfData { flags, fid, epoch, stsn: tsn, stream, mid, ppid_or_fsn, payload }.emit_as(kind, out);
            }
            Self::Sf2007 { fid } => sf2007::Data {
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
