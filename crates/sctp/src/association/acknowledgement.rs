//! SACKs that arrive: flight, round trips, windows, losses (RFC 9260, 6.2.1, 6.3, 7.2).

use anabranch_base::{Instant, TraceEvent};
use anabranch_wire::Tsn;
use anabranch_wire::chunk::sack::GapBlock;

use super::Association;
use super::input::Violation;
use crate::config::{FastRecovery, RttSampling};
use crate::event::Event;
use crate::lane::controller::{Acked, Congestion, Controller};
use crate::subflow::flight::{AckOutcome, ChunkState};

impl Association {
    /// `a_rwnd` is `None` for the acknowledgement in a SHUTDOWN chunk, which has no such field.
    pub(super) fn on_acknowledgement(
        &mut self,
        now: Instant,
        cumulative: Tsn,
        a_rwnd: Option<u32>,
        gaps: impl ExactSizeIterator<Item = GapBlock>,
    ) -> Result<(), Violation> {
        let Some(subflow) = self.subflows.first_mut() else { return Ok(()) };
        let Some(next_expected) = subflow.unwrap_ack(cumulative) else { return Ok(()) };
        // 6.2.1 D i: "If Cumulative TSN Ack is less than the Cumulative TSN Ack Point, then drop the SACK chunk."
        if next_expected < subflow.flight.first() {
            return Ok(());
        }
        let gap_count = gaps.len();
        let mut outcome = std::mem::take(&mut self.outcome);
        let lanes = self.lanes.len();
        let timed_before = self.timed_chunks_unacked();
        let Some(subflow) = self.subflows.first_mut() else { return Ok(()) };
        let applied = subflow.flight.acknowledge(next_expected, gaps, lanes, &mut outcome);
        if let Err(bogus) = applied {
            self.outcome = outcome;
            return Err(Violation::Protocol(bogus.0));
        }
        self.record(
            now,
            0,
            0,
            TraceEvent::AckReceived {
                cumulative: next_expected,
                newly_acked: outcome.payload as u32,
                gaps: gap_count as u16,
            },
        );
        self.probe.answered = true;
        for index in 0..lanes {
            self.sample_round_trip(now, index, &outcome, timed_before);
            self.update_lane(now, index, &outcome);
        }
        self.detect_losses(now, &outcome);
        if let Some(a_rwnd) = a_rwnd {
            self.update_peer_window(a_rwnd);
        }
        if outcome.payload > 0 {
            // "this counter MUST be reset each time a DATA chunk ... is acknowledged" (8.1, 8.2).
            self.errors = 0;
            self.clear_path_errors(0);
        }
        self.outcome = outcome;
        Ok(())
    }

    /// Whether the timed chunk of the first lane is still unacknowledged, before the SACK is applied.
    fn timed_chunks_unacked(&self) -> bool {
        let (Some(lane), Some(subflow)) = (self.lanes.first(), self.subflows.first()) else { return false };
        lane.timed.is_some_and(|t| {
            subflow.flight.get(t.seq).is_some_and(|c| c.state == ChunkState::InFlight && c.transmissions == 1)
        })
    }

    fn sample_round_trip(&mut self, now: Instant, index: usize, outcome: &AckOutcome, timed_before: bool) {
        let (Some(lane), Some(subflow)) = (self.lanes.get_mut(index), self.subflows.first()) else { return };
        let sent_at = match self.config.rtt_sampling {
            RttSampling::OncePerRoundTrip => lane.timed.and_then(|timed| {
                let acked = timed.seq < subflow.flight.first()
                    || subflow.flight.get(timed.seq).is_some_and(|c| c.state == ChunkState::GapAcked);
                if !acked {
                    return None;
                }
                lane.timed = None;
                timed_before.then_some(timed.sent_at)
            }),
            RttSampling::EveryAck => outcome.lanes.get(index).and_then(|l| l.newest_once).map(|(_, at)| at),
        };
        let Some(sent_at) = sent_at else { return };
        let sample = now - sent_at;
        lane.rtt.sample(sample);
        let (srtt, rto, path) = (lane.rtt.srtt().unwrap_or_default(), lane.rtt.rto(), lane.path);
        self.stats.rtt_sum_ns += sample.as_nanos();
        self.stats.rtt_samples += 1;
        self.record(now, 0, path, TraceEvent::Rtt { sample, srtt, rto });
    }

    fn update_lane(&mut self, now: Instant, index: usize, outcome: &AckOutcome) {
        let (Some(lane), Some(ack), Some(subflow)) =
            (self.lanes.get_mut(index), outcome.lanes.get(index), self.subflows.first_mut())
        else {
            return;
        };
        let flight_before = lane.flight;
        let window_before = lane.controller.window();
        lane.on_acked(ack);
        if ack.reneged > 0 {
            subflow.loss.reneged(subflow.flight.first());
        }
        lane.held = false;
        if ack.acked_chunks > 0 {
            lane.single_packet = false;
        }
        // The packet that T3-rtx owes may still have to leave: a SACK without news does not take it away.
        if !lane.single_packet {
            lane.free_packet = false;
        }
        if ack.fast_retransmitted_acked {
            lane.limit_next_burst();
        }
        if ack.acked_chunks > 0 || outcome.advanced {
            let recovers = self.config.fast_recovery != FastRecovery::Off;
            let acked = Acked {
                cumulative: ack.cumulative,
                gap: ack.gap,
                earlier_gap: ack.earlier_gap,
                flight_before,
                cumulative_advanced: outcome.advanced,
                in_recovery: recovers && lane.in_recovery(subflow.flight.first()),
                all_acked: lane.unacked == 0,
            };
            lane.controller.on_ack(&acked);
        }
        // R2: "Whenever all outstanding data sent to an address have been acknowledged, turn off the T3-rtx timer".
        // R3: "Whenever a SACK chunk is received that acknowledges the DATA chunk with the earliest outstanding TSN
        // for that address, restart the T3-rtx timer". R4: a reneged chunk starts it when it does not run.
        if lane.unacked == 0 {
            lane.t3 = None;
        } else if ack.earliest_acked || lane.t3.is_none() {
            lane.arm_t3(now);
        }
        lane.open_burst();
        if self.trace.is_on() || lane.controller.window() != window_before {
            self.record_window(now, index);
        }
    }

    /// 7.2.4: missing reports, marking, and the cut.
    fn detect_losses(&mut self, now: Instant, outcome: &AckOutcome) {
        let Some(subflow) = self.subflows.first_mut() else { return };
        let Some(lane) = self.lanes.first_mut() else { return };
        let rule = self.config.fast_recovery;
        let first = subflow.flight.first();
        let in_recovery = rule != FastRecovery::Off && lane.in_recovery(first);
        let credit_headers = self.config.rwnd_counts_headers;
        let mut highest: Option<u64> = None;
        let mut earliest: Option<u64> = None;
        let peer_rwnd = &mut self.peer_rwnd;
        subflow.loss.report(&mut subflow.flight, outcome, in_recovery && outcome.advanced, |seq, chunk| {
            earliest.get_or_insert(seq);
            highest = Some(seq);
            lane.on_lost(chunk.size());
            // 6.2.1 C: "add the data size of those chunks to the rwnd".
            *peer_rwnd += if credit_headers { chunk.size() } else { chunk.size() - 16 };
        });
        let (Some(highest), Some(earliest)) = (highest, earliest) else { return };
        self.stats.fast_retransmits += 1;
        let cut = match rule {
            FastRecovery::Off => true,
            FastRecovery::UntilExit => !in_recovery,
            FastRecovery::PerWindow => lane.recovery_exit.is_none_or(|exit| highest > exit),
        };
        // Step 3, "If not in Fast Recovery ... Retransmit those K DATA chunks in a single packet"; ns-2 does so
        // with every SACK that marks.
        lane.free_packet = cut || rule != FastRecovery::UntilExit;
        lane.held = self.config.hold_after_fast_retransmit;
        if cut {
            lane.controller.on_congestion(Congestion::FastRetransmit);
            lane.recovery_exit = Some(subflow.flight.next().saturating_sub(1));
            // C5: nothing sent before a retransmission is timed any more.
            lane.timed = None;
            lane.open_burst();
            self.stats.congestion_events += 1;
        }
        let path = lane.path;
        self.record(now, 0, path, TraceEvent::FastRetransmit { seq: earliest });
        self.record_window(now, 0);
    }

    /// 6.2.1 D ii: "Set rwnd equal to the newly received a_rwnd minus the number of bytes still outstanding".
    fn update_peer_window(&mut self, a_rwnd: u32) {
        let outstanding: u64 = self
            .lanes
            .iter()
            .map(|l| {
                if self.config.rwnd_counts_headers {
                    l.flight
                } else {
                    l.flight - 16 * u64::from(l.flight_chunks)
                }
            })
            .sum();
        self.peer_rwnd = u64::from(a_rwnd).saturating_sub(outstanding);
        if a_rwnd > 0 && self.probe.at.is_some() {
            self.probe = super::WindowProbe::default();
        }
        if self.subflows.first().is_some_and(|s| s.flight.is_empty()) {
            self.probe.in_flight = false;
        }
    }

    pub(super) fn clear_path_errors(&mut self, path: u8) {
        if let Some(p) = self.paths.get_mut(usize::from(path)) {
            p.errors = 0;
            if !p.active {
                p.active = true;
                self.events.push_back(Event::PathUp { path });
            }
        }
    }
}
