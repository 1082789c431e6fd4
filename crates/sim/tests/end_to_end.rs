//! Real transports over simulated networks.

use crate::common::{bernoulli, engine, flow, link, ms, scenario};
use anabranch_base::Duration;
use anabranch_sim::scenario::{EventKind, Flow, Loss, Protocol, Record, Selection, Traffic};
use anabranch_sim::{Attached, Columns, RunOutput, run, run_attached};

/// 10 Mb/s, 40 ms of round trip, `p` lost there and back.
fn lossy_transfer(
    protocol: Protocol,
    profile: &str,
    p: f64,
    bytes: u64,
    message: u32,
) -> anabranch_sim::scenario::Scenario {
    let mut links = link("wan", ("a", "b"), 10.0, ms(20), 50, bernoulli(p)).to_vec();
    links[1].loss = bernoulli(p);
    let transfer =
        flow("f", ("a", "b"), protocol, engine(profile, &[]), Traffic::Transfer { bytes, message });
    scenario(Duration::from_secs(2000), links, vec![transfer])
}

#[track_caller]
fn assert_complete(output: &RunOutput, bytes: u64, what: &str) {
    let flow = &output.summary.flows[0];
    assert_eq!(flow.failed, None, "{what}");
    assert_eq!(flow.measures.delivered_bytes, bytes, "{what}");
    assert_eq!(flow.intact, Some(true), "{what}");
    assert!(flow.completion_s.is_some(), "{what}");
    assert!(flow.close_s >= flow.completion_s, "{what}: {:?} {:?}", flow.close_s, flow.completion_s);
}

#[test]
fn sctp_delivers_everything_over_lossy_links() {
    for profile in ["rfc9260", "rfc2960", "ns2-2.28", "ns2-2.35"] {
        for seed in 1..=4 {
            for (p, message) in [(0.01, 1452), (0.1, 1452), (0.03, 20_000), (0.05, 100)] {
                let bytes = 300_000;
                let what = format!("{profile}, seed {seed}, p {p}, messages of {message}");
                let mut scenario = lossy_transfer(Protocol::Sctp, profile, p, bytes, message);
                scenario.flows[0].streams = 3;
                let output = run(&scenario, seed, &Record::default()).unwrap();
                assert_complete(&output, bytes, &what);
                assert!(output.summary.flows[0].measures.retransmissions > Some(0), "{what}");
            }
        }
    }
}

#[test]
fn mixed_messages_arrive_whole_over_lossy_links() {
    let schedulings = ["fcfs", "round-robin", "round-robin-packet", "priority", "fair-capacity", "wfq"];
    for (seed, scheduling) in (1..).zip(schedulings) {
        for (p, message) in [(0.01, 1452), (0.03, 20_000), (0.1, 3000)] {
            let bytes = 400_000;
            let what = format!("{scheduling}, p {p}, messages of {message}");
            let mut scenario = lossy_transfer(Protocol::Sctp, "rfc9260", p, bytes, message);
            let options = [
                ("interleaving", "true"),
                ("reconfiguration", "true"),
                ("stream_scheduling", scheduling),
                ("stream_values", "0=4 3=2"),
            ];
            scenario.flows[0].sender = engine("rfc9260", &options);
            scenario.flows[0].receiver = engine("rfc9260", &options);
            scenario.flows[0].streams = 5;
            let output = run(&scenario, seed, &Record::default()).unwrap();
            assert_complete(&output, bytes, &what);
            assert!(output.summary.flows[0].measures.retransmissions > Some(0), "{what}");
        }
    }
}

#[test]
fn tcp_delivers_everything_over_lossy_links() {
    for profile in ["rfc", "reno", "newreno", "sack", "study-2005", "ns2-sack1"] {
        for seed in 1..=4 {
            for p in [0.01, 0.1] {
                let bytes = 300_000;
                let what = format!("{profile}, seed {seed}, p {p}");
                let scenario = lossy_transfer(Protocol::Tcp, profile, p, bytes, 1448);
                let output = run(&scenario, seed, &Record::default()).unwrap();
                assert_complete(&output, bytes, &what);
                assert!(output.summary.flows[0].measures.retransmissions > Some(0), "{what}");
            }
        }
    }
}

#[test]
fn a_transfer_over_a_clean_link_takes_as_long_as_its_windows_need() {
    // 1 round trip for INIT, 1 for COOKIE ECHO, which DATA may ride with; no loss, no timeout.
    let output =
        run(&lossy_transfer(Protocol::Sctp, "rfc9260", 0.0, 1000, 1000), 1, &Record::default()).unwrap();
    assert_complete(&output, 1000, "one packet");
    let done = output.summary.flows[0].completion_s.unwrap();
    assert!((0.060..0.065).contains(&done), "{done}");
    let m = output.summary.flows[0].measures;
    assert_eq!((m.packets_sent, m.retransmissions, m.timeouts), (1, Some(0), Some(0)));
}

#[test]
fn a_download_tells_when_it_got_how_far() {
    // The client opens; 20 ms there and back, 12 ms for a packet of 1500 bytes; two of them.
    const FILE: &str = r#"
        duration = "20 s"
        [[link]]
        name = "down"
        from = "server"
        to = "client"
        rate = "1 Mbit/s"
        delay = "10 ms"
        loss = { kind = "positions", drop = [] }
        loss_at = "entry"
        [[link]]
        name = "up"
        from = "client"
        to = "server"
        rate = "infinite"
        delay = "10 ms"
        [[flow]]
        name = "one"
        from = "server"
        to = "client"
        opened_by = "receiver"
        protocol = "tcp"
        engine = "rfc"
        traffic = { kind = "transfer", bytes = "2920 B", message = "1460 B" }
        "#;
    let with = |overrides: &[(&str, &str)]| {
        let overrides: Vec<_> =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let scenario = anabranch_sim::scenario::Scenario::from_toml(FILE, "test", &overrides).unwrap();
        run(&scenario, 1, &Record::default()).unwrap().summary
    };
    let clean = with(&[("flow.one.options.timestamps", "false")]);
    let flow = &clean.flows[0];
    let times = [flow.established_s, flow.first_byte_s, flow.completion_s, flow.end_s, flow.close_s];
    assert!(times.is_sorted() && times.iter().all(Option::is_some), "{times:?}");
    let [established, first, last, end, close] = times.map(Option::unwrap);
    // SYN-ACK: 40 to 60 bytes.
    assert!((0.0203..0.0206).contains(&established), "{established}");
    assert!((first - established - 0.032).abs() < 1e-4, "{first}");
    assert!((last - first - 0.012).abs() < 1e-6 && end == last, "{last} {end}");
    assert!((close - end - 0.010).abs() < 1e-4, "the FIN of the client comes back: {close}");
    // SYN-ACK, two packets of data with FIN on the second, the ACK of the client's FIN.
    let [down, _] = clean.links.as_slice() else { panic!("two links") };
    assert_eq!((down.arrivals, down.drops_error), (4, 0));
    // The second packet lost: at the entry it takes no time of the link, at the exit 12 ms.
    let busy = |at: &str| {
        let lost = with(&[("link.down.loss.drop", "[2]"), ("link.down.loss_at", at)]);
        assert_eq!((lost.links[0].drops_error, lost.flows[0].intact), (1, Some(true)));
        lost.links[0].utilisation * lost.duration_s
    };
    assert!((busy("exit") - busy("entry") - 0.012).abs() < 1e-9);
}

#[test]
fn the_trace_agrees_with_the_summary_and_with_itself() {
    let scenario = lossy_transfer(Protocol::Sctp, "rfc9260", 0.03, 500_000, 1452);
    let record = Record { trace: Selection::All, pcap: Selection::All, ..Record::default() };
    let output = run(&scenario, 9, &record).unwrap();
    let again = run(&scenario, 9, &record).unwrap();
    assert!(output == again);
    let plain = run(&scenario, 9, &Record::default()).unwrap();
    assert!(plain.summary == output.summary, "recording changes nothing");
    assert!(plain.trace.is_none() && plain.pcapng.is_none());
    let trace = output.trace.unwrap();
    assert_eq!(trace.hash(), again.trace.unwrap().hash());
    assert!(trace.time_ns.is_sorted());
    let count = |kind: EventKind, why: fn(&str) -> bool| {
        let rows = trace.kind.iter().zip(&trace.reason);
        rows.filter(|(k, r)| **k == kind as u8 && why(Columns::reasons()[**r as usize])).count() as u64
    };
    let m = output.summary.flows[0].measures;
    let links = &output.summary.links;
    assert_eq!(Some(count(EventKind::Sent, |why| !why.is_empty())), m.retransmissions);
    assert_eq!(Some(count(EventKind::FastRetransmit, |_| true)), m.fast_retransmits);
    assert_eq!(Some(count(EventKind::Timeout, |_| true)), m.timeouts);
    assert_eq!(
        count(EventKind::Dropped, |why| why == "error"),
        links.iter().map(|l| l.drops_error).sum::<u64>()
    );
    assert_eq!(
        count(EventKind::Dropped, |why| why == "queue-full"),
        links.iter().map(|l| l.drops_queue).sum::<u64>()
    );
    assert!(count(EventKind::Window, |_| true) > 0 && count(EventKind::Rtt, |_| true) > 0);
    // Only what was asked for.
    let only = Record { trace: Selection::Only(vec![EventKind::Rtt]), ..Record::default() };
    let rtts = run(&scenario, 9, &only).unwrap().trace.unwrap();
    assert_eq!(rtts.len() as u64, count(EventKind::Rtt, |_| true));
}

/// Statistics and rows of the trace have the same numbers under both names, as docs/reference/trace.md says.
#[test]
fn the_trace_has_what_statistics_have() {
    for profile in ["rfc9260", "rfc9260-rack", "modern"] {
        let scenario = lossy_transfer(Protocol::Sctp, profile, 0.03, 500_000, 1452);
        let record = Record { trace: Selection::All, ..Record::default() };
        let attached = Attached { snapshots: true, ..Attached::default() };
        let output = run_attached(&scenario, 9, &record, attached).unwrap();
        let trace = output.trace.as_ref().unwrap();
        let ends = output.summary.flows[0].association.clone().unwrap();
        let end = |name: &str| if name == "f:sender" { ends.sender.clone() } else { ends.receiver.clone() };
        for entity in ["f:sender", "f:receiver"] {
            let stats = end(entity).unwrap().stats.0;
            let stat = |name: &str| stats.iter().find(|(key, _)| *key == name).unwrap().1.unwrap_or(0);
            let at = trace.entities.iter().position(|name| name == entity).unwrap() as u16;
            let rows = |kind: EventKind| {
                let all = 0..trace.len();
                all.filter(move |row| (trace.entity[*row], trace.kind[*row]) == (at, kind as u8))
                    .collect::<Vec<_>>()
            };
            let why = |row: &usize| Columns::reasons()[trace.reason[*row] as usize];
            let sent =
                |reason: &str| rows(EventKind::Sent).iter().filter(|row| why(row) == reason).count() as u64;
            let seen = [
                ("chunks_sent", rows(EventKind::Sent).len() as u64),
                ("retransmissions_fast", sent("fast-retransmit")),
                ("retransmissions_recovery", sent("recovery")),
                ("retransmissions_timeout", sent("timeout")),
                ("retransmissions_probe", sent("probe")),
                (
                    "payload_bytes_sent",
                    rows(EventKind::Sent).iter().map(|row| u64::from(trace.size[*row])).sum(),
                ),
                ("rtt_samples", rows(EventKind::Rtt).len() as u64),
                ("fast_retransmits", rows(EventKind::FastRetransmit).len() as u64),
                ("timeouts", rows(EventKind::Timeout).len() as u64),
                (
                    "duplicates_received",
                    rows(EventKind::Received).iter().filter(|row| why(row) == "duplicate").count() as u64,
                ),
            ];
            for (name, rows) in seen {
                assert_eq!(rows, stat(name), "{profile}, {entity}: {name}");
            }
            if entity == "f:sender" {
                // SHUTDOWN acknowledges, too; it is the sender that closes here.
                assert_eq!(rows(EventKind::Ack).len() as u64, stat("sacks_received"), "{profile}");
                let window = *rows(EventKind::Window).last().unwrap();
                assert_eq!((trace.a[window], trace.b[window]), (stat("cwnd"), stat("ssthresh")), "{profile}");
                let rtt = *rows(EventKind::Rtt).last().unwrap();
                assert_eq!((trace.a[rtt], trace.b[rtt]), (stat("last_rtt_ns"), stat("srtt_ns")), "{profile}");
            }
        }
    }
}

#[test]
fn many_flows_share_a_bottleneck_and_fill_it() {
    let engine = engine("ns2-2.35", &[("receive_window", "10000000 B")]);
    let scenario = crate::common::speed(Protocol::Sctp, &engine, 5, 20, 1452);
    let summary = run(&scenario, 3, &Record::default()).unwrap().summary;
    let bottleneck = summary.links.iter().find(|l| l.name == "bottleneck").unwrap();
    assert!(bottleneck.utilisation > 0.9, "{}", bottleneck.utilisation);
    let goodput: f64 = summary.flows.iter().map(|f| f.measures.goodput_wire_run_bps).sum();
    assert!((0.88e8..1e8).contains(&goodput), "{goodput}");
    assert!(summary.flows.iter().all(|f| f.measures.goodput_wire_run_bps > 2e6), "nobody starves");
    for flow in &summary.flows {
        let srtt = flow.measures.srtt_mean_s.unwrap();
        // 40 ms of propagation, at most 333 packets of 0.12 ms in the queue.
        assert!((0.040..0.085).contains(&srtt), "{srtt}");
    }
}

#[test]
fn sending_ahead_changes_nothing() {
    // A capture keeps packets from being sent ahead; the run must be the same without. Two access links meet in front of a
    // bottleneck (there events are needed), which leads on to two exits (there they are not). All of them lose packets.
    let mut links = Vec::new();
    for (name, ends, mbit, packets) in [
        ("a-r", ("a", "r"), 10.0, 10),
        ("b-r", ("b", "r"), 10.0, 10),
        ("r-s", ("r", "s"), 3.0, 10),
        ("s-c", ("s", "c"), 2.0, 3),
        ("s-d", ("s", "d"), 10.0, 10),
    ] {
        let [there, mut back] = link(name, ends, mbit, ms(7), packets, bernoulli(0.003));
        back.loss = bernoulli(0.003);
        links.extend([there, back]);
    }
    let greedy = Traffic::Greedy { message: 1452 };
    let flows = vec![
        flow("sctp", ("a", "c"), Protocol::Sctp, engine("rfc9260", &[]), greedy.clone()),
        flow("tcp", ("b", "d"), Protocol::Tcp, engine("rfc", &[]), greedy.clone()),
        flow("back", ("d", "a"), Protocol::Sctp, engine("rfc2960", &[]), greedy),
    ];
    let mut scenario = scenario(Duration::from_secs(60), links, flows);
    scenario.warmup = Duration::from_secs(10);
    let watched = Record { pcap: Selection::All, queue_interval: Some(ms(100)), ..Record::default() };
    for seed in 1..=5 {
        let ahead = run(&scenario, seed, &Record::default()).unwrap().summary;
        let step_by_step = run(&scenario, seed, &watched).unwrap().summary;
        assert_eq!(ahead, step_by_step, "seed {seed}");
        assert!(ahead.links.iter().map(|l| l.drops_queue).sum::<u64>() > 10);
    }
}

/// Two equal flows whose packets arrive at the same times, and whose answers enter one link with losses: over links without any delay, so
/// that the order of events of one time decides which flow loses. A record is made step by step; the run must be the same without.
#[test]
fn running_ahead_keeps_the_order_of_events_of_one_time() {
    for delay in [Duration::ZERO, ms(1)] {
        let [mut back_2, _] = link("back-2", ("b", "r"), 10.0, delay, 100, Loss::None);
        let [mut back_1, _] = link("back-1", ("a", "r"), 10.0, delay, 100, Loss::None);
        let [down_1, _] = link("down-1", ("s", "a"), 10.0, ms(10), 100, Loss::None);
        let [down_2, _] = link("down-2", ("s", "b"), 10.0, ms(10), 100, Loss::None);
        let [mut acknowledgements, _] =
            link("acknowledgements", ("r", "s"), 10.0, ms(10), 100, bernoulli(0.1));
        for fast in [&mut back_1, &mut back_2, &mut acknowledgements] {
            fast.rate = anabranch_sim::scenario::Rate::Infinite;
        }
        let links = vec![back_2, back_1, down_1, down_2, acknowledgements];
        let greedy = Traffic::Greedy { message: 1452 };
        let flows = vec![
            flow("one", ("s", "a"), Protocol::Sctp, engine("rfc9260", &[]), greedy.clone()),
            flow("two", ("s", "b"), Protocol::Sctp, engine("rfc9260", &[]), greedy),
        ];
        let scenario = scenario(Duration::from_secs(5), links, flows);
        let watched = Record { queue_interval: Some(ms(100)), pcap: Selection::All, ..Record::default() };
        for seed in 1..=2 {
            let ahead = run(&scenario, seed, &Record::default()).unwrap().summary;
            let step_by_step = run(&scenario, seed, &watched).unwrap().summary;
            assert_eq!(ahead, step_by_step, "seed {seed}, delay {delay:?}");
        }
    }
}

/// As before, with a hop more for one flow: a link without delay that only one link leads packets to.
#[test]
fn sending_ahead_keeps_the_order_of_events_of_one_time() {
    let one_way =
        |name, ends, delay, loss| link(name, ends, 10.0, delay, 100, loss).into_iter().next().unwrap();
    let mut links = vec![
        one_way("back-1", ("a", "r"), Duration::ZERO, Loss::None),
        one_way("back-2", ("b", "r"), Duration::ZERO, Loss::None),
        one_way("last-1", ("r1", "a"), Duration::ZERO, Loss::None),
        one_way("down-2", ("s", "b"), ms(10), Loss::None),
        one_way("down-1", ("s", "r1"), ms(10), Loss::None),
        one_way("acknowledgements", ("r", "s"), ms(10), bernoulli(0.1)),
    ];
    for fast in [0, 1, 2, 5] {
        links[fast].rate = anabranch_sim::scenario::Rate::Infinite;
    }
    let greedy = Traffic::Greedy { message: 1452 };
    let flows = vec![
        flow("one", ("s", "a"), Protocol::Sctp, engine("rfc9260", &[]), greedy.clone()),
        flow("two", ("s", "b"), Protocol::Sctp, engine("rfc9260", &[]), greedy),
    ];
    let scenario = scenario(Duration::from_secs(5), links, flows);
    let watched = Record { queue_interval: Some(ms(100)), pcap: Selection::All, ..Record::default() };
    for seed in 1..=2 {
        let ahead = run(&scenario, seed, &Record::default()).unwrap().summary;
        let step_by_step = run(&scenario, seed, &watched).unwrap().summary;
        assert_eq!(ahead, step_by_step, "seed {seed}");
    }
}

#[test]
fn a_greedy_flow_stops_when_it_is_told_and_closes() {
    let links = link("wan", ("a", "b"), 10.0, ms(20), 50, Loss::None).to_vec();
    let greedy = Flow {
        stop: Some(Duration::from_secs(2)),
        ..flow("f", ("a", "b"), Protocol::Sctp, engine("rfc9260", &[]), Traffic::Greedy { message: 1452 })
    };
    let output = run(&scenario(Duration::from_secs(60), links, vec![greedy]), 1, &Record::default()).unwrap();
    let flow = &output.summary.flows[0];
    assert_eq!(flow.failed, None);
    // Data handed over before two seconds is still sent: at 10 Mb/s, and some of the send buffer.
    assert!(flow.measures.delivered_bytes > 2_000_000);
    assert!(output.summary.links[0].utilisation < 0.2, "{}", output.summary.links[0].utilisation);
}
