//! `controller = "bbr"` and `pacing`: times at which segments leave, and the effect of bad input on a model of the
//! path. BBR's share of a path is tested in crates/sim/tests/bbr.rs.

use crate::common::{Fate, Packet, Pair, ms, payload};
use anabranch_base::{Duration, Instant, Rng};
use anabranch_tcp::header::{self, Flags, Header, SackBlocks};
use anabranch_tcp::{Algorithm, Config, LossRecovery, Percent, State, Timer};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

const MSS: u64 = 1448;

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

fn bbr() -> Config {
    Config {
        controller: Algorithm::Bbr,
        recovery: LossRecovery::Rack,
        dsack: true,
        tlp: true,
        undo: true,
        receive_buffer: 16 << 20,
        send_buffer: 16 << 20,
        rto_min: ms(200),
        ..Config::default()
    }
}

fn paced(controller: Algorithm) -> Config {
    Config { controller, pacing: true, ..bbr() }
}

/// 10 Mbit/s and 40 ms.
fn path(config: &Config, bytes: usize) -> Pair {
    let mut pair = Pair::same(config).upload(&payload(bytes));
    (pair.rate, pair.delay) = (10_000_000, ms(20));
    pair
}

fn data(pair: &Pair) -> impl Iterator<Item = &Packet> {
    pair.log.iter().filter(|p| p.from_client && p.is_data())
}

/// Most bytes of data that left at one instant from `from` on.
fn largest_burst(pair: &Pair, from: Instant) -> u64 {
    let mut sums: BTreeMap<Instant, u64> = BTreeMap::new();
    for p in data(pair).filter(|p| p.at >= from) {
        *sums.entry(p.at).or_default() += p.len as u64;
    }
    sums.into_values().max().unwrap_or(0)
}

/// Payload that left first in each half second, Mbit/s, from data that was new.
fn delivered(pair: &Pair) -> u64 {
    pair.server.received.len() as u64
}

/// Changes the acknowledgements of the server: they arrive `delay` after they left, and `forge` makes each from the
/// last one and itself.
fn answer_with(
    pair: &mut Pair,
    end: Instant,
    delay: Duration,
    forge: impl Fn(u32, &Header, u32) -> Vec<Header>,
) {
    let mine = |p: &Packet| !p.from_client && !p.has(Flags::SYN);
    pair.rule = Box::new(move |p| if mine(p) && p.at >= at(100) { Fate::Vanish } else { Fate::Pass });
    let (mut seen, mut last, mut highest) = (0, None, 0_u32);
    while pair.now < end {
        pair.run(ms(1));
        let mut forged = Vec::new();
        while let Some(p) = pair.log.get(seen).filter(|p| p.from_client || p.at + delay <= pair.now) {
            seen += 1;
            if p.from_client {
                highest = p.header.seq.wrapping_add(p.len as u32);
            } else if mine(p) && p.at >= at(100) {
                forged.extend(forge(last.unwrap_or(p.header.ack), &p.header, highest));
            }
            if !p.from_client {
                last = Some(p.header.ack);
            }
        }
        for header in forged {
            deliver(pair, &header);
        }
    }
}

fn deliver(pair: &mut Pair, header: &Header) {
    let mut segment = Vec::new();
    header.emit(&mut segment);
    header::seal(&mut segment, [10, 0, 0, 2].into(), [10, 0, 0, 1].into());
    pair.deliver(false, &segment);
    pair.settle();
}

/// With every controller segments of a window are spread over the round trip, nothing is sent that the window forbids, and the window
/// grows as it does without.
#[test]
fn paced_windows_are_spread_and_grow_as_others() {
    for controller in [Algorithm::Reno, Algorithm::Cubic] {
        let run = |pacing| {
            let config = Config { pacing, initial_ssthresh: Some(60 * MSS), ..paced(controller) };
            let mut pair = Pair::same(&config).upload(&payload(6_000_000));
            pair.delay = ms(50);
            pair.run_until(at(3000));
            (largest_burst(&pair, at(400)), pair.client_stats().cwnd, delivered(&pair))
        };
        let ((burst, cwnd, bytes), (paced_burst, paced_cwnd, paced_bytes)) = (run(false), run(true));
        assert!(burst > 30 * MSS, "{controller:?}: {burst}");
        assert!(paced_burst <= 10 * MSS, "{controller:?}: {paced_burst}");
        assert!(paced_cwnd * 20 >= cwnd * 19, "{controller:?}: {paced_cwnd} of {cwnd}");
        assert!(paced_bytes * 10 >= bytes * 9, "{controller:?}: {paced_bytes} of {bytes}");
    }
}

/// The timer of the pacer is its own, and exact: Linux paces by timers of high resolution, whatever its clock.
#[test]
fn the_pacer_has_a_timer_that_no_tick_rounds() {
    let mut config = Config::named("linux-6.1").unwrap();
    config.set("pacing", "true").unwrap();
    config.set("pacing_gain", "150").unwrap();
    assert_eq!(config.pacing_gain, Percent(150));
    let mut pair = Pair::same(&config).upload(&payload(400_000));
    pair.delay = ms(50);
    let mut waits = 0;
    while pair.now < at(800) {
        pair.run_until(pair.now + ms(1));
        let (when, timer) = pair.client.stack.poll_timeout().unwrap();
        assert!(when > pair.now);
        waits += usize::from(timer == Timer::Pacing);
    }
    assert!(waits > 50, "{waits}");
    let apart = data(&pair).filter(|p| p.at > at(210) && p.at.as_nanos() % 10_000_000 != 0).count();
    assert!(apart > 30, "{apart} left between ticks");
    pair.finish();
    assert_eq!(pair.server.received.len(), 400_000);
}

/// A bucket of nothing, or a rate of nothing, would keep everything back for ever.
#[test]
fn values_of_the_pacer_have_bounds() {
    let mut config = Config::default();
    for (key, value) in
        [("pacing_burst", "0"), ("pacing_burst", "256"), ("pacing_gain", "99"), ("pacing_gain", "1001")]
    {
        let text = config.set(key, value).unwrap_err().to_string();
        assert!(text.contains("255") || text.contains("100 to 1000"), "{text}");
    }
    assert_eq!(config, Config::default());
    for (burst, quantum) in [("1", "0 s"), ("1", "1 s"), ("255", "0 s")] {
        let mut config = paced(Algorithm::Reno);
        config.set("pacing_burst", burst).unwrap();
        config.set("pacing_quantum", quantum).unwrap();
        let mut pair = path(&config, 500_000);
        pair.finish();
        assert_eq!(
            (pair.server.received.len(), pair.client_state()),
            (500_000, State::Closed),
            "{burst}, {quantum}"
        );
    }
}

/// With max_burst and pacing the bucket stands for max_burst.
#[test]
fn the_bucket_stands_for_max_burst() {
    let took = |config: &Config| {
        // A peer that acknowledges once for ten segments.
        let mut server = config.clone();
        server.ack_every = 10;
        let mut pair = Pair::new(config.clone(), server).upload(&payload(1_000_000));
        pair.delay = ms(20);
        pair.finish();
        data(&pair).last().unwrap().at
    };
    let free = took(&paced(Algorithm::Reno));
    let limited = took(&Config { max_burst: 2, ..paced(Algorithm::Reno) });
    assert!(limited <= free + ms(100), "{limited} against {free}");
}

/// The peer has no SACK, or the recovery has no scoreboard: nobody has the reports that a model needs, and CUBIC
/// stands for it.
#[test]
fn without_a_scoreboard_it_is_cubic() {
    let ssthresh = |client: Config, server: Config| {
        let mut pair = Pair::new(client, server)
            .upload(&payload(600_000))
            .with_rule(|p| if p.is_data() && p.number == 30 { Fate::Drop } else { Fate::Pass });
        pair.finish();
        assert_eq!(pair.server.received.len(), 600_000);
        pair.client_stats().ssthresh
    };
    assert_eq!(ssthresh(bbr(), bbr()), u64::MAX, "a model has none");
    assert!(ssthresh(bbr(), Config { sack: false, ..bbr() }) < u64::MAX);
    let newreno = Config { recovery: LossRecovery::NewReno, ..bbr() };
    assert!(ssthresh(newreno, bbr()) < u64::MAX);
    assert_eq!(ssthresh(Config { recovery: LossRecovery::Sack6675, ..bbr() }, bbr()), u64::MAX);
}

/// Only the first window and a quantum leave at one instant, and the path is full.
#[test]
fn a_model_fills_the_path_and_sends_no_bursts() {
    let mut pair = path(&bbr(), 40_000_000);
    pair.run_until(at(10_000));
    // 9.5 Mbit/s of payload without Startup.
    assert!(delivered(&pair) > 11_000_000, "{}", delivered(&pair));
    let burst = largest_burst(&pair, at(200));
    assert!(burst <= 6 * MSS, "{burst}");
    let srtt = pair.client_stats().srtt.unwrap();
    assert!(srtt < ms(70), "{srtt}: a queue stands");
    assert_eq!(pair.client_stats().retransmissions, 0);
}

/// A thousand parts of an acknowledgement are worth as much as the whole.
#[test]
fn splitting_acknowledgements_gains_nothing() {
    let run = |parts: u32| {
        let mut pair = path(&bbr(), 40_000_000);
        answer_with(&mut pair, at(5000), ms(20), |last, whole, _| {
            let step = whole.ack.wrapping_sub(last);
            let part = |i: u32| (u64::from(step) * u64::from(i) / u64::from(parts)) as u32;
            (1..=parts).map(|i| Header { ack: last.wrapping_add(part(i)), ..*whole }).collect()
        });
        let sent: u64 = data(&pair).map(|p| p.len as u64).sum();
        (sent, pair.client_stats().cwnd, largest_burst(&pair, at(200)))
    };
    let (whole, split) = (run(1), run(100));
    assert!(whole.0 > 5_000_000, "{whole:?}");
    assert!(split.0 * 100 <= whole.0 * 105 && split.1 * 10 <= whole.1 * 11, "{split:?} against {whole:?}");
    assert!(split.2 <= 6 * MSS, "{split:?}");
}

/// Acknowledgements of data that cannot have arrived: no burst beyond the quantum of the pacer, and no end to the
/// connection.
#[test]
fn optimistic_acknowledgements_make_no_bursts() {
    let mut pair = path(&bbr(), 60_000_000);
    answer_with(&mut pair, at(3000), ms(1), |_, whole, highest| {
        let mut header = Header { ack: highest, ..*whole };
        header.options.sack = SackBlocks::default();
        vec![header]
    });
    let burst = largest_burst(&pair, at(100));
    assert!(burst <= 2 * 65_535 + 2 * MSS, "{burst}");
    assert!(data(&pair).count() > 1000);
}

/// After a pause the rate is known, the path was not taken for slow, and the next segments are paced.
#[test]
fn an_application_that_pauses() {
    let mut pair = path(&bbr(), 0);
    pair.client.close_after_offer = false;
    let mut took = Vec::new();
    for round in 0..6 {
        pair.client.offer = payload(2_000_000);
        let begin = pair.now;
        pair.settle();
        while delivered(&pair) < 2_000_000 * (round + 1) {
            pair.run(ms(5));
        }
        took.push(pair.now - begin);
        assert!(largest_burst(&pair, begin + ms(u64::from(round == 0) * 200)) <= 11 * MSS, "{round}");
        pair.run(ms(3000));
    }
    // 1.68 s at 10 Mbit/s.
    assert!(took.iter().skip(1).all(|one| *one < ms(2000)), "{took:?}");
}

/// Two seconds in which nothing arrives: the timeout's window is small, and the rate of before comes back with the path.
#[test]
fn a_path_that_is_gone_for_a_while() {
    let mut pair = path(&bbr(), 60_000_000).with_rule(|p| {
        if p.is_data() && (at(4000)..at(6000)).contains(&p.at) { Fate::Drop } else { Fate::Pass }
    });
    pair.run_until(at(5000));
    assert!(pair.client_stats().timeouts > 0);
    pair.run_until(at(8000));
    let (before, window) = (delivered(&pair), pair.client_stats().cwnd);
    assert!(window >= 30 * MSS, "{window}");
    pair.run_until(at(12_000));
    let rate = (delivered(&pair) - before) * 8 / 4000;
    assert!(rate > 9000, "{rate} kbit/s");
    assert!(largest_burst(&pair, at(6000)) <= 40 * MSS, "{}", largest_burst(&pair, at(6000)));
}

/// 4 % are lost, also of retransmissions: the model hears of each once.
#[test]
fn a_lossy_path_is_not_a_slow_one() {
    let mut rng = Rng::stream(1, "test", "loss");
    let mut pair = path(&bbr(), 60_000_000)
        .with_rule(move |p| if p.is_data() && rng.f64() < 0.04 { Fate::Drop } else { Fate::Pass });
    pair.run_until(at(10_000));
    assert!(delivered(&pair) > 10_000_000, "{}", delivered(&pair));
}

/// The peer gives up data that it has SACKed: the connection goes on, and the rate comes back.
#[test]
fn a_peer_that_reneges() {
    let lost = Rc::new(RefCell::new(None));
    let note = Rc::clone(&lost);
    let mut pair = path(&bbr(), 8_000_000).with_rule(move |p| {
        let hit = p.is_data() && p.at > at(2000) && note.borrow().is_none();
        if hit {
            *note.borrow_mut() = Some((p.header, p.len as u32));
        }
        if hit { Fate::Drop } else { Fate::Pass }
    });
    pair.run_until(at(2045));
    let (header, len) = lost.borrow().unwrap();
    // The peer says that the lost segment is there, when it could be.
    let last = pair.log.iter().rev().find(|p| !p.from_client).unwrap().header;
    let mut lie = last;
    lie.options.sack = SackBlocks::default();
    lie.options.sack.push(header.seq, header.seq.wrapping_add(len));
    deliver(&mut pair, &lie);
    pair.finish();
    assert_eq!((pair.server.received.len(), pair.client_state()), (8_000_000, State::Closed));
    let end = data(&pair).last().unwrap().at;
    assert!(end < at(9500), "{end}");
    assert!(pair.client_stats().timeouts <= 2, "{:?}", pair.client_stats());
}
