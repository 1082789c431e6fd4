//! When timers expire: exactly, or on the ticks of a kernel.

use anabranch_base::{Duration, Instant};

use crate::config::Config;

/// The clock that timers follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Zero: exact.
    tick: Duration,
    /// Long timers expire on coarser ticks.
    wheel: bool,
}

/// Each level of a timer wheel is so many times (a power of two) coarser than the one below.
const LEVEL_SHIFT: u32 = 3;
/// Ticks that the finest level reaches.
const LEVEL_TICKS: u64 = 63;
/// The coarsest level.
const TOP_LEVEL: u32 = 8;

impl Clock {
    pub(crate) fn new(config: &Config) -> Self {
        Self { tick: config.timer_tick, wheel: config.timer_wheel }
    }

    /// When a timer of that length expires that is started now.
    #[inline]
    pub(crate) fn after(self, now: Instant, wait: Duration) -> Instant {
        if self.tick == Duration::ZERO { now + wait } else { self.on_a_tick(now, wait) }
    }

    #[inline(never)]
    fn on_a_tick(self, now: Instant, wait: Duration) -> Instant {
        let tick = self.tick.as_nanos();
        let ticks = wait.as_nanos().div_ceil(tick);
        let mut expires = now.as_nanos() / tick + ticks;
        if self.wheel {
            // Never early, so at least one step of the level later.
            let mut level = 0;
            while level < TOP_LEVEL && ticks >= LEVEL_TICKS << (LEVEL_SHIFT * level) {
                level += 1;
            }
            let shift = LEVEL_SHIFT * level;
            expires = ((expires >> shift) + 1) << shift;
        }
        Instant::from_nanos(expires.saturating_mul(tick))
    }

    /// A round trip as the clock sees it: the ticks between its ends.
    pub(crate) fn elapsed(self, from: Instant, to: Instant) -> Duration {
        if self.tick == Duration::ZERO {
            return to - from;
        }
        let tick = self.tick.as_nanos();
        Duration::from_nanos((to.as_nanos() / tick - from.as_nanos() / tick) * tick)
    }

    /// A part of a time, 1 / 2^`shift`: whole ticks, where the clock has some.
    pub(crate) fn part(self, time: Duration, shift: u32) -> Duration {
        let tick = self.tick.as_nanos().max(1);
        Duration::from_nanos(((time.as_nanos() / tick) >> shift) * tick)
    }

    pub(crate) fn ticks(self) -> bool {
        self.tick != Duration::ZERO
    }

    /// G: the granularity.
    pub(crate) fn granularity(self) -> Duration {
        self.tick.max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn exact_ticks_and_wheel() {
        let at = |ns| Instant::from_nanos(ns);
        let exact = Clock { tick: Duration::ZERO, wheel: false };
        assert_eq!(exact.after(at(5), ms(1)), at(1_000_005));
        let ticks = Clock { tick: ms(10), wheel: false };
        assert_eq!(ticks.after(at(0) + ms(14), ms(200)), at(0) + ms(210));
        let wheel = Clock { tick: ms(10), wheel: true };
        // 20 ticks: the finest level, one tick late.
        assert_eq!(wheel.after(at(0) + ms(14), ms(200)), at(0) + ms(220));
        // 100 ticks: multiples of 8.
        assert_eq!(wheel.after(at(0) + ms(14), ms(1000)), at(0) + ms(1040));
        assert_eq!(wheel.after(at(0) + ms(25), ms(1000)), at(0) + ms(1040));
        assert_eq!(wheel.after(at(0) + ms(45), ms(1000)), at(0) + ms(1120));
        // 600 ticks: multiples of 64.
        assert_eq!(wheel.after(at(0), ms(6000)), at(0) + ms(6400));
        assert_eq!(wheel.elapsed(at(0) + ms(19), at(0) + ms(40)), ms(30));
        assert_eq!(wheel.part(ms(70), 2), ms(10));
    }
}
