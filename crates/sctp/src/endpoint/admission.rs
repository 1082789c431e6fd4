//! Peers are let in or not (RFC 9260, 5.1): cookies that are not forged, limits, and the user's decision.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_base::{Duration, Instant, Meta, SecretRng};
use anabranch_wire::chunk::Chunk;
use anabranch_wire::sf2007::{SetupParams, split_cookie};
use anabranch_wire::{Checksum, Packet};

use super::answered_inits::AnsweredInits;
use super::backlog::{Backlog, Held, Place, Room, network_of};
use super::config::EndpointConfig;
use super::cookie_keys::{CookieKeys, patience};
use super::identities::Identities;
use super::init_allowance::InitAllowance;
use super::listening::Listening;
use super::registry::Registry;
use super::spent::{SpentCookies, Worth};
use super::stateless::Stateless;
use crate::association::Association;
use crate::causes;
use crate::config::Config;
use crate::cookie::Cookie;
use crate::event::AssociationId;
use crate::incoming::{AcceptError, EndpointEvent, IncomingId};
use crate::tie_tags::TieSecret;

/// A packet that asks for an association, and the parts of the endpoint that its answer depends on.
#[derive(Debug)]
pub(super) struct Asking<'a, 'p> {
    pub(super) now: Instant,
    pub(super) meta: &'a Meta,
    pub(super) packet: &'a Packet<'p>,
    pub(super) config: &'a EndpointConfig,
    pub(super) listening: &'a Listening,
    pub(super) identities: &'a mut Identities,
    pub(super) registry: &'a mut Registry,
    pub(super) stateless: &'a mut Stateless,
}

/// Decides which peers are let in. Nothing is kept of those that have not proved that they are where they say.
#[derive(Debug)]
pub(super) struct Admission {
    keys: CookieKeys,
    ties: TieSecret,
    init_allowance: InitAllowance,
    answered_inits: AnsweredInits,
    /// Made with the first cookie: an endpoint that only asks has none.
    spent: Option<Box<SpentCookies>>,
    /// Peers that wait for the user's word, where it is asked for.
    waiting: Option<Box<Backlog>>,
}

impl Admission {
    /// Its keys are drawn from `rng`.
    pub(super) fn new(rng: &mut SecretRng) -> Self {
        let ties = TieSecret::new(rng.key());
        Self {
            keys: CookieKeys::new(rng),
            ties,
            init_allowance: InitAllowance::default(),
            answered_inits: AnsweredInits::default(),
            spent: None,
            waiting: None,
        }
    }

    /// Takes one INIT from the allowance of `rate` a second, 0 being no limit; true if it may be answered.
    pub(super) fn may_answer(&mut self, now: Instant, rate: u32) -> bool {
        self.init_allowance.take(now, rate)
    }

    /// An INIT with that tag is answered for an association that is up: its peer has restarted, perhaps.
    pub(super) fn note_answered(&mut self, now: Instant, tag: u32) {
        self.answered_inits.note(now, tag);
    }

    /// True if an INIT with that tag is a copy of one that was answered for an association that is up.
    pub(super) fn has_answered(&self, now: Instant, tag: u32) -> bool {
        self.answered_inits.has(now, tag)
    }

    /// Local and Peer's Tie-Tag of the association with these tags, ours first.
    pub(super) fn tie_tags(&self, tags: (u32, u32)) -> (u32, u32) {
        self.ties.tie_tags(tags)
    }

    /// When a cookie is made, as it must say: never at the time of an end.
    pub(super) fn date_cookie(&mut self, now: Instant, life: Duration) -> Instant {
        self.spent.get_or_insert_default().made(now, life)
    }

    /// Signs a cookie for a peer that is configured as `config` says and repeats it as long as that; with a new key, drawn from `rng`, if the last
    /// one is older than `life`.
    pub(super) fn seal(
        &mut self,
        now: Instant,
        life: Duration,
        rng: &mut SecretRng,
        config: &Config,
        cookie: &Cookie,
    ) -> Vec<u8> {
        self.keys.seal(now, life, patience(config), rng, cookie, config.emulation.cookie_size)
    }

    /// The contents of a cookie that one of our keys has signed.
    pub(super) fn open_cookie(&mut self, now: Instant, sealed: &[u8]) -> Option<Cookie> {
        self.keys.open(now, sealed)
    }

    /// The worth of a cookie that is not stale, when there is no association with its peer.
    pub(super) fn worth(&mut self, now: Instant, cookie: &Cookie) -> Worth {
        self.spent.as_mut().map_or(Worth::Association, |spent| spent.worth(now, cookie))
    }

    /// Takes a peer that waits and that the user lets in with `config`.
    ///
    /// # Errors
    /// When no peer waits with that number, there is an association with that peer meanwhile, or the configuration differs in a
    /// value that the peer was told.
    pub(super) fn take_accepted(
        &mut self,
        now: Instant,
        id: IncomingId,
        config: &Config,
        registry: &Registry,
    ) -> Result<Held, AcceptError> {
        let told = self.waiting.as_ref().and_then(|waiting| waiting.told(id)).ok_or(AcceptError::Gone)?;
        // As a rule it is the same object; else each value is compared as text.
        if !std::ptr::eq(config, told) {
            if let Some((key, value, told)) = config.first_promised_otherwise(told) {
                return Err(AcceptError::Promised { key, value, told });
            }
        }
        let held =
            self.waiting.as_mut().and_then(|waiting| waiting.take(now, id)).ok_or(AcceptError::Gone)?;
        let ports = held.cookie.ports();
        if held.cookie.addresses.iter().any(|address| registry.by_peer(*address, ports).is_some()) {
            return Err(AcceptError::Exists);
        }
        // Another association with its peer may have come and gone while it was waiting.
        if self.worth(now, &held.cookie) != Worth::Association {
            return Err(AcceptError::Gone);
        }
        Ok(held)
    }

    /// The number of peers that wait for the user's word.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.as_ref().map_or(0, |waiting| waiting.len())
    }

    /// The user turns a peer away that waits, with the causes of an ABORT or without an answer. False when no peer waits with that number.
    pub(super) fn decide(
        &mut self,
        stateless: &mut Stateless,
        id: IncomingId,
        answer: Option<Vec<u8>>,
    ) -> bool {
        // The lookup is at time zero, so that it drops nothing: stale entries are dropped when the time is set.
        let Some(waiting) = &mut self.waiting else { return false };
        let Some(held) = waiting.take(Instant::ZERO, id) else { return false };
        waiting.judge(&held, answer.clone());
        if let Some(causes) = answer {
            turn_away(stateless, &held, &causes);
        }
        true
    }

    /// No peer is let in any more: a peer that waits gets an ABORT.
    pub(super) fn turn_all_away(&mut self, stateless: &mut Stateless) {
        while let Some(held) = self.waiting.as_mut().and_then(|waiting| waiting.take_first()) {
            turn_away(stateless, &held, &[]);
        }
    }

    /// The next event about a peer that waits, or does not wait any more.
    pub(super) fn pop_event(&mut self) -> Option<EndpointEvent> {
        let waiting = self.waiting.as_mut()?;
        if let Some((id, why)) = waiting.pop_gone() {
            return Some(EndpointEvent::IncomingWithdrawn { id, why });
        }
        waiting.announce().map(EndpointEvent::Incoming)
    }

    /// Time at which the first peer has waited too long.
    #[inline]
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.waiting.as_ref().and_then(|waiting| waiting.next_end())
    }

    /// Peers that have waited too long wait no more.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        if let Some(waiting) = &mut self.waiting {
            waiting.prune(now);
        }
    }

    /// An association has ended: cookies of before are good for none any more.
    #[cold]
    pub(super) fn note_end(&mut self, now: Instant, assoc: &Association) {
        if let Some(spent) = &mut self.spent {
            let peers = assoc.confirmed_addresses().map(|address| (address, assoc.ports()));
            spent.ended(now, assoc.tags(), peers);
        }
    }

    /// True if a packet is from a peer that waits for our user. An ABORT withdraws its request; nothing else that it
    /// sends is answered.
    pub(super) fn hears(&mut self, meta: &Meta, packet: &Packet<'_>) -> bool {
        let Some(waiting) = &mut self.waiting else { return false };
        let mut chunks = packet.chunks().filter_map(|raw| Chunk::parse(raw.ok()?).ok());
        let aborts = chunks.find_map(|chunk| match chunk {
            Chunk::Abort(abort) => Some(abort.reflected_tag),
            _ => None,
        });
        let header = packet.header();
        let ports = (header.source_port, header.destination_port);
        waiting.hears((meta.source.ip(), ports), header.verification_tag, aborts)
    }

    /// A good cookie came from a peer that we have no association with: it waits for the user.
    pub(super) fn hold(&mut self, asks: &mut Asking<'_, '_>, cookie: Cookie, shown: SocketAddr) {
        let Some(told) = asks.listening.config().cloned() else { return };
        let free = self.has_place(asks, shown.ip());
        let room = room_of(asks.config);
        let peer_tag = cookie.peer_tag;
        let (meta, packet) = (asks.meta, asks.packet);
        let waiting = self.waiting.get_or_insert_default();
        let abort = match waiting.offer(asks.now, cookie, shown, *meta, packet.bytes(), room, free, &told) {
            Place::Held | Place::Known | Place::Ignored => return,
            Place::Refused(causes) => causes,
            Place::Full => causes::out_of_resource(),
        };
        asks.stateless.count().refused += 1;
        let at = if shown.ip() == meta.source.ip() { meta.source } else { shown };
        asks.stateless.reply(&Meta { source: at, ..*meta }, peer_tag, packet, |out| {
            causes::write_abort(out, false, &abort);
        });
    }

    /// True if there may be one more association, and one more with that source.
    fn has_place(&self, asks: &Asking<'_, '_>, source: IpAddr) -> bool {
        let waiting = self.waiting.as_deref();
        if asks.registry.places() + waiting.map_or(0, Backlog::len) >= asks.config.max_associations {
            return false;
        }
        let most = asks.config.accept.max_per_source;
        if most == usize::MAX {
            return true;
        }
        let network = network_of(source);
        asks.registry.count_of(network) + waiting.map_or(0, |waiting| waiting.count_of(network)) < most
    }

    /// True if a request from `source` with these ports would find a place.
    pub(super) fn has_room(&self, asks: &Asking<'_, '_>, source: IpAddr, ports: (u16, u16)) -> bool {
        let room = room_of(asks.config);
        match self.waiting.as_deref() {
            Some(waiting) if waiting.has(source, ports) => true,
            Some(waiting) if !waiting.has_room(source, room) => false,
            _ => self.has_place(asks, source),
        }
    }
}

fn room_of(config: &EndpointConfig) -> Room {
    Room { in_all: config.accept.backlog, per_source: config.accept.backlog_per_source }
}

fn turn_away(stateless: &mut Stateless, held: &Held, causes: &[u8]) {
    stateless.count().refused += 1;
    let Ok(packet) = Packet::parse(&held.packet, Checksum::Ignore) else { return };
    let Some(shown) = held.cookie.shown() else { return };
    stateless.answer_cookie(&held.meta, &packet, &held.cookie, shown, |out| {
        causes::write_abort(out, false, causes);
    });
}

/// An association with a peer whose cookie is good.
pub(super) fn admit(
    registry: &mut Registry,
    identities: &mut Identities,
    now: Instant,
    source: SocketAddr,
    config: Arc<Config>,
    cookie: &Cookie,
) -> AssociationId {
    let rng = identities.fork();
    registry.insert(|id| Association::accept(id, now, config, cookie, source, rng))
}

/// State Cookie, and the parameters that the encoding of 2007 has behind it.
pub(super) fn split_setup<'p>(config: &EndpointConfig, value: &'p [u8]) -> (&'p [u8], SetupParams<'p>) {
    if config.allow_private_encodings { split_cookie(value) } else { (value, SetupParams::new(&[])) }
}
