//! Whom to let in: limits, and the user's word (RFC 9260, 5.1).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_base::{Instant, Meta};
use anabranch_wire::sf2007::{SetupParams, split_cookie};
use anabranch_wire::{Checksum, Chunks, Packet};

use super::Endpoint;
use super::backlog::{Backlog, Held, Place, Room, network_of};
use super::spent::Worth;
use crate::association::Association;
use crate::causes;
use crate::config::Config;
use crate::cookie::Cookie;
use crate::event::AssociationId;
use crate::incoming::{AcceptError, IncomingId};

impl Endpoint {
    /// Lets somebody in who waits, with a configuration of its own: from now on it is like any other association. What the INIT ACK has
    /// told the peer must be as [`Endpoint::listen`] has it: streams, receive window, extensions.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// use anabranch_sctp::{AcceptConfig, EndpointEvent};
    /// # use std::sync::Arc;
    /// let ask = AcceptConfig { ask: true, max_per_source: 100, ..AcceptConfig::default() };
    /// # let mut two = Two::with(Config::rfc9260(), |config| config.accept = ask.clone());
    /// # let now = two.now;
    /// let Some(EndpointEvent::Incoming(incoming)) = two.ends[1].poll_endpoint_event() else { panic!("nobody asks") };
    /// assert_eq!((incoming.source.ip(), incoming.streams), ([10, 0, 0, 1].into(), (10, 10)));
    /// if incoming.port == 5000 {
    ///     let patient = Config::rfc9260().with(|c| c.limits.association_max_retrans = 20);
    ///     let id = two.ends[1].accept(now, incoming.id, Arc::new(patient))?;
    /// } else {
    ///     two.ends[1].refuse(incoming.id, b"members only");
    /// }
    /// two.exchange();
    /// assert!(two.told_a().contains(&Event::Established { outbound_streams: 10, inbound_streams: 10 }));
    /// # Ok::<(), anabranch_sctp::AcceptError>(())
    /// ```
    ///
    /// # Errors
    /// When nobody waits with that number, there is an association with that peer meanwhile, or the configuration differs in what
    /// the peer was told.
    pub fn accept(
        &mut self,
        now: Instant,
        id: IncomingId,
        config: Arc<Config>,
    ) -> Result<AssociationId, AcceptError> {
        self.listening.validate(&config)?;
        let told = self.incoming.as_ref().and_then(|waiting| waiting.told(id)).ok_or(AcceptError::Gone)?;
        // As a rule it is the very one; else each value is compared as text.
        if !std::ptr::eq(&*config, told) {
            if let Some((key, value, told)) = config.first_promised_otherwise(told) {
                return Err(AcceptError::Promised { key, value, told });
            }
        }
        let held =
            self.incoming.as_mut().and_then(|waiting| waiting.take(now, id)).ok_or(AcceptError::Gone)?;
        let ports = held.cookie.ports();
        if held.cookie.addresses.iter().any(|address| self.registry.by_peer(*address, ports).is_some()) {
            return Err(AcceptError::Exists);
        }
        // Another association with its peer may have come and gone while it was waiting.
        let spent = self.spent.as_mut();
        if spent.is_some_and(|spent| spent.worth(now, &held.cookie) != Worth::Association) {
            return Err(AcceptError::Gone);
        }
        let Ok(packet) = Packet::parse(&held.packet, Checksum::Ignore) else { return Err(AcceptError::Gone) };
        let mut chunks = packet.chunks();
        let value = chunks.next().and_then(Result::ok).map_or(&[][..], |raw| raw.value);
        let (_, setup) = self.split_setup(value);
        let id = self.admit(now, held.meta.source, config, &held.cookie);
        self.read_behind_cookie(now, id.index, &held.meta, chunks, held.packet.len(), setup);
        Ok(id)
    }

    /// Turns somebody away who waits: an ABORT with a User-Initiated Abort cause and `reason` (RFC 9260, 3.3.10.12), also to copies of the
    /// same COOKIE ECHO that come later. False when nobody waits with that number.
    pub fn refuse(&mut self, id: IncomingId, reason: &[u8]) -> bool {
        self.decide(id, Some(causes::user_abort(reason)))
    }

    /// Answers nothing to somebody who waits, nor to copies of the same COOKIE ECHO that come later: it gives up by its own
    /// timers. It may ask again with another INIT. False when nobody waits with that number.
    pub fn ignore(&mut self, id: IncomingId) -> bool {
        self.decide(id, None)
    }

    /// How many wait for [`Endpoint::accept`].
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.incoming.as_ref().map_or(0, |waiting| waiting.len())
    }

    /// Accepts no associations any more: an INIT gets an ABORT (RFC 9260, 5.1, 8.4), and so do a cookie that was given before and those
    /// who wait for [`Endpoint::accept`]. Associations that exist live on, and may restart.
    pub fn stop_listening(&mut self) {
        self.listening.stop();
        self.turn_all_away();
    }

    fn decide(&mut self, id: IncomingId, answer: Option<Vec<u8>>) -> bool {
        // What is stale goes when time is told.
        let Some(waiting) = &mut self.incoming else { return false };
        let Some(held) = waiting.take(Instant::ZERO, id) else { return false };
        waiting.judge(&held, answer.clone());
        if let Some(causes) = answer {
            self.turn_away(&held, &causes);
        }
        true
    }

    fn turn_away(&mut self, held: &Held, causes: &[u8]) {
        self.stateless.count().refused += 1;
        let Ok(packet) = Packet::parse(&held.packet, Checksum::Ignore) else { return };
        let Some(shown) = held.cookie.shown() else { return };
        self.stateless.answer_cookie(&held.meta, &packet, &held.cookie, shown, |out| {
            causes::write_abort(out, false, causes);
        });
    }

    /// Nobody is let in any more: who waits gets an ABORT.
    fn turn_all_away(&mut self) {
        while let Some(held) = self.incoming.as_mut().and_then(|waiting| waiting.take_first()) {
            self.turn_away(&held, &[]);
        }
    }

    /// A good cookie came from a peer that we have no association with: it waits for the user.
    pub(super) fn hold(
        &mut self,
        now: Instant,
        meta: &Meta,
        packet: &Packet<'_>,
        cookie: Cookie,
        shown: SocketAddr,
    ) {
        let Some(told) = self.listening.config().cloned() else { return };
        let free = self.has_place(shown.ip());
        let room = self.backlog_room();
        let peer_tag = cookie.peer_tag;
        let waiting = self.incoming.get_or_insert_default();
        let abort = match waiting.offer(now, cookie, shown, *meta, packet.bytes(), room, free, &told) {
            Place::Held | Place::Known | Place::Ignored => return,
            Place::Refused(causes) => causes,
            Place::Full => causes::out_of_resource(),
        };
        self.stateless.count().refused += 1;
        let at = if shown.ip() == meta.source.ip() { meta.source } else { shown };
        self.stateless.reply(&Meta { source: at, ..*meta }, peer_tag, packet, |out| {
            causes::write_abort(out, false, &abort);
        });
    }

    fn backlog_room(&self) -> Room {
        Room { in_all: self.config.accept.backlog, per_source: self.config.accept.backlog_per_source }
    }

    /// Whether there may be one more association, and one more with that source.
    fn has_place(&self, source: IpAddr) -> bool {
        let waiting = self.incoming.as_deref();
        if self.registry.places() + waiting.map_or(0, Backlog::len) >= self.config.max_associations {
            return false;
        }
        let most = self.config.accept.max_per_source;
        if most == usize::MAX {
            return true;
        }
        let network = network_of(source);
        self.registry.count_of(network) + waiting.map_or(0, |waiting| waiting.count_of(network)) < most
    }

    /// Whether somebody who asks from there, with that port, would find a place.
    pub(super) fn has_room(&self, source: IpAddr, ports: (u16, u16)) -> bool {
        let room = self.backlog_room();
        match self.incoming.as_deref() {
            Some(waiting) if waiting.has(source, ports) => true,
            Some(waiting) if !waiting.has_room(source, room) => false,
            _ => self.has_place(source),
        }
    }

    /// An association with whoever has a good cookie.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        source: SocketAddr,
        config: Arc<Config>,
        cookie: &Cookie,
    ) -> AssociationId {
        let rng = self.identities.fork();
        let id = self.registry.insert(|id| Association::accept(id, now, config, cookie, source, rng));
        self.equip(id);
        id
    }

    /// What came in the packet of a cookie.
    pub(super) fn read_behind_cookie(
        &mut self,
        now: Instant,
        index: u32,
        meta: &Meta,
        chunks: Chunks<'_>,
        size: usize,
        setup: SetupParams<'_>,
    ) {
        if let Some(assoc) = self.registry.at_mut(index) {
            assoc.adopt_setup(setup);
            let outcome = assoc.handle_chunks(now, meta, chunks, size);
            if outcome.malformed {
                self.stateless.count().bad_chunks += 1;
            }
            if outcome.confirmed {
                self.registry.map(index);
            }
        }
        self.settle(now, index);
    }

    /// State Cookie and what the encoding of 2007 has behind it.
    pub(super) fn split_setup<'a>(&self, value: &'a [u8]) -> (&'a [u8], SetupParams<'a>) {
        if self.config.allow_private_encodings { split_cookie(value) } else { (value, SetupParams::new(&[])) }
    }
}
