//! SACKs that arrive: flight, round trips, windows, losses (RFC 9260, 6.2.1, 6.3, 7.2).

use anabranch_base::{Instant, TraceEvent};
use anabranch_transport::congestion::{Acked, Base, Congestion, Timing};
use anabranch_wire::Tsn;
use anabranch_wire::chunk::ReceiveTime;
use anabranch_wire::chunk::sack::GapBlock;

use super::Association;
use super::input::Violation;
use crate::config::{FastRecovery, RttSampling};
use crate::event::Event;
use crate::lane::Lane;
use crate::subflow::flight::{AckOutcome, ChunkState};
use crate::subflow::space::WindowProbe;

/// Windows that an acknowledgement speaks of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Windows {
    /// Of the association; a SHUTDOWN chunk has none.
    pub(super) a_rwnd: Option<u32>,
    /// Of the subflow.
    pub(super) a_fwnd: Option<u32>,
}

/// Chunks that were marked lost together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marked {
    /// Bytes and chunks that leave the flight.
    pub(super) bytes: u64,
    pub(super) chunks: u32,
    /// The first and the last of them.
    pub(super) earliest: u64,
    pub(super) highest: u64,
}

impl Association {
    /// An acknowledgement for the sequence space `space_index`.
    pub(super) fn on_acknowledgement(
        &mut self,
        now: Instant,
        space_index: usize,
        cumulative: Tsn,
        windows: Windows,
        gaps: impl ExactSizeIterator<Item = GapBlock>,
        times: Option<ReceiveTime>,
    ) -> Result<(), Violation> {
        let Some(space) = self.spaces.get_mut(space_index) else { return Ok(()) };
        let Some(next_expected) = space.unwrap_ack(cumulative) else { return Ok(()) };
        // 6.2.1 D i: "If Cumulative TSN Ack is less than the Cumulative TSN Ack Point, then drop the SACK chunk."
        if next_expected < space.flight.first() {
            return Ok(());
        }
        // Half of the numbers ahead: an acknowledgement of before an SSN/TSN reset, that was late.
        if next_expected - space.flight.first() > 1 << 30 && self.reconfig.is_some() {
            return Ok(());
        }
        let gap_count = gaps.len();
        let mut outcome = std::mem::take(&mut self.outcome);
        let lanes = self.lanes.len();
        for lane in &mut self.lanes {
            lane.timed_open = lane.timed.is_some_and(|timed| {
                let chunk = space.flight.get(timed.seq);
                chunk.is_some_and(|c| c.state == ChunkState::InFlight && c.transmissions == 1)
            });
        }
        let applied = space.flight.acknowledge(next_expected, gaps, lanes, &mut outcome);
        if let Err(bogus) = applied {
            self.outcome = outcome;
            return Err(Violation::Protocol(bogus.0));
        }
        self.record(
            now,
            space_index as u8,
            0,
            TraceEvent::AckReceived {
                cumulative: next_expected,
                newly_acked: outcome.payload as u32,
                gaps: gap_count as u16,
            },
        );
        if let Some(space) = self.spaces.get_mut(space_index) {
            space.probe.answered = true;
        }
        self.couple(now, space_index, &outcome, times);
        for index in 0..lanes {
            if self.lanes.get(index).is_some_and(|lane| usize::from(lane.space) == space_index) {
                self.sample_round_trip(now, index, &outcome);
                self.update_lane(now, index, &outcome);
                if self.lanes.get(index).is_some_and(|lane| lane.rack.is_some()) {
                    self.detect_by_time(now, index, Some(&outcome));
                } else {
                    self.detect_losses(now, index, &outcome);
                    if self.config.early_fast_retransmit.is_some() {
                        self.arm_second_timer(now, index);
                    }
                }
            }
        }
        self.close_drained_subflows();
        if let Some(times) = times {
            let newest = outcome
                .lanes
                .iter()
                .enumerate()
                .filter_map(|(lane, ack)| Some((ack.newest_once?, lane)))
                .max();
            if let Some(((_, sent_at), lane)) = newest {
                self.note_one_way_delay(now, lane, sent_at, times);
            }
        }
        if let Some(a_fwnd) = windows.a_fwnd {
            self.update_allowance(space_index, a_fwnd);
        }
        if let Some(a_rwnd) = windows.a_rwnd {
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

    fn sample_round_trip(&mut self, now: Instant, index: usize, outcome: &AckOutcome) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let Some(space) = self.spaces.get(usize::from(lane.space)) else { return };
        let sent_at = match self.config.rtt_sampling {
            RttSampling::OncePerRoundTrip | RttSampling::ThroughLoss => lane.timed.and_then(|timed| {
                let acked = timed.seq < space.flight.first()
                    || space.flight.get(timed.seq).is_some_and(|c| c.state == ChunkState::GapAcked);
                if !acked {
                    return None;
                }
                lane.timed = None;
                lane.timed_open.then_some(timed.sent_at)
            }),
            RttSampling::EveryAck => outcome.lanes.get(index).and_then(|l| l.newest_once).map(|(_, at)| at),
        };
        let Some(sent_at) = sent_at else { return };
        let sample = lane.clock.elapsed(sent_at, now);
        lane.rtt.sample(sample);
        lane.min_rtt = Some(lane.min_rtt.map_or(sample, |least| least.min(sample)));
        let (srtt, rto, path) = (lane.rtt.srtt().unwrap_or_default(), lane.rtt.rto(), lane.path);
        let subflow = lane.subflow;
        self.stats.rtt_sum_ns += sample.as_nanos();
        self.stats.rtt_samples += 1;
        if let Some(subflow) = self.subflows.get_mut(usize::from(subflow)) {
            subflow.stats.rtt_sum_ns += sample.as_nanos();
            subflow.stats.rtt_samples += 1;
        }
        self.record(now, subflow, path, TraceEvent::Rtt { sample, srtt, rto });
    }

    /// User data of a lane that waits to be sent, bytes.
    #[inline(never)]
    fn queued_on(&self, index: usize) -> u64 {
        let mine = self.subflows.iter().filter(|subflow| usize::from(subflow.lane) == index);
        mine.map(|subflow| subflow.out.queued_bytes() as u64).sum()
    }

    fn update_lane(&mut self, now: Instant, index: usize, outcome: &AckOutcome) {
        let held_back = self.lanes.get(index).is_some_and(Lane::is_held_back);
        let waiting = if held_back { self.queued_on(index) } else { 0 };
        let (Some(lane), Some(ack)) = (self.lanes.get_mut(index), outcome.lanes.get(index)) else { return };
        let Some(space) = self.spaces.get(usize::from(lane.space)) else { return };
        // A SACK that says nothing of this lane is no news to it, where lanes share a space.
        let mine = !space.shared || ack.acked_chunks > 0 || ack.reneged > 0 || ack.earliest_acked;
        if !mine {
            return;
        }
        let mut ack = *ack;
        let mut advanced = outcome.advanced;
        if ack.reneged > 0 {
            lane.loss.reneged(&space.flight, index as u8);
        }
        if space.shared {
            // The lane's own earliest outstanding chunk stands for the cumulative point (the rule CUC).
            let before = lane.earliest;
            let earliest = lane.loss.earliest(&space.flight);
            lane.earliest = earliest;
            advanced = earliest > before;
            ack.earliest_acked = advanced;
            if ack.highest_newly_acked.is_some_and(|highest| highest < earliest) {
                // No hole is left among the lane's own: for it everything new is cumulative.
                ack.cumulative += ack.gap;
                ack.gap = 0;
            }
        }
        let first = if space.shared { lane.earliest } else { space.flight.first() };
        let round_trip = first > lane.round_end;
        if round_trip {
            lane.round_end = space.flight.next();
        }
        let window_before = lane.controller.window();
        // What only the pacer keeps back would have filled the window: "A sender SHOULD NOT consider itself application
        // limited if it would have fully utilized the congestion window without pacing delay" (RFC 9002, 7.8).
        let flight_before = lane.flight + waiting;
        lane.on_acked(&ack);
        lane.held = false;
        if ack.acked_chunks > 0 {
            lane.single_packet = false;
        }
        // The packet that T3-rtx owes may still have to leave: a SACK without news does not take it away.
        // Nor does it one that waits for the pacer.
        let waits = held_back && lane.loss.any();
        if !lane.single_packet && !waits {
            lane.free_packet = false;
        }
        if ack.fast_retransmitted_acked {
            lane.limit_next_burst();
        }
        if ack.acked_chunks > 0 || advanced {
            let recovers = self.config.fast_recovery != FastRecovery::Off;
            let acked = Acked {
                cumulative: ack.cumulative,
                gap: ack.gap,
                earlier_gap: ack.earlier_gap,
                flight_before,
                cumulative_advanced: advanced,
                in_recovery: recovers && lane.in_recovery(first),
                all_acked: lane.unacked == 0,
                round_trip,
            };
            lane.controller.on_ack(&acked, || Timing {
                now,
                // Of the newest that was sent once, whatever is timed for the RTO.
                rtt: ack.newest_once.map(|(_, sent_at)| now - sent_at),
                srtt: lane.rtt.srtt(),
                una: first,
                max: space.flight.next(),
            });
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
    fn detect_losses(&mut self, now: Instant, index: usize, outcome: &AckOutcome) {
        let (Some(lane), Some(ack)) = (self.lanes.get_mut(index), outcome.lanes.get(index)) else { return };
        let Some(space) = self.spaces.get_mut(usize::from(lane.space)) else { return };
        let rule = self.config.fast_recovery;
        let (first, advanced) = if space.shared {
            (lane.earliest, ack.acked_chunks > 0)
        } else {
            (space.flight.first(), outcome.advanced)
        };
        let in_recovery = rule != FastRecovery::Off && lane.in_recovery(first);
        let mut highest: Option<u64> = None;
        let mut earliest: Option<u64> = None;
        let limit = lane.loss.limit(
            &space.flight,
            ack.highest_newly_acked,
            outcome.highest_acked,
            in_recovery && advanced,
        );
        let Some(limit) = limit else { return };
        let (mut bytes, mut chunks) = (0, 0);
        lane.loss.report(&mut space.flight, limit, |seq, chunk| {
            earliest.get_or_insert(seq);
            highest = Some(seq);
            bytes += chunk.size();
            chunks += 1;
        });
        let (Some(highest), Some(earliest)) = (highest, earliest) else { return };
        self.after_marking(now, index, &Marked { bytes, chunks, earliest, highest }, in_recovery);
    }

    /// Chunks were marked lost by a SACK, or because of the time: what that means for flight, windows and recovery.
    pub(super) fn after_marking(&mut self, now: Instant, index: usize, marked: &Marked, in_recovery: bool) {
        let &Marked { bytes, chunks, earliest, highest } = marked;
        let rule = self.config.fast_recovery;
        let credit_headers = self.config.rwnd_counts_headers;
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let Some(space) = self.spaces.get_mut(usize::from(lane.space)) else { return };
        lane.on_lost(bytes, chunks);
        // 6.2.1 C: "add the data size of those chunks to the rwnd".
        let freed = lane.charged(bytes, chunks, credit_headers);
        space.allowance.give_back(freed);
        self.peer_rwnd += freed;
        self.stats.fast_retransmits += 1;
        let subflow = lane.subflow;
        if let Some(subflow) = self.subflows.get_mut(usize::from(subflow)) {
            subflow.stats.fast_retransmits += 1;
        }
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
            lane.controller.on_congestion(Congestion::FastRetransmit(Base::CWND));
            lane.recovery_exit = Some(lane.loss.newest(&space.flight));
            // C5: nothing sent before a retransmission is timed any more.
            if self.config.rtt_sampling != RttSampling::ThroughLoss {
                lane.timed = None;
            }
            lane.open_burst();
            self.stats.congestion_events += 1;
        }
        let path = lane.path;
        self.couple_loss(now, index, chunks, cut);
        self.record(now, subflow, path, TraceEvent::FastRetransmit { seq: earliest });
        self.record_window(now, index);
    }

    /// 6.2.1 D ii: "Set rwnd equal to the newly received a_rwnd minus the number of bytes still outstanding".
    fn update_peer_window(&mut self, a_rwnd: u32) {
        let outstanding = self.outstanding(None);
        self.peer_rwnd = u64::from(a_rwnd).saturating_sub(outstanding);
        let full = self.config.pmdcs().into();
        for index in 0..self.spaces.len() {
            // The acknowledgements of one subflow must not put off for ever the probe of another that has room for nothing.
            let probes = self.spaces.get(index).is_some_and(|space| space.probe.at.is_some());
            let open = probes && a_rwnd > 0 && (self.spaces.len() == 1 || self.has_room(index, full));
            let Some(space) = self.spaces.get_mut(index) else { continue };
            if open {
                space.probe = WindowProbe::default();
            }
            if space.flight.is_empty() {
                space.probe.in_flight = false;
            }
        }
    }

    /// Likewise for the window of one subflow.
    fn update_allowance(&mut self, index: usize, a_fwnd: u32) {
        let outstanding = self.outstanding(Some(index));
        if let Some(space) = self.spaces.get_mut(index) {
            space.allowance.set(a_fwnd, outstanding);
            if a_fwnd > 0 && self.extensions.thesis.is_some() && space.probe.at.is_some() {
                space.probe = WindowProbe::default();
            }
        }
    }

    /// Bytes in flight, of one space or of all, as windows count them.
    fn outstanding(&self, space: Option<usize>) -> u64 {
        let headers = self.config.rwnd_counts_headers;
        let counts = |lane: &&Lane| space.is_none_or(|space| usize::from(lane.space) == space);
        let bytes = |lane: &Lane| lane.charged(lane.flight, lane.flight_chunks, headers);
        self.lanes.iter().filter(counts).map(bytes).sum()
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
