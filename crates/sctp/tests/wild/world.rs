//! Two endpoints with a clock each, their users, strangers, and a network that does everything that networks do.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng};
use anabranch_sctp::{
    Association, AssociationId, ChangeError, CloseReason, Direction, Endpoint, EndpointConfig, Event,
    IcmpError, Message, MessageId, MessageOptions, Received, Reliability, State, SubflowSpec, properties,
};
use anabranch_wire::crc32c;
use bytes::Bytes;

use crate::common::{PORT, Side, address, icmp_message, joined};
use crate::plan::{More, Plan};

const SIDES: [Side; 2] = [Side::A, Side::Z];
/// Data byte of a stranger's messages.
const EVIL: u8 = 0xEE;
const HEADER: usize = 8;
/// UDP port at which side Z listens.
const UDP: u16 = 9899;

/// A message as its user knows it: stream, whether unordered, number.
type Name = (u16, bool, u32);

/// Fate of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Delivered,
    /// Given up; whether a part of it had been sent.
    Abandoned(bool),
    Failed,
}

/// Commands and events of one user, whatever became of the endpoints below.
#[derive(Debug, Default)]
struct User {
    /// Incarnation of the endpoint.
    epoch: u8,
    ids: Vec<AssociationId>,
    sent: u64,
    next_out: BTreeMap<u16, u32>,
    unordered_out: u32,
    /// By incarnation of the sender and stream.
    next_in: BTreeMap<(u8, u16), u32>,
    unordered_in: BTreeSet<(u8, u32)>,
    closed: BTreeMap<AssociationId, CloseReason>,
    /// Those that were ever up.
    up: BTreeSet<AssociationId>,
    unfinished: BTreeMap<AssociationId, Vec<Received>>,
    paused: bool,
    dropped: usize,
    /// Its clock is ahead by so much, nanoseconds.
    ahead: i64,
    /// Messages that may be given up.
    spared: BTreeSet<Name>,
    /// Those whose fate was asked for, and their fates.
    asked: BTreeMap<(AssociationId, MessageId), Name>,
    fates: BTreeMap<(AssociationId, MessageId), Fate>,
    /// Those that were given up before a part of them had left.
    never_left: BTreeSet<Name>,
    /// Those of the peer that came, where messages may be given up.
    heard: BTreeSet<Name>,
}

#[derive(Clone, Debug)]
struct Carried {
    from: SocketAddr,
    to: usize,
    ecn: Ecn,
    bytes: Vec<u8>,
}

pub(crate) struct World {
    plan: Plan,
    rng: Rng,
    seed: u64,
    /// The most that an association with a receive window of 32 KiB or more held, in thousandths of 2 x (send buffers + receive window).
    most_held: Cell<u64>,
    /// The most subflows that each association has had: messages handed back at a restart are of all of them.
    most_subflows: RefCell<BTreeMap<(usize, AssociationId), u64>>,
    now: Instant,
    ends: [Endpoint; 2],
    users: [User; 2],
    wire: BTreeMap<(Instant, u64), Carried>,
    past: Vec<Carried>,
    sequence: u64,
    steps: u64,
}

fn end(seed: u64, side: usize, epoch: u8, plan: &Plan) -> Endpoint {
    let told = EndpointConfig {
        allow_private_encodings: true,
        ..EndpointConfig::new(address(SIDES[side]), PORT).keeping_closed()
    };
    let name = format!("{side} {epoch}");
    let mut end = Endpoint::new(told, Rng::stream(seed, &name, "wild").secret());
    end.listen(Arc::new(plan.config.clone())).unwrap();
    end
}

/// Offset of the list of supported extensions in a packet with an INIT: among its parameters, as tags and first TSNs
/// may be any number.
fn place_of_extensions(bytes: &[u8]) -> Option<usize> {
    let mut at = 32;
    loop {
        let head = bytes.get(at..at + 4)?;
        if head[..2] == [0x80, 0x08] {
            return Some(at);
        }
        at += usize::from(u16::from_be_bytes([head[2], head[3]])).max(4).next_multiple_of(4);
    }
}

fn seal(bytes: &mut [u8]) {
    bytes[8..12].fill(0);
    let sum = crc32c::packet_checksum(bytes);
    bytes[8..12].copy_from_slice(&crc32c::store(sum));
}

impl World {
    /// The value of `most_held`.
    pub(crate) fn most_held(&self) -> u64 {
        self.most_held.get()
    }

    pub(crate) fn new(seed: u64, plan: Plan, rng: Rng) -> Self {
        let mut world = Self {
            rng,
            seed,
            most_held: Cell::default(),
            most_subflows: RefCell::default(),
            now: Instant::ZERO + Duration::from_secs(10),
            ends: [end(seed, 0, 0, &plan), end(seed, 1, 0, &plan)],
            users: Default::default(),
            wire: BTreeMap::new(),
            past: Vec::new(),
            sequence: 0,
            steps: 0,
            plan,
        };
        world.connect(0);
        if world.plan.both_connect {
            world.connect(1);
        }
        world
    }

    /// Address from which the packets of a side seem to come.
    fn seen_at(&self, s: usize) -> SocketAddr {
        let mut at = address(SIDES[s]);
        if let Some(port) = self.plan.boxes.as_ref().and_then(|boxes| boxes.port) {
            at.set_port(if s == 0 { port } else { UDP });
        }
        at
    }

    /// True if a packet to an address comes to that side. A NAT may know a port that it gives to nothing new any
    /// more.
    fn leads_to(&mut self, s: usize, to: SocketAddr) -> bool {
        let at = self.seen_at(s);
        let Some(boxes) = &mut self.plan.boxes else { return true };
        to == at || (to.port() != 0 && boxes.port.is_some() && boxes.rng.chance(0.5))
    }

    fn connect(&mut self, s: usize) {
        let (now, config) = (self.clock(s), Arc::new(self.plan.config.clone()));
        let to = self.seen_at(1 - s);
        if let Ok(id) = self.ends[s].connect(now, to, PORT, config) {
            self.users[s].ids.push(id);
        }
    }

    /// The time as an endpoint knows it.
    fn clock(&self, s: usize) -> Instant {
        Instant::from_nanos(self.now.as_nanos().saturating_add_signed(self.users[s].ahead))
    }

    fn healed(&self) -> bool {
        self.now >= self.plan.heals_at
    }

    fn association(&self, s: usize, id: AssociationId) -> Option<&Association> {
        self.ends[s].view(id)
    }

    /// True if the association is one with the other side, and not with a stranger.
    fn is_peer(&self, s: usize, id: AssociationId) -> bool {
        let remote = self.association(s, id).and_then(Association::remote);
        remote.is_some_and(|remote| remote.ip() == address(SIDES[1 - s]).ip())
    }

    /// The association with the peer that is not closed.
    fn current(&self, s: usize) -> Option<(AssociationId, State)> {
        let all = self.users[s].ids.iter().rev();
        let mut open = all.filter_map(|id| Some((*id, self.association(s, *id)?.state())));
        open.find(|(id, state)| *state != State::Closed && self.is_peer(s, *id))
    }

    fn pump(&mut self) {
        for s in [0, 1] {
            for round in 0.. {
                assert!(round < 10_000, "output without end at {}", self.now);
                let now = self.clock(s);
                let (mut progress, mut bytes) = (false, Vec::new());
                while let Some(transmit) = self.ends[s].poll_transmit(now, 1, &mut bytes) {
                    progress = true;
                    let packet = std::mem::take(&mut bytes);
                    let most = self.plan.config.max_packet() as usize;
                    assert!(packet.len() <= most, "{} bytes of {most} at {now}: {packet:02x?}", packet.len());
                    if transmit.destination.ip() == address(SIDES[1 - s]).ip() {
                        if self.leads_to(1 - s, transmit.destination) {
                            self.carry(s, transmit.ecn, packet);
                        }
                    } else {
                        self.answer(s, transmit.destination, &packet);
                    }
                }
                while let Some((id, event)) = self.ends[s].poll_event() {
                    progress = true;
                    self.on_event(s, id, event);
                }
                progress |= self.read(s);
                if !progress {
                    break;
                }
            }
            self.watch(s);
        }
        if self.plan.honest {
            let [a, z] = [0, 1].map(|s| self.current(s).map_or(State::Closed, |(_, state)| state));
            assert_eq!(properties::both(a, z), Ok(()), "at {}", self.now);
        }
    }

    fn on_event(&mut self, s: usize, id: AssociationId, event: Event) {
        let honest = self.plan.honest;
        let stranger = !self.is_peer(s, id);
        let user = &mut self.users[s];
        if !user.ids.contains(&id) {
            let peer = address(SIDES[1 - s]).ip();
            // A side that gave up in COOKIE-WAIT may still be called by the other.
            let gave_up = |id: &AssociationId| user.closed.get(id) == Some(&CloseReason::AbortedLocally);
            let mut known =
                user.ids.iter().filter(|id| !gave_up(id)).filter_map(|id| self.ends[s].view(*id)?.remote());
            let second = !stranger && known.any(|remote| remote.ip() == peer);
            assert!(!honest || !second, "a second association with the same peer: {event:?}");
            // A peer that has not heard that the first was up, nor that its user aborted it, is told that its cookie is stale, begins
            // another one, and sends the messages that were never acknowledged: each association delivers a message once.
            if !stranger && user.closed.values().any(|reason| *reason == CloseReason::AbortedLocally) {
                user.next_in.clear();
                user.unordered_in.clear();
            }
            user.ids.push(id);
        }
        if matches!(event, Event::Accepted { .. } | Event::Established { .. }) {
            user.up.insert(id);
        }
        match event {
            Event::Closed(reason) => {
                assert!(user.closed.insert(id, reason).is_none(), "closed twice");
            }
            Event::StreamsReduced { messages_dropped } => user.dropped += messages_dropped,
            Event::Restarted { .. } => {
                assert!(!honest || stranger, "nobody has restarted");
            }
            Event::PartialDeliveryAborted { .. } => {
                assert!(!honest || stranger || self.plan.partial > 0.0, "{event:?}");
            }
            Event::Delivered { message, .. } => user.becomes(id, message, Fate::Delivered),
            Event::Abandoned { message, sent, .. } => user.becomes(id, message, Fate::Abandoned(sent)),
            Event::Failed { message, .. } => user.becomes(id, message, Fate::Failed),
            _ => assert!(!user.closed.contains_key(&id), "{event:?} after the end"),
        }
    }

    fn read(&mut self, s: usize) -> bool {
        if self.users[s].paused && !self.healed() {
            return false;
        }
        let mut progress = false;
        for id in self.users[s].ids.clone() {
            let (honest, peer) = (self.plan.honest, self.is_peer(s, id));
            loop {
                let Some(mut association) = self.ends[s].association(id) else { break };
                let Some(received) = association.receive() else { break };
                drop(association);
                progress = true;
                // A message whose first part is gone with a restart cannot be judged.
                if received.part.is_some() && !honest {
                    continue;
                }
                let unfinished = self.users[s].unfinished.entry(id).or_default();
                let Some(received) = joined(unfinished, received) else { continue };
                if peer && self.plan.corrupt == 0.0 {
                    let strict = honest && !self.gave_up(1 - s);
                    let [a, z] = &mut self.users;
                    let (user, sender) = if s == 0 { (a, &*z) } else { (z, &*a) };
                    user.heard(received, sender, strict, self.plan.largest);
                }
            }
        }
        progress
    }

    /// True if a side has closed an association on its own: the messages that waited in it are gone, and the next
    /// association goes on behind them.
    fn gave_up(&self, s: usize) -> bool {
        self.users[s].closed.values().any(|reason| *reason == CloseReason::AbortedLocally)
    }

    fn watch(&self, s: usize) {
        for id in &self.users[s].ids {
            let Some(association) = self.association(s, *id) else { continue };
            if association.state() != State::Closed {
                assert_eq!(association.audit(), Ok(()), "side {s} at {} {:?}", self.now, self.plan);
                self.watch_memory(s, *id, association);
            }
        }
    }

    /// 2 x (send buffers + receive window), and the additions that are allowed ("Bounds on memory", docs/explanation/engines.md).
    fn watch_memory(&self, s: usize, id: AssociationId, association: &Association) {
        let (held, bound) = association.holdings();
        let window = u64::from(association.configuration().limits.receive_window);
        let mut most_subflows = self.most_subflows.borrow_mut();
        let subflows = most_subflows.entry((s, id)).or_default();
        *subflows = (*subflows).max(association.snapshot().subflows.len() as u64);
        // A packet under way for each space, a message that exceeds each buffer, numbers of the last one that each has given up.
        let each = u64::from(self.plan.config.mtu) + self.plan.largest + 16_000;
        let least_room = (96_u64 << 10).saturating_sub(2 * window) * u64::from(window < 32 << 10);
        let most = bound + least_room + *subflows * each;
        assert!(held <= most, "{held} bytes of {most} on side {s} at {}: {:?}", self.now, self.plan);
        if window >= 32 << 10 {
            self.most_held.set(self.most_held.get().max(held * 1000 / bound));
        }
    }

    fn schedule(&mut self, after: Duration, carried: Carried) {
        self.sequence += 1;
        self.wire.insert((self.now + after, self.sequence), carried);
    }

    fn carry(&mut self, from: usize, ecn: Ecn, bytes: Vec<u8>) {
        let mut carried = Carried { from: self.seen_at(from), to: 1 - from, ecn, bytes };
        self.meddle(from, &mut carried);
        self.pass_boxes(&mut carried);
        if self.past.len() < 20_000 {
            self.past.push(carried.clone());
        }
        let latency = Duration::from_millis(10);
        if self.healed() {
            return self.schedule(latency, carried);
        }
        let now = self.now;
        let cut =
            self.plan.cuts.iter().any(|(start, end, to)| *to == carried.to && (*start..*end).contains(&now));
        let mut copies = u32::from(!cut && !self.rng.chance(self.plan.loss));
        copies += u32::from(!cut && self.rng.chance(self.plan.duplicate));
        for _ in 0..copies {
            let late = self.rng.chance(self.plan.reorder);
            let extra = if late { self.rng.below(self.plan.late.as_nanos()) } else { 0 };
            let mut carried = carried.clone();
            if self.rng.chance(self.plan.corrupt) {
                let at = 12 + self.rng.below(carried.bytes.len() as u64 - 12) as usize;
                carried.bytes[at] ^= 1 << self.rng.below(8);
                seal(&mut carried.bytes);
            }
            self.schedule(latency + Duration::from_nanos(extra), carried);
        }
        if self.rng.chance(self.plan.replay) {
            let old = self.past[self.rng.below(self.past.len() as u64) as usize].clone();
            let delay = Duration::from_millis(self.rng.below(500));
            self.schedule(delay, old);
        }
        if self.rng.chance(self.plan.strangers) {
            self.stranger();
        }
    }

    /// A router on the way marks the packet, or answers it; or somebody who has not seen it pretends to be one.
    fn meddle(&mut self, from: usize, carried: &mut Carried) {
        let (healed, now) = (self.healed(), self.clock(from));
        let Some(more) = self.plan.more.as_mut().filter(|_| !healed) else { return };
        if carried.ecn != Ecn::NotEct && more.rng.chance(more.marks) {
            carried.ecn = Ecn::Ce;
        }
        if !more.rng.chance(more.icmp) {
            return;
        }
        let quotes = 8 + more.rng.below(carried.bytes.len() as u64 - 7) as usize;
        let mut quoted = carried.bytes[..quotes.min(carried.bytes.len())].to_vec();
        let mtu = [0, 68, 300, 576, 1280, 1400, 9000, u16::MAX][more.rng.below(8) as usize];
        let (mut kind, mut code) = (3, 4);
        if more.rng.chance(0.5) {
            // A stranger that has not seen the packet does not know its tag, and may quote any.
            quoted[4 + more.rng.below(4) as usize] ^= 1 + more.rng.below(255) as u8;
            (kind, code) = (more.rng.below(16) as u8, more.rng.below(8) as u8);
        }
        let message = icmp_message(SIDES[from], kind, code, mtu, &quoted);
        // Of most kinds nothing is made.
        if let Some(error) = IcmpError::parse_v4(&message) {
            self.ends[from].handle_icmp(now, &error);
        }
    }

    /// A list of extensions may be lost on the way, and the NAT may forget where packets come from.
    fn pass_boxes(&mut self, carried: &mut Carried) {
        let healed = self.healed();
        let Some(boxes) = self.plan.boxes.as_mut().filter(|_| !healed) else { return };
        if let Some(port) = boxes.port.as_mut().filter(|_| boxes.rng.chance(boxes.moves)) {
            *port += 1;
        }
        let bytes = &mut carried.bytes;
        if bytes.get(12) == Some(&1) && boxes.rng.chance(boxes.strips) {
            if let Some(at) = place_of_extensions(bytes) {
                // Of the type of padding, which is skipped (RFC 4820, 4).
                bytes[at + 1] = 0x05;
                seal(bytes);
            }
        }
    }

    /// A user wants something else from here on.
    fn turn_a_knob(&mut self, s: usize, id: AssociationId) {
        let now = self.clock(s);
        let Some(more) = &mut self.plan.more else { return };
        let rng = &mut more.rng;
        let values = [
            ("rto_min", "10 ms"),
            ("rto_min", "1 s"),
            ("sack_delay", "0 ms"),
            ("sack_delay", "200 ms"),
            ("sack_every", "1"),
            ("sack_every", "5"),
            ("heartbeat_interval", "1 s"),
            ("heartbeat_interval", "0 s"),
            ("nagle", "true"),
            ("nagle", "false"),
            ("max_fragment", "0 B"),
            ("max_fragment", "500 B"),
            ("stream_scheduling", "fcfs"),
            ("stream_scheduling", "fair-capacity"),
            ("subflow_scheduler", "priority"),
            ("subflow_scheduler", "wfq"),
            // Messages that have been taken stay: less room is for those that come then, and the bounds here are
            // those of the moment.
            ("send_buffer", "600 kB"),
            ("send_buffer_counts", "unacknowledged"),
            ("send_buffer_counts", "unsent"),
            ("stream_send_buffer", "0 B"),
            ("stream_send_buffer", "3 kB"),
            ("receive_window", "2 MiB"),
        ];
        let (name, value) = values[rng.below(values.len() as u64) as usize];
        let (what, mtu) = (rng.below(12), [576, 700, 1280, 1500, 4000][rng.below(5) as usize]);
        let (stream, dscp) = (rng.below(u64::from(self.plan.streams)) as u16, rng.below(6) as u8);
        let peer = address(SIDES[1 - s]).ip();
        let mut association = self.ends[s].association(id).unwrap();
        match what {
            0 => drop(association.set_path_mtu(now, mtu.min(self.plan.config.mtu))),
            1 => association.discover_path_mtu(now),
            2 => drop(association.request_heartbeat(now, peer)),
            3 => drop(association.set_stream_dscp(now, stream, Dscp::new(dscp).unwrap())),
            _ => {
                let done = association.set(now, name, value);
                let unknown = matches!(done, Err(ChangeError::Config(_) | ChangeError::Fixed { .. }));
                assert!(!unknown, "{done:?}");
            }
        }
    }

    /// Somebody at an address of his own begins an association, or says something out of the blue.
    fn stranger(&mut self) {
        let to = self.rng.below(2) as usize;
        let own: IpAddr = [10, 0, 0, 7 + self.rng.below(2) as u8].into();
        let mut bytes = [PORT.to_be_bytes(), PORT.to_be_bytes()].concat();
        bytes.extend_from_slice(&[0; 8]);
        let victim = address(SIDES[1 - to]);
        let IpAddr::V4(listed) = victim.ip() else { return };
        if self.rng.chance(0.7) {
            // An INIT that lists the peer.
            bytes.extend_from_slice(&[1, 0, 0, 28]);
            bytes.extend_from_slice(&[9, 9, 9, own.to_string().len() as u8]);
            bytes.extend_from_slice(&[0, 1, 0, 0, 0, 4, 0, 4, 0, 0, 0, 99, 0, 5, 0, 8]);
            bytes.extend_from_slice(&listed.octets());
        } else {
            let tag = self.rng.u32().to_be_bytes();
            bytes[4..8].copy_from_slice(&tag);
            let kind = [0, 2, 3, 6, 7, 8, 10, 11, 14, 130][self.rng.below(10) as usize];
            bytes.extend_from_slice(&[kind, self.rng.below(4) as u8, 0, 20]);
            bytes.extend_from_slice(&[EVIL; 16]);
        }
        seal(&mut bytes);
        // Sometimes from the address of the peer.
        let from = if self.rng.chance(0.3) { victim } else { (own, 0).into() };
        self.schedule(Duration::from_millis(10), Carried { from, to, ecn: Ecn::NotEct, bytes });
    }

    /// A stranger has been answered. An INIT ACK gives him a cookie, which he echoes with data, from his address or the peer's.
    fn answer(&mut self, from: usize, stranger: SocketAddr, packet: &[u8]) {
        if packet.get(12) != Some(&2) || self.healed() {
            return;
        }
        let Some(place) = packet.windows(2).skip(32).position(|pair| pair == [0, 7]).map(|at| at + 32) else {
            return;
        };
        let Some(len) =
            packet.get(place + 2..place + 4).map(|l| usize::from(u16::from_be_bytes([l[0], l[1]])))
        else {
            return;
        };
        let Some(cookie) = packet.get(place + 4..place + len) else { return };
        let mut bytes = [PORT.to_be_bytes(), PORT.to_be_bytes()].concat();
        bytes.extend_from_slice(&packet[16..20]);
        bytes.extend_from_slice(&[0, 0, 0, 0, 10, 0]);
        bytes.extend_from_slice(&(cookie.len() as u16 + 4).to_be_bytes());
        bytes.extend_from_slice(cookie);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend_from_slice(&[0, 3, 0, 24, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&[EVIL; 8]);
        seal(&mut bytes);
        let source = if self.rng.chance(0.5) { stranger } else { address(SIDES[1 - from]) };
        self.schedule(Duration::from_millis(10), Carried { from: source, to: from, ecn: Ecn::NotEct, bytes });
    }

    fn act(&mut self) {
        let healed = self.healed();
        while self.plan.restarts.first().is_some_and(|(at, ..)| *at <= self.now) {
            let (_, s, connects) = self.plan.restarts.remove(0);
            self.restart(s, connects);
        }
        for s in [0, 1] {
            if !healed && self.rng.chance(0.05) {
                self.users[s].paused = !self.users[s].paused;
            }
            if !healed && self.rng.chance(self.plan.jumps) {
                let back = self.rng.chance(0.5);
                let by = if back {
                    -(self.rng.below(50_000_000) as i64)
                } else {
                    self.rng.below(3_000_000_000) as i64
                };
                self.users[s].ahead += by;
            }
            if healed {
                self.dismiss_strangers(s);
            }
            let Some((id, state)) = self.current(s) else { continue };
            if self.users[s].sent < self.plan.messages && (healed || self.rng.chance(0.5)) {
                for _ in 0..self.plan.boxes.as_ref().map_or(1, |boxes| boxes.burst) {
                    self.send(s, id);
                }
            }
            let now = self.clock(s);
            let up = state == State::Established;
            let done = self.users[s].sent >= self.plan.messages;
            let ends = healed && (done || !self.plan.honest);
            let mut association = self.ends[s].association(id).unwrap();
            if (up && ends) || (self.plan.closes_early && self.rng.chance(0.002)) {
                association.shutdown(now);
            }
            if self.plan.aborts && self.rng.chance(0.001) {
                association.abort(now, b"why not");
            }
            drop(association);
            if up && self.rng.chance(self.plan.resets) {
                self.reset(s, id);
            }
            if up && self.rng.chance(self.plan.changes) {
                self.change(s, id);
            }
            let turns = self.plan.more.as_mut().is_some_and(|more| more.rng.chance(more.settings));
            if turns && !healed {
                self.turn_a_knob(s, id);
            }
        }
    }

    fn dismiss_strangers(&mut self, s: usize) {
        let now = self.clock(s);
        for id in self.users[s].ids.clone() {
            if !self.is_peer(s, id) {
                self.ends[s].association(id).unwrap().abort(now, b"stranger");
            }
        }
    }

    fn restart(&mut self, s: usize, connects: bool) {
        // A peer who has not heard the COOKIE ACK cannot know that whoever calls now is somebody else: what left with its COOKIE
        // ECHO leaves again (RFC 9260, 5.2.4 B), and is new to an endpoint that has forgotten it.
        let waits = |(_, state)| matches!(state, State::CookieWait | State::CookieEchoed);
        if self.current(1 - s).is_some_and(waits) {
            let epoch = self.users[1 - s].epoch;
            self.users[s].next_in.retain(|(of, _), _| *of != epoch);
            self.users[s].unordered_in.retain(|(of, _)| *of != epoch);
        }
        let user = &mut self.users[s];
        user.epoch += 1;
        user.ids.clear();
        user.closed.clear();
        user.unfinished.clear();
        let epoch = user.epoch;
        user.next_out.clear();
        user.unordered_out = 0;
        user.asked.clear();
        user.fates.clear();
        user.never_left.clear();
        self.ends[s] = end(self.seed, s, epoch, &self.plan);
        if connects {
            self.connect(s);
        }
    }

    fn send(&mut self, s: usize, id: AssociationId) {
        let stream = self.rng.below(u64::from(self.plan.streams)) as u16;
        let tiny = self.plan.largest == 1;
        let unordered = !tiny && self.rng.chance(0.3);
        let extra = self.rng.below(self.plan.largest) as usize;
        let now = self.clock(s);
        let user = &mut self.users[s];
        let number = if unordered { user.unordered_out } else { *user.next_out.entry(stream).or_insert(0) };
        let payload = if tiny {
            vec![number as u8]
        } else {
            let mut payload = vec![number as u8 ^ stream as u8; HEADER + extra];
            payload[..2].copy_from_slice(&stream.to_be_bytes());
            payload[2..6].copy_from_slice(&number.to_be_bytes());
            (payload[6], payload[7]) = (u8::from(unordered), user.epoch);
            payload
        };
        let mut message = Message { unordered, ..Message::new(stream, Bytes::from(payload)) };
        let name = (stream, unordered, number);
        let spared = self.plan.partial > 0.0 && self.rng.chance(self.plan.partial);
        if self.plan.partial > 0.0 {
            let reliability = match self.rng.below(4) {
                _ if !spared => Reliability::Full,
                0 => Reliability::Lifetime(Duration::from_millis(self.rng.below(3000))),
                1 => Reliability::Lifetime(Duration::ZERO),
                2 => Reliability::Retransmissions(self.rng.below(3) as u16),
                _ => Reliability::Priority(self.rng.below(4) as u32),
            };
            let options = MessageOptions {
                reliability: Some(reliability),
                or_reliable: true,
                fate: Some(true),
                ..MessageOptions::default()
            };
            message.options = Some(Box::new(options));
        }
        let choose = |more: &mut More| {
            (more.rng.chance(more.settings)).then(|| Dscp::new(more.rng.below(6) as u8).unwrap())
        };
        if let Some(dscp) = self.plan.more.as_mut().and_then(choose) {
            message = message.dscp(dscp);
        }
        if let Ok(ticket) = self.ends[s].association(id).unwrap().send(now, message) {
            user.sent += 1;
            if spared {
                user.spared.insert(name);
            }
            if self.plan.partial > 0.0 {
                user.asked.insert((id, ticket), name);
            }
            if unordered {
                user.unordered_out += 1;
            } else {
                *user.next_out.entry(stream).or_insert(0) += 1;
            }
        }
    }

    fn reset(&mut self, s: usize, id: AssociationId) {
        let now = self.clock(s);
        let directions = [Direction::Outgoing, Direction::Incoming, Direction::Both];
        let direction = directions[self.rng.below(3) as usize];
        let stream = self.rng.below(u64::from(self.plan.streams)) as u16;
        let what = self.rng.below(8);
        let mut association = self.ends[s].association(id).unwrap();
        let _ = match what {
            0 => association.reset_association(now),
            1 => association.add_streams(now, 1, 0),
            2 => association.add_streams(now, 0, 1),
            3 => association.reset_streams(now, direction, &[]),
            _ => association.reset_streams(now, direction, &[stream]),
        };
    }

    fn change(&mut self, s: usize, id: AssociationId) {
        let now = self.clock(s);
        let stream = self.rng.below(u64::from(self.plan.streams)) as u16;
        let (index, to) = (self.rng.below(4) as u8, self.rng.below(4) as u8);
        let dscp = Dscp::new(self.rng.below(6) as u8).unwrap();
        let spec = SubflowSpec { streams: vec![stream], weight: 1 + u16::from(to), ..SubflowSpec::new(dscp) };
        let what = self.rng.below(6);
        let mut association = self.ends[s].association(id).unwrap();
        match what {
            0 => drop(association.set_stream_dscp(now, stream, dscp)),
            1 => drop(association.set_stream_subflow(now, stream, index)),
            2 => drop(association.add_subflow(now, &spec)),
            3 => drop(association.remove_subflow(now, index, to)),
            4 => drop(association.merge_subflows(now, index, to)),
            _ => drop(association.set_stream_value(stream, u16::from(to))),
        }
    }

    fn over(&self) -> bool {
        let open = |s: usize| {
            let mut all = self.users[s].ids.iter().filter_map(|id| self.association(s, *id));
            all.any(|association| association.state() != State::Closed)
        };
        self.healed() && self.wire.is_empty() && !open(0) && !open(1)
    }

    /// Until everything has ended, or for so long.
    pub(crate) fn run(&mut self, limit: Duration) {
        let end = self.now + limit;
        let mut next_act = self.now;
        while self.now < end {
            self.pump();
            if self.over() {
                return;
            }
            let arrival = self.wire.keys().next().map(|k| k.0);
            let mut next = arrival.into_iter().chain([next_act]).min().unwrap();
            for s in [0, 1] {
                if let Some((at, _)) = self.ends[s].poll_timeout() {
                    let at = at.as_nanos().saturating_add_signed(-self.users[s].ahead);
                    next = next.min(Instant::from_nanos(at));
                }
            }
            self.steps += 1;
            assert!(self.steps < 500_000, "too many steps at {next}");
            self.now = next.max(self.now);
            if self.now >= next_act {
                self.act();
                next_act = self.now + Duration::from_millis(if self.healed() { 500 } else { 20 });
            }
            while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let Carried { from, to, ecn, bytes } = entry.remove();
                let mut destination = address(SIDES[to]);
                if to == 1 && self.plan.boxes.as_ref().is_some_and(|boxes| boxes.port.is_some()) {
                    destination.set_port(UDP);
                }
                let meta = Meta { source: from, destination, dscp: Dscp::DEFAULT, ecn };
                let now = self.clock(to);
                self.ends[to].handle_datagram(now, meta, &bytes);
                self.pump();
            }
            for s in [0, 1] {
                let now = self.clock(s);
                self.ends[s].handle_timeout(now);
            }
        }
    }

    /// Everything has ended; and if nobody interfered, gracefully, and all accepted messages were delivered.
    pub(crate) fn settle(&mut self) {
        self.plan.heals_at = Instant::ZERO;
        for s in [0, 1] {
            self.read(s);
        }
        assert!(self.over(), "it does not end: {}", self.story());
        if !self.plan.honest {
            return;
        }
        let mut reasons = Vec::new();
        for s in [0, 1] {
            let peers = self.users[s].closed.iter().filter(|(id, _)| self.is_peer(s, **id));
            reasons.extend(peers.map(|(_, reason)| reason.clone()));
        }
        let graceful = reasons.iter().filter(|reason| **reason == CloseReason::Graceful).count();
        if self.plan.aborts && graceful < 2 {
            return;
        }
        // An end that closes before the peer has answered leaves nothing behind. Where both connect the peer may be
        // up by then: it is told.
        let early = |s: usize| {
            let ended = |id: &AssociationId, reason: &CloseReason| {
                self.is_peer(s, *id) && *reason == CloseReason::AbortedLocally
            };
            let user = &self.users[s];
            user.closed.iter().any(|(id, reason)| ended(id, reason) && !user.up.contains(id))
        };
        let late_abort = CloseReason::AbortedByPeer { causes: Vec::new(), reason: None };
        let told = |reason: &CloseReason| *reason == CloseReason::AbortedLocally || *reason == late_abort;
        let gave_up_early = self.plan.both_connect && (early(0) || early(1));
        let unheard = reasons.iter().all(|reason| *reason == CloseReason::AbortedLocally)
            || (gave_up_early && reasons.iter().all(told));
        assert!(graceful == 2 || unheard, "{reasons:?} {}", self.story());
        if unheard {
            return;
        }
        for s in [0, 1] {
            if self.gave_up(s) {
                continue;
            }
            let (from, to) = (&self.users[s], &self.users[1 - s]);
            assert_eq!(from.dropped, 0);
            if self.plan.partial > 0.0 {
                from.judge_fates(to);
                continue;
            }
            for (stream, count) in &from.next_out {
                let got = to.next_in.get(&(0, *stream)).copied().unwrap_or(0);
                assert_eq!(got, *count, "stream {stream} of side {s}");
            }
            assert_eq!(to.unordered_in.len() as u32, from.unordered_out, "unordered of side {s}");
        }
    }

    fn story(&self) -> String {
        let stand = [0, 1].map(|s| {
            let all = self.users[s].ids.iter().filter_map(|id| self.association(s, *id));
            all.map(|a| (a.remote(), a.sight(), a.queued_bytes(), a.flight_bytes())).collect::<Vec<_>>()
        });
        format!("at {}\n{:?}\n{stand:?}\n{:?}", self.now, self.plan, self.users)
    }
}

impl User {
    fn becomes(&mut self, id: AssociationId, message: MessageId, fate: Fate) {
        let name = *self.asked.get(&(id, message)).unwrap_or_else(|| panic!("nobody asked for {message:?}"));
        if fate == Fate::Abandoned(false) {
            self.never_left.insert(name);
        }
        let before = self.fates.insert((id, message), fate);
        assert_eq!(before, None, "{message:?} is {fate:?} now");
    }

    /// After a graceful end: each message has one fate, and it is true. Every message that was not given up has come.
    fn judge_fates(&self, to: &User) {
        for (key, name) in &self.asked {
            let came = to.heard.contains(name);
            match self.fates.get(key) {
                Some(Fate::Delivered) => assert!(came, "{name:?} is said to be delivered"),
                Some(Fate::Abandoned(sent)) => {
                    assert!(self.spared.contains(name), "{name:?} was given up");
                    assert!(*sent || !came, "{name:?} came, and was never sent");
                }
                other => panic!("{name:?}: {other:?}"),
            }
        }
    }

    /// True if all ordered messages of a stream from one number to another may be given up.
    fn may_skip(&self, stream: u16, mut numbers: std::ops::Range<u32>) -> bool {
        numbers.all(|number| self.spared.contains(&(stream, false, number)))
    }

    /// A whole message of the peer: once, in order, as it was sent.
    fn heard(&mut self, received: Received, sender: &User, honest: bool, largest: u64) {
        let (stream, unordered) = (received.stream, received.unordered);
        let bytes = received.into_bytes();
        if largest == 1 {
            let next = self.next_in.entry((0, stream)).or_insert(0);
            // A byte stands for every 256th message. Where so many are given up at once, it is the first that can have left: those of a
            // stream leave in order, so their sender has been told of those before it.
            let named = (*next..*next + 256).find(|number| bytes[..] == [*number as u8]);
            let sent = sender.next_out.get(&stream).copied().unwrap_or(0);
            let can_have_left = |number: &u32| !sender.never_left.contains(&(stream, false, *number));
            let later = named.and_then(|first| (first..sent).step_by(256).find(can_have_left));
            let number = later.or(named);
            let fine = number.is_some_and(|number| sender.may_skip(stream, *next..number));
            assert!(!honest || fine, "stream {stream}: {bytes:?}, not {next}");
            let number = if honest { number.unwrap_or(*next) } else { *next };
            self.heard.insert((stream, false, number));
            *next = number + 1;
            return;
        }
        assert!(bytes.len() >= HEADER && bytes[..4] != [EVIL; 4], "a stranger's data: {bytes:?}");
        let number = u32::from_be_bytes(bytes[2..6].try_into().unwrap());
        let epoch = bytes[7];
        assert_eq!((u16::from_be_bytes([bytes[0], bytes[1]]), bytes[6]), (stream, u8::from(unordered)));
        assert!(bytes[HEADER..].iter().all(|b| *b == number as u8 ^ stream as u8), "mixed up");
        self.heard.insert((stream, unordered, number));
        if unordered {
            assert!(self.unordered_in.insert((epoch, number)), "unordered message {number} delivered twice");
        } else {
            let next = self.next_in.entry((epoch, stream)).or_insert(0);
            // Messages that a restart took along are never delivered; delivered ones never come again.
            let fine = number >= *next && (!honest || sender.may_skip(stream, *next..number));
            assert!(fine, "stream {stream}: {number}, not {next}");
            *next = number + 1;
        }
    }
}
