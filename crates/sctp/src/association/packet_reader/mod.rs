//! Packets on their way in: each chunk goes to the procedure it belongs to. Data, acknowledgements and questions of the peer are
//! dealt with here; a chunk that sets up or ends the association is handed back to it ([`Interrupt`]).

mod acknowledgement;
mod chunks;
mod data;
mod ecn;
mod interrupt;
mod reading;
mod sf_chunks;

use crate::path_manager::PathManager;
use crate::reconfig::Reconfig;
use crate::scope::Scope;
use crate::subflow_manager::SubflowManager;

pub(super) use ecn::field_of_data;
pub(super) use interrupt::Interrupt;
pub(crate) use reading::Reply;
pub(super) use reading::{PacketOutcome, Reading};
pub(super) use sf_chunks::sf_violation;

/// Reads the chunks of a packet. An association lends it the owners that data, acknowledgements and questions of the peer concern,
/// but not its phase: no chunk that is read here sets up or ends an association.
pub(super) struct PacketReader<'a> {
    scope: Scope<'a>,
    reconfig: Option<&'a mut Reconfig>,
}

impl<'a> PacketReader<'a> {
    /// For one call.
    #[inline]
    pub(super) fn new(scope: Scope<'a>, reconfig: Option<&'a mut Reconfig>) -> Self {
        Self { scope, reconfig }
    }
}

impl PacketReader<'_> {
    /// A reader of the same owners, for one call.
    #[inline]
    fn reborrow(&mut self) -> PacketReader<'_> {
        PacketReader { scope: self.scope.reborrow(), reconfig: self.reconfig.as_deref_mut() }
    }

    #[inline]
    fn path_manager(&mut self) -> PathManager<'_> {
        PathManager::new(self.scope.reborrow())
    }

    #[inline]
    fn subflow_manager(&mut self) -> SubflowManager<'_> {
        SubflowManager::new(self.scope.cx, self.scope.sender, self.reconfig.as_deref_mut())
    }
}
