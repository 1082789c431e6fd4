//! What RACK (RFC 8985, section 6) learns from an acknowledgement of TCP.

use crate::flight::Delivered;
use anabranch_base::{Duration, Instant};
use anabranch_transport::rack::Rack as Core;

/// State of the connection.
#[derive(Debug)]
pub(super) struct Rack {
    pub(super) core: Core,
    /// RACK.fack.
    forward: u64,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self { core: Core::new(false), forward: 0 }
    }

    /// Step 2: the segment sent last of those that arrived. `echo` is the time that the timestamp option echoes.
    pub(super) fn update(
        &mut self,
        news: &[Delivered],
        now: Instant,
        echo: Option<Instant>,
        min_rtt: Option<Duration>,
    ) {
        let mut last = None;
        for d in news {
            // It may be the original that arrived, not the retransmission.
            let older = echo.is_some_and(|echo| echo < floor_millis(d.sent_at));
            if d.sends > 1 && (older || Core::<u64>::is_of_original(d.sent_at, now, min_rtt)) {
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

/// The timestamp clock ticks in milliseconds.
pub(super) fn floor_millis(at: Instant) -> Instant {
    Instant::from_nanos(at.as_nanos() / 1_000_000 * 1_000_000)
}

#[cfg(test)]
mod tests;
