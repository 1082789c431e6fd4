//! Congestion-window validation (RFC 7661): how much of the window the user really uses.

use super::event::Acked;
use anabranch_base::Duration;

/// How long a window is kept that nobody fills (RFC 7661, 4.4.2: five minutes).
pub(super) const PERIOD: Duration = Duration::from_secs(300);

/// pipeACK: the most that was acknowledged in one of the last round trips.
#[derive(Clone, Debug)]
pub(super) struct Validation {
    /// Acknowledged in this round trip and in those before, bytes; `None`: not known.
    now: u64,
    before: [Option<u64>; 2],
    /// In flight when the last acknowledgement came.
    flight: u64,
    /// The initial window.
    pub(super) initial: u64,
}

impl Validation {
    pub(super) fn new(initial: u64) -> Self {
        Self { now: 0, before: [None; 2], flight: 0, initial }
    }

    pub(super) fn on_ack(&mut self, acked: &Acked, cwnd: u64) {
        self.now += acked.newly();
        self.flight = acked.flight_before.min(cwnd);
        if acked.round_trip {
            self.before = [Some(std::mem::take(&mut self.now)), self.before[0]];
        }
    }

    /// What was used of a window of `cwnd` bytes, where that was less than half of it: the larger of pipeACK and what was in flight.
    pub(super) fn used(&self, cwnd: u64) -> Option<u64> {
        // "Initially ... pipeACK is undefined": the window counts as validated.
        let [Some(last), Some(earlier)] = self.before else { return None };
        let pipe = last.max(earlier).max(self.now);
        (pipe < cwnd / 2).then(|| pipe.max(self.flight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(bytes: u64, flight_before: u64, round_trip: bool) -> Acked {
        Acked { cumulative: bytes, flight_before, round_trip, ..Acked::default() }
    }

    #[test]
    fn what_was_used_counts_once_two_round_trips_are_known() {
        let mut validation = Validation::new(10_000);
        validation.on_ack(&ack(1000, 3000, true), 100_000);
        assert_eq!(validation.used(100_000), None, "not known yet");
        validation.on_ack(&ack(2000, 3000, true), 100_000);
        assert_eq!(validation.used(100_000), Some(3000));
        validation.on_ack(&ack(60_000, 90_000, false), 100_000);
        assert_eq!(validation.used(100_000), None, "more than half is in use");
        validation.on_ack(&ack(10, u64::MAX, true), 100_000);
        for _ in 0..3 {
            validation.on_ack(&ack(10, u64::MAX, true), 100_000);
        }
        assert_eq!(validation.used(100_000), Some(100_000), "full, but nothing came back");
    }
}
