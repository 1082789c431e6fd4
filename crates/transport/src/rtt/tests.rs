use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// RFC 6298 with G = 1 ms, 1 s before the first sample, 1 s to 60 s after it.
fn rules() -> RttRules {
    RttRules {
        arithmetic: Arithmetic::Rfc6298,
        granularity: ms(1),
        initial: ms(1000),
        min: ms(1000),
        max: ms(60_000),
        slop: Duration::ZERO,
        back_off: BackOff::UntilSample,
    }
}

/// The RTO of `count` expiries in a row, milliseconds.
fn expiries(rtt: &mut RttEstimator, count: usize) -> Vec<u64> {
    let expire = |_| {
        let rto = rtt.rto().as_millis();
        rtt.back_off();
        rto
    };
    (0..count).map(expire).collect()
}

#[test]
fn rfc6298_section_2() {
    let mut rtt = RttEstimator::new(&RttRules { min: ms(1), granularity: ms(10), ..rules() });
    assert_eq!(rtt.rto(), ms(1000), "2.1: before a sample");
    rtt.sample_between(at(0), at(80));
    assert_eq!(rtt.rto(), ms(80 + 4 * 40), "2.2: R + 4 * R/2");
    rtt.sample_between(at(0), at(160));
    // rttvar = 3/4*40 + 1/4*80 = 50, srtt = 7/8*80 + 1/8*160 = 90.
    assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(90)), ms(290)));
    for _ in 0..60 {
        rtt.sample_between(at(0), at(90));
    }
    assert_eq!(rtt.rto(), ms(100), "the variance term is at least G");
}

/// RFC 9260, 6.3.1.
#[test]
fn follows_c2_c3_and_the_limits() {
    let exact = RttRules { arithmetic: Arithmetic::Rfc9260, granularity: Duration::ZERO, ..rules() };
    let mut rtt = RttEstimator::new(&RttRules { min: ms(10), ..exact });
    assert_eq!(rtt.rto(), ms(1000));
    rtt.sample(ms(100));
    assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(100)), ms(300)));
    // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110.
    rtt.sample(ms(180));
    assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(110)), ms(340)));
    assert_eq!(rtt.srtt_and_variation(), Duration::from_micros(167_500));
    for _ in 0..20 {
        rtt.back_off();
    }
    assert_eq!(rtt.rto(), ms(60_000));
    let mut floor = RttEstimator::new(&exact);
    floor.sample(ms(5));
    assert_eq!(floor.rto(), ms(1000), "C6: RTO.Min");
    let mut steady = RttEstimator::new(&RttRules { min: Duration::ZERO, ..exact });
    for _ in 0..200 {
        steady.sample(ms(5));
    }
    assert_eq!(
        steady.rto(),
        ms(5) + Duration::from_nanos(4),
        "G1: RTTVAR is at least G, here the nanosecond"
    );
}

/// Linux: "rto_min" may be longer than the timeout before the first sample, which is left alone.
#[test]
fn the_floor_is_for_what_was_measured() {
    let mut rtt = RttEstimator::new(&RttRules { initial: ms(200), ..rules() });
    assert_eq!(expiries(&mut rtt, 3), [200, 400, 800]);
    rtt.sample(ms(5));
    assert_eq!(rtt.rto(), ms(1000));
}

#[test]
fn floor_before_and_ceiling_after_backing_off() {
    let mut rtt = RttEstimator::new(&RttRules { min: ms(200), max: ms(1000), ..rules() });
    rtt.sample_between(at(0), at(10));
    assert_eq!(expiries(&mut rtt, 4), [200, 400, 800, 1000]);
    rtt.sample_between(at(0), at(10));
    assert_eq!(rtt.rto(), ms(200), "a sample ends backing off");
}

#[test]
fn what_ends_backing_off() {
    let after = |back_off| {
        let mut rtt = RttEstimator::new(&RttRules { min: ms(200), max: ms(1000), back_off, ..rules() });
        rtt.sample(ms(100));
        let seen = expiries(&mut rtt, 6);
        assert_eq!(seen, [300, 600, 1000, 1000, 1000, 1000]);
        rtt.sample(ms(1));
        rtt.clear_back_off();
        // 7/8 * 100 + 1/8 + 4 * (3/4 * 50 + 1/4 * 99) = 336.6; later RTO.Min; both doubled or not.
        let measured = rtt.rto().as_millis();
        for _ in 0..200 {
            rtt.sample(ms(1));
        }
        (measured, rtt.rto().as_millis())
    };
    assert_eq!(after(BackOff::UntilSample), (336, 200));
    assert_eq!(after(BackOff::Stays), (1000, 800), "twice below the longest");
    assert_eq!(after(BackOff::StaysAndCounts), (1000, 1000), "six times");
}

/// Hurtig et al. (2006), 7.1.1: 78 and 66 bytes at 40 kb/s are 28.8 ms, which make a timeout of about 287 ms.
#[test]
fn the_slop_of_freebsd_is_added_to_three_round_trips() {
    let slop = RttRules { initial: ms(3000), min: ms(3), max: ms(64_000), slop: ms(200), ..rules() };
    let mut rtt = RttEstimator::new(&slop);
    rtt.sample_between(at(0), at(0) + Duration::from_micros((78 + 66) * 8 * 25));
    assert_eq!(rtt.rto(), Duration::from_micros(286_400));
    rtt.back_off();
    assert_eq!(rtt.rto(), Duration::from_micros(2 * 86_400 + 200_000), "not doubled");
}

#[test]
fn linux_keeps_the_variance_term_above_the_minimum() {
    let mut rtt = RttEstimator::new(&RttRules { arithmetic: Arithmetic::Linux, min: ms(200), ..rules() });
    let sample = |rtt: &mut RttEstimator, una, max, n| {
        rtt.at_sequence(una, max);
        rtt.sample_between(at(0), at(n));
    };
    sample(&mut rtt, 0, 0, 40);
    assert_eq!(rtt.rto(), ms(240), "40 and at least 200");
    sample(&mut rtt, 1, 10, 320);
    // Mean 75; deviation 80 + 280 - 20 = 340, which is the largest.
    assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(75)), ms(75 + 340)));
    sample(&mut rtt, 2, 10, 75);
    // Mean the same; deviation 340 + 0 - 85 = 255, the variance term stays for the rest of the round.
    assert_eq!(rtt.rto(), ms(75 + 340));
    sample(&mut rtt, 11, 20, 75);
    // The round ends; its largest was 255: down by a quarter of 85.
    assert_eq!(rtt.rto(), Duration::from_micros(393_750));
    sample(&mut rtt, 21, 30, 75);
    // In this round the largest is the floor of 200: down by a quarter of 118.75.
    assert_eq!(rtt.rto().as_nanos(), 364_062_500);
}

#[test]
fn fixed_point_is_bsd_arithmetic() {
    let ticks = RttRules { arithmetic: Arithmetic::FixedPoint, granularity: ms(10), min: ms(20), ..rules() };
    let mut rtt = RttEstimator::new(&ticks);
    assert_eq!(rtt.sample_between(at(9), at(521)), ms(520));
    // 52 ticks: srtt 416 (eighths), rttvar 104 (quarters): (104*8 + 416) >> 3 = 156 ticks.
    assert_eq!(rtt.rto(), ms(1560));
    rtt.sample_between(at(0), at(520));
    // delta 0: rttvar 104 - 26 = 78: 78 + 52 = 130 ticks.
    assert_eq!(rtt.rto(), ms(1300));
    let mut near = RttEstimator::new(&ticks);
    assert_eq!(near.sample(ms(25)), ms(30), "a span without a phase goes to the nearest tick");
    assert_eq!(RttEstimator::new(&ticks).sample(ms(4)), ms(10), "and takes one at least");
}

/// Linux counts round trips of SCTP in jiffies, and shifts.
#[test]
fn whole_ticks_are_rounded_down_term_by_term() {
    let ticks = RttRules { arithmetic: Arithmetic::WholeTicks, granularity: ms(10), min: ms(10), ..rules() };
    let mut rtt = RttEstimator::new(&ticks);
    assert_eq!(rtt.sample_between(at(19), at(90)), ms(80));
    assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(80)), ms(40), ms(240)));
    rtt.sample(ms(150));
    // 7 ticks of error: a quarter is one. RTTVAR = 4 - 1 + 1; SRTT = 8 - 1 + 15/8.
    assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(80)), ms(40), ms(240)));
    for _ in 0..20 {
        rtt.sample(ms(80));
    }
    assert_eq!(rtt.rttvar(), ms(30), "3 ticks have no quarter of a whole tick");
}

#[test]
fn what_another_connection_learnt_counts_until_there_is_a_sample() {
    let mut rtt = RttEstimator::new(&RttRules { min: ms(10), ..rules() });
    rtt.seed(ms(100), ms(5));
    assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(100)), ms(120)));
    rtt.seed(ms(500), ms(5));
    rtt.restart_at(ms(3000));
    assert_eq!(rtt.rto(), ms(120), "there is an estimate");
    let mut repeated = RttEstimator::new(&rules());
    repeated.back_off();
    repeated.restart_at(ms(3000));
    assert_eq!(repeated.rto(), ms(3000), "RFC 6298, 5.7");
}

#[test]
fn the_smallest_of_late() {
    let mut min = MinRtt::new(ms(300));
    assert_eq!(min.get(), None);
    for (now, rtt, smallest) in [(0, 50, 50), (100, 60, 50), (200, 40, 40), (500, 45, 40), (501, 45, 45)] {
        min.note(ms(rtt), at(now));
        assert_eq!(min.get(), Some(ms(smallest)), "at {now} ms");
    }
}

/// RFC 9260, 6.3.1, C4: with a thousand samples in a round trip the timeout moves as with one.
// rfc9260:6.3.1-3
#[test]
fn with_many_samples_in_a_round_trip_the_timeout_keeps_its_memory() {
    let short = RttRules { min: ms(10), ..rules() };
    let (mut each, mut once) = (RttEstimator::new(&short), RttEstimator::new(&short));
    let us = |n: u64| Duration::from_nanos(n * 1000);
    // A queue that fills: 2.0 s become 2.4 s in four round trips, and stay so for two.
    let rtt = |t: u64| us(2_000_000 + (t / 20).min(400_000));
    for t in (0..13_000_000).step_by(2000) {
        each.sample_each(Instant::ZERO + us(t), rtt(t));
    }
    for t in (0..13_000_000).step_by(2_400_000) {
        once.sample(rtt(t));
    }
    assert!(each.srtt().unwrap().abs_diff(ms(2400)) < ms(1), "SRTT follows each of them");
    assert!(each.rto() > ms(2500), "{:?}", each.rto());
    assert!(each.rto().abs_diff(once.rto()) < ms(500), "{:?} and {:?}", each.rto(), once.rto());
    // And it comes down again, as slowly.
    for t in (13_000_000..100_000_000).step_by(2000) {
        each.sample_each(Instant::ZERO + us(t), ms(2400));
    }
    assert!(each.rto().abs_diff(ms(2400)) < ms(40), "{:?}", each.rto());
    // A sample ends backing off at once.
    each.back_off();
    assert!(each.rto() > ms(4700));
    each.sample_each(Instant::ZERO + us(100_000_001), ms(2400));
    assert!(each.rto() < ms(2500));
    // Bounds are laid on the same estimate.
    each.set_bounds(ms(3000), ms(60_000));
    assert_eq!(each.rto(), ms(3000));
    each.set_bounds(ms(10), ms(60_000));
    assert!(each.rto().abs_diff(ms(2400)) < ms(40));
}

/// An idle association has little room: state for the rules of few stacks is elsewhere.
#[test]
fn the_plain_estimator_is_small() {
    assert!(size_of::<RttEstimator>() <= 72, "{} bytes", size_of::<RttEstimator>());
    assert!(RttEstimator::new(&rules()).extra.is_none());
}
