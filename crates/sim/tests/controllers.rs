//! SCTP with the controllers that TCP has, over a long fat path: 100 Mbit/s, a round trip of 100 ms.

use crate::common::{engine, flow, link, ms, scenario};
use anabranch_base::Duration;
use anabranch_sim::scenario::{Applies, EventKind, Loss, Protocol, Record, Scenario, Selection, Traffic};
use anabranch_sim::{RunOutput, run};

/// Bytes that the path holds: 100 Mbit/s times 100 ms.
const PATH: u64 = 1_250_000;

/// An association that never has to wait for its user or its peer.
fn greedy(control: &str, queue: u64, loss: Loss, seconds: u64, ssthresh: &str) -> Scenario {
    let options = [
        ("congestion_control", control),
        ("receive_window", "64 MB"),
        ("send_buffer", "64 MB"),
        ("initial_ssthresh", ssthresh),
    ];
    let links = link("fat", ("a", "b"), 100.0, ms(50), queue, loss).to_vec();
    let flow = flow(
        control,
        ("a", "b"),
        Protocol::Sctp,
        engine("rfc9260", &options),
        Traffic::Greedy { message: 1452 },
    );
    scenario(Duration::from_secs(seconds), links, vec![flow])
}

/// With the events of the windows. Options, links and flows are those of this file.
#[expect(clippy::unwrap_used, reason = "a scenario of these tests that cannot run is a failed test")]
fn traced(scenario: &Scenario) -> RunOutput {
    let kinds = vec![EventKind::Window, EventKind::FastRetransmit];
    run(scenario, 1, &Record { trace: Selection::Only(kinds), ..Record::default() }).unwrap()
}

/// The effect of one lost packet on a window that fills the path.
#[derive(Debug)]
struct AfterLoss {
    /// Windows just before and after the fast retransmit, bytes.
    before: f64,
    after: f64,
    /// Seconds until the window was what it had been; infinite when the run ends before.
    back: f64,
    /// User data that the receiver had at the end of the run, MB.
    delivered: f64,
}

/// The window fills the path at once; packet 20,000 is lost, 2.4 s after that.
fn after_loss(control: &str) -> AfterLoss {
    let loss =
        Loss::Positions { drop: vec![20_000], applies: Applies::Data, dscp: Default::default(), flow: None };
    let output = traced(&greedy(control, 10_000, loss, 40, "1250000 B"));
    let flow = &output.summary.flows[0].measures;
    assert_eq!((flow.fast_retransmits, flow.timeouts), (Some(1), Some(0)), "{control}");
    let trace = output.trace.unwrap_or_default();
    let at = trace.kind.iter().position(|kind| *kind == EventKind::FastRetransmit as u8).unwrap_or_default();
    let windows = |range: std::ops::Range<usize>| {
        let kept = range.filter(|i| trace.kind[*i] == EventKind::Window as u8);
        kept.map(|i| (trace.time_ns[i], trace.a[i] as f64)).collect::<Vec<_>>()
    };
    let (earlier, later) = (windows(0..at), windows(at..trace.kind.len()));
    let before = earlier.last().map_or(0.0, |window| window.1);
    let back = later.iter().find(|window| window.1 >= before);
    AfterLoss {
        before,
        after: later.first().map_or(0.0, |window| window.1),
        back: back.map_or(f64::INFINITY, |window| (window.0 - later[0].0) as f64 / 1e9),
        delivered: flow.delivered_bytes as f64 / 1e6,
    }
}

/// RFC 9438, 4.6: beta_cubic is 0.7; Reno halves; BIC leaves 819/1024.
#[test]
fn a_loss_leaves_its_share_of_the_window() {
    for (control, share) in [("reno", 0.5), ("cubic", 0.7), ("bic", 819.0 / 1024.0), ("vegas", 0.5)] {
        let loss = after_loss(control);
        assert!(loss.before >= 0.97 * PATH as f64, "{control} fills the path: {loss:?}");
        assert!((loss.after / loss.before - share).abs() < 1e-3, "{control}: {loss:?}");
    }
}

/// RFC 9438, equation 2: W_max is some 865 packets of 1468 bytes, so K = cbrt(865 * 0.3 / 0.4) = 8.7 s. Reno gains a packet
/// in a round trip: 430 of them, 43 s.
#[test]
fn cubic_is_back_long_before_reno() {
    let (reno, cubic, bic) = (after_loss("reno"), after_loss("cubic"), after_loss("bic"));
    assert!((7.5..10.0).contains(&cubic.back), "{cubic:?}");
    assert!(bic.back < 12.0, "{bic:?}");
    assert!(reno.back > 30.0, "{reno:?}");
    assert!(cubic.delivered > 1.1 * reno.delivered, "{cubic:?} {reno:?}");
    // 40 s at 100 Mbit/s are 500 MB on the wire, 484 of them user data.
    assert!(cubic.delivered > 0.9 * 484.0, "{cubic:?}");
}

/// RFC 9406: slow start ends by and by when the queue begins to grow, not when it overflows.
#[test]
fn hystart_loses_less_at_the_end_of_slow_start() {
    for algorithm in ["reno", "cubic", "bic"] {
        let lost = |control: &str| {
            let output = traced(&greedy(control, 3000, Loss::None, 6, "1073741824 B"));
            output.summary.flows[0].packets_lost
        };
        let (plain, hystart) = (lost(algorithm), lost(&format!("{algorithm}+hystart")));
        assert!(plain > 1000 && 2 * hystart < plain, "{algorithm}: {plain} without, {hystart} with it");
    }
}

/// Brakmo et al.: two to four packets wait, whatever the queue has room for; four of 1500 bytes take 0.5 ms.
#[test]
fn vegas_fills_the_path_and_not_the_queue() {
    let output = traced(&greedy("vegas", 800, Loss::None, 40, "1250000 B"));
    let flow = &output.summary.flows[0];
    assert_eq!(flow.packets_lost, 0);
    assert!(flow.measures.srtt_mean_s.is_some_and(|srtt| srtt < 0.1025), "{:?}", flow.measures.srtt_mean_s);
    assert!(flow.measures.goodput_wire_run_bps > 90e6, "{}", flow.measures.goodput_wire_run_bps);
}

/// Two at a time, in a queue of half a round trip: nobody starves, and the path is full.
#[test]
fn two_of_a_kind_share() {
    for control in ["reno", "cubic", "bic"] {
        let mut both = greedy(control, 400, Loss::None, 120, "1073741824 B");
        both.warmup = Duration::from_secs(60);
        let second = anabranch_sim::scenario::Flow { name: "second".to_owned(), ..both.flows[0].clone() };
        both.flows.push(second);
        let output = traced(&both);
        let rates: Vec<f64> =
            output.summary.flows.iter().map(|f| f.measures.goodput_wire_run_bps / 1e6).collect();
        assert!(rates.iter().sum::<f64>() > 85.0, "{control}: {rates:?}");
        assert!(rates.iter().all(|rate| *rate > 10.0), "{control}: {rates:?}");
    }
}
