//! Response of a lane to T3-rtx that has expired (RFC 9260, 6.3.3, 7.2.3).

use anabranch_base::{Duration, Instant};
use anabranch_transport::congestion::{Base, Congestion};

use super::tables::Scope;
use crate::config::FastRecovery;
use crate::context::Context;

/// The result of a timeout, before chunks are marked.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedOut {
    /// The chunk in flight is a window probe.
    pub(super) probe: bool,
    /// The probe is answered by SACKs: nothing is wrong with the path.
    pub(super) probing: bool,
    /// The RTO that has passed, and the next one.
    pub(super) waited: Duration,
    pub(super) rto: Duration,
    /// Time at which the lane's earliest chunk left.
    pub(super) sent_at: Instant,
}

impl Scope<'_> {
    /// T3-rtx expired: the window is reduced, and the RTO grows, unless a closed window was probed.
    // rfc9260:6.1-6 rfc9260:6.1-8 rfc9260:7.2.1-2 rfc9260:7.2.3-2
    pub(super) fn time_out(&mut self, cx: &mut Context) -> TimedOut {
        let Self { id, lane, space, counters } = self;
        lane.t3_expired();
        cx.report.stats.timeouts = cx.report.stats.timeouts.saturating_add(1);
        if let Some(counters) = counters {
            counters.timeouts = counters.timeouts.saturating_add(1);
        }
        let own = space.flight.get(lane.loss.first(&space.flight));
        let sent_at = own.map_or(cx.env.now(), |chunk| chunk.sent_at);
        // "Zero window probing does not affect the calculation of cwnd", and "If the sender continues to receive
        // SACK chunks from the peer while doing zero window probing, the unacknowledged window probes SHOULD NOT
        // increment the error counter" (6.1 A).
        let earliest = space.flight.get(space.flight.first());
        let holds_earliest = earliest.is_some_and(|chunk| chunk.lane == *id);
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
        }
        let waited = lane.rto(cx);
        // A probe that is answered shows that the path works: its interval grows, not the RTO.
        if !probing && !cx.env.config().emulation.quirks.faulty_recovery {
            if let Some(rtt) = lane.rtt_mut(&mut cx.paths) {
                rtt.back_off();
            }
        }
        lane.round_trip.stop_timing();
        // "SCTP SHOULD perform slow start" (7.2.3), in which the window grows with every SACK; in Fast Recovery it
        // would not. Slow start takes its place.
        if cx.env.config().congestion.fast_recovery == FastRecovery::UntilExit {
            lane.recovery.end();
            if cx.env.config().congestion.timeout_keeps_exit && !probe {
                // "After a retransmit timeout, record the highest sequence number transmitted" (RFC 6582, 3.2, step 4): chunks
                // found lost below it were lost with the others, and cause no second cut.
                let exit = lane.loss.newest(&space.flight);
                lane.begin_recovery(cx, exit, None);
            }
        }
        lane.open_burst();
        TimedOut { probe, probing, waited, rto: lane.rto(cx), sent_at }
    }
}
