//! Flows over one bottleneck in virtual time: enough of a transport for a controller to be judged by. Packets are of one size, a
//! lost one is found by three later ones or after a second without news, and its place is taken by the next packet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use anabranch_base::{Duration, Instant, Rng};

use crate::congestion::segments::{Algorithm, SegmentRules};
use crate::congestion::{Acked, AckedGrowth, Base, Congestion, Controller, Timing, WindowRules};
use crate::pacer::{Pacer, PacerRules, Rate};

pub(super) const PACKET: u64 = 1250;

/// The bottleneck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Bytes a second.
    pub(super) rate: f64,
    /// Round trip without a queue.
    pub(super) rtt: Duration,
    /// Bytes that may wait.
    pub(super) buffer: f64,
    /// Part of the packets that is lost at any load.
    pub(super) loss: f64,
}

impl Path {
    /// So many Mbit/s and ms, a queue of so many bandwidth-delay products, losses.
    pub(super) fn new(mbit: f64, rtt_ms: f64, queue: f64, loss: f64) -> Self {
        let rate = mbit * 1e6 / 8.0;
        let rtt = Duration::from_secs_f64(rtt_ms / 1e3);
        Self { rate, rtt, buffer: (rate * rtt_ms / 1e3 * queue).max(2.0 * PACKET as f64), loss }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Start(usize),
    /// The receiver's news reach the sender: highest number that arrived, by which time.
    Ack(usize),
    Wake(usize),
    Timeout(usize),
    Change(usize),
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
}

pub(super) struct Flow {
    pub(super) controller: Controller,
    pacer: Pacer,
    /// Taken for lost by a timeout; news of them may come all the same.
    gone: BTreeMap<u64, Sent>,
    backoff: u32,
    arrived_last: u64,
    wake: Option<Instant>,
    flying: BTreeMap<u64, Sent>,
    next: u64,
    /// Numbers that arrived, in the order in which news of them reach the sender.
    news: VecDeque<(Instant, Vec<u64>)>,
    held: Vec<u64>,
    flight: u64,
    srtt: Option<Duration>,
    recovery: Option<u64>,
    heard: Instant,
    round_end: u64,
    /// Bytes that have arrived.
    pub(super) arrived: u64,
    pub(super) lost: u64,
    extra_rtt: Duration,
    /// Bytes that the application still has; `None` for any number.
    pub(super) to_send: Option<u64>,
    pub(super) timeouts: u32,
    /// Most bytes that left at one instant.
    pub(super) largest_burst: u64,
    burst: (Instant, u64),
    pub(super) finished: Option<Instant>,
}

pub(super) struct Net {
    pub(super) path: Path,
    pub(super) now: Instant,
    free_at: Instant,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    order: u64,
    pub(super) flows: Vec<Flow>,
    rng: Rng,
    /// Sum of delays in the queue, seconds, and packets.
    pub(super) queued: (f64, u64),
    changes: Vec<Path>,
    /// SACKs in one such time come together.
    pub(super) batch: Duration,
}

pub(super) fn rules(algorithm: Algorithm, initial: u64) -> SegmentRules {
    SegmentRules {
        algorithm,
        hystart: false,
        window: WindowRules {
            segment: PACKET,
            growth: AckedGrowth::Bytes,
            limit: 8,
            initial_window: initial * PACKET,
            initial_ssthresh: u64::MAX,
            floor: 2 * PACKET,
            loss_window: 1,
        },
        undo: false,
        validation: false,
        gentle_convergence: false,
        needs_full_window: false,
        needs_advance: false,
        backoff_keeps_ssthresh: false,
        idle_floor: None,
    }
}

impl Net {
    pub(super) fn new(path: Path, seed: u64) -> Self {
        Self {
            path,
            now: Instant::ZERO,
            free_at: Instant::ZERO,
            events: BinaryHeap::new(),
            order: 0,
            flows: Vec::new(),
            rng: Rng::stream(seed, "path", "losses"),
            queued: (0.0, 0),
            changes: Vec::new(),
            batch: Duration::ZERO,
        }
    }

    fn at(&mut self, when: Instant, event: Event) {
        self.order += 1;
        self.events.push(Reverse((when, self.order, event)));
    }

    /// A flow that begins at so many seconds, with a round trip that is longer by so much.
    pub(super) fn flow(&mut self, algorithm: Algorithm, start: f64, extra_rtt: Duration) -> usize {
        let controller = Controller::segments(&rules(algorithm, 10));
        let pacer = Pacer::new(&PacerRules {
            gain: 120,
            gain_slow_start: 200,
            packet: PACKET as u32,
            burst: 10,
            quantum: Duration::ZERO,
        });
        self.flows.push(Flow {
            controller,
            pacer,
            gone: BTreeMap::new(),
            backoff: 0,
            arrived_last: 0,
            wake: None,
            flying: BTreeMap::new(),
            next: 0,
            news: VecDeque::new(),
            held: Vec::new(),
            flight: 0,
            srtt: None,
            recovery: None,
            heard: Instant::ZERO,
            round_end: 0,
            arrived: 0,
            lost: 0,
            extra_rtt,
            to_send: None,
            timeouts: 0,
            largest_burst: 0,
            burst: (Instant::ZERO, 0),
            finished: None,
        });
        let id = self.flows.len() - 1;
        self.at(Instant::ZERO + Duration::from_secs_f64(start), Event::Start(id));
        id
    }

    /// The path becomes another one at so many seconds.
    pub(super) fn change(&mut self, at: f64, path: Path) {
        self.changes.push(path);
        self.at(Instant::ZERO + Duration::from_secs_f64(at), Event::Change(self.changes.len() - 1));
    }

    pub(super) fn run(&mut self, until: f64) {
        let end = Instant::ZERO + Duration::from_secs_f64(until);
        while let Some(&Reverse((when, _, event))) = self.events.peek() {
            if when > end {
                break;
            }
            self.events.pop();
            self.now = when;
            match event {
                Event::Start(id) => {
                    self.flows[id].heard = when;
                    self.at(when + Duration::from_secs(1), Event::Timeout(id));
                    self.send(id);
                }
                Event::Wake(id) => {
                    if self.flows[id].wake == Some(when) {
                        self.flows[id].wake = None;
                        self.send(id);
                    }
                }
                Event::Ack(id) => self.hear(id),
                Event::Change(index) => self.path = self.changes[index],
                Event::Timeout(id) => {
                    let flow = &self.flows[id];
                    let wait = Duration::from_secs(1).max(flow.srtt.unwrap_or(Duration::ZERO) * 2);
                    let wait = wait * (1 << flow.backoff);
                    let due = flow.heard + wait;
                    if flow.flight > 0 && when >= due {
                        self.time_out(id);
                    }
                    let next = if when >= due { when + wait } else { due };
                    self.at(next, Event::Timeout(id));
                }
            }
        }
        self.now = end;
    }

    fn rate(flow: &Flow) -> Option<Rate> {
        if flow.controller.is_model() {
            return flow.controller.pacing_rate().and_then(Rate::per_second);
        }
        flow.pacer.rate(flow.controller.window(), flow.controller.ssthresh(), flow.srtt)
    }

    pub(super) fn send(&mut self, id: usize) {
        loop {
            let now = self.now;
            let flow = &mut self.flows[id];
            if flow.to_send == Some(0) || flow.flight >= flow.controller.window() {
                return;
            }
            let rate = Self::rate(flow);
            if let Some(rate) = rate {
                if !flow.pacer.lets(now, rate, Duration::from_secs(60)) {
                    let at = flow.pacer.at.unwrap_or(now);
                    // A rate that is nearly nothing is looked at again.
                    let at = at.min(now + Duration::from_secs(1));
                    // One wake-up is under way at a time.
                    if flow.wake.is_none_or(|wake| wake > at || wake <= now) {
                        flow.wake = Some(at);
                        self.at(at, Event::Wake(id));
                    }
                    return;
                }
            }
            let before = flow.flight;
            flow.flight += PACKET;
            if let Some(left) = &mut flow.to_send {
                *left = left.saturating_sub(PACKET);
            }
            if let Some(rate) = rate {
                if let Some(quantum) = flow.controller.quantum() {
                    flow.pacer.set_bucket(quantum);
                }
                flow.pacer.sent(now, rate, PACKET);
            }
            let dry = flow.to_send == Some(0);
            flow.controller.on_sent(now, before, flow.flight, dry);
            if flow.burst.0 != now {
                flow.burst = (now, 0);
            }
            flow.burst.1 += PACKET;
            flow.largest_burst = flow.largest_burst.max(flow.burst.1);
            let seq = flow.next;
            flow.next += 1;
            flow.flying.insert(seq, Sent { at: now });
            self.forward(id, seq);
        }
    }

    /// Through the bottleneck.
    fn forward(&mut self, id: usize, seq: u64) {
        let start = self.free_at.max(self.now);
        let waiting = (start - self.now).as_secs_f64();
        if waiting * self.path.rate > self.path.buffer {
            return;
        }
        let served = start + Duration::from_secs_f64(PACKET as f64 / self.path.rate);
        self.free_at = served;
        self.queued.0 += waiting;
        self.queued.1 += 1;
        if self.rng.chance(self.path.loss) {
            return;
        }
        let back = served + self.path.rtt + self.flows[id].extra_rtt;
        let flow = &mut self.flows[id];
        flow.held.push(seq);
        // Every second packet is acknowledged, at once behind a gap and at the end.
        let gap = seq > flow.arrived_last + 1 || flow.to_send == Some(0);
        flow.arrived_last = seq;
        if flow.held.len() >= 2 || gap {
            let last = flow.news.back().map_or(Instant::ZERO, |(at, _)| *at);
            let mut when = back.max(last);
            if self.batch > Duration::ZERO {
                let slots = when.as_nanos().div_ceil(self.batch.as_nanos());
                when = Instant::from_nanos(slots * self.batch.as_nanos());
            }
            let seqs = std::mem::take(&mut flow.held);
            flow.news.push_back((when, seqs));
            self.at(when, Event::Ack(id));
        }
    }

    fn hear(&mut self, id: usize) {
        let now = self.now;
        let flow = &mut self.flows[id];
        let (mut newly, mut newest, mut highest) = (0, None, None);
        let before = flow.flight;
        while flow.news.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, seqs)) = flow.news.pop_front() else { break };
            for seq in seqs {
                flow.arrived += PACKET;
                if let Some(sent) = flow.flying.remove(&seq) {
                    newly += PACKET;
                    flow.flight -= PACKET;
                    newest = newest.max(Some(sent.at));
                    highest = highest.max(Some(seq));
                } else if let Some(sent) = flow.gone.remove(&seq) {
                    newly += PACKET;
                    newest = newest.max(Some(sent.at));
                }
            }
        }
        if newly == 0 {
            return;
        }
        flow.heard = now;
        flow.backoff = 0;
        let rtt = newest.map(|at| now - at);
        if let Some(rtt) = rtt {
            flow.srtt = Some(flow.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
        }
        let una = flow.flying.keys().next().copied().unwrap_or(flow.next);
        let round_trip = una > flow.round_end;
        if round_trip {
            flow.round_end = flow.next;
        }
        if flow.recovery.is_some_and(|exit| una > exit) {
            flow.recovery = None;
        }
        let acked = Acked {
            cumulative: newly,
            flight_before: u64::MAX,
            cumulative_advanced: true,
            in_recovery: flow.recovery.is_some(),
            all_acked: flow.flight == 0,
            round_trip,
            ..Acked::default()
        };
        let starved = flow.to_send == Some(0);
        let (srtt, max, flight) = (flow.srtt, flow.next, flow.flight);
        let timing =
            Timing { now, rtt, srtt, una, max, newest_sent: newest, flight_before: before, flight, starved };
        flow.controller.on_ack(&acked, || timing);
        // A packet that three later ones have overtaken is lost.
        let overtaken = highest.and_then(|highest| highest.checked_sub(2)).unwrap_or(0);
        let lost: Vec<(u64, Sent)> =
            flow.flying.range(..overtaken).map(|(seq, sent)| (*seq, *sent)).collect();
        self.lose(id, &lost);
        if starved && self.flows[id].to_send == Some(0) && self.flows[id].flight == 0 {
            self.flows[id].finished.get_or_insert(now);
        }
        self.send(id);
    }

    fn lose(&mut self, id: usize, lost: &[(u64, Sent)]) {
        let now = self.now;
        let flow = &mut self.flows[id];
        for (seq, sent) in lost {
            flow.flying.remove(seq);
            flow.flight -= PACKET;
            flow.lost += PACKET;
            if let Some(left) = &mut flow.to_send {
                *left += PACKET;
            }
            flow.controller.on_lost(now, sent.at, PACKET);
        }
        if !lost.is_empty() && flow.recovery.is_none() {
            flow.recovery = Some(flow.next);
            flow.controller.on_congestion(Congestion::FastRetransmit(Base::CWND));
        }
    }

    fn time_out(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        flow.timeouts += 1;
        let mut flying = std::mem::take(&mut flow.flying);
        flow.gone.append(&mut flying);
        flow.backoff = (flow.backoff + 1).min(6);
        if let Some(left) = &mut flow.to_send {
            *left += flow.flight;
        }
        flow.flight = 0;
        flow.recovery = None;
        flow.heard = self.now;
        flow.controller.on_congestion(Congestion::Timeout(Some(Base::CWND)));
        self.send(id);
    }
}

/// Mbit/s of every flow from `from` to `to` seconds, and the mean delay in the queue of that time, ms.
pub(super) fn rates(net: &mut Net, from: f64, to: f64) -> (Vec<f64>, f64) {
    net.run(from);
    let before: Vec<u64> = net.flows.iter().map(|flow| flow.arrived).collect();
    let queued = net.queued;
    net.run(to);
    let mbit = |bytes: u64| bytes as f64 * 8.0 / 1e6 / (to - from);
    let rates = net.flows.iter().zip(before).map(|(flow, before)| mbit(flow.arrived - before)).collect();
    let packets = (net.queued.1 - queued.1).max(1) as f64;
    (rates, (net.queued.0 - queued.0) / packets * 1e3)
}
