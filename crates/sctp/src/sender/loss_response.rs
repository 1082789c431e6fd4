//! Response of a lane to chunks that are found lost, by a SACK or because of the time: flight, window and recovery (RFC 9260, 7.2.4).

use anabranch_base::Ecn;
use anabranch_transport::congestion::{Base, Congestion};

use super::coupling::Lost;
use super::ecn::EcnSender;
use super::effect::{Effect, NewlyLost};
use super::flight::{AckOutcome, Counted, LaneAck, NotThere};
use super::lane::Fall;
use super::tables::Scope;
use crate::config::{FastRecovery, RttSampling};
use crate::context::Context;
use crate::ids::Id;
use crate::stats::count_lost;

impl Scope<'_> {
    /// Chunks of the lane are marked to leave again: "marked for retransmission" is not in flight any more, and is charged again when
    /// it leaves: 6.2.1 C, "add the data size of those chunks to the rwnd". Its memory is kept all the same, and other lanes must
    /// not fill its room with new data. No other function takes chunks that are to leave again out of a flight; an abandoned chunk is
    /// "finally acked" (RFC 3758, 3.5, A2), and the peer's next window counts it. Returns the bytes that are free now.
    pub(super) fn take_out_of_flight(&mut self, cx: &Context, marked: Counted) -> u64 {
        self.lane.in_flight.marked_lost(marked);
        let freed = marked.charged(cx.env.config().emulation.rwnd_counts_headers);
        self.space.allowance.give_back(freed);
        freed
    }

    /// Chunks were found lost, or are taken for lost, for any reason. Returns the bytes that are free now.
    pub(super) fn lose(&mut self, cx: &Context, lost: Counted) -> u64 {
        self.lane.loss.count_more(lost.chunks);
        self.take_out_of_flight(cx, lost)
    }

    /// Chunks were found lost by a SACK, or by time: the consequences for flight, windows and recovery.
    // rfc9260:6.3.1-5 rfc9260:7.2.4-4 rfc9260:7.2.4-5
    #[inline(never)]
    pub(super) fn after_losses(
        &mut self,
        cx: &mut Context,
        ecn: &EcnSender,
        lost: &NewlyLost,
        in_recovery: bool,
    ) -> Effect {
        let &NewlyLost { all, earliest, highest, newly, again, resent_at } = lost;
        let rule = cx.env.config().congestion.fast_recovery;
        let lane = &*self.lane;
        // RecoverFS includes the bytes that the SACK acknowledges (RFC 9937, 6.2): prr_delivered begins with them.
        let mut fall = Fall { prior: lane.in_flight.bytes() + newly.unwrap_or(0), most: lane.window.cwnd() };
        let freed = self.lose(cx, all);
        let Self { lane, space, counters, .. } = self;
        let sent_at = space.flight.get(highest).map_or(cx.env.now(), |chunk| chunk.sent_at);
        cx.report.stats.fast_retransmits = cx.report.stats.fast_retransmits.saturating_add(1);
        if let Some(counters) = counters {
            counters.fast_retransmits = counters.fast_retransmits.saturating_add(1);
        }
        // "The loss of a retransmission ... should be taken as two indications of congestion" (RFC 5681, 4.3): the loss of a chunk sent
        // after T3-rtx, while the window grows from one packet, is news of the network. In Fast Recovery the window does not grow.
        let lost_again = cx.env.config().congestion.lost_again_cuts
            && lane.recovery.is_after_timeout()
            && !lane.window.is_model()
            && lane.recovery.since().is_some_and(|since| resent_at > Some(since));
        let cut = match rule {
            FastRecovery::Off => true,
            FastRecovery::UntilExit => {
                let first = lane.loss.first(&space.flight);
                lost_again
                    || !(in_recovery
                        || lane.recovery.is_after_timeout() && lane.recovery.is_below_exit(first))
            }
            FastRecovery::PerWindow => !lane.recovery.is_below_exit(highest),
        };
        // "Zero window probing does not affect the calculation of cwnd" (6.1 A).
        let probe = space.probe.in_flight && all.chunks == 1 && earliest == space.flight.first();
        let cut = cut && !probe;
        // Step 3, "If not in Fast Recovery ... Retransmit those K DATA chunks in a single packet"; ns-2 does so
        // for every SACK that marks chunks.
        let packet = cut || rule != FastRecovery::UntilExit;
        lane.permits.found_lost(packet, cx.env.config().emulation.hold_after_fast_retransmit);
        if cut {
            if fall.prior > fall.most {
                // Chunks that the peer has taken back are in flight again, though no window has let them leave.
                let taken_back: u64 =
                    space.flight.taken_back(self.id, true).map(|(_, chunk)| chunk.size()).sum();
                fall.most = fall.most.max(fall.prior.saturating_sub(taken_back + u64::from(again)));
            }
            // "reduced only once in response to a series of dropped and/or CE packets from a single window of data" (RFC 3168, 6.1.2).
            // A mark of L4S stands for less than a loss, and a model counts both.
            let once = cx.env.ect() == Ecn::Ect0 && !lane.window.is_model();
            let reduced = ecn.has_reduced(self.id, highest);
            if lost_again {
                lane.window.cut(Congestion::LostAgain(Base::CWND));
            } else if !(once && reduced) {
                lane.window.cut(Congestion::FastRetransmit(Base::CWND));
            }
            let exit = lane.loss.newest(&space.flight);
            lane.begin_recovery(cx, exit, Some(fall));
            if newly.is_none() {
                lane.begin_reduction();
            }
            // 6.3.1, C5: no chunk sent before a retransmission is timed any more.
            if cx.env.config().timers.rtt_sampling != RttSampling::ThroughLoss {
                lane.round_trip.stop_timing();
            }
            lane.open_burst();
            cx.report.stats.congestion_events = cx.report.stats.congestion_events.saturating_add(1);
        }
        let event = Congestion::FastRetransmit(Base::CWND);
        let lost = Some((Lost { cut, sent_at, event }, earliest));
        Effect { freed: Some(freed), lost, ..Effect::default() }
    }

    /// 7.2.4: missing reports, marking, and the cut.
    pub(super) fn detect_losses(
        &mut self,
        cx: &mut Context,
        ecn: &EcnSender,
        outcome: &AckOutcome,
    ) -> Option<Effect> {
        let ack = outcome.lanes.get(self.id.row())?;
        let Self { lane, space, .. } = self;
        let rule = cx.env.config().congestion.fast_recovery;
        let first = lane.loss.first(&space.flight);
        let advanced = if space.shared { ack.acked_chunks > 0 } else { outcome.advanced };
        let in_recovery = rule != FastRecovery::Off && lane.recovery.is_at(first);
        let limit = lane.loss.limit(
            &space.flight,
            ack.highest_newly_acked,
            outcome.highest_acked,
            in_recovery && advanced,
        );
        self.report_missing(cx, ecn, limit?, in_recovery, ack)
    }

    /// Counts missing reports for chunks below `limit`: apart from the common way, which has none to count.
    #[inline(never)]
    fn report_missing(
        &mut self,
        cx: &mut Context,
        ecn: &EcnSender,
        limit: u64,
        in_recovery: bool,
        ack: &LaneAck,
    ) -> Option<Effect> {
        let Self { lane, space, .. } = self;
        let mut together = None;
        lane.loss.report(&mut space.flight, limit, |seq, chunk| {
            NewlyLost::note(&mut together, seq, chunk);
            count_lost(&mut cx.report.streams, chunk.fragment.stream);
            lane.window.chunk_lost(cx.env.now(), chunk.sent_at, chunk.size());
        });
        let mut lost = together?;
        (lost.newly, lost.again) = (Some(ack.delivered()), ack.again);
        Some(self.after_losses(cx, ecn, &lost, in_recovery))
    }

    /// Chunks that were acknowledged and that the peer has dropped leave again at once; T3-rtx runs ([`Scope::acknowledge`]). No later
    /// SACK may show them lost, as a peer in SHUTDOWN-SENT has little to acknowledge. It is no sign of congestion: the network
    /// has delivered them. As a fast retransmission that happens once to each chunk, so a peer gets no more by taking back again and again.
    #[cold]
    #[inline(never)]
    pub(super) fn send_what_is_not_there(&mut self, cx: &Context, what: NotThere) -> Effect {
        let Self { lane, space, .. } = self;
        let mine = space.flight.taken_back(self.id, what == NotThere::All);
        let mine: Vec<u64> =
            mine.filter(|(_, chunk)| !chunk.fast_retransmitted).map(|(seq, _)| seq).collect();
        let mut all = Counted::default();
        for seq in mine {
            if let Some(chunk) = lane.loss.mark(&mut space.flight, seq) {
                all.add(chunk);
            }
        }
        Effect::freed(self.take_out_of_flight(cx, all))
    }

    /// Marks all unacknowledged chunks of a lane for retransmission. The caller gives up messages that must not leave again
    /// (`Messages::after_marking`).
    // rfc9260:6.3.3-2
    pub(super) fn mark_all_lost(&mut self, cx: &mut Context) -> u64 {
        let Self { lane, space, .. } = self;
        let mut all = Counted::default();
        lane.loss.mark_lane(&mut space.flight, self.id, |chunk| {
            all.add(chunk);
            count_lost(&mut cx.report.streams, chunk.fragment.stream);
        });
        self.lose(cx, all)
    }
}
