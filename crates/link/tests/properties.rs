//! The duties of every queue discipline, for any arrivals at any times: no loss that is not reported, no frame twice,
//! order within a flow and class, limits, marks only for those who can read them, the same counts everywhere, and the
//! same run for the same seed, however often its driver looks.

use anabranch_base::{Dscp, Duration, Ecn, Instant, Rng};
use anabranch_link::{
    Action, AdaptiveRed, ClassConfig, ClassesConfig, CoDelConfig, Colour, Conditioner, ConditionerConfig,
    Conditioning, DropReason, DscpSet, FqCoDelConfig, Frame, Link, LinkConfig, LinkFacts, LinkStats, Loss,
    LossAt, Measure, MeterConfig, QueueConfig, Rate, RedConfig, Scheduler, Victim, VirtualClass,
    VirtualConfig, VirtualMode, VirtualQuirks, Weight,
};
use proptest::prelude::*;

const RATE: u64 = 8_000_000;
/// Limits in frames that are tried.
const LIMIT: std::ops::Range<u64> = 1..30;

fn point(value: u8) -> Dscp {
    Dscp::new(value).unwrap_or_default()
}

fn weight() -> impl Strategy<Value = Weight> {
    prop_oneof![
        (0.001..1.0).prop_map(Weight::Fixed),
        Just(Weight::Auto),
        (1_u64..2000).prop_map(|ms| Weight::Memory(Duration::from_millis(ms))),
    ]
}

fn red() -> impl Strategy<Value = QueueConfig> {
    let victims = prop::sample::select(vec![Victim::Arriving, Victim::Random, Victim::Oldest]);
    let flags = any::<(bool, bool, bool, bool, bool)>();
    (LIMIT, 0.0..10.0, 0.0..20.0, 0.0..=1.0, weight(), flags, victims).prop_map(
        |(packets, min, more, max_p, weight, (bytes, by_size, gentle, wait, ecn), victim)| {
            QueueConfig::Red(RedConfig {
                packets: Some(packets),
                bytes: Some(packets * 1500),
                min: Some(min),
                max: Some(min + more),
                max_p,
                weight,
                measure: if bytes { Measure::Bytes } else { Measure::Packets },
                by_size,
                mean_packet: 700,
                gentle,
                wait,
                victim,
                ecn,
                mark_p: 0.7,
                adaptive: by_size.then(AdaptiveRed::default),
                ..RedConfig::default()
            })
        },
    )
}

fn virtual_red() -> impl Strategy<Value = QueueConfig> {
    let modes = prop::sample::select(vec![VirtualMode::Coupled, VirtualMode::Decoupled, VirtualMode::Whole]);
    let class = (0.0..8.0, 0.0..8.0, 0.0..=1.0);
    (LIMIT, modes, weight(), any::<(bool, bool, bool)>(), prop::collection::vec(class, 1..4)).prop_map(
        |(packets, mode, weight, (ecn, overrun, idle_twice), classes)| {
            let class = |(place, (min, more, max_p)): (u8, (f64, f64, f64))| VirtualClass {
                name: place.to_string(),
                dscp: std::iter::once(point(place)).collect(),
                colour: (place == 2).then_some(Colour::Green),
                min,
                max: min + more,
                max_p,
            };
            QueueConfig::VirtualRed(VirtualConfig {
                mode,
                packets: Some(packets),
                weight,
                mean_packet: 700,
                ecn,
                quirks: VirtualQuirks { overrun, idle_twice },
                classes: (0..).zip(classes).map(class).collect(),
            })
        },
    )
}

fn codel() -> impl Strategy<Value = CoDelConfig> {
    (LIMIT, 0_u64..20, 1_u64..100, any::<bool>()).prop_map(|(packets, target, interval, ecn)| CoDelConfig {
        packets: Some(packets),
        bytes: Some(packets * 1500),
        target: Duration::from_millis(target),
        interval: Duration::from_millis(interval),
        ecn,
    })
}

fn fq_codel() -> impl Strategy<Value = QueueConfig> {
    (codel(), 1_u16..9, 1_u32..3000, any::<bool>()).prop_map(|(codel, flows, quantum, by_dscp)| {
        QueueConfig::FqCoDel(FqCoDelConfig { codel, flows, quantum, by_dscp })
    })
}

fn simple() -> impl Strategy<Value = QueueConfig> {
    prop_oneof![
        LIMIT.prop_map(|packets| QueueConfig::DropTail { packets: Some(packets), bytes: None }),
        red(),
        virtual_red(),
        codel().prop_map(QueueConfig::CoDel),
        fq_codel(),
    ]
}

fn classes() -> impl Strategy<Value = QueueConfig> {
    let schedulers = prop_oneof![
        Just(Scheduler::Priority),
        Just(Scheduler::Wrr),
        (1_u32..3000).prop_map(|quantum| Scheduler::Drr { quantum }),
    ];
    (schedulers, prop::collection::vec((simple(), 1_u32..5), 1..4)).prop_map(|(scheduler, classes)| {
        let class = |(place, (queue, weight)): (u8, (QueueConfig, u32))| ClassConfig {
            name: format!("c{place}"),
            dscp: std::iter::once(point(place)).collect(),
            colour: None,
            queue,
            weight,
        };
        let classes = (0..).zip(classes).map(class).collect();
        QueueConfig::Classes(ClassesConfig { scheduler, classes })
    })
}

/// Time since the last frame (microseconds), size, code point, flow, whether it can be marked.
type Arrival = (u64, u32, u8, u32, bool);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0_u64), 5 => 0_u64..1500, 1 => 0_u64..100_000];
    prop::collection::vec((gap, 40_u32..1500, 0_u8..4, 0_u32..4, any::<bool>()), 1..300)
}

/// A frame's number, and what it looked like.
type Seen = (u32, u8, u32, Ecn);

#[derive(Debug, PartialEq)]
struct Outcome {
    delivered: Vec<(u64, Seen)>,
    dropped: Vec<(u64, u32, DropReason)>,
    stats: LinkStats,
    classes: Vec<anabranch_link::ClassStats>,
    longest: usize,
}

fn seen(frame: &Frame) -> Seen {
    (frame.id, frame.dscp.get(), frame.flow, frame.ecn)
}

/// Runs a link to the end. An eager driver looks every 100 us.
fn run(queue: &QueueConfig, conditions: &[ConditionerConfig], arrivals: &[Arrival], eager: bool) -> Outcome {
    let delay = Duration::from_millis(3);
    let facts = LinkFacts { rate: Some(RATE), delay };
    let rng = |purpose| Rng::stream(7, "link:test", purpose);
    let mut link = Link::new(LinkConfig {
        rate: Rate::BitsPerSecond(RATE),
        delay,
        queue: queue.build(facts, rng("queue")),
        loss: Loss::None,
        loss_at: LossAt::Exit,
    })
    .with_conditioners(conditions.iter().map(|config| Conditioner::new(config, rng("condition"))).collect());
    let mut out = Outcome {
        delivered: Vec::new(),
        dropped: Vec::new(),
        stats: LinkStats::default(),
        classes: Vec::new(),
        longest: 0,
    };
    let mut now = 0;
    for (id, &(gap, size, dscp, flow, ect)) in (0..).zip(arrivals) {
        let next = now + gap * 1000;
        // Frames that arrive in between are taken at their time of arrival, or later.
        while let Some(wake) = link.poll_timeout().filter(|wake| wake.as_nanos() <= next) {
            while let Some(frame) = link.poll_delivery(wake) {
                out.delivered.push((wake.as_nanos(), seen(&frame)));
            }
        }
        while eager && now + 100_000 < next {
            now += 100_000;
            link.queue_len(Instant::from_nanos(now));
        }
        now = next;
        let ecn = if ect { Ecn::Ect0 } else { Ecn::NotEct };
        let frame = Frame { id, size, dscp: point(dscp), flow, ecn, ..Frame::default() };
        link.handle_frame(Instant::from_nanos(now), frame);
        out.longest = out.longest.max(link.queue_len(Instant::from_nanos(now)));
    }
    while let Some(wake) = link.poll_timeout() {
        while let Some(frame) = link.poll_delivery(wake) {
            out.delivered.push((wake.as_nanos(), seen(&frame)));
        }
        now = now.max(wake.as_nanos());
    }
    while let Some(drop) = link.poll_dropped() {
        out.dropped.push((drop.at.as_nanos(), drop.frame.id, drop.reason));
    }
    out.dropped.sort_unstable();
    let end = Instant::from_nanos(now + 1_000_000);
    assert_eq!((link.queue_len(end), link.queue_bytes(end)), (0, 0));
    out.stats = link.stats(end);
    out.classes = link.class_stats(end);
    out
}

fn keeps_its_promises(queue: &QueueConfig, arrivals: &[Arrival]) -> Result<(), TestCaseError> {
    let out = run(queue, &[], arrivals, false);
    // Conservation: each frame once, delivered or dropped.
    let delivered = out.delivered.iter().map(|(_, frame)| frame.0);
    let mut all: Vec<u32> = delivered.chain(out.dropped.iter().map(|drop| drop.1)).collect();
    all.sort_unstable();
    prop_assert_eq!(all, (0..arrivals.len() as u32).collect::<Vec<_>>());
    // Order: within a flow and a code point always, in queues with one line for all.
    let mut last = std::collections::BTreeMap::new();
    let one_line = !matches!(queue, QueueConfig::FqCoDel(_) | QueueConfig::Classes(_));
    for (_, (id, dscp, flow, _)) in &out.delivered {
        let line = if one_line { (0, 0) } else { (*dscp, *flow) };
        if let Some(before) = last.insert(line, *id) {
            prop_assert!(before < *id, "{before} before {id}");
        }
    }
    prop_assert!(out.delivered.is_sorted_by_key(|(at, _)| *at));
    // Marks: only where they can be read, and as many as were counted.
    let mut marks = 0;
    for (_, (id, _, _, ecn)) in &out.delivered {
        let can = arrivals.get(*id as usize).is_some_and(|arrival| arrival.4);
        let allowed: &[Ecn] = if can { &[Ecn::Ect0, Ecn::Ce] } else { &[Ecn::NotEct] };
        prop_assert!(allowed.contains(ecn));
        marks += u64::from(*ecn == Ecn::Ce);
    }
    let marked_and_dropped = out.stats.marks.checked_sub(marks);
    // A marked frame may still be the victim of a full queue.
    prop_assert!(marked_and_dropped.is_some_and(|lost| lost <= out.dropped.len() as u64));
    // Limits.
    let limit = match queue {
        QueueConfig::DropTail { packets, .. } => *packets,
        QueueConfig::Red(config) => config.packets,
        QueueConfig::VirtualRed(config) => config.packets,
        QueueConfig::CoDel(config) => config.packets,
        QueueConfig::FqCoDel(config) => config.codel.packets,
        _ => None,
    };
    prop_assert!(limit.is_none_or(|limit| out.longest as u64 <= limit), "{} waited", out.longest);
    // Counts.
    let stats = out.stats;
    prop_assert_eq!((stats.arrivals, stats.sent), (arrivals.len() as u64, out.delivered.len() as u64));
    prop_assert_eq!(stats.drops_queue, out.dropped.len() as u64);
    let by_reason = stats.drops_full + stats.drops_early + stats.drops_forced + stats.drops_sojourn;
    prop_assert_eq!(stats.drops_queue, by_reason);
    let outer: Vec<_> = match queue {
        QueueConfig::Classes(_) => out.classes.iter().filter(|class| !class.name.contains('.')).collect(),
        _ => out.classes.iter().collect(),
    };
    if !outer.is_empty() {
        let sum = |value: fn(&anabranch_link::ClassStats) -> u64| {
            outer.iter().map(|class| value(class)).sum::<u64>()
        };
        prop_assert_eq!(sum(|class| class.arrivals), stats.arrivals);
        prop_assert_eq!(sum(|class| class.drops_queue), stats.drops_queue);
        prop_assert_eq!(sum(|class| class.drops_early), stats.drops_early);
        prop_assert_eq!(sum(|class| class.sent), stats.sent);
        prop_assert_eq!(sum(|class| class.sent_bytes), stats.sent_bytes);
        prop_assert_eq!(sum(|class| class.marks), stats.marks);
        let mean: f64 = outer.iter().map(|class| class.queue_mean).sum();
        prop_assert!((mean - stats.queue_mean).abs() < 1e-9 * (1.0 + mean));
    }
    // The same again, and with a driver that looks all the time.
    prop_assert_eq!(&run(queue, &[], arrivals, false), &out);
    prop_assert_eq!(&run(queue, &[], arrivals, true), &out);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_early_detection(queue in red(), arrivals in arrivals()) {
        keeps_its_promises(&queue, &arrivals)?;
    }

    #[test]
    fn virtual_queues(queue in virtual_red(), arrivals in arrivals()) {
        keeps_its_promises(&queue, &arrivals)?;
    }

    #[test]
    fn controlled_delay(config in codel(), arrivals in arrivals()) {
        keeps_its_promises(&QueueConfig::CoDel(config), &arrivals)?;
    }

    #[test]
    fn controlled_delay_by_flow(queue in fq_codel(), arrivals in arrivals()) {
        keeps_its_promises(&queue, &arrivals)?;
    }

    #[test]
    fn class_queues(queue in classes(), arrivals in arrivals()) {
        keeps_its_promises(&queue, &arrivals)?;
    }

    #[test]
    fn conditioners_drop_what_they_count_and_green_stays_within_its_contract(
        rate in 8_000_u64..4_000_000, burst in 1_500_u64..10_000, arrivals in arrivals(),
    ) {
        let meter = MeterConfig::TokenBucket { rate, burst };
        let actions = [Action::Mark(point(46)), Action::Pass, Action::Drop];
        let what = Conditioning::Meter { meter, actions };
        let police = ConditionerConfig { dscp: [point(0), point(1)].into_iter().collect::<DscpSet>(), what };
        let out = run(&QueueConfig::default(), &[police], &arrivals, false);
        let policed = out.dropped.iter().filter(|drop| drop.2 == DropReason::Policed).count();
        prop_assert_eq!((out.stats.drops_policed, out.dropped.len()), (policed as u64, policed));
        prop_assert_eq!(out.stats.drops_queue, 0);
        // Between any two frames, the metered traffic that passed is at most a burst and the rate.
        let mut now = 0;
        let mut passed: Vec<(u64, u64)> = Vec::new();
        for (id, arrival) in (0_u32..).zip(&arrivals) {
            now += arrival.0 * 1000;
            let is_lost = out.dropped.iter().any(|drop| drop.1 == id);
            prop_assert!(!is_lost || arrival.2 < 2);
            if arrival.2 < 2 && !is_lost {
                passed.push((now, u64::from(arrival.1)));
            }
        }
        for (index, (start, _)) in passed.iter().enumerate() {
            let mut bytes = 0;
            for (end, size) in passed.iter().skip(index) {
                bytes += size;
                let allowed = u128::from(burst) * 8_000_000_000 + u128::from(rate) * u128::from(end - start);
                prop_assert!(u128::from(bytes) * 8_000_000_000 <= allowed);
            }
        }
        let marked = out.delivered.iter().filter(|(_, frame)| frame.1 == 46).count();
        prop_assert_eq!(marked, passed.len());
    }
}
