//! When the next packet may leave: a token bucket in virtual time.
//!
//! The bucket fills at rate = gain * cwnd / SRTT (RFC 9002, 7.7) and holds a few packets, so that data after a pause
//! leaves at once. Nothing is counted up as time goes by: the inflow since the last packet is worked out when it is
//! asked for, from the window and the round trip of that moment.

use anabranch_base::{Duration, Instant};

/// Parts of a byte that the bucket counts: rounding loses less than one with a packet.
const PARTS: u64 = 1 << 16;

/// Most bytes in a batch: the limit of UDP segmentation offload.
const MOST_BATCH: u64 = 65_535;

/// How fast the bucket fills: `bytes` in `time` nanoseconds, both above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    bytes: u64,
    time: u64,
}

impl Rate {
    /// So many bytes a second; `None` for zero.
    #[must_use]
    pub fn per_second(bytes: u64) -> Option<Self> {
        (bytes > 0).then_some(Self { bytes, time: 1_000_000_000 })
    }

    /// The amount that flows in within so many nanoseconds, in parts of a byte.
    #[inline]
    fn parts_in(self, nanos: u64) -> u64 {
        // A division of 128 bits takes several times as long, and is hardly ever needed.
        if let Some(product) = nanos.checked_mul(PARTS).and_then(|parts| parts.checked_mul(self.bytes)) {
            return product / self.time;
        }
        let product = (u128::from(nanos) * u128::from(PARTS)).saturating_mul(u128::from(self.bytes));
        u64::try_from(product / u128::from(self.time)).unwrap_or(u64::MAX)
    }

    /// How long it takes until so many parts of a byte have flowed in, nanoseconds.
    #[inline]
    fn nanos_for(self, parts: u64) -> u64 {
        if let (Some(product), Some(unit)) = (parts.checked_mul(self.time), self.bytes.checked_mul(PARTS)) {
            return product.div_ceil(unit);
        }
        let product = u128::from(parts).saturating_mul(u128::from(self.time));
        u64::try_from(product.div_ceil(u128::from(self.bytes) * u128::from(PARTS))).unwrap_or(u64::MAX)
    }
}

/// The parameters of a pacer.
#[derive(Clone, Copy, Debug)]
pub struct PacerRules {
    /// Rate in percent of cwnd / SRTT (RFC 9002, 7.7: 125; Linux: 120).
    pub gain: u16,
    /// Rate in percent of cwnd / SRTT while cwnd is below half of ssthresh (Linux: 200).
    pub gain_slow_start: u16,
    /// A full packet, as the window counts it, bytes.
    pub packet: u32,
    /// Full packets that may leave at once after a pause.
    pub burst: u8,
    /// Packets that come due within this time leave together, two at least: fewer, larger batches for a driver of
    /// sockets (RFC 9002, 7.7, leaves that to the sender). Zero: each packet when it is due.
    pub quantum: Duration,
}

/// The token bucket of one sender; on a lane of SCTP, of that lane.
#[derive(Debug)]
pub struct Pacer {
    /// Percent of cwnd / SRTT, in slow start and later.
    gain_slow_start: u16,
    gain: u16,
    /// Parts of a byte: a full packet, a full bucket, and its level after the last packet.
    packet: u64,
    full: u64,
    level: u64,
    /// Nanoseconds.
    quantum: u32,
    /// The time at which the last packet left.
    since: Instant,
    /// Data waits until then, and for nothing else.
    pub at: Option<Instant>,
}

impl Pacer {
    /// With a full bucket.
    #[must_use]
    pub fn new(rules: &PacerRules) -> Self {
        let packet = u64::from(rules.packet) * PARTS;
        let full = packet * u64::from(rules.burst);
        Self {
            gain_slow_start: rules.gain_slow_start,
            gain: rules.gain,
            packet,
            full,
            level: full,
            quantum: u32::try_from(rules.quantum.as_nanos()).unwrap_or(u32::MAX),
            since: Instant::ZERO,
            at: None,
        }
    }

    /// A full packet has another size from now on, bytes.
    pub fn resize(&mut self, packet: u32) {
        let burst = self.full / self.packet.max(1);
        self.packet = u64::from(packet) * PARTS;
        self.full = self.packet * burst;
        self.level = self.level.min(self.full);
    }

    /// The rate for a window and a threshold in bytes; `None` while no round trip is known: nothing waits then.
    ///
    /// "N * congestion_window / smoothed_rtt", N "small, but at least 1" (RFC 9002, 7.7). A window that doubles within a
    /// round trip needs more. From half of ssthresh on the end of slow start is near, and the smaller gain holds, as in Linux.
    #[must_use]
    pub fn rate(&self, cwnd: u64, ssthresh: u64, srtt: Option<Duration>) -> Option<Rate> {
        let time = srtt?.as_nanos();
        let gain = if cwnd < ssthresh / 2 { self.gain_slow_start } else { self.gain };
        let rate = Rate { bytes: cwnd.saturating_mul(gain.into()), time: time.saturating_mul(100) };
        (rate.bytes > 0 && rate.time > 0).then_some(rate)
    }

    /// The bucket holds so many bytes from now on, but no less than a packet: the burst that a controller allows.
    pub fn set_bucket(&mut self, bytes: u64) {
        self.full = bytes.saturating_mul(PARTS).max(self.packet);
        self.level = self.level.min(self.full);
    }

    /// The amount that leaves together, in parts of a byte: that which comes due in a quantum, two packets at least,
    /// and no more than an operating system takes at once.
    fn batch(&self, rate: Rate) -> u64 {
        if self.quantum == 0 {
            return self.packet;
        }
        rate.parts_in(self.quantum.into()).min(MOST_BATCH * PARTS).max(2 * self.packet)
    }

    /// The fill of the bucket, in parts of a byte.
    #[inline]
    fn level(&self, now: Instant, rate: Rate) -> u64 {
        // One of several packets that leave at once: nothing has flowed in.
        if now <= self.since && self.level <= self.full {
            return self.level;
        }
        self.level_after(now, rate)
    }

    #[inline]
    fn level_after(&self, now: Instant, rate: Rate) -> u64 {
        let gained = rate.parts_in(now.saturating_since(self.since).as_nanos());
        let level = self.level.saturating_add(gained);
        if level <= self.full || self.quantum == 0 {
            return level.min(self.full);
        }
        // A driver that comes late by less than a quantum loses nothing.
        level.min(self.full.max(2 * self.batch(rate)))
    }

    /// Whether the bucket held a full packet after the last one: then the next may leave at once.
    #[inline]
    #[must_use]
    pub fn has_packet(&self) -> bool {
        self.level >= self.packet
    }

    /// Whether a packet may leave. If not, `at` is when it may, should the rate stay as it is: the first nanosecond at which
    /// the bucket holds a full packet, or a batch, and no later than `longest` after the last packet: a window of before, when packets were
    /// a tenth as long, must not keep back the next one for minutes.
    pub fn lets(&mut self, now: Instant, rate: Rate, longest: Duration) -> bool {
        self.lets_keeping(now, rate, longest, false)
    }

    /// [`Pacer::lets`] where the packet leaves at once, if it may, and the bucket is the same by then: its level is kept, so that
    /// [`Pacer::sent_now`] need not work it out again.
    #[inline]
    pub fn lets_next(&mut self, now: Instant, rate: Rate, longest: Duration) -> bool {
        self.lets_keeping(now, rate, longest, true)
    }

    #[inline]
    fn lets_keeping(&mut self, now: Instant, rate: Rate, longest: Duration, keep: bool) -> bool {
        let level = self.level(now, rate);
        if level >= self.packet {
            if keep {
                (self.level, self.since) = (level, now);
            }
            return true;
        }
        if now.saturating_since(self.since) >= longest {
            return true;
        }
        let missing = self.batch(rate).saturating_sub(self.level);
        let wait = rate.nanos_for(missing).min(longest.as_nanos());
        self.at = Some(Instant::from_nanos(self.since.as_nanos().saturating_add(wait)));
        false
    }

    /// [`Pacer::sent`] where the present level of the bucket is known already, so that no rate is needed; otherwise false, and nothing has
    /// changed.
    #[inline]
    pub fn sent_now(&mut self, now: Instant, bytes: u64) -> bool {
        let known = now <= self.since && self.level <= self.full && self.since != Instant::ZERO;
        if known {
            self.level = self.level.saturating_sub(bytes.saturating_mul(PARTS));
            (self.since, self.at) = (now, None);
        }
        known
    }

    /// A packet of `bytes` bytes left, as the window counts them. A packet that did not ask takes no more than the bucket has.
    pub fn sent(&mut self, now: Instant, rate: Rate, bytes: u64) {
        self.level = self.level(now, rate).saturating_sub(bytes.saturating_mul(PARTS));
        self.since = now;
        self.at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pacer(burst: u8) -> Pacer {
        Pacer::new(&PacerRules {
            gain: 120,
            gain_slow_start: 200,
            packet: 1468,
            burst,
            quantum: Duration::ZERO,
        })
    }

    /// Longer than anything that these tests wait for.
    const LONGEST: Duration = Duration::MAX;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn the_rate_is_a_multiple_of_the_window_in_a_round_trip() {
        let pacer = pacer(1);
        let srtt = Some(Duration::from_millis(100));
        let rate =
            |cwnd, ssthresh| pacer.rate(cwnd, ssthresh, srtt).map(|r| r.bytes * 1_000_000 / (r.time / 1000));
        // Bytes per second: twice 10 kB in 100 ms while ssthresh is far, 1.2 times later.
        assert_eq!(rate(10_000, 1 << 30), Some(200_000));
        assert_eq!(rate(10_000, 20_002), Some(200_000));
        assert_eq!(rate(10_000, 20_000), Some(120_000));
        assert_eq!(rate(10_000, 5_000), Some(120_000));
        assert_eq!(pacer.rate(10_000, 5_000, None), None);
        assert_eq!(pacer.rate(10_000, 5_000, Some(Duration::ZERO)), None, "a clock too coarse to tell");
        assert_eq!(pacer.rate(0, 5_000, srtt), None);
    }

    #[test]
    fn a_burst_and_then_one_packet_at_a_time() {
        let mut pacer = pacer(3);
        // A packet of 1468 bytes in 1 ms, and the time it takes when it is asked too early or too often.
        let rate = Rate { bytes: 1468, time: 1_000_000 };
        let due = |packets: usize| 5_000_000 + (packets as u64 - 2) * 1_000_000;
        let mut left = Vec::new();
        for ns in (5_000_000..15_000_000).step_by(1_000) {
            if pacer.lets(at(ns), rate, LONGEST) {
                pacer.sent(at(ns), rate, 1468);
                left.push(ns);
            } else {
                let until = pacer.at.map_or(0, Instant::as_nanos);
                // The bucket is booked in whole parts of a byte.
                assert!((due(left.len())..due(left.len()) + 10).contains(&until), "{until}");
            }
        }
        assert_eq!(left[..3], [5_000_000, 5_001_000, 5_002_000]);
        for (k, ns) in left.iter().enumerate().skip(3) {
            assert!((due(k)..=due(k) + 1_000).contains(ns), "packet {k} at {ns}");
        }
        assert_eq!(left.len(), 12);
    }

    #[test]
    fn the_time_it_names_is_the_first_that_will_do() {
        let mut pacer = pacer(1);
        for (bytes, time) in [(1468 * 7, 1_000_003), (1, 977), (123_457, 1_000_000_007), (1 << 40, 3)] {
            let rate = Rate { bytes, time };
            let now = at(1 << 50);
            pacer.sent(now, rate, 1 << 30);
            assert!(!pacer.lets(now, rate, LONGEST), "the bucket is empty");
            let until = pacer.at.unwrap_or(now);
            assert!(!pacer.lets(until - Duration::from_nanos(1), rate, LONGEST), "{bytes}/{time}");
            assert!(pacer.lets(until, rate, LONGEST), "{bytes}/{time}");
        }
    }

    /// A window of one small packet, and packets that have become ten times as long.
    #[test]
    fn no_packet_waits_longer_than_it_is_told() {
        let mut pacer = pacer(1);
        let (rate, longest) = (Rate { bytes: 100, time: 1_000_000_000 }, Duration::from_secs(5));
        assert!(pacer.lets(at(1 << 40), rate, longest));
        pacer.sent(at(1 << 40), rate, 1468);
        assert!(!pacer.lets(at(1 << 40), rate, longest));
        let until = pacer.at.unwrap();
        assert_eq!(until - at(1 << 40), longest);
        assert!(!pacer.lets(until - Duration::from_nanos(1), rate, longest));
        assert!(pacer.lets(until, rate, longest), "what the timer was set for");
    }

    #[test]
    fn a_bucket_holds_as_many_packets_of_another_size() {
        let mut pacer = pacer(4);
        pacer.resize(500);
        let rate = Rate { bytes: 500, time: 1_000_000 };
        for packet in 0..5 {
            assert_eq!(pacer.lets(at(5), rate, LONGEST), packet < 4, "packet {packet}");
            pacer.sent(at(5), rate, 500);
        }
        pacer.resize(1000);
        assert!(!pacer.lets(at(1_000_005), rate, LONGEST) && pacer.lets(at(2_000_005), rate, LONGEST));
    }

    /// At 100 Mbit/s the packets due in a millisecond leave together, at 1 Mbit/s two packets do, and at 10 Gbit/s 64 KiB: never more than
    /// two batches at once, and the rate is kept.
    #[test]
    fn what_comes_due_in_a_quantum_leaves_together() {
        for (bytes, batch) in [(125_000, 2), (12_500_000, 8), (1_250_000_000, 44)] {
            let quantum = Duration::from_millis(1);
            let mut pacer =
                Pacer::new(&PacerRules { gain: 100, gain_slow_start: 100, packet: 1468, burst: 2, quantum });
            let rate = Rate { bytes, time: 1_000_000_000 };
            let (mut now, mut sent) = (at(1 << 40), 0_u64);
            let (mut batches, mut most) = (0, 0);
            while batches < 50 {
                let mut together = 0;
                while pacer.lets(now, rate, LONGEST) {
                    pacer.sent(now, rate, 1468);
                    together += 1;
                }
                if batches > 0 {
                    assert!((batch..=batch + 1).contains(&together), "{together} of {batch} at {bytes} B/s");
                }
                most = most.max(together);
                sent += together * 1468;
                batches += 1;
                now = pacer.at.unwrap_or(now);
            }
            let took = (now - at(1 << 40)).as_secs_f64();
            let over = sent as f64 - took * bytes as f64;
            assert!(over <= (2 * batch + 2) as f64 * 1468.0, "{over} bytes above the rate");
            assert!(most <= 2 * batch + 1, "{most}");
        }
    }

    #[test]
    fn a_faster_lane_waits_less_and_nothing_overflows() {
        let mut pacer = pacer(2);
        let slow = Rate { bytes: 1, time: u64::MAX };
        pacer.sent(at(0), slow, u64::MAX);
        assert!(!pacer.lets(at(1), slow, LONGEST));
        assert_eq!(pacer.at, Some(at(u64::MAX)));
        let fast = Rate { bytes: u64::MAX, time: 100 };
        assert!(pacer.lets(at(u64::MAX), fast, LONGEST), "full, not wrapped around");
    }
}
