//! An endpoint: sockets, a task, and the associations on them.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use anabranch_base::SecretRng;
use anabranch_sctp::{AcceptConfig, AcceptError, Config, EndpointStats, Shard};
use tokio::runtime::Builder;

use crate::association::{Association, in_core};
use crate::clock::Clock;
use crate::config::{EndpointConfig, Transport};
use crate::driver::Driver;
use crate::error::{BindError, ConnectError};
use crate::observe::{Totals, Watch, publish_endpoint, spans};
use crate::raw::Ports;
use crate::shards::{self, Siblings};
use crate::shared::{Queue, Shared, State};
use crate::socket::Socket;

/// The range of ports that are given out by turns is 49152 to 65535: 14 bits of it vary (RFC 6335, 6).
const EPHEMERAL: u16 = 0x3fff;

/// An SCTP endpoint in UDP (RFC 6951): one SCTP port or several, any number of associations, one UDP socket for each local address (and
/// [shard](EndpointConfig::shards)). Clones are the same endpoint. When the last is dropped new peers are ignored; associations that
/// still have a handle live on.
#[derive(Debug)]
pub struct Endpoint {
    shards: Arc<[Arc<Shared>]>,
    /// The shard that the next connection attempt looks at first: each in turn.
    turn: Arc<AtomicUsize>,
    local: Arc<[SocketAddr]>,
    config: Arc<EndpointConfig>,
    port: u16,
}

impl Clone for Endpoint {
    fn clone(&self) -> Self {
        for shared in self.shards.iter() {
            shared.look(|state| state.holders += 1);
        }
        Self {
            shards: Arc::clone(&self.shards),
            turn: Arc::clone(&self.turn),
            local: Arc::clone(&self.local),
            config: Arc::clone(&self.config),
            port: self.port,
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        for shared in self.shards.iter() {
            shared.command(|state, _| {
                state.holders -= 1;
                if state.holders == 0 {
                    state.endpoint.stop_listening();
                }
            });
        }
    }
}

impl Endpoint {
    /// An endpoint on UDP addresses of this host, driven by a task of the tokio runtime that this is called in. A wildcard address
    /// (`0.0.0.0`, `[::]`) stands for every address of its family: answers leave from the one that was asked. `[::]` does not stand
    /// for IPv4: name both. Port 0 lets the system choose. With more than one [shard](EndpointConfig::shards) it is driven by as many
    /// threads, which end when the endpoint and its associations have, and no runtime is needed.
    ///
    /// # Errors
    /// When a socket or a thread cannot be had, or there is no runtime.
    pub fn bind(local: &[SocketAddr], config: EndpointConfig) -> Result<Self, BindError> {
        if config.shards > 1 {
            if config.transport == Transport::RawIp {
                return Err(BindError::RawShards);
            }
            return Self::bind_sharded(local, config);
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return Err(BindError::NoRuntime) };
        let (endpoint, driver) = Self::bind_with_driver(local, config)?;
        let _task = runtime.spawn(driver);
        Ok(endpoint)
    }

    /// Binds an endpoint, and gives its driver to the caller, which runs it in this runtime.
    pub(crate) fn bind_with_driver(
        local: &[SocketAddr],
        config: EndpointConfig,
    ) -> Result<(Self, Driver), BindError> {
        let sockets = match config.transport {
            Transport::Udp => bind_sockets(local, &config, None)?,
            Transport::RawIp => bind_raw(local, &config)?,
        };
        let local: Arc<[SocketAddr]> = sockets.iter().map(Socket::local).collect();
        let (shared, port) = new_shared(&config, &local, None)?;
        let watch = watch(&config, &shared, port, &local);
        let driver = Driver::new(Arc::clone(&shared), sockets, None, watch, config.busy_poll);
        Ok((Self::of(vec![shared], local, config, port), driver))
    }

    fn of(shards: Vec<Arc<Shared>>, local: Arc<[SocketAddr]>, config: EndpointConfig, port: u16) -> Self {
        Self { shards: shards.into(), turn: Arc::default(), local, config: Arc::new(config), port }
    }

    /// One driver for each shard, each in a runtime of its own on a thread of its own.
    fn bind_sharded(local: &[SocketAddr], mut config: EndpointConfig) -> Result<Self, BindError> {
        let asked = config.port;
        let mut addresses = Vec::from(local);
        // If a later shard cannot start, dropping this ends the threads that run already.
        let mut endpoint = Self::of(Vec::new(), local.into(), config.clone(), asked);
        let mut shards = Vec::new();
        for siblings in Siblings::all(config.shards) {
            let started = start_shard(addresses, config.clone(), siblings);
            if let Ok(started) = &started {
                shards.push(Arc::clone(&started.shared));
                endpoint.shards = shards.as_slice().into();
            }
            let started = started?;
            // The others take the ports that the first was given.
            (addresses, config.port) = (started.addresses, started.port);
        }
        (endpoint.local, endpoint.port) = (addresses.into(), config.port);
        Ok(endpoint)
    }

    #[cfg(test)]
    pub(crate) fn clock(&self) -> Clock {
        self.shards.first().map(|shared| shared.clock.clone()).unwrap_or_else(Clock::new)
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
    /// When it is refused, by this side or the peer, or the peer does not answer.
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
    /// An endpoint whose port was chosen for it takes another of 49152 to 65535 where it has an association with that peer and port
    /// already.
    ///
    /// # Errors
    /// When it is refused before a packet has left.
    pub fn begin(
        &self,
        remote: SocketAddr,
        port: u16,
        config: Arc<Config>,
    ) -> Result<Association, ConnectError> {
        match self.begin_from(self.port, remote, port, Arc::clone(&config)) {
            Err(ConnectError::Refused(anabranch_sctp::ConnectError::Exists)) if self.config.port == 0 => {
                self.begin_from(0, remote, port, config)
            }
            done => done,
        }
    }

    /// As [`Endpoint::begin`], from SCTP port `local_port`: there may be one association for each pair of ports. 0 is any of 49152 to
    /// 65535 (RFC 6335, 6) that is free towards that peer and port; an attacker cannot guess which one (RFC 6056).
    ///
    /// # Errors
    /// As [`Endpoint::begin`].
    pub fn begin_from(
        &self,
        local_port: u16,
        remote: SocketAddr,
        port: u16,
        config: Arc<Config>,
    ) -> Result<Association, ConnectError> {
        if local_port != 0 {
            return self.begin_at(local_port, remote, port, config);
        }
        let first = getrandom::u32().unwrap_or(0) as u16;
        for step in 0..=EPHEMERAL {
            let local_port = !EPHEMERAL | (first.wrapping_add(step) & EPHEMERAL);
            match self.begin_at(local_port, remote, port, Arc::clone(&config)) {
                Err(ConnectError::Refused(anabranch_sctp::ConnectError::Exists)) => {}
                Err(ConnectError::Port { error, .. }) if error.kind() == ErrorKind::AddrInUse => {}
                done => return done,
            }
        }
        Err(anabranch_sctp::ConnectError::Exists.into())
    }

    fn begin_at(
        &self,
        local_port: u16,
        remote: SocketAddr,
        port: u16,
        config: Arc<Config>,
    ) -> Result<Association, ConnectError> {
        // Where an INIT of that peer would go: so all of one pair of ports are in one shard.
        let shard = shards::of_peer(remote.ip(), (port, local_port), self.shards.len() as u16);
        let Some(shared) = self.shards.get(usize::from(shard)) else { return Err(ConnectError::Ended) };
        let mut remote = remote;
        if let Some(ports) = &shared.ports {
            remote.set_port(0);
            ports.claim(local_port).map_err(|error| ConnectError::Port { port: local_port, error })?;
        }
        shared.command(|state, now| {
            if state.ended {
                return Err(ConnectError::Ended);
            }
            let id = state.endpoint.connect_from(now, local_port, remote, port, config)?;
            Ok(Association::adopt(shared, state, id))
        })
    }

    /// Lets peers ask for associations from now on: [`Endpoint::accept`] returns each request.
    ///
    /// # Errors
    /// When a value of the configuration is not allowed, or the endpoint ends.
    pub fn listen(&self) -> Result<(), ConnectError> {
        for shared in self.shards.iter() {
            let config = Arc::clone(&self.config.association);
            shared.command(|state, _| state.endpoint.listen(config))?;
        }
        Ok(())
    }

    /// Lets peers ask at another SCTP port, too, while the endpoint listens.
    ///
    /// # Errors
    /// When the port is 0.
    pub fn open_port(&self, port: u16) -> Result<(), ConnectError> {
        for shared in self.shards.iter() {
            if let Some(ports) = shared.ports.as_ref().filter(|_| port != 0) {
                ports.claim(port).map_err(|error| ConnectError::Port { port, error })?;
            }
            shared.command(|state, _| state.endpoint.open_port(port))?;
        }
        Ok(())
    }

    /// Takes no more associations at a port that [`Endpoint::open_port`] has opened.
    pub fn close_port(&self, port: u16) {
        for shared in self.shards.iter() {
            shared.command(|state, _| state.endpoint.close_port(port));
            // The port stays claimed while associations use it: their packets still come.
        }
    }

    /// Accepts no more peers; peers that wait are refused.
    pub fn stop_listening(&self) {
        for shared in self.shards.iter() {
            shared.command(|state, _| state.endpoint.stop_listening());
        }
    }

    /// The next peer that asks for an association. `None` when the endpoint ends.
    pub async fn accept(&self) -> Option<Incoming> {
        let ask = |shared: &Arc<Shared>, state: &mut State| match state.asking.pop_front() {
            Some(asks) => Poll::Ready(Some(Incoming {
                asks,
                shared: Arc::clone(shared),
                decided: false,
                config: Arc::clone(&self.config.association),
            })),
            None if state.ended || state.endpoint.is_draining() => Poll::Ready(None),
            None => Poll::Pending,
        };
        let mut waits: Vec<_> = self
            .shards
            .iter()
            .map(|shared| shared.wait(Queue::Acceptors, move |state, _| ask(shared, state)))
            .collect();
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % waits.len().max(1);
        waits.rotate_left(first);
        std::future::poll_fn(move |cx| {
            let mut ended = true;
            for wait in &mut waits {
                match Pin::new(wait).poll(cx) {
                    Poll::Ready(Some(incoming)) => return Poll::Ready(Some(incoming)),
                    Poll::Ready(None) => {}
                    Poll::Pending => ended = false,
                }
            }
            if ended { Poll::Ready(None) } else { Poll::Pending }
        })
        .await
    }

    /// Ends everything in order: no peer is let in any more, every association is shut down, and aborted where that takes longer than
    /// `patience`. Waits for the end; dropped, it goes on ending.
    pub async fn close(&self, patience: Duration) {
        let patience = in_core(patience);
        for shared in self.shards.iter() {
            shared.command(|state, now| {
                state.endpoint.drain(now, Some(patience));
                let mut woken = Vec::new();
                state.acceptors.wake_all(&mut woken);
                woken.into_iter().for_each(std::task::Waker::wake);
            });
        }
        for shared in self.shards.iter() {
            let done = |state: &mut State, _: &Clock| {
                if state.drained || state.ended { Poll::Ready(()) } else { Poll::Pending }
            };
            shared.wait(Queue::Drainers, done).await;
        }
    }

    /// Number of associations that are not closed.
    #[must_use]
    pub fn associations(&self) -> usize {
        self.associations_by_shard().sum()
    }

    /// How many associations of each shard are not closed.
    pub fn associations_by_shard(&self) -> impl Iterator<Item = usize> + '_ {
        self.shards.iter().map(|shared| shared.look(|state| state.endpoint.associations()))
    }

    /// Packets that had come to the socket of another shard than theirs, and were passed on within the process.
    #[must_use]
    pub fn passed_on(&self) -> u64 {
        self.shards.iter().map(|shared| shared.look(|state| state.passed_on)).sum()
    }

    /// Hands counters and gauges of all associations together to the recorder that the program has installed for the facade `metrics`,
    /// for instance right before each scrape. They are called `sctp_` and the name that [`Snapshot`](crate::Snapshot) has for
    /// them: counters with `_total` behind it; of associations that have ended only with [`EndpointConfig::metrics`]. The label `port` is
    /// the SCTP port. `docs/how-to/live.md` has the list.
    pub fn publish_metrics(&self) {
        // Associations that are counted under one lock of the endpoint, for which the driver waits.
        const AT_ONCE: usize = 256;
        let (mut living, mut ended) = (Totals::default(), Totals::default());
        for shared in self.shards.iter() {
            let mut from = 0;
            while shared.look(|state| state.add_counted(from..from + AT_ONCE, &mut living)) {
                from += AT_ONCE;
            }
            shared.look(|state| state.totals.iter().for_each(|totals| ended.join(totals)));
        }
        living.publish(&ended, self.port);
        publish_endpoint(&self.stats(), self.associations(), self.port);
    }

    /// Counters of packets and events that belong to no association.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        let mut all = EndpointStats::default();
        for shared in self.shards.iter() {
            shared.look(|state| all += state.endpoint.endpoint_stats());
        }
        all
    }
}

/// A shard whose thread runs.
struct Started {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    port: u16,
}

/// Starts the thread of a shard, and waits until it has its sockets.
fn start_shard(
    addresses: Vec<SocketAddr>,
    config: EndpointConfig,
    siblings: Siblings,
) -> Result<Started, BindError> {
    let (tells, told) = std::sync::mpsc::sync_channel(1);
    let name = format!("sctp-{}", siblings.shard().index());
    let drive = move || {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                let _ = tells.send(Err(BindError::Thread(error)));
                return;
            }
        };
        runtime.block_on(async move {
            match bind_shard(&addresses, &config, siblings) {
                Err(error) => {
                    let _ = tells.send(Err(error));
                }
                Ok((started, driver)) => {
                    let _ = tells.send(Ok(started));
                    driver.await;
                }
            }
        });
    };
    std::thread::Builder::new().name(name).spawn(drive).map_err(BindError::Thread)?;
    told.recv().unwrap_or_else(|_| Err(BindError::Thread(ErrorKind::Other.into())))
}

fn bind_shard(
    addresses: &[SocketAddr],
    config: &EndpointConfig,
    siblings: Siblings,
) -> Result<(Started, Driver), BindError> {
    let shard = siblings.shard();
    let sockets = bind_sockets(addresses, config, Some(shard))?;
    if config.steer && shard.index() + 1 == shard.count() {
        sockets.iter().for_each(|socket| socket.hand_out_by_tag(shard.count()));
    }
    let addresses: Vec<SocketAddr> = sockets.iter().map(Socket::local).collect();
    let (shared, port) = new_shared(config, &addresses, Some(shard))?;
    let watch = watch(config, &shared, port, &addresses);
    let started = Started { shared: Arc::clone(&shared), addresses, port };
    Ok((started, Driver::new(shared, sockets, Some(siblings), watch, config.busy_poll)))
}

/// One socket for each address.
fn bind_sockets(
    local: &[SocketAddr],
    config: &EndpointConfig,
    shard: Option<Shard>,
) -> Result<Vec<Socket>, BindError> {
    let buffers = (config.socket_receive_buffer, config.socket_send_buffer);
    let bind = |address: &SocketAddr| {
        Socket::bind(*address, buffers, shard).map_err(|error| BindError::Socket { address: *address, error })
    };
    local.iter().map(bind).collect()
}

/// The core of an endpoint, and the SCTP port that it has.
fn new_shared(
    config: &EndpointConfig,
    local: &[SocketAddr],
    shard: Option<Shard>,
) -> Result<(Arc<Shared>, u16), BindError> {
    let Some(&first) = local.first() else { return Err(BindError::NoAddress) };
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| BindError::Random(error.to_string()))?;
    let mut rng = SecretRng::from_seed(seed);
    let port = match config.port {
        0 => !EPHEMERAL | (rng.u32() as u16 & EPHEMERAL),
        port => port,
    };
    let core = anabranch_sctp::EndpointConfig {
        max_associations: config.max_associations,
        accept: AcceptConfig { ask: true, ..config.accept.clone() },
        keep_closed: true,
        shard: shard.unwrap_or(Shard::ALONE),
        ..anabranch_sctp::EndpointConfig::new(first, port)
    };
    let ports = match config.transport {
        Transport::Udp => None,
        Transport::RawIp => {
            let addresses = local.iter().map(SocketAddr::ip).collect();
            Some(Ports::new(addresses, port).map_err(|error| BindError::Port { port, error })?)
        }
    };
    Ok((Shared::new(anabranch_sctp::Endpoint::new(core, rng), config.linger, ports), port))
}

/// Sets up the observers that the configuration asks for, and the records that the state keeps for them.
fn watch(config: &EndpointConfig, shared: &Shared, port: u16, local: &[SocketAddr]) -> Option<Box<Watch>> {
    let watch = Watch::new(config.capture.clone(), config.qlog.clone(), shared.clock.now());
    shared.look(|state| {
        state.span = spans::endpoint(port, local);
        state.totals = config.metrics.then(Box::default);
        if let Some(watch) = &watch {
            state.endpoint.set_trace(watch.wants_records());
            state.told = watch.wants_events().then(Vec::new);
        }
    });
    watch
}

/// One socket for each address, without UDP. They take nothing until the driver runs.
fn bind_raw(local: &[SocketAddr], config: &EndpointConfig) -> Result<Vec<Socket>, BindError> {
    let buffers = (config.socket_receive_buffer, config.socket_send_buffer);
    let bind = |address: &SocketAddr| {
        Socket::bind_raw(*address, buffers, Some(&[]))
            .map_err(|error| BindError::Socket { address: *address, error })
    };
    local.iter().map(bind).collect()
}

/// A peer's request for an association. Dropped without a decision, it is ignored: the peer gets no answer.
#[derive(Debug)]
pub struct Incoming {
    asks: anabranch_sctp::Incoming,
    shared: Arc<Shared>,
    config: Arc<Config>,
    decided: bool,
}

impl Incoming {
    /// The request: the peer's address and the association it asks for.
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

    /// Lets it in with a configuration of its own; values already told to the peer must be as [`Endpoint::listen`] had them.
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
