//! The scenarios that correct files are read as.

use anabranch_base::{Dscp, Duration, Rng};

use super::super::{
    Applies, Checksums, Coupling, EventKind, Loss, Protocol, Queue, RandomNumbers, Rate, Selection, TimeDraw,
    Traffic, parse_seeds,
};
use super::{EXAMPLES, GOOD, edited, read, read_with};
use crate::scenario::Scenario;

#[test]
fn the_smallest_file() {
    let scenario = read(GOOD).unwrap();
    assert_eq!(scenario.duration, Duration::from_secs(10));
    assert_eq!(scenario.warmup, Duration::from_secs(2));
    assert_eq!(scenario.seeds, [1, 2, 3]);
    assert_eq!((scenario.random, scenario.checksums), (RandomNumbers::Common, Checksums::Verify));
    assert_eq!(scenario.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let [link, back] = scenario.links.as_slice() else { panic!("{:?}", scenario.links) };
    assert_eq!((link.name.as_str(), link.from, link.to), ("wire", 0, 1));
    assert_eq!((back.name.as_str(), back.from, back.to), ("wire-back", 1, 0));
    for link in [link, back] {
        assert_eq!(link.rate, Rate::BitsPerSecond(10_000_000));
        assert_eq!(link.delay, Duration::from_millis(5));
        assert_eq!(link.queue, Queue::DropTail { packets: Some(20), bytes: None });
        assert_eq!(
            link.loss,
            Loss::Bernoulli {
                p: 0.5,
                applies: Applies::All,
                dscp: anabranch_link::DscpSet::ALL,
                stream: None
            }
        );
        assert_eq!(link.mtu, 1500);
    }
    let [flow] = scenario.flows.as_slice() else { panic!("{:?}", scenario.flows) };
    assert_eq!((flow.name.as_str(), flow.from, flow.to), ("one", 0, 1));
    assert_eq!((flow.protocol, &flow.traffic), (Protocol::Sctp, &Traffic::Greedy { message: 1000 }));
    assert_eq!((flow.subflows.len(), flow.streams, flow.unordered), (1, 1, false));
    assert_eq!((flow.coupling, flow.dscp), (Coupling::Independent, Dscp::DEFAULT));
    assert_eq!((flow.start, flow.stop), (TimeDraw::Fixed(Duration::ZERO), None));
    assert_eq!(flow.sender.name, "rfc9260");
    assert_eq!(flow.sender, flow.receiver);
    assert!(flow.sender.options.is_empty());
    assert!(scenario.record.trace.is_none() && scenario.record.pcap.is_none());
}

/// The whole meaning of an example, so that a change of the format that changes it is seen.
#[test]
fn the_satellite_example_means_what_it_meant() {
    let scenario = Scenario::from_toml(EXAMPLES[0].1, "satellite.toml", &[]).unwrap();
    let mut text = format!(
        "{} s, warm-up {} s, {} seeds, {:?}, {:?}\n",
        scenario.duration.as_secs_f64(),
        scenario.warmup.as_secs_f64(),
        scenario.seeds.len(),
        scenario.random,
        scenario.checksums
    );
    let host = |place: usize| &scenario.hosts[place].name;
    for link in &scenario.links {
        text += &format!(
            "{} {} -> {}: {:?} {} {:?} {:?} {}\n",
            link.name,
            host(link.from),
            host(link.to),
            link.rate,
            link.delay,
            link.queue,
            link.loss,
            link.mtu
        );
    }
    for flow in &scenario.flows {
        text += &format!(
            "{} {} -> {}: {} {:?} {:?} {:?}\n",
            flow.name,
            host(flow.from),
            host(flow.to),
            flow.protocol.name(),
            flow.sender,
            flow.traffic,
            flow.start
        );
    }
    for (at, _) in scenario.links.iter().enumerate() {
        if let Some(stream) = scenario.loss_stream(at) {
            text += &format!("link {at} loses by {stream}\n");
        }
    }
    assert_eq!(text, include_str!("satellite.golden"));
}

#[test]
fn every_example_can_be_run() {
    for (name, text) in EXAMPLES {
        match Scenario::from_toml(text, name, &[]) {
            Ok(scenario) => crate::check(&scenario).unwrap(),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn units_are_exact() {
    let delay =
        |text: &str| read(&edited("\"5 ms\"", &format!("\"{text}\""))).unwrap().links[0].delay.as_nanos();
    assert_eq!(delay("0.1 s"), 100_000_000);
    assert_eq!(delay("250us"), 250_000);
    assert_eq!(delay("1.000000001 s"), 1_000_000_001);
    assert_eq!(delay("2 min"), 120_000_000_000);
    assert_eq!(delay("1.5 h"), 5_400_000_000_000);
    assert_eq!(delay("0 ns"), 0);
    let rate = |text: &str| read(&edited("\"10 Mbit/s\"", &format!("\"{text}\""))).unwrap().links[0].rate;
    assert_eq!(rate("1.544 Mbit/s"), Rate::BitsPerSecond(1_544_000));
    assert_eq!(rate("1 Gbit/s"), Rate::BitsPerSecond(1_000_000_000));
    assert_eq!(rate("infinite"), Rate::Infinite);
    let message =
        |text: &str| match read(&edited("\"1000 B\"", &format!("\"{text}\""))).unwrap().flows[0].traffic {
            Traffic::Greedy { message } => message,
            ref other => panic!("{other:?}"),
        };
    assert_eq!(message("64 KiB"), 65_536);
    assert_eq!(message("1.5 KiB"), 1_536);
    assert_eq!(message("1 MB"), 1_000_000);
}

#[test]
fn seeds_in_every_form() {
    let seeds = |text: &str| read(&edited("\"1..3\"", text)).unwrap().seeds;
    assert_eq!(seeds("7"), [7]);
    assert_eq!(seeds("\"7\""), [7]);
    assert_eq!(seeds("[3, 1]"), [3, 1]);
    assert_eq!(seeds("\"1..3, 9, 5..5\""), [1, 2, 3, 9, 5]);
    assert_eq!(parse_seeds("18446744073709551615"), Ok(vec![u64::MAX]));
    assert_eq!(read(&edited("seeds = \"1..3\"\n", "")).unwrap().seeds, [1]);
}

#[test]
fn the_reverse_of_a_link_may_differ() {
    let both = "loss = { kind = \"bernoulli\", p = 0.5, stream = \"air\" }\nboth = true\nback = { rate = \"1 Mbit/s\", queue = { kind = \"droptail\", bytes = \"9 kB\" } }";
    let text = edited("loss = { kind = \"bernoulli\", p = 0.5 }\nboth = true", both);
    let scenario = read(&text).unwrap();
    let back = &scenario.links[1];
    assert_eq!(back.rate, Rate::BitsPerSecond(1_000_000));
    assert_eq!(back.queue, Queue::DropTail { packets: None, bytes: Some(9_000) });
    assert_eq!(back.delay, Duration::from_millis(5));
    assert_eq!(scenario.loss_stream(0).as_deref(), Some("stream:air"));
    assert_eq!(scenario.loss_stream(1).as_deref(), Some("stream:air-back"));
    let none = read(&edited("both = true", "both = true\nback = { loss = { kind = \"none\" } }")).unwrap();
    assert_eq!(none.links[1].loss, Loss::None);
    assert_eq!(none.loss_stream(1), None);
    assert_eq!(none.loss_stream(2), None);
}

#[test]
fn independent_random_numbers_follow_the_engine() {
    let streams = |random: &str, engine: &str| {
        let scenario = read_with(&[("random", random), ("flow.one.engine", engine)]).unwrap();
        (scenario.loss_stream(0).unwrap(), scenario.start_stream(0).unwrap())
    };
    assert_eq!(streams("common", "rfc9260"), streams("common", "rfc2960"));
    let (a, b) = (streams("independent", "rfc9260"), streams("independent", "rfc2960"));
    assert_ne!(a.0, b.0);
    assert_ne!(a.1, b.1);
}

#[test]
fn counted_flows_have_numbers() {
    let scenario = read(&edited("name = \"one\"", "name = \"one\"\ncount = 3")).unwrap();
    let names: Vec<_> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["one-1", "one-2", "one-3"]);
}

#[test]
fn engines_of_both_ends() {
    let hosts = "\n[[host]]\nname = \"a\"\nsctp = { engine = \"ns2-2.28\", options = { mtu = 1400, sack_every = 1 } }\n[[host]]\nname = \"b\"\nsctp = { engine = \"rfc2960\" }\n";
    let options = |engine: &crate::scenario::Engine| {
        engine.options.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    };
    // Hosts' defaults, with the flow's options on top.
    let flow = edited("engine = \"rfc9260\"", "options = { sack_every = 2 }") + hosts;
    let flow = read(&flow).unwrap().flows.remove(0);
    assert_eq!(
        (flow.sender.name.as_str(), options(&flow.sender).as_str()),
        ("ns2-2.28", "mtu=1400 sack_every=2")
    );
    assert_eq!((flow.receiver.name.as_str(), options(&flow.receiver).as_str()), ("rfc2960", "sack_every=2"));
    // The flow's own engine takes nothing from the hosts.
    let text = edited(
        "engine = \"rfc9260\"",
        "engine = \"rfc9260\"\noptions = { sack_every = 2 }\nreceiver = { options = { sack_every = 3 } }",
    ) + hosts;
    let flow = read(&text).unwrap().flows.remove(0);
    assert_eq!((flow.sender.name.as_str(), options(&flow.sender).as_str()), ("rfc9260", "sack_every=2"));
    assert_eq!((flow.receiver.name.as_str(), options(&flow.receiver).as_str()), ("rfc9260", "sack_every=3"));
    // Another engine at the receiver.
    let text = edited("engine = \"rfc9260\"", "engine = \"rfc9260\"\nreceiver = { engine = \"rfc2960\" }");
    assert_eq!(read(&text).unwrap().flows[0].receiver.name, "rfc2960");
}

#[test]
fn everything_else_a_flow_may_say() {
    let text = edited(
        "engine = \"rfc9260\"",
        "engine = \"rfc9260\"\nstreams = 4\nunordered = true\ndscp = \"AF21\"\nstart = \"uniform(0 s, 1 s)\"\nstop = \"8 s\"",
    );
    let flow = read(&text).unwrap().flows.remove(0);
    assert_eq!((flow.streams, flow.unordered, flow.dscp.get()), (4, true, 18));
    assert_eq!(flow.start, TimeDraw::Uniform(Duration::ZERO, Duration::from_secs(1)));
    assert_eq!(flow.stop, Some(Duration::from_secs(8)));
    let text = edited("kind = \"greedy\"", "kind = \"transfer\", bytes = \"10 MB\"");
    assert_eq!(read(&text).unwrap().flows[0].traffic, Traffic::Transfer { bytes: 10_000_000, message: 1000 });
}

#[test]
fn hosts_and_records() {
    let text = format!(
        "{GOOD}\n[[host]]\nname = \"b\"\naddresses = [\"10.0.0.9\", \"2001:db8::1\"]\nprocessing = \"exponential(10 us)\"\n[record]\ntrace = [\"window\", \"rtt\"]\npcap = true\nqueue_interval = \"10 ms\"\n"
    );
    let scenario = read(&text).unwrap();
    let names: Vec<_> = scenario.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(scenario.hosts[0].addresses.len(), 2);
    assert_eq!(scenario.hosts[0].processing, Some(TimeDraw::Exponential(Duration::from_micros(10))));
    assert_eq!(scenario.record.trace, Selection::Only(vec![EventKind::Window, EventKind::Rtt]));
    assert!(
        scenario.record.trace.contains(&EventKind::Rtt) && !scenario.record.trace.contains(&EventKind::Sent)
    );
    assert_eq!(scenario.record.pcap, Selection::All);
    assert!(scenario.record.pcap.contains(&0));
    assert_eq!(scenario.record.queue_interval, Some(Duration::from_millis(10)));
}

#[test]
fn overrides_come_before_the_checks() {
    let scenario = read_with(&[
        ("link.wire.rate", "3 Mbit/s"),
        ("link.w*.loss.p", "0.01"),
        ("link.*.back.delay", "\"1 ms\""),
        ("flow.one.engine", "ns2-2.28"),
        ("flow.one.options.sack_delay", "0 ms"),
        ("seeds", "5..6, 9"),
        ("duration", "1 h"),
        ("record.pcap", "[\"wire\"]"),
    ])
    .unwrap();
    assert_eq!(scenario.links[0].rate, Rate::BitsPerSecond(3_000_000));
    assert_eq!(
        scenario.links[0].loss,
        Loss::Bernoulli { p: 0.01, applies: Applies::All, dscp: anabranch_link::DscpSet::ALL, stream: None }
    );
    assert_eq!(scenario.links[1].delay, Duration::from_millis(1));
    assert_eq!(scenario.flows[0].sender.name, "ns2-2.28");
    assert_eq!(scenario.flows[0].sender.options, [("sack_delay".to_owned(), "0 ms".to_owned())]);
    assert_eq!(scenario.seeds, [5, 6, 9]);
    assert_eq!(scenario.duration, Duration::from_secs(3600));
    assert_eq!(scenario.record.pcap, Selection::Only(vec![0]));
    // The last of two wins.
    assert_eq!(read_with(&[("seeds", "1"), ("seeds", "2")]).unwrap().seeds, [2]);
}

#[test]
fn routes_are_shortest_and_earliest() {
    let link = |name: &str, from: &str, to: &str| {
        format!(
            "[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"infinite\"\ndelay = \"1 ms\"\nboth = true\n"
        )
    };
    let head = GOOD.split("[[link]]").next().unwrap();
    let flow = GOOD.split("[[flow]]").nth(1).unwrap();
    let text = [
        head,
        &link("a1", "a", "r1"),
        &link("a2", "a", "r2"),
        &link("long1", "r1", "r3"),
        &link("long2", "r3", "b"),
        &link("x2", "r2", "b"),
        &link("x1", "r1", "b"),
        "[[flow]]",
        flow,
    ]
    .concat();
    let scenario = read(&text).unwrap();
    let names = |from: &str, to: &str| {
        let route =
            scenario.route(scenario.host_index(from).unwrap(), scenario.host_index(to).unwrap()).unwrap();
        route.into_iter().map(|link| scenario.links[link].name.clone()).collect::<Vec<_>>()
    };
    // Two ways of two links: the first link of the file decides at each node.
    assert_eq!(names("a", "b"), ["a1", "x1"]);
    assert_eq!(names("b", "a"), ["x2-back", "a2-back"]);
    assert_eq!(names("r3", "a"), ["long1-back", "a1-back"]);
    assert!(names("a", "a").is_empty());
    assert_eq!(scenario.route(0, 99), None);
}

#[test]
fn drawn_times_lie_where_they_should() {
    let mut rng = Rng::stream(1, "test", "draw");
    let (low, high) = (Duration::from_secs(1), Duration::from_secs(3));
    let draws: Vec<_> = (0..1000).map(|_| TimeDraw::Uniform(low, high).draw(&mut rng)).collect();
    assert!(draws.iter().all(|draw| (low..high).contains(draw)));
    let mean = draws.iter().map(|draw| draw.as_secs_f64()).sum::<f64>() / 1000.0;
    assert!((mean - 2.0).abs() < 0.1, "{mean}");
    let exponential = TimeDraw::Exponential(low);
    let mean = (0..10_000).map(|_| exponential.draw(&mut rng).as_secs_f64()).sum::<f64>() / 10_000.0;
    assert!((mean - 1.0).abs() < 0.05, "{mean}");
    assert_eq!(TimeDraw::Fixed(low).draw(&mut rng), low);
}
