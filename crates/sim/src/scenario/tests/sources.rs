//! Flows without a transport: their meaning and the errors of wrong ones.

use anabranch_base::Duration;

use super::{GOOD, read};
use crate::scenario::{Distribution, PacketSource, Rhythm, Traffic};

/// [`GOOD`] with a second flow; line 26 holds `protocol`, line 27 `traffic`.
fn with(protocol: &str, traffic: &str) -> String {
    let ends = "name = \"two\"\nfrom = \"a\"\nto = \"b\"";
    format!("{GOOD}[[flow]]\n{ends}\nprotocol = \"{protocol}\"\ntraffic = {{ {traffic} }}\n")
}

fn source(protocol: &str, traffic: &str) -> PacketSource {
    let scenario = read(&with(protocol, traffic)).unwrap();
    assert_eq!(scenario.flows[1].protocol.name(), protocol);
    assert!(!scenario.flows[1].protocol.is_transport());
    match scenario.flows[1].traffic {
        Traffic::Packets(source) => source,
        ref other => panic!("{other:?}"),
    }
}

const FIVE: Duration = Duration::from_secs(5);

#[test]
fn every_kind_of_source() {
    assert_eq!(
        source("cbr", "rate = \"5 Mbit/s\", packet = \"1000 B\""),
        PacketSource { rate: 5_000_000, packet: 1000, jitter: 0.0, rhythm: Rhythm::Steady }
    );
    assert_eq!(
        source(
            "square",
            "rate = \"8 Mbit/s\", packet = \"1000 B\", jitter = 0.5, on = \"5 s\", off = \"4 s\", phase = \"1 s\""
        ),
        PacketSource {
            rate: 8_000_000,
            packet: 1000,
            jitter: 0.5,
            rhythm: Rhythm::Square { on: FIVE, off: Duration::from_secs(4), phase: Duration::from_secs(1) },
        }
    );
    let bursts = "rate = \"8 Mbit/s\", packet = \"1000 B\", on = \"5 s\", off = \"5 s\", distribution = ";
    for (rest, distribution) in [
        ("\"exponential\"", Distribution::Exponential),
        ("\"pareto\"", Distribution::Pareto { shape: 1.5 }),
        ("\"pareto\", shape = 1.9", Distribution::Pareto { shape: 1.9 }),
        ("\"pareto\", shape = 2", Distribution::Pareto { shape: 2.0 }),
    ] {
        let rhythm = Rhythm::OnOff { distribution, on: FIVE, off: FIVE };
        assert_eq!(source("on-off", &format!("{bursts}{rest}")).rhythm, rhythm);
    }
}

#[test]
fn it_may_start_late_stop_be_marked_and_be_many() {
    let more = "start = \"1 s\"\nstop = \"3 s\"\ndscp = \"LE\"\ncount = 3\n";
    let scenario = read(&(with("cbr", "rate = \"5 Mbit/s\", packet = \"1000 B\"") + more)).unwrap();
    assert_eq!(scenario.flows.len(), 4);
    assert_eq!(scenario.flows[3].name, "two-3");
    assert_eq!(scenario.flows[3].stop, Some(Duration::from_secs(3)));
    assert_eq!(scenario.flows[3].dscp.get(), 1);
}

#[test]
fn wrong_sources_are_told() {
    let cbr = "rate = \"5 Mbit/s\", packet = \"1000 B\"";
    let bursts = |rest: &str| format!("{cbr}, on = \"5 s\", off = \"5 s\", {rest}");
    for (protocol, traffic, expected) in [
        (
            "cbr",
            "kind = \"greedy\"".to_owned(),
            "27:13: unknown key \"kind\" in traffic of protocol \"cbr\"; allowed keys: rate, packet, jitter",
        ),
        (
            "cbr",
            "rate = \"5 Mbit/s\"".to_owned(),
            "27:11: traffic of protocol \"cbr\" needs packet, for example packet = \"1000 B\"",
        ),
        ("cbr", cbr.replace("5 Mbit/s", "infinite"), "27:20: rate: a source needs a finite rate"),
        (
            "cbr",
            cbr.replace("1000 B", "27 B"),
            "27:41: packet: 27 B is out of range; allowed: 28 B to 65535 B",
        ),
        (
            "cbr",
            cbr.replace("5 Mbit/s", "9000 Gbit/s"),
            "27:20: rate: packets would follow each other in less than a nanosecond",
        ),
        ("cbr", format!("{cbr}, jitter = 2"), "27:60: jitter: 2 is no probability; allowed: 0 to 1"),
        (
            "square",
            format!("{cbr}, on = \"5 s\""),
            "27:11: traffic of protocol \"square\" needs off, for example off = \"5 s\"",
        ),
        ("square", format!("{cbr}, on = \"0 s\", off = \"1 s\""), "27:56: on: it must be longer than 0 s"),
        ("square", bursts("phase = \"10 s\""), "27:84: phase: a phase is shorter than on + off"),
        (
            "on-off",
            bursts("distribution = \"normal\""),
            "27:91: distribution: unknown distribution \"normal\"; allowed: exponential, pareto",
        ),
        (
            "on-off",
            bursts("distribution = \"exponential\", shape = 2"),
            "27:114: shape: an exponential distribution has no shape; leave it out",
        ),
        (
            "on-off",
            bursts("distribution = \"pareto\", shape = 1"),
            "27:109: shape: 1 is out of range; allowed: above 1",
        ),
    ] {
        let told = read(&with(protocol, &traffic)).expect_err("it is wrong").to_string();
        assert_eq!(told, format!("f.toml:{expected}"));
    }
    let told = read(&(with("cbr", cbr) + "engine = \"rfc9260\"\n")).expect_err("it is wrong").to_string();
    assert_eq!(told, "f.toml:28:10: engine: protocol \"cbr\" has no transport; leave it out");
}
