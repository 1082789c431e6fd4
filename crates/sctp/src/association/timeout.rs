//! Timers that expire.

use anabranch_base::{Duration, Instant, TraceEvent};
use anabranch_transport::congestion::{Base, Congestion};

use super::{Association, State};
use crate::config::FastRecovery;
use crate::event::{CloseReason, Event};
use crate::subflow::space::WindowProbe;

impl Association {
    /// Runs whatever is due at `now`.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if self.forming.as_ref().is_some_and(|f| due(f.t1)) {
            self.on_t1(now);
        }
        for index in 0..self.lanes.len() {
            if self.lanes.get(index).is_some_and(|l| due(l.t3)) {
                self.on_t3(now, index);
            }
            if let Some(kind) = self.lanes.get(index).and_then(|l| l.second).filter(|(at, _)| *at <= now) {
                self.on_second_timer(now, index, kind.1);
            }
            // What the pacer kept back leaves when the association is asked for packets next.
            let pacer = self.lanes.get_mut(index).and_then(|l| l.pacer.as_mut());
            if let Some(pacer) = pacer.filter(|pacer| due(pacer.at)) {
                pacer.at = None;
            }
        }
        for space in &mut self.spaces {
            space.sack.on_timeout(now);
            if due(space.probe.at) {
                space.probe.at = None;
                space.probe.due = true;
            }
        }
        if self.reconfig.as_ref().is_some_and(|r| due(r.timer())) {
            self.on_reconfig_timer();
        }
        if due(self.t2) {
            self.on_t2(now);
        }
        if due(self.t5) {
            self.t5 = None;
            self.abort_with(CloseReason::ShutdownGuard, Vec::new());
        }
        for index in 0..self.paths.len() {
            if self.paths.get(index).is_some_and(|p| due(p.heartbeat_at)) {
                self.on_heartbeat_timer(now, index);
            }
        }
    }

    /// T3-rtx expired (6.3.3, 7.2.3).
    fn on_t3(&mut self, now: Instant, index: usize) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        lane.t3 = None;
        lane.second = None;
        lane.free_new = 0;
        if let Some(rack) = &mut lane.rack {
            rack.forget();
        }
        let (path, subflow) = (lane.path, lane.subflow);
        self.stats.timeouts += 1;
        if let Some(subflow) = self.subflows.get_mut(usize::from(subflow)) {
            subflow.stats.timeouts += 1;
        }
        // "Zero window probing does not affect the calculation of cwnd", and "If the sender continues to receive
        // SACK chunks from the peer while doing zero window probing, the unacknowledged window probes SHOULD NOT
        // increment the error counter" (6.1 A).
        let mut no_probe = WindowProbe::default();
        let probe = match self.spaces.get_mut(usize::from(lane.space)) {
            Some(space) => &mut space.probe,
            None => &mut no_probe,
        };
        let probing = probe.in_flight && probe.answered;
        probe.answered = false;
        if !probe.in_flight {
            lane.controller.on_congestion(Congestion::Timeout(Some(Base::CWND)));
        }
        if let Some(coupler) = &mut self.coupler {
            coupler.on_timeout(index);
        }
        let waited = lane.rtt.rto();
        if !self.config.quirks.faulty_recovery {
            lane.rtt.back_off();
        }
        lane.timed = None;
        lane.free_packet = false;
        lane.held = false;
        // "SCTP SHOULD perform slow start" (7.2.3), in which the window grows with every SACK; in Fast Recovery it
        // would not. Slow start takes its place.
        if self.config.fast_recovery == FastRecovery::UntilExit {
            lane.recovery_exit = None;
        }
        lane.open_burst();
        let rto = lane.rtt.rto();
        self.mark_all_lost(index);
        if let Some(lane) = self.lanes.get_mut(index) {
            // One packet, whatever else waits, until something is acknowledged.
            lane.free_packet = true;
            lane.single_packet = true;
        }
        self.record(now, subflow, path, TraceEvent::Timeout { rto });
        self.record_window(now, index);
        if !probing && self.is_another_error(now, path, waited) {
            self.count_error(path);
        }
    }

    /// Whether a T3-rtx that ran for `waited` says anything that was not counted yet.
    ///
    /// The RFC has one T3-rtx for each address, and counts "each time the T3-rtx timer expires" (8.2). Lanes have one each, and a
    /// silence of the path lets all of them expire: it is one error, or as many subflows as Association.Max.Retrans allows
    /// retransmissions would end the association at the first of them.
    fn is_another_error(&mut self, now: Instant, path: u8, waited: Duration) -> bool {
        let several = self.lanes.len() > 1;
        let Some(path) = self.paths.get_mut(usize::from(path)) else { return true };
        if several && path.error_at.is_some_and(|at| at + waited > now) {
            return false;
        }
        path.error_at = Some(now);
        true
    }

    /// Marks everything unacknowledged of a lane for retransmission.
    pub(super) fn mark_all_lost(&mut self, index: usize) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let Some(space) = self.spaces.get_mut(usize::from(lane.space)) else { return };
        let headers = self.config.rwnd_counts_headers;
        let (mut bytes, mut chunks) = (0, 0);
        lane.loss.mark_lane(&mut space.flight, index as u8, |chunk| {
            bytes += chunk.size();
            chunks += 1;
        });
        lane.on_lost(bytes, chunks);
        let freed = lane.charged(bytes, chunks, headers);
        space.allowance.give_back(freed);
        self.peer_rwnd += freed;
    }

    /// Likewise of every lane.
    pub(super) fn mark_every_lane_lost(&mut self) {
        for index in 0..self.lanes.len() {
            self.mark_all_lost(index);
        }
    }

    /// Path and association error counters (8.1, 8.2).
    pub(super) fn count_error(&mut self, path: u8) {
        self.errors += 1;
        if let Some(p) = self.paths.get_mut(usize::from(path)) {
            p.errors += 1;
            if p.active && p.errors > self.config.path_max_retrans {
                p.active = false;
                self.events.push_back(Event::PathDown { path });
            }
        }
        // "If the value of this counter exceeds the limit indicated in the protocol parameter
        // 'Association.Max.Retrans', the endpoint SHOULD consider the peer endpoint unreachable".
        if self.errors > self.config.association_max_retrans && self.state != State::Closed {
            self.close(CloseReason::Unreachable { limit: "Association.Max.Retrans" });
        }
    }
}
