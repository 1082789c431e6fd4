//! Each message whose fate is asked for has exactly one, whatever becomes of its association: random lives of two endpoints, with losses,
//! disorder, limits of every kind, subflows that come and go, streams that are reset, and every way to end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Rng};
use anabranch_sctp::config::{LossDetection, StreamScheduling, SubflowLevel};
use anabranch_sctp::{
    AssociationId, CloseReason, Config, Direction, Endpoint, EndpointConfig, Event, Message, Reliability,
    State, SubflowSpec,
};
use bytes::Bytes;
use common::{PORT, Pair, Side, address, subflow_config};

const STREAMS: u16 = 6;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Shutdown,
    PeerShutdown,
    Abort,
    PeerAbort,
    PeerRestart,
    Silence,
}

/// One life: its sender, the messages sent, and the fates reported.
struct Life {
    pair: Pair,
    rng: Rng,
    side: Side,
    id: AssociationId,
    /// By number: stream, whether unordered, whether it may be given up.
    sent: BTreeMap<u64, (u16, bool, bool)>,
    subflows: Vec<u8>,
}

fn config(rng: &mut Rng) -> Config {
    let (level, subflows) = match rng.below(4) {
        0 => (SubflowLevel::Zero, 3),
        1 => (SubflowLevel::One, 3),
        _ => (SubflowLevel::Zero, 1),
    };
    subflow_config(level, subflows).with(|c| {
        c.extensions.partial_reliability = rng.below(8) > 0;
        c.extensions.interleaving = rng.chance(0.4);
        c.extensions.reconfiguration = rng.chance(0.5);
        c.streams.outbound = STREAMS;
        c.timers.rto_min = ms(200);
        c.timers.rto_initial = ms(500);
        c.timers.rto_max = ms(5000);
        // A life ends as it is told, not because a quarter of its packets is lost.
        c.timers.shutdown_guard_rto_max = 0;
        c.limits.association_max_retrans = 30;
        if rng.chance(0.3) {
            c.congestion.loss_detection = LossDetection::Rack;
            c.congestion.tail_loss_probe = true;
        }
        if rng.chance(0.3) {
            c.limits.send_buffer = 20_000;
        }
        if rng.chance(0.3) {
            c.limits.receive_window = 10_000;
        }
        c.streams.scheduling = match rng.below(5) {
            0 => StreamScheduling::RoundRobin,
            1 => StreamScheduling::RoundRobinPacket,
            2 => StreamScheduling::Priority,
            3 => StreamScheduling::FairCapacity,
            _ => StreamScheduling::Fcfs,
        };
    })
}

impl Life {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "fates", "life");
        let config = config(&mut rng);
        let (mut pair, a, z) = Pair::established(seed, &config);
        let side = if rng.chance(0.5) { Side::A } else { Side::Z };
        let id = if side == Side::A { a } else { z };
        let loss = [0.0, 0.02, 0.1, 0.25][rng.below(4) as usize];
        let mut luck = Rng::stream(seed, "fates", "loss");
        pair.drop_if(move |_| luck.chance(loss));
        let jitter = rng.below(30);
        let disorder = std::cell::RefCell::new(Rng::stream(seed, "fates", "delay"));
        pair.delay_by(move |_| ms(10 + disorder.borrow_mut().below(jitter + 1)));
        let subflows = (0..config.subflows.open.len() as u8).collect();
        Self { pair, rng, side, id, sent: BTreeMap::new(), subflows }
    }

    #[track_caller]
    fn run(&mut self, time: Duration) {
        self.pair.run_for(time);
        if let Some(view) = self.pair.endpoint(self.side).view(self.id) {
            view.audit().unwrap();
        }
    }

    fn send(&mut self) {
        let rng = &mut self.rng;
        let stream = rng.below(u64::from(STREAMS)) as u16;
        let number = self.sent.len() as u64;
        let len = match rng.below(4) {
            0 => 8,
            1 => 100 + rng.below(1000) as usize,
            2 => 1400 + rng.below(3000) as usize,
            _ => 8 + rng.below(20_000) as usize,
        };
        let mut payload = vec![0; len];
        payload[..8].copy_from_slice(&number.to_be_bytes());
        let unordered = rng.chance(0.3);
        let mut message = Message { unordered, ..Message::new(stream, Bytes::from(payload)) }.tell_fate();
        let reliability = match rng.below(6) {
            0 => Reliability::Lifetime(ms(rng.below(400))),
            1 => Reliability::Lifetime(Duration::MAX),
            2 => Reliability::Retransmissions(rng.below(3) as u16),
            3 => Reliability::Priority(rng.below(4) as u32),
            _ => Reliability::Full,
        };
        message = message.reliability(reliability).or_reliable().context(number as u32);
        let now = self.pair.now;
        let sent = self.pair.endpoint(self.side).association(self.id).unwrap().send(now, message);
        if let Ok(id) = sent {
            assert_eq!(id.0, number);
            self.sent.insert(number, (stream, unordered, reliability != Reliability::Full));
        }
    }

    /// Something else than a message.
    fn change(&mut self) {
        let now = self.pair.now;
        let (which, a, b) = (self.rng.below(5), self.rng.below(8), self.rng.below(8));
        let subflow = |n: u64| self.subflows[n as usize % self.subflows.len()];
        let (from, to) = (subflow(a), subflow(b));
        let mut association = self.pair.endpoint(self.side).association(self.id).unwrap();
        let stream = a as u16 % STREAMS;
        // A command may be refused.
        match which {
            0 if from != to && association.remove_subflow(now, from, to).is_ok() => {
                self.subflows.retain(|subflow| *subflow != from);
            }
            1 if from != to && association.merge_subflows(now, from, to).is_ok() => {
                self.subflows.retain(|subflow| *subflow != from);
            }
            2 if self.subflows.len() < 4 => {
                let spec =
                    SubflowSpec { streams: vec![stream], ..SubflowSpec::new(Dscp::new(b as u8).unwrap()) };
                self.subflows.extend(association.add_subflow(now, &spec).ok());
            }
            3 => drop(association.set_stream_subflow(now, stream, to)),
            _ => drop(association.reset_streams(now, Direction::Outgoing, &[stream])),
        }
    }

    fn end(&mut self, end: End) {
        let now = self.pair.now;
        let other = self.side.other();
        match end {
            End::Shutdown => self.pair.endpoint(self.side).association(self.id).unwrap().shutdown(now),
            End::Abort => self.pair.endpoint(self.side).association(self.id).unwrap().abort(now, b"enough"),
            End::PeerShutdown | End::PeerAbort => {
                let id = self.pair.events.iter().rev().find(|(s, ..)| *s == other).map(|(_, id, _)| *id);
                let mut association = self.pair.endpoint(other).association(id.unwrap()).unwrap();
                match end {
                    End::PeerShutdown => association.shutdown(now),
                    _ => association.abort(now, b"enough"),
                }
            }
            End::PeerRestart => {
                let config = Arc::clone(self.pair.endpoint(self.side).view(self.id).unwrap().configuration());
                let fresh = Endpoint::new(
                    EndpointConfig::new(address(other), PORT),
                    Rng::stream(self.rng.u64(), "fates", "restarted").secret(),
                );
                *self.pair.endpoint(other) = fresh;
                self.pair.endpoint(other).connect(now, address(self.side), PORT, config).unwrap();
                self.run(Duration::from_secs(20));
                let now = self.pair.now;
                if self
                    .pair
                    .endpoint(self.side)
                    .view(self.id)
                    .is_some_and(|view| view.state() != State::Closed)
                {
                    self.pair.endpoint(self.side).association(self.id).unwrap().shutdown(now);
                }
            }
            End::Silence => self.pair.drop_if(|_| true),
        }
        self.run(Duration::from_secs(600));
    }

    /// Reason for which the association has ended for its sender.
    fn closed(&self) -> Option<CloseReason> {
        self.pair.events.iter().rev().find_map(|(side, _, event)| match event {
            Event::Closed(reason) if *side == self.side => Some(reason.clone()),
            _ => None,
        })
    }

    /// Numbers of messages delivered, given up unsent, given up when sent, and failed.
    fn check(&self, seed: u64, end: End) -> [u32; 4] {
        let graceful = matches!(end, End::Shutdown | End::PeerShutdown);
        let mut fates: BTreeMap<u64, &Event> = BTreeMap::new();
        for (side, _, event) in &self.pair.events {
            if let Event::Delivered { message, context }
            | Event::Abandoned { message, context, .. }
            | Event::Failed { message, context, .. } = event
            {
                assert_eq!((*side, message.0), (self.side, u64::from(*context)));
                let before = fates.insert(message.0, event);
                assert_eq!(before, None, "life {seed}, {end:?}: {event:?} is the second fate");
            }
        }
        let told: Vec<u64> = fates.keys().copied().collect();
        let sent: Vec<u64> = self.sent.keys().copied().collect();
        assert_eq!(told, sent, "life {seed}, {end:?}");
        let mut received: BTreeMap<u64, u32> = BTreeMap::new();
        let mut last: BTreeMap<u16, u64> = BTreeMap::new();
        for (side, message) in &self.pair.received {
            assert_eq!(*side, self.side.other());
            let bytes = message.clone().into_bytes();
            let number = u64::from_be_bytes(bytes[..8].try_into().unwrap());
            *received.entry(number).or_default() += 1;
            assert_eq!(received[&number], 1, "life {seed}, {end:?}: {number} came twice");
            assert_eq!(self.sent[&number].0, message.stream);
            if !message.unordered {
                let before = last.insert(message.stream, number);
                assert!(before < Some(number), "life {seed}, {end:?}: {number} came behind {before:?}");
            }
        }
        let mut counts = [0; 4];
        for (number, event) in fates {
            counts[match event {
                Event::Delivered { .. } => 0,
                Event::Abandoned { sent, .. } => 1 + usize::from(*sent),
                _ => 3,
            }] += 1;
            let partial = self.sent[&number].2;
            match event {
                Event::Delivered { .. } if graceful => {
                    assert!(received.contains_key(&number), "life {seed}: {number}");
                }
                Event::Abandoned { sent, .. } => {
                    assert!(partial, "life {seed}: {number} was given up");
                    assert!(*sent || !received.contains_key(&number));
                }
                Event::Failed { sent, .. } => {
                    assert!(!graceful, "life {seed}, {end:?}: {number} failed, {:?}", self.closed());
                    assert!(*sent || !received.contains_key(&number));
                }
                _ => {}
            }
        }
        counts
    }
}

fn live(seed: u64) -> [u32; 4] {
    let mut life = Life::new(seed);
    for _ in 0..40 {
        for _ in 0..life.rng.below(6) {
            life.send();
        }
        if life.rng.chance(0.15) {
            life.change();
        }
        let time = ms(life.rng.below(120));
        life.run(time);
        let closed =
            life.pair.endpoint(life.side).view(life.id).is_none_or(|view| view.state() == State::Closed);
        if closed {
            return life.check(seed, End::Silence);
        }
    }
    let end = [
        End::Shutdown,
        End::Shutdown,
        End::PeerShutdown,
        End::Abort,
        End::PeerAbort,
        End::PeerRestart,
        End::Silence,
    ][life.rng.below(7) as usize];
    life.end(end);
    life.check(seed, end)
}

#[test]
fn every_message_has_one_fate() {
    let lives: u64 = std::env::var("FATES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let first: u64 = std::env::var("FATES_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut all = [0; 4];
    for seed in first..first + lives {
        for (sum, count) in all.iter_mut().zip(live(seed)) {
            *sum += count;
        }
    }
    // Each is seen often.
    assert!(all.iter().all(|count| u64::from(*count) > lives), "{all:?}");
}
