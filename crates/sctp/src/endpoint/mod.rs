//! The endpoint: finds the association for a packet, answers INIT without keeping state, and deals with packets
//! that belong to no association (RFC 9260, 5.1, 5.2, 8.4, 8.5).
//!
//! Methods come in four kinds: `handle_*` take input from outside, commands take the wishes of the user
//! ([`Endpoint::association`] has those of one association), `poll_*` give output, and the rest only look. After any `handle_*` or command, poll until nothing comes:
//! `poll_transmit`, then `poll_event`, then `poll_timeout`. Every `handle_*` and command may change the answers of
//! all three.

mod admission;
mod answered_inits;
mod arrivals;
mod backlog;
mod closing;
mod config;
mod connect;
mod cookie_echo;
mod cookie_keys;
mod ending;
pub(crate) mod handle;
mod icmp;
mod identities;
mod incoming;
mod init_allowance;
mod inits;
mod listening;
pub(crate) mod polling;
mod registry;
mod spent;
mod stateless;

use std::sync::Arc;

use anabranch_base::{Instant, SecretRng, TraceRecord};

use crate::association::Association;
use crate::budget::Budget;
use crate::event::AssociationId;
use crate::stats::EndpointStats;
use admission::Admission;
use closing::Closing;
use identities::Identities;
use listening::Listening;
use registry::Registry;
use stateless::Stateless;

pub use config::EndpointConfig;

/// An SCTP endpoint: one port or several, any number of associations.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    listening: Listening,
    identities: Identities,
    registry: Registry,
    admission: Admission,
    stateless: Stateless,
    closing: Closing,
    /// Bytes by which the receive windows of all associations may grow.
    budget: Arc<Budget>,
    tracing: bool,
}

impl Endpoint {
    /// An endpoint without associations. `rng` decides tags, TSNs, cookie keys, nonces and timer jitter: on a network its seed
    /// must come from the operating system.
    #[must_use]
    pub fn new(config: EndpointConfig, mut rng: SecretRng) -> Self {
        let admission = Admission::new(&mut rng);
        Self {
            listening: Listening::new(config.port, config.allow_private_encodings),
            identities: Identities::new(rng, config.shard),
            registry: Registry::default(),
            admission,
            stateless: Stateless::new(config.checksums),
            closing: Closing::new(config.keep_closed),
            budget: Budget::new(config.window_budget),
            tracing: false,
            config,
        }
    }

    /// Runs every timer that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.admission.on_timeout(now);
        while let Some(index) = self.registry.pop_due(now) {
            if let Some(assoc) = self.registry.at_mut(index) {
                assoc.handle_timeout(now);
            }
            self.settle(now, index);
        }
    }

    /// Forgets a closed association, its unread messages and its counters. False while it is not closed or its last
    /// packet has not left. It is needed with [`EndpointConfig::keep_closed`], and for associations whose messages are not read.
    pub fn release(&mut self, id: AssociationId) -> bool {
        self.registry.release(id)
    }

    /// One association, to look at.
    #[must_use]
    #[inline]
    pub fn view(&self, id: AssociationId) -> Option<&Association> {
        self.registry.get(id)
    }

    /// Counters of packets and events that belong to no association.
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

    /// Gives an association the budget and the trace settings that all of an endpoint share.
    fn equip(&mut self, id: AssociationId) {
        if let Some(assoc) = self.registry.get_mut(id) {
            assoc.set_budget(&self.budget);
            assoc.set_trace(self.tracing);
        }
    }

    /// After an association was touched: queues it where it is due, and drops it from the maps when it has closed.
    fn settle(&mut self, now: Instant, index: u32) {
        if self.registry.look(index) {
            self.registry.unmap_closed(index, !self.closing.keeps());
            if let Some(assoc) = self.registry.at(index) {
                self.admission.note_end(now, assoc);
            }
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod two_paths;
