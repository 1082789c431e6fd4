use super::*;
use crate::{
    DropReason, Queue, QueueConfig, RedConfig, VirtualClass, VirtualConfig, VirtualMode, VirtualQuirks,
    Weight,
};
use anabranch_base::{Dscp, Duration};

const TEN_MBIT: LinkFacts = LinkFacts { rate: Some(10_000_000), delay: Duration::from_millis(20) };

fn dscp(value: u8) -> DscpSet {
    std::iter::once(Dscp::new(value).unwrap()).collect()
}

fn class(name: &str, value: u8, weight: u32) -> ClassConfig<QueueConfig> {
    ClassConfig {
        name: name.to_owned(),
        dscp: dscp(value),
        colour: None,
        queue: QueueConfig::default(),
        weight,
    }
}

fn queue(scheduler: Scheduler, classes: Vec<ClassConfig<QueueConfig>>) -> Classes<Queue> {
    let config = ClassesConfig { scheduler, classes };
    Classes::new(&config, TEN_MBIT, &mut Rng::stream(1, "link:test", "queue"), QueueConfig::build)
}

fn frame(value: u8, id: u32, size: u32) -> Frame {
    Frame { dscp: Dscp::new(value).unwrap(), id, size, ..Frame::default() }
}

fn offer(queue: &mut Classes<Queue>, frame: Frame) -> Vec<Dropped> {
    let mut dropped = Vec::new();
    queue.enqueue(Instant::ZERO, Instant::ZERO, frame, &mut dropped);
    dropped
}

/// Code points and numbers of the frames that leave.
fn order(queue: &mut Classes<Queue>, count: usize) -> Vec<(u8, u32)> {
    let next = || queue.dequeue(Instant::ZERO, &mut Vec::new());
    std::iter::from_fn(next).take(count).map(|frame| (frame.dscp.get(), frame.id)).collect()
}

#[test]
fn strict_priority() {
    let mut queue = queue(Scheduler::Priority, vec![class("ef", 46, 1), class("be", 0, 1)]);
    for (id, value) in [(1, 0), (2, 0), (3, 46), (4, 10), (5, 46)] {
        assert!(offer(&mut queue, frame(value, id, 100)).is_empty());
    }
    assert_eq!(order(&mut queue, 2), [(46, 3), (46, 5)]);
    offer(&mut queue, frame(46, 6, 100));
    // The last class takes the frames of no other class.
    assert_eq!(order(&mut queue, 9), [(46, 6), (0, 1), (0, 2), (10, 4)]);
    assert_eq!((queue.len(), queue.bytes()), (0, 0));
}

#[test]
fn a_round_robin_of_packets() {
    let mut queue = queue(Scheduler::Wrr, vec![class("a", 1, 3), class("b", 2, 1)]);
    for id in 0..8 {
        offer(&mut queue, frame(1, id, 1500));
        offer(&mut queue, frame(2, id, 40));
    }
    let values: Vec<u8> = order(&mut queue, 99).iter().map(|(value, _)| *value).collect();
    assert_eq!(values, [1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn a_round_robin_of_bytes() {
    let drr = Scheduler::Drr { quantum: 1500 };
    let mut queue = queue(drr, vec![class("a", 1, 3), class("b", 2, 1), class("c", 3, 2)]);
    let sizes = [0, 1500, 200, 701];
    for id in 0..6000 {
        (1..4).for_each(|value| drop(offer(&mut queue, frame(value, id, sizes[usize::from(value)]))));
    }
    let mut sent = [0_u64; 4];
    for (value, _) in order(&mut queue, 5000) {
        sent[usize::from(value)] += u64::from(sizes[usize::from(value)]);
    }
    // Shares of 3, 1 and 2, up to a round.
    let unit = sent[2] as f64;
    assert!((sent[1] as f64 - 3.0 * unit).abs() < 9_000.0, "{sent:?}");
    assert!((sent[3] as f64 - 2.0 * unit).abs() < 9_000.0, "{sent:?}");
    // A class that had nothing to send for long has credit for at most one round.
    let mut queue = self::queue(drr, vec![class("a", 1, 1), class("b", 2, 1)]);
    for id in 0..100 {
        offer(&mut queue, frame(1, id, 1500));
    }
    assert_eq!(order(&mut queue, 50).len(), 50);
    for id in 0..100 {
        offer(&mut queue, frame(2, id, 1500));
    }
    let of_b = order(&mut queue, 20).iter().filter(|(value, _)| *value == 2).count();
    assert!((9..=11).contains(&of_b), "{of_b}");
}

#[test]
fn every_class_has_a_queue_of_its_own() {
    let limited = |name, value, packets| ClassConfig {
        queue: QueueConfig::DropTail { packets: Some(packets), bytes: None },
        ..class(name, value, 1)
    };
    let mut queue = queue(Scheduler::Priority, vec![limited("a", 1, 3), limited("b", 2, 5)]);
    // Nothing is being sent: the first of a class always fits, then ns-2's limit leaves room for the one in service.
    let dropped: Vec<usize> =
        (0..12).map(|id| offer(&mut queue, frame(1 + (id % 2) as u8, id, 100)).len()).collect();
    assert_eq!(dropped, [0, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1]);
    let stats = queue.classes(Instant::ZERO);
    let counts: Vec<_> = stats.iter().map(|s| (s.name.as_str(), s.arrivals, s.drops_full, s.sent)).collect();
    assert_eq!(counts, [("a", 6, 4, 0), ("b", 6, 2, 0)]);
    order(&mut queue, 99);
    assert_eq!(queue.classes(Instant::ZERO).iter().map(|s| s.sent).collect::<Vec<_>>(), [2, 4]);
}

#[test]
fn a_class_knows_how_long_it_has_been_idle() {
    // Class a averages; its average falls while class b keeps the link busy.
    let red = QueueConfig::Red(RedConfig {
        weight: Weight::Fixed(0.5),
        mean_packet: 1000,
        min: Some(90.0),
        ..RedConfig::default()
    });
    let mut queue =
        queue(Scheduler::Priority, vec![ClassConfig { queue: red, ..class("a", 1, 1) }, class("b", 2, 1)]);
    let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let average = |queue: &Classes<Queue>| match &queue.classes[0].queue {
        Queue::Red(red) => red.average_now(),
        other => panic!("{other:?}"),
    };
    (0..5).for_each(|_| queue.enqueue(ms(0), ms(0), frame(1, 0, 1000), &mut Vec::new()));
    let before = average(&queue);
    assert_eq!(before, 3.0625);
    (0..9).for_each(|_| queue.enqueue(ms(0), ms(0), frame(2, 0, 1000), &mut Vec::new()));
    // One a millisecond: the last of class a is sent until 5 ms.
    for n in 0..12 {
        assert!(queue.dequeue(ms(n), &mut Vec::new()).is_some());
    }
    // At 9.5 ms after that: 5 packets at 1250 a second are missing in 4.5 ms, though the link is busy until 12 ms.
    queue.enqueue(Instant::from_nanos(9_500_000), ms(12), frame(1, 0, 1000), &mut Vec::new());
    assert_eq!(average(&queue), before / 64.0);
}

#[test]
fn classes_within_classes_have_statistics_too() {
    let inner = |name: &str, value| VirtualClass {
        name: name.to_owned(),
        dscp: dscp(value),
        colour: None,
        min: 1.0,
        max: 2.0,
        max_p: 0.1,
    };
    let af = QueueConfig::VirtualRed(VirtualConfig {
        mode: VirtualMode::Coupled,
        packets: None,
        weight: Weight::Fixed(1.0),
        mean_packet: 1000,
        ecn: false,
        quirks: VirtualQuirks::default(),
        classes: vec![inner("low", 10), inner("high", 12)],
    });
    let points = [10, 12].into_iter().filter_map(Dscp::new).collect();
    let af = ClassConfig { dscp: points, queue: af, ..class("af", 0, 1) };
    let mut queue = queue(Scheduler::Wrr, vec![af, class("be", 0, 1)]);
    let reasons: Vec<_> =
        (0..8).flat_map(|id| offer(&mut queue, frame([10, 12][id as usize % 2], id, 100))).collect();
    assert!(reasons.iter().all(|drop| matches!(drop.reason, DropReason::Forced | DropReason::Early)));
    let stats = queue.classes(Instant::ZERO);
    let names: Vec<&str> = stats.iter().map(|stats| stats.name.as_str()).collect();
    assert_eq!(names, ["af", "af.low", "af.high", "be"]);
    assert_eq!(stats[0].arrivals, 8);
    assert_eq!(stats[0].drops_queue as usize, reasons.len());
    assert_eq!(stats[1].drops_queue + stats[2].drops_queue, stats[0].drops_queue);
    assert!(stats[0].drops_queue > 2);
}
