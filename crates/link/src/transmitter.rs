//! How long a frame takes to be sent, exactly.

use crate::pattern::player::Schedule;

/// The clock of a transmitter: the time when it will be free, in nanoseconds and a fraction.
///
/// A frame of `size` bytes takes `size * 8 * 10^9 / rate` nanoseconds, which is seldom a whole number. The remainder is
/// carried in units of `1 / rate` nanosecond from one frame to the next, so that a busy link never drifts at any
/// rate. Times that leave this type are rounded down: off by less than a nanosecond, always.
#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    /// Bits per second; `None` when a frame takes no time.
    rate: Option<u64>,
    free_at: u64,
    /// Always below `rate`.
    fraction: u64,
    /// The last size and its duration, kept because most frames of a link are of one size, and a division is slow.
    last: (u32, u64, u64),
}

impl Transmitter {
    /// `rate` in bits per second; a rate of zero counts as one.
    pub(crate) fn new(rate: Option<u64>) -> Self {
        Self { rate: rate.map(|bits| bits.max(1)), free_at: 0, fraction: 0, last: (0, 0, 0) }
    }

    /// When the frame in service, if any, has left (nanoseconds).
    pub(crate) const fn free_at(&self) -> u64 {
        self.free_at
    }

    /// Sends a frame of `size` bytes, at `now` or, when that is later, as soon as the transmitter is free. Returns the
    /// times when it starts and when it ends (nanoseconds).
    pub(crate) fn send(&mut self, now: u64, size: u32) -> (u64, u64) {
        if self.free_at < now {
            self.free_at = now;
            self.fraction = 0;
        }
        let start = self.free_at;
        let Some(rate) = self.rate else { return (start, start) };
        if rate == 0 {
            self.free_at = u64::MAX;
            return (start, u64::MAX);
        }
        let (nanos, rest) = self.time_of(size, rate);
        self.free_at = start.saturating_add(nanos);
        // Written so that `fraction + rest` cannot overflow at any rate.
        let room = rate - rest;
        if self.fraction >= room {
            self.fraction -= room;
            self.free_at = self.free_at.saturating_add(1);
        } else {
            self.fraction += rest;
        }
        (start, self.free_at)
    }

    /// Bits per second; `None` when a frame takes no time.
    pub(crate) const fn rate(&self) -> Option<u64> {
        self.rate
    }

    /// Changes the rate, from the next frame on; 0 stops the link.
    pub(crate) fn set_rate(&mut self, bits: u64) {
        if self.rate != Some(bits) {
            self.rate = Some(bits);
            self.fraction = 0;
            self.last = (0, 0, 0);
        }
    }

    /// As [`Transmitter::send`], with a rate that changes meanwhile.
    pub(crate) fn send_by(&mut self, now: u64, size: u32, schedule: &mut Schedule) -> (u64, u64) {
        let start = self.free_at.max(now);
        self.free_at = schedule.end_of(start, u64::from(size) * 8);
        self.fraction = 0;
        (start, self.free_at)
    }

    /// Whole nanoseconds and the remainder in `1 / rate` nanoseconds.
    fn time_of(&mut self, size: u32, rate: u64) -> (u64, u64) {
        if self.last.0 != size {
            let work = u128::from(size) * 8_000_000_000;
            let (nanos, rest) = match u64::try_from(work) {
                Ok(work) => (work / rate, work % rate),
                Err(_) => {
                    let rate = u128::from(rate);
                    (u64::try_from(work / rate).unwrap_or(u64::MAX), (work % rate) as u64)
                }
            };
            self.last = (size, nanos, rest);
        }
        (self.last.1, self.last.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_million_frames_at_an_odd_rate_end_where_the_rational_number_says() {
        // 9,999,991 bit/s is a prime: no frame of 1..1500 bytes takes a whole number of nanoseconds.
        const RATE: u64 = 9_999_991;
        let mut line = Transmitter::new(Some(RATE));
        let mut bits = 0_u128;
        for i in 0..10_000_000_u32 {
            let size = 40 + (i.wrapping_mul(2_654_435_761) >> 8) % 1461;
            bits += u128::from(size) * 8;
            let (_, end) = line.send(0, size);
            if i % 65_536 == 0 || i == 9_999_999 {
                assert_eq!(u128::from(end), bits * 1_000_000_000 / u128::from(RATE), "frame {i}");
            }
        }
    }

    #[test]
    fn very_fast_and_very_slow_rates_hold() {
        let mut fast = Transmitter::new(Some(u64::MAX));
        // 12,000 bits at 1.8e19 bit/s: 0.65e-6 ns each, and 2,000,000 of them one nanosecond and a bit.
        let mut end = 0;
        for _ in 0..2_000_000 {
            end = fast.send(0, 1500).1;
        }
        assert_eq!(u128::from(end), 2_000_000_u128 * 12_000 * 1_000_000_000 / u128::from(u64::MAX));
        let mut slow = Transmitter::new(Some(1));
        assert_eq!(slow.send(5, u32::MAX), (5, u64::MAX));
        assert_eq!(Transmitter::new(Some(1)).send(0, 1).1, 8_000_000_000);
        let mut endless = Transmitter::new(None);
        assert_eq!(endless.send(7, 1500), (7, 7));
        assert_eq!(endless.send(7, 1500), (7, 7));
    }

    #[test]
    fn an_idle_transmitter_starts_at_once_and_forgets_the_fraction() {
        let mut line = Transmitter::new(Some(3));
        // 1 byte at 3 bit/s: 2,666,666,666 2/3 ns.
        assert_eq!(line.send(0, 1), (0, 2_666_666_666));
        // Back to back: 5,333,333,333 1/3.
        assert_eq!(line.send(0, 1).1, 5_333_333_333);
        assert_eq!(line.send(6_000_000_000, 1), (6_000_000_000, 8_666_666_666));
    }
}
