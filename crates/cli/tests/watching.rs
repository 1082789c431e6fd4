//! The records that `listen`, `connect`, `perf` and `ping` write beside their work, and their ends after an interrupt.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real programs are waited for in real time")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

fn anabranch(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A program that has said on standard error where it is.
struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    udp: String,
    /// Where its counters are.
    page: Option<String>,
}

impl Server {
    fn start(more: &[&str]) -> Self {
        let arguments = [&["listen", "9000", "--bind", "127.0.0.1", "--udp-port", "0", "-v"], more].concat();
        let mut child = anabranch(&arguments).spawn().expect("it starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut page = None;
        let udp = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).expect("text") > 0, "it has ended");
            if let Some((_, at)) = line.trim().split_once("counters at http://") {
                page = Some(at.trim_end_matches("/metrics").to_owned());
            }
            if line.contains("on UDP") {
                break line.trim().rsplit(':').next().expect("a port").to_owned();
            }
        };
        Self { child, stderr, udp, page }
    }

    /// Waits for a line that has this.
    fn says(&mut self, what: &str) {
        let mut line = String::new();
        while !line.contains(what) {
            line.clear();
            assert!(self.stderr.read_line(&mut line).expect("text") > 0, "it has ended without `{what}`");
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().expect("a number")), signal).expect("it is there");
    }

    fn end(mut self) -> (String, Output) {
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).expect("text");
        (said, self.child.wait_with_output().expect("it ends"))
    }
}

fn connect(udp: &str, more: &[&str]) -> Command {
    anabranch(&[&["connect", "127.0.0.1:9000", "--peer-udp-port", udp], more].concat())
}

fn with_input(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic");
    output
}

fn path(place: &Path, name: &str) -> String {
    place.join(name).to_string_lossy().into_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn there(program: &str) -> bool {
    let runs = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    let required = std::env::var("ANABRANCH_TOOLS").is_ok_and(|word| word == "required");
    assert!(runs || !required, "{program} is not installed, and ANABRANCH_TOOLS=required");
    runs
}

#[test]
fn captures_and_qlogs_of_both_ends_are_whole() {
    let place = tempfile::tempdir().expect("a directory");
    let at = |name: &str| path(place.path(), name);
    let [server_capture, server_log] = [at("server.pcapng"), at("server.sqlog")];
    let server = Server::start(&["--echo", "--count", "1", "--pcap", &server_capture, "--qlog", &server_log]);
    let [capture, log] = [at("client.pcap"), at("client.sqlog")];
    let udp = server.udp.clone();
    let input = vec![7; 150_000];
    let more = ["--message", "10 kB", "--stats", "-", "--pcap", &capture, "--snaplen", "200", "--qlog", &log];
    let sent = crate::place::echoed(connect(&udp, &more), &input);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    // The last line: a busy machine may have said before that the peer is silent.
    let counted: Value =
        serde_json::from_str(text(&sent.stderr).lines().last().expect("a line")).expect("JSON");
    let (said, ended) = server.end();
    assert!(ended.status.success(), "{said}");
    for log in [&server_log, &log] {
        let text = std::fs::read_to_string(log).expect("a file");
        let events: Vec<Value> =
            text.split('\u{1e}').skip(1).map(|text| serde_json::from_str(text).expect("JSON")).collect();
        assert_eq!(events[0]["qlog_format"], "JSON-SEQ");
        assert_eq!(events.iter().filter(|e| e["name"] == "connectivity:connection_closed").count(), 1);
        if log.contains("client") {
            let sent = events.iter().filter(|event| event["name"] == "anabranch:data_sent").count();
            assert_eq!(Some(sent as u64), counted["chunks_sent"].as_u64());
        }
    }
    for (capture, snapped) in [(&server_capture, false), (&capture, true)] {
        let decoded = anabranch(&["decode", capture, "--udp-port", &udp, "--json", "--summary"])
            .output()
            .expect("it starts");
        assert!(decoded.status.success(), "{}", text(&decoded.stderr));
        let told: Value = serde_json::from_slice(&decoded.stdout).expect("JSON");
        let payload = &told["flows"][0]["forward"]["purposes"]["payload"];
        // That it has ended, and that all was written, is a byte each.
        assert!(
            payload.as_u64().is_some_and(|bytes| (150_001..=150_002).contains(&bytes)) || snapped,
            "{told:#}"
        );
        if !there("tshark") {
            continue;
        }
        let port = format!("udp.port=={udp},sctp");
        let count = |filter: &str| {
            let checks = [
                "-o",
                "sctp.checksum:crc-32c",
                "-o",
                "udp.check_checksum:TRUE",
                "-o",
                "ip.check_checksum:TRUE",
            ];
            let mut command = Command::new("tshark");
            command.args(["-r", capture, "-d", &port]).args(checks);
            let output = command
                .args(["-Y", filter, "-T", "fields", "-e", "frame.number"])
                .output()
                .expect("it starts");
            assert!(output.status.success(), "{}", text(&output.stderr));
            text(&output.stdout).lines().count()
        };
        assert!(count("sctp") > 100, "{capture}: {}", count("sctp"));
        // One at least. A busy machine reads packets late: SHUTDOWNs that answer DATA (RFC 9260 section 9.2) then come after the
        // SHUTDOWN ACK, which goes again for them, and each of these is answered.
        let (complete, acknowledged) = (count("sctp.chunk_type == 14"), count("sctp.chunk_type == 8"));
        assert!(
            (1..=acknowledged).contains(&complete),
            "{capture}: {complete} SHUTDOWN COMPLETE, {acknowledged} SHUTDOWN ACK"
        );
        if !snapped {
            assert_eq!(count("_ws.malformed || sctp.checksum.status == 0 || ip.checksum.status == 0"), 0);
            // Both ways: 1 comes in, 2 goes out.
            assert!(count("frame.packet_flags_direction == 1") > 10, "{capture}");
            assert!(count("frame.packet_flags_direction == 2") > 10, "{capture}");
        }
    }
}

#[test]
fn a_full_disk_costs_the_capture_and_not_the_file_that_is_moved() {
    let mut server = Server::start(&["--pcap", "/dev/full", "--qlog", "/dev/full"]);
    let mut out = server.child.stdout.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut copy = Vec::new();
        out.read_to_end(&mut copy).expect("it can be read");
        copy
    });
    let input: Vec<u8> = (0..400_000u32).map(|n| (n / 3) as u8).collect();
    let sent = with_input(connect(&server.udp, &[]), &input);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert!(reader.join().expect("no panic") == input, "the copy differs");
    let (said, ended) = server.end();
    // Each of both is told when it happens, where there is time for it, and at the end.
    assert!(said.matches("ends here, and nothing else does: No space left").count() <= 2, "{said}");
    assert_eq!(said.matches("/dev/full: cannot write: No space left").count(), 2, "{said}");
    assert!(said.contains("Closed: both sides have shut it down"), "{said}");
    // A result could not be written.
    assert_eq!(ended.status.code(), Some(1), "{said}");
    let nowhere = anabranch(&["listen", "9000", "--udp-port", "0", "--pcap", "/nowhere/x"]).output();
    let nowhere = nowhere.expect("it starts");
    assert_eq!(nowhere.status.code(), Some(2));
    let line = "anabranch: /nowhere/x: there is no folder /nowhere: mkdir -p /nowhere\n";
    assert_eq!(text(&nowhere.stderr), line);
}

fn fetch(page: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(page).expect("it is there");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {page}\r\n\r\n").expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

#[test]
fn prometheus_reads_what_was_counted() {
    let place = tempfile::tempdir().expect("a directory");
    let stats = path(place.path(), "stats");
    let mut server =
        Server::start(&["--echo", "--metrics", "127.0.0.1:0", "--stats", &stats, "--log", "info"]);
    let page = server.page.clone().expect("it says where");
    assert!(fetch(&page, "/").starts_with("HTTP/1.1 404 "));
    for _ in 0..2 {
        let sent = with_input(connect(&server.udp, &["--message", "1 kB"]), &vec![1; 30_000]);
        assert!(sent.status.success(), "{}", text(&sent.stderr));
        server.says("both sides have shut it down");
    }
    // The ended associations have written their counters.
    let lines = loop {
        let lines = std::fs::read_to_string(&stats).unwrap_or_default();
        if lines.lines().count() == 2 && lines.ends_with('\n') {
            break lines;
        }
        std::thread::yield_now();
    };
    let sum = |name: &str| -> u64 {
        let of =
            |line: &str| serde_json::from_str::<Value>(line).expect("JSON")[name].as_u64().expect("a number");
        lines.lines().map(of).sum()
    };
    let answer = fetch(&page, "/metrics");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{answer}");
    for name in ["messages_delivered", "payload_bytes_received_new", "chunks_sent", "sacks_sent"] {
        let line = format!("sctp_{name}_total{{port=\"9000\"}} {}", sum(name));
        assert!(answer.lines().any(|there| there == line), "no `{line}` in {answer}");
    }
    // Each client says that it has ended, and, unless it ends at once, that it has written all: a byte each.
    let came = sum("payload_bytes_received_new");
    assert!((60_002..=60_004).contains(&came), "{came}");
    server.signal(Signal::SIGTERM);
    let (said, ended) = server.end();
    assert_eq!(ended.status.code(), Some(143), "{said}");
}

#[test]
fn ctrl_c_ends_a_server_in_order_and_its_files_are_whole() {
    let place = tempfile::tempdir().expect("a directory");
    let capture = path(place.path(), "c.pcapng");
    let mut server = Server::start(&["--echo", "--pcap", &capture]);
    let mut client = connect(&server.udp, &["-v"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut input = client.stdin.take().expect("it is piped");
    input.write_all(b"hello").expect("it reads");
    let mut echo = [0; 5];
    client.stdout.as_mut().expect("it is piped").read_exact(&mut echo).expect("an echo");
    assert_eq!(&echo, b"hello");
    server.signal(Signal::SIGINT);
    server.says("both sides have shut it down");
    let (said, ended) = server.end();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("anabranch: interrupted"), "{said}");
    // The peer was told: for it nothing went wrong.
    let output = client.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
    drop(input);
    let bytes = std::fs::read(&capture).expect("a file");
    // Interface statistics, the last block, is there: 5, in 52 bytes.
    let tail = &bytes[bytes.len() - 52..];
    assert_eq!((&tail[..4], &tail[4..8]), (&[5, 0, 0, 0][..], &[52, 0, 0, 0][..]));
}

#[test]
fn ctrl_c_ends_a_pipe_and_nobody_who_waits_hangs() {
    // A server that waits for a peer.
    let server = Server::start(&[]);
    server.signal(Signal::SIGINT);
    assert_eq!(server.end().1.status.code(), Some(130));
    // A pipe in the middle of a transfer: the peer must not take the received part for the whole.
    let server = Server::start(&["--echo", "--count", "1"]);
    let mut client = connect(&server.udp, &[]).stdin(Stdio::piped()).spawn().expect("it starts");
    // Held until the program has ended: the end of the input would end it in order.
    let mut input = client.stdin.take().expect("it is piped");
    input.write_all(b"hello").expect("it reads");
    let mut echo = [0; 5];
    client.stdout.as_mut().expect("it is piped").read_exact(&mut echo).expect("an echo");
    kill(Pid::from_raw(client.id().try_into().expect("a number")), Signal::SIGINT).expect("it is there");
    let ended = client.wait_with_output().expect("it ends");
    drop(input);
    assert_eq!(ended.status.code(), Some(130), "{}", text(&ended.stderr));
    let (said, ended) = server.end();
    assert!(said.contains("User-Initiated Abort): \"interrupted\""), "{said}");
    // Echoed data on its way back may be lost with the association: that is no orderly end.
    assert_eq!(ended.status.code(), Some(1), "{said}");
}

#[test]
fn a_program_that_was_suspended_goes_on_where_it_was() {
    let mut server =
        Server::start(&["--echo", "--count", "1", "--set", "rto_min=100 ms", "--set", "rto_initial=100 ms"]);
    let mut client =
        connect(&server.udp, &["--set", "rto_min=100 ms"]).stdin(Stdio::piped()).spawn().expect("it starts");
    server.says("is here");
    let mut input = client.stdin.take().expect("it is piped");
    let mut output = client.stdout.take().expect("it is piped");
    let sent: Vec<u8> = (0..300_000u32).map(|n| (n / 7) as u8).collect();
    let wanted = sent.clone();
    let reader = std::thread::spawn(move || {
        let mut got = vec![0; wanted.len()];
        output.read_exact(&mut got).expect("all comes back");
        got == wanted
    });
    for piece in sent.chunks(100_000) {
        // Longer than many RTOs, as a machine that sleeps.
        server.signal(Signal::SIGSTOP);
        input.write_all(piece).expect("it reads");
        std::thread::sleep(std::time::Duration::from_millis(700));
        server.signal(Signal::SIGCONT);
    }
    assert!(reader.join().expect("no panic"), "the echo differs");
    drop(input);
    assert!(client.wait().expect("it ends").success());
    let (said, ended) = server.end();
    assert!(ended.status.success(), "{said}");
}

/// Seconds of CPU that a program has taken.
fn cpu(child: &Child) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it runs");
    let behind = stat.rsplit(')').next().expect("a name");
    let ticks =
        |at: usize| behind.split_whitespace().nth(at).expect("a field").parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / 100.0
}

#[test]
fn ping_sleeps_while_it_waits() {
    // However late the server is suspended, one heartbeat at least stays without an answer.
    let mut server = Server::start(&["--echo", "--count", "1"]);
    let ping = [
        "ping",
        "127.0.0.1:9000",
        "--peer-udp-port",
        &server.udp.clone(),
        "-c",
        "1000",
        "-i",
        "1",
        "-W",
        "60",
    ];
    let mut child = anabranch(&ping).spawn().expect("it starts");
    server.says("is here");
    server.signal(Signal::SIGSTOP);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert!(child.try_wait().expect("a child").is_none(), "it does not wait");
    // The CPU time includes the start, which may be slow: a program that does not sleep uses two seconds more.
    let used = cpu(&child);
    assert!(used < 1.0, "{used} s of CPU while it waits");
    for mut each in [child, server.child] {
        each.kill().expect("it is there");
        each.wait().expect("it ends");
    }
}

#[test]
fn perf_has_the_habits_of_iperf3() {
    let arguments = ["perf", "server", "--bind", "127.0.0.1", "--udp-port", "0"];
    let mut server = anabranch(&arguments).spawn().expect("it starts");
    let mut out = BufReader::new(server.stdout.take().expect("it is piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("it says where it is");
    let udp = line.trim().rsplit(':').next().expect("a port").to_owned();
    let client = |more: &[&str]| {
        let fixed = ["perf", "client", "127.0.0.1", "--peer-udp-port", &udp];
        anabranch(&[&fixed, more].concat())
    };
    // An amount instead of a time, in two associations, rates in MByte/s.
    let told =
        client(&["-n", "4M", "-l", "8K", "-P", "2", "-f", "M", "-i", "0.05"]).output().expect("it starts");
    assert!(told.status.success(), "{}", text(&told.stderr));
    let said = text(&told.stdout);
    assert!(said.contains("[  1]") && said.contains("[  2]") && said.contains("[SUM]"), "{said}");
    assert!(said.contains("MByte/s") && !said.contains("bit/s") && said.contains("99 %"), "{said}");
    let told = client(&["-n", "4M", "--json"]).output().expect("it starts");
    let json: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    assert_eq!(json["end"]["sum_received"]["bytes"].as_f64(), Some(4.0 * 1024.0 * 1024.0), "{json}");
    let told = client(&["-n", "1M", "-R", "--json"]).output().expect("it starts");
    let json: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    assert!(
        json["end"]["sum_received"]["bytes"].as_f64().is_some_and(|bytes| bytes >= 1024.0 * 1024.0),
        "{json}"
    );
    // The rate limit is kept, within the accuracy of half a second, longer on a busy machine: 8 Mbit/s are a megabyte a second.
    let told = client(&["-t", "0.5", "-b", "8M", "--json"]).output().expect("it starts");
    let json: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    let of = |key: &str| json["end"]["sum_sent"][key].as_f64().expect("a number");
    assert!(of("bytes") > 0.0 && of("bytes") < 1e6 * of("seconds") + 200_000.0, "{json}");
    // Ctrl-C shows the results so far.
    let mut long = client(&["-t", "60", "-i", "0.1"]).spawn().expect("it starts");
    let mut lines = BufReader::new(long.stdout.take().expect("it is piped"));
    let mut first = String::new();
    lines.read_line(&mut first).expect("text");
    kill(Pid::from_raw(long.id().try_into().expect("a number")), Signal::SIGINT).expect("it is there");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("text");
    assert!(
        first.starts_with("[  1]") && rest.contains("arrived") && rest.contains("ns a byte"),
        "{first}{rest}"
    );
    assert_eq!(long.wait().expect("it ends").code(), Some(130));
    kill(Pid::from_raw(server.id().try_into().expect("a number")), Signal::SIGINT).expect("it is there");
    assert_eq!(server.wait().expect("it ends").code(), Some(130));
}

#[test]
fn a_terminal_sees_how_far_it_is() {
    use nix::pty::openpty;
    let server = Server::start(&["--send-only"]);
    let size = nix::pty::Winsize { ws_row: 24, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).expect("a terminal");
    let mut child = connect(&server.udp, &["--send-only"])
        .stdin(Stdio::piped())
        .stderr(Stdio::from(terminal.slave))
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(&vec![1; 200_000]).expect("it reads");
    let mut seen = String::new();
    let mut screen = std::fs::File::from(terminal.master);
    while !seen.contains("200.00 kB sent, ") {
        let mut piece = [0; 4096];
        let read = screen.read(&mut piece).expect("the program is there");
        seen.push_str(&text(&piece[..read]));
    }
    assert!(seen.contains("bit/s"), "{seen}");
    drop(input);
    assert!(child.wait().expect("it ends").success());
    drop(screen);
    let (said, ended) = server.end();
    assert!(ended.status.success(), "{said}");
}

/// The marks of a half-close do not count as user data.
#[test]
fn a_half_close_is_not_shown_as_data() {
    // Standard input of the server has ended: it says so at once.
    let server = Server::start(&[]);
    let size = nix::pty::Winsize { ws_row: 24, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = nix::pty::openpty(Some(&size), None).expect("a terminal");
    let mut child = connect(&server.udp, &[])
        .stdin(Stdio::piped())
        .stderr(Stdio::from(terminal.slave))
        .spawn()
        .expect("it starts");
    let input = child.stdin.take().expect("it is piped");
    let mut screen = std::fs::File::from(terminal.master);
    let mut seen = String::new();
    let mut until = |what: &str| {
        while !seen.contains(what) {
            let mut piece = [0; 4096];
            let read = screen.read(&mut piece).expect("the program is there");
            seen.push_str(&text(&piece[..read]));
        }
        let at = seen.find(what).expect("it was seen") + what.len();
        seen.drain(..at).collect::<String>()
    };
    // The mark of the server has come by now, and the answer to it has left.
    until("the peer has sent all");
    until("s: ");
    assert_eq!(until(" received, "), "0 B sent, 0 B received, ");
    drop(input);
    assert!(child.wait().expect("it ends").success());
    let (said, ended) = server.end();
    assert!(ended.status.success(), "{said}");
}
