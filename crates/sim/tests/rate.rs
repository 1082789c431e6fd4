//! The profile `modern` on the paths of docs/explanation/rate.md: a user who chooses nothing gets nearly the whole rate. Shorter runs than those of the
//! table there, with bounds a little below its figures; `ANABRANCH_RATE=30` runs them as long as the table, which is printed.

#![allow(clippy::print_stdout, reason = "the figures, for who asks for them")]

use crate::common::{bernoulli, engine, flow, link, ms, scenario};
use anabranch_base::Duration;
use anabranch_link::CoDelConfig;
use anabranch_sim::scenario::{EventKind, Loss, Protocol, Queue, Record, Scenario, Selection, Traffic};
use anabranch_sim::{RunOutput, run};

/// A path: Mbit/s, one-way delay in ms, and its queue.
struct Row {
    name: &'static str,
    mbit: f64,
    delay: u64,
    queue: Queue,
    loss: Loss,
    /// Seconds of the run here, and the least goodput in it, Mbit/s.
    seconds: u64,
    least: f64,
    /// The goal for 30 s, Mbit/s.
    goal: f64,
}

fn bytes(bytes: u64) -> Queue {
    Queue::DropTail { packets: None, bytes: Some(bytes) }
}

fn codel() -> Queue {
    Queue::CoDel(CoDelConfig { packets: Some(10_000), ..CoDelConfig::default() })
}

fn rows() -> Vec<Row> {
    let row = |name, (mbit, delay), queue, (seconds, least), goal| Row {
        name,
        mbit,
        delay,
        queue,
        loss: Loss::None,
        seconds,
        least,
        goal,
    };
    let fat = (100.0, 50);
    vec![
        row("100 Mb/s, 10 ms", (100.0, 5), bytes(125_000), (5, 94.0), 94.0),
        row("100 Mb/s, 100 ms", fat, bytes(1_250_000), (10, 86.0), 92.0),
        row("100 Mb/s, 100 ms, 0.1 BDP", fat, bytes(125_000), (10, 77.0), 80.0),
        row("100 Mb/s, 100 ms, CoDel", fat, codel(), (10, 78.0), 90.0),
        row("50 Mb/s, 300 ms", (50.0, 150), bytes(1_875_000), (10, 34.0), 44.0),
        row("1 Gb/s, 20 ms", (1000.0, 10), bytes(2_500_000), (3, 800.0), 900.0),
        Row {
            loss: bernoulli(0.001),
            ..row("100 Mb/s, 100 ms, 0.1 %", fat, bytes(1_250_000), (15, 7.0), 9.5)
        },
        Row { loss: bernoulli(0.01), ..row("100 Mb/s, 100 ms, 1 %", fat, bytes(1_250_000), (15, 1.2), 1.7) },
    ]
}

impl Row {
    fn scenario(&self, profile: &str, options: &[(&str, &str)], traffic: Traffic, seconds: u64) -> Scenario {
        let mut links =
            link("path", ("a", "b"), self.mbit, ms(self.delay), 100_000, self.loss.clone()).to_vec();
        links[0].queue = self.queue.clone();
        let flow = flow("f", ("a", "b"), Protocol::Sctp, engine(profile, options), traffic);
        scenario(Duration::from_secs(seconds), links, vec![flow])
    }
}

/// More options for all of them, for trials: `name=value` separated by commas.
fn trial() -> Vec<(String, String)> {
    let text = std::env::var("ANABRANCH_RATE_OPTIONS").unwrap_or_default();
    text.split(',').filter_map(|pair| pair.split_once('=')).map(|(k, v)| (k.into(), v.into())).collect()
}

#[expect(clippy::unwrap_used, reason = "a scenario of these tests that cannot run is a failed test")]
fn run_row(row: &Row, traffic: Traffic, seconds: u64, seed: u64) -> RunOutput {
    let trial = trial();
    let options: Vec<_> = trial.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let profile = std::env::var("ANABRANCH_RATE_PROFILE").unwrap_or_else(|_| "modern".to_owned());
    let mut record = Record::default();
    let shown = std::env::var("ANABRANCH_RATE_SHOW").is_ok_and(|name| name == row.name);
    if shown {
        record.trace = Selection::Only(vec![EventKind::Window, EventKind::FastRetransmit]);
    }
    let output = run(&row.scenario(&profile, &options, traffic, seconds), seed, &record).unwrap();
    if shown {
        show_windows(&output);
    }
    output
}

/// cwnd over time, for a look: twenty a second at most.
fn show_windows(output: &RunOutput) {
    let Some(trace) = &output.trace else { return };
    let mut last = 0;
    for i in 0..trace.kind.len() {
        let lost = trace.kind[i] == EventKind::FastRetransmit as u8;
        if lost || (trace.kind[i] == EventKind::Window as u8 && trace.time_ns[i] >= last + 50_000_000) {
            let (ms, what) = (trace.time_ns[i] / 1_000_000, if lost { "loss" } else { "cwnd" });
            println!("{ms} ms {what} {} {}", trace.a[i], trace.b[i]);
            last = if lost { last } else { trace.time_ns[i] };
        }
    }
}

/// Payload goodput, Mbit/s.
fn goodput(output: &RunOutput) -> f64 {
    output.summary.flows[0].measures.goodput_payload_run_bps / 1e6
}

#[test]
fn nearly_the_whole_rate_of_every_path() {
    let long = std::env::var("ANABRANCH_RATE").ok().and_then(|seconds| seconds.parse::<u64>().ok());
    for row in rows() {
        let seconds = long.unwrap_or(row.seconds);
        let seeds = if long.is_some() && !matches!(row.loss, Loss::None) { 1..=5 } else { 1..=1 };
        let count = seeds.clone().count() as f64;
        let mut sum = 0.0;
        for seed in seeds {
            let output = run_row(&row, Traffic::Greedy { message: 16_384 }, seconds, seed);
            sum += goodput(&output);
            let (m, path) = (&output.summary.flows[0].measures, &output.summary.links[0]);
            println!(
                "{}: {:.1} Mbit/s (goal {}), {} drops, {:?} sent again, {:?} fast, {:?} timeouts, srtt {:.1} ms",
                row.name,
                goodput(&output),
                row.goal,
                path.drops_queue,
                m.retransmissions,
                m.fast_retransmits,
                m.timeouts,
                m.srtt_mean_s.unwrap_or(0.0) * 1e3,
            );
        }
        let mean = sum / count;
        if long.is_some() {
            println!("{}: mean {mean:.1}, goal {}", row.name, row.goal);
        } else {
            assert!(mean >= row.least, "{}: {mean} Mbit/s", row.name);
        }
    }
}

/// 10 MB over 100 Mbit/s and 100 ms, from the first INIT to the last byte: 1.1 s is the floor, the goal 1.6.
#[test]
fn ten_megabytes() {
    let row = &rows()[1];
    let output = run_row(row, Traffic::Transfer { bytes: 10_000_000, message: 16_384 }, 10, 1);
    let flow = &output.summary.flows[0];
    println!("10 MB: {:?} {:?}", flow.completion_s, flow.measures);
    assert!(flow.completion_s.is_some_and(|seconds| seconds <= 1.66), "{:?}", flow.completion_s);
    // Slow start has gone too far: hundreds of losses in one window, and no timeout.
    let (lost, timeouts) = (flow.measures.retransmissions, flow.measures.timeouts);
    assert!(
        lost.is_some_and(|lost| lost > 300) && timeouts == Some(0),
        "{lost:?} sent again, {timeouts:?} timeouts"
    );
}
