//! The round trips of a lane.

use anabranch_base::{Duration, Instant};
use anabranch_transport::rtt::RttEstimator;

use crate::config::Config;
use crate::sender::flight::{ChunkState, Flight};

/// The chunk being timed when one measurement is made per round trip (RFC 9260, 6.3.1, C4).
#[derive(Clone, Copy, Debug)]
struct TimedChunk {
    seq: u64,
    sent_at: Instant,
    /// The chunk was still unacknowledged, and sent once, before the SACK that is being read.
    open: bool,
}

/// Estimates and samples.
#[derive(Debug)]
pub(in crate::sender) struct RoundTrip {
    /// The lane's own estimate; `None` for the first subflow on a path, which uses the path's.
    own: Option<Box<RttEstimator>>,
    /// The chunk being timed.
    timed: Option<TimedChunk>,
    /// Shortest round trip so far.
    min: Option<Duration>,
    /// The last sample of the round trip; zero before the first.
    newest: Duration,
    /// The last one-way delay that the peer's timestamps gave (level 1), in microseconds less the difference of the clocks.
    one_way_delay_us: Option<i32>,
}

impl RoundTrip {
    /// With an estimate of its `own`, or that of the path.
    pub(super) fn new(config: &Config, own: bool) -> Self {
        Self {
            own: own.then(|| Box::new(RttEstimator::new(&config.rtt_rules()))),
            timed: None,
            min: None,
            newest: Duration::ZERO,
            one_way_delay_us: None,
        }
    }

    /// The lane's own estimate, where it does not use that of the path.
    #[inline]
    pub(super) fn own(&self) -> Option<&RttEstimator> {
        self.own.as_deref()
    }

    #[inline]
    pub(super) fn own_mut(&mut self) -> Option<&mut RttEstimator> {
        self.own.as_deref_mut()
    }

    /// Shortest round trip so far.
    pub(in crate::sender) fn min(&self) -> Option<Duration> {
        self.min
    }

    /// The last sample; zero where there is none.
    pub(in crate::sender) fn newest(&self) -> Duration {
        self.newest
    }

    /// The last sample.
    pub(in crate::sender) fn last(&self) -> Option<Duration> {
        self.min.map(|_| self.newest)
    }

    /// The last one-way delay less the difference of the clocks, microseconds.
    pub(in crate::sender) fn one_way_delay_us(&self) -> Option<i32> {
        self.one_way_delay_us
    }

    /// The user has changed the bounds of the RTO.
    pub(super) fn follow(&mut self, config: &Config) {
        if let Some(own) = &mut self.own {
            own.set_bounds(config.timers.rto_min, config.timers.rto_max);
        }
    }

    /// Takes over the estimate of the old lane whose place this one takes.
    pub(super) fn inherit(&mut self, old: &mut Self) {
        self.own = old.own.take();
    }

    /// A chunk leaves for the first time: it is timed unless another is.
    #[inline]
    pub(super) fn sent(&mut self, seq: u64, now: Instant) {
        if self.timed.is_none() {
            self.timed = Some(TimedChunk { seq, sent_at: now, open: false });
        }
    }

    /// A chunk leaves again. 6.3.1, C5: a chunk sent before this retransmission is not timed any more, unless samples are taken
    /// `through` losses.
    pub(super) fn sent_again(&mut self, seq: u64, through: bool) {
        if self.timed.is_some_and(|t| t.seq >= seq && (t.seq == seq || !through)) {
            self.timed = None;
        }
    }

    /// A chunk was given up.
    pub(super) fn given_up(&mut self, seq: u64) {
        if self.timed.is_some_and(|timed| timed.seq == seq) {
            self.timed = None;
        }
    }

    /// No chunk sent so far is timed any more.
    pub(in crate::sender) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// A SACK is about to be applied to the flight.
    #[inline]
    pub(in crate::sender) fn before_sack(&mut self, flight: &Flight) {
        if let Some(timed) = &mut self.timed {
            let chunk = flight.get(timed.seq);
            timed.open = chunk.is_some_and(|c| c.state == ChunkState::InFlight && c.transmissions == 1);
        }
    }

    /// Time at which the timed chunk left, if the SACK that was just applied has acknowledged it.
    #[inline]
    pub(in crate::sender) fn take_timed(&mut self, flight: &Flight) -> Option<Instant> {
        let timed = self.timed?;
        let acked = timed.seq < flight.first()
            || flight.get(timed.seq).is_some_and(|c| c.state == ChunkState::GapAcked);
        if !acked {
            return None;
        }
        self.timed = None;
        timed.open.then_some(timed.sent_at)
    }

    /// A round trip was measured.
    #[inline]
    pub(in crate::sender) fn note(&mut self, sample: Duration) {
        self.newest = sample;
        self.min = Some(self.min.map_or(sample, |least| least.min(sample)));
    }

    /// A timestamp of the peer has given a one-way delay.
    pub(in crate::sender) fn note_one_way(&mut self, microseconds: i32) {
        self.one_way_delay_us = Some(microseconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_and_the_last_sample_are_known() {
        let mut trip = RoundTrip::new(&Config::rfc9260(), false);
        assert_eq!((trip.min(), trip.last()), (None, None));
        for ms in [30, 20, 40] {
            trip.note(Duration::from_millis(ms));
        }
        assert_eq!(trip.min(), Some(Duration::from_millis(20)));
        assert_eq!(trip.last(), Some(Duration::from_millis(40)));
    }
}
