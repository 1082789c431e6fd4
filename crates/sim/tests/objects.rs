//! Objects over real transports: when connections are opened, when objects are complete, that every byte is right.

use std::sync::Arc;

use crate::common::{bernoulli, engine, flow, link, ms, scenario};
use anabranch_base::Duration;
use anabranch_sim::scenario::{
    Closer, Connection, EventKind, Flow, Loss, Objects, Opener, Opening, Order, Protocol, Record, Request,
    Scenario, Selection, Traffic,
};
use anabranch_sim::{ObjectSummary, Summary, run};

const SEQUENCE: Opening = Opening { burst: 1, gap: Duration::ZERO, at_once: u32::MAX };
const PARALLEL: Opening = Opening { burst: u32::MAX, ..SEQUENCE };

fn page(sizes: &[u64], connections: u32) -> Objects {
    Objects {
        sizes: sizes.to_vec(),
        message: 1400,
        connections,
        opening: SEQUENCE,
        order: Order::RoundRobin,
        closed_by: Closer::Server,
        request: None,
    }
}

/// 1 Mbit/s, 20 ms one way, `p` lost both ways; the server is `a`.
fn world(protocol: Protocol, objects: Objects, p: f64) -> Scenario {
    let loss = || if p > 0.0 { bernoulli(p) } else { Loss::None };
    let mut links = link("wan", ("a", "b"), 1.0, ms(20), 100, loss()).to_vec();
    links[1].loss = loss();
    let name = if protocol == Protocol::Tcp { "rfc" } else { "rfc9260" };
    let objects = Arc::new(objects);
    let one = |number| Flow {
        group: Some("page".to_owned()),
        opened_by: Opener::Receiver,
        streams: match protocol {
            Protocol::Sctp => objects.sizes.len() as u16,
            _ => 1,
        },
        ..flow(
            &format!("page-{}", number + 1),
            ("a", "b"),
            protocol,
            engine(name, &[]),
            Traffic::Objects(Connection { objects: Arc::clone(&objects), number }),
        )
    };
    let flows = (0..objects.connections).map(one).collect();
    scenario(Duration::from_secs(300), links, flows)
}

fn summary(scenario: &Scenario) -> Summary {
    run(scenario, 1, &Record::default()).expect("it runs").summary
}

fn completions(summary: &Summary) -> Vec<f64> {
    summary.objects.iter().map(|object| object.completion_s.expect("complete")).collect()
}

#[track_caller]
fn assert_complete(summary: &Summary, sizes: &[u64]) {
    assert_eq!(summary.objects.iter().map(|object| object.bytes).collect::<Vec<_>>(), sizes);
    for flow in &summary.flows {
        assert_eq!((flow.failed.as_deref(), flow.intact), (None, Some(true)), "{}", flow.name);
        assert!(flow.close_s >= flow.completion_s, "{flow:?}");
    }
    for ObjectSummary { open_s, first_byte_s, completion_s, .. } in &summary.objects {
        assert!(open_s < first_byte_s && first_byte_s <= completion_s);
    }
}

/// A packet of `bytes` on the line, and the 20 ms of its way.
fn hop(bytes: u64) -> f64 {
    bytes as f64 * 8e-6 + 0.020
}

#[test]
fn the_next_connection_is_opened_when_the_one_before_is_there() {
    let sizes = [1000; 4];
    let summary = summary(&world(Protocol::Tcp, page(&sizes, 4), 0.0));
    assert_complete(&summary, &sizes);
    let opened: Vec<f64> = summary.objects.iter().map(|object| object.open_s.unwrap()).collect();
    assert_eq!(opened[0], 0.0);
    // SYN and SYN-ACK, 60 bytes each, with 12 bytes more of options than that header has in Andersson (2005).
    let trip = opened[1];
    assert!((trip - 2.0 * hop(60)).abs() < 1e-6, "{trip}");
    // The SYN-ACK of the third waits for the object of the first: 1052 bytes are longer on the line than an ACK.
    assert!(opened[2] > 2.0 * trip && opened[3] > opened[2] + trip);
    // Three ways of a handshake packet, then the object; the ACK has 52 bytes.
    let first = completions(&summary)[0];
    assert!((first - (2.0 * hop(60) + hop(52) + hop(1052))).abs() < 1e-6, "{first}");
}

#[test]
fn all_at_once_in_bursts_and_not_too_many() {
    let sizes = [3000; 6];
    let opened = |opening: Opening| {
        let summary = summary(&world(Protocol::Tcp, Objects { opening, ..page(&sizes, 6) }, 0.0));
        assert_complete(&summary, &sizes);
        summary.objects.iter().map(|object| object.open_s.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(opened(PARALLEL), [0.0; 6]);
    let bursts = opened(Opening { burst: 3, gap: ms(50), ..SEQUENCE });
    assert_eq!(bursts[..3], [0.0; 3]);
    assert!(bursts[3..].iter().all(|at| *at == bursts[3]));
    // The last of three SYNs and SYN-ACKs waits for two before it on the line.
    let settled = 2.0 * hop(60) + 2.0 * 60.0 * 8e-6;
    assert!((bursts[3] - settled - 0.050).abs() < 1e-6, "{bursts:?}");
    let few = summary(&world(
        Protocol::Tcp,
        Objects { opening: Opening { at_once: 2, ..PARALLEL }, ..page(&sizes, 6) },
        0.0,
    ));
    let opened: Vec<f64> = few.objects.iter().map(|object| object.open_s.unwrap()).collect();
    let mut done = completions(&few);
    done.sort_by(f64::total_cmp);
    assert_eq!(opened[..2], [0.0; 2]);
    assert_eq!(opened[2..], done[..4]);
}

#[test]
fn streams_take_turns_or_follow_each_other() {
    let sizes = [14_000; 5];
    let order = |order: Order| {
        let summary = summary(&world(Protocol::Sctp, Objects { order, ..page(&sizes, 1) }, 0.0));
        assert_complete(&summary, &sizes);
        assert_eq!(summary.objects.iter().map(|object| object.stream).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        completions(&summary)
    };
    let (turns, one_by_one) = (order(Order::RoundRobin), order(Order::OneByOne));
    // Together they are done at the same time.
    assert!((turns[4] - one_by_one[4]).abs() < 1e-9);
    // In turn, all end within the last round of five packets; else the first after a fifth of the packets.
    let packet = 1448.0 * 8e-6;
    assert!(turns[4] - turns[0] < 5.0 * packet, "{turns:?}");
    assert!(one_by_one[0] < one_by_one[4] - 35.0 * packet, "{one_by_one:?}");
    assert!(one_by_one.is_sorted());
}

#[test]
fn a_client_that_asks() {
    let sizes = [5000, 100, 9000, 3000];
    for protocol in [Protocol::Tcp, Protocol::Sctp] {
        let time = |request: Option<Request>| {
            let summary = summary(&world(protocol, Objects { request, ..page(&sizes, 1) }, 0.0));
            assert_complete(&summary, &sizes);
            completions(&summary).into_iter().fold(0.0, f64::max)
        };
        let pushed = time(None);
        let pipelined = time(Some(Request { size: 300, pipeline: true }));
        let asked = time(Some(Request { size: 300, pipeline: false }));
        // A request more to wait for at the beginning of all, or of each.
        assert!(pipelined > pushed + 0.001 && pipelined < pushed + 0.06, "{pushed} {pipelined}");
        assert!(asked > pipelined + 3.0 * 0.040, "{pipelined} {asked}");
    }
}

#[test]
fn nothing_is_missing_where_packets_are_lost() {
    let sizes: Vec<u64> = (1..40).map(|number| number * 517).collect();
    for protocol in [Protocol::Tcp, Protocol::Sctp] {
        for connections in [1, 5, 39] {
            for opening in [SEQUENCE, PARALLEL, Opening { burst: 3, gap: ms(7), at_once: 4 }] {
                for request in [None, Some(Request { size: 211, pipeline: false })] {
                    let objects = Objects { opening, request, ..page(&sizes, connections) };
                    assert_complete(&summary(&world(protocol, objects, 0.05)), &sizes);
                }
            }
        }
    }
}

#[test]
fn a_download_is_a_transfer_the_other_way() {
    for (protocol, name) in [(Protocol::Tcp, "rfc"), (Protocol::Sctp, "rfc9260")] {
        let traffic = Traffic::Transfer { bytes: 200_000, message: 1400 };
        let links = link("wan", ("a", "b"), 1.0, ms(20), 100, bernoulli(0.02)).to_vec();
        let mut one = flow("f", ("a", "b"), protocol, engine(name, &[]), traffic);
        one.start = anabranch_sim::scenario::TimeDraw::Fixed(ms(500));
        let time = |opened_by: Opener| {
            let flows = vec![Flow { opened_by, ..one.clone() }];
            let summary = summary(&scenario(Duration::from_secs(100), links.clone(), flows));
            let flow = &summary.flows[0];
            assert_eq!((flow.failed.as_deref(), flow.intact, flow.start_s), (None, Some(true), Some(0.5)));
            assert_eq!(flow.measures.delivered_bytes, 200_000);
            assert!(flow.measures.packets_sent >= 138 && flow.close_s >= flow.completion_s);
            flow.completion_s.unwrap()
        };
        assert!(time(Opener::Receiver) > 1.6 && time(Opener::Sender) > 1.6);
    }
}

/// Packets that the server sent without user data: flags or first chunk, and size.
fn without_data(scenario: &Scenario) -> Vec<(u64, u32)> {
    let record = Record { packets: Selection::Only(vec![0]), ..Record::default() };
    let trace = run(scenario, 1, &record).expect("it runs").trace.expect("a trace");
    assert!(trace.kind.iter().all(|kind| *kind == EventKind::Offered as u8));
    assert!(trace.time_ns.is_sorted());
    let bytes: u64 = trace.a.iter().sum();
    assert_eq!(bytes, 3000, "every byte of the objects, and no more");
    (0..trace.len()).filter(|&i| trace.a[i] == 0).map(|i| (trace.b[i], trace.size[i])).collect()
}

#[test]
fn what_a_connection_costs_besides_its_objects() {
    const SYN_ACK: u64 = 0x12;
    const ACK: u64 = 0x10;
    const FIN_ACK: u64 = 0x11;
    let page = page(&[1000; 3], 3);
    // Data written before the close leaves before it: there is a FIN of its own, and the ACK of the client's.
    let sent = without_data(&world(Protocol::Tcp, page.clone(), 0.0));
    let count = |flags: u64, size: u32| sent.iter().filter(|each| **each == (flags, size)).count();
    assert_eq!(sent.len(), 9, "{sent:?}");
    assert_eq!((count(SYN_ACK, 60), count(FIN_ACK, 52), count(ACK, 52)), (3, 3, 3), "{sent:?}");
    // The client closes: its FIN is acknowledged, and the server's follows.
    let sent =
        without_data(&world(Protocol::Tcp, Objects { closed_by: Closer::Client, ..page.clone() }, 0.0));
    let fins = sent.iter().filter(|(flags, _)| *flags == FIN_ACK).count();
    assert_eq!((fins, sent.iter().filter(|(flags, _)| *flags == SYN_ACK).count()), (3, 3), "{sent:?}");
    // The client leaves its sides open until all is there: the ACKs of its FINs come after the last object.
    let half = world(Protocol::Tcp, Objects { closed_by: Closer::ServerFirst, ..page.clone() }, 0.0);
    let kinds: Vec<u64> = without_data(&half).iter().map(|(flags, _)| *flags).collect();
    assert_eq!(kinds[..6].iter().filter(|flags| **flags == ACK).count(), 0, "{kinds:?}");
    assert_eq!(kinds[6..], [ACK; 3]);
    assert_complete(&summary(&half), &[1000; 3]);
    // INIT ACK, COOKIE ACK, SHUTDOWN, SHUTDOWN COMPLETE.
    let sent = without_data(&world(Protocol::Sctp, Objects { connections: 1, ..page.clone() }, 0.0));
    let kinds: Vec<u64> = sent.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [2, 11, 7, 14]);
    let client = Objects { connections: 1, closed_by: Closer::Client, ..page };
    let sent = without_data(&world(Protocol::Sctp, client, 0.0));
    // INIT ACK, COOKIE ACK, SHUTDOWN ACK.
    assert_eq!(sent.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [2, 11, 8]);
}
