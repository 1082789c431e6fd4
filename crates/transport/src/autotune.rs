//! A receive buffer that grows with the data that the user reads in a round trip: Linux's way (`tcp_rcv_space_adjust` of Linux 6.1).
//!
//! Numbers grow with every byte that arrives in order: sequence numbers, or bytes that were handed over. The first is 1.

use anabranch_base::{Duration, Instant};

/// Full segments by which the window is larger than twice the measured amount, for the variation of a round trip.
const CUSHION: u64 = 16;
/// Full segments that count as read in a round trip before there is a measurement (RFC 6928).
const FIRST: u64 = 10;

/// How fast the user reads, and how far the window is opened for it.
#[derive(Clone, Debug)]
pub struct Autotune {
    /// The window does not go beyond.
    limit: u64,
    mss: u64,
    /// The most that was read in a round trip.
    space: u64,
    /// Read in the last one.
    last: u64,
    rounds: u64,
    /// Where the measurement began: sequence number and time.
    from: (u64, Instant),
    rtt: Option<Duration>,
    /// Without timestamps: when everything up to this number has come, a round trip is over at the latest.
    mark: Option<(u64, Instant)>,
}

impl Autotune {
    /// A window that grows up to `limit` bytes, of packets of `mss`.
    #[must_use]
    pub fn new(limit: u64, mss: u64) -> Self {
        let mss = mss.max(1);
        Self {
            limit,
            mss,
            space: FIRST * mss,
            last: 0,
            rounds: 0,
            from: (1, Instant::ZERO),
            rtt: None,
            mark: None,
        }
    }

    /// The round trip, where it is known otherwise.
    pub fn set_round_trip(&mut self, rtt: Duration) {
        self.rtt = Some(rtt);
    }

    /// Whether a round trip of so long, or of as long as was known last, is not over yet: then [`Autotune::read`] changes nothing.
    #[inline]
    #[must_use]
    pub fn is_within(&self, now: Instant, rtt: Option<Duration>) -> bool {
        rtt.or(self.rtt).is_none_or(|rtt| now.saturating_since(self.from.1) < rtt)
    }

    /// Round trips looked at.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// A window that lets the peer send as much as was read in the last round trip, with room for a loss, bytes.
    #[must_use]
    pub fn needed(&self) -> u64 {
        2 * self.last + CUSHION * self.mss
    }

    /// A full segment echoed a timestamp of this age: a round trip, with the weight of RFC 6298.
    pub fn echoed(&mut self, age: Duration) {
        self.rtt = Some(match self.rtt {
            None => age,
            Some(rtt) => Duration::from_nanos(rtt.as_nanos() - rtt.as_nanos() / 8 + age.as_nanos() / 8),
        });
    }

    /// Without timestamps: the peer cannot send more than a window in a round trip, so the time in which one comes is the
    /// longest that the round trip can be.
    pub fn arrived(&mut self, now: Instant, next: u64, edge: u64) {
        match self.mark {
            Some((until, _)) if next < until => {}
            Some((_, since)) => {
                let took = now.saturating_since(since);
                self.rtt = Some(self.rtt.map_or(took, |rtt| rtt.min(took)));
                self.mark = Some((edge, now));
            }
            None => self.mark = Some((edge, now)),
        }
    }

    /// The user has read up to the sequence number `read`: returns the size that the buffer shall have, which is
    /// `buffer` now.
    pub fn read(&mut self, now: Instant, read: u64, buffer: u64) -> u64 {
        if self.is_within(now, None) {
            return buffer;
        }
        let copied = read.saturating_sub(self.from.0);
        self.from = (read, now);
        self.last = copied;
        self.rounds += 1;
        if copied <= self.space {
            return buffer;
        }
        // Twice the bytes read, so that a loss does not close the window, and as much again as the rate has grown by, twice: in
        // slow start the sender doubles its window.
        let steady = 2 * copied + CUSHION * self.mss;
        let growth = u128::from(steady) * u128::from(copied - self.space) / u128::from(self.space);
        let wanted = u128::from(steady) + 2 * growth;
        self.space = copied;
        buffer.max(u64::try_from(wanted).unwrap_or(u64::MAX).min(self.limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_window_is_twice_what_is_read_in_a_round_trip_and_more_while_it_grows() {
        let mut tune = Autotune::new(1 << 20, MSS);
        assert_eq!(tune.read(at(500), 50_000, 65_536), 65_536, "no round trip is known");
        tune.echoed(Duration::from_millis(100));
        // 20,000 bytes where 10,000 were expected: the rate has doubled.
        assert_eq!(tune.read(at(600), 20_001, 65_536), 56_000 + 2 * 56_000);
        assert_eq!(tune.read(at(650), 90_001, 168_000), 168_000, "the round trip is not over");
        // As much again: nothing has grown, and the buffer never shrinks.
        assert_eq!(tune.read(at(700), 40_001, 168_000), 168_000);
        assert_eq!(tune.read(at(800), 90_001, 168_000), (116_000 + 2 * (116_000 * 30_000 / 20_000)));
        assert_eq!(tune.read(at(900), 10_000_000, 464_000), 1 << 20, "the limit");
    }

    #[test]
    fn without_timestamps_a_round_trip_is_the_time_of_a_window() {
        let mut tune = Autotune::new(1 << 20, MSS);
        tune.arrived(at(0), 1, 10_001);
        tune.arrived(at(30), 9_000, 19_000);
        assert_eq!(tune.rtt, None);
        tune.arrived(at(100), 10_001, 20_001);
        assert_eq!(tune.rtt, Some(Duration::from_millis(100)));
        tune.arrived(at(300), 20_001, 30_001);
        assert_eq!(tune.rtt, Some(Duration::from_millis(100)), "the shortest counts");
        tune.arrived(at(340), 30_001, 40_001);
        assert_eq!(tune.rtt, Some(Duration::from_millis(40)));
    }

    #[test]
    fn timestamps_smooth() {
        let mut tune = Autotune::new(1 << 20, MSS);
        tune.echoed(Duration::from_millis(80));
        tune.echoed(Duration::from_millis(160));
        assert_eq!(tune.rtt, Some(Duration::from_millis(90)));
    }
}
