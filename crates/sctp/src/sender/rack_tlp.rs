//! Losses found by time, and the timer besides T3-rtx: RACK-TLP (RFC 8985), and the early fast retransmit and bursts of KAME.

use anabranch_base::Duration;
use anabranch_transport::congestion::{Base, Congestion};
use anabranch_transport::rack::ProbeAnswer;
use anabranch_transport::rtt::RttEstimator;

use super::abandonment::Special;
use super::ecn::EcnSender;
use super::effect::{Effect, NewlyLost};
use super::flight::{Counted, LaneAck, SentChunk};
use super::lane::LossTimer;
use super::lane::rack::{Circumstances, Rack};
use super::path_mtu::{LostAgain, room_of};
use super::tables::Scope;
use crate::config::{FastRecovery, ImmediateBit};
use crate::context::Context;
use crate::state::State;
use crate::stats::count_lost;

/// "If ... no RTT sample has been taken, the PTO is 1 second" (RFC 8985, 7.2).
const FIRST_PTO: Duration = Duration::from_secs(1);
/// Packets that KAME sent without a SACK (Hurtig et al. 2006, 6.4.1).
const KAME_BURST: u8 = 3;

/// A chunk sent so often and lost all the same may be too long for its path.
const LOST_AGAIN: u16 = 3;

impl Scope<'_> {
    /// Detects losses with RACK, after a SACK or when its timer has expired.
    pub(super) fn detect_by_time(
        &mut self,
        cx: &mut Context,
        ecn: &EcnSender,
        ack: Option<&LaneAck>,
    ) -> Option<Effect> {
        let Self { lane, space, .. } = self;
        let first = lane.loss.first(&space.flight);
        let in_recovery =
            cx.env.config().congestion.fast_recovery != FastRecovery::Off && lane.recovery.is_at(first);
        let sent =
            if space.shared { lane.loss.own_len() } else { space.flight.next() - space.flight.first() };
        let circumstances = Circumstances {
            now: cx.env.now(),
            min_rtt: lane.round_trip.min(),
            srtt: lane.srtt(cx),
            newest_rtt: lane.round_trip.newest(),
            in_recovery,
            acked_above: sent.saturating_sub(u64::from(lane.in_flight.unacked())),
        };
        let (header, path) = (cx.env.agreed().header_len(), lane.path());
        let rack = lane.rack_tlp.rack_mut()?;
        let mut probe = ProbeAnswer::Open;
        if let Some(ack) = ack {
            rack.delivered(&circumstances, ack);
            probe = rack.probe_answered(&space.flight);
            let waits = lane.recovery.is_after_timeout() && lane.recovery.is_below_exit(first);
            if lane.recovery.has_exit() && !in_recovery && !waits && ack.earliest_acked {
                lane.recovery.pass_exit();
                rack.recovered();
            }
        }
        let highest = ack.and_then(|ack| ack.highest_newly_acked);
        let (mut marked, mut lost_again) = (None, LostAgain::default());
        let again = rack.detect(&mut space.flight, &mut lane.loss, &circumstances, highest, |seq, chunk| {
            NewlyLost::note(&mut marked, seq, chunk);
            if chunk.transmissions >= LOST_AGAIN {
                lost_again.add(chunk, header, room_of(&cx.paths, path));
            }
            count_lost(&mut cx.report.streams, chunk.fragment.stream);
            lane.window.chunk_lost(cx.env.now(), chunk.sent_at, chunk.size());
        });
        let soonest = cx.env.now() + cx.env.config().clock().granularity();
        lane.rack_tlp.look_again(again.map(|at| at.max(soonest)));
        let mut effect = None;
        if let Some(mut marked) = marked {
            marked.newly = ack.map(LaneAck::delivered);
            marked.again = ack.map_or(0, |ack| ack.again);
            let lost = self.after_losses(cx, ecn, &marked, in_recovery);
            effect = Some(Effect { lost_again: lost_again.longest(), ..lost });
        } else if probe == ProbeAnswer::Repaired && !in_recovery {
            self.cut_after_probe(cx);
            effect = Some(Effect { window_changed: true, ..Effect::default() });
        }
        self.arm_loss_timer(cx);
        effect
    }

    /// The probe repaired a loss that no SACK has shown: the window is reduced as for any other loss.
    fn cut_after_probe(&mut self, cx: &mut Context) {
        let lane = &mut *self.lane;
        lane.window.cut(Congestion::FastRetransmit(Base::CWND));
        lane.open_burst();
        cx.report.stats.congestion_events = cx.report.stats.congestion_events.saturating_add(1);
    }

    /// After a SACK: the timer for a probe, or for KAME's early fast retransmit.
    pub(super) fn arm_loss_timer(&mut self, cx: &Context) {
        let Self { lane, space, .. } = self;
        if let Some(least) = cx.env.config().emulation.early_fast_retransmit {
            let variation = lane.rtt(&cx.paths).map_or(Duration::ZERO, RttEstimator::srtt_and_variation);
            let wait = least.max(variation);
            lane.rack_tlp.retransmit_early(cx.env.now() + wait, lane.loss.suspects_any());
            return;
        }
        if !cx.env.config().congestion.tail_loss_probe || lane.rack_tlp.waits_for_more_than_a_probe() {
            return;
        }
        lane.rack_tlp.stop();
        let first = lane.loss.first(&space.flight);
        let probing = lane.rack_tlp.rack().is_none_or(Rack::probes);
        let recovering = lane.loss.any() || lane.recovery.is_at(first) || lane.permits.is_single_packet();
        // A closed window is probed by its own timers.
        let probing = probing || space.probe.in_flight;
        if lane.in_flight.chunks() == 0 || probing || recovering {
            return;
        }
        // "PTO = 2 * SRTT. If FlightSize is one segment: PTO += TLP.max_ack_delay" (RFC 8985, 7.2).
        let mut wait = lane.srtt(cx).map_or(FIRST_PTO, |srtt| srtt * 2);
        // The SACK of a chunk that asks for one at once is not waited for.
        let asks = cx.env.state() == State::ShutdownPending
            && cx.env.config().sack.immediate_bit != ImmediateBit::Off;
        if lane.in_flight.chunks() == 1 && !asks {
            wait += cx.env.config().sack.delay;
        }
        let at = cx.env.now() + wait;
        if lane.t3().is_some_and(|t3| at < t3) {
            lane.rack_tlp.start(at, LossTimer::Probe);
        }
    }

    /// A new chunk has left.
    #[inline(never)]
    pub(super) fn sent_with_loss_timer(&mut self, cx: &Context, first_of_all: bool) {
        if cx.env.config().congestion.tail_loss_probe {
            self.arm_loss_timer(cx);
        } else if first_of_all {
            self.lane.rack_tlp.start(cx.env.now() + cx.env.config().timers.rto_min * 2, LossTimer::Burst);
        }
    }

    /// TLP_send_probe (RFC 8985, 7.3): new data if there is any (`with_new`), else the last chunk once more.
    pub(super) fn probe_tail(&mut self, cx: &Context, with_new: bool, special: Option<&Special>) -> Effect {
        let Self { lane, space, .. } = self;
        let Some(rack) = lane.rack_tlp.rack_mut() else { return Effect::default() };
        if with_new {
            rack.probe(&space.flight, None);
            lane.permits.probe_with_new(1);
        } else {
            let Some(seq) = lane.loss.newest_in_flight(&space.flight) else { return Effect::default() };
            // A chunk that must not be sent again cannot be the probe. T3-rtx runs on as it was: nothing has left.
            let forbidden = |chunk: &SentChunk| {
                special.is_some_and(|all| {
                    all.fates.forbids(chunk.fragment.ticket, cx.env.now(), chunk.transmissions)
                })
            };
            if space.flight.get(seq).is_some_and(forbidden) {
                return Effect::default();
            }
            rack.probe(&space.flight, Some(seq));
            let Some(chunk) = lane.loss.mark(&mut space.flight, seq) else { return Effect::default() };
            chunk.probe = true;
            let one = Counted::one(chunk);
            lane.permits.probe_with_marked();
            lane.arm_t3(cx);
            return Effect::freed(self.take_out_of_flight(cx, one));
        }
        // "When the PTO fires ... rearm the RTO timer".
        lane.arm_t3(cx);
        Effect::default()
    }

    /// KAME: chunks that were reported missing and are old enough leave again.
    pub(super) fn retransmit_early(&mut self, cx: &mut Context, ecn: &EcnSender) -> Option<Effect> {
        let least = cx.env.config().emulation.early_fast_retransmit?;
        let Self { lane, space, .. } = self;
        let first = lane.loss.first(&space.flight);
        let in_recovery =
            cx.env.config().congestion.fast_recovery != FastRecovery::Off && lane.recovery.is_at(first);
        let variation = lane.rtt(&cx.paths).map_or(Duration::ZERO, RttEstimator::srtt_and_variation);
        let sent = cx.env.now() - least.max(variation);
        let mut marked = None;
        for seq in lane.loss.suspects_sent_by(&space.flight, sent) {
            if let Some(chunk) = lane.loss.mark(&mut space.flight, seq) {
                NewlyLost::note(&mut marked, seq, chunk);
                count_lost(&mut cx.report.streams, chunk.fragment.stream);
            }
        }
        marked.map(|marked| self.after_losses(cx, ecn, &marked, in_recovery))
    }

    /// KAME: packets leave without a SACK, if nothing was acknowledged yet.
    pub(super) fn begin_burst(&mut self) {
        if self.space.flight.first() == 0 && !self.space.flight.is_empty() {
            self.lane.permits.probe_with_new(KAME_BURST);
        }
    }
}
