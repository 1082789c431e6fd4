//! An endpoint: sockets, a task, and the associations on them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use anabranch_base::SecretRng;
use anabranch_sctp::{AcceptConfig, AcceptError, Config, EndpointStats};

use crate::association::{Association, in_core};
use crate::config::EndpointConfig;
use crate::driver::Driver;
use crate::error::{BindError, ConnectError};
use crate::observe::{Totals, Watch, publish_endpoint, spans};
use crate::shared::{Queue, Shared, State};
use crate::socket::Socket;

/// An SCTP endpoint in UDP (RFC 6951): one SCTP port, any number of associations, one UDP socket for each local address. Clones are
/// the same endpoint. When the last is dropped nobody is let in any more; associations that somebody holds live on.
#[derive(Debug)]
pub struct Endpoint {
    shared: Arc<Shared>,
    local: Arc<[SocketAddr]>,
    config: Arc<EndpointConfig>,
    port: u16,
}

impl Clone for Endpoint {
    fn clone(&self) -> Self {
        self.shared.look(|state| state.holders += 1);
        Self {
            shared: Arc::clone(&self.shared),
            local: Arc::clone(&self.local),
            config: Arc::clone(&self.config),
            port: self.port,
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.command(|state, _| {
            state.holders -= 1;
            if state.holders == 0 {
                state.endpoint.stop_listening();
            }
        });
    }
}

impl Endpoint {
    /// An endpoint on UDP addresses of this host, driven by a task of the tokio runtime that this is called in. A wildcard address
    /// (`0.0.0.0`, `[::]`) stands for every address of its family: answers leave from the one that was asked. `[::]` does not stand
    /// for IPv4: name both. Port 0 lets the system choose.
    ///
    /// # Errors
    /// When a socket cannot be had, or there is no runtime.
    pub fn bind(local: &[SocketAddr], config: EndpointConfig) -> Result<Self, BindError> {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return Err(BindError::NoRuntime) };
        let (endpoint, driver) = Self::bind_with_driver(local, config)?;
        let _task = runtime.spawn(driver);
        Ok(endpoint)
    }

    /// The same, with the driver for the caller to run in this runtime.
    pub(crate) fn bind_with_driver(
        local: &[SocketAddr],
        config: EndpointConfig,
    ) -> Result<(Self, Driver), BindError> {
        let mut sockets = Vec::new();
        for &address in local {
            let socket = Socket::bind(address, config.socket_receive_buffer, config.socket_send_buffer)
                .map_err(|error| BindError::Socket { address, error })?;
            sockets.push(socket);
        }
        let local: Arc<[SocketAddr]> = sockets.iter().map(Socket::local).collect();
        let Some(&first) = local.first() else { return Err(BindError::NoAddress) };
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| BindError::Random(error.to_string()))?;
        let mut rng = SecretRng::from_seed(seed);
        let port = match config.port {
            0 => 0xC000 | (rng.u32() as u16 & 0x3FFF),
            port => port,
        };
        let core = anabranch_sctp::EndpointConfig {
            max_associations: config.max_associations,
            accept: AcceptConfig { ask: true, ..config.accept.clone() },
            keep_closed: true,
            ..anabranch_sctp::EndpointConfig::new(first, port)
        };
        let shared = Shared::new(anabranch_sctp::Endpoint::new(core, rng), config.linger);
        let watch = Watch::new(config.capture.clone(), config.qlog.clone(), shared.clock.now());
        shared.look(|state| {
            state.span = spans::endpoint(port, &local);
            state.totals = config.metrics.then(Box::default);
            if let Some(watch) = &watch {
                state.endpoint.set_trace(watch.wants_records());
                state.told = watch.wants_events().then(Vec::new);
            }
        });
        let driver = Driver::new(Arc::clone(&shared), sockets, watch);
        Ok((Self { shared, local, config: Arc::new(config), port }, driver))
    }

    #[cfg(test)]
    pub(crate) fn clock(&self) -> crate::clock::Clock {
        self.shared.clock.clone()
    }

    /// UDP addresses, with the ports that the system has chosen.
    #[must_use]
    pub fn local_addresses(&self) -> &[SocketAddr] {
        &self.local
    }

    /// SCTP port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts an association with SCTP port `port` of `remote`, whose port is the UDP port ([`ENCAPSULATION_PORT`] if nothing else is
    /// known), and waits until it is up. Dropped while it waits, the association is aborted.
    ///
    /// [`ENCAPSULATION_PORT`]: crate::ENCAPSULATION_PORT
    ///
    /// # Errors
    /// When it is refused, by this side or the peer, or nobody answers.
    pub async fn connect(&self, remote: SocketAddr, port: u16) -> Result<Association, ConnectError> {
        self.connect_with(remote, port, Arc::clone(&self.config.association)).await
    }

    /// As [`Endpoint::connect`], with a configuration of its own.
    ///
    /// # Errors
    /// As [`Endpoint::connect`].
    pub async fn connect_with(
        &self,
        remote: SocketAddr,
        port: u16,
        config: Arc<Config>,
    ) -> Result<Association, ConnectError> {
        let association = self.begin(remote, port, config)?;
        association.established().await.map_err(ConnectError::Failed)?;
        Ok(association)
    }

    /// As [`Endpoint::connect_with`], but does not wait: messages may be sent at once, and leave with the handshake.
    ///
    /// # Errors
    /// When it is refused before a packet has left.
    pub fn begin(
        &self,
        remote: SocketAddr,
        port: u16,
        config: Arc<Config>,
    ) -> Result<Association, ConnectError> {
        self.shared.command(|state, now| {
            if state.ended {
                return Err(ConnectError::Ended);
            }
            let id = state.endpoint.connect(now, remote, port, config)?;
            Ok(Association::adopt(&self.shared, state, id))
        })
    }

    /// Lets peers ask for associations from now on: [`Endpoint::accept`] says who does.
    ///
    /// # Errors
    /// When a value of the configuration is not allowed, or the endpoint ends.
    pub fn listen(&self) -> Result<(), ConnectError> {
        let config = Arc::clone(&self.config.association);
        self.shared.command(|state, _| state.endpoint.listen(config).map_err(ConnectError::Refused))
    }

    /// Lets nobody in any more; who waits is refused.
    pub fn stop_listening(&self) {
        self.shared.command(|state, _| state.endpoint.stop_listening());
    }

    /// The next peer that asks for an association. `None` when the endpoint ends.
    pub async fn accept(&self) -> Option<Incoming> {
        self.shared
            .wait(Queue::Acceptors, |state, _| match state.asking.pop_front() {
                Some(asks) => Poll::Ready(Some(Incoming {
                    asks,
                    shared: Arc::clone(&self.shared),
                    decided: false,
                    config: Arc::clone(&self.config.association),
                })),
                None if state.ended || state.endpoint.is_draining() => Poll::Ready(None),
                None => Poll::Pending,
            })
            .await
    }

    /// Ends everything in order: nobody is let in any more, every association is shut down, and aborted where that takes longer than
    /// `patience`. Waits for the end; dropped, it goes on ending.
    pub async fn close(&self, patience: Duration) {
        let patience = in_core(patience);
        self.shared.command(|state, now| {
            state.endpoint.drain(now, Some(patience));
            let mut woken = Vec::new();
            state.acceptors.wake(&mut woken);
            woken.into_iter().for_each(std::task::Waker::wake);
        });
        let done = |state: &mut State, _| {
            if state.drained || state.ended { Poll::Ready(()) } else { Poll::Pending }
        };
        self.shared.wait(Queue::Drainers, done).await;
    }

    /// How many associations are not closed.
    #[must_use]
    pub fn associations(&self) -> usize {
        self.shared.look(|state| state.endpoint.associations())
    }

    /// Hands counters and gauges of all associations together to the recorder that the program has installed for the facade `metrics`,
    /// for instance right before somebody reads them. They are called `sctp_` and the name that [`Snapshot`](crate::Snapshot) has for
    /// them: counters with `_total` behind it; of associations that have ended only with [`EndpointConfig::metrics`]. The label `port` is
    /// the SCTP port. `docs/live.md` has the list.
    pub fn publish_metrics(&self) {
        // Not all at once: the driver waits meanwhile.
        const AT_ONCE: usize = 256;
        let mut living = Totals::default();
        let mut from = 0;
        while self.shared.look(|state| state.add_counted(from..from + AT_ONCE, &mut living)) {
            from += AT_ONCE;
        }
        let ended = self.shared.look(|state| state.totals.as_deref().cloned()).unwrap_or_default();
        living.publish(&ended, self.port);
        publish_endpoint(&self.stats(), self.associations(), self.port);
    }

    /// Counters of what belongs to no association.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        self.shared.look(|state| state.endpoint.endpoint_stats().clone())
    }
}

/// Somebody who asks for an association. Dropped without a decision, it is ignored: it gets no answer.
#[derive(Debug)]
pub struct Incoming {
    asks: anabranch_sctp::Incoming,
    shared: Arc<Shared>,
    config: Arc<Config>,
    decided: bool,
}

impl Incoming {
    /// Who asks, and for what.
    #[must_use]
    pub fn request(&self) -> &anabranch_sctp::Incoming {
        &self.asks
    }

    /// Lets it in.
    ///
    /// # Errors
    /// When it waits no more.
    pub fn accept(self) -> Result<Association, AcceptError> {
        let config = Arc::clone(&self.config);
        self.accept_with(config)
    }

    /// Lets it in with a configuration of its own; what the peer was told must be as [`Endpoint::listen`] had it.
    ///
    /// # Errors
    /// When it waits no more, or the configuration says something else than the peer was told.
    pub fn accept_with(mut self, config: Arc<Config>) -> Result<Association, AcceptError> {
        let id = self.asks.id;
        let shared = Arc::clone(&self.shared);
        let accepted = shared.command(|state, now| {
            let id = state.endpoint.accept(now, id, config)?;
            Ok(Association::adopt(&shared, state, id))
        });
        self.decided = accepted.is_ok();
        accepted
    }

    /// Turns it away: it is told `reason`.
    pub fn refuse(mut self, reason: &[u8]) {
        self.decided = true;
        let id = self.asks.id;
        self.shared.command(|state, _| state.endpoint.refuse(id, reason));
    }

    /// Answers nothing.
    pub fn ignore(self) {
        drop(self);
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if !self.decided {
            let id = self.asks.id;
            self.shared.command(|state, _| state.endpoint.ignore(id));
        }
    }
}
