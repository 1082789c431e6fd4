//! An association watches itself: the formal properties at every moment in which it has nothing more to send, where debug assertions are
//! on or the feature `watched` is.

use anabranch_base::Instant;

use super::Association;
use crate::event::Timer;
use crate::properties::{Bounds, Sight};
#[cfg(any(debug_assertions, feature = "watched"))]
use crate::state::State;

impl Association {
    /// The association as an observer sees it; of use when it has nothing more to send.
    #[must_use]
    pub fn sight(&self) -> Sight {
        let (mut t1, mut t2, mut t5, mut next): (Option<Instant>, _, _, Option<Instant>) =
            (None, None, None, None);
        self.timers(|at, timer, _| match timer {
            Timer::T1Init | Timer::T1Cookie => t1 = at,
            Timer::T2Shutdown => t2 = at,
            Timer::T5ShutdownGuard => t5 = at,
            Timer::Sack | Timer::Heartbeat => {}
            _ => next = next.into_iter().chain(at).min(),
        });
        let since = self.life.watch().since().unwrap_or(self.cx.env.now());
        let (owes, unacknowledged) = (!self.sender.has_nothing_outstanding(), self.unacknowledged_chunks());
        let waits = unacknowledged > 0 || (owes && self.sender.tables().has_nothing_sent());
        Sight {
            state: self.cx.env.state(),
            since,
            latest: self.cx.env.latest(),
            t1,
            t2,
            t5,
            next,
            owes,
            waits,
        }
    }

    /// The longest times that timers may take with this configuration, or with an earlier one under which a timer was set that may still run.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        let config = self.cx.env.config();
        let longest = config.timers.rto_max;
        // A wheel with coarse ticks expires up to an eighth late.
        let timer = longest + longest / 4 + config.emulation.timer_tick * 64;
        let bounds = Bounds {
            timer,
            handshake: timer * (u64::from(config.limits.max_init_retransmits) + 2),
            guard: config.timers.rto_max * u64::from(config.timers.shutdown_guard_rto_max),
        };
        self.life.watch().bounds(self.cx.env.latest(), bounds)
    }

    /// Nothing more is to be sent now.
    #[inline]
    pub(crate) fn watch_at_rest(&mut self, now: Instant) {
        #[cfg(any(debug_assertions, feature = "watched"))]
        if !self.is_plainly_well(now) && self.cx.env.state() != State::Closed {
            let (sight, bounds) = self.at_rest();
            self.life.watch_mut().look_at_rest(now, sight, &bounds);
        }
        #[cfg(not(any(debug_assertions, feature = "watched")))]
        let _ = now;
    }

    /// True if the one property that can fail while an association is up, P5, holds without a closer look: it asks
    /// for a timer while data waits for an acknowledgement. In most moments no data waits, or T3-rtx runs, and then
    /// nothing else has to be compared.
    #[cfg(any(debug_assertions, feature = "watched"))]
    #[inline]
    fn is_plainly_well(&self, now: Instant) -> bool {
        let is_up = self.cx.env.state() == State::Established;
        let within = now + self.cx.env.config().timers.rto_max;
        is_up && (self.sender.has_t3_by(within) || self.sender.has_nothing_outstanding())
    }

    #[cfg(any(debug_assertions, feature = "watched"))]
    #[cold]
    #[inline(never)]
    fn at_rest(&self) -> (Sight, Bounds) {
        (self.sight(), self.bounds())
    }
}
