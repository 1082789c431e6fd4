//! A witness from outside: the transmission times of a real Linux 6.1 for every position of a single loss.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use std::sync::Arc;

use anabranch_base::{Duration, Instant};
use anabranch_sctp::{Config, Event};
use common::{PORT, Pair, Side, address};

const MESSAGES: usize = 16;
const MESSAGE: usize = 1452;

/// One line of `data/linux61_loss_position.csv`.
#[derive(Debug)]
struct Case {
    run: String,
    set: String,
    rate: u64,
    delay: Duration,
    position: u64,
    /// Handshake's end, last byte, end of the stream, seconds.
    times: [f64; 3],
    packets: usize,
    /// A moment at which a timer expired.
    timer: Duration,
    /// It was a long one: the phase of the wheel is known.
    wheel: bool,
}

fn cases() -> Vec<Case> {
    let lines = include_str!("data/linux61_loss_position.csv").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let whole = |at: usize| fields[at].parse::<u64>().unwrap();
            let seconds = |at: usize| fields[at].parse::<f64>().unwrap();
            Case {
                run: fields[0].to_owned(),
                set: fields[1].to_owned(),
                rate: whole(2),
                delay: Duration::from_millis(whole(3)),
                position: whole(4),
                times: [seconds(5), seconds(6), seconds(7)],
                packets: whole(8) as usize,
                timer: Duration::from_secs_f64(seconds(10)),
                wheel: fields[9] == "wheel",
            }
        })
        .collect()
}

fn config(run: &str) -> Config {
    let mut config = Config::named("linux-6.1").unwrap();
    match run {
        "default" | "again" => {}
        "rto_min 200 ms" => config.set("rto_min", "200 ms").unwrap(),
        "rto_initial 1 s" => config.set("rto_initial", "1 s").unwrap(),
        other => panic!("{other}"),
    }
    config
}

/// The run of the witness, begun at `start`: its times, and the packets of the server.
fn run(case: &Case, start: Instant) -> ([f64; 3], usize, Pair) {
    let config = Arc::new(config(&case.run));
    let mut pair = Pair::new(1);
    pair.now = start;
    pair.link(case.rate, case.delay);
    let (mut number, position) = (0, case.position);
    pair.drop_if(move |p| {
        number += u64::from(p.from == Side::Z);
        p.from == Side::Z && number == position
    });
    pair.offer = Some((MESSAGES, MESSAGE));
    pair.z.listen(Arc::clone(&config)).unwrap();
    pair.a.connect(start, address(Side::Z), PORT, config).unwrap();
    let mut times = [None; 3];
    while pair.step(start + Duration::from_secs(60)) {
        let seconds = (pair.now - start).as_secs_f64();
        let received: usize = pair.received.iter().map(|(_, m)| m.len()).sum();
        let over = [
            pair.saw(Side::A, |e| matches!(e, Event::Established { .. })),
            received == MESSAGES * MESSAGE,
            pair.saw(Side::A, |e| matches!(e, Event::PeerShutdown)),
        ];
        for (time, over) in times.iter_mut().zip(over) {
            if over {
                time.get_or_insert(seconds);
            }
        }
    }
    let packets = pair.log.iter().filter(|p| p.from == Side::Z).count();
    (times.map(Option::unwrap), packets, pair)
}

#[expect(clippy::print_stderr, reason = "shown when a case is wrong")]
fn show(pair: &Pair, start: Instant) {
    for p in &pair.log {
        let at = (p.at - start).as_secs_f64();
        let way = if p.from == Side::A { "C>S" } else { "S>C" };
        let lost = if p.dropped { " DROPPED" } else { "" };
        eprintln!("{at:.6} {way} {} {}{lost}", p.bytes.len() + 20, p.words().join("+"));
    }
}

fn agrees(ours: f64, theirs: f64) -> bool {
    let off = (ours - theirs).abs();
    off <= 0.005 || off <= 0.02 * theirs
}

/// Within 2 % or 5 ms, for the loss of none, of each of twenty, at Low, Medium and High, with three sets of timers.
#[test]
fn every_position_of_a_loss() {
    let cases = cases();
    assert_eq!(cases.len(), 4 * 63);
    let mut wrong = Vec::new();
    for case in &cases {
        // 8 s are a whole number of steps of the wheel. Where only the phase of the ticks is known, it may be any step.
        let steps = if case.wheel { 1 } else { 8 };
        let tries = (0..steps).map(|step| {
            let phase = Duration::from_millis(8000 + 10 * step) - case.timer;
            run(case, Instant::ZERO + phase)
        });
        let tries: Vec<_> = tries.collect();
        let fits = |ours: &[f64; 3]| case.times.iter().zip(ours).all(|(theirs, ours)| agrees(*ours, *theirs));
        if !tries.iter().any(|(ours, ..)| fits(ours)) {
            let Some((ours, packets, pair)) = tries.first() else { continue };
            if std::env::var_os("SHOW").is_some() {
                show(pair, Instant::ZERO + (Duration::from_secs(8) - case.timer));
            }
            wrong.push(format!(
                "{} {} {}: {:?} s, {} packets; ours {ours:.6?} s, {packets}",
                case.run, case.set, case.position, case.times, case.packets
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
}
