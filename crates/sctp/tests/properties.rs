//! The formal properties of an association's life (USENIX Security 2024, "A Formal Analysis of SCTP": P1 to P10, in
//! their intended forms), and delivery exactly once, watched at every step of randomised runs: loss, duplication,
//! reordering, replay and forged packets, pauses of the reader, both sides talking, both closing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_base::{Duration, Instant, Rng};
use anabranch_sctp::config::StreamScheduling;
use anabranch_sctp::{AssociationId, CloseReason, Config, Endpoint, EndpointConfig, Event, Message, State};
use anabranch_wire::{Checksum, Packet, crc32c};
use bytes::Bytes;
use common::{PORT, Side, address, meta};

const SIDES: [Side; 2] = [Side::A, Side::Z];

/// How unkind the network and the users are.
#[derive(Clone, Debug)]
struct Plan {
    config: Config,
    loss: f64,
    duplicate: f64,
    reorder: f64,
    replay: f64,
    forge: f64,
    both_connect: bool,
    messages: u64,
    largest: u64,
    streams: u16,
    /// From then on nothing is lost and everything is read.
    heals_at: Instant,
    closes_early: bool,
    aborts: bool,
}

impl Plan {
    fn draw(rng: &mut Rng) -> Self {
        // sf2007 has chunks of its own, which the monitor does not read.
        let profiles = Config::PROFILES.map(|name| if name == "sf2007" { "rfc2960" } else { name });
        let mut config = Config::named(profiles[rng.below(profiles.len() as u64) as usize]).unwrap();
        config.outbound_streams = 16;
        config.mtu = [576, 600, 1280, 1500, 9000][rng.below(5) as usize];
        config.receive_window = [1500, 4000, 30_000, 1 << 20][rng.below(4) as usize];
        config.send_buffer = [5_000, 256 << 10][rng.below(2) as usize];
        config.association_max_retrans = 1000;
        config.max_init_retransmits = 1000;
        config.rto_max = Duration::from_secs(5);
        config.rto_min = Duration::from_millis([10, 200, 1000][rng.below(3) as usize]);
        config.sack_delay = Duration::from_millis([0, 20, 200][rng.below(3) as usize]);
        config.heartbeat_interval = Duration::from_secs([0, 1, 30][rng.below(3) as usize]);
        config.shutdown_guard_rto_max = 0;
        config.data_with_cookie = rng.chance(0.5);
        config.stream_scheduling =
            StreamScheduling::ALL[rng.below(StreamScheduling::ALL.len() as u64) as usize];
        let mut sometimes = |p: f64, most: f64| if rng.chance(p) { rng.f64() * most } else { 0.0 };
        let (loss, duplicate, reorder) = (sometimes(0.8, 0.4), sometimes(0.5, 0.3), sometimes(0.5, 0.5));
        let (replay, forge) = (sometimes(0.5, 0.2), sometimes(0.5, 0.2));
        Self {
            loss,
            duplicate,
            reorder,
            replay,
            forge,
            both_connect: rng.chance(0.3),
            messages: rng.below(120),
            largest: [10, 2000, 20_000][rng.below(3) as usize],
            streams: 1 + rng.below(16) as u16,
            heals_at: Instant::ZERO + Duration::from_secs(20),
            closes_early: rng.chance(0.4),
            aborts: rng.chance(0.05),
            config,
        }
    }
}

/// What one side has said and heard.
#[derive(Debug, Default)]
struct User {
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
}

struct World {
    plan: Plan,
    rng: Rng,
    now: Instant,
    ends: [Endpoint; 2],
    users: [User; 2],
    wire: BTreeMap<(Instant, u64), (Side, Vec<u8>)>,
    seen: Vec<(Side, Vec<u8>)>,
    sequence: u64,
    steps: u64,
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
    fn new(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "test", "properties");
        let plan = Plan::draw(&mut rng);
        let end = |side: Side, name: &str| {
            Endpoint::new(EndpointConfig::new(address(side), PORT), Rng::stream(seed, name, "endpoint"))
        };
        let mut world = Self {
            rng,
            now: Instant::ZERO,
            ends: [end(Side::A, "a"), end(Side::Z, "z")],
            users: [User::default(), User::default()],
            wire: BTreeMap::new(),
            seen: Vec::new(),
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

    fn state(&self, side: Side) -> Option<State> {
        let id = self.users[side as usize].id?;
        self.ends[side as usize].association(id).map(anabranch_sctp::Association::state)
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
                let batch = 1 + self.rng.below(4) as usize;
                while let Some(t) = self.ends[side as usize].poll_transmit(self.now, batch, &mut buf) {
                    assert_eq!(t.size, buf.len());
                    for packet in buf.chunks(t.segment_size) {
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

    fn on_event(&mut self, side: Side, id: AssociationId, event: Event) {
        let user = &mut self.users[side as usize];
        match event {
            Event::Accepted if user.id.is_none() => user.id = Some(id),
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
        while let Some(received) = self.ends[side as usize].receive(id) {
            progress = true;
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
        self.seen.push((from, bytes.to_vec()));
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
            let (from, old) = self.seen[self.rng.below(self.seen.len() as u64) as usize].clone();
            self.sequence += 1;
            self.wire
                .insert((self.now + Duration::from_millis(self.rng.below(500)), self.sequence), (from, old));
        }
        if !self.healed() && self.rng.chance(self.plan.forge) {
            // A packet with another tag: whoever does not know the tag can do nothing.
            let (from, mut forged) = self.seen[self.rng.below(self.seen.len() as u64) as usize].clone();
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
        let assoc = end.association(id).unwrap();
        let owes = assoc.flight_bytes() > 0 || assoc.queued_bytes() > 0;
        let waiting =
            !matches!(state, State::Established | State::Closed) || (state == State::Established && owes);
        if waiting {
            let limit = self.now + self.plan.config.rto_max.max(self.plan.config.heartbeat_interval * 2);
            // The wheel of a kernel expires late.
            let late =
                if self.plan.config.timer_wheel { self.plan.config.timer_tick * 64 } else { Duration::ZERO };
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
                if self.ends[side as usize].send(now, id, message).is_ok() {
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
                self.ends[side as usize].shutdown(now, id);
            }
            if self.plan.aborts && self.rng.chance(0.001) {
                self.ends[side as usize].abort(now, id, b"why not");
            }
        }
    }

    fn run(&mut self, limit: Duration) {
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
    fn settle(&mut self) {
        // "What was received stays readable until the association is released."
        self.plan.heals_at = Instant::ZERO;
        for side in SIDES {
            self.read(side);
        }
        let reasons: Vec<_> = self.users.iter().map(|u| u.closed.clone()).collect();
        if self.plan.aborts && reasons.iter().any(|r| *r != Some(CloseReason::Graceful)) {
            return;
        }
        // An old packet that reaches the side which has ended already is out of the blue, and its ABORT may overtake
        // the SHUTDOWN COMPLETE (8.4); in a network that keeps packets in order nobody ever sees one.
        let late_abort = CloseReason::AbortedByPeer { causes: Vec::new() };
        let in_order = self.plan.reorder == 0.0 && self.plan.replay == 0.0;
        let graceful = reasons.iter().filter(|r| **r == Some(CloseReason::Graceful)).count();
        let fine = graceful == 2 || (graceful == 1 && !in_order && reasons.contains(&Some(late_abort)));
        assert!(fine, "{reasons:?} {}", self.story());
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
            assert_eq!(self.ends[side as usize].association(id).unwrap().queued_bytes(), 0);
        }
    }

    fn story(&self) -> String {
        let stats = SIDES.map(|s| self.users[s as usize].id.and_then(|id| self.ends[s as usize].stats(id)));
        format!("{:#?}\n{:?}\n{stats:#?}\n{:?}", self.plan, self.sequence_of_states, self.users)
    }
}

fn lives(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            world.run(Duration::from_secs(4000));
            world.settle();
        });
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn lives_of_associations_1() {
    lives(0..150);
}

#[test]
fn lives_of_associations_2() {
    lives(1000..1150);
}

/// As many lives as `LIVES` says: for long nights.
#[test]
#[ignore = "takes as long as it is told to: make soak"]
fn lives_of_associations_without_end() {
    let count = std::env::var("LIVES").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    lives(1_000_000..1_000_000 + count);
}
