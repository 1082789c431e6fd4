//! Owners of state that changes when subflows come and go.

use super::ecn::EcnSender;
use super::lane_coupling::LaneCoupling;
use super::peer_window::PeerWindow;
use super::scheduler::SubflowScheduler;
use super::stream_map::StreamMap;
use super::tables::Tables;

/// The owners for opening, moving and closing subflows: their rows, their streams, their scheduling, and the
/// FIDs under which they send. The sender lends it for one call.
pub(crate) struct SubflowChanges<'a> {
    pub(super) tables: &'a mut Tables,
    pub(super) stream_map: &'a mut StreamMap,
    pub(super) scheduler: &'a mut SubflowScheduler,
    pub(super) peer: &'a mut PeerWindow,
    pub(super) coupling: &'a mut LaneCoupling,
    pub(super) ecn: &'a mut EcnSender,
}
