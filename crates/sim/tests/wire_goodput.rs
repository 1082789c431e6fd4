//! The wire goodput of each subflow is what its packets weigh on the link, whatever header its data chunks have.

use crate::common::{engine, flow, link, ms, scenario};
use anabranch_base::Duration;
use anabranch_sctp::config::SubflowLevel;
use anabranch_sim::run;
use anabranch_sim::scenario::{
    EventKind, Loss, Protocol, Record, Selection, SubflowScheduler, SubflowSpec, Traffic,
};

/// Bytes in a second of `goodput_wire_run_bps` of both subflows, and bytes of data packets that were offered to the link meanwhile.
fn counted(level: SubflowLevel, message: u32) -> (f64, u64) {
    // Receive windows of 64 kB keep the link from filling, so nothing is lost and nothing is sent twice.
    let links = link("wan", ("a", "b"), 100.0, ms(10), 1000, Loss::None).to_vec();
    let mut one = flow(
        "f",
        ("a", "b"),
        Protocol::Sctp,
        engine("rfc9260", &[("receive_window", "64 kB")]),
        Traffic::Greedy { message },
    );
    one.level = level;
    one.subflows =
        [18, 20].map(|dscp| SubflowSpec::new(anabranch_base::Dscp::new(dscp).unwrap_or_default())).to_vec();
    one.scheduler = SubflowScheduler::WeightedRoundRobin;
    one.streams = 2;
    let mut scenario = scenario(Duration::from_millis(1500), links, vec![one]);
    // The handshake is over by then; chunks that ride with a COOKIE ECHO are in no one's goodput.
    scenario.warmup = ms(500);
    let record = Record { packets: Selection::Only(vec![0]), ..Record::default() };
    let output = run(&scenario, 1, &record).expect("it runs");
    let trace = output.trace.expect("packets were recorded");
    let flow = &output.summary.flows[0];
    assert_eq!(flow.subflows.len(), 2, "{level:?}");
    assert_eq!((flow.packets_lost, flow.measures.retransmissions), (0, Some(0)), "{level:?}");
    let bits: f64 = flow.subflows.iter().map(|subflow| subflow.measures.goodput_wire_run_bps).sum();
    let from = scenario.warmup.as_nanos();
    let data = (0..trace.len())
        .filter(|&i| trace.kind[i] == EventKind::Offered as u8 && trace.time_ns[i] >= from && trace.a[i] > 0);
    (bits / 8.0, data.map(|i| u64::from(trace.size[i])).sum())
}

#[test]
fn it_is_what_the_packets_weigh_on_the_link() {
    for level in [SubflowLevel::Zero, SubflowLevel::One, SubflowLevel::Sf2007] {
        // The second size needs padding; the third one takes several chunks.
        for message in [1000, 1001, 3000] {
            let (goodput, bytes) = counted(level, message);
            assert!(bytes > 1_000_000, "{level:?}, {message} B: {bytes}");
            assert!((goodput - bytes as f64).abs() < 1e-6, "{level:?}, {message} B: {goodput}, not {bytes}");
        }
    }
}
