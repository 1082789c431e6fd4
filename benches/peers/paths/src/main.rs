//! Goodput of SCTP stacks over the same virtual paths: `make bench-paths`.
//!
//! Every stack has the settings that it has by itself; the packets are of one size, and an application that never has to wait for
//! more to send. Time is virtual: nothing depends on the machine, and a stack that takes its time from elsewhere could not take part.

mod network;
mod row;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anabranch_base::Rng;
use anabranch_sctp::Config;
use clap::Parser;
use peer::{Plan, Stack};
use peer_anabranch::Anabranch;
use peer_dcsctp::Dcsctp;
use peer_rtc_sctp::Rtc;
use peer_sctp_proto::Proto;
use serde::Serialize;

use crate::network::{Network, Run};
use crate::row::{ROWS, Row};

/// Goodput of SCTP stacks over the same virtual paths.
#[derive(Debug, Parser)]
struct Options {
    /// Seeds of each path: losses, numbers of the stacks, and when the association begins.
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// The stacks; ours by profile, with values after it: `anabranch:rfc9260-rack,pacing=true`.
    #[arg(
        long,
        value_delimiter = ';',
        default_value = "anabranch:modern;anabranch:modern,congestion_control=bbr;dcsctp;rtc-sctp;sctp-proto"
    )]
    stacks: Vec<String>,
    /// Only paths whose name has this in it.
    #[arg(long, default_value = "")]
    path: String,
    /// Largest SCTP packet, bytes.
    #[arg(long, default_value_t = 1228)]
    mtu: u16,
    /// Runs at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// One line of JSON a run instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Told<'a> {
    path: &'a str,
    stack: &'a str,
    seed: u64,
    #[serde(flatten)]
    run: Run,
}

fn main() {
    let options = Options::parse();
    let rows: Vec<Row> = ROWS.into_iter().filter(|row| row.name.contains(&options.path)).collect();
    let tasks: Vec<(Row, &str, u64)> = rows
        .iter()
        .flat_map(|row| {
            let stacks = options.stacks.iter().map(move |stack| (*row, stack.as_str()));
            stacks.flat_map(|(row, stack)| (1..=options.seeds).map(move |seed| (row, stack, seed)))
        })
        .collect();
    // A wrong name is told before anything runs.
    for stack in &options.stacks {
        if let Err(why) = ends(stack, &plans(&ROWS[0], options.mtu), 0) {
            eprintln!("{stack}: {why}");
            std::process::exit(2);
        }
    }
    let runs: Vec<Mutex<Option<Run>>> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let at = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some((index, (row, stack, seed))) = {
                    let index = at.fetch_add(1, Ordering::Relaxed);
                    tasks.get(index).map(|task| (index, *task))
                } {
                    let run = run(row, stack, seed, options.mtu);
                    *runs[index].lock().expect("nobody panics with the lock") = Some(run);
                }
            });
        }
    });
    let runs: Vec<Run> = runs.iter().filter_map(|run| *run.lock().expect("all have ended")).collect();
    if options.json {
        for ((row, stack, seed), run) in tasks.iter().zip(&runs) {
            let told = Told { path: row.name, stack, seed: *seed, run: *run };
            println!("{}", serde_json::to_string(&told).expect("numbers and names"));
        }
    } else {
        print(&rows, &options.stacks, &runs, options.seeds as usize);
    }
}

fn run(row: Row, stack: &str, seed: u64, mtu: u16) -> Run {
    let plans = plans(&row, mtu);
    let ends = ends(stack, &plans, seed).expect("it was tried before");
    // Somewhere in the first round trip, so that seeds differ where nothing is lost at random.
    let start = (Rng::stream(seed, "path", "start").f64() * network::rtt(&row).as_nanos() as f64) as u64;
    Network::new(row, seed, &plans, ends).run(start)
}

fn plans(row: &Row, mtu: u16) -> [Plan; 2] {
    let here = SocketAddr::from((Ipv4Addr::new(10, 0, 0, 1), 9899));
    let there = SocketAddr::from((Ipv4Addr::new(10, 0, 0, 2), 9899));
    // An application that keeps two bandwidth-delay products waiting in stacks that have no limit of their own.
    let backlog = (2 * row.product()).max(2_000_000);
    let plan = |role: &str, local: SocketAddr, remote: SocketAddr| {
        let words = [
            "paths".to_owned(),
            role.to_owned(),
            format!("--local={local}"),
            format!("--remote={remote}"),
            format!("--mtu={mtu}"),
            format!("--backlog={backlog}"),
            "--no-digest".to_owned(),
        ];
        Plan::parse_from(words)
    };
    let mut both = [plan("connect", here, there), plan("listen", there, here)];
    both[1].epoch = both[0].epoch;
    both
}

fn ends(stack: &str, plans: &[Plan; 2], seed: u64) -> Result<[Box<dyn Stack>; 2], String> {
    let each = |make: &dyn Fn(&Plan) -> Box<dyn Stack>| Ok([make(&plans[0]), make(&plans[1])]);
    match stack {
        "dcsctp" => each(&|plan| Box::new(Dcsctp::new(plan))),
        "rtc-sctp" => each(&|plan| Box::new(Rtc::new(plan))),
        "sctp-proto" => each(&|plan| Box::new(Proto::new(plan))),
        ours => {
            let Some(words) = ours.strip_prefix("anabranch:") else {
                return Err("expected dcsctp, rtc-sctp, sctp-proto or anabranch:PROFILE[,KEY=VALUE]".into());
            };
            let mut words = words.split(',');
            let profile = words.next().unwrap_or_default();
            let config = Config::named(profile).ok_or_else(|| format!("no profile `{profile}`"))?;
            let mut made: Vec<Box<dyn Stack>> = Vec::new();
            let values: Vec<String> = words.map(str::to_owned).collect();
            for (plan, end) in plans.iter().zip(["connect", "listen"]) {
                let mut plan = plan.clone();
                plan.set = values.clone();
                let mut secret = [0; 32];
                Rng::stream(seed, end, "secret").fill(&mut secret);
                made.push(Box::new(Anabranch::with_config(&plan, config.clone(), secret)?));
            }
            <[Box<dyn Stack>; 2]>::try_from(made).map_err(|_| "two plans make two ends".into())
        }
    }
}

/// A table: mean over the seeds, and the least and the most where they differ.
fn print(rows: &[Row], stacks: &[String], runs: &[Run], seeds: usize) {
    println!("goodput, Mbit/s (10 MB: seconds); least to most of {seeds} seeds; [mean queue, ms]\n");
    println!("| path | {} |", stacks.join(" | "));
    println!("|---|{}", "---|".repeat(stacks.len()));
    let mut runs = runs.chunks(seeds.max(1));
    for row in rows {
        let cells: Vec<String> =
            stacks.iter().map(|_| runs.next().map_or_else(String::new, |runs| cell(row, runs))).collect();
        println!("| {} | {} |", row.name, cells.join(" | "));
    }
}

fn cell(row: &Row, runs: &[Run]) -> String {
    let values: Vec<f64> = if row.bytes.is_some() {
        runs.iter().filter_map(|run| run.seconds).collect()
    } else {
        runs.iter().map(|run| run.goodput).collect()
    };
    if values.len() < runs.len() {
        return format!("{} of {} did not end", runs.len() - values.len(), runs.len());
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (low, high) =
        values.iter().fold((f64::MAX, f64::MIN), |(low, high), &value| (low.min(value), high.max(value)));
    let queue = mean(&runs.iter().map(|run| run.queue).collect::<Vec<_>>());
    let spread = if high - low > 0.05 { format!(" ({low:.1} to {high:.1})") } else { String::new() };
    format!("{:.*}{spread} [{queue:.1}]", if row.bytes.is_some() { 2 } else { 1 }, mean(&values))
}
