//! `anabranch ping HOST:PORT`: how long a handshake and heartbeats take.

use std::io::Write;
use std::time::Duration;

use anabranch_live::{Association, Vantage};
use clap::Args;
use serde_json::json;

use crate::failure::Failure;
use crate::live::{self, NetworkOptions, Target};
use crate::opening::{self, OpeningOptions};
use crate::stopwatch::Stopwatch;

/// The options of `anabranch ping`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// How many heartbeats
    #[arg(short, long, value_name = "N", default_value_t = 4)]
    count: u32,
    /// Seconds between heartbeats
    #[arg(short, long, value_name = "SECONDS", default_value = "0.2", value_parser = pause)]
    interval: f64,
    /// Seconds to wait for the answer to a heartbeat [default: 1], and, if given without --timeout, to the handshake
    #[arg(short = 'W', long, value_name = "SECONDS", value_parser = opening::seconds)]
    wait: Option<f64>,
    /// Print JSON: one object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    opening: OpeningOptions,
    #[command(flatten)]
    network: NetworkOptions,
}

/// Seconds; 0 sends a heartbeat as soon as the one before is answered.
fn pause(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|seconds| (0.0..=86_400.0).contains(seconds))
        .ok_or_else(|| "a number of seconds, 0 to 86400".to_owned())
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = arguments.target.resolve()?;
    let runtime = live::runtime()?;
    let done = runtime.block_on(async {
        arguments.network.recording.begin(Vantage::Client).await?;
        let watch = Stopwatch::start();
        let limit = arguments.opening.limit(arguments.wait);
        let (endpoint, association) = opening::connect(&arguments.network, limit, target, 0).await?;
        let handshake = watch.seconds();
        let name = live::name(&association);
        if !arguments.json {
            say(&format!("{name}: handshake {:.3} ms\n", handshake * 1e3))?;
        }
        // Probes of the path MTU are heartbeats, too.
        association.command(|association, now| association.set(now, "mtu_discovery", "icmp"));
        let mut trips = Vec::new();
        for number in 1..=arguments.count {
            let trip = heartbeat(&association, arguments.wait.unwrap_or(1.0)).await?;
            if !arguments.json {
                match trip {
                    Some(trip) => say(&format!("{name}: heartbeat {number} {:.3} ms\n", trip * 1e3))?,
                    None => say(&format!("{name}: heartbeat {number} without an answer\n"))?,
                }
            }
            trips.push(trip);
            if number < arguments.count {
                tokio::time::sleep(Duration::from_secs_f64(arguments.interval)).await;
            }
        }
        if arguments.json {
            let told = json!({ "peer": name, "handshake_seconds": handshake, "heartbeat_seconds": trips });
            say(&format!("{told:#}\n"))?;
        }
        arguments.network.write_stats(&association)?;
        association.command(|association, now| {
            association.shutdown(now);
        });
        endpoint.close(Duration::from_secs(2)).await;
        if trips.iter().any(Option::is_none) {
            return Err(Failure::failed("a heartbeat was not answered"));
        }
        Ok(())
    });
    done.and(arguments.network.recording.finish())
}

fn say(what: &str) -> Result<(), Failure> {
    std::io::stdout().lock().write_all(what.as_bytes()).map_err(|error| Failure::printing(&error))
}

/// Seconds until a HEARTBEAT is answered.
async fn heartbeat(association: &Association, patience: f64) -> Result<Option<f64>, Failure> {
    let before = association.snapshot().map_or(0, |all| all.control.received.heartbeat_ack);
    let watch = Stopwatch::start();
    let address = association.remote().map(|remote| remote.ip());
    let asked =
        association.command(|association, now| address.map(|to| association.request_heartbeat(now, to)));
    if let Some(Some(Err(error))) = asked {
        return Err(Failure::failed(error));
    }
    let answered = association
        .until(|association| (association.snapshot().control.received.heartbeat_ack > before).then_some(()));
    match tokio::time::timeout(Duration::from_secs_f64(patience), answered).await {
        Ok(Some(())) => Ok(Some(watch.seconds())),
        _ => Ok(None),
    }
}
