//! Meters: they colour frames by how far traffic exceeds its contract.

use anabranch_base::{Duration, Instant, Rng};

use crate::Colour;

/// A meter and its parameters. Rates are bits per second, bursts bytes, both of IP packets. `aware`: a frame that comes in
/// with a colour cannot get a better one (colour-aware mode).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeterConfig {
    /// One bucket: green while it has tokens for the frame, else red.
    TokenBucket {
        /// Rate at which the bucket fills, bits per second.
        rate: u64,
        /// Depth of the bucket, bytes.
        burst: u64,
    },
    /// Single rate, three colours (RFC 2697).
    SrTcm {
        /// Committed information rate.
        cir: u64,
        /// Committed burst size.
        cbs: u64,
        /// Excess burst size.
        ebs: u64,
        /// Colour-aware.
        aware: bool,
    },
    /// Two rates, three colours (RFC 2698).
    TrTcm {
        /// Committed information rate.
        cir: u64,
        /// Committed burst size.
        cbs: u64,
        /// Peak information rate.
        pir: u64,
        /// Peak burst size.
        pbs: u64,
        /// Colour-aware.
        aware: bool,
    },
    /// Time sliding window, three colours (RFC 2859): the rate is estimated, and traffic above `cir` becomes yellow, traffic
    /// above `pir` red, by chance and in proportion to the excess. With `pir` equal to `cir` there is no yellow: the two
    /// colours of Clark and Fang (1998).
    TimeSlidingWindow {
        /// Committed target rate.
        cir: u64,
        /// Peak target rate.
        pir: u64,
        /// The time over which the rate is estimated.
        window: Duration,
    },
}

/// A meter at work.
#[derive(Clone, Debug)]
pub struct Meter {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    TokenBucket(Bucket),
    SrTcm { committed: Bucket, excess: Bucket, aware: bool },
    TrTcm { committed: Bucket, peak: Bucket, aware: bool },
    Window { window: Window, cir: f64, pir: f64, rng: Rng },
}

impl Meter {
    /// Builds the meter with full buckets. Its random draws come from `rng`.
    #[must_use]
    pub fn new(config: MeterConfig, rng: Rng) -> Self {
        let kind = match config {
            MeterConfig::TokenBucket { rate, burst } => Kind::TokenBucket(Bucket::full(rate, burst)),
            MeterConfig::SrTcm { cir, cbs, ebs, aware } => {
                // The second bucket has no rate of its own: it gets the overflow of the first.
                Kind::SrTcm { committed: Bucket::full(cir, cbs), excess: Bucket::full(0, ebs), aware }
            }
            MeterConfig::TrTcm { cir, cbs, pir, pbs, aware } => {
                Kind::TrTcm { committed: Bucket::full(cir, cbs), peak: Bucket::full(pir, pbs), aware }
            }
            MeterConfig::TimeSlidingWindow { cir, pir, window } => Kind::Window {
                // The estimate starts at the committed rate (RFC 2859, section 2).
                window: Window::new(cir as f64, window),
                cir: cir as f64,
                pir: pir as f64,
                rng,
            },
        };
        Self { kind }
    }

    /// The colour of a frame of `size` bytes that comes at `now` with a colour.
    pub fn colour(&mut self, now: Instant, size: u32, before: Colour) -> Colour {
        let now = now.as_nanos();
        match &mut self.kind {
            Kind::TokenBucket(bucket) => {
                bucket.fill(now);
                if bucket.take(size) { Colour::Green } else { Colour::Red }
            }
            Kind::SrTcm { committed, excess, aware } => {
                let before = if *aware { before } else { Colour::Green };
                let overflow = committed.fill(now);
                excess.pour(overflow);
                if before == Colour::Green && committed.take(size) {
                    Colour::Green
                } else if before <= Colour::Yellow && excess.take(size) {
                    Colour::Yellow
                } else {
                    Colour::Red
                }
            }
            Kind::TrTcm { committed, peak, aware } => {
                let before = if *aware { before } else { Colour::Green };
                committed.fill(now);
                peak.fill(now);
                if before == Colour::Red || !peak.take(size) {
                    Colour::Red
                } else if before == Colour::Yellow || !committed.take(size) {
                    Colour::Yellow
                } else {
                    Colour::Green
                }
            }
            Kind::Window { window, cir, pir, rng } => {
                let rate = window.rate(now, size);
                if rate <= *cir {
                    return Colour::Green;
                }
                // Red is the part above the peak rate, yellow the part between the two.
                let red = ((rate - *pir) / rate).max(0.0);
                let yellow = (rate.min(*pir) - *cir) / rate;
                let drawn = rng.f64();
                if drawn < red {
                    Colour::Red
                } else if drawn < red + yellow {
                    Colour::Yellow
                } else {
                    Colour::Green
                }
            }
        }
    }
}

/// Nanoseconds of a second: a token is a bit, and buckets count billionths of them, so that nothing is rounded.
const NANO: u128 = 1_000_000_000;

#[derive(Clone, Debug)]
struct Bucket {
    /// Bits per second, which is nanobits per nanosecond.
    rate: u64,
    /// Nanobits.
    room: u128,
    tokens: u128,
    filled: u64,
}

impl Bucket {
    fn full(rate: u64, burst: u64) -> Self {
        let room = u128::from(burst) * 8 * NANO;
        Self { rate, room, tokens: room, filled: 0 }
    }

    /// Fills the bucket up to `now`; returns the tokens that do not fit.
    fn fill(&mut self, now: u64) -> u128 {
        let gained = u128::from(now.saturating_sub(self.filled)) * u128::from(self.rate);
        self.filled = self.filled.max(now);
        self.pour(gained)
    }

    /// Adds tokens; returns those that do not fit.
    fn pour(&mut self, gained: u128) -> u128 {
        let tokens = self.tokens + gained;
        self.tokens = tokens.min(self.room);
        tokens - self.tokens
    }

    /// Takes the tokens of a frame if they are there.
    fn take(&mut self, size: u32) -> bool {
        let needed = u128::from(size) * 8 * NANO;
        match self.tokens.checked_sub(needed) {
            Some(left) => {
                self.tokens = left;
                true
            }
            None => false,
        }
    }
}

/// The rate estimator of RFC 2859, section 2.
#[derive(Clone, Debug)]
struct Window {
    /// Bits per second.
    rate: f64,
    /// Seconds.
    length: f64,
    last: u64,
}

impl Window {
    fn new(rate: f64, length: Duration) -> Self {
        Self { rate, length: length.as_secs_f64().max(1e-9), last: 0 }
    }

    fn rate(&mut self, now: u64, size: u32) -> f64 {
        let passed = now.saturating_sub(self.last) as f64 / 1e9;
        let bits = self.rate * self.length + f64::from(size) * 8.0;
        self.rate = bits / (passed + self.length);
        self.last = self.last.max(now);
        self.rate
    }
}
