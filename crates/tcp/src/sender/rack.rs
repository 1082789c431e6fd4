//! RACK's state (RFC 8985, section 6) and its update from an acknowledgement of TCP.

use crate::flight::Delivered;
use anabranch_base::{Duration, Instant};
use anabranch_transport::rack::Rack as Core;

/// State of the connection.
#[derive(Debug)]
pub(super) struct Rack {
    core: Core,
    /// RACK.fack.
    forward: u64,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self { core: Core::new(false), forward: 0 }
    }

    /// Time at which the newest of the delivered segments was sent, and the number at which it ends.
    pub(super) fn newest(&self) -> Option<(Instant, u64)> {
        self.core.newest()
    }

    pub(super) fn reordering_seen(&self) -> bool {
        self.core.reordering_seen()
    }

    /// Age relative to the newest delivered segment at which an outstanding one is lost: RACK.rtt plus RACK.reo_wnd.
    pub(super) fn patience(
        &self,
        hurry: bool,
        min_rtt: Option<Duration>,
        srtt: Option<Duration>,
    ) -> Duration {
        self.core.rtt() + self.core.window(hurry, min_rtt, srtt)
    }

    /// A duplicate was reported: the reordering window widens.
    pub(super) fn duplicate(&mut self, una: u64, max: u64) {
        self.core.duplicate(una, max);
    }

    /// Recovery ended.
    pub(super) fn recovered(&mut self) {
        self.core.recovered();
    }

    /// Step 2: the segment sent last of those that arrived. `echo` is the age of the timestamp that is echoed.
    pub(super) fn update(
        &mut self,
        news: &[Delivered],
        now: Instant,
        echo: Option<Duration>,
        min_rtt: Option<Duration>,
    ) {
        let mut last = None;
        for d in news {
            if d.sends > 1 && is_of_original(d, now, echo, min_rtt) {
                continue;
            }
            last = last.max(Some((d.sent_at, d.end)));
        }
        if let Some((sent, end)) = last {
            self.core.delivered(sent, end, now);
        }
    }

    /// Step 3: "original data segments being delivered out of order". `news` is in order of sequence numbers.
    pub(super) fn detect_reordering(&mut self, news: &[Delivered]) {
        for d in news {
            if d.end > self.forward {
                self.forward = d.end;
            } else if d.end < self.forward && d.sends == 1 {
                self.core.note_reordering();
            }
        }
    }
}

/// True if the original may have arrived instead of the retransmission. `echo` is the age of the timestamp that is
/// echoed.
pub(super) fn is_of_original(
    d: &Delivered,
    now: Instant,
    echo: Option<Duration>,
    min_rtt: Option<Duration>,
) -> bool {
    let echoed = echo.map(|age| Instant::ZERO + (floor_millis(now) - Instant::ZERO).saturating_sub(age));
    echoed.is_some_and(|echoed| echoed < floor_millis(d.sent_at))
        || Core::<u64>::is_of_original(d.sent_at, now, min_rtt)
}

/// The timestamp clock ticks in milliseconds.
fn floor_millis(at: Instant) -> Instant {
    Instant::from_nanos(at.as_nanos() / 1_000_000 * 1_000_000)
}

#[cfg(test)]
mod tests;
