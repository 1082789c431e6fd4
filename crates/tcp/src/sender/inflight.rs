//! FreeBSD's inflight limiting: the window is held at the estimated bandwidth-delay product, so that no queue builds up. Near
//! to Vegas, and no standard.

use anabranch_base::{Duration, Instant};

/// Never less than this, bytes (sysctl `net.inet.tcp.inflight.min`).
const LEAST: u64 = 6144;
/// Bandwidth is smoothed over so many measurements.
const SMOOTH: f64 = 16.0;
/// Measured at most once in a tick of the clock.
const TICK: Duration = Duration::from_millis(1);

#[derive(Debug, Default)]
pub(super) struct Inflight {
    /// When bandwidth was last measured, and the acknowledgement then.
    last: Option<(Instant, u64)>,
    /// Bytes per second.
    bandwidth: f64,
    best: Option<Duration>,
    window: Option<u64>,
}

impl Inflight {
    /// The most that may be outstanding, once there is a measurement.
    pub(super) fn window(&self) -> Option<u64> {
        self.window
    }

    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        una: u64,
        rtt: Option<Duration>,
        srtt: Option<Duration>,
        mss: u64,
    ) {
        if let Some(rtt) = rtt {
            self.best = Some(self.best.map_or(rtt, |best| best.min(rtt)));
        }
        let Some((at, before)) = self.last else {
            self.last = Some((now, una));
            return;
        };
        let span = now - at;
        if span < TICK {
            return;
        }
        self.last = Some((now, una));
        let measured = una.saturating_sub(before) as f64 / span.as_secs_f64();
        self.bandwidth = (self.bandwidth * (SMOOTH - 1.0) + measured) / SMOOTH;
        if let (Some(srtt), Some(best)) = (srtt, self.best) {
            // The round-trip time half way between now and the best, and two segments to probe with.
            let product = self.bandwidth * ((srtt + best) / 2).as_secs_f64();
            self.window = Some((product as u64 + 2 * mss).max(LEAST).max(2 * mss));
        }
    }
}
