//! Captures as programs of others read them: tshark and tcpdump (Debian packages of these names). Where they are not installed
//! a test says so and passes; with `ANABRANCH_TOOLS=required`, as in CI, it fails.

use std::path::Path;
use std::process::{Command, Stdio};

/// IPv4 and IPv6, SCTP, TCP and UDP, losses.
const MIXED: &str = r#"
duration = "4 s"

[[host]]
name = "a6"
addresses = ["fd00::1"]

[[host]]
name = "b6"
addresses = ["fd00::2"]

[[link]]
name = "wan"
from = "a"
to = "b"
rate = "3 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 20 }
loss = { kind = "bernoulli", p = 0.01 }
both = true

[[link]]
name = "wan6"
from = "a6"
to = "b6"
rate = "3 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 20 }
loss = { kind = "bernoulli", p = 0.01 }
both = true
"#;

fn mixed() -> String {
    let mut text = MIXED.to_owned();
    for six in ["", "6"] {
        for (protocol, engine) in
            [("sctp", "rfc9260"), ("sctp", "linux-6.1"), ("tcp", "rfc"), ("tcp", "linux-6.1")]
        {
            let name = format!("{protocol}-{}{six}", engine.split('-').next().unwrap_or_default());
            text.push_str(&format!(
                "\n[[flow]]\nname = \"{name}\"\nfrom = \"a{six}\"\nto = \"b{six}\"\nprotocol = \"{protocol}\"\n\
                 engine = \"{engine}\"\ncount = 2\ntraffic = {{ kind = \"transfer\", bytes = \"150 kB\", message = \"1000 B\" }}\n"
            ));
        }
        text.push_str(&format!(
            "\n[[flow]]\nname = \"cbr{six}\"\nfrom = \"a{six}\"\nto = \"b{six}\"\nprotocol = \"cbr\"\n\
             traffic = {{ rate = \"100 kbit/s\", packet = \"500 B\" }}\n"
        ));
    }
    text
}

/// Runs the simulator in a folder that holds the scenario.
fn simulate(place: &Path, arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(["simulate", "mixed.toml"])
        .args(arguments)
        .current_dir(place)
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    (String::from_utf8(output.stdout).expect("text"), error)
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join("mixed.toml"), mixed()).expect("a file");
    place
}

/// Whether the program is there.
fn there(program: &str) -> bool {
    let version = if program == "tcptrace" { "-v" } else { "--version" };
    let runs = Command::new(program).arg(version).output().is_ok_and(|output| output.status.success());
    let required = std::env::var("ANABRANCH_TOOLS").is_ok_and(|word| word == "required");
    assert!(runs || !required, "{program} is not installed, and ANABRANCH_TOOLS=required");
    #[allow(clippy::print_stderr, reason = "the reason of a test that is skipped")]
    if !runs {
        eprintln!("skipped: {program} is not installed");
    }
    runs
}

/// Runs a program; returns its standard output and standard error.
fn says(program: &str, arguments: &[&str], place: &Path) -> (String, String) {
    let output = Command::new(program).args(arguments).current_dir(place).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

const CHECKS: [&str; 8] = [
    "-o",
    "sctp.checksum:crc-32c",
    "-o",
    "tcp.check_checksum:TRUE",
    "-o",
    "ip.check_checksum:TRUE",
    "-o",
    "udp.check_checksum:TRUE",
];

fn count(file: &str, filter: &str, place: &Path) -> usize {
    let mut arguments = vec!["-r", file];
    arguments.extend(CHECKS);
    arguments.extend(["-Y", filter, "-T", "fields", "-e", "frame.number"]);
    says("tshark", &arguments, place).0.lines().count()
}

#[test]
fn wireshark_finds_nothing_malformed_and_every_checksum_right() {
    if !there("tshark") {
        return;
    }
    let place = place();
    simulate(place.path(), &["--pcap", "all.pcapng"]);
    simulate(place.path(), &["--pcap", "one.pcap", "--pcap-link", "wan"]);
    for file in ["all.pcapng", "one.pcap"] {
        let count = |filter: &str| count(file, filter, place.path());
        let all = count("frame");
        assert!(all > 1000, "{file}: {all} packets");
        assert_eq!(count("_ws.malformed || _ws.expert.severity == error"), 0, "{file}");
        // tshark knows no protocol for these ports: it shows SCTP, TCP or UDP for every packet, and guesses no application.
        let (protocols, _) =
            says("tshark", &["-r", file, "-T", "fields", "-e", "_ws.col.Protocol"], place.path());
        let known = ["SCTP", "TCP", "UDP"];
        assert!(protocols.lines().all(|line| known.contains(&line)), "{file}");
        for (protocol, good) in [("sctp", "sctp.checksum.status == 1"), ("tcp", "tcp.checksum.status == 1")] {
            assert!(count(protocol) > 100, "{file}: {protocol}");
            assert_eq!(count(good), count(protocol), "{file}: {protocol}");
        }
        assert_eq!(count("udp.checksum.status == 0 || ip.checksum.status == 0"), 0, "{file}");
        assert_eq!(count("eth && (ip || ipv6)"), all, "{file}");
    }
    // Over IPv6 every datagram has a checksum; the interfaces are the links.
    assert_eq!(
        count("all.pcapng", "ipv6 && udp", place.path()),
        count("all.pcapng", "udp.checksum.status == 1", place.path())
    );
    let (names, _) =
        says("tshark", &["-r", "all.pcapng", "-T", "fields", "-e", "frame.interface_name"], place.path());
    for link in ["wan", "wan-back", "wan6", "wan6-back"] {
        assert!(names.lines().any(|name| name == link), "{link}");
    }
}

#[test]
fn tcpdump_reads_several_interfaces_and_pcap() {
    if !there("tcpdump") {
        return;
    }
    let place = place();
    simulate(place.path(), &["--pcap", "all.pcapng"]);
    simulate(place.path(), &["--pcap", "one.pcap", "--pcap-link", "wan"]);
    simulate(place.path(), &["--pcap", "short.pcapng", "--snaplen", "60"]);
    for file in ["all.pcapng", "one.pcap", "short.pcapng"] {
        let (lines, told) = says("tcpdump", &["-nnvv", "-tt", "-r", file], place.path());
        assert!(told.contains("EN10MB"), "{told}");
        assert!(lines.matches("sctp").count() > 200 && lines.contains("Flags ["), "{file}");
        for wrong in ["(incorrect", "bad cksum", "bad udp cksum", "invalid"] {
            assert!(!lines.contains(wrong), "{file}: {wrong}");
        }
        if file != "short.pcapng" {
            assert!(!lines.contains("[|"), "{file}: something is cut");
        }
    }
}

#[test]
fn tcptrace_reads_pcap() {
    if !there("tcptrace") {
        return;
    }
    let place = place();
    simulate(place.path(), &["--pcap", "one.pcap", "--pcap-link", "wan,wan-back"]);
    let (told, complaints) = says("tcptrace", &["-n", "-l", "one.pcap"], place.path());
    assert!(told.contains("TCP connection 1:") && told.contains("unique bytes sent"), "{told}");
    assert!(!complaints.contains("nknown"), "{complaints}");
}

/// Every block of a pcapng file, or the packets of a pcap file, have the lengths that they say.
fn lengths(file: &[u8]) -> Vec<(u32, u32)> {
    let word = |at: usize| {
        let bytes = file.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).expect("a word");
        u32::from_le_bytes(bytes)
    };
    let mut found = Vec::new();
    if word(0) == 0xa1b2_3c4d {
        let mut at = 24;
        while at < file.len() {
            found.push((word(at + 8), word(at + 12)));
            at += 16 + word(at + 8) as usize;
        }
        assert_eq!(at, file.len());
        return found;
    }
    let mut at = 0;
    while at < file.len() {
        if word(at) == 6 {
            found.push((word(at + 20), word(at + 24)));
        }
        at += word(at + 4) as usize;
    }
    assert_eq!(at, file.len());
    found
}

#[test]
fn the_name_says_the_format_and_snaplen_how_much() {
    let place = place();
    let read = |name: &str| std::fs::read(place.path().join(name)).expect("a capture");
    let (_, told) = simulate(place.path(), &["--pcap", "two.pcap", "--pcap-link", "wan,wan-back"]);
    assert!(told.starts_with("anabranch: two.pcap: pcap does not say at which link"), "{told}");
    let (_, told) = simulate(place.path(), &["--pcap", "two.pcapng", "--pcap-link", "wan,wan-back"]);
    assert_eq!(told, "");
    let (pcap, pcapng) = (lengths(&read("two.pcap")), lengths(&read("two.pcapng")));
    assert_eq!(pcap, pcapng);
    simulate(place.path(), &["--pcap", "short.pcapng", "--pcap-link", "wan,wan-back", "--snaplen", "60"]);
    let short: Vec<_> = pcapng.iter().map(|&(_, long)| (long.min(60 + 14), long)).collect();
    assert_eq!(lengths(&read("short.pcapng")), short);
    assert!(short.iter().any(|(kept, long)| kept < long));
    // Checksums are there though the scenario leaves them out.
    let elided = ["--set", "checksums=elide", "--pcap-link", "wan,wan-back", "--pcap", "elided.pcapng"];
    simulate(place.path(), &elided);
    assert_eq!(read("elided.pcapng"), read("two.pcapng"));
}
