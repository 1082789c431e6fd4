//! Behaviour of each flavour: FACK, gradual reduction, RTO slop, inflight limiting, host cache, repeated SYNs.

use crate::common::{Fate, Packet, Pair, ms, payload};
use anabranch_base::{Duration, Instant, TraceEvent};
use anabranch_tcp::header::Flags;
use anabranch_tcp::{Algorithm, Config, InitialWindow, PROFILES, Reduction};

fn config() -> Config {
    Config { timestamps: false, mss: 1000, ..Config::default() }
}

fn millis(at: Instant) -> u64 {
    (at - Instant::ZERO).as_millis()
}

/// The first copies of these data segments, counted from 1, never arrive.
fn losing(pair: Pair, lost: &'static [u64]) -> Pair {
    let (mut first, mut done) = (None, Vec::new());
    pair.with_rule(move |p| {
        let start = *first.get_or_insert(p.header.seq);
        if !p.from_client || !p.is_data() {
            first = first.filter(|_| p.from_client);
            return Fate::Pass;
        }
        let n = u64::from(p.header.seq.wrapping_sub(start)) / 1000 + 1;
        if lost.contains(&n) && !done.contains(&n) {
            done.push(n);
            return Fate::Drop;
        }
        Fate::Pass
    })
}

fn data(pair: &Pair) -> Vec<&Packet> {
    pair.log.iter().filter(|p| p.from_client && p.is_data()).collect()
}

/// Every profile carries a megabyte over a lossy path.
#[test]
fn every_profile_delivers() {
    for (name, _) in PROFILES {
        let config = Config::named(name).unwrap();
        let mut pair = Pair::same(&config).upload(&payload(1 << 20));
        pair.rate = 8_000_000;
        pair.rule = Box::new(|p| if p.number % 37 == 5 { Fate::Drop } else { Fate::Pass });
        pair.finish();
        assert_eq!(pair.server.received.len(), 1 << 20, "{name}");
    }
}

/// Every controller as well, with gradual reductions, against losses and reordering.
#[test]
fn every_controller_and_reduction_delivers() {
    for controller in [Algorithm::Reno, Algorithm::Bic, Algorithm::Cubic, Algorithm::Vegas] {
        for reduction in [Reduction::AtOnce, Reduction::Prr, Reduction::RateHalving] {
            let config =
                Config { controller, reduction, fack: true, hystart: true, undo: true, ..Config::default() };
            let mut pair = Pair::same(&config).upload(&payload(1 << 20));
            pair.rate = 8_000_000;
            pair.rule = Box::new(|p| match p.number % 41 {
                5 => Fate::Drop,
                9 => Fate::Delay(ms(3)),
                _ => Fate::Pass,
            });
            pair.finish();
            assert_eq!(pair.server.received.len(), 1 << 20, "{controller:?} {reduction:?}");
        }
    }
}

/// Segments 1 to 3 are lost, 4 arrives: RFC 6675 waits for three blocks or two segments and more, FACK does not.
#[test]
fn fack_needs_one_block_far_enough_ahead() {
    let first_resend = |fack| {
        let config =
            Config { fack, initial_window: InitialWindow::Segments(4), limited_transmit: false, ..config() };
        let mut pair = losing(Pair::same(&config), &[1, 2, 3]);
        pair.client.offer = payload(4000);
        pair.run(Duration::from_secs(10));
        (millis(data(&pair)[4].at), pair.client_stats().fast_retransmits)
    };
    // The data leaves at 20 ms; its one acknowledgement is there at 40 ms. Without FACK the timeout of 1 s.
    assert_eq!(first_resend(true), (40, 1));
    assert_eq!(first_resend(false), (1020, 0));
}

/// 20 segments in flight, the first lost, ssthresh 10: how many segments leave on each of the 19 reports.
#[test]
fn reductions_differ_in_when_segments_leave() {
    let leaves = |reduction| {
        let config = Config {
            reduction,
            initial_window: InitialWindow::Segments(20),
            limited_transmit: false,
            ssthresh_base: anabranch_tcp::SsthreshBase::Cwnd,
            ..config()
        };
        let mut pair = losing(Pair::same(&config), &[1]);
        pair.rate = 8_000_000;
        pair.client.offer = payload(100_000);
        // Segments follow each other by 1.04 ms; the reports come from 43 ms on.
        pair.run_until(Instant::ZERO + ms(62));
        let sent = data(&pair);
        let mut counts = vec![0; 19];
        for p in sent.iter().skip(20) {
            let report = pair.log.iter().filter(|q| !q.from_client && !q.has(Flags::SYN));
            let before = report.filter(|q| q.at + ms(10) <= p.at).count();
            counts[before - 1] += 1;
        }
        counts
    };
    // RFC 6675: nothing until half of the window has left, then one for one.
    let at_once = leaves(Reduction::AtOnce);
    assert_eq!(at_once[..11], [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], "{at_once:?}");
    // RFC 6937 with 10 of 20: one for two, from the first on.
    let prr = leaves(Reduction::Prr);
    assert_eq!(prr[..13], [0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1], "{prr:?}");
    // Rate halving: a segment less for every second, too.
    let halving = leaves(Reduction::RateHalving);
    assert!(halving.iter().skip(3).take(14).sum::<i32>().abs_diff(7) <= 1, "{halving:?}");
    for counts in [&prr, &halving] {
        assert!(counts.iter().all(|n| *n <= 1), "never a burst: {counts:?}");
    }
}

/// Hurtig et al. (2006), 4.2: 600 ms and the slop of 200 ms are below a floor of a second, 900 ms and the slop are not.
#[test]
fn the_slop_is_added_before_the_floor_is_looked_at() {
    for (rtt, rto) in [(200, 1000), (300, 1100)] {
        let config = Config { rto_slop: ms(200), rto_min: ms(1000), rto_initial: ms(3000), ..config() };
        let mut pair = Pair::same(&config).with_rule(|p| if p.is_data() { Fate::Drop } else { Fate::Pass });
        pair.delay = ms(rtt / 2);
        pair.client.offer = payload(1000);
        pair.run(Duration::from_secs(10));
        let sent = data(&pair);
        assert_eq!((sent[1].at - sent[0].at).as_millis(), rto, "3 RTT of {rtt} ms");
        assert_eq!((sent[2].at - sent[1].at).as_millis(), 6 * rtt + 200, "the slop is not doubled");
    }
}

/// 2 Mb/s and 40 ms carry seven segments of 1500; without the limit slow start fills any queue.
#[test]
fn inflight_limiting_keeps_the_queue_short() {
    let peak = |inflight_limit| {
        let config = Config { inflight_limit, ..Config::named("freebsd-6.0").unwrap() };
        let config = Config { send_buffer: 1 << 20, ..config };
        let mut pair = Pair::same(&config).upload(&payload(400_000));
        pair.rate = 2_000_000;
        pair.delay = ms(20);
        pair.finish();
        assert_eq!(pair.server.received.len(), 400_000);
        let flights = pair.trace.iter().filter_map(|r| match r.event {
            TraceEvent::Window { flight, .. } => Some(flight),
            _ => None,
        });
        flights.max().unwrap() / 1448
    };
    let (free, held) = (peak(false), peak(true));
    assert!(free >= 40, "the whole window of 64 KB: {free}");
    assert!((4..=20).contains(&held), "{held} against {free}");
}

/// The second connection begins with the path metrics of the first, or, without the cache, with none.
#[test]
fn the_host_cache_seeds_round_trip_time_and_threshold() {
    for (host_cache, rto, threshold) in [(true, 200, true), (false, 3000, false)] {
        let config = Config {
            host_cache,
            rtt_from_handshake: false,
            rto_initial: Duration::from_secs(3),
            rto_min: ms(200),
            ..config()
        };
        let mut pair = losing(Pair::same(&config), &[10]).upload(&payload(100_000));
        pair.finish();
        let lost = pair.client_stats();
        assert!(lost.retransmissions == 1 && lost.ssthresh < 100_000, "{lost:?}");
        pair.call_again(config);
        pair.run(ms(100));
        let stats = pair.client_stats();
        assert_eq!(stats.rto.as_millis(), rto, "host_cache {host_cache}");
        assert_eq!(stats.ssthresh == lost.ssthresh, threshold, "{stats:?}");
    }
}

/// Claim A-SA: Linux 2.4 repeats its SYN-ACK after 3, 6, 12 and 24 s and answers every SYN that comes again as well:
/// nine copies in the 45 s of a handshake in which no answer arrives.
#[test]
fn linux_2_4_answers_every_syn_and_repeats_by_itself() {
    let config = Config::named("linux-2.4").unwrap();
    let mut pair = Pair::same(&config).with_rule(|p| if p.from_client { Fate::Pass } else { Fate::Drop });
    // Answers of the two ends at the same moment would be one.
    pair.delay = ms(200);
    pair.run(Duration::from_secs(46));
    let times = |from_client| -> Vec<u64> {
        pair.log.iter().filter(|p| p.from_client == from_client).map(|p| millis(p.at)).collect()
    };
    assert_eq!(times(true), [0, 3000, 9000, 21_000, 45_000]);
    assert_eq!(times(false), [200, 3200, 3200, 9200, 9200, 21_200, 21_200, 45_200, 45_200]);
    assert_eq!(times(false).len(), 9);
}

/// Andersson (2005), Table 5.1: two segments fill the window, the third and last brings the FIN and does not wait.
#[test]
fn a_last_segment_with_its_fin_does_not_wait_for_the_window() {
    for ignores in [true, false] {
        let base = Config::named("linux-2.4").unwrap();
        assert!(base.fin_beyond_window);
        let config = Config { fin_beyond_window: ignores, ..base };
        let mut pair = Pair::same(&config).upload(&payload(3000));
        pair.delay = ms(100);
        pair.finish();
        let times: Vec<u64> = data(&pair).iter().map(|p| millis(p.at)).collect();
        let last = if ignores { 200 } else { 400 };
        assert_eq!(times, [200, 200, last]);
        assert!(data(&pair).last().is_some_and(|p| p.has(Flags::FIN)));
    }
}

/// A round trip of 10 s: SYN and SYN-ACK are sent again, but the echo says how long the first took, and no data is sent
/// twice. Without it the first timeout for data is 3 s.
#[test]
fn an_echo_times_a_handshake_that_was_repeated() {
    for measures in [true, false] {
        let base = Config::named("linux-2.4").unwrap();
        assert!(base.rtt_from_repeated_handshake);
        let config = Config { rtt_from_repeated_handshake: measures, undo: false, ..base };
        let mut pair = Pair::same(&config).upload(&payload(20_000));
        pair.delay = Duration::from_secs(5);
        pair.finish();
        assert_eq!(pair.server.received.len(), 20_000);
        let stats = pair.client_stats();
        assert_eq!(stats.handshake_timeouts, 2);
        if measures {
            assert_eq!((stats.timeouts, stats.retransmissions), (0, 0));
        } else {
            assert!(stats.timeouts >= 2, "{stats:?}");
        }
    }
}

/// A timeout that came too early: the acknowledgement echoes the original's timestamp, and everything is as before.
#[test]
fn a_timestamp_undoes_a_needless_timeout() {
    for (undo, timestamps) in [(true, true), (true, false), (false, true)] {
        let config = Config { undo, timestamps, ..config() };
        let mut pair = Pair::same(&config).upload(&payload(400_000)).with_rule(move |p| {
            // The path stands still from 250 ms to 1750 ms.
            let pause = 1750_u64.saturating_sub(millis(p.at));
            if p.from_client && millis(p.at) >= 250 && pause > 0 {
                Fate::Delay(ms(pause))
            } else {
                Fate::Pass
            }
        });
        pair.delay = ms(50);
        pair.finish();
        assert_eq!(pair.server.received.len(), 400_000);
        let stats = pair.client_stats();
        assert_eq!(stats.timeouts, 1);
        assert_eq!(stats.timeouts, 1);
        if undo && timestamps {
            assert_eq!((stats.undone, stats.retransmissions), (1, 1), "the rest is not sent again");
            assert_eq!(stats.ssthresh, u64::MAX);
        } else {
            assert_eq!(stats.undone, 0);
            assert!(stats.retransmissions > 5 && stats.ssthresh < 400_000, "{stats:?}");
        }
    }
}

/// Every value at random, one by one or all at once, over a network that loses, repeats and reorders: all arrives.
mod any_values {
    use super::*;
    use proptest::prelude::*;

    /// Values of each key that matters for loss recovery.
    const CHOICES: &[(&str, &[&str])] = &[
        ("recovery", &["rack", "rack", "rack", "sack6675", "newreno", "reno"]),
        ("controller", &["reno", "bic", "cubic", "vegas"]),
        ("reduction", &["at-once", "prr", "rate-halving"]),
        ("rtt_estimator", &["rfc6298", "linux", "ticks"]),
        ("rtt_sampling", &["timed", "every", "segments"]),
        ("growth", &["bytes", "per-ack", "packets"]),
        ("initial_window", &["1", "rfc3390", "rfc6928", "40"]),
        ("timer_tick", &["0 s", "10 ms", "4 ms"]),
        ("rto_min", &["3 ms", "200 ms", "1 s"]),
        ("rto_slop", &["0 s", "200 ms"]),
        ("receive_buffer", &["4 KiB", "20 KiB", "64 KiB", "1 MiB"]),
    ];
    const SWITCHES: &[&str] = &[
        "sack",
        "dsack",
        "timestamps",
        "tlp",
        "frto",
        "undo",
        "fack",
        "hystart",
        "inflight_limit",
        "host_cache",
        "limited_transmit",
        "delayed_ack",
        "timer_wheel",
        "rto_from_head",
        "sack_restarts_timer",
        "fin_beyond_window",
        "keep_sack_on_timeout",
        "scoreboard_starts_recovery",
        "recovery_point",
        "nagle",
        "fast_retransmit_restarts_timer",
        "rescue_retransmission",
        "nextseg_rule3",
        "duplicate_syn_restarts_timer",
        "quirk_opportunistic_rto",
        "quirk_window_update",
        "quirk_initial_window",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]
        #[test]
        fn all_arrives(
            picks in prop::collection::vec(0_usize..12, CHOICES.len()),
            switches in prop::collection::vec(any::<bool>(), SWITCHES.len()),
            seed in any::<u64>(),
            loss in 0_u64..12,
        ) {
            let mut config = Config { mss: 1000, ..Config::default() };
            for ((key, values), pick) in CHOICES.iter().zip(picks) {
                config.set(key, values[pick % values.len()]).unwrap();
            }
            for (key, on) in SWITCHES.iter().zip(switches) {
                config.set(key, if on { "true" } else { "false" }).unwrap();
            }
            let data = payload(120_000);
            let mut pair = Pair::same(&config).upload(&data);
            let mut x = seed | 1;
            pair.rule = Box::new(move |_| {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                match x % 100 {
                    n if n < loss => Fate::Drop,
                    20..25 => Fate::Delay(ms(x / 100 % 60)),
                    25..27 => Fate::Twice,
                    _ => Fate::Pass,
                }
            });
            pair.rate = 4_000_000;
            pair.finish();
            prop_assert!(pair.server.received == data, "{:?}\n{:?}", pair.client_stats(), config);
        }
    }
}
