//! Settlement of the effect of a reaction on one lane: on the peer's window, on other lanes and on the path.

use anabranch_base::TraceEvent;

use super::effect::{Effect, NewlyLost};
use super::losses::Losses;
use crate::config::FastRecovery;
use crate::context::Context;
use crate::ids::{LaneId, SpaceId};
use crate::stats::count_lost;

impl Losses<'_> {
    /// Hands on the effect of a reaction on a lane: to the peer's window, to other lanes, to the trace and to the path.
    #[inline(never)]
    pub(super) fn settle(&mut self, cx: &mut Context, id: LaneId, effect: &Effect) {
        if let Some(freed) = effect.freed {
            self.peer.give_back(freed, self.buffer.retention_left(self.tables, cx));
        }
        if let Some((lost, earliest)) = &effect.lost {
            self.coupling.couple_loss(self.tables, cx, id, lost);
            if let Some(lane) = self.tables.lanes.get(id) {
                cx.record(lane.subflow(), lane.path(), TraceEvent::FastRetransmit { seq: *earliest });
            }
            self.coupling.record_window(self.tables, cx, id);
        }
        if effect.window_changed {
            self.coupling.record_window(self.tables, cx, id);
        }
        if effect.lost_again > 0 {
            self.all_lanes().suspect_black_hole(cx, id, effect.lost_again);
        }
    }

    /// Marks all unacknowledged chunks of a lane for retransmission. The caller gives up messages that must not leave again
    /// ([`Messages::after_marking`](super::messages::Messages::after_marking)).
    pub(super) fn mark_all_lost(&mut self, cx: &mut Context, id: LaneId) {
        let Some(mut scope) = self.tables.scope(id) else { return };
        let freed = scope.mark_all_lost(cx);
        self.settle(cx, id, &Effect::freed(freed));
    }

    /// Chunks that were given up in flight and turn out to be lost: the window shrinks as if they had to be sent again (RFC 3758, 3.5,
    /// F5).
    // rfc3758:3.5-20
    pub(super) fn review_watched(&mut self, cx: &mut Context, at: SpaceId) {
        let reports = cx.env.config().congestion.fast_retransmit_threshold;
        let (Some(special), Some(space)) = (self.special.get_mut(), self.tables.spaces.get(at)) else {
            return;
        };
        let mut cut = Vec::new();
        for (id, seq) in special.reliability.watched_lost(at, &space.flight, self.outcome, reports) {
            let Some(lane) = self.tables.lanes.get_mut(id) else { continue };
            lane.loss.count_more(1);
            if let Some(chunk) = self.tables.spaces.get(at).and_then(|space| space.flight.get(seq)) {
                count_lost(&mut cx.report.streams, chunk.fragment.stream);
            }
            // Chunks found lost by one SACK are one loss to the window.
            if cut.contains(&id) {
                continue;
            }
            cut.push(id);
            let first = self.tables.spaces.get(at).map_or(0, |space| lane.loss.first(&space.flight));
            let recovers =
                cx.env.config().congestion.fast_recovery != FastRecovery::Off && lane.recovery.is_at(first);
            if let Some(mut scope) = self.tables.scope(id) {
                let effect = scope.after_losses(cx, self.ecn, &NewlyLost::only(seq), recovers);
                self.settle(cx, id, &effect);
            }
        }
    }
}
