//! Setting up (RFC 9260, 5.1 and 5.2): what is special to the side that asked, to a peer's cookie, and to restarts.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Duration, Instant, Rng, Trace};
use anabranch_wire::Tsn;
use anabranch_wire::chunk::Data;

use super::init::PeerInit;
use super::output::Route;
use super::{Association, Control, State, causes, random_tag};
use crate::config::Config;
use crate::cookie::Cookie;
use crate::event::{AssociationId, CloseReason, Event};
use crate::lane::clock::Clock;
use crate::path::Path;
use crate::sf::offer::{Extensions, Offer};
use crate::stats::Stats;
use crate::stream::inbound::Inbound;
use crate::stream::numbering::Numbering;
use crate::subflow::flight::AckOutcome;
use crate::subflow::gate::Gate;
use crate::subflow::space::Space;

/// So many bytes the header of IPv6 is longer than that of IPv4.
const IPV6_LONGER: u16 = 20;

/// What exists only until the association is up.
#[derive(Debug)]
pub(crate) struct Forming {
    /// T1-init or T1-cookie.
    pub(crate) t1: Option<Instant>,
    pub(crate) rto: Duration,
    pub(crate) retransmits: u32,
    /// Stale Cookie errors so far: each begins the handshake anew, and that must end, too.
    pub(crate) stale: u32,
    /// The State Cookie to echo.
    pub(crate) cookie: Vec<u8>,
    /// "Suggested Cookie Life-Span Increment" to ask for after a Stale Cookie error, ms.
    pub(crate) preservative: Option<u32>,
}

impl Association {
    fn blank(
        id: AssociationId,
        config: Arc<Config>,
        ports: (u16, u16),
        remote: SocketAddr,
        send_base: Tsn,
        rng: Rng,
    ) -> Self {
        let config = if remote.is_ipv6() {
            // `ip_overhead` is that of IPv4.
            Arc::new(Config { ip_overhead: config.ip_overhead + IPV6_LONGER, ..(*config).clone() })
        } else {
            config
        };
        let mut new = Self {
            id,
            state: State::CookieWait,
            local_port: ports.0,
            peer_port: ports.1,
            local_tag: 0,
            peer_tag: 0,
            source: None,
            paths: vec![Path::new(remote)],
            peer_addresses: vec![remote.ip()],
            spaces: vec![Space::new(send_base, Tsn::new(0))],
            subflows: Vec::new(),
            lanes: Vec::new(),
            coupler: None,
            gate: Gate::new(config.subflow_scheduler),
            stream_map: Vec::new(),
            moves: Vec::new(),
            numbering: Numbering::default(),
            window_peak: 0,
            outbound_streams: config.outbound_streams,
            inbound_streams: config.inbound_streams,
            inbound: Inbound::default(),
            peer_rwnd: 0,
            extensions: Extensions::default(),
            sf: None,
            reconfig: None,
            chunk_header: Data::HEADER,
            next_asn: send_base,
            received_asn: None,
            control: Control::default(),
            forming: None,
            cookie_expires: None,
            shutdown_at: Instant::ZERO,
            shutdown_wanted: false,
            t2: None,
            t5: None,
            errors: 0,
            writable_owed: false,
            events: VecDeque::new(),
            stats: Stats::default(),
            trace: Trace::default(),
            rng,
            stash: Vec::new(),
            stash_route: Route::default(),
            outcome: AckOutcome::default(),
            config,
        };
        new.open_subflows();
        new
    }

    /// The side that asks: sends INIT.
    pub(crate) fn connect(
        id: AssociationId,
        now: Instant,
        config: Arc<Config>,
        ports: (u16, u16),
        remote: SocketAddr,
        local_tag: u32,
        mut rng: Rng,
    ) -> Self {
        let initial_tsn = Tsn::new(rng.u32());
        let clock = Clock::new(&config);
        let rto = config.rto_initial.min(config.rto_max);
        let mut assoc = Self::blank(id, config, ports, remote, initial_tsn, rng);
        assoc.local_tag = local_tag;
        assoc.control.init = true;
        assoc.forming = Some(Box::new(Forming {
            t1: Some(clock.after(now, rto)),
            rto,
            retransmits: 0,
            stale: 0,
            cookie: Vec::new(),
            preservative: None,
        }));
        assoc
    }

    /// The side that answers: a valid cookie came back from `source`.
    pub(crate) fn accept(
        id: AssociationId,
        now: Instant,
        config: Arc<Config>,
        cookie: &Cookie,
        source: SocketAddr,
        rng: Rng,
    ) -> Self {
        let ports = (cookie.local_port, cookie.peer_port);
        let remote = destination(cookie, source);
        let mut assoc = Self::blank(id, config, ports, remote, cookie.local_initial_tsn, rng);
        assoc.adopt_cookie(cookie);
        assoc.doubt(source);
        assoc.sample_handshake(cookie.created, now);
        assoc.control.cookie_ack = true;
        assoc.events.push_back(Event::Accepted);
        assoc.enter_established(now);
        assoc
    }

    /// Tags, windows and streams from a cookie.
    fn adopt_cookie(&mut self, cookie: &Cookie) {
        self.cookie_expires = Some(cookie.created + cookie.life);
        self.local_tag = cookie.local_tag;
        self.peer_tag = cookie.peer_tag;
        self.outbound_streams = cookie.outbound_streams;
        self.inbound_streams = cookie.inbound_streams;
        self.peer_addresses.clone_from(&cookie.addresses);
        if let Some(path) = self.paths.first() {
            let ip = path.remote.ip();
            if !self.peer_addresses.contains(&ip) {
                self.peer_addresses.insert(0, ip);
            }
        }
        self.learn_peer(cookie.peer_rwnd, cookie.peer_initial_tsn);
        self.adopt_extensions(cookie.extensions.clone());
    }

    /// A COOKIE ECHO came from there. Where the INIT ACK went elsewhere, that says nothing: who has a cookie may send it with
    /// the address of anybody it listed. So it is asked (5.4).
    fn doubt(&mut self, source: SocketAddr) {
        if self.paths.len() == 1 && !self.shown_addresses().any(|shown| shown == source.ip()) {
            self.paths.push(Path::unconfirmed(source));
        }
    }

    /// What the peer's INIT or INIT ACK said of its window and sequence space.
    fn learn_peer(&mut self, a_rwnd: u32, initial_tsn: Tsn) {
        self.peer_rwnd = u64::from(a_rwnd);
        if let Some(space) = self.spaces.first_mut() {
            space.receive_base = initial_tsn;
            space.sack.last_advertised = self.config.receive_window;
        }
        for index in 0..self.lanes.len() {
            // The first ssthresh may be the peer's window, which is known only now.
            if self.lanes.get(index).is_some_and(|lane| lane.unacked == 0) {
                self.renew_lane(index, a_rwnd);
            }
        }
    }

    /// Where the handshake sets the RTO: the round trip of its packets is a sample.
    fn sample_handshake(&mut self, sent: Instant, now: Instant) {
        if !self.config.quirks.handshake_rto {
            return;
        }
        for lane in &mut self.lanes {
            lane.rtt.sample(lane.clock.elapsed(sent, now));
        }
    }

    pub(super) fn enter_established(&mut self, now: Instant) {
        self.state = State::Established;
        self.forming = None;
        self.errors = 0;
        self.clear_path_errors(0);
        self.events.push_back(Event::Established {
            outbound_streams: self.outbound_streams,
            inbound_streams: self.inbound_streams,
        });
        for lane in &mut self.lanes {
            if lane.unacked > 0 {
                lane.arm_t3(now);
            }
            lane.open_burst();
        }
        if let (Some(lane), Some(path)) = (self.lanes.first(), self.paths.first_mut()) {
            path.arm_heartbeat(now, lane.rtt.rto(), &self.config, &mut self.rng);
        }
        for index in 1..self.paths.len() {
            self.probe(now, index);
        }
        for index in 0..self.lanes.len() {
            self.record_window(now, index);
        }
        self.ask_for_missing_fids();
        if std::mem::take(&mut self.shutdown_wanted) {
            self.shutdown(now);
        }
    }

    /// INIT ACK in COOKIE-WAIT (5.1 C). The endpoint has checked tag, tag value and streams.
    pub(crate) fn on_init_ack(&mut self, now: Instant, init: PeerInit) {
        let Some(cookie) = init.cookie else { return };
        if self.state != State::CookieWait {
            return; // 5.2.3: "the endpoint SHOULD discard the INIT ACK chunk"
        }
        self.peer_tag = init.tag;
        self.outbound_streams = self.config.outbound_streams.min(init.inbound_streams);
        self.inbound_streams = self.config.inbound_streams.min(init.outbound_streams);
        for address in init.addresses {
            if !self.peer_addresses.contains(&address)
                && self.peer_addresses.len() < super::MAX_PEER_ADDRESSES
            {
                self.peer_addresses.push(address);
            }
        }
        self.learn_peer(init.a_rwnd, init.initial_tsn);
        if let Some(forming) = self.forming.as_ref().filter(|forming| forming.retransmits == 0) {
            if let Some(sent) = forming.t1.map(|t1| t1 - forming.rto) {
                self.sample_handshake(sent, now);
            }
        }
        self.adopt_extensions(Offer::of(&self.config, true).agree(&init.offer));
        self.drop_ungranted_streams();
        if !init.unrecognized.is_empty() {
            self.control.report(causes::unrecognized_parameter(&init.unrecognized));
        }
        self.state = State::CookieEchoed;
        self.control.init = false;
        self.control.cookie_echo = true;
        let rto = self.config.rto_initial.min(self.config.rto_max);
        let stale = self.forming.as_ref().map_or(0, |f| f.stale);
        let t1 = Some(Clock::new(&self.config).after(now, rto));
        self.forming = Some(Box::new(Forming { t1, rto, retransmits: 0, stale, cookie, preservative: None }));
    }

    /// Messages on streams that the peer did not grant can never be sent (5.1.1).
    fn drop_ungranted_streams(&mut self) {
        let limit = self.outbound_streams;
        let dropped: usize = self.subflows.iter_mut().map(|s| s.out.drop_streams_from(limit)).sum();
        if dropped > 0 {
            self.events.push_back(Event::StreamsReduced { messages_dropped: dropped });
        }
    }

    /// COOKIE ACK (5.1 E).
    pub(super) fn on_cookie_ack(&mut self, now: Instant) {
        // 5.2.5: "At any state other than COOKIE-ECHOED, an endpoint SHOULD silently discard a received COOKIE ACK".
        if self.state == State::CookieEchoed {
            self.control.cookie_echo = false;
            self.enter_established(now);
        }
    }

    /// A Stale Cookie error in COOKIE-ECHOED (5.2.6): try again with a new INIT that asks for a longer life.
    pub(super) fn on_stale_cookie(&mut self, now: Instant, staleness_us: u32) {
        let Some(forming) = &mut self.forming else { return };
        if self.state != State::CookieEchoed {
            return;
        }
        forming.stale += 1;
        if forming.stale > self.config.max_init_retransmits {
            self.close(CloseReason::Unreachable { limit: "Max.Init.Retransmits" });
            return;
        }
        // The increment covers the staleness, but an absurd value must not be asked for.
        forming.preservative = Some((staleness_us / 1000).saturating_add(1000).min(300_000));
        forming.t1 = Some(Clock::new(&self.config).after(now, forming.rto));
        self.state = State::CookieWait;
        self.control.cookie_echo = false;
        self.control.init = true;
        // The packet was thrown away with its DATA: that rides with the next COOKIE ECHO.
        self.mark_every_lane_lost();
    }

    /// COOKIE ECHO of an existing association, actions B and D of 5.2.4: both sides are right, the handshake is over.
    pub(crate) fn confirm(&mut self, now: Instant, cookie: &Cookie, source: SocketAddr) {
        let forming = matches!(self.state, State::CookieWait | State::CookieEchoed);
        if forming {
            if self.state == State::CookieWait || self.peer_tag != cookie.peer_tag {
                self.adopt_cookie(cookie);
                self.drop_ungranted_streams();
            }
            self.control.init = false;
            self.control.cookie_echo = false;
            self.doubt(source);
            self.enter_established(now);
        }
        self.peer_tag = cookie.peer_tag;
        self.control.cookie_ack = true;
    }

    /// COOKIE ECHO of an existing association, action A of 5.2.4: the peer has restarted.
    pub(crate) fn restart(&mut self, now: Instant, cookie: &Cookie, source: SocketAddr) {
        self.move_to(destination(cookie, source));
        self.spaces = vec![Space::new(cookie.local_initial_tsn, cookie.peer_initial_tsn)];
        self.subflows.clear();
        self.lanes.clear();
        self.moves.clear();
        self.numbering.restart();
        self.inbound.restart();
        self.control = Control { cookie_ack: true, ..Control::default() };
        self.t2 = None;
        self.t5 = None;
        self.forget_extensions();
        self.next_asn = cookie.local_initial_tsn;
        self.stash.clear();
        // "All the congestion control parameters ... related to this peer MUST be reset to their initial values".
        self.open_subflows();
        for index in 0..self.lanes.len() {
            self.renew_lane(index, cookie.peer_rwnd);
        }
        self.adopt_cookie(cookie);
        for path in &mut self.paths {
            // The old peer will not answer, and the new one must not be charged for it.
            path.awaiting = None;
            path.heartbeat_wanted = false;
        }
        self.doubt(source);
        self.events.push_back(Event::Restarted);
        self.enter_established(now);
    }

    /// The restarted peer is where the INIT ACK went; that its other addresses are still its own must show anew (5.4).
    fn move_to(&mut self, remote: SocketAddr) {
        self.paths.truncate(1);
        let Some(path) = self.paths.first_mut() else { return };
        let before = std::mem::replace(&mut path.remote, remote);
        if before.is_ipv6() != remote.is_ipv6() {
            let config = Arc::make_mut(&mut self.config);
            config.ip_overhead = if remote.is_ipv6() {
                config.ip_overhead + IPV6_LONGER
            } else {
                config.ip_overhead.saturating_sub(IPV6_LONGER)
            };
        }
    }

    /// SHUTDOWN-ACK-SENT and the peer has restarted: "it MUST NOT set up a new association but instead resend the
    /// SHUTDOWN ACK chunk and send an ERROR chunk with a 'Cookie Received While Shutting Down' error cause".
    pub(crate) fn refuse_restart(&mut self) {
        self.control.shutdown_ack = true;
        self.control.report(causes::cookie_while_shutting_down());
    }

    /// T1-init or T1-cookie expired.
    pub(super) fn on_t1(&mut self, now: Instant) {
        let Some(forming) = &mut self.forming else { return };
        forming.retransmits += 1;
        if forming.retransmits > self.config.max_init_retransmits {
            self.close(CloseReason::Unreachable { limit: "Max.Init.Retransmits" });
            return;
        }
        forming.rto = (forming.rto * 2).min(self.config.rto_max);
        forming.t1 = Some(Clock::new(&self.config).after(now, forming.rto));
        if self.state == State::CookieWait {
            self.control.init = true;
        } else {
            self.control.cookie_echo = true;
            // DATA that rode with the first COOKIE ECHO rides again.
            self.mark_every_lane_lost();
        }
    }
}

/// Where the peer of a cookie is: where the INIT ACK went. If its COOKIE ECHO comes from there, its source says it better:
/// an address of a link alone has a scope, which no cookie holds.
fn destination(cookie: &Cookie, source: SocketAddr) -> SocketAddr {
    cookie.shown().filter(|at| (at.ip(), at.port()) != (source.ip(), source.port())).unwrap_or(source)
}

/// Tag and Initial TSN for an answer to an INIT from a stranger.
pub(crate) fn fresh_identity(rng: &mut Rng) -> (u32, Tsn) {
    (random_tag(rng), Tsn::new(rng.u32()))
}
