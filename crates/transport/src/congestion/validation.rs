//! Congestion-window validation (RFC 7661): how much of the window the user really uses.

use super::event::Acked;
use anabranch_base::{Duration, Instant};

/// How long an unused window is kept (RFC 7661, 4.4.2: five minutes).
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
    /// Since when less than half of the window is used: the non-validated phase.
    since: Option<Instant>,
}

impl Validation {
    pub(super) fn new(initial: u64) -> Self {
        Self { now: 0, before: [None; 2], flight: 0, initial, since: None }
    }

    /// Whether the window must be reduced: "if the sender has been in the non-validated phase for more than five minutes" (RFC 7661, 4.4.2),
    /// and for each five more, even if a little data is acknowledged.
    #[inline]
    pub(super) fn on_ack(&mut self, acked: &Acked, cwnd: u64, now: Instant) -> bool {
        self.now += acked.newly();
        self.flight = acked.flight_before.min(cwnd);
        acked.round_trip && self.end_round(cwnd, now)
    }

    #[inline(never)]
    fn end_round(&mut self, cwnd: u64, now: Instant) -> bool {
        self.before = [Some(std::mem::take(&mut self.now)), self.before[0]];
        if self.used(cwnd).is_none() {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        let due = now.saturating_since(since) >= PERIOD;
        if due {
            self.since = Some(now);
        }
        due
    }

    /// Nothing was sent for some time, for which the window was reduced already.
    pub(super) fn on_pause(&mut self) {
        self.since = None;
    }

    /// The part of a window of `cwnd` bytes that was used, bytes, if less than half: the larger of pipeACK and the
    /// bytes in flight.
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

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    /// A packet a second keeps no window for ever.
    #[test]
    fn who_trickles_for_five_minutes_loses_half() {
        let mut validation = Validation::new(10_000);
        let reduced: Vec<u64> =
            (0..1000).filter(|s| validation.on_ack(&ack(1000, 1000, true), 100_000, at(*s))).collect();
        assert_eq!(reduced, [301, 601, 901], "used is known from the second round trip on");
        for second in 1000..1400 {
            let full = ack(if second == 1200 { 90_000 } else { 1000 }, 90_000, true);
            assert!(!validation.on_ack(&full, 100_000, at(second)), "the phase ended at 1200 s");
        }
    }

    #[test]
    fn what_was_used_counts_once_two_round_trips_are_known() {
        let mut validation = Validation::new(10_000);
        validation.on_ack(&ack(1000, 3000, true), 100_000, at(0));
        assert_eq!(validation.used(100_000), None, "not known yet");
        validation.on_ack(&ack(2000, 3000, true), 100_000, at(0));
        assert_eq!(validation.used(100_000), Some(3000));
        validation.on_ack(&ack(60_000, 90_000, false), 100_000, at(0));
        assert_eq!(validation.used(100_000), None, "more than half is in use");
        validation.on_ack(&ack(10, u64::MAX, true), 100_000, at(0));
        for _ in 0..3 {
            validation.on_ack(&ack(10, u64::MAX, true), 100_000, at(0));
        }
        assert_eq!(validation.used(100_000), Some(100_000), "full, but nothing came back");
    }
}
