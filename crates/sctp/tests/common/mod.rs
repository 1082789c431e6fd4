//! Two endpoints in virtual time, a wire with a fixed latency between them, and a log of every packet.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part of the harness")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

pub mod script;
pub mod single_loss;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng, Transmit};
use anabranch_sctp::config::SubflowLevel;
use anabranch_sctp::{
    AssociationId, Config, Endpoint, EndpointConfig, Event, IcmpError, Message, Received, SubflowSpec,
};
use anabranch_wire::chunk::{Chunk, Data};
use anabranch_wire::{Checksum, Packet};
use bytes::Bytes;

/// The two sides, as RFC 9260 draws them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    A,
    Z,
}

impl Side {
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::Z,
            Self::Z => Self::A,
        }
    }
}

/// A packet that was sent.
#[derive(Clone, Debug)]
pub struct Logged {
    pub at: Instant,
    pub from: Side,
    pub dscp: Dscp,
    /// As it left.
    pub ecn: Ecn,
    pub bytes: Vec<u8>,
    pub dropped: bool,
    /// The network must not fragment it.
    pub dont_fragment: bool,
}

impl Logged {
    /// Chunk names in order, DATA with its TSN relative to nothing: `INIT`, `DATA 17`, `SACK 16 [2-3]`.
    pub fn words(&self) -> Vec<String> {
        let packet = Packet::parse(&self.bytes, Checksum::Ignore).unwrap();
        packet.chunks().map(|raw| word(&Chunk::parse(raw.unwrap()).unwrap())).collect()
    }

    pub fn data(&self) -> Vec<Data<'_>> {
        let packet = Packet::parse(&self.bytes, Checksum::Ignore).unwrap();
        packet
            .chunks()
            .filter_map(|raw| match Chunk::parse(raw.unwrap()).unwrap() {
                Chunk::Data(data) => Some(data),
                _ => None,
            })
            .collect()
    }

    /// Chunk types in order.
    pub fn kinds(&self) -> Vec<u8> {
        let packet = Packet::parse(&self.bytes, Checksum::Ignore).unwrap();
        packet.chunks().map(|raw| raw.unwrap().kind).collect()
    }

    /// FIDs of the data it carries, with the first sequence number of each chunk.
    pub fn fids(&self) -> Vec<(u8, u32)> {
        let packet = Packet::parse(&self.bytes, Checksum::Ignore).unwrap();
        packet
            .chunks()
            .filter_map(|raw| match Chunk::parse(raw.unwrap()).unwrap() {
                Chunk::SfData(data) => Some((data.fid, data.stsn.get())),
                Chunk::IData(data) => Some((0, data.tsn.get())),
                _ => None,
            })
            .collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.words().iter().any(|w| w.split(' ').next() == Some(name))
    }
}

fn word(chunk: &Chunk<'_>) -> String {
    match chunk {
        Chunk::Data(d) => format!("DATA {}", d.tsn),
        Chunk::Sack(s) => {
            let gaps: Vec<String> = s.gaps().map(|g| format!("{}-{}", g.start, g.end)).collect();
            if gaps.is_empty() {
                format!("SACK {}", s.cumulative)
            } else {
                format!("SACK {} [{}]", s.cumulative, gaps.join(" "))
            }
        }
        Chunk::Init(_) => "INIT".into(),
        Chunk::InitAck(_) => "INIT-ACK".into(),
        Chunk::CookieEcho(_) => "COOKIE-ECHO".into(),
        Chunk::CookieAck(_) => "COOKIE-ACK".into(),
        Chunk::Heartbeat(_) => "HEARTBEAT".into(),
        Chunk::HeartbeatAck(_) => "HEARTBEAT-ACK".into(),
        Chunk::Abort(_) => "ABORT".into(),
        Chunk::Shutdown(_) => "SHUTDOWN".into(),
        Chunk::ShutdownAck(_) => "SHUTDOWN-ACK".into(),
        Chunk::ShutdownComplete(_) => "SHUTDOWN-COMPLETE".into(),
        Chunk::Error(_) => "ERROR".into(),
        Chunk::IData(d) => format!("I-DATA {}", d.tsn),
        Chunk::ReConfig(_) => "RE-CONFIG".into(),
        Chunk::Pad(_) => "PAD".into(),
        Chunk::SfSack(_) => "SF-SACK".into(),
        Chunk::Ecne(ecne) => format!("ECNE {} {}", ecne.tsn, ecne.marked()),
        Chunk::Cwr(cwr) => format!("CWR {}", cwr.tsn),
        _ => "OTHER".into(),
    }
}

type Drop = Box<dyn FnMut(&Logged) -> bool>;
type Delay = Box<dyn Fn(&Logged) -> Duration>;
type Field = Box<dyn FnMut(&Logged) -> Ecn>;
type Tamper = Box<dyn FnMut(Side, &mut Vec<u8>)>;

/// Everything of a test.
pub struct Pair {
    pub now: Instant,
    pub latency: Duration,
    /// One-way delays of packets from A with a code point of their own.
    pub latency_of: BTreeMap<Dscp, Duration>,
    pub a: Endpoint,
    pub z: Endpoint,
    pub log: Vec<Logged>,
    pub events: Vec<(Side, AssociationId, Event)>,
    pub received: Vec<(Side, Received)>,
    /// Messages that Z sends on stream 0 as soon as it has accepted, before it shuts down: their number, and bytes of
    /// each.
    pub offer: Option<(usize, usize)>,
    /// True for each side whose user reads at once.
    pub reads: [bool; 2],
    /// Messages that come in parts are shown in parts, and not joined.
    pub parts: bool,
    /// Associations with an event: their messages are read.
    seen: BTreeSet<(u8, AssociationId)>,
    unfinished: BTreeMap<(u8, AssociationId), Vec<Received>>,
    pub max_packets: usize,
    closing: Option<AssociationId>,
    in_flight: BTreeMap<(Instant, u64), (Side, Ecn, Vec<u8>)>,
    sequence: u64,
    drop: Drop,
    delay: Option<Delay>,
    tamper: Option<Tamper>,
    field: Option<Field>,
    /// The largest IP packet that the network carries, which drops what is larger and must not be fragmented.
    pub carries: Option<usize>,
    /// Routers say so (ICMP).
    pub routers_answer: bool,
    icmp: Vec<(Instant, Side, Vec<u8>)>,
}

pub const PORT: u16 = 5000;

pub fn address(side: Side) -> SocketAddr {
    match side {
        Side::A => ([10, 0, 0, 1], 0).into(),
        Side::Z => ([10, 0, 0, 2], 0).into(),
    }
}

pub fn meta(from: Side) -> Meta {
    Meta { source: address(from), destination: address(from.other()), dscp: Dscp::DEFAULT, ecn: Ecn::NotEct }
}

/// An ICMP message of IPv4 that quotes a packet from one side.
pub fn icmp_message(from: Side, kind: u8, code: u8, mtu: u16, quoted: &[u8]) -> Vec<u8> {
    let [hi, lo] = mtu.to_be_bytes();
    let mut message = vec![kind, code, 0, 0, 0, 0, hi, lo];
    let mut ip = [0; 20];
    (ip[0], ip[9]) = (0x45, 132);
    for (place, side) in [(12, from), (16, from.other())] {
        let std::net::IpAddr::V4(address) = address(side).ip() else { panic!("IPv4") };
        ip[place..place + 4].copy_from_slice(&address.octets());
    }
    message.extend_from_slice(&ip);
    message.extend_from_slice(quoted);
    message
}

/// "Fragmentation Needed"; as every router must, it quotes eight bytes.
fn too_big_message(from: Side, mtu: u16, packet: &[u8]) -> Vec<u8> {
    icmp_message(from, 3, 4, mtu, &packet[..8])
}

/// Takes back a coupling that the controller of a profile does not know.
pub fn uncouple(config: &mut Config) {
    use anabranch_sctp::config::{CongestionControl, Coupling};
    let coupling = config.subflows.coupling;
    let coupled = !matches!(coupling, Coupling::Independent | Coupling::Shared);
    if coupled && config.congestion.control != CongestionControl::RENO {
        config.subflows.coupling = Coupling::Independent;
    }
}

/// So many subflows with a code point each, stream `i` on subflow `i`.
pub fn subflow_config(level: SubflowLevel, subflows: u8) -> Config {
    let spec = |index: u8| SubflowSpec {
        streams: vec![u16::from(index)],
        ..SubflowSpec::new(Dscp::new(index).unwrap())
    };
    Config::rfc9260().with(|c| {
        c.subflows.level = level;
        c.subflows.open = (0..subflows).map(spec).collect();
        c.limits.send_buffer = 4 << 20;
    })
}

/// Joins the parts of messages: a message that is whole now. `unfinished` are those of which more is to come.
pub fn joined(unfinished: &mut Vec<Received>, mut next: Received) -> Option<Received> {
    for index in 0..unfinished.len() {
        match unfinished[index].join(next) {
            Ok(()) => return unfinished[index].is_end().then(|| unfinished.swap_remove(index)),
            Err(another) => next = another,
        }
    }
    if next.is_end() {
        return Some(next);
    }
    unfinished.push(next);
    None
}

impl Pair {
    /// A connects with one configuration, Z listens with another; the association is up.
    pub fn between(seed: u64, a: &Config, z: &Config) -> (Self, AssociationId, AssociationId) {
        let mut pair = Self::sealed(seed);
        pair.z.listen(Arc::new(z.clone())).unwrap();
        let id = pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(a.clone())).unwrap();
        pair.run_for(Duration::from_millis(200));
        let z = pair.id_of(Side::Z);
        assert!(pair.saw(Side::A, |e| matches!(e, Event::Established { .. })), "{:?}", pair.events);
        (pair, id, z)
    }

    /// `count` messages of `len` bytes on each of the first streams, numbered.
    pub fn send_all(&mut self, side: Side, id: AssociationId, streams: u16, count: u32, len: usize) {
        for n in 0..count {
            for stream in 0..streams {
                self.send_numbered(side, id, stream, n, len);
            }
        }
    }

    pub fn send_numbered(&mut self, side: Side, id: AssociationId, stream: u16, n: u32, len: usize) {
        let mut payload = vec![stream as u8; len];
        payload[..4].copy_from_slice(&n.to_be_bytes());
        self.send(side, id, stream, &payload);
    }

    /// Messages received on each stream; each message came once, in order.
    #[track_caller]
    pub fn in_order(&self, side: Side) -> BTreeMap<u16, u32> {
        let mut next = BTreeMap::new();
        for (to, message) in &self.received {
            if *to != side {
                continue;
            }
            let bytes = message.clone().into_bytes();
            let n = u32::from_be_bytes(bytes[..4].try_into().unwrap());
            let expected = next.entry(message.stream).or_insert(0_u32);
            assert_eq!(n, *expected, "stream {}", message.stream);
            assert!(bytes[4..].iter().all(|byte| *byte == message.stream as u8));
            *expected += 1;
        }
        next
    }

    /// Every message of every stream arrived, once, in order.
    #[track_caller]
    pub fn check_all(&self, side: Side, streams: u16, count: u32) {
        let got = self.in_order(side);
        assert_eq!(got, (0..streams).map(|stream| (stream, count)).collect::<BTreeMap<_, _>>());
    }

    pub fn new(seed: u64) -> Self {
        Self::with(seed, false)
    }

    /// On a network without strangers.
    pub fn sealed(seed: u64) -> Self {
        Self::with(seed, true)
    }

    fn with(seed: u64, sealed: bool) -> Self {
        let endpoint = |side: Side, name| {
            let config = EndpointConfig {
                allow_private_encodings: sealed,
                ..EndpointConfig::new(address(side), PORT).keeping_closed()
            };
            Endpoint::new(config, Rng::stream(seed, name, "endpoint").secret())
        };
        Self {
            now: Instant::ZERO,
            latency: Duration::from_millis(10),
            latency_of: BTreeMap::new(),
            a: endpoint(Side::A, "a"),
            z: endpoint(Side::Z, "z"),
            log: Vec::new(),
            events: Vec::new(),
            received: Vec::new(),
            offer: None,
            closing: None,
            reads: [true, true],
            parts: false,
            seen: BTreeSet::new(),
            unfinished: BTreeMap::new(),
            max_packets: 1,
            in_flight: BTreeMap::new(),
            sequence: 0,
            drop: Box::new(|_| false),
            delay: None,
            tamper: None,
            field: None,
            carries: None,
            routers_answer: false,
            icmp: Vec::new(),
        }
    }

    /// Z listens and A connects with the same configuration; nothing has been sent yet.
    pub fn connecting(seed: u64, config: &Config) -> (Self, AssociationId) {
        let mut pair = Self::with(seed, config.subflows.level == SubflowLevel::Sf2007);
        let config = Arc::new(config.clone());
        pair.z.listen(Arc::clone(&config)).unwrap();
        let id = pair.a.connect(pair.now, address(Side::Z), PORT, config).unwrap();
        (pair, id)
    }

    /// The association is up on both sides: A's id and Z's id.
    pub fn established(seed: u64, config: &Config) -> (Self, AssociationId, AssociationId) {
        let (mut pair, a) = Self::connecting(seed, config);
        pair.run_for(Duration::from_millis(200));
        let z = pair.id_of(Side::Z);
        assert!(pair.saw(Side::A, |e| matches!(e, Event::Established { .. })), "{:?}", pair.events);
        pair.log.clear();
        (pair, a, z)
    }

    pub fn endpoint(&mut self, side: Side) -> &mut Endpoint {
        match side {
            Side::A => &mut self.a,
            Side::Z => &mut self.z,
        }
    }

    pub fn id_of(&self, side: Side) -> AssociationId {
        self.events.iter().rev().find(|(s, ..)| *s == side).map(|(_, id, _)| *id).unwrap()
    }

    pub fn saw(&self, side: Side, what: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(|(s, _, e)| *s == side && what(e))
    }

    /// Sets the packets that the network loses from now on.
    pub fn drop_if(&mut self, drop: impl FnMut(&Logged) -> bool + 'static) {
        self.drop = Box::new(drop);
    }

    /// A link of `rate` bits per second and `delay` in each direction from now on; packets count with an IP header.
    pub fn link(&mut self, rate: u64, delay: Duration) {
        let free = [Cell::new(Instant::ZERO), Cell::new(Instant::ZERO)];
        self.delay_by(move |p| {
            let free = &free[p.from as usize];
            let bits = 8 * (p.bytes.len() as u64 + 20);
            let sent = free.get().max(p.at) + Duration::from_nanos(bits * 1_000_000_000 / rate);
            free.set(sent);
            sent + delay - p.at
        });
    }

    /// Sets the delay of each packet from now on.
    pub fn delay_by(&mut self, delay: impl Fn(&Logged) -> Duration + 'static) {
        self.delay = Some(Box::new(delay));
    }

    /// Somebody in the network changes packets from now on; the checksum is made right again.
    pub fn tamper(&mut self, tamper: impl FnMut(Side, &mut Vec<u8>) + 'static) {
        self.tamper = Some(Box::new(tamper));
    }

    pub fn send(&mut self, side: Side, id: AssociationId, stream: u16, payload: &[u8]) {
        let now = self.now;
        let message = Message::new(stream, Bytes::copy_from_slice(payload));
        self.endpoint(side).association(id).unwrap().send(now, message).unwrap();
    }

    /// Hands in a packet as if the other side had sent it.
    pub fn inject(&mut self, from: Side, bytes: &[u8]) {
        self.inject_with(from, Ecn::NotEct, bytes);
    }

    /// The same with a field of its own.
    pub fn inject_with(&mut self, from: Side, ecn: Ecn, bytes: &[u8]) {
        let now = self.now;
        self.endpoint(from.other()).handle_datagram(now, Meta { ecn, ..meta(from) }, bytes);
    }

    /// Sets the ECN field that each packet has when it arrives, from now on.
    pub fn field_is(&mut self, field: impl FnMut(&Logged) -> Ecn + 'static) {
        self.field = Some(Box::new(field));
    }

    /// Routers mark the ECN-capable packets for which this is true, from now on.
    pub fn mark_if(&mut self, mut mark: impl FnMut(&Logged) -> bool + 'static) {
        self.field_is(move |p| if p.ecn != Ecn::NotEct && mark(p) { Ecn::Ce } else { p.ecn });
    }

    /// Hands in an ICMP message of IPv4 about a packet of that side's.
    pub fn inject_icmp(&mut self, to: Side, message: &[u8]) {
        let now = self.now;
        let error = IcmpError::parse_v4(message).unwrap();
        self.endpoint(to).handle_icmp(now, &error);
    }

    /// Takes everything that wants to leave, delivers events, reads messages.
    pub fn pump(&mut self) {
        for side in [Side::A, Side::Z] {
            loop {
                let mut progress = false;
                let (now, max) = (self.now, self.max_packets);
                let mut buf = Vec::new();
                let mut count = 0;
                while let Some(transmit) = self.endpoint(side).poll_transmit(now, max, &mut buf) {
                    count += 1;
                    assert!(
                        count < 100_000,
                        "packets without end at {now}: {:?}",
                        self.log.last().map(Logged::words)
                    );
                    assert_eq!(transmit.size, buf.len());
                    assert_eq!(transmit.destination, address(side.other()));
                    for packet in buf.chunks(transmit.segment_size) {
                        self.transmit(side, &transmit, packet.to_vec());
                    }
                    buf.clear();
                    progress = true;
                }
                if let Some(id) = self.closing.take() {
                    let now = self.now;
                    self.z.association(id).unwrap().shutdown(now);
                }
                while let Some((id, event)) = self.endpoint(side).poll_event() {
                    let accepted = matches!(event, Event::Accepted { .. });
                    self.seen.insert((side as u8, id));
                    self.events.push((side, id, event));
                    if let Some((count, len)) = self.offer.filter(|_| accepted && side == Side::Z) {
                        for _ in 0..count {
                            self.send(side, id, 0, &vec![7; len]);
                        }
                        // Packets that may leave at once leave before the user closes.
                        self.closing = Some(id);
                    }
                    progress = true;
                }
                if self.reads[side as usize] {
                    let ids: Vec<_> =
                        self.seen.iter().filter(|(s, _)| *s == side as u8).map(|(_, id)| *id).collect();
                    for id in ids {
                        let endpoint = match side {
                            Side::A => &mut self.a,
                            Side::Z => &mut self.z,
                        };
                        let Some(mut association) = endpoint.association(id) else { continue };
                        let unfinished = self.unfinished.entry((side as u8, id)).or_default();
                        while let Some(message) = association.receive() {
                            progress = true;
                            let message =
                                if self.parts { Some(message) } else { joined(unfinished, message) };
                            self.received.extend(message.map(|message| (side, message)));
                        }
                    }
                }
                if !progress {
                    break;
                }
            }
        }
        self.watch_both();
    }

    /// P6 and P7, of ends that are those of one association: each has the other's tags.
    fn watch_both(&self) {
        let ends = |side: Side| {
            let endpoint = if side == Side::A { &self.a } else { &self.z };
            let ids = self.seen.iter().filter(move |(one, _)| *one == side as u8);
            ids.filter_map(|(_, id)| endpoint.view(*id)).map(|end| (end.state(), end.tags()))
        };
        for (a, tags) in ends(Side::A) {
            for (z, peers) in ends(Side::Z).filter(|(_, peers)| *peers == (tags.1, tags.0)) {
                let said = anabranch_sctp::properties::both(a, z);
                assert_eq!(said, Ok(()), "at {}: {tags:?}, {peers:?}", self.now);
            }
        }
    }

    fn transmit(&mut self, from: Side, transmit: &Transmit, mut bytes: Vec<u8>) {
        let Transmit { dscp, ecn, dont_fragment, .. } = *transmit;
        if let Some(tamper) = &mut self.tamper {
            tamper(from, &mut bytes);
            bytes[8..12].fill(0);
            let sum = anabranch_wire::crc32c::packet_checksum(&bytes);
            bytes[8..12].copy_from_slice(&anabranch_wire::crc32c::store(sum));
        }
        let mut logged = Logged { at: self.now, from, dscp, ecn, bytes, dropped: false, dont_fragment };
        logged.dropped = (self.drop)(&logged);
        let too_big = self.carries.is_some_and(|mtu| logged.bytes.len() + 20 > mtu) && dont_fragment;
        if too_big && self.routers_answer && !logged.dropped {
            let mtu = self.carries.unwrap_or_default() as u16;
            self.icmp.push((self.now + self.latency, from, too_big_message(from, mtu, &logged.bytes)));
        }
        logged.dropped |= too_big;
        if !logged.dropped {
            self.sequence += 1;
            let own = self.latency_of.get(&dscp).filter(|_| from == Side::A).copied();
            let latency = own.unwrap_or(self.latency);
            let latency = self.delay.as_ref().map_or(latency, |delay| delay(&logged));
            let arrives = match &mut self.field {
                Some(field) => field(&logged),
                None => ecn,
            };
            self.in_flight.insert((self.now + latency, self.sequence), (from, arrives, logged.bytes.clone()));
        }
        self.log.push(logged);
    }

    /// The next thing that happens, if it happens before `limit`.
    pub fn step(&mut self, limit: Instant) -> bool {
        self.pump();
        let arrival = self.in_flight.keys().next().map(|k| k.0);
        let timer = [self.a.poll_timeout(), self.z.poll_timeout()].into_iter().flatten().map(|t| t.0).min();
        let icmp = self.icmp.first().map(|(at, ..)| *at);
        let Some(next) = arrival.into_iter().chain(timer).chain(icmp).min() else { return false };
        if next > limit {
            return false;
        }
        assert!(next >= self.now, "time went back: {next} before {}", self.now);
        self.now = next;
        while self.icmp.first().is_some_and(|(at, ..)| *at <= next) {
            let (_, to, message) = self.icmp.remove(0);
            self.inject_icmp(to, &message);
            self.pump();
        }
        while let Some(entry) = self.in_flight.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (from, ecn, bytes) = entry.remove();
            self.inject_with(from, ecn, &bytes);
            self.pump();
        }
        let now = self.now;
        self.a.handle_timeout(now);
        self.z.handle_timeout(now);
        self.pump();
        true
    }

    pub fn run_for(&mut self, duration: Duration) {
        let limit = self.now + duration;
        let mut steps = 0;
        while self.step(limit) {
            steps += 1;
            assert!(steps < 3_000_000, "livelock at {}", self.now);
        }
        self.now = limit;
    }

    /// `A: INIT`, `Z: INIT-ACK`, ...: one line a packet, lost ones marked with `x`.
    pub fn ladder(&self) -> Vec<String> {
        self.log
            .iter()
            .map(|p| format!("{:?}{} {}", p.from, if p.dropped { "x" } else { ":" }, p.words().join(" + ")))
            .collect()
    }

    /// The ladder without TSNs.
    pub fn names(&self) -> Vec<String> {
        self.log
            .iter()
            .map(|p| {
                let words: Vec<String> =
                    p.words().iter().map(|w| w.split(' ').next().unwrap_or_default().to_owned()).collect();
                format!("{:?}{} {}", p.from, if p.dropped { "x" } else { ":" }, words.join(" + "))
            })
            .collect()
    }
}
