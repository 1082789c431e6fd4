//! Random lives of messages that may be given up, through full buffers, lost packets and subflows that come and go: no chunk leaves more
//! often or later than its message allows, and every `Writable` and `BufferedLow` that is owed comes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use anabranch_base::{Dscp, Duration, Instant, Rng};
use anabranch_sctp::config::{LossDetection, SendBufferCounts, SubflowLevel};
use anabranch_sctp::{
    AssociationHandle, AssociationId, Config, Direction, Event, Message, Reliability, SendError, SubflowSpec,
};
use bytes::Bytes;

use crate::common::{Pair, Side, subflow_config};

/// Found in the bytes of a packet, before the number of the message.
const MARK: &[u8; 8] = b"MaRkEr!!";
const STREAMS: u64 = 6;
/// Thresholds of all that is buffered, and of three streams, bytes.
const THRESHOLDS: [(Option<u16>, usize); 4] = [(None, 4000), (Some(0), 0), (Some(1), 1500), (Some(2), 100)];

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A message of one chunk that tells which it is.
fn marked(number: u32, len: usize) -> Bytes {
    let mut all = vec![0x11; len.max(12)];
    all[..8].copy_from_slice(MARK);
    all[8..12].copy_from_slice(&number.to_be_bytes());
    all.into()
}

struct Life {
    pair: Pair,
    a: AssociationId,
    rng: Rng,
    several: bool,
    /// Subflows that are open.
    open: Vec<u8>,
    /// Time at which each message was taken, and its options.
    taken: BTreeMap<u32, (Instant, Reliability)>,
    /// More than the threshold was buffered, and that it has fallen was not told since.
    low: BTreeSet<Option<u16>>,
    /// `send` said so, and that there is room was not told since.
    full: BTreeSet<Option<u16>>,
    heard: usize,
}

impl Life {
    fn config(rng: &mut Rng, level: SubflowLevel, subflows: u8) -> Config {
        subflow_config(level, subflows).with(|c| {
            c.extensions.partial_reliability = true;
            c.extensions.interleaving = rng.chance(0.4);
            c.extensions.reconfiguration = rng.chance(0.5);
            c.streams.outbound = STREAMS as u16;
            (c.timers.rto_initial, c.timers.rto_min, c.timers.rto_max) = (ms(500), ms(200), ms(2000));
            (c.limits.association_max_retrans, c.limits.max_init_retransmits) = (100, 100);
            if rng.chance(0.4) {
                c.congestion.loss_detection = LossDetection::Rack;
                c.congestion.tail_loss_probe = true;
            }
            if rng.chance(0.5) {
                c.limits.send_buffer_counts = SendBufferCounts::Unacknowledged;
            }
            c.limits.send_buffer = if rng.chance(0.5) { 5000 } else { 20_000 };
            c.limits.stream_send_buffer = if rng.chance(0.5) { 3000 } else { 0 };
            c.limits.stream_send_minimum = if rng.chance(0.5) { 1500 } else { 0 };
            if rng.chance(0.3) {
                c.limits.receive_window = 10_000;
            }
        })
    }

    fn new(seed: u64, established: bool) -> Self {
        let mut rng = Rng::stream(seed, "owed", "life");
        let (level, subflows) = match rng.below(4) {
            0 => (SubflowLevel::Zero, 3),
            1 => (SubflowLevel::One, 3),
            _ => (SubflowLevel::Zero, 1),
        };
        let (mut pair, a) = Pair::connecting(seed, &Self::config(&mut rng, level, subflows));
        if established {
            pair.run_for(ms(300));
            pair.log.clear();
        }
        let loss = [0.0, 0.05, 0.2][rng.below(3) as usize];
        let mut luck = Rng::stream(seed, "owed", "loss");
        pair.drop_if(move |_| luck.chance(loss));
        let jitter = RefCell::new(Rng::stream(seed, "owed", "jitter"));
        pair.delay_by(move |_| ms(10 + jitter.borrow_mut().below(15)));
        for (which, bytes) in THRESHOLDS {
            pair.a.association(a).unwrap().set_low_threshold(which, Some(bytes)).unwrap();
        }
        let open = (0..subflows).collect();
        let (taken, low, full) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { pair, a, rng, several: subflows > 1, open, taken, low, full, heard: 0 }
    }

    fn association(&mut self) -> AssociationHandle<'_> {
        self.pair.a.association(self.a).unwrap()
    }

    fn send(&mut self, number: u32) {
        let stream = self.rng.below(STREAMS) as u16;
        let reliability = match self.rng.below(6) {
            0 => Reliability::Lifetime(ms(self.rng.below(400))),
            1 => Reliability::Lifetime(Duration::ZERO),
            2 => Reliability::Retransmissions(0),
            3 => Reliability::Retransmissions(self.rng.below(3) as u16),
            4 => Reliability::Priority(self.rng.below(4) as u32),
            _ => Reliability::Full,
        };
        let payload = marked(number, 12 + self.rng.below(1000) as usize);
        let message = Message { unordered: self.rng.chance(0.3), ..Message::new(stream, payload) };
        let now = self.pair.now;
        let answer = self.association().send(now, message.reliability(reliability).tell_fate());
        match &answer {
            Ok(_) => {
                self.taken.insert(number, (now, reliability));
                for (which, bytes) in THRESHOLDS {
                    if self.association().buffered_bytes(which) > bytes {
                        self.low.insert(which);
                    }
                }
            }
            Err(SendError::Full) => drop(self.full.insert(None)),
            Err(SendError::StreamFull { stream }) => drop(self.full.insert(Some(*stream))),
            Err(other) => assert!(answer.is_ok(), "{other}"),
        }
    }

    fn change_subflows(&mut self) {
        let one = self.open[self.rng.below(self.open.len() as u64) as usize];
        let other = self.open[self.rng.below(self.open.len() as u64) as usize];
        let (stream, what, dscp) =
            (self.rng.below(STREAMS) as u16, self.rng.below(5), self.rng.below(8) as u8);
        let (now, room) = (self.pair.now, self.open.len() < 4);
        // Not by `association`, which borrows everything.
        let mut association = self.pair.a.association(self.a).unwrap();
        match what {
            0 | 1 if one != other => {
                let gone = match what {
                    0 => association.remove_subflow(now, one, other).is_ok(),
                    _ => association.merge_subflows(now, one, other).is_ok(),
                };
                self.open.retain(|id| !gone || *id != one);
            }
            2 if room => {
                let spec =
                    SubflowSpec { streams: vec![stream], ..SubflowSpec::new(Dscp::new(dscp).unwrap()) };
                let added = association.add_subflow(now, &spec);
                self.open.extend(added.ok());
            }
            3 => drop(association.set_stream_subflow(now, stream, one)),
            _ => drop(association.reset_streams(now, Direction::Outgoing, &[stream])),
        }
    }

    fn listen(&mut self) {
        for (_, _, event) in self.pair.events[self.heard..].iter().filter(|(side, ..)| *side == Side::A) {
            match event {
                Event::BufferedLow { stream } => {
                    assert!(self.low.remove(stream), "BufferedLow {stream:?} out of nothing");
                }
                Event::Writable { stream } => {
                    // `Full` names no subflow: there is a Writable for each that was.
                    let expected = self.full.remove(stream);
                    assert!(
                        expected || stream.is_none() && self.several,
                        "Writable {stream:?} out of nothing"
                    );
                }
                _ => {}
            }
        }
        self.heard = self.pair.events.len();
    }

    /// Times at which each message left.
    fn copies(&self) -> BTreeMap<u32, Vec<Instant>> {
        let mut all: BTreeMap<u32, Vec<Instant>> = BTreeMap::new();
        for packet in self.pair.log.iter().filter(|packet| packet.from == Side::A) {
            for window in packet.bytes.windows(12).filter(|window| window.starts_with(MARK)) {
                let number = u32::from_be_bytes(window[8..].try_into().unwrap());
                all.entry(number).or_default().push(packet.at);
            }
        }
        all
    }

    fn run(mut self) {
        let mut number = 0;
        for _ in 0..60 {
            for _ in 0..self.rng.below(8) {
                number += 1;
                self.send(number);
            }
            if self.several && self.rng.chance(0.2) {
                self.change_subflows();
            }
            let time = ms(self.rng.below(100));
            self.pair.run_for(time);
            self.listen();
            self.pair.a.view(self.a).unwrap().audit().unwrap();
        }
        self.pair.drop_if(|_| false);
        self.pair.run_for(Duration::from_secs(100));
        self.listen();
        assert_eq!(self.association().buffered_bytes(None), 0);
        for (number, times) in self.copies() {
            let (taken, reliability) = self.taken[&number];
            match reliability {
                Reliability::Retransmissions(most) => {
                    assert!(
                        times.len() <= usize::from(most) + 1,
                        "message {number}, at most {most}: {times:?}"
                    );
                }
                Reliability::Lifetime(life) => {
                    let late = times.iter().any(|at| *at - taken > life);
                    assert!(!late, "message {number} of {taken}, for {life}: {times:?}");
                }
                _ => {}
            }
        }
        assert!(self.low.is_empty() && self.full.is_empty(), "never told: {:?} {:?}", self.low, self.full);
    }
}

#[test]
fn no_limit_is_broken_and_every_event_that_is_owed_comes() {
    let lives = std::env::var("LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(250);
    for seed in 0..lives {
        for established in [true, false] {
            println!("seed {seed}, established {established}");
            Life::new(seed, established).run();
        }
    }
}
