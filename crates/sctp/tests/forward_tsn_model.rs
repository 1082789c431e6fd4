//! An honest sender that gives up messages, and a network that loses and reorders: whatever is not given up arrives, once and in order, and
//! of what is given up nothing remains (FORWARD-TSN, RFC 3758, 3.6; I-FORWARD-TSN, RFC 8260, 2.3.1).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{Config, State};
use anabranch_wire::chunk::forward_tsn::SkippedSsn;
use anabranch_wire::chunk::{
    Chunk, CookieAck, Data, DataFlags, IData, Skipped, forward_tsn, i_forward_tsn, kind,
};
use anabranch_wire::param::{ForwardTsnSupported, Param, SupportedExtensions};
use anabranch_wire::{Checksum, Mid, Packet, Ssn, Tsn};
use common::script::{Script, TSN_Z};

const WINDOW: u32 = 200_000;

/// A message: its TSNs count from 0.
#[derive(Clone, Debug)]
struct Message {
    stream: u16,
    unordered: bool,
    number: u32,
    first: u32,
    fragments: u32,
    given_up: bool,
}

impl Message {
    fn holds(&self, n: u32) -> bool {
        (self.first..self.first + self.fragments).contains(&n)
    }
}

struct World {
    script: Script,
    interleaved: bool,
    messages: Vec<Message>,
    end: u32,
    /// TSNs that the receiver has or counts as received, up to its cumulative one and beyond.
    cumulative: u32,
    arrived: BTreeSet<u32>,
    delivered: BTreeSet<usize>,
    /// The last ordered message of each stream that was delivered.
    last: BTreeMap<u16, u32>,
}

impl World {
    fn new(rng: &mut Rng, interleaved: bool) -> Self {
        let config = Config::rfc9260().with(|c| {
            c.extensions.partial_reliability = true;
            c.extensions.interleaving = interleaved;
            c.timers.heartbeat_interval = Duration::ZERO;
            c.limits.receive_window = WINDOW;
        });
        let mut script = Script::calling(&config);
        let types: &[u8] = if interleaved { &[0x40, 0xC0, 0xC2] } else { &[0xC0] };
        let extensions = Param::SupportedExtensions(SupportedExtensions { chunk_types: types });
        script.init_ack_with(10, &[Param::ForwardTsnSupported(ForwardTsnSupported), extensions]);
        script.send(|out| CookieAck.emit(out));
        assert!(script.pair.a.view(script.a).unwrap().is_partially_reliable());
        let mut world = Self {
            script,
            interleaved,
            messages: Vec::new(),
            end: 0,
            cumulative: 0,
            arrived: BTreeSet::new(),
            delivered: BTreeSet::new(),
            last: BTreeMap::new(),
        };
        let mut numbers: BTreeMap<(u16, bool), u32> = BTreeMap::new();
        let given_up = rng.below(10);
        for _ in 0..1 + rng.below(40) {
            let (stream, unordered) = (rng.below(3) as u16, rng.below(4) == 0);
            let number = numbers.entry((stream, unordered)).or_default();
            let fragments = 1 + rng.below(4) as u32;
            let message = Message {
                stream,
                unordered,
                number: *number,
                first: world.end,
                fragments,
                given_up: rng.below(10) < given_up,
            };
            *number += 1;
            world.end += fragments;
            world.messages.push(message);
        }
        world
    }

    fn message_of(&self, n: u32) -> (usize, Message) {
        let index = self.messages.iter().position(|message| message.holds(n)).unwrap();
        (index, self.messages[index].clone())
    }

    fn tsn(n: u32) -> Tsn {
        Tsn::new(TSN_Z.wrapping_add(n))
    }

    fn arrive(&mut self, n: u32) {
        let (index, message) = self.message_of(n);
        let fragment = n - message.first;
        let payload = vec![index as u8; 1 + fragment as usize];
        let flags = DataFlags {
            beginning: fragment == 0,
            ending: fragment + 1 == message.fragments,
            unordered: message.unordered,
            immediate: false,
        };
        let (tsn, stream, interleaved) = (Self::tsn(n), message.stream, self.interleaved);
        self.script.send(|out| {
            if interleaved {
                let mid = Mid::new(message.number);
                IData { flags, tsn, stream, mid, ppid_or_fsn: fragment, payload: &payload }.emit(out);
            } else {
                let ssn = Ssn::new(if message.unordered { 0 } else { message.number as u16 });
                Data { flags, tsn, stream, ssn, ppid: 0, payload: &payload }.emit(out);
            }
        });
        if n >= self.cumulative {
            self.arrived.insert(n);
        }
        self.step();
    }

    /// FORWARD-TSN of a sender that knows of everything before `known`: the advanced point of RFC 3758, 3.5, C2, or,
    /// as C4 allows, less.
    fn forward(&mut self, rng: &mut Rng, known: u32) {
        let mut floor = known;
        while floor < self.end && self.message_of(floor).1.given_up {
            floor += 1;
        }
        if rng.below(3) == 0 {
            floor = known + rng.below(u64::from(floor - known) + 1) as u32;
        }
        if floor == known {
            return;
        }
        let mut largest: BTreeMap<(u16, bool), u32> = BTreeMap::new();
        for message in (known..floor).map(|n| self.message_of(n).1) {
            largest.insert((message.stream, message.unordered), message.number);
        }
        let last = Self::tsn(floor - 1);
        let interleaved = self.interleaved;
        self.script.send(|out| {
            if interleaved {
                let skipped: Vec<_> = largest
                    .iter()
                    .map(|(&(stream, unordered), &mid)| Skipped { stream, unordered, mid: Mid::new(mid) })
                    .collect();
                i_forward_tsn::emit(out, last, &skipped);
            } else {
                let ordered = largest.iter().filter(|((_, unordered), _)| !unordered);
                let skipped: Vec<_> = ordered
                    .map(|(&(stream, _), &ssn)| SkippedSsn { stream, ssn: Ssn::new(ssn as u16) })
                    .collect();
                forward_tsn::emit(out, last, &skipped);
            }
        });
        self.cumulative = self.cumulative.max(floor);
        self.step();
    }

    /// After everything that comes: what was delivered is whole, new and in order; the cumulative TSN is what it must be.
    fn step(&mut self) {
        while self.arrived.contains(&self.cumulative) {
            self.cumulative += 1;
        }
        assert_eq!(self.script.state(), State::Established);
        self.script.pair.a.view(self.script.a).unwrap().audit().unwrap();
        for (_, received) in self.script.pair.received.drain(..) {
            let (stream, unordered) = (received.stream, received.unordered);
            let bytes = received.into_bytes();
            let index = usize::from(bytes[0]);
            let message = &self.messages[index];
            let len = (1..=message.fragments).sum::<u32>() as usize;
            assert!(bytes.len() == len && bytes.iter().all(|b| *b == bytes[0]), "message {index}: {bytes:?}");
            assert_eq!((stream, unordered), (message.stream, message.unordered));
            assert!(self.delivered.insert(index), "message {index} twice");
            if !unordered {
                let before = self.last.insert(stream, message.number);
                assert!(before < Some(message.number), "message {index} out of order");
            }
        }
    }

    /// Cumulative TSN and window of the last SACK.
    fn last_sack(&mut self) -> (u32, u32) {
        self.script.pair.run_for(Duration::from_millis(200));
        for logged in self.script.pair.log.iter().rev() {
            let packet = Packet::parse(&logged.bytes, Checksum::Verify).unwrap();
            let raw = packet.chunks().flatten().find(|raw| raw.kind == kind::SACK);
            if let Some(Ok(Chunk::Sack(sack))) = raw.map(Chunk::parse) {
                return (sack.cumulative.get().wrapping_sub(TSN_Z).wrapping_add(1), sack.a_rwnd);
            }
        }
        panic!("no SACK");
    }
}

fn run(seed: u64, interleaved: bool) {
    let mut rng = Rng::stream(seed, "test", "forward");
    let mut world = World::new(&mut rng, interleaved);
    // Messages that are given up may still get through, sooner or later; others must, in a while.
    let mut waiting: Vec<u32> = (0..world.end).collect();
    waiting.retain(|n| !world.message_of(*n).1.given_up || rng.below(2) == 0);
    while !waiting.is_empty() || world.cumulative < world.end {
        if !waiting.is_empty() && rng.below(5) != 0 {
            // Mostly in order.
            let near = 1 + rng.below(12);
            let at = rng.below((waiting.len() as u64).min(near)) as usize;
            let n = if rng.below(8) == 0 { waiting[at] } else { waiting.remove(at) };
            world.arrive(n);
        } else {
            // The sender may not have heard of all that was acknowledged.
            let late = rng.below(u64::from(world.cumulative).min(6) + 1) as u32;
            let mut known = world.cumulative - late * u32::from(rng.below(3) == 0);
            // Somewhere among the numbers that it has given up, or at their beginning.
            while known > 0 && world.message_of(known.min(world.end - 1)).1.given_up && rng.below(3) > 0 {
                known -= 1;
            }
            world.forward(&mut rng, known.min(world.end));
        }
    }
    for (index, message) in world.messages.iter().enumerate() {
        assert!(message.given_up || world.delivered.contains(&index), "message {index} is missing");
    }
    // Nothing of the messages given up is left.
    world.script.send(|out| {
        let last = World::tsn(0);
        if interleaved { i_forward_tsn::emit(out, last, &[]) } else { forward_tsn::emit(out, last, &[]) }
    });
    assert_eq!(world.last_sack(), (world.end, WINDOW));
}

#[test]
fn whatever_is_not_given_up_arrives() {
    for seed in 0..1500 {
        run(seed, false);
    }
}

#[test]
fn whatever_is_not_given_up_arrives_interleaved() {
    for seed in 0..1500 {
        run(seed, true);
    }
}
