//! What was agreed beyond RFC 9260 takes effect here, once INIT ACK or cookie say it.

use anabranch_wire::Tsn;

use super::Association;
use super::ecn::field_of_data;
use crate::encoding::Encoding;
use crate::ids::SubflowId;
use crate::negotiation::fids::Fids;
use crate::negotiation::offer::Extensions;
use crate::reconfig::Reconfig;
use crate::scope::scope_of;

impl Association {
    /// What both sides speak from now on. Nothing was sent yet, or a peer that had to be asked again answers otherwise:
    /// then what was sent leaves again on subflow 0.
    // rfc8260:2.2.1-1 rfc8260:2.2.1-2
    pub(super) fn adopt_extensions(&mut self, agreed: &Extensions) {
        self.forget_extensions();
        let (ours, theirs) = (self.sender.tables().base(), self.receiver.arrivals().base());
        self.encoding = Encoding::of(agreed);
        self.takes_zero_checksum = agreed.takes_zero_checksum;
        self.cx.ect = field_of_data(&self.cx.config, agreed.ecn);
        let path = self.cx.paths.for_control();
        self.reconfig = agreed.reconfiguration.then(|| Box::new(Reconfig::new(ours, theirs, path)));
        let peer_fids = match (&agreed.sf, agreed.sf2007) {
            (_, Some((_, count))) => Some(Fids::all(count)),
            (Some(sf), None) => Some(Fids::new(sf.inbound, &sf.peer_opens)),
            (None, None) => None,
        };
        self.receiver.adopt(self.encoding, agreed, peer_fids);
        self.sender.adopt(&self.cx, agreed);
        self.open_spaces(ours, theirs);
    }

    /// Back to RFC 9260.
    pub(super) fn forget_extensions(&mut self) {
        self.sender.forget_extensions(&mut self.cx);
        self.receiver.forget_extensions();
        self.encoding = Encoding::Rfc9260;
        self.reconfig = None;
    }

    /// Makes the spaces of the FIDs that are open from the start, and moves the subflows into theirs.
    fn open_spaces(&mut self, ours: Tsn, theirs: Tsn) {
        let (our_fids, peer_fids) = (self.sender.peer().open_fids(), self.receiver.arrivals().open_fids());
        let mut scope = scope_of!(self);
        for fid in &our_fids {
            scope.open_sending(*fid, 0, ours);
        }
        for fid in peer_fids {
            scope.open_receiving(fid, 0, theirs);
        }
        for fid in our_fids {
            self.sender.subflow_changes().settle_subflow(&self.cx, SubflowId::new(fid));
        }
    }

    /// The peer, or somebody before it, does not know SF-DATA although the extension was agreed: it is off from now on.
    pub(super) fn downgrade(&mut self) {
        if self.encoding != Encoding::Sf {
            return;
        }
        self.sender.downgrade(&mut self.cx);
        self.receiver.downgrade();
        self.encoding = Encoding::Interleaved;
        self.cx.stats.sf_downgrades += 1;
        if let Some(reconfig) = &mut self.reconfig {
            reconfig.forget_subflows();
        }
        self.subflow_manager().close_drained_subflows();
    }
}
