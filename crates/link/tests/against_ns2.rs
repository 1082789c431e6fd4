//! Queue disciplines against ns-2.35: one link of 10 Mb/s and 20 ms, packets that arrive at random (Poisson), 400 s of which
//! the first 20 do not count, five runs of ns-2 and five of ours. The figures of ns-2 are written where they are compared.
#![allow(clippy::print_stdout, reason = "the figures, for whoever asks with --nocapture")]

use anabranch_base::{Dscp, Duration, Instant, Rng};
use anabranch_link::{
    AdaptiveRed, ClassStats, DscpSet, Frame, Link, LinkConfig, LinkFacts, LinkStats, Loss, LossAt, Measure,
    QueueConfig, Rate, RedConfig, VirtualClass, VirtualConfig, VirtualMode, VirtualQuirks, Weight,
};

const RATE: u64 = 10_000_000;
const SEEDS: u64 = 5;

/// A source: code point, packets a second, bytes a packet.
type Source = (u8, f64, u32);

struct Outcome {
    link: LinkStats,
    classes: Vec<ClassStats>,
    average: f64,
    probability: f64,
}

fn one_run(queue: &QueueConfig, sources: &[Source], seed: u64) -> Outcome {
    let delay = Duration::from_millis(20);
    let facts = LinkFacts { rate: Some(RATE), delay };
    let mut link = Link::new(LinkConfig {
        rate: Rate::BitsPerSecond(RATE),
        delay,
        queue: queue.build(facts, Rng::stream(seed, "link", "queue")),
        loss: Loss::None,
        loss_at: LossAt::Exit,
    });
    let (from, until) = (Instant::from_nanos(20_000_000_000), Instant::from_nanos(420_000_000_000));
    link.count_between(Instant::ZERO, from, until);
    let mut rngs: Vec<Rng> =
        (0..sources.len()).map(|s| Rng::stream(seed, &format!("source:{s}"), "arrivals")).collect();
    let mut next: Vec<f64> =
        rngs.iter_mut().zip(sources).map(|(rng, source)| rng.exponential(1e9 / source.1)).collect();
    loop {
        let first = if next.len() > 1 && next[1] < next[0] { 1 } else { 0 };
        let now = Instant::from_nanos(next[first] as u64);
        if now >= until {
            break;
        }
        let (dscp, per_second, size) = sources[first];
        next[first] += rngs[first].exponential(1e9 / per_second);
        link.handle_frame(now, Frame { size, dscp: Dscp::new(dscp).unwrap_or_default(), ..Frame::default() });
        while link.poll_dropped().is_some() {}
        while link.poll_delivery(now).is_some() {}
    }
    let average = link.average(until).unwrap_or_default();
    Outcome {
        link: link.stats(until),
        classes: link.class_stats(until),
        average: average.mean,
        probability: average.probability,
    }
}

/// Mean and half width of the 95 % interval over the seeds.
fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // Student, 4 degrees of freedom.
    (mean, 2.776 * (variance / n).sqrt())
}

/// Ours and ns-2's mean differ by less than both intervals together, or by 1 %.
#[track_caller]
fn assert_same(what: &str, ours: &[f64], ns2: &[f64]) {
    let ((mean, half), (theirs, theirs_half)) = (interval(ours), interval(ns2));
    println!("{what}: {mean:.5} +- {half:.5}, ns-2 has {theirs:.5} +- {theirs_half:.5}");
    let allowed = (half + theirs_half).max(0.01 * theirs);
    assert!((mean - theirs).abs() <= allowed, "{what}: {mean} +- {half}, ns-2 has {theirs} +- {theirs_half}");
}

/// In packets of 1000 bytes, fixed weight.
fn red(min: f64, max: f64) -> RedConfig {
    RedConfig {
        min: Some(min),
        max: Some(max),
        packets: Some(100),
        weight: Weight::Fixed(0.002),
        mean_packet: 1000,
        ..RedConfig::default()
    }
}

/// Drop rate, average and probability at a load.
fn compare(name: &str, config: RedConfig, sources: &[Source], ns2: &[[f64; 5]]) {
    let queue = QueueConfig::Red(config);
    let runs: Vec<Outcome> = (1..=SEEDS).map(|seed| one_run(&queue, sources, seed)).collect();
    let of = |value: fn(&Outcome) -> f64| runs.iter().map(value).collect::<Vec<f64>>();
    let rate = of(|run| run.link.drops_queue as f64 / run.link.arrivals as f64);
    assert_same(&format!("{name}: drop rate"), &rate, &ns2[0]);
    assert_same(&format!("{name}: average"), &of(|run| run.average), &ns2[1]);
    if let Some(probability) = ns2.get(2) {
        assert_same(&format!("{name}: probability"), &of(|run| run.probability), probability);
    }
}

/// The drop rates of two classes (all and early ones) and their averages; 1250 packets a second are the rate of the link.
fn compare_classes(
    name: &str,
    mode: VirtualMode,
    (packets, weight): (u64, f64),
    thresholds: [(f64, f64, f64); 2],
    loads: [f64; 2],
    ns2: &[[f64; 5]; 6],
) {
    let class = |index: usize| VirtualClass {
        name: index.to_string(),
        dscp: std::iter::once(Dscp::new(10 + index as u8).unwrap_or_default()).collect::<DscpSet>(),
        colour: None,
        min: thresholds[index].0,
        max: thresholds[index].1,
        max_p: thresholds[index].2,
    };
    let queue = QueueConfig::VirtualRed(VirtualConfig {
        mode,
        packets: Some(packets),
        weight: Weight::Fixed(weight),
        mean_packet: 1000,
        ecn: false,
        quirks: VirtualQuirks { overrun: true, idle_twice: true },
        classes: vec![class(0), class(1)],
    });
    let sources = [(10, loads[0] * 1250.0, 1000), (11, loads[1] * 1250.0, 1000)];
    let runs: Vec<Outcome> = (1..=SEEDS).map(|seed| one_run(&queue, &sources, seed)).collect();
    for class in 0..2 {
        let of = |value: &dyn Fn(&ClassStats) -> f64| {
            runs.iter().map(|run| value(&run.classes[class])).collect::<Vec<f64>>()
        };
        let all = of(&|stats| stats.drops_queue as f64 / stats.arrivals as f64);
        assert_same(&format!("{name}, class {class}: drop rate"), &all, &ns2[3 * class]);
        let early = of(&|stats| stats.drops_early as f64 / stats.arrivals as f64);
        assert_same(&format!("{name}, class {class}: early"), &early, &ns2[3 * class + 1]);
        let average = of(&|stats| stats.average.unwrap_or_default().mean);
        assert_same(&format!("{name}, class {class}: average"), &average, &ns2[3 * class + 2]);
    }
}

#[test]
fn fixed_weight_gentle_and_waiting() {
    let config = red(5.0, 15.0);
    let ns2 = [
        [0.061679, 0.061917, 0.061547, 0.064204, 0.062018],
        [12.920874, 12.867935, 12.892199, 13.058966, 12.888349],
        [0.101965, 0.102268, 0.102389, 0.106210, 0.102853],
    ];
    compare("fixed_weight_gentle_and_waiting", config, &[(0, 1.05 * 1250.0, 1000)], &ns2);
}

#[test]
fn automatic_weight() {
    let config = RedConfig { max_p: 0.05, weight: Weight::Auto, ..red(25.0, 75.0) };
    let ns2 = [
        [0.021707, 0.021991, 0.022580, 0.022087, 0.020815],
        [52.095189, 52.345013, 51.667548, 51.766430, 50.088962],
        [0.029042, 0.029548, 0.029252, 0.029321, 0.027678],
    ];
    compare("automatic_weight", config, &[(0, 1.02 * 1250.0, 1000)], &ns2);
}

#[test]
fn neither_gentle_nor_waiting() {
    let config = RedConfig { gentle: false, wait: false, ..red(5.0, 15.0) };
    let ns2 = [
        [0.103663, 0.105786, 0.105537, 0.105330, 0.104208],
        [10.495107, 10.590699, 10.586492, 10.574582, 10.536845],
        [0.064174, 0.066034, 0.066964, 0.065534, 0.065724],
    ];
    compare("neither_gentle_nor_waiting", config, &[(0, 1.1 * 1250.0, 1000)], &ns2);
}

#[test]
fn bytes() {
    let config = RedConfig {
        measure: Measure::Bytes,
        by_size: true,
        mean_packet: 500,
        packets: None,
        bytes: Some(100_000),
        ..red(10.0, 30.0)
    };
    let ns2 = [
        [0.055550, 0.057611, 0.057116, 0.056924, 0.056453],
        [23.043477, 23.412142, 23.282023, 23.153371, 23.111240],
        [0.073861, 0.076282, 0.075469, 0.074962, 0.074594],
    ];
    compare("bytes", config, &[(0, 1125.0, 1000), (0, 1125.0, 200)], &ns2);
}

/// Not gentle: above `max` ns-2 goes on with the first `max_p`, ours with that of the moment.
#[test]
fn adaptive() {
    let config = RedConfig { adaptive: Some(AdaptiveRed::default()), gentle: false, ..red(10.0, 30.0) };
    let ns2 = [
        [0.096132, 0.095125, 0.095723, 0.094090, 0.095257],
        [22.224192, 22.137288, 22.112503, 22.167824, 22.155880],
        [0.137820, 0.136753, 0.137445, 0.135351, 0.135660],
    ];
    compare("adaptive", config, &[(0, 1.1 * 1250.0, 1000)], &ns2);
}

/// Without the probability: ns-2 renews it only when it draws, which is seldom here.
#[test]
fn an_average_that_falls_in_idle_times() {
    let config = RedConfig { weight: Weight::Fixed(0.05), ..red(2.0, 8.0) };
    let ns2 = [
        [0.025448, 0.026757, 0.026821, 0.026706, 0.027160],
        [3.705292, 3.752414, 3.771729, 3.748520, 3.782958],
    ];
    compare("an_average_that_falls_in_idle_times", config, &[(0, 0.95 * 1250.0, 1000)], &ns2);
}

#[test]
fn a_queue_that_is_often_full() {
    let config = RedConfig { packets: Some(12), ..red(5.0, 15.0) };
    let ns2 = [
        [0.232305, 0.231712, 0.232267, 0.231605, 0.232122],
        [10.146636, 10.140703, 10.143678, 10.126245, 10.143753],
        [0.051471, 0.051410, 0.051440, 0.051267, 0.051441],
    ];
    compare("a_queue_that_is_often_full", config, &[(0, 1.3 * 1250.0, 1000)], &ns2);
}

#[test]
fn rio_c() {
    let ns2 = [
        [0.000013, 0.000003, 0.000017, 0.000000, 0.000020],
        [0.000013, 0.000003, 0.000017, 0.000000, 0.000020],
        [8.313100, 8.298631, 8.379800, 8.289308, 8.349605],
        [0.353387, 0.354706, 0.359365, 0.355868, 0.356965],
        [0.130183, 0.129850, 0.129139, 0.129444, 0.129226],
        [13.982800, 13.978539, 14.003310, 13.974835, 13.986281],
    ];
    compare_classes(
        "rio_c",
        VirtualMode::Coupled,
        (60, 0.002),
        [(10.0, 30.0, 0.05), (5.0, 15.0, 0.1)],
        [0.6, 0.6],
        &ns2,
    );
}

#[test]
fn rio_c_with_idle_times() {
    let ns2 = [
        [0.000045, 0.000075, 0.000070, 0.000045, 0.000050],
        [0.000045, 0.000075, 0.000070, 0.000045, 0.000050],
        [0.561539, 0.561689, 0.574282, 0.555723, 0.563068],
        [0.075700, 0.074827, 0.076478, 0.073368, 0.075863],
        [0.041810, 0.041649, 0.042279, 0.039964, 0.042056],
        [1.792073, 1.805133, 1.816439, 1.792604, 1.803525],
    ];
    compare_classes(
        "rio_c_with_idle_times",
        VirtualMode::Coupled,
        (60, 0.02),
        [(2.0, 6.0, 0.1), (1.0, 4.0, 0.1)],
        [0.4, 0.5],
        &ns2,
    );
}

#[test]
fn rio_d() {
    let ns2 = [
        [0.107657, 0.106310, 0.106649, 0.108181, 0.108934],
        [0.106997, 0.105530, 0.105634, 0.107364, 0.108235],
        [13.047078, 12.964455, 13.074724, 13.082477, 13.116534],
        [0.227879, 0.225934, 0.229267, 0.228545, 0.230697],
        [0.161010, 0.158965, 0.160475, 0.160991, 0.160197],
        [10.890703, 10.849081, 10.891533, 10.922013, 10.925022],
    ];
    compare_classes(
        "rio_d",
        VirtualMode::Decoupled,
        (60, 0.002),
        [(5.0, 20.0, 0.1), (3.0, 12.0, 0.1)],
        [0.6, 0.6],
        &ns2,
    );
}

#[test]
fn rio_d_of_experiment_one() {
    let ns2 = [
        [0.301483, 0.300745, 0.303749, 0.299490, 0.303257],
        [0.070116, 0.069922, 0.069387, 0.069895, 0.069915],
        [8.861006, 8.850791, 8.859966, 8.851757, 8.860742],
        [0.000000, 0.000040, 0.000020, 0.000067, 0.000020],
        [0.000000, 0.000000, 0.000000, 0.000000, 0.000000],
        [3.536144, 3.544549, 3.583318, 3.521191, 3.550407],
    ];
    compare_classes(
        "rio_d_of_experiment_one",
        VirtualMode::Decoupled,
        (40, 0.002),
        [(2.0, 9.0, 0.05), (5.0, 22.0, 0.05)],
        [1.0, 0.3],
        &ns2,
    );
}

#[test]
fn rio_d_with_idle_times() {
    let ns2 = [
        [0.047421, 0.048564, 0.047637, 0.047427, 0.048108],
        [0.036133, 0.036522, 0.036790, 0.036220, 0.037001],
        [1.534674, 1.529435, 1.522231, 1.538231, 1.546071],
        [0.009670, 0.009117, 0.009987, 0.009783, 0.009982],
        [0.009302, 0.008525, 0.009351, 0.009209, 0.009667],
        [1.433606, 1.421725, 1.420363, 1.432673, 1.445310],
    ];
    compare_classes(
        "rio_d_with_idle_times",
        VirtualMode::Decoupled,
        (60, 0.02),
        [(1.0, 4.0, 0.1), (2.0, 6.0, 0.1)],
        [0.5, 0.45],
        &ns2,
    );
}

#[test]
fn wred() {
    let ns2 = [
        [0.004061, 0.005196, 0.005795, 0.004597, 0.006303],
        [0.004061, 0.005196, 0.005795, 0.004597, 0.006303],
        [13.984981, 13.957464, 14.002669, 13.992601, 13.957948],
        [0.352957, 0.348437, 0.348302, 0.351959, 0.351962],
        [0.130750, 0.131569, 0.132124, 0.131741, 0.129991],
        [13.984981, 13.957464, 14.002669, 13.992601, 13.957948],
    ];
    compare_classes(
        "wred",
        VirtualMode::Whole,
        (60, 0.002),
        [(10.0, 30.0, 0.05), (5.0, 15.0, 0.1)],
        [0.6, 0.6],
        &ns2,
    );
}
