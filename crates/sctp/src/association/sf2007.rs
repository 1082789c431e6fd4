//! What the encoding of the thesis of 2007 puts behind cookies, and its acknowledgements (docs/explanation/subflows.md, sf2007). On
//! networks of this project's own only.

use anabranch_wire::sf2007::{Sack, SetupParams};

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
        let cumulative = sack.head.cumulative_fsn.widen(self.sender.tables().acknowledged_tsn(at));
        self.cx.stats.sacks_received += 1;
        let windows = Windows { a_rwnd: None, a_fwnd: Some(sack.head.a_fwnd) };
        self.on_acknowledgement(at, cumulative, windows, GapList::all(sack.gaps()), None)
    }

    /// What the peer put behind its cookie or into its COOKIE ACK. Of a subflow that has begun it changes nothing.
    pub(crate) fn adopt_setup(&mut self, params: SetupParams<'_>) {
        if self.encoding != Encoding::Sf2007 {
            return;
        }
        let Some(all) = params.read() else { return };
        for (fid, setup) in (0_u8..=u8::MAX).zip(all) {
            let Some(at) = self.sender.tables().space_of(fid) else { continue };
            // The low 24 bits are all that counts.
            self.receiver.arrivals_mut().set_initial(at, anabranch_wire::Tsn::new(setup.initial_fsn.get()));
            self.sender.tables_mut().set_initial_credit(at, setup.a_fwnd);
        }
        // There is no window of the association in this encoding.
        self.sender.forget_peer_window(&self.cx);
    }
}
