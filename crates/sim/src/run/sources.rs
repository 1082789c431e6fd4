//! Tests of flows without a transport, worked out by hand.

use super::tests::{MS, flow, line};
use super::*;
use crate::scenario::{
    Applies, Distribution, EventKind, Loss, PacketSource, Protocol, Rhythm, Selection, TimeDraw,
};
use anabranch_base::Duration;

/// 1000 bytes every 2 ms: half the rate of the link.
fn source(name: &str, rhythm: Rhythm) -> Flow {
    let protocol = match rhythm {
        Rhythm::Steady => Protocol::Cbr,
        Rhythm::Square { .. } => Protocol::Square,
        Rhythm::OnOff { .. } => Protocol::OnOff,
    };
    let packets = PacketSource { rate: 4_000_000, packet: 1000, jitter: 0.0, rhythm };
    Flow { protocol, traffic: Traffic::Packets(packets), ..flow(name, "a", "b", 0) }
}

fn measured(scenario: &Scenario) -> RunOutput {
    run(scenario, 1, &scenario.record).expect("it runs")
}

#[test]
fn a_constant_rate_arrives_as_it_was_sent() {
    let mut scenario = line(Loss::None, vec![source("cbr", Rhythm::Steady)]);
    scenario.warmup = Duration::from_millis(100);
    let summary = measured(&scenario).summary;
    let flow = &summary.flows[0];
    // 100, 102, ... 998 ms; a packet arrives after 22 ms.
    assert_eq!(flow.measures.packets_sent, 450);
    assert_eq!(flow.measures.packets_received, Some(450));
    assert_eq!(flow.measures.goodput_wire_run_bps, 4e6);
    // Without 20 bytes of IP header and 8 of UDP.
    assert!((flow.measures.goodput_payload_run_bps - 4e6 * 0.972).abs() < 1e-6);
    assert_eq!(flow.measures.delivered_bytes, 450 * 972);
    assert_eq!((flow.packets_lost, flow.failed.as_deref(), flow.start_s), (0, None, Some(0.0)));
    assert_eq!((flow.protocol.as_str(), flow.engine.as_deref()), ("cbr", None));
    let measures = flow.measures;
    assert_eq!((measures.retransmissions, measures.fast_retransmits, measures.timeouts), (None, None, None));
    assert_eq!((measures.cwnd_peak_bytes, measures.srtt_mean_s), (None, None));
    assert_eq!(measures.loss_indication_rate, None);
    assert!((summary.links[0].utilisation - 0.5).abs() < 1e-3, "{}", summary.links[0].utilisation);
}

#[test]
fn nothing_slows_it_down_and_what_is_too_much_is_lost() {
    // Twice as much as the link takes: five packets wait or are sent, the others are dropped.
    let mut fast = source("cbr", Rhythm::Steady);
    fast.traffic = Traffic::Packets(PacketSource {
        rate: 16_000_000,
        packet: 1000,
        jitter: 0.0,
        rhythm: Rhythm::Steady,
    });
    let summary = measured(&line(Loss::None, vec![fast])).summary;
    let (flow, link) = (&summary.flows[0], &summary.links[0]);
    assert_eq!(flow.measures.packets_sent, 2000);
    assert_eq!(flow.packets_lost, link.drops_queue);
    assert!((995..=1000).contains(&flow.packets_lost), "{}", flow.packets_lost);
    assert!((link.utilisation - 1.0).abs() < 1e-3);
    let received = flow.measures.packets_received.unwrap();
    assert!((975..=980).contains(&received), "{received}");
}

#[test]
fn it_starts_and_stops_when_it_is_told() {
    let mut one = source("cbr", Rhythm::Steady);
    one.start = TimeDraw::Fixed(Duration::from_millis(300));
    one.stop = Some(Duration::from_millis(310));
    let summary = measured(&line(Loss::None, vec![one])).summary;
    assert_eq!(summary.flows[0].start_s, Some(0.3));
    let measures = summary.flows[0].measures;
    assert_eq!((measures.packets_sent, measures.packets_received), (5, Some(5)));
}

#[test]
fn it_needs_no_way_back_but_packets_that_fit() {
    let mut scenario = line(Loss::None, vec![source("cbr", Rhythm::Steady)]);
    scenario.links.truncate(2);
    assert_eq!(measured(&scenario).summary.flows[0].measures.packets_received, Some(489));
    scenario.links[1].mtu = 999;
    let wrong = check(&scenario).unwrap_err().to_string();
    assert_eq!(wrong, "flow `cbr`: packets of 1000 B do not fit the MTU of 999 B on the way");
}

#[test]
fn its_packets_are_in_traces_and_captures() {
    let drop = vec![3];
    let loss =
        Loss::Positions { drop, applies: Applies::Data, dscp: anabranch_link::DscpSet::ALL, flow: Some(0) };
    let mut scenario = line(loss, vec![source("cbr", Rhythm::Steady)]);
    scenario.duration = Duration::from_millis(40);
    scenario.record.trace = Selection::All;
    scenario.record.pcap = Selection::All;
    let output = measured(&scenario);
    let trace = output.trace.unwrap();
    let rows = |kind: EventKind| -> Vec<(u64, u64, u32)> {
        let at = (0..trace.len()).filter(|&i| trace.kind[i] == kind as u8);
        at.map(|i| (trace.time_ns[i] / MS, trace.seq[i], trace.size[i])).collect()
    };
    assert_eq!(rows(EventKind::Sent)[..3], [(0, 0, 972), (2, 1, 972), (4, 2, 972)]);
    assert_eq!(rows(EventKind::Received)[..3], [(22, 0, 972), (24, 1, 972), (28, 3, 972)]);
    assert_eq!(rows(EventKind::Dropped), [(16, 2, 1000)]);
    assert_eq!(output.summary.flows[0].packets_lost, 1);
    // 28 bytes of section header, an interface of 52 bytes for each link, and 32 + 14 + 1000, filled up to 1048, for each packet on each link.
    let packets = 20 + 15;
    assert_eq!(output.pcapng.unwrap().len(), 28 + 4 * 52 + packets * 1048);
}

#[test]
fn other_flows_do_not_change_its_times() {
    let rhythm = Rhythm::OnOff {
        distribution: Distribution::Pareto { shape: 1.5 },
        on: Duration::from_millis(20),
        off: Duration::from_millis(20),
    };
    let sent = |flows: Vec<Flow>, seed: u64| {
        let mut scenario = line(Loss::None, flows);
        scenario.record.trace = Selection::Only(vec![EventKind::Sent]);
        let trace = run(&scenario, seed, &scenario.record).unwrap().trace.unwrap();
        let number = trace.flows.iter().position(|name| name == "bursts").unwrap() as u32;
        (0..trace.len()).filter(|&i| trace.flow[i] == number).map(|i| trace.time_ns[i]).collect::<Vec<_>>()
    };
    let alone = sent(vec![source("bursts", rhythm)], 4);
    let crowded = sent(vec![source("other", rhythm), source("bursts", rhythm)], 4);
    assert!(alone.len() > 50, "{}", alone.len());
    assert_eq!(alone, crowded);
    assert_ne!(alone, sent(vec![source("bursts", rhythm)], 5));
}
