//! What follows when chunks are found lost, by a SACK or because of the time: flight, windows and recovery (RFC 9260, 7.2.4).

use anabranch_base::{Ecn, Instant, TraceEvent};
use anabranch_transport::congestion::{Base, Congestion};

use super::Sender;
use super::coupling::Lost;
use super::flight::{Counted, SentChunk};
use super::lane::Fall;
use super::tables::Scope;
use crate::config::{FastRecovery, RttSampling};
use crate::context::Context;
use crate::ids::{LaneId, SpaceId};
use crate::stats::count_lost;

/// Chunks that were found lost together.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewlyLost {
    /// What leaves the flight.
    pub(super) all: Counted,
    /// The first and the last of them.
    pub(super) earliest: u64,
    pub(super) highest: u64,
    /// What the SACK that showed it has acknowledged, bytes of the flight; `None` where time has shown it.
    pub(super) newly: Option<u64>,
    /// What of that had been acknowledged and taken back before, bytes.
    pub(super) again: u32,
    /// When the latest of them left that had left before.
    pub(super) resent_at: Option<Instant>,
}

impl NewlyLost {
    /// One chunk; what leaves the flight with it is still to be added.
    pub(super) fn only(seq: u64) -> Self {
        Self { all: Counted::default(), earliest: seq, highest: seq, newly: None, again: 0, resent_at: None }
    }

    /// Adds a chunk to those that were found lost together, in the order of their numbers.
    pub(super) fn note(together: &mut Option<Self>, seq: u64, chunk: &SentChunk) {
        let lost = together.get_or_insert_with(|| Self::only(seq));
        lost.all.add(chunk);
        lost.highest = seq;
        if chunk.transmissions > 1 {
            lost.resent_at = lost.resent_at.max(Some(chunk.sent_at));
        }
    }
}

impl Sender {
    /// Chunks were found lost by a SACK, or because of the time: what that means for flight, windows and recovery.
    // rfc9260:6.3.1-5 rfc9260:7.2.4-4 rfc9260:7.2.4-5
    pub(super) fn after_losses(&mut self, cx: &mut Context, id: LaneId, lost: &NewlyLost, in_recovery: bool) {
        let &NewlyLost { all, earliest, highest, newly, again, resent_at } = lost;
        let rule = cx.config.congestion.fast_recovery;
        let Some(lane) = self.tables.lanes.get(id) else { return };
        // RecoverFS has what the SACK acknowledges, too (RFC 9937, 6.2): prr_delivered begins with it.
        let mut fall = Fall { prior: lane.in_flight.bytes() + newly.unwrap_or(0), most: lane.window.cwnd() };
        self.lose(cx, id, all);
        let Some(Scope { lane, space, counters }) = self.tables.scope(id) else { return };
        let sent_at = space.flight.get(highest).map_or(cx.now, |chunk| chunk.sent_at);
        let (subflow, path) = (lane.subflow(), lane.path());
        cx.stats.fast_retransmits = cx.stats.fast_retransmits.saturating_add(1);
        if let Some(counters) = counters {
            counters.fast_retransmits = counters.fast_retransmits.saturating_add(1);
        }
        // "The loss of a retransmission ... should be taken as two indications of congestion" (RFC 5681, 4.3): what left after T3-rtx has expired,
        // while the window grows from one packet, and is lost speaks of the network since then. In Fast Recovery the window does not grow.
        let lost_again = cx.config.congestion.lost_again_cuts
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
        // with every SACK that marks.
        let packet = cut || rule != FastRecovery::UntilExit;
        lane.permits.found_lost(packet, cx.config.emulation.hold_after_fast_retransmit);
        if cut {
            if fall.prior > fall.most {
                // What the peer has taken back is in flight again, and no window has let it leave.
                let taken_back: u64 = space.flight.taken_back(id, true).map(|(_, chunk)| chunk.size()).sum();
                fall.most = fall.most.max(fall.prior.saturating_sub(taken_back + u64::from(again)));
            }
            // "reduced only once in response to a series of dropped and/or CE packets from a single window of data" (RFC 3168, 6.1.2).
            // A mark of L4S stands for less than a loss, and a model counts both.
            let once = cx.ect == Ecn::Ect0 && !lane.window.is_model();
            let reduced = self.ecn.has_reduced(id, highest);
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
            // 6.3.1, C5: nothing sent before a retransmission is timed any more.
            if cx.config.timers.rtt_sampling != RttSampling::ThroughLoss {
                lane.round_trip.stop_timing();
            }
            lane.open_burst();
            cx.stats.congestion_events = cx.stats.congestion_events.saturating_add(1);
        }
        let event = Congestion::FastRetransmit(Base::CWND);
        self.coupling.couple_loss(&mut self.tables, cx, id, &Lost { cut, sent_at, event });
        cx.record(subflow, path, TraceEvent::FastRetransmit { seq: earliest });
        self.coupling.record_window(&mut self.tables, cx, id);
    }

    /// Chunks of a lane were found lost, or are taken for it, whatever has said so.
    pub(super) fn lose(&mut self, cx: &Context, id: LaneId, lost: Counted) {
        if let Some(lane) = self.tables.lanes.get_mut(id) {
            lane.loss.count_more(lost.chunks);
        }
        self.take_out_of_flight(cx, id, lost);
    }

    /// Chunks of a lane are marked to leave again: "marked for retransmission" is not in flight any more, and is charged again when
    /// it leaves: 6.2.1 C, "add the data size of those chunks to the rwnd". Its memory is kept all the same, and other lanes must
    /// not fill its room with new data. Nothing else takes what is to leave again out of a flight; what is given up is
    /// "finally acked" (RFC 3758, 3.5, A2), and the peer's next window speaks of that.
    #[inline(never)]
    pub(super) fn take_out_of_flight(&mut self, cx: &Context, id: LaneId, marked: Counted) {
        let Some(lane) = self.tables.lanes.get_mut(id) else { return };
        lane.in_flight.marked_lost(marked);
        let freed = marked.charged(cx.config.emulation.rwnd_counts_headers);
        if let Some(space) = self.tables.spaces.get_mut(lane.space()) {
            space.allowance.give_back(freed);
        }
        self.peer.give_back(freed, self.buffer.retention_left(&self.tables, cx));
    }

    /// Chunks that were given up in flight and turn out to be lost: the window shrinks as if they had to be sent again (RFC 3758, 3.5,
    /// F5).
    // rfc3758:3.5-20
    pub(super) fn review_watched(&mut self, cx: &mut Context, at: SpaceId) {
        let reports = cx.config.congestion.fast_retransmit_threshold;
        let (Some(special), Some(space)) = (&mut self.special, self.tables.spaces.get(at)) else { return };
        let mut cut = Vec::new();
        for (id, seq) in special.reliability.watched_lost(at, &space.flight, &self.outcome, reports) {
            let Some(lane) = self.tables.lanes.get_mut(id) else { continue };
            lane.loss.count_more(1);
            if let Some(chunk) = self.tables.spaces.get(at).and_then(|space| space.flight.get(seq)) {
                count_lost(&mut cx.streams, chunk.fragment.stream);
            }
            // Those of one SACK are one loss to the window.
            if cut.contains(&id) {
                continue;
            }
            cut.push(id);
            let first = self.tables.spaces.get(at).map_or(0, |space| lane.loss.first(&space.flight));
            let recovers =
                cx.config.congestion.fast_recovery != FastRecovery::Off && lane.recovery.is_at(first);
            self.after_losses(cx, id, &NewlyLost::only(seq), recovers);
        }
    }
}
