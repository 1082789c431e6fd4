//! Packets that nobody may answer, whatever they hold (RFC 9260, 8.4 and 8.5.1 A).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "the harness has more than this file needs")]

use crate::network;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anabranch_base::{Dscp, Duration, Ecn, Meta};
use anabranch_sctp::{AssociationId, State};
use anabranch_wire::Tsn;
use anabranch_wire::cause::Causes;
use anabranch_wire::chunk::{
    Abort, CookieAck, ErrorChunk, Heartbeat, HeartbeatKind, InitKind, Shutdown, ShutdownAck, kind, sack,
};
use anabranch_wire::param::{HeartbeatInfo, Params};
use network::{Network, data, init, ip, packet};

const A: u8 = 1;
const Z: u8 = 2;
const X: u8 = 66;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A packet of each kind of chunk that is no INIT, all with a verification tag of 0.
fn tagless() -> Vec<(&'static str, Vec<u8>)> {
    let init_ack = anabranch_wire::chunk::Init {
        initiate_tag: 7,
        a_rwnd: 100_000,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn::new(1),
        params: Params::EMPTY,
    };
    vec![
        ("DATA", packet(0, |out| data(1, b"x").emit(out))),
        ("INIT ACK", packet(0, |out| init_ack.emit(InitKind::InitAck, out))),
        ("SACK", packet(0, |out| sack::emit(out, Tsn::new(1), 0, &[], &[]))),
        (
            "HEARTBEAT",
            packet(0, |out| {
                Heartbeat { info: HeartbeatInfo { info: b"hello" } }.emit(HeartbeatKind::Request, out);
            }),
        ),
        ("ABORT", packet(0, |out| Abort { reflected_tag: false, causes: Causes::EMPTY }.emit(out))),
        ("ABORT, T bit", packet(0, |out| Abort { reflected_tag: true, causes: Causes::EMPTY }.emit(out))),
        ("SHUTDOWN", packet(0, |out| Shutdown { cumulative: Tsn::new(1) }.emit(out))),
        ("SHUTDOWN ACK", packet(0, |out| ShutdownAck.emit(out))),
        ("ERROR", packet(0, |out| ErrorChunk { causes: Causes::EMPTY }.emit(out))),
        ("COOKIE ACK", packet(0, |out| CookieAck.emit(out))),
        ("an unknown chunk", packet(0, |out| out.extend_from_slice(&[0xff, 0, 0, 4]))),
    ]
}

/// "When an endpoint receives an SCTP packet with the Verification Tag set to 0, it SHOULD verify that the packet contains only
/// an INIT chunk. Otherwise, the receiver MUST silently discard the packet" (8.5.1 A): from strangers, and from the peer of an
/// association in every state of its handshake.
// rfc9260:8.5.1-3
#[test]
fn a_tag_of_0_is_for_init_alone() {
    for (name, bytes) in tagless() {
        for (from, wait) in [(X, 5), (X, 100), (Z, 5), (Z, 25), (Z, 100)] {
            let mut net = Network::default();
            let (a, z) = (net.add(1, "a", &[A]), net.add(1, "z", &[Z]));
            net.listen(z);
            let id = net.connect(a, ip(Z));
            net.run_for(ms(wait));
            let state = net.state(a, id);
            let before = net.sent_to(ip(from)).len();
            // Nothing of the two is under way that could be taken for an answer.
            net.unreachable = vec![ip(A), ip(Z)];
            net.throw(ip(from), ip(A), bytes.clone());
            let stats = net.hosts[a].endpoint.endpoint_stats().clone();
            net.run_for(ms(10));
            let sent = &net.sent_to(ip(from))[before..];
            let own = [kind::INIT, kind::COOKIE_ECHO];
            assert!(sent.iter().all(|kinds| own.contains(&kinds[0])), "{name}, {state:?}: {sent:?}");
            let replies = net.hosts[a].endpoint.endpoint_stats().stateless_replies;
            assert_eq!(replies, stats.stateless_replies, "{name} in {state:?}");
            net.unreachable.clear();
            net.run_for(ms(5000));
            assert_eq!(net.state(a, id), State::Established, "{name} in {state:?}");
        }
    }
}

/// Hands in a packet as it came from the network.
fn hand_in(net: &mut Network, host: usize, from: IpAddr, to: IpAddr, bytes: &[u8]) {
    let meta =
        Meta { source: (from, 0).into(), destination: (to, 0).into(), dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
    let now = net.now;
    net.hosts[host].endpoint.handle_datagram(now, meta, bytes);
}

/// The tag that a host writes to its peer.
fn tag_for(net: &Network, to: u8) -> u32 {
    net.log.iter().rev().find(|d| d.to == ip(to)).unwrap().tag()
}

/// "If the OOTB packet is to or from a non-unicast address, a receiver SHOULD silently discard the packet" (8.4, 1).
/// A packet with the tag of an association is no exception: the answer would leave from the address of a group.
// rfc9260:8.4-1
#[test]
fn nothing_that_went_to_a_group_is_answered() {
    let groups: [IpAddr; 5] = [
        Ipv4Addr::new(224, 0, 0, 1).into(),
        Ipv4Addr::new(239, 255, 255, 250).into(),
        Ipv4Addr::BROADCAST.into(),
        Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1).into(),
        // The same as an IPv6 socket shows it.
        Ipv4Addr::new(224, 0, 0, 1).to_ipv6_mapped().into(),
    ];
    for group in groups {
        let mut net = Network::default();
        let (a, z) = (net.add(2, "a", &[A]), net.add(2, "z", &[Z]));
        net.listen(z);
        let id: AssociationId = net.connect(a, ip(Z));
        net.run_for(ms(100));
        let before = net.log.len();
        let right_tag = tag_for(&net, Z);
        let heartbeat = |tag| {
            packet(tag, |out| {
                Heartbeat { info: HeartbeatInfo { info: b"hello" } }.emit(HeartbeatKind::Request, out);
            })
        };
        let packets =
            [init(5, &[]), heartbeat(9), heartbeat(right_tag), packet(9, |out| ShutdownAck.emit(out))];
        for bytes in &packets {
            for from in [X, A] {
                hand_in(&mut net, z, ip(from), group, bytes);
            }
            // From a group, likewise.
            hand_in(&mut net, z, group, ip(Z), bytes);
        }
        net.run_for(ms(20));
        let answers: Vec<_> = net.log[before..].iter().map(network::Datagram::kinds).collect();
        assert!(answers.is_empty(), "to {group}: {answers:?}");
        assert_eq!(net.hosts[z].endpoint.endpoint_stats().malformed, 3 * packets.len() as u64);
        assert_eq!(net.state(a, id), State::Established);
    }
}

/// An INIT to a port where nobody is: "the Verification Tag of the packet containing the ABORT chunk MUST be the
/// Initiate Tag of the received INIT chunk, and the T bit ... 0" (8.4, 3). The caller hears at once; no INIT that is
/// not alone, or has a tag, is answered so.
// rfc9260:8.4-4
#[test]
fn an_init_to_another_port_is_refused() {
    let to_port = |bytes: &[u8], port: u16| {
        let mut bytes = bytes.to_vec();
        bytes[2..4].copy_from_slice(&port.to_be_bytes());
        bytes[8..12].fill(0);
        let sum = anabranch_wire::crc32c::packet_checksum(&bytes);
        bytes[8..12].copy_from_slice(&anabranch_wire::crc32c::store(sum));
        bytes
    };
    let call = init(5, &[]);
    let mut tagged = call.clone();
    tagged[7] = 9;
    let mut two = call.clone();
    two.extend_from_within(12..);
    let mut no_tag = call.clone();
    no_tag[16..20].fill(0);
    for (bytes, refused) in [(&call, true), (&tagged, false), (&two, false), (&no_tag, false)] {
        let mut net = Network::default();
        let z = net.add(3, "z", &[Z]);
        net.listen(z);
        hand_in(&mut net, z, ip(X), ip(Z), &to_port(bytes, 4999));
        net.run_for(ms(10));
        let sent: Vec<_> = net.log.iter().filter(|d| d.to == ip(X)).collect();
        assert_eq!(sent.len(), usize::from(refused), "{bytes:02x?}");
        for answer in sent {
            assert_eq!((answer.tag(), &answer.bytes[12..]), (5, &[kind::ABORT, 0, 0, 4][..]));
            assert_eq!(answer.bytes[..2], 4999_u16.to_be_bytes());
        }
    }
}
