//! The timers of the sender. A timer is a line in [`Sender::timers`] and one in [`Sender::on_timer`].

use anabranch_base::{Instant, TraceEvent, rare};
use anabranch_transport::congestion::{Base, Congestion};

use super::Sender;
use super::flight::Counted;
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
        self.lanes.for_each(|id, lane| {
            visit(lane.t3, Timer::T3Rtx, SenderTimer::T3(id));
            visit(lane.loss_timer.map(|(at, _)| at), Timer::Lane, SenderTimer::Loss(id));
            visit(lane.pacer.as_ref().and_then(|pacer| pacer.at), Timer::Pacer, SenderTimer::Pacer(id));
        });
        self.spaces.for_each(|at, space| {
            visit(space.probe.at, Timer::WindowProbe, SenderTimer::WindowProbe(at));
        });
        if let Some(special) = &self.special {
            rare();
            visit(special.next_end(), Timer::Lifetime, SenderTimer::Lifetime);
        }
    }

    /// Whether T3-rtx runs for a lane, and expires by then.
    #[cfg(any(debug_assertions, feature = "watched"))]
    #[inline]
    pub(crate) fn has_t3_by(&self, then: Instant) -> bool {
        self.lanes.rows().iter().any(|lane| lane.t3.is_some_and(|at| at <= then))
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
                if let Some(pacer) = self.lanes.get_mut(lane).and_then(|lane| lane.pacer.as_mut()) {
                    pacer.at = None;
                }
            }
            SenderTimer::WindowProbe(at) => {
                if let Some(space) = self.spaces.get_mut(at) {
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
        let several = self.lanes.len() > 1;
        let lane = self.lanes.get_mut(id)?;
        lane.t3 = None;
        lane.loss_timer = None;
        lane.cwnd_exempt_new = 0;
        if let Some(rack) = &mut lane.rack {
            rack.forget();
        }
        let (path, subflow) = (lane.path, lane.subflow);
        cx.stats.timeouts = cx.stats.timeouts.saturating_add(1);
        if let Some(subflow) = self.subflows.get_mut(subflow) {
            subflow.counters.timeouts = subflow.counters.timeouts.saturating_add(1);
        }
        // "Zero window probing does not affect the calculation of cwnd", and "If the sender continues to receive
        // SACK chunks from the peer while doing zero window probing, the unacknowledged window probes SHOULD NOT
        // increment the error counter" (6.1 A).
        let space = self.spaces.get_mut(lane.space)?;
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
            lane.controller.on_congestion(Congestion::Timeout(Some(Base::CWND)));
            if let Some(coupler) = &mut self.coupler {
                let own = space.flight.get(if space.shared { lane.earliest } else { space.flight.first() });
                coupler.on_timeout(cx.now, id, own.map_or(cx.now, |chunk| chunk.sent_at));
            }
        }
        let waited = lane.rto(cx);
        // A probe that is answered says that the path is well: its interval grows, not the RTO.
        if !probing && !cx.config.emulation.quirks.faulty_recovery {
            if let Some(rtt) = lane.rtt_mut(&mut cx.paths) {
                rtt.back_off();
            }
        }
        lane.timed = None;
        lane.cwnd_exempt_packet = false;
        lane.awaiting_sack = false;
        // "SCTP SHOULD perform slow start" (7.2.3), in which the window grows with every SACK; in Fast Recovery it
        // would not. Slow start takes its place.
        if cx.config.congestion.fast_recovery == FastRecovery::UntilExit {
            lane.end_recovery();
            if cx.config.congestion.timeout_keeps_exit && !probe {
                // "After a retransmit timeout, record the highest sequence number transmitted" (RFC 6582, 3.2, step 4): what is
                // found lost below it was lost with the rest, and makes no second cut.
                let exit = lane.loss.newest(&space.flight);
                lane.begin_recovery(cx, exit, None);
            }
        }
        lane.open_burst();
        let rto = lane.rto(cx);
        if self.ecn.is_some() {
            self.doubt_ect(cx, id, probe);
        }
        if !probe {
            self.suspect_lost_sizes(cx, id);
        }
        self.mark_all_lost(cx, id);
        if let Some(lane) = self.lanes.get_mut(id) {
            // One packet, whatever else waits, until something is acknowledged.
            lane.cwnd_exempt_packet = true;
            lane.single_packet = true;
        }
        cx.record(subflow, path, TraceEvent::Timeout { rto });
        self.record_window(cx, id);
        (!probing && cx.paths.is_another_error(cx.now, path, waited, several)).then_some(path)
    }

    /// Marks everything unacknowledged of a lane for retransmission. What must not leave again is given up by who asks for it
    /// ([`Sender::after_marking`]).
    // rfc9260:6.3.3-2
    pub(super) fn mark_all_lost(&mut self, cx: &mut Context, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        let Some(space) = self.spaces.get_mut(lane.space) else { return };
        let mut all = Counted::default();
        lane.loss.mark_lane(&mut space.flight, id, |chunk| {
            all.add(chunk);
            count_lost(&mut cx.streams, chunk.fragment.stream);
        });
        self.lose(cx, id, all);
    }

    /// Everything unacknowledged leaves again, but for what must not.
    pub(crate) fn mark_every_lane_lost(&mut self, cx: &mut Context) {
        for id in self.lanes.ids() {
            self.mark_all_lost(cx, id);
        }
        self.after_marking(cx);
    }
}
