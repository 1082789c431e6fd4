//! Two stacks, a link with delay, rate and a rule for losses, in virtual time.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "test support; every test file uses a part of it"
)]

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng, TraceRecord};
use anabranch_tcp::header::{Flags, Header};
use anabranch_tcp::{Config, ConnectionId, Event, Stack, State, Stats};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

pub const PORT: u16 = 5001;

/// A segment on the wire, for a rule or a log.
#[derive(Clone, Debug)]
pub struct Packet {
    pub at: Instant,
    /// From the caller (client) to the listener (server).
    pub from_client: bool,
    /// Counted per direction, from 1.
    pub number: u64,
    pub header: Header,
    pub len: usize,
}

impl Packet {
    pub fn is_data(&self) -> bool {
        self.len > 0
    }
    pub fn has(&self, flag: Flags) -> bool {
        self.header.flags.has(flag)
    }
}

type Rule = Box<dyn FnMut(&Packet) -> Fate>;

/// Treatment of a packet by the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Pass,
    /// Lost at the far end of the link, whose time it has taken.
    Drop,
    /// Lost before the link.
    Vanish,
    Delay(Duration),
    Twice,
}

pub struct Host {
    pub stack: Stack,
    pub id: Option<ConnectionId>,
    pub events: Vec<Event>,
    pub received: Vec<u8>,
    /// Data still to be offered.
    pub offer: Bytes,
    pub close_after_offer: bool,
    /// Closes when the peer has.
    pub close_in_turn: bool,
    /// Reads arriving data at once.
    pub reads: bool,
}

pub struct Pair {
    pub now: Instant,
    pub client: Host,
    pub server: Host,
    pub delay: Duration,
    /// Bits per second of the link in each direction; 0 is infinite.
    pub rate: u64,
    pub rule: Rule,
    pub log: Vec<Packet>,
    pub trace: Vec<TraceRecord>,
    busy: [Instant; 2],
    counts: [u64; 2],
    wire: BTreeMap<(Instant, u64), (bool, Vec<u8>)>,
    serial: u64,
}

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 0))
}

fn host(last: u8) -> Host {
    Host {
        stack: Stack::new(address(last), Rng::stream(u64::from(last), "host", "iss")),
        id: None,
        events: Vec::new(),
        received: Vec::new(),
        offer: Bytes::new(),
        close_after_offer: false,
        close_in_turn: true,
        reads: true,
    }
}

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub fn payload(len: usize) -> Bytes {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

impl Pair {
    /// A client that calls a server at time zero; 10 ms one way, nothing lost.
    pub fn new(client: Config, server: Config) -> Self {
        let mut pair = Self::idle(server);
        pair.call(client);
        pair
    }

    pub fn same(config: &Config) -> Self {
        Self::new(config.clone(), config.clone())
    }

    /// A server that listens.
    pub fn idle(server: Config) -> Self {
        let mut pair = Self {
            now: Instant::ZERO,
            client: host(1),
            server: host(2),
            delay: ms(10),
            rate: 0,
            rule: Box::new(|_| Fate::Pass),
            log: Vec::new(),
            trace: Vec::new(),
            busy: [Instant::ZERO; 2],
            counts: [0; 2],
            wire: BTreeMap::new(),
            serial: 0,
        };
        pair.server.stack.listen(PORT, Arc::new(server));
        pair
    }

    pub fn call(&mut self, config: Config) {
        let remote = SocketAddr::new(address(2).ip(), PORT);
        self.client.stack.set_trace(true);
        self.client.id = Some(self.client.stack.connect(self.now, 40_000, remote, Arc::new(config)));
    }

    /// A second connection of the same two hosts, from another port; the user at the client has nothing to send.
    pub fn call_again(&mut self, config: Config) {
        let remote = SocketAddr::new(address(2).ip(), PORT);
        self.client.id = Some(self.client.stack.connect(self.now, 40_001, remote, Arc::new(config)));
        self.settle();
    }

    pub fn with_rule(mut self, rule: impl FnMut(&Packet) -> Fate + 'static) -> Self {
        self.rule = Box::new(rule);
        self
    }

    /// The client sends `data`, then closes.
    pub fn upload(mut self, data: &Bytes) -> Self {
        self.client.offer = data.clone();
        self.client.close_after_offer = true;
        self
    }

    pub fn client_stats(&self) -> Stats {
        *self.client.stack.stats(self.client.id.unwrap()).unwrap()
    }

    pub fn server_stats(&self) -> Stats {
        *self.server.stack.stats(self.server.id.unwrap()).unwrap()
    }

    pub fn client_state(&self) -> State {
        self.client.stack.state(self.client.id.unwrap()).unwrap()
    }

    pub fn server_state(&self) -> State {
        self.server.id.map_or(State::Closed, |id| self.server.stack.state(id).unwrap())
    }

    /// Runs until nothing happens any more, or until `end`.
    pub fn run_until(&mut self, end: Instant) {
        loop {
            self.settle();
            let wire = self.wire.keys().next().map(|(at, _)| *at);
            let timers = [&self.client, &self.server].map(|h| h.stack.poll_timeout().map(|(at, _)| at));
            let Some(next) = [wire, timers[0], timers[1]].into_iter().flatten().min() else { break };
            if next > end {
                break;
            }
            assert!(next >= self.now, "a timer in the past: {next} at {}", self.now);
            self.now = next;
            if wire == Some(next) {
                let (_, (to_server, segment)) = self.wire.pop_first().unwrap();
                self.deliver(to_server, &segment);
            } else {
                self.client.stack.handle_timeout(next);
                self.server.stack.handle_timeout(next);
            }
        }
        self.now = self.now.max(end.min(Instant::ZERO + Duration::from_secs(1_000_000)));
    }

    pub fn run(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    /// Runs to the end of everything.
    pub fn finish(&mut self) {
        self.run_until(Instant::ZERO + Duration::from_secs(100_000));
    }

    pub fn deliver(&mut self, to_server: bool, segment: &[u8]) {
        let (source, destination) = if to_server { (1, 2) } else { (2, 1) };
        let meta = Meta {
            source: address(source),
            destination: address(destination),
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
        };
        let host = if to_server { &mut self.server } else { &mut self.client };
        host.stack.handle_datagram(self.now, meta, segment);
    }

    /// Lets users and stacks do all they can at this moment.
    pub fn settle(&mut self) {
        loop {
            let busy = self.pump(true) | self.pump(false);
            self.trace.extend(self.client.stack.drain_trace());
            if !busy {
                break;
            }
        }
    }

    fn pump(&mut self, client: bool) -> bool {
        let now = self.now;
        let mut busy = self.host(client).run_user(now);
        let mut buf = Vec::new();
        while let Some(sent) = self.host(client).stack.poll_transmit(now, 4, &mut buf) {
            busy = true;
            assert_eq!(buf.len(), sent.size);
            for segment in std::mem::take(&mut buf).chunks(sent.segment_size) {
                self.send(client, segment);
            }
            self.host(client).run_user(now);
        }
        busy
    }

    fn host(&mut self, client: bool) -> &mut Host {
        if client { &mut self.client } else { &mut self.server }
    }

    fn send(&mut self, from_client: bool, segment: &[u8]) {
        let side = usize::from(from_client);
        self.counts[side] += 1;
        let (header, payload) = Header::parse(segment).unwrap();
        let packet =
            Packet { at: self.now, from_client, number: self.counts[side], header, len: payload.len() };
        let fate = (self.rule)(&packet);
        self.log.push(packet);
        if fate == Fate::Vanish {
            return;
        }
        let bits = (segment.len() as u64 + 20) * 8;
        let serialisation = Duration::from_nanos((bits * 1_000_000_000).checked_div(self.rate).unwrap_or(0));
        self.busy[side] = self.busy[side].max(self.now) + serialisation;
        let extra = match fate {
            Fate::Drop | Fate::Vanish => return,
            Fate::Delay(extra) => extra,
            Fate::Pass | Fate::Twice => Duration::ZERO,
        };
        for _ in 0..if fate == Fate::Twice { 2 } else { 1 } {
            self.serial += 1;
            let at = self.busy[side] + self.delay + extra;
            self.wire.insert((at, self.serial), (from_client, segment.to_vec()));
        }
    }
}

impl Host {
    fn run_user(&mut self, now: Instant) -> bool {
        let mut busy = false;
        while let Some((id, event)) = self.stack.poll_event() {
            busy = true;
            self.id.get_or_insert(id);
            if event == Event::Accepted {
                self.id = Some(id);
            }
            if event == Event::PeerClosed && self.close_in_turn {
                self.stack.close(now, id);
            }
            self.events.push(event);
        }
        let Some(id) = self.id else { return busy };
        while self.reads {
            let Some(data) = self.stack.receive(now, id) else { break };
            self.received.extend_from_slice(&data);
            busy = true;
        }
        if !self.offer.is_empty() {
            if let Ok(taken) = self.stack.send(now, id, self.offer.clone()) {
                busy |= taken > 0;
                self.offer = self.offer.slice(taken..);
            }
        }
        if self.close_after_offer && self.offer.is_empty() {
            self.close_after_offer = false;
            self.stack.close(now, id);
            busy = true;
        }
        busy
    }
}
