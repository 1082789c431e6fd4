//! Any number of hosts in virtual time, some with several addresses, and strangers who are no endpoint but a script: they
//! send any packets and read those sent to their addresses.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng};
use anabranch_sctp::{Association, AssociationId, Config, Endpoint, EndpointConfig, Event, Message};
use anabranch_wire::chunk::{Chunk, CookieEcho, Data, DataFlags, Init, InitKind, kind};
use anabranch_wire::param::{Ipv4Address, Params};
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Packet, PacketBuilder, Ssn, Tsn, crc32c};
use bytes::Bytes;

pub(crate) const PORT: u16 = 5000;

/// A packet between two addresses.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    pub(crate) bytes: Vec<u8>,
}

impl Datagram {
    /// Chunk types in order.
    pub(crate) fn kinds(&self) -> Vec<u8> {
        let packet = Packet::parse(&self.bytes, Checksum::Verify).unwrap();
        packet.chunks().map(|raw| raw.unwrap().kind).collect()
    }

    pub(crate) fn tag(&self) -> u32 {
        Packet::parse(&self.bytes, Checksum::Verify).unwrap().header().verification_tag
    }

    /// Reads each chunk.
    pub(crate) fn each(&self, mut look: impl FnMut(&Chunk<'_>)) {
        let packet = Packet::parse(&self.bytes, Checksum::Verify).unwrap();
        for raw in packet.chunks() {
            look(&Chunk::parse(raw.unwrap()).unwrap());
        }
    }

    /// Cookie, tag and first TSN of an INIT ACK.
    pub(crate) fn offer(&self) -> Option<Offer> {
        let mut offer = None;
        self.each(|chunk| {
            if let Chunk::InitAck(ack) = chunk {
                let cookie =
                    ack.params.iter().map(Result::unwrap).find(|p| p.kind == 7).unwrap().value.to_vec();
                offer = Some(Offer { tag: ack.initiate_tag, tsn: ack.initial_tsn, cookie });
            }
        });
        offer
    }
}

/// Tag, Initial TSN and State Cookie of an INIT ACK.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) tag: u32,
    pub(crate) tsn: Tsn,
    pub(crate) cookie: Vec<u8>,
}

/// An endpoint and its addresses. With several of them it lists all in INIT and INIT ACK.
pub(crate) struct Host {
    pub(crate) endpoint: Endpoint,
    pub(crate) addresses: Vec<IpAddr>,
    /// Index of the address from which a packet that begins with this chunk leaves.
    pub(crate) leaves_from: fn(u8) -> usize,
    /// Addresses it lists beyond its own.
    pub(crate) also_lists: Vec<IpAddr>,
    /// Messages that it sends on every association that comes up or restarts.
    pub(crate) greeting: Vec<Bytes>,
    pub(crate) events: Vec<(AssociationId, Event)>,
    /// Messages that it received: association, address of its peer, message.
    pub(crate) received: Vec<(AssociationId, IpAddr, Vec<u8>)>,
}

#[derive(Default)]
pub(crate) struct Network {
    pub(crate) now: Instant,
    pub(crate) hosts: Vec<Host>,
    /// Everything that hosts sent.
    pub(crate) log: Vec<Datagram>,
    /// Packets that arrived at addresses of no host.
    pub(crate) strange: Vec<Datagram>,
    /// Packets to these addresses are lost.
    pub(crate) unreachable: Vec<IpAddr>,
    wire: BTreeMap<(Instant, u64), Datagram>,
    sequence: u64,
}

pub(crate) fn ip(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

pub(crate) fn at(address: IpAddr) -> SocketAddr {
    (address, 0).into()
}

/// A packet with the ports of all.
pub(crate) fn packet(tag: u32, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    let header = CommonHeader { source_port: PORT, destination_port: PORT, verification_tag: tag };
    let mut builder = PacketBuilder::new(&mut out, header);
    write(builder.buffer());
    builder.finish(ChecksumOut::Compute);
    out
}

fn parameters(addresses: &[IpAddr]) -> Vec<u8> {
    let mut out = Vec::new();
    for address in addresses {
        let IpAddr::V4(address) = *address else { panic!("the network has IPv4 only") };
        Ipv4Address { address }.emit(&mut out);
    }
    out
}

/// An INIT that lists addresses.
pub(crate) fn init(tag: u32, lists: &[IpAddr]) -> Vec<u8> {
    let params = parameters(lists);
    let init = Init {
        initiate_tag: tag,
        a_rwnd: 1_000_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn::new(tag),
        params: Params::new(&params),
    };
    packet(0, |out| init.emit(InitKind::Init, out))
}

pub(crate) fn data(tsn: u32, payload: &[u8]) -> Data<'_> {
    Data { flags: DataFlags::WHOLE, tsn: Tsn::new(tsn), stream: 0, ssn: Ssn::new(0), ppid: 0, payload }
}

/// The cookie of an offer with a message behind it.
pub(crate) fn echo(offer: &Offer, tsn: u32, payload: &[u8]) -> Vec<u8> {
    packet(offer.tag, |out| {
        CookieEcho { cookie: &offer.cookie }.emit(out);
        data(tsn, payload).emit(out);
    })
}

/// Adds address parameters to an INIT or INIT ACK.
fn list(bytes: &mut Vec<u8>, addresses: &[IpAddr]) {
    bytes.extend_from_slice(&parameters(addresses));
    let len = (bytes.len() - CommonHeader::LEN) as u16;
    bytes[14..16].copy_from_slice(&len.to_be_bytes());
    bytes[8..12].fill(0);
    let sum = crc32c::packet_checksum(bytes);
    bytes[8..12].copy_from_slice(&crc32c::store(sum));
}

const LATENCY: Duration = Duration::from_millis(10);

impl Network {
    /// One more host; gives its number.
    pub(crate) fn add(&mut self, seed: u64, name: &str, addresses: &[u8]) -> usize {
        let addresses: Vec<IpAddr> = addresses.iter().map(|last| ip(*last)).collect();
        let config = EndpointConfig::new(at(addresses[0]), PORT).keeping_closed();
        self.hosts.push(Host {
            endpoint: Endpoint::new(config, Rng::stream(seed, name, "endpoint").secret()),
            addresses,
            leaves_from: |_| 0,
            also_lists: Vec::new(),
            greeting: Vec::new(),
            events: Vec::new(),
            received: Vec::new(),
        });
        self.hosts.len() - 1
    }

    pub(crate) fn listen(&mut self, host: usize) {
        self.hosts[host].endpoint.listen(Arc::new(Config::rfc9260())).unwrap();
    }

    pub(crate) fn connect(&mut self, host: usize, to: IpAddr) -> AssociationId {
        let now = self.now;
        self.hosts[host].endpoint.connect(now, at(to), PORT, Arc::new(Config::rfc9260())).unwrap()
    }

    pub(crate) fn send(&mut self, host: usize, id: AssociationId, payload: &[u8]) {
        let message = Message::new(0, Bytes::copy_from_slice(payload));
        self.hosts[host].endpoint.association(id).unwrap().send(self.now, message).unwrap();
    }

    /// A stranger sends something; the source address may be anybody's.
    pub(crate) fn throw(&mut self, from: IpAddr, to: IpAddr, bytes: Vec<u8>) {
        self.sequence += 1;
        self.wire.insert((self.now + LATENCY, self.sequence), Datagram { from, to, bytes });
    }

    /// The association of a host with this peer that came up last.
    pub(crate) fn association_with(&self, host: usize, peer: IpAddr) -> Option<AssociationId> {
        let host = &self.hosts[host];
        host.events.iter().rev().map(|(id, _)| *id).find(|id| {
            let association = host.endpoint.view(*id);
            association.and_then(Association::remote).is_some_and(|at| at.ip() == peer)
        })
    }

    /// Messages that a host received from a peer, in order.
    pub(crate) fn received_from(&self, host: usize, peer: IpAddr) -> Vec<&[u8]> {
        let all = self.hosts[host].received.iter();
        all.filter(|(_, from, _)| *from == peer).map(|(.., message)| message.as_slice()).collect()
    }

    pub(crate) fn state(&self, host: usize, id: AssociationId) -> anabranch_sctp::State {
        self.hosts[host].endpoint.view(id).unwrap().state()
    }

    fn pump(&mut self) {
        for index in 0..self.hosts.len() {
            loop {
                let (now, host) = (self.now, &mut self.hosts[index]);
                let mut buf = Vec::new();
                let mut sent = Vec::new();
                while let Some(transmit) = host.endpoint.poll_transmit(now, 1, &mut buf) {
                    sent.push((transmit.destination.ip(), std::mem::take(&mut buf)));
                }
                let mut progress = !sent.is_empty();
                while let Some((id, event)) = host.endpoint.poll_event() {
                    if matches!(event, Event::Established { .. }) {
                        for payload in host.greeting.clone() {
                            host.endpoint
                                .association(id)
                                .unwrap()
                                .send(now, Message::new(0, payload))
                                .unwrap();
                        }
                    }
                    host.events.push((id, event));
                    progress = true;
                }
                let ids: Vec<_> = host.events.iter().map(|(id, _)| *id).collect();
                for id in ids {
                    let Some(peer) = host.endpoint.view(id).and_then(Association::remote) else {
                        continue;
                    };
                    while let Some(message) = host.endpoint.association(id).unwrap().receive() {
                        host.received.push((id, peer.ip(), message.into_bytes().to_vec()));
                        progress = true;
                    }
                }
                for (to, bytes) in sent {
                    self.transmit(index, to, bytes);
                }
                if !progress {
                    break;
                }
            }
        }
    }

    fn transmit(&mut self, index: usize, to: IpAddr, mut bytes: Vec<u8>) {
        let host = &self.hosts[index];
        let first = bytes[CommonHeader::LEN];
        if matches!(first, kind::INIT | kind::INIT_ACK) && host.addresses.len() + host.also_lists.len() > 1 {
            let all: Vec<IpAddr> = host.addresses.iter().chain(&host.also_lists).copied().collect();
            list(&mut bytes, &all);
        }
        let datagram = Datagram { from: host.addresses[(host.leaves_from)(first)], to, bytes };
        self.log.push(datagram.clone());
        if !self.unreachable.contains(&to) {
            self.throw(datagram.from, to, datagram.bytes);
        }
    }

    fn arrive(&mut self, datagram: Datagram) {
        let now = self.now;
        let Some(host) = self.hosts.iter_mut().find(|h| h.addresses.contains(&datagram.to)) else {
            self.strange.push(datagram);
            return;
        };
        let meta = Meta {
            source: at(datagram.from),
            destination: at(datagram.to),
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
        };
        host.endpoint.handle_datagram(now, meta, &datagram.bytes);
    }

    /// Everything that happens until then.
    pub(crate) fn run_for(&mut self, duration: Duration) {
        let limit = self.now + duration;
        self.pump();
        for _ in 0..1_000_000 {
            let arrival = self.wire.keys().next().map(|(at, _)| *at);
            let timers = self.hosts.iter_mut().filter_map(|h| h.endpoint.poll_timeout()).map(|(at, _)| at);
            let Some(next) = timers.chain(arrival).min().filter(|next| *next <= limit) else {
                self.now = limit;
                return;
            };
            self.now = next.max(self.now);
            while let Some(entry) = self.wire.first_entry().filter(|e| e.key().0 <= self.now) {
                let datagram = entry.remove();
                self.arrive(datagram);
                self.pump();
            }
            for host in &mut self.hosts {
                host.endpoint.handle_timeout(self.now);
            }
            self.pump();
        }
        panic!("no end at {}", self.now);
    }

    /// Packets that arrived at an address of no host since the last call.
    pub(crate) fn take(&mut self, address: IpAddr) -> Vec<Datagram> {
        let (mine, rest) = std::mem::take(&mut self.strange).into_iter().partition(|d| d.to == address);
        self.strange = rest;
        mine
    }

    /// Chunk types of all packets that went to an address.
    pub(crate) fn sent_to(&self, address: IpAddr) -> Vec<Vec<u8>> {
        self.log.iter().filter(|d| d.to == address).map(Datagram::kinds).collect()
    }
}
