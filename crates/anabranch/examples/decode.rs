//! The associations in a capture: of a file that is named, or of a run of the simulator.
//!
//! ```text
//! SCTP 1: 10.0.1.1:50000 to 10.0.2.1:61000
//!   1724 packets with data, 953 back
//!   sent again: 24, FastRetransmit
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use anabranch::decode::{Assumptions, Capture, Filter, Reading, Trace};
use anabranch::sim::scenario::Scenario;

const NETWORK: &str = r#"
duration = "10 s"

[record]
pcap = true

[[link]]
name = "wire"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "30 ms"
queue = { kind = "droptail", packets = 20 }
both = true

[[flow]]
name = "file"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "greedy", message = "1400 B" }
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = match std::env::args().nth(1) {
        Some(name) => std::fs::read(name)?,
        None => {
            let scenario = Scenario::from_toml(NETWORK, "network", &[])?;
            let run = anabranch::sim::run(&scenario, 1, &scenario.record)?;
            run.pcapng.ok_or("the scenario records a capture")?
        }
    };
    // Any program's pcap or pcapng: a file that is cut off or damaged is read as far as it goes.
    let capture = Capture::read(&file)?;
    let trace = Trace::new(capture, &Reading::default(), &Filter::default(), &Assumptions::default());
    for flow in trace.flows() {
        println!("{} {}: {} to {}", flow.protocol, flow.id, flow.client, flow.server);
        println!("  {} packets with data, {} back", flow.forward.data_packets, flow.back.packets);
        for (reason, times) in &flow.forward.reasons {
            println!("  sent again: {times}, {reason:?}");
        }
    }
    Ok(())
}
