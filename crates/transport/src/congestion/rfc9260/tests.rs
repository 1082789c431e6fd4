use super::super::{Controller, Rules, Timing};
use super::*;

const PMDCS: u64 = 1468;

/// RFC 9260 with an IPv4 peer; the first threshold is far away.
fn rfc9260() -> ChunkRules {
    ChunkRules {
        unit: PMDCS,
        initial_window: 4404,
        initial_ssthresh: 1 << 30,
        floor: 4 * PMDCS,
        slow_start_limit: PMDCS,
        idle_floor: Some(4 * PMDCS),
        backoff_keeps_ssthresh: false,
        slow_start_at_ssthresh: true,
        needs_advance: true,
        pba_needs_full_window: false,
        pba_clamp: true,
        pba_counts_twice: false,
        fcc_step: FccStep::Packet,
        fcc_clock: FccClock::Bytes,
        fcc_rounding: FccRounding::Exact,
        fcc_slow_start: false,
    }
}

/// RFC 2960.
fn rfc2960() -> ChunkRules {
    ChunkRules { initial_window: 2 * PMDCS, floor: 2 * PMDCS, pba_clamp: false, ..rfc9260() }
}

/// The modules of ns-2: since 3.5, and before 3.3.
fn ns2(old: bool) -> ChunkRules {
    ChunkRules {
        initial_window: 2 * PMDCS,
        initial_ssthresh: 65_536,
        backoff_keeps_ssthresh: true,
        pba_needs_full_window: !old,
        pba_clamp: false,
        pba_counts_twice: old,
        ..rfc9260()
    }
}

fn reno(change: impl FnOnce(&mut ChunkRules)) -> Controller {
    let mut rules = rfc9260();
    change(&mut rules);
    Controller::chunks(&rules)
}

fn pba(c: &Controller) -> u64 {
    let Rules::Chunks(chunks) = &c.rules else { unreachable!() };
    chunks.partial_bytes_acked
}

const LOSS: Congestion = Congestion::FastRetransmit(Base::CWND);
const TIMEOUT: Congestion = Congestion::Timeout(Some(Base::CWND));

fn full(c: &Controller, cumulative: u64) -> Acked {
    Acked { cumulative, flight_before: c.window(), cumulative_advanced: true, ..Acked::default() }
}

// rfc9260:7.2.1-7
#[test]
fn slow_start_grows_by_what_was_acked_but_at_most_one_pmdcs() {
    let mut c = reno(|_| {});
    let acked = full(&c, 100);
    c.on_ack(&acked, Timing::default);
    assert_eq!(c.window(), 4504, "100 bytes acknowledged: ACK splitting gains nothing");
    let acked = full(&c, 5000);
    c.on_ack(&acked, Timing::default);
    assert_eq!(c.window(), 4504 + PMDCS);
    let before = c.window();
    c.on_ack(&Acked { flight_before: before - 1, ..full(&c, 1468) }, Timing::default);
    c.on_ack(&Acked { in_recovery: true, ..full(&c, 1468) }, Timing::default);
    c.on_ack(&Acked { cumulative_advanced: false, gap: 1468, cumulative: 0, ..full(&c, 0) }, Timing::default);
    assert_eq!(c.window(), before, "window not full, in recovery, or cumulative point at rest: no growth");
}

// rfc9260:7.2.2-2 rfc9260:7.2.2-3
#[test]
fn congestion_avoidance_adds_one_pmdcs_for_a_window_of_bytes() {
    let mut c = reno(|c| c.initial_ssthresh = 4404);
    let acked = full(&c, 1468);
    c.on_ack(&acked, Timing::default);
    assert_eq!(c.window(), 4404 + PMDCS, "cwnd = ssthresh is slow start");
    for _ in 0..3 {
        let acked = full(&c, 1468);
        c.on_ack(&acked, Timing::default);
        assert_eq!(c.window(), 4404 + PMDCS);
    }
    let acked = full(&c, 1468);
    c.on_ack(&acked, Timing::default);
    assert_eq!(c.window(), 4404 + 2 * PMDCS, "4 x 1468 = cwnd bytes acknowledged");
    assert_eq!(pba(&c), 0);
}

#[test]
fn partial_bytes_acked_is_held_at_cwnd_while_the_window_is_not_full() {
    let mut c = reno(|c| c.initial_ssthresh = 1000);
    c.on_ack(
        &Acked { cumulative: 10_000, flight_before: 10, cumulative_advanced: true, ..Acked::default() },
        Timing::default,
    );
    assert_eq!((c.window(), pba(&c)), (4404, 4404));
    c.on_ack(&Acked { all_acked: true, ..full(&c, 10) }, Timing::default);
    assert_eq!(pba(&c), 0, "all acknowledged");
}

#[test]
fn ns2_counts_cumulative_bytes_only_while_full_and_the_old_module_counts_gaps_twice() {
    let mut c = Controller::chunks(&ns2(false));
    c.window.ssthresh = 1000;
    c.on_ack(
        &Acked { cumulative: 1468, flight_before: 10, cumulative_advanced: true, ..Acked::default() },
        Timing::default,
    );
    assert_eq!(pba(&c), 0);
    c.on_ack(
        &Acked { gap: 500, earlier_gap: 700, cumulative_advanced: true, ..Acked::default() },
        Timing::default,
    );
    assert_eq!(pba(&c), 500);
    let mut old = Controller::chunks(&ns2(true));
    old.window.ssthresh = 1000;
    old.on_ack(
        &Acked { gap: 500, earlier_gap: 700, cumulative_advanced: true, ..Acked::default() },
        Timing::default,
    );
    assert_eq!(pba(&old), 1200);
}

// rfc9260:7.2.3-1
#[test]
fn the_two_cuts_and_their_floors() {
    let mut c = reno(|_| {});
    c.window.cwnd = 100_000;
    c.on_congestion(LOSS);
    assert_eq!((c.window(), c.ssthresh()), (50_000, 50_000));
    c.on_congestion(TIMEOUT);
    assert_eq!((c.window(), c.ssthresh()), (PMDCS, 25_000));
    c.on_congestion(TIMEOUT);
    assert_eq!(
        (c.window(), c.ssthresh()),
        (PMDCS, 4 * PMDCS),
        "7.2.3 makes no exception for the next expiry"
    );
    let mut ns = Controller::chunks(&ns2(false));
    ns.window.cwnd = 100_000;
    ns.on_congestion(TIMEOUT);
    ns.on_congestion(TIMEOUT);
    assert_eq!((ns.window(), ns.ssthresh()), (PMDCS, 50_000), "ns-2 keeps it");
    c.window.cwnd = 2 * PMDCS;
    c.on_congestion(LOSS);
    assert_eq!(c.window(), 4 * PMDCS, "RFC 9260: floor 4");
    let mut old = Controller::chunks(&rfc2960());
    old.on_congestion(LOSS);
    assert_eq!(old.window(), 2 * PMDCS, "RFC 2960: floor 2");
}

/// 7.2.3: with each cut "partial_bytes_acked = 0". Bytes acknowledged before a cut are no part of the first step behind
/// it.
#[test]
fn every_cut_begins_partial_bytes_acked_anew() {
    for cut in
        [LOSS, TIMEOUT, Congestion::Timeout(None), Congestion::Ecn(Base::CWND), Congestion::EcnKeep(500_000)]
    {
        let mut c = reno(|c| c.initial_ssthresh = 1000);
        let acked = full(&c, 1468);
        c.on_ack(&acked, Timing::default);
        assert_eq!(pba(&c), 1468, "congestion avoidance counts");
        c.on_congestion(cut);
        assert_eq!(pba(&c), 0, "{cut:?}");
    }
}

#[test]
fn what_is_reduced_may_be_the_flight_and_a_mark_counts_as_a_loss() {
    for event in [Congestion::FastRetransmit(Base::Flight(30_000)), Congestion::Ecn(Base::Window(30_000))] {
        let mut c = reno(|_| {});
        c.window.cwnd = 100_000;
        c.on_congestion(event);
        assert_eq!((c.window(), c.ssthresh()), (15_000, 15_000), "{event:?}");
    }
    let mut c = reno(|_| {});
    c.window.cwnd = 100_000;
    c.on_congestion(Congestion::Timeout(None));
    assert_eq!((c.window(), c.ssthresh()), (PMDCS, 1 << 30), "held");
    c.on_congestion(Congestion::OtherLane);
    assert_eq!((c.window(), c.ssthresh()), (PMDCS, PMDCS - 1), "no raise, and no slow start");
}

/// The part of the window that a mark leaves (RFC 8511, RFC 9331); it never raises a window.
#[test]
fn a_mark_may_leave_more_than_a_loss() {
    let mut c = reno(|_| {});
    c.window.cwnd = 100_000;
    c.on_congestion(Congestion::EcnKeep(800_000));
    assert_eq!((c.window(), c.ssthresh()), (80_000, 80_000));
    c.window.cwnd = 2 * PMDCS;
    c.on_congestion(Congestion::EcnKeep(999_999));
    assert_eq!((c.window(), c.ssthresh()), (2 * PMDCS, 4 * PMDCS), "below the floor");
    c.window.cwnd = u64::MAX;
    c.on_congestion(Congestion::EcnKeep(u32::MAX));
    assert!(c.window() > 0);
}

#[test]
fn an_idle_lane_decays_to_its_floor_and_never_grows() {
    let mut c = reno(|_| {});
    c.window.cwnd = 20 * PMDCS;
    c.window.ssthresh = 5000;
    c.on_idle();
    assert_eq!((c.window(), c.ssthresh()), (10 * PMDCS, 20 * PMDCS));
    for _ in 0..5 {
        c.on_idle();
    }
    assert_eq!(c.window(), 4 * PMDCS);
    c.window.cwnd = PMDCS;
    c.on_idle();
    assert_eq!(c.window(), PMDCS);
}

/// In congestion avoidance with 10 packets of window, and SACKs of one packet each; gives cwnd in packets after each round
/// trip (ten SACKs and more, as the window grows).
fn staircase(change: impl FnOnce(&mut ChunkRules), growth: Growth, rounds: usize) -> Vec<f64> {
    let mut c = reno(change);
    c.window.cwnd = 10 * PMDCS;
    c.window.ssthresh = 1000;
    c.set_growth(growth);
    let mut seen = Vec::new();
    for _ in 0..rounds {
        let sacks = c.window.cwnd.div_ceil(PMDCS);
        for sack in 0..sacks {
            let acked = Acked { round_trip: sack + 1 == sacks, ..full(&c, PMDCS) };
            c.on_ack(&acked, Timing::default);
        }
        seen.push(c.window.cwnd as f64 / PMDCS as f64);
    }
    seen
}

#[test]
fn phi_of_1_is_reno_whatever_the_choices() {
    let plain = staircase(|_| {}, Growth::Phi(1.0), 12);
    assert_eq!(plain[..4], [11.0, 12.0, 13.0, 14.0]);
    for (step, clock) in [
        (FccStep::Packet, FccClock::RoundTrips),
        (FccStep::Fraction, FccClock::Bytes),
        (FccStep::Fraction, FccClock::RoundTrips),
    ] {
        let choose = |c: &mut ChunkRules| {
            c.fcc_step = step;
            c.fcc_clock = clock;
            c.fcc_slow_start = true;
        };
        assert_eq!(staircase(choose, Growth::Phi(1.0), 12), plain, "{step:?} {clock:?}");
    }
}

/// Fig. 4.1 (b): with Phi = 4 a packet every four round trips.
#[test]
fn the_staircase_of_phi_4() {
    let expected = [10.0, 10.0, 10.0, 11.0, 11.0, 11.0, 11.0, 12.0];
    assert_eq!(staircase(|_| {}, Growth::Phi(4.0), 8), expected, "Phi * cwnd bytes: 40 packets, then 44");
    assert_eq!(staircase(|c| c.fcc_clock = FccClock::RoundTrips, Growth::Phi(4.0), 8), expected);
}

#[test]
fn a_quarter_of_a_packet_every_round_trip() {
    let choose = |c: &mut ChunkRules| {
        c.fcc_step = FccStep::Fraction;
        c.fcc_clock = FccClock::RoundTrips;
    };
    let grown = staircase(choose, Growth::Phi(4.0), 8);
    assert_eq!(grown, [10.25, 10.5, 10.75, 11.0, 11.25, 11.5, 11.75, 12.0], "1468 / 4 is a whole number");
}

#[test]
fn fractions_of_a_byte_are_not_lost() {
    let choose = |c: &mut ChunkRules| {
        c.fcc_step = FccStep::Fraction;
        c.fcc_clock = FccClock::RoundTrips;
    };
    // 1468 / 9 = 163.1 bytes: after 9 round trips a packet, to the byte below.
    let grown = *staircase(choose, Growth::Phi(9.0), 9).last().unwrap();
    assert!((grown - 11.0).abs() <= 1.0 / PMDCS as f64, "{grown}");
}

#[test]
fn a_phi_that_is_no_whole_number() {
    let steps = |rounding| {
        let grown = staircase(
            |c| {
                c.fcc_rounding = rounding;
                c.fcc_clock = FccClock::RoundTrips;
            },
            Growth::Phi(2.5),
            30,
        );
        grown.last().unwrap() - 10.0
    };
    assert_eq!(steps(FccRounding::Exact), 12.0, "30 / 2.5");
    assert_eq!(steps(FccRounding::Floor), 15.0, "30 / 2");
    assert_eq!(steps(FccRounding::Ceil), 10.0, "30 / 3");
    assert_eq!(steps(FccRounding::Nearest), 10.0, "2.5 rounds away from zero");
    assert_eq!(FccRounding::Floor.apply(0.5), 1.0);
}

#[test]
fn after_a_fast_retransmit_slow_start_or_not() {
    for (counts, after) in [(true, 6.0), (false, 5.0)] {
        let mut c = reno(|c| c.slow_start_at_ssthresh = counts);
        c.window.cwnd = 10 * PMDCS;
        c.window.ssthresh = 1000;
        c.on_congestion(LOSS);
        let acked = full(&c, PMDCS);
        c.on_ack(&acked, Timing::default);
        assert_eq!(c.window.cwnd as f64 / PMDCS as f64, after, "cwnd = ssthresh is slow start: {counts}");
    }
}

#[test]
fn slow_start_is_divided_when_asked_for() {
    let mut c = reno(|c| c.fcc_slow_start = true);
    c.set_growth(Growth::Phi(4.0));
    let before = c.window.cwnd;
    let acked = full(&c, PMDCS);
    c.on_ack(&acked, Timing::default);
    assert_eq!(c.window.cwnd - before, PMDCS / 4);
    let mut plain = reno(|_| {});
    plain.set_growth(Growth::Phi(4.0));
    let acked = full(&plain, PMDCS);
    plain.on_ack(&acked, Timing::default);
    assert_eq!(plain.window.cwnd - before, PMDCS, "the thesis: congestion avoidance only");
}

#[test]
fn a_phi_that_falls_pays_out_no_burst() {
    let mut c = reno(|_| {});
    c.window.cwnd = 10 * PMDCS;
    c.window.ssthresh = 1000;
    c.set_growth(Growth::Phi(49.0));
    for _ in 0..480 {
        let acked = full(&c, PMDCS);
        c.on_ack(&acked, Timing::default);
    }
    assert_eq!(c.window.cwnd, 10 * PMDCS, "480 of 490 packets");
    c.set_growth(Growth::Phi(1.0));
    for sack in 0..12 {
        let acked = full(&c, PMDCS);
        c.on_ack(&acked, Timing::default);
        assert!(c.window.cwnd <= 12 * PMDCS, "after {sack} SACKs {}", c.window.cwnd);
    }
}

#[test]
fn linked_growth_may_take_away_but_leaves_a_packet() {
    let mut c = reno(|_| {});
    c.window.cwnd = 10 * PMDCS;
    c.window.ssthresh = 1000;
    c.set_growth(Growth::Linked(0.5));
    for _ in 0..10 {
        let acked = Acked { flight_before: 1 << 30, ..full(&c, PMDCS) };
        c.on_ack(&acked, Timing::default);
    }
    let grown = c.window.cwnd as f64 / PMDCS as f64;
    assert!((10.45..=10.5).contains(&grown), "{grown}: half a packet for a window, a bit less as it grows");
    c.set_growth(Growth::Linked(-0.5));
    for _ in 0..100_000 {
        let acked = Acked { flight_before: 1 << 30, ..full(&c, PMDCS) };
        c.window.ssthresh = 1000;
        c.on_ack(&acked, Timing::default);
    }
    assert_eq!(c.window.cwnd, PMDCS);
}
