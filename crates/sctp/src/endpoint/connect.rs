//! Associations are accepted, or begun (RFC 9260, 11.1.2).

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::Instant;

use super::Endpoint;
use crate::address::is_unicast;
use crate::association::Association;
use crate::config::Config;
use crate::error::ConnectError;
use crate::event::AssociationId;

impl Endpoint {
    /// Accepts associations from now on, with `config` for each.
    ///
    /// # Errors
    /// When a value of the configuration is not allowed ([`Config::validate`]), it asks for subflow level sf2007 and the endpoint does not
    /// allow private encodings, or the endpoint drains.
    pub fn listen(&mut self, config: Arc<Config>) -> Result<(), ConnectError> {
        self.listening.check(&config)?;
        self.check_draining()?;
        self.listening.begin(config);
        Ok(())
    }

    /// Accepts associations at another port, too, while the endpoint listens.
    ///
    /// # Errors
    /// When the port is 0.
    pub fn open_port(&mut self, port: u16) -> Result<(), ConnectError> {
        if port == 0 {
            return Err(ConnectError::PortZero);
        }
        self.listening.open_port(port);
        Ok(())
    }

    /// Accepts no associations at a port any more that [`Endpoint::open_port`] has opened. Those that exist live on.
    pub fn close_port(&mut self, port: u16) {
        self.listening.close_port(port);
    }

    /// True if associations are accepted.
    #[must_use]
    pub fn is_listening(&self) -> bool {
        self.listening.config().is_some()
    }

    fn check_draining(&self) -> Result<(), ConnectError> {
        if self.closing.is_draining() { Err(ConnectError::Draining) } else { Ok(()) }
    }

    /// Starts an association with `remote`, SCTP port `remote_port`.
    ///
    /// # Errors
    /// When the address is not unicast, the port is 0, or there is such an association; and as [`Endpoint::listen`].
    pub fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        remote_port: u16,
        config: Arc<Config>,
    ) -> Result<AssociationId, ConnectError> {
        self.connect_from(now, self.config.port, remote, remote_port, config)
    }

    /// As [`Endpoint::connect`], from another SCTP port of ours: there may be one association for each pair of ports. No peer is let in
    /// at that port because of it.
    ///
    /// # Errors
    /// As [`Endpoint::connect`].
    // rfc9260:1.3-1 rfc9260:3.1-2
    pub fn connect_from(
        &mut self,
        now: Instant,
        local_port: u16,
        remote: SocketAddr,
        remote_port: u16,
        config: Arc<Config>,
    ) -> Result<AssociationId, ConnectError> {
        if remote_port == 0 || local_port == 0 {
            return Err(ConnectError::PortZero);
        }
        self.listening.check(&config)?;
        self.check_draining()?;
        if !is_unicast(remote.ip()) {
            return Err(ConnectError::NotUnicast(remote.ip()));
        }
        if self.registry.by_peer(remote.ip(), (remote_port, local_port)).is_some() {
            return Err(ConnectError::Exists);
        }
        self.listening.note_caller(local_port, &config);
        let (tag, rng) = self.identities.for_caller(&self.registry);
        let ports = (local_port, remote_port);
        let id = self.registry.insert(|id| Association::connect(id, now, config, ports, remote, tag, rng));
        self.equip(id);
        self.settle(now, id.index);
        Ok(id)
    }
}
