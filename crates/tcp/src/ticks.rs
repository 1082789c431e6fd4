//! When a timer really expires: at once, or on the next tick of a kernel's clock.

use crate::config::Config;
use anabranch_base::{Duration, Instant};

/// Below so many ticks Linux's wheel is exact; eight times that for each coarser level.
const FIRST_LEVEL: u64 = 63;

impl Config {
    /// When a timer armed at `now` for `span` expires. With ticks never early, and up to one late; with the wheel later.
    pub(crate) fn due(&self, now: Instant, span: Duration) -> Instant {
        let tick = self.timer_tick.as_nanos();
        if tick == 0 {
            return now + span;
        }
        let ticks = span.as_nanos().div_ceil(tick).max(1);
        let end = now.as_nanos() / tick + ticks;
        let mut shift = 0;
        if self.timer_wheel {
            let mut limit = FIRST_LEVEL;
            while ticks >= limit && shift < 24 {
                shift += 3;
                limit = limit.saturating_mul(8);
            }
        }
        // Rounded up to the level's step: "The timer wheel has to guarantee that a timer does not fire early".
        Instant::from_nanos((((end >> shift) + 1) << shift).saturating_mul(tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_round_up_and_the_wheel_more() {
        let ms = Duration::from_millis;
        let at = |n| Instant::ZERO + ms(n);
        let mut c = Config::default();
        assert_eq!(c.due(at(3), ms(25)), at(28), "exact");
        c.timer_tick = ms(10);
        assert_eq!(c.due(at(3), ms(25)), at(40), "3 ticks from tick 0, and never early");
        assert_eq!(c.due(at(3), ms(1000)), at(1010));
        c.timer_wheel = true;
        assert_eq!(c.due(at(3), ms(620)), at(630), "62 ticks");
        assert_eq!(c.due(at(3), ms(630)), at(640), "63 ticks: in steps of 8");
        assert_eq!(c.due(at(13), ms(1000)), at(1040), "tick 101 becomes 104");
        assert_eq!(c.due(at(0), ms(6000)), at(6400), "600 ticks: in steps of 64");
    }
}
