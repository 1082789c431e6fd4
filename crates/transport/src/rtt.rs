//! Round-trip time and retransmission timeout (RFC 6298; RFC 9260, 6.3.1), in the arithmetic of several stacks.

use anabranch_base::{Duration, Instant};

use crate::clock::Clock;

/// How round-trip samples become a smoothed round trip, a variation and a timeout. Alpha is 1/8 and beta 1/4 in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// In nanoseconds: RTO = SRTT + max(G, 4 RTTVAR) (RFC 6298, 2.3).
    Rfc6298,
    /// In nanoseconds: "if RTTVAR == 0, then adjust RTTVAR = G", and RTO = SRTT + 4 RTTVAR (RFC 9260, 6.3.1, C3 and G1).
    Rfc9260,
    /// The arithmetic of RFC 9260 in whole ticks of length G, each term rounded down (SCTP of Linux).
    WholeTicks,
    /// BSD's fixed point: SRTT in eighths and RTTVAR in quarters of a tick of length G, as ns-2 does it.
    FixedPoint,
    /// TCP of Linux since 2.4: the variance term is at least RTO.Min, takes the largest of a round trip and sinks by and by.
    Linux,
}

/// The event that ends the backing off of the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackOff {
    /// A sample, or another event that the protocol defines.
    UntilSample,
    /// Nothing, and at the longest timeout none is counted (a quirk of TCP in FreeBSD 6.0).
    Stays,
    /// Nothing, and expiries at the longest timeout count too (a quirk of SCTP in Linux, Hurtig et al. 2006, 7.1.2).
    StaysAndCounts,
}

/// The parameters of an estimator.
#[derive(Clone, Copy, Debug)]
pub struct RttRules {
    /// The arithmetic.
    pub arithmetic: Arithmetic,
    /// G: the clock granularity, or the length of a tick.
    pub granularity: Duration,
    /// The timeout before the first sample.
    pub initial: Duration,
    /// The shortest timeout after it, before backing off.
    pub min: Duration,
    /// The longest timeout, backing off included.
    pub max: Duration,
    /// Added to a measured timeout, backing off included, before `min` is looked at (FreeBSD).
    pub slop: Duration,
    /// The event that ends backing off.
    pub back_off: BackOff,
}

/// Estimate, timeout and backing off: of one connection, or of one lane.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Zero before there is one.
    srtt: Duration,
    rttvar: Duration,
    /// The timeout that follows from all fields below; kept, because it is armed far more often than measured.
    rto: Duration,
    /// Timeout before backing off, and above the floor unless there is a slop.
    base: Duration,
    min: Duration,
    max: Duration,
    granularity: Duration,
    /// How often the timeout has been doubled.
    backed_off: u32,
    arithmetic: Arithmetic,
    back_off: BackOff,
    /// Whether there is an SRTT.
    measured: bool,
    /// State that few stacks need.
    extra: Option<Box<Extra>>,
}

/// The estimate behind the timeout where every acknowledgement is a sample ([`RttEstimator::sample_each`]).
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    /// SRTT by one sample in a round trip; zero before the first of them.
    srtt: Duration,
    /// The longest sample of the round trip that is being measured.
    longest: Duration,
    /// The beginning of that round trip.
    since: Instant,
}

#[derive(Clone, Debug, Default)]
struct Extra {
    slop: Duration,
    /// BSD's fixed point: srtt in eighths and rttvar in quarters of a tick.
    ticks: (i64, i64),
    /// Linux: mean deviation, its largest of this round and the variance term, each four times as large as RFC 6298's.
    deviation: Duration,
    largest: Duration,
    variance: Duration,
    /// Linux: the round ends when more than this is acknowledged.
    round: u64,
    /// First sequence number not acknowledged and first never sent, at the time of a sample.
    sequence: (u64, u64),
    /// The estimate for the timeout, where every acknowledgement is a sample.
    rounds: Rounds,
}

impl RttEstimator {
    /// Before the first sample.
    #[must_use]
    pub fn new(rules: &RttRules) -> Self {
        let needs_more = matches!(rules.arithmetic, Arithmetic::FixedPoint | Arithmetic::Linux);
        let extra = (needs_more || rules.slop > Duration::ZERO)
            .then(|| Box::new(Extra { slop: rules.slop, ..Extra::default() }));
        Self {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            rto: rules.initial.min(rules.max),
            base: rules.initial,
            min: rules.min,
            max: rules.max,
            granularity: rules.granularity.max(Duration::from_nanos(1)),
            backed_off: 0,
            arithmetic: rules.arithmetic,
            back_off: rules.back_off,
            measured: false,
            extra,
        }
    }

    /// SRTT; `None` before the first sample.
    #[inline]
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.measured.then_some(self.srtt)
    }

    /// RTTVAR.
    #[must_use]
    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// The smoothed round trip and its variation.
    #[must_use]
    pub fn srtt_and_variation(&self) -> Duration {
        self.srtt + self.rttvar
    }

    /// The timeout to arm the timer with. The floor comes before backing off, the ceiling after.
    #[inline]
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.rto
    }

    /// Timeout before backing off. BSD: the slop goes on top of all, and the floor is looked at last.
    #[inline]
    fn set_base(&mut self, base: Duration) {
        let slop = self.extra.as_ref().is_some_and(|extra| extra.slop > Duration::ZERO);
        self.base = if slop { base } else { base.max(self.min) };
        self.update();
    }

    #[inline]
    fn update(&mut self) {
        let backed_off =
            if self.backed_off == 0 { self.base } else { self.base * (1 << self.backed_off.min(63)) };
        self.rto = match &self.extra {
            Some(extra) if extra.slop > Duration::ZERO && self.measured => {
                (backed_off + extra.slop).max(self.min).min(self.max)
            }
            _ => backed_off.min(self.max),
        };
    }

    /// Other bounds of the timeout from now on.
    pub fn set_bounds(&mut self, min: Duration, max: Duration) {
        (self.min, self.max) = (min, max);
        match self.arithmetic {
            Arithmetic::Rfc6298 | Arithmetic::Rfc9260 if self.measured => {
                let slow = self.extra.as_ref().map_or(Duration::ZERO, |extra| extra.rounds.srtt);
                let srtt = if slow > Duration::ZERO { slow } else { self.srtt };
                self.set_base(srtt + self.granularity.max(self.rttvar * 4));
            }
            // A measurement below the old floor was not kept: the next sample tells.
            _ if self.measured => self.set_base(self.base),
            _ => self.update(),
        }
    }

    /// Sets the values that an earlier connection to the same host measured; they count until there is a sample.
    pub fn seed(&mut self, srtt: Duration, rttvar: Duration) {
        if !self.measured {
            (self.srtt, self.rttvar, self.measured) = (srtt, rttvar, true);
            self.set_base(srtt + self.granularity.max(rttvar * 4));
        }
    }

    /// "The host MUST set RTO <- RTO * 2" (RFC 6298, 5.5; RFC 9260, 6.3.3 E2), up to the longest timeout.
    pub fn back_off(&mut self) {
        if self.back_off == BackOff::StaysAndCounts || self.rto < self.max {
            self.backed_off = self.backed_off.saturating_add(1);
            self.update();
        }
        let far = self.backed_off > 3 && self.arithmetic == Arithmetic::FixedPoint;
        if let Some(extra) = self.extra.as_mut().filter(|_| far) {
            // BSD: so far backed off, the smoothed value is worth nothing; keep it in the variance.
            extra.ticks.1 += extra.ticks.0 >> 3;
            extra.ticks.0 = 0;
        }
    }

    /// Backing off is over, where something ends it.
    pub fn clear_back_off(&mut self) {
        if self.back_off == BackOff::UntilSample && self.backed_off > 0 {
            self.backed_off = 0;
            self.update();
        }
    }

    /// RFC 6298, 5.7: the timeout of a connection whose SYN had to be sent again and was never measured.
    pub fn restart_at(&mut self, rto: Duration) {
        if !self.measured {
            self.base = rto.max(self.min);
        }
        self.backed_off = 0;
        self.update();
    }

    /// Where the connection stands when the next sample is taken: first sequence number not acknowledged, first never sent.
    /// For [`Arithmetic::Linux`], which tells round trips by them.
    pub fn at_sequence(&mut self, una: u64, max: u64) {
        if let Some(extra) = &mut self.extra {
            extra.sequence = (una, max);
        }
    }

    /// Takes the sample of data that was sent at `sent` and acknowledged at `now`. Answers the sample as it was
    /// counted.
    pub fn sample_between(&mut self, sent: Instant, now: Instant) -> Duration {
        // A clock that ticks: how many ticks fell between the two.
        let ticks = matches!(self.arithmetic, Arithmetic::FixedPoint | Arithmetic::WholeTicks);
        let tick = if ticks { self.granularity } else { Duration::ZERO };
        self.sample(Clock::new(tick, false, false).elapsed(sent, now))
    }

    /// A round trip of that length, measured elsewhere, as by a timestamp echo. Answers the sample as it was counted.
    #[inline]
    pub fn sample(&mut self, rtt: Duration) -> Duration {
        match self.arithmetic {
            Arithmetic::Rfc9260 | Arithmetic::Rfc6298 => self.exact(rtt),
            Arithmetic::WholeTicks => self.whole_ticks(rtt),
            Arithmetic::FixedPoint => return self.fixed_point(rtt),
            Arithmetic::Linux => self.linux(rtt),
        }
        rtt
    }

    /// As [`Self::sample`], where every acknowledgement is one. SRTT follows each of them, for pacing. The timeout does
    /// not: "if measurements are made more often, then the values of RTO.Alpha and RTO.Beta ... should be adjusted so
    /// that SRTT and RTTVAR still adjust to changes at roughly the same rate (in terms of how many round trips it takes
    /// them to reflect new values)" (RFC 9260, 6.3.1, C4). With hundreds of samples in a round trip RTTVAR would be
    /// next to nothing, and the timeout expire just before the answer. So of each round trip the longest sample counts
    /// for it, once.
    #[inline]
    pub fn sample_each(&mut self, now: Instant, rtt: Duration) {
        let exact = matches!(self.arithmetic, Arithmetic::Rfc9260 | Arithmetic::Rfc6298);
        if !exact || !self.measured {
            self.sample(rtt);
            return;
        }
        self.srtt = (self.srtt * 7 + rtt) / 8;
        let rounds = &mut self.extra.get_or_insert_default().rounds;
        rounds.longest = rounds.longest.max(rtt);
        if now.saturating_since(rounds.since) >= self.srtt {
            self.end_round(now);
        } else {
            self.clear_back_off();
        }
    }

    /// A round trip of many samples is over.
    #[inline(never)]
    fn end_round(&mut self, now: Instant) {
        let Some(extra) = &self.extra else { return };
        let (Rounds { srtt, longest, .. }, followed) = (extra.rounds, self.srtt);
        if srtt > Duration::ZERO {
            self.srtt = srtt;
        }
        self.exact(longest);
        let slow = std::mem::replace(&mut self.srtt, followed);
        if let Some(extra) = &mut self.extra {
            extra.rounds = Rounds { srtt: slow, longest: Duration::ZERO, since: now };
        }
    }

    /// RFC 6298, 2.2 and 2.3.
    #[inline]
    fn exact(&mut self, rtt: Duration) {
        let srtt = match self.srtt() {
            None => {
                self.rttvar = rtt / 2;
                rtt
            }
            Some(srtt) => {
                // RTTVAR first: it uses the old SRTT.
                self.rttvar = (self.rttvar * 3 + srtt.abs_diff(rtt)) / 4;
                (srtt * 7 + rtt) / 8
            }
        };
        let least = if self.arithmetic == Arithmetic::Rfc9260 {
            self.rttvar = self.rttvar.max(self.granularity);
            Duration::ZERO
        } else {
            self.granularity
        };
        self.conclude(srtt, least.max(self.rttvar * 4));
    }

    #[inline]
    fn conclude(&mut self, srtt: Duration, variance: Duration) {
        (self.srtt, self.measured) = (srtt, true);
        if self.back_off == BackOff::UntilSample {
            self.backed_off = 0;
        }
        self.set_base(srtt + variance);
    }

    #[inline(never)]
    fn whole_ticks(&mut self, rtt: Duration) {
        let tick = self.granularity.as_nanos();
        // 1 / 2^shift of a time.
        let part =
            |time: Duration, shift: u32| Duration::from_nanos(((time.as_nanos() / tick) >> shift) * tick);
        let srtt = match self.srtt() {
            None => {
                self.rttvar = part(rtt, 1);
                rtt
            }
            Some(srtt) => {
                let error = srtt.abs_diff(rtt);
                self.rttvar = self.rttvar - part(self.rttvar, 2) + part(error, 2);
                srtt - part(srtt, 3) + part(rtt, 3)
            }
        };
        self.rttvar = self.rttvar.max(self.granularity);
        self.conclude(srtt, self.rttvar * 4);
    }

    /// As RFC 6298, but for the variance term: at least `min`, up at once, down by a quarter of the way each round, and a
    /// sample below the mean moves it by an eighth only.
    #[inline(never)]
    fn linux(&mut self, rtt: Duration) {
        let before = self.srtt();
        let Some(extra) = &mut self.extra else { return };
        let (una, max) = extra.sequence;
        let Extra { deviation, largest, variance, round, .. } = &mut **extra;
        let srtt = match before {
            None => {
                *deviation = rtt * 2;
                *variance = (*deviation).max(self.min);
                *largest = *variance;
                *round = max;
                rtt
            }
            Some(srtt) => {
                let (error, quarter) = (srtt.abs_diff(rtt), *deviation / 4);
                if rtt < srtt && error > quarter {
                    *deviation += (error - quarter) / 8;
                } else {
                    *deviation = *deviation + error - quarter;
                }
                *largest = (*largest).max(*deviation);
                *variance = (*variance).max(*largest);
                if una > *round {
                    *variance = *variance - (*variance - *largest) / 4;
                    *round = max;
                    *largest = self.min;
                }
                (srtt * 7 + rtt) / 8
            }
        };
        let variance = *variance;
        self.rttvar = variance / 4;
        self.conclude(srtt, variance);
    }

    #[inline(never)]
    fn fixed_point(&mut self, rtt: Duration) -> Duration {
        let g = self.granularity;
        let Some(extra) = &mut self.extra else { return rtt };
        let ticks = (((rtt + g / 2).as_nanos() / g.as_nanos()) as i64).clamp(1, 1 << 40);
        let (srtt, rttvar) = &mut extra.ticks;
        if *srtt == 0 {
            *srtt = ticks << 3;
            *rttvar = ticks << 1;
        } else {
            let delta = ticks - (*srtt >> 3);
            *srtt = (*srtt + delta).max(1);
            *rttvar = (*rttvar + delta.abs() - (*rttvar >> 2)).max(1);
        }
        let base = g * (((*rttvar << 3) + *srtt) >> 3) as u64;
        (self.srtt, self.measured) = (g * *srtt as u64 / 8, true);
        self.set_base(base);
        self.clear_back_off();
        g * ticks as u64
    }
}

/// The smallest round trip of late: "a windowed min-filtered estimate of recent RTT measurements" (RFC 8985, 6.2, step 1).
#[derive(Clone, Copy, Debug)]
pub struct MinRtt {
    window: Duration,
    smallest: Option<(Duration, Instant)>,
}

impl MinRtt {
    /// Forgets a round trip when nothing as small has been measured for so long.
    #[must_use]
    pub fn new(window: Duration) -> Self {
        Self { window, smallest: None }
    }

    /// A round trip was measured.
    pub fn note(&mut self, rtt: Duration, now: Instant) {
        if self.smallest.is_none_or(|(smallest, at)| rtt <= smallest || now - at > self.window) {
            self.smallest = Some((rtt, now));
        }
    }

    /// The smallest; `None` before the first.
    #[must_use]
    pub fn get(&self) -> Option<Duration> {
        self.smallest.map(|(rtt, _)| rtt)
    }
}

#[cfg(test)]
mod tests;
