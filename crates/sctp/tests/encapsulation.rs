//! SCTP in UDP (RFC 6951 and draft-ietf-tsvwg-rfc6951-bis): the peer's UDP port changes, and others have the same address and
//! SCTP ports behind the same NAT.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng};
use anabranch_sctp::{AssociationId, Config, Endpoint, EndpointConfig, Event, Message, State};
use anabranch_wire::cause::{Cause, Causes, RestartWithNewPort};
use anabranch_wire::chunk::{Abort, Chunk, Data, DataFlags, Init, InitKind, ShutdownAck, kind};
use anabranch_wire::param::Params;
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Packet, PacketBuilder, Ssn, Tsn};
use bytes::Bytes;

const SCTP_PORT: u16 = 5000;
/// UDP port at which Z listens, and the port from which A's packets come at first, as Z sees them.
const UDP: u16 = 9899;
const FIRST: u16 = 40_000;

fn z_at() -> SocketAddr {
    ([10, 0, 0, 2], UDP).into()
}

/// A port of the NAT that A is behind.
fn nat(port: u16) -> SocketAddr {
    ([192, 0, 2, 1], port).into()
}

fn endpoint(seed: u64, name: &str, at: SocketAddr) -> Endpoint {
    Endpoint::new(
        EndpointConfig::new(at, SCTP_PORT).keeping_closed(),
        Rng::stream(seed, name, "endpoint").secret(),
    )
}

/// A, behind a NAT, and Z. Packets need no time; strangers see packets sent to their port.
struct Net {
    now: Instant,
    a: Endpoint,
    z: Endpoint,
    /// The port that the NAT gives A's packets now, and lets Z's answers through to.
    port: u16,
    /// A's COOKIE ECHO takes another.
    port_of_cookie: Option<u16>,
    /// All that Z has sent: where to, from where, and what.
    sent: Vec<(SocketAddr, Option<SocketAddr>, Vec<u8>)>,
    /// The largest packet of A.
    largest: usize,
    events: Vec<(bool, AssociationId, Event)>,
    received: Vec<(bool, Vec<u8>)>,
}

impl Net {
    fn new(seed: u64) -> Self {
        let mut z = endpoint(seed, "z", z_at());
        z.listen(Arc::new(Config::rfc9260())).unwrap();
        Self {
            now: Instant::ZERO,
            a: endpoint(seed, "a", nat(0)),
            z,
            port: FIRST,
            port_of_cookie: None,
            sent: Vec::new(),
            largest: 0,
            events: Vec::new(),
            received: Vec::new(),
        }
    }

    /// Both, with their association up.
    fn up(seed: u64) -> (Self, AssociationId, AssociationId) {
        let mut net = Self::new(seed);
        let a = net.connect();
        net.pump();
        let z = net.id(false);
        assert_eq!(net.z.view(z).unwrap().state(), State::Established);
        (net, a, z)
    }

    fn connect(&mut self) -> AssociationId {
        self.a.connect(self.now, z_at(), SCTP_PORT, Arc::new(Config::rfc9260())).unwrap()
    }

    fn id(&self, of_a: bool) -> AssociationId {
        self.events.iter().rev().find(|(a, ..)| *a == of_a).unwrap().1
    }

    fn arrives_at_z(&mut self, from: SocketAddr, bytes: &[u8]) {
        let meta = Meta { source: from, destination: z_at(), dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
        self.z.handle_datagram(self.now, meta, bytes);
    }

    /// Somebody with another port of the NAT, or A's own address in a forged packet.
    fn throw(&mut self, port: u16, bytes: &[u8]) {
        self.arrives_at_z(nat(port), bytes);
        self.pump();
    }

    fn pump(&mut self) {
        loop {
            let mut progress = false;
            let mut buf = Vec::new();
            while self.a.poll_transmit(self.now, 1, &mut buf).is_some() {
                progress = true;
                self.largest = self.largest.max(buf.len());
                let cookie = buf[CommonHeader::LEN] == kind::COOKIE_ECHO;
                let port = self.port_of_cookie.filter(|_| cookie).unwrap_or(self.port);
                let bytes = std::mem::take(&mut buf);
                self.arrives_at_z(nat(port), &bytes);
            }
            while let Some(transmit) = self.z.poll_transmit(self.now, 1, &mut buf) {
                progress = true;
                let bytes = std::mem::take(&mut buf);
                if transmit.destination == nat(self.port) {
                    let source = transmit.source.unwrap_or(z_at());
                    let meta = Meta { source, destination: nat(0), dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
                    self.a.handle_datagram(self.now, meta, &bytes);
                }
                self.sent.push((transmit.destination, transmit.source, bytes));
            }
            for of_a in [true, false] {
                let endpoint = if of_a { &mut self.a } else { &mut self.z };
                while let Some((id, event)) = endpoint.poll_event() {
                    progress = true;
                    self.events.push((of_a, id, event));
                    while let Some(message) = endpoint.association(id).and_then(|mut a| a.receive()) {
                        self.received.push((of_a, message.into_bytes().to_vec()));
                    }
                }
            }
            if !progress {
                return;
            }
        }
    }

    fn run_for(&mut self, duration: Duration) {
        let limit = self.now + duration;
        self.pump();
        while let Some(at) =
            [self.a.poll_timeout(), self.z.poll_timeout()].into_iter().flatten().map(|t| t.0).min()
        {
            if at > limit {
                break;
            }
            self.now = at.max(self.now);
            self.a.handle_timeout(self.now);
            self.z.handle_timeout(self.now);
            self.pump();
        }
        self.now = limit;
    }

    fn send(&mut self, of_a: bool, id: AssociationId, payload: &[u8]) {
        let now = self.now;
        let endpoint = if of_a { &mut self.a } else { &mut self.z };
        let message = Message::new(0, Bytes::copy_from_slice(payload));
        endpoint.association(id).unwrap().send(now, message).unwrap();
        self.pump();
    }

    fn remote(&self, z: AssociationId) -> SocketAddr {
        self.z.view(z).unwrap().remote().unwrap()
    }

    fn got(&self, of_a: bool) -> Vec<&[u8]> {
        self.received.iter().filter(|(a, _)| *a == of_a).map(|(_, bytes)| &bytes[..]).collect()
    }

    /// Kinds of chunks that Z has sent to a port.
    fn sent_to(&self, port: u16) -> Vec<u8> {
        let to = self.sent.iter().filter(|(to, ..)| *to == nat(port));
        to.map(|(.., bytes)| bytes[CommonHeader::LEN]).collect()
    }

    /// Both still talk.
    #[track_caller]
    fn unharmed(&mut self, a: AssociationId, z: AssociationId) {
        let before = (self.got(true).len(), self.got(false).len());
        self.send(true, a, b"still here");
        self.send(false, z, b"still here");
        self.run_for(Duration::from_secs(5));
        assert_eq!((self.got(true).len(), self.got(false).len()), (before.0 + 1, before.1 + 1));
        assert!(!self.events.iter().any(|(_, _, e)| matches!(e, Event::Restarted { .. } | Event::Closed(_))));
    }
}

fn packet(tag: u32, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    let header = CommonHeader { source_port: SCTP_PORT, destination_port: SCTP_PORT, verification_tag: tag };
    let mut builder = PacketBuilder::new(&mut out, header);
    write(builder.buffer());
    builder.finish(ChecksumOut::Compute);
    out
}

fn data(tag: u32, tsn: u32) -> Vec<u8> {
    let data = Data {
        flags: DataFlags::WHOLE,
        tsn: Tsn::new(tsn),
        stream: 0,
        ssn: Ssn::new(0),
        ppid: 0,
        payload: b"forged",
    };
    packet(tag, |out| data.emit(out))
}

fn init(tag: u32) -> Vec<u8> {
    let init = Init {
        initiate_tag: tag,
        a_rwnd: 100_000,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn::new(1),
        params: Params::EMPTY,
    };
    packet(0, |out| init.emit(InitKind::Init, out))
}

/// "the UDP source port MUST be stored as the encapsulation port" (RFC 6951, 5.4) when the tag is right: the NAT has forgotten A, whose next packet comes from elsewhere.
// rfc6951:5.1-1 rfc6951:5.4-1
#[test]
fn a_packet_with_the_right_tag_moves_the_port() {
    let (mut net, a, z) = Net::up(1);
    assert_eq!(net.remote(z), nat(FIRST));
    net.port = 50_000;
    net.send(false, z, b"lost");
    net.run_for(Duration::from_secs(1));
    assert!(net.got(true).is_empty());
    assert_eq!(net.remote(z), nat(FIRST), "nobody has said so");
    net.send(true, a, b"here I am");
    assert_eq!(net.remote(z), nat(50_000));
    net.run_for(Duration::from_secs(3));
    assert_eq!(net.got(true), [b"lost"]);
    net.unharmed(a, z);
}

/// A wrong tag never does, whatever it comes with and wherever it comes from.
#[test]
fn a_wrong_tag_never_moves_the_port() {
    let (mut net, a, z) = Net::up(2);
    let spoofed = [
        data(7, 1),
        packet(7, |out| Abort { reflected_tag: false, causes: Causes::EMPTY }.emit(out)),
        packet(7, |out| Abort { reflected_tag: true, causes: Causes::EMPTY }.emit(out)),
        packet(7, |out| ShutdownAck.emit(out)),
        packet(0, |out| ShutdownAck.emit(out)),
        packet(7, |out| out.extend_from_slice(&[kind::COOKIE_ECHO, 0, 0, 8, 1, 2, 3, 4])),
        packet(7, |out| out.extend_from_slice(&[kind::COOKIE_ACK, 0, 0, 4])),
        init(7),
    ];
    for bytes in &spoofed {
        net.throw(666, bytes);
        assert_eq!(net.remote(z), nat(FIRST));
    }
    // "it SHOULD respond with an ABORT" holds for the INIT alone: the rest is discarded, as an association has that address.
    assert_eq!(net.sent_to(666), [kind::ABORT]);
    net.unharmed(a, z);
    assert_eq!(net.sent_to(666).len(), 1);
}

fn causes(bytes: &[u8]) -> (u32, Vec<RestartWithNewPort>) {
    let packet = Packet::parse(bytes, Checksum::Verify).unwrap();
    let Chunk::Abort(abort) = Chunk::parse(packet.chunks().next().unwrap().unwrap()).unwrap() else {
        panic!("no ABORT")
    };
    assert!(!abort.reflected_tag);
    let read = |raw| match Cause::parse(raw).unwrap() {
        Cause::RestartWithNewPort(cause) => cause,
        other => panic!("{other}"),
    };
    (packet.header().verification_tag, abort.causes.iter().map(|raw| read(raw.unwrap())).collect())
}

/// A late copy of the INIT with which the association began, from the port that the NAT gave it then, is not refused: the ABORT would
/// have the tag of the association, and end it.
#[test]
fn a_late_copy_of_the_init_from_an_earlier_port_ends_nothing() {
    let mut net = Net::new(6);
    let a = net.connect();
    let mut copy = Vec::new();
    net.a.poll_transmit(net.now, 1, &mut copy).unwrap();
    assert_eq!(copy[CommonHeader::LEN], kind::INIT);
    net.throw(39_999, &copy);
    net.arrives_at_z(nat(FIRST), &copy);
    net.pump();
    let z = net.id(false);
    assert_eq!(net.remote(z), nat(FIRST));
    let before = net.sent.len();
    net.throw(39_999, &copy);
    assert_eq!(net.sent.len(), before, "nothing is answered");
    net.unharmed(a, z);
}

/// The peer has restarted, and its INIT was answered; a copy of it comes from a port that the NAT had before, or has since. An ABORT would
/// have the tag with which the peer restarts, and end its handshake.
#[test]
fn a_copy_of_the_init_of_a_restart_from_another_port_ends_nothing() {
    let (mut net, _, z) = Net::up(6);
    net.throw(FIRST, &init(0x4321));
    let (to, _, bytes) = net.sent.last().unwrap().clone();
    assert_eq!((to, bytes[CommonHeader::LEN]), (nat(FIRST), kind::INIT_ACK));
    let before = net.sent.len();
    net.throw(41_000, &init(0x4321));
    assert_eq!(net.sent.len(), before, "nothing is answered");
    assert_eq!(net.remote(z), nat(FIRST));
    // The packets after that were sent again, from the present port of their sender, who wants to know.
    net.now += Duration::from_secs(1);
    net.throw(41_000, &init(0x4321));
    let (to, _, bytes) = net.sent.last().unwrap().clone();
    assert_eq!(to, nat(41_000));
    assert_eq!(causes(&bytes), (0x4321, vec![RestartWithNewPort { current: FIRST, new: 41_000 }]));
}

/// A second client behind the same NAT with equal SCTP ports is refused, "Restart of an Association with New Encapsulation Port",
/// and the first lives.
#[test]
fn a_second_client_behind_the_same_nat_is_refused() {
    let (mut net, a, z) = Net::up(3);
    net.throw(41_000, &init(0x1234));
    let (to, from, bytes) = net.sent.last().unwrap().clone();
    assert_eq!((to, from), (nat(41_000), Some(z_at())));
    assert_eq!(causes(&bytes), (0x1234, vec![RestartWithNewPort { current: FIRST, new: 41_000 }]));
    net.unharmed(a, z);
    // Nor does a cookie help that it was given before the first one came.
    let mut net = Net::new(4);
    let mut other = endpoint(5, "other", nat(0));
    other.connect(net.now, z_at(), SCTP_PORT, Arc::new(Config::rfc9260())).unwrap();
    let mut buf = Vec::new();
    let to_other = |net: &Net, other: &mut Endpoint| {
        let (.., bytes) = net.sent.iter().rev().find(|(to, ..)| *to == nat(41_000)).unwrap();
        let meta = Meta { source: z_at(), destination: nat(0), dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
        other.handle_datagram(net.now, meta, bytes);
    };
    other.poll_transmit(net.now, 1, &mut buf).unwrap();
    net.throw(41_000, &std::mem::take(&mut buf));
    to_other(&net, &mut other);
    let a = net.connect();
    net.pump();
    let z = net.id(false);
    other.poll_transmit(net.now, 1, &mut buf).unwrap();
    assert_eq!(buf[CommonHeader::LEN], kind::COOKIE_ECHO);
    net.throw(41_000, &buf);
    assert_eq!(net.remote(z), nat(FIRST));
    assert_eq!(net.z.associations(), 1);
    net.unharmed(a, z);
}

/// "The packet containing the INIT ACK chunk MUST only be sent to an address passed by the upper layer" (RFC 9260, 5.2.1): with
/// its UDP port. Else somebody with another port of it would get our tag in COOKIE-WAIT.
#[test]
fn in_cookie_wait_another_port_of_the_server_gets_nothing() {
    let mut net = Net::new(6);
    // Z asks for once, and A's NAT drops it.
    let z = net.z.connect(net.now, nat(FIRST), SCTP_PORT, Arc::new(Config::rfc9260())).unwrap();
    net.port = 1;
    net.pump();
    net.throw(666, &init(7));
    assert_eq!(net.sent_to(666), [0; 0]);
    assert_eq!(net.sent_to(FIRST), [kind::INIT, kind::INIT_ACK]);
    assert_eq!((net.remote(z), net.z.view(z).unwrap().state()), (nat(FIRST), State::CookieWait));
}

/// Packets out of the blue are answered where they came from: address and UDP port, from the address that was asked.
#[test]
fn out_of_the_blue_is_answered_where_it_came_from() {
    let mut net = Net::new(7);
    net.throw(777, &data(9, 1));
    net.throw(778, &packet(9, |out| ShutdownAck.emit(out)));
    net.throw(0, &data(9, 1));
    let answers: Vec<_> =
        net.sent.iter().map(|(to, from, bytes)| (*to, *from, bytes[12], bytes[13])).collect();
    let from = Some(z_at());
    assert_eq!(
        answers,
        [
            (nat(777), from, kind::ABORT, 1),
            (nat(778), from, kind::SHUTDOWN_COMPLETE, 1),
            (nat(0), from, kind::ABORT, 1),
        ]
    );
}

/// A restart is answered where it came from; the COOKIE ECHO moves the port, not the INIT.
#[test]
fn a_restart_is_answered_where_it_came_from() {
    for moves in [None, Some(50_000)] {
        let (mut net, _, z) = Net::up(8);
        net.a = endpoint(9, "again", nat(0));
        net.sent.clear();
        net.port_of_cookie = moves;
        let a = net.connect();
        net.pump();
        assert_eq!(net.sent_to(FIRST)[0], kind::INIT_ACK);
        let to = moves.unwrap_or(FIRST);
        assert_eq!(net.remote(z), nat(to));
        assert!(net.sent_to(to).contains(&kind::COOKIE_ACK));
        assert!(
            net.events.iter().any(|(side, id, e)| !side && *id == z && matches!(e, Event::Restarted { .. }))
        );
        net.events.clear();
        net.port_of_cookie = None;
        net.port = to;
        net.run_for(Duration::from_secs(5));
        net.events.clear();
        net.unharmed(a, z);
    }
}

/// A COOKIE ECHO from another port of the address that the INIT came from: so the path is there.
#[test]
fn the_cookie_says_where_the_path_is() {
    let mut net = Net::new(10);
    net.port_of_cookie = Some(50_000);
    net.connect();
    net.pump();
    let z = net.id(false);
    assert_eq!(net.remote(z), nat(50_000));
    assert_eq!(net.sent_to(50_000), [kind::COOKIE_ACK]);
}

/// "it MUST decrease the Path MTU of that path by the size of the UDP header. If it stops encapsulating them, the Path MTU SHOULD
/// be increased" (RFC 6951, 5.6).
#[test]
fn the_udp_header_takes_eight_bytes_of_every_packet() {
    let (mut net, a, z) = Net::up(11);
    net.send(true, a, &[7; 20_000]);
    net.send(false, z, &[7; 20_000]);
    net.run_for(Duration::from_secs(5));
    assert_eq!((net.got(true).len(), net.got(false).len()), (1, 1));
    let largest = |net: &Net| net.sent.iter().map(|(.., bytes)| bytes.len()).max().unwrap();
    assert_eq!((net.largest, largest(&net)), (1500 - 20 - 8, 1500 - 20 - 8));
    net.sent.clear();
    net.port = 0;
    net.send(true, a, b"without UDP");
    net.send(false, z, &[7; 20_000]);
    net.run_for(Duration::from_secs(5));
    assert_eq!(net.remote(z), nat(0));
    assert_eq!(largest(&net), 1480);
    net.unharmed(a, z);
}
