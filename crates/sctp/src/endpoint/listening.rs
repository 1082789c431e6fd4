//! Ports at which associations are accepted, and their configuration.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::config::{Config, ConfigError, SubflowLevel};
use crate::error::ConnectError;

/// The ports of an endpoint, and the configuration of the associations that are let in.
#[derive(Debug)]
pub(super) struct Listening {
    config: Option<Arc<Config>>,
    /// The first port of the endpoint.
    first: u16,
    /// Further ports at which associations are accepted, once any port but the first was used.
    #[allow(clippy::box_collection, reason = "most endpoints have none, and pay for a pointer alone")]
    ports: Option<Box<BTreeSet<u16>>>,
    /// Encodings that other stacks misread are allowed.
    allows_private: bool,
    /// The last configuration whose values were looked at.
    validated: Option<Arc<Config>>,
    /// Some configuration was given that accepts packets without a checksum (RFC 9653).
    takes_zero_checksum: bool,
}

impl Listening {
    /// The state of an endpoint with this first port that accepts no association yet.
    pub(super) fn new(first: u16, allows_private: bool) -> Self {
        Self { config: None, first, ports: None, allows_private, validated: None, takes_zero_checksum: false }
    }

    /// The configuration with which associations are accepted, if they are.
    pub(super) fn config(&self) -> Option<&Arc<Config>> {
        self.config.as_ref()
    }

    /// The configuration with which associations are accepted at a port.
    pub(super) fn at(&self, port: u16) -> Option<&Arc<Config>> {
        let open = port == self.first || self.ports.as_ref().is_some_and(|ports| ports.contains(&port));
        self.config.as_ref().filter(|_| open)
    }

    /// True if there may be anything at a port.
    #[inline]
    pub(super) fn may_use(&self, port: u16) -> bool {
        port == self.first || self.ports.is_some()
    }

    /// True if a packet may come without a checksum.
    #[inline]
    pub(super) fn takes_zero_checksum(&self) -> bool {
        self.takes_zero_checksum
    }

    /// The last that was looked at is not looked at again: many associations have the same.
    pub(super) fn validate(&mut self, config: &Arc<Config>) -> Result<(), ConfigError> {
        if !self.validated.as_ref().is_some_and(|good| Arc::ptr_eq(good, config)) {
            config.validate()?;
            self.validated = Some(Arc::clone(config));
        }
        Ok(())
    }

    /// Checks that an association may have this configuration.
    pub(super) fn check(&mut self, config: &Arc<Config>) -> Result<(), ConnectError> {
        self.validate(config)?;
        if config.subflows.level == SubflowLevel::Sf2007 && !self.allows_private {
            return Err(ConnectError::PrivateEncodings);
        }
        Ok(())
    }

    /// Associations are let in with this configuration from now on.
    pub(super) fn begin(&mut self, config: Arc<Config>) {
        self.takes_zero_checksum |= config.extensions.zero_checksum.is_some();
        self.config = Some(config);
    }

    /// No peer is let in any more.
    pub(super) fn stop(&mut self) {
        self.config = None;
    }

    /// Associations are let in at another port, too.
    pub(super) fn open_port(&mut self, port: u16) {
        self.ports.get_or_insert_default().insert(port);
    }

    /// Associations are let in at a port no more.
    pub(super) fn close_port(&mut self, port: u16) {
        if let Some(ports) = &mut self.ports {
            ports.remove(&port);
        }
    }

    /// An association with this configuration begins at a port of ours. No peer is let in there because of it.
    pub(super) fn note_caller(&mut self, port: u16, config: &Config) {
        if port != self.first {
            self.ports.get_or_insert_default();
        }
        self.takes_zero_checksum |= config.extensions.zero_checksum.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_open_while_the_endpoint_listens() {
        let mut listening = Listening::new(5, false);
        listening.open_port(6);
        assert!(listening.at(5).is_none() && listening.may_use(5));
        listening.begin(Arc::new(Config::rfc9260()));
        assert!(listening.at(5).is_some() && listening.at(6).is_some() && listening.at(7).is_none());
        listening.close_port(6);
        assert!(listening.at(6).is_none(), "but associations live on there");
        assert!(listening.may_use(6));
        listening.stop();
        assert!(listening.at(5).is_none() && listening.config().is_none());
    }

    #[test]
    fn who_calls_lets_nobody_in_at_its_port() {
        let mut listening = Listening::new(5, false);
        listening.begin(Arc::new(Config::rfc9260()));
        assert!(!listening.may_use(7));
        listening.note_caller(7, &Config::rfc9260());
        assert!(listening.may_use(7) && listening.at(7).is_none());
    }
}
