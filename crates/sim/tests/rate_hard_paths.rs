//! The profile `modern` where windows are large and the way is hard: queues of seconds, a way back that is full of SACKs, round trips of
//! more than a second with hundreds of losses, a flow that comes late. Each beside RFC 9260's rules or an equal flow, in virtual time.

#![allow(clippy::print_stdout, reason = "the figures, for who asks for them")]

use crate::common::{engine, flow, link, ms, scenario};
use anabranch_base::Duration;
use anabranch_sim::scenario::{Checksums, Loss, Protocol, Queue, Record, TimeDraw, Traffic};
use anabranch_sim::{RunOutput, run};

const GREEDY: Traffic = Traffic::Greedy { message: 16_384 };

/// A path in one direction and what the way back has.
struct Path {
    mbit: f64,
    /// One way, ms.
    delay: u64,
    queue: Queue,
    /// The way back: Mbit/s and packets of its queue.
    back: Option<(f64, u64)>,
}

fn bytes(bytes: u64) -> Queue {
    Queue::DropTail { packets: None, bytes: Some(bytes) }
}

fn packets(packets: u64) -> Queue {
    Queue::DropTail { packets: Some(packets), bytes: None }
}

/// Flows of profiles that begin at so many seconds; figures are of what follows `from`.
#[expect(clippy::unwrap_used, reason = "a scenario of these tests that cannot run is a failed test")]
fn on(path: &Path, flows: &[(&'static str, u64)], (from, seconds): (u64, u64), seed: u64) -> RunOutput {
    let mut links = link("path", ("a", "b"), path.mbit, ms(path.delay), 100_000, Loss::None).to_vec();
    links[0].queue = path.queue.clone();
    if let Some((mbit, queue)) = path.back {
        let slow = link("slow", ("a", "b"), mbit, ms(path.delay), queue, Loss::None);
        links[1].rate = slow[1].rate;
        links[1].queue = packets(queue);
    }
    let flows = flows.iter().enumerate().map(|(n, (profile, second))| {
        let mut one = flow(["f", "g"][n], ("a", "b"), Protocol::Sctp, engine(profile, &[]), GREEDY);
        let at = Duration::from_secs(*second);
        // In different phases with different seeds.
        one.start = TimeDraw::Uniform(at, at + ms(1000));
        one
    });
    let mut whole = scenario(Duration::from_secs(seconds), links, flows.collect());
    whole.checksums = Checksums::Elide;
    whole.warmup = Duration::from_secs(from);
    run(&whole, seed, &Record::default()).unwrap()
}

/// Payload goodput of a flow over the whole run, Mbit/s; retransmissions for each packet sent; expiries of T3-rtx.
fn figures(output: &RunOutput, flow: usize) -> (f64, f64, u64) {
    let m = &output.summary.flows[flow].measures;
    let (again, sent) = (m.retransmissions.unwrap_or(0), m.packets_sent.max(1));
    (m.goodput_payload_run_bps / 1e6, again as f64 / sent as f64, m.timeouts.unwrap_or(0))
}

/// The shortest round trip says nothing of the present one, seconds long: what was sent again is not lost 200 ms later, again and again.
#[test]
fn no_storm_of_retransmissions_where_sacks_wait_in_a_queue() {
    for (mbit, delay, queue, back, least) in [
        (20.0, 2, 12_500, 0.2, 1.0),
        (2.0, 10, 12_500, 0.02, 1.0),
        (20.0, 20, 100_000, 0.2, 1.0),
        // RFC 9260's window of 1 MiB is a little more than this path holds: it loses nothing.
        (20.0, 200, 1_000_000, 0.4, 0.8),
    ] {
        let path = Path { mbit, delay, queue: bytes(queue), back: Some((back, 500)) };
        let of = |profile| figures(&on(&path, &[(profile, 0)], (15, 90), 1), 0);
        let (modern, letter) = (of("modern"), of("rfc9260"));
        println!("{mbit} Mbit/s, {delay} ms: {modern:?}, RFC 9260 {letter:?}");
        assert!(modern.0 >= least * letter.0, "{mbit} Mbit/s, {delay} ms: {modern:?}, RFC 9260 {letter:?}");
        assert!(modern.1 < 0.15, "{mbit} Mbit/s, {delay} ms: {modern:?}");
    }
}

/// With hundreds of samples in a round trip the timeout must not expire just before the answer to a retransmission.
#[test]
fn no_timeout_in_a_queue_of_seconds() {
    for queue in [1500, 2000, 4000] {
        let path = Path { mbit: 10.0, delay: 10, queue: packets(queue), back: None };
        let found = figures(&on(&path, &[("modern", 0)], (0, 60), 1), 0);
        println!("queue of {queue}: {found:?}");
        assert!(found.0 > 9.4 && found.1 < 0.1 && found.2 == 0, "queue of {queue}: {found:?}");
    }
}

/// Hundreds of losses in one window, a round trip of more than a second.
#[test]
fn losses_by_hundreds_over_a_satellite() {
    let path = Path { mbit: 10.0, delay: 600, queue: bytes(1_500_000), back: None };
    let found = figures(&on(&path, &[("modern", 0)], (0, 120), 1), 0);
    println!("satellite: {found:?}");
    assert!(found.0 > 8.2 && found.1 < 0.05 && found.2 <= 1, "{found:?}");
}

/// A flow that comes late to a long fast path gets a share: that is the purpose of fast convergence (RFC 9438, 4.7).
/// Without it where windows differ by less than 5 %, the share was a quarter in the mean and a tenth in some cases.
#[test]
fn a_latecomer_gets_a_share() {
    let path = Path { mbit: 100.0, delay: 50, queue: bytes(1_250_000), back: None };
    let shares: Vec<f64> = (1..=12)
        .map(|seed| {
            let output = on(&path, &[("modern", 0), ("modern", 20)], (40, 100), seed);
            let (first, second) = (figures(&output, 0).0, figures(&output, 1).0);
            second / (first + second)
        })
        .collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    println!("shares {shares:.3?}, mean {mean:.3}");
    assert!(mean > 0.31, "{shares:?}");
}
