//! Response of a lane to marked packets: once in a round trip its window is reduced, and no chunk is sent again.

use anabranch_base::{Duration, Ecn, Instant};
use anabranch_transport::congestion::{Base, Congestion, Controller};
use anabranch_transport::marking::Alpha;

use crate::config::{Algorithm, Config, EcnBackoff};

/// The marks of a lane.
#[derive(Debug, Default)]
pub(in crate::sender) struct Marked {
    /// The last number that had been sent when a mark last reduced the window.
    reduced: Option<u64>,
    /// The last number that had been sent when a mark last reduced the window, or when T3-rtx expired: marks up to it are no news.
    known: Option<u64>,
    /// The share of bytes that are marked (L4S).
    alpha: Alpha,
    /// The peer's counter of marked packets, and the first number not acknowledged at that report (level 1).
    pub(in crate::sender) counter: u32,
    pub(in crate::sender) counted_to: u64,
}

/// A report of marks.
#[derive(Clone, Copy, Debug)]
pub(in crate::sender) struct Report {
    /// The number of the last marked chunk, and the time at which that chunk left.
    pub(in crate::sender) seq: u64,
    pub(in crate::sender) sent_at: Instant,
    /// Number of packets marked.
    pub(in crate::sender) packets: u32,
    /// The last number that the lane has sent, and the bytes that have left its flight so far.
    pub(in crate::sender) newest: u64,
    pub(in crate::sender) delivered: u64,
}

/// Time, round trip and rules for a report.
#[derive(Clone, Copy, Debug)]
pub(in crate::sender) struct Circumstances<'a> {
    pub(in crate::sender) now: Instant,
    pub(in crate::sender) srtt: Option<Duration>,
    pub(in crate::sender) config: &'a Config,
    /// The ECN field of packets that leave.
    pub(in crate::sender) ect: Ecn,
}

impl Marked {
    /// Packets were marked. True when the window has come down for it: "TCP should not react to congestion indications more than once
    /// every window of data" (RFC 3168, 6.1.2), lost packets and timeouts included. `known`: a loss has reduced the window already.
    /// A full packet has `unit` bytes.
    pub(in crate::sender) fn on_report(
        &mut self,
        controller: &mut Controller,
        around: &Circumstances<'_>,
        report: &Report,
        unit: u64,
        known: bool,
    ) -> bool {
        let bytes = unit * u64::from(report.packets);
        if controller.is_model() {
            // To a model a marked packet is a lost one that need not be sent again.
            controller.on_lost(around.now, report.sent_at, bytes);
        }
        let l4s = around.ect == Ecn::Ect1;
        if l4s {
            self.alpha.on_marked(around.now, bytes, report.delivered, around.srtt.unwrap_or_default());
        }
        if known || self.known >= Some(report.seq) {
            return false;
        }
        let kept = if l4s { Some(self.alpha.kept()) } else { abe(controller, around.config) };
        controller.on_congestion(kept.map_or(Congestion::Ecn(Base::CWND), Congestion::EcnKeep));
        (self.reduced, self.known) = (Some(report.newest), Some(report.newest));
        true
    }

    /// All numbers up to `newest` were sent before T3-rtx reduced the window; marks on them are no news.
    pub(in crate::sender) fn on_timeout(&mut self, newest: u64) {
        (self.reduced, self.known) = (None, Some(newest));
    }

    /// True if a chunk was sent before a mark reduced the window.
    #[inline]
    pub(in crate::sender) fn covers(&self, seq: u64) -> bool {
        self.reduced >= Some(seq)
    }
}

/// Alternative backoff: in congestion avoidance 0.8 of the window stays, 0.85 with CUBIC (RFC 8511, 3.1).
fn abe(controller: &Controller, config: &Config) -> Option<u32> {
    let slow_start = controller.window() < controller.ssthresh();
    if config.congestion.ecn_backoff == EcnBackoff::AsLoss || slow_start {
        return None;
    }
    let cubic = config.congestion.control.algorithm == Algorithm::Cubic;
    Some(if cubic { 850_000 } else { 800_000 })
}
