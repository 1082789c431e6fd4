//! The timers of the sender. A timer is a line in [`Sender::timers`] and one in [`Sender::on_timer`].

use anabranch_base::{Instant, TraceEvent, rare};
use anabranch_transport::congestion::{Base, Congestion};

use super::Sender;
use super::flight::Counted;
use super::tables::Scope;
use super::timer_kind::SenderTimer;
use crate::config::FastRecovery;
use crate::context::Context;
use crate::event::Timer;
use crate::ids::{LaneId, PathId};
use crate::stats::count_lost;

impl Sender {
    /// `visit` is told of each timer: when it expires, as what the user knows it, and which it is.
    #[inline]
    pub(crate) fn timers(&self, mut visit: impl FnMut(Option<Instant>, Timer, SenderTimer)) {
        self.tables.lanes.for_each(|id, lane| {
            visit(lane.t3(), Timer::T3Rtx, SenderTimer::T3(id));
            visit(lane.rack_tlp.expires_at(), Timer::Lane, SenderTimer::Loss(id));
            visit(lane.paced_until(), Timer::Pacer, SenderTimer::Pacer(id));
        });
        self.tables.spaces.for_each(|at, space| {
            visit(space.probe.at, Timer::WindowProbe, SenderTimer::WindowProbe(at));
        });
        if let Some(special) = &self.special {
            rare();
            visit(special.fates.next_end(), Timer::Lifetime, SenderTimer::Lifetime);
        }
    }

    /// Whether T3-rtx runs for a lane, and expires by then.
    #[cfg(any(debug_assertions, feature = "watched"))]
    #[inline]
    pub(crate) fn has_t3_by(&self, then: Instant) -> bool {
        self.tables.lanes.rows().iter().any(|lane| lane.t3().is_some_and(|at| at <= then))
    }

    /// A timer has expired. A path on which that is an error is given back.
    pub(crate) fn on_timer(&mut self, cx: &mut Context, timer: SenderTimer) -> Option<PathId> {
        let error = self.run_timer(cx, timer);
        if self.special.is_some() {
            self.review_timer(cx, timer);
        }
        error
    }

    fn run_timer(&mut self, cx: &mut Context, timer: SenderTimer) -> Option<PathId> {
        match timer {
            SenderTimer::Lifetime => self.end_lifetimes(cx),
            SenderTimer::T3(lane) => return self.on_t3(cx, lane),
            SenderTimer::Loss(lane) => self.on_loss_timer(cx, lane),
            // What the pacer kept back leaves when the association is asked for packets next.
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

    /// T3-rtx expired (6.3.3, 7.2.3). The path, where it is another error of it.
    // rfc9260:6.1-6 rfc9260:6.1-8 rfc9260:7.2.1-2 rfc9260:7.2.3-2
    fn on_t3(&mut self, cx: &mut Context, id: LaneId) -> Option<PathId> {
        let several = self.tables.lanes.len() > 1;
        let Scope { lane, space, counters } = self.tables.scope(id)?;
        lane.t3_expired();
        let (path, subflow) = (lane.path(), lane.subflow());
        cx.stats.timeouts = cx.stats.timeouts.saturating_add(1);
        if let Some(counters) = counters {
            counters.timeouts = counters.timeouts.saturating_add(1);
        }
        // "Zero window probing does not affect the calculation of cwnd", and "If the sender continues to receive
        // SACK chunks from the peer while doing zero window probing, the unacknowledged window probes SHOULD NOT
        // increment the error counter" (6.1 A).
        let earliest = space.flight.get(space.flight.first());
        let holds_earliest = earliest.is_some_and(|chunk| chunk.lane == id);
        let probe = space.probe.in_flight && holds_earliest;
        let probing = probe && space.probe.answered;
        if probing {
            space.probe.backoff = space.probe.backoff.saturating_add(1);
        }
        if holds_earliest {
            space.probe.answered = false;
            space.probe.in_flight |= space.probe.closed;
        }
        if !probe {
            lane.window.cut(Congestion::Timeout(Some(Base::CWND)));
            let own = space.flight.get(lane.loss.first(&space.flight));
            self.coupling.timed_out(cx.now, id, own.map_or(cx.now, |chunk| chunk.sent_at));
        }
        let waited = lane.rto(cx);
        // A probe that is answered says that the path is well: its interval grows, not the RTO.
        if !probing && !cx.config.emulation.quirks.faulty_recovery {
            if let Some(rtt) = lane.rtt_mut(&mut cx.paths) {
                rtt.back_off();
            }
        }
        lane.round_trip.stop_timing();
        // "SCTP SHOULD perform slow start" (7.2.3), in which the window grows with every SACK; in Fast Recovery it
        // would not. Slow start takes its place.
        if cx.config.congestion.fast_recovery == FastRecovery::UntilExit {
            lane.recovery.end();
            if cx.config.congestion.timeout_keeps_exit && !probe {
                // "After a retransmit timeout, record the highest sequence number transmitted" (RFC 6582, 3.2, step 4): what is
                // found lost below it was lost with the rest, and makes no second cut.
                let exit = lane.loss.newest(&space.flight);
                lane.begin_recovery(cx, exit, None);
            }
        }
        lane.open_burst();
        let rto = lane.rto(cx);
        if self.ecn.is_on() {
            self.ecn.doubt_ect(&mut self.tables, cx, id, probe);
        }
        if !probe {
            self.suspect_lost_sizes(cx, id);
        }
        self.mark_all_lost(cx, id);
        if let Some(lane) = self.tables.lanes.get_mut(id) {
            lane.permits.timed_out();
        }
        cx.record(subflow, path, TraceEvent::Timeout { rto });
        self.coupling.record_window(&mut self.tables, cx, id);
        (!probing && cx.is_another_error(path, waited, several)).then_some(path)
    }

    /// Marks everything unacknowledged of a lane for retransmission. What must not leave again is given up by who asks for it
    /// ([`Sender::after_marking`]).
    // rfc9260:6.3.3-2
    pub(super) fn mark_all_lost(&mut self, cx: &mut Context, id: LaneId) {
        let Some(Scope { lane, space, .. }) = self.tables.scope(id) else { return };
        let mut all = Counted::default();
        lane.loss.mark_lane(&mut space.flight, id, |chunk| {
            all.add(chunk);
            count_lost(&mut cx.streams, chunk.fragment.stream);
        });
        self.lose(cx, id, all);
    }

    /// Everything unacknowledged leaves again, but for what must not.
    pub(crate) fn mark_every_lane_lost(&mut self, cx: &mut Context) {
        for id in self.tables.lanes.ids() {
            self.mark_all_lost(cx, id);
        }
        self.after_marking(cx);
    }
}
