//! What streams cost: memory follows those that are used, not the highest number among them ("tables of streams" in docs/sctp.md).
//! One test in the file: it counts what the whole process allocates.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use std::alloc::System;

use anabranch_base::Duration;
use anabranch_sctp::config::StreamScheduling;
use anabranch_sctp::{Config, Message};
use bytes::Bytes;
use cap::Cap;
use common::{Pair, Side};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What two ends hold, bytes, when messages have gone through each of the streams, both ways.
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
    // What the test keeps is not the association's.
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
