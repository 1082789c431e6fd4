//! Results of the sources of messages: messages delivered, and their delays.

use crate::app::{App, Deliveries};
use crate::scenario::{Flow, MessageSource, Scenario, Traffic};
use crate::side::Side;
use crate::summary::SourceSummary;

/// Every source of every flow, in the order of the scenario.
pub(super) fn sources(scenario: &Scenario, sides: &[Side]) -> Vec<SourceSummary> {
    let mut all = Vec::new();
    for (flow, ends) in scenario.flows.iter().zip(sides.chunks_exact(2)) {
        let (Traffic::Messages(sources), [sender, receiver]) = (&flow.traffic, ends) else { continue };
        let (App::Generator(generator), App::Collector(collector)) = (&sender.app, &receiver.app) else {
            continue;
        };
        let came = sources.iter().zip(generator.made()).zip(collector.sources());
        all.extend(came.map(|((source, made), deliveries)| summary(flow, source, made, deliveries)));
    }
    all
}

fn summary(flow: &Flow, source: &MessageSource, made: u64, deliveries: &Deliveries) -> SourceSummary {
    let mut sorted = deliveries.latencies_ns.clone();
    sorted.sort_unstable();
    let seconds = |ns: &u64| *ns as f64 / 1e9;
    // The nearest rank: the smallest value that at least so many parts of a thousand do not exceed.
    let rank = |per_mille: usize| {
        let rank = (sorted.len() * per_mille).div_ceil(1000).max(1);
        sorted.get(rank - 1).map(seconds)
    };
    let sum: u128 = sorted.iter().map(|ns| u128::from(*ns)).sum();
    SourceSummary {
        name: flow.group.clone().unwrap_or_else(|| flow.name.clone()),
        flow: flow.name.clone(),
        source: source.name.clone(),
        stream: source.stream,
        made,
        delivered: sorted.len() as u64,
        in_time: deliveries.in_time,
        delivered_bytes: deliveries.bytes,
        latency_mean_s: (!sorted.is_empty()).then(|| sum as f64 / sorted.len() as f64 / 1e9),
        latency_min_s: sorted.first().map(seconds),
        latency_p50_s: rank(500),
        latency_p90_s: rank(900),
        latency_p99_s: rank(990),
        latency_p999_s: rank(999),
        latency_max_s: sorted.last().map(seconds),
    }
}
