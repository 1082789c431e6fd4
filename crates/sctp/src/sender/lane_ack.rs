//! Acknowledgement of the chunks of one lane: round trip, flight, window and T3-rtx (RFC 9260, 6.3, 7.2).

use anabranch_base::{TraceEvent, cold_path};
use anabranch_transport::congestion::{Acked, Timing};

use super::ecn::EcnSender;
use super::flight::AckOutcome;
use super::tables::Scope;
use crate::config::{FastRecovery, RttSampling};
use crate::context::Context;
use crate::ids::Id;

impl Scope<'_> {
    // rfc9260:6.3.1-1 rfc9260:6.3.1-2
    pub(super) fn sample_round_trip(&mut self, cx: &mut Context, outcome: &AckOutcome) {
        let Self { id, lane, space, counters } = self;
        let sent_at = match cx.env.config().timers.rtt_sampling {
            RttSampling::OncePerRoundTrip | RttSampling::ThroughLoss => {
                lane.round_trip.take_timed(&space.flight)
            }
            RttSampling::EveryAck => {
                outcome.lanes.get(id.row()).and_then(|l| l.newest_once).map(|(_, at)| at)
            }
        };
        let Some(sent_at) = sent_at else { return };
        let sample = cx.env.config().clock().elapsed(sent_at, cx.env.now());
        lane.round_trip.note(sample);
        let (subflow, path) = (lane.subflow(), lane.path());
        let Some(rtt) = lane.rtt_mut(&mut cx.paths) else { return };
        if cx.env.config().timers.rtt_sampling == RttSampling::EveryAck {
            rtt.sample_each(cx.env.now(), sample);
        } else {
            rtt.sample(sample);
        }
        let (srtt, rto) = (rtt.srtt().unwrap_or_default(), rtt.rto());
        cx.report.stats.rtt_sum_ns += sample.as_nanos();
        cx.report.stats.rtt_samples += 1;
        if let Some(counters) = counters {
            counters.rtt_sum_ns += sample.as_nanos();
            counters.rtt_samples += 1;
        }
        cx.record(subflow, path, TraceEvent::Rtt { sample, srtt, rto });
    }

    /// Applies a SACK to the lane: its flight, its window and its timer. `waiting`: user data that waits for it,
    /// bytes, where the pacer or a model wants to know. Returns true if the window has changed; `None` where the SACK
    /// acknowledges nothing of the lane.
    // rfc9260:7.2.1-9 rfc9260:7.2.4-6
    pub(super) fn acknowledge(
        &mut self,
        cx: &Context,
        ecn: &EcnSender,
        outcome: &AckOutcome,
        waiting: u64,
    ) -> Option<bool> {
        let ack = outcome.lanes.get(self.id.row())?;
        let Self { id, lane, space, .. } = self;
        let (paced, model) = (lane.is_paced(), lane.window.is_model());
        // Where lanes share a space, a SACK may concern other lanes only.
        let mine = !space.shared || ack.acked_chunks > 0 || ack.reneged > 0 || ack.earliest_acked;
        if !mine {
            cold_path();
            return None;
        }
        let (mut cumulative, mut gap, mut earliest_acked) = (ack.cumulative, ack.gap, ack.earliest_acked);
        let mut advanced = outcome.advanced;
        if ack.reneged > 0 {
            cold_path();
            lane.loss.reneged(&space.flight, *id);
        }
        if space.shared {
            cold_path();
            // The lane's own earliest outstanding chunk stands for the cumulative point (the rule CUC).
            let before = lane.loss.first(&space.flight);
            let earliest = lane.loss.find_earliest(&space.flight);
            advanced = earliest > before;
            earliest_acked = advanced;
            if ack.highest_newly_acked.is_some_and(|highest| highest < earliest) {
                // No hole is left among the lane's own chunks: for the lane all newly acknowledged bytes are cumulative.
                cumulative += gap;
                gap = 0;
            }
        }
        let first = lane.loss.first(&space.flight);
        let round_trip = lane.window.ends_round(first, space.flight.next());
        let window_before = lane.window.cwnd();
        // Data that only the pacer keeps back would have filled the window: "A sender SHOULD NOT consider itself application
        // limited if it would have fully utilized the congestion window without pacing delay" (RFC 9002, 7.8).
        let in_flight = lane.in_flight.bytes();
        let flight_before = in_flight + waiting;
        lane.acknowledged(ack, paced && lane.loss.any());
        if ack.acked_chunks > 0 || advanced {
            let recovers = cx.env.config().congestion.fast_recovery != FastRecovery::Off;
            let reduced = ecn.has_reduced(*id, first);
            // "MUST NOT advance the cwnd based on this 'abandoned' data chunk" (RFC 3758, 3.5, A2).
            let given_up = if cx.env.config().congestion.credit_given_up { ack.given_up.into() } else { 0 };
            let acked = Acked {
                cumulative,
                gap,
                earlier_gap: ack.earlier_gap,
                given_up,
                flight_before: flight_before + given_up,
                cumulative_advanced: advanced,
                in_recovery: recovers && lane.recovery.is_at(first) || reduced,
                all_acked: lane.in_flight.unacked() == 0,
                round_trip,
            };
            if lane.window.controller().wants_times() {
                cold_path();
                let timing = Timing {
                    now: cx.env.now(),
                    // The newest chunk that was sent once gives the sample, not the chunk timed for the RTO.
                    rtt: ack.newest_once.map(|(_, sent_at)| cx.env.now() - sent_at),
                    srtt: lane.srtt(cx),
                    una: first,
                    max: space.flight.next(),
                    newest_sent: if model {
                        ack.newest_sent(cx.env.now(), lane.round_trip.min())
                    } else {
                        None
                    },
                    flight_before: in_flight,
                    flight: lane.in_flight.bytes(),
                    starved: waiting == 0 && !lane.loss.any(),
                };
                lane.window.acknowledged_in_time(&acked, &timing);
            } else {
                lane.window.acknowledged(&acked);
            }
        }
        // R2: "Whenever all outstanding data sent to an address have been acknowledged, turn off the T3-rtx timer".
        // R3: "Whenever a SACK chunk is received that acknowledges the DATA chunk with the earliest outstanding TSN
        // for that address, restart the T3-rtx timer". R4: a reneged chunk starts it when it does not run.
        if lane.in_flight.unacked() == 0 {
            lane.stop_t3();
        } else if earliest_acked || lane.t3().is_none() {
            lane.arm_t3(cx);
        }
        lane.open_burst_after_sack();
        let window = lane.window.cwnd();
        let changed = window != window_before;
        if changed {
            lane.window.note_peak();
        }
        Some(changed)
    }

    /// A SACK during a recovery with more state than an exit point; `lost_before` chunks had been lost before it.
    #[inline(never)]
    pub(super) fn step_recovery(&mut self, outcome: &AckOutcome, lost_before: u32) {
        let Some(ack) = outcome.lanes.get(self.id.row()) else { return };
        let Self { lane, space, .. } = self;
        let first = lane.loss.first(&space.flight);
        let safe = ack.earliest_acked && lane.loss.count() == lost_before && ack.reneged == 0;
        lane.step_recovery(ack, safe, first, space.flight.next());
    }
}
