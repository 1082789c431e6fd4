//! `listen` and `connect` over the loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};

fn anabranch(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A listener on a UDP port that the system has chosen: the port is in the first line of `-v`.
struct Listener {
    child: Child,
    udp: String,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Listener {
    fn start(more: &[&str], input: Stdio) -> Self {
        let arguments = [&["listen", "9000", "--bind", "127.0.0.1", "--udp-port", "0", "-v"], more].concat();
        let mut child = anabranch(&arguments).stdin(input).spawn().expect("it starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("it says where it is");
        let udp = line.trim().rsplit(':').next().expect("a port").to_owned();
        Self { child, udp, stderr }
    }

    /// Waits for the program; returns its standard error and its end.
    fn end(mut self) -> (String, Output) {
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).expect("text");
        (said, self.child.wait_with_output().expect("it ends"))
    }
}

fn bytes(size: usize) -> Vec<u8> {
    (0..size).map(|n| (n / 251 * 7 + n) as u8).collect()
}

fn connect(listener: &Listener, more: &[&str], input: &[u8]) -> Output {
    let arguments = [&["connect", "127.0.0.1:9000", "--peer-udp-port", &listener.udp], more].concat();
    let mut child = anabranch(&arguments).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The reader may end before it has read all.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("it does not panic");
    output
}

#[test]
fn a_file_is_moved() {
    let listener = Listener::start(&[], Stdio::null());
    let file = bytes(3_000_000);
    // Reading as the listener writes: a pipe holds 64 KiB.
    let mut listener = listener;
    let mut out = listener.child.stdout.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut copy = Vec::new();
        out.read_to_end(&mut copy).expect("it can be read");
        copy
    });
    let sent = connect(&listener, &["--message", "50 kB", "--stats", "-"], &file);
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let counters = String::from_utf8(sent.stderr).expect("text");
    // That it has ended, and that all was written, is a byte each.
    assert!(counters.contains("\"payload_bytes_unique\":300000"), "{counters}");
    let (said, ended) = listener.end();
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("Closed: both sides have shut it down"), "{said}");
    assert!(reader.join().expect("no panic") == file, "the copy differs");
}

#[test]
#[cfg(target_os = "linux")]
#[allow(clippy::print_stderr, reason = "why a test does nothing is to be seen")]
fn a_file_is_moved_right_on_ip() {
    use socket2::{Domain, Protocol, Socket, Type};
    if let Err(error) = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(132))) {
        eprintln!("skipped: no raw socket for IP protocol 132 ({error}); run as root, or with CAP_NET_RAW");
        return;
    }
    if Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::from(132))).is_ok() {
        eprintln!("skipped: the kernel has SCTP itself, and answers every packet with an ABORT");
        return;
    }
    // Tests of other processes may run on this host: the port is this one's.
    let port = (20_000 + std::process::id() % 20_000).to_string();
    let mut listener =
        anabranch(&["listen", &port, "--raw", "--bind", "127.0.45.2", "-v"]).spawn().expect("it starts");
    let mut stderr = BufReader::new(listener.stderr.take().expect("it is piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("it says where it is");
    assert!(line.contains(&format!("SCTP port {port} on IP 127.0.45.2")), "{line}");
    let target = format!("127.0.45.2:{port}");
    let mut sender = anabranch(&["connect", &target, "--raw", "--bind", "127.0.45.3"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let file = bytes(60_000);
    sender.stdin.take().expect("it is piped").write_all(&file).expect("it reads");
    // The sender ends when the listener has written the file, so the output of the listener is read first.
    let got = listener.wait_with_output().expect("it ends");
    assert!(got.status.success() && got.stdout == file, "{} bytes", got.stdout.len());
    let sent = sender.wait_with_output().expect("it ends");
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
}

#[test]
fn a_file_is_fetched() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("file");
    std::fs::write(&path, bytes(300_000)).expect("a file");
    let listener = Listener::start(&[], std::fs::File::open(&path).expect("it is there").into());
    let got = connect(&listener, &["--recv-only"], b"");
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
    assert!(got.stdout == bytes(300_000), "{} bytes", got.stdout.len());
    let (said, ended) = listener.end();
    assert!(ended.status.success(), "{said}");
}

#[test]
fn an_echo_comes_back_on_its_stream() {
    let listener = Listener::start(&["--echo", "--count", "2", "--streams", "20"], Stdio::null());
    for _ in 0..2 {
        let target = ["connect", "127.0.0.1:9000", "--peer-udp-port", &listener.udp];
        let arguments = [&target[..], &["--stream", "19", "--streams", "20", "--message", "100 B"]].concat();
        let sent = crate::place::echoed(anabranch(&arguments), &bytes(100));
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    }
    let (said, ended) = listener.end();
    assert!(ended.status.success(), "{said}");
    let ended = |line: &&str| line.contains("both sides have shut it down") && !line.contains("Closed: ");
    assert_eq!(said.lines().filter(ended).count(), 2, "{said}");
}

#[test]
fn ping_tells_handshake_and_heartbeats() {
    let listener = Listener::start(&["--echo", "--count", "1"], Stdio::null());
    let arguments = [
        "ping",
        "127.0.0.1:9000",
        "--peer-udp-port",
        &listener.udp,
        "-c",
        "3",
        "-i",
        "0.01",
        "-W",
        "20",
        "--json",
    ];
    let pinged = anabranch(&arguments).output().expect("it starts");
    assert!(pinged.status.success(), "{}", String::from_utf8_lossy(&pinged.stderr));
    let told: serde_json::Value = serde_json::from_slice(&pinged.stdout).expect("JSON");
    assert!(told["handshake_seconds"].as_f64().is_some_and(|time| time > 0.0), "{told}");
    let trips = told["heartbeat_seconds"].as_array().expect("a list");
    assert!(
        trips.len() == 3 && trips.iter().all(|trip| trip.as_f64().is_some_and(|time| time > 0.0)),
        "{told}"
    );
    let (said, ended) = listener.end();
    assert!(ended.status.success(), "{said}");
}

#[test]
fn perf_counts_on_both_sides() {
    for more in [&["--message", "1 KiB", "--on-streams", "3", "--dscp", "1=46", "-P", "2"][..], &["-R"][..]] {
        let clients = if more.len() > 1 { "2" } else { "1" };
        let arguments = ["perf", "server", "--bind", "127.0.0.1", "--udp-port", "0", "--count", clients];
        let mut server = anabranch(&arguments).spawn().expect("it starts");
        let mut out = BufReader::new(server.stdout.take().expect("it is piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it says where it is");
        let udp = line.trim().rsplit(':').next().expect("a port").to_owned();
        let arguments = [
            &["perf", "client", "127.0.0.1", "--peer-udp-port", &udp, "-t", "1", "-i", "0.2", "--json"],
            more,
        ]
        .concat();
        let measured = anabranch(&arguments).output().expect("it starts");
        assert!(measured.status.success(), "{}", String::from_utf8_lossy(&measured.stderr));
        let told: serde_json::Value = serde_json::from_slice(&measured.stdout).expect("JSON");
        let number = |of: &serde_json::Value| of.as_f64().expect("a number");
        assert!(told["intervals"].as_array().is_some_and(|intervals| intervals.len() >= 2), "{told}");
        let (sent, arrived) =
            (number(&told["end"]["sum_sent"]["bytes"]), number(&told["end"]["sum_received"]["bytes"]));
        // Probes that come back count as sent, and not as data that has arrived.
        assert!(arrived > 0.0 && sent >= arrived && sent < arrived * 1.1 + 100_000.0, "{told}");
        assert!(number(&told["end"]["cpu"]["ns_per_byte"]) > 0.0, "{told}");
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("text");
        assert!(server.wait().expect("it ends").success(), "{rest}");
    }
}

#[test]
fn the_doctor_says_what_is_there() {
    let told = anabranch(&["doctor", "--json"]).output().expect("it starts");
    assert!(told.status.success());
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).expect("JSON");
    let findings = told["findings"].as_array().expect("a list");
    assert!(findings.len() >= 8 && findings.iter().all(|finding| finding["ok"].is_boolean()), "{told}");
}

#[test]
fn input_that_cannot_be_read_or_sent_is_an_error_on_both_sides() {
    let folder = || std::fs::File::open(std::env::temp_dir()).expect("a folder").into();
    let text =
        || std::fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).expect("a file").into();
    let cases: [(Stdio, &[&str], &str); 2] = [
        (folder(), &[], "standard input: "),
        (text(), &["--stream", "60000"], "stream 60000 does not exist"),
    ];
    for (input, more, says) in cases {
        let listener = Listener::start(&[], Stdio::null());
        let arguments = [&["connect", "127.0.0.1:9000", "--peer-udp-port", &listener.udp], more].concat();
        let output = anabranch(&arguments).stdin(input).output().expect("it starts");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!((output.status.code(), said.contains(says)), (Some(1), true), "{said}");
        assert_eq!(listener.end().1.status.code(), Some(1));
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let fails = |arguments: &[&str], code: i32, says: &str| {
        let output = anabranch(arguments).output().expect("it starts");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!((output.status.code(), said.contains(says)), (Some(code), true), "{arguments:?}: {said}");
    };
    fails(&["connect", "127.0.0.1"], 2, "write HOST:PORT");
    fails(&["connect", "127.0.0.1:0"], 2, "an SCTP port is 1 to 65535");
    fails(
        &["connect", "127.0.0.1:9000", "--engine", "best"],
        2,
        "--engine best: unknown profile; allowed: kame-2006",
    );
    fails(&["listen", "9000", "--set", "rto_min=fast"], 2, "SCTP option `rto_min`: `fast` is not allowed");
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = taken.local_addr().expect("an address").port().to_string();
    fails(&["listen", "9000", "--bind", "127.0.0.1", "--udp-port", &port], 1, "choose one with --udp-port");
}

/// Every byte that goes to an echo comes back, or its server says how many did not, and ends with 1: also where it writes files beside.
#[test]
fn what_an_echo_does_not_send_back_is_counted_and_said() {
    let place = tempfile::tempdir().expect("a directory");
    let [pcap, qlog] = ["p.pcapng", "q.qlog"].map(|name| place.path().join(name).display().to_string());
    for more in [&[][..], &["--pcap", &pcap], &["--qlog", &qlog], &["--set", "send_buffer=1 B"]] {
        let listener = Listener::start(&[&["--echo", "--count", "1"], more].concat(), Stdio::null());
        let file = bytes(5_000_000);
        let output = connect(&listener, &[], &file);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(file.starts_with(&output.stdout), "what comes back is the beginning of what was sent");
        let (said, ended) = listener.end();
        let lines: Vec<&str> = said.lines().filter(|line| line.contains("not sent back")).collect();
        let missing = file.len() - output.stdout.len();
        if missing == 0 {
            assert_eq!((lines.len(), ended.status.code()), (0, Some(0)), "{more:?}: {said}");
            continue;
        }
        assert_eq!((lines.len(), ended.status.code()), (1, Some(1)), "{more:?}: {said}");
        let bytes = format!(" of {missing} bytes in all ");
        let why = "as the peer had shut the association down";
        assert!(lines[0].contains(&bytes) && lines[0].ends_with(why), "{more:?}: {missing}: {said}");
    }
}

/// The same where it is certain: the client reads nothing before it has shut down, so its window holds one answer; the echo has room for
/// one more, waits with the next, and is told then that nothing more is taken.
#[test]
fn an_echo_waits_for_room_and_tells_what_a_shutdown_leaves() {
    let listener = Listener::start(&["--echo", "--count", "1", "--set", "send_buffer=1 B"], Stdio::null());
    let at: std::net::SocketAddr = format!("127.0.0.1:{}", listener.udp).parse().expect("an address");
    let came = tokio::runtime::Runtime::new().expect("a thread").block_on(async {
        let mut config = anabranch_live::EndpointConfig::default();
        let mut association = anabranch_live::default_association();
        association.set("max_receive_window", "0 B").expect("it is allowed");
        association.set("receive_window", "1500 B").expect("it is allowed");
        config = config.with_association(association);
        let endpoint = anabranch_live::Endpoint::bind(&["127.0.0.1:0".parse().unwrap()], config).unwrap();
        let association = endpoint.connect(at, 9000).await.expect("it answers");
        for _ in 0..40 {
            association.send(vec![7; 1000]).await.expect("it is up");
        }
        let ending = tokio::spawn({
            let association = association.clone();
            async move { association.shutdown().await }
        });
        // The peer has all, and has heard that no more comes.
        let sent = |core: &anabranch_sctp::Association| {
            (core.state() == anabranch_sctp::State::ShutdownSent).then_some(())
        };
        association.until(sent).await.expect("it lives");
        let mut came = 0;
        while let Ok(Some(message)) = association.recv().await {
            came += message.into_bytes().len();
        }
        ending.await.unwrap().expect("in order");
        came
    });
    let (said, ended) = listener.end();
    let missing = 40_000 - came;
    assert!(missing > 0, "{came}");
    let line = format!(
        "{} messages of {missing} bytes in all were not sent back, as the peer had shut the association down",
        missing / 1000
    );
    assert!(said.lines().any(|said| said.ends_with(&line)), "{line}: {said}");
    assert_eq!(ended.status.code(), Some(1));
}

/// A listener that answers no questions of a measurement: said within seconds, and no figures are made up.
#[test]
fn perf_says_that_the_peer_is_no_perf_server() {
    let mut listener = Listener::start(&["--recv-only"], Stdio::null());
    let mut out = listener.child.stdout.take().expect("it is piped");
    let reader = std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    let arguments =
        ["perf", "client", "127.0.0.1", "-p", "9000", "--peer-udp-port", &listener.udp, "-n", "100 kB"];
    let measured = anabranch(&arguments).output().expect("it starts");
    let told = String::from_utf8_lossy(&measured.stderr);
    assert_eq!(measured.status.code(), Some(1), "{told}");
    assert!(told.contains("is it an `anabranch perf server`?"), "{told}");
    assert!(!String::from_utf8_lossy(&measured.stdout).contains("ns a byte"));
    listener.end();
    reader.join().expect("no panic").expect("it is read");
}
