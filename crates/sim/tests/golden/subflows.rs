//! Subflows: levels, couplings, schedulers, all combined; streams and their schedulers.

use crate::options::slug;
use crate::runs::{Run, network, run, scenario, transfer};

const LEVELS: [(&str, &str, &str); 3] =
    [("level0", "rfc9260", "0"), ("level1", "rfc9260", "1"), ("sf2007", "sf2007", "\"sf2007\"")];

const COUPLINGS: [&str; 9] =
    ["independent", "shared", "fcc(n)", "fcc(n^2)", "fcc(2n^2)", "fcc(2.5)", "lia", "olia", "adaptive"];

const SCHEDULERS: [&str; 4] = ["fcfs", "wrr", "priority", "wfq"];

const STREAM_SCHEDULERS: [&str; 6] =
    ["fcfs", "round-robin", "round-robin-packet", "priority", "fair-capacity", "wfq"];

/// Three subflows of different weight and code point, five streams.
const THREE: &str = "streams = 5\nsubflows = [ { dscp = \"EF\", priority = 0, weight = 3, streams = [0, 3] }, \
                     { dscp = \"AF11\", priority = 1, streams = [1] }, { dscp = 0, priority = 2, weight = 2, streams = [2, 4] } ]";

/// A queue for each code point: subflows overtake each other.
const CLASSES: &str = "rate = \"2 Mbit/s\"\ndelay = \"20 ms\"\nqueue = { kind = \"classes\", scheduler = \"drr\", classes = [ \
                       { dscp = [\"EF\"], weight = 3, queue = { kind = \"droptail\", packets = 6 } }, \
                       { dscp = [\"AF11\"], weight = 1, queue = { kind = \"droptail\", packets = 6 } }, \
                       { queue = { kind = \"droptail\", packets = 6 } } ] }";

fn level(engine: &str, level: &str, more: &str, options: &str) -> String {
    let options = if options.is_empty() { String::new() } else { format!("\noptions = {{ {options} }}") };
    transfer("sctp", engine, "150 kB", "1100 B", &format!("level = {level}\n{more}{options}"))
}

fn couplings(runs: &mut Vec<Run>) {
    for (name, engine, number) in LEVELS {
        for coupling in COUPLINGS {
            let more = format!("coupling = \"{coupling}\"\n{THREE}");
            for net in ["bern1", "bern5", "tight", "reordered"] {
                let flow = level(engine, number, &more, "");
                let title = format!("subflows/{name}/{}/{net}", slug(coupling));
                runs.push(run(title, "60 s", &network(net), flow));
            }
            let flow = level(engine, number, &more, "");
            runs.push(run(format!("subflows/{name}/{}/classes", slug(coupling)), "60 s", CLASSES, flow));
        }
    }
}

/// Values that the couplings leave open, and loss detection and pacing, each lane for itself.
fn values(runs: &mut Vec<Run>) {
    let cases = [
        ("fcc(n^2)", "fcc_step = \"fraction\""),
        ("fcc(n^2)", "fcc_clock = \"round-trips\""),
        ("fcc(n^2)", "fcc_clock = \"round-trips\", fcc_step = \"fraction\""),
        ("fcc(2.5)", "fcc_rounding = \"floor\""),
        ("fcc(2.5)", "fcc_rounding = \"ceil\""),
        ("fcc(2.5)", "fcc_rounding = \"nearest\""),
        ("fcc(n)", "fcc_count = \"active\""),
        ("fcc(n^2)", "fcc_slow_start = true"),
        ("fcc(n^2)", "slow_start_at_ssthresh = false"),
        ("adaptive", "adaptive_cut = \"lane\""),
        ("independent", "loss_detection = \"rack\""),
        ("independent", "loss_detection = \"rack\", tail_loss_probe = true"),
        ("independent", "pacing = true"),
        ("lia", "pacing = true, loss_detection = \"rack\", tail_loss_probe = true"),
        ("shared", "loss_detection = \"rack\", tail_loss_probe = true"),
        ("shared", "pacing = true"),
        ("independent", "sack_delay = \"0 ms\""),
        ("independent", "sack_every = 4"),
        ("independent", "receive_window = \"30000 B\""),
        ("independent", "receive_window = \"12000 B\", subflow_floor = \"1500 B\""),
        ("independent", "send_buffer = \"5000 B\""),
        ("independent", "max_burst = \"off\""),
        ("independent", "mtu = 600"),
        ("independent", "rto_min = \"100 ms\""),
        ("independent", "early_fast_retransmit = \"250 ms\""),
        ("independent", "max_subflows = 2"),
        ("independent", "inbound_subflows = 2"),
        ("independent", "timer_tick = \"10 ms\", timer_wheel = true"),
    ];
    for (name, engine, number) in LEVELS {
        for (coupling, options) in cases {
            for net in ["bern5", "tight"] {
                let flow = level(engine, number, &format!("coupling = \"{coupling}\"\n{THREE}"), options);
                let title = format!("subflows/{name}/{}/{}/{net}", slug(coupling), slug(options));
                runs.push(run(title, "60 s", &network(net), flow));
            }
        }
    }
}

fn schedulers(runs: &mut Vec<Run>) {
    for (name, engine, number) in LEVELS {
        for scheduler in SCHEDULERS {
            for (coupling, message) in [("independent", "300 B"), ("independent", "9 kB"), ("shared", "9 kB")]
            {
                let more = format!(
                    "level = {number}\nscheduler = \"{scheduler}\"\ncoupling = \"{coupling}\"\n{THREE}"
                );
                let flow = transfer("sctp", engine, "150 kB", message, &more);
                let title = format!("gate/{name}/{scheduler}/{coupling}/{}", slug(message));
                runs.push(run(title, "60 s", CLASSES, flow));
            }
        }
    }
}

fn streams(runs: &mut Vec<Run>) {
    for scheduling in STREAM_SCHEDULERS {
        for interleaving in [false, true] {
            for message in ["100 B", "1452 B", "20 kB"] {
                for subflows in ["", "subflows = 2\n"] {
                    let more = format!(
                        "streams = 4\n{subflows}options = {{ interleaving = {interleaving}, stream_scheduling = \
                         \"{scheduling}\", stream_values = \"0=4 1=2 2=1 3=7\" }}"
                    );
                    let bytes = if message == "100 B" { "40 kB" } else { "160 kB" };
                    let flow = transfer("sctp", "rfc9260", bytes, message, &more);
                    let kind = if interleaving { "i-data" } else { "data" };
                    let two = if subflows.is_empty() { "one" } else { "two" };
                    let title = format!("streams/{scheduling}/{kind}/{}/{two}", slug(message));
                    runs.push(run(title, "60 s", &network("bern1"), flow));
                }
            }
        }
    }
}

/// Both ends need not have the same.
fn agreement(runs: &mut Vec<Run>) {
    let receivers = [
        ("no-extension", "receiver = { engine = \"rfc9260\", options = { subflow_level = \"0\" } }"),
        ("old-peer", "receiver = { engine = \"rfc2960\", options = { subflow_level = \"0\" } }"),
        (
            "two-inbound",
            "receiver = { engine = \"rfc9260\", options = { subflow_level = \"1\", inbound_subflows = 2 } }",
        ),
        (
            "i-data-only",
            "receiver = { engine = \"rfc9260\", options = { subflow_level = \"0\", interleaving = true } }",
        ),
        ("linux", "receiver = { engine = \"linux-6.1\", options = { subflow_level = \"0\" } }"),
    ];
    for (title, receiver) in receivers {
        for net in ["bern1", "first-of-each-lost", "duplicated"] {
            let more = format!("level = 1\n{THREE}\n{receiver}");
            let flow = transfer("sctp", "rfc9260", "120 kB", "3 kB", &more);
            runs.push(run(format!("agreement/{title}/{net}"), "60 s", &network(net), flow));
        }
    }
    // Handshakes of subflows that are lost, and whoever answers no more.
    for (name, engine, number) in LEVELS {
        for net in [
            "first-lost",
            "second-lost",
            "second-to-fourth-lost",
            "first-answers-lost",
            "second-answer-lost",
            "duplicated",
            "outage",
            "dies",
            "dead",
            "bern20",
        ] {
            let flow = level(engine, number, THREE, "");
            runs.push(run(format!("agreement/{name}/{net}"), "900 s", &network(net), flow));
        }
    }
}

/// The adaptive coupling takes its time to know a bottleneck: one that overflows, one that errs, and one for each class.
fn adaptive(runs: &mut Vec<Run>) {
    let links = [
        (
            "overflows",
            "rate = \"2 Mbit/s\"\ndelay = \"20 ms\"\nqueue = { kind = \"droptail\", packets = 25 }"
                .to_owned(),
        ),
        ("errs", network("bern1")),
        ("classes", CLASSES.to_owned()),
    ];
    for (name, engine, number) in LEVELS {
        for cut in ["group", "lane"] {
            for (net, link) in &links {
                let flow = format!(
                    "protocol = \"sctp\"\nengine = \"{engine}\"\nlevel = {number}\ncoupling = \"adaptive\"\n{THREE}\n\
                     traffic = {{ kind = \"greedy\", message = \"1400 B\" }}\noptions = {{ adaptive_cut = \"{cut}\" }}"
                );
                runs.push(run(format!("adaptive/{name}/{cut}/{net}"), "60 s", link, flow));
            }
        }
    }
}

/// Every profile with subflows, where the engine allows it at level 0.
fn profiles(runs: &mut Vec<Run>) {
    for profile in crate::runs::SCTP {
        let levels: &[&str] = if profile == "sf2007" { &["\"sf2007\""] } else { &["0", "1"] };
        for number in levels {
            for net in ["bern5", "tight"] {
                let title = format!("subflows/profile/{profile}/{}/{net}", slug(number));
                let flow = level(profile, number, THREE, "");
                runs.push(Run { name: title, toml: scenario("60 s", &network(net), &[flow], ""), seed: 2 });
            }
        }
    }
}

pub(crate) fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    couplings(&mut runs);
    values(&mut runs);
    schedulers(&mut runs);
    streams(&mut runs);
    agreement(&mut runs);
    profiles(&mut runs);
    adaptive(&mut runs);
    runs
}
