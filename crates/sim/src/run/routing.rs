//! Tests of routes by code point, worked out by hand.

use super::tests::{MS, flow, host, line, link};
use super::*;
use crate::scenario::{EventKind, Host, Loss, PacketSource, Protocol, Rhythm, Route, Selection};
use anabranch_base::Dscp;

fn dscp(value: u8) -> Dscp {
    Dscp::new(value).unwrap()
}

/// a - r - b, and from r another way over s whose links take 10 ms more each. Packets with code point 1 take it.
fn two_paths(flows: Vec<Flow>) -> Scenario {
    let mut scenario = line(Loss::None, flows);
    scenario.hosts.push(Host { name: "s".into(), ..Host::default() });
    for (name, from, to) in [("r-s", "r", "s"), ("s-b", "s", "b")] {
        scenario.links.push(link(name, from, to, Loss::None));
    }
    let via = scenario.links.len() - 2;
    scenario.routes.push(Route { at: host("r"), to: host("b"), dscp: vec![dscp(1)], via });
    scenario
}

fn source(name: &str, code_point: u8) -> Flow {
    let packets = PacketSource { rate: 400_000, packet: 1000, jitter: 0.0, rhythm: Rhythm::Steady };
    Flow {
        protocol: Protocol::Cbr,
        traffic: Traffic::Packets(packets),
        dscp: dscp(code_point),
        ..flow(name, "a", "b", 0)
    }
}

#[test]
fn every_code_point_takes_its_path() {
    let mut scenario = two_paths(vec![source("best-effort", 0), source("marked", 1)]);
    scenario.record.trace = Selection::Only(vec![EventKind::Received]);
    for ahead in [true, false] {
        // A capture forbids packets to be told to the next link before their time.
        scenario.record.pcap = if ahead { Selection::None } else { Selection::All };
        let output = run(&scenario, 1, &scenario.record).unwrap();
        let trace = output.trace.unwrap();
        let first = |flow: u32| {
            let at = trace.flow.iter().position(|f| *f == flow).unwrap();
            trace.time_ns[at] / MS
        };
        // Both leave at the same time; the second is sent after the first. 11 ms for each link.
        assert_eq!((first(0), first(1)), (22, 34));
        let arrivals = |name: &str| {
            let link = output.summary.links.iter().find(|link| link.name == name).unwrap();
            link.arrivals
        };
        assert_eq!((arrivals("a-r"), arrivals("r-b")), (100, 50));
        // The last one waits for a place on the first link and reaches r after the end.
        assert_eq!((arrivals("r-s"), arrivals("s-b")), (50, 49));
    }
}

#[test]
fn packets_of_every_code_point_must_fit_their_path() {
    let mut scenario = two_paths(vec![source("marked", 1)]);
    scenario.links.last_mut().unwrap().mtu = 576;
    let wrong = check(&scenario).unwrap_err().to_string();
    assert_eq!(wrong, "flow `marked`: packets of 1000 B do not fit the MTU of 576 B on the way");
}
