//! The life of an association between two endpoints: a network that loses, duplicates, reorders, replays and forges, users who
//! write, pause, change, close and abort. The formal properties are watched at every step; what was sent is kept.
#![allow(dead_code, unreachable_pub, reason = "every test that includes this uses its own part of it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Instant, Rng};
use anabranch_sctp::{
    AssociationId, CloseReason, Config, Direction, Endpoint, EndpointConfig, Event, Message, Received,
    Snapshot, State, SubflowLevel, SubflowSpec, TraceRecord,
};
use anabranch_wire::{Checksum, Packet, crc32c};
use bytes::Bytes;

use crate::common::{PORT, Side, address, joined, meta};

pub const SIDES: [Side; 2] = [Side::A, Side::Z];

/// Settings of a life: faults of the network, and habits of the users.
#[derive(Clone, Debug)]
pub struct Plan {
    pub config: Config,
    pub loss: f64,
    pub duplicate: f64,
    pub reorder: f64,
    pub replay: f64,
    pub forge: f64,
    pub both_connect: bool,
    pub messages: u64,
    pub largest: u64,
    pub streams: u16,
    /// From then on nothing is lost and everything is read.
    pub heals_at: Instant,
    pub closes_early: bool,
    pub aborts: bool,
    /// Probability that a user changes something about streams, with each step.
    pub resets: f64,
    /// Probability that a user changes something about subflows, with each step.
    pub changes: f64,
}

/// Commands and events of one side.
#[derive(Debug, Default)]
pub struct User {
    id: Option<AssociationId>,
    sent: u64,
    next_out: BTreeMap<u16, u32>,
    next_in: BTreeMap<u16, u32>,
    unordered_out: u32,
    unordered_in: BTreeMap<u32, u32>,
    dropped: usize,
    closed: Option<CloseReason>,
    last_state: Option<State>,
    paused: bool,
    unfinished: Vec<Received>,
}

/// A packet as it was handed to the network.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Instant,
    pub from: Side,
    pub destination: SocketAddr,
    pub dscp: Dscp,
    pub ecn: Ecn,
    pub bytes: Vec<u8>,
}

/// Two endpoints, their users and the network.
pub struct World {
    pub plan: Plan,
    rng: Rng,
    /// Draws when everybody is woken without a reason; `None`: never.
    pub idle_wake_ups: Option<Rng>,
    now: Instant,
    ends: [Endpoint; 2],
    users: [User; 2],
    wire: BTreeMap<(Instant, u64), (Side, Vec<u8>)>,
    /// Every packet that was sent.
    pub seen: Vec<Sent>,
    /// Every event, and what came of the users' wishes.
    pub told: Vec<(Instant, Side, String)>,
    sequence: u64,
    /// Number of wake-ups.
    pub steps: u64,
    sequence_of_states: Vec<(Instant, Side, State)>,
}

/// A message that says what it is: stream, number, whether unordered, then filling.
fn message(rng: &mut Rng, stream: u16, number: u32, unordered: bool, largest: u64) -> Message {
    let len = 7 + rng.below(largest) as usize;
    let mut payload = vec![number as u8 ^ stream as u8; len];
    payload[..2].copy_from_slice(&stream.to_be_bytes());
    payload[2..6].copy_from_slice(&number.to_be_bytes());
    payload[6] = u8::from(unordered);
    Message { unordered, ..Message::new(stream, Bytes::from(payload)) }
}

impl World {
    /// Nothing has been sent yet. `rng` decides what the network and the users do.
    pub fn new(seed: u64, plan: Plan, rng: Rng) -> Self {
        let sealed = plan.config.subflows.level == SubflowLevel::Sf2007;
        let end = |side: Side, name: &str| {
            let config = EndpointConfig {
                allow_private_encodings: sealed,
                ..EndpointConfig::new(address(side), PORT).keeping_closed()
            };
            Endpoint::new(config, Rng::stream(seed, name, "endpoint").secret())
        };
        let mut world = Self {
            rng,
            idle_wake_ups: None,
            now: Instant::ZERO,
            ends: [end(Side::A, "a"), end(Side::Z, "z")],
            users: [User::default(), User::default()],
            wire: BTreeMap::new(),
            seen: Vec::new(),
            told: Vec::new(),
            sequence: 0,
            steps: 0,
            sequence_of_states: Vec::new(),
            plan,
        };
        let config = Arc::new(world.plan.config.clone());
        for side in SIDES {
            world.ends[side as usize].listen(Arc::clone(&config)).unwrap();
            if side == Side::A || world.plan.both_connect {
                let id = world.ends[side as usize].connect(
                    world.now,
                    address(side.other()),
                    PORT,
                    Arc::clone(&config),
                );
                world.users[side as usize].id = Some(id.unwrap());
            }
        }
        world
    }

    /// From now on associations record what happens.
    pub fn record_trace(&mut self) {
        for end in &mut self.ends {
            end.set_trace(true);
        }
    }

    /// Trace records of both ends.
    pub fn trace(&mut self) -> Vec<(Side, TraceRecord)> {
        let of = |(side, end): (Side, &mut Endpoint)| -> Vec<_> {
            end.drain_trace().map(|record| (side, record)).collect()
        };
        SIDES.into_iter().zip(&mut self.ends).flat_map(of).collect()
    }

    /// The counters of each user's association, with its number.
    pub fn counters(&self) -> Vec<(Side, usize, Snapshot)> {
        let of = |side: Side| {
            let id = self.users[side as usize].id?;
            let association = self.ends[side as usize].view(id)?;
            Some((side, id.index() as usize, association.snapshot()))
        };
        SIDES.into_iter().filter_map(of).collect()
    }

    fn state(&self, side: Side) -> Option<State> {
        let id = self.users[side as usize].id?;
        self.ends[side as usize].view(id).map(anabranch_sctp::Association::state)
    }

    fn healed(&self) -> bool {
        self.now >= self.plan.heals_at
    }

    fn pump(&mut self) {
        for side in SIDES {
            for round in 0.. {
                assert!(round < 10_000, "output without end at {}", self.now);
                let mut progress = false;
                let mut buf = Vec::new();
                // Not drawn: how often somebody asks must not change what the network does.
                let nanos = self.now.as_nanos();
                let batch = 1 + ((nanos ^ nanos >> 20).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62) as usize;
                while let Some(t) = self.ends[side as usize].poll_transmit(self.now, batch, &mut buf) {
                    assert_eq!(t.size, buf.len());
                    for packet in buf.chunks(t.segment_size) {
                        self.seen.push(Sent {
                            at: self.now,
                            from: side,
                            destination: t.destination,
                            dscp: t.dscp,
                            ecn: t.ecn,
                            bytes: packet.to_vec(),
                        });
                        self.carry(side, packet);
                    }
                    buf.clear();
                    progress = true;
                }
                while let Some((id, event)) = self.ends[side as usize].poll_event() {
                    self.on_event(side, id, event);
                    progress = true;
                }
                progress |= self.read(side);
                if !progress {
                    break;
                }
            }
            self.watch(side);
        }
        self.watch_both();
    }

    /// A packet that was sent at some time.
    fn any_packet(&mut self) -> (Side, Vec<u8>) {
        let sent = &self.seen[self.rng.below(self.seen.len() as u64) as usize];
        (sent.from, sent.bytes.clone())
    }

    fn on_event(&mut self, side: Side, id: AssociationId, event: Event) {
        self.told.push((self.now, side, format!("{} {event:?}", id.index())));
        let user = &mut self.users[side as usize];
        match event {
            Event::Accepted { .. } if user.id.is_none() => user.id = Some(id),
            Event::Closed(reason) if user.id == Some(id) => {
                assert!(user.closed.replace(reason).is_none(), "closed twice");
            }
            Event::StreamsReduced { messages_dropped } => user.dropped += messages_dropped,
            _ => assert!(user.id != Some(id) || user.closed.is_none(), "{event:?} after the end"),
        }
    }

    fn read(&mut self, side: Side) -> bool {
        let healed = self.healed();
        let user = &mut self.users[side as usize];
        let Some(id) = user.id else { return false };
        if user.paused && !healed {
            return false;
        }
        let mut progress = false;
        while let Some(received) = self.ends[side as usize].association(id).unwrap().receive() {
            progress = true;
            let Some(received) = joined(&mut user.unfinished, received) else { continue };
            let unordered = received.unordered;
            let stream = received.stream;
            let bytes = received.into_bytes();
            let number = u32::from_be_bytes(bytes[2..6].try_into().unwrap());
            assert_eq!(u16::from_be_bytes([bytes[0], bytes[1]]), stream);
            assert_eq!(bytes[6], u8::from(unordered));
            assert!(bytes[7..].iter().all(|b| *b == number as u8 ^ stream as u8), "mixed up");
            if unordered {
                let times = user.unordered_in.entry(number).or_insert(0);
                *times += 1;
                assert_eq!(*times, 1, "unordered message {number} delivered twice");
            } else {
                let next = user.next_in.entry(stream).or_insert(0);
                assert_eq!(number, *next, "order of stream {stream}");
                *next += 1;
            }
        }
        progress
    }

    fn carry(&mut self, from: Side, bytes: &[u8]) {
        assert!(bytes.len() <= self.plan.config.max_packet() as usize, "packet of {} bytes", bytes.len());
        let packet = Packet::parse(bytes, Checksum::Verify).unwrap();
        assert!(packet.chunks().count() > 0);
        let mut copies = 1;
        if !self.healed() {
            if self.rng.chance(self.plan.loss) {
                copies = 0;
            }
            if self.rng.chance(self.plan.duplicate) {
                copies += 1;
            }
        }
        for _ in 0..copies {
            let mut delay = Duration::from_millis(10);
            if !self.healed() && self.rng.chance(self.plan.reorder) {
                delay += Duration::from_micros(self.rng.below(60_000));
            }
            self.sequence += 1;
            self.wire.insert((self.now + delay, self.sequence), (from, bytes.to_vec()));
        }
        if !self.healed() && self.rng.chance(self.plan.replay) {
            let (from, old) = self.any_packet();
            self.sequence += 1;
            self.wire
                .insert((self.now + Duration::from_millis(self.rng.below(500)), self.sequence), (from, old));
        }
        if !self.healed() && self.rng.chance(self.plan.forge) {
            // A packet with another tag: whoever does not know the tag can do nothing.
            let (from, mut forged) = self.any_packet();
            let tag = self.rng.u32().to_be_bytes();
            if forged[12] != 1 {
                forged[4..8].copy_from_slice(&tag);
                forged[8..12].fill(0);
                let sum = crc32c::packet_checksum(&forged);
                forged[8..12].copy_from_slice(&crc32c::store(sum));
                self.sequence += 1;
                self.wire.insert((self.now + Duration::from_millis(10), self.sequence), (from, forged));
            }
        }
    }

    /// P1, P2, P5 (a timer runs wherever something is owed), P8, P9.
    fn watch(&mut self, side: Side) {
        let Some(state) = self.state(side) else { return };
        let user = &mut self.users[side as usize];
        let id = user.id.unwrap();
        let last = user.last_state.replace(state);
        let end = &mut self.ends[side as usize];
        let timeout = end.poll_timeout();
        let assoc = end.view(id).unwrap();
        if state != State::Closed {
            assert_eq!(assoc.audit(), Ok(()), "{side:?} at {}", self.now);
        }
        let owes = assoc.flight_bytes() > 0 || assoc.queued_bytes() > 0;
        let waiting =
            !matches!(state, State::Established | State::Closed) || (state == State::Established && owes);
        if waiting {
            let limit = self.now
                + self.plan.config.timers.rto_max.max(self.plan.config.timers.heartbeat_interval * 2);
            // The wheel of a kernel expires late.
            let late = if self.plan.config.emulation.timer_wheel {
                self.plan.config.emulation.timer_tick * 64
            } else {
                Duration::ZERO
            };
            let limit = limit + late;
            let armed = timeout.is_some_and(|(at, _)| at <= limit);
            assert!(armed, "{side:?} in {state:?} owes something, no timer: {timeout:?} at {}", self.now);
        }
        let Some(last) = last else { return };
        if last == state {
            return;
        }
        self.sequence_of_states.push((self.now, side, state));
        match last {
            State::Closed => panic!("P1: a closed association came back as {state:?}"),
            State::ShutdownAckSent => assert_eq!(state, State::Closed, "P8"),
            State::ShutdownReceived => {
                assert!(matches!(state, State::ShutdownAckSent | State::Closed), "P9: {state:?}");
            }
            State::ShutdownSent => {
                assert!(matches!(state, State::ShutdownAckSent | State::Closed), "{state:?}");
            }
            State::Established => {
                assert!(!matches!(state, State::CookieWait | State::CookieEchoed), "back to {state:?}");
            }
            _ => {}
        }
    }

    /// P6, P7.
    fn watch_both(&self) {
        let (a, z) = (self.state(Side::A), self.state(Side::Z));
        assert!((a, z) != (Some(State::ShutdownReceived), Some(State::ShutdownReceived)), "P6");
        for pair in [(a, z), (z, a)] {
            assert!(pair != (Some(State::CookieEchoed), Some(State::ShutdownReceived)), "P7");
        }
    }

    fn act(&mut self) {
        let now = self.now;
        for side in SIDES {
            let healed = self.healed();
            let user = &mut self.users[side as usize];
            let Some(id) = user.id else { continue };
            if self.rng.chance(0.05) {
                user.paused = !user.paused;
            }
            if user.closed.is_some() {
                continue;
            }
            if user.sent < self.plan.messages && self.rng.chance(0.5) {
                let stream = self.rng.below(u64::from(self.plan.streams)) as u16;
                let unordered = self.rng.chance(0.3);
                let number =
                    if unordered { user.unordered_out } else { *user.next_out.entry(stream).or_insert(0) };
                let message = message(&mut self.rng, stream, number, unordered, self.plan.largest);
                if self.ends[side as usize].association(id).unwrap().send(now, message).is_ok() {
                    user.sent += 1;
                    if unordered {
                        user.unordered_out += 1;
                    } else {
                        *user.next_out.entry(stream).or_insert(0) += 1;
                    }
                }
            }
            let up = self.state(side).is_some_and(|s| s == State::Established);
            let done = self.users[side as usize].sent == self.plan.messages;
            if up && ((done && healed) || (self.plan.closes_early && self.rng.chance(0.002))) {
                self.ends[side as usize].association(id).unwrap().shutdown(now);
            }
            if self.plan.aborts && self.rng.chance(0.001) {
                self.ends[side as usize].association(id).unwrap().abort(now, b"why not");
            }
            if up && self.plan.resets > 0.0 && self.rng.chance(self.plan.resets) {
                self.reset(side, id);
            }
            if up && self.plan.changes > 0.0 && self.rng.chance(self.plan.changes) {
                self.change(side, id);
            }
        }
    }

    /// Asks for streams that begin anew, or for more of them.
    fn reset(&mut self, side: Side, id: AssociationId) {
        let (now, end) = (self.now, &mut self.ends[side as usize]);
        let direction =
            [Direction::Outgoing, Direction::Incoming, Direction::Both][self.rng.below(3) as usize];
        let stream = self.rng.below(u64::from(self.plan.streams)) as u16;
        let said = match self.rng.below(8) {
            0 => end.association(id).unwrap().reset_association(now),
            1 => end.association(id).unwrap().add_streams(now, 1, 0),
            2 => end.association(id).unwrap().add_streams(now, 0, 1),
            3 => end.association(id).unwrap().reset_streams(now, direction, &[]),
            _ => end.association(id).unwrap().reset_streams(now, direction, &[stream]),
        };
        self.told.push((now, side, format!("{said:?}")));
    }

    /// Changes a subflow.
    fn change(&mut self, side: Side, id: AssociationId) {
        let (now, end) = (self.now, &mut self.ends[side as usize]);
        let stream = self.rng.below(u64::from(self.plan.streams)) as u16;
        let (index, to) = (self.rng.below(4) as u8, self.rng.below(4) as u8);
        let dscp = Dscp::new(self.rng.below(6) as u8).unwrap();
        let spec = SubflowSpec { streams: vec![stream], weight: 1 + u16::from(to), ..SubflowSpec::new(dscp) };
        let said = match self.rng.below(6) {
            0 => format!("{:?}", end.association(id).unwrap().set_stream_dscp(now, stream, dscp)),
            1 => format!("{:?}", end.association(id).unwrap().set_stream_subflow(now, stream, index)),
            2 => format!("{:?}", end.association(id).unwrap().add_subflow(now, &spec)),
            3 => format!("{:?}", end.association(id).unwrap().remove_subflow(now, index, to)),
            4 => format!("{:?}", end.association(id).unwrap().merge_subflows(now, index, to)),
            _ => format!("{:?}", end.association(id).unwrap().set_stream_value(stream, u16::from(to))),
        };
        self.told.push((now, side, said));
    }

    /// Until both have ended, or for so long.
    pub fn run(&mut self, limit: Duration) {
        let end = Instant::ZERO + limit;
        let mut next_act = Instant::ZERO;
        let (mut same_instant, mut last) = (0, Instant::ZERO);
        while self.now < end {
            self.pump();
            if self.users.iter().all(|u| u.closed.is_some()) && self.wire.is_empty() {
                return;
            }
            let arrival = self.wire.keys().next().map(|k| k.0);
            let timers = SIDES.map(|s| self.ends[s as usize].poll_timeout().map(|t| t.0));
            let next = arrival
                .into_iter()
                .chain(timers.into_iter().flatten())
                .chain([next_act])
                .min()
                .unwrap()
                .max(self.now);
            let early =
                self.idle_wake_ups.as_mut().map(|rng| self.now + Duration::from_nanos(rng.below(50_000_000)));
            let next = early.map_or(next, |early| early.min(next));
            same_instant = if next == last { same_instant + 1 } else { 0 };
            last = next;
            assert!(same_instant < 1000, "livelock at {next}");
            self.steps += 1;
            assert!(self.steps < 500_000, "too many steps at {next}");
            self.now = next;
            if next == next_act {
                self.act();
                next_act = self.now + Duration::from_millis(if self.healed() { 500 } else { 20 });
            }
            while let Some(entry) = self.wire.first_entry() {
                if entry.key().0 > self.now {
                    break;
                }
                let (from, bytes) = entry.remove();
                let to = from.other();
                self.ends[to as usize].handle_datagram(self.now, meta(from), &bytes);
                self.pump();
            }
            for side in SIDES {
                self.ends[side as usize].handle_timeout(self.now);
            }
        }
    }

    /// P3, P4, P10: both ended, and gracefully; and everything that was accepted was delivered.
    pub fn settle(&mut self) {
        // "What was received stays readable until the association is released."
        self.plan.heals_at = Instant::ZERO;
        for side in SIDES {
            self.read(side);
        }
        let reasons: Vec<_> = self.users.iter().map(|u| u.closed.clone()).collect();
        if self.plan.aborts && reasons.iter().any(|r| *r != Some(CloseReason::Graceful)) {
            return;
        }
        assert!(
            reasons.iter().all(|reason| *reason == Some(CloseReason::Graceful)),
            "{reasons:?} {}",
            self.story()
        );
        for side in SIDES {
            let (from, to) = (&self.users[side as usize], &self.users[side.other() as usize]);
            assert_eq!(from.dropped, 0);
            for (stream, count) in &from.next_out {
                assert_eq!(
                    to.next_in.get(stream).copied().unwrap_or(0),
                    *count,
                    "stream {stream} of {side:?}"
                );
            }
            assert_eq!(to.unordered_in.len() as u32, from.unordered_out, "unordered of {side:?}");
        }
        for side in SIDES {
            let id = self.users[side as usize].id.unwrap();
            assert_eq!(self.ends[side as usize].view(id).unwrap().queued_bytes(), 0);
        }
    }

    fn story(&self) -> String {
        let stats = SIDES.map(|s| {
            self.users[s as usize]
                .id
                .and_then(|id| self.ends[s as usize].view(id).map(anabranch_sctp::Association::stats))
        });
        format!("{:#?}\n{:?}\n{stats:#?}\n{:?}", self.plan, self.sequence_of_states, self.users)
    }
}
