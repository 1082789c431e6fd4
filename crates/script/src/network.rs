//! Endpoints, a clock, and the packets between them and the script.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Dscp, Ecn, Instant, Meta, Rng};
use anabranch_sctp::{AssociationId, Config, Endpoint, EndpointConfig, Event};
use anabranch_wire::chunk::kind;
use anabranch_wire::{Checksum, Packet};

/// The stack's address.
const LOCAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 168, 0, 1)), 0);
/// The script's address.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)), 0);
/// The stack's address in IPv6.
const LOCAL6: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V6(std::net::Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1)), 0);
/// The script's address in IPv6.
const PEER6: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)), 0);
/// The port of whoever is called.
pub(crate) const SERVER_PORT: u16 = 8080;
/// The port of whoever calls.
const CALLER_PORT: u16 = 49_152;
/// Most packets that may leave at one time before we say that the stack does not stop.
const MOST_AT_ONCE: usize = 100_000;

/// A packet that the stack has sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) ecn: Ecn,
    pub(crate) bytes: Vec<u8>,
}

/// An endpoint on a port, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Port(usize);

/// Everything below the sockets.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) now: Instant,
    endpoints: Vec<(Endpoint, u16)>,
    sent: VecDeque<Sent>,
    events: VecDeque<(Port, AssociationId, Event)>,
    /// Which endpoint the script talks with.
    current: usize,
    /// The script's port.
    peer_port: u16,
    seed: u64,
    local: SocketAddr,
    peer: SocketAddr,
    /// The last ERROR chunk of the script, for users that are told of it: the core tells its first cause only.
    last_error: Option<Vec<u8>>,
}

impl Network {
    pub(crate) fn new(seed: u64, ipv6: bool) -> Self {
        let (local, peer) = if ipv6 { (LOCAL6, PEER6) } else { (LOCAL, PEER) };
        Self {
            now: Instant::ZERO,
            endpoints: Vec::new(),
            sent: VecDeque::new(),
            events: VecDeque::new(),
            current: 0,
            peer_port: CALLER_PORT,
            seed,
            local,
            peer,
            last_error: None,
        }
    }

    /// The script's address, and the port that is the other end of `port`.
    pub(crate) fn peer(&self) -> SocketAddr {
        SocketAddr::new(self.peer.ip(), self.peer_port)
    }

    /// The stack's address with the port of one of its endpoints.
    pub(crate) fn local(&self, port: Port) -> SocketAddr {
        let number = self.endpoints.get(port.0).map_or(0, |(_, number)| *number);
        SocketAddr::new(self.local.ip(), number)
    }

    /// The last ERROR chunk that the script has sent.
    pub(crate) fn last_error(&self) -> Option<&[u8]> {
        self.last_error.as_deref()
    }

    /// An endpoint on a port, or on the next that is free.
    pub(crate) fn open(&mut self, port: Option<u16>) -> Port {
        let port = port.unwrap_or_else(|| {
            let used = |port: u16| self.endpoints.iter().any(|(_, other)| *other == port);
            (CALLER_PORT..u16::MAX).find(|port| !used(*port)).unwrap_or(CALLER_PORT)
        });
        let mut rng = Rng::stream(self.seed, &format!("script:{}", self.endpoints.len()), "sctp");
        self.endpoints.push((Endpoint::new(EndpointConfig::new(self.local, port), rng.secret()), port));
        self.current = self.endpoints.len() - 1;
        Port(self.current)
    }

    pub(crate) fn endpoint(&mut self, port: Port) -> Option<&mut Endpoint> {
        self.endpoints.get_mut(port.0).map(|(endpoint, _)| endpoint)
    }

    pub(crate) fn view(&self, port: Port) -> Option<&Endpoint> {
        self.endpoints.get(port.0).map(|(endpoint, _)| endpoint)
    }

    /// Nobody accepts associations on a port any more. As long as there are some the core goes on to accept: it knows no way
    /// back; then an endpoint that never listened takes its place.
    pub(crate) fn stop_listening(&mut self, port: Port) {
        let (seed, local) = (self.seed, self.local);
        if let Some((endpoint, number)) = self.endpoints.get_mut(port.0) {
            if endpoint.associations() == 0 {
                let mut rng = Rng::stream(seed, &format!("script:{}:closed", port.0), "sctp");
                *endpoint = Endpoint::new(EndpointConfig::new(local, *number), rng.secret());
            }
        }
    }

    /// Calls the script's side.
    pub(crate) fn connect(&mut self, port: Port, config: Config) -> Option<AssociationId> {
        let now = self.now;
        self.current = port.0;
        self.peer_port = SERVER_PORT;
        let peer = self.peer;
        self.endpoint(port)?.connect(now, peer, SERVER_PORT, Arc::new(config)).ok()
    }

    /// Ports of a packet that the script sends: its own, and the stack's.
    pub(crate) fn ports(&self) -> (u16, u16) {
        let own = self.endpoints.get(self.current).map_or(SERVER_PORT, |(_, port)| *port);
        (self.peer_port, own)
    }

    /// Hands a packet of the script to the stack.
    pub(crate) fn inject(&mut self, ecn: Ecn, bytes: &[u8]) {
        let meta = Meta { source: self.peer, destination: self.local, dscp: Dscp::DEFAULT, ecn };
        let now = self.now;
        if let Ok(packet) = Packet::parse(bytes, Checksum::Ignore) {
            let error = packet.chunks().flatten().find(|chunk| chunk.kind == kind::ERROR);
            self.last_error = error.map(|chunk| chunk.bytes.to_vec()).or(self.last_error.take());
        }
        if self.endpoints.is_empty() {
            // Nobody has a socket: the stack answers out of the blue all the same (RFC 9260, 8.4).
            self.open(Some(SERVER_PORT));
        }
        if let Some((endpoint, _)) = self.endpoints.get_mut(self.current) {
            endpoint.handle_datagram(now, meta, bytes);
        }
        self.settle();
    }

    /// Takes what leaves now, and what has happened. False when the stack does not stop sending.
    pub(crate) fn settle(&mut self) {
        let now = self.now;
        for index in 0..self.endpoints.len() {
            let Some((endpoint, _)) = self.endpoints.get_mut(index) else { continue };
            for _ in 0..MOST_AT_ONCE {
                let mut bytes = Vec::new();
                let Some(transmit) = endpoint.poll_transmit(now, 1, &mut bytes) else { break };
                self.sent.push_back(Sent { at: now, ecn: transmit.ecn, bytes });
            }
            while let Some((id, event)) = endpoint.poll_event() {
                self.events.push_back((Port(index), id, event));
            }
        }
    }

    pub(crate) fn next_event(&mut self) -> Option<(Port, AssociationId, Event)> {
        self.events.pop_front()
    }

    /// When the next timer is due.
    pub(crate) fn next_timer(&mut self) -> Option<Instant> {
        self.endpoints.iter_mut().filter_map(|(endpoint, _)| endpoint.poll_timeout()).map(|(at, _)| at).min()
    }

    /// Runs the timers that are due at `at`, which becomes now.
    pub(crate) fn run_timers(&mut self, at: Instant) {
        self.now = self.now.max(at);
        let now = self.now;
        for (endpoint, _) in &mut self.endpoints {
            endpoint.handle_timeout(now);
        }
        self.settle();
    }

    /// The oldest packet that no line has taken yet.
    pub(crate) fn first_sent(&self) -> Option<&Sent> {
        self.sent.front()
    }

    pub(crate) fn take_sent(&mut self) -> Option<Sent> {
        self.sent.pop_front()
    }

    pub(crate) fn sent_waiting(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter()
    }
}
