//! Vegas (Brakmo, O'Malley, Peterson: "TCP Vegas: new techniques for congestion detection and avoidance", 1994), with
//! the constants of Linux: once a round trip it compares the window with the one that the smallest round-trip time
//! needs.

use super::event::Timing;
use super::reno::Reno;
use anabranch_base::Duration;

/// Fewer segments than this in the queue: grow.
const ALPHA: f64 = 2.0;
/// With more segments than this in the queue: shrink.
const BETA: f64 = 4.0;
/// With more segments than this in the queue: leave slow start.
const GAMMA: f64 = 1.0;

#[derive(Clone, Debug)]
pub(super) struct Vegas {
    /// Smallest round-trip time of the connection.
    smallest: Option<Duration>,
    /// Smallest of this round, and how many there were.
    round: Option<Duration>,
    samples: u32,
    /// The round ends when this is acknowledged.
    ends: u64,
}

impl Vegas {
    pub(super) fn new() -> Self {
        Self { smallest: None, round: None, samples: 0, ends: 0 }
    }

    pub(super) fn restart(&mut self) {
        (self.round, self.samples, self.ends) = (None, 0, 0);
    }

    pub(super) fn end_round(&mut self) {
        self.ends = 0;
    }

    pub(super) fn on_ack(&mut self, base: &mut Reno, timing: &Timing, bytes: u64) {
        if let Some(rtt) = timing.rtt {
            let smaller = |old: Option<Duration>| Some(old.map_or(rtt, |old| old.min(rtt)));
            self.smallest = smaller(self.smallest);
            self.round = smaller(self.round);
            self.samples += 1;
        }
        if timing.una >= self.ends {
            let (round, samples) = (self.round.take(), std::mem::take(&mut self.samples));
            self.ends = timing.max;
            match (round, self.smallest) {
                // Two samples may both be of delayed acknowledgements: as Reno then.
                (Some(round), Some(smallest)) if samples > 2 && smallest > Duration::ZERO => {
                    judge(base, bytes, round.as_secs_f64(), smallest.as_secs_f64());
                    return;
                }
                _ if !base.in_slow_start() => {
                    base.avoid(bytes);
                    return;
                }
                _ => {}
            }
        }
        if base.in_slow_start() {
            base.slow_start(bytes);
        }
    }
}

/// Once a round: `cwnd * (rtt - smallest) / smallest` segments are in the queue.
fn judge(base: &mut Reno, bytes: u64, rtt: f64, smallest: f64) {
    let cwnd = base.cwnd / base.mss;
    let queued = cwnd * (rtt - smallest) / smallest;
    if base.in_slow_start() {
        if queued > GAMMA {
            let target = (cwnd * smallest / rtt).floor() + 1.0;
            base.cwnd = cwnd.min(target).max(2.0) * base.mss;
            base.ssthresh = base.ssthresh.min((base.cwnd - base.mss).max(2.0 * base.mss) as u64);
        } else {
            base.slow_start(bytes);
        }
    } else if queued > BETA {
        base.cwnd = (cwnd - 1.0).max(2.0) * base.mss;
        base.ssthresh = base.ssthresh.min((base.cwnd - base.mss).max(2.0 * base.mss) as u64);
    } else if queued < ALPHA {
        base.cwnd += base.mss;
    }
}
