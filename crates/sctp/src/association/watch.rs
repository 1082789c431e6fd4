//! An association watches itself: the formal properties, wherever debug assertions are on.

use anabranch_base::Instant;

use super::{Association, State};
use crate::event::Timer;
use crate::properties::{self, Bounds, Sight};

/// Where the association stands as the watch saw it last, and since when; nothing without debug assertions.
#[derive(Debug, Default)]
pub(super) struct Watch {
    #[cfg(debug_assertions)]
    seen: Option<(State, Instant)>,
}

impl Watch {
    /// The state changes.
    #[inline]
    pub(super) fn enter(&mut self, now: Instant, to: State) {
        #[cfg(debug_assertions)]
        {
            let from = self.seen.map(|(state, _)| state);
            let said = properties::transition(from, to, false);
            debug_assert!(said.is_ok(), "{said:?}: {from:?} -> {to:?} at {now}");
            self.seen = Some((to, now));
        }
        #[cfg(not(debug_assertions))]
        let _ = (now, to);
    }

    /// The peer has restarted: a new association begins.
    #[inline]
    pub(super) fn restart(&mut self) {
        #[cfg(debug_assertions)]
        {
            let from = self.seen.take().map(|(state, _)| state);
            let said = properties::transition(from, State::Established, true);
            debug_assert!(said.is_ok(), "{said:?}: restart in {from:?}");
        }
    }
}

impl Association {
    /// What an observer sees of the association; of use when it has nothing more to send.
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
        #[cfg(debug_assertions)]
        let since = self.watch.seen.map_or(self.cx.now, |(_, since)| since);
        #[cfg(not(debug_assertions))]
        let since = self.cx.now;
        let (owes, unacknowledged) = (!self.sender.has_nothing_outstanding(), self.unacknowledged_chunks());
        let waits = unacknowledged > 0 || (owes && self.sender.has_nothing_sent());
        Sight { state: self.cx.state, since, t1, t2, t5, next, owes, waits }
    }

    /// How long things may take with this configuration.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        let config = &self.cx.config;
        let longest = config.timers.rto_max;
        // A wheel with coarse ticks expires up to an eighth late.
        let timer = longest + longest / 4 + config.emulation.timer_tick * 64;
        Bounds {
            timer,
            handshake: timer * (u64::from(config.limits.max_init_retransmits) + 2),
            guard: config.timers.rto_max * u64::from(config.timers.shutdown_guard_rto_max),
        }
    }

    /// Nothing more is to be sent now.
    #[inline]
    pub(crate) fn watch_at_rest(&self, now: Instant) {
        #[cfg(debug_assertions)]
        if self.cx.state != State::Closed {
            let (sight, bounds) = (self.sight(), self.bounds());
            let said = properties::at_rest(now, &sight, &bounds);
            debug_assert!(said.is_ok(), "{said:?} at {now}: {sight:?}, {bounds:?}");
        }
        #[cfg(not(debug_assertions))]
        let _ = now;
    }
}
