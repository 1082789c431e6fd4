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
mod connect;
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
mod polling;
mod registry;
mod reply;
mod spent;
mod stateless;

use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_base::{Duration, Instant, SecretRng, TraceRecord};
use anabranch_wire::Tsn;

use crate::association::{Association, fresh_identity};
use crate::budget::Budget;
use crate::config::{Checksums, Config, ConfigError};
use crate::event::AssociationId;
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
    /// asked again after it gave [`Event::Closed`](crate::Event::Closed), its last packet has left and its messages have been read, of all streams. What is to
    /// be looked at, its user looks at when the event comes. What can be taken back stays until it is, of the 16 that closed last;
    /// these take no place.
    pub keep_closed: bool,
    /// How long a key signs State Cookies. It opens them as long as who was given one may repeat it, so that an outage ends no handshake.
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

    /// The last that was looked at is not looked at again: many associations have the same.
    fn validate(&mut self, config: &Arc<Config>) -> Result<(), ConfigError> {
        if !self.validated.as_ref().is_some_and(|good| Arc::ptr_eq(good, config)) {
            config.validate()?;
            self.validated = Some(Arc::clone(config));
        }
        Ok(())
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

    /// Whether an association has that address for sure: only what comes from there, or was answered there, may touch it.
    fn is_confirmed(&self, index: u32, address: IpAddr) -> bool {
        self.registry.at(index).is_some_and(|a| a.confirmed_addresses().any(|confirmed| confirmed == address))
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
            let peers = assoc.confirmed_addresses().map(|address| (address, assoc.ports()));
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
