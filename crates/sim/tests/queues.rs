//! Queue disciplines in whole runs: what links report about them.

use crate::common::{engine, flow, link, ms, scenario};
use anabranch_base::{Dscp, Duration};
use anabranch_link::{
    Action, ClassConfig, ClassesConfig, CoDelConfig, ConditionerConfig, Conditioning, DscpSet, FqCoDelConfig,
    MeterConfig, RedConfig, Scheduler, VirtualClass, VirtualConfig, VirtualMode, VirtualQuirks, Weight,
};
use anabranch_sim::scenario::{EventKind, Flow, Loss, Protocol, Queue, Record, Selection, Traffic};
use anabranch_sim::{LinkSummary, run};

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

/// Two flows with different code points, and a queue with strict priority behind what `conditions` do.
fn priority(conditions: Vec<ConditionerConfig>) -> [f64; 2] {
    let class = |name: &str, dscp: DscpSet| ClassConfig {
        name: name.to_owned(),
        dscp,
        colour: None,
        queue: Queue::DropTail { packets: Some(50), bytes: None },
        weight: 1,
    };
    let ef = Dscp::new(46).unwrap_or_default();
    let [mut there, back] = link("bottleneck", ("a", "b"), 10.0, ms(20), 50, Loss::None);
    there.queue = Queue::Classes(ClassesConfig {
        scheduler: Scheduler::Priority,
        classes: vec![class("ef", [ef].into_iter().collect()), class("rest", DscpSet::ALL)],
    });
    there.conditions = conditions;
    let one = |name: &str, dscp| Flow {
        dscp,
        ..flow(name, ("a", "b"), Protocol::Sctp, engine("rfc9260", &[]), Traffic::Greedy { message: 1452 })
    };
    let flows = vec![one("ef", ef), one("be", Dscp::DEFAULT)];
    let scenario = scenario(Duration::from_secs(60), vec![there, back], flows);
    let output = run(&scenario, 1, &Record::default()).expect("the scenario can be run");
    [0, 1].map(|flow| output.summary.flows[flow].measures.goodput_wire_run_bps / 1e6)
}

#[test]
fn a_code_point_buys_priority_until_somebody_bleaches_it() {
    let [ef, be] = priority(Vec::new());
    assert!(ef > 9.0 && be < 1.0, "{ef} and {be} Mbit/s");
    let bleach = Conditioning::Rewrite(vec![(DscpSet::ALL, Dscp::DEFAULT)]);
    let [ef, be] = priority(vec![ConditionerConfig { dscp: DscpSet::ALL, what: bleach }]);
    assert!(ef + be > 9.0 && (ef - be).abs() < 3.0, "{ef} and {be} Mbit/s");
    // A policer gives priority to 2 Mbit/s and drops the rest.
    let meter = MeterConfig::TokenBucket { rate: 2_000_000, burst: 30_000 };
    let what = Conditioning::Meter { meter, actions: [Action::Pass, Action::Pass, Action::Drop] };
    let [ef, be] = priority(vec![ConditionerConfig { dscp: Dscp::new(46).into_iter().collect(), what }]);
    assert!(ef > 0.5 && ef < 2.0 && be > 7.5, "{ef} and {be} Mbit/s");
}

#[test]
fn controlled_delay_keeps_the_queue_short() {
    let droptail = bottleneck(Queue::DropTail { packets: Some(100), bytes: None }, &[0; 4]);
    let codel = bottleneck(Queue::CoDel(CoDelConfig::default()), &[0; 4]);
    let fq_codel = bottleneck(Queue::FqCoDel(FqCoDelConfig::default()), &[0; 4]);
    // 5 ms are 4.2 packets of 1500 bytes at 10 Mbit/s.
    assert!(droptail.queue_mean_packets > 50.0, "{}", droptail.queue_mean_packets);
    for link in [codel, fq_codel] {
        assert!(link.drops_sojourn > 20 && link.drops_full == 0, "{link:?}");
        assert!(link.queue_mean_packets < 15.0 && link.utilisation > 0.95, "{link:?}");
    }
}
