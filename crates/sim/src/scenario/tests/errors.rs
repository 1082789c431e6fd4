//! Every mistake has its own line: place, fault, allowed values.

use super::{GOOD, edited, read, read_with};
use crate::scenario::{Ports, Scenario};

/// The line that the file gets.
#[track_caller]
fn told(text: &str) -> String {
    let line = read(text).expect_err("the file is wrong").to_string();
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}

#[track_caller]
fn edit(from: &str, to: &str, expected: &str) {
    assert_eq!(told(&edited(from, to)), expected);
}

/// The words are the parser's own, the place is ours.
#[test]
fn not_toml() {
    for (from, to, start) in [
        ("duration = \"10 s\"", "duration = 10 s", "f.toml:1:12: not TOML: "),
        ("both = true", "both = true\nboth = true", "f.toml:14:1: not TOML: duplicate key"),
        ("seeds = \"1..3\"", "seeds = \"1..3", "f.toml:3:14: not TOML: "),
    ] {
        let told = told(&edited(from, to));
        assert!(told.starts_with(start), "{told}");
    }
}

#[test]
fn ports_and_lengths_of_captures() {
    let ports = |text: &str| format!("seeds = \"1..3\"\nports = {text}");
    let two = "the ports of the first flow's sender and receiver, such as [50000, 61000]";
    edit("seeds = \"1..3\"", &ports("[1]"), &format!("f.toml:4:9: ports: expected {two}, found a list of 1"));
    edit("seeds = \"1..3\"", &ports("5"), &format!("f.toml:4:9: ports: expected {two}, found an integer"));
    edit("seeds = \"1..3\"", &ports("[0, 1]"), "f.toml:4:10: ports: 0 is out of range; allowed: 1 to 65535");
    let told =
        told(&edited("engine =", "count = 9\nengine =").replace("seeds =", "ports = [65530, 7]\nseeds ="));
    assert!(
        told.contains("ports: with ")
            && told.ends_with("flows the ports would go on to 65538; they end at 65535"),
        "{told}"
    );
    let refused = Scenario::from_toml(GOOD, "f.toml", &[("record.snaplen".into(), "0 B".into())]);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "--set record.snaplen: snaplen: allowed: 1 B to 65535 B of each packet"
    );
}

/// Without the key no two flows have the same pair, and all lie where no dissector of Wireshark claims a port.
#[test]
fn ports_are_nobody_elses() {
    let pairs: std::collections::BTreeSet<_> = (0..20_000).map(|flow| Ports::default().of(flow)).collect();
    assert_eq!(pairs.len(), 20_000);
    assert!(
        pairs
            .iter()
            .all(|(sender, receiver)| (50_000..=54_327).contains(sender) && (60_002..).contains(receiver))
    );
    assert_eq!(Ports { first: Some((7, 9)) }.of(3), (10, 12));
}

#[test]
fn udp_is_pointed_to_cbr() {
    let told = told(&GOOD.replacen("protocol = \"sctp\"", "protocol = \"udp\"", 1).replacen(
        "protocol = \"tcp\"",
        "protocol = \"UDP\"",
        1,
    ));
    assert!(
        told.ends_with(
            "datagrams at a constant rate are \"cbr\", in periods \"square\", in bursts \"on-off\""
        ),
        "{told}"
    );
}

#[test]
fn tcp_needs_no_message_and_sctp_does() {
    let text = |protocol: &str, engine: &str| {
        let traffic = "traffic = { kind = \"transfer\", bytes = \"1 MB\" }";
        format!(
            "{GOOD}\n[[flow]]\nname = \"more\"\nfrom = \"a\"\nto = \"b\"\nprotocol = \"{protocol}\"\nengine = \"{engine}\"\n{traffic}\n"
        )
    };
    let scenario = read(&text("tcp", "rfc")).expect("it is right");
    let last = scenario.flows.last().map(|flow| flow.traffic.clone());
    assert_eq!(last, Some(crate::scenario::Traffic::Transfer { bytes: 1_000_000, message: 65_536 }));
    assert!(told(&text("sctp", "rfc9260")).contains("needs message, for example"));
}

#[test]
fn unknown_keys() {
    edit(
        "rate = \"10",
        "rat = \"10",
        "f.toml:9:1: unknown key \"rat\" in [[link]] (did you mean \"rate\"?); allowed keys: name, from, to, rate, delay, \
         queue, loss, loss_at, mtu, mtu_answer, mtu_changes, condition, pattern, both, back",
    );
    edit(
        "seeds = \"1..3\"",
        "color = \"red\"",
        "f.toml:3:1: unknown key \"color\" in a scenario; allowed keys: duration, warmup, seeds, random, checksums, ports, host, \
         link, route, flow, record",
    );
    edit(
        "packets = 20 }",
        "packet = 20 }",
        "f.toml:11:30: unknown key \"packet\" in a queue of kind \"droptail\" (did you mean \"packets\"?); allowed keys: \
         kind, packets, bytes",
    );
    edit(
        "message = \"1000 B\" }",
        "message = \"1000 B\", bytes = \"1 MB\" }",
        "f.toml:21:50: unknown key \"bytes\" in traffic of kind \"greedy\"; allowed keys: kind, message",
    );
}

#[test]
fn missing_keys() {
    edit("rate = \"10 Mbit/s\"\n", "", "f.toml:5:1: [[link]] needs rate, for example rate = \"10 Mbit/s\"");
    edit(
        "duration = \"10 s\"\n",
        "",
        "f.toml:1:1: a scenario needs duration, for example duration = \"1200 s\"",
    );
    edit("name = \"one\"\n", "", "f.toml:15:1: [[flow]] needs name, for example name = \"flow\"");
    edit(
        "kind = \"bernoulli\", ",
        "",
        "f.toml:12:8: loss needs kind, for example kind = \"bernoulli\"; allowed: none, bernoulli, gilbert-elliott, bit-errors, positions",
    );
    edit(", p = 0.5", "", "f.toml:12:8: a loss of kind \"bernoulli\" needs p, for example p = 1e-4");
    edit(
        "engine = \"rfc9260\"\n",
        "",
        "f.toml:15:1: [[flow]] needs engine, for example engine = \"rfc9260\" (or [[host]] \"a\" a default: sctp = { \
         engine = ... })",
    );
}

#[test]
fn unknown_kinds() {
    edit(
        "\"droptail\"",
        "\"droptial\"",
        "f.toml:11:18: kind: unknown kind of queue \"droptial\" (did you mean \"droptail\"?); allowed: droptail, red, rio-c, rio-d, wred, codel, fq-codel, classes",
    );
    edit(
        "\"greedy\"",
        "\"gready\"",
        "f.toml:21:20: kind: unknown kind of traffic \"gready\" (did you mean \"greedy\"?); allowed: greedy, transfer, messages, objects",
    );
    edit(
        "\"bernoulli\"",
        "\"burst\"",
        "f.toml:12:17: kind: unknown kind of loss \"burst\"; allowed: none, bernoulli, gilbert-elliott, bit-errors, positions",
    );
    edit(
        "\"sctp\"",
        "\"sktp\"",
        "f.toml:19:12: protocol: unknown protocol \"sktp\" (did you mean \"sctp\"?); allowed: sctp, tcp, cbr, square, on-off",
    );
    edit(
        "\"rfc9260\"",
        "\"rfc926O\"",
        "f.toml:20:10: engine: unknown sctp engine \"rfc926O\" (did you mean \"rfc9260\"?); allowed: kame-2006, \
         kame-2006-bugs, linux-6.1, lksctp-2006, lksctp-2006-bugs, modern, ns2-2.28, ns2-2.35, rfc2960, rfc9260, rfc9260-rack, \
         sctplib-2001, sf2007, webrtc",
    );
    edit(
        "seeds = \"1..3\"",
        "random = \"shared\"",
        "f.toml:3:10: random: unknown kind of random numbers \"shared\"; allowed: common, independent",
    );
    edit(
        "seeds = \"1..3\"",
        "checksums = \"off\"",
        "f.toml:3:13: checksums: unknown treatment \"off\"; allowed: verify, elide",
    );
}

#[test]
fn units() {
    edit("\"5 ms\"", "\"5\"", "f.toml:10:9: delay: \"5\" has no unit; allowed units: ns, us, ms, s, min, h");
    edit("\"5 ms\"", "5", "f.toml:10:9: delay: \"5\" has no unit; allowed units: ns, us, ms, s, min, h");
    edit(
        "\"5 ms\"",
        "\"5 lsec\"",
        "f.toml:10:9: delay: \"5 lsec\" has an unknown unit \"lsec\"; allowed units: ns, us, ms, s, min, h",
    );
    edit(
        "\"5 ms\"",
        "\"-5 ms\"",
        "f.toml:10:9: delay: \"-5 ms\" is not a time; write a number and a unit: ns, us, ms, s, min, h",
    );
    edit("\"5 ms\"", "\"0.5 ns\"", "f.toml:10:9: delay: \"0.5 ns\" is not a whole number of nanoseconds");
    edit(
        "\"5 ms\"",
        "\"99999999999 h\"",
        "f.toml:10:9: delay: \"99999999999 h\" is too large; allowed: up to 5124095 h",
    );
    edit("\"5 ms\"", "true", "f.toml:10:9: delay: expected text such as \"48 ms\", found true or false");
    edit(
        "\"10 Mbit/s\"",
        "\"10 MB/s\"",
        "f.toml:9:8: rate: \"10 MB/s\" has an unknown unit \"MB/s\" (did you mean \"80 Mbit/s\"?); allowed units: bit/s, kbit/s, Mbit/s, Gbit/s, or \
         \"infinite\"",
    );
    edit(
        "\"10 Mbit/s\"",
        "\"99999999999999 Gbit/s\"",
        "f.toml:9:8: rate: \"99999999999999 Gbit/s\" is too large; allowed: up to 18446744073 Gbit/s, or \"infinite\"",
    );
    edit(
        "\"10 Mbit/s\"",
        "\"0 Mbit/s\"",
        "f.toml:9:8: rate: \"0 Mbit/s\" is no rate; at least 1 bit/s, or \"infinite\"",
    );
    edit(
        "\"1000 B\"",
        "\"1000\"",
        "f.toml:21:40: message: \"1000\" has no unit; allowed units: B, kB, MB, GB, KiB, MiB, GiB",
    );
}

#[test]
fn numbers_out_of_range() {
    edit("p = 0.5", "p = 1.5", "f.toml:12:34: p: 1.5 is no probability; allowed: 0 to 1");
    edit("p = 0.5", "p = nan", "f.toml:12:34: p: NaN is no probability; allowed: 0 to 1");
    edit("p = 0.5", "p = \"half\"", "f.toml:12:34: p: expected a probability of 0 to 1, found text");
    edit("packets = 20", "packets = 0", "f.toml:11:40: packets: 0 is out of range; allowed: 1 to 1000000000");
    edit("packets = 20", "bytes = \"0 B\"", "f.toml:11:38: bytes: a queue needs room for at least 1 B");
    edit("\"1000 B\"", "\"0 B\"", "f.toml:21:40: message: 0 B is out of range; allowed: 1 B to 16 MiB");
    edit(
        "kind = \"greedy\", ",
        "kind = \"transfer\", bytes = \"0 B\", ",
        "f.toml:21:40: bytes: a transfer needs at least 1 B",
    );
    edit(
        "both = true",
        "mtu = \"100 B\"",
        "f.toml:13:7: mtu: 100 B is out of range; allowed: 576 B to 65535 B",
    );
    edit(
        "engine =",
        "subflows = 0\nengine =",
        "f.toml:20:12: subflows: 0 is out of range; allowed: 1 to 255",
    );
    edit("engine =", "count = 0\nengine =", "f.toml:20:9: count: 0 is out of range; allowed: 1 to 1000000");
    edit("engine =", "dscp = 64\nengine =", "f.toml:20:8: dscp: 64 is out of range; allowed: 0 to 63");
    edit(
        "engine =",
        "coupling = \"fcc(m)\"\nengine =",
        "f.toml:20:12: coupling: unknown coupling \"fcc(m)\" (did you mean \"fcc(n)\"?); allowed: independent, shared, fcc(n), fcc(n^2), fcc(2n^2), fcc(NUMBER from 1), lia, olia, adaptive",
    );
    edit(
        "engine =",
        "coupling = \"fcc(0.5)\"\nengine =",
        "f.toml:20:12: coupling: unknown coupling \"fcc(0.5)\"; allowed: independent, shared, fcc(n), fcc(n^2), fcc(2n^2), fcc(NUMBER from 1), lia, olia, adaptive",
    );
    edit(
        "engine =",
        "coupling = \"lia\"\noptions = { congestion_control = \"bic\" }\nengine =",
        "f.toml:21:34: congestion_control: \"bic\" does not fit: `congestion_control` bic goes with `coupling` independent or shared only, not with lia",
    );
}

#[test]
fn times_that_do_not_fit() {
    edit(
        "\"2 s\"",
        "\"10 s\"",
        "f.toml:2:10: warmup: a warm-up of 10 s leaves nothing of a run of 10 s; it must be shorter",
    );
    edit(
        "duration = \"10 s\"",
        "duration = \"0 s\"",
        "f.toml:1:12: duration: a run must last longer than 0 s",
    );
    edit(
        "engine =",
        "start = \"uniform(2 s, 1 s)\"\nengine =",
        "f.toml:20:9: start: \"uniform(2 s, 1 s)\": the first time is later than the second",
    );
    edit(
        "engine =",
        "start = \"gauss(1 s)\"\nengine =",
        "f.toml:20:9: start: \"gauss(1 s)\" is no time; write \"2 s\", \"uniform(0 s, 1 s)\" or \"exponential(1 s)\"",
    );
    edit(
        "engine =",
        "start = \"3 s\"\nstop = \"3 s\"\nengine =",
        "f.toml:21:8: stop: the flow stops before it starts",
    );
}

#[test]
fn seeds() {
    edit(
        "\"1..3\"",
        "\"3..1\"",
        "f.toml:3:9: seeds: \"3..1\" is an empty range of seeds; the first is larger than the last",
    );
    edit(
        "\"1..3\"",
        "\"\"",
        "f.toml:3:9: seeds: \"\" is no list of seeds; write \"1..30\", \"7\" or \"1..5, 9\"",
    );
    edit("\"1..3\"", "[]", "f.toml:3:9: seeds: no seeds; at least one is needed");
    edit("\"1..3\"", "\"1..3, 2\"", "f.toml:3:9: seeds: seed 2 is there twice");
    edit("\"1..3\"", "[1, -2]", "f.toml:3:13: seeds: -2 is out of range; allowed: 0 to 9223372036854775807");
    edit(
        "\"1..3\"",
        "\"0..18446744073709551615\"",
        "f.toml:3:9: seeds: too many seeds; allowed: 1 to 1000000",
    );
}

#[test]
fn names() {
    edit(
        "name = \"one\"",
        "name = \"o ne\"",
        "f.toml:16:8: name: \"o ne\" is no name; allowed: 1 to 64 letters, digits, \"-\" and \"_\"",
    );
    edit(
        "name = \"one\"",
        "name = \"\\n\"",
        "f.toml:16:8: name: \"\\n\" is no name; allowed: 1 to 64 letters, digits, \"-\" and \"_\"",
    );
    let again = format!(
        "{GOOD}\n[[flow]]\nname = \"one\"\nfrom = \"a\"\nto = \"b\"\nprotocol = \"tcp\"\nengine = \"rfc\"\ntraffic = {{ kind = \"greedy\", message = \"1 B\" }}\n"
    );
    assert_eq!(told(&again), "f.toml:24:8: name: two flows are called \"one\"");
    let link = |name: &str| {
        format!(
            "{GOOD}\n[[link]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nrate = \"infinite\"\ndelay = \"0 s\"\n"
        )
    };
    let twice = "(the reverse of a link with both = true is called NAME-back)";
    assert_eq!(told(&link("wire")), format!("f.toml:24:8: name: two links are called \"wire\" {twice}"));
    assert_eq!(
        told(&link("wire-back")),
        format!("f.toml:24:8: name: two links are called \"wire-back\" {twice}")
    );
    let hosts = format!("{GOOD}\n[[host]]\nname = \"a\"\n[[host]]\nname = \"a\"\n");
    assert_eq!(told(&hosts), "f.toml:26:8: name: two hosts are called \"a\"");
    let addresses = format!(
        "{GOOD}\n[[host]]\nname = \"a\"\naddresses = [\"10.0.0.1\"]\n[[host]]\nname = \"b\"\naddresses = [\"10.0.0.1\"]\n"
    );
    assert_eq!(told(&addresses), "f.toml:27:8: name: host \"a\" has the address 10.0.0.1 too");
}

#[test]
fn nodes_and_routes() {
    let link = |from: &str, to: &str| {
        format!(
            "{GOOD}\n[[link]]\nname = \"more\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"infinite\"\ndelay = \"0 s\"\n"
        )
    };
    assert_eq!(
        told(&link("b", "r1")),
        "f.toml:26:6: to: nothing but this link names node \"r1\"; if it is meant, declare it with [[host]]"
    );
    assert_eq!(told(&link("b", "b")), "f.toml:26:6: to: a link needs two nodes, and both ends are \"b\"");
    let flow = edited("from = \"a\"\nto = \"b\"\nprotocol", "from = \"a\"\nto = \"bb\"\nprotocol");
    assert_eq!(
        told(&flow),
        "f.toml:8:6: to: nothing but this link names node \"b\" (did you mean \"bb\"?); if it is meant, declare it with \
         [[host]]"
    );
    assert_eq!(
        told(&format!("{flow}\n[[host]]\nname = \"b\"\n")),
        "f.toml:18:6: to: no link touches host \"bb\"; nodes with links: a, b"
    );
    edit(
        "both = true",
        "both = false",
        "f.toml:17:8: from: no links lead from \"b\" to \"a\" (acknowledgements need a way back; both = true makes it)",
    );
    edit(
        "from = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { kind = \"droptail\", packets = 20 }\nloss = { kind = \"bernoulli\", p = 0.5 }\nboth = true",
        "from = \"b\"\nto = \"a\"\nrate = \"1 bit/s\"\ndelay = \"0 s\"",
        "f.toml:15:6: to: no links lead from \"a\" to \"b\"",
    );
    edit(
        "from = \"a\"\nto = \"b\"\nprotocol",
        "from = \"a\"\nto = \"a\"\nprotocol",
        "f.toml:18:6: to: a flow needs two hosts, and both ends are \"a\"",
    );
}

#[test]
fn tables_of_the_wrong_kind() {
    edit("[[flow]]", "[flow]", "f.toml:15:1: flow: write [[flow]] with two brackets: there may be many");
    edit(
        "{ kind = \"droptail\", packets = 20 }",
        "20",
        "f.toml:11:9: queue: expected a table such as { kind = \"droptail\", packets = 100 }, found an integer",
    );
    assert_eq!(told("duration = \"1 s\"\n"), "f.toml:1:1: a scenario needs at least one [[flow]]");
    assert_eq!(told(""), "f.toml:1:1: a scenario needs duration, for example duration = \"1200 s\"");
    let no_link = GOOD.split("[[link]]").next().unwrap().to_owned()
        + "[[flow]]"
        + GOOD.split("[[flow]]").nth(1).unwrap();
    assert_eq!(told(&no_link), "f.toml:1:1: a scenario needs at least one [[link]]");
    edit(
        "both = true",
        "back = { mtu = \"1400 B\" }",
        "f.toml:13:8: back: there is a reverse only with both = true",
    );
}

#[test]
fn tcp_has_no_streams() {
    edit(
        "protocol = \"sctp\"\nengine = \"rfc9260\"",
        "protocol = \"tcp\"\nengine = \"rfc\"\nunordered = true",
        "f.toml:21:13: unordered: a TCP connection has no streams and no subflows; leave it out",
    );
}

#[test]
fn options_of_engines() {
    let told = told(&format!("{GOOD}[flow.options]\nsack_dely = \"0 ms\"\n"));
    let start = "f.toml:23:1: unknown option \"sack_dely\" of sctp (did you mean \"sack_delay\"?); allowed: ";
    assert!(told.starts_with(start), "{told}");
    assert!(told.contains(", sack_delay, ") && told.ends_with("zero_checksum"), "{told}");
    edit(
        "engine = \"rfc9260\"",
        "engine = \"rfc9260\"\nrto_min = \"1 s\"",
        "f.toml:21:1: \"rto_min\" is an option of the engine, not a key of [[flow]]: write options.rto_min",
    );
    let told = super::errors::told(&format!("{GOOD}[flow.options]\nsack_delay = 3\n"));
    // The expected form is the engine's own sentence.
    assert!(told.starts_with("f.toml:23:14: sack_delay: \"3\" does not fit; expected a time "), "{told}");
    let told = super::errors::told(&format!("{GOOD}[flow.options]\nsack_delay = [3]\n"));
    assert_eq!(
        told,
        "f.toml:23:14: option sack_delay: expected text, a number or true or false, found a list"
    );
}

#[test]
fn losses_at_positions() {
    let positions = |drop: &str| {
        edited("{ kind = \"bernoulli\", p = 0.5 }", &format!("{{ kind = \"positions\", drop = {drop} }}"))
    };
    assert_eq!(told(&positions("[3, 3]")), "f.toml:12:41: drop: 3 is out of order; packet numbers rise");
    assert_eq!(
        told(&positions("[0]")),
        "f.toml:12:38: drop: 0 is out of range; allowed: 1 to 9223372036854775807"
    );
    assert_eq!(
        told(&positions("[1], flow = \"two\"")),
        "f.toml:12:49: flow: no flow is called \"two\"; there are: one"
    );
}

#[test]
fn what_to_record() {
    let record = |text: &str| told(&format!("{GOOD}[record]\n{text}\n"));
    assert_eq!(
        record("trace = [\"windw\"]"),
        "f.toml:23:10: trace: unknown event \"windw\" (did you mean \"window\"?); allowed: sent, received, ack, window, \
         rtt, fast-retransmit, timeout, dropped, queue, sample"
    );
    assert_eq!(
        record("pcap = [\"wires\"]"),
        "f.toml:23:9: pcap: unknown link \"wires\" (did you mean \"wire\"?); allowed: wire, wire-back"
    );
    assert_eq!(
        record("queue_interval = \"0 s\""),
        "f.toml:23:18: queue_interval: the interval must be longer than 0 s"
    );
    assert_eq!(
        record("sample_from = \"1 s\""),
        "f.toml:23:15: sample_from: nothing is sampled; say sample = \"0.1 s\" too"
    );
    assert_eq!(
        record("sample = \"0.1 s\"\nsample_from = \"4 s\"\nsample_until = \"4 s\""),
        "f.toml:25:16: sample_until: the samples end before they begin"
    );
    assert_eq!(
        record("by_flow = [\"wires\"]"),
        "f.toml:23:12: by_flow: unknown link \"wires\" (did you mean \"wire\"?); allowed: wire, wire-back"
    );
    assert_eq!(
        record("pcap = 1"),
        "f.toml:23:8: pcap: expected true, false or a list of links such as [\"bottleneck\"], found an integer"
    );
}

#[test]
fn overrides() {
    let told = |path: &str, value: &str| {
        let line = read_with(&[(path, value)]).expect_err("wrong").to_string();
        assert_eq!(line.lines().count(), 1, "{line}");
        line
    };
    assert_eq!(
        told("link.wir.rate", "1 bit/s"),
        "--set link.wir.rate: no link is called \"wir\" (did you mean \"wire\"?); there are: wire"
    );
    assert_eq!(told("host.a.name", "b"), "--set host.a.name: no host is called \"a\"; there is none");
    assert_eq!(told("link.wire", "1"), "--set link.wire: which key? write link.wire.KEY=VALUE");
    assert_eq!(told("link", "1"), "--set link: which link? write link.NAME.KEY=VALUE");
    assert_eq!(
        told("a..b", "1"),
        "--set a..b: not a path; write KEY, TABLE.KEY, or link.NAME.KEY (also host, flow)"
    );
    assert_eq!(
        told("duration.x", "1"),
        "--set duration.x: duration is text, not a table; it has no key \"x\""
    );
    assert_eq!(
        told("link.wire.loss.p", "2"),
        "--set link.wire.loss.p: p: 2 is no probability; allowed: 0 to 1"
    );
    assert_eq!(
        told("warmup", "1 h"),
        "--set warmup: warmup: a warm-up of 3600 s leaves nothing of a run of 10 s; it must be shorter"
    );
    assert_eq!(
        told("record.speed", "1"),
        "--set record.speed: unknown key \"speed\" in [record]; allowed keys: trace, pcap, snaplen, queue_interval, sample, sample_from, \
         sample_until, packets, by_flow"
    );
}
