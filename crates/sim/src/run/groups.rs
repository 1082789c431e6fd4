//! Combined results of the flows of one `count`.

use crate::scenario::Flow;
use crate::summary::{FlowSummary, GroupSummary, Measures};

/// One summary for each group of flows that stand next to each other.
pub(super) fn groups(flows: &[Flow], summaries: &[FlowSummary]) -> Vec<GroupSummary> {
    let mut all = Vec::new();
    let pairs: Vec<(&Flow, &FlowSummary)> = flows.iter().zip(summaries).collect();
    for chunk in pairs.chunk_by(|(a, _), (b, _)| a.group.is_some() && a.group == b.group) {
        let Some(name) = chunk.first().and_then(|(flow, _)| flow.group.clone()) else { continue };
        let members: Vec<&FlowSummary> = chunk.iter().map(|(_, summary)| *summary).collect();
        all.push(GroupSummary {
            name,
            flows: members.len() as u64,
            jain: jain(members.iter().map(|flow| flow.measures.goodput_payload_run_bps)),
            packets_lost: members.iter().map(|flow| flow.packets_lost).sum(),
            measures: together(&members),
        });
    }
    all
}

/// Jain's index of fairness; 1 when there is nothing to share.
fn jain(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let (count, sum) = (values.clone().count() as f64, values.clone().sum::<f64>());
    let squares = values.map(|value| value * value).sum::<f64>();
    if squares > 0.0 { sum * sum / (count * squares) } else { 1.0 }
}

fn together(flows: &[&FlowSummary]) -> Measures {
    let rate = |value: fn(&Measures) -> f64| flows.iter().map(|flow| value(&flow.measures)).sum();
    let count = |value: fn(&Measures) -> u64| flows.iter().map(|flow| value(&flow.measures)).sum();
    let known = |value: fn(&Measures) -> Option<u64>| -> Option<u64> {
        flows.iter().map(|flow| value(&flow.measures)).sum()
    };
    let packets_sent = count(|m| m.packets_sent);
    let (fast_retransmits, timeouts) = (known(|m| m.fast_retransmits), known(|m| m.timeouts));
    let indications = fast_retransmits.zip(timeouts).map(|(fast, late)| fast + late);
    let trips: Vec<f64> = flows.iter().filter_map(|flow| flow.measures.srtt_mean_s).collect();
    Measures {
        goodput_payload_bps: rate(|m| m.goodput_payload_bps),
        goodput_wire_bps: rate(|m| m.goodput_wire_bps),
        goodput_payload_run_bps: rate(|m| m.goodput_payload_run_bps),
        goodput_wire_run_bps: rate(|m| m.goodput_wire_run_bps),
        sent_unique_payload_bps: rate(|m| m.sent_unique_payload_bps),
        packets_sent,
        packets_unique: count(|m| m.packets_unique),
        packets_received: known(|m| m.packets_received),
        retransmissions: known(|m| m.retransmissions),
        fast_retransmits,
        timeouts,
        loss_indication_rate: indications.map(|indications| {
            if packets_sent == 0 { 0.0 } else { indications as f64 / packets_sent as f64 }
        }),
        srtt_mean_s: (!trips.is_empty()).then(|| trips.iter().sum::<f64>() / trips.len() as f64),
        cwnd_peak_bytes: flows.iter().filter_map(|flow| flow.measures.cwnd_peak_bytes).max(),
        delivered_bytes: count(|m| m.delivered_bytes),
    }
}
