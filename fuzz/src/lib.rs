//! What each target does with bytes that a fuzzer has made up. No bytes may make it panic.

mod endpoint;

pub use endpoint::endpoint;

use anabranch_script::{Options, run};
use anabranch_sim::scenario::Scenario;
use anabranch_trace::{Assumptions, Capture, Filter, Reading, Trace};
use anabranch_wire::chunk::Chunk;
use anabranch_wire::{Checksum, ChecksumOut, Packet, PacketBuilder};

/// A packet is read, each chunk is written again, and what was written reads the same.
pub fn packet(data: &[u8]) {
    let Ok(packet) = Packet::parse(data, Checksum::Ignore) else { return };
    let mut again = Vec::new();
    let mut builder = PacketBuilder::new(&mut again, packet.header());
    let mut chunks = Vec::new();
    for raw in packet.chunks() {
        let Ok(raw) = raw else { break };
        let Ok(chunk) = Chunk::parse(raw) else { continue };
        chunk.emit(builder.buffer());
        chunks.push(format!("{chunk:?}"));
    }
    if chunks.is_empty() {
        return builder.abandon();
    }
    builder.finish(ChecksumOut::Compute);
    let second = Packet::parse(&again, Checksum::Verify).expect("what was written can be read");
    let read: Vec<String> =
        second.chunks().map(|raw| format!("{:?}", Chunk::parse(raw.expect("whole")).expect("known"))).collect();
    assert_eq!(chunks, read);
}

/// The decoder of State Cookies, as if the MAC had been forged.
pub fn cookie(data: &[u8]) {
    if let Some(again) = anabranch_sctp::fuzzing::cookie(data) {
        // What fills the place of an IPv4 address is not looked at, nor what fills a cookie up to its size.
        assert!(again.len() <= data.len());
        assert_eq!(anabranch_sctp::fuzzing::cookie(&again), Some(again));
    }
}

/// A packet script: read, and played against the stack up to the first line that does not come true.
pub fn script(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = run(text, &Options { defined: vec!["Linux".to_owned()], ..Options::default() });
    }
}

/// A scenario file.
pub fn scenario(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Scenario::from_toml(text, "fuzz", &[]);
    }
}

/// A capture file, down to what was sent again.
pub fn capture(data: &[u8]) {
    let Ok(capture) = Capture::read(data) else { return };
    let trace = Trace::new(capture, &Reading::default(), &Filter::default(), &Assumptions::default());
    for line in trace.lines() {
        std::hint::black_box(line);
    }
    std::hint::black_box((trace.flows(), trace.retransmissions()));
}
