//! What the encoding of the thesis of 2007 puts behind cookies, and its acknowledgements (docs/explanation/subflows.md, sf2007). On
//! networks of this project's own only.

use anabranch_wire::chunk::CookieAck;
use anabranch_wire::sf2007::{Sack, Setup, SetupParams};

use super::Association;
use crate::encoding::Encoding;
use crate::sender::{GapList, Windows};
use crate::violation::Violation;

impl Association {
    /// The acknowledgement of one subflow.
    pub(super) fn on_sf2007_sack(&mut self, sack: &Sack<'_>) -> Result<(), Violation> {
        let Some(at) = self.sender.open_space_of(sack.head.fid) else {
            self.cx.stats.sf_unknown += 1;
            return Ok(());
        };
        let cumulative = sack.head.cumulative_fsn.widen(self.sender.acknowledged_tsn(at));
        self.cx.stats.sacks_received += 1;
        let windows = Windows { a_rwnd: None, a_fwnd: Some(sack.head.a_fwnd) };
        self.on_acknowledgement(at, cumulative, windows, GapList::all(sack.gaps()), None)
    }

    /// Figs 3.4 and 3.5 for every subflow, "from the lowest to the highest FID": the window that we grant to the peer's, and
    /// the first number of ours.
    pub(super) fn write_sf2007_setup(&self, out: &mut Vec<u8>) {
        if self.encoding != Encoding::Sf2007 {
            return;
        }
        for fid in 0..=u8::MAX {
            let Some(at) = self.sender.space_of(fid) else { break };
            let a_fwnd = self.receiver.credit_of(&self.cx, at);
            Setup { a_fwnd, initial_fsn: self.sender.initial_of(at).into() }.emit(fid, out);
        }
    }

    pub(super) fn write_sf2007_cookie_ack(&self, out: &mut Vec<u8>) {
        let start = out.len();
        CookieAck.emit(out);
        self.write_sf2007_setup(out);
        let length = (out.len() - start) as u16;
        if let Some(field) = out.get_mut(start + 2..start + 4) {
            field.copy_from_slice(&length.to_be_bytes());
        }
    }

    /// What the peer put behind its cookie or into its COOKIE ACK. Of a subflow that has begun it changes nothing.
    pub(crate) fn adopt_setup(&mut self, params: SetupParams<'_>) {
        if self.encoding != Encoding::Sf2007 {
            return;
        }
        let Some(all) = params.read() else { return };
        for (fid, setup) in (0_u8..=u8::MAX).zip(all) {
            let Some(at) = self.sender.space_of(fid) else { continue };
            // The low 24 bits are all that counts.
            self.receiver.arrivals_mut().set_initial(at, anabranch_wire::Tsn::new(setup.initial_fsn.get()));
            self.sender.set_initial_credit(at, setup.a_fwnd);
        }
        // There is no window of the association in this encoding.
        self.sender.forget_peer_window(&self.cx);
    }
}
