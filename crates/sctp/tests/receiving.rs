//! Properties of a received message, and the ways to read streams: one alone, all, late, or never
//! (docs/reference/api.md, "Reading").
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::BTreeMap;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::config::{ImmediateBit, StreamScheduling};
use anabranch_sctp::{
    AssociationHandle, AssociationId, Config, Event, Message, Received, SendError, SubflowLevel,
};
use bytes::Bytes;
use common::{Pair, Side, joined, subflow_config};

const SECOND: Duration = Duration::from_secs(1);

fn interleaving(on: bool) -> Config {
    Config::rfc9260().with(|c| c.extensions.interleaving = on)
}

fn at_z(pair: &mut Pair, id: AssociationId) -> AssociationHandle<'_> {
    pair.z.association(id).unwrap()
}

fn readable(pair: &mut Pair) -> Vec<u16> {
    let told = pair.events.drain(..).filter_map(|(side, _, event)| match event {
        Event::Readable { stream } if side == Side::Z => Some(stream),
        _ => None,
    });
    told.collect()
}

/// Stream, number, TSN after the first of all, ppid, flags, time and path: with DATA and I-DATA, in one chunk and in several.
#[test]
fn a_message_tells_where_it_comes_from() {
    for on in [false, true] {
        let (mut pair, a, _) = Pair::established(1, &interleaving(on));
        let now = pair.now;
        let mut association = pair.a.association(a).unwrap();
        let message = |stream, len| Message { ppid: 51, ..Message::new(stream, Bytes::from(vec![1; len])) };
        association.send(now, message(3, 10)).unwrap();
        association.send(now, message(3, 3000)).unwrap();
        association.send(now, Message { unordered: true, ..message(3, 20) }).unwrap();
        association.send(now, Message { immediate: true, ..message(3, 30) }).unwrap();
        association.send(now, message(5, 3000)).unwrap();
        drop(association);
        pair.run_for(SECOND);
        let all: Vec<Received> = pair.received.drain(..).map(|(_, message)| message).collect();
        let first = all[0].tsn;
        let told = |m: &Received| {
            (m.stream, m.number, m.tsn.wrapping_sub(first), m.ppid, m.unordered, m.immediate, m.path, m.len())
        };
        let told: Vec<_> = all.iter().map(told).collect();
        // Fragments of 3,000 bytes are three at most; unordered messages of I-DATA have numbers of their own.
        let fragments = told[2].2 - 1;
        let tsn = |n: u32| n + fragments;
        assert_eq!(
            told,
            [
                (3, 0, 0, 51, false, false, 0, 10),
                (3, 1, 1, 51, false, false, 0, 3000),
                (3, told[2].1, tsn(1), 51, true, false, 0, 20),
                (3, 2, tsn(2), 51, false, true, 0, 30),
                (5, 0, tsn(3), 51, false, false, 0, 3000),
            ]
        );
        assert_eq!(told[2].1, if on { 0 } else { told[2].1 });
        // The time is that of the last fragment: one latency after it left.
        let last = pair.log.iter().rfind(|p| p.from == Side::A && (p.has("DATA") || p.has("I-DATA")));
        assert_eq!(all[4].at, last.unwrap().at + pair.latency);
        assert_eq!(all[0].at, now + pair.latency);
    }
}

/// A fragment that was lost comes last: the message has its time, and the TSN of its first fragment all the same.
#[test]
fn the_time_is_that_of_the_last_fragment_to_come() {
    for on in [false, true] {
        let (mut pair, a, _) = Pair::established(2, &interleaving(on));
        let mut first = true;
        pair.drop_if(move |p| std::mem::take(&mut first) && p.from == Side::A);
        pair.send(Side::A, a, 0, &[7; 4000]);
        pair.run_for(Duration::from_secs(10));
        let [(_, message)] = &pair.received[..] else { panic!("one message") };
        let lost = pair.log.iter().find(|p| p.dropped).unwrap();
        let again =
            pair.log.iter().filter(|p| p.from == Side::A && !p.dropped && p.words()[0] == lost.words()[0]);
        assert_eq!(message.at, again.map(|p| p.at).next_back().unwrap() + pair.latency);
        assert!(
            lost.words()[0].ends_with(&format!(" {}", message.tsn)),
            "{:?} {}",
            lost.words(),
            message.tsn
        );
    }
}

/// The association's events come when there was nothing to read; those of a stream, once one was read alone, when the stream had
/// nothing.
#[test]
fn events_name_the_stream() {
    let (mut pair, a, z) = Pair::established(3, &Config::rfc9260());
    pair.reads = [true, false];
    readable(&mut pair);
    for stream in [4, 4, 7] {
        pair.send(Side::A, a, stream, b"x");
    }
    pair.run_for(SECOND);
    assert_eq!(readable(&mut pair), [4]);
    assert_eq!(at_z(&mut pair, z).readable_streams(), [4, 7]);
    // Stream 9 is read alone: from now on each stream has its events, and 4 and 7 have something already.
    assert_eq!(at_z(&mut pair, z).receive_from(9), None);
    pair.pump();
    assert_eq!(readable(&mut pair), [4, 7]);
    for stream in [4, 9, 9, 8] {
        pair.send(Side::A, a, stream, b"y");
    }
    pair.run_for(SECOND);
    assert_eq!(readable(&mut pair), [9, 8]);
    let mut taken = Vec::new();
    while let Some(message) = at_z(&mut pair, z).receive_from(9) {
        taken.push(message.number);
    }
    assert_eq!(taken, [0, 1]);
    pair.send(Side::A, a, 9, b"z");
    pair.run_for(SECOND);
    assert_eq!(readable(&mut pair), [9]);
    // The rest comes in the order of delivery.
    let rest: Vec<_> =
        std::iter::from_fn(|| at_z(&mut pair, z).receive()).map(|m| (m.stream, m.number)).collect();
    assert_eq!(rest, [(4, 0), (4, 1), (7, 0), (4, 2), (8, 0), (9, 2)]);
}

/// One stream is not read: the others are, as long as the window that all share has room; then the sender stops, nothing
/// is lost, and it goes on when the stream is read at last.
#[test]
fn a_slow_reader_holds_up_nobody_within_the_window() {
    for on in [false, true] {
        let config = interleaving(on).with(|c| {
            c.limits.receive_window = 50_000;
            c.limits.send_buffer = 1 << 20;
            c.streams.scheduling = StreamScheduling::RoundRobin;
        });
        let (mut pair, a, z) = Pair::established(4, &config);
        pair.reads = [true, false];
        for _ in 0..30 {
            pair.send(Side::A, a, 0, &[0; 1000]);
        }
        for _ in 0..200 {
            pair.send(Side::A, a, 1, &[1; 1000]);
        }
        let mut read = 0;
        for _ in 0..100 {
            pair.run_for(SECOND / 10);
            while let Some(message) = at_z(&mut pair, z).receive_from(1) {
                assert_eq!((message.stream, message.number), (1, read));
                read += 1;
            }
            assert_eq!(at_z(&mut pair, z).audit(), Ok(()));
        }
        assert_eq!(read, 200, "stream 0 holds 30,000 of 50,000 bytes");
        // Now more than the window: everything stops, and goes on.
        for _ in 0..60 {
            pair.send(Side::A, a, 0, &[0; 1000]);
        }
        pair.run_for(Duration::from_secs(5));
        pair.send(Side::A, a, 1, &[1; 1000]);
        pair.run_for(Duration::from_secs(20));
        assert_eq!(at_z(&mut pair, z).receive_from(1), None);
        let mut of_slow = 0;
        for _ in 0..200 {
            while let Some(message) = at_z(&mut pair, z).receive_from(0) {
                assert_eq!(message.number, of_slow);
                of_slow += 1;
            }
            pair.run_for(SECOND / 10);
        }
        assert_eq!(of_slow, 90);
        assert_eq!(at_z(&mut pair, z).receive_from(1).map(|m| m.number), Some(200));
    }
}

/// A message that is longer than the window that a slow reader leaves gets through in parts.
#[test]
fn a_long_message_gets_past_a_slow_reader() {
    for on in [false, true] {
        let config = interleaving(on).with(|c| {
            c.limits.receive_window = 50_000;
            c.limits.send_buffer = 1 << 20;
        });
        let (mut pair, a, z) = Pair::established(5, &config);
        pair.reads = [true, false];
        for _ in 0..35 {
            pair.send(Side::A, a, 0, &[0; 1000]);
        }
        assert_eq!(at_z(&mut pair, z).receive_from(1), None);
        pair.run_for(Duration::from_secs(2));
        pair.send(Side::A, a, 1, &[1; 24_000]);
        let (mut unfinished, mut whole) = (Vec::new(), Vec::new());
        for _ in 0..100 {
            pair.run_for(SECOND / 10);
            while let Some(part) = at_z(&mut pair, z).receive_from(1) {
                whole.extend(joined(&mut unfinished, part));
            }
        }
        assert_eq!(whole.iter().map(Received::len).collect::<Vec<_>>(), [24_000], "interleaving {on}");
        assert_eq!(at_z(&mut pair, z).status().pending, 35);
    }
}

/// RFC 6458, 8.1.21: messages up to the point come whole, longer ones in parts; of several streams side by side where they interleave.
#[test]
fn partial_delivery_begins_at_a_point() {
    for on in [false, true] {
        let config = interleaving(on).with(|c| {
            c.limits.partial_delivery_bytes = 10_000;
            c.streams.scheduling = StreamScheduling::RoundRobin;
        });
        let (mut pair, a, _) = Pair::established(6, &config);
        pair.parts = true;
        for len in [10_000, 10_001, 50_000, 100] {
            for stream in [0, 1] {
                pair.send(Side::A, a, stream, &vec![len as u8; len]);
            }
        }
        pair.run_for(Duration::from_secs(5));
        let (mut unfinished, mut lens) = (Vec::new(), BTreeMap::<u16, Vec<usize>>::new());
        let (mut parts, mut most_at_once) = (0, 0);
        for (_, message) in pair.received.drain(..) {
            if message.part.is_some() {
                parts += 1;
                assert!(message.is_end() || message.len() > 10_000, "{}", message.len());
            } else {
                assert!(message.len() <= 10_001);
            }
            lens.entry(message.stream).or_default().extend(joined(&mut unfinished, message).map(|m| m.len()));
            most_at_once = most_at_once.max(unfinished.len());
        }
        assert_eq!(most_at_once, if on { 2 } else { 1 });
        assert!(parts >= 6, "{parts}");
        let each = vec![10_000, 10_001, 50_000, 100];
        assert_eq!(lens, BTreeMap::from([(0, each.clone()), (1, each)]));
    }
    // "The call will fail if the user attempts to set this value larger than the socket receive buffer size."
    let mut config = Config::rfc9260();
    assert!(config.set("partial_delivery_bytes", "2 MiB").is_err());
    assert!(config.set("partial_delivery_bytes", "1 MiB").is_ok());
}

/// Way in which a stream of a random life is read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reader {
    /// At once, alone.
    Alone,
    /// Not before most has come.
    Late,
    /// Not until the end.
    Never,
    /// With everything else that nobody reads alone.
    WithOthers,
}

/// Users who read single streams, all, late, or never: each message once and in order, and the receiver within its bound at each step.
fn life(seed: u64) {
    let mut rng = Rng::stream(seed, "test", "readers");
    let mut pick = |n: u64| rng.below(n) as usize;
    let (level, on, subflows) = [
        (SubflowLevel::Zero, false, 1),
        (SubflowLevel::Zero, true, 1),
        (SubflowLevel::Zero, true, 3),
        (SubflowLevel::One, false, 3),
        (SubflowLevel::Sf2007, false, 3),
    ][pick(5)];
    let window = [3000, 10_000, 40_000, 200_000][pick(4)];
    let config = subflow_config(level, subflows).with(|c| {
        c.extensions.interleaving = on;
        c.streams.scheduling = StreamScheduling::ALL[pick(StreamScheduling::ALL.len() as u64)];
        c.limits.receive_window = window as u32;
        c.limits.association_max_retrans = 1000;
        c.limits.partial_delivery_bytes = [0, 1, 700, 2500][pick(4)];
        c.timers.rto_max = Duration::from_secs(2);
        c.timers.heartbeat_interval = Duration::ZERO;
        c.sack.immediate_bit = ImmediateBit::Off;
    });
    let readers: Vec<Reader> = (0..1 + pick(6))
        .map(|_| [Reader::Alone, Reader::Alone, Reader::Late, Reader::Never, Reader::WithOthers][pick(5)])
        .collect();
    let what = format!("seed {seed}: {level:?}, {on}, {subflows} subflows, window {window}, {readers:?}");
    let (mut pair, a, z) = Pair::between(seed, &config, &config);
    let loss = [0, 15][pick(2)];
    let mut dice = Rng::stream(seed, "loss", "readers");
    pair.drop_if(move |_| loss > 0 && dice.below(loss) == 0);
    pair.reads = [true, false];
    let streams = readers.len() as u64;
    let mut sent: Vec<Vec<Vec<u8>>> = vec![Vec::new(); readers.len()];
    let mut left = 0;
    for n in 0..60 {
        let stream = pick(streams);
        let longest = [20, 1400, window / 2, 2 * window][pick(4)];
        let len = 1 + pick(longest as u64);
        let payload: Vec<u8> = (0..len).map(|i| (i + n + stream) as u8).collect();
        let message = Message::new(stream as u16, Bytes::from(payload.clone()));
        match pair.a.association(a).unwrap().send(pair.now, message) {
            Ok(_) => sent[stream].push(payload),
            Err(SendError::Full) => break,
            Err(error) => panic!("{what}: {error}"),
        }
        left += 1;
    }
    let mut got: Vec<Vec<Vec<u8>>> = vec![Vec::new(); readers.len()];
    let mut unfinished = Vec::new();
    for round in 0..400 {
        let limit = pair.now + SECOND / 2;
        while pair.step(limit) {
            assert_eq!(pair.z.view(z).unwrap().audit(), Ok(()), "{what}");
        }
        pair.now = limit;
        // At last everybody reads: a user who goes on waiting for a stream may wait for ever.
        let everybody = round > 60;
        let mut take = |message: Received, got: &mut Vec<Vec<Vec<u8>>>| {
            if let Some(whole) = joined(&mut unfinished, message) {
                got[usize::from(whole.stream)].push(whole.into_bytes().to_vec());
            }
        };
        for (stream, reader) in readers.iter().enumerate() {
            let reads = match reader {
                Reader::Alone => true,
                Reader::Late => round > 30,
                Reader::Never => everybody,
                Reader::WithOthers => false,
            };
            while let Some(message) =
                reads.then(|| pair.z.association(z).unwrap().receive_from(stream as u16)).flatten()
            {
                assert_eq!(usize::from(message.stream), stream);
                take(message, &mut got);
            }
        }
        let mut others = 0;
        while let Some(message) = (everybody
            || (readers.contains(&Reader::WithOthers) && others < 3 && round % 7 == 0))
            .then(|| pair.z.association(z).unwrap().receive())
            .flatten()
        {
            others += 1;
            take(message, &mut got);
        }
        if got.iter().map(Vec::len).sum::<usize>() == left {
            break;
        }
    }
    assert!(got == sent, "{what}: {:?} of {:?}", got.iter().map(Vec::len), sent.iter().map(Vec::len));
    assert!(pair.a.view(a).unwrap().audit().is_ok());
}

#[test]
fn readers_of_any_kind() {
    for seed in 0..150 {
        life(seed);
    }
}

/// `LIVES=5000 cargo test --release --test receiving -- --ignored`
#[test]
#[ignore = "takes as long as it is told to"]
fn readers_of_any_kind_for_long() {
    let lives: u64 = std::env::var("LIVES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    (1000..1000 + lives).for_each(life);
}

/// A reader that never reads, after he has asked for the events of single streams: messages of a byte on thousands of streams stay within
/// the bound, and so do the events; the sender waits, and a shutdown ends it.
#[test]
fn a_reader_that_never_reads() {
    let config = Config::rfc9260().with(|c| {
        c.streams.outbound = 2000;
        c.limits.receive_window = 100_000;
        c.limits.send_buffer = 1 << 20;
        c.timers.rto_max = SECOND;
    });
    let (mut pair, a, z) = Pair::established(8, &config);
    pair.reads = [true, false];
    readable(&mut pair);
    assert_eq!(at_z(&mut pair, z).receive_from(0), None);
    for _ in 0..5 {
        for stream in 0..2000 {
            pair.send(Side::A, a, stream, b"x");
        }
    }
    for _ in 0..100 {
        pair.run_for(SECOND / 5);
        assert_eq!(at_z(&mut pair, z).audit(), Ok(()));
    }
    let status = at_z(&mut pair, z).status();
    assert_eq!(status.receive_window, 0);
    // Three quarters of twice the window, at 129 bytes a message.
    assert!((1000..=1600).contains(&status.pending), "{}", status.pending);
    let told = readable(&mut pair);
    assert_eq!(told.len(), status.pending, "each stream once");
    let now = pair.now;
    pair.a.association(a).unwrap().shutdown(now);
    pair.run_for(Duration::from_secs(60));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(_))), "T5-shutdown-guard ends it");
    let mut rest = 0;
    while at_z(&mut pair, z).receive().is_some() {
        rest += 1;
    }
    assert!(rest >= status.pending, "what was received stays readable");
}
