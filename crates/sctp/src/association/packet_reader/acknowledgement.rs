//! An acknowledgement of the peer: the sender reads it, and errors are forgotten (RFC 9260, 6.2.1 and 8.1).

use anabranch_base::cold_path;
use anabranch_wire::Tsn;
use anabranch_wire::chunk::ReceiveTime;
use anabranch_wire::chunk::sack::GapBlock;

use super::{Interrupt, PacketReader};
use crate::ids::SpaceId;
use crate::scope::Scope;
use crate::sender::{AckProgress, GapList, Windows};
use crate::state::State;
use crate::violation::Violation;

impl PacketReader<'_> {
    /// An acknowledgement for a sequence space.
    pub(in crate::association) fn on_acknowledgement(
        &mut self,
        at: SpaceId,
        cumulative: Tsn,
        windows: Windows,
        gaps: GapList<impl ExactSizeIterator<Item = GapBlock>>,
        times: Option<ReceiveTime>,
    ) -> Result<(), Violation> {
        let Self { scope, .. } = self;
        let heard = scope.sender.on_acknowledgement(scope.cx, at, cumulative, windows, gaps, times)?;
        self.subflow_manager().close_drained_subflows();
        if heard == AckProgress::Acknowledged {
            let Scope { cx, sender, .. } = &mut self.scope;
            cx.paths.clear_errors();
            let mut works_again = false;
            for path in sender.acknowledged_paths() {
                if let Some(up) = cx.paths.on_answer(path) {
                    cx.tell(up);
                    works_again = true;
                }
            }
            if works_again {
                sender.follow_paths(cx);
            }
        }
        Ok(())
    }

    /// True if there may be something to acknowledge.
    // rfc9260:6-5
    #[inline]
    pub(super) fn reads_acknowledgements(&self) -> bool {
        let state = self.scope.cx.env.state();
        state.sends_data() || state == State::ShutdownSent
    }

    /// A shutdown that waits for everything to be acknowledged may go on.
    #[inline]
    pub(super) fn after_acknowledgement<'p>(&self) -> Result<(), Interrupt<'p>> {
        match self.scope.cx.env.state() {
            State::ShutdownPending | State::ShutdownReceived => Err(Interrupt::Acknowledged),
            _ => Ok(()),
        }
    }

    pub(super) fn count_duplicates<T: Iterator<Item = Tsn>>(
        &mut self,
        at: SpaceId,
        count: usize,
        duplicates: impl Fn() -> T,
    ) {
        if count > 0 {
            cold_path();
            if let Some(table) = &mut self.scope.cx.report.streams {
                duplicates().for_each(|tsn| table.note_duplicate(at, tsn));
            }
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let spurious = &mut self.scope.cx.report.stats.retransmissions_spurious;
            *spurious = spurious.saturating_add(count);
            self.scope.sender.tables_mut().count_duplicates(at, count);
        }
    }
}
