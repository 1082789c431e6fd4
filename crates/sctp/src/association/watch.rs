//! The states of an association, one after the other: the formal properties about them, where debug assertions or the feature `watched`
//! are on.

use anabranch_base::Instant;

use super::State;
#[cfg(any(debug_assertions, feature = "watched"))]
use crate::properties;

/// Where the association stands as the watch saw it last, and since when; nothing where nobody watches.
#[derive(Debug, Default)]
pub(super) struct Watch {
    #[cfg(any(debug_assertions, feature = "watched"))]
    seen: Option<(State, Instant)>,
}

impl Watch {
    /// The state changes.
    #[inline]
    pub(super) fn enter(&mut self, now: Instant, to: State) {
        #[cfg(any(debug_assertions, feature = "watched"))]
        {
            let from = self.seen.map(|(state, _)| state);
            let said = properties::transition(from, to, false);
            assert!(said.is_ok(), "{said:?}: {from:?} -> {to:?} at {now}");
            self.seen = Some((to, now));
        }
        #[cfg(not(any(debug_assertions, feature = "watched")))]
        let _ = (now, to);
    }

    /// The peer has restarted: a new association begins.
    #[inline]
    pub(super) fn restart(&mut self) {
        #[cfg(any(debug_assertions, feature = "watched"))]
        {
            let from = self.seen.take().map(|(state, _)| state);
            let said = properties::transition(from, State::Established, true);
            assert!(said.is_ok(), "{said:?}: restart in {from:?}");
        }
    }

    /// Since when the association has its state; where nobody watches it is not known.
    #[inline]
    pub(super) fn since(&self) -> Option<Instant> {
        #[cfg(any(debug_assertions, feature = "watched"))]
        let since = self.seen.map(|(_, since)| since);
        #[cfg(not(any(debug_assertions, feature = "watched")))]
        let since = None;
        since
    }
}
