//! Setting up (RFC 9260, 5.1 and 5.2): the side that asks, a cookie that comes back, and restarts of the peer.

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Instant, SecretRng};
use anabranch_wire::Tsn;
use anabranch_wire::cause::Causes;
use anabranch_wire::chunk::{Init, kind};
use anabranch_wire::param::ForwardTsnSupported;
use anabranch_wire::sf::CodePoints;
use anabranch_wire::sf2007::SetupParams;

use super::agreement::{adopt, adopt_setup, downgrade};
use super::end::End;
use super::init::{self, PeerInit};
use super::life::Life;
use super::output::PacketWriter;
use super::packet_reader::{PacketOutcome, Reply};
use super::{Association, random_tag};
use crate::causes;
use crate::config::Config;
use crate::context::Context;
use crate::control::{Control, Kind};
use crate::cookie::Cookie;
use crate::event::{AssociationId, CloseReason, Event};
use crate::handed_back::HandedBack;
use crate::negotiation::offer::Offer;
use crate::path::Path;
use crate::receiver::Receiver;
use crate::scope::{Scope, scope_of};
use crate::sender::Sender;
use crate::state::State;

impl Association {
    fn blank(
        id: AssociationId,
        now: Instant,
        config: Arc<Config>,
        ports: (u16, u16),
        remote: SocketAddr,
        send_base: Tsn,
        rng: SecretRng,
    ) -> Self {
        let path = Path::new(&config, remote);
        let mut cx = Context::new(id.index, config, path, rng);
        cx.env.set_now(now);
        Self {
            life: Life::new(),
            reconfig: None,
            sender: Sender::new(&mut cx, send_base),
            receiver: Receiver::new(cx.env.config()),
            control: Control::new(cx.paths.for_control()),
            writer: PacketWriter::new(cx.env.config(), ports),
            handed_back: HandedBack::default(),
            cx,
        }
    }

    /// The side that asks: sends INIT.
    // rfc9260:3.3.2-15
    pub(crate) fn connect(
        id: AssociationId,
        now: Instant,
        config: Arc<Config>,
        ports: (u16, u16),
        remote: SocketAddr,
        local_tag: u32,
        mut rng: SecretRng,
    ) -> Self {
        let initial_tsn = Tsn::new(rng.u32());
        let mut assoc = Self::blank(id, now, config, ports, remote, initial_tsn, rng);
        assoc.writer.set_local_tag(local_tag);
        assoc.control.ask(Kind::Init, assoc.cx.paths.for_control());
        assoc.life.begin(&mut assoc.cx);
        assoc
    }

    /// The side that answers: a valid cookie came back from `source`.
    pub(crate) fn accept(
        id: AssociationId,
        now: Instant,
        config: Arc<Config>,
        cookie: &Cookie,
        source: SocketAddr,
        rng: SecretRng,
    ) -> Self {
        let ports = (cookie.local_port, cookie.peer_port);
        let remote = destination(cookie, source);
        let mut assoc = Self::blank(id, now, config, ports, remote, cookie.local_initial_tsn, rng);
        assoc.cx.report.stats.control.count_received(kind::COOKIE_ECHO);
        assoc.adopt_cookie(cookie);
        assoc.cx.paths.probe_unconfirmed(assoc.cx.env.config(), source);
        sample_handshake(&mut scope_of!(assoc), cookie.created);
        assoc.control.ask(Kind::CookieAck, assoc.cx.paths.for_control());
        assoc.cx.tell(Event::Accepted {
            address: remote,
            outbound_streams: cookie.outbound_streams,
            inbound_streams: cookie.inbound_streams,
        });
        assoc.enter_established();
        assoc
    }

    /// Tags, windows and streams from a cookie.
    // rfc9260:5.1.2-4
    fn adopt_cookie(&mut self, cookie: &Cookie) {
        self.writer.set_local_tag(cookie.local_tag);
        self.writer.set_peer_tag(cookie.peer_tag);
        self.sender.messages().set_streams(cookie.outbound_streams);
        self.receiver.set_streams(cookie.inbound_streams);
        self.cx.paths.list_anew(&cookie.addresses);
        learn_peer(&mut scope_of!(self), cookie.peer_rwnd, cookie.peer_initial_tsn);
        self.reconfig = adopt(&mut scope_of!(self), &cookie.extensions);
        if let Some(handshake) = self.life.handshake_mut() {
            handshake.note(&cookie.extensions);
        }
    }

    /// The handshake has succeeded.
    fn enter_established(&mut self) {
        let (mut shutdown_wanted, mut adaptation) = (false, None);
        if let Some(handshake) = self.life.handshake() {
            shutdown_wanted = handshake.is_shutdown_wanted();
            adaptation = handshake.adaptation();
            let zero = handshake.sends_zero_checksum();
            self.writer.settle_checksum(self.cx.env.config(), zero);
        }
        self.life.establish(&mut self.cx);
        let primary = self.cx.paths.for_control();
        self.path_manager().clear_errors(primary);
        self.cx.tell(Event::Established {
            outbound_streams: self.sender.stream_map().streams(),
            inbound_streams: self.receiver.streams(),
        });
        self.life.tell_adaptation(&mut self.cx, adaptation);
        self.sender.established(&self.cx);
        let (now, rng) = (self.cx.env.now(), &mut self.cx.rng);
        if let Some(path) = self.cx.paths.primary_mut() {
            path.arm_heartbeat(now, self.cx.env.config(), rng);
        }
        for path in self.cx.paths.others() {
            self.path_manager().probe(path);
        }
        self.path_manager().begin_mtu_search(primary);
        self.sender.all_lanes().record_windows(&mut self.cx);
        self.subflow_manager().ask_for_missing_fids();
        if shutdown_wanted {
            self.begin_shutdown();
        }
    }

    /// INIT ACK chunk (5.1 C). The outcome of the packet, if none of it is to be read any more.
    // rfc9260:3.2.2-2 rfc9260:3.3.3-19 rfc9260:5.1.1-2 rfc9260:5.1.4-1 rfc9260:5.1.4-2
    pub(super) fn on_init_ack(&mut self, init: &Init<'_>) -> Result<(), PacketOutcome> {
        // The endpoint has checked the packet's tag, so it is the peer's own fault: no other host can end the association so.
        let waits = self.cx.env.state() == State::CookieWait;
        let init = match read_init_ack(init, &self.cx.env.config().subflows.codes, waits) {
            Ok(init) => init,
            Err(Unusable { outcome, tag, end }) => {
                if let Some(tag) = tag.filter(|_| waits) {
                    self.writer.set_peer_tag(tag);
                }
                if let Some(end) = end.filter(|_| waits) {
                    self.end(end);
                }
                return Err(outcome);
            }
        };
        let offer = Offer::of(&self.announced(), true);
        let Some(cookie) = init.cookie else { return Ok(()) };
        let Some(before) = self.life.take_asking() else { return Ok(()) };
        let config = Arc::clone(self.cx.env.config());
        self.writer.set_peer_tag(init.tag);
        self.sender.messages().set_streams(config.streams.outbound.min(init.inbound_streams));
        self.receiver.set_streams(config.streams.inbound.min(init.outbound_streams));
        self.cx.paths.list(&init.addresses);
        learn_peer(&mut scope_of!(self), init.a_rwnd, init.initial_tsn);
        if let Some(sent) = before.sent_once() {
            sample_handshake(&mut scope_of!(self), sent);
        }
        let agreed = offer.agree(&init.offer);
        self.reconfig = adopt(&mut scope_of!(self), &agreed);
        let dropped = self.sender.messages().drop_ungranted_streams(&mut self.cx);
        self.handed_back.keep_unsent(dropped);
        self.handed_back.settle_reliability(&mut self.cx, &mut self.sender);
        let mut unrecognized = init.unrecognized;
        if init.offer.forward_tsn && !config.extensions.partial_reliability {
            // "When a receiver of an INIT-ACK detects a Forward-TSN-Supported parameter and it does not support the Forward-TSN chunk
            // type", it reports an unrecognized parameter (RFC 3758, 3.3.2): the peer says so though our INIT did not ask.
            ForwardTsnSupported.emit(&mut unrecognized);
        }
        if !unrecognized.is_empty() {
            self.control.report(self.cx.paths.for_control(), causes::unrecognized_parameter(&unrecognized));
        }
        self.control.cancel(Kind::Init);
        self.control.ask(Kind::CookieEcho, self.cx.paths.for_control());
        let handshake = before.echo(&self.cx, &self.receiver, cookie, &agreed);
        self.life.echo(&mut self.cx, handshake);
        // Data bundled with a stale COOKIE ECHO was marked for retransmission before this agreement with the peer.
        self.sender.messages().after_marking(&mut self.cx);
        Ok(())
    }

    /// The peer's parameters of subflows in the encoding of 2007, behind its cookie or in its COOKIE ACK.
    pub(crate) fn adopt_setup(&mut self, setup: SetupParams<'_>) {
        adopt_setup(&mut scope_of!(self), setup);
    }

    /// COOKIE ACK (5.1 E).
    // rfc9260:5.2.5-1
    pub(super) fn on_cookie_ack(&mut self) {
        // 5.2.5: "At any state other than COOKIE-ECHOED, an endpoint SHOULD silently discard a received COOKIE ACK".
        if self.cx.env.state() == State::CookieEchoed {
            self.control.cancel(Kind::CookieEcho);
            self.enter_established();
        }
    }

    /// ERROR chunk: reported to the user; a stale cookie restarts the handshake.
    pub(super) fn on_error(&mut self, list: Causes<'_>) {
        if causes::names_stale_cookie(list) {
            if let Some(end) = self.life.on_stale_cookie(&mut scope_of!(self)) {
                self.end(end);
            }
            return;
        }
        if causes::names_unknown_chunk(list, self.cx.env.config().subflows.codes.data)
            && downgrade(&mut scope_of!(self), self.reconfig.as_deref_mut())
        {
            self.subflow_manager().close_drained_subflows();
        }
        // "the endpoint MUST just mark the association as not supporting partial reliability" (RFC 3758, 3.3.3).
        // rfc3758:3.3.3-1 rfc3758:3.3.3-2 rfc3758:3.3.3-3
        if causes::names_unknown_parameter(list, ForwardTsnSupported::KIND) {
            self.sender.special_mut().forget_partial_reliability();
            self.handed_back.settle_reliability(&mut self.cx, &mut self.sender);
        }
        // One event for a chunk: a peer must not fill the queue with a packet of tiny causes.
        if let Some(cause) = causes::codes(list).first().copied() {
            self.cx.tell_if_read(Event::PeerError { cause });
        }
    }

    /// Our tag from now on. COOKIE ACK and ERROR say of no cookie which one they answer: one of the attempt before that comes late would
    /// have us up with a tag of the peer that it does not know, or ask again though it is up. With a new tag it is not ours. 5.2.6 asks
    /// for "a new INIT chunk", and says nothing of its tag; 5.3.1 wants a new one wherever an association is begun anew.
    // rfc9260:5.2.6-1
    pub(crate) fn renew_tag(&mut self, tag: u32) {
        if let Some(handshake) = self.life.handshake_mut() {
            handshake.has_tag();
            self.writer.set_local_tag(tag);
        }
    }

    /// COOKIE ECHO of an existing association, actions B and D of 5.2.4: both sides are right, the handshake is over.
    // rfc9260:5.2.4-7 rfc9260:5.2.4-10 rfc9260:5.2.4-11
    pub(crate) fn confirm(&mut self, now: Instant, cookie: &Cookie, source: SocketAddr) {
        self.cx.env.set_now(now);
        self.cx.report.stats.control.count_received(kind::COOKIE_ECHO);
        if self.life.handshake().is_some() {
            if self.cx.env.state() == State::CookieWait || self.writer.tags().1 != cookie.peer_tag {
                self.adopt_cookie(cookie);
                let dropped = self.sender.messages().drop_ungranted_streams(&mut self.cx);
                self.handed_back.keep_unsent(dropped);
                self.handed_back.settle_reliability(&mut self.cx, &mut self.sender);
            }
            self.control.cancel(Kind::Init);
            self.control.cancel(Kind::CookieEcho);
            self.cx.paths.probe_unconfirmed(self.cx.env.config(), source);
            self.enter_established();
            self.sender.messages().after_marking(&mut self.cx);
        } else {
            probe_behind_cookie_ack(&mut scope_of!(self));
        }
        self.writer.set_peer_tag(cookie.peer_tag);
        self.control.ask(Kind::CookieAck, self.cx.paths.for_control());
    }

    /// COOKIE ECHO of an existing association, action A of 5.2.4: the peer has restarted.
    // rfc9260:5.2.4-4
    pub(crate) fn restart(&mut self, now: Instant, cookie: &Cookie, source: SocketAddr) {
        self.cx.env.set_now(now);
        self.cx.report.stats.control.count_received(kind::COOKIE_ECHO);
        let closed_by_user = self.life.is_closed_by_user();
        // The restarted peer is where the INIT ACK went; that its other addresses are still its own must show anew (5.4).
        self.cx.paths.forget_others();
        if let Some(path) = self.cx.paths.primary_mut() {
            path.move_to(self.cx.env.config(), destination(cookie, source));
        }
        self.control.clear();
        self.control.ask(Kind::CookieAck, self.cx.paths.for_control());
        self.writer.forget_deferred();
        self.cx.env.agreed_mut().forget();
        self.reconfig = None;
        let (unsent, unacknowledged) = self.handed_back.take_undelivered(&mut self.cx, &mut self.sender);
        let received_bytes_lost = self.receiver.restart(&mut self.cx, cookie.peer_initial_tsn);
        self.sender.restart(&mut self.cx, cookie.local_initial_tsn, cookie.peer_rwnd);
        self.adopt_cookie(cookie);
        for path in self.cx.paths.rows_mut() {
            path.heartbeat_mut().forget();
        }
        self.cx.paths.probe_unconfirmed(self.cx.env.config(), source);
        // A peer can restart at will, and a user may sleep.
        let before = self.cx.report.take_unheard_restart();
        self.cx.tell(Event::Restarted {
            unsent: before.0 + unsent,
            unacknowledged: before.1 + unacknowledged,
            received_bytes_lost: before.2.saturating_add(received_bytes_lost),
        });
        self.writer.settle_checksum(self.cx.env.config(), cookie.extensions.sends_zero_checksum);
        self.life.watch_mut().restart();
        self.enter_established();
        self.life.tell_adaptation(&mut self.cx, cookie.extensions.adaptation);
        // Promises to the user, and its request to close, do not end with the old peer.
        if closed_by_user {
            self.begin_shutdown();
        } else {
            self.sender.messages().tell_writable(&mut self.cx);
        }
    }
}

/// An INIT ACK of which no association can be made.
struct Unusable {
    /// The packet with it.
    outcome: PacketOutcome,
    /// The tag that packets to its sender must have.
    tag: Option<u32>,
    /// The end of an association that waits for it.
    end: Option<End>,
}

/// Reads an INIT ACK chunk; `waits` says whether an INIT ACK is waited for.
// rfc9260:3.3.3-6 rfc9260:3.3.3-9 rfc9260:5.1-15 rfc9260:5.1-16 rfc9260:5.1-17
fn read_init_ack(init: &Init<'_>, codes: &CodePoints, waits: bool) -> Result<PeerInit, Unusable> {
    let violation = |what| CloseReason::ProtocolViolation { what };
    if waits && init.initiate_tag == 0 {
        // "MUST destroy the TCB and SHOULD send an ABORT chunk with the T bit set" (3.3.3).
        let end = End::silent(violation("an INIT ACK with an Initiate Tag of 0"));
        return Err(Unusable { outcome: Reply::ReflectedAbort.into(), tag: None, end: Some(end) });
    }
    if waits && init::is_small_window(init.a_rwnd) {
        // "MUST discard the packet, SHOULD send a packet in response containing an ABORT chunk and using the Initiate Tag as
        // the Verification Tag, and MUST NOT change the state of any existing association" (3.3.3).
        let outcome = Reply::SmallWindow { tag: init.initiate_tag }.into();
        return Err(Unusable { outcome, tag: None, end: None });
    }
    let tag = Some(init.initiate_tag);
    let Some(peer) = PeerInit::read(init, codes) else {
        // "decides not to establish the new association due to ... invalid parameter values ...: it SHOULD respond with
        // an ABORT chunk" with the INIT ACK's own tag (5.1). Where the fixed fields are cut, there is no such tag to
        // trust, and the chunk is dropped.
        let what = "an INIT ACK with a malformed parameter";
        let end = Some(End::aborting(violation(what), causes::protocol_violation(what)));
        let outcome = PacketOutcome { malformed: true, ..PacketOutcome::default() };
        return Err(Unusable { outcome, tag, end });
    };
    if let Err(cause) = peer.check(true) {
        let end = Some(End::aborting(violation("an INIT ACK that cannot be used"), cause));
        return Err(Unusable { outcome: PacketOutcome::default(), tag, end });
    }
    Ok(peer)
}

/// The peer's INIT or INIT ACK has said how large its window is and where its TSNs begin.
fn learn_peer(scope: &mut Scope<'_>, a_rwnd: u32, initial_tsn: Tsn) {
    scope.receiver.learn_peer(initial_tsn);
    scope.sender.learn_peer(scope.cx, a_rwnd);
}

/// The round trip of the handshake, which is a sample for the RTO where the configuration says so.
fn sample_handshake(scope: &mut Scope<'_>, sent: Instant) {
    scope.receiver.window_mut().note_round_trip(scope.cx.env.now().saturating_since(sent));
    if scope.cx.env.config().emulation.quirks.handshake_rto {
        scope.sender.tables_mut().sample_handshake(scope.cx, sent);
    }
}

/// A COOKIE ECHO came again: a peer that has not had the COOKIE ACK discards all data that comes behind it (RFC 9260, 6), and as long as none has
/// been acknowledged there is no round trip by which to probe for it. So it is probed for now, with the second COOKIE ACK.
fn probe_behind_cookie_ack(scope: &mut Scope<'_>) {
    let measured = scope.cx.paths.primary().is_some_and(|path| path.rtt().srtt().is_some());
    if scope.cx.env.config().timers.control_probe && scope.cx.env.state().sends_data() && !measured {
        scope.sender.losses().probe_every_lane(scope.cx);
    }
}

/// The address of the peer of a cookie: the INIT ACK went there. If its COOKIE ECHO comes from there, its source says it better:
/// an address of a link alone has a scope, which no cookie holds.
fn destination(cookie: &Cookie, source: SocketAddr) -> SocketAddr {
    cookie.shown().filter(|at| (at.ip(), at.port()) != (source.ip(), source.port())).unwrap_or(source)
}

/// Tag and Initial TSN for an answer to an INIT from a stranger.
// rfc9260:3.3.2-15 rfc9260:5.2.2-7 rfc9260:5.3.1-3
pub(crate) fn fresh_identity(rng: &mut SecretRng) -> (u32, Tsn) {
    // Both in one draw: each costs as much as a block of the cipher, however short it is.
    match rng.u32_pair() {
        (0, tag) if tag != 0 => (tag, Tsn::new(rng.u32())),
        (0, _) => (random_tag(rng), Tsn::new(rng.u32())),
        (tag, tsn) => (tag, Tsn::new(tsn)),
    }
}
