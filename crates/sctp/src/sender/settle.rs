//! What a reaction on one lane means for the rest: the peer's window, other lanes, and what is thought of the path.

use anabranch_base::TraceEvent;
use anabranch_wire::CommonHeader;

use super::Sender;
use super::effect::{Effect, NewlyLost};
use super::lane::Lane;
use crate::config::FastRecovery;
use crate::context::Context;
use crate::event::Event;
use crate::ids::{LaneId, PathId, SpaceId};
use crate::stats::count_lost;

impl Sender {
    /// What a reaction on a lane means for the rest: the peer's window, other lanes, what is recorded, and what is thought of the path.
    #[inline(never)]
    pub(super) fn settle(&mut self, cx: &mut Context, id: LaneId, effect: &Effect) {
        if let Some(freed) = effect.freed {
            self.peer.give_back(freed, self.buffer.retention_left(&self.tables, cx));
        }
        if let Some((lost, earliest)) = &effect.lost {
            self.coupling.couple_loss(&mut self.tables, cx, id, lost);
            if let Some(lane) = self.tables.lanes.get(id) {
                cx.record(lane.subflow(), lane.path(), TraceEvent::FastRetransmit { seq: *earliest });
            }
            self.coupling.record_window(&mut self.tables, cx, id);
        }
        if effect.window_changed {
            self.coupling.record_window(&mut self.tables, cx, id);
        }
        if effect.lost_again > 0 {
            self.suspect_black_hole(cx, id, effect.lost_again);
        }
    }

    /// Marks everything unacknowledged of a lane for retransmission. What must not leave again is given up by who asks for it
    /// ([`Sender::after_marking`]).
    pub(super) fn mark_all_lost(&mut self, cx: &mut Context, id: LaneId) {
        let Some(mut scope) = self.tables.scope(id) else { return };
        let freed = scope.mark_all_lost(cx);
        self.settle(cx, id, &Effect::freed(freed));
    }

    /// Chunks that were given up in flight and turn out to be lost: the window shrinks as if they had to be sent again (RFC 3758, 3.5,
    /// F5).
    // rfc3758:3.5-20
    pub(super) fn review_watched(&mut self, cx: &mut Context, at: SpaceId) {
        let reports = cx.config.congestion.fast_retransmit_threshold;
        let (Some(special), Some(space)) = (self.special.get_mut(), self.tables.spaces.get(at)) else {
            return;
        };
        let mut cut = Vec::new();
        for (id, seq) in special.reliability.watched_lost(at, &space.flight, &self.outcome, reports) {
            let Some(lane) = self.tables.lanes.get_mut(id) else { continue };
            lane.loss.count_more(1);
            if let Some(chunk) = self.tables.spaces.get(at).and_then(|space| space.flight.get(seq)) {
                count_lost(&mut cx.streams, chunk.fragment.stream);
            }
            // Those of one SACK are one loss to the window.
            if cut.contains(&id) {
                continue;
            }
            cut.push(id);
            let first = self.tables.spaces.get(at).map_or(0, |space| lane.loss.first(&space.flight));
            let recovers =
                cx.config.congestion.fast_recovery != FastRecovery::Off && lane.recovery.is_at(first);
            if let Some(mut scope) = self.tables.scope(id) {
                let effect = scope.after_losses(cx, &self.ecn, &NewlyLost::only(seq), recovers);
                self.settle(cx, id, &effect);
            }
        }
    }

    /// Packets were lost again on a lane.
    #[cold]
    pub(super) fn suspect_black_hole(&mut self, cx: &mut Context, id: LaneId, longest: usize) {
        let Some(id) = self.tables.lanes.get(id).map(Lane::path) else { return };
        let (config, len) = (&cx.config, CommonHeader::LEN + longest);
        if let Some(mtu) =
            cx.paths.get_mut(id).and_then(|path| path.size_mut().packet_lost_again(config, len))
        {
            self.use_found_mtu(cx, id, mtu);
        }
    }

    /// Discovery has found what a path carries.
    pub(crate) fn use_found_mtu(&mut self, cx: &mut Context, id: PathId, mtu: u16) {
        self.use_mtu(cx, id, mtu);
        cx.tell_if_read(Event::PathMtu { path: id.get(), mtu });
    }

    /// A path carries IP packets of so many bytes from now on.
    pub(crate) fn use_mtu(&mut self, cx: &mut Context, id: PathId, mtu: u16) {
        let config = &cx.config;
        if cx.paths.get_mut(id).is_some_and(|path| path.size_mut().set(config, mtu)) {
            self.coupling.resize(&mut self.tables, cx, id);
        }
    }
}
