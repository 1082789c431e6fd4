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
mod closing;
mod config;
mod connect;
mod cookie_echo;
mod cookie_keys;
mod driven;
mod ending;
pub(crate) mod handle;
mod icmp;
mod identities;
mod incoming;
mod init_allowance;
mod listening;
pub(crate) mod packets;
mod polling;
mod registry;
mod spent;
mod stateless;

use std::net::IpAddr;
use std::sync::Arc;

use anabranch_base::{Instant, SecretRng, TraceRecord};

use crate::association::Association;
use crate::budget::Budget;
use crate::event::AssociationId;
use crate::stats::EndpointStats;
use crate::tie_tags::TieSecret;
use answered_inits::AnsweredInits;
use backlog::Backlog;
use closing::Closing;
use cookie_keys::CookieKeys;
use identities::Identities;
use init_allowance::InitAllowance;
use listening::Listening;
use registry::Registry;
use spent::SpentCookies;
use stateless::Stateless;

pub use config::EndpointConfig;

/// An SCTP endpoint: one port or several, any number of associations.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    listening: Listening,
    identities: Identities,
    keys: CookieKeys,
    ties: TieSecret,
    registry: Registry,
    stateless: Stateless,
    init_allowance: InitAllowance,
    answered_inits: AnsweredInits,
    /// Made with the first cookie: who only asks has none.
    spent: Option<Box<SpentCookies>>,
    /// Who waits for the user's word, where it is asked for.
    incoming: Option<Box<Backlog>>,
    closing: Closing,
    /// What windows may grow by.
    budget: Arc<Budget>,
    tracing: bool,
}

impl Endpoint {
    /// An endpoint without associations. `rng` decides tags, TSNs, cookie keys, nonces and timer jitter: on a network its seed
    /// must come from the operating system.
    #[must_use]
    pub fn new(config: EndpointConfig, mut rng: SecretRng) -> Self {
        let ties = TieSecret::new(rng.key());
        let keys = CookieKeys::new(&mut rng);
        Self {
            listening: Listening::new(config.port, config.allow_private_encodings),
            identities: Identities::new(rng, config.shard),
            keys,
            ties,
            registry: Registry::default(),
            stateless: Stateless::new(config.checksums),
            init_allowance: InitAllowance::default(),
            answered_inits: AnsweredInits::default(),
            spent: None,
            incoming: None,
            closing: Closing::new(config.keep_closed),
            budget: Budget::new(config.window_budget),
            tracing: false,
            config,
        }
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
    fn is_shown(&self, index: u32, address: IpAddr) -> bool {
        self.registry.at(index).is_some_and(|a| a.shown_addresses().any(|shown| shown == address))
    }

    /// Counters of what belongs to no association.
    #[must_use]
    pub fn endpoint_stats(&self) -> &EndpointStats {
        self.stateless.stats()
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
        if self.registry.look(index) {
            self.end(now, index);
        }
    }

    #[cold]
    fn end(&mut self, now: Instant, index: u32) {
        self.registry.unmap_closed(index, !self.closing.keeps());
        if let (Some(spent), Some(assoc)) = (&mut self.spent, self.registry.at(index)) {
            let peers = assoc.shown_addresses().map(|address| (address, assoc.ports()));
            spent.ended(now, assoc.tags(), peers);
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod two_paths;
