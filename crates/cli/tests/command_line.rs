//! The program from outside: exit codes, standard output and standard error, the files it leaves.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::place::{Place, SMALL};

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn wrong_options_and_files_end_with_2_and_one_line() {
    let place = Place::new();
    place.fails(
        &["simulate", "none.toml"],
        2,
        "none.toml: cannot read: No such file or directory (os error 2)",
    );
    place.fails(&["simulate"], 2, "the following required arguments were not provided: <FILE.toml>");
    for (verb, words) in [
        (&[][..], ["Usage: anabranch <COMMAND>", "simulate"]),
        (&["pattern"], ["Usage: anabranch pattern", "convert"]),
    ] {
        let output = place.run(verb);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
    }
    place.fails(
        &["simulat", "x"],
        2,
        "unrecognized subcommand 'simulat'; a similar subcommand exists: 'simulate'",
    );
    place.fails(
        &["simulate", "small.toml", "--thread", "2"],
        2,
        "unexpected argument '--thread' found; a similar argument exists: '--threads'",
    );
    place.fails(
        &["simulate", "small.toml", "--threads", "0"],
        2,
        "invalid value '0' for '--threads <N>': allowed: 1 to 1024",
    );
    place.fails(
        &["simulate", "small.toml", "--seeds", "x"],
        2,
        "invalid value 'x' for '--seeds <SPEC>': \"x\" is no list of seeds; write \"1..30\", \"7\" or \"1..5, 9\"",
    );
    place.fails(
        &["simulate", "small.toml", "--set", "duration"],
        2,
        "invalid value 'duration' for '--set <KEY=VALUE>': write KEY=VALUE, for example link.bottleneck.rate=\"3 Mbit/s\"",
    );
    place.fails(
        &["simulate", "small.toml", "--set", "link.wire.rate=3"],
        2,
        "--set link.wire.rate: rate: \"3\" has no unit; allowed units: bit/s, kbit/s, Mbit/s, Gbit/s, or \"infinite\"",
    );
    place.fails(
        &["simulate", "small.toml", "--trace", "no/where.csv"],
        2,
        "no/where.csv: there is no folder no: mkdir -p no",
    );
    place.fails(
        &["simulate", "small.toml", "--trace", "x", "--pcap", "./x"],
        2,
        "./x-1: --trace and --pcap both name this file",
    );
    place.fails(
        &["simulate", "small.toml", "--out", "o", "--trace", "o/seed-2.json", "--seeds", "2"],
        2,
        "o/seed-2.json: --trace and --out both name this file",
    );
    place.fails(
        &["simulate", "small.toml", "--seeds", "2", "--trace", "small.toml"],
        2,
        "small.toml: --trace and the scenario both name this file",
    );
    place.fails(
        &["simulate", "small.toml", "--pcap", "x.pcap", "--pcap-link", "wir"],
        2,
        "--pcap-link \"wir\": there is no such link; allowed: wire, wire-back",
    );
    std::fs::write(place.path("bad.toml"), SMALL.replace("delay =", "dely =")).expect("a file");
    let line = "bad.toml:11:1: unknown key \"dely\" in [[link]] (did you mean \"delay\"?); allowed keys: name, from, to, \
                rate, delay, queue, loss, loss_at, mtu, mtu_answer, mtu_changes, condition, pattern, both, back";
    place.fails(&["simulate", "bad.toml"], 2, line);
    place.fails(&["check", "bad.toml"], 2, line);
    std::fs::write(place.path("latin.toml"), b"# fine\n# not \xff text\n").expect("a file");
    place.fails(&["check", "latin.toml"], 2, "latin.toml:2: not text in UTF-8");
}

#[test]
fn what_cannot_be_written_ends_with_1() {
    let place = Place::new();
    std::fs::write(place.path("taken"), "").expect("a file");
    let output = place.run(&["simulate", "small.toml", "--out", "taken/here"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.starts_with("anabranch: taken/here: cannot write: ") && told.lines().count() == 1, "{told}");
}

#[test]
fn check_says_what_is_there() {
    let place = Place::new();
    let printed = place.prints(&["check", "small.toml", "--set", "seeds=1..9"]);
    assert_eq!(printed, "small.toml: ok: nodes 2, links 2, flows 2, runs 9 of 5 s each\n");
}

#[test]
fn a_resolved_scenario_has_every_default_and_is_the_same_run() {
    let place = Place::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let small = place.path("small.toml");
    let files = ["fairness", "satellite", "virtual-queues", "wan-subflows", "web-page", "background-traffic"]
        .map(|name| examples.join(format!("{name}.toml")));
    for file in files.iter().chain([&small]) {
        let file = file.to_str().expect("text");
        let short = ["--set", "duration=2 s", "--set", "warmup=0.5 s", "--set", "seeds=3"];
        let resolved = place.prints(&[&["check", "--resolved", file][..], &short].concat());
        std::fs::write(place.path("resolved.toml"), &resolved).expect("a file");
        let first = place.prints(&[&["simulate", "--json", file][..], &short].concat());
        let again = place.prints(&["simulate", "--json", "resolved.toml"]);
        assert!(first == again.replace("resolved.toml", file), "{file}: another run from\n{resolved}");
        // Nothing is left to add.
        assert_eq!(place.prints(&["check", "--resolved", "resolved.toml"]), resolved);
    }
    let resolved = place.prints(&["check", "--resolved", "small.toml"]);
    for line in
        ["random = \"common\"", "mtu = \"1500 B\"", "streams = 1", "[flow.options]", "rto_min = \"1000 ms\""]
    {
        assert!(resolved.lines().any(|one| one == line), "no {line} in\n{resolved}");
    }
    place.fails(
        &["check", "--resolved", "small.toml", "small.toml"],
        2,
        "--resolved prints one scenario; give one FILE.toml",
    );
}

#[test]
fn units_and_values_are_spoken_of_as_people_do() {
    let place = Place::new();
    place.prints(&[
        "check",
        "small.toml",
        "--set",
        "link.wire.rate=10Mbps",
        "--set",
        "link.wire.delay=10 usec",
    ]);
    place.fails(
        &["check", "small.toml", "--set", "link.wire.rate=10M"],
        2,
        "--set link.wire.rate: rate: \"10M\" has an unknown unit \"M\" (did you mean \"10 Mbit/s\"?); allowed units: bit/s, kbit/s, Mbit/s, Gbit/s, or \"infinite\"",
    );
    let option = |text: &str| format!("flow.sctp.options.{text}");
    place.fails(
        &["check", "small.toml", "--set", &option("rto_min=100 s")],
        2,
        "--set flow.sctp.options.rto_min: rto_min: \"100 s\" does not fit: `rto_min` is 100000 ms, longer than `rto_max`, 60000 ms",
    );
    // Options that bound each other, in any order.
    place.prints(&[
        "check",
        "small.toml",
        "--set",
        &option("rto_min=100 sec"),
        "--set",
        &option("rto_max=200 s"),
    ]);
    place.prints(&[
        "check",
        "small.toml",
        "--set",
        &option("rto_min=100 msec"),
        "--set",
        &option("receive_window=10 kB"),
    ]);
    place.prints(&["check", "small.toml", "--set", "flow.tcp.options.rto_min=100 msec"]);
    place.fails(
        &["check", "small.toml", "--set", &option("rto_min=100 m")],
        2,
        "--set flow.sctp.options.rto_min: rto_min: \"100 m\" has an unknown unit \"m\" (did you mean \"100 ms\"?); allowed units: \
         ns, us, ms, s, min, h",
    );
    place.fails(
        &["check", "small.toml", "--set", "link.wire.rate=99999999999999 Gbit/s"],
        2,
        "--set link.wire.rate: rate: \"99999999999999 Gbit/s\" is too large; allowed: up to 18446744073 Gbit/s, or \"infinite\"",
    );
    place.fails(
        &["decode", "x.pcap", "--direction", "x"],
        2,
        "invalid value 'x' for '--direction <WAY>': write SOURCE>DESTINATION with addresses or *, for example 10.0.1.1>*",
    );
}

#[test]
fn engines_lists_profiles_and_options() {
    let printed = Place::new().prints(&["engines"]);
    for line in ["sctp", "    ns2-2.35", "tcp", "    ns2-sack1: "] {
        assert!(printed.lines().any(|printed| printed.starts_with(line)), "{line}");
    }
    assert!(printed.contains("    sack_delay: ") && printed.contains("    mss: "), "{printed}");
}

#[test]
fn json_holds_every_run_in_the_order_of_the_seeds() {
    let place = Place::new();
    let summary = json(&place.prints(&["simulate", "small.toml", "--json", "--seeds", "3, 1..2"]));
    let runs = summary["runs"].as_array().expect("runs");
    let seeds: Vec<_> = runs.iter().map(|run| run["seed"].as_u64()).collect();
    assert_eq!(seeds, [Some(3), Some(1), Some(2)]);
    for run in runs {
        let flows = run["flows"].as_array().expect("flows");
        assert_eq!(flows.len(), 2);
        for flow in flows {
            for key in [
                "name",
                "protocol",
                "engine",
                "goodput_payload_run_bps",
                "goodput_wire_run_bps",
                "packets_sent",
                "packets_unique",
                "retransmissions",
                "fast_retransmits",
                "timeouts",
                "loss_indication_rate",
                "srtt_mean_s",
                "cwnd_peak_bytes",
                "completion_s",
                "subflows",
            ] {
                assert!(flow.get(key).is_some(), "{key}");
            }
        }
        assert!(flows[0]["goodput_payload_run_bps"].as_f64().expect("a rate") > 1e5);
        assert!(flows[1]["completion_s"].as_f64().expect("it completes") > 0.1);
        let links = run["links"].as_array().expect("links");
        assert_eq!(links.len(), 2);
        for key in [
            "name",
            "arrivals",
            "drops_queue",
            "drops_error",
            "utilisation",
            "queue_mean_packets",
            "queue_max_packets",
        ] {
            assert!(links[0].get(key).is_some(), "{key}");
        }
        assert!(links[0]["drops_error"].as_u64().expect("a count") > 0);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let place = Place::new();
    let run = |threads: &str, out: &str| {
        let seeds = ["--seeds", "1..6", "--set", "record.trace=true", "--set", "record.pcap=true"];
        let arguments =
            [&["simulate", "small.toml", "--json", "--threads", threads, "--out", out][..], &seeds].concat();
        place.prints(&arguments)
    };
    let (one, two) = (run("1", "one"), run("2", "two"));
    assert_eq!(one, two);
    let files = names(&place.path("one"));
    assert_eq!(files.len(), 6 * 3 + 1, "{files:?}");
    assert_eq!(files, names(&place.path("two")));
    for file in files {
        let read = |directory: &str| std::fs::read(place.path(directory).join(&file)).expect("a file");
        let (a, b) = (read("one"), read("two"));
        assert!(a == b && !a.is_empty(), "{file}");
    }
}

#[test]
fn classes_of_a_queue_have_a_table_of_their_own() {
    let place = Place::new();
    let queue = "link.wire.queue={ kind = \"rio-d\", classes = [{ name = \"be\", dscp = 0, min = 5, max = 15 }, { min = 1, max = 2 }] }";
    let text = place.prints(&["simulate", "small.toml", "--seeds", "2", "--set", queue]);
    let heads = ["| class at link wire ", "| class at link wire-back "];
    assert!(
        heads.iter().all(|head| text.contains(head)) && text.contains("| be ") && text.contains("| 2 "),
        "{text}"
    );
    let run = json(&place.prints(&["simulate", "small.toml", "--seeds", "2", "--json", "--set", queue]));
    let of = |pointer: &str| run.pointer(pointer).cloned().unwrap_or_default();
    let count = |pointer: &str| of(pointer).as_u64().expect("a count");
    assert_eq!(of("/runs/0/links/0/classes/0/name"), "be");
    assert!(count("/runs/0/links/0/classes/0/arrivals") > 100);
    assert_eq!(count("/runs/0/links/0/classes/0/arrivals"), count("/runs/0/links/0/arrivals"));
    assert_eq!(count("/runs/0/links/0/classes/1/arrivals"), 0);
    assert!(!place.prints(&["simulate", "small.toml", "--seeds", "2"]).contains("class at link"));
}

#[test]
fn the_table_shows_intervals_for_several_seeds_only() {
    let place = Place::new();
    let one = place.prints(&["simulate", "small.toml", "--seeds", "2"]);
    assert!(one.starts_with("1 run, seed 2; statistics from 1 s to 5 s\n"), "{one}");
    assert!(one.contains("| sctp | sctp     | rfc9260 |") && one.contains("| wire-back |"), "{one}");
    assert!(!one.contains('\u{b1}'), "{one}");
    let many = place.prints(&["simulate", "small.toml"]);
    assert!(many.starts_with("3 runs, mean \u{b1} half width of the 95 % interval; "), "{many}");
    assert!(many.matches('\u{b1}').count() > 10, "{many}");
}

#[test]
fn traces_and_captures_go_where_they_are_asked_for() {
    let place = Place::new();
    place.prints(&["simulate", "small.toml", "--seeds", "4", "--trace", "t.csv", "--pcap", "p.pcapng"]);
    let trace = std::fs::read_to_string(place.path("t.csv")).expect("a trace");
    let mut lines = trace.lines();
    assert_eq!(lines.next(), Some("time_ns,entity,kind,flow,subflow,path,reason,seq,size,a,b,c"));
    assert!(lines.clone().count() > 500);
    assert!(lines.all(|line| line.split(',').count() == 12));
    assert!(
        trace.contains(",link:wire,dropped,") || trace.contains("link:wire,dropped,"),
        "no loss in the trace"
    );
    let capture = std::fs::read(place.path("p.pcapng")).expect("a capture");
    assert_eq!(capture.get(..4), Some(&[0x0a, 0x0d, 0x0d, 0x0a][..]), "a section header comes first");
    // Several seeds: a name each.
    place.prints(&["simulate", "small.toml", "--seeds", "4..5", "--trace", "many.csv", "--pcap", "packets/"]);
    assert_eq!(std::fs::read_to_string(place.path("many-4.csv")).expect("a trace"), trace);
    assert!(place.path("many-5.csv").is_file());
    assert_eq!(names(&place.path("packets")), ["capture-4.pcapng", "capture-5.pcapng"]);
    assert_eq!(std::fs::read(place.path("packets/capture-4.pcapng")).expect("a capture"), capture);
}

#[test]
fn a_directory_keeps_the_summary_of_each_run() {
    let place = Place::new();
    let printed = json(&place.prints(&["simulate", "small.toml", "--json", "--out", "runs"]));
    assert_eq!(names(&place.path("runs")), ["seed-1.json", "seed-2.json", "seed-3.json", "summary.json"]);
    let read = |name: &str| json(&std::fs::read_to_string(place.path("runs").join(name)).expect("a file"));
    assert_eq!(read("summary.json"), printed);
    assert_eq!(read("seed-2.json"), printed["runs"][1]);
}

/// Two thousand runs are interrupted as soon as the first has finished.
#[cfg(unix)]
#[test]
fn an_interruption_keeps_what_has_finished() {
    let place = Place::new();
    let mut child = place
        .command(&[
            "simulate",
            "small.toml",
            "--json",
            "--out",
            "runs",
            "--threads",
            "1",
            "--seeds",
            "1..2000",
            "--set",
            "duration=60 s",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Wait for the first result, not for a time.
    while !place.path("runs/seed-1.json").is_file() {
        assert!(child.try_wait().expect("a status").is_none(), "it ended before the first run was written");
        std::thread::yield_now();
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.starts_with("anabranch: interrupted; ")
            && told.ends_with(" of 2000 runs had finished and are kept\n"),
        "{told}"
    );
    let printed = json(&String::from_utf8(output.stdout).expect("text"));
    let runs = printed["runs"].as_array().expect("runs");
    assert!(!runs.is_empty() && runs.len() < 2000);
    let files = names(&place.path("runs"));
    assert_eq!(files.len(), runs.len() + 1, "a file for each run that is printed, and the summary");
    assert!(files.iter().all(|name| name.ends_with(".json")), "{files:?}");
}

#[test]
fn patterns_are_made_shown_converted_and_played() {
    let place = Place::new();
    let text = |output: Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let made = text(place.run(&["pattern", "make", "--positions", "3,5-7"]));
    assert_eq!(made, "anabranch-pattern 1\nkind loss\ndriven data\nlength 7\n3\n5-7\n");
    let random =
        ["pattern", "make", "--random", "0.1", "--length", "200", "--seed", "4", "--out", "r.pattern"];
    text(place.run(&random));
    let shown = text(place.run(&["pattern", "show", "r.pattern"]));
    assert!(shown.contains("kind loss, driven by data, 200 positions"), "{shown}");
    let list = text(place.run(&["pattern", "convert", "r.pattern", "--to", "list"]));
    std::fs::write(place.path("r.list"), &list).expect("a file");
    let back = text(place.run(&["pattern", "convert", "r.list", "--from", "list", "--to", "list"]));
    assert_eq!(back, list);
    // A pattern file that a scenario names lies beside the scenario; the run counts the packets that it drops.
    std::fs::write(place.path("two.pattern"), made).expect("a file");
    let run = |set: &str| {
        let arguments = [
            "simulate",
            "small.toml",
            "--json",
            "--set",
            "seeds=1",
            "--set",
            "link.wire.loss={kind=\"none\"}",
        ];
        let arguments = [&arguments[..], &["--set", "warmup=0 s", "--set", set]].concat();
        let report: serde_json::Value = serde_json::from_str(&text(place.run(&arguments))).expect("JSON");
        let runs = report.get("runs").unwrap_or(&report).clone();
        let links = runs.pointer("/0/links").or_else(|| runs.get("links")).expect("links").clone();
        links.pointer("/0/drops_error").and_then(serde_json::Value::as_u64).expect("a count")
    };
    assert_eq!(run("link.wire.pattern={ file = \"two.pattern\" }"), 4);
    assert_eq!(
        run("link.wire.pattern={ kind = \"loss\", at = [2, \"9-10\"], applies = \"data\", flow = \"tcp\" }"),
        3
    );
    // Flipped bits are found by the checksum: the packet arrives and counts for nothing.
    assert_eq!(run("link.wire.pattern={ kind = \"bit-error\", at = [\"4: 200\"] }"), 0);
    for (arguments, told) in [
        (vec!["pattern", "make"], "--positions"),
        (vec!["pattern", "make", "--random", "0.1"], "--length is missing"),
        (vec!["pattern", "make", "--random", "2", "--length", "5"], "2 is no probability"),
        (vec!["pattern", "make", "--positions", "3", "--kind", "delay"], "--value is missing"),
        (vec!["pattern", "show", "small.toml"], "line 2: \"duration = \\\"5 s\\\"\" is no pattern"),
        (vec!["simulate", "small.toml", "--set", "link.wire.pattern={file=\"no\"}"], "pattern file \"no\""),
        (
            vec![
                "check",
                "small.toml",
                "--set",
                "checksums=elide",
                "--set",
                "link.wire.pattern={kind=\"bit-error\", at=[\"1: 1\"]}",
            ],
            "bit errors need checksums",
        ),
    ] {
        let output = place.run(&arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(told) && error.trim_end().lines().count() == 1, "{arguments:?}: {error}");
    }
}

#[test]
fn qlog_has_a_text_sequence_for_each_end() {
    let place = Place::new();
    place.prints(&["simulate", "small.toml", "--seeds", "4", "--qlog", "log", "--trace", "t.csv"]);
    let expected =
        ["sctp-receiver-4.sqlog", "sctp-sender-4.sqlog", "tcp-receiver-4.sqlog", "tcp-sender-4.sqlog"];
    assert_eq!(names(&place.path("log")), expected);
    let trace = std::fs::read_to_string(place.path("t.csv")).expect("a trace");
    for end in ["sctp-sender", "sctp-receiver", "tcp-sender", "tcp-receiver"] {
        let text = std::fs::read_to_string(place.path(&format!("log/{end}-4.sqlog"))).expect("a log");
        // RFC 7464: a separator in front of every text, a line feed behind it.
        let texts: Vec<_> = text.split('\u{1e}').skip(1).map(json).collect();
        assert!(text.starts_with('\u{1e}') && text.ends_with('\n'));
        let (head, events) = texts.split_first().expect("a head");
        assert_eq!(head["file_schema"], "urn:ietf:params:qlog:file:sequential");
        assert_eq!(head["trace"]["event_schemas"][0], "urn:anabranch:qlog:1");
        assert_eq!(head["trace"]["vantage_point"]["name"], end.replace('-', ":"));
        // Every event of that end in the trace, at its time.
        let entity = format!(",{},", end.replace('-', ":"));
        let rows: Vec<&str> = trace.lines().filter(|line| line.contains(&entity)).collect();
        assert!(rows.len() > 20, "{end}: {}", rows.len());
        assert_eq!(events.len(), rows.len(), "{end}");
        for (event, row) in events.iter().zip(&rows) {
            let cells: Vec<&str> = row.split(',').collect();
            let at: f64 = cells[0].parse().expect("a time");
            assert!((event["time"].as_f64().expect("ms") * 1e6 - at).abs() < 1.0, "{event} {row}");
            let data = &event["data"];
            let (name, key, cell) = match cells[2] {
                "sent" => ("anabranch:data_sent", "first_sequence_number", 7),
                "received" => ("anabranch:data_received", "length", 8),
                "ack" => ("anabranch:acknowledgement_received", "next_expected", 7),
                "window" => ("recovery:metrics_updated", "congestion_window", 9),
                "fast-retransmit" => ("anabranch:fast_retransmit", "first_sequence_number", 7),
                _ => continue,
            };
            assert_eq!(event["name"], name);
            assert_eq!(data[key].to_string(), cells[cell], "{event} {row}");
            assert_eq!(data["retransmission"].is_string(), cells[2] == "sent" && !cells[6].is_empty());
        }
    }
    assert!(trace.contains("sent,sctp,0,0,fast-retransmit"), "nothing was sent again");
}

#[test]
fn an_engine_shows_every_value_and_what_is_other_than_elsewhere() {
    let place = Place::new();
    let text = place.prints(&["engines", "lksctp-2006"]);
    assert!(text.starts_with("lksctp-2006 (sctp): ") && text.contains(" other than in rfc9260\n"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("* ") && line.contains("  [rfc9260: ")), "{text}");
    let same = place.prints(&["engines", "rfc9260"]);
    assert!(same.starts_with("rfc9260 (sctp): 0 values other than in rfc9260\n"), "{same}");
    // A name of both protocols, and another one to compare with.
    let both = json(&place.prints(&["engines", "linux-6.1", "--json"]));
    let protocols: Vec<_> =
        both.as_array().expect("both").iter().map(|one| one["protocol"].clone()).collect();
    assert_eq!(protocols, ["sctp", "tcp"]);
    let tcp = json(&place.prints(&[
        "engines",
        "linux-6.1",
        "--protocol",
        "tcp",
        "--against",
        "rack-cubic",
        "--json",
    ]));
    let options = &tcp[0]["options"];
    assert_eq!(options["receive_buffer_limit"]["value"], "3145728 B");
    assert_eq!(options["receive_buffer_limit"]["differs"], true);
    assert_eq!((&options["sack"]["differs"], &tcp[0]["against"]), (&false.into(), &"rack-cubic".into()));
    let all = json(&place.prints(&["engines", "--json"]));
    assert!(all["sctp"]["engines"].as_array().expect("names").contains(&"ns2-2.35".into()));
    let options = all["sctp"]["options"].as_array().expect("options");
    let rto_min = options.iter().find(|option| option["name"] == "rto_min").expect("an option of this name");
    assert_eq!((&rto_min["kind"], &rto_min["default"]), (&"time".into(), &"1000 ms".into()));
    assert_eq!((&rto_min["changeable"], &rto_min["source"]), (&true.into(), &"RFC 9260, 16".into()));
    let output = place.run(&["engines", "renoo"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.starts_with("anabranch: there is no engine \"renoo\"; allowed: ") && told.lines().count() == 1,
        "{told}"
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn completions_and_manual_pages_know_every_verb() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.prints(&["completions", shell]);
        assert!(script.contains("simulate") && script.contains("pcap-link"), "{shell}");
    }
    place.prints(&["man", "man1"]);
    // Every verb in the program's own help, at any depth, has a manual page with its options.
    let mut verbs = vec![Vec::new()];
    let mut known = Vec::new();
    while let Some(verb) = verbs.pop() {
        let help = place.prints(&[&verb[..], &["--help"]].concat());
        let (commands, options) = help.split_once("Options:\n").expect("options");
        let name = [&["anabranch"], &verb[..]].concat().join("-");
        let page = std::fs::read_to_string(place.path(&format!("man1/{name}.1"))).expect(&name);
        assert!(page.contains(".TH"), "{name}");
        for option in options.lines().filter_map(|line| line.trim_start().split("--").nth(1)) {
            let option: String =
                option.chars().take_while(|one| one.is_ascii_alphanumeric() || *one == '-').collect();
            assert!(page.replace('\\', "").contains(&format!("--{option}")), "{name}: {option}");
        }
        let below = commands.split_once("Commands:\n").map_or("", |(_, below)| below);
        for line in below.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
            match line.split_whitespace().next().expect("a name") {
                "help" => {}
                name => verbs.push([&verb[..], &[name.to_owned().leak()]].concat()),
            }
        }
        known.push(format!("{name}.1"));
    }
    assert!(known.iter().any(|name| name == "anabranch-perf-client.1"), "{known:?}");
    known.sort();
    assert_eq!(names(&place.path("man1")), known);
}
