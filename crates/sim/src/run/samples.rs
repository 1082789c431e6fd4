//! Tests of samples and of counts flow by flow, worked out by hand.

use super::tests::{MS, flow, line};
use super::*;
use crate::scenario::{Applies, EventKind, Loss, PacketSource, Protocol, Rate, Rhythm, Selection, TimeDraw};
use anabranch_base::Duration;

/// 1000 bytes every 2 ms, which is half the rate of the links; the start in milliseconds.
fn source(name: &str, start: u64) -> Flow {
    let packets = PacketSource { rate: 4_000_000, packet: 1000, jitter: 0.0, rhythm: Rhythm::Steady };
    Flow {
        protocol: Protocol::Cbr,
        traffic: Traffic::Packets(packets),
        start: TimeDraw::Fixed(Duration::from_millis(start)),
        ..flow(name, "a", "b", start)
    }
}

/// Rows of one entity: milliseconds, packets, bytes, and the three values.
fn rows(trace: &Columns, entity: &str) -> Vec<(u64, u64, u32, [u64; 3])> {
    let entity = trace.entities.iter().position(|name| name == entity).expect("it exists") as u16;
    let at =
        (0..trace.len()).filter(|&i| trace.kind[i] == EventKind::Sample as u8 && trace.entity[i] == entity);
    at.map(|i| (trace.time_ns[i] / MS, trace.seq[i], trace.size[i], [trace.a[i], trace.b[i], trace.c[i]]))
        .collect()
}

fn sampled(scenario: &Scenario) -> (Columns, Summary) {
    let output = run(scenario, 1, &scenario.record).expect("it runs");
    (output.trace.expect("samples"), output.summary)
}

#[test]
fn samples_hold_what_happened_in_each_interval() {
    let mut scenario = line(Loss::None, vec![source("cbr", 100)]);
    scenario.duration = Duration::from_millis(400);
    scenario.record.sample = Some(Duration::from_millis(100));
    let (trace, _) = sampled(&scenario);
    let none = [0; 3];
    assert_eq!(
        rows(&trace, "cbr:sender"),
        [(100, 0, 0, none), (200, 50, 50_000, none), (300, 50, 50_000, none), (400, 50, 50_000, none)]
    );
    // There after 22 ms: those sent until 176 ms have arrived before 200 ms.
    let received = rows(&trace, "cbr:receiver");
    assert_eq!(received.iter().map(|row| row.1).collect::<Vec<_>>(), [0, 39, 50, 50]);
    assert_eq!(received[1].2, 39_000);
    let link = rows(&trace, "link:r-b");
    // 11 ms later, at 200 ms the one sent at 188 ms has come, and at 199 ms the last one has left the queue.
    assert_eq!(link.iter().map(|row| row.1).collect::<Vec<_>>(), [0, 45, 50, 50]);
    assert_eq!(trace.len(), 4 * (4 + 2));
}

#[test]
fn samples_have_the_queue_and_the_drops_of_their_moment() {
    // Three times the rate of the link: of three packets in 1 ms one is sent, up to five wait or are sent.
    let fast = (0..3).flat_map(|i| [source(&format!("x{i}"), 0), source(&format!("y{i}"), 0)]).collect();
    let mut scenario = line(Loss::None, fast);
    scenario.duration = Duration::from_millis(100);
    scenario.record.sample = Some(Duration::from_millis(10));
    scenario.record.by_flow = Selection::Only(vec![0]);
    let (trace, summary) = sampled(&scenario);
    let link = rows(&trace, "link:a-r");
    // Six packets each 2 ms; five fit at first, then two each time. At 10 ms three are left, one of which is being sent.
    assert_eq!(link[0], (10, 30, 30_000, [2, 2000, 17]));
    assert_eq!(link[9], (100, 30, 30_000, [2, 2000, 20]));
    assert_eq!(summary.links[0].drops_queue, link.iter().map(|row| row.3[2]).sum::<u64>());
    // Flow by flow.
    let flows = &summary.links[0].flows;
    assert_eq!(flows.iter().map(|flow| flow.arrivals).collect::<Vec<_>>(), [50; 6]);
    assert_eq!(flows.iter().map(|flow| flow.drops_queue).sum::<u64>(), summary.links[0].drops_queue);
    assert!(summary.flows.iter().zip(flows).all(|(flow, share)| flow.packets_lost == share.drops_queue));
    // Of those that were taken, five had not left at the end.
    let share: f64 = flows.iter().filter_map(|flow| flow.share).sum();
    assert!((share - 1.03).abs() < 1e-9, "{share}");
    let first = &flows[0];
    assert_eq!(first.drop_rate, first.drops_queue as f64 / 50.0);
    assert!(summary.links[1].flows.is_empty());
}

#[test]
fn samples_can_begin_late_and_end_early() {
    let mut scenario = line(Loss::None, vec![source("cbr", 0)]);
    scenario.record.sample = Some(Duration::from_millis(10));
    scenario.record.sample_from = Duration::from_millis(500);
    scenario.record.sample_until = Some(Duration::from_millis(525));
    let (trace, _) = sampled(&scenario);
    assert_eq!(rows(&trace, "cbr:sender"), [(510, 5, 5000, [0; 3]), (520, 5, 5000, [0; 3])]);
}

#[test]
fn what_is_sampled_changes_nothing_else() {
    let loss =
        Loss::Bernoulli { p: 0.1, applies: Applies::All, dscp: anabranch_link::DscpSet::ALL, stream: None };
    let mut scenario = line(loss, vec![source("cbr", 3), source("other", 5)]);
    let plain = run(&scenario, 1, &scenario.record).unwrap();
    assert!(plain.trace.is_none());
    scenario.record.sample = Some(Duration::from_millis(7));
    assert_eq!(run(&scenario, 1, &scenario.record).unwrap().summary, plain.summary);
    // The shares leave the warm-up out: only packets after it count.
    scenario.warmup = Duration::from_millis(500);
    scenario.record.by_flow = Selection::All;
    let summary = run(&scenario, 1, &scenario.record).unwrap().summary;
    assert_eq!(summary.links[0].flows[0].arrivals, 250);
    let errors: u64 = summary.links[1].flows.iter().map(|flow| flow.drops_error).sum();
    assert_eq!(errors, summary.links[1].drops_error);
    assert!(errors > 20);
}

#[test]
fn flows_of_one_count_are_summed_up() {
    let mut scenario =
        line(Loss::None, vec![source("one", 0), source("x-1", 0), source("x-2", 500), source("z", 0)]);
    // Nothing is lost: a fifth each, so that all fit.
    for flow in &mut scenario.flows {
        if let Traffic::Packets(packets) = &mut flow.traffic {
            packets.rate = 1_600_000;
        }
        if flow.name.starts_with('x') {
            flow.group = Some("x".into());
        }
    }
    let summary = run(&scenario, 1, &scenario.record).unwrap().summary;
    assert_eq!(summary.groups.len(), 1);
    let (group, flows) = (&summary.groups[0], &summary.flows[1..3]);
    assert_eq!((group.name.as_str(), group.flows, group.packets_lost), ("x", 2, 0));
    assert_eq!((group.measures.packets_sent, group.measures.timeouts), (300, None));
    let [x, y] = [0, 1].map(|i| flows[i].measures.goodput_payload_run_bps);
    assert!(y < x * 0.6);
    assert!((group.measures.goodput_payload_run_bps - x - y).abs() < 1e-6);
    assert!((group.jain - (x + y).powi(2) / (2.0 * (x * x + y * y))).abs() < 1e-12);
}

#[test]
fn packets_that_are_told_ahead_are_in_the_samples_of_their_time() {
    let loss =
        Loss::Bernoulli { p: 0.1, applies: Applies::All, dscp: anabranch_link::DscpSet::ALL, stream: None };
    let mut scenario = line(loss, vec![source("x", 0), source("y", 1), source("z", 2)]);
    // The second link is the bottleneck, and the first one announces its packets.
    scenario.links[0].rate = Rate::BitsPerSecond(100_000_000);
    scenario.record.sample = Some(Duration::from_millis(7));
    let (ahead, summary) = sampled(&scenario);
    // A capture forbids it.
    scenario.record.pcap = Selection::All;
    let (in_time, _) = sampled(&scenario);
    for entity in &ahead.entities {
        assert_eq!(rows(&ahead, entity), rows(&in_time, entity), "{entity}");
    }
    let queue = rows(&ahead, "link:r-b");
    assert!(queue.iter().any(|row| row.3[0] == 4) && summary.links[1].drops_queue > 100);
    assert!(ahead.time_ns.is_sorted());
}
