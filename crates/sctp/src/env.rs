//! The circumstances under which the owners inside an association work: the time, the configuration, the agreement, the state.

use std::sync::Arc;

use anabranch_base::{Ecn, Instant};

use crate::agreed::Agreed;
use crate::config::Config;
use crate::state::State;

/// Read by every owner, and changed by named methods only: by the association, and by an owner to which it is lent for a procedure.
#[derive(Debug)]
pub(crate) struct Env {
    now: Instant,
    /// The latest time that it has been: timers that run may have been set then, if the clock was set back since.
    #[cfg(any(debug_assertions, feature = "watched"))]
    latest: Instant,
    config: Arc<Config>,
    agreed: Agreed,
    state: State,
    ect: Ecn,
}

impl Env {
    /// The circumstances of an association that begins.
    pub(crate) fn new(config: Arc<Config>) -> Self {
        Self {
            now: Instant::ZERO,
            #[cfg(any(debug_assertions, feature = "watched"))]
            latest: Instant::ZERO,
            agreed: Agreed::new(&config),
            config,
            state: State::CookieWait,
            ect: Ecn::NotEct,
        }
    }

    /// A call enters the association.
    #[inline]
    pub(crate) fn set_now(&mut self, now: Instant) {
        self.now = now;
        #[cfg(any(debug_assertions, feature = "watched"))]
        {
            self.latest = self.latest.max(now);
        }
    }

    /// The user has changed the configuration; gives the one of before.
    pub(crate) fn change_config(&mut self, config: Arc<Config>) -> Arc<Config> {
        std::mem::replace(&mut self.config, config)
    }

    /// The user has changed a value in the life of the association: another configuration takes the place of the one of before, which other
    /// associations may share.
    pub(crate) fn change_values(&mut self, change: impl FnOnce(&mut Config)) {
        let mut config = Config::clone(&self.config);
        change(&mut config);
        self.config = Arc::new(config);
    }

    /// The agreement, to adopt it, to forget it or to take a part back.
    #[inline]
    pub(crate) fn agreed_mut(&mut self) -> &mut Agreed {
        &mut self.agreed
    }

    /// The association enters a state (RFC 9260, 4).
    #[inline]
    pub(crate) fn enter(&mut self, state: State) {
        self.state = state;
    }

    /// Packets with new data have this ECN codepoint from now on.
    pub(crate) fn mark_data_with(&mut self, ect: Ecn) {
        self.ect = ect;
    }

    /// Time of the call that is being served.
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// The latest time that it has been; in builds that do not check themselves, the present time.
    pub(crate) fn latest(&self) -> Instant {
        #[cfg(any(debug_assertions, feature = "watched"))]
        let latest = self.latest.max(self.now);
        #[cfg(not(any(debug_assertions, feature = "watched")))]
        let latest = self.now;
        latest
    }

    /// The configuration.
    #[inline]
    pub(crate) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The agreement of both sides.
    #[inline]
    pub(crate) fn agreed(&self) -> Agreed {
        self.agreed
    }

    /// State of the association (RFC 9260, 4).
    #[inline]
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// ECN codepoint of packets with new data; Not-ECT unless both sides are ECN capable.
    #[inline]
    pub(crate) fn ect(&self) -> Ecn {
        self.ect
    }
}
