//! A witness from outside: the transmission times of a real Linux 6.1 for every position of a single loss.

use crate::common::{Fate, Packet, Pair, ms, payload};
use anabranch_base::{Duration, Instant};
use anabranch_tcp::Config;
use anabranch_tcp::header::Flags;

/// One line of `data/linux61_loss_position.csv`.
#[derive(Debug)]
struct Case {
    set: String,
    rate: u64,
    delay: Duration,
    position: u64,
    finished: f64,
    /// A moment at which a timer expired.
    timer: Duration,
}

fn cases() -> Vec<Case> {
    let lines = include_str!("data/linux61_loss_position.csv").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| {
            let mut fields = line.split(',');
            let mut next = || fields.next().expect("seven fields");
            let (set, rate, delay, position) = (next().to_owned(), next(), next(), next());
            let number = |text: &str| text.parse::<u64>().expect("a number");
            let finished = fields.nth(1).and_then(|f| f.parse().ok()).expect("seconds");
            let timer = Duration::from_secs_f64(fields.next().and_then(|f| f.parse().ok()).unwrap_or(0.0));
            let (rate, delay, position) = (number(rate), ms(number(delay)), number(position));
            Case { set, rate, delay, position, finished, timer }
        })
        .collect()
}

/// The run of the witness, begun at `start`: from the call to the end of the data, seconds.
fn run(config: &Config, case: &Case, start: Instant) -> (f64, Pair) {
    let mut pair = Pair::idle(config.clone());
    let position = case.position;
    pair.rule =
        Box::new(move |p| if !p.from_client && p.number == position { Fate::Vanish } else { Fate::Pass });
    (pair.rate, pair.delay, pair.now) = (case.rate, case.delay, start);
    pair.server.offer = payload(16 * 1448);
    pair.server.close_after_offer = true;
    pair.call(config.clone());
    pair.run(Duration::from_secs(60));
    let end = pair.log.iter().find(|p| p.from_client && p.has(Flags::FIN)).expect("the client saw the end");
    ((end.at - start).as_secs_f64(), pair)
}

#[expect(clippy::print_stderr, reason = "shown with --nocapture only")]
fn show(log: &[Packet], start: Instant) {
    for p in log {
        eprintln!(
            "{:.6} {} {} seq {} ack {} len {} sacks {}",
            (p.at - start).as_secs_f64(),
            if p.from_client { ">" } else { "<" },
            p.header.size() + p.len + 20,
            p.header.seq,
            p.header.ack,
            p.len,
            p.header.options.sack.as_slice().len()
        );
    }
}

fn agrees(ours: f64, theirs: f64) -> bool {
    let off = (ours - theirs).abs();
    off <= 0.005 || off <= 0.02 * theirs
}

/// Within 2 % or 5 ms, for the loss of none, of each of twenty, at Low, Medium and High.
#[test]
fn every_position_of_a_loss() {
    let config = Config::named("linux-6.1").unwrap();
    let cases = cases();
    assert_eq!(cases.len(), 63);
    let mut wrong = Vec::new();
    for case in &cases {
        // 12.8 s are a whole number of steps of the wheel, of 80 ms and of 640 ms.
        let start = Instant::ZERO + (ms(12_800) - case.timer);
        let (ours, pair) = run(&config, case, start);
        assert_eq!(pair.client.received.len(), 16 * 1448);
        if !agrees(ours, case.finished) {
            show(&pair.log, start);
            wrong.push(format!("{} {}: {} s, ours {ours} s", case.set, case.position, case.finished));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Most of them agree far better: the rest is the emulator's own 0.1 to 2 ms.
#[test]
fn nearly_all_positions_agree_to_three_milliseconds() {
    let config = Config::named("linux-6.1").unwrap();
    let cases = cases();
    let close = cases.iter().filter(|case| {
        let start = Instant::ZERO + (ms(12_800) - case.timer);
        (run(&config, case, start).0 - case.finished).abs() <= 0.003
    });
    assert!(close.count() >= 62);
}

/// For any other phase at least 56 of 63 are within 2 % or 5 ms.
#[test]
fn the_phase_of_the_ticks_matters_little() {
    let config = Config::named("linux-6.1").unwrap();
    for phase in 0..8 {
        let start = Instant::ZERO + ms(12_800) + Duration::from_micros(1250 * phase);
        let agree = cases().iter().filter(|case| agrees(run(&config, case, start).0, case.finished)).count();
        assert!(agree >= 56, "{phase}: {agree}");
    }
}
