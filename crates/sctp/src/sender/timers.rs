//! Timers of the sender that expire. A timer is a line in [`Sender::timers`](super::Sender::timers) and one in [`Losses::on_timer`].

use anabranch_base::TraceEvent;

use super::effect::Effect;
use super::lane::LossTimer;
use super::losses::Losses;
use super::timeout::TimedOut;
use super::timer_kind::SenderTimer;
use crate::context::Context;
use crate::ids::{LaneId, PathId};

impl Losses<'_> {
    /// A timer has expired. Returns the path if that is an error of it.
    pub(crate) fn on_timer(&mut self, cx: &mut Context, timer: SenderTimer) -> Option<PathId> {
        let skips = match timer {
            SenderTimer::T3(lane) if cx.paths.len() > 1 => {
                self.tables.scope(lane).is_some_and(|scope| scope.is_to_be_skipped())
            }
            _ => false,
        };
        let error = self.run_timer(cx, timer);
        if self.special.is_any() {
            self.messages().review_timer(cx, timer);
        }
        if let SenderTimer::T3(lane) = timer {
            self.routes().timed_out(cx, lane, skips);
            if cx.paths.len() > 1 {
                self.messages().advance_forwards(cx);
            }
        }
        error
    }

    fn run_timer(&mut self, cx: &mut Context, timer: SenderTimer) -> Option<PathId> {
        match timer {
            SenderTimer::Lifetime => self.messages().end_lifetimes(cx),
            SenderTimer::T3(lane) => return self.on_t3(cx, lane),
            SenderTimer::Loss(lane) => self.on_loss_timer(cx, lane),
            // Data that the pacer kept back leaves when the association is asked for packets next.
            SenderTimer::Pacer(lane) => {
                if let Some(lane) = self.tables.lanes.get_mut(lane) {
                    lane.stop_pacing();
                }
            }
            SenderTimer::WindowProbe(at) => {
                if let Some(space) = self.tables.spaces.get_mut(at) {
                    space.probe.at = None;
                    space.probe.due = true;
                }
            }
        }
        None
    }

    /// Marks all unacknowledged chunks for retransmission, and gives up messages that must not be sent again.
    pub(crate) fn mark_every_lane_lost(&mut self, cx: &mut Context) {
        for id in self.tables.lanes.ids() {
            self.mark_all_lost(cx, id);
        }
        self.messages().after_marking(cx);
    }

    /// T3-rtx expired (6.3.3, 7.2.3). Returns the path, where that is another error of it.
    fn on_t3(&mut self, cx: &mut Context, id: LaneId) -> Option<PathId> {
        let several = self.tables.lanes.len() > 1;
        let mut scope = self.tables.scope(id)?;
        let (path, subflow) = (scope.lane.path(), scope.lane.subflow());
        let TimedOut { probe, probing, waited, rto, sent_at } = scope.time_out(cx);
        if !probe {
            self.coupling.timed_out(cx.env.now(), id, sent_at);
        }
        if self.ecn.is_on() {
            self.ecn.suspect_ect(self.tables, cx, id, probe);
        }
        if !probe && cx.paths.get(path).is_some_and(|path| path.size().is_searched()) {
            let longest = self.tables.scope(id)?.lost_sizes(cx);
            self.all_lanes().suspect_black_hole(cx, id, longest);
        }
        let mut scope = self.tables.scope(id)?;
        let freed = scope.mark_all_lost(cx);
        scope.lane.permits.timed_out();
        self.settle(cx, id, &Effect::freed(freed));
        cx.record(subflow, path, TraceEvent::Timeout { rto });
        self.coupling.record_window(self.tables, cx, id);
        (!probing && cx.paths.is_another_error(cx.env.now(), path, waited, several)).then_some(path)
    }

    /// The timer besides T3-rtx expired.
    fn on_loss_timer(&mut self, cx: &mut Context, id: LaneId) {
        let Some(mut scope) = self.tables.scope(id) else { return };
        let Some(kind) = scope.lane.rack_tlp.expired() else { return };
        let effect = match kind {
            LossTimer::Reordering => scope.detect_by_time(cx, self.ecn, None),
            LossTimer::Probe => return self.probe_tail(cx, id),
            LossTimer::EarlyRetransmit => scope.retransmit_early(cx, self.ecn),
            LossTimer::Burst => return scope.begin_burst(),
        };
        if let Some(effect) = effect {
            self.settle(cx, id, &effect);
        }
    }

    /// A tail loss probe is due: new data if there is any that the peer has room for, else the last chunk once more.
    fn probe_tail(&mut self, cx: &mut Context, id: LaneId) {
        let waits = self.tables.has_queued_on(id);
        let Some(mut scope) = self.tables.scope(id) else { return };
        let packet = cx.paths.get(scope.lane.path()).map_or(0, |path| u64::from(path.mtu()));
        let with_new = waits && self.peer.bytes() >= packet;
        let effect = scope.probe_tail(cx, with_new, self.special.get());
        self.settle(cx, id, &effect);
    }

    /// A COOKIE ECHO is sent again, or received again, and chunks sent with it may be lost: sends one probe for each lane, if none is out.
    pub(crate) fn probe_every_lane(&mut self, cx: &mut Context) {
        if !cx.env.config().congestion.tail_loss_probe {
            return;
        }
        for id in self.tables.lanes.ids() {
            let Some(lane) = self.tables.lanes.get_mut(id).filter(|lane| lane.in_flight.chunks() > 0) else {
                continue;
            };
            lane.rack_tlp.stop();
            if lane.rack_tlp.rack().is_some_and(|rack| !rack.probes()) {
                self.probe_tail(cx, id);
            }
        }
    }
}
