//! Loss recovery, segment by segment, in virtual time.

use crate::common::{Fate, Packet, Pair, ms, payload};
use anabranch_base::{Duration, Instant, RetransmitReason, Rng, TraceEvent};
use anabranch_tcp::{Config, InitialWindow};

const MSS: u64 = 1448;

/// Number of a data segment, from 1, by its first byte.
fn number(p: &Packet, first: u32) -> u64 {
    u64::from(p.header.seq.wrapping_sub(first)) / MSS + 1
}

/// A transfer in which the first copies of the segments in `lost` never arrive.
fn losing(pair: Pair, lost: &'static [u64]) -> Pair {
    let (mut first, mut done) = (None, Vec::new());
    pair.with_rule(move |p| {
        if !p.from_client || !p.is_data() {
            return Fate::Pass;
        }
        let n = number(p, *first.get_or_insert(p.header.seq));
        if lost.contains(&n) && !done.contains(&n) {
            done.push(n);
            return Fate::Drop;
        }
        Fate::Pass
    })
}

/// Trace of the client: (time, line).
fn script(pair: &Pair) -> Vec<(Instant, String)> {
    pair.trace
        .iter()
        .filter_map(|r| {
            let line = match r.event {
                TraceEvent::Sent { seq, retransmit, .. } => {
                    let n = seq / MSS + 1;
                    match retransmit {
                        None => format!("send {n}"),
                        Some(RetransmitReason::FastRetransmit) => format!("fast {n}"),
                        Some(RetransmitReason::Recovery) => format!("resend {n}"),
                        Some(RetransmitReason::Timeout) => format!("timeout {n}"),
                        Some(RetransmitReason::Probe) => format!("probe {n}"),
                    }
                }
                TraceEvent::AckReceived { cumulative, .. } => format!("ack {}", cumulative / MSS + 1),
                _ => return None,
            };
            Some((r.at, line))
        })
        .collect()
}

fn lines(pair: &Pair, after: Instant) -> Vec<String> {
    script(pair).into_iter().filter(|(at, _)| *at >= after).map(|(_, line)| line).collect()
}

/// The satellite study's path: 3 Mb/s, 254 ms one way.
fn satellite(config: &Config, segments: u64, lost: &'static [u64]) -> Pair {
    let mut pair = losing(Pair::same(config).upload(&payload((segments * MSS) as usize)), lost);
    pair.rate = 3_000_000;
    pair.delay = ms(254);
    pair
}

/// Alamgir et al. (2005), Fig. 8: packet 7 is lost when cwnd is 8.
#[test]
fn figure_8() {
    let config = Config::named("study-2005").unwrap();
    let mut pair = satellite(&config, 60, &[7]);
    pair.run(Duration::from_secs(30));

    let all = script(&pair);
    let duplicates: Vec<Instant> = {
        let acks: Vec<_> = all.iter().filter(|(_, l)| l == "ack 7").map(|(at, _)| *at).collect();
        assert_eq!(acks.len(), 8, "the acknowledgement that asks for 7, and seven duplicates");
        acks[1..].to_vec()
    };
    for pair in duplicates.windows(2) {
        // 1448 + 40 bytes at 3 Mb/s: 3.968 ms.
        assert_eq!((pair[1] - pair[0]).as_nanos(), 1488 * 8 * 1_000_000_000 / 3_000_000);
    }
    let during: Vec<&str> = all
        .iter()
        .filter(|(at, _)| (duplicates[0]..=duplicates[6]).contains(at))
        .map(|(_, line)| line.as_str())
        .collect();
    assert_eq!(
        during,
        [
            "ack 7", "ack 7", "ack 7", "fast 7", // on the third, and cwnd 8 becomes 4
            "ack 7",  // nothing: five less one are still four
            "ack 7", "send 15", "ack 7", "send 16", "ack 7", "send 17",
        ]
    );
    let windows: Vec<u64> = pair
        .trace
        .iter()
        .filter(|r| (duplicates[0]..=duplicates[2]).contains(&r.at))
        .filter_map(|r| match r.event {
            TraceEvent::Window { cwnd, .. } => Some(cwnd / MSS),
            _ => None,
        })
        .collect();
    assert_eq!(windows, [8, 8, 4]);
    let stats = pair.client_stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts, stats.retransmissions), (1, 0, 1));
}

/// The same with limited transmit: the first two duplicates are no longer wasted.
#[test]
fn figure_8_with_limited_transmit() {
    let mut pair = satellite(&Config::named("ns2-sack1").unwrap(), 60, &[7]);
    pair.run(Duration::from_secs(30));
    let all = lines(&pair, Instant::ZERO);
    let from = all.iter().position(|l| l == "ack 7").unwrap() + 1;
    let from = from + all[from..].iter().position(|l| l == "ack 7").unwrap();
    assert_eq!(
        all[from..from + 15],
        [
            "ack 7", "send 15", "ack 7", "send 16", "ack 7", "fast 7", // pipe = 10 - 3
            "ack 7", "ack 7", "ack 7", "ack 7", "send 17", "ack 7", "send 18", "ack 7", "send 19",
        ],
        "nine duplicates: seven and the two that limited transmit made"
    );
    assert_eq!(pair.client_stats().fast_retransmits, 1);
}

/// No limit but the window under test: ten segments at once, SACK or not, acknowledged one by one.
fn plain(profile: &str) -> Config {
    let named = Config::named(profile).expect("a profile");
    Config {
        timestamps: false,
        mss: MSS as u32,
        delayed_ack: false,
        limited_transmit: false,
        initial_window: InitialWindow::Segments(10),
        ..named
    }
}

/// Acknowledgements arrive one by one, 1 ms apart.
fn spaced(config: &Config, segments: u64, lost: &'static [u64]) -> Pair {
    let mut pair = losing(Pair::same(config).upload(&payload((segments * MSS) as usize)), lost);
    pair.rate = 1488 * 8 * 1000;
    pair.delay = ms(50);
    pair
}

/// RFC 6582: two losses in a window cost one reduction, one retransmission a round trip, no timeout.
#[test]
fn newreno_retransmits_on_a_partial_acknowledgement() {
    let mut pair = spaced(&plain("newreno"), 30, &[2, 5]);
    pair.run(Duration::from_secs(20));
    let all = lines(&pair, Instant::ZERO);
    let at =
        |what: &str| all.iter().position(|l| l == what).unwrap_or_else(|| panic!("no {what} in {all:?}"));
    assert!(at("fast 2") < at("resend 5"));
    assert_eq!(all[at("resend 5") - 1], "ack 5", "the partial acknowledgement");
    let stats = pair.client_stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts, stats.retransmissions), (1, 0, 2));
}

/// RFC 5681's Reno leaves recovery at the partial acknowledgement: a second reduction, or a timeout.
#[test]
fn reno_needs_more_for_two_losses() {
    let mut pair = spaced(&plain("reno"), 30, &[2, 5]);
    pair.run(Duration::from_secs(20));
    let stats = pair.client_stats();
    assert!(stats.fast_retransmits + stats.timeouts >= 2, "{stats:?}");
}

/// RFC 6675: three losses in one window are repaired in one round trip.
#[test]
fn sack_repairs_many_losses_in_a_round_trip() {
    let mut pair = spaced(&plain("sack"), 30, &[2, 4, 6]);
    pair.run(Duration::from_secs(20));
    let all = script(&pair);
    let time =
        |what: &str| all.iter().find(|(_, l)| l == what).unwrap_or_else(|| panic!("{what}: {all:?}")).0;
    let (first, last) = (time("fast 2"), time("resend 6"));
    assert!(last - first < ms(100), "within a round trip: {first} {last}");
    let stats = pair.client_stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts, stats.retransmissions), (1, 0, 3));
    // "ssthresh = cwnd = (FlightSize / 2)": segments 2 to 12, for the acknowledgement of 1 sent two.
    assert_eq!(stats.ssthresh, 11 * MSS / 2);
}

/// A SACK of more than two segments above a hole proves it lost, with one duplicate acknowledgement (IsLost by bytes).
#[test]
fn sack_needs_no_three_duplicates_when_one_sack_tells_enough() {
    // The acknowledgements for segments 3 to 5 are lost; that for 6 reports 3 to 6.
    let mut first = None;
    let mut pair = Pair::same(&plain("sack")).upload(&payload(20 * MSS as usize));
    pair.rate = 1488 * 8 * 1000;
    pair.delay = ms(50);
    let mut acks = 0;
    let mut dropped = false;
    pair.rule = Box::new(move |p| {
        if p.from_client && p.is_data() {
            let n = number(p, *first.get_or_insert(p.header.seq));
            if n == 2 && !dropped {
                dropped = true;
                return Fate::Drop;
            }
        }
        if !p.from_client && !p.header.options.sack.as_slice().is_empty() {
            acks += 1;
            if acks <= 3 {
                return Fate::Drop;
            }
        }
        Fate::Pass
    });
    pair.run(Duration::from_secs(20));
    let all = lines(&pair, Instant::ZERO);
    let fast = all.iter().position(|l| l == "fast 2").unwrap();
    let duplicates = all[..fast].iter().filter(|l| *l == "ack 2").count();
    assert_eq!(duplicates, 2, "the acknowledgement that asks for 2, and one duplicate: {all:?}");
}

/// RFC 3042: one new segment for each of the first two duplicates; a window of 4 survives a loss without a timeout.
#[test]
fn limited_transmit_saves_a_small_window() {
    for (limited, timeouts) in [(false, 1), (true, 0)] {
        for profile in ["reno", "newreno", "sack"] {
            // Three outstanding behind the loss are needed; a window of 3 has two.
            let config = Config {
                limited_transmit: limited,
                initial_window: InitialWindow::Segments(3),
                initial_ssthresh: Some(2 * MSS),
                ..plain(profile)
            };
            let mut pair = spaced(&config, 12, &[1]);
            pair.run(Duration::from_secs(20));
            let stats = pair.client_stats();
            assert_eq!(stats.timeouts, timeouts, "{profile}, limited transmit {limited}: {stats:?}");
            assert_eq!(stats.fast_retransmits, 1 - timeouts, "{profile}, limited transmit {limited}");
        }
    }
}

/// RFC 6298, 5.5: the timer doubles, to the ceiling, and ssthresh is cut once for one segment (RFC 5681, section 3.1).
#[test]
fn timeouts_back_off() {
    let config = Config { rto_max: Duration::from_secs(10), ..plain("sack") };
    let mut pair = Pair::same(&config)
        .upload(&payload(3 * MSS as usize))
        .with_rule(|p| if p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.run(Duration::from_secs(40));
    let times: Vec<u64> =
        pair.log.iter().filter(|p| p.is_data()).map(|p| (p.at - Instant::ZERO).as_millis()).collect();
    // 20 ms handshake, so the floor of 1 s rules: sent at 20 ms, then 1, 2, 4, 8, 10, 10 s apart.
    assert_eq!(times, [20, 20, 20, 1020, 3020, 7020, 15020, 25020, 35020]);
    assert_eq!(pair.client_stats().ssthresh, 2 * MSS);
    assert_eq!(pair.client_stats().cwnd, MSS);
}

/// After a timeout with SACK only missing segments are sent again; without it everything (go-back-N).
#[test]
fn what_is_sacked_is_not_sent_again_after_a_timeout() {
    // The fast retransmission of 1 is lost as well: a timeout with nine segments SACKed.
    let run = |config: &Config| {
        let (mut first, mut copies) = (None, 0);
        let mut pair = Pair::same(config).upload(&payload(10 * MSS as usize)).with_rule(move |p| {
            if p.from_client && p.is_data() && number(p, *first.get_or_insert(p.header.seq)) == 1 {
                copies += 1;
                if copies <= 2 {
                    return Fate::Drop;
                }
            }
            Fate::Pass
        });
        pair.run(Duration::from_secs(30));
        assert_eq!(pair.client_stats().timeouts, 1);
        pair.client_stats().retransmissions
    };
    let sack = Config { rescue_retransmission: false, ..plain("sack") };
    assert_eq!(run(&sack), 2, "the fast retransmission and the timeout's");
    assert_eq!(run(&plain("sack")), 3, "and NextSeg's rule 4 sends the last one again in the first recovery");
    let forgetful = Config { keep_sack_on_timeout: false, ..sack };
    assert_eq!(run(&forgetful), 2, "one round trip later everything is acknowledged");
    assert_eq!(run(&plain("newreno")), 2);
}

/// A timeout takes cwnd to one segment, and slow start follows to half of the bytes that were in flight.
#[test]
fn slow_start_after_a_timeout() {
    for profile in ["newreno", "sack", "ns2-sack1"] {
        let config = Config { duplicate_threshold: 1000, ..plain(profile) };
        let mut pair = spaced(&config, 60, &[1]);
        pair.run(Duration::from_secs(30));
        let stats = pair.client_stats();
        assert_eq!(stats.timeouts, 1, "{profile}");
        let after: Vec<u64> = pair
            .trace
            .iter()
            .skip_while(|r| !matches!(r.event, TraceEvent::Timeout { .. }))
            .filter_map(|r| match r.event {
                TraceEvent::Window { cwnd, .. } => Some(cwnd / MSS),
                _ => None,
            })
            .collect();
        assert_eq!(after[0], 1, "{profile}");
        assert_eq!(stats.ssthresh, 5 * MSS, "{profile}");
        assert_eq!(pair.server.received.len() as u64, 60 * MSS, "{profile}");
    }
}

/// No second fast retransmit for data that was outstanding at a timeout (RFC 6582's recover), if so configured.
#[test]
fn recovery_point_guards_against_old_duplicates() {
    for profile in ["newreno", "ns2-sack1"] {
        let config = Config { duplicate_threshold: 3, ..plain(profile) };
        // Everything is delayed beyond the timeout once: the copies make duplicates.
        let mut late = 0;
        let mut pair = Pair::same(&config).upload(&payload(40 * MSS as usize)).with_rule(move |p| {
            late += u32::from(p.from_client && p.is_data());
            if p.from_client && p.is_data() && late <= 10 { Fate::Delay(ms(1500)) } else { Fate::Pass }
        });
        pair.run(Duration::from_secs(60));
        let stats = pair.client_stats();
        assert_eq!(pair.server.received.len() as u64, 40 * MSS);
        assert!(stats.timeouts >= 1 && stats.fast_retransmits == 0, "{profile}: {stats:?}");
    }
}

/// RFC 3522, section 3.2: an echo older than the first retransmission tells of an original. One of the recovery before may still be on its
/// way when the next begins, and its echo does not: where nothing is reordered nothing is needless.
#[test]
fn the_echo_of_an_earlier_retransmission_undoes_nothing() {
    for seed in 1..=5 {
        let mut config = Config::named("rack-cubic").unwrap();
        (config.dsack, config.frto, config.tlp) = (false, false, false);
        (config.receive_buffer, config.send_buffer) = (16 << 20, 16 << 20);
        let mut rng = Rng::stream(seed, "test", "loss");
        let mut pair = Pair::same(&config)
            .upload(&payload(4_000_000))
            .with_rule(move |p| if p.is_data() && rng.f64() < 0.02 { Fate::Drop } else { Fate::Pass });
        (pair.rate, pair.delay) = (20_000_000, ms(50));
        pair.finish();
        let stats = pair.client_stats();
        assert!(stats.fast_retransmits > 10, "{stats:?}");
        assert_eq!(stats.undone, 0, "{stats:?}");
    }
}
