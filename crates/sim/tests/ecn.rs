//! Explicit congestion notification through queues that mark: nothing is dropped and nothing sent again, the rate is no lower than with
//! drops, and the queue as short. The figures of docs/explanation/rate.md: `ANABRANCH_ECN=30 cargo test -p anabranch-sim --test all ecn:: -- --nocapture`.

#![allow(clippy::print_stdout, reason = "the figures, for who asks for them")]
#![allow(clippy::unwrap_used, reason = "a scenario of these tests that cannot run is a failed test")]

use crate::common::{engine, flow, link, ms, scenario};
use anabranch_base::Duration;
use anabranch_link::{CoDelConfig, RedConfig, Weight};
use anabranch_sim::scenario::{Flow, Loss, Protocol, Queue, Record, Scenario, Traffic};
use anabranch_sim::{Attached, EndSummary, run_attached};

/// The results of a run.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "all of it is printed")]
struct Outcome {
    /// Payload goodput of each flow, Mbit/s.
    goodput: Vec<f64>,
    drops: u64,
    marks: u64,
    /// Packets.
    queue_mean: f64,
    retransmissions: u64,
    ecn_reductions: u64,
    packets_marked: u64,
    srtt_ms: f64,
}

fn codel(ecn: bool) -> Queue {
    Queue::CoDel(CoDelConfig { packets: Some(10_000), ecn, ..CoDelConfig::default() })
}

/// The more packets wait, the more of them are marked, at once: as queues for scalable flows do.
fn ramp(ecn: bool) -> Queue {
    Queue::Red(RedConfig {
        packets: Some(10_000),
        min: Some(5.0),
        max: Some(200.0),
        max_p: 1.0,
        weight: Weight::Fixed(1.0),
        gentle: true,
        wait: false,
        ecn,
        mark_p: 2.0,
        ..RedConfig::default()
    })
}

fn path(mbit: f64, delay: Duration, queue: Queue, flows: Vec<Flow>, seconds: u64) -> Scenario {
    let mut links = link("path", ("a", "b"), mbit, delay, 100_000, Loss::None).to_vec();
    links[0].queue = queue;
    scenario(Duration::from_secs(seconds), links, flows)
}

fn greedy(name: &str, profile: &str, options: &[(&str, &str)]) -> Flow {
    flow(name, ("a", "b"), Protocol::Sctp, engine(profile, options), Traffic::Greedy { message: 16_384 })
}

fn seconds(short: u64) -> u64 {
    std::env::var("ANABRANCH_ECN").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(short)
}

/// One counter of an end.
fn counter(end: Option<&EndSummary>, name: &str) -> u64 {
    let stats = &end.expect("an association").stats.0;
    stats.iter().find(|(key, _)| *key == name).and_then(|(_, value)| *value).expect("a counter")
}

fn outcome(name: &str, scenario: &Scenario) -> Outcome {
    let attached = Attached { snapshots: true, ..Attached::default() };
    let output = run_attached(scenario, 1, &Record::default(), attached).unwrap();
    let (path, flows) = (&output.summary.links[0], &output.summary.flows);
    let sum = |name: &str| {
        let ends = flows.iter().filter_map(|flow| flow.association.as_ref());
        ends.map(|ends| counter(ends.sender.as_ref(), name) + counter(ends.receiver.as_ref(), name)).sum()
    };
    let outcome = Outcome {
        goodput: flows.iter().map(|flow| flow.measures.goodput_payload_run_bps / 1e6).collect(),
        drops: path.drops_queue,
        marks: path.marks,
        queue_mean: path.queue_mean_packets,
        retransmissions: sum("retransmissions"),
        ecn_reductions: sum("ecn_reductions"),
        packets_marked: sum("packets_marked"),
        srtt_ms: flows[0].measures.srtt_mean_s.unwrap_or(0.0) * 1e3,
    };
    println!("{name}: {outcome:?}");
    outcome
}

/// One flow on 100 Mbit/s and 100 ms through CoDel that drops, and through CoDel that marks.
fn beside_drops(profile: &str, options: &[(&str, &str)]) -> (Outcome, Outcome) {
    let with = |ecn: &str, queue: bool| {
        let mut options = options.to_vec();
        options.push(("ecn", ecn));
        let flow = greedy("f", profile, &options);
        outcome(
            &format!("{profile} {options:?}"),
            &path(100.0, ms(50), codel(queue), vec![flow], seconds(10)),
        )
    };
    (with("off", false), with("classic", true))
}

#[test]
fn marks_instead_of_drops() {
    for (profile, options) in [
        ("modern", &[][..]),
        ("modern", &[("ecn_backoff", "abe")]),
        ("rfc9260-rack", &[("receive_window", "16 MiB")]),
    ] {
        let (drops, marks) = beside_drops(profile, options);
        assert!(drops.drops > 0 && drops.marks == 0, "{drops:?}");
        assert_eq!((marks.drops, marks.retransmissions), (0, 0), "{marks:?}");
        assert!(marks.marks > 0 && marks.ecn_reductions > 0 && marks.packets_marked >= marks.ecn_reductions);
        assert!(marks.goodput[0] >= 0.99 * drops.goodput[0], "{marks:?} beside {drops:?}");
        assert!(marks.queue_mean <= 1.5 * drops.queue_mean + 10.0, "{marks:?} beside {drops:?}");
    }
}

#[test]
fn bbr_loses_nothing_by_marks() {
    let (drops, marks) = beside_drops("modern", &[("congestion_control", "bbr")]);
    assert_eq!(marks.drops, 0);
    assert!(marks.goodput[0] >= 0.98 * drops.goodput[0], "{marks:?} beside {drops:?}");
}

/// Through a queue that marks early a scalable flow has nearly all of the link with a few packets in the queue; one that halves has less.
#[test]
fn l4s_keeps_a_short_queue_full() {
    let run = |ecn: &str| {
        let flow = greedy("f", "modern", &[("ecn", ecn)]);
        outcome(ecn, &path(100.0, ms(10), ramp(true), vec![flow], seconds(10)))
    };
    let (classic, l4s) = (run("classic"), run("l4s"));
    assert!(l4s.goodput[0] > classic.goodput[0] && l4s.goodput[0] > 90.0, "{l4s:?} beside {classic:?}");
    assert!(l4s.queue_mean < 40.0, "{l4s:?}");
    assert_eq!(l4s.retransmissions, 0);
}
