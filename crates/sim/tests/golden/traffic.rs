//! Kinds of traffic; the ends that open and close; sizes of messages; several flows; hosts.

use crate::options::slug;
use crate::runs::{Run, SCTP, TCP, network, run, scenario, transfer};

fn objects(protocol: &str, engine: &str, traffic: &str, more: &str) -> String {
    format!(
        "protocol = \"{protocol}\"\nengine = \"{engine}\"\ntraffic = {{ kind = \"objects\", {traffic} }}\n{more}"
    )
}

/// Pages: requests one way, objects the other, and every way to close.
fn pages(runs: &mut Vec<Run>) {
    let closes = ["server", "server-first", "client"];
    for (protocol, profiles) in [("sctp", SCTP.as_slice()), ("tcp", TCP.as_slice())] {
        for profile in profiles {
            for closed_by in closes {
                for (kind, asks) in [
                    ("push", ""),
                    ("request", ", request = \"400 B\""),
                    ("pipeline", ", request = \"2500 B\", pipeline = true"),
                ] {
                    let page = format!(
                        "bytes = \"60 kB\", objects = 6, connections = 2, message = \"1400 B\", closed_by = \"{closed_by}\"{asks}"
                    );
                    let flow = objects(protocol, profile, &page, "");
                    let title = format!("page/{protocol}/{profile}/{closed_by}/{kind}");
                    let net = if kind == "pipeline" { "bern5" } else { "bern1" };
                    runs.push(run(title, "60 s", &network(net), flow));
                }
            }
        }
    }
    for (protocol, engine) in [("sctp", "rfc9260"), ("tcp", "rfc")] {
        for (kind, page) in [
            ("all-at-once", "connections = 5, open = \"parallel\""),
            ("burst", "connections = 5, open = { burst = 2, gap = \"300 ms\" }, at_once = 2"),
            ("in-sequence", "connections = 3"),
        ] {
            let page =
                format!("bytes = \"80 kB\", objects = 10, message = \"700 B\", request = \"200 B\", {page}");
            runs.push(run(
                format!("page/{protocol}/{engine}/{kind}"),
                "60 s",
                &network("tight"),
                objects(protocol, engine, &page, ""),
            ));
        }
    }
}

/// Associations that have nothing to say for a while: heartbeats, idle windows, paths that are lost meanwhile.
fn idle(runs: &mut Vec<Run>) {
    let page = "sizes = [\"40 kB\", \"20 kB\"], connections = 2, message = \"1400 B\", request = \"300 B\", \
                closed_by = \"server-first\", open = { burst = 1, gap = \"30 s\" }";
    for (protocol, profiles) in [("sctp", SCTP.as_slice()), ("tcp", TCP.as_slice())] {
        for profile in profiles {
            for net in ["bern5", "outage"] {
                let more = match protocol {
                    "sctp" => "options = { heartbeat_interval = \"2 s\" }",
                    _ => "",
                };
                let flow = objects(protocol, profile, page, more);
                runs.push(run(format!("idle/{protocol}/{profile}/{net}"), "120 s", &network(net), flow));
            }
        }
    }
    let dies = format!(
        "{}\n{}",
        "rate = \"2 Mbit/s\"\ndelay = \"20 ms\"",
        "pattern = { kind = \"loss\", driven = \"time\", at = [\"5000-1000000\"] }"
    );
    for profile in SCTP {
        let flow = objects("sctp", profile, page, "options = { heartbeat_interval = \"1 s\" }");
        runs.push(run(format!("idle/sctp/{profile}/dies"), "900 s", &dies, flow));
    }
}

fn sizes(runs: &mut Vec<Run>) {
    let sizes = [
        ("1 B", "300 B"),
        ("40 B", "8 kB"),
        ("400 B", "60 kB"),
        ("1452 B", "150 kB"),
        ("20 kB", "200 kB"),
        ("200 kB", "400 kB"),
    ];
    for (message, bytes) in sizes {
        for (level, engine, number) in
            [("level0", "rfc9260", "0"), ("level1", "rfc9260", "1"), ("sf2007", "sf2007", "\"sf2007\"")]
        {
            for unordered in [false, true] {
                for subflows in ["", "subflows = 2\n"] {
                    let more = format!("level = {number}\nstreams = 3\nunordered = {unordered}\n{subflows}");
                    let order = if unordered { "unordered" } else { "ordered" };
                    let two = if subflows.is_empty() { "one" } else { "two" };
                    let flow = transfer("sctp", engine, bytes, message, &more);
                    let title = format!("size/{level}/{}/{order}/{two}", slug(message));
                    runs.push(run(title, "60 s", &network("bern1"), flow));
                }
            }
        }
        for net in ["bern1", "tight"] {
            let flow = transfer("tcp", "rfc", bytes, message, "options = { nagle = true }");
            runs.push(run(format!("size/tcp/{}/{net}", slug(message)), "60 s", &network(net), flow));
        }
    }
    for window in ["1500 B", "3000 B", "9000 B", "40000 B"] {
        for message in ["100 B", "1400 B", "20 kB"] {
            for (kind, options) in
                [("data", ""), ("i-data", ", interleaving = true"), ("level1", ", subflow_level = \"1\"")]
            {
                let more = format!(
                    "streams = 2\nsubflows = 2\noptions = {{ receive_window = \"{window}\"{options} }}"
                );
                let flow = transfer("sctp", "rfc9260", "60 kB", message, &more);
                let title = format!("room/{}/{}/{kind}", slug(window), slug(message));
                runs.push(run(title, "60 s", &network("bern1"), flow));
            }
        }
    }
}

/// Several flows at once, both ways, opened by either end, with warm-up, sources besides, and hosts of their own.
fn company(runs: &mut Vec<Run>) {
    let mut push = |title: String, duration: &str, link: &str, flows: &[String], more: &str| {
        runs.push(Run {
            name: format!("company/{title}"),
            toml: scenario(duration, link, flows, more),
            seed: 3,
        });
    };
    let back = |flow: String| format!("from = \"b\"\nto = \"a\"\n{flow}");
    for (protocol, profiles) in [("sctp", SCTP.as_slice()), ("tcp", TCP.as_slice())] {
        for profile in profiles {
            let one = |more: &str| transfer(protocol, profile, "100 kB", "1300 B", more);
            let ways = [one(""), back(one("start = \"uniform(0 s, 100 ms)\""))];
            push(format!("both-ways/{protocol}/{profile}"), "60 s", &network("tight"), &ways, "");
            push(
                format!("download/{protocol}/{profile}"),
                "60 s",
                &network("bern1"),
                &[one("opened_by = \"receiver\"")],
                "",
            );
            let greedy = format!(
                "protocol = \"{protocol}\"\nengine = \"{profile}\"\ntraffic = {{ kind = \"greedy\", message = \"1300 B\" }}\n\
                 stop = \"2500 ms\""
            );
            push(format!("greedy/{protocol}/{profile}"), "30 s", &network("plain"), &[greedy], "");
        }
    }
    // Long enough for BBR's states, which profiles do not have.
    for (protocol, engine) in [
        ("sctp", "engine = \"modern\"\noptions = { congestion_control = \"bbr\" }"),
        ("tcp", "engine = \"linux-6.1\"\noptions = { controller = \"bbr\", pacing = true }"),
        ("tcp", "engine = \"rfc\"\noptions = { controller = \"bbr\", pacing = true }"),
    ] {
        for name in ["plain", "bern1", "delays"] {
            let greedy = format!(
                "protocol = \"{protocol}\"\n{engine}\ntraffic = {{ kind = \"greedy\", message = \"1300 B\" }}\nstop = \"25 s\""
            );
            let profile = engine.split('"').nth(1).unwrap();
            push(format!("bbr/{protocol}/{profile}/{name}"), "30 s", &network(name), &[greedy], "");
        }
    }
    let sctp = |more: &str| transfer("sctp", "rfc9260", "150 kB", "1300 B", more);
    let tcp = |more: &str| transfer("tcp", "rfc", "150 kB", "1300 B", more);
    push("mixed".into(), "60 s", &network("plain"), &[sctp("count = 3"), tcp("count = 3")], "");
    push(
        "mixed-elided".into(),
        "60 s",
        &network("plain"),
        &[sctp(""), tcp("")],
        "checksums = \"elide\"\n---\n",
    );
    let cbr = "protocol = \"on-off\"\ntraffic = { rate = \"1 Mbit/s\", packet = \"600 B\", on = \"300 ms\", off = \"300 ms\", \
               distribution = \"pareto\" }"
        .to_owned();
    push("background".into(), "20 s", &network("plain"), &[sctp(""), tcp(""), cbr], "");
    let hosts = "[[host]]\nname = \"a\"\naddresses = [\"2001:db8::1\"]\nprocessing = \"uniform(0 ms, 3 ms)\"\n\
                 [[host]]\nname = \"b\"\naddresses = [\"2001:db8::2\"]\nprocessing = \"exponential(1 ms)\"\n";
    push("ipv6".into(), "60 s", &network("bern1"), &[sctp("subflows = 2\nlevel = 1"), tcp("")], hosts);
    for mtu in ["576 B", "1280 B", "9000 B"] {
        let link = format!("{}\nmtu = \"{mtu}\"", network("bern1"));
        for (level, engine) in [("0", "rfc9260"), ("1", "rfc9260"), ("\"sf2007\"", "sf2007")] {
            let more = format!("level = {level}\nsubflows = 2");
            let flow = transfer("sctp", engine, "150 kB", "5 kB", &more);
            push(format!("mtu/{}/{}", slug(mtu), slug(level)), "60 s", &link, &[flow], "");
        }
        push(format!("mtu/{}/tcp", slug(mtu)), "60 s", &link, &[tcp("")], "");
    }
    // Each profile of SCTP with the others' receivers, one after the other.
    let (first, later) = SCTP.split_at(12);
    let pairs = (0..).zip(first).map(|(index, sender)| (*sender, first[(index + 5) % first.len()]));
    // Profiles that came later, with that of the standard: the pairs of the others stay as they were.
    let pairs = pairs.chain(later.iter().flat_map(|name| [(*name, "rfc9260"), ("rfc9260", *name)]));
    for (sender, receiver) in pairs {
        if sender == "sf2007" || receiver == "sf2007" {
            continue;
        }
        let more = format!("receiver = {{ engine = \"{receiver}\" }}");
        let flow = transfer("sctp", sender, "120 kB", "1300 B", &more);
        push(format!("pair/sctp/{sender}-{receiver}"), "60 s", &network("bern5"), &[flow], "");
    }
    for (index, sender) in TCP.iter().enumerate() {
        let receiver = TCP[(index + 4) % TCP.len()];
        let more = format!("receiver = {{ engine = \"{receiver}\" }}");
        let flow = transfer("tcp", sender, "120 kB", "1300 B", &more);
        push(format!("pair/tcp/{sender}-{receiver}"), "60 s", &network("bern5"), &[flow], "");
    }
}

pub(crate) fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    pages(&mut runs);
    idle(&mut runs);
    sizes(&mut runs);
    company(&mut runs);
    runs
}
