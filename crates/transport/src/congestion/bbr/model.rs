//! The model of the path: rate, round trip, aggregation, and the bounds that losses teach (draft-ietf-ccwg-bbr-05, 5.5).

use anabranch_base::{Duration, Instant};

use super::constants::{
    BETA, EXTRA_ACKED_ROUNDS, HEADROOM, MIN_PIPE, MIN_RTT_FILTER, NONE, PROBE_RTT_INTERVAL,
};
use super::noise::Noise;
use crate::delivery::{Lost, Sample};

#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Round trips counted by packets (draft-ietf-ccwg-bbr-05, 5.5.1).
    pub(super) round_count: u64,
    pub(super) round_start: bool,
    pub(super) next_round_delivered: u64,
    /// `max_bw_filter`: of this cycle of probing and of the last one; bytes a second.
    max_bw: [f64; 2],
    pub(super) bw: f64,
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: u64,
    pub(super) inflight_longterm: u64,
    pub(super) min_rtt: Option<Duration>,
    min_rtt_stamp: Instant,
    probe_rtt_min: Option<Duration>,
    pub(super) probe_rtt_stamp: Instant,
    pub(super) probe_rtt_expired: bool,
    /// 1-round-trip maxima.
    pub(super) bw_latest: f64,
    inflight_latest: u64,
    pub(super) loss_round_start: bool,
    pub(super) loss_round_delivered: u64,
    pub(super) loss_in_round: bool,
    /// Bytes lost and delivered in the present round of losses.
    round_lost: u64,
    round_delivered: u64,
    /// Sum and number of its round trips.
    round_rtt: (Duration, u64),
    /// Losses at any load.
    pub(super) noise: Noise,
    extra_since: Option<Instant>,
    extra_delivered: u64,
    /// Maxima of aggregation, with the round of each: a window of rounds in two halves.
    extra: [(u64, u64); 2],
}

impl Model {
    pub(super) fn new(unit: u64) -> Self {
        Self {
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            max_bw: [0.0; 2],
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: NONE,
            inflight_longterm: NONE,
            min_rtt: None,
            min_rtt_stamp: Instant::ZERO,
            probe_rtt_min: None,
            probe_rtt_stamp: Instant::ZERO,
            probe_rtt_expired: false,
            bw_latest: 0.0,
            inflight_latest: 0,
            loss_round_start: false,
            loss_round_delivered: 0,
            loss_in_round: false,
            round_lost: 0,
            round_delivered: 0,
            round_rtt: (Duration::ZERO, 0),
            noise: Noise::new(unit),
            extra_since: None,
            extra_delivered: 0,
            extra: [(0, 0); 2],
        }
    }

    /// BBR.max_bw.
    pub(super) fn max_bw(&self) -> f64 {
        let [now, before] = self.max_bw;
        now.max(before)
    }

    /// The rate at which packets leave so that `bw` arrives.
    pub(super) fn send_bw(&self) -> f64 {
        self.noise.sent_for(self.bw)
    }

    /// The rate at which packets leave so that the rate of the long term, `max_bw`, arrives.
    pub(super) fn send_max_bw(&self) -> f64 {
        self.noise.sent_for(self.max_bw())
    }

    /// "BBRUpdateRound": whether a round trip has ended.
    pub(super) fn update_round(&mut self, sample: &Sample, delivered: u64) -> bool {
        self.round_start = sample.known && sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round(delivered);
            self.round_count += 1;
        }
        self.round_start
    }

    /// "BBRStartRound".
    pub(super) fn start_round(&mut self, delivered: u64) {
        self.next_round_delivered = delivered;
    }

    /// "BBRUpdateMaxBw": samples of an application that had too little to send count where they are larger.
    pub(super) fn update_max_bw(&mut self, sample: &Sample) {
        if sample.rate > 0.0 && (sample.rate >= self.max_bw() || !sample.app_limited) {
            let [now, _] = &mut self.max_bw;
            *now = now.max(sample.rate);
        }
    }

    /// "BBRAdvanceMaxBwFilter".
    pub(super) fn advance_max_bw(&mut self) {
        let [now, before] = &mut self.max_bw;
        if *now > 0.0 {
            *before = std::mem::replace(now, 0.0);
        }
    }

    /// "BBRBDPMultiple"; `None` while no round trip is known.
    pub(super) fn bdp_multiple(&self, bw: f64, gain: f64) -> Option<u64> {
        Some((bw * self.min_rtt?.as_secs_f64() * gain) as u64)
    }

    /// "BBRInflightWithHeadroom".
    pub(super) fn inflight_with_headroom(&self, unit: u64) -> u64 {
        if self.inflight_longterm == NONE {
            return NONE;
        }
        let headroom = ((self.inflight_longterm as f64 * HEADROOM) as u64).max(unit);
        self.inflight_longterm.saturating_sub(headroom).max(MIN_PIPE * unit)
    }

    /// "BBRUpdateLatestDeliverySignals".
    pub(super) fn update_latest_signals(&mut self, sample: &Sample, delivered: u64) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.round_delivered = self.round_delivered.saturating_add(sample.newly);
        if let Some(rtt) = sample.rtt {
            self.round_rtt = (self.round_rtt.0 + rtt, self.round_rtt.1 + 1);
        }
        if sample.known && sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = delivered;
            self.loss_round_start = true;
        }
    }

    /// "BBRAdvanceLatestDeliverySignals".
    pub(super) fn advance_latest_signals(&mut self, sample: &Sample) {
        if self.loss_round_start {
            self.bw_latest = sample.rate;
            self.inflight_latest = sample.delivered;
            (self.round_lost, self.round_delivered) = (0, 0);
            self.round_rtt = (Duration::ZERO, 0);
        }
    }

    /// A round of losses has ended: whether the queue was empty on the average.
    pub(super) fn round_was_quiet(&self) -> bool {
        let (sum, count) = self.round_rtt;
        let most = self.min_rtt.map_or(Duration::ZERO, |least| least * 11 / 10);
        count > 0 && sum / count <= most
    }

    /// Bytes lost and delivered in this round.
    pub(super) fn round_losses(&self) -> (u64, u64) {
        (self.round_lost, self.round_delivered)
    }

    /// Most that was delivered within a round trip, of this round.
    pub(super) fn inflight_latest(&self) -> u64 {
        self.inflight_latest
    }

    /// "BBRResetCongestionSignals".
    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0;
        (self.round_lost, self.round_delivered) = (0, 0);
    }

    /// "BBRResetShortTermModel".
    pub(super) fn reset_shortterm(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = NONE;
    }

    /// "BBRBoundBWForModel".
    pub(super) fn bound_bw(&mut self) {
        self.bw = self.max_bw().min(self.bw_shortterm);
    }

    pub(super) fn note_loss_bytes(&mut self, bytes: u64) {
        self.round_lost = self.round_lost.saturating_add(bytes);
    }

    /// "IsInflightTooHigh".
    pub(super) fn too_many_lost(&self, lost: u64, in_flight: u64) -> bool {
        lost as f64 > in_flight as f64 * self.noise.threshold(in_flight)
    }

    /// "BBRInflightAtLoss": in flight when losses passed the threshold, within the packet that was lost last.
    pub(super) fn inflight_at_loss(&self, lost: &Lost, size: u64) -> u64 {
        let thresh = self.noise.threshold(lost.in_flight);
        let before = lost.in_flight.saturating_sub(size) as f64;
        let lost_before = lost.lost.saturating_sub(size) as f64;
        let prefix = ((thresh * before - lost_before) / (1.0 - thresh)).max(0.0);
        (before + prefix) as u64
    }

    /// "BBRInitLowerBounds" and "BBRLossLowerBounds".
    pub(super) fn lower_bounds(&mut self, cwnd: u64) {
        let sent = self.round_lost.saturating_add(self.round_delivered);
        if !self.too_many_lost(self.round_lost, sent) {
            return;
        }
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == NONE {
            self.inflight_shortterm = cwnd;
        }
        self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max((BETA * self.inflight_shortterm as f64) as u64);
    }

    /// The bounds of the short term shrink to so large a part.
    pub(super) fn scale_shortterm(&mut self, cwnd: u64, part: f64) {
        self.bw_shortterm = self.bw_shortterm.min(self.max_bw()) * part;
        self.inflight_shortterm = (self.inflight_shortterm.min(cwnd) as f64 * part) as u64;
    }

    /// "BBRUpdateMinRTT". A sample no more than a hundredth above the least shows an empty queue as well as a lower one would: it
    /// confirms the least, and no `ProbeRTT` is needed to see it again.
    pub(super) fn update_min_rtt(&mut self, now: Instant, rtt: Option<Duration>) {
        self.probe_rtt_expired =
            self.probe_rtt_min.is_some() && now > self.probe_rtt_stamp + PROBE_RTT_INTERVAL;
        let Some(rtt) = rtt else { return };
        let confirms =
            |least: Duration| rtt.as_nanos() <= least.as_nanos().saturating_add(least.as_nanos() / 100);
        match self.probe_rtt_min {
            Some(least) if rtt >= least && !self.probe_rtt_expired => {
                if confirms(least) {
                    self.probe_rtt_stamp = now;
                }
            }
            _ => {
                self.probe_rtt_min = Some(rtt);
                self.probe_rtt_stamp = now;
            }
        }
        if self.min_rtt.is_some_and(confirms) {
            self.min_rtt_stamp = now;
        }
        let expired = now > self.min_rtt_stamp + MIN_RTT_FILTER;
        if self.min_rtt.is_none() || self.probe_rtt_min < self.min_rtt || expired {
            self.min_rtt = self.probe_rtt_min;
            self.min_rtt_stamp = self.probe_rtt_stamp;
        }
    }

    /// After an idle time aggregation is measured anew (draft-ietf-ccwg-bbr-05, 5.4.1).
    pub(super) fn restart_aggregation(&mut self, now: Instant) {
        self.extra_since = Some(now);
    }

    /// BBR.extra_acked.
    pub(super) fn extra_acked(&self) -> u64 {
        self.extra.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0)
    }

    /// "BBRUpdateACKAggregation".
    pub(super) fn update_aggregation(&mut self, now: Instant, sample: &Sample, cwnd: u64, full: bool) {
        let since = *self.extra_since.get_or_insert(now);
        let mut expected = (self.bw * now.saturating_since(since).as_secs_f64()) as u64;
        if self.extra_delivered <= expected {
            self.extra_delivered = 0;
            self.extra_since = Some(now);
            expected = 0;
        }
        self.extra_delivered = self.extra_delivered.saturating_add(sample.newly);
        let extra = self.extra_delivered.saturating_sub(expected).min(cwnd);
        let length = if full { EXTRA_ACKED_ROUNDS } else { 1 };
        let [newer, older] = &mut self.extra;
        // Two halves of the window of rounds: the older one goes when the newer one is old itself.
        if self.round_count >= newer.1 + length.div_ceil(2) {
            *older = *newer;
            *newer = (0, self.round_count);
        }
        if self.round_count >= older.1 + 2 * length {
            *older = (0, self.round_count);
        }
        newer.0 = newer.0.max(extra);
    }
}
