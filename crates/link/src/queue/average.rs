//! The moving average of a queue's length that RED and its relatives look at.

use anabranch_base::Duration;

/// How much one arrival weighs in the average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weight {
    /// The weight itself, 0 to 1.
    Fixed(f64),
    /// `1 - exp(-1 / (T C))` with the link's rate C in packets per second: the average forgets within T. ns-2's
    /// `q_weight_` 0 is a T of 1 s, its -2 a T of 0.1 s.
    Memory(Duration),
    /// T is ten round trips: three times the link's delay and the time of a packet, at least 100 ms. ns-2's -1.
    Auto,
}

/// The properties of a link that the queue discipline in front of it needs.
#[derive(Clone, Copy, Debug)]
pub struct LinkFacts {
    /// Bits per second; `None` when infinite.
    pub rate: Option<u64>,
    /// Propagation delay.
    pub delay: Duration,
}

impl LinkFacts {
    /// How many packets of `mean_packet` bytes the link sends in a second.
    #[must_use]
    pub fn packets_per_second(self, mean_packet: u32) -> f64 {
        self.rate.map_or(f64::INFINITY, |rate| rate as f64 / (8.0 * f64::from(mean_packet.max(1))))
    }
}

impl Weight {
    /// The weight in front of a link with packets of `mean_packet` bytes.
    #[must_use]
    pub fn resolve(self, link: LinkFacts, mean_packet: u32) -> f64 {
        let per_second = link.packets_per_second(mean_packet);
        let memory = match self {
            Self::Fixed(weight) => return weight,
            Self::Memory(memory) => memory.as_secs_f64(),
            Self::Auto => 10.0 * (3.0 * (link.delay.as_secs_f64() + 1.0 / per_second)).max(0.1),
        };
        -(-1.0 / (memory * per_second)).exp_m1()
    }
}

/// An exponentially weighted moving average, brought up to date at each arrival.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    value: f64,
    weight: f64,
    packets_per_second: f64,
}

impl Average {
    pub(crate) fn new(weight: Weight, link: LinkFacts, mean_packet: u32) -> Self {
        Self {
            value: 0.0,
            weight: weight.resolve(link, mean_packet),
            packets_per_second: link.packets_per_second(mean_packet),
        }
    }

    pub(crate) const fn value(&self) -> f64 {
        self.value
    }

    /// A frame arrives at a queue of `length`. If nothing has been going on for the time `idle`, the average falls as if
    /// so many packets had met an empty queue as could have been sent (Floyd and Jacobson 1993, section 4).
    #[inline]
    pub(crate) fn update(&mut self, length: f64, idle: Option<Duration>) {
        let keep = 1.0 - self.weight;
        if let Some(idle) = idle {
            let missed = (self.packets_per_second * idle.as_secs_f64()) as u64;
            self.value *= power(keep, missed);
        }
        self.value = self.value * keep + self.weight * length;
    }
}

/// `base` to the power of `exponent`, by squaring: the same on every machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_MBIT: LinkFacts = LinkFacts { rate: Some(10_000_000), delay: Duration::from_millis(20) };

    #[test]
    fn weights_by_hand() {
        // 10 Mbit/s and 1000 B: 1250 packets a second.
        let close = |weight: Weight, link, expected: f64| {
            let found = weight.resolve(link, 1000);
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} is not {expected}");
        };
        // Three times 20.8 ms are less than 100 ms: 1 - exp(-1 / 1250).
        close(Weight::Auto, TEN_MBIT, 7.996_801e-4);
        // Three times 50.8 ms: 1 - exp(-1 / (1.524 * 1250)).
        close(Weight::Auto, LinkFacts { delay: Duration::from_millis(50), ..TEN_MBIT }, 5.247_965e-4);
        close(Weight::Memory(Duration::from_secs(1)), TEN_MBIT, 7.996_801e-4);
        // ns-2's -2: 1 - exp(-10 / 1250).
        close(Weight::Memory(Duration::from_millis(100)), TEN_MBIT, 7.968_085e-3);
        close(Weight::Fixed(0.002), TEN_MBIT, 0.002);
    }

    #[test]
    fn an_idle_time_counts_as_packets_that_were_not_there() {
        let mut average = Average::new(Weight::Fixed(0.5), TEN_MBIT, 1000);
        average.update(8.0, None);
        assert_eq!(average.value(), 4.0);
        average.update(8.0, None);
        assert_eq!(average.value(), 6.0);
        // 2.4 ms are three packets at 1250 a second; the fourth halving is that of the arrival itself.
        average.update(0.0, Some(Duration::from_micros(2_500)));
        assert_eq!(average.value(), 6.0 / 16.0);
        // Less than a packet's time is none.
        average.update(0.0, Some(Duration::from_micros(799)));
        assert_eq!(average.value(), 6.0 / 32.0);
        average.update(1.0, Some(Duration::from_secs(1_000_000)));
        assert_eq!(average.value(), 0.5);
    }

    #[test]
    fn powers() {
        assert_eq!(power(0.5, 0), 1.0);
        assert_eq!(power(0.5, 10), 1.0 / 1024.0);
        assert!((power(0.998, 1000) / 0.135_06 - 1.0).abs() < 1e-4);
        assert_eq!(power(0.9, u64::MAX), 0.0);
    }
}
