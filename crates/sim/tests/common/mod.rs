//! Scenarios for tests, written as data.
#![allow(dead_code, reason = "not every test uses every helper")]

use anabranch_base::{Dscp, Duration};
use anabranch_sim::scenario::{
    Applies, Checksums, Coupling, Engine, Flow, Host, Link, Loss, Ports, Protocol, Queue, RandomNumbers,
    Rate, Record, Scenario, TimeDraw, Traffic,
};

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn bernoulli(p: f64) -> Loss {
    Loss::Bernoulli { p, applies: Applies::All, dscp: Default::default(), stream: None }
}

/// The nodes that tests name.
const NODES: [&str; 8] = ["a", "b", "c", "d", "r", "r1", "r2", "s"];

/// The place of a node in [`NODES`]; [`scenario`] keeps those that links name.
fn node(name: &str) -> usize {
    NODES.iter().position(|node| *node == name).expect("a node of the tests")
}

/// Links both ways between two nodes; the loss is on the way there.
pub(crate) fn link(
    name: &str,
    ends: (&str, &str),
    mbit: f64,
    delay: Duration,
    packets: u64,
    loss: Loss,
) -> [Link; 2] {
    let one = |name: String, (from, to): (&str, &str), loss| Link {
        name,
        from: node(from),
        to: node(to),
        rate: Rate::BitsPerSecond((mbit * 1e6) as u64),
        delay,
        queue: Queue::DropTail { packets: Some(packets), bytes: None },
        loss,
        loss_at: Default::default(),
        mtu: 1500,
        mtu_answer: Default::default(),
        mtu_changes: Vec::new(),
        conditions: Vec::new(),
        patterns: Vec::new(),
    };
    [one(name.to_owned(), ends, loss), one(format!("{name}-back"), (ends.1, ends.0), Loss::None)]
}

pub(crate) fn engine(name: &str, options: &[(&str, &str)]) -> Engine {
    let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Engine { name: name.to_owned(), options: options.collect() }
}

pub(crate) fn flow(
    name: &str,
    ends: (&str, &str),
    protocol: Protocol,
    engine: Engine,
    traffic: Traffic,
) -> Flow {
    Flow {
        name: name.to_owned(),
        group: None,
        from: node(ends.0),
        to: node(ends.1),
        opened_by: Default::default(),
        protocol,
        sender: engine.clone(),
        receiver: engine,
        traffic,
        subflows: vec![anabranch_sim::scenario::SubflowSpec::new(Dscp::DEFAULT)],
        scheduler: anabranch_sim::scenario::SubflowScheduler::Fcfs,
        events: Vec::new(),
        coupling: Coupling::Independent,
        level: anabranch_sctp::config::SubflowLevel::Zero,
        dscp: Dscp::DEFAULT,
        start: TimeDraw::Fixed(Duration::ZERO),
        stop: None,
        streams: 1,
        unordered: false,
    }
}

/// A scenario whose hosts are those that its links name.
pub(crate) fn scenario(duration: Duration, mut links: Vec<Link>, mut flows: Vec<Flow>) -> Scenario {
    let mut used: Vec<usize> = Vec::new();
    for node in links.iter().flat_map(|link| [link.from, link.to]) {
        if !used.contains(&node) {
            used.push(node);
        }
    }
    let hosts = used.iter().map(|&node| Host { name: NODES[node].to_owned(), ..Host::default() }).collect();
    let place = |node: usize| used.iter().position(|&other| other == node).expect("a link leads there");
    for link in &mut links {
        (link.from, link.to) = (place(link.from), place(link.to));
    }
    for flow in &mut flows {
        (flow.from, flow.to) = (place(flow.from), place(flow.to));
    }
    Scenario {
        duration,
        warmup: Duration::ZERO,
        seeds: vec![1],
        random: RandomNumbers::Common,
        checksums: Checksums::Verify,
        ports: Ports::default(),
        hosts,
        links,
        routes: Vec::new(),
        flows,
        record: Record::default(),
    }
}

/// The scenario of the speed comparison with ns-2: flows over three hops, 100 Mb/s in the middle.
pub(crate) fn speed(
    protocol: Protocol,
    engine: &Engine,
    flows: usize,
    seconds: u64,
    message: u32,
) -> Scenario {
    let mut links = Vec::new();
    links.extend(link("access", ("a", "r1"), 1000.0, ms(1), 100_000, Loss::None));
    links.extend(link("bottleneck", ("r1", "r2"), 100.0, ms(18), 333, Loss::None));
    links.extend(link("exit", ("r2", "b"), 1000.0, ms(1), 100_000, Loss::None));
    let one = |i| Flow {
        start: TimeDraw::Uniform(Duration::ZERO, Duration::from_secs(1)),
        unordered: protocol == Protocol::Sctp,
        ..flow(
            &format!("{}{i}", protocol.name()),
            ("a", "b"),
            protocol,
            engine.clone(),
            Traffic::Greedy { message },
        )
    };
    scenario(Duration::from_secs(seconds), links, (0..flows).map(one).collect())
}
