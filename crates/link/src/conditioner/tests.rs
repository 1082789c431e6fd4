use super::*;
use anabranch_base::Duration;

fn rng() -> Rng {
    Rng::stream(1, "link:test", "condition 1")
}

fn dscp(value: u8) -> Dscp {
    Dscp::new(value).unwrap()
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// Colours of frames (milliseconds, bytes, colour before).
fn colours(config: MeterConfig, frames: &[(u64, u32, Colour)]) -> Vec<Colour> {
    let mut meter = Meter::new(config, rng());
    frames.iter().map(|&(ms, size, before)| meter.colour(at(ms), size, before)).collect()
}

use Colour::{Green, Red, Yellow};

#[test]
fn code_points_are_rewritten_and_bleached() {
    let points = |values: &[u8]| values.iter().map(|&value| dscp(value)).collect::<DscpSet>();
    let rules = vec![(points(&[46, 44]), dscp(10)), (points(&[46, 0]), dscp(1))];
    let config = ConditionerConfig { dscp: DscpSet::ALL, what: Conditioning::Rewrite(rules) };
    let mut rewrite = Conditioner::new(&config, rng());
    let bleach = Conditioning::Rewrite(vec![(DscpSet::ALL, Dscp::DEFAULT)]);
    let mut bleach = Conditioner::new(&ConditionerConfig { dscp: points(&[46, 8]), what: bleach }, rng());
    for (old, new, bleached) in [(46, 10, 0), (44, 10, 44), (0, 1, 0), (8, 8, 0), (63, 63, 63)] {
        let mut frame = Frame { dscp: dscp(old), ..Frame::default() };
        assert!(bleach.condition(at(0), &mut frame));
        assert_eq!(frame.dscp, dscp(bleached));
        let mut frame = Frame { dscp: dscp(old), ..Frame::default() };
        assert!(rewrite.condition(at(0), &mut frame));
        assert_eq!(frame.dscp, dscp(new));
    }
}

#[test]
fn a_token_bucket_by_hand() {
    // 8000 bit/s are a byte a millisecond; 1000 bytes at once.
    let config = MeterConfig::TokenBucket { rate: 8_000, burst: 1_000 };
    let frames = [
        (0, 600, Green),     // 400 left
        (0, 500, Green),     // not enough, nothing taken
        (0, 400, Green),     // 0 left
        (99, 100, Green),    // 99 there
        (100, 100, Green),   // 100 there
        (5_000, 1_001, Red), // never more than 1000
        (5_000, 1_000, Red),
    ];
    assert_eq!(colours(config, &frames), [Green, Red, Green, Red, Green, Red, Green]);
    // Fractions of a token are not lost: 1 bit a second, 8 s for a byte.
    let slow = MeterConfig::TokenBucket { rate: 1, burst: 1 };
    let mut meter = Meter::new(slow, rng());
    assert_eq!(meter.colour(at(0), 1, Green), Green);
    let seen: Vec<u64> = (1..17_000).filter(|&ms| meter.colour(at(ms), 1, Green) == Green).collect();
    assert_eq!(seen, [8_000, 16_000]);
}

#[test]
fn single_rate_three_colours_by_hand() {
    // A byte a millisecond, 1000 committed, 500 in excess.
    let config = |aware| MeterConfig::SrTcm { cir: 8_000, cbs: 1_000, ebs: 500, aware };
    let blind = [
        (0, 600, Red),       // C 400, E 500
        (0, 600, Green),     // neither has 600
        (0, 500, Red),       // E 0
        (0, 400, Green),     // C 0
        (0, 1, Green),       // nothing left
        (1_000, 1, Green),   // C 999, E 0
        (1_301, 301, Green), // C 999 + 301 = 1000 and 300 over: C 699, E 300
        (1_301, 700, Green), // C has 699, E 300: red
        (1_302, 700, Green), // C 700
        (1_302, 300, Green), // E 300
    ];
    assert_eq!(
        colours(config(false), &blind),
        [Green, Red, Yellow, Green, Red, Green, Green, Red, Green, Yellow]
    );
    let aware = [(0, 400, Red), (0, 400, Yellow), (0, 400, Yellow), (0, 400, Green), (0, 100, Yellow)];
    assert_eq!(colours(config(true), &aware), [Red, Yellow, Red, Green, Yellow]);
}

#[test]
fn two_rates_three_colours_by_hand() {
    // A byte a millisecond committed, two at the peak; bursts of 1000 and 1500.
    let config = |aware| MeterConfig::TrTcm { cir: 8_000, cbs: 1_000, pir: 16_000, pbs: 1_500, aware };
    let blind = [
        (0, 800, Red),     // C 200, P 700
        (0, 300, Green),   // C has 200: yellow, P 400
        (0, 500, Green),   // P has 400: red
        (0, 200, Green),   // C 0, P 200
        (100, 300, Green), // C 100, P 400: yellow, P 100
        (100, 101, Green), // red
        (10_000, 1_000, Green),
        (10_000, 500, Green),
        (10_000, 1, Green),
    ];
    assert_eq!(colours(config(false), &blind), [Green, Yellow, Red, Green, Yellow, Red, Green, Yellow, Red]);
    let aware = [(0, 400, Red), (0, 400, Yellow), (0, 1_000, Green), (0, 100, Yellow)];
    assert_eq!(colours(config(true), &aware), [Red, Yellow, Green, Yellow]);
}

#[test]
fn a_time_sliding_window_lets_through_what_was_agreed() {
    // 2 Mbit/s against 1 and 1.5: half is green, a quarter yellow, a quarter red.
    let share = |cir: u64, pir: u64| {
        let window = Duration::from_secs(1);
        let mut meter = Meter::new(MeterConfig::TimeSlidingWindow { cir, pir, window }, rng());
        let mut counts = [0.0; 3];
        for n in 0..100_000_u64 {
            let colour = meter.colour(at(n * 4), 1_000, Green);
            if n >= 5_000 {
                counts[colour as usize] += 1.0 / 95_000.0;
            }
        }
        counts
    };
    let close = |found: [f64; 3], expected: [f64; 3]| {
        // Four standard deviations of a half of 95,000 are 0.0065.
        let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 0.0065, "{found:?}, not {expected:?}");
    };
    close(share(1_000_000, 1_500_000), [0.5, 0.25, 0.25]);
    close(share(1_000_000, 1_000_000), [0.5, 0.0, 0.5]);
    close(share(1_000_000, 4_000_000), [0.5, 0.5, 0.0]);
    assert_eq!(share(2_100_000, 3_000_000)[1..], [0.0, 0.0]);
}

#[test]
fn the_estimate_of_rfc_2859_by_hand() {
    // Starts at 8000 bit/s. After 1 s of nothing, 1000 bytes: (8000 + 8000) / 2 s = 8000. Half a second later 1000 bytes:
    // (8000 + 8000) / 1.5 s = 10667; a frame is out with (10667 - 8000) / 10667 = 1/4.
    let mut out = 0;
    for seed in 0..4_000 {
        let config =
            MeterConfig::TimeSlidingWindow { cir: 8_000, pir: 8_000, window: Duration::from_secs(1) };
        let mut meter = Meter::new(config, Rng::stream(seed, "link:test", "condition 1"));
        assert_eq!(meter.colour(at(1_000), 1_000, Green), Green);
        out += u32::from(meter.colour(at(1_500), 1_000, Green) == Red);
    }
    // Four standard deviations of 27.
    assert!((f64::from(out) - 1_000.0).abs() < 110.0, "{out}");
}

#[test]
fn colours_have_consequences() {
    let meter = MeterConfig::SrTcm { cir: 8_000, cbs: 1_000, ebs: 1_000, aware: false };
    let actions = [Action::Pass, Action::Mark(dscp(12)), Action::Drop];
    let config = ConditionerConfig {
        dscp: std::iter::once(dscp(10)).collect(),
        what: Conditioning::Meter { meter, actions },
    };
    let mut conditioner = Conditioner::new(&config, rng());
    let mut next = |value| {
        let mut frame = Frame { dscp: dscp(value), size: 900, ..Frame::default() };
        conditioner.condition(at(0), &mut frame).then_some((frame.dscp.get(), frame.colour))
    };
    // Others are not metered.
    assert_eq!(next(0), Some((0, Green)));
    assert_eq!(next(10), Some((10, Green)));
    assert_eq!(next(10), Some((12, Yellow)));
    assert_eq!(next(10), None);
    assert_eq!(next(0), Some((0, Green)));
}
