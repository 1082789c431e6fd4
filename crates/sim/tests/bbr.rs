//! `congestion_control = "bbr"` of SCTP and `controller = "bbr"` of TCP on the paths of docs/explanation/rate.md. Shorter runs than those of the table there, with bounds a little below its
//! figures; `ANABRANCH_RATE=30` runs them as long, with five seeds, and prints the table.

#![allow(clippy::print_stdout, reason = "the figures, for who asks for them")]

use crate::common::{bernoulli, engine, flow, link, ms, scenario};
use anabranch_base::{Dscp, Duration};
use anabranch_link::CoDelConfig;
use anabranch_sctp::config::Coupling;
use anabranch_sim::scenario::{
    Flow, Loss, Protocol, Queue, Record, Scenario, SubflowSpec, TimeDraw, Traffic,
};
use anabranch_sim::{RunOutput, run};

/// Mbit/s, ms of round trip, queue in bandwidth-delay products (0: CoDel), part that is lost; seconds of the run here and the least goodput in
/// it, Mbit/s; the goal for 30 s.
type Row = (f64, u64, f64, f64, u64, f64, f64);

const ROWS: [Row; 12] = [
    (100.0, 10, 1.0, 0.0, 5, 93.0, 93.0),
    (100.0, 100, 1.0, 0.0, 8, 85.0, 92.0),
    (100.0, 100, 0.1, 0.0, 8, 80.0, 88.0),
    (100.0, 100, 0.0, 0.0, 8, 84.0, 90.0),
    (100.0, 100, 1.0, 0.001, 8, 84.0, 90.0),
    (100.0, 100, 1.0, 0.01, 8, 80.0, 85.0),
    (50.0, 300, 1.0, 0.0, 10, 33.0, 44.0),
    (1000.0, 20, 1.0, 0.0, 2, 800.0, 900.0),
    (100.0, 100, 1.0, 0.05, 8, 60.0, 0.0),
    (100.0, 100, 1.0, 0.15, 8, 35.0, 0.0),
    (10.0, 40, 1.0, 0.05, 10, 7.0, 0.0),
    (300.0, 80, 0.05, 0.0, 8, 150.0, 0.0),
];

fn of(row: &Row, options: &[(&str, &str)], traffic: Traffic, seconds: u64) -> Scenario {
    let flow = flow("f", ("a", "b"), Protocol::Sctp, engine("modern", options), traffic);
    on_path(row, flow, seconds)
}

/// The same with TCP, and windows as large as those of `modern`.
fn of_tcp(row: &Row, options: &[(&str, &str)], traffic: Traffic, seconds: u64) -> Scenario {
    let windows = [("receive_buffer_limit", "16 MiB"), ("send_buffer", "16 MiB")];
    let engine = engine("linux-6.1", &[&windows, options].concat());
    on_path(row, flow("f", ("a", "b"), Protocol::Tcp, engine, traffic), seconds)
}

fn on_path(row: &Row, flow: Flow, seconds: u64) -> Scenario {
    let &(mbit, rtt, bdp, loss, ..) = row;
    let loss = if loss > 0.0 { bernoulli(loss) } else { Loss::None };
    let mut links = link("path", ("a", "b"), mbit, ms(rtt / 2), 100_000, loss).to_vec();
    let bytes = mbit * 1e6 / 8.0 * rtt as f64 / 1e3 * bdp;
    links[0].queue = if bdp > 0.0 {
        Queue::DropTail { packets: None, bytes: Some(bytes as u64) }
    } else {
        Queue::CoDel(CoDelConfig { packets: Some(10_000), ..CoDelConfig::default() })
    };
    scenario(Duration::from_secs(seconds), links, vec![flow])
}

#[expect(clippy::unwrap_used, reason = "a scenario of these tests that cannot run is a failed test")]
fn run_one(scenario: &Scenario, seed: u64) -> RunOutput {
    run(scenario, seed, &Record::default()).unwrap()
}

/// Payload goodput, Mbit/s.
fn goodput(output: &RunOutput) -> f64 {
    output.summary.flows[0].measures.goodput_payload_run_bps / 1e6
}

#[test]
fn nearly_the_whole_rate_of_every_path() {
    every_row(|row, seconds| {
        of(row, &[("congestion_control", "bbr")], Traffic::Greedy { message: 16_384 }, seconds)
    });
}

#[test]
fn nearly_the_whole_rate_of_every_path_with_tcp() {
    every_row(|row, seconds| {
        of_tcp(row, &[("controller", "bbr")], Traffic::Greedy { message: 16_384 }, seconds)
    });
}

/// Every row: what is there to say, and that it is enough.
fn every_row(of: impl Fn(&Row, u64) -> Scenario) {
    let long = std::env::var("ANABRANCH_RATE").ok().and_then(|seconds| seconds.parse::<u64>().ok());
    for row in &ROWS {
        let &(mbit, rtt, bdp, loss, seconds, least, goal) = row;
        let scenario = of(row, long.unwrap_or(seconds));
        let runs: Vec<RunOutput> =
            (1..=if long.is_some() { 5 } else { 1 }).map(|seed| run_one(&scenario, seed)).collect();
        let mean = runs.iter().map(goodput).sum::<f64>() / runs.len() as f64;
        let srtt = runs[0].summary.flows[0].measures.srtt_mean_s.unwrap_or(0.0) * 1e3;
        let what = format!("{mbit} Mbit/s, {rtt} ms, {bdp} BDP, {loss} lost: {mean:.1} Mbit/s");
        println!("{what} (goal {goal}), srtt {srtt:.1} ms");
        assert!(long.is_some() || mean >= least, "{what}, least {least}");
    }
}

/// 10 MB over 100 Mbit/s and 100 ms: 1.1 s is the floor.
#[test]
fn a_transfer_of_10_mb() {
    let traffic = Traffic::Transfer { bytes: 10_000_000, message: 16_384 };
    let output = run_one(&of(&ROWS[1], &[("congestion_control", "bbr")], traffic, 10), 1);
    let took = output.summary.flows[0].completion_s;
    println!("10 MB: {took:?}");
    assert!(took.is_some_and(|seconds| seconds <= 1.75), "{took:?}");
}

/// Four subflows with CUBIC or BBR, a stream each, beside a plain association of the same controller: which part of both they get. Every coupling
/// takes less than none, and starves nobody; Phi = n does little for BBR (docs/explanation/couplings.md).
#[test]
fn subflows_beside_a_plain_association() {
    /// The least and the most.
    type Part = (f64, f64);
    let bounds: [(&str, [(Coupling, Part); 6]); 2] = [
        (
            "cubic+hystart",
            [
                (Coupling::Independent, (0.8, 0.95)),
                (Coupling::FccN, (0.5, 0.83)),
                (Coupling::FccN2, (0.4, 0.73)),
                (Coupling::Lia, (0.4, 0.75)),
                (Coupling::Olia, (0.4, 0.75)),
                (Coupling::Adaptive, (0.4, 0.67)),
            ],
        ),
        (
            "bbr",
            [
                (Coupling::Independent, (0.6, 0.9)),
                (Coupling::FccN, (0.5, 0.85)),
                (Coupling::FccN2, (0.4, 0.77)),
                (Coupling::Lia, (0.4, 0.74)),
                (Coupling::Olia, (0.4, 0.73)),
                (Coupling::Adaptive, (0.4, 0.78)),
            ],
        ),
    ];
    for (control, couplings) in bounds {
        for (coupling, (least, most)) in couplings {
            let row = (20.0, 40, 1.0, 0.0, 60, 0.0, 0.0);
            let options = [("congestion_control", control)];
            let mut scenario = of(&row, &options, Traffic::Greedy { message: 16_384 }, 60);
            let mut many = scenario.flows[0].clone();
            many.name = "many".into();
            many.subflows = vec![SubflowSpec::new(Dscp::DEFAULT); 4];
            // Of one stream only one subflow would have anything to send.
            many.streams = 4;
            many.coupling = coupling;
            scenario.flows.push(many);
            for flow in &mut scenario.flows {
                flow.start = TimeDraw::Uniform(Duration::ZERO, Duration::from_secs(1));
            }
            // The order of the beginnings matters much in a single run (independent subflows with BBR: 0.54 to 0.85):
            // means of four.
            let mut rates = [0.0; 2];
            for seed in 1..=4 {
                let output = run_one(&scenario, seed);
                for (rate, flow) in rates.iter_mut().zip(&output.summary.flows) {
                    *rate += flow.measures.goodput_payload_run_bps / 4e6;
                }
            }
            let share = rates[1] / (rates[0] + rates[1]);
            println!("{control}, {coupling}: one {:.1}, four subflows {:.1}: {share:.2}", rates[0], rates[1]);
            assert!((least..most).contains(&share), "{control}, {coupling}: {rates:?}: {share}");
            assert!(rates[0] + rates[1] > 17.0, "{control}, {coupling}: {rates:?}");
        }
    }
}
