//! What a lane makes of marked packets: once in a round trip its window comes down, and nothing is sent again.

use anabranch_base::{Duration, Ecn, Instant};
use anabranch_transport::congestion::{Base, Congestion};
use anabranch_transport::marking::Alpha;

use super::Lane;
use crate::config::{Algorithm, Config, EcnBackoff};

/// What is known of the marks of a lane.
#[derive(Debug, Default)]
pub(in crate::sender) struct Marked {
    /// What had been sent when a mark, or T3-rtx, reduced the window last: marks up to there are no news.
    exit: Option<u64>,
    /// The part that is marked (L4S).
    alpha: Alpha,
    /// The peer's counter of marked packets, and what was acknowledged then (level 1).
    pub(in crate::sender) counter: u32,
    pub(in crate::sender) counted_to: u64,
}

/// What a report says of marks.
#[derive(Clone, Copy, Debug)]
pub(in crate::sender) struct Report {
    /// The number of the chunk that it is about, and when that left.
    pub(in crate::sender) seq: u64,
    pub(in crate::sender) sent_at: Instant,
    /// How many packets were marked.
    pub(in crate::sender) packets: u32,
    /// Of the lane: the last number sent, and bytes that have left the flight so far.
    pub(in crate::sender) newest: u64,
    pub(in crate::sender) delivered: u64,
}

impl Lane {
    /// Packets were marked. True when the window has come down for it: "TCP should not react to congestion indications more than once
    /// every window of data" (RFC 3168, 6.1.2), lost packets and timeouts included.
    pub(in crate::sender) fn on_marked(
        &mut self,
        now: Instant,
        srtt: Option<Duration>,
        config: &Config,
        ect: Ecn,
        report: &Report,
    ) -> bool {
        let bytes = u64::from(self.burst_unit) * u64::from(report.packets);
        if self.controller.is_model() {
            // To a model a marked packet is a lost one that need not be sent again.
            self.controller.on_lost(now, report.sent_at, bytes);
        }
        let mut marked = self.marked.take().unwrap_or_default();
        if ect == Ecn::Ect1 {
            marked.alpha.on_marked(now, bytes, report.delivered, srtt.unwrap_or_default());
        }
        let news = marked.exit < Some(report.seq) && !self.is_below_exit(report.seq);
        if news {
            let kept = match ect {
                Ecn::Ect1 => Some(marked.alpha.kept()),
                _ => self.abe(config),
            };
            let event = kept.map_or(Congestion::Ecn(Base::CWND), Congestion::EcnKeep);
            self.controller.on_congestion(event);
            marked.exit = Some(report.newest);
        }
        self.marked = Some(marked);
        news
    }

    /// Alternative backoff: in congestion avoidance 0.8 of the window stays, 0.85 with CUBIC (RFC 8511, 3.1).
    fn abe(&self, config: &Config) -> Option<u32> {
        let slow_start = self.controller.window() < self.controller.ssthresh();
        if config.congestion.ecn_backoff == EcnBackoff::AsLoss || slow_start {
            return None;
        }
        let cubic = config.congestion.control.algorithm == Algorithm::Cubic;
        Some(if cubic { 850_000 } else { 800_000 })
    }

    /// Everything up to `newest` was sent before the window came down.
    pub(in crate::sender) fn note_reduction(&mut self, newest: u64) {
        self.marked.get_or_insert_default().exit = Some(newest);
    }

    /// Whether what a mark has reduced is not acknowledged yet, up to `first`: "The sending TCP SHOULD NOT increase the congestion window in
    /// response to the receipt of an ECN-Echo ACK packet" (RFC 3168, 6.1.2).
    #[inline]
    pub(in crate::sender) fn has_reduced(&self, first: u64) -> bool {
        self.marked.as_ref().is_some_and(|marked| marked.exit >= Some(first))
    }
}
