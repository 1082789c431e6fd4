//! An endpoint with several SCTP ports: an association is known by the addresses and both ports (RFC 9260, 1.3).

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng};
use anabranch_sctp::{
    AcceptConfig, AssociationId, CloseReason, Config, ConnectError, Endpoint, EndpointConfig, EndpointEvent,
    Event, Message, Shard,
};
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Packet, PacketBuilder};

const FIRST: u16 = 5000;

/// Two endpoints; packets take no time.
struct Two {
    now: Instant,
    ends: [Endpoint; 2],
    events: Vec<(usize, AssociationId, Event)>,
    /// Packets that have crossed, oldest first.
    crossed: Vec<(usize, Vec<u8>)>,
}

fn address(end: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, end as u8 + 1], 9899))
}

impl Two {
    fn new(change: impl Fn(&mut EndpointConfig)) -> Self {
        let end = |number: usize| {
            let mut config = EndpointConfig::new(address(number), FIRST).keeping_closed();
            if number == 1 {
                change(&mut config);
            }
            let rng = Rng::stream(1, "ports", if number == 0 { "a" } else { "z" });
            Endpoint::new(config, { rng }.secret())
        };
        let mut two =
            Self { now: Instant::ZERO, ends: [end(0), end(1)], events: Vec::new(), crossed: Vec::new() };
        two.ends[1].listen(Arc::new(Config::rfc9260())).unwrap();
        two
    }

    fn connect(&mut self, from: u16, to: u16) -> Result<AssociationId, ConnectError> {
        self.ends[0].connect_from(self.now, from, address(1), to, Arc::new(Config::rfc9260()))
    }

    fn hand_in(&mut self, to: usize, packet: &[u8]) {
        let meta =
            Meta { source: address(1 - to), destination: address(to), dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
        self.ends[to].handle_datagram(self.now, meta, packet);
    }

    fn exchange(&mut self) {
        for _ in 0..3 {
            let mut quiet = false;
            while !quiet {
                quiet = true;
                for end in 0..2 {
                    let mut packet = Vec::new();
                    while self.ends[end].poll_transmit(self.now, 1, &mut packet).is_some() {
                        quiet = false;
                        let packet = std::mem::take(&mut packet);
                        self.hand_in(1 - end, &packet);
                        self.crossed.push((end, packet));
                    }
                    while let Some((id, event)) = self.ends[end].poll_event() {
                        self.events.push((end, id, event));
                    }
                }
            }
            self.now += Duration::from_millis(500);
            self.ends.iter_mut().for_each(|end| end.handle_timeout(self.now));
        }
    }

    fn closed(&self, end: usize, id: AssociationId) -> Option<&CloseReason> {
        self.events.iter().find_map(|(e, i, event)| match event {
            Event::Closed(reason) if (*e, *i) == (end, id) => Some(reason),
            _ => None,
        })
    }
}

#[test]
fn each_pair_of_ports_is_an_association_of_its_own() {
    let mut two = Two::new(|_| {});
    two.ends[1].open_port(FIRST + 1).unwrap();
    let mut ids = Vec::new();
    for (from, to) in [(FIRST, 0), (FIRST, 1), (6000, 0), (6000, 1), (6001, 0), (6001, 1)] {
        ids.push((from, FIRST + to, two.connect(from, FIRST + to).unwrap()));
    }
    assert_eq!(two.connect(6000, FIRST), Err(ConnectError::Exists));
    two.exchange();
    assert_eq!((two.ends[0].associations(), two.ends[1].associations()), (6, 6));
    for (from, to, id) in &ids {
        let now = two.now;
        let text = format!("{from} to {to}");
        two.ends[0].association(*id).unwrap().send(now, Message::new(0, text)).unwrap();
    }
    two.exchange();
    let theirs: BTreeSet<AssociationId> =
        two.events.iter().filter(|(end, ..)| *end == 1).map(|(_, id, _)| *id).collect();
    let mut read = BTreeSet::new();
    for id in theirs {
        let view = two.ends[1].view(id).unwrap();
        let ports = (view.peer_port(), view.local_port());
        let text = two.ends[1].association(id).unwrap().receive().unwrap().into_bytes();
        assert_eq!(text, format!("{} to {}", ports.0, ports.1));
        read.insert(ports);
    }
    assert_eq!(read.len(), 6);
    // The end of one says nothing of the others, and its ports may be used again at once.
    let (_, _, id) = ids[2];
    let now = two.now;
    two.ends[0].association(id).unwrap().shutdown(now);
    two.exchange();
    assert_eq!(two.closed(0, id), Some(&CloseReason::Graceful));
    assert_eq!((two.ends[0].associations(), two.ends[1].associations()), (5, 5));
    two.connect(6000, FIRST).unwrap();
    two.exchange();
    assert_eq!((two.ends[0].associations(), two.ends[1].associations()), (6, 6));
}

#[test]
fn nobody_is_let_in_at_a_port_that_is_not_open() {
    let mut two = Two::new(|_| {});
    two.ends[1].open_port(FIRST + 1).unwrap();
    let open = two.connect(6000, FIRST + 1).unwrap();
    let shut = two.connect(6000, FIRST + 2).unwrap();
    two.exchange();
    assert_eq!(two.closed(0, open), None);
    assert!(matches!(two.closed(0, shut), Some(CloseReason::AbortedByPeer { .. })));
    // Nor where we have only asked from; and an association that was accepted stays when the port is closed.
    assert_eq!(two.ends[1].open_port(0), Err(ConnectError::PortZero));
    two.ends[1].close_port(FIRST + 1);
    let late = two.connect(6001, FIRST + 1).unwrap();
    two.ends[0].listen(Arc::new(Config::rfc9260())).unwrap();
    let back =
        two.ends[1].connect_from(two.now, FIRST, address(0), 6000, Arc::new(Config::rfc9260())).unwrap();
    two.exchange();
    assert!(matches!(two.closed(0, late), Some(CloseReason::AbortedByPeer { .. })));
    assert!(matches!(two.closed(1, back), Some(CloseReason::AbortedByPeer { .. })));
    assert_eq!(two.closed(0, open), None);
}

/// The same packet to another port, with a right checksum.
fn readdressed(packet: &[u8], destination_port: u16) -> Vec<u8> {
    let header = Packet::parse(packet, Checksum::Verify).unwrap().header();
    let mut out = Vec::new();
    let mut builder = PacketBuilder::new(&mut out, CommonHeader { destination_port, ..header });
    builder.buffer().extend_from_slice(&packet[CommonHeader::LEN..]);
    builder.finish(ChecksumOut::Compute);
    out
}

#[test]
fn a_cookie_is_good_for_the_port_that_was_asked_alone() {
    let mut two = Two::new(|_| {});
    two.ends[1].open_port(FIRST + 1).unwrap();
    two.connect(6000, FIRST).unwrap();
    two.exchange();
    // The first packet is the INIT, the third echoes the cookie.
    let echo = two.crossed.iter().filter(|(end, _)| *end == 0).nth(1).unwrap().1.clone();
    assert_eq!(echo[CommonHeader::LEN], 10);
    let other = readdressed(&echo, FIRST + 1);
    two.hand_in(1, &other);
    assert_eq!((two.ends[1].associations(), two.ends[1].endpoint_stats().bad_cookies), (1, 1));
    // DATA for another port, though the tag is that of an association, belongs to nobody.
    let id = two.events.iter().find(|(end, ..)| *end == 1).unwrap().1;
    let (before, now) = (two.ends[1].view(id).unwrap().snapshot().stats.packets_received, two.now);
    let ours = two.events.iter().find(|(end, ..)| *end == 0).unwrap().1;
    two.ends[0].association(ours).unwrap().send(now, Message::new(0, "x")).unwrap();
    let mut packet = Vec::new();
    two.ends[0].poll_transmit(now, 1, &mut packet).unwrap();
    two.hand_in(1, &readdressed(&packet, FIRST + 1));
    assert_eq!(two.ends[1].view(id).unwrap().snapshot().stats.packets_received, before);
    two.hand_in(1, &packet);
    assert_eq!(two.ends[1].association(id).unwrap().receive().unwrap().into_bytes(), "x");
}

#[test]
fn the_limits_of_a_source_count_all_its_ports() {
    let mut two = Two::new(|config| {
        config.accept =
            AcceptConfig { ask: true, backlog_per_source: 3, max_per_source: 4, ..AcceptConfig::default() };
    });
    two.ends[1].open_port(FIRST + 1).unwrap();
    let ids: Vec<_> = (0..4).map(|n| two.connect(6000 + n / 2, FIRST + n % 2).unwrap()).collect();
    two.exchange();
    assert_eq!(two.ends[1].waiting(), 3);
    assert!(matches!(two.closed(0, ids[3]), Some(CloseReason::AbortedByPeer { .. })));
    let mut asked = Vec::new();
    while let Some(EndpointEvent::Incoming(incoming)) = two.ends[1].poll_endpoint_event() {
        asked.push((incoming.port, incoming.local_port));
        let now = two.now;
        two.ends[1].accept(now, incoming.id, Arc::new(Config::rfc9260())).unwrap();
    }
    assert_eq!(asked, [(6000, FIRST), (6000, FIRST + 1), (6001, FIRST)]);
    two.connect(6002, FIRST).unwrap();
    let refused = two.connect(6003, FIRST).unwrap();
    two.exchange();
    assert!(matches!(two.closed(0, refused), Some(CloseReason::AbortedByPeer { .. })));
}

#[test]
fn every_tag_of_a_shard_says_which_it_is() {
    let mut two = Two::new(|config| config.shard = Shard::new(2, 5).unwrap());
    for n in 0..50 {
        two.connect(6000 + n, FIRST).unwrap();
    }
    two.exchange();
    let tags = two
        .crossed
        .iter()
        .filter(|(end, _)| *end == 0)
        .map(|(_, packet)| Packet::parse(packet, Checksum::Verify).unwrap().header().verification_tag);
    let tags: BTreeSet<u32> = tags.filter(|tag| *tag != 0).collect();
    assert_eq!(tags.len(), 50);
    assert!(tags.iter().all(|tag| Shard::of_tag(*tag, 5) == 2), "{tags:?}");
}
