//! Losses found by time, and the timer besides T3-rtx: RACK-TLP (RFC 8985), and what KAME had of that kind.

use anabranch_base::{Duration, Instant};
use anabranch_transport::congestion::{Base, Congestion};
use anabranch_transport::rack::ProbeAnswer;
use anabranch_wire::Tsn;

use super::acknowledgement::Marked;
use super::{Association, State};
use crate::config::{FastRecovery, ImmediateBit};
use crate::lane::SecondTimer;
use crate::subflow::flight::{AckOutcome, SentChunk};
use crate::subflow::rack::Circumstances;

/// "If ... no RTT sample has been taken, the PTO is 1 second" (RFC 8985, 7.2).
const FIRST_PTO: Duration = Duration::from_secs(1);
/// Packets that KAME sent without a SACK (study 003, 6.4.1).
const KAME_BURST: u8 = 3;

/// Notes what is marked.
fn note(all: &mut Option<Marked>, seq: u64, chunk: &SentChunk) {
    let marked = all.get_or_insert(Marked { bytes: 0, chunks: 0, earliest: seq, highest: seq });
    marked.bytes += chunk.size();
    marked.chunks += 1;
    marked.highest = seq;
}

impl Association {
    /// Duplicate TSNs of a SACK: something arrived twice.
    pub(super) fn note_duplicates(&mut self, space_index: usize, duplicates: impl Iterator<Item = Tsn>) {
        let Some(space) = self.spaces.get(space_index) else { return };
        for tsn in duplicates {
            // `unwrap_ack` gives one past the TSN.
            let Some(seq) = space.unwrap_ack(tsn).and_then(|next| next.checked_sub(1)) else { continue };
            for lane in self.lanes.iter_mut().filter(|lane| usize::from(lane.space) == space_index) {
                if let Some(rack) = &mut lane.rack {
                    rack.duplicate(&space.flight, seq);
                }
            }
        }
    }

    /// RACK, with a SACK or when its timer has expired.
    pub(super) fn detect_by_time(&mut self, now: Instant, index: usize, outcome: Option<&AckOutcome>) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let Some(space) = self.spaces.get_mut(usize::from(lane.space)) else { return };
        let first = if space.shared { lane.earliest } else { space.flight.first() };
        let in_recovery = self.config.fast_recovery != FastRecovery::Off && lane.in_recovery(first);
        let sent =
            if space.shared { lane.loss.own_len() } else { space.flight.next() - space.flight.first() };
        let circumstances = Circumstances {
            now,
            min_rtt: lane.min_rtt,
            srtt: lane.rtt.srtt(),
            in_recovery,
            acked_above: sent.saturating_sub(u64::from(lane.unacked)),
        };
        let Some(rack) = &mut lane.rack else { return };
        let ack = outcome.and_then(|outcome| outcome.lanes.get(index));
        let mut probe = ProbeAnswer::Open;
        if let Some(ack) = ack {
            rack.delivered(&circumstances, ack);
            probe = rack.probe_answered(&space.flight);
            if lane.recovery_exit.is_some() && !in_recovery && ack.earliest_acked {
                lane.recovery_exit = None;
                rack.recovered();
            }
        }
        let highest = ack.and_then(|ack| ack.highest_newly_acked);
        let mut marked = None;
        let again = rack.detect(&mut space.flight, &mut lane.loss, &circumstances, highest, |seq, chunk| {
            note(&mut marked, seq, chunk);
        });
        lane.second = again.map(|at| (at.max(now + lane.clock.granularity()), SecondTimer::Reordering));
        if let Some(marked) = marked {
            self.after_marking(now, index, &marked, in_recovery);
        } else if probe == ProbeAnswer::Repaired && !in_recovery {
            self.cut_after_probe(now, index);
        }
        self.arm_second_timer(now, index);
    }

    /// The probe repaired a loss that nothing else has shown: the window shrinks as if it had been seen.
    fn cut_after_probe(&mut self, now: Instant, index: usize) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        lane.controller.on_congestion(Congestion::FastRetransmit(Base::CWND));
        lane.open_burst();
        self.stats.congestion_events += 1;
        self.record_window(now, index);
    }

    /// After a SACK: the timer for a probe, or for KAME's early fast retransmit.
    pub(super) fn arm_second_timer(&mut self, now: Instant, index: usize) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        if let Some(least) = self.config.early_fast_retransmit {
            let wait = least.max(lane.rtt.srtt_and_variation());
            let running = lane.second.unwrap_or((now + wait, SecondTimer::EarlyRetransmit));
            lane.second = lane.loss.suspects_any().then_some(running);
            return;
        }
        if !self.config.tail_loss_probe || lane.second.is_some_and(|(_, kind)| kind != SecondTimer::Probe) {
            return;
        }
        lane.second = None;
        let Some(space) = self.spaces.get(usize::from(lane.space)) else { return };
        let first = if space.shared { lane.earliest } else { space.flight.first() };
        let probing = lane.rack.as_ref().is_none_or(|rack| rack.probes());
        let recovering = lane.loss.any() || lane.in_recovery(first) || lane.single_packet;
        if lane.flight_chunks == 0 || probing || recovering {
            return;
        }
        // "PTO = 2 * SRTT. If FlightSize is one segment: PTO += TLP.max_ack_delay" (7.2).
        let mut wait = lane.rtt.srtt().map_or(FIRST_PTO, |srtt| srtt * 2);
        // What asks for a SACK at once is not waited for.
        let asks = self.state == State::ShutdownPending && self.config.immediate_bit != ImmediateBit::Off;
        if lane.flight_chunks == 1 && !asks {
            wait += self.config.sack_delay;
        }
        let at = now + wait;
        if lane.t3.is_some_and(|t3| at < t3) {
            lane.second = Some((at, SecondTimer::Probe));
        }
    }

    /// A new chunk has left.
    #[inline(never)]
    pub(super) fn sent_with_second_timer(&mut self, now: Instant, subflow: usize, first_of_all: bool) {
        let Some(index) = self.subflows.get(subflow).map(|s| usize::from(s.lane)) else { return };
        if self.config.tail_loss_probe {
            self.arm_second_timer(now, index);
        } else if first_of_all {
            if let Some(lane) = self.lanes.get_mut(index) {
                lane.second = Some((now + self.config.rto_min * 2, SecondTimer::Burst));
            }
        }
    }

    /// The timer besides T3-rtx expired.
    pub(super) fn on_second_timer(&mut self, now: Instant, index: usize, kind: SecondTimer) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        lane.second = None;
        match kind {
            SecondTimer::Reordering => self.detect_by_time(now, index, None),
            SecondTimer::Probe => self.probe_tail(now, index),
            SecondTimer::EarlyRetransmit => self.retransmit_early(now, index),
            SecondTimer::Burst => {
                let Some(space) = self.spaces.get(usize::from(lane.space)) else { return };
                if space.flight.first() == 0 && !space.flight.is_empty() {
                    lane.free_new = KAME_BURST;
                }
            }
        }
    }

    /// TLP_send_probe (RFC 8985, 7.3): new data if there is some, else the last chunk once more.
    fn probe_tail(&mut self, now: Instant, index: usize) {
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let Some(space) = self.spaces.get_mut(usize::from(lane.space)) else { return };
        let Some(rack) = &mut lane.rack else { return };
        let waits = self.subflows.iter().any(|s| usize::from(s.lane) == index && !s.out.is_empty());
        if waits && self.peer_rwnd >= u64::from(self.config.mtu) {
            rack.probe(&space.flight, None);
            lane.free_new = 1;
        } else {
            let Some(seq) = lane.loss.newest_in_flight(&space.flight) else { return };
            rack.probe(&space.flight, Some(seq));
            let Some(chunk) = lane.loss.mark(&mut space.flight, seq) else { return };
            chunk.probe = true;
            let bytes = chunk.size();
            lane.on_lost(bytes, 1);
            lane.free_packet = true;
            let freed = lane.charged(bytes, 1, self.config.rwnd_counts_headers);
            space.allowance.give_back(freed);
            self.peer_rwnd += freed;
        }
        // "When the PTO fires ... rearm the RTO timer".
        lane.arm_t3(now);
    }

    /// KAME: what was reported missing and is old enough goes again.
    fn retransmit_early(&mut self, now: Instant, index: usize) {
        let Some(least) = self.config.early_fast_retransmit else { return };
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let Some(space) = self.spaces.get_mut(usize::from(lane.space)) else { return };
        let first = if space.shared { lane.earliest } else { space.flight.first() };
        let in_recovery = self.config.fast_recovery != FastRecovery::Off && lane.in_recovery(first);
        let sent = now - least.max(lane.rtt.srtt_and_variation());
        let mut marked = None;
        for seq in lane.loss.suspects_sent_by(&space.flight, sent) {
            if let Some(chunk) = lane.loss.mark(&mut space.flight, seq) {
                note(&mut marked, seq, chunk);
            }
        }
        if let Some(marked) = marked {
            self.after_marking(now, index, &marked, in_recovery);
        }
    }
}
