use super::*;
use crate::{Applies, Counts, DropTail, Positions};
use anabranch_base::Rng;

const MS: u64 = 1_000_000;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn frame(id: u32, size: u32) -> Frame {
    Frame { id, size, ..Frame::default() }
}

/// 1 Mbit/s: a frame of 125 bytes takes 1 ms. 10 ms of delay.
fn link(queue: DropTail, loss: Loss, loss_at: LossAt) -> Link {
    Link::new(LinkConfig {
        rate: Rate::BitsPerSecond(1_000_000),
        delay: Duration::from_millis(10),
        queue: Queue::DropTail(queue),
        loss,
        loss_at,
    })
}

/// Runs the link until it has nothing left to do: (arrival in ns, id).
fn drain(link: &mut Link) -> Vec<(u64, u32)> {
    let mut out = Vec::new();
    let mut wakes = 0;
    while let Some(now) = link.poll_timeout() {
        wakes += 1;
        assert!(wakes < 1_000_000, "the link asks to be woken for ever");
        while let Some(frame) = link.poll_delivery(now) {
            out.push((now.as_nanos(), frame.id));
        }
    }
    out
}

#[test]
fn a_burst_leaves_one_by_one_and_arrives_after_the_delay() {
    let mut link = link(DropTail::frames(10), Loss::None, LossAt::Exit);
    for id in 0..3 {
        link.handle_frame(at(5 * MS), frame(id, 125));
    }
    assert_eq!(link.poll_timeout(), Some(at(16 * MS)));
    assert_eq!(link.poll_delivery(at(16 * MS - 1)), None);
    assert_eq!(drain(&mut link), [(16 * MS, 0), (17 * MS, 1), (18 * MS, 2)]);
    assert_eq!(link.poll_timeout(), None);
}

#[test]
fn the_link_wakes_its_driver_once_for_each_frame() {
    let mut link = link(DropTail::new(None, None, Counts::Ns2), Loss::None, LossAt::Exit);
    for id in 0..1000 {
        link.handle_frame(at(0), frame(id, 125));
    }
    let mut wakes = 0;
    while let Some(now) = link.poll_timeout() {
        wakes += 1;
        while link.poll_delivery(now).is_some() {}
    }
    assert_eq!(wakes, 1000);
}

#[test]
fn a_full_system_of_ten_drops_the_eleventh_as_ns2_does() {
    let mut link = link(DropTail::frames(10), Loss::None, LossAt::Exit);
    for id in 0..12 {
        link.handle_frame(at(0), frame(id, 125));
    }
    let mut dropped: Vec<_> =
        std::iter::from_fn(|| link.poll_dropped()).map(|d| (d.at, d.frame.id)).collect();
    dropped.sort_unstable();
    assert_eq!(dropped, [(at(0), 10), (at(0), 11)]);
    // One has left at 1 ms, exactly: its place is free for the frame of that very nanosecond, and for one only.
    link.handle_frame(at(MS), frame(20, 125));
    link.handle_frame(at(MS), frame(21, 125));
    assert_eq!(link.poll_dropped().map(|d| d.frame.id), Some(21));
    assert_eq!(drain(&mut link).len(), 11);
    let stats = link.stats(at(100 * MS));
    assert_eq!((stats.arrivals, stats.drops_queue, stats.sent), (14, 3, 11));
}

#[test]
fn loss_behind_the_transmitter_takes_time_and_loss_before_the_queue_does_not() {
    let loss = || Loss::Positions(Positions::new(vec![1, 3], Applies::default()));
    let run = |loss_at| {
        let mut link = link(DropTail::frames(10), loss(), loss_at);
        for id in 1..=4 {
            link.handle_frame(at(0), frame(id, 125));
        }
        let arrived = drain(&mut link);
        let mut lost: Vec<_> =
            std::iter::from_fn(|| link.poll_dropped()).map(|d| (d.at, d.frame.id)).collect();
        lost.sort_unstable();
        let stats = link.stats(at(8 * MS));
        assert_eq!((stats.arrivals, stats.drops_error), (4, 2));
        (arrived, lost, stats.busy)
    };
    let (arrived, lost, busy) = run(LossAt::Exit);
    assert_eq!(arrived, [(12 * MS, 2), (14 * MS, 4)]);
    assert_eq!(lost, [(at(MS), 1), (at(3 * MS), 3)]);
    assert_eq!(busy, Duration::from_millis(4));
    let (arrived, lost, busy) = run(LossAt::Entry);
    assert_eq!(arrived, [(11 * MS, 2), (12 * MS, 4)]);
    assert_eq!(lost, [(at(0), 1), (at(0), 3)]);
    assert_eq!(busy, Duration::from_millis(2));
}

#[test]
fn a_link_that_loses_everything_still_empties_its_queue() {
    let rng = anabranch_base::Rng::stream(1, "link", "loss");
    let loss = Loss::Bernoulli(crate::Bernoulli::new(1.0, Applies::default(), rng));
    let mut link = link(DropTail::frames(10), loss, LossAt::Exit);
    for id in 0..5 {
        link.handle_frame(at(0), frame(id, 125));
    }
    assert_eq!(drain(&mut link), []);
    assert_eq!(link.queue_len(at(5 * MS)), 0);
    assert_eq!(link.stats(at(5 * MS)).drops_error, 5);
}

#[test]
fn an_infinite_rate_never_queues() {
    let mut link = Link::new(LinkConfig {
        rate: Rate::Infinite,
        delay: Duration::from_millis(10),
        queue: Queue::DropTail(DropTail::frames(1)),
        loss: Loss::None,
        loss_at: LossAt::Exit,
    });
    for id in 0..3 {
        link.handle_frame(at(7), frame(id, 125));
        assert_eq!(link.queue_len(at(7)), 0);
    }
    assert_eq!(drain(&mut link), [(10 * MS + 7, 0), (10 * MS + 7, 1), (10 * MS + 7, 2)]);
    assert_eq!(link.stats(at(10 * MS)).utilisation(), 0.0);
}

#[test]
fn statistics_agree_with_a_calculation_by_hand() {
    // At 0: four frames of 1 ms. Waiting: 3 during [0,1), 2 during [1,2), 1 during [2,3), 0 after. At 10 ms two more:
    // waiting 1 during [10,11). Area 3+2+1+1 = 7 ms; at 12 ms all is sent: 6 ms busy.
    let mut link = link(DropTail::frames(10), Loss::None, LossAt::Exit);
    for id in 0..4 {
        link.handle_frame(at(0), frame(id, 125));
    }
    for id in 4..6 {
        link.handle_frame(at(10 * MS), frame(id, 125));
    }
    let stats = link.stats(at(14 * MS));
    assert_eq!(stats.queue_mean, 7.0 / 14.0);
    assert_eq!(stats.queue_max, 3);
    assert_eq!(stats.busy, Duration::from_millis(6));
    assert_eq!(stats.utilisation(), 6.0 / 14.0);
    assert_eq!((stats.sent, stats.sent_bytes, stats.arrival_bytes), (6, 750, 750));
}

#[test]
fn statistics_start_anew_in_the_middle_of_a_frame() {
    let mut link = link(DropTail::frames(10), Loss::None, LossAt::Exit);
    for id in 0..4 {
        link.handle_frame(at(0), frame(id, 125));
    }
    // At 1.5 ms: the second frame is half sent, two wait.
    link.reset_stats(at(3 * MS / 2));
    let stats = link.stats(at(2 * MS + MS / 4));
    assert_eq!(stats.arrivals, 0);
    assert_eq!(stats.utilisation(), 1.0);
    assert_eq!(stats.queue_mean, (2.0 * 0.5 + 1.0 * 0.25) / 0.75);
    let stats = link.stats(at(11 * MS / 2));
    assert_eq!(stats.busy, Duration::from_nanos(5 * MS / 2));
    assert_eq!((stats.queue_max, stats.sent), (2, 2));
}

#[test]
fn calling_often_and_calling_late_give_the_same() {
    // Lazy evaluation: a driver that polls at every microsecond and one that comes only for arrivals see one link.
    let run = |eager: bool| {
        let mut link = link(DropTail::frames(5), Loss::None, LossAt::Exit);
        let mut rng = anabranch_base::Rng::stream(5, "test", "arrivals");
        let mut out = Vec::new();
        let mut now = 0;
        for id in 0..500 {
            let next = now + rng.below(2 * MS);
            while eager && now < next {
                while let Some(frame) = link.poll_delivery(at(now)) {
                    out.push((frame.id, frame.size));
                }
                now += 10_000;
            }
            now = next;
            link.handle_frame(at(now), frame(id, 40 + rng.below(200) as u32));
        }
        while let Some(wake) = link.poll_timeout() {
            while let Some(frame) = link.poll_delivery(wake) {
                out.push((frame.id, frame.size));
            }
        }
        let mut dropped: Vec<_> =
            std::iter::from_fn(|| link.poll_dropped()).map(|d| (d.at, d.frame.id)).collect();
        dropped.sort_unstable();
        assert!(!dropped.is_empty());
        (out, dropped, link.stats(at(now + 100 * MS)))
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn random_arrivals_wait_as_long_as_the_md1_formula_says() {
    // M/D/1 at load 0.7: mean number waiting = rho^2 / (2 (1 - rho)) = 0.8167.
    let mut link = link(DropTail::new(None, None, Counts::Ns2), Loss::None, LossAt::Exit);
    let mut rng = anabranch_base::Rng::stream(11, "test", "arrivals");
    let mut now = 0.0;
    for id in 0..400_000 {
        now += rng.exponential(1e6 / 0.7);
        link.handle_frame(at(now as u64), frame(id, 125));
        while link.poll_delivery(at(now as u64)).is_some() {}
    }
    let stats = link.stats(at(now as u64));
    assert!((stats.utilisation() - 0.7).abs() < 0.005, "{}", stats.utilisation());
    let expected = 0.49 / 0.6;
    assert!((stats.queue_mean / expected - 1.0).abs() < 0.03, "{} against {expected}", stats.queue_mean);
}

/// A frame that passes at once has the effect of one that the link keeps until it arrives; where it cannot pass, nothing happens.
#[test]
fn a_frame_that_passes_leaves_the_link_as_one_that_is_kept() {
    let mut rng = Rng::stream(1, "test", "pass");
    let mut quick = link(DropTail::frames(3), Loss::None, LossAt::Exit);
    let mut slow = quick.clone();
    let (mut passed, mut now) = (0, 0);
    for id in 0..10_000 {
        now += rng.below(4 * MS);
        let (now, frame) = (at(now), frame(id, 125));
        slow.handle_frame(now, frame.clone());
        match quick.pass(now, frame.size) {
            Some(arrival) => {
                passed += 1;
                assert_eq!(slow.poll_sent(), Some((arrival, frame)));
            }
            None => {
                quick.handle_frame(now, frame);
                while let Some(sent) = quick.poll_sent() {
                    assert_eq!(slow.poll_sent(), Some(sent));
                }
            }
        }
        assert_eq!(slow.peek_sent(), None);
        let drops = |link: &mut Link| std::iter::from_fn(|| link.poll_dropped()).count();
        assert_eq!(drops(&mut quick), drops(&mut slow));
        assert_eq!(quick.poll_timeout(), slow.poll_timeout());
    }
    assert!((1000..9000).contains(&passed), "{passed}");
    assert_eq!(quick.stats(at(now)), slow.stats(at(now)));
    assert!(quick.stats(at(now)).drops_queue > 0);
}

#[test]
fn nothing_passes_at_once_where_something_could_happen_to_it() {
    let free = || link(DropTail::frames(3), Loss::None, LossAt::Exit);
    assert_eq!(free().pass(at(0), 125), Some(at(11 * MS)));
    let mut on_the_way = free();
    on_the_way.handle_frame(at(0), frame(0, 125));
    let mut sending = free();
    sending.handle_frame(at(0), frame(0, 125));
    assert!(sending.poll_sent().is_some());
    let lossy =
        link(DropTail::frames(3), Loss::Positions(Positions::new(vec![9], Applies::default())), LossAt::Exit);
    let rewriting = Conditioner::new(
        &crate::ConditionerConfig {
            dscp: crate::DscpSet::ALL,
            what: crate::Conditioning::Rewrite(Vec::new()),
        },
        Rng::stream(1, "test", "rewrite"),
    );
    let conditioned = free().with_conditioners(vec![rewriting]);
    let pattern: Pattern = "anabranch-pattern 1\nkind loss\n5\n".parse().expect("a pattern");
    let patterned = free().with_patterns(vec![(pattern, Applies::default())]);
    for (what, mut link, now) in [
        ("a frame on the way", on_the_way, 2 * MS),
        ("a frame being sent", sending, 0),
        ("losses", lossy, 0),
        ("a conditioner", conditioned, 0),
        ("a pattern", patterned, 0),
    ] {
        let before = link.stats(at(now)).arrivals;
        assert_eq!(link.pass(at(now), 125), None, "{what}");
        assert_eq!(link.stats(at(now)).arrivals, before, "{what}");
    }
}

#[test]
fn conditioners_act_before_the_queue_and_no_frame_passes_them_by() {
    let meter = crate::MeterConfig::TokenBucket { rate: 8_000, burst: 250 };
    let actions = [crate::Action::Pass, crate::Action::Pass, crate::Action::Drop];
    let what = crate::Conditioning::Meter { meter, actions };
    let config = crate::ConditionerConfig { dscp: crate::DscpSet::ALL, what };
    let rng = anabranch_base::Rng::stream(1, "link", "condition 1");
    let mut link = link(DropTail::frames(10), Loss::None, LossAt::Exit)
        .with_conditioners(vec![Conditioner::new(&config, rng)]);
    assert_eq!(link.pass(at(0), 125), None);
    for id in 0..4 {
        link.handle_frame(at(0), frame(id, 125));
    }
    let dropped: Vec<_> =
        std::iter::from_fn(|| link.poll_dropped()).map(|d| (d.frame.id, d.reason)).collect();
    assert_eq!(dropped, [(3, DropReason::Policed), (2, DropReason::Policed)]);
    assert_eq!(drain(&mut link), [(11 * MS, 0), (12 * MS, 1)]);
    let stats = link.stats(at(20 * MS));
    assert_eq!((stats.arrivals, stats.drops_policed, stats.drops_queue, stats.sent), (4, 2, 0, 2));
    assert_eq!((stats.queue_max, stats.busy), (1, Duration::from_millis(2)));
}
