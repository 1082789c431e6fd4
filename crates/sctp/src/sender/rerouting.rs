//! The choice of a path for data: the lane of a subflow, and the lane for retransmissions when a path does not answer.
//!
//! "an endpoint SHOULD try to retransmit a chunk that timed out to an active destination transport address that is different from the last
//! destination address to which the chunk was sent" (RFC 9260, 6.4). A chunk that was only lost leaves again on the path on which it left
//! first, and new data uses the path of its subflow, until that path is down: then both use another one (6.4.1), and return
//! when it works again.

use super::flight::ChunkState;
use super::lane::Lane;
use super::lane::rack::Rack;
use super::lane_coupling::LaneCoupling;
use super::next::{First, Next};
use super::peer_window::PeerWindow;
use super::send_buffer::SendBuffer;
use super::tables::{Scope, Tables};
use crate::context::Context;
use crate::ids::{LaneId, PathId, SubflowId};

impl Tables {
    /// Chunks that a lane has in flight, or has to send again, belong to another one from now on, which sends under the same numbers.
    pub(super) fn hand_over(&mut self, cx: &Context, from: LaneId, to: LaneId) {
        let Some(old) = self.lanes.get_mut(from) else { return };
        let resent = old.rack_tlp.rack_mut().map(Rack::take_resent);
        let moved = old.hand_over();
        let Some(space) = self.spaces.get_mut(old.space()) else { return };
        for (_, chunk) in space.flight.iter_mut().filter(|(_, chunk)| chunk.lane == from) {
            // The FORWARD-TSN for an abandoned chunk leaves on the path of the chunk's lane.
            if chunk.is_outstanding() || chunk.state == ChunkState::Abandoned {
                chunk.lane = to;
            }
        }
        if let Some(lane) = self.lanes.get_mut(to) {
            lane.take_over(moved);
            if let (Some(rack), Some(resent)) = (lane.rack_tlp.rack_mut(), resent) {
                rack.adopt(resent);
            }
            lane.loss.took_over(&space.flight, to);
            lane.loss.find_earliest(&space.flight);
            if lane.in_flight.unacked() > 0 && lane.t3().is_none() {
                lane.arm_t3(cx);
            }
        }
        if let Some(old) = self.lanes.get_mut(from) {
            old.loss.took_over(&space.flight, from);
            old.loss.find_earliest(&space.flight);
        }
    }

    /// A lost chunk of a subflow that leaves again on another path than the subflow's new data, and may leave now.
    #[inline(never)]
    pub(super) fn lost_elsewhere(&mut self, cx: &Context, id: SubflowId) -> Option<Next> {
        let subflow = self.subflows.get(id)?;
        let (used, dscp) = (subflow.lane, subflow.dscp);
        let carries = self.lanes.get(used).map(Lane::subflow)?;
        let others = self.lanes.iter_mut().filter(|(other, _)| *other != used);
        for (other, lane) in others.filter(|(_, lane)| lane.subflow() == carries && lane.loss.any()) {
            let Some(space) = self.spaces.get(lane.space()) else { continue };
            let Some(seq) = lane.loss.next_lost(&space.flight) else { continue };
            let Some(chunk) = space.flight.get(seq).filter(|chunk| chunk.subflow == id) else { continue };
            let paced = lane.has_pacer() && !chunk.probe;
            if lane.may_retransmit() && !(paced && lane.must_wait(cx)) {
                let (path, at) = (lane.path(), lane.space());
                return Some(Next {
                    subflow: id,
                    path,
                    lane: other,
                    space: at,
                    first: First::Lost(seq),
                    dscp,
                });
            }
        }
        None
    }
}

impl Scope<'_> {
    /// True if the earliest number of the space is an abandoned chunk of this lane: its FORWARD-TSN leaves on the lane's path.
    pub(super) fn is_to_be_skipped(&self) -> bool {
        let earliest = self.space.flight.get(self.space.flight.first());
        earliest.is_some_and(|chunk| chunk.state == ChunkState::Abandoned && chunk.lane == self.id)
    }
}

/// The lanes of all paths, with the owners that change where another of them carries data. The sender lends it for one call.
pub(crate) struct Routes<'a> {
    pub(super) tables: &'a mut Tables,
    pub(super) coupling: &'a mut LaneCoupling,
    pub(super) peer: &'a mut PeerWindow,
    pub(super) buffer: &'a SendBuffer,
}

impl Routes<'_> {
    /// T3-rtx of a lane has expired: its chunks in flight leave again on another path, where there is one. A window probe does not: its
    /// loss says nothing of the path while the peer's window is closed. `skips`: T3-rtx ran for a FORWARD-TSN, which moves, too.
    // rfc9260:6.4-4
    pub(super) fn timed_out(&mut self, cx: &mut Context, id: LaneId, skips: bool) {
        if cx.paths.len() == 1 {
            return;
        }
        let Some(scope) = self.tables.scope(id) else { return };
        let (path, probes) = (scope.lane.path(), scope.space.probe.in_flight);
        if (scope.lane.loss.any() || skips) && !probes {
            if let Some(other) = cx.paths.alternate(path) {
                self.hand_over_to(cx, id, other);
            }
        }
    }

    /// Every subflow uses its own path where that works, else another one that works; no chunk waits for an answer on a path that is down.
    // rfc9260:6.4-1 rfc9260:6.4.1-1
    pub(super) fn follow(&mut self, cx: &mut Context) {
        for id in self.tables.subflows.ids() {
            self.follow_with(cx, id);
        }
        for id in self.tables.lanes.ids() {
            let Some(scope) = self.tables.scope(id) else { continue };
            let path = scope.lane.path();
            let is_quiet = scope.lane.in_flight.unacked() == 0 && !scope.is_to_be_skipped();
            if is_quiet || cx.paths.is_active(path) {
                continue;
            }
            let Some(other) = cx.paths.alternate(path) else { continue };
            if let Some(mut scope) = self.tables.scope(id) {
                let freed = scope.mark_all_lost(cx);
                self.peer.give_back(freed, self.buffer.retention_left(self.tables, cx));
            }
            self.hand_over_to(cx, id, other);
        }
    }

    fn follow_with(&mut self, cx: &mut Context, id: SubflowId) {
        let Some(subflow) = self.tables.subflows.get(id) else { return };
        let (lane, left) = (subflow.lane, subflow.left_path);
        let Some(on) = self.tables.lanes.get(lane).map(Lane::path) else { return };
        let own = left.unwrap_or(on);
        let at = if cx.paths.is_active(own) {
            own
        } else if cx.paths.is_active(on) {
            on
        } else {
            cx.paths.alternate(on).unwrap_or(on)
        };
        let used = if at != on && self.use_path(cx, id, at) { at } else { on };
        if let Some(subflow) = self.tables.subflows.get_mut(id) {
            subflow.left_path = (used != own).then_some(own);
        }
    }

    /// Path `own` takes the place of path `before` as the own path of subflows, which use it when they [`follow`](Self::follow).
    pub(super) fn claim(&mut self, before: PathId, own: PathId) {
        let lanes = &self.tables.lanes;
        for subflow in self.tables.subflows.rows_mut() {
            let on = lanes.get(subflow.lane).map(Lane::path);
            if subflow.left_path.or(on) == Some(before) {
                subflow.left_path = Some(own);
            }
        }
    }

    /// New data of a subflow leaves on another path from now on. Chunks in flight stay on their lane: "fast retransmissions" go "to the
    /// same destination transport address to which the original data was sent" (6.4). False where there is no such path, or chunks
    /// in flight there still have numbers of another space.
    // rfc9260:6.4-5
    pub(crate) fn use_path(&mut self, cx: &mut Context, id: SubflowId, path: PathId) -> bool {
        let Some(from) = self.tables.subflows.get(id).map(|subflow| subflow.lane) else { return false };
        let Some(to) = self.lane_towards(cx, from, path) else { return false };
        if let Some(subflow) = self.tables.subflows.get_mut(id) {
            subflow.lane = to;
            subflow.left_path = None;
        }
        true
    }

    fn hand_over_to(&mut self, cx: &mut Context, from: LaneId, path: PathId) {
        if let Some(to) = self.lane_towards(cx, from, path) {
            self.tables.hand_over(cx, from, to);
        }
    }

    /// The lane on another path for the subflow of a lane, which sends under the same numbers. It is made when it is needed first.
    fn lane_towards(&mut self, cx: &mut Context, from: LaneId, path: PathId) -> Option<LaneId> {
        let lane = self.tables.lanes.get(from)?;
        let (subflow, space) = (lane.subflow(), lane.space());
        let found = self.tables.lane_on(subflow, path);
        let id = match found {
            Some(id) => id,
            None => self.tables.place_lane(cx, subflow, path, self.peer.on_wire())?,
        };
        let lane = self.tables.lanes.get_mut(id)?;
        if lane.in_flight.unacked() == 0 {
            lane.decay(cx);
            if lane.space() != space {
                lane.move_to(space);
            }
        } else if lane.space() != space {
            return None;
        }
        self.tables.share_spaces();
        if found.is_none() {
            self.coupling.renew(id);
            self.coupling.set_phi(self.tables, cx);
            if !cx.env.state().sends_data() {
                return Some(id);
            }
            // HEARTBEATs show when the path works again. A path that was only confirmed, and carries nothing, has no timer for them.
            if let Some(path) =
                cx.paths.get_mut(path).filter(|path| path.heartbeat_timer(cx.env.config()).is_none())
            {
                path.arm_heartbeat(cx.env.now(), cx.env.config(), &mut cx.rng);
            }
        }
        Some(id)
    }
}
