//! Growth of a receive window: with the amount that the user reads in a round trip, within a limit of the association
//! and one of the endpoint.

use std::sync::Arc;

use anabranch_base::{Duration, Instant};
use anabranch_transport::autotune::Autotune;

use crate::budget::{Budget, Share};

/// HEARTBEATs that measure the round trip are so far apart at least.
const INTERVAL: Duration = Duration::from_secs(1);

/// The measurements and limits by which a window grows.
#[derive(Debug)]
pub(super) struct Tuning {
    rate: Autotune,
    /// The window that the association began with, bytes.
    first: u32,
    /// Its share of the endpoint's limit, for the bytes beyond `first`.
    share: Option<Share>,
    /// Time at which a round trip was asked for last, and the bytes read and sent by then: for a side that sends no
    /// data.
    asked: (Instant, u64, u64),
    /// The round trip that the last answered HEARTBEAT has measured.
    answer: Option<Duration>,
}

impl Tuning {
    /// Tuning of a `window` that may grow up to `most` bytes, for packets of so many bytes.
    pub(super) fn new(
        now: Instant,
        window: u32,
        most: u32,
        packet: u16,
        budget: Option<&Arc<Budget>>,
    ) -> Self {
        let rate = Autotune::new(most.into(), packet.into());
        Self { rate, first: window, share: budget.map(Share::new), asked: (now, 0, 0), answer: None }
    }

    /// The round trip of the last HEARTBEAT, where nothing else measures it.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.answer
    }

    /// A HEARTBEAT was answered after so long, and so many bytes of data have been sent by now.
    pub(super) fn on_answer(&mut self, sent: u64, rtt: Duration) {
        self.answer = (self.asked.2 == sent).then_some(rtt);
    }

    /// True if a round trip of so long, or of as long as was known last, is not over yet.
    #[inline]
    pub(super) fn is_within(&self, now: Instant, rtt: Option<Duration>) -> bool {
        self.rate.is_within(now, rtt)
    }

    /// So many bytes have been read by now, of a `window` of that size. The size that it shall have, if a round trip
    /// is over.
    pub(super) fn on_read(
        &mut self,
        now: Instant,
        rtt: Option<Duration>,
        read: u64,
        window: u32,
    ) -> Option<u64> {
        if let Some(rtt) = rtt {
            self.rate.set_round_trip(rtt);
        }
        let before = self.rate.rounds();
        let wanted = self.rate.read(now, read, window.into());
        (self.rate.rounds() != before).then_some(wanted)
    }

    /// True if a HEARTBEAT shall measure the round trip: otherwise only data that is acknowledged does, and none was
    /// sent while a whole `window` was read. At most one a second.
    pub(super) fn asks(&mut self, now: Instant, read: u64, sent: u64, window: u64) -> bool {
        let (at, read_then, sent_then) = self.asked;
        if sent != sent_then {
            // Data measures it.
            (self.asked, self.answer) = ((now, read, sent), None);
            return false;
        }
        let due = now.saturating_since(at) >= INTERVAL && read.saturating_sub(read_then) >= window;
        if due {
            self.asked = (now, read, sent);
        }
        due
    }

    /// The size that the endpoint grants a `window` that shall be of `wanted` bytes; with `near_limit`, when little
    /// is left of the endpoint's budget, no more than the reading rate needs.
    pub(super) fn grant(&mut self, window: u32, wanted: u64, near_limit: bool) -> u32 {
        let first = u64::from(self.first);
        let wanted = if near_limit { self.rate.needed().min(wanted).max(first) } else { wanted };
        let granted = match &mut self.share {
            Some(share) => first + share.resize(wanted.saturating_sub(first)),
            None => wanted,
        };
        let granted = u32::try_from(granted).unwrap_or(u32::MAX);
        // An offer to the peer is not taken back; and the offered bytes count until they are used.
        if let (true, Some(share)) = (granted < window, &mut self.share) {
            share.resize(u64::from(window) - first);
        }
        granted
    }

    /// The window has shrunk to so many bytes: its bytes beyond them are free for others.
    pub(super) fn give_back(&mut self, window: u32) {
        if let Some(share) = &mut self.share {
            share.resize(u64::from(window.saturating_sub(self.first)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    #[test]
    fn a_window_has_what_the_endpoint_has_left() {
        let budget = Budget::new(50_000);
        let mut tuning = Tuning::new(at(0), 10_000, 1 << 20, 1500, Some(&budget));
        assert_eq!(tuning.grant(10_000, 30_000, false), 30_000);
        assert_eq!(budget.left(), 30_000);
        assert_eq!(tuning.grant(30_000, 100_000, false), 60_000);
        // A smaller one is offered to the peer until it has shrunk, and counts so long.
        assert!(tuning.grant(60_000, 20_000, false) < 60_000);
        assert_eq!(budget.left(), 0);
        tuning.give_back(20_000);
        assert_eq!(budget.left(), 40_000);
        drop(tuning);
        assert_eq!(budget.left(), 50_000);
    }

    #[test]
    fn a_round_trip_is_asked_for_where_no_data_measures_it() {
        let mut tuning = Tuning::new(at(0), 1000, 1 << 20, 1500, None);
        assert!(!tuning.asks(at(2), 999, 0, 1000), "less than a window was read");
        assert!(tuning.asks(at(2), 1000, 0, 1000));
        assert!(!tuning.asks(at(2), 5000, 0, 1000), "at most one a second");
        tuning.on_answer(0, Duration::from_millis(70));
        assert_eq!(tuning.round_trip(), Some(Duration::from_millis(70)));
        assert!(!tuning.asks(at(4), 9000, 500, 1000), "data measures it");
        assert_eq!(tuning.round_trip(), None);
    }
}
