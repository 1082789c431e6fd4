use super::super::reno::AckedGrowth;
use super::*;
use anabranch_base::{Duration, Instant};

fn at(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

fn acked(bytes: u64) -> Acked {
    Acked { cumulative: bytes, ..Acked::default() }
}

/// An ACK for a segment at `ms`, which took `rtt` milliseconds.
fn timed(ms: u64, rtt: u64, una: u64, max: u64) -> Timing {
    let rtt = Duration::from_millis(rtt);
    Timing { now: at(ms), rtt: Some(rtt), srtt: Some(rtt), una, max, ..Timing::default() }
}

/// Rules for segments of 1000 bytes.
fn rules(algorithm: Algorithm) -> SegmentRules {
    SegmentRules {
        algorithm,
        hystart: false,
        window: WindowRules {
            segment: 1000,
            growth: AckedGrowth::Bytes,
            limit: 2,
            initial_window: 10_000,
            initial_ssthresh: u64::MAX,
            floor: 2000,
            loss_window: 1,
        },
        undo: true,
        needs_full_window: false,
        needs_advance: false,
        backoff_keeps_ssthresh: false,
        idle_floor: None,
        validation: false,
        gentle_convergence: false,
    }
}

fn law(algorithm: Algorithm, cwnd: u64, ssthresh: u64) -> Segments {
    let window = WindowRules { initial_window: cwnd, initial_ssthresh: ssthresh, ..rules(algorithm).window };
    Segments::new(&SegmentRules { window, ..rules(algorithm) }).unwrap()
}

const LOSS: Congestion = Congestion::FastRetransmit(Base::CWND);

#[test]
fn slow_start_by_bytes_acked_at_most_two_segments() {
    let mut c = Reno::at(AckedGrowth::Bytes, 4000, 100_000);
    c.slow_start(2000);
    assert_eq!(c.window(), 6000);
    c.slow_start(9000);
    assert_eq!(c.window(), 8000);
    let mut c = Reno::at(AckedGrowth::PerAck, 4000, 100_000);
    c.slow_start(2000);
    assert_eq!(c.window(), 5000);
}

fn ack(c: &mut Segments, acked: &Acked, timing: &Timing) {
    let cwnd = c.window().cwnd;
    c.on_ack(acked, timing, cwnd);
}

#[test]
fn congestion_avoidance_adds_a_segment_a_round_trip() {
    for growth in [AckedGrowth::Bytes, AckedGrowth::PerAck, AckedGrowth::Packets] {
        let mut c = Reno::at(growth, 10_000, 5_000);
        for _ in 0..11 {
            c.avoid(1000);
        }
        let grown = c.cwnd - 10_000.0;
        assert!((900.0..=1100.0).contains(&grown), "{growth:?}: {grown}");
    }
}

#[test]
fn packets_keep_the_half_of_an_odd_window() {
    let mut c = law(Algorithm::Reno, 9000, 1000);
    c.base = Reno::at(AckedGrowth::Packets, 9000, 1000);
    c.on_congestion(Congestion::FastRetransmit(Base::Window(45_000)));
    assert_eq!((c.base.window(), c.base.ssthresh), (4000, 4000));
    for _ in 0..3 {
        ack(&mut c, &acked(1000), &Timing::default());
    }
    assert_eq!(c.base.window(), 5000, "4.5 + 1/4.5 + 1/4.7 + 1/4.9");
    c.on_congestion(Congestion::Timeout(Some(Base::Window(45_000))));
    assert_eq!((c.base.window(), c.base.ssthresh), (1000, 2000));
}

/// RFC 9438, equations 1 and 2: 100 segments, a loss, 70, and 100 again after K = cbrt(30 / 0.4) = 4.217 s.
#[test]
fn cubic_is_back_at_the_old_maximum_after_k_seconds() {
    let mut c = law(Algorithm::Cubic, 100_000, 1000);
    c.on_congestion(LOSS);
    assert_eq!((c.base.window(), c.base.ssthresh), (70_000, 70_000), "beta is 0.7");
    // 200 ms a round trip, an ACK for each segment.
    let (mut now, mut trace) = (0.0, Vec::new());
    while now < 8000.0 {
        let acks = c.base.window() / 1000;
        for i in 0..acks {
            ack(&mut c, &acked(1000), &timed((now + 200.0 * i as f64 / acks as f64) as u64, 200, 0, 0));
        }
        now += 200.0;
        trace.push((now, c.base.cwnd / 1000.0));
    }
    // The target is that of a round trip later: the window follows the curve within a tenth of a segment.
    for (ms, cwnd) in trace {
        let curve = 0.4 * (ms / 1000.0 - 75.0_f64.cbrt()).powi(3) + 100.0;
        assert!((cwnd - curve).abs() < 0.7, "{ms} ms: {cwnd}, the curve says {curve}");
    }
}

#[test]
fn cubic_is_as_fast_as_reno_where_reno_is_faster() {
    // RTT 10 ms, 10 segments: the cubic curve hardly moves, W_est gains 0.529 a round trip until 14.3, then 1.
    let mut c = law(Algorithm::Cubic, 20_000, 1000);
    c.on_congestion(LOSS);
    let (mut now, mut reached) = (0, None);
    for round in 1..30 {
        for _ in 0..c.base.window() / 1000 {
            ack(&mut c, &acked(1000), &timed(now, 10, 0, 0));
        }
        now += 10;
        if c.base.window() >= 20_000 {
            reached.get_or_insert(round);
        }
    }
    // 14 to 20 segments at 3 * 0.3 / 1.7 = 0.529 a round trip: 11.3 rounds, a little more for windows that grow.
    let reached = reached.unwrap();
    assert!((11..=13).contains(&reached), "{reached} rounds");
}

#[test]
fn cubic_lets_others_in_when_it_loses_below_its_maximum() {
    let mut c = law(Algorithm::Cubic, 100_000, 1000);
    c.on_congestion(LOSS);
    c.on_congestion(LOSS);
    // RFC 9438, section 4.7: 70 is below 100, so W_max is 70 * (1 + 0.7) / 2 = 59.5.
    let Law::Cubic(cubic) = &c.law else { unreachable!() };
    assert_eq!(format!("{cubic:?}").split(',').next(), Some("Cubic { maximum: 59.5"));
}

/// Xu et al., section III: additive increase far from the maximum, binary search near it.
#[test]
fn bic_searches_for_the_maximum_then_probes_beyond() {
    let mut c = law(Algorithm::Bic, 200_000, 1000);
    c.on_congestion(LOSS);
    assert_eq!(c.base.window(), 200_000 * 819 / 1024);
    let mut now = 0;
    let mut grown = Vec::new();
    for _ in 0..16 {
        let before = c.base.cwnd;
        for _ in 0..(c.base.window() / 1000) {
            ack(&mut c, &acked(1000), &timed(now, 100, 0, 0));
        }
        now += 100;
        grown.push(((c.base.cwnd - before) / 1000.0).round() as u32);
    }
    // 160 to 200: a quarter of the distance a round trip, then one segment in five, then away again.
    assert!((8..=10).contains(&grown[0]), "{grown:?}");
    assert!(grown.iter().take(8).is_sorted_by(|a, b| a >= b), "{grown:?}");
    assert!(grown.iter().skip(6).any(|g| *g <= 1), "slow near the maximum: {grown:?}");
    assert!(c.base.window() > 190_000 && c.base.window() <= 205_000, "{}", c.base.window());
    // Below 14 segments it is Reno.
    let mut c = law(Algorithm::Bic, 10_000, 1000);
    c.on_congestion(LOSS);
    assert_eq!(c.base.window(), 5000);
}

#[test]
fn vegas_keeps_two_to_four_segments_in_the_queue() {
    // A path that holds 20 segments at 100 ms; every segment more waits 5 ms.
    let mut c = law(Algorithm::Vegas, 10_000, 8000);
    let (mut now, mut sent) = (0, 0);
    for _ in 0..60 {
        let window = c.base.window() / 1000;
        let rtt = 100 + 5 * window.saturating_sub(20);
        for i in 0..window {
            ack(&mut c, &acked(1000), &timed(now, rtt, sent + i * 1000, sent + (window + i) * 1000));
        }
        sent += window * 1000;
        now += rtt;
    }
    assert!((22..=24).contains(&(c.base.window() / 1000)), "{}", c.base.window());
}

#[test]
fn vegas_leaves_slow_start_when_the_queue_grows() {
    let mut c = law(Algorithm::Vegas, 4000, u64::MAX);
    let (mut now, mut sent) = (0, 0);
    for _ in 0..12 {
        let window = c.base.window() / 1000;
        let rtt = 100 + 5 * window.saturating_sub(20);
        for i in 0..window {
            ack(&mut c, &acked(1000), &timed(now, rtt, sent + i * 1000, sent + (window + i) * 1000));
        }
        sent += window * 1000;
        now += rtt;
    }
    // It noticed in the round that went from 32 to 64, came back to the path's capacity and shrinks from there.
    assert!(
        c.base.ssthresh < 42_000 && c.base.window() < 42_000,
        "{} of {}",
        c.base.window(),
        c.base.ssthresh
    );
}

/// RFC 9406: eight samples 4 ms or an eighth above the last round's smallest, then five slower rounds.
#[test]
fn hystart_leaves_slow_start_before_the_loss() {
    let run = |rtts: &[u64]| {
        let mut c = Segments::new(&SegmentRules { hystart: true, ..rules(Algorithm::Reno) }).unwrap();
        let (mut sent, mut windows) = (0, Vec::new());
        for rtt in rtts {
            let window = c.base.window() / 1000;
            for i in 0..window {
                ack(&mut c, &acked(1000), &timed(0, *rtt, sent + i * 1000, sent + (window + i) * 1000));
            }
            sent += window * 1000;
            windows.push(c.base.window() / 1000);
        }
        (windows, c.base.ssthresh)
    };
    let (windows, ssthresh) = run(&[100, 100, 100]);
    assert_eq!((windows, ssthresh), (vec![20, 40, 80], u64::MAX), "no growth of the delay, no change");
    // 13 ms more than 100: an eighth is 12.5. From the eighth sample on a quarter as fast: 20 + 7 + 13/4.
    let (windows, ssthresh) = run(&[100, 113]);
    assert_eq!((windows, ssthresh), (vec![20, 30], u64::MAX));
    let (windows, ssthresh) = run(&[100, 113, 113, 113, 113, 113, 113, 113]);
    assert!(ssthresh < 100_000, "{windows:?}: five rounds later it ends with ssthresh {ssthresh}");
    // It was noise: the next round is below the baseline, and slow start goes on.
    let (windows, ssthresh) = run(&[100, 113, 100, 100]);
    assert_eq!(ssthresh, u64::MAX);
    assert!(windows[3] as f64 > windows[2] as f64 * 1.9, "{windows:?}");
}

#[test]
fn a_needless_reduction_is_undone() {
    let mut c = law(Algorithm::Cubic, 50_000, 40_000);
    c.on_congestion(LOSS);
    assert_eq!(c.base.window(), 35_000);
    c.undo();
    assert_eq!((c.base.window(), c.base.ssthresh), (50_000, 40_000));
    c.undo();
    assert_eq!(c.base.window(), 50_000, "once");
}

/// A cut in the initial slow start that proves needless: it goes on, and HyStart++ still ends it before a queue overflows.
#[test]
fn hystart_goes_on_when_a_reduction_is_undone() {
    let mut c = Segments::new(&SegmentRules { hystart: true, ..rules(Algorithm::Cubic) }).unwrap();
    let mut sent = 0;
    let mut round = |c: &mut Segments, rtt: u64| {
        let window = c.base.window() / 1000;
        for i in 0..window {
            ack(c, &acked(1000), &timed(0, rtt, sent + i * 1000, sent + (window + i) * 1000));
        }
        sent += window * 1000;
    };
    round(&mut c, 100);
    c.on_congestion(LOSS);
    c.undo();
    assert_eq!((c.base.window(), c.base.ssthresh), (20_000, u64::MAX));
    round(&mut c, 100);
    assert_eq!(c.base.window(), 40_000, "slow start");
    for _ in 0..7 {
        round(&mut c, 115);
    }
    assert!(c.base.ssthresh < 400_000, "{}", c.base.ssthresh);
    // A reduction that stands ends it: slow start after a loss is not the initial one.
    c.on_congestion(LOSS);
    assert!(c.hystart.is_none());
}

/// The conditions for growth that SCTP has: a full window, an advance, no recovery.
#[test]
fn the_window_grows_when_the_rules_let_it() {
    for algorithm in [Algorithm::Reno, Algorithm::Cubic, Algorithm::Bic, Algorithm::Vegas] {
        let strict = SegmentRules { needs_full_window: true, needs_advance: true, ..rules(algorithm) };
        let full = Acked { cumulative_advanced: true, flight_before: 10_000, ..acked(1000) };
        let grows = |acked: Acked| {
            let mut c = Segments::new(&strict).unwrap();
            ack(&mut c, &acked, &timed(100, 50, 0, 0));
            c.base.window() > 10_000
        };
        assert!(grows(full), "{algorithm:?}");
        assert!(!grows(Acked { flight_before: 9_999, ..full }), "{algorithm:?}");
        assert!(!grows(Acked { cumulative_advanced: false, ..full }), "{algorithm:?}");
        assert!(!grows(Acked { in_recovery: true, ..full }), "{algorithm:?}");
        assert!(!grows(Acked { cumulative: 0, ..full }), "{algorithm:?}");
    }
}

#[test]
fn a_mark_counts_as_a_loss_and_another_lanes_loss_raises_nothing() {
    let mut c = law(Algorithm::Cubic, 50_000, 1000);
    c.on_congestion(Congestion::Ecn(Base::CWND));
    assert_eq!((c.base.window(), c.base.ssthresh), (35_000, 35_000));
    c.on_congestion(Congestion::OtherLane);
    assert_eq!((c.base.window(), c.base.ssthresh), (24_500, 24_500));
    let mut small = law(Algorithm::Reno, 1000, 500);
    small.on_congestion(Congestion::OtherLane);
    assert_eq!((small.base.window(), small.base.ssthresh), (1000, 1000));
}

/// The part of the window that a mark leaves (RFC 8511, RFC 9331); its reduction is never undone.
#[test]
fn a_mark_may_leave_more_than_a_loss() {
    for algorithm in [Algorithm::Cubic, Algorithm::Reno, Algorithm::Bic, Algorithm::Vegas] {
        let mut c = law(algorithm, 50_000, 1000);
        c.on_congestion(Congestion::EcnKeep(850_000));
        assert_eq!((c.base.window(), c.base.ssthresh), (42_500, 42_500), "{algorithm:?}");
        c.on_congestion(LOSS);
        c.on_congestion(Congestion::EcnKeep(990_000));
        let cut = c.base.window();
        c.undo();
        assert_eq!(c.base.window(), cut, "{algorithm:?}");
        let mut small = law(algorithm, 1000, 500);
        small.on_congestion(Congestion::EcnKeep(990_000));
        assert!(small.base.window() <= 1000, "{algorithm:?}");
    }
}

#[test]
fn timeouts_and_ssthresh() {
    let timeout = Congestion::Timeout(Some(Base::CWND));
    let mut c = law(Algorithm::Cubic, 50_000, 1000);
    c.on_congestion(timeout);
    assert_eq!((c.base.window(), c.base.ssthresh), (1000, 35_000));
    c.on_congestion(Congestion::Timeout(None));
    assert_eq!((c.base.window(), c.base.ssthresh), (1000, 35_000), "held by the caller");
    c.on_congestion(timeout);
    assert_eq!((c.base.window(), c.base.ssthresh), (1000, 2000), "the floor");
    let mut keeps =
        Segments::new(&SegmentRules { backoff_keeps_ssthresh: true, ..rules(Algorithm::Reno) }).unwrap();
    keeps.on_congestion(timeout);
    keeps.on_congestion(timeout);
    assert_eq!((keeps.base.window(), keeps.base.ssthresh), (1000, 5000), "held by the rule");
}

#[test]
fn an_idle_sender_decays_to_its_floor_and_another_lane_is_taken_in() {
    let mut c = Segments::new(&SegmentRules { idle_floor: Some(4000), ..rules(Algorithm::Cubic) }).unwrap();
    c.base.ssthresh = 5000;
    c.on_idle();
    assert_eq!((c.base.window(), c.base.ssthresh), (5000, 10_000), "ssthresh remembers the window");
    c.on_idle();
    c.on_idle();
    assert_eq!((c.base.window(), c.base.ssthresh), (4000, 10_000));
    c.absorb(3000, u64::MAX);
    assert_eq!((c.base.window(), c.base.ssthresh), (7000, u64::MAX));
    let mut off = law(Algorithm::Cubic, 10_000, 5000);
    off.on_idle();
    assert_eq!(off.base.window(), 10_000);
}
