//! Round-trip time and retransmission timeout (RFC 6298).

use crate::config::{Config, RttEstimator};
use anabranch_base::{Duration, Instant};

/// Estimate, timeout and backing off of one connection.
#[derive(Debug)]
pub(crate) struct Rtt {
    kind: RttEstimator,
    granularity: Duration,
    min: Duration,
    max: Duration,
    slop: Duration,
    /// Nothing ends backing off (a quirk).
    keeps_backoff: bool,
    srtt: Option<Duration>,
    rttvar: Duration,
    /// BSD's fixed point: srtt in eighths and rttvar in quarters of a tick.
    ticks: (i64, i64),
    /// Linux: mean deviation, its largest of this round and the variance term, each four times as large as RFC 6298's.
    deviation: (Duration, Duration, Duration),
    /// Linux: the round ends when more than this is acknowledged.
    round: u64,
    /// First sequence number not acknowledged and first never sent, at the time of a sample.
    sequence: (u64, u64),
    /// Smallest sample, and when it was taken.
    smallest: Option<(Duration, Instant)>,
    /// Timeout before the floor and before backing off.
    base: Duration,
    /// How often it has been doubled.
    backoff: u32,
}

impl Rtt {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            kind: config.rtt_estimator,
            granularity: config.rto_granularity.max(Duration::from_nanos(1)),
            min: config.rto_min,
            max: config.rto_max,
            slop: config.rto_slop,
            keeps_backoff: config.quirk_faulty_recovery,
            srtt: None,
            rttvar: Duration::ZERO,
            ticks: (0, 0),
            deviation: (Duration::ZERO, Duration::ZERO, Duration::ZERO),
            round: 0,
            sequence: (0, 0),
            smallest: None,
            base: config.rto_initial,
            backoff: 0,
        }
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    pub(crate) fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// The smallest sample of late.
    pub(crate) fn smallest(&self) -> Option<Duration> {
        self.smallest.map(|(rtt, _)| rtt)
    }

    /// RFC 8985, section 6.2, step 1: "a windowed min-filtered estimate of recent RTT measurements".
    pub(crate) fn note_smallest(&mut self, rtt: Duration, now: Instant) {
        const WINDOW: Duration = Duration::from_secs(300);
        if self.smallest.is_none_or(|(smallest, at)| rtt <= smallest || now - at > WINDOW) {
            self.smallest = Some((rtt, now));
        }
    }

    /// Where the connection stands when the next sample is taken: una and max.
    pub(crate) fn at_sequence(&mut self, una: u64, max: u64) {
        self.sequence = (una, max);
    }

    /// The timeout to arm the timer with. The floor comes before backing off, the ceiling after.
    pub(crate) fn rto(&self) -> Duration {
        let backed_off = 1_u64 << self.backoff.min(20);
        if self.slop > Duration::ZERO && self.srtt.is_some() {
            // BSD: the slop goes on top of all, and the floor is looked at last.
            return (self.base * backed_off + self.slop).max(self.min).min(self.max);
        }
        (self.base.max(self.min) * backed_off).min(self.max)
    }

    /// What an earlier connection to the same host measured; counts until there is a sample.
    pub(crate) fn seed(&mut self, srtt: Duration, rttvar: Duration) {
        if self.srtt.is_none() {
            self.srtt = Some(srtt);
            self.rttvar = rttvar;
            self.base = srtt + self.granularity.max(rttvar * 4);
        }
    }

    /// RFC 6298, section 5.5: "The host MUST set RTO <- RTO * 2".
    pub(crate) fn back_off(&mut self) {
        if self.rto() < self.max {
            self.backoff += 1;
        }
        // BSD: so far backed off, the smoothed value is worth nothing; keep it in the variance.
        if self.kind == RttEstimator::Ticks && self.backoff > 3 {
            self.ticks.1 += self.ticks.0 >> 3;
            self.ticks.0 = 0;
        }
    }

    pub(crate) fn clear_back_off(&mut self) {
        if !self.keeps_backoff {
            self.backoff = 0;
        }
    }

    /// RFC 6298, section 5.7: the timeout of a connection whose SYN had to be sent again and was never measured.
    pub(crate) fn restart_at(&mut self, rto: Duration) {
        if self.srtt.is_none() {
            self.base = rto;
        }
        self.backoff = 0;
    }

    /// A segment sent at `sent` was acknowledged at `now`. Answers the sample as it was counted.
    pub(crate) fn sample(&mut self, sent: Instant, now: Instant) -> Duration {
        let g = self.granularity.as_nanos();
        match self.kind {
            RttEstimator::Rfc6298 => self.rfc6298(now - sent),
            RttEstimator::Linux => self.linux(now - sent),
            // A clock that ticks: how many ticks fell between the two.
            RttEstimator::Ticks => self.bsd((now.as_nanos() / g) as i64 - (sent.as_nanos() / g) as i64),
        }
    }

    /// A sample from a timestamp echo, which has no phase.
    pub(crate) fn sample_span(&mut self, span: Duration) -> Duration {
        let g = self.granularity.as_nanos();
        match self.kind {
            RttEstimator::Rfc6298 => self.rfc6298(span),
            RttEstimator::Linux => self.linux(span),
            RttEstimator::Ticks => self.bsd(((span.as_nanos() + g / 2) / g) as i64),
        }
    }

    fn rfc6298(&mut self, r: Duration) -> Duration {
        let srtt = match self.srtt {
            None => {
                self.rttvar = r / 2;
                r
            }
            Some(srtt) => {
                // alpha = 1/8, beta = 1/4; rttvar first: it uses the old srtt.
                self.rttvar = (self.rttvar * 3 + srtt.abs_diff(r)) / 4;
                (srtt * 7 + r) / 8
            }
        };
        self.srtt = Some(srtt);
        self.base = srtt + self.granularity.max(self.rttvar * 4);
        self.clear_back_off();
        r
    }

    /// As RFC 6298, but for the variance term: at least `min`, up at once, down by a quarter of the way each round, and a
    /// sample below the mean moves it by an eighth only.
    fn linux(&mut self, r: Duration) -> Duration {
        let (una, max) = self.sequence;
        let (deviation, largest, variance) = &mut self.deviation;
        let srtt = match self.srtt {
            None => {
                *deviation = r * 2;
                *variance = (*deviation).max(self.min);
                *largest = *variance;
                self.round = max;
                r
            }
            Some(srtt) => {
                let (error, quarter) = (srtt.abs_diff(r), *deviation / 4);
                if r < srtt && error > quarter {
                    *deviation += (error - quarter) / 8;
                } else {
                    *deviation = *deviation + error - quarter;
                }
                *largest = (*largest).max(*deviation);
                *variance = (*variance).max(*largest);
                if una > self.round {
                    *variance = *variance - (*variance - *largest) / 4;
                    self.round = max;
                    *largest = self.min;
                }
                (srtt * 7 + r) / 8
            }
        };
        self.rttvar = *variance / 4;
        self.srtt = Some(srtt);
        self.base = srtt + *variance;
        self.clear_back_off();
        r
    }

    fn bsd(&mut self, ticks: i64) -> Duration {
        let ticks = ticks.clamp(1, 1 << 40);
        let (srtt, rttvar) = &mut self.ticks;
        if *srtt == 0 {
            *srtt = ticks << 3;
            *rttvar = ticks << 1;
        } else {
            let delta = ticks - (*srtt >> 3);
            *srtt = (*srtt + delta).max(1);
            *rttvar = (*rttvar + delta.abs() - (*rttvar >> 2)).max(1);
        }
        let g = self.granularity;
        self.base = g * (((*rttvar << 3) + *srtt) >> 3) as u64;
        self.srtt = Some(g * *srtt as u64 / 8);
        self.clear_back_off();
        g * ticks as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn rfc6298_section_2() {
        let config = Config { rto_min: ms(1), rto_granularity: ms(10), ..Config::default() };
        let mut rtt = Rtt::new(&config);
        assert_eq!(rtt.rto(), ms(1000), "2.1: before a sample");
        rtt.sample(Instant::ZERO, Instant::ZERO + ms(80));
        assert_eq!(rtt.rto(), ms(80 + 4 * 40), "2.2: R + 4 * R/2");
        rtt.sample(Instant::ZERO, Instant::ZERO + ms(160));
        // rttvar = 3/4*40 + 1/4*80 = 50, srtt = 7/8*80 + 1/8*160 = 90.
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(90)), ms(290)));
        for _ in 0..60 {
            rtt.sample(Instant::ZERO, Instant::ZERO + ms(90));
        }
        assert_eq!(rtt.rto(), ms(100), "the variance term is at least G");
    }

    #[test]
    fn floor_before_and_ceiling_after_backing_off() {
        let mut rtt = Rtt::new(&Config { rto_min: ms(200), rto_max: ms(1000), ..Config::default() });
        rtt.sample(Instant::ZERO, Instant::ZERO + ms(10));
        let seen: Vec<u64> = (0..4)
            .map(|_| {
                let rto = rtt.rto().as_millis();
                rtt.back_off();
                rto
            })
            .collect();
        assert_eq!(seen, [200, 400, 800, 1000]);
        rtt.sample(Instant::ZERO, Instant::ZERO + ms(10));
        assert_eq!(rtt.rto(), ms(200), "a sample ends backing off");
    }

    /// Study 003, 7.1.1: 78 and 66 bytes at 40 kb/s are 28.8 ms, which make a timeout of about 287 ms.
    #[test]
    fn the_slop_of_freebsd_is_added_to_three_round_trips() {
        let mut rtt = Rtt::new(&Config::named("freebsd-6.0").unwrap());
        rtt.sample(Instant::ZERO, Instant::ZERO + Duration::from_micros((78 + 66) * 8 * 25));
        assert_eq!(rtt.rto(), Duration::from_micros(286_400));
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_micros(2 * 86_400 + 200_000), "not doubled");
    }

    #[test]
    fn linux_keeps_the_variance_term_above_the_minimum() {
        let config = Config { rtt_estimator: RttEstimator::Linux, rto_min: ms(200), ..Config::default() };
        let mut rtt = Rtt::new(&config);
        let sample = |rtt: &mut Rtt, una, max, n| {
            rtt.at_sequence(una, max);
            rtt.sample(Instant::ZERO, Instant::ZERO + ms(n));
        };
        sample(&mut rtt, 0, 0, 40);
        assert_eq!(rtt.rto(), ms(240), "40 and at least 200");
        sample(&mut rtt, 1, 10, 320);
        // Mean 75; deviation 80 + 280 - 20 = 340, which is the largest.
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(75)), ms(75 + 340)));
        sample(&mut rtt, 2, 10, 75);
        // Mean the same; deviation 340 + 0 - 85 = 255, the variance term stays for the rest of the round.
        assert_eq!(rtt.rto(), ms(75 + 340));
        sample(&mut rtt, 11, 20, 75);
        // The round ends; its largest was 255: down by a quarter of 85.
        assert_eq!(rtt.rto(), Duration::from_micros(393_750));
        sample(&mut rtt, 21, 30, 75);
        // In this round the largest is the floor of 200: down by a quarter of 118.75.
        assert_eq!(rtt.rto().as_nanos(), 364_062_500);
    }

    #[test]
    fn ticks_are_bsd_arithmetic() {
        let config = Config {
            rtt_estimator: RttEstimator::Ticks,
            rto_granularity: ms(10),
            rto_min: ms(20),
            ..Config::default()
        };
        let mut rtt = Rtt::new(&config);
        rtt.sample(Instant::ZERO + ms(9), Instant::ZERO + ms(521));
        // 52 ticks: srtt 416 (eighths), rttvar 104 (quarters): (104*8 + 416) >> 3 = 156 ticks.
        assert_eq!(rtt.rto(), ms(1560));
        rtt.sample(Instant::ZERO, Instant::ZERO + ms(520));
        // delta 0: rttvar 104 - 26 = 78: 78 + 52 = 130 ticks.
        assert_eq!(rtt.rto(), ms(1300));
    }
}
