//! Writes a capture of a lossy SCTP transfer to the file named on the command line.

#[path = "../tests/common/mod.rs"]
mod common;

use anabranch_base::Duration;
use anabranch_sim::scenario::{Protocol, Record, Selection, Traffic};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: capture FILE")?;
    let links = common::link("wan", ("a", "b"), 10.0, common::ms(20), 20, common::bernoulli(0.02)).to_vec();
    let traffic = Traffic::Transfer { bytes: 200_000, message: 1452 };
    let engine = common::engine("rfc9260", &[]);
    let flow = common::flow("f", ("a", "b"), Protocol::Sctp, engine, traffic.clone());
    let tcp = common::flow("t", ("a", "b"), Protocol::Tcp, common::engine("rfc", &[]), traffic);
    let scenario = common::scenario(Duration::from_secs(60), links, vec![flow, tcp]);
    let record = Record { pcap: Selection::All, ..Record::default() };
    std::fs::write(path, anabranch_sim::run(&scenario, 1, &record)?.pcapng.unwrap_or_default())?;
    Ok(())
}
