use super::*;
use anabranch_base::Ecn;

const MS: u64 = 1_000_000;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * MS)
}

fn frame(id: u32) -> Frame {
    Frame { id, size: 1000, ecn: Ecn::Ect0, ..Frame::default() }
}

/// A thousand frames that came at time 0.
fn burst(ecn: bool) -> CoDel {
    let mut queue = CoDel::new(CoDelConfig { ecn, ..CoDelConfig::default() });
    let mut dropped = Vec::new();
    (0..1000).for_each(|id| queue.enqueue(at(0), at(0), frame(id), &mut dropped));
    queue.enqueue(at(0), at(0), frame(1000), &mut dropped);
    assert_eq!(dropped.pop().map(|drop| (drop.frame.id, drop.reason)), Some((1000, DropReason::QueueFull)));
    queue
}

/// One frame leaves in each millisecond of the range; when some were dropped.
fn drops(queue: &mut CoDel, range: std::ops::Range<u64>) -> Vec<u64> {
    let mut times = Vec::new();
    for ms in range {
        let mut dropped = Vec::new();
        let before = queue.marks();
        assert!(queue.dequeue(at(ms), &mut dropped).is_some());
        assert!(dropped.iter().all(|drop| drop.reason == DropReason::Sojourn && drop.at == at(ms)));
        times.extend(dropped.iter().map(|_| ms));
        times.extend((before..queue.marks()).map(|_| ms));
    }
    times
}

#[test]
fn the_drops_follow_the_control_law() {
    // Too long from 5 ms on, for an interval at 105 ms. Then after 100 ms, 100/sqrt(2), 100/sqrt(3), 50, 100/sqrt(5) ms:
    // 205, 275.7, 333.4, 383.4, 428.2.
    let expected = [105, 205, 276, 334, 384, 429];
    assert_eq!(drops(&mut burst(false), 0..460), expected);
    // Marks come at the same times, and nothing is lost.
    let mut queue = burst(true);
    assert_eq!(drops(&mut queue, 0..460), expected);
    assert_eq!((queue.len(), queue.marks()), (540, 6));
    // Frames that cannot be marked are dropped.
    let mut queue = CoDel::new(CoDelConfig { ecn: true, ..CoDelConfig::default() });
    for id in 0..900 {
        queue.enqueue(at(0), at(0), Frame { ecn: Ecn::NotEct, ..frame(id) }, &mut Vec::new());
    }
    assert_eq!((drops(&mut queue, 0..460), queue.marks()), (expected.to_vec(), 0));
}

#[test]
fn a_driver_that_comes_late_finds_several_drops_due() {
    let mut queue = burst(false);
    assert_eq!(drops(&mut queue, 0..206), [105, 205]);
    // At 400 ms those of 275.7, 333.4 and 383.4 are due.
    assert_eq!(drops(&mut queue, 400..401), [400, 400, 400]);
    assert_eq!(drops(&mut queue, 401..430), [429]);
}

#[test]
fn a_short_wait_ends_it_and_it_goes_on_where_it_was_soon_after() {
    let mut queue = burst(false);
    assert_eq!(drops(&mut queue, 0..430).len(), 6);
    assert_eq!((queue.state.count, queue.state.last_count, queue.state.dropping), (6, 1, true));
    // A frame that has not waited at all.
    while queue.len() > 0 {
        queue.line.pop();
    }
    queue.enqueue(at(440), at(440), frame(1), &mut Vec::new());
    assert_eq!(drops(&mut queue, 440..441), []);
    assert!(!queue.state.dropping);
    // Too long again: dropping from 551 ms on, with 6 - 1 drops to its credit: 100/sqrt(5) is 44.7 ms.
    (0..900).for_each(|id| queue.enqueue(at(441), at(441), frame(id), &mut Vec::new()));
    assert_eq!(drops(&mut queue, 441..600), [546, 591]);
    // After 16 intervals it starts from one.
    let mut queue = burst(false);
    assert_eq!(drops(&mut queue, 0..430).len(), 6);
    while queue.len() > 0 {
        queue.line.pop();
    }
    queue.enqueue(at(3000), at(3000), frame(1), &mut Vec::new());
    assert_eq!(drops(&mut queue, 3000..3001), []);
    (0..900).for_each(|id| queue.enqueue(at(3001), at(3001), frame(id), &mut Vec::new()));
    assert_eq!(drops(&mut queue, 3001..3250), [3106, 3206]);
}

#[test]
fn one_large_frame_is_no_standing_queue() {
    let mut queue = CoDel::new(CoDelConfig::default());
    for ms in (0..5_000).step_by(50) {
        queue.enqueue(at(ms), at(ms), frame(0), &mut Vec::new());
        queue.enqueue(at(ms), at(ms), frame(1), &mut Vec::new());
        // Each waits 40 ms or more, but behind the first there is never more than a frame.
        assert_eq!(drops(&mut queue, ms + 40..ms + 42), []);
    }
    let mut dropped = Vec::new();
    assert_eq!(queue.dequeue(at(9_999), &mut dropped), None);
}

#[test]
fn limits_hold() {
    let config = CoDelConfig { packets: Some(3), bytes: Some(2_500), ..CoDelConfig::default() };
    let mut queue = CoDel::new(config);
    let mut dropped = Vec::new();
    (0..4).for_each(|id| queue.enqueue(at(0), at(0), frame(id), &mut dropped));
    assert_eq!((queue.len(), queue.bytes(), dropped.len()), (2, 2_000, 2));
}
