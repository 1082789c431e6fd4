//! Couplings over simulated networks: who takes how much. Inequalities only; the figures are in the experiments.

use crate::common::{bernoulli, engine, flow, link, ms, scenario};
use anabranch_base::{Dscp, Duration};
use anabranch_sim::run;
use anabranch_sim::scenario::{
    Coupling, Flow, Loss, Protocol, Record, Scenario, SubflowSpec, TimeDraw, Traffic,
};

const OPTIONS: [(&str, &str); 2] = [("receive_window", "8 MB"), ("sack_every", "1")];

fn greedy(name: &str, from: &str, subflows: usize, coupling: Coupling) -> Flow {
    let traffic = Traffic::Greedy { message: 1452 };
    let mut flow = flow(name, (from, "b"), Protocol::Sctp, engine("rfc9260", &OPTIONS), traffic);
    flow.subflows = vec![SubflowSpec::new(flow.dscp); subflows];
    flow.streams = subflows as u16;
    flow.coupling = coupling;
    flow.start = TimeDraw::Uniform(Duration::ZERO, Duration::from_secs(1));
    flow
}

/// Mean goodput of each flow over the seeds, Mb/s.
#[expect(clippy::unwrap_used, reason = "a scenario of these tests that cannot run is a failed test")]
fn goodputs(scenario: &Scenario) -> Vec<f64> {
    const SEEDS: u64 = 3;
    let mut sums = vec![0.0; scenario.flows.len()];
    for seed in 1..=SEEDS {
        let output = run(scenario, seed, &Record::default()).unwrap();
        for (sum, flow) in sums.iter_mut().zip(&output.summary.flows) {
            *sum += flow.measures.goodput_wire_run_bps / 1e6 / SEEDS as f64;
        }
    }
    sums
}

/// A link that errs and is never full: one flow would take a small part of it.
fn erring(coupling: Coupling) -> f64 {
    erring_for(greedy("sf", "a", 4, coupling))
}

fn erring_for(flow: Flow) -> f64 {
    let links = link("wan", ("a", "b"), 40.0, ms(50), 200, bernoulli(1e-3)).to_vec();
    let mut scenario = scenario(Duration::from_secs(100), links, vec![flow]);
    scenario.warmup = Duration::from_secs(30);
    goodputs(&scenario)[0]
}

/// Four subflows against one association in a full drop-tail queue: their ratio.
fn contended(coupling: Coupling) -> f64 {
    contended_by(greedy("sf", "a", 4, coupling))
}

fn contended_by(flow: Flow) -> f64 {
    let mut links = Vec::new();
    for from in ["a", "c"] {
        links.extend(link(&format!("access-{from}"), (from, "r"), 1000.0, ms(20), 1000, Loss::None));
    }
    links.extend(link("bottleneck", ("r", "b"), 10.0, ms(10), 60, Loss::None));
    let flows = vec![flow, greedy("one", "c", 1, Coupling::Independent)];
    let mut scenario = scenario(Duration::from_secs(200), links, flows);
    scenario.warmup = Duration::from_secs(40);
    for host in &mut scenario.hosts {
        // Drop-tail queues and equal round trips lock into patterns without it.
        if host.name != "b" && host.name != "r" {
            host.processing = Some(TimeDraw::Uniform(Duration::ZERO, Duration::from_micros(1200)));
        }
    }
    let rates = goodputs(&scenario);
    rates[0] / rates[1]
}

/// n / sqrt(Phi) (Eq. 4.16).
#[test]
fn on_a_link_that_errs_phi_divides_by_its_root() {
    let (one, n, n2) = (erring(Coupling::Independent), erring(Coupling::FccN), erring(Coupling::FccN2));
    assert!((1.5..2.5).contains(&(one / n)), "sqrt(4) = 2: {one} {n}");
    assert!((2.5..5.0).contains(&(one / n2)), "sqrt(16) = 4: {one} {n2}");
}

#[test]
fn adaptive_fills_a_link_that_errs() {
    let (adaptive, one) = (erring(Coupling::Adaptive), erring(Coupling::Independent));
    assert!(adaptive > 0.95 * one, "{adaptive} of {one}");
}

#[test]
fn adaptive_is_fair_in_a_full_queue() {
    let (independent, n2, adaptive) =
        (contended(Coupling::Independent), contended(Coupling::FccN2), contended(Coupling::Adaptive));
    assert!(independent > 3.0, "{independent}");
    assert!(adaptive < n2, "{adaptive} {n2}");
    assert!((0.6..1.6).contains(&adaptive), "{adaptive}");
}

/// Queues that treat four code points alike: one flow, and several where nobody else is.
#[test]
fn adaptive_does_the_same_for_several_code_points() {
    let marked = |coupling| {
        let mut flow = greedy("sf", "a", 4, coupling);
        for (subflow, dscp) in flow.subflows.iter_mut().zip([46, 34, 10, 1]) {
            subflow.dscp = Dscp::new(dscp).unwrap_or_default();
        }
        flow
    };
    let share = contended_by(marked(Coupling::Adaptive));
    assert!((0.6..1.6).contains(&share), "{share}");
    let (adaptive, one) = (erring_for(marked(Coupling::Adaptive)), erring(Coupling::Independent));
    assert!(adaptive > 0.9 * one, "{adaptive} of {one}");
}

#[test]
fn linked_increases_take_less_than_independent_subflows() {
    let (independent, lia, olia) =
        (contended(Coupling::Independent), contended(Coupling::Lia), contended(Coupling::Olia));
    assert!(lia < independent, "{lia} {independent}");
    assert!(olia < independent, "{olia} {independent}");
}

/// The subflows whose window each has at the end, by seed; two code points over each link where there are two.
#[expect(clippy::unwrap_used, reason = "a scenario of these tests that cannot run is a failed test")]
fn groups(toml: &str, more: (&str, &str)) -> Vec<Vec<u16>> {
    const SUBFLOWS: &str = r#"[{ dscp = "BE", streams = [0] }, { dscp = "AF11", streams = [1] }, { dscp = "EF", streams = [2] }, { dscp = "AF41", streams = [3] }]"#;
    let overrides = [("flow.sf.streams", "4"), ("flow.sf.subflows", SUBFLOWS), more];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::from_toml(toml, "groups", &overrides).unwrap();
    let windows = |seed| {
        let output = run(&scenario, seed, &Record::default()).unwrap();
        output.summary.flows[0].subflows.iter().map(|subflow| subflow.window_of).collect()
    };
    (1..=2).map(windows).collect()
}

const ONE_LINK: &str = include_str!("../../../experiments/sf-sctp-2007/bottleneck-groups/one.toml");
const TWO_LINKS: &str = include_str!("../../../experiments/sf-sctp-2007/bottleneck-groups/two.toml");

/// Two bottlenecks that are alike in everything have a window each, and one has one, whoever knows of subflows.
#[test]
fn adaptive_finds_out_which_code_points_share_a_bottleneck() {
    for level in ["0", "1"] {
        for found in groups(ONE_LINK, ("flow.sf.level", level)) {
            assert_eq!(found, [0, 0, 0, 0], "one link, level {level}");
        }
        for found in groups(TWO_LINKS, ("flow.sf.level", level)) {
            assert_eq!(found, [0, 0, 2, 2], "two links, level {level}");
        }
    }
}

/// Where nobody else is, two like queues that one window feeds fill and drain nearly together.
#[test]
fn adaptive_tells_two_like_queues_apart_that_it_alone_fills() {
    let alone = ("flow.other-*.start", "\"1000 s\"");
    for found in groups(ONE_LINK, alone) {
        assert_eq!(found, [0, 0, 0, 0]);
    }
    for found in groups(TWO_LINKS, alone) {
        assert_eq!(found, [0, 0, 2, 2]);
    }
}
