//! SACKs that arrive: flight, round trips, windows, losses (RFC 9260, 6.2.1, 6.3, 7.2).

use anabranch_base::{TraceEvent, TraceRecord, rare};
use anabranch_transport::congestion::{Acked, Timing};
use anabranch_wire::Tsn;
use anabranch_wire::chunk::ReceiveTime;
use anabranch_wire::chunk::sack::GapBlock;

use super::Sender;
use super::flight::{AckOutcome, ChunkState, Counted, GapList, LaneAck, NotThere};
use super::lane::Lane;
use super::loss_response::NewlyLost;
use super::windows::Windows;
use crate::config::{FastRecovery, RttSampling};
use crate::context::Context;
use crate::encoding::{Encoding, micros};
use crate::ids::{Id, LaneId, PathId, SpaceId, Table};
use crate::stats::count_lost;
use crate::violation::Violation;

/// What an acknowledgement has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing: it is old, or says nothing new.
    Nothing,
    /// Chunks were acknowledged for the first time: proof that their paths work ([`Sender::paths_of_news`]).
    News,
}

impl Sender {
    /// An acknowledgement for a sequence space.
    ///
    /// # Errors
    /// When it cannot be true.
    // rfc9260:8.1-5 rfc3758:3.5-19
    pub(crate) fn on_acknowledgement(
        &mut self,
        cx: &mut Context,
        at: SpaceId,
        cumulative: Tsn,
        windows: Windows,
        gaps: GapList<impl ExactSizeIterator<Item = GapBlock>>,
        times: Option<ReceiveTime>,
    ) -> Result<Heard, Violation> {
        let Some(space) = self.spaces.get_mut(at) else { return Ok(Heard::Nothing) };
        let Some(next_expected) = space.unwrap_ack(cumulative) else { return Ok(Heard::Nothing) };
        // 6.2.1 D i: "If Cumulative TSN Ack is less than the Cumulative TSN Ack Point, then drop the SACK chunk."
        if next_expected < space.flight.first() {
            return Ok(Heard::Nothing);
        }
        // Half of the numbers ahead: an acknowledgement of before an SSN/TSN reset, that was late.
        if next_expected - space.flight.first() > 1 << 30 && self.resettable {
            return Ok(Heard::Nothing);
        }
        if let Some(special) = &mut self.special {
            rare();
            if !special.collect(at, &space.flight, next_expected) {
                return Err(Violation::Protocol("a SACK acknowledges a TSN that was never sent"));
            }
        }
        let gap_count = gaps.blocks.len();
        let mut outcome = std::mem::take(&mut self.outcome);
        for lane in self.lanes.rows_mut() {
            lane.timed_open = lane.timed.is_some_and(|timed| {
                let chunk = space.flight.get(timed.seq);
                chunk.is_some_and(|c| c.state == ChunkState::InFlight && c.transmissions == 1)
            });
        }
        let lanes = self.lanes.len();
        let applied = if windows.is_any() {
            space.flight.acknowledge_listed(next_expected, gaps, lanes, &mut outcome)
        } else {
            space.flight.acknowledge_up_to(next_expected, lanes, &mut outcome)
        };
        if let Err(bogus) = applied {
            rare();
            self.outcome = outcome;
            return Err(Violation::Protocol(bogus.0));
        }
        // Windows of a selection that was overtaken are of before what a newer one has acknowledged: they would count that as free.
        let windows = if outcome.overtaken { Windows::default() } else { windows };
        space.probe.answered = true;
        let at_time = (cx.now, cx.association);
        cx.trace.record(|| TraceRecord {
            at: at_time.0,
            association: at_time.1,
            // A subflow with a space of its own has the number of its FID, whatever the row of the space.
            subflow: space.fid,
            path: paths_of_news(&self.lanes, &outcome).next().unwrap_or(cx.paths.for_control()).get(),
            event: TraceEvent::AckReceived {
                cumulative: next_expected,
                newly_acked: outcome.payload as u32,
                gaps: gap_count as u16,
            },
        });
        self.couple(cx, at, &outcome, times);
        for id in self.lanes.ids() {
            if self.lanes.get(id).is_some_and(|lane| lane.space == at) {
                self.acknowledge_lane(cx, id, &outcome);
            }
        }
        self.share_window();
        if let Some(times) = times {
            rare();
            self.note_one_way_delay(&outcome, times);
        }
        if let Some(a_fwnd) = windows.a_fwnd {
            rare();
            self.update_allowance(cx, at, a_fwnd);
        }
        if let Some(a_rwnd) = windows.a_rwnd {
            self.update_peer_window(cx, a_rwnd);
        }
        self.look_at_windows(cx, at, windows, outcome.advanced);
        let news = outcome.payload > 0;
        self.outcome = outcome;
        if self.special.is_some() {
            rare();
            self.after_acknowledgement(cx, at);
        }
        // "The counter used for endpoint failure detection MUST be reset each time a DATA chunk sent to that peer endpoint is
        // acknowledged" (RFC 9260, 8.1).
        Ok(if news { Heard::News } else { Heard::Nothing })
    }

    /// The paths of what the last acknowledgement has acknowledged for the first time: "the endpoint SHOULD clear the error counter of
    /// the destination transport address to which the DATA chunk was last sent" (8.2). A chunk names the lane that carried it last.
    /// A path is named once for each of its lanes.
    // rfc9260:8.2-3
    #[inline]
    pub(crate) fn paths_of_news(&self) -> impl Iterator<Item = PathId> + '_ {
        paths_of_news(&self.lanes, &self.outcome)
    }

    // rfc9260:7.2.1-9 rfc9260:7.2.4-6
    fn acknowledge_lane(&mut self, cx: &mut Context, id: LaneId, outcome: &AckOutcome) {
        self.sample_round_trip(cx, id, outcome);
        let path = self.lanes.get(id).and_then(|lane| cx.paths.get(lane.path));
        if path.is_some_and(crate::path::Path::waits_for_packets) {
            rare();
            self.note_sizes_that_arrived(cx, id, outcome);
        }
        self.update_lane(cx, id, outcome);
        if outcome.not_there != NotThere::Nothing {
            self.send_what_is_not_there(cx, id, outcome.not_there);
        }
        let lost_before = self.lanes.get(id).map_or(0, |lane| lane.chunks_lost);
        if self.lanes.get(id).is_some_and(|lane| lane.rack.is_some()) {
            self.detect_by_time(cx, id, Some(outcome));
        } else {
            self.detect_losses(cx, id, outcome);
            if cx.config.emulation.early_fast_retransmit.is_some() {
                rare();
                self.arm_loss_timer(cx, id);
            }
        }
        if self.lanes.get(id).is_some_and(|lane| lane.recovery.is_some()) {
            rare();
            self.step_recovery(id, outcome, lost_before);
        }
    }

    /// What was acknowledged and is evidently not there leaves again at once; T3-rtx runs ([`Sender::update_lane`]). Nothing else may come that
    /// would show it to be lost, as a peer in SHUTDOWN-SENT has little to acknowledge. It is no sign of congestion: the network
    /// has delivered it. As a fast retransmission that happens once to each chunk, so nobody draws more by taking back again and again.
    #[cold]
    #[inline(never)]
    fn send_what_is_not_there(&mut self, cx: &Context, id: LaneId, what: NotThere) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        let Some(space) = self.spaces.get_mut(lane.space) else { return };
        let mine = space.flight.taken_back(id, what == NotThere::All);
        let mine: Vec<u64> =
            mine.filter(|(_, chunk)| !chunk.fast_retransmitted).map(|(seq, _)| seq).collect();
        let mut all = Counted::default();
        for seq in mine {
            if let Some(chunk) = lane.loss.mark(&mut space.flight, seq) {
                all.add(chunk);
            }
        }
        self.take_out_of_flight(cx, id, all);
    }

    /// A SACK during a recovery that has more to it than an exit point.
    #[inline(never)]
    fn step_recovery(&mut self, id: LaneId, outcome: &AckOutcome, lost_before: u32) {
        let (Some(lane), Some(ack)) = (self.lanes.get_mut(id), outcome.lanes.get(id.row())) else { return };
        let Some(space) = self.spaces.get(lane.space) else { return };
        let first = if space.shared { lane.earliest } else { space.flight.first() };
        let safe = ack.earliest_acked && lane.chunks_lost == lost_before && ack.reneged == 0;
        lane.step_recovery(ack, safe, first, space.flight.next());
    }

    /// A one-way delay, less the difference of the clocks: when the peer had the newest chunk that was sent once, and when we
    /// sent it.
    fn note_one_way_delay(&mut self, outcome: &AckOutcome, times: ReceiveTime) {
        let lanes = outcome.lanes.iter().enumerate();
        let newest = lanes.filter_map(|(lane, ack)| Some((ack.newest_once?, lane))).max();
        let Some(((_, sent_at), lane)) = newest else { return };
        if let Some(lane) = self.lanes.get_mut(LaneId::at(lane)) {
            lane.one_way_delay_us = Some(times.received_us.wrapping_sub(micros(sent_at)) as i32);
        }
    }

    // rfc9260:6.3.1-1 rfc9260:6.3.1-2
    fn sample_round_trip(&mut self, cx: &mut Context, id: LaneId, outcome: &AckOutcome) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        let Some(space) = self.spaces.get(lane.space) else { return };
        let sent_at = match cx.config.timers.rtt_sampling {
            RttSampling::OncePerRoundTrip | RttSampling::ThroughLoss => lane.timed.and_then(|timed| {
                let acked = timed.seq < space.flight.first()
                    || space.flight.get(timed.seq).is_some_and(|c| c.state == ChunkState::GapAcked);
                if !acked {
                    return None;
                }
                lane.timed = None;
                lane.timed_open.then_some(timed.sent_at)
            }),
            RttSampling::EveryAck => {
                outcome.lanes.get(id.row()).and_then(|l| l.newest_once).map(|(_, at)| at)
            }
        };
        let Some(sent_at) = sent_at else { return };
        let sample = cx.config.clock().elapsed(sent_at, cx.now);
        lane.newest_rtt = sample;
        lane.min_rtt = Some(lane.min_rtt.map_or(sample, |least| least.min(sample)));
        let (subflow, path) = (lane.subflow, lane.path);
        let Some(rtt) = lane.rtt_mut(&mut cx.paths) else { return };
        if cx.config.timers.rtt_sampling == RttSampling::EveryAck {
            rtt.sample_each(cx.now, sample);
        } else {
            rtt.sample(sample);
        }
        let (srtt, rto) = (rtt.srtt().unwrap_or_default(), rtt.rto());
        cx.stats.rtt_sum_ns += sample.as_nanos();
        cx.stats.rtt_samples += 1;
        if let Some(subflow) = self.subflows.get_mut(subflow) {
            subflow.counters.rtt_sum_ns += sample.as_nanos();
            subflow.counters.rtt_samples += 1;
        }
        cx.record(subflow, path, TraceEvent::Rtt { sample, srtt, rto });
    }

    /// User data of a lane that waits to be sent, bytes.
    #[inline(never)]
    fn queued_on(&self, id: LaneId) -> u64 {
        let mine = self.subflows.rows().iter().filter(|subflow| subflow.lane == id);
        mine.map(|subflow| subflow.out.queued_bytes() as u64).sum()
    }

    /// A packet of the lane left: its controller keeps a model of the path, and hears of every departure.
    #[inline(never)]
    pub(super) fn tell_model(&mut self, cx: &Context, id: LaneId, flight_before: u64) {
        let waiting = self.queued_on(id) > 0;
        let Some(lane) = self.lanes.get_mut(id) else { return };
        let dry = !waiting && !lane.loss.any();
        lane.controller.on_sent(cx.now, flight_before, lane.flight, dry);
    }

    fn update_lane(&mut self, cx: &mut Context, id: LaneId, outcome: &AckOutcome) {
        let paced = self.lanes.get(id).is_some_and(Lane::is_paced);
        let model = self.lanes.get(id).is_some_and(|lane| lane.controller.is_model());
        let waiting = if paced || model { self.queued_on(id) } else { 0 };
        let (Some(lane), Some(ack)) = (self.lanes.get_mut(id), outcome.lanes.get(id.row())) else { return };
        let Some(space) = self.spaces.get(lane.space) else { return };
        // A SACK that says nothing of this lane is no news to it, where lanes share a space.
        let mine = !space.shared || ack.acked_chunks > 0 || ack.reneged > 0 || ack.earliest_acked;
        if !mine {
            rare();
            return;
        }
        let (mut cumulative, mut gap, mut earliest_acked) = (ack.cumulative, ack.gap, ack.earliest_acked);
        let mut advanced = outcome.advanced;
        if ack.reneged > 0 {
            rare();
            lane.loss.reneged(&space.flight, id);
        }
        if space.shared {
            rare();
            // The lane's own earliest outstanding chunk stands for the cumulative point (the rule CUC).
            let before = lane.earliest;
            let earliest = lane.loss.earliest(&space.flight);
            lane.earliest = earliest;
            advanced = earliest > before;
            earliest_acked = advanced;
            if ack.highest_newly_acked.is_some_and(|highest| highest < earliest) {
                // No hole is left among the lane's own: for it everything new is cumulative.
                cumulative += gap;
                gap = 0;
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
        let in_flight = lane.flight;
        let flight_before = in_flight + waiting;
        lane.on_acked(ack);
        lane.awaiting_sack = false;
        if ack.acked_chunks > 0 {
            lane.single_packet = false;
        }
        // The packet that T3-rtx owes may still have to leave: a SACK without news does not take it away.
        // Nor does it one that waits for the pacer.
        let waits = paced && lane.loss.any();
        if !lane.single_packet && !waits {
            lane.cwnd_exempt_packet = false;
        }
        if ack.fast_retransmitted_acked {
            lane.limit_next_burst();
        }
        if ack.acked_chunks > 0 || advanced {
            let recovers = cx.config.congestion.fast_recovery != FastRecovery::Off;
            let reduced = self.ecn.as_ref().is_some_and(|ecn| ecn.has_reduced(id, first));
            // "MUST NOT advance the cwnd based on this 'abandoned' data chunk" (RFC 3758, 3.5, A2).
            let given_up = if cx.config.congestion.credit_given_up { ack.given_up.into() } else { 0 };
            let acked = Acked {
                cumulative,
                gap,
                earlier_gap: ack.earlier_gap,
                given_up,
                flight_before: flight_before + given_up,
                cumulative_advanced: advanced,
                in_recovery: recovers && lane.in_recovery(first) || reduced,
                all_acked: lane.unacked == 0,
                round_trip,
            };
            if lane.controller.wants_times() {
                rare();
                let timing = Timing {
                    now: cx.now,
                    // Of the newest that was sent once, whatever is timed for the RTO.
                    rtt: ack.newest_once.map(|(_, sent_at)| cx.now - sent_at),
                    srtt: lane.srtt(cx),
                    una: first,
                    max: space.flight.next(),
                    newest_sent: if model { ack.newest_sent(cx.now, lane.min_rtt) } else { None },
                    flight_before: in_flight,
                    flight: lane.flight,
                    starved: waiting == 0 && !lane.loss.any(),
                };
                lane.controller.on_timed_ack(&acked, &timing);
            } else {
                lane.controller.on_ack(&acked, Timing::default);
            }
        }
        // R2: "Whenever all outstanding data sent to an address have been acknowledged, turn off the T3-rtx timer".
        // R3: "Whenever a SACK chunk is received that acknowledges the DATA chunk with the earliest outstanding TSN
        // for that address, restart the T3-rtx timer". R4: a reneged chunk starts it when it does not run.
        if lane.unacked == 0 {
            lane.t3 = None;
        } else if earliest_acked || lane.t3.is_none() {
            lane.arm_t3(cx);
        }
        lane.open_burst_after_sack();
        let window = lane.controller.window();
        let changed = window != window_before;
        if changed {
            lane.cwnd_peak = lane.cwnd_peak.max(window);
        }
        // One lane needs nothing more than that where nobody records.
        if cx.trace.is_on() || changed && self.lanes.len() > 1 {
            self.record_window(cx, id);
        }
    }

    /// 7.2.4: missing reports, marking, and the cut.
    fn detect_losses(&mut self, cx: &mut Context, id: LaneId, outcome: &AckOutcome) {
        let (Some(lane), Some(ack)) = (self.lanes.get_mut(id), outcome.lanes.get(id.row())) else { return };
        let Some(space) = self.spaces.get_mut(lane.space) else { return };
        let rule = cx.config.congestion.fast_recovery;
        let (first, advanced) = if space.shared {
            (lane.earliest, ack.acked_chunks > 0)
        } else {
            (space.flight.first(), outcome.advanced)
        };
        let in_recovery = rule != FastRecovery::Off && lane.in_recovery(first);
        let limit = lane.loss.limit(
            &space.flight,
            ack.highest_newly_acked,
            outcome.highest_acked,
            in_recovery && advanced,
        );
        if let Some(limit) = limit {
            self.report_missing(cx, id, limit, in_recovery, ack);
        }
    }

    /// Reports everything below `limit` as missing that is: apart from the common way, which has nothing to report.
    #[inline(never)]
    fn report_missing(&mut self, cx: &mut Context, id: LaneId, limit: u64, in_recovery: bool, ack: &LaneAck) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        let Some(space) = self.spaces.get_mut(lane.space) else { return };
        let mut together = None;
        lane.loss.report(&mut space.flight, limit, |seq, chunk| {
            NewlyLost::note(&mut together, seq, chunk);
            count_lost(&mut cx.streams, chunk.fragment.stream);
            lane.controller.on_lost(cx.now, chunk.sent_at, chunk.size());
        });
        let Some(mut lost) = together else { return };
        (lost.newly, lost.again) = (Some(ack.delivered()), ack.again);
        self.after_losses(cx, id, &lost, in_recovery);
    }

    /// The peer's window for one subflow is what it announced less what is outstanding there.
    fn update_allowance(&mut self, cx: &Context, at: SpaceId, a_fwnd: u32) {
        let outstanding = self.outstanding(cx, Some(at));
        if let Some(space) = self.spaces.get_mut(at) {
            space.allowance.set(a_fwnd, outstanding);
        }
        if self.encoding == Encoding::Sf2007 {
            self.forget_peer_window(cx);
        }
    }
}

/// The paths of the lanes of which something was acknowledged for the first time.
#[inline]
fn paths_of_news<'a>(
    lanes: &'a Table<LaneId, Lane>,
    outcome: &'a AckOutcome,
) -> impl Iterator<Item = PathId> + 'a {
    let each = lanes.rows().iter().zip(&outcome.lanes);
    each.filter(|(_, ack)| ack.acked_chunks > 0).map(|(lane, _)| lane.path)
}

#[cfg(test)]
mod tests {
    use anabranch_base::{Rng, Trace};

    use super::*;
    use crate::config::Config;
    use crate::path::Path;

    /// FIDs may be opened in any order: spaces stand in that order, subflows have the numbers of their FIDs.
    #[test]
    fn the_trace_names_the_subflow_that_is_acknowledged() {
        let config = Config::rfc9260();
        let path = Path::new(&config, ([10, 0, 0, 1], 0).into());
        let rng = Rng::stream(1, "test", "acknowledgement").secret();
        let mut cx = Context::new(0, std::sync::Arc::new(config), path, rng);
        cx.trace = Trace::on();
        let mut sender = Sender::new(&mut cx, Tsn::new(1));
        for (fid, row) in [(3, 1), (1, 2)] {
            let at = sender.add_space(fid);
            assert_eq!(at.get(), row);
            let (nothing, windows) = (Tsn::new(0).sub(1), Windows::default());
            sender
                .on_acknowledgement(&mut cx, at, nothing, windows, GapList::all([].into_iter()), None)
                .unwrap();
            let heard =
                cx.trace.drain().filter(|record| matches!(record.event, TraceEvent::AckReceived { .. }));
            assert_eq!(heard.map(|record| record.subflow).collect::<Vec<_>>(), [fid]);
        }
    }
}
