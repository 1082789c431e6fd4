//! The states of an association, one after the other: the formal properties about them, wherever debug assertions are on.

use anabranch_base::Instant;

use super::State;
#[cfg(debug_assertions)]
use crate::properties;

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

    /// Since when the association has its state; without debug assertions nobody knows.
    #[inline]
    pub(super) fn since(&self) -> Option<Instant> {
        #[cfg(debug_assertions)]
        let since = self.seen.map(|(_, since)| since);
        #[cfg(not(debug_assertions))]
        let since = None;
        since
    }
}
