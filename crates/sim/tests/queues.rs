//! Queue disciplines in whole runs: what links report about them.

mod common;

use anabranch_base::{Dscp, Duration};
use anabranch_link::{DscpSet, RedConfig, VirtualClass, VirtualConfig, VirtualMode, VirtualQuirks, Weight};
use anabranch_sim::scenario::{EventKind, Flow, Loss, Protocol, Queue, Record, Selection, Traffic};
use anabranch_sim::{LinkSummary, run};
use common::{engine, flow, link, ms, scenario};

/// Greedy SCTP flows, one for each code point, over 10 Mbit/s and 20 ms; the bottleneck, checked against its trace.
fn bottleneck(queue: Queue, dscps: &[u8]) -> LinkSummary {
    let [mut there, back] = link("bottleneck", ("a", "b"), 10.0, ms(20), 0, Loss::None);
    there.queue = queue;
    let flows = dscps.iter().enumerate().map(|(index, &dscp)| Flow {
        dscp: Dscp::new(dscp).unwrap_or_default(),
        ..flow(
            &format!("f{index}"),
            ("a", "b"),
            Protocol::Sctp,
            engine("rfc9260", &[]),
            Traffic::Greedy { message: 1452 },
        )
    });
    let mut back = back;
    back.queue = Queue::default();
    let scenario = scenario(Duration::from_secs(60), vec![there, back], flows.collect());
    let record = Record { trace: Selection::Only(vec![EventKind::Dropped]), ..Record::default() };
    let output = run(&scenario, 1, &record).expect("the scenario can be run");
    assert_eq!(run(&scenario, 1, &record).expect("again"), output, "the same seed gives the same run");
    let link = output.summary.links[0].clone();
    let trace = output.trace.expect("it was asked for");
    let of = |name: &str| {
        let reason = anabranch_sim::Columns::reasons().iter().position(|reason| *reason == name);
        trace.reason.iter().filter(|number| Some(usize::from(**number)) == reason).count() as u64
    };
    assert_eq!(of("early"), link.drops_early);
    assert_eq!(of("forced"), link.drops_forced);
    assert_eq!(of("queue-full"), link.drops_full);
    assert_eq!(link.drops_queue, link.drops_full + link.drops_early + link.drops_forced + link.drops_sojourn);
    let waiting = link.arrivals - link.sent - link.drops_queue;
    assert!(waiting <= link.queue_max_packets, "{waiting} are left");
    link
}

#[test]
fn red_holds_its_average_between_the_thresholds() {
    let config = RedConfig {
        packets: Some(1000),
        min: Some(10.0),
        max: Some(40.0),
        mean_packet: 1500,
        ..RedConfig::default()
    };
    let link = bottleneck(Queue::Red(config), &[0; 4]);
    let average = link.queue_average_packets.expect("RED has one");
    assert!(average > 10.0 && average < 40.0, "{average}");
    assert!(link.drops_early > 20 && link.drops_full == 0, "{link:?}");
    assert!(link.queue_drop_probability.expect("RED has one") < 0.1);
    assert!(link.classes.is_empty());
    assert!(link.utilisation > 0.95);
}

#[test]
fn decoupled_virtual_queues_share_by_their_thresholds() {
    let class = |name: &str, dscp: u8, share: f64| VirtualClass {
        name: name.to_owned(),
        dscp: [Dscp::new(dscp).unwrap_or_default()].into_iter().collect::<DscpSet>(),
        colour: None,
        min: 0.2 * 40.0 * share,
        max: 0.8 * 40.0 * share,
        max_p: 0.05,
    };
    let queue = Queue::VirtualRed(VirtualConfig {
        mode: VirtualMode::Decoupled,
        packets: Some(40),
        weight: Weight::Fixed(0.002),
        mean_packet: 1500,
        ecn: false,
        quirks: VirtualQuirks::default(),
        classes: vec![class("be", 0, 0.2), class("non-be", 1, 0.8)],
    });
    let link = bottleneck(queue, &[0, 0, 0, 1, 1, 1]);
    let [be, non_be] = link.classes.as_slice() else { panic!("{:?}", link.classes) };
    assert_eq!((be.name.as_str(), non_be.name.as_str()), ("be", "non-be"));
    assert_eq!(be.arrivals + non_be.arrivals, link.arrivals);
    assert_eq!(be.sent + non_be.sent, link.sent);
    assert_eq!(be.drops_queue + non_be.drops_queue, link.drops_queue);
    assert!((be.queue_mean_packets + non_be.queue_mean_packets - link.queue_mean_packets).abs() < 1e-9);
    let rate = |class: &anabranch_sim::ClassSummary| class.drops_queue as f64 / class.arrivals as f64;
    assert!(rate(be) > 2.0 * rate(non_be), "{} against {}", rate(be), rate(non_be));
    assert!(non_be.sent > 3 * be.sent / 2, "{} against {}", non_be.sent, be.sent);
}
