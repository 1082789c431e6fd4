//! Tests of the world with a transport that does next to nothing, so that every number can be worked out by hand.

use super::*;
use crate::engine::Engine;
use crate::engine::toy::ToyEnd;
use crate::scenario::{
    Applies, Checksums, Coupling, Flow, Host, Link, Loss, Ports, Protocol, Queue, RandomNumbers, Rate,
    Selection, TimeDraw,
};
use anabranch_base::Dscp;
use anabranch_base::Duration;

pub(super) const MS: u64 = 1_000_000;

/// The place of a host: a, r, b, and the one that a test adds behind them.
pub(super) fn host(name: &str) -> usize {
    ["a", "r", "b"].iter().position(|host| *host == name).unwrap_or(3)
}

pub(super) fn link(name: &str, from: &str, to: &str, loss: Loss) -> Link {
    Link {
        name: name.into(),
        from: host(from),
        to: host(to),
        // 1000 bytes take 1 ms.
        rate: Rate::BitsPerSecond(8_000_000),
        delay: Duration::from_millis(10),
        queue: Queue::DropTail { packets: Some(5), bytes: None },
        loss,
        loss_at: anabranch_link::LossAt::Exit,
        mtu: 1500,
        mtu_answer: crate::scenario::MtuAnswer::Known,
        mtu_changes: Vec::new(),
        conditions: Vec::new(),
        patterns: Vec::new(),
    }
}

pub(super) fn flow(name: &str, from: &str, to: &str, start_ms: u64) -> Flow {
    Flow {
        name: name.into(),
        group: None,
        from: host(from),
        to: host(to),
        protocol: Protocol::Sctp,
        sender: crate::scenario::Engine::default(),
        receiver: crate::scenario::Engine::default(),
        opened_by: Default::default(),
        traffic: Traffic::Greedy { message: 1000 },
        subflows: vec![crate::scenario::SubflowSpec::new(Dscp::DEFAULT)],
        scheduler: crate::scenario::SubflowScheduler::Fcfs,
        events: Vec::new(),
        coupling: Coupling::Independent,
        level: anabranch_sctp::config::SubflowLevel::Zero,
        dscp: Dscp::DEFAULT,
        start: TimeDraw::Fixed(Duration::from_millis(start_ms)),
        stop: None,
        streams: 1,
        unordered: false,
    }
}

fn bernoulli(p: f64) -> Loss {
    Loss::Bernoulli { p, applies: Applies::All, dscp: anabranch_link::DscpSet::ALL, stream: None }
}

/// a - r - b, both ways.
pub(super) fn line(loss: Loss, flows: Vec<Flow>) -> Scenario {
    Scenario {
        duration: Duration::from_millis(1000),
        warmup: Duration::ZERO,
        seeds: vec![1],
        random: RandomNumbers::Common,
        checksums: Checksums::Verify,
        ports: Ports::default(),
        hosts: ["a", "r", "b"].map(|name| Host { name: name.into(), ..Host::default() }).into(),
        links: vec![
            link("a-r", "a", "r", Loss::None),
            link("r-b", "r", "b", loss),
            link("b-r", "b", "r", Loss::None),
            link("r-a", "r", "a", Loss::None),
        ],
        routes: Vec::new(),
        flows,
        record: Record::default(),
    }
}

fn everything() -> Record {
    Record {
        trace: Selection::All,
        pcap: Selection::All,
        queue_interval: Some(Duration::from_millis(10)),
        ..Record::default()
    }
}

/// Runs with toys: a packet of 1000 bytes on the wire every `gap_us`, `limit` of them.
fn run_toys(scenario: &Scenario, seed: u64, gap_us: u64, limit: u64) -> (RunOutput, Vec<Vec<(u64, u64)>>) {
    let make = |plan: &assemble::EndPlan<'_>| {
        let remote = plan.remote;
        Ok(Engine::Toy(Box::new(ToyEnd::new(remote, Duration::from_micros(gap_us), limit))))
    };
    let (output, sides) = run_with(scenario, seed, &everything(), Attached::default(), &make).unwrap();
    let arrivals = sides.iter().map(|side| match &side.engine {
        Engine::Toy(toy) => toy.arrivals.clone(),
        _ => Vec::new(),
    });
    (output, arrivals.collect())
}

#[test]
fn packets_arrive_when_arithmetic_says() {
    // Two links of 1 ms + 10 ms each: there after 22 ms. An answer of 40 bytes takes 0.04 ms + 10 ms on each link.
    let (output, arrivals) = run_toys(&line(Loss::None, vec![flow("f", "a", "b", 5)]), 1, 2000, 3);
    assert_eq!(arrivals[1], [(27 * MS, 0), (29 * MS, 1), (31 * MS, 2)]);
    let back = 20 * MS + 80_000;
    assert_eq!(arrivals[0], [(27 * MS + back, 0), (29 * MS + back, 1), (31 * MS + back, 2)]);
    assert_eq!(output.summary.packet_hops, 12);
    let links = &output.summary.links;
    assert_eq!(links.iter().map(|l| l.sent).collect::<Vec<_>>(), [3, 3, 3, 3]);
    assert_eq!(links[0].utilisation, 3.0 / 1000.0);
    let m = &output.summary.flows[0].measures;
    assert_eq!((m.packets_sent, m.packets_unique), (3, 3));
    // 3 packets of 980 bytes, 20 bytes of IP header each, in one second.
    assert_eq!(m.goodput_wire_run_bps, 24_000.0);
    assert_eq!(m.goodput_payload_run_bps, 3.0 * 971.0 * 8.0);
    assert_eq!(m.srtt_mean_s, Some(0.005));
    assert_eq!(m.cwnd_peak_bytes, Some(1003));
    assert_eq!(output.summary.flows[0].start_s, Some(0.005));
}

#[test]
fn the_warmup_is_left_out() {
    // A packet every 2 ms from 0 on. The 499 packets sent before 998 ms but after 500 ms: at 500, 502, ..., 998: 250.
    let mut scenario = line(Loss::None, vec![flow("f", "a", "b", 0)]);
    scenario.warmup = Duration::from_millis(500);
    let (output, _) = run_toys(&scenario, 1, 2000, u64::MAX);
    let m = &output.summary.flows[0].measures;
    assert_eq!(m.packets_sent, 250);
    // Arrivals at 22 + 2 k ms; those from 500 to 998: 250.
    assert_eq!(m.goodput_wire_run_bps, 250.0 * 1000.0 * 8.0 / 0.5);
    assert_eq!(output.summary.links[0].arrivals, 250);
    assert_eq!(output.summary.links[0].utilisation, 0.5);
}

#[test]
fn a_full_queue_drops_and_the_trace_says_so() {
    // 2 packets a ms into a link that sends 1: the sixth finds five in the system.
    let (output, arrivals) = run_toys(&line(Loss::None, vec![flow("f", "a", "b", 0)]), 1, 500, 100);
    let trace = output.trace.unwrap();
    let links = &output.summary.links;
    assert_eq!(links[0].arrivals, 100);
    assert_eq!(links[0].drops_queue + arrivals[1].len() as u64, 100);
    assert_eq!(links[0].queue_max_packets, 4);
    let dropped: Vec<_> =
        (0..trace.len()).filter(|&i| Columns::kinds()[trace.kind[i] as usize] == "dropped").collect();
    assert_eq!(dropped.len() as u64, links[0].drops_queue);
    // Packets come at 0, 0.5, ... ms; after 4.5 ms the tenth has come and five have left.
    assert_eq!(trace.time_ns[dropped[0]], 9 * MS / 2);
    assert!(dropped.iter().all(|&i| {
        trace.entities[trace.entity[i] as usize] == "link:a-r"
            && Columns::reasons()[trace.reason[i] as usize] == "queue-full"
            && trace.size[i] == 1000
    }));
    assert!(trace.time_ns.is_sorted());
    let sampled: Vec<_> = (0..trace.len())
        .filter(|&i| Columns::kinds()[trace.kind[i] as usize] == "queue" && trace.entity[i] == 0)
        .map(|i| (trace.time_ns[i] / MS, trace.a[i]))
        .take(3)
        .collect();
    // At 10 ms sharp one has just left the queue, and the packet of that moment is still to come.
    assert_eq!(sampled, [(0, 0), (10, 3), (20, 3)]);
}

#[test]
fn the_same_seed_gives_the_same_run_on_any_thread() {
    let flows = (0..4).map(|i| flow(&format!("f{i}"), "a", "b", i)).collect();
    let scenario = line(bernoulli(0.1), flows);
    let hash = |seed| {
        let output = run_toys(&scenario, seed, 700, u64::MAX).0;
        (output.trace.unwrap().hash(), output.pcapng.unwrap(), output.summary)
    };
    let one: Vec<_> = (1..=4).map(hash).collect();
    let two: Vec<_> = std::thread::scope(|scope| {
        let halves = [[1, 2], [3, 4]].map(|seeds| scope.spawn(move || seeds.map(hash)));
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    assert!(one == two);
    assert_ne!(one[0].0, one[1].0);
}

#[test]
fn another_flow_and_another_link_change_no_draws() {
    // The losses of flow f on link r-b must be the same whether or not other flows and links exist.
    let alone = line(bernoulli(0.2), vec![flow("f", "a", "b", 0)]);
    let mut crowded = alone.clone();
    crowded.hosts.push(Host { name: "c".into(), ..Host::default() });
    crowded.links.insert(0, link("c-r", "c", "r", bernoulli(0.5)));
    crowded.links.insert(0, link("r-c", "r", "c", bernoulli(0.5)));
    crowded.flows.insert(0, flow("other", "a", "c", 0));
    crowded.flows[0].start = TimeDraw::Uniform(Duration::ZERO, Duration::from_millis(10));
    // The new host comes first, so that all others have other numbers.
    crowded.hosts.rotate_right(1);
    let ends = crowded.links.iter_mut().flat_map(|link| [&mut link.from, &mut link.to]);
    for place in ends.chain(crowded.flows.iter_mut().flat_map(|flow| [&mut flow.from, &mut flow.to])) {
        *place = (*place + 1) % 4;
    }
    // Slow enough that they do not meet in a queue.
    let (_, before) = run_toys(&alone, 3, 10_000, u64::MAX);
    let (_, after) = run_toys(&crowded, 3, 10_000, u64::MAX);
    let numbers = |arrivals: &[(u64, u64)]| arrivals.iter().map(|a| a.1).collect::<Vec<_>>();
    assert_eq!(numbers(&before[1]), numbers(&after[3]));
    assert!(before[1].len() < 90, "something was lost");
}

#[test]
fn links_with_one_loss_stream_lose_the_same_packets() {
    let mut scenario = line(Loss::None, vec![flow("f", "a", "b", 0), flow("g", "c", "b", 0)]);
    scenario.hosts.push(Host { name: "c".into(), ..Host::default() });
    scenario.links.push(link("c-r", "c", "r", Loss::None));
    scenario.links.push(link("r-c", "r", "c", Loss::None));
    let shared = || Loss::Bernoulli {
        p: 0.3,
        applies: Applies::Data,
        dscp: anabranch_link::DscpSet::ALL,
        stream: Some("x".into()),
    };
    scenario.links[0].loss = shared();
    scenario.links[4].loss = shared();
    let numbers = |random| {
        let scenario = Scenario { random, ..scenario.clone() };
        let (_, arrivals) = run_toys(&scenario, 5, 10_000, u64::MAX);
        [1, 3].map(|side: usize| arrivals[side].iter().map(|a| a.1).collect::<Vec<_>>())
    };
    let [f, g] = numbers(RandomNumbers::Common);
    assert_eq!(f, g);
    let [f, g] = numbers(RandomNumbers::Independent);
    assert_ne!(f, g);
}

#[test]
fn a_host_that_takes_its_time_keeps_the_order() {
    let mut scenario = line(Loss::None, vec![flow("f", "a", "b", 0)]);
    scenario.hosts[2].processing = Some(TimeDraw::Uniform(Duration::ZERO, Duration::from_millis(50)));
    let (_, arrivals) = run_toys(&scenario, 1, 2000, 100);
    assert_eq!(arrivals[1].len(), 100);
    assert!(arrivals[1].iter().enumerate().all(|(i, a)| a.1 == i as u64));
    let delays: Vec<_> = arrivals[1].iter().map(|&(at, seq)| at - (22 + 2 * seq) * MS).collect();
    assert!(delays.iter().all(|d| *d < 50 * MS) && delays.iter().any(|d| *d > 5 * MS));
    scenario.hosts[2].processing = Some(TimeDraw::Fixed(Duration::from_millis(3)));
    let (_, arrivals) = run_toys(&scenario, 1, 2000, 2);
    assert_eq!(arrivals[1], [(25 * MS, 0), (27 * MS, 1)]);
}

#[test]
fn what_cannot_be_run_is_refused_with_a_sentence() {
    let refusal = |change: fn(&mut Scenario)| {
        let mut scenario = line(Loss::None, vec![flow("f", "a", "b", 0)]);
        scenario.flows[0].sender.name = "rfc9260".into();
        scenario.flows[0].receiver.name = "rfc9260".into();
        assert_eq!(check(&scenario), Ok(()));
        change(&mut scenario);
        check(&scenario).unwrap_err().to_string()
    };
    assert_eq!(refusal(|s| s.flows[0].to = 9), "flow `f` names host 9, which does not exist");
    assert_eq!(refusal(|s| s.links.truncate(1)), "flow `f`: no links lead from `a` to `b`");
    assert_eq!(refusal(|s| s.links.truncate(2)), "flow `f`: no links lead from `b` to `a`");
    assert_eq!(
        refusal(|s| {
            let drop = vec![1];
            s.links[0].loss = Loss::Positions {
                drop,
                applies: Applies::All,
                dscp: anabranch_link::DscpSet::ALL,
                flow: Some(7),
            };
        }),
        "the loss of link `a-r` names flow 7, which does not exist"
    );
    assert_eq!(
        refusal(|s| s.record.pcap = Selection::Only(vec![5])),
        "the list of links to capture names link 5, which does not exist"
    );
    let wrong = refusal(|s| {
        s.flows[0].sender.options.push(("rto_mni".into(), "1 s".into()));
    });
    assert!(wrong.starts_with("flow `f`: ") && wrong.contains("rto_mni"), "{wrong}");
    let wrong = refusal(|s| s.flows[0].receiver.name = "bsd".into());
    assert!(wrong.contains("`bsd`"), "{wrong}");
}

#[test]
fn a_capture_has_every_packet_that_entered_the_links_asked_for() {
    let scenario = line(Loss::None, vec![flow("f", "a", "b", 0)]);
    let make = |plan: &assemble::EndPlan<'_>| {
        Ok(Engine::Toy(Box::new(ToyEnd::new(plan.remote, Duration::from_millis(1), 10))))
    };
    let record = Record { pcap: Selection::Only(vec![2]), ..Record::default() };
    let (output, _) = run_with(&scenario, 1, &record, Attached::default(), &make).unwrap();
    let file = output.pcapng.unwrap();
    assert!(output.trace.is_none());
    // A section header of 28 bytes, one interface of 52, ten packets of 32 + 14 of Ethernet + 40, filled up to 56.
    assert_eq!(file.len(), 28 + 52 + 10 * (32 + 56));
    assert_eq!(file[28 + 52 + 28..][..16], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0]);
}
