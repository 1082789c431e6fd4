//! The states of an association, one after the other: the formal properties about them, where debug assertions or the feature `watched`
//! are on.

#[cfg(any(debug_assertions, feature = "watched"))]
use anabranch_base::Duration;
use anabranch_base::Instant;

#[cfg(any(debug_assertions, feature = "watched"))]
use crate::properties;
use crate::properties::Bounds;
#[cfg(any(debug_assertions, feature = "watched"))]
use crate::properties::Sight;
use crate::state::State;

/// The state of the association as the watch saw it last, and the bounds of timers that were set under other rules and may still run.
/// Without debug assertions and the feature `watched` it is empty.
#[derive(Debug, Default)]
pub(super) struct Watch {
    #[cfg(any(debug_assertions, feature = "watched"))]
    seen: Option<Seen>,
    #[cfg(any(debug_assertions, feature = "watched"))]
    before: Option<Box<Before>>,
}

#[cfg(any(debug_assertions, feature = "watched"))]
#[derive(Clone, Copy, Debug)]
struct Seen {
    state: State,
    /// Time at which it was entered, plus the excess of long gaps between two checks: a clock that is set forward, or a driver that slept,
    /// does not count as waiting.
    since: Instant,
    /// Time of the last check.
    looked: Instant,
}

/// The bounds before a change: timers set before it keep to them until they have expired.
#[cfg(any(debug_assertions, feature = "watched"))]
#[derive(Clone, Copy, Debug)]
struct Before {
    bounds: Bounds,
    until: Instant,
    /// A shutdown began without T5-shutdown-guard, and gets none.
    unguarded: bool,
}

impl Watch {
    /// The state changes.
    #[inline]
    pub(super) fn enter(&mut self, now: Instant, to: State) {
        #[cfg(any(debug_assertions, feature = "watched"))]
        {
            let from = self.seen.map(|seen| seen.state);
            let said = properties::transition(from, to, false);
            assert!(said.is_ok(), "{said:?}: {from:?} -> {to:?} at {now}");
            self.seen = Some(Seen { state: to, since: now, looked: now });
        }
        #[cfg(not(any(debug_assertions, feature = "watched")))]
        let _ = (now, to);
    }

    /// The peer has restarted: a new association begins.
    #[inline]
    pub(super) fn restart(&mut self) {
        #[cfg(any(debug_assertions, feature = "watched"))]
        {
            let from = self.seen.take().map(|seen| seen.state);
            let said = properties::transition(from, State::Established, true);
            assert!(said.is_ok(), "{said:?}: restart in {from:?}");
        }
    }

    /// The configuration changes: `bounds` are those of before, `latest` the latest time at which something was set under them.
    pub(super) fn change(&mut self, latest: Instant, bounds: Bounds) {
        #[cfg(any(debug_assertions, feature = "watched"))]
        {
            let longest = bounds.timer.max(bounds.handshake).max(bounds.guard + bounds.timer);
            let closing = self.seen.is_some_and(|seen| {
                !matches!(seen.state, State::CookieWait | State::CookieEchoed | State::Established)
            });
            let unguarded = closing && bounds.guard == Duration::ZERO;
            // After several changes in a row, `bounds` are the longest of those that still count.
            self.before = Some(Box::new(Before { bounds, until: latest + longest, unguarded }));
        }
        #[cfg(not(any(debug_assertions, feature = "watched")))]
        let _ = (latest, bounds);
    }

    /// Bounds of timers that may run at `latest`: those of the configuration, or longer ones under which they were set.
    pub(super) fn bounds(&self, latest: Instant, bounds: Bounds) -> Bounds {
        #[cfg(any(debug_assertions, feature = "watched"))]
        if let Some(before) = &self.before {
            let guard = if before.unguarded { Duration::ZERO } else { bounds.guard };
            if latest > before.until {
                return Bounds { guard, ..bounds };
            }
            return Bounds {
                timer: bounds.timer.max(before.bounds.timer),
                handshake: bounds.handshake.max(before.bounds.handshake),
                // No guard is asked for where there is none, before or now.
                guard: if guard == Duration::ZERO { guard } else { guard.max(before.bounds.guard) },
            };
        }
        let _ = latest;
        bounds
    }

    /// Nothing more is to be sent now: the properties must hold. A state that waits for an answer has a timer within the bounds, at which
    /// it is checked: the rest of a longer gap between two checks does not count as waiting.
    #[cfg(any(debug_assertions, feature = "watched"))]
    #[cold]
    pub(super) fn look_at_rest(&mut self, now: Instant, mut sight: Sight, bounds: &Bounds) {
        if let Some(seen) = &mut self.seen {
            let missed = now.saturating_since(seen.looked).saturating_sub(bounds.timer);
            (seen.since, seen.looked) = (seen.since + missed, now);
            sight.since = seen.since;
        }
        let said = properties::at_rest(now, &sight, bounds);
        assert!(said.is_ok(), "{said:?} at {now}: {sight:?}, {bounds:?}");
    }

    /// Since when the association has its state; not known in a build without the watch.
    #[inline]
    pub(super) fn since(&self) -> Option<Instant> {
        #[cfg(any(debug_assertions, feature = "watched"))]
        let since = self.seen.map(|seen| seen.since);
        #[cfg(not(any(debug_assertions, feature = "watched")))]
        let since = None;
        since
    }
}
