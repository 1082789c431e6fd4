//! The golden set: whole runs whose packets must not change.
//!
//! Each run is a scenario as `anabranch simulate` takes it. Every packet that either side hands to the network is
//! hashed: when, in which direction, with which code point and ECN field, and all its bytes, checksums included.
//! `golden/hashes.txt` has a line for each run: name, number of packets, time of the last one, bytes delivered, flows
//! that failed, hash. Values that a summary computes from counters are not in the hash. CUBIC, the couplings and some
//! sources compute with floating-point numbers: a platform with another library of mathematical functions may round
//! otherwise.
//!
//! A change of the protocols that is meant to change nothing on the wire leaves all lines as they are. One that is meant to
//! change some is looked at line by line, and then accepted:
//!
//! ```text
//! ANABRANCH_GOLDEN=accept cargo test -p anabranch-sim --test golden
//! ```
//!
//! To see what differs, write the packets of one run out in two checkouts (a text with a packet a line, and a capture) and
//! compare; without `ANABRANCH_GOLDEN_OUT` the files go where temporary files go:
//!
//! ```text
//! export ANABRANCH_GOLDEN_DUMP=sctp/rfc9260/bern1 ANABRANCH_GOLDEN_OUT=/tmp/before
//! cargo test -p anabranch-sim --test golden -- --nocapture
//! ```
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

#[path = "golden/book.rs"]
mod book;
#[path = "golden/changes.rs"]
mod changes;
#[path = "golden/options.rs"]
mod options;
#[path = "golden/runs.rs"]
mod runs;
#[path = "golden/subflows.rs"]
mod subflows;
#[path = "golden/traffic.rs"]
mod traffic;

use std::collections::BTreeSet;
use std::path::Path;

use anabranch_sim::scenario::Scenario;
use book::{Book, Fnv};
use runs::Run;

/// A packet in a capture.
struct Packet<'a> {
    at: u64,
    interface: u32,
    /// Code point and ECN field.
    traffic_class: u8,
    bytes: &'a [u8],
}

/// The packets of a capture. Other blocks, such as the names of links, do not count.
fn packets(capture: &[u8]) -> Vec<Packet<'_>> {
    const ENHANCED_PACKET: u32 = 6;
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    let mut found = Vec::new();
    let mut at = 0;
    while at < capture.len() {
        let (kind, length) = (word(at), word(at + 4) as usize);
        if kind == ENHANCED_PACKET {
            // Behind 14 bytes of Ethernet header.
            let ip = &capture[at + 28 + 14..at + 28 + word(at + 20) as usize];
            let (traffic_class, header) = match ip[0] >> 4 {
                4 => (ip[1], 20),
                _ => (ip[0] << 4 | ip[1] >> 4, 40),
            };
            found.push(Packet {
                at: u64::from(word(at + 12)) << 32 | u64::from(word(at + 16)),
                interface: word(at + 8),
                traffic_class,
                bytes: &ip[header..],
            });
        }
        at += length;
    }
    found
}

/// The line of a run, without its name, and its capture.
fn play(run: &Run) -> (String, Vec<u8>) {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}\n{}", run.name, run.toml);
    let scenario =
        Scenario::from_toml(&run.toml, &run.name, &[]).unwrap_or_else(|error| panic!("{}", wrong(&error)));
    let output = anabranch_sim::run(&scenario, run.seed, &scenario.record);
    let output = output.unwrap_or_else(|error| panic!("{}", wrong(&error)));
    let capture = output.pcapng.unwrap();
    let mut hash = Fnv::default();
    let (mut count, mut last) = (0, 0);
    for packet in packets(&capture) {
        hash.number(packet.at);
        hash.number(u64::from(packet.interface));
        hash.number(u64::from(packet.traffic_class));
        hash.part(packet.bytes);
        count += 1;
        last = packet.at;
    }
    let delivered: u64 = output.summary.flows.iter().map(|flow| flow.measures.delivered_bytes).sum();
    let failed = output.summary.flows.iter().filter(|flow| flow.failed.is_some()).count();
    let end = format!("{}.{:09}", last / 1_000_000_000, last % 1_000_000_000);
    let facts = format!("packets={count} last={end} delivered={delivered} failed={failed}");
    let mut reasons = output.summary.flows.iter().filter_map(|flow| flow.failed.as_deref());
    let event = reasons.find(|why| why.contains("the event"));
    // A change that the engine refuses tests nothing.
    assert!(event.is_none(), "{}: {event:?}", run.name);
    (format!("{facts} {}", hash.text()), capture)
}

fn text(capture: &[u8]) -> String {
    let line = |packet: Packet<'_>| {
        let Packet { at, interface, traffic_class, bytes } = packet;
        format!("{at:>15} link {interface} class {traffic_class:02x} {}\n", book::hex(bytes))
    };
    packets(capture).into_iter().map(line).collect()
}

#[test]
fn packets_are_those_of_the_golden_set() {
    let all = runs::all();
    let names: BTreeSet<&str> = all.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names.len(), all.len(), "a name is there twice");
    if let Some(wanted) = book::dumped() {
        let run = all.iter().find(|run| run.name == wanted);
        let run = run.unwrap_or_else(|| panic!("no run is called {wanted}"));
        let (line, capture) = play(run);
        let files = [
            ("txt", text(&capture).into_bytes()),
            ("pcapng", capture),
            ("toml", run.toml.clone().into_bytes()),
        ];
        let files: Vec<(&str, &[u8])> = files.iter().map(|(kind, bytes)| (*kind, bytes.as_slice())).collect();
        eprintln!("{}\n{wanted} {line}", book::dump(&wanted, &files));
        return;
    }
    let today: Book = all.iter().map(|run| (run.name.clone(), book::line(|| play(run).0))).collect();
    book::check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/hashes.txt"), &today);
}

/// A profile that is new wants runs of its own.
#[test]
fn every_profile_is_in_the_set() {
    assert_eq!(BTreeSet::from(runs::SCTP), BTreeSet::from(anabranch_sctp::Config::PROFILES));
    let tcp: BTreeSet<&str> = anabranch_tcp::PROFILES.iter().map(|(name, _)| *name).collect();
    assert_eq!(BTreeSet::from(runs::TCP), tcp);
}
