//! Agreements of both sides beyond RFC 9260, once INIT ACK or cookie say them.

use anabranch_wire::Tsn;
use anabranch_wire::sf2007::SetupParams;

use super::packet_reader::field_of_data;
use crate::config::Config;
use crate::encoding::Encoding;
use crate::ids::SubflowId;
use crate::negotiation::fids::Fids;
use crate::negotiation::offer::Extensions;
use crate::reconfig::Reconfig;
use crate::scope::Scope;

/// The encoding that is spoken, RE-CONFIG and checksums of zero. Three transitions change them: both sides
/// agree ([`Agreed::adopt`]), a new peer has to be asked anew ([`Agreed::begin_anew`]), the peer turns out not to know SF-DATA
/// ([`Agreed::downgrade`]).
#[derive(Debug)]
pub(super) struct Agreed {
    encoding: Encoding,
    /// RE-CONFIG, where it was agreed.
    reconfig: Option<Box<Reconfig>>,
    /// The peer may send packets with a checksum of zero: we have announced what finds their errors (RFC 9653, 5.3).
    takes_zero_checksum: bool,
}

impl Agreed {
    /// Nothing yet; a checksum of zero is taken as soon as it is offered.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            encoding: Encoding::Rfc9260,
            reconfig: None,
            takes_zero_checksum: config.extensions.zero_checksum.is_some(),
        }
    }

    /// The encoding of data and acknowledgements.
    #[inline]
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// RE-CONFIG, where it was agreed.
    #[inline]
    pub(super) fn reconfig(&self) -> Option<&Reconfig> {
        self.reconfig.as_deref()
    }

    /// RE-CONFIG, to ask or to answer.
    #[inline]
    pub(super) fn reconfig_mut(&mut self) -> Option<&mut Reconfig> {
        self.reconfig.as_deref_mut()
    }

    /// Whether the peer may leave checksums out (RFC 9653, 5.3).
    pub(super) fn takes_zero_checksum(&self) -> bool {
        self.takes_zero_checksum
    }

    /// The agreement takes effect. Nothing was sent yet, or a peer that had to be asked again answers otherwise:
    /// then data that was sent leaves again on subflow 0.
    // rfc8260:2.2.1-1 rfc8260:2.2.1-2
    pub(super) fn adopt(&mut self, scope: &mut Scope<'_>, agreed: &Extensions) {
        scope.sender.forget_extensions(scope.cx);
        scope.receiver.forget_extensions();
        let (ours, theirs) = (scope.sender.tables().base(), scope.receiver.arrivals().base());
        self.encoding = Encoding::of(agreed);
        scope.encoding = self.encoding;
        self.takes_zero_checksum = agreed.takes_zero_checksum;
        scope.cx.ect = field_of_data(&scope.cx.config, agreed.ecn);
        let path = scope.cx.paths.for_control();
        self.reconfig = agreed.reconfiguration.then(|| Box::new(Reconfig::new(ours, theirs, path)));
        let peer_fids = match (&agreed.sf, agreed.sf2007) {
            (_, Some((_, count))) => Some(Fids::all(count)),
            (Some(sf), None) => Some(Fids::new(sf.inbound, &sf.peer_opens)),
            (None, None) => None,
        };
        scope.receiver.adopt(self.encoding, agreed, peer_fids);
        scope.sender.adopt(scope.cx, agreed);
        open_spaces(scope, ours, theirs);
    }

    /// Back to RFC 9260: a peer that has restarted says anew what it can do.
    pub(super) fn begin_anew(&mut self) {
        self.encoding = Encoding::Rfc9260;
        self.reconfig = None;
    }

    /// The association has ended: no request is answered any more, or waits for an answer.
    pub(super) fn end_reconfiguration(&mut self) {
        self.reconfig = None;
    }

    /// The peer, or somebody before it, does not know SF-DATA although the extension was agreed: it is off from now on. False where it was
    /// off.
    pub(super) fn downgrade(&mut self, scope: &mut Scope<'_>) -> bool {
        if self.encoding != Encoding::Sf {
            return false;
        }
        scope.sender.downgrade(scope.cx);
        scope.receiver.downgrade();
        self.encoding = Encoding::Interleaved;
        scope.encoding = self.encoding;
        scope.cx.stats.sf_downgrades += 1;
        if let Some(reconfig) = &mut self.reconfig {
            reconfig.forget_subflows();
        }
        true
    }
}

/// Makes the spaces of the FIDs that are open from the start, and moves the subflows into theirs.
fn open_spaces(scope: &mut Scope<'_>, ours: Tsn, theirs: Tsn) {
    let (our_fids, peer_fids) = (scope.sender.peer().open_fids(), scope.receiver.arrivals().open_fids());
    for fid in &our_fids {
        scope.open_sending(*fid, 0, ours);
    }
    for fid in peer_fids {
        scope.open_receiving(fid, 0, theirs);
    }
    for fid in our_fids {
        scope.sender.subflow_changes().settle_subflow(scope.cx, SubflowId::new(fid));
    }
}

/// The peer's parameters of subflows, which it puts behind its cookie or into its COOKIE ACK in the encoding of the thesis of 2007
/// (docs/explanation/subflows.md, sf2007). On networks of this project's own only. Of a subflow that has begun they change nothing.
pub(super) fn adopt_setup(scope: &mut Scope<'_>, params: SetupParams<'_>) {
    if scope.encoding != Encoding::Sf2007 {
        return;
    }
    let Some(all) = params.read() else { return };
    for (fid, setup) in (0_u8..=u8::MAX).zip(all) {
        let Some(at) = scope.sender.tables().space_of(fid) else { continue };
        // The low 24 bits are all that counts.
        scope.receiver.arrivals_mut().set_initial(at, Tsn::new(setup.initial_fsn.get()));
        scope.sender.tables_mut().set_initial_credit(at, setup.a_fwnd);
    }
    // There is no window of the association in this encoding.
    scope.sender.forget_peer_window(scope.cx);
}
