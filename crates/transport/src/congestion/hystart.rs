//! HyStart++ (RFC 9406): leaves slow start when the round-trip time begins to grow, by way of a conservative phase.

use super::event::Timing;
use super::reno::Reno;
use anabranch_base::Duration;

/// RFC 9406, section 4.3, recommended values.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const SAMPLES: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// Without pacing an ACK counts for at most so many segments.
const LIMIT: u64 = 8;

#[derive(Clone, Debug)]
pub(super) struct HyStart {
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
    ends: u64,
    /// In conservative slow start: the smallest round-trip time when it began, and rounds so far.
    conservative: Option<(Duration, u32)>,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self { last: None, current: None, samples: 0, ends: 0, conservative: None }
    }

    pub(super) fn end_round(&mut self) {
        self.ends = 0;
    }

    /// An acknowledgement of `bytes` bytes in slow start. Returns the bytes that it counts for.
    pub(super) fn on_ack(&mut self, base: &mut Reno, timing: &Timing, bytes: u64) -> u64 {
        if timing.una >= self.ends {
            self.ends = timing.max;
            self.last = self.current.take();
            self.samples = 0;
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds > CSS_ROUNDS {
                    // "If CSS_ROUNDS rounds are complete, enter congestion avoidance": ssthresh = cwnd.
                    base.ssthresh = base.window().max(2 * base.mss as u64);
                    return bytes;
                }
            }
        }
        if let Some(rtt) = timing.rtt {
            self.current = Some(self.current.map_or(rtt, |smallest| smallest.min(rtt)));
            self.samples += 1;
        }
        if let (true, Some(current)) = (self.samples >= SAMPLES, self.current) {
            match (self.conservative, self.last) {
                // "If currentRoundMinRTT < cssBaselineMinRtt": the exit was spurious, back to slow start.
                (Some((baseline, _)), _) if current < baseline => self.conservative = None,
                (None, Some(last)) => {
                    let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                    if current >= last + threshold {
                        self.conservative = Some((current, 1));
                    }
                }
                _ => {}
            }
        }
        // "L is ... infinity if paced, L = 8 if non-paced": a controller with a larger L is paced.
        let counted = bytes.min(LIMIT.max(base.limit) * base.mss as u64);
        if self.conservative.is_some() { counted / CSS_GROWTH_DIVISOR } else { counted }
    }
}
