//! Sources of messages that share a flow: when they are made, what they wait for, and how long they are on their way.

use crate::common::{bernoulli, engine, flow, link, ms, scenario};
use anabranch_base::Duration;
use anabranch_sim::scenario::{
    Flow, Loss, MessageSource, Protocol, Record, Reliability, Scenario, TimeDraw, Traffic,
};
use anabranch_sim::{SourceSummary, Summary, run};

fn source(name: &str, stream: u16, size: u32, every_ms: Option<u64>) -> MessageSource {
    MessageSource {
        name: name.to_owned(),
        stream,
        sizes: vec![size],
        every: every_ms.map(|every| TimeDraw::Fixed(ms(every))),
        start: TimeDraw::Fixed(Duration::ZERO),
        count: None,
        unordered: false,
        deadline: None,
        reliability: Reliability::Full,
    }
}

/// 1 Mbit/s, 20 ms one way.
fn world(protocol: Protocol, options: &[(&str, &str)], p: f64, sources: Vec<MessageSource>) -> Scenario {
    let loss = if p > 0.0 { bernoulli(p) } else { Loss::None };
    let links = link("wan", ("a", "b"), 1.0, ms(20), 100, loss).to_vec();
    let streams = match protocol {
        Protocol::Sctp => sources.iter().map(|source| source.stream + 1).max().expect("at least one source"),
        _ => 1,
    };
    let name = if protocol == Protocol::Tcp { "rfc" } else { "rfc9260" };
    let one = Flow {
        streams,
        stop: Some(Duration::from_secs(50)),
        ..flow("both", ("a", "b"), protocol, engine(name, options), Traffic::Messages(sources))
    };
    scenario(Duration::from_secs(100), links, vec![one])
}

fn summary(scenario: &Scenario) -> Summary {
    let summary = run(scenario, 1, &Record::default()).expect("it runs").summary;
    for flow in &summary.flows {
        assert_eq!((flow.failed.as_deref(), flow.intact), (None, Some(true)), "{}", flow.name);
        assert!(flow.close_s.is_some() || flow.end_s.is_some(), "closed at the end: {flow:?}");
    }
    summary
}

fn named<'s>(summary: &'s Summary, name: &str) -> &'s SourceSummary {
    summary.sources.iter().find(|source| source.source == name).expect("a source of the scenario")
}

/// Nothing else on the way: a message takes the time of its packet and the delay. 976 bytes are 1 ms of payload short of a packet with
/// 48 bytes of headers: 8.192 ms on the line.
#[test]
fn a_message_alone_takes_the_time_of_the_line() {
    for protocol in [Protocol::Sctp, Protocol::Tcp] {
        let scenario = world(protocol, &[], 0.0, vec![source("calls", 0, 976, Some(100))]);
        let calls = summary(&scenario).sources[0].clone();
        assert_eq!((calls.made, calls.delivered, calls.in_time), (500, 500, 500), "{protocol:?}");
        assert_eq!(calls.delivered_bytes, 500 * 976);
        let headers = if protocol == Protocol::Sctp { 48 } else { 52 };
        let expected = 0.020 + f64::from(976 + headers) * 8e-6;
        let least = calls.latency_min_s.unwrap();
        assert!((least - expected).abs() < 1e-4, "{protocol:?}: {least} and {expected}");
        assert!((calls.latency_p50_s.unwrap() - expected).abs() < 1e-4, "{protocol:?}: {calls:?}");
        // The first wait for the handshake: round trips of 40 ms.
        assert!(calls.latency_max_s.unwrap() > expected + 0.040, "{calls:?}");
    }
}

/// Messages made before the end of the warm-up are not counted, nor afterwards when they come late.
#[test]
fn counting_begins_with_the_warmup() {
    let mut scenario = world(Protocol::Sctp, &[], 0.0, vec![source("calls", 0, 500, Some(100))]);
    scenario.warmup = Duration::from_secs(10);
    let calls = summary(&scenario).sources[0].clone();
    assert_eq!((calls.made, calls.delivered), (400, 400));
    assert!(calls.latency_max_s.unwrap() < 0.030, "no handshake: {calls:?}");
}

/// Behind a bulk transfer of the same association messages wait for what is in the send buffer; its stream's turn, a buffer that holds
/// little, or an association of their own lets them leave earlier.
#[test]
fn what_messages_wait_for_beside_bulk() {
    let both = || vec![source("calls", 0, 200, Some(50)), source("bulk", 1, 16_384, None)];
    let fcfs = summary(&world(Protocol::Sctp, &[("send_buffer", "262144 B")], 0.0, both()));
    let small = summary(&world(Protocol::Sctp, &[("send_buffer", "32768 B")], 0.0, both()));
    let turns = [("send_buffer", "262144 B"), ("interleaving", "true"), ("stream_scheduling", "round-robin")];
    let turns = summary(&world(Protocol::Sctp, &turns, 0.0, both()));
    let p50 = |summary: &Summary| named(summary, "calls").latency_p50_s.unwrap();
    assert!(p50(&fcfs) > 1.5, "the buffer: {}", p50(&fcfs));
    assert!(p50(&small) < 0.75 * p50(&fcfs), "{} and {}", p50(&small), p50(&fcfs));
    assert!(p50(&turns) < 0.75 * p50(&fcfs), "{} and {}", p50(&turns), p50(&fcfs));
    for summary in [&fcfs, &small, &turns] {
        let (calls, bulk) = (named(summary, "calls"), named(summary, "bulk"));
        assert_eq!((calls.made, calls.delivered), (1000, 1000));
        assert_eq!(bulk.made, bulk.delivered);
        let rate = bulk.delivered_bytes as f64 * 8.0 / 50.0;
        assert!((0.85e6..1.0e6).contains(&rate), "the line is full: {rate}");
    }
}

/// Losses delay, damage nothing and lose nothing; messages in fragments, in several streams, unordered ones and those over one stream
/// of bytes alike.
#[test]
fn losses_only_delay() {
    let mut sources = vec![
        source("calls", 0, 100, Some(20)),
        MessageSource { sizes: vec![12_000, 3000, 3000], ..source("video", 1, 0, Some(333)) },
        source("bulk", 2, 5000, None),
    ];
    for protocol in [Protocol::Sctp, Protocol::Tcp] {
        for unordered in [false, true] {
            if protocol == Protocol::Sctp {
                sources.iter_mut().for_each(|source| source.unordered = unordered);
            } else if unordered {
                continue;
            }
            let summary = summary(&world(protocol, &[], 0.02, sources.clone()));
            for source in &summary.sources {
                assert_eq!(source.made, source.delivered, "{protocol:?} {source:?}");
                assert!(source.delivered > 100, "{source:?}");
            }
            let calls = named(&summary, "calls");
            assert_eq!(calls.made, 2500);
            assert!(calls.latency_p50_s <= calls.latency_p90_s && calls.latency_p99_s <= calls.latency_max_s);
        }
    }
}

/// Late is what takes longer than its deadline.
#[test]
fn deadlines() {
    let late = |deadline| {
        let mut calls = source("calls", 0, 976, Some(100));
        calls.deadline = Some(deadline);
        let summary = summary(&world(Protocol::Sctp, &[], 0.05, vec![calls]));
        let calls = named(&summary, "calls").clone();
        assert_eq!(calls.delivered, 500);
        calls.delivered - calls.in_time
    };
    assert_eq!(late(ms(27)), 500, "less than the line takes");
    let some = late(ms(100));
    assert!((5..100).contains(&some), "those that were lost: {some}");
    assert_eq!(late(Duration::from_secs(60)), 0);
}

/// Drawn times have their mean, and are the same for every engine.
#[test]
fn drawn_times_do_not_depend_on_the_engine() {
    let mut calls = source("calls", 0, 200, None);
    calls.every = Some(TimeDraw::Exponential(ms(20)));
    calls.start = TimeDraw::Uniform(ms(0), ms(20));
    let made = |protocol| summary(&world(protocol, &[], 0.0, vec![calls.clone()])).sources[0].made;
    let (sctp, tcp) = (made(Protocol::Sctp), made(Protocol::Tcp));
    assert_eq!(sctp, tcp);
    assert!((2300..2700).contains(&sctp), "{sctp}");
}

/// Messages past their lifetime are abandoned, and keep no later message waiting: without a limit half of the time of
/// 30 % losses is spent on the past.
#[test]
fn partial_reliability() {
    let frames = |reliability, options: &[(&str, &str)]| {
        let mut frames = source("frames", 0, 3000, Some(50));
        (frames.deadline, frames.reliability) = (Some(ms(200)), reliability);
        run(&world(Protocol::Sctp, options, 0.15, vec![frames]), 1, &Record::default())
            .expect("it runs")
            .summary
    };
    let pr = [("partial_reliability", "true")];
    let full = frames(Reliability::Full, &pr);
    let timed = frames(Reliability::Lifetime(ms(200)), &pr);
    let limited = frames(Reliability::Retransmissions(1), &pr);
    for summary in [&full, &timed, &limited] {
        assert_eq!((summary.flows[0].failed.as_deref(), summary.flows[0].intact), (None, Some(true)));
        assert_eq!(summary.sources[0].made, 1000);
    }
    assert_eq!(full.sources[0].delivered, 1000);
    for some in [&timed.sources[0], &limited.sources[0]] {
        assert!((300..1000).contains(&some.delivered), "{some:?}");
    }
    let (before, after) = (full.sources[0].in_time, timed.sources[0].in_time);
    assert!(after > before, "in time with full reliability {before}, with a lifetime {after}");
    // A peer that does not skip: said, not hidden.
    let refused = frames(Reliability::Lifetime(ms(200)), &[]);
    assert!(
        refused.flows[0].failed.as_ref().is_some_and(|why| why.contains("reliab")),
        "{:?}",
        refused.flows[0]
    );
}
