//! Memory of streams: it follows those that are used, not the highest number among them ("tables of streams" in
//! docs/explanation/engines.md). And memory of messages in the making that nobody can read yet: no more than is
//! charged for them ("Bounds on memory"). One test at a time: the counter has the allocations of the whole process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use std::alloc::System;
use std::sync::Mutex;

use anabranch_base::Duration;
use anabranch_sctp::config::StreamScheduling;
use anabranch_sctp::{Config, Message};
use anabranch_wire::chunk::{Data, DataFlags, IData, kind};
use anabranch_wire::param::{Param, SupportedExtensions};
use anabranch_wire::{Mid, Ssn, Tsn};
use bytes::Bytes;
use cap::Cap;
use common::script::{Script, TSN_Z};
use common::{Pair, Side};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

static ALONE: Mutex<()> = Mutex::new(());

/// Memory that two ends hold, bytes, when messages have gone through each of the streams, both ways.
fn held(config: &Config, streams: &[u16]) -> usize {
    let before = ALLOCATOR.allocated();
    let (mut pair, a, z) = Pair::established(3, config);
    assert_eq!(pair.a.view(a).unwrap().outbound_streams(), 65_535);
    for stream in streams {
        pair.send(Side::A, a, *stream, b"out");
        pair.send(Side::Z, z, *stream, b"back");
        // An unordered one has numbers of its own with I-DATA.
        let unordered = Message { unordered: true, ..Message::new(*stream, Bytes::from_static(b"out")) };
        let now = pair.now;
        pair.a.association(a).unwrap().send(now, unordered).unwrap();
        pair.run_for(Duration::from_millis(300));
    }
    // The memory of the test itself is not the association's.
    (pair.log, pair.events) = (Vec::new(), Vec::new());
    let mut seen: Vec<u16> = pair.received.iter().map(|(_, message)| message.stream).collect();
    assert_eq!(seen.len(), streams.len() * 3);
    seen.dedup();
    assert_eq!(seen, streams);
    drop(seen);
    pair.received = Vec::new();
    let held = ALLOCATOR.allocated() - before;
    drop(pair);
    held
}

#[test]
fn memory_follows_the_streams_that_are_used() {
    let _alone = ALONE.lock().unwrap();
    let plain = Config::rfc9260().with(|c| {
        c.streams.outbound = u16::MAX;
        c.streams.inbound = u16::MAX;
    });
    let fair = plain.clone().with(|c| {
        c.streams.scheduling = StreamScheduling::WeightedFair;
        c.streams.values = vec![(60_000, 7)];
    });
    for (name, config) in [("webrtc", Config::webrtc()), ("DATA", plain), ("weighted fair", fair)] {
        let near = held(&config, &[0, 1, 2]);
        let far = held(&config, &[0, 1, 60_000]);
        println!("{name}: {near} bytes for streams 0, 1 and 2, {far} for 0, 1 and 60,000");
        // A node of a tree instead of a place in a list, for each table of both ends: some kB where the tables had megabytes.
        assert!(far <= near + 8_000, "{name}: {far} bytes instead of {near}");
        // Streams in any order, and as far from each other as they can be: some 600 bytes each, of both ends together.
        let scattered: Vec<u16> = (0..500).map(|n| (n * 131 * 7 % 65_535) as u16).collect();
        let many = held(&config, &scattered);
        println!("{name}: {many} bytes for 500 streams anywhere");
        assert!(many <= near + 500 * 650, "{name}: {many} bytes for 500 streams");
    }
}

/// A chunk of a peer that makes messages wait: how far behind the first TSN, its stream, the number of its message, its fragment, whether
/// it begins and ends one, whether it is unordered, bytes.
struct Chunked(u32, u16, u32, u32, (bool, bool), bool, usize);

/// Sends chunks until none is taken any more; returns the memory that has been added, bytes, and the charge for it.
fn fill(interleaved: bool, by_stream: bool, chunk: impl Fn(u32) -> Chunked) -> (usize, usize) {
    let config = Config::rfc9260().with(|c| {
        c.extensions.interleaving = interleaved;
        c.streams.outbound = u16::MAX;
        c.streams.inbound = u16::MAX;
        c.limits.receive_window = 512 << 10;
        c.timers.heartbeat_interval = Duration::ZERO;
    });
    let mut script = Script::calling(&config);
    let list = Param::SupportedExtensions(SupportedExtensions { chunk_types: &[kind::I_DATA] });
    script.init_ack_with(u16::MAX, if interleaved { std::slice::from_ref(&list) } else { &[] });
    script.send(|out| anabranch_wire::chunk::CookieAck.emit(out));
    script.pair.reads = [false, false];
    let a = script.a;
    if by_stream {
        assert!(script.pair.a.association(a).unwrap().receive_from(60_000).is_none());
    }
    (script.pair.log, script.pair.events) = (Vec::new(), Vec::new());
    let before = ALLOCATOR.allocated();
    let long = vec![7; 64 << 10];
    let mut refused = 0;
    for n in 0.. {
        let Chunked(ahead, stream, number, fragment, (beginning, ending), unordered, len) = chunk(n);
        let flags = DataFlags { immediate: false, unordered, beginning, ending };
        let (tsn, payload) = (Tsn::new(TSN_Z.wrapping_add(ahead)), &long[..len]);
        script.send(|out| {
            if interleaved {
                let ppid_or_fsn = if beginning { 7 } else { fragment };
                IData { flags, tsn, stream, mid: Mid::new(number), ppid_or_fsn, payload }.emit(out);
            } else {
                Data { flags, tsn, stream, ssn: Ssn::new(number as u16), ppid: 7, payload }.emit(out);
            }
        });
        // The memory of the test itself is not the association's.
        (script.pair.log, script.pair.events) = (Vec::new(), Vec::new());
        if by_stream && stream == 0 {
            while script.pair.a.association(a).unwrap().receive_from(0).is_some() {}
        }
        let association = script.pair.a.view(a).unwrap();
        association.audit().unwrap();
        refused = association.stats().dropped_no_buffer;
        if refused > 50 {
            break;
        }
    }
    assert!(refused > 50);
    drop(long);
    let held = ALLOCATOR.allocated() - before;
    (held, script.pair.a.view(a).unwrap().holdings().0 as usize)
}

/// Every kind of message that nobody has read, or can have yet, one on each of many streams: the charge for them is the memory that they take.
#[test]
fn what_waits_takes_no_more_than_is_charged_for_it() {
    let _alone = ALONE.lock().unwrap();
    const W: (bool, bool) = (true, true);
    let far = |n: u32| (n * 131 % 59_999) as u16 + 1;
    type Shape = (&'static str, bool, Box<dyn Fn(u32) -> Chunked>);
    let shapes: Vec<Shape> = vec![
        ("a whole message that waits", false, Box::new(move |n| Chunked(n + 1, n as u16, 1, 0, W, false, 1))),
        ("the same on streams anywhere", false, Box::new(move |n| Chunked(n + 1, far(n), 1, 0, W, false, 1))),
        (
            "the same with a gap before each",
            false,
            Box::new(move |n| Chunked(2 * n + 1, far(n), 1, 0, W, false, 1)),
        ),
        ("many that wait on one stream", false, Box::new(|n| Chunked(n + 1, 1, n + 1, 0, W, false, 1))),
        ("longer ones", false, Box::new(move |n| Chunked(n + 1, far(n), 1, 0, W, false, 100))),
        ("whole messages that nobody reads", false, Box::new(move |n| Chunked(n, far(n), 0, 0, W, true, 1))),
        (
            "the same behind a gap each",
            false,
            Box::new(move |n| Chunked(2 * n + 1, far(n), 0, 0, W, true, 1)),
        ),
        (
            "first fragments",
            false,
            Box::new(move |n| Chunked(2 * n + 1, far(n), 0, 0, (true, false), false, 1)),
        ),
        (
            "unordered ones",
            false,
            Box::new(move |n| Chunked(2 * n + 1, far(n), 0, 0, (true, false), true, 1)),
        ),
        (
            "fragments in the middle",
            false,
            Box::new(move |n| Chunked(2 * n + 1, far(n), 0, 1, (false, false), false, 1)),
        ),
        (
            "messages of two fragments, the last one first",
            false,
            Box::new(move |n| {
                Chunked(
                    2 * (n / 2) + 1 - n % 2 + 1,
                    far(n / 2),
                    1,
                    1 - n % 2,
                    (n % 2 == 1, n % 2 == 0),
                    false,
                    1,
                )
            }),
        ),
        (
            "messages that others stand between",
            false,
            Box::new(move |n| {
                let (round, within) = (n / 20, n % 20);
                let (pair, fragment) = (within % 2, within / 2);
                let ends = (fragment == 0, fragment == 9);
                Chunked(n + 1, (2 * round + pair + 1) as u16, 1, fragment, ends, false, 1)
            }),
        ),
        ("messages read stream by stream", true, Box::new(move |n| Chunked(n, far(n), 0, 0, W, true, 1))),
        (
            "short ones beside long ones that are read",
            true,
            Box::new(move |n| {
                if n % 2 == 0 {
                    Chunked(n, far(n), 0, 0, W, true, 1)
                } else {
                    Chunked(n, 0, n / 2, 0, W, false, 20_000)
                }
            }),
        ),
    ];
    for (name, by_stream, chunk) in shapes {
        for interleaved in [false, true] {
            // With DATA the numbers of a message follow each other.
            if name == "messages that others stand between" && !interleaved {
                continue;
            }
            let (held, charged) = fill(interleaved, by_stream, &chunk);
            println!("{name}, interleaved {interleaved}: {held} bytes held, {charged} charged");
            // Beside that, the place of each stream that was used, and the block that the next messages are copied to.
            // With I-DATA a place has three numbers.
            let places = charged / 129 * if interleaved { 48 } else { 4 };
            let most = charged + places + (64 << 10);
            assert!(held <= most, "{name}, interleaved {interleaved}: {held} bytes held, {charged} charged");
            assert!(charged > 512 << 10, "{name}, interleaved {interleaved}: {charged} charged");
        }
    }
}
