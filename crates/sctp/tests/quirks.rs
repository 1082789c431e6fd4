//! The stacks of 2001 to 2006 and their bugs: what Hurtig, Garcia and Brunstrom (2006) report of them, position by
//! position. Each quirk alone shows the effect that the report describes, and without it the effect is gone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use anabranch_base::Instant;
use anabranch_sctp::{Config, Event};
use common::Side;
use common::single_loss::{HIGH, LOW, MEDIUM, SingleLoss};

fn with(profile: &str, values: &[(&str, &str)]) -> Config {
    let mut config = Config::named(profile).unwrap();
    for (key, value) in values {
        config.set(key, value).unwrap();
    }
    config
}

fn run(config: &Config, set: (u64, u64), position: u64) -> SingleLoss {
    SingleLoss::run(config, set, position, Instant::ZERO)
}

/// Positions whose loss needs a timeout of the server, and those repaired by a fast retransmit alone.
fn repairs(config: &Config, set: (u64, u64)) -> (Vec<u64>, Vec<u64>) {
    let (mut timeouts, mut fast) = (Vec::new(), Vec::new());
    for k in 1..=20 {
        let stats = run(config, set, k).stats;
        if stats.timeouts > 0 || k == 19 {
            timeouts.push(k); // SHUTDOWN has a timer of its own
        } else if stats.fast_retransmits > 0 {
            fast.push(k);
        }
    }
    (timeouts, fast)
}

/// H-G-1, of the clean engines: a lost INIT ACK costs the initial RTO; as many of the last DATA as the threshold, and SHUTDOWN,
/// need a timeout; SHUTDOWN COMPLETE is free; in the middle there is a fast retransmit.
#[test]
fn which_positions_need_a_timeout() {
    for (profile, tail) in [("rfc2960", 15), ("lksctp-2006", 15), ("sctplib-2001", 15), ("rfc9260", 16)] {
        let config = with(profile, &[]);
        let (timeouts, fast) = repairs(&config, MEDIUM);
        let late: Vec<u64> = timeouts.into_iter().filter(|k| *k > 2).collect();
        assert_eq!(late, (tail..=19).collect::<Vec<_>>(), "{profile}");
        assert_eq!(fast, (3..tail).collect::<Vec<_>>(), "{profile}");
        let [none, first, last] = [0, 1, 20].map(|k| run(&config, MEDIUM, k).times[2]);
        let initial = config.timers.rto_initial.as_secs_f64();
        assert!((first - none - initial).abs() < 0.01 && (last - none).abs() < 1e-6, "{profile}");
    }
}

/// H-S-2: KAME's threshold is 3 ("four out of the last five packets are only possible to recover via timeout"), and as its
/// window is one packet the first DATA needs a timeout, too.
#[test]
fn kame_has_a_window_of_one_packet_and_a_threshold_of_three() {
    for set in [LOW, MEDIUM, HIGH] {
        let (timeouts, _) = repairs(&with("kame-2006-bugs", &[]), set);
        assert!(timeouts.contains(&3) && !timeouts.contains(&15), "{timeouts:?}");
        assert!((16..=19).all(|k| timeouts.contains(&k)), "{timeouts:?}");
    }
}

/// H-S-2: "the timeout occurs after roughly one second in Figures 11(a), 11(b) and about two seconds in Figure 11(c), even
/// though the value of the initial RTO timer is set to three seconds".
#[test]
fn handshake_rto_sets_the_first_timeout() {
    let opportunistic = with("kame-2006", &[("quirk_handshake_rto", "true")]);
    for (set, expected) in [(LOW, 1.0), (MEDIUM, 1.0), (HIGH, 1.8)] {
        let waits = [&opportunistic, &with("kame-2006", &[])].map(|config| {
            let run = run(config, set, 3);
            let sent: Vec<_> = run.data().filter(|(n, _)| *n == 0).map(|(_, p)| p.at).collect();
            (sent[1] - sent[0]).as_secs_f64()
        });
        assert!((waits[0] - expected).abs() < 0.01, "{waits:?}");
        assert!((waits[1] - 3.0).abs() < 1e-6, "{waits:?}");
    }
}

/// H-S-5: with the RTO of the handshake an initial RTO of 1 s changes what a lost INIT ACK costs, and nothing else.
#[test]
fn handshake_rto_makes_the_initial_rto_irrelevant() {
    let configs = [with("kame-2006-bugs", &[]), with("kame-2006-bugs", &[("rto_initial", "1 s")])];
    for set in [LOW, MEDIUM, HIGH] {
        for k in 0..=20 {
            let [long, short] = configs.clone().map(|config| run(&config, set, k).times[2]);
            let expected = if k == 1 { 2.0 } else { 0.0 };
            assert!((long - short - expected).abs() < 1e-6, "{set:?} {k}: {long} {short}");
        }
    }
}

/// H-S-7: with an RTO.Min of 200 ms the RTO of the small packets of the handshake is too short for the first DATA at 40 kbit/s:
/// it is sent again before its SACK can be there, and the transfer takes longer.
#[test]
fn handshake_rto_is_too_short_on_slow_links() {
    let short = [("rto_min", "200 ms"), ("quirk_handshake_rto", "true")];
    let with_it = run(&with("kame-2006", &short), LOW, 0);
    let without = run(&with("kame-2006", &short[..1]), LOW, 0);
    assert!(with_it.spurious.starts_with(&[0]) && with_it.spurious.len() >= 3, "{:?}", with_it.spurious);
    assert!(with_it.stats.timeouts >= 3 && with_it.times[2] > without.times[2] + 0.5);
    assert_eq!((without.stats.timeouts, without.spurious.len()), (0, 0));
    assert!(with_it.packets() >= without.packets() + 3, "the graph is dislocated by three positions or more");
}

/// H-S-2: "KAME, on the other hand, does not care if the COOKIE_ACK is lost"; others wait for the initial RTO.
#[test]
fn cookie_ack_optional_makes_its_loss_free() {
    let careless = with("kame-2006", &[("quirk_cookie_ack_optional", "true")]);
    for set in [LOW, MEDIUM, HIGH] {
        let [none, lost] = [0, 2].map(|k| run(&careless, set, k).times[2]);
        // The packet that is missing makes room on a slow link.
        assert!(lost <= none && lost > none - 0.02, "{none} {lost}");
        let strict = run(&with("kame-2006", &[]), set, 2);
        assert!(strict.times[2] > none + 2.5);
        assert_eq!(strict.pair.log.iter().filter(|p| p.has("COOKIE-ECHO")).count(), 2);
    }
}

/// H-S-4: LKSCTP "seems to be unable to recover a loss of the first data packet with the fast retransmit mechanism, and therefore
/// must wait for the RTO timer".
#[test]
fn first_chunk_by_timeout_waits_for_the_rto() {
    let config = with("lksctp-2006", &[("quirk_first_chunk_by_timeout", "true")]);
    let quirk = run(&config, MEDIUM, 3);
    let clean = run(&with("lksctp-2006", &[]), MEDIUM, 3);
    assert_eq!((quirk.stats.timeouts, quirk.stats.fast_retransmits), (1, 0));
    assert_eq!((clean.stats.timeouts, clean.stats.fast_retransmits), (0, 1));
    assert!(quirk.times[2] > clean.times[2] + 2.0);
    // Every other chunk is fast retransmitted as before.
    let other = run(&config, MEDIUM, 4);
    assert_eq!((other.stats.timeouts, other.stats.fast_retransmits), (0, 1));
}

/// H-F20, Figures 20 and 21: when the fifth packet is lost the flow is resent spuriously to its end; when the eighth is, "only the
/// last two packets (and the retransmission)", as delayed SACKs have made the RTO longer.
#[test]
fn t3_runs_on_and_the_flow_is_resent_on_slow_links() {
    let bugs = with("lksctp-2006-bugs", &[]);
    let [fifth, eighth] = [5, 8].map(|k| run(&bugs, LOW, k));
    assert!(fifth.spurious.len() >= 10 && fifth.stats.timeouts > 1, "{:?}", fifth.spurious);
    assert!((2..=3).contains(&eighth.spurious.len()), "{:?}", eighth.spurious);
    assert!(fifth.times[2] > eighth.times[2] + 2.0);
    let clean = run(&with("lksctp-2006", &[]), LOW, 8);
    assert!(clean.spurious.len() < eighth.spurious.len(), "{:?}", clean.spurious);
    // Without the quirk that keeps the RTO from backing off it ends sooner.
    let one = run(&with("lksctp-2006-bugs", &[("quirk_faulty_recovery", "false")]), LOW, 5);
    assert!(one.spurious.len() < fifth.spurious.len() && one.times[2] < fifth.times[2]);
    // "This problem only seems to occur for flows that have a very small bandwidth-delay product."
    for set in [MEDIUM, HIGH] {
        assert!((4..=14).all(|k| run(&bugs, set, k).spurious.is_empty()));
    }
}

/// H-S-4: the dips at positions 8 and 9 of the fast and long network (Figure 12 c).
#[test]
fn lksctp_is_quick_at_positions_eight_and_nine() {
    let times: Vec<f64> = (7..=10).map(|k| run(&with("lksctp-2006-bugs", &[]), HIGH, k).times[2]).collect();
    assert!(times[1].max(times[2]) + 0.3 < times[0].min(times[3]), "{times:?}");
}

/// H-S-7: "the RTO timer did not back-off accordingly ... but instead remained at such a low level that every single packet was
/// spuriously retransmitted".
#[test]
fn faulty_recovery_never_backs_off() {
    let short = [("rto_min", "200 ms"), ("quirk_handshake_rto", "true"), ("quirk_faulty_recovery", "true")];
    let faulty = run(&with("kame-2006", &short), LOW, 5);
    let backs_off = run(&with("kame-2006", &short[..2]), LOW, 5);
    assert!(faulty.stats.timeouts > 10 && faulty.spurious.len() > 16, "{:?}", faulty.spurious);
    assert!(backs_off.stats.timeouts < 5 && backs_off.times[2] < faulty.times[2]);
}

/// H-S-7: with an RTO.Min of 200 ms "KAME waits for about 400ms and then sends three additional packets, even if no SACK has been
/// received", so that the whole transfer is quicker where the round trip is longer than that.
#[test]
fn burst_before_sack_sends_three_packets() {
    let quirk = [("rto_min", "200 ms"), ("quirk_handshake_rto", "true"), ("quirk_burst_before_sack", "true")];
    let burst = run(&with("kame-2006", &quirk), HIGH, 0);
    let sent: Vec<_> = burst.data().take(5).map(|(n, p)| (n, p.at)).collect();
    let gap = |i: usize| (sent[i].1 - sent[0].1).as_secs_f64();
    assert_eq!(sent.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!((1..=3).all(|i| (gap(i) - 0.4).abs() < 1e-9) && gap(4) > 0.6, "{sent:?}");
    let clean = run(&with("kame-2006", &quirk[..2]), HIGH, 0);
    assert!(burst.times[2] + 0.1 < clean.times[2]);
    // At the standard RTO.Min the SACK is there before.
    let [with_it, without] =
        [&quirk[1..], &quirk[1..2]].map(|values| run(&with("kame-2006", values), HIGH, 0));
    assert_eq!(with_it.times.map(f64::to_bits), without.times.map(f64::to_bits));
}

/// H-F19: a loss after spurious timeouts waits for a backed-off RTO, "as the implementation is unable to undo this exponential
/// back-off when new acknowledgments are received".
#[test]
fn backoff_stays_after_spurious_timeouts() {
    let short = [("rto_min", "200 ms"), ("quirk_handshake_rto", "true"), ("quirk_backoff_stays", "true")];
    let [stays, undone] =
        [&short[..], &short[..2]].map(|values| run(&with("kame-2006", values), LOW, 0).stats);
    assert!(stays.timeouts >= 2 && undone.timeouts >= 2);
    let base = stays.srtt.unwrap().as_secs_f64();
    assert!(stays.rto.as_secs_f64() >= 4.0 * base, "{stays:?}");
    assert!(undone.rto.as_secs_f64() < 0.5 * stays.rto.as_secs_f64(), "{undone:?}");
}

/// KAME's early fast retransmit (Table 9): a chunk that one report misses goes again after 250 ms, where otherwise it would wait
/// for T3-rtx.
#[test]
fn early_fast_retransmit_repairs_the_tail() {
    let early = with("kame-2006", &[("early_fast_retransmit", "250 ms")]);
    for k in [16, 17] {
        let [with_it, without] = [&early, &with("kame-2006", &[])].map(|config| run(config, MEDIUM, k));
        assert_eq!((with_it.stats.timeouts, with_it.stats.fast_retransmits), (0, 1), "{k}");
        assert_eq!((without.stats.timeouts, without.stats.fast_retransmits), (1, 0), "{k}");
        assert!(with_it.times[2] + 0.5 < without.times[2]);
    }
    assert_eq!(run(&early, MEDIUM, 0).stats.retransmissions, 0);
}

/// H-S-1: KAME's last SACK is delayed, LKSCTP's is not, and its window is smaller.
#[test]
fn kame_is_slower_than_lksctp_everywhere() {
    for rate in [40_000, 80_000, 160_000, 500_000, 1_000_000, 4_000_000, 10_000_000] {
        for delay in [5, 10, 20, 40, 60, 100, 200, 300] {
            let [kame, lksctp] = ["kame-2006-bugs", "lksctp-2006-bugs"]
                .map(|name| run(&with(name, &[]), (rate, delay), 0).times[1]);
            assert!(kame > lksctp, "{rate} bit/s, {delay} ms: {kame} {lksctp}");
        }
    }
}

/// Andersson (2005): the handshake of sctplib costs 240 bytes more than that of TCP (packets of 60, 60 and 52 bytes, each with 16 bytes of
/// capture header), and one packet slops over its first window of two.
#[test]
fn sctplib_has_a_large_cookie_and_slops_over() {
    let run = run(&with("sctplib-2001", &[]), MEDIUM, 0);
    let handshake: usize = run.pair.log.iter().take(4).map(|p| p.bytes.len() + 20 + 16).sum();
    assert_eq!(handshake, 60 + 60 + 52 + 3 * 16 + 240);
    let first = run.data().next().unwrap().1.at;
    assert_eq!(run.data().filter(|(_, p)| p.at == first).count(), 3);
    assert!(run.pair.saw(Side::A, |e| matches!(e, Event::PeerShutdown)));
}
