//! How many packets the simulator moves in a second of CPU time: 20 flows over three hops with 100 Mb/s in the middle,
//! full packets, an acknowledgement for each, checksums computed and verified. The scenario is that of the comparison
//! with ns-2.
//!
//! `cargo bench -p anabranch-sim --bench speed -- [sctp|tcp] [seconds] [elide]`
#![allow(clippy::print_stdout, reason = "a benchmark prints")]

#[path = "../tests/common/mod.rs"]
mod common;

use anabranch_sim::scenario::{Checksums, Protocol, Record};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let has = |word: &str| arguments.iter().any(|a| a == word);
    let seconds = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(100);
    let both = [
        (Protocol::Sctp, common::engine("ns2-2.35", &[("receive_window", "10000000 B")]), 1452),
        (
            Protocol::Tcp,
            common::engine("ns2-sack1", &[("send_limit", "0 B"), ("receive_buffer", "10000000 B")]),
            1460,
        ),
    ];
    for (protocol, engine, message) in both {
        if (has("sctp") || has("tcp")) && !has(protocol.name()) {
            continue;
        }
        let mut scenario = common::speed(protocol, &engine, 20, seconds, message);
        if has("elide") {
            scenario.checksums = Checksums::Elide;
        }
        let before = cpu_seconds();
        let output = match anabranch_sim::run(&scenario, 7, &Record::default()) {
            Ok(output) => output,
            Err(error) => {
                println!("{}: {error}", protocol.name());
                continue;
            }
        };
        let cpu = cpu_seconds() - before;
        let summary = &output.summary;
        let packets: u64 = summary.links.iter().filter(|l| l.name == "bottleneck").map(|l| l.sent).sum();
        let goodput: f64 = summary.flows.iter().map(|f| f.measures.goodput_wire_run_bps).sum();
        println!(
            "{}: {seconds} simulated seconds in {cpu:.3} s of CPU: {packets} data packets, {:.0} a second; {} packet-hops, \
             {:.0} a second; {:.1} Mb/s of goodput",
            protocol.name(),
            packets as f64 / cpu,
            summary.packet_hops,
            summary.packet_hops as f64 / cpu,
            goodput / 1e6,
        );
    }
}

/// CPU time of this process: the first number of `schedstat`, nanoseconds. Linux only.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}
