//! Objects that a client fetches: their meaning, and the errors of wrong ones.

use anabranch_base::Duration;

use super::{edited, read};
use crate::scenario::{Closer, Flow, Objects, Opener, Opening, Order, Request, Traffic};

fn flows(protocol: &str, traffic: &str) -> Vec<Flow> {
    let text = edited("kind = \"greedy\", message = \"1000 B\"", &format!("kind = \"objects\", {traffic}"));
    let engine = if protocol == "tcp" { "rfc" } else { "rfc9260" };
    let text = text.replace("\"sctp\"", &format!("\"{protocol}\"")).replace("rfc9260", engine);
    read(&text).unwrap().flows
}

fn objects(flow: &Flow) -> &Objects {
    match &flow.traffic {
        Traffic::Objects(connection) => &connection.objects,
        other => panic!("{other:?}"),
    }
}

fn own(flow: &Flow) -> Vec<(usize, u64)> {
    match &flow.traffic {
        Traffic::Objects(connection) => connection.own().collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tcp_has_a_connection_for_each_object() {
    let flows = flows("tcp", "bytes = \"10 B\", objects = 4, message = \"2 B\"");
    let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["one-1", "one-2", "one-3", "one-4"]);
    assert!(flows.iter().all(|flow| flow.group.as_deref() == Some("one") && flow.streams == 1));
    assert!(flows.iter().all(|flow| flow.opened_by == Opener::Receiver));
    assert_eq!(
        objects(&flows[0]),
        &Objects {
            sizes: vec![3, 3, 2, 2],
            message: 2,
            connections: 4,
            opening: Opening { burst: 1, gap: Duration::ZERO, at_once: u32::MAX },
            order: Order::RoundRobin,
            closed_by: Closer::Server,
            request: None,
        }
    );
    assert_eq!(own(&flows[2]), [(2, 2)]);
}

#[test]
fn sctp_has_a_stream_for_each_object() {
    let traffic = "sizes = [\"5 B\", \"1 kB\", \"7 B\"], message = \"1 kB\", order = \"one-by-one\", closed_by = \"client\", request = \"300 B\"";
    let flows = flows("sctp", traffic);
    assert_eq!(flows.len(), 1);
    assert_eq!((flows[0].name.as_str(), flows[0].streams), ("one-1", 3));
    assert_eq!(own(&flows[0]), [(0, 5), (1, 1000), (2, 7)]);
    let objects = objects(&flows[0]);
    assert_eq!((objects.order, objects.closed_by), (Order::OneByOne, Closer::Client));
    assert_eq!(objects.request, Some(Request { size: 300, pipeline: false }));
}

#[test]
fn connections_share_the_objects() {
    let traffic = "bytes = \"7 B\", objects = 7, message = \"1 B\", connections = 3, at_once = 2, request = \"1 B\", pipeline = true";
    for protocol in ["tcp", "sctp"] {
        let flows = flows(protocol, &format!("{traffic}, open = {{ burst = 2, gap = \"5 ms\" }}"));
        assert_eq!(flows.len(), 3);
        assert_eq!(own(&flows[0]), [(0, 1), (3, 1), (6, 1)]);
        assert_eq!(own(&flows[2]), [(2, 1), (5, 1)]);
        let objects = objects(&flows[1]);
        let gap = Duration::from_millis(5);
        assert_eq!(objects.opening, Opening { burst: 2, gap, at_once: 2 });
        assert!(objects.request.unwrap().pipeline);
        assert_eq!(flows[0].streams, if protocol == "sctp" { 3 } else { 1 });
    }
    let parallel = flows("tcp", "bytes = \"7 B\", message = \"1 B\", open = \"parallel\"");
    assert_eq!(objects(&parallel[0]).opening.burst, u32::MAX);
    assert_eq!(parallel.len(), 1);
}

#[test]
fn a_download() {
    let flow = read(&edited("protocol", "opened_by = \"receiver\"\nprotocol")).unwrap().flows.remove(0);
    assert_eq!(flow.opened_by, Opener::Receiver);
    assert_eq!(read(super::GOOD).unwrap().flows[0].opened_by, Opener::Sender);
}

#[test]
fn mistakes() {
    for (traffic, expected) in [
        ("message = \"1 B\"", "traffic of kind \"objects\" needs bytes, for example bytes = \"300 kB\""),
        ("bytes = \"0 B\", message = \"1 B\"", "bytes: 0 B are too few for 1 objects; at least 1 B each"),
        ("sizes = [], message = \"1 B\"", "sizes: no sizes; at least one object is needed"),
        ("sizes = [\"0 B\"], message = \"1 B\"", "sizes: an object needs at least 1 B"),
        (
            "sizes = [\"1 B\"], objects = 1, message = \"1 B\"",
            "objects: sizes says how large each object is; leave it out",
        ),
        (
            "bytes = \"9 B\", objects = 2, connections = 3, message = \"1 B\"",
            "connections: 3 connections for 2 objects; at most one each",
        ),
        (
            "bytes = \"9 B\", message = \"1 B\", pipeline = true",
            "pipeline: without a request there is nothing to pipeline; leave it out",
        ),
        (
            "bytes = \"9 B\", message = \"1 B\", open = \"all\"",
            "open: unknown open \"all\"; allowed: sequence, parallel",
        ),
    ] {
        let wrong =
            edited("kind = \"greedy\", message = \"1000 B\"", &format!("kind = \"objects\", {traffic}"));
        let told = read(&wrong).expect_err("it is wrong").to_string();
        assert!(told.ends_with(expected), "{told}");
    }
    let objects = edited("kind = \"greedy\"", "kind = \"objects\", bytes = \"9 B\"");
    for (line, expected) in [
        ("count = 2", "count: traffic of kind \"objects\" says how many connections; leave it out"),
        ("opened_by = \"sender\"", "opened_by: who fetches objects opens the connections; leave it out"),
        ("stop = \"5 s\"", "stop: a transfer stops by itself; leave it out"),
    ] {
        let told =
            read(&objects.replace("protocol", &format!("{line}\nprotocol"))).expect_err("wrong").to_string();
        assert!(told.ends_with(expected), "{told}");
    }
}
