//! Subflows that come and go while an association lives, with the FIDs that the peer is asked for.

mod commands;

use anabranch_wire::Tsn;

use crate::config::Coupling;
use crate::context::Context;
use crate::ids::SubflowId;
use crate::reconfig::Reconfig;
use crate::sender::Sender;
use crate::state::State;

/// The subflows of the sender, with RE-CONFIG, by which the peer hears of them. An association lends it for one call.
pub(crate) struct SubflowManager<'a> {
    cx: &'a mut Context,
    sender: &'a mut Sender,
    reconfig: Option<&'a mut Reconfig>,
}

impl<'a> SubflowManager<'a> {
    /// For one call.
    #[inline]
    pub(crate) fn new(
        cx: &'a mut Context,
        sender: &'a mut Sender,
        reconfig: Option<&'a mut Reconfig>,
    ) -> Self {
        Self { cx, sender, reconfig }
    }
}

impl SubflowManager<'_> {
    /// Subflows that were removed are gone once nothing of theirs is in flight; the peer is told that their FIDs are free.
    pub(crate) fn close_drained_subflows(&mut self) {
        let established = self.cx.env.state() == State::Established;
        let reconfig = &mut self.reconfig;
        self.sender.subflow_changes().close_drained_subflows(self.cx, |open| {
            let Some(reconfig) = reconfig.as_mut().filter(|_| established) else { return false };
            reconfig.ask_to_close(open);
            true
        });
    }

    /// Asks the peer for the FID of a subflow that has none; until it has answered the subflow sends nothing. Where there
    /// is no extension, or no FID left, the subflow goes on as at level 0.
    pub(crate) fn ask_for_fid(&mut self, id: SubflowId) {
        if self.cx.env.state() != State::Established
            || self.cx.env.config().subflows.coupling == Coupling::Shared
        {
            return;
        }
        let initial = Tsn::new(self.cx.rng.u32());
        let Some(reconfig) = self.reconfig.as_deref_mut() else { return };
        if !self.sender.subflow_changes().lacks_fid(id) {
            return;
        }
        // If it was asked for before, for a subflow that is gone again, this one takes it.
        let asked = reconfig.fids_asked_for();
        if !asked.contains(&id.get()) {
            let Some(epoch) = self.sender.peer().wanted_epoch(id, asked.len()) else { return };
            reconfig.ask_to_open(id.get(), epoch, initial);
        }
        self.sender.tables_mut().await_fid(id);
    }

    /// After the handshake: FIDs for subflows that were opened meanwhile.
    pub(crate) fn ask_for_missing_fids(&mut self) {
        if self.reconfig.is_none() {
            return;
        }
        for id in self.sender.tables().without_fid() {
            self.ask_for_fid(id);
        }
    }
}
