//! The endpoint: finds the association for a packet, answers INIT without keeping state, and deals with what
//! belongs to nobody (RFC 9260, 5.1, 5.2, 8.4, 8.5).
//!
//! Methods come in four kinds: `handle_*` take what came from outside, commands take what the user wants
//! ([`Endpoint::association`] has those of one association), `poll_*` give what must go out, and the rest only look. After any `handle_*` or command, poll until nothing comes:
//! `poll_transmit`, then `poll_event`, then `poll_timeout`. Every `handle_*` and command may change the answers of
//! all three.

mod answered_inits;
mod arrivals;
mod backlog;
mod cookie_echo;
mod cookie_keys;
mod drain;
mod driven;
mod ending;
pub(crate) mod handle;
mod icmp;
mod incoming;
mod init_allowance;
pub(crate) mod packets;
mod registry;
mod spent;
mod stateless;

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Duration, Instant, Meta, SecretRng, TraceRecord, Transmit};
use anabranch_wire::Tsn;

use crate::address::is_unicast;
use crate::association::{Association, fresh_identity, random_tag};
use crate::budget::Budget;
use crate::config::{Checksums, Config, ConfigError, SubflowLevel};
use crate::error::ConnectError;
use crate::event::{AssociationId, Event, Timer};
use crate::incoming::{AcceptConfig, EndpointEvent};
use crate::shard::Shard;
use crate::stats::EndpointStats;
use crate::tie_tags::TieSecret;
use answered_inits::AnsweredInits;
use backlog::Backlog;
use cookie_keys::CookieKeys;
use drain::Drain;
use init_allowance::InitAllowance;
use registry::Registry;
use spent::SpentCookies;
use stateless::Replies;

/// What an endpoint is told once.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Our address; the port is the UDP port under UDP encapsulation (RFC 6951), else 0.
    pub local: SocketAddr,
    /// Our first SCTP port; others come with [`Endpoint::open_port`] and [`Endpoint::connect_from`].
    pub port: u16,
    /// Whether checksums are verified on what arrives and computed for answers that belong to no association.
    pub checksums: Checksums,
    /// Associations beyond which INIT and COOKIE ECHO are answered with an ABORT, "Out of Resource" (RFC 9260, 5.1); those that
    /// wait for the user count, too, and those that have closed and are not freed as the user has not read all of them yet (but not
    /// with `keep_closed`).
    pub max_associations: usize,
    /// Bytes by which the receive windows of all associations together may exceed those that they begin with
    /// ([`LimitConfig::max_receive_window`](crate::config::LimitConfig::max_receive_window)).
    pub window_budget: u64,
    /// INITs a second, of all sources together, beyond which they are dropped without an answer: whoever sent one repeats it. Those
    /// of peers with an association count, too. Endpoints that share a socket each count for themselves. 0: all are answered.
    pub max_inits_per_second: u32,
    /// How associations are let in.
    pub accept: AcceptConfig,
    /// Closed associations stay, with their counters, until [`Endpoint::release`]. Otherwise one is freed when [`Endpoint::poll_event`] is
    /// asked again after it gave [`Event::Closed`], its last packet has left and its messages have been read, of all streams. What is to
    /// be looked at, its user looks at when the event comes. What can be taken back stays until it is, of the 16 that closed last;
    /// these take no place.
    pub keep_closed: bool,
    /// How long a key signs State Cookies. It opens them until the last one is stale.
    pub cookie_key_life: Duration,
    /// Nothing but this project is on the network: associations may use encodings that other stacks misread
    /// ([`SubflowLevel::Sf2007`](crate::config::SubflowLevel::Sf2007)). Simulators set it; drivers of real sockets must
    /// not, unless they are on a loopback.
    pub allow_private_encodings: bool,
    /// Which of several endpoints this is that have the same addresses: the verification tags that it draws say so.
    pub shard: Shard,
}

impl EndpointConfig {
    /// On `local`, SCTP port `port`, with checksums.
    // rfc9260:1.3-2
    #[must_use]
    pub fn new(local: SocketAddr, port: u16) -> Self {
        Self {
            local,
            port,
            checksums: Checksums::Crc32c,
            max_associations: 1 << 20,
            window_budget: 256 << 20,
            max_inits_per_second: 0,
            accept: AcceptConfig::default(),
            keep_closed: false,
            cookie_key_life: Duration::from_secs(600),
            allow_private_encodings: false,
            shard: Shard::ALONE,
        }
    }

    /// With [`keep_closed`](EndpointConfig::keep_closed).
    #[must_use]
    pub fn keeping_closed(self) -> Self {
        Self { keep_closed: true, ..self }
    }
}

/// An SCTP endpoint: one port or several, any number of associations.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    listening: Option<Arc<Config>>,
    /// Further ports at which associations are accepted, once any port but the first was used.
    #[allow(clippy::box_collection, reason = "most endpoints have none, and pay for a pointer alone")]
    ports: Option<Box<BTreeSet<u16>>>,
    /// The last configuration whose values were looked at.
    validated: Option<Arc<Config>>,
    keys: CookieKeys,
    ties: TieSecret,
    rng: SecretRng,
    registry: Registry,
    replies: Replies,
    init_allowance: InitAllowance,
    answered_inits: AnsweredInits,
    /// Made with the first cookie: who only asks has none.
    spent: Option<Box<SpentCookies>>,
    /// Who waits for the user's word, where it is asked for.
    incoming: Option<Box<Backlog>>,
    drain: Drain,
    /// Associations whose end the user was told of, to be freed.
    ended: Vec<AssociationId>,
    /// Closed, and with something to take back; the oldest first.
    handing_back: Vec<AssociationId>,
    /// What is to be told of those whose messages nobody took.
    forgotten: VecDeque<EndpointEvent>,
    /// Associations that may have something to send, each once.
    ready: VecDeque<u32>,
    /// Associations that have events, each once.
    eventful: VecDeque<u32>,
    /// What windows may grow by.
    budget: Arc<Budget>,
    tracing: bool,
    /// Some configuration was given that accepts packets without a checksum (RFC 9653).
    takes_zero_checksum: bool,
    stats: EndpointStats,
}

impl Endpoint {
    /// An endpoint without associations. `rng` decides tags, TSNs, cookie keys, nonces and timer jitter: on a network its seed
    /// must come from the operating system.
    #[must_use]
    pub fn new(config: EndpointConfig, mut rng: SecretRng) -> Self {
        Self {
            budget: Budget::new(config.window_budget),
            config,
            listening: None,
            ports: None,
            validated: None,
            ties: TieSecret::new(rng.key()),
            keys: CookieKeys::new(&mut rng),
            rng,
            registry: Registry::default(),
            replies: Replies::default(),
            init_allowance: InitAllowance::default(),
            answered_inits: AnsweredInits::default(),
            spent: None,
            incoming: None,
            drain: Drain::default(),
            ended: Vec::new(),
            handing_back: Vec::new(),
            forgotten: VecDeque::new(),
            ready: VecDeque::new(),
            eventful: VecDeque::new(),
            tracing: false,
            takes_zero_checksum: false,
            stats: EndpointStats::default(),
        }
    }

    /// Accepts associations from now on, with `config` for each.
    ///
    /// # Errors
    /// When a value of the configuration is not allowed ([`Config::validate`]), it asks for subflow level sf2007 and the endpoint does not
    /// allow private encodings, or the endpoint drains.
    pub fn listen(&mut self, config: Arc<Config>) -> Result<(), ConnectError> {
        self.check_config(&config)?;
        self.check_draining()?;
        self.takes_zero_checksum |= config.extensions.zero_checksum.is_some();
        self.listening = Some(config);
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
        self.ports.get_or_insert_default().insert(port);
        Ok(())
    }

    /// Accepts no associations at a port any more that [`Endpoint::open_port`] has opened. Those that exist live on.
    pub fn close_port(&mut self, port: u16) {
        if let Some(ports) = &mut self.ports {
            ports.remove(&port);
        }
    }

    /// With what configuration associations are accepted at a port.
    fn listening_at(&self, port: u16) -> Option<&Arc<Config>> {
        let open = port == self.config.port || self.ports.as_ref().is_some_and(|ports| ports.contains(&port));
        self.listening.as_ref().filter(|_| open)
    }

    /// Whether there may be anything at a port.
    #[inline]
    fn may_use(&self, port: u16) -> bool {
        port == self.config.port || self.ports.is_some()
    }

    /// Accepts no associations any more: an INIT gets an ABORT (RFC 9260, 5.1, 8.4), and so do a cookie that was given before and those
    /// who wait for [`Endpoint::accept`]. Associations that exist live on, and may restart.
    pub fn stop_listening(&mut self) {
        self.listening = None;
        self.turn_all_away();
    }

    /// Whether associations are accepted.
    #[must_use]
    pub fn is_listening(&self) -> bool {
        self.listening.is_some()
    }

    /// DESTROY (RFC 9260, 11.1.16): nothing is accepted any more and every association is aborted. The ABORTs still have to
    /// leave ([`Endpoint::poll_transmit`]).
    pub fn destroy(&mut self, now: Instant) {
        self.stop_listening();
        for index in self.registry.indices() {
            if let Some(assoc) = self.registry.at_mut(index) {
                assoc.abort(&[]);
            }
            self.settle(now, index);
        }
    }

    fn check_config(&mut self, config: &Arc<Config>) -> Result<(), ConnectError> {
        self.validate(config)?;
        if config.subflows.level == SubflowLevel::Sf2007 && !self.config.allow_private_encodings {
            return Err(ConnectError::PrivateEncodings);
        }
        Ok(())
    }

    /// The last that was looked at is not looked at again: many associations have the same.
    fn validate(&mut self, config: &Arc<Config>) -> Result<(), ConfigError> {
        if !self.validated.as_ref().is_some_and(|good| Arc::ptr_eq(good, config)) {
            config.validate()?;
            self.validated = Some(Arc::clone(config));
        }
        Ok(())
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

    /// As [`Endpoint::connect`], from another SCTP port of ours: there may be one association for each pair of ports. Nobody is let in
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
        self.check_config(&config)?;
        self.check_draining()?;
        if !is_unicast(remote.ip()) {
            return Err(ConnectError::NotUnicast(remote.ip()));
        }
        if self.registry.by_peer(remote.ip(), (remote_port, local_port)).is_some() {
            return Err(ConnectError::Exists);
        }
        if local_port != self.config.port {
            self.ports.get_or_insert_default();
        }
        self.takes_zero_checksum |= config.extensions.zero_checksum.is_some();
        let tag = self.unused_tag();
        let rng = self.fork_rng();
        let ports = (local_port, remote_port);
        let id = self.registry.insert(|id| Association::connect(id, now, config, ports, remote, tag, rng));
        self.equip(id);
        self.settle(now, id.index);
        Ok(id)
    }

    /// Hands in a datagram: an SCTP packet without IP or UDP header. What came to the broadcast address of a subnet must not be
    /// handed in (RFC 9260, 8.4): the endpoint does not know the subnets of its host.
    pub fn handle_datagram(&mut self, now: Instant, meta: Meta, bytes: &[u8]) {
        self.stats.datagrams_received += 1;
        self.accept_datagram(now, &meta, bytes);
    }

    /// Runs every timer that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some(waiting) = &mut self.incoming {
            waiting.prune(now);
        }
        while let Some(index) = self.registry.pop_due(now) {
            if let Some(assoc) = self.registry.at_mut(index) {
                assoc.handle_timeout(now);
            }
            self.settle(now, index);
        }
    }

    /// Appends packets to `buf` and says where they go; `None` when nothing is to be sent now. One call gives up to
    /// `max_packets` packets of equal size for one destination, the last possibly shorter.
    #[allow(clippy::inline_always, reason = "drivers ask twice for each packet; measured")]
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant, max_packets: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        if !self.replies.is_empty() {
            if let Some(reply) = self.replies.pop(buf) {
                return Some(reply);
            }
        }
        while let Some(&index) = self.ready.front() {
            if let Some(assoc) = self.registry.at_mut(index) {
                let transmit = assoc.poll_transmit(now, max_packets.max(1), buf);
                // As a rule one packet was all, and that is known without asking for another.
                let rests = transmit.is_none() || !assoc.wants_to_transmit();
                if rests {
                    assoc.watch_at_rest(now);
                    self.rest(index);
                } else {
                    self.note_events(index);
                }
                if transmit.is_some() {
                    return transmit;
                }
            } else {
                self.rest(index);
            }
        }
        None
    }

    /// The first of those that may have something to send has nothing more.
    #[inline]
    fn rest(&mut self, index: u32) {
        self.ready.pop_front();
        self.registry.set_ready(index, false);
        self.note_events(index);
        self.registry.reschedule(index);
    }

    /// Whether [`Endpoint::poll_transmit`] is to be asked: it may have something. A driver that shares an endpoint with its users asks
    /// this after a command.
    #[must_use]
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty() || !self.replies.is_empty()
    }

    /// Whether [`Endpoint::poll_event`] is to be asked: it may have something.
    #[must_use]
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.eventful.is_empty() || !self.ended.is_empty()
    }

    /// The next event of any association.
    #[inline]
    pub fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        // It is asked more often than there is something.
        if self.has_events() { self.pop_event() } else { None }
    }

    #[inline(never)]
    fn pop_event(&mut self) -> Option<(AssociationId, Event)> {
        if !self.ended.is_empty() {
            self.free_ended();
        }
        while let Some(&index) = self.eventful.front() {
            if let Some((id, event, is_last)) = self.registry.pop_event(index) {
                if is_last {
                    self.eventful.pop_front();
                }
                if matches!(event, Event::Closed(_)) && !self.config.keep_closed {
                    self.ended.push(id);
                }
                return Some((id, event));
            }
            self.eventful.pop_front();
            self.registry.set_eventful(index, false);
        }
        None
    }

    /// When [`Endpoint::handle_timeout`] wants to be called, and why. Never late; it may be early, at the time a timer
    /// had before it was restarted, and then `handle_timeout` does nothing and the next answer is right.
    pub fn poll_timeout(&mut self) -> Option<(Instant, Timer)> {
        for index in &self.ready {
            self.registry.reschedule(*index);
        }
        let next = self.registry.next_timeout();
        if self.incoming.is_some() { self.or_end_of_waiting(next) } else { next }
    }

    #[cold]
    fn or_end_of_waiting(&self, next: Option<(Instant, Timer)>) -> Option<(Instant, Timer)> {
        match self.incoming.as_ref().and_then(|waiting| waiting.next_end()) {
            Some(end) if next.is_none_or(|(at, _)| end < at) => Some((end, Timer::Incoming)),
            _ => next,
        }
    }

    /// Forgets a closed association, its unread messages and its counters. False while it is not closed or its last
    /// packet has not left. It is needed with [`EndpointConfig::keep_closed`], and for associations whose messages nobody reads.
    pub fn release(&mut self, id: AssociationId) -> bool {
        self.registry.release(id)
    }

    /// One association, to look at.
    #[must_use]
    #[inline]
    pub fn view(&self, id: AssociationId) -> Option<&Association> {
        self.registry.get(id)
    }

    /// Counters of what belongs to no association.
    #[must_use]
    pub fn endpoint_stats(&self) -> &EndpointStats {
        &self.stats
    }

    /// Number of associations that are not closed.
    #[must_use]
    pub fn associations(&self) -> usize {
        self.registry.open()
    }

    /// Turns trace events on or off for every association, present and future.
    pub fn set_trace(&mut self, on: bool) {
        self.tracing = on;
        for assoc in self.registry.iter_mut() {
            assoc.set_trace(on);
        }
    }

    /// Takes the trace records since the last call, association by association, each oldest first.
    pub fn drain_trace(&mut self) -> impl Iterator<Item = TraceRecord> + '_ {
        self.registry.iter_mut().flat_map(|assoc| assoc.trace_mut().drain())
    }

    /// What every association has from the endpoint.
    fn equip(&mut self, id: AssociationId) {
        if let Some(assoc) = self.registry.get_mut(id) {
            assoc.set_budget(&self.budget);
        }
        self.apply_tracing(id);
    }

    fn apply_tracing(&mut self, id: AssociationId) {
        let on = self.tracing;
        if let Some(assoc) = self.registry.get_mut(id) {
            assoc.set_trace(on);
        }
    }

    /// After an association was touched: queues it where it is due, and drops it from the maps when it has closed.
    fn settle(&mut self, now: Instant, index: u32) {
        let news = self.registry.look(index);
        if news.eventful {
            self.eventful.push_back(index);
        }
        if news.ended {
            self.end(now, index);
        }
        if news.ready {
            // What leaves may start timers: they are looked at when nothing is left to send.
            self.ready.push_back(index);
        }
    }

    #[cold]
    fn end(&mut self, now: Instant, index: u32) {
        self.registry.unmap_closed(index, !self.config.keep_closed);
        if let (Some(spent), Some(assoc)) = (&mut self.spent, self.registry.at(index)) {
            let peers = assoc.shown_addresses().map(|address| (address, assoc.ports()));
            spent.ended(now, assoc.tags(), peers);
        }
    }

    /// An association may have something to send.
    #[inline]
    fn queue(&mut self, index: u32) {
        if !self.registry.is_ready(index) {
            self.registry.set_ready(index, true);
            self.ready.push_back(index);
        }
    }

    fn note_events(&mut self, index: u32) {
        if self.registry.has_new_events(index) {
            self.registry.set_eventful(index, true);
            self.eventful.push_back(index);
        }
    }

    // rfc9260:5.3.1-3
    fn unused_tag(&mut self) -> u32 {
        loop {
            let tag = self.config.shard.tag(random_tag(&mut self.rng));
            if self.registry.by_tag(tag).is_none() {
                return tag;
            }
        }
    }

    /// Tag and first TSN for a peer that has asked.
    fn fresh_identity(&mut self) -> (u32, Tsn) {
        let (tag, tsn) = fresh_identity(&mut self.rng);
        (self.config.shard.tag(tag), tsn)
    }

    /// A stream of its own for an association, so that what one draws changes no other.
    fn fork_rng(&mut self) -> SecretRng {
        self.rng.fork()
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod two_paths;
