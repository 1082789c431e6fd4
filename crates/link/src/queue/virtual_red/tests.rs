use super::*;
use anabranch_base::{Dscp, Ecn};

const TEN_MBIT: LinkFacts = LinkFacts { rate: Some(10_000_000), delay: Duration::from_millis(20) };

fn class(name: &str, dscp: u8, min: f64, max: f64, max_p: f64) -> VirtualClass {
    let dscp = std::iter::once(Dscp::new(dscp).unwrap()).collect();
    VirtualClass { name: name.to_owned(), dscp, colour: None, min, max, max_p }
}

/// Averages that are lengths.
fn direct(mode: VirtualMode, classes: Vec<VirtualClass>) -> VirtualConfig {
    VirtualConfig {
        mode,
        packets: None,
        weight: Weight::Fixed(1.0),
        mean_packet: 1000,
        ecn: false,
        quirks: VirtualQuirks::default(),
        classes,
    }
}

fn queue(config: VirtualConfig) -> VirtualRed {
    VirtualRed::new(config, TEN_MBIT, Rng::stream(1, "link:test", "queue"))
}

fn frame(dscp: u8, id: u32) -> Frame {
    Frame { id, dscp: Dscp::new(dscp).unwrap(), size: 1000, ..Frame::default() }
}

fn offer(queue: &mut VirtualRed, frame: Frame) -> Option<DropReason> {
    let mut dropped = Vec::new();
    queue.enqueue(Instant::ZERO, Instant::ZERO, frame, &mut dropped);
    dropped.first().map(|drop| drop.reason)
}

fn averages(queue: &VirtualRed) -> Vec<f64> {
    queue.averages_now().collect()
}

#[test]
fn what_the_averages_count() {
    let classes = || vec![class("a", 0, 90.0, 99.0, 0.1), class("b", 1, 90.0, 99.0, 0.1)];
    let after = |mode| {
        let mut queue = queue(direct(mode, classes()));
        // An average counts the frames before the one that moves it.
        for dscp in [0, 0, 0, 1, 1, 0, 1] {
            assert_eq!(offer(&mut queue, frame(dscp, 0)), None);
        }
        averages(&queue)
    };
    // The last of class 0 found three of its kind; the last of class 1 found two of its kind, six in all.
    assert_eq!(after(VirtualMode::Decoupled), [3.0, 2.0]);
    assert_eq!(after(VirtualMode::Coupled), [3.0, 6.0]);
    assert_eq!(after(VirtualMode::Whole)[0], 6.0);
}

#[test]
fn coupled_classes_go_for_what_came_before_them() {
    // Five of class 0: in RIO-C class 1 is beyond its maximum of 4, in RIO-D it is empty. Five of class 1 do nothing to class 0.
    let classes = || vec![class("in", 0, 20.0, 30.0, 0.1), class("out", 1, 3.0, 4.0, 0.1)];
    for (mode, expected) in [
        (VirtualMode::Coupled, Some(DropReason::Forced)),
        (VirtualMode::Whole, Some(DropReason::Forced)),
        (VirtualMode::Decoupled, None),
    ] {
        let mut queue = queue(direct(mode, classes()));
        (0..5).for_each(|id| assert_eq!(offer(&mut queue, frame(0, id)), None));
        assert_eq!(offer(&mut queue, frame(1, 9)), expected, "{mode:?}");
    }
    let classes = vec![class("in", 0, 3.0, 4.0, 0.1), class("out", 1, 20.0, 30.0, 0.1)];
    let mut queue = queue(direct(VirtualMode::Coupled, classes));
    (0..9).for_each(|id| assert_eq!(offer(&mut queue, frame(1, id)), None));
    assert_eq!(offer(&mut queue, frame(0, 9)), None);
}

#[test]
fn frames_keep_their_order_whatever_their_class() {
    let classes = vec![class("a", 0, 90.0, 99.0, 0.1), class("b", 1, 90.0, 99.0, 0.1)];
    let mut queue = queue(VirtualConfig { packets: Some(6), ..direct(VirtualMode::Decoupled, classes) });
    let dropped: Vec<_> = (0..8).map(|id| offer(&mut queue, frame((id % 2) as u8, id))).collect();
    assert_eq!(dropped[..6], [None; 6]);
    assert_eq!(dropped[6..], [Some(DropReason::QueueFull); 2]);
    let order: Vec<u32> =
        std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut Vec::new())).map(|f| f.id).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    assert_eq!((queue.len(), queue.bytes()), (0, 0));
    let stats = queue.classes(Instant::ZERO);
    assert_eq!(stats.iter().map(|s| (s.arrivals, s.drops_full, s.sent)).collect::<Vec<_>>(), [(4, 1, 3); 2]);
}

#[test]
fn classes_by_code_point_and_colour() {
    let green = VirtualClass { colour: Some(Colour::Green), ..class("green", 10, 9.0, 9.0, 0.1) };
    let classes = vec![green, class("same", 10, 9.0, 9.0, 0.1), class("last", 12, 9.0, 9.0, 0.1)];
    let queue = queue(direct(VirtualMode::Decoupled, classes));
    let of = |dscp, colour| queue.class_of.of(&Frame { colour, ..frame(dscp, 0) });
    assert_eq!(of(10, Colour::Green), 0);
    assert_eq!(of(10, Colour::Yellow), 1);
    assert_eq!(of(12, Colour::Green), 2);
    // A frame that no class takes belongs to the last class.
    assert_eq!(of(63, Colour::Red), 2);
}

#[test]
fn drops_are_spread_over_one_to_twenty_frames() {
    // Ten wait, thresholds 5 and 15: p = 0.05.
    let mut queue = queue(direct(VirtualMode::Decoupled, vec![class("a", 0, 5.0, 15.0, 0.1)]));
    let mut gaps = Vec::new();
    let mut last = None;
    for id in 0..100_000 {
        if offer(&mut queue, frame(0, id)).is_some() {
            gaps.extend(last.map(|last| id - last));
            last = Some(id);
        }
        if queue.len() > 10 {
            queue.dequeue(Instant::ZERO, &mut Vec::new());
        }
    }
    // From p / (1 - p) on: 1 to 19 frames, each as likely.
    assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&1), Some(&19)));
    let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
    assert!((mean - 10.0).abs() < 0.25, "{mean}");
}

#[test]
fn an_empty_class_forgets_while_others_wait() {
    let classes = vec![class("a", 0, 90.0, 99.0, 0.1), class("b", 1, 90.0, 99.0, 0.1)];
    let config = VirtualConfig { weight: Weight::Fixed(0.5), ..direct(VirtualMode::Decoupled, classes) };
    let mut queue = queue(config);
    let enqueue = |queue: &mut VirtualRed, dscp, us: u64| {
        let now = Instant::from_nanos(us * 1000);
        queue.enqueue(now, now, frame(dscp, 0), &mut Vec::new());
    };
    (0..4).for_each(|_| enqueue(&mut queue, 0, 0));
    (0..3).for_each(|_| enqueue(&mut queue, 1, 0));
    // Class 0: 0, then halves of 0, 1, 2, 3 with the value before: 2.125.
    assert_eq!(averages(&queue)[0], 2.125);
    for _ in 0..4 {
        queue.dequeue(Instant::from_nanos(1_000_000), &mut Vec::new());
    }
    // 2.4 ms and a bit later: 3 packets at 1250 a second were missed, and one comes.
    enqueue(&mut queue, 0, 1_000 + 2_450);
    assert_eq!(averages(&queue)[0], 2.125 / 16.0);
    assert_eq!(queue.len(), 4);
}

#[test]
fn marks_take_the_place_of_drops_but_not_of_a_full_queue() {
    let config = direct(VirtualMode::Whole, vec![class("a", 0, 2.0, 4.0, 0.5)]);
    let mut queue = queue(VirtualConfig { ecn: true, packets: Some(8), ..config });
    for id in 0..10 {
        let lost = offer(&mut queue, Frame { ecn: Ecn::Ect1, ..frame(0, id) });
        assert_eq!(lost, (id >= 8).then_some(DropReason::QueueFull));
    }
    // The sixth to the eighth found more than four.
    let marked: Vec<bool> = queue.waiting.iter().map(|(_, frame)| frame.ecn == Ecn::Ce).collect();
    assert_eq!(marked[5..], [true; 3]);
    assert_eq!(queue.marks(), marked.iter().filter(|marked| **marked).count() as u64);
    assert_eq!(offer(&mut queue, frame(0, 11)), Some(DropReason::QueueFull));
}

#[test]
fn the_quirks_change_what_they_say() {
    let one = || vec![class("a", 0, 5.0, 15.0, 0.1)];
    let set = |quirks| {
        let config = VirtualConfig { quirks, ..direct(VirtualMode::Decoupled, one()) };
        let mut queue = queue(config);
        (0..10).for_each(|id| _ = offer(&mut queue, frame(0, id)));
        queue
    };
    let overrun = VirtualQuirks { overrun: true, ..VirtualQuirks::default() };
    for (quirks, expected) in
        [(VirtualQuirks::default(), Fate::Picked(DropReason::Early)), (overrun, Fate::Waits)]
    {
        let mut queue = set(quirks);
        queue.classes[0].count = 21;
        assert_eq!(queue.fate(Instant::ZERO, 0, 10.0), expected);
    }
    let twice = VirtualQuirks { idle_twice: true, ..VirtualQuirks::default() };
    for (quirks, expected) in [(VirtualQuirks::default(), 1.0), (twice, 0.25)] {
        let mut queue = set(quirks);
        queue.classes[0].average = Average::new(Weight::Fixed(0.5), TEN_MBIT, 1000);
        queue.classes[0].average.update(16.0, None);
        queue.classes[0].waiting = 0;
        // Two packets' time; neither of the two frames is taken in.
        queue.classes[0].idle_since = Some(Instant::ZERO);
        let now = Instant::from_nanos(1_700_000);
        assert_eq!(queue.average(now, 0), 1.0);
        assert_eq!(queue.average(now, 0) * 2.0, expected);
    }
}
