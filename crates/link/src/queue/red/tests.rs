use super::*;
use anabranch_base::Ecn;

const TEN_MBIT: LinkFacts = LinkFacts { rate: Some(10_000_000), delay: Duration::from_millis(20) };
/// The transmitter is busy for ever.
const BUSY: Instant = Instant::FAR_FUTURE;

fn red(config: RedConfig) -> Red {
    Red::new(config, TEN_MBIT, Rng::stream(1, "link:test", "queue"))
}

/// Thresholds 5 and 15, and an average that is the queue's length.
fn direct() -> RedConfig {
    RedConfig { min: Some(5.0), max: Some(15.0), weight: Weight::Fixed(1.0), ..RedConfig::default() }
}

fn frame(id: u32) -> Frame {
    Frame { id, size: 1000, ..Frame::default() }
}

/// Offers a frame at time `id` microseconds; returns the drops.
fn offer(queue: &mut Red, frame: Frame) -> Vec<(u32, DropReason)> {
    let mut dropped = Vec::new();
    let now = Instant::from_nanos(u64::from(frame.id) * 1000);
    queue.enqueue(now, BUSY, frame, &mut dropped);
    dropped.into_iter().map(|drop| (drop.frame.id, drop.reason)).collect()
}

#[test]
fn the_probability_rises_in_two_lines() {
    let gentle = red(direct());
    let close = |average: f64, expected: f64| {
        let p = gentle.probability(average);
        assert!((p - expected).abs() < 1e-12, "p({average}) = {p}, not {expected}");
    };
    close(4.99, 0.0);
    close(5.0, 0.0);
    close(10.0, 0.05);
    close(15.0, 0.1);
    // Half way from 0.1 to 1.
    close(22.5, 0.55);
    close(30.0, 1.0);
    close(99.0, 1.0);
    assert_eq!(gentle.forced_from(), 30.0);
    let old = red(RedConfig { gentle: false, ..direct() });
    assert_eq!((old.probability(14.999) * 1000.0).round(), 100.0);
    assert_eq!(old.probability(15.0), 1.0);
    assert_eq!(old.forced_from(), 15.0);
}

#[test]
fn spreading_by_hand() {
    let after = |config: RedConfig, count: u64, size: u32| {
        let queue = Red { count, count_bytes: count * 1000, ..red(RedConfig { mean_packet: 500, ..config }) };
        (queue.spread(0.1, size) * 1e6).round() / 1e6
    };
    let wait = direct();
    assert_eq!(after(wait.clone(), 9, 1000), 0.0);
    assert_eq!(after(wait.clone(), 10, 1000), 0.1);
    assert_eq!(after(wait.clone(), 15, 1000), 0.2);
    assert_eq!(after(wait.clone(), 19, 1000), 1.0);
    assert_eq!(after(wait.clone(), 20, 1000), 1.0);
    let no_wait = RedConfig { wait: false, ..direct() };
    assert_eq!(after(no_wait.clone(), 0, 1000), 0.1);
    assert_eq!(after(no_wait.clone(), 4, 1000), 0.166667);
    assert_eq!(after(no_wait.clone(), 10, 1000), 1.0);
    // By size: 7 frames of 1000 bytes count as 14 of 500; a frame of 250 is hit half as often as one of 500.
    let by_size = RedConfig { by_size: true, ..direct() };
    assert_eq!(after(by_size.clone(), 7, 500), 0.166667);
    assert_eq!(after(by_size, 7, 250), 0.083333);
}

/// Frames from one drop to the next, at a queue length that stays at 10 and a probability of 0.05.
fn gaps(config: RedConfig) -> Vec<u32> {
    let mut queue = red(config);
    let mut gaps = Vec::new();
    let mut last = None;
    for id in 0..200_000 {
        let dropped = offer(&mut queue, frame(id));
        if queue.len() > 10 {
            queue.dequeue(Instant::ZERO, &mut Vec::new());
        }
        if !dropped.is_empty() {
            assert_eq!(dropped, [(id, DropReason::Early)]);
            gaps.extend(last.map(|last| id - last));
            last = Some(id);
        }
    }
    gaps
}

#[test]
fn the_frames_between_two_drops_are_uniformly_many() {
    // p = 0.05: p / (1 - count p) from the first on is 1 to 19 frames, p / (2 - count p) with `wait` 20 to 39.
    for (wait, low, high) in [(false, 1, 19), (true, 20, 39)] {
        let gaps = gaps(RedConfig { wait, ..direct() });
        assert!(gaps.len() > 5_000);
        assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&low), Some(&high)));
        let places = (high - low + 1) as usize;
        let mut counts = vec![0_u32; places];
        gaps.iter().for_each(|gap| counts[(gap - low) as usize] += 1);
        let each = gaps.len() as f64 / places as f64;
        // Chi-square with 19 degrees of freedom: 43.8 is exceeded once in a thousand.
        let chi: f64 = counts.iter().map(|&n| (f64::from(n) - each).powi(2) / each).sum();
        assert!(chi < 43.8, "wait {wait}: chi-square {chi}, counts {counts:?}");
    }
}

#[test]
fn a_short_queue_and_the_first_frame_above_the_threshold_are_spared() {
    let certain = RedConfig { min: Some(0.0), max: Some(0.0), max_p: 1.0, gentle: false, ..direct() };
    let mut queue = red(certain);
    // None or one waits: nothing is dropped, with any average. From two on everything is.
    assert_eq!(offer(&mut queue, frame(1)), []);
    assert_eq!(offer(&mut queue, frame(2)), []);
    assert_eq!(offer(&mut queue, frame(3)), [(3, DropReason::Forced)]);
    // p is 1 from 15 on, but the frame that takes the average over `min` only starts the count.
    let mut queue = red(RedConfig { max: Some(5.0), max_p: 1.0, wait: false, ..direct() });
    let outcomes: Vec<usize> = (0..8).map(|id| offer(&mut queue, frame(id)).len()).collect();
    assert_eq!(outcomes, [0, 0, 0, 0, 0, 0, 1, 1]);
}

#[test]
fn marks_instead_of_early_drops_and_only_those() {
    let ect = |id| Frame { ecn: Ecn::Ect0, ..frame(id) };
    let config = RedConfig { ecn: true, wait: false, max_p: 1.0, mark_p: 0.55, ..direct() };
    let mut queue = red(config);
    for id in 0..6 {
        assert_eq!(offer(&mut queue, ect(id)), []);
    }
    // From 6 to 10 frames p rises from 0.1 to 0.5: marked or left alone. Beyond, dropped or left alone.
    let mut marked = 0;
    for id in 6..1000 {
        let p = queue.probability(queue.len() as f64);
        let before = queue.marks();
        let dropped = offer(&mut queue, ect(id));
        let picked = queue.marks() > before;
        marked += u64::from(picked);
        if picked {
            assert!(p < 0.55 && dropped.is_empty(), "p {p}: marked, and {dropped:?} dropped");
        }
        assert!(dropped.is_empty() || p >= 0.55, "p {p}: {dropped:?} dropped");
        assert!(dropped.iter().all(|(_, reason)| *reason == DropReason::Early));
        if queue.len() >= 11 && !dropped.is_empty() {
            (0..6).for_each(|_| drop(queue.dequeue(Instant::ZERO, &mut Vec::new())));
        }
    }
    assert!(marked > 50 && queue.marks() == marked);
    let ce = queue.waiting.iter().filter(|frame| frame.ecn == Ecn::Ce).count();
    assert!(ce > 0 && ce < queue.len());
    // Others are dropped.
    let mut queue = red(RedConfig { ecn: true, wait: false, max_p: 1.0, mark_p: 1.0, ..direct() });
    let dropped: usize = (0..20).map(|id| offer(&mut queue, frame(id)).len()).sum();
    assert!(dropped > 3 && queue.marks() == 0);
}

#[test]
fn who_goes_when_the_queue_is_full() {
    let full = |victim| {
        // An average that never gets anywhere.
        let config = RedConfig { packets: Some(4), victim, weight: Weight::Fixed(1e-9), ..direct() };
        let mut queue = red(config);
        let dropped: Vec<_> = (0..6).flat_map(|id| offer(&mut queue, frame(id))).collect();
        assert!(dropped.iter().all(|(_, reason)| *reason == DropReason::QueueFull));
        assert_eq!((queue.len(), queue.bytes()), (4, 4000));
        let left: Vec<u32> = queue.waiting.iter().map(|frame| frame.id).collect();
        (dropped.iter().map(|(id, _)| *id).collect::<Vec<_>>(), left)
    };
    assert_eq!(full(Victim::Arriving), (vec![4, 5], vec![0, 1, 2, 3]));
    assert_eq!(full(Victim::Oldest), (vec![0, 1], vec![2, 3, 4, 5]));
    let (mut gone, left) = full(Victim::Random);
    assert!(left.is_sorted());
    gone.extend(left);
    gone.sort_unstable();
    assert_eq!(gone, [0, 1, 2, 3, 4, 5]);
    // A limit in bytes holds once it is reached.
    let mut queue = red(RedConfig { bytes: Some(2500), ..direct() });
    let dropped: Vec<_> = (0..5).flat_map(|id| offer(&mut queue, frame(id))).map(|(id, _)| id).collect();
    assert_eq!((queue.len(), dropped), (3, vec![3, 4]));
}

#[test]
fn automatic_thresholds() {
    // 10 Mbit/s and 500 bytes: 2500 packets a second, half of 5 ms is 6.25 packets.
    let auto = red(RedConfig::default());
    assert_eq!((auto.min, auto.max), (6.25, 18.75));
    let bytes = red(RedConfig { measure: Measure::Bytes, mean_packet: 1000, ..RedConfig::default() });
    assert_eq!((bytes.min, bytes.max), (5_000.0, 15_000.0));
    let endless = LinkFacts { rate: None, delay: Duration::ZERO };
    let mut red = Red::new(RedConfig::default(), endless, Rng::stream(1, "link:test", "queue"));
    assert_eq!((red.min, red.max), (5.0, 15.0));
    for id in 0..100 {
        red.enqueue(Instant::from_nanos(id), Instant::ZERO, frame(1), &mut Vec::new());
        assert!(red.dequeue(Instant::from_nanos(id), &mut Vec::new()).is_some());
    }
    assert_eq!(red.average_now(), 0.0);
}

#[test]
fn adaptive_red_moves_max_p_once_in_an_interval() {
    let config = RedConfig { adaptive: Some(AdaptiveRed::default()), max_p: 0.1, ..direct() };
    let mut queue = red(config.clone());
    // Nothing waits: below 5 + 0.4 * 10. Every 500 ms, not before, a tenth less.
    let at = |ms: u64, queue: &mut Red| {
        let now = Instant::ZERO + Duration::from_millis(ms);
        queue.enqueue(now, now, frame(0), &mut Vec::new());
        while queue.dequeue(now, &mut Vec::new()).is_some() {}
        (queue.max_p() * 1e6).round() / 1e6
    };
    assert_eq!(at(500, &mut queue), 0.1);
    assert_eq!(at(501, &mut queue), 0.09);
    assert_eq!(at(1001, &mut queue), 0.09);
    assert_eq!(at(1002, &mut queue), 0.081);
    let last = (3..100).map(|i| at(i * 501, &mut queue)).last();
    // 80000 / 10^7 is 0.008: the first value below it is 0.1 * 0.9^24.
    assert_eq!(last, Some(0.007977));
    // Fourteen wait: above 15 - 4. A quarter of itself more, then 0.01 more, up to 0.5.
    let mut queue = red(RedConfig { max_p: 0.02, wait: true, ..config });
    let mut seen = vec![];
    for id in 0..14 {
        queue.enqueue(Instant::ZERO, BUSY, frame(id), &mut Vec::new());
    }
    for step in 1..80 {
        let now = Instant::ZERO + Duration::from_millis(501 * step);
        queue.enqueue(now, BUSY, frame(0), &mut Vec::new());
        while queue.len() > 14 {
            queue.dequeue(now, &mut Vec::new());
        }
        seen.push((queue.max_p() * 1e6).round() / 1e6);
    }
    assert_eq!(seen[..5], [0.025, 0.03125, 0.039063, 0.048828, 0.058828]);
    assert!(seen.iter().all(|p| *p < 0.51) && *seen.last().unwrap() >= 0.5, "{seen:?}");
}

#[test]
fn counting_starts_and_stops_with_its_span() {
    let mut queue = red(direct());
    queue.count(Span { from: 2_000, until: 5_000 });
    for id in 0..8 {
        offer(&mut queue, frame(id));
    }
    // At 2, 3 and 4 us: 2, 3 and 4 waited.
    assert_eq!(queue.average(), AverageStats { mean: 3.0, last: 4.0, probability: 0.0 });
}
