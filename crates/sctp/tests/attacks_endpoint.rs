//! Attacks on the memory of an endpoint and on the addresses it writes to: users who sleep, peers that restart without end, addresses that somebody
//! else has (docs/explanation/attacks.md, groups A and B).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::network;

use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Meta, Rng};
use anabranch_sctp::{
    AcceptConfig, AssociationId, Config, Endpoint, EndpointConfig, Event, Message, SendError, State,
    Undelivered,
};
use anabranch_wire::cause::Causes;
use anabranch_wire::chunk::{
    Abort, Chunk, CookieAck, CookieEcho, Data, DataFlags, ErrorChunk, Heartbeat, HeartbeatKind, Init,
    InitKind, Shutdown, ShutdownAck, kind, sack,
};
use anabranch_wire::param::{HeartbeatInfo, Params};
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Packet, PacketBuilder, Ssn, Tsn};
use network::{Datagram, Network, Offer, PORT, at, data, echo, init, ip, packet};

const Z: u8 = 2;
const X: u8 = 66;
const V: u8 = 77;
const TAG_X: u32 = 0x6666_6666;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Z, whose user polls events or does not, and reads nothing.
struct Sleeper {
    now: anabranch_base::Instant,
    endpoint: Endpoint,
    polls: bool,
    ids: Vec<AssociationId>,
    events: Vec<Event>,
}

/// A client that is written down packet by packet, at an address and an SCTP port.
#[derive(Clone, Copy)]
struct Client {
    address: u8,
    port: u16,
    tag: u32,
}

impl Sleeper {
    fn new(change: impl Fn(&mut EndpointConfig)) -> Self {
        Self::listening(Config::rfc9260(), change)
    }

    fn listening(associations: Config, change: impl Fn(&mut EndpointConfig)) -> Self {
        let mut config = EndpointConfig::new(at(ip(Z)), PORT);
        change(&mut config);
        let mut endpoint = Endpoint::new(config, Rng::stream(1, "z", "sleeper").secret());
        endpoint.listen(Arc::new(associations)).unwrap();
        let now = anabranch_base::Instant::ZERO + ms(1000);
        Self { now, endpoint, polls: true, ids: Vec::new(), events: Vec::new() }
    }

    /// Hands in a packet; returns the answer to it.
    fn hear(&mut self, client: Client, tag: u32, write: impl FnOnce(&mut Vec<u8>)) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        let header = CommonHeader { source_port: client.port, destination_port: PORT, verification_tag: tag };
        let mut builder = PacketBuilder::new(&mut bytes, header);
        write(builder.buffer());
        builder.finish(ChecksumOut::Compute);
        let meta = Meta {
            source: at(ip(client.address)),
            destination: at(ip(Z)),
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
        };
        self.endpoint.handle_datagram(self.now, meta, &bytes);
        let mut answers = Vec::new();
        let mut bytes = Vec::new();
        while self.endpoint.poll_transmit(self.now, 1, &mut bytes).is_some() {
            answers.push(std::mem::take(&mut bytes));
        }
        while self.polls {
            let Some((id, event)) = self.endpoint.poll_event() else { break };
            self.ids.push(id);
            self.events.push(event);
        }
        answers
    }

    /// The INIT of a client: the offer, if it gets one.
    fn ask(&mut self, client: Client) -> Option<Offer> {
        let answers = self.hear(client, 0, |out| {
            Init {
                initiate_tag: client.tag,
                a_rwnd: 100_000,
                outbound_streams: 10,
                inbound_streams: 10,
                initial_tsn: Tsn::new(1),
                params: Params::EMPTY,
            }
            .emit(InitKind::Init, out);
        });
        let answer = Packet::parse(answers.first()?, Checksum::Verify).unwrap();
        let Chunk::InitAck(ack) = Chunk::parse(answer.chunks().next()?.unwrap()).unwrap() else {
            return None;
        };
        let cookie = ack.params.iter().map(Result::unwrap).find(|p| p.kind == 7)?.value.to_vec();
        Some(Offer { tag: ack.initiate_tag, tsn: ack.initial_tsn, cookie })
    }

    /// The whole handshake; our tag.
    fn up(&mut self, client: Client) -> Option<u32> {
        let offer = self.ask(client)?;
        let answers = self.hear(client, offer.tag, |out| CookieEcho { cookie: &offer.cookie }.emit(out));
        let answer = Packet::parse(answers.first()?, Checksum::Verify).unwrap();
        let first = answer.chunks().next()?.unwrap();
        (first.kind == kind::COOKIE_ACK).then_some(offer.tag)
    }

    fn held(&self, client: Client, tag: u32) -> Client {
        Client { tag, ..client }
    }
}

/// A client that comes, leaves data that nobody reads, and goes, again and again: what it leaves is held until it is read, so who holds
/// it has a place like an open association, of its source and of all.
#[test]
fn unread_messages_of_closed_associations_take_a_place() {
    for per_source in [false, true] {
        let mut z = Sleeper::new(|config| {
            if per_source {
                config.accept = AcceptConfig { max_per_source: 3, ..AcceptConfig::default() };
            } else {
                config.max_associations = 3;
            }
        });
        let come_and_go = |z: &mut Sleeper, address: u8, port: u16| {
            z.now += ms(10);
            let client = Client { address, port, tag: u32::from(port) };
            let Some(tag) = z.up(client) else { return false };
            for n in 0..20 {
                let payload = [7; 1000];
                let (tsn, ssn) = (Tsn::new(1 + n), Ssn::new(n as u16));
                let data = Data { flags: DataFlags::WHOLE, tsn, stream: 0, ssn, ppid: 0, payload: &payload };
                z.hear(client, tag, |out| data.emit(out));
            }
            z.hear(client, tag, |out| Abort { reflected_tag: false, causes: Causes::EMPTY }.emit(out));
            true
        };
        let admitted = (1..=100).filter(|port| come_and_go(&mut z, X, *port)).count();
        assert_eq!(admitted, 3, "per source: {per_source}");
        assert_eq!(come_and_go(&mut z, V, 1), per_source, "another source");
    }
}

/// A peer that restarts without end, while its user reads no events: they are bounded, and their counts are right in sum.
#[test]
fn a_peer_that_restarts_without_end() {
    let mut z = Sleeper::new(|_| {});
    let client = Client { address: X, port: 9, tag: 1 };
    z.up(client).unwrap();
    z.hear(client, 0, |_| {});
    let before = z.events.len();
    z.polls = false;
    let rounds = 5000;
    for tag in 2..2 + rounds {
        z.now += ms(1);
        let client = z.held(client, tag);
        let tag = z.up(client).unwrap();
        // A fragment that is lost with the next restart.
        let flags = DataFlags { ending: false, ..DataFlags::WHOLE };
        let data = Data { flags, tsn: Tsn::new(1), stream: 0, ssn: Ssn::new(0), ppid: 0, payload: &[7; 100] };
        z.hear(client, tag, |out| data.emit(out));
    }
    z.polls = true;
    z.hear(client, 0, |_| {});
    let told = &z.events[before..];
    assert!(told.len() <= 600, "{} events", told.len());
    let lost: u64 = told
        .iter()
        .map(|event| match event {
            Event::Restarted { received_bytes_lost, .. } => *received_bytes_lost,
            _ => 0,
        })
        .sum();
    assert_eq!(lost, 100 * u64::from(rounds - 1));
}

/// A peer that acknowledges nothing and restarts again and again: what is handed back to a user who does not take it is bounded, and the
/// newest is there.
#[test]
fn what_is_handed_back_is_bounded() {
    let config = Config::rfc9260().with(|c| {
        c.limits.send_buffer = 20_000;
        c.limits.receive_window = 10_000;
    });
    let mut z = Sleeper::listening(config, |_| {});
    let client = Client { address: X, port: 9, tag: 1 };
    z.up(client).unwrap();
    let id = z.ids[0];
    for round in 0..50_u8 {
        for n in 0..30 {
            let message = Message::new(n % 3, vec![round; 1000]);
            let sent = z.endpoint.association(id).unwrap().send(z.now, message);
            assert!(sent.is_ok() || sent == Err(SendError::Full));
        }
        z.hear(client, 0, |_| {});
        z.now += ms(10);
        let client = z.held(client, u32::from(round) + 2);
        z.up(client).unwrap();
    }
    let mut association = z.endpoint.association(id).unwrap();
    let unsent = std::iter::from_fn(|| association.receive_unsent()).collect::<Vec<_>>();
    let unacknowledged = std::iter::from_fn(|| association.receive_unacknowledged()).collect::<Vec<_>>();
    let bytes: usize = unsent.iter().chain(&unacknowledged).map(Undelivered::len).sum();
    assert!(bytes <= 2 * 20_000 + 10_000, "{bytes}");
    let newest = |all: Vec<Undelivered>| {
        let last = all.into_iter().map(Undelivered::into_bytes).filter(|bytes| bytes[..] == [49; 1000]);
        last.count()
    };
    assert!(newest(unsent) > 0 && newest(unacknowledged) > 0);
}

/// Every kind of chunk that asks for an answer, with the right tag, from an address that its peer only listed: nothing goes there but
/// HEARTBEAT ("An endpoint MUST NOT send any chunks to an UNCONFIRMED address", 5.4), and no more bytes than came from there.
#[test]
fn nothing_is_reflected_to_an_address_that_was_only_listed() {
    let info = vec![9; 1000];
    type Write<'a> = Box<dyn Fn(&mut Vec<u8>, u32) + 'a>;
    let mut unknown = vec![0xC5, 0, 0, 200];
    unknown.resize(200, 1);
    let requests: Vec<(&str, Write<'_>)> = vec![
        (
            "HEARTBEAT",
            Box::new(|out, _| {
                Heartbeat { info: HeartbeatInfo { info: &info } }.emit(HeartbeatKind::Request, out);
            }),
        ),
        ("DATA", Box::new(|out, n| data(TAG_X.wrapping_add(1000 + 2 * n), b"x").emit(out))),
        (
            "an invalid stream",
            Box::new(|out, n| {
                Data { stream: 60_000, ..data(TAG_X.wrapping_add(3 + 2 * n), b"x") }.emit(out);
            }),
        ),
        ("unknown", Box::new(|out, _| out.extend_from_slice(&unknown))),
        ("SACK", Box::new(|out, _| sack::emit(out, Tsn::new(1), 1000, &[], &[]))),
        ("COOKIE ACK", Box::new(|out, _| CookieAck.emit(out))),
        ("SHUTDOWN ACK", Box::new(|out, _| ShutdownAck.emit(out))),
        ("ERROR", Box::new(|out, _| ErrorChunk { causes: Causes::EMPTY }.emit(out))),
        ("no user data", Box::new(|out, n| data(TAG_X.wrapping_add(n), b"").emit(out))),
        ("SHUTDOWN", Box::new(|out, _| Shutdown { cumulative: Tsn::new(0) }.emit(out))),
    ];
    for (name, write) in requests {
        let mut net = Network::default();
        let z = net.add(1, "z", &[Z]);
        net.listen(z);
        net.throw(ip(X), ip(Z), init(TAG_X, &[ip(X), ip(V)]));
        net.run_for(ms(20));
        let offer = net.take(ip(X)).iter().find_map(Datagram::offer).unwrap();
        net.throw(ip(X), ip(Z), echo(&offer, TAG_X, b"hello"));
        net.run_for(ms(20));
        let id = net.association_with(z, ip(X)).unwrap();
        assert_eq!(net.state(z, id), State::Established);
        for n in 0..200 {
            // Out of the blue V gets the answer that anybody gets (8.4).
            if net.state(z, id) == State::Closed {
                break;
            }
            net.throw(ip(V), ip(Z), packet(offer.tag, |out| write(out, n)));
            net.run_for(ms(20));
        }
        net.run_for(ms(60_000));
        let to_v = net.sent_to(ip(V));
        assert!(to_v.iter().all(|kinds| kinds == &[kind::HEARTBEAT]), "{name}: {to_v:?}");
        assert!(to_v.len() <= 7, "{name}: {} packets", to_v.len());
    }
}

/// A peer lists as many addresses as fit and echoes its cookie, and copies of it, from each: each of them gets a few HEARTBEATs, fewer
/// bytes than came in its name, and the association keeps no path for each copy.
#[test]
fn cookies_from_many_listed_addresses() {
    let mut net = Network::default();
    let z = net.add(1, "z", &[Z]);
    net.listen(z);
    let victims: Vec<_> = (100..200).map(ip).collect();
    let listed: Vec<_> = std::iter::once(ip(X)).chain(victims.iter().copied()).collect();
    net.throw(ip(X), ip(Z), init(TAG_X, &listed));
    net.run_for(ms(20));
    let offer = net.take(ip(X)).iter().find_map(Datagram::offer).unwrap();
    let bytes = echo(&offer, TAG_X, b"hello");
    let mut thrown = 0;
    for _ in 0..20 {
        for victim in &victims {
            net.throw(*victim, ip(Z), bytes.clone());
            thrown += bytes.len();
            net.run_for(ms(1));
        }
    }
    net.run_for(ms(600_000));
    let mut sent = 0;
    for victim in &victims {
        let to_v: Vec<_> = net.log.iter().filter(|d| d.to == *victim).collect();
        assert!(to_v.iter().all(|d| d.kinds() == [kind::HEARTBEAT]));
        assert!(to_v.len() <= 20, "{} packets", to_v.len());
        sent += to_v.iter().map(|d| d.bytes.len()).sum::<usize>();
    }
    assert!(sent < thrown, "{sent} bytes for {thrown}");
    let id = net.hosts[z].events[0].0;
    let paths = net.hosts[z].endpoint.view(id).unwrap().snapshot().paths.len();
    assert!(paths <= 101, "{paths} paths");
}
