//! Changes of the configuration while an association lives.

use std::sync::LazyLock;

use super::error::{ChangeError, ConfigError};
use super::{Config, Coupling};

/// Names of the values that can be changed while an association lives: those that are looked up whenever they are
/// needed, or whose change is passed on to the part that keeps them. All others were agreed on with the peer, or
/// fixed the shape of something that exists.
static CHANGEABLE: LazyLock<Vec<&str>> =
    LazyLock::new(|| Config::keys().iter().filter(|key| key.changeable).map(|key| key.name).collect());

impl Config {
    /// The first value that differs from the one promised to the peer, in `told`: its name, its value here, and the
    /// value promised.
    pub(crate) fn first_promised_otherwise(&self, told: &Self) -> Option<(&'static str, String, String)> {
        // An INIT ACK tells the peer these values, or something that follows from them: they must still hold when the
        // cookie comes back.
        let mut promised = Self::keys().iter().filter(|key| key.promised);
        promised.find_map(|key| {
            let (value, told) = (key.value(self), key.value(told));
            (value != told).then_some((key.name, value, told))
        })
    }

    /// Names of the values that can be changed while an association lives
    /// ([`AssociationHandle::set`](crate::AssociationHandle::set)), sorted.
    #[must_use]
    pub fn changeable() -> &'static [&'static str] {
        &CHANGEABLE
    }

    /// Takes from `other` the values that can be changed while an association lives.
    pub fn take_changeable(&mut self, other: &Self) {
        for key in Self::keys().iter().filter(|key| key.changeable) {
            // `copy` cannot fail: the text that a configuration shows for a value is one that another accepts.
            let _ = key.copy(self, other);
        }
    }

    /// True if either configuration has one window for all subflows: a lane then serves several subflows, which
    /// cannot change in life.
    fn shares_window(&self, other: &Self) -> bool {
        [self, other].iter().any(|config| config.subflows.coupling == Coupling::Shared)
    }

    /// Checks that an association with these values may have those of `changed` instead.
    pub(crate) fn check_change(&self, changed: &Self) -> Result<(), ChangeError> {
        for key in Self::keys() {
            let value = key.value(changed);
            if value == key.value(self) {
                continue;
            }
            if !key.changeable {
                return Err(ChangeError::Fixed { key: key.name, allowed: CHANGEABLE.join(", ") });
            }
            if key.name == "coupling" && self.shares_window(changed) {
                let why = "whether subflows share one window is settled when the association begins; changes to \"shared\" \
                           and from it are not possible, those among the others are";
                return Err(ChangeError::Settled { key: key.name, stays: key.value(self), why });
            }
            if key.copy(&mut changed.clone(), changed).is_none() {
                return Err(ConfigError::BadValue { key: key.name, value, expected: key.expected }.into());
            }
        }
        if changed.subflows.open != self.subflows.open {
            let why = "it says which subflows an association begins with; `add_subflow`, `set_stream_subflow` and `remove_subflow` \
                       change them later";
            let stays = format!("{} subflows", self.subflows.open.len());
            return Err(ChangeError::Settled { key: "subflows.open", stays, why });
        }
        Ok(changed.check_fit()?)
    }

    /// The error for a change of the receive window where subflows have parts of it.
    pub(crate) fn settled_window(&self) -> ChangeError {
        let why = "each subflow has a part of the receive buffer to itself, and the handshake told the peer its size; it can be \
                   changed only while the subflow level agreed on is 0";
        ChangeError::Settled {
            key: "receive_window",
            stays: self.get("receive_window").unwrap_or_default(),
            why,
        }
    }
}
