//! Round-trip estimate and RTO of one lane (RFC 9260, 6.3.1).

use anabranch_base::{Duration, Instant};

use super::clock::Clock;
use crate::config::Config;

#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: Option<Duration>,
    rttvar: Duration,
    rto: Duration,
    min: Duration,
    max: Duration,
    clock: Clock,
    /// A sample does not undo the backing off; how often the RTO was doubled.
    backoff_stays: bool,
    backoffs: u32,
}

impl RttEstimator {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            srtt: None,
            rttvar: Duration::ZERO,
            rto: config.rto_initial.min(config.rto_max),
            min: config.rto_min,
            max: config.rto_max,
            clock: Clock::new(config),
            backoff_stays: config.quirks.backoff_stays,
            backoffs: 0,
        }
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// The smoothed round trip and its variation.
    pub(crate) fn srtt_and_variation(&self) -> Duration {
        self.srtt.unwrap_or_default() + self.rttvar
    }

    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    /// C2, C3, C6, C7, with RTO.Alpha 1/8 and RTO.Beta 1/4.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        match self.srtt {
            None => {
                self.srtt = Some(rtt);
                self.rttvar = self.clock.part(rtt, 1);
            }
            Some(srtt) => {
                let error = srtt.abs_diff(rtt);
                if self.clock.ticks() {
                    // Whole ticks, each term rounded down.
                    let rttvar = self.rttvar - self.clock.part(self.rttvar, 2);
                    self.rttvar = rttvar + self.clock.part(error, 2);
                    self.srtt = Some(srtt - self.clock.part(srtt, 3) + self.clock.part(rtt, 3));
                    self.update();
                    return;
                }
                self.rttvar = Duration::from_nanos((3 * self.rttvar.as_nanos() + error.as_nanos()) / 4);
                self.srtt = Some(Duration::from_nanos((7 * srtt.as_nanos() + rtt.as_nanos()) / 8));
            }
        }
        self.update();
    }

    fn update(&mut self) {
        // G1: "Whenever RTTVAR is computed, if RTTVAR == 0, then adjust RTTVAR = G."
        self.rttvar = self.rttvar.max(self.clock.granularity());
        let rto = self.srtt.unwrap_or_default() + self.rttvar * 4;
        self.rto = rto.max(self.min).min(self.max);
        if self.backoff_stays {
            self.rto = (self.rto * (1 << self.backoffs.min(16))).min(self.max);
        }
    }

    /// E2: "back off the timer", up to RTO.Max.
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.max);
        self.backoffs = self.backoffs.saturating_add(1);
    }
}

/// The chunk being timed when one measurement is made per round trip (C4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedChunk {
    pub(crate) seq: u64,
    pub(crate) sent_at: Instant,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_c2_c3_and_the_limits() {
        let mut config = Config::rfc9260();
        config.rto_min = Duration::from_millis(10);
        let mut rtt = RttEstimator::new(&config);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.sample(Duration::from_millis(100));
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(Duration::from_millis(100)), Duration::from_millis(300)));
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110.
        rtt.sample(Duration::from_millis(180));
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(Duration::from_millis(110)), Duration::from_millis(340)));
        for _ in 0..20 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), config.rto_max);
        let mut floor = RttEstimator::new(&Config::rfc9260());
        floor.sample(Duration::from_millis(5));
        assert_eq!(floor.rto(), Duration::from_secs(1), "C6: RTO.Min");
    }
}
