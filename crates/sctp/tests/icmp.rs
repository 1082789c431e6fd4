//! ICMP messages (RFC 9260, 10: ICMP1 to ICMP9), honest and forged.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_base::{Duration, Instant, Rng};
use anabranch_sctp::config::MtuDiscovery;
use anabranch_sctp::{
    AssociationId, CloseReason, Config, Endpoint, EndpointConfig, Event, IcmpError, IcmpKind, State,
};
use anabranch_wire::chunk::kind;
use common::{PORT, Pair, Side, address, icmp_message};

/// "Destination Unreachable" and its codes.
const UNREACHABLE: u8 = 3;
const PROTOCOL: u8 = 2;
const PORT_UNREACHABLE: u8 = 3;
const TOO_BIG: u8 = 4;

/// The first packet of A that begins with this chunk.
fn packet_of_a(pair: &Pair, first: u8) -> Vec<u8> {
    pair.log.iter().find(|p| p.from == Side::A && p.kinds()[0] == first).unwrap().bytes.clone()
}

/// An association over which A has sent data, and a packet of it.
fn up(config: &Config) -> (Pair, AssociationId, Vec<u8>) {
    let (mut pair, a, _) = Pair::established(1, config);
    pair.send(Side::A, a, 0, &[7; 1000]);
    pair.run_for(Duration::from_secs(1));
    let packet = packet_of_a(&pair, kind::DATA);
    (pair, a, packet)
}

fn state(pair: &Pair, a: AssociationId) -> State {
    pair.a.view(a).unwrap().state()
}

/// ICMP6: "If the Verification Tag is not 0 and does not match, discard the ICMP message", "If the ICMP message is too short ...
/// silently discard the packet".
// rfc9260:10-1 rfc9260:10-5 rfc8899:3-9 rfc8899:4.6.1-1 rfc8899:4.6.1-2 rfc8899:4.6.1-3 rfc8899:4.6.1-4 rfc8899:6.2.1.4-1 rfc8899:8-2
#[test]
fn forged_and_short_messages_change_nothing() {
    for code in [TOO_BIG, PROTOCOL, 0, 1] {
        let (mut pair, a, packet) = up(&Config::rfc9260());
        let mut forged: Vec<Vec<u8>> = (0..8).map(|len| packet[..len].to_vec()).collect();
        for (place, flip) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (7, 0x80)] {
            let mut other = packet.clone();
            other[place] ^= flip;
            forged.push(other);
        }
        // Tag 0: not an INIT, an INIT cut short, an INIT with another tag.
        let init = packet_of_a_before(&pair);
        for len in [8, 12, 16, 19] {
            forged.push(init[..len].to_vec());
        }
        let mut stranger = init.clone();
        stranger[16] ^= 1;
        forged.push(stranger);
        let mut other = init.clone();
        other[12] = kind::HEARTBEAT;
        forged.push(other);
        let before = pair.events.len();
        for quoted in &forged {
            pair.inject_icmp(Side::A, &icmp_message(Side::A, UNREACHABLE, code, 600, quoted));
            pair.pump();
        }
        let stats = pair.a.endpoint_stats().clone();
        assert_eq!((stats.icmp_received, stats.icmp_ignored), (forged.len() as u64, forged.len() as u64));
        assert_eq!((state(&pair, a), pair.a.view(a).unwrap().path_mtu()), (State::Established, 1500));
        assert_eq!(pair.events.len(), before, "{:?}", &pair.events[before..]);
    }
}

/// The INIT of a pair that is up: made again from its parts, as the log was cleared.
fn packet_of_a_before(pair: &Pair) -> Vec<u8> {
    let mut twin = Pair::new(1);
    twin.z.listen(std::sync::Arc::new(Config::rfc9260())).unwrap();
    twin.a.connect(twin.now, address(Side::Z), PORT, std::sync::Arc::new(Config::rfc9260())).unwrap();
    twin.pump();
    let init = packet_of_a(&twin, kind::INIT);
    // The same seed draws the same tag: packets that come back to A carry it.
    let to_a = pair.log.iter().find(|p| p.from == Side::Z).unwrap();
    assert_eq!(init[16..20], to_a.bytes[4..8]);
    init
}

/// ICMP5: "If the association cannot be found, an implementation SHOULD ignore the ICMP message".
// rfc9260:10-3 rfc9260:10-4
#[test]
fn messages_about_nobody() {
    let (mut pair, _, packet) = up(&Config::rfc9260());
    let now = pair.now;
    for destination in ["10.0.0.9", "::1"] {
        let error = IcmpError {
            udp_port: None,
            kind: IcmpKind::ProtocolUnreachable,
            destination: destination.parse().unwrap(),
            quoted: &packet,
        };
        pair.a.handle_icmp(now, &error);
    }
    assert_eq!(pair.a.endpoint_stats().icmp_ignored, 2);
}

/// ICMP7 where ICMP is listened to (RFC 1191, RFC 8201): the MTU falls, never rises, never below 576 bytes; after ten minutes the
/// path may carry more again.
// rfc8899:3-10
#[test]
fn fragmentation_needed_lowers_the_mtu() {
    let (mut pair, a, packet) = up(&Config::rfc9260());
    let say = |pair: &mut Pair, mtu| {
        pair.inject_icmp(Side::A, &icmp_message(Side::A, UNREACHABLE, TOO_BIG, mtu, &packet[..8]));
        pair.pump();
        pair.a.view(a).unwrap().path_mtu()
    };
    for nonsense in [0, 68, 552, 575, 1500, 1501, 9000, 65_535] {
        assert_eq!(say(&mut pair, nonsense), 1500, "{nonsense}");
    }
    assert_eq!(say(&mut pair, 1400), 1400);
    assert_eq!(say(&mut pair, 1450), 1400, "never raised");
    assert_eq!(say(&mut pair, 576), 576);
    assert!(pair.saw(Side::A, |e| *e == Event::PathMtu { path: 0, mtu: 576 }));
    pair.run_for(Duration::from_secs(599));
    assert_eq!(pair.a.view(a).unwrap().path_mtu(), 576);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.a.view(a).unwrap().path_mtu(), 1500);
    // The path MTU that a user has set is not changed by ICMP.
    let now = pair.now;
    pair.a.association(a).unwrap().set_path_mtu(now, 1480).unwrap();
    assert_eq!(say(&mut pair, 1000), 1480);
    pair.a.association(a).unwrap().discover_path_mtu(now);
    assert_eq!(pair.a.view(a).unwrap().path_mtu(), 1500);
    assert_eq!(say(&mut pair, 1000), 1000);
}

/// Packets that were too big leave again at once, and no window is cut: the network has told the reason.
#[test]
fn what_was_too_big_leaves_again_without_a_cut() {
    let (mut pair, a, _) = Pair::established(3, &Config::rfc9260());
    pair.send_all(Side::A, a, 1, 30, 1400);
    pair.run_for(Duration::from_millis(200));
    let cwnd = pair.a.view(a).unwrap().stats().cwnd;
    (pair.carries, pair.routers_answer) = (Some(1000), true);
    pair.received.clear();
    pair.send_all(Side::A, a, 1, 10, 1400);
    let start = pair.now;
    while pair.received.len() < 10 {
        pair.run_for(Duration::from_millis(5));
        assert!(pair.now - start < Duration::from_millis(200), "{} came", pair.received.len());
    }
    let stats = pair.a.view(a).unwrap().stats();
    assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 0));
    assert!(stats.cwnd >= cwnd, "{} after {cwnd}", stats.cwnd);
}

/// With IPv6 every link carries 1,280 bytes (RFC 8200, 5): less is not believed.
#[test]
fn packet_too_big() {
    let local = |side| if side == Side::A { "[2001:db8::1]:0" } else { "[2001:db8::2]:0" };
    let endpoint = |side| {
        let config = anabranch_sctp::EndpointConfig::new(local(side).parse().unwrap(), PORT).keeping_closed();
        anabranch_sctp::Endpoint::new(config, anabranch_base::Rng::stream(1, "icmp", local(side)).secret())
    };
    let mut a = endpoint(Side::A);
    let now = anabranch_base::Instant::ZERO;
    let config = std::sync::Arc::new(Config::rfc9260());
    let id = a.connect(now, local(Side::Z).parse().unwrap(), PORT, config).unwrap();
    let mut init = Vec::new();
    a.poll_transmit(now, 1, &mut init).unwrap();
    let mut say = |mtu: u32, len: usize| {
        let mut message = vec![2, 0, 0, 0];
        message.extend_from_slice(&mtu.to_be_bytes());
        let mut ip = [0; 40];
        (ip[0], ip[6]) = (0x60, 132);
        ip[24..].copy_from_slice(&"2001:db8::2".parse::<std::net::Ipv6Addr>().unwrap().octets());
        message.extend_from_slice(&ip);
        message.extend_from_slice(&init[..len]);
        a.handle_icmp(now, &IcmpError::parse_v6(&message).unwrap());
        a.view(id).unwrap().path_mtu()
    };
    for (mtu, len) in
        [(0, 20), (576, 20), (1279, 20), (1500, 20), (70_000, 20), (u32::MAX, 20), (1400, 19), (1400, 8)]
    {
        assert_eq!(say(mtu, len), 1500, "{mtu}, {len} bytes");
    }
    // "If it is 0 and the ICMP message contains enough bytes to verify that the chunk type is an INIT chunk" (ICMP6).
    assert_eq!(say(1400, 20), 1400);
    assert_eq!(say(1280, 20), 1280);
}

/// ICMP8: "MUST treat this message as an abort with the T bit set if it does not contain an INIT chunk".
#[test]
fn protocol_unreachable_aborts() {
    let (mut pair, a, packet) = up(&Config::rfc9260());
    pair.inject_icmp(Side::A, &icmp_message(Side::A, UNREACHABLE, PROTOCOL, 0, &packet[..8]));
    let before = pair.log.len();
    pair.run_for(Duration::from_secs(10));
    assert_eq!(state(&pair, a), State::Closed);
    assert!(pair.saw(Side::A, |e| *e == Event::Closed(CloseReason::ProtocolUnreachable)));
    assert!(pair.log[before..].iter().all(|p| p.from == Side::Z), "an abort is not answered");
}

/// ICMP8: "If it does contain an INIT chunk and the association is in the COOKIE-WAIT state, handle the ICMP message like an ABORT
/// chunk"; later the handshake has shown that the peer knows SCTP.
#[test]
fn protocol_unreachable_of_an_init() {
    let (mut pair, a) = Pair::connecting(1, &Config::rfc9260());
    pair.pump();
    let init = packet_of_a(&pair, kind::INIT);
    pair.inject_icmp(Side::A, &icmp_message(Side::A, UNREACHABLE, PROTOCOL, 0, &init[..19]));
    assert_eq!(state(&pair, a), State::CookieWait, "a byte short");
    pair.inject_icmp(Side::A, &icmp_message(Side::A, UNREACHABLE, PROTOCOL, 0, &init[..20]));
    assert_eq!(state(&pair, a), State::Closed);
    let (mut pair, a) = Pair::connecting(1, &Config::rfc9260());
    pair.run_for(Duration::from_secs(1));
    pair.inject_icmp(Side::A, &icmp_message(Side::A, UNREACHABLE, PROTOCOL, 0, &init));
    assert_eq!(state(&pair, a), State::Established, "a late one");
}

/// ICMP3: "SHOULD ignore any ICMP messages where the code indicates 'Port Unreachable'". ICMP9: others may be told to the user; they
/// end nothing.
#[test]
fn unreachable_hosts_and_ports_end_nothing() {
    let (mut pair, a, packet) = up(&Config::rfc9260());
    for _ in 0..1000 {
        for code in [0, 1, 3, 5, 13] {
            pair.inject_icmp(Side::A, &icmp_message(Side::A, UNREACHABLE, code, 0, &packet));
        }
    }
    assert_eq!(pair.a.endpoint_stats().icmp_ignored, 1000);
    pair.pump();
    let told = pair.events.iter().filter(|(.., e)| matches!(e, Event::Unreachable { path: 0, .. })).count();
    assert!((1..=256).contains(&told), "told, but no queue grows: {told}");
    pair.send(Side::A, a, 0, b"still here");
    pair.run_for(Duration::from_secs(1));
    assert_eq!(state(&pair, a), State::Established);
    assert_eq!(pair.received.len(), 2);
}

/// RFC 6951, 5.5: where packets ride in UDP, 'Port Unreachable' says that the peer's host has nobody who takes them; only of the port
/// that is in use, and with the right tag.
// rfc6951:5.5-1 rfc6951:5.5-4
#[test]
fn port_unreachable_of_encapsulated_packets() {
    let (mut pair, a, packet) = up(&Config::rfc9260());
    let of_port = |port: u16, quoted: &[u8]| {
        let [hi, lo] = port.to_be_bytes();
        let udp = [&[0x26, 0xAB, hi, lo, 0, 0, 0, 0], quoted].concat();
        let mut message = icmp_message(Side::A, UNREACHABLE, PORT_UNREACHABLE, 0, &udp);
        message[8 + 9] = 17;
        message
    };
    pair.inject_icmp(Side::A, &of_port(9899, &packet));
    assert_eq!(state(&pair, a), State::Established, "no packet of it rides in UDP");
    let peer = std::net::SocketAddr::new(address(Side::Z).ip(), 9899);
    pair.a.association(a).unwrap().set_encapsulation_port(peer).unwrap();
    pair.inject_icmp(Side::A, &of_port(9900, &packet));
    pair.inject_icmp(Side::A, &icmp_message(Side::A, UNREACHABLE, PORT_UNREACHABLE, 0, &packet));
    let mut forged = packet.clone();
    forged[7] ^= 1;
    pair.inject_icmp(Side::A, &of_port(9899, &forged));
    assert_eq!(state(&pair, a), State::Established, "another port, no port, another tag");
    pair.inject_icmp(Side::A, &of_port(9899, &packet));
    assert_eq!(state(&pair, a), State::Closed);
    pair.pump();
    assert!(pair.saw(Side::A, |e| *e == Event::Closed(CloseReason::PortUnreachable)));
}

/// With discovery off the MTU is fixed.
#[test]
fn no_discovery_no_change() {
    let config = Config::rfc9260().with(|c| c.path_mtu.discovery = MtuDiscovery::Off);
    let (mut pair, a, packet) = up(&config);
    pair.inject_icmp(Side::A, &icmp_message(Side::A, UNREACHABLE, TOO_BIG, 1000, &packet));
    assert_eq!(pair.a.view(a).unwrap().path_mtu(), 1500);
}

/// An endpoint in COOKIE-WAIT, over IPv4 or IPv6, and its INIT.
struct Asking {
    endpoint: Endpoint,
    id: AssociationId,
    peer: SocketAddr,
    init: Vec<u8>,
}

impl Asking {
    fn over(v6: bool) -> Self {
        let (own, peer) =
            if v6 { ("[2001:db8::1]:0", "[2001:db8::2]:0") } else { ("10.0.0.1:0", "10.0.0.2:0") };
        let peer: SocketAddr = peer.parse().unwrap();
        let config = EndpointConfig::new(own.parse().unwrap(), PORT).keeping_closed();
        let mut endpoint = Endpoint::new(config, Rng::stream(1, "icmp", own).secret());
        let id = endpoint.connect(Instant::ZERO, peer, PORT, Arc::new(Config::rfc9260())).unwrap();
        let mut init = Vec::new();
        endpoint.poll_transmit(Instant::ZERO, 1, &mut init).unwrap();
        Self { endpoint, id, peer, init }
    }

    /// An ICMP message about the INIT, which rode in UDP to that port if there is one.
    fn hear(&mut self, (kind, code): (u8, u8), mtu: u32, udp: Option<u16>) {
        let mut quoted =
            udp.map_or(Vec::new(), |port| [&[0x26, 0xAB], &port.to_be_bytes()[..], &[0; 4]].concat());
        quoted.extend_from_slice(&self.init);
        let protocol = if udp.is_some() { 17 } else { 132 };
        let mut message = [&[kind, code, 0, 0], &mtu.to_be_bytes()[..]].concat();
        match self.peer.ip() {
            IpAddr::V4(peer) => {
                let mut header = [0; 20];
                (header[0], header[9]) = (0x45, protocol);
                header[16..].copy_from_slice(&peer.octets());
                message.extend_from_slice(&[&header[..], &quoted].concat());
                self.endpoint.handle_icmp(Instant::ZERO, &IcmpError::parse_v4(&message).unwrap());
            }
            IpAddr::V6(peer) => {
                let mut header = [0; 40];
                (header[0], header[6]) = (0x60, protocol);
                header[24..].copy_from_slice(&peer.octets());
                message.extend_from_slice(&[&header[..], &quoted].concat());
                self.endpoint.handle_icmp(Instant::ZERO, &IcmpError::parse_v6(&message).unwrap());
            }
        }
    }

    /// Outcome: the state, the MTU, the number of messages ignored, and the reason for which the association has
    /// ended.
    fn outcome(&mut self) -> (State, u16, u64, Option<CloseReason>) {
        let ended = std::iter::from_fn(|| self.endpoint.poll_event()).find_map(|(_, event)| match event {
            Event::Closed(reason) => Some(reason),
            _ => None,
        });
        let association = self.endpoint.view(self.id).unwrap();
        (association.state(), association.path_mtu(), self.endpoint.endpoint_stats().icmp_ignored, ended)
    }
}

/// RFC 8540, "ICMPv4 and ICMPv6": the rules for one family are those for the other (ICMP1 to ICMP4, ICMP7, ICMP8).
#[test]
fn the_same_of_either_family() {
    let gone = (State::Closed, 1500, 0, Some(CloseReason::ProtocolUnreachable));
    for (v4, v6, mtu, expected) in [
        ((3, 4), (2, 0), 1400, (State::CookieWait, 1400, 0, None)),
        ((3, 4), (2, 0), 1500, (State::CookieWait, 1500, 1, None)),
        ((3, PROTOCOL), (4, 1), 0, gone),
        ((3, PORT_UNREACHABLE), (1, 4), 0, (State::CookieWait, 1500, 1, None)),
        ((3, 1), (1, 3), 0, (State::CookieWait, 1500, 0, None)),
        ((3, 13), (1, 1), 0, (State::CookieWait, 1500, 0, None)),
    ] {
        for (family, what) in [(false, v4), (true, v6)] {
            let mut asking = Asking::over(family);
            asking.hear(what, mtu, None);
            assert_eq!(asking.outcome(), expected, "{what:?}, IPv6 {family}");
        }
    }
}

/// RFC 6951, 5.5: "'Port Unreachable' SHOULD be treated as ... 'Protocol Unreachable'", and of IPv6 "as ... 'unrecognized Next Header type
/// encountered'": where packets ride in UDP, and to the port that is in use.
// rfc6951:5.5-4 rfc6951:5.5-5
#[test]
fn port_unreachable_of_packets_in_udp_ends_an_attempt_over_either_family() {
    for (v6, what) in [(false, (3, PORT_UNREACHABLE)), (true, (1, 4))] {
        let mut asking = Asking::over(v6);
        let peer = SocketAddr::new(asking.peer.ip(), 9899);
        asking.endpoint.association(asking.id).unwrap().set_encapsulation_port(peer).unwrap();
        for other in [None, Some(9900)] {
            asking.hear(what, 0, other);
        }
        assert_eq!(asking.outcome(), (State::CookieWait, 1500, 2, None), "IPv6 {v6}");
        asking.hear(what, 0, Some(9899));
        let (state, _, ignored, ended) = asking.outcome();
        assert_eq!(
            (state, ignored, ended),
            (State::Closed, 2, Some(CloseReason::PortUnreachable)),
            "IPv6 {v6}"
        );
    }
}
