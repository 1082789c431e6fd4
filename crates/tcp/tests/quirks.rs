//! FreeBSD 6.0's mistakes, each with the effect that Hurtig et al. (2006) describe, and without it when the flag is off.

use crate::common::{Fate, Packet, Pair, ms, payload};
use anabranch_base::{Duration, Instant};
use anabranch_tcp::{Config, InitialWindow, Stats};

const MSS: u64 = 1448;

fn freebsd() -> Config {
    // The study's client acknowledges segments out of order at once and the rest as ever; here every segment.
    Config { delayed_ack: false, ..Config::named("freebsd-6.0").expect("a profile") }
}

fn micros(at: Instant) -> u64 {
    (at - Instant::ZERO).as_nanos() / 1000
}

/// The server sends 16 segments; the data segment at `position` of all it sends, from 1, is lost.
fn download(config: &Config, rate: u64, delay: Duration, position: u64) -> Pair {
    let mut pair = Pair::same(config);
    let mut seen = 0;
    pair.rule = Box::new(move |p| {
        seen += u64::from(!p.from_client && p.is_data());
        if !p.from_client && p.is_data() && seen == position { Fate::Vanish } else { Fate::Pass }
    });
    (pair.rate, pair.delay) = (rate, delay);
    pair.server.offer = payload(16 * MSS as usize);
    pair.server.close_after_offer = true;
    pair.run(Duration::from_secs(60));
    assert_eq!(pair.client.received.len(), 16 * MSS as usize);
    pair
}

fn data(pair: &Pair) -> Vec<&Packet> {
    pair.log.iter().filter(|p| !p.from_client && p.is_data()).collect()
}

/// Numbers of the data segments from 1, as they left.
fn numbers(pair: &Pair) -> Vec<u64> {
    let data = data(pair);
    let start = data[0].header.seq;
    data.iter().map(|p| u64::from(p.header.seq.wrapping_sub(start)) / MSS + 1).collect()
}

/// Claim H-T-4 and Figs. 17, 18: at 40 kb/s without delay the handshake's small packets make a timeout of 3 RTT + 200 ms,
/// less than a full segment's round trip: the three segments of the first window are sent twice, and the client sees all six.
#[test]
fn the_opportunistic_timeout_resends_the_first_window() {
    let quirk = Config { quirk_opportunistic_rto: true, ..freebsd() };
    let pair = download(&quirk, 40_000, Duration::ZERO, 0);
    let data = data(&pair);
    // SYN-ACK and ACK are 60 and 52 bytes of IP: RTT 22.4 ms; the study's are 78 and 66 with their Ethernet header.
    let rtt = (60 + 52) * 8 * 1_000_000 / 40_000;
    assert_eq!(micros(data[3].at) - micros(data[0].at), 3 * rtt + 200_000);
    assert_eq!(numbers(&pair)[..4], [1, 2, 3, 1]);
    let stats: Stats = pair.server_stats();
    assert!(stats.timeouts >= 1 && stats.retransmissions >= 3, "{stats:?}");
    assert!(pair.client_stats().duplicates_received >= 3);

    // Without the quirk the first data waits for the initial 3 s, and nothing is sent twice.
    let pair = download(&freebsd(), 40_000, Duration::ZERO, 0);
    assert_eq!((pair.server_stats().timeouts, pair.server_stats().retransmissions), (0, 0));
    // Claim H-T-8: with a proper minimum of a second, neither.
    let pair = download(&Config { rto_min: ms(1000), ..quirk.clone() }, 40_000, Duration::ZERO, 0);
    assert_eq!((pair.server_stats().timeouts, pair.server_stats().retransmissions), (0, 0));
    // Claim H-T-9: with a window of one segment only that one is sent twice.
    let one = Config { initial_window: InitialWindow::Segments(1), ..quirk };
    let pair = download(&one, 40_000, Duration::ZERO, 0);
    assert_eq!(numbers(&pair)[..4], [1, 1, 2, 3]);
}

/// Section 7.1.2 and Fig. 19: after the spurious timeout the loss of the first new segment waits for a timeout that was
/// backed off for each needless retransmission and never came back (claim H-F19: at least four times the first). Losses
/// after it are recovered fast: a peak at one position (claim H-T-3).
#[test]
fn faulty_recovery_waits_for_a_backed_off_timeout() {
    let first = 3 * ((60 + 52) * 8 * 1_000_000 / 40_000 + 10_000) + 200_000;
    let run = |quirk_faulty_recovery, position| {
        let config = Config { quirk_opportunistic_rto: true, quirk_faulty_recovery, ..freebsd() };
        let pair = download(&config, 40_000, ms(5), position);
        let (data, numbers) = (data(&pair), numbers(&pair));
        assert_eq!(numbers[..6], [1, 2, 3, 1, 2, 3], "the first window twice");
        let lost = numbers[position as usize - 1];
        let mut copies = data.iter().zip(&numbers).filter(|(_, n)| **n == lost).map(|(p, _)| micros(p.at));
        let (first, last) = (copies.next().unwrap(), copies.next_back().unwrap());
        (last - first, pair.server_stats().fast_retransmits, pair.server_stats().timeouts)
    };
    let (wait, fast, timeouts) = run(true, 7);
    assert!(wait >= 4 * first, "{wait} us, the first timeout was {first} us");
    assert_eq!((fast, timeouts), (0, 2));
    for position in 8..=12 {
        let (shorter, fast, timeouts) = run(true, position);
        assert!(shorter * 2 < wait, "{position}: {shorter} us against {wait} us");
        assert_eq!((fast, timeouts), (1, 1), "{position}");
    }
    // Without the quirk the same loss costs a timeout that is of this round trip, not eight times the first.
    let (clean, _, _) = run(false, 7);
    assert!(clean * 3 < wait, "{clean} us against {wait} us");
}

/// Section 7.1.3, claim H-T-2: the duplicate acknowledgement that gives the window back is none: with three segments
/// after the lost one fast retransmit needs a fourth duplicate and never gets it; with four it works.
#[test]
fn a_window_update_costs_a_duplicate() {
    // Data segments 13 to 16 of 16: three, two, one and none behind.
    let fast = |quirk_window_update, position| {
        let config = Config { quirk_window_update, ..freebsd() };
        let stats = download(&config, 1_000_000, ms(40), position).server_stats();
        (stats.fast_retransmits, stats.timeouts)
    };
    assert_eq!(fast(false, 13), (1, 0), "three duplicates are enough");
    assert_eq!(fast(true, 13), (0, 1), "the first of three only gave the window back");
    assert_eq!(fast(true, 12), (1, 0), "the fourth is the third that counts");
    for position in 14..=16 {
        assert_eq!(fast(false, position), (0, 1), "too few in any case");
        assert_eq!(fast(true, position), (0, 1));
    }
}

/// The window field itself: an acknowledgement in order lacks its own data, a duplicate has it back.
#[test]
fn the_window_is_given_back_with_the_next_acknowledgement() {
    let config = Config { quirk_window_update: true, window_scaling: false, ..freebsd() };
    let pair = download(&Config { receive_buffer: 60_000, ..config }, 1_000_000, ms(40), 13);
    let windows: Vec<u16> = pair
        .log
        .iter()
        .filter(|p| p.from_client && p.at > Instant::ZERO + ms(120))
        .map(|p| p.header.window)
        .collect();
    assert_eq!(windows[..3], [60_000 - 1448; 3]);
    let duplicates = pair.log.iter().filter(|p| !p.header.options.sack.as_slice().is_empty());
    assert!(duplicates.clone().count() >= 3 && duplicates.clone().all(|p| p.header.window == 60_000));
}

/// Appendix C.1.4: four segments instead of the three that RFC 3390 allows.
#[test]
fn the_acknowledgement_of_the_syn_grows_the_window() {
    let first_flight = |quirk_initial_window| {
        let config = Config { quirk_initial_window, ..freebsd() };
        let mut pair = Pair::same(&config);
        pair.server.offer = payload(16 * MSS as usize);
        pair.run(ms(35));
        pair.server_stats().packets_sent
    };
    assert_eq!((first_flight(false), first_flight(true)), (3, 4));
}

/// Claims H-T-2 and H-T-8: the study's flow of SYN-ACK, 18 segments and last ACK, one loss at each position. At 1 Mb/s
/// packets 16 to 19 need the timeout, at 40 kb/s and with a minimum of a second 17 to 19.
#[test]
fn which_positions_need_the_timeout() {
    let needs_timeout =
        |rto_min, rate, delay| -> Vec<u64> {
            let config = Config {
                quirk_opportunistic_rto: true,
                quirk_faulty_recovery: true,
                quirk_window_update: true,
                rto_min,
                ..Config::named("freebsd-6.0").unwrap()
            };
            let slow =
                |position: &u64| {
                    let position = *position;
                    let mut pair = Pair::same(&config);
                    pair.rule = Box::new(move |p| {
                        if !p.from_client && p.number == position { Fate::Vanish } else { Fate::Pass }
                    });
                    (pair.rate, pair.delay) = (rate, delay);
                    pair.server.offer = payload(18 * MSS as usize);
                    pair.server.close_after_offer = true;
                    pair.run(Duration::from_secs(60));
                    let stats = pair.server_stats();
                    stats.timeouts > 0 && stats.fast_retransmits == 0
                };
            (2..=20).filter(slow).collect()
        };
    assert_eq!(needs_timeout(ms(3), 1_000_000, ms(40)), [16, 17, 18, 19]);
    assert_eq!(needs_timeout(ms(3), 10_000_000, ms(300)), [16, 17, 18, 19]);
    assert_eq!(needs_timeout(ms(1000), 40_000, ms(5)), [17, 18, 19]);
}
