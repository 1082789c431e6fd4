//! An agreement of both sides beyond RFC 9260 takes effect, once INIT ACK or cookie say it, or ends.

use anabranch_wire::Tsn;
use anabranch_wire::sf2007::SetupParams;

use super::packet_reader::field_of_data;
use crate::encoding::Encoding;
use crate::ids::SubflowId;
use crate::negotiation::fids::Fids;
use crate::negotiation::offer::Extensions;
use crate::reconfig::Reconfig;
use crate::scope::Scope;

/// The agreement takes effect; RE-CONFIG, where it is part of it. Nothing was sent yet, or a peer that had to be asked again answers
/// otherwise: then data that was sent leaves again on subflow 0.
// rfc8260:2.2.1-1 rfc8260:2.2.1-2
pub(super) fn adopt(scope: &mut Scope<'_>, agreed: &Extensions) -> Option<Box<Reconfig>> {
    scope.sender.forget_extensions(scope.cx);
    scope.receiver.forget_extensions();
    let (ours, theirs) = (scope.sender.tables().base(), scope.receiver.arrivals().base());
    scope.cx.env.agreed_mut().adopt(agreed);
    scope.cx.env.mark_data_with(field_of_data(scope.cx.env.config(), agreed.ecn));
    let path = scope.cx.paths.for_control();
    let reconfig = agreed.reconfiguration.then(|| Box::new(Reconfig::new(ours, theirs, path)));
    let peer_fids = match (&agreed.sf, agreed.sf2007) {
        (_, Some((_, count))) => Some(Fids::all(count)),
        (Some(sf), None) => Some(Fids::new(sf.inbound, &sf.peer_opens)),
        (None, None) => None,
    };
    scope.receiver.adopt(agreed, peer_fids);
    scope.sender.adopt(scope.cx, agreed);
    open_spaces(scope, ours, theirs);
    reconfig
}

/// The peer, or a middlebox before it, does not know SF-DATA although the extension was agreed: it is off from now on. False where it was
/// off.
pub(super) fn downgrade(scope: &mut Scope<'_>, reconfig: Option<&mut Reconfig>) -> bool {
    if scope.cx.env.agreed().encoding() != Encoding::Sf {
        return false;
    }
    let acknowledged = scope.sender.leave_fids(scope.cx);
    scope.cx.env.agreed_mut().downgrade();
    scope.sender.downgraded(scope.cx, acknowledged);
    scope.receiver.downgrade();
    scope.cx.report.stats.sf_downgrades += 1;
    if let Some(reconfig) = reconfig {
        reconfig.forget_subflows();
    }
    true
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
    if scope.cx.env.agreed().encoding() != Encoding::Sf2007 {
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
