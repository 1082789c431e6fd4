//! When timers expire: exactly, or on the ticks of a kernel.

use anabranch_base::{Duration, Instant};

/// The clock that timers follow.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Zero: exact.
    tick: Duration,
    /// Long timers expire on coarser ticks.
    wheel: bool,
    /// Ticks are counted from the one that comes next.
    whole: bool,
}

/// Each level of a timer wheel is so many times (a power of two) coarser than the one below.
const LEVEL_SHIFT: u32 = 3;
/// Ticks that the finest level reaches.
const LEVEL_TICKS: u64 = 63;
/// The coarsest level.
const TOP_LEVEL: u32 = 8;

impl Clock {
    /// A clock that ticks so often; zero is exact.
    ///
    /// With `wheel` long timers expire on coarser ticks: up to 63 ticks on the next tick, up to 8 x 63 on a multiple of 8, and
    /// so on (Linux since 4.8). With `whole` a timer takes at least one whole tick, and never less than was asked for; without
    /// it ticks are counted from the last one, so that a timer may be early by a part of one. A wheel is never early.
    #[inline]
    #[must_use]
    pub fn new(tick: Duration, wheel: bool, whole: bool) -> Self {
        Self { tick, wheel, whole }
    }

    /// When a timer of that length expires that is started now.
    #[inline]
    #[must_use]
    pub fn after(self, now: Instant, wait: Duration) -> Instant {
        if self.tick == Duration::ZERO { now + wait } else { self.on_a_tick(now, wait) }
    }

    #[inline(never)]
    fn on_a_tick(self, now: Instant, wait: Duration) -> Instant {
        let tick = self.tick.as_nanos();
        let ticks = wait.as_nanos().div_ceil(tick).max(u64::from(self.whole));
        let mut expires = (now.as_nanos() / tick).saturating_add(ticks);
        if self.wheel || self.whole {
            let mut level = 0;
            while self.wheel && level < TOP_LEVEL && ticks >= LEVEL_TICKS << (LEVEL_SHIFT * level) {
                level += 1;
            }
            // "The timer wheel has to guarantee that a timer does not fire early": at least one step of the level later.
            let shift = LEVEL_SHIFT * level;
            expires = (expires >> shift).saturating_add(1).saturating_mul(1 << shift);
        }
        Instant::from_nanos(expires.saturating_mul(tick))
    }

    /// A round trip as the clock sees it: the ticks between its ends; zero where the second comes before the first.
    #[must_use]
    pub fn elapsed(self, from: Instant, to: Instant) -> Duration {
        if self.tick == Duration::ZERO {
            return to - from;
        }
        let tick = self.tick.as_nanos();
        let ticks = (to.as_nanos() / tick).saturating_sub(from.as_nanos() / tick);
        Duration::from_nanos(ticks.saturating_mul(tick))
    }

    /// G: the granularity.
    #[must_use]
    pub fn granularity(self) -> Duration {
        self.tick.max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(n: u64) -> Instant {
        Instant::ZERO + ms(n)
    }

    #[test]
    fn exact_ticks_and_wheel() {
        let exact = Clock::new(Duration::ZERO, false, false);
        assert_eq!(exact.after(Instant::from_nanos(5), ms(1)).as_nanos(), 1_000_005);
        let ticks = Clock::new(ms(10), false, false);
        assert_eq!(ticks.after(at(14), ms(200)), at(210));
        let wheel = Clock::new(ms(10), true, false);
        // 20 ticks: the finest level, one tick late.
        assert_eq!(wheel.after(at(14), ms(200)), at(220));
        // 100 ticks: multiples of 8.
        assert_eq!(wheel.after(at(14), ms(1000)), at(1040));
        assert_eq!(wheel.after(at(25), ms(1000)), at(1040));
        assert_eq!(wheel.after(at(45), ms(1000)), at(1120));
        // 600 ticks: multiples of 64.
        assert_eq!(wheel.after(at(0), ms(6000)), at(6400));
        assert_eq!(wheel.elapsed(at(19), at(40)), ms(30));
    }

    #[test]
    fn whole_ticks_round_up_and_the_wheel_more() {
        assert_eq!(Clock::new(Duration::ZERO, false, true).after(at(3), ms(25)), at(28), "exact");
        let whole = Clock::new(ms(10), false, true);
        assert_eq!(whole.after(at(3), ms(25)), at(40), "3 ticks from tick 0, and never early");
        assert_eq!(whole.after(at(3), ms(1000)), at(1010));
        assert_eq!(whole.after(at(3), ms(0)), at(20), "a whole tick");
        let wheel = Clock::new(ms(10), true, true);
        assert_eq!(wheel.after(at(3), ms(620)), at(630), "62 ticks");
        assert_eq!(wheel.after(at(3), ms(630)), at(640), "63 ticks: in steps of 8");
        assert_eq!(wheel.after(at(13), ms(1000)), at(1040), "tick 101 becomes 104");
        assert_eq!(wheel.after(at(0), ms(6000)), at(6400), "600 ticks: in steps of 64");
    }

    /// A driver whose clock was set back, and times at the end of the range.
    #[test]
    fn time_that_goes_back_is_no_time() {
        for tick in [0, 10] {
            let clock = Clock::new(ms(tick), true, false);
            assert_eq!(clock.elapsed(at(40), at(19)), Duration::ZERO, "{tick} ms");
            assert_eq!(clock.elapsed(at(45), at(44)), Duration::ZERO, "{tick} ms, within a tick");
            assert_eq!(clock.elapsed(Instant::FAR_FUTURE, at(0)), Duration::ZERO);
        }
        for tick in [Duration::ZERO, Duration::from_nanos(1), ms(10)] {
            let clock = Clock::new(tick, true, true);
            assert!(clock.after(Instant::FAR_FUTURE, Duration::MAX) >= at(1 << 40), "{tick}");
        }
    }
}
