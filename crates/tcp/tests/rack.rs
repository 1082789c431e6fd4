//! RACK and TLP (RFC 8985), DSACK (RFC 2883), F-RTO (RFC 5682): each rule in virtual time, 20 ms a round trip.

use crate::common::{Fate, Packet, Pair, ms, payload};
use anabranch_base::{Duration, Instant};
use anabranch_tcp::{Config, InitialWindow, LossRecovery, RttSampling, Timer};

const MSS: u64 = 1000;

/// Segments of 1000 bytes, acknowledged one by one; `window` of them at first.
fn config(window: u32) -> Config {
    Config {
        mss: MSS as u32,
        timestamps: false,
        delayed_ack: false,
        initial_window: InitialWindow::Segments(window),
        recovery: LossRecovery::Rack,
        rtt_sampling: RttSampling::Segments,
        dsack: true,
        ..Config::default()
    }
}

fn with_tlp(window: u32) -> Config {
    Config { tlp: true, ..config(window) }
}

fn millis(at: Instant) -> u64 {
    (at - Instant::ZERO).as_millis()
}

/// Sets the fate of the n-th copy of a data segment, both counted from 1.
fn data_fate(pair: Pair, mut fate: impl FnMut(u64, u64, Instant) -> Fate + 'static) -> Pair {
    let (mut start, mut copies) = (None, [0_u64; 400]);
    pair.with_rule(move |p| {
        if !p.from_client || !p.is_data() {
            return Fate::Pass;
        }
        let n = u64::from(p.header.seq.wrapping_sub(*start.get_or_insert(p.header.seq))) / MSS + 1;
        copies[n as usize] += 1;
        fate(n, copies[n as usize], p.at)
    })
}

/// When each data segment left: (milliseconds, number from 1).
fn sent(pair: &Pair) -> Vec<(u64, u64)> {
    let data: Vec<&Packet> = pair.log.iter().filter(|p| p.from_client && p.is_data()).collect();
    let start = data[0].header.seq;
    data.iter().map(|p| (millis(p.at), u64::from(p.header.seq.wrapping_sub(start)) / MSS + 1)).collect()
}

fn upload(config: &Config, segments: u64, fate: impl FnMut(u64, u64, Instant) -> Fate + 'static) -> Pair {
    let mut pair = data_fate(Pair::same(config), fate);
    pair.client.offer = payload((segments * MSS) as usize);
    pair
}

fn lose(lost: &'static [(u64, u64)]) -> impl FnMut(u64, u64, Instant) -> Fate + 'static {
    move |n, copy, _| if lost.contains(&(n, copy)) { Fate::Drop } else { Fate::Pass }
}

/// Section 6.2: two segments above are SACKed at 40 ms; the first left at 20 ms. It is lost 20 ms (RACK.rtt) and 5 ms
/// (min_RTT/4) after it left.
#[test]
fn a_segment_is_lost_when_the_reordering_window_has_passed() {
    let mut pair = upload(&config(3), 3, lose(&[(1, 1)]));
    pair.run(ms(500));
    assert_eq!(sent(&pair), [(20, 1), (20, 2), (20, 3), (45, 1)]);
    assert_eq!((pair.client_stats().fast_retransmits, pair.client_stats().timeouts), (1, 0));
    // RFC 6675 needs a third report and waits for the timeout.
    let mut pair = upload(&Config { recovery: LossRecovery::Sack6675, ..config(3) }, 3, lose(&[(1, 1)]));
    pair.run(Duration::from_secs(2));
    assert_eq!(sent(&pair)[3].0, 1020);
}

#[test]
fn what_comes_late_within_the_window_is_not_lost() {
    for (late, resent) in [(4, false), (6, true)] {
        let mut pair =
            upload(&config(3), 3, move |n, _, _| if n == 1 { Fate::Delay(ms(late)) } else { Fate::Pass });
        pair.run(ms(500));
        assert_eq!(pair.client_stats().retransmissions, u64::from(resent), "{late} ms late");
    }
}

/// Step 4: while no reordering has been seen three SACKed segments are enough, at once.
#[test]
fn three_reports_are_enough_while_nothing_was_reordered() {
    let mut pair = upload(&config(4), 4, lose(&[(1, 1)]));
    pair.run(ms(500));
    assert_eq!(sent(&pair)[4], (40, 1));
}

/// Step 3 and 4: once something came out of order, the count of reports means nothing and the window is waited for.
#[test]
fn after_reordering_the_window_is_waited_for() {
    let mut pair = upload(&config(6), 26, |n, copy, _| match (n, copy) {
        (5, 1) => Fate::Delay(ms(3)),
        (12, 1) => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.run(ms(500));
    let sent = sent(&pair);
    let first = sent.iter().find(|(_, n)| *n == 12).unwrap().0;
    let again = sent.iter().filter(|(_, n)| *n == 12).nth(1).unwrap().0;
    assert_eq!(again - first, 20 + 5, "{sent:?}");
    assert_eq!(pair.client_stats().retransmissions, 1);
}

/// Section 9.1, example 2: a retransmission that is lost again is found by a segment sent after it.
#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    let run = |recovery| {
        let config = Config { recovery, ..config(10) };
        let mut pair = upload(&config, 60, lose(&[(1, 1), (1, 2)]));
        // A millisecond a segment: no two leave at the same moment.
        pair.rate = 8_000_000;
        pair.run(Duration::from_secs(5));
        assert_eq!(pair.server.received.len(), 60_000);
        pair.client_stats()
    };
    let rack = run(LossRecovery::Rack);
    assert_eq!((rack.timeouts, rack.retransmissions), (0, 2));
    assert_eq!(run(LossRecovery::Sack6675).timeouts, 1);
}

/// Section 6.3: a timeout holds only the first for lost, and segments sent long enough ago.
#[test]
fn a_timeout_spares_what_was_sent_of_late() {
    let config = Config { rto_min: ms(100), ..config(2) };
    // Both of the first flight are lost; 300 ms later the user has two more, which arrive.
    let mut pair = upload(&config, 2, |n, copy, _| if n <= 2 && copy == 1 { Fate::Drop } else { Fate::Pass });
    pair.run(ms(110));
    pair.client.offer = payload(2000);
    pair.settle();
    pair.run(Duration::from_secs(2));
    // cwnd is full: the two wait for the timeout of 120 ms (20 + 80 is below the floor of 100).
    let sent = sent(&pair);
    assert_eq!(sent[..3], [(20, 1), (20, 2), (120, 1)], "{sent:?}");
    assert_eq!(pair.server.received.len(), 4000);
    assert_eq!(pair.client_stats().retransmissions, 2);
}

/// Section 7.2 and 7.3: one segment, PTO = 2*SRTT + max_ack_delay = 240 ms.
#[test]
fn a_lost_tail_is_probed_before_the_timeout() {
    let mut pair = upload(&with_tlp(1), 1, lose(&[(1, 1)]));
    pair.run(ms(100));
    assert_eq!(pair.client.stack.poll_timeout().unwrap().1, Timer::TailProbe);
    pair.run(Duration::from_secs(2));
    assert_eq!(sent(&pair), [(20, 1), (260, 1)]);
    let stats = pair.client_stats();
    assert_eq!((stats.tail_probes, stats.timeouts), (1, 0));
    // Several segments: the acknowledgement of the others restarts the timer, and one is left.
    let mut pair = upload(&with_tlp(3), 3, lose(&[(3, 1)]));
    pair.run(Duration::from_secs(2));
    assert_eq!(sent(&pair)[3], (40 + 240, 3));
}

/// "Transmit the lowest-sequence unsent segment" even beyond cwnd; its SACK tells RACK of the losses before it.
#[test]
fn the_probe_is_new_data_where_there_is_some() {
    let mut pair = upload(&with_tlp(2), 3, lose(&[(1, 1), (2, 1)]));
    pair.run(Duration::from_secs(2));
    // 20 + 2*SRTT; the probe's SACK is there at 80 ms, and both have been out for longer than its round trip and 5 ms.
    assert_eq!(sent(&pair), [(20, 1), (20, 2), (60, 3), (80, 1), (80, 2)]);
    assert_eq!(pair.client_stats().timeouts, 0);
}

/// "If Now() + PTO > TCP_RTO_expiration(): PTO = TCP_RTO_expiration() - Now()".
#[test]
fn the_probe_is_not_later_than_the_timeout() {
    let config = Config { rto_min: ms(100), ..with_tlp(1) };
    let mut pair = upload(&config, 1, lose(&[(1, 1)]));
    pair.run(Duration::from_secs(2));
    assert_eq!(sent(&pair), [(20, 1), (120, 1)]);
    assert_eq!((pair.client_stats().tail_probes, pair.client_stats().timeouts), (1, 0));
}

/// Section 7.3: one probe at a time; when it is lost as well the timeout comes an RTO after it.
#[test]
fn a_lost_probe_leaves_the_rest_to_the_timeout() {
    let mut pair = upload(&with_tlp(1), 1, lose(&[(1, 1), (1, 2)]));
    pair.run(Duration::from_secs(3));
    assert_eq!(sent(&pair), [(20, 1), (260, 1), (1260, 1)]);
    assert_eq!((pair.client_stats().tail_probes, pair.client_stats().timeouts), (1, 1));
}

/// Section 7.4.2: the probe repaired a loss, which must reduce the window; when the original had arrived a DSACK says so.
#[test]
fn a_repaired_loss_reduces_the_window_and_a_needless_probe_does_not() {
    let run = |fate: fn(u64, u64) -> Fate| {
        let mut pair = upload(&with_tlp(10), 10, move |n, copy, _| fate(n, copy));
        pair.run(ms(700));
        let before = pair.client_stats().ssthresh;
        assert_eq!(
            (before, pair.client_stats().tail_probes),
            (u64::MAX, 1),
            "the ACK of the probe itself says nothing"
        );
        pair.client.offer = payload(3000);
        pair.settle();
        pair.run(ms(700));
        assert_eq!((pair.server.received.len(), pair.client_stats().timeouts), (13_000, 0));
        pair.client_stats().ssthresh
    };
    assert!(run(|n, copy| if (n, copy) == (10, 1) { Fate::Drop } else { Fate::Pass }) < 20_000);
    // 300 ms late: the original and the probe both arrive.
    let late = |n, copy| if (n, copy) == (10, 1) { Fate::Delay(ms(300)) } else { Fate::Pass };
    assert_eq!(run(late), u64::MAX);
}

/// RFC 2883, section 4: the first block is the duplicate, below the acknowledgement or within the second block.
#[test]
fn duplicates_are_reported_in_the_first_block() {
    for dsack in [true, false] {
        let config = Config { dsack, ..config(4) };
        let mut pair = upload(&config, 4, |n, copy, _| match (n, copy) {
            (1, 1) | (4, 1) => Fate::Twice,
            (2, 1) => Fate::Drop,
            _ => Fate::Pass,
        });
        pair.run(ms(35));
        let base = pair.log.iter().find(|p| p.from_client && p.is_data()).unwrap().header.seq;
        let reports: Vec<Vec<(u32, u32)>> = pair
            .log
            .iter()
            .filter(|p| !p.from_client && p.header.ack > base)
            .map(|p| {
                let blocks = p.header.options.sack.as_slice().iter();
                blocks.map(|(a, b)| ((a - base) / 1000, (b - base) / 1000)).collect()
            })
            .collect();
        let duplicate = |block, rest: &[(u32, u32)]| -> Vec<(u32, u32)> {
            let first = Some(block).filter(|_| dsack);
            first.into_iter().chain(rest.iter().copied()).collect()
        };
        let expected =
            [vec![], duplicate((0, 1), &[]), vec![(2, 3)], vec![(2, 4)], duplicate((3, 4), &[(2, 4)])];
        assert_eq!(reports, expected, "dsack {dsack}");
    }
}

/// RFC 3708: a retransmission that a DSACK reports was needless, and the window is as before.
#[test]
fn a_dsack_for_every_retransmission_undoes_the_reduction() {
    for undo in [true, false] {
        let config = Config { undo, recovery: LossRecovery::Sack6675, ..config(10) };
        // The first comes 8 ms late, after nine reports.
        let late = |n, copy, _| if (n, copy) == (1, 1) { Fate::Delay(ms(8)) } else { Fate::Pass };
        let mut pair = upload(&config, 30, late);
        pair.run(ms(500));
        let stats = pair.client_stats();
        assert_eq!((stats.retransmissions, stats.undone), (1, u64::from(undo)));
        assert_eq!(stats.ssthresh == u64::MAX, undo);
    }
}

/// RFC 5682, section 3.1: after a spurious timeout new data is sent first, its originals are acknowledged, and nothing
/// but the first segment was sent again.
#[test]
fn frto_finds_a_spurious_timeout_without_timestamps() {
    for frto in [true, false] {
        let config = Config { frto, undo: true, dsack: false, rto_min: ms(200), ..config(10) };
        // The path stands still from 35 ms to 435 ms.
        let mut pair = upload(&config, 200, |_, _, at| match millis(at) {
            35..435 => Fate::Delay(ms(435 - millis(at))),
            _ => Fate::Pass,
        });
        pair.run(Duration::from_secs(5));
        assert_eq!(pair.server.received.len(), 200_000);
        let stats = pair.client_stats();
        assert_eq!(stats.timeouts, 1);
        if frto {
            assert_eq!((stats.undone, stats.retransmissions, stats.ssthresh), (1, 1, u64::MAX), "{stats:?}");
        } else {
            assert!(stats.undone == 0 && stats.retransmissions > 10, "{stats:?}");
        }
    }
}

/// The loss was real: F-RTO goes back to the retransmissions.
#[test]
fn frto_gives_way_to_a_real_loss() {
    let config = Config { frto: true, undo: true, rto_min: ms(200), ..config(10) };
    let mut pair =
        upload(&config, 60, |n, copy, _| if n <= 10 && copy == 1 { Fate::Drop } else { Fate::Pass });
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.server.received.len(), 60_000);
    let stats = pair.client_stats();
    assert_eq!((stats.timeouts, stats.undone, stats.retransmissions), (1, 0, 10));
    assert!(stats.ssthresh < u64::MAX);
}

/// Claim X-2: no position of a single loss costs today's TCP a timeout, but that of a SYN-ACK.
#[test]
fn no_single_loss_of_data_needs_a_timeout() {
    let config = Config::named("rack-cubic").unwrap();
    for position in 1..=16 {
        let mut pair = Pair::same(&config).upload(&payload(16 * 1448));
        let mut seen = 0;
        pair.rule = Box::new(move |p| {
            seen += u64::from(p.from_client && p.is_data());
            if p.from_client && p.is_data() && seen == position { Fate::Drop } else { Fate::Pass }
        });
        pair.rate = 1_000_000;
        pair.delay = ms(40);
        pair.finish();
        let stats = pair.client_stats();
        assert_eq!((stats.timeouts, stats.retransmissions), (0, 1), "{position}: {stats:?}");
        assert_eq!(pair.server.received.len(), 16 * 1448);
    }
}
