use super::*;
use anabranch_base::{Dscp, Duration};

fn queue(config: FqCoDelConfig) -> FqCoDel {
    FqCoDel::new(config, Rng::stream(1, "link:test", "queue"))
}

fn frame(flow: u32, id: u32, size: u32) -> Frame {
    Frame { flow, id, size, ..Frame::default() }
}

/// At time 0.
fn offer(queue: &mut FqCoDel, frame: Frame) -> Vec<Dropped> {
    let mut dropped = Vec::new();
    queue.enqueue(Instant::ZERO, Instant::ZERO, frame, &mut dropped);
    dropped
}

fn take(queue: &mut FqCoDel) -> Option<(u32, u32)> {
    queue.dequeue(Instant::ZERO, &mut Vec::new()).map(|frame| (frame.flow, frame.id))
}

#[test]
fn a_new_flow_goes_first_and_then_all_take_turns() {
    let mut queue = queue(FqCoDelConfig::default());
    (0..6).for_each(|id| assert!(offer(&mut queue, frame(7, id, 1000)).is_empty()));
    // 1514 bytes: two frames, and 486 too many.
    assert_eq!((take(&mut queue), take(&mut queue)), (Some((7, 0)), Some((7, 1))));
    (0..2).for_each(|id| assert!(offer(&mut queue, frame(8, id, 1000)).is_empty()));
    let order: Vec<_> = std::iter::from_fn(|| take(&mut queue)).collect();
    // The new one, two frames; then the old one has 1028 left: two frames; then it has 542 left of the next round: one.
    assert_eq!(order, [(8, 0), (8, 1), (7, 2), (7, 3), (7, 4), (7, 5)]);
    assert_eq!((queue.len(), queue.bytes()), (0, 0));
}

#[test]
fn flows_share_bytes_whatever_the_size_of_their_packets() {
    let mut queue = queue(FqCoDelConfig::default());
    let mut sent = [0_u64; 3];
    for id in 0..3000 {
        (0..3_u32).for_each(|flow| drop(offer(&mut queue, frame(flow, id, [1500, 300, 900][flow as usize]))));
    }
    for _ in 0..2000 {
        let frame = queue.dequeue(Instant::ZERO, &mut Vec::new()).unwrap();
        sent[frame.flow as usize] += u64::from(frame.size);
    }
    let (low, high) = (*sent.iter().min().unwrap(), *sent.iter().max().unwrap());
    // At most a quantum and a frame apart.
    assert!(high - low <= 1514 + 1500, "{sent:?}");
}

#[test]
fn the_longest_queue_makes_room() {
    let codel = CoDelConfig { packets: Some(100), ..CoDelConfig::default() };
    let mut queue = queue(FqCoDelConfig { codel, ..FqCoDelConfig::default() });
    (0..90).for_each(|id| assert!(offer(&mut queue, frame(1, id, 1000)).is_empty()));
    (0..10).for_each(|id| assert!(offer(&mut queue, frame(2, id, 100)).is_empty()));
    let dropped = offer(&mut queue, frame(2, 10, 100));
    // The older half of flow 1.
    assert_eq!(dropped.len(), 45);
    assert!(dropped.iter().zip(0..).all(|(drop, id)| (drop.frame.flow, drop.frame.id) == (1, id)));
    assert!(dropped.iter().all(|drop| drop.reason == DropReason::QueueFull));
    assert_eq!((queue.len(), queue.bytes()), (56, 45 * 1000 + 11 * 100));
    // A limit in bytes holds too, and at most 64 go at once.
    let codel = CoDelConfig { packets: None, bytes: Some(200_000), ..codel };
    let mut queue = self::queue(FqCoDelConfig { codel, ..FqCoDelConfig::default() });
    (0..200).for_each(|id| assert!(offer(&mut queue, frame(1, id, 1000)).is_empty()));
    assert_eq!(offer(&mut queue, frame(1, 200, 1000)).len(), 64);
}

#[test]
fn each_queue_is_controlled_on_its_own() {
    // Flow 1 has a standing queue, flow 2 a frame now and then.
    let mut queue = queue(FqCoDelConfig::default());
    let mut dropped = Vec::new();
    (0..2000).for_each(|id| assert!(offer(&mut queue, frame(1, id, 1000)).is_empty()));
    let mut arrived = 0;
    for ms in 1..1500 {
        let now = Instant::ZERO + Duration::from_millis(ms);
        if ms % 10 == 0 {
            queue.enqueue(now, now, frame(2, ms as u32, 1000), &mut dropped);
        }
        arrived += u64::from(queue.dequeue(now, &mut dropped).is_some_and(|frame| frame.flow == 2));
    }
    assert!(arrived >= 148, "{arrived}");
    assert!(dropped.len() > 20 && dropped.iter().all(|drop| drop.frame.flow == 1), "{}", dropped.len());
    assert_eq!(queue.marks(), 0);
}

#[test]
fn the_hash_spreads_flows_and_code_points_if_asked() {
    let places = |by_dscp| {
        let queue = queue(FqCoDelConfig { by_dscp, ..FqCoDelConfig::default() });
        let mut places: Vec<u16> = (0..200_u32)
            .map(|n| {
                let dscp = Dscp::new((n % 4) as u8).unwrap();
                queue.place(&Frame { flow: n / 4, dscp, ..Frame::default() })
            })
            .collect();
        places.sort_unstable();
        places.dedup();
        places.len()
    };
    // 50 and 200 balls in 1024 urns: 48.8 and 181.7 urns on average.
    assert!((46..=50).contains(&places(false)), "{}", places(false));
    assert!((170..=194).contains(&places(true)), "{}", places(true));
    // One queue for all is a CoDel.
    let one = queue(FqCoDelConfig { flows: 1, ..FqCoDelConfig::default() });
    assert!((0..100).all(|flow| one.place(&frame(flow, 0, 1)) == 0));
}
