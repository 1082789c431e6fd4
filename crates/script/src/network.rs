//! Endpoints, a clock, and the packets between them and the script.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_base::{Dscp, Ecn, Instant, Meta, Rng};
use anabranch_sctp::{AssociationId, Config, Endpoint, EndpointConfig, Event, IcmpError};
use anabranch_wire::chunk::kind;
use anabranch_wire::{Checksum, Packet};

use crate::syntax::Icmp;

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
/// The port of the side that is called.
pub(crate) const SERVER_PORT: u16 = 8080;
/// The stack's UDP port, where it calls (RFC 6951, 8: "sctp-tunneling").
const ENCAPSULATION_PORT: u16 = 9899;
/// The port of the side that calls.
const CALLER_PORT: u16 = 49_152;
/// Most packets that may leave at one time before we say that the stack does not stop.
const MOST_AT_ONCE: usize = 100_000;

/// A packet that the stack has sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) ecn: Ecn,
    /// UDP ports that it left from and goes to; 0: without UDP.
    pub(crate) udp: (u16, u16),
    /// Addresses that it left from and goes to.
    pub(crate) addresses: (IpAddr, IpAddr),
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
    /// Index of the endpoint that the script talks with.
    current: usize,
    /// The script's port.
    peer_port: u16,
    /// The verification tag of the last packet of the stack.
    last_tag: u32,
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
            last_tag: 0,
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
        self.endpoints.push((
            Endpoint::new(EndpointConfig::new(self.local, port).keeping_closed(), rng.secret()),
            port,
        ));
        self.current = self.endpoints.len() - 1;
        Port(self.current)
    }

    pub(crate) fn endpoint(&mut self, port: Port) -> Option<&mut Endpoint> {
        self.endpoints.get_mut(port.0).map(|(endpoint, _)| endpoint)
    }

    pub(crate) fn view(&self, port: Port) -> Option<&Endpoint> {
        self.endpoints.get(port.0).map(|(endpoint, _)| endpoint)
    }

    /// Ends the acceptance of associations on a port.
    pub(crate) fn stop_listening(&mut self, port: Port) {
        if let Some(endpoint) = self.endpoint(port) {
            endpoint.stop_listening();
        }
    }

    /// Calls the script's side, on a UDP port or 0.
    pub(crate) fn connect(&mut self, port: Port, config: Config, udp: u16) -> Option<AssociationId> {
        let now = self.now;
        self.current = port.0;
        self.peer_port = SERVER_PORT;
        let peer = SocketAddr::new(self.peer.ip(), udp);
        self.endpoint(port)?.connect(now, peer, SERVER_PORT, Arc::new(config)).ok()
    }

    /// Ports of a packet that the script sends: its own, and the stack's.
    pub(crate) fn ports(&self) -> (u16, u16) {
        let own = self.endpoints.get(self.current).map_or(SERVER_PORT, |(_, port)| *port);
        (self.peer_port, own)
    }

    /// Hands a packet of the script to the stack; it comes from one address and UDP port to another, or without UDP.
    pub(crate) fn inject(
        &mut self,
        ecn: Ecn,
        addresses: Option<(IpAddr, IpAddr)>,
        udp: Option<(u16, u16)>,
        bytes: &[u8],
    ) {
        let (source, destination) = addresses.unwrap_or((self.peer.ip(), self.local.ip()));
        let (from, to) = udp.unwrap_or_default();
        let meta = Meta {
            source: SocketAddr::new(source, from),
            destination: SocketAddr::new(destination, to),
            dscp: Dscp::DEFAULT,
            ecn,
        };
        let now = self.now;
        if let Ok(packet) = Packet::parse(bytes, Checksum::Ignore) {
            let error = packet.chunks().flatten().find(|chunk| chunk.kind == kind::ERROR);
            self.last_error = error.map(|chunk| chunk.bytes.to_vec()).or(self.last_error.take());
        }
        if self.endpoints.is_empty() {
            // Without a socket the stack answers out of the blue packets all the same (RFC 9260, 8.4).
            self.open(Some(SERVER_PORT));
        }
        if let Some((endpoint, _)) = self.endpoints.get_mut(self.current) {
            endpoint.handle_datagram(now, meta, bytes);
        }
        self.settle();
    }

    /// Hands an ICMP message about a packet of the stack to it; as every router must, it quotes eight bytes of SCTP.
    /// False where the script is about IPv6, whose messages have other types.
    pub(crate) fn inject_icmp(&mut self, icmp: &Icmp) -> bool {
        let now = self.now;
        let (peer, own) = self.ports();
        let (SocketAddr::V4(from), SocketAddr::V4(to)) = (self.local, self.peer) else { return false };
        let mut message = vec![icmp.kind, icmp.code, 0, 0, 0, 0];
        message.extend(icmp.mtu.to_be_bytes());
        let mut ip = [0x45, 0, 0, 0, 0, 0, 0, 0, 64, 132, 0, 0];
        ip[2..4].copy_from_slice(&28_u16.to_be_bytes());
        message.extend(ip);
        message.extend(from.ip().octets());
        message.extend(to.ip().octets());
        message.extend(own.to_be_bytes());
        message.extend(peer.to_be_bytes());
        message.extend(icmp.tag.unwrap_or(self.last_tag).to_be_bytes());
        if let (Some(error), Some((endpoint, _))) =
            (IcmpError::parse_v4(&message), self.endpoints.get_mut(self.current))
        {
            endpoint.handle_icmp(now, &error);
        }
        self.settle();
        true
    }

    /// Moves at most `MOST_AT_ONCE` packets of each endpoint that can leave now to `sent`, and all its events to `events`.
    pub(crate) fn settle(&mut self) {
        let now = self.now;
        for index in 0..self.endpoints.len() {
            let Some((endpoint, _)) = self.endpoints.get_mut(index) else { continue };
            for _ in 0..MOST_AT_ONCE {
                let mut bytes = Vec::new();
                let Some(transmit) = endpoint.poll_transmit(now, 1, &mut bytes) else { break };
                if let Some([a, b, c, d]) = bytes.get(4..8) {
                    self.last_tag = u32::from_be_bytes([*a, *b, *c, *d]);
                }
                let to = transmit.destination.port();
                // A stack that has never heard from the peer leaves the choice to the driver.
                let from =
                    transmit.source.map_or(if to == 0 { 0 } else { ENCAPSULATION_PORT }, |at| at.port());
                let source = transmit.source.map(|at| at.ip()).filter(|ip| !ip.is_unspecified());
                let addresses = (source.unwrap_or(self.local.ip()), transmit.destination.ip());
                self.sent.push_back(Sent { at: now, ecn: transmit.ecn, udp: (from, to), addresses, bytes });
            }
            while let Some((id, event)) = endpoint.poll_event() {
                self.events.push_back((Port(index), id, event));
            }
        }
    }

    pub(crate) fn next_event(&mut self) -> Option<(Port, AssociationId, Event)> {
        self.events.pop_front()
    }

    /// The time at which the next timer is due.
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
