//! What can be changed while an association lives.

use super::Config;
use super::keys::ConfigError;
use crate::error::ChangeError;

/// What is looked at when it is needed. All else was agreed on with the peer, or has made something that exists.
const CHANGEABLE: &[&str] = &[
    "association_max_retrans",
    "heartbeat_interval",
    "immediate_bit",
    "immediate_bit_obeyed",
    "max_burst",
    "max_init_retransmits",
    "path_max_retrans",
    "peer_adds_streams",
    "peer_resets_association",
    "peer_resets_streams",
    "rto_initial",
    "rto_max",
    "rto_min",
    "sack_delay",
    "sack_every",
    "send_buffer",
    "shutdown_guard_rto_max",
    "valid_cookie_life",
];

/// What an INIT ACK tells of us, or follows from it: who answers an INIT must keep to it when the cookie comes back.
const PROMISED: &[&str] = &[
    "adaptation_indication",
    "checksums",
    "coupling",
    "inbound_streams",
    "inbound_subflows",
    "interleaving",
    "max_subflows",
    "outbound_streams",
    "receive_window",
    "reconfiguration",
    "sf_codes",
    "subflow_floor",
    "subflow_level",
    "zero_checksum",
];

impl Config {
    /// The first value that the peer was told as `told` has it, and that is another here: its name, what it is, and what was
    /// told.
    pub(crate) fn first_promised_otherwise(&self, told: &Self) -> Option<(&'static str, String, String)> {
        let mut promised = Self::keys().iter().filter(|key| PROMISED.contains(&key.name));
        promised.find_map(|key| {
            let (value, told) = (key.value(self), key.value(told));
            (value != told).then_some((key.name, value, told))
        })
    }

    /// Names of the values that can be changed while an association lives
    /// ([`AssociationHandle::set`](crate::AssociationHandle::set)), sorted.
    #[must_use]
    pub fn changeable() -> &'static [&'static str] {
        CHANGEABLE
    }

    /// Takes from `other` the values that can be changed while an association lives.
    pub fn take_changeable(&mut self, other: &Self) {
        for key in Self::keys().iter().filter(|key| CHANGEABLE.contains(&key.name)) {
            // What another configuration shows is a text that it would take.
            let _ = key.copy(self, other);
        }
    }

    /// Whether an association with these values may have the others instead.
    pub(crate) fn check_change(&self, changed: &Self) -> Result<(), ChangeError> {
        for key in Self::keys() {
            let value = key.value(changed);
            if value == key.value(self) {
                continue;
            }
            if !CHANGEABLE.contains(&key.name) {
                return Err(ChangeError::Fixed { key: key.name, allowed: CHANGEABLE.join(", ") });
            }
            if key.copy(&mut changed.clone(), changed).is_none() || !changed.is_consistent() {
                return Err(ConfigError::BadValue { key: key.name, value, expected: key.expected }.into());
            }
        }
        Ok(())
    }
}
