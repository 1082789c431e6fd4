//! Whom to let in: limits, and the user's word (RFC 9260, 5.1).

use std::sync::Arc;

use anabranch_base::{Instant, Meta};
use anabranch_wire::sf2007::SetupParams;
use anabranch_wire::{Checksum, Chunks, Packet};

use super::Endpoint;
use super::admission::{Admission, Asking, admit, split_setup};
use super::cookie_echo::CookieOutcome;
use crate::causes;
use crate::config::Config;
use crate::event::AssociationId;
use crate::incoming::{AcceptError, IncomingId};

impl Endpoint {
    /// Accepts a request that waits, with a configuration of its own: from now on it is an association like any
    /// other. Values that the INIT ACK has told the peer must be as [`Endpoint::listen`] has them: streams, receive
    /// window, extensions.
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
    /// When no peer waits with that number, there is an association with that peer meanwhile, or the configuration differs in a
    /// value that the peer was told.
    pub fn accept(
        &mut self,
        now: Instant,
        id: IncomingId,
        config: Arc<Config>,
    ) -> Result<AssociationId, AcceptError> {
        self.listening.validate(&config)?;
        let held = self.admission.take_accepted(now, id, &config, &self.registry)?;
        let Ok(packet) = Packet::parse(&held.packet, Checksum::Ignore) else { return Err(AcceptError::Gone) };
        let mut chunks = packet.chunks();
        let value = chunks.next().and_then(Result::ok).map_or(&[][..], |raw| raw.value);
        let (_, setup) = split_setup(&self.config, value);
        let (registry, identities) = (&mut self.registry, &mut self.identities);
        let id = admit(registry, identities, now, held.meta.source, config, &held.cookie);
        self.equip(id);
        self.read_behind_cookie(now, id.index, &held.meta, chunks, held.packet.len(), setup);
        Ok(id)
    }

    /// Turns away a request that waits: an ABORT with a User-Initiated Abort cause and `reason` (RFC 9260,
    /// 3.3.10.12), also to copies of the same COOKIE ECHO that come later. False when none waits with that number.
    pub fn refuse(&mut self, id: IncomingId, reason: &[u8]) -> bool {
        self.admission.decide(&mut self.stateless, id, Some(causes::user_abort(reason)))
    }

    /// Leaves a request that waits without an answer, and copies of the same COOKIE ECHO that come later: the peer
    /// gives up by its own timers. It may ask again with another INIT. False when none waits with that number.
    pub fn ignore(&mut self, id: IncomingId) -> bool {
        self.admission.decide(&mut self.stateless, id, None)
    }

    /// Number of requests that wait for [`Endpoint::accept`].
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.admission.waiting()
    }

    /// Accepts no associations any more: an INIT gets an ABORT (RFC 9260, 5.1, 8.4), and so do a cookie that was
    /// given before and the requests that wait for [`Endpoint::accept`]. Associations that exist live on, and may
    /// restart.
    pub fn stop_listening(&mut self) {
        self.listening.stop();
        self.admission.turn_all_away(&mut self.stateless);
    }

    /// For a packet that asks for an association: the admission, which decides, and the parts that it consults.
    fn asked<'a, 'p>(
        &'a mut self,
        now: Instant,
        meta: &'a Meta,
        packet: &'a Packet<'p>,
    ) -> (&'a mut Admission, Asking<'a, 'p>) {
        let Self { config, listening, identities, registry, stateless, admission, .. } = self;
        (admission, Asking { now, meta, packet, config, listening, identities, registry, stateless })
    }

    /// An INIT.
    pub(super) fn on_init(&mut self, now: Instant, meta: &Meta, packet: &Packet<'_>) {
        let (admission, mut asking) = self.asked(now, meta, packet);
        if let Some(index) = admission.on_init(&mut asking) {
            self.settle(now, index);
        }
    }

    /// A COOKIE ECHO.
    pub(super) fn on_cookie_echo(&mut self, now: Instant, meta: &Meta, packet: &Packet<'_>) {
        let (admission, mut asking) = self.asked(now, meta, packet);
        let (index, setup) = match admission.on_cookie_echo(&mut asking) {
            CookieOutcome::Nothing => return,
            CookieOutcome::Touched(index) => return self.settle(now, index),
            CookieOutcome::Known { index, setup } => (index, setup),
            CookieOutcome::New { id, setup } => {
                self.equip(id);
                (id.index, setup)
            }
        };
        let mut chunks = packet.chunks();
        chunks.next();
        self.read_behind_cookie(now, index, meta, chunks, packet.bytes().len(), setup);
    }

    /// The rest of the packet of a cookie.
    fn read_behind_cookie(
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
}
