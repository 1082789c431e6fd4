//! The marked part of a flow's data: the average that a scalable response goes by (RFC 8257, 3.3; RFC 9331, 4.3).

use anabranch_base::{Duration, Instant};

/// Weight of the newest round trip (g of RFC 8257, 4.2).
const GAIN: f64 = 1.0 / 16.0;

/// An exponentially weighted average of the marked part of the delivered data, a round trip a step. Round trips without
/// a mark are counted when the next mark comes: connections without marks cost nothing.
#[derive(Clone, Debug)]
pub struct Alpha {
    /// 1 until something else is known: the first mark halves the window, as in Linux.
    value: f64,
    since: Option<Instant>,
    /// Delivered by then, bytes.
    delivered: u64,
    /// Marked since, bytes.
    marked: u64,
}

impl Default for Alpha {
    fn default() -> Self {
        Self { value: 1.0, since: None, delivered: 0, marked: 0 }
    }
}

impl Alpha {
    /// So many bytes are reported as marked at `now`, of `delivered` since the beginning; a round trip takes `srtt`.
    pub fn on_marked(&mut self, now: Instant, marked: u64, delivered: u64, srtt: Duration) {
        self.marked = self.marked.saturating_add(marked);
        let Some(since) = self.since else {
            (self.since, self.delivered) = (Some(now), delivered);
            return;
        };
        let passed = now.saturating_since(since);
        let srtt = srtt.max(Duration::from_micros(1));
        if passed < srtt {
            return;
        }
        let all = delivered.saturating_sub(self.delivered).max(1);
        let part = (self.marked as f64 / all as f64).min(1.0);
        // As many steps as round trips have passed, each with the mean of them all.
        let rounds = passed.as_nanos() / srtt.as_nanos();
        let kept = (1.0 - GAIN).powi(i32::try_from(rounds.min(1000)).unwrap_or(1000));
        self.value = self.value * kept + part * (1.0 - kept);
        (self.since, self.delivered, self.marked) = (Some(now), delivered, 0);
    }

    /// The average, 0 to 1.
    #[must_use]
    pub fn get(&self) -> f64 {
        self.value
    }

    /// The part of the window that remains after a mark, millionths: 1 - alpha / 2 (RFC 8257, 3.3).
    #[must_use]
    pub fn kept(&self) -> u32 {
        ((1.0 - self.value / 2.0) * 1e6) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(10);

    #[test]
    fn the_first_mark_halves_and_the_average_follows_the_marked_part() {
        let mut alpha = Alpha::default();
        assert_eq!(alpha.kept(), 500_000);
        let (mut now, mut delivered) = (Instant::ZERO, 0);
        for _ in 0..200 {
            now += RTT;
            delivered += 100_000;
            alpha.on_marked(now, 20_000, delivered, RTT);
        }
        assert!((alpha.get() - 0.2).abs() < 0.01, "{}", alpha.get());
        assert!((890_000..910_000).contains(&alpha.kept()));
    }

    /// A thousand round trips without a mark, and one with: it is the mean of all.
    #[test]
    fn round_trips_without_marks_count() {
        let mut alpha = Alpha::default();
        alpha.on_marked(Instant::ZERO, 1000, 0, RTT);
        alpha.on_marked(Instant::ZERO + RTT * 1000, 1000, 100_000_000, RTT);
        assert!(alpha.get() < 0.001, "{}", alpha.get());
    }

    #[test]
    fn nothing_divides_by_zero_and_no_part_is_more_than_all() {
        let mut alpha = Alpha::default();
        let zero = Duration::ZERO;
        alpha.on_marked(Instant::ZERO, u64::MAX, 5, zero);
        alpha.on_marked(Instant::ZERO, u64::MAX, 0, zero);
        alpha.on_marked(Instant::from_nanos(u64::MAX), u64::MAX, 0, zero);
        assert!((0.0..=1.0).contains(&alpha.get()));
    }
}
