//! Peers that are absent or refuse: each case is reported in a sentence of its own, with advice.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::process::{Child, Command, Output, Stdio};

use anabranch_live::{Endpoint, EndpointConfig};

fn anabranch(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Standard error of the program. That a peer was silent for a second is left out: on a busy machine any peer may be.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.split_inclusive('\n').filter(|line| !line.contains(": no answer; ")).collect()
}

/// The program must fail with this code and say this on standard error, and nothing on standard output.
#[track_caller]
fn says(output: &Output, code: i32, lines: &[&str]) {
    let all = String::from_utf8_lossy(&output.stderr).into_owned();
    // Tests of a silent peer compare all of standard error.
    let said = if lines.iter().any(|line| line.contains(": no answer; ")) { all } else { said(output) };
    let lines: String = lines.iter().map(|line| format!("anabranch: {line}\n")).collect();
    assert_eq!((said.as_str(), output.status.code()), (lines.as_str(), Some(code)));
    assert!(output.stdout.is_empty());
}

/// Takes packets and answers none.
fn silent() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = socket.local_addr().expect("an address").port().to_string();
    (socket, port)
}

#[test]
fn a_silent_peer_is_told_of_and_given_up() {
    let (_socket, port) = silent();
    let peer = format!("127.0.0.1, SCTP port 9000 in UDP {port}");
    let again = |number: u32| format!("INIT {number} of 9 to {peer}: no answer; is the port open?");
    let (two, three) = (again(2), again(3));
    let end = |seconds: f64, inits: u32| {
        format!("{peer}: no answer within {seconds} s to {inits} INITs; is the port open?")
    };
    // T1-init is 1 s, 2 s, 4 s: INITs leave after 0, 1, 3 and 7 s, and the end is as far from both as can be. All wait at once.
    let common = ["127.0.0.1:9000", "--peer-udp-port", &port];
    let start =
        |verb: &[&str], more: &[&str]| anabranch(&[verb, &common, more].concat()).spawn().expect("it starts");
    let run = |verb: &[&str], more: &[&str]| start(verb, more).wait_with_output().expect("it ends");
    let attempts = [
        start(&["connect"], &["--timeout", "5"]),
        start(&["ping"], &["--timeout", "5"]),
        // The time that ping waits for an answer holds for the handshake, too.
        start(&["ping"], &["-W", "5"]),
        start(&["perf", "client"], &["--timeout", "5"]),
    ];
    // A first INIT that is not sent again for long is told of as well, within 3 s.
    let slow = start(&["connect"], &["--timeout", "6", "--set", "rto_initial=30 s"]);
    for attempt in attempts {
        let output = attempt.wait_with_output().expect("it ends");
        says(&output, 1, &[&two, &three, &end(5.0, 3)]);
    }
    let one = format!("INIT 1 of 9 to {peer}: no answer; is the port open?");
    let end = format!("{peer}: no answer within 6 s to 1 INIT; is the port open?");
    says(&slow.wait_with_output().expect("it ends"), 1, &[&one, &end]);
    // How often is the configuration's.
    let output = run(
        &["connect"],
        &["--set", "max_init_retransmits=1", "--set", "rto_initial=100 ms", "--set", "rto_min=100 ms"],
    );
    let (two, end) = (
        format!("INIT 2 of 2 to {peer}: no answer; is the port open?"),
        format!("{peer}: no answer (Max.Init.Retransmits exceeded): is the port open?"),
    );
    says(&output, 1, &[&two, &end]);
    says(
        &run(&["connect"], &["--timeout", "0"]),
        2,
        &[
            "invalid value '0' for '--timeout <SECONDS>': a number of seconds, more than 0 and not more than 86400",
        ],
    );
}

/// A listener whose UDP port the system has chosen, as it says with `-v`.
fn listen(more: &[&str], input: Stdio) -> (Child, BufReader<std::process::ChildStderr>, String) {
    let arguments = [&["listen", "9000", "--bind", "127.0.0.1", "--udp-port", "0", "-v"], more].concat();
    let mut child = anabranch(&arguments).stdin(input).spawn().expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("it says where it is");
    let udp = line.trim().rsplit(':').next().expect("a port").to_owned();
    (child, stderr, udp)
}

#[test]
fn nobody_the_wrong_port_a_busy_listener_a_refusal_and_an_abort_are_told_apart() {
    let connect = |port: u16, udp: &str| {
        let target = format!("127.0.0.1:{port}");
        anabranch(&["connect", &target, "--peer-udp-port", udp]).output().expect("it starts")
    };
    // No process has the UDP port.
    let (socket, udp) = silent();
    drop(socket);
    says(
        &connect(9000, &udp),
        1,
        &[&format!(
            "127.0.0.1, SCTP port 9000 in UDP {udp}: no process has that UDP port (ICMP port unreachable): start the peer, or name its UDP port with --peer-udp-port"
        )],
    );
    // No endpoint has the SCTP port.
    let (mut listener, mut stderr, udp) = listen(&[], Stdio::piped());
    let at = |port: u16| format!("127.0.0.1, SCTP port {port} in UDP {udp}");
    says(
        &connect(9001, &udp),
        1,
        &[&format!(
            "{}: SCTP answers there, and nobody listens at SCTP port 9001: check the port, or start the listener",
            at(9001)
        )],
    );
    // The server serves another client.
    let mut first = anabranch(&["connect", "127.0.0.1:9000", "--peer-udp-port", &udp])
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    stderr.read_line(&mut line).expect("text");
    assert!(line.contains("is here"), "{line}");
    says(
        &connect(9000, &udp),
        1,
        &[&format!(
            "{}: the listener is busy with another association: try again when that has ended, or start it with --echo, which serves many",
            at(9000)
        )],
    );
    // The refused client does not disturb the client that is served.
    first.stdin.take().expect("it is piped").write_all(b"served").expect("it reads");
    drop(listener.stdin.take());
    assert!(first.wait().expect("it ends").success());
    let ended = listener.wait_with_output().expect("it ends");
    assert!(ended.status.success() && ended.stdout == b"served");
    // Peers that are not this program: one that refuses, and one that aborts.
    tokio::runtime::Runtime::new().expect("a thread").block_on(async {
        let address = "127.0.0.1:0".parse().unwrap();
        let endpoint = Endpoint::bind(&[address], EndpointConfig::on_port(9000)).unwrap();
        endpoint.listen().unwrap();
        let udp = endpoint.local_addresses()[0].port().to_string();
        let refused = tokio::task::spawn_blocking({
            let udp = udp.clone();
            move || connect(9000, &udp)
        });
        endpoint.accept().await.unwrap().refuse(b"members only");
        says(&refused.await.unwrap(), 1, &[&format!(
            "127.0.0.1, SCTP port 9000 in UDP {udp}: the peer refuses: \"members only\"; ask who runs it"
        )]);
        let udp_port = udp.clone();
        let aborted = tokio::task::spawn_blocking(move || {
            let arguments = ["connect", "127.0.0.1:9000", "--peer-udp-port", &udp_port, "--recv-only"];
            anabranch(&arguments).output().expect("it starts")
        });
        let association = endpoint.accept().await.unwrap().accept().unwrap();
        association.send("so far").await.unwrap();
        // Once that is acknowledged the client has come up.
        association.until(|core| (core.snapshot().stats.sacks_received > 0).then_some(())).await.unwrap();
        association.abort(b"no more paper");
        let mut output = aborted.await.unwrap();
        assert_eq!(std::mem::take(&mut output.stdout), b"so far");
        says(&output, 1, &[
            "the association has ended: the peer aborted the association (error cause 12, User-Initiated Abort): \"no more paper\"; \
             what has come may be a part: look what the peer says, and begin again",
        ]);
        // One that ends while the input is open, and nothing was written to it.
        let mut silent = anabranch(&["connect", "127.0.0.1:9000", "--peer-udp-port", &udp])
            .stdin(Stdio::piped())
            .spawn()
            .expect("it starts");
        let association = endpoint.accept().await.unwrap().accept().unwrap();
        association.command(|core, now| {
            core.shutdown(now);
        });
        let open = silent.stdin.take();
        let output = tokio::task::spawn_blocking(move || silent.wait_with_output().expect("it ends"));
        says(&output.await.unwrap(), 0, &[]);
        drop(open);
        // One that ends while there is something to send.
        let ended = tokio::task::spawn_blocking(move || {
            let mut child = anabranch(&["connect", "127.0.0.1:9000", "--peer-udp-port", &udp])
                .stdin(Stdio::piped())
                .spawn()
                .expect("it starts");
            let mut stdin = child.stdin.take().expect("it is piped");
            // Writes until the program has closed its input.
            let writer = std::thread::spawn(move || while stdin.write_all(&[7; 1000]).is_ok() {});
            let output = child.wait_with_output().expect("it ends");
            writer.join().expect("no panic");
            output
        });
        let association = endpoint.accept().await.unwrap().accept().unwrap();
        // The other side has more than can be sent: nothing is read until the window is closed.
        association.until(|core| (core.status().receive_window < 20_000).then_some(())).await.unwrap();
        association.command(|core, now| {
            core.shutdown(now);
        });
        while association.recv().await.is_ok_and(|message| message.is_some()) {}
        says(&ended.await.unwrap(), 1, &[
            "the peer has ended the association: the rest of standard input was not sent; let that side end last",
        ]);
    });
}

#[test]
fn names_ports_units_and_keys_that_are_wrong_say_what_is_allowed() {
    let wrong = |arguments: &[&str], line: &str| {
        says(&anabranch(arguments).output().expect("it starts"), 2, &[line]);
    };
    let output = anabranch(&["connect", "nobody.invalid:9000"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("anabranch: nobody.invalid:9000: host nobody.invalid is not known ("), "{said}");
    assert!(
        said.ends_with("): check the name, or write an address\n") && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(output.status.code(), Some(2));
    let form = "write HOST:PORT, such as example.org:9000 or [::1]:9000";
    for target in ["127.0.0.1", "::1", ":9000", "[::1]"] {
        wrong(&["connect", target], &format!("{target}: {form}"));
    }
    for target in ["127.0.0.1:70000", "[::1]:0", "localhost:sctp"] {
        wrong(&["ping", target], &format!("{target}: an SCTP port is 1 to 65535"));
    }
    let key = "--set: there is no SCTP option rto_mn (did you mean rto_min?); `anabranch engines` lists them";
    for verb in [
        &["connect", "127.0.0.1:9"][..],
        &["listen", "9"],
        &["perf", "client", "127.0.0.1"],
        &["ping", "127.0.0.1:9"],
    ] {
        wrong(&[verb, &["--set", "rto_mn=1 s"]].concat(), key);
    }
    wrong(
        &["listen", "9000", "--engine", "modren"],
        "--engine modren: unknown profile (did you mean modern?); allowed: kame-2006, kame-2006-bugs, linux-6.1, lksctp-2006, lksctp-2006-bugs, modern, \
         ns2-2.28, ns2-2.35, rfc2960, rfc9260, rfc9260-rack, sctplib-2001, sf2007, webrtc",
    );
    wrong(
        &["listen", "9000", "--set", "rto_min=1 parsec"],
        "--set: SCTP option `rto_min`: `1 parsec` is not allowed; expected a time in ns, us, ms, s, min or h such as \"200 ms\"",
    );
    wrong(
        &["connect", "127.0.0.1:9", "--message", "3 parsec"],
        "invalid value '3 parsec' for '--message <SIZE>': \"3 parsec\" has an unknown unit \"parsec\"; allowed units: B, kB, MB, GB, KiB, MiB, GiB",
    );
    wrong(
        &["perf", "client", "127.0.0.1", "-t", "5s"],
        "invalid value '5s' for '--time <SECONDS>': a number of seconds, more than 0 and not more than 86400",
    );
    wrong(&["listen", "nine"], "invalid value 'nine' for '<PORT>': write a whole number");
    wrong(
        &["listen", "9000", "--bind", "here"],
        "invalid value 'here' for '--bind <ADDRESS>': write an IP address, such as 192.0.2.1 or 2001:db8::1",
    );
    wrong(
        &["connect", "127.0.0.1:9", "--ppid", "1634624001"],
        "invalid value '1634624001' for '--ppid <N>': 1634624001 says that an input has ended: choose another",
    );
    let place = tempfile::tempdir().expect("a directory");
    for option in ["--pcap", "--qlog", "--stats"] {
        let output = anabranch(&["connect", "127.0.0.1:9", option, "not/there/x"])
            .current_dir(&place)
            .output()
            .expect("it starts");
        says(&output, 2, &["not/there/x: there is no folder not/there: mkdir -p not/there"]);
    }
}

/// Between two of this program both directions carry all their data, though one is longer than the other.
#[test]
fn both_ways_at_once_ends_when_both_have_finished() {
    for (ours, theirs) in [(3_000_000, 200_000), (200_000, 3_000_000), (0, 400_000), (400_000, 0)] {
        let place = tempfile::tempdir().expect("a directory");
        let file = |name: &str, size: usize| {
            let bytes: Vec<u8> = (0..size).map(|n| (n / 251 * 7 + n + name.len()) as u8).collect();
            std::fs::write(place.path().join(name), &bytes).expect("a file");
            (bytes, std::fs::File::open(place.path().join(name)).expect("it is there"))
        };
        let ((to, to_file), (back, back_file)) = (file("to", ours), file("back", theirs));
        let (mut listener, mut stderr, udp) = listen(&["--unordered"], back_file.into());
        let mut out = listener.stdout.take().expect("it is piped");
        let reader = std::thread::spawn(move || {
            let mut came = Vec::new();
            out.read_to_end(&mut came).expect("it can be read");
            came
        });
        let arguments = ["connect", "127.0.0.1:9000", "--peer-udp-port", &udp];
        let output = anabranch(&arguments).stdin(to_file).output().expect("it starts");
        let mut said = String::new();
        stderr.read_to_string(&mut said).expect("text");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(listener.wait().expect("it ends").success(), "{said}");
        assert!(
            reader.join().expect("no panic") == to,
            "{ours} and {theirs}: the file that was sent differs"
        );
        // The order of unordered messages may differ, so only the length is compared.
        assert!(output.stdout.len() == back.len(), "{ours} and {theirs}: {} came back", output.stdout.len());
    }
}

/// A side that has sent all waits for the other, however long that takes; the user is told of an input that is still open.
#[test]
fn a_side_that_goes_on_is_waited_for() {
    let (mut listener, mut stderr, udp) = listen(&[], Stdio::piped());
    let connect =
        anabranch(&["connect", "127.0.0.1:9000", "--peer-udp-port", &udp]).spawn().expect("it starts");
    let mut line = String::new();
    while !line.contains("the peer has sent all; this side goes on until standard input ends") {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("text") > 0, "it has ended");
    }
    let mut input = listener.stdin.take().expect("it is piped");
    input.write_all(b"late, and all of it").expect("it reads");
    drop(input);
    let output = connect.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stdout == b"late, and all of it");
    assert!(listener.wait().expect("it ends").success());
}

/// A listener whose input is an idle terminal ends with the peer's transfer: it does not wait for the terminal.
#[test]
fn a_terminal_where_nobody_types_is_not_waited_for() {
    let terminal = nix::pty::openpty(None, None).expect("a terminal");
    let (listener, _stderr, udp) = listen(&[], Stdio::from(terminal.slave));
    let mut child = anabranch(&["connect", "127.0.0.1:9000", "--peer-udp-port", &udp])
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("it is piped").write_all(b"a file").expect("it reads");
    assert!(child.wait().expect("it ends").success());
    let ended = listener.wait_with_output().expect("it ends");
    assert!(ended.status.success() && ended.stdout == b"a file");
}

/// A peer that knows nothing of marks gets none: the end of the input is a shutdown.
#[test]
fn with_a_peer_of_another_kind_the_end_of_the_input_is_the_end() {
    tokio::runtime::Runtime::new().expect("a thread").block_on(async {
        let address = "127.0.0.1:0".parse().unwrap();
        let endpoint = Endpoint::bind(&[address], EndpointConfig::on_port(9000)).unwrap();
        endpoint.listen().unwrap();
        let udp = endpoint.local_addresses()[0].port().to_string();
        let child = tokio::task::spawn_blocking(move || {
            let mut child = anabranch(&["connect", "127.0.0.1:9000", "--peer-udp-port", &udp])
                .stdin(Stdio::piped())
                .spawn()
                .expect("it starts");
            child.stdin.take().expect("it is piped").write_all(b"all").expect("it reads");
            child.wait_with_output().expect("it ends")
        });
        let association = endpoint.accept().await.unwrap().accept().unwrap();
        association.send("and back").await.unwrap();
        let mut came = Vec::new();
        while let Some(message) = association.recv().await.unwrap() {
            came.push((message.ppid, message.into_bytes()));
        }
        assert_eq!(came, [(0, "all".into())]);
        let output = child.await.unwrap();
        assert!(output.status.success() && output.stdout == b"and back");
    });
}

#[test]
fn perf_ends_in_order_and_tells_what_the_sender_has_counted() {
    let mut server = anabranch(&["perf", "server", "--bind", "127.0.0.1", "--udp-port", "0", "--count", "2"])
        .spawn()
        .expect("it starts");
    let mut out = BufReader::new(server.stdout.take().expect("it is piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("it says where it is");
    let udp = line.trim().rsplit(':').next().expect("a port").to_owned();
    let run = |more: &[&str]| {
        let common = ["perf", "client", "127.0.0.1", "--peer-udp-port", &udp, "-t", "1", "-i", "0.5"];
        let output = anabranch(&[&common[..], more].concat()).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(said(&output).is_empty(), "{}", said(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let forth = run(&[]);
    // One of them, or any other number.
    let counts = |text: &str, then: &str| {
        ["retransmission", "retransmissions"].iter().any(|noun| text.contains(&format!(" {noun}; {then} ")))
    };
    assert!(counts(&forth, "arrived"), "{forth}");
    let told: serde_json::Value = serde_json::from_str(&run(&["-R", "--json"])).expect("JSON");
    let (sent, came) = (&told["end"]["sum_sent"], &told["end"]["sum_received"]);
    let number = |of: &serde_json::Value| of.as_f64().expect("a number");
    assert!(number(&came["bytes"]) > 0.0 && number(&sent["bytes"]) >= number(&came["bytes"]), "{told:#}");
    assert!(sent["retransmits"].is_u64(), "{told:#}");
    // The congestion window is the server's: a client that sends probes alone has the first one.
    let windows = told["intervals"].as_array().expect("a list").iter();
    // The window is not known before the server's first report, which may be late, and a busy machine may make it small for a moment.
    let most = windows.filter_map(|each| each["associations"][0]["cwnd"].as_f64()).reduce(f64::max);
    assert!(most.is_none_or(|most| most > 30_000.0), "{told:#}");
    assert!(number(&told["end"]["servers"][0]["sender"]["bytes"]) > 0.0, "{told:#}");
    let ended = {
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("text");
        let output = server.wait_with_output().expect("it ends");
        assert!(output.status.success() && output.stderr.is_empty(), "{rest}");
        rest
    };
    assert_eq!(
        ended.lines().filter(|line| line.ends_with("; the client has measured")).count(),
        2,
        "{ended}"
    );
    assert!(ended.contains(" sent, ") && counts(&ended, "the client"), "{ended}");
}

/// A server with a limit of associations says that it is full.
#[test]
fn a_server_without_room_says_so() {
    tokio::runtime::Runtime::new().expect("a thread").block_on(async {
        let address = "127.0.0.1:0".parse().unwrap();
        let config = EndpointConfig { max_associations: 0, ..EndpointConfig::on_port(9000) };
        let endpoint = Endpoint::bind(&[address], config).unwrap();
        endpoint.listen().unwrap();
        let udp = endpoint.local_addresses()[0].port().to_string();
        let output = tokio::task::spawn_blocking(move || {
            anabranch(&["connect", "127.0.0.1:9000", "--peer-udp-port", &udp]).output().expect("it starts")
        });
        let said = String::from_utf8(output.await.unwrap().stderr).expect("text");
        let why = "the peer is busy, and has no room for another association: try again later\n";
        assert!(said.ends_with(why), "{said}");
    });
}
