//! A network of a few lines in virtual time: two associations share a bottleneck for a minute, which takes a moment.
//!
//! ```text
//! first: 5.3 Mbit/s
//! second: 4.4 Mbit/s
//! the bottleneck was used to 100 %
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use anabranch::sim::scenario::{Record, Scenario};

const NETWORK: &str = r#"
duration = "60 s"
warmup = "10 s"

[[link]]
name = "bottleneck"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 50 }
both = true

[[flow]]
name = "first"
from = "a"
to = "b"
protocol = "sctp"
engine = "modern"
traffic = { kind = "greedy", message = "1400 B" }

[[flow]]
name = "second"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "greedy", message = "1400 B" }
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The same seed gives the same result, to the byte.
    let scenario = Scenario::from_toml(NETWORK, "network", &[])?;
    let run = anabranch::sim::run(&scenario, 1, &Record::default())?;
    for flow in &run.summary.flows {
        println!("{}: {:.1} Mbit/s", flow.name, flow.measures.goodput_payload_bps / 1e6);
    }
    let link = &run.summary.links[0];
    println!("the bottleneck was used to {:.0} %", link.utilisation * 100.0);
    Ok(())
}
