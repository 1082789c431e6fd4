use super::*;
use crate::scenario::Distribution;
use anabranch_base::Duration;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

fn source(rate: u64, rhythm: Rhythm) -> PacketSource {
    PacketSource { rate, packet: 1000, jitter: 0.0, rhythm }
}

/// The times of the first packets, nanoseconds after the start at 1 s.
fn times(source: &PacketSource, seed: u64, count: usize) -> Vec<u64> {
    let start = Instant::from_nanos(SECOND);
    let (mut schedule, first) = Schedule::new(source, start, Rng::stream(seed, "test", "schedule"));
    let mut times = vec![first.as_nanos() - SECOND];
    while times.len() < count {
        times.push(schedule.following().as_nanos() - SECOND);
    }
    times
}

#[test]
fn a_constant_rate_never_drifts() {
    // 1.6 ms each.
    assert_eq!(times(&source(5_000_000, Rhythm::Steady), 1, 4), [0, 1_600_000, 3_200_000, 4_800_000]);
    // 2/3 of a nanosecond is left over each time: after 3,000,000 packets 2,000,000 ns.
    let odd = times(&source(3_000_000, Rhythm::Steady), 1, 3_000_001);
    assert_eq!(odd[3_000_000], 3_000_000 * 2_666_666 + 2_000_000);
}

#[test]
fn jitter_keeps_the_mean_and_its_bounds() {
    let steady = PacketSource { jitter: 1.0, ..source(8_000_000, Rhythm::Steady) };
    let times = times(&steady, 3, 100_001);
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (MS / 2..=MS * 3 / 2).contains(gap)));
    assert!(gaps.iter().any(|gap| *gap < MS * 6 / 10) && gaps.iter().any(|gap| *gap > MS * 14 / 10));
    // The deviation of the mean of 100,000 gaps is 0.29 ms / 316, which is 0.1 %.
    assert!((times[100_000] as f64 / 1e5 / MS as f64 - 1.0).abs() < 0.005);
}

#[test]
fn a_square_wave_begins_where_its_phase_says() {
    let square = |phase| {
        let millis = Duration::from_millis;
        source(8_000_000, Rhythm::Square { on: millis(3), off: millis(2), phase: millis(phase) })
    };
    let in_ms = |phase| times(&square(phase), 1, 8).iter().map(|at| at / MS).collect::<Vec<_>>();
    // A packet each millisecond, three to a period of five.
    assert_eq!(in_ms(0), [0, 1, 2, 5, 6, 7, 10, 11]);
    assert_eq!(in_ms(2), [0, 3, 4, 5, 8, 9, 10, 13]);
    assert_eq!(in_ms(3), [2, 3, 4, 7, 8, 9, 12, 13]);
    assert_eq!(in_ms(4), [1, 2, 3, 6, 7, 8, 11, 12]);
}

#[test]
fn a_square_wave_of_slow_packets_sends_one_a_period() {
    let millis = Duration::from_millis;
    let square = source(800_000, Rhythm::Square { on: millis(3), off: millis(2), phase: Duration::ZERO });
    assert_eq!(times(&square, 1, 3), [0, 5 * MS, 10 * MS]);
}

/// Bursts and silences of a schedule with a packet each millisecond: packets of each burst, and nanoseconds between the end
/// of a burst (a gap after its last packet) and the beginning of the next (a gap before its first).
fn bursts(distribution: Distribution, seed: u64, count: usize) -> (Vec<f64>, Vec<f64>) {
    let (on, off) = (Duration::from_millis(500), Duration::from_millis(250));
    let times = times(&source(8_000_000, Rhythm::OnOff { distribution, on, off }), seed, count);
    let (mut bursts, mut silences) = (Vec::new(), vec![(times[0] - MS) as f64]);
    let mut packets = 1.0;
    for pair in times.windows(2) {
        match pair[1] - pair[0] {
            MS => packets += 1.0,
            longer => {
                bursts.push(packets);
                silences.push((longer - MS) as f64);
                packets = 1.0;
            }
        }
    }
    (bursts, silences)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn exponential_bursts_and_silences_have_their_means() {
    let (on, off) = bursts(Distribution::Exponential, 5, 5_000_000);
    // About 10,000 of each: the deviation of a mean is 1 %.
    assert!(on.len() > 9_000, "{}", on.len());
    assert!((mean(&on) / 500.0 - 1.0).abs() < 0.04, "{}", mean(&on));
    assert!((mean(&off) / 250e6 - 1.0).abs() < 0.04, "{}", mean(&off));
    let variation = |values: &[f64]| {
        let mean = mean(values);
        (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt() / mean
    };
    assert!((variation(&on) - 1.0).abs() < 0.05 && (variation(&off) - 1.0).abs() < 0.05);
    assert_ne!(off[..5], bursts(Distribution::Exponential, 6, 10_000).1[..5]);
}

#[test]
fn pareto_bursts_have_the_tail_of_their_shape() {
    let (on, off) = bursts(Distribution::Pareto { shape: 1.5 }, 5, 5_000_000);
    // The scale is a third of the mean: nothing is shorter, and half of it all is below scale * 2^(2/3).
    let half = |values: &[f64], limit: f64| {
        values.iter().filter(|v| **v < limit).count() as f64 / values.len() as f64
    };
    let (on_scale, off_scale): (f64, f64) = (500.0 / 3.0, 250e6 / 3.0);
    assert!(on.iter().all(|v| *v >= on_scale.round()) && off.iter().all(|v| *v >= off_scale - 1.0));
    assert!((half(&on, on_scale * 2_f64.powf(2.0 / 3.0)) - 0.5).abs() < 0.03);
    assert!((half(&off, off_scale * 2_f64.powf(2.0 / 3.0)) - 0.5).abs() < 0.03);
    // P(X > 10 scale) = 10^-1.5.
    let tail = 1.0 - half(&off, 10.0 * off_scale);
    assert!((tail / 10_f64.powf(-1.5) - 1.0).abs() < 0.2, "{tail}");
}

#[test]
fn a_burst_has_at_least_one_packet() {
    let (on, off) = (Duration::from_nanos(1), Duration::from_millis(10));
    let rhythm = Rhythm::OnOff { distribution: Distribution::Exponential, on, off };
    let times = times(&source(8_000_000, rhythm), 1, 1000);
    assert!(times.windows(2).all(|pair| pair[1] > pair[0] + MS));
}
