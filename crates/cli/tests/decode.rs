//! `anabranch decode` on captures of `anabranch simulate`: both must report the same figures.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Twelve packets of data, the sixth of which is lost once; `LEVEL` and `ENGINE` are filled in.
const SCENARIO: &str = r#"
duration = "20 s"

[[link]]
name  = "wire"
from  = "a"
to    = "b"
rate  = "1 Mbit/s"
delay = "40 ms"
loss  = { kind = "positions", drop = [6], applies = "data" }
both  = true
back  = { loss = { kind = "none" } }

[[flow]]
name     = "flow"
from     = "a"
to       = "b"
FLOW
"#;

const SCTP: &str = r#"
protocol = "sctp"
engine   = "ENGINE"
streams  = 2
subflows = [{ dscp = "BE", streams = [0] }, { dscp = "EF", streams = [1] }]
traffic  = { kind = "transfer", bytes = "24000 B", message = "1000 B" }
LEVEL
"#;

const TCP: &str = r#"
protocol = "tcp"
engine   = "rfc"
traffic  = { kind = "transfer", bytes = "24000 B", message = "1000 B" }
"#;

fn program(place: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(arguments)
        .current_dir(place)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

/// Simulates a flow, captures it, and returns both programs' words about it.
fn both(place: &Path, flow: &str) -> (Value, Value) {
    std::fs::write(place.join("s.toml"), SCENARIO.replace("FLOW", flow)).expect("a file");
    let told = json(&program(place, &["simulate", "s.toml", "--json", "--pcap", "s.pcapng"]));
    let found = json(&program(
        place,
        &["decode", "s.pcapng", "--json", "--summary", "--retransmissions", "--packets"],
    ));
    (told["runs"][0]["flows"][0].clone(), found)
}

#[test]
fn every_encoding_is_known_and_losses_are_found() {
    let sctp = |engine: &str, level: &str| SCTP.replace("ENGINE", engine).replace("LEVEL", level);
    for (name, flow, encoding) in [
        ("level 0", sctp("rfc9260", ""), "plain"),
        ("level 1", sctp("rfc9260", "level = 1"), "sf"),
        ("sf2007", sctp("sf2007", ""), "sf2007"),
        ("tcp", TCP.to_owned(), "plain"),
    ] {
        let place = tempfile::tempdir().expect("a directory");
        let (told, found) = both(place.path(), &flow);
        let flows = found["flows"].as_array().expect("flows");
        assert_eq!(flows.len(), 1, "{name}");
        assert_eq!(flows[0]["encoding"], encoding, "{name}");
        let forward = &flows[0]["forward"];
        assert_eq!(forward["purposes"]["payload"], 24_000, "{name}: {forward}");
        // The packet that was lost, and at the end of a recovery perhaps one that was not.
        assert!(forward["purposes"]["payload_again"].as_u64() >= Some(1000), "{name}: {forward}");
        let all: u64 =
            forward["purposes"].as_object().expect("purposes").values().filter_map(Value::as_u64).sum();
        assert_eq!(forward["bytes"], all, "{name}");
        let again = found["retransmissions"].as_array().expect("a list");
        assert_eq!(again.len() as u64, told["retransmissions"].as_u64().expect("a number"), "{name}");
        assert_eq!(again[0]["reason"], "fast-retransmit", "{name}: {}", again[0]);
        assert_eq!(flows[0]["ending"], "closed", "{name}");
    }
}

#[test]
fn a_bottleneck_and_a_plot() {
    let place = tempfile::tempdir().expect("a directory");
    both(place.path(), TCP);
    let found = json(&program(
        place.path(),
        &["decode", "s.pcapng", "--json", "--idle", "1 Mbit/s", "--direction", "10.0.1.1>*"],
    ));
    let line = &found["idle"][0];
    let (busy, idle, total) = (
        line["busy_s"].as_f64().expect("s"),
        line["idle_s"].as_f64().expect("s"),
        line["total_s"].as_f64().expect("s"),
    );
    assert!((busy + idle - total).abs() < 1e-9, "{line}");
    assert!((busy - line["bytes"].as_f64().expect("bytes") * 8e-6).abs() < 1e-6, "{line}");
    program(place.path(), &["decode", "s.pcapng", "--plot", "s.svg"]);
    // A name must not promise another format.
    for (plot, why) in
        [("s.png", "the plot is SVG and no other format"), ("s.pcapng", "that is the capture itself")]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_anabranch"))
            .args(["decode", "s.pcapng", "--plot", plot])
            .current_dir(place.path())
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(2));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            told.starts_with(&format!("anabranch: --plot {plot}: {why}")) && told.lines().count() == 1,
            "{told}"
        );
        assert!(!place.path().join("s.png").exists());
    }
    let plot = std::fs::read_to_string(place.path().join("s.svg")).expect("a plot");
    assert!(plot.contains("<svg") && plot.trim_end().ends_with("</svg>"));
    let refused = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(["decode", "s.toml"])
        .current_dir(place.path())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("s.toml"), "{said}");
}

/// An INIT in UDP from port 40000 to 12345, over IPv4.
const IN_UDP: [u8; 60] = [
    69, 0, 0, 60, 0, 1, 64, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 156, 64, 48, 57, 0, 40, 0, 0, 19,
    136, 0, 9, 0, 0, 0, 0, 108, 56, 45, 131, 1, 0, 0, 20, 0, 0, 0, 17, 0, 1, 0, 0, 0, 10, 0, 10, 0, 0, 0,
    100,
];

#[test]
fn sctp_in_udp_at_another_port_is_found_and_the_option_named() {
    let place = tempfile::tempdir().expect("a directory");
    let mut file =
        vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0];
    file.extend([0; 8]);
    file.extend([60, 0, 0, 0, 60, 0, 0, 0]);
    file.extend(IN_UDP);
    std::fs::write(place.path().join("u.pcap"), file).expect("a file");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
        let output = command.arg("decode").arg("u.pcap").args(arguments).current_dir(place.path()).output();
        let output = output.expect("it starts");
        assert!(output.status.success());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let note = "1 UDP datagram of port 12345 holds SCTP with a valid CRC32c and is not read as such: --udp-port 12345 reads it";
    let (said, noted) = run(&["--summary"]);
    assert_eq!((said.as_str(), noted), ("no flows of SCTP or TCP\n", format!("anabranch: u.pcap: {note}\n")));
    assert_eq!(json(run(&["--json"]).0.as_bytes())["capture"]["notes"][0], note);
    let (said, noted) = run(&["--summary", "--udp-port", "12345"]);
    assert!(said.contains("192.0.2.1:5000") && noted.is_empty(), "{said}{noted}");
}
