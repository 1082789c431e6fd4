//! What an acknowledgement of the peer means for the association (RFC 9260, 6.2.1 and 8.1).

use anabranch_base::rare;
use anabranch_wire::Tsn;
use anabranch_wire::chunk::ReceiveTime;
use anabranch_wire::chunk::sack::GapBlock;

use super::Association;
use crate::ids::SpaceId;
use crate::sender::{AckNews, GapList, Windows, follow_paths};
use crate::state::State;
use crate::violation::Violation;

impl Association {
    /// An acknowledgement for a sequence space.
    pub(super) fn on_acknowledgement(
        &mut self,
        at: SpaceId,
        cumulative: Tsn,
        windows: Windows,
        gaps: GapList<impl ExactSizeIterator<Item = GapBlock>>,
        times: Option<ReceiveTime>,
    ) -> Result<(), Violation> {
        let heard = self.sender.on_acknowledgement(&mut self.cx, at, cumulative, windows, gaps, times)?;
        self.subflow_manager().close_drained_subflows();
        if heard == AckNews::Acknowledged {
            self.errors = 0;
            let mut works_again = false;
            for path in self.sender.acknowledged_paths() {
                if let Some(up) = self.cx.paths.on_answer(path) {
                    self.cx.tell(up);
                    works_again = true;
                }
            }
            if works_again {
                rare();
                follow_paths(&mut self.sender, &mut self.cx);
            }
        }
        Ok(())
    }

    /// Whether there may be something to acknowledge.
    // rfc9260:6-5
    pub(super) fn reads_acknowledgements(&self) -> bool {
        self.cx.state.sends_data() || self.cx.state == State::ShutdownSent
    }

    pub(super) fn count_duplicates<T: Iterator<Item = Tsn>>(
        &mut self,
        at: SpaceId,
        count: usize,
        duplicates: impl Fn() -> T,
    ) {
        if count > 0 {
            rare();
            if let Some(table) = &mut self.cx.streams {
                duplicates().for_each(|tsn| table.note_duplicate(at, tsn));
            }
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let spurious = &mut self.cx.stats.retransmissions_spurious;
            *spurious = spurious.saturating_add(count);
            self.sender.tables_mut().count_duplicates(at, count);
        }
    }
}
