//! Where output goes wrong: a full disk, a reader that has gone, a terminal that is narrow or none, no colours, the locale C.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Read;
use std::process::{Command, Output, Stdio};

use nix::pty::{Winsize, openpty};

use crate::place::Place;

/// Command lines of the main verbs that print something within a second or so.
const VERBS: [&[&str]; 11] = [
    &["simulate", "small.toml", "--seeds", "1"],
    &["simulate", "small.toml", "--seeds", "1", "--json"],
    &["simulate", "small.toml", "--seeds", "1", "--trace", "-"],
    &["simulate", "small.toml", "--seeds", "1", "--pcap", "-"],
    &["check", "small.toml"],
    &["check", "--resolved", "small.toml"],
    &["engines"],
    &["engines", "modern"],
    &["pattern", "make", "--positions", "3,5-7"],
    &["doctor"],
    &["completions", "bash"],
];

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("a device").into()
}

/// A standard output whose reader is gone: as with a pipe, writing to it is EPIPE.
fn closed() -> Stdio {
    let (reader, writer) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
    drop(reader);
    std::os::fd::OwnedFd::from(writer).into()
}

#[test]
fn a_full_disk_behind_standard_output_is_one_line_and_code_1() {
    let place = Place::new();
    for verb in VERBS {
        let output = place.command(verb).stdout(full()).stderr(Stdio::piped()).output().expect("it starts");
        assert_eq!(
            said(&output),
            "anabranch: cannot print: No space left on device (os error 28)\n",
            "{verb:?}"
        );
        assert_eq!(output.status.code(), Some(1), "{verb:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_word_worth() {
    let place = Place::new();
    for verb in VERBS {
        let output = place.command(verb).stdout(closed()).stderr(Stdio::piped()).output().expect("it starts");
        assert_eq!((said(&output).as_str(), output.status.code()), ("", Some(1)), "{verb:?}");
    }
    // With help, a reader that is gone is no error.
    let output = place.command(&["simulate", "--help"]).stdout(closed()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0));
}

/// Output files on a full disk, behind a symbolic link, which stays where it is.
#[test]
fn a_full_disk_behind_a_file_is_named() {
    let place = Place::new();
    let link = |name: &str| {
        std::os::unix::fs::symlink("/dev/full", place.path(name)).expect("a link");
    };
    std::fs::create_dir(place.path("out")).expect("a folder");
    for name in ["t.csv", "p.pcapng", "p.pattern", "out/seed-1.json"] {
        link(name);
    }
    for (verb, name) in [
        (&["simulate", "small.toml", "--seeds", "1", "--trace", "t.csv"][..], "t.csv"),
        (&["simulate", "small.toml", "--seeds", "1", "--pcap", "p.pcapng"], "p.pcapng"),
        (&["simulate", "small.toml", "--seeds", "1", "--out", "out"], "out/seed-1.json"),
        (&["pattern", "make", "--positions", "3", "--out", "p.pattern"], "p.pattern"),
    ] {
        let output = place.run(verb);
        let line = format!("anabranch: {name}: cannot write: No space left on device (os error 28)\n");
        assert_eq!((said(&output), output.status.code()), (line, Some(1)), "{verb:?}");
        assert!(place.path(name).is_symlink(), "{name} was replaced");
    }
}

/// A device or a pipe is written to, and no file takes its place.
#[test]
fn a_named_pipe_is_written_to() {
    let place = Place::new();
    let pipe = place.path("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let child = place
        .command(&["simulate", "small.toml", "--seeds", "1", "--trace", "pipe"])
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let trace = std::fs::read_to_string(&pipe).expect("it is written");
    assert!(trace.starts_with("time_ns,entity,kind,") && trace.lines().count() > 500);
    assert!(child.wait_with_output().expect("it ends").status.success());
    assert!(!pipe.is_file(), "a file has taken its place");
}

/// A listener that cannot write the data it receives tells its peer.
#[test]
fn what_comes_and_has_no_place_ends_the_association() {
    use std::io::{BufRead, BufReader, Write};
    for out in [full(), closed()] {
        let program = env!("CARGO_BIN_EXE_anabranch");
        let mut listener = Command::new(program)
            .args(["listen", "9000", "--bind", "127.0.0.1", "--udp-port", "0", "-v"])
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stderr = BufReader::new(listener.stderr.take().expect("it is piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("it says where it is");
        let udp = line.trim().rsplit(':').next().expect("a port").to_owned();
        let mut sender = Command::new(program)
            .args(["connect", "127.0.0.1:9000", "--peer-udp-port", &udp])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let _ = sender.stdin.take().expect("it is piped").write_all(&[7; 100_000]);
        let sent = sender.wait_with_output().expect("it ends");
        assert_eq!(sent.status.code(), Some(1));
        assert!(said(&sent).contains("\"standard output is gone\""), "{}", said(&sent));
        assert_eq!(listener.wait().expect("it ends").code(), Some(1));
    }
}

/// Standard output of a command on a terminal of so many columns.
fn on_terminal(mut command: Command, columns: u16) -> String {
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).expect("a terminal");
    let mut child = command.stdout(terminal.slave).stderr(Stdio::null()).spawn().expect("it starts");
    // The command has copies of the terminal's end.
    drop(command);
    let mut screen = File::from(terminal.master);
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    // EIO: the program has closed its end of the terminal.
    while let Ok(read @ 1..) = screen.read(&mut piece) {
        seen.extend_from_slice(&piece[..read]);
    }
    assert!(child.wait().expect("it ends").success());
    String::from_utf8(seen).expect("text").replace("\r\n", "\n")
}

#[test]
fn tables_fit_narrow_terminals_and_are_whole_where_there_is_none() {
    let place = Place::new();
    for (verb, columns) in [(VERBS[0], 40), (VERBS[0], 80), (&["doctor"][..], 40), (&["doctor"], 80)] {
        let shown = on_terminal(place.command(verb), columns);
        // Sentences the terminal wraps, as any.
        let rows = shown.lines().filter(|line| verb == ["doctor"] || line.starts_with('|'));
        let widest = rows.map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest > 0 && widest <= usize::from(columns), "{verb:?}: {widest} of {columns}:\n{shown}");
    }
    let whole = place.prints(VERBS[0]);
    assert!(whole.lines().any(|line| line.chars().count() > 100), "{whole}");
    // The lines of the doctor are short also where the output has no width, as they are for people.
    assert!(place.prints(&["doctor"]).lines().all(|line| line.chars().count() <= 80));
    // A terminal that does not say how wide it is.
    assert!(on_terminal(place.command(VERBS[0]), 0).contains("| sctp "));
}

#[test]
fn without_colours_there_are_none_and_in_the_locale_c_there_is_ascii_alone() {
    let place = Place::new();
    let verbs =
        [&["simulate", "small.toml"][..], &["engines"], &["doctor"], &["--help"], &["check", "small.toml"]];
    for verb in verbs {
        let mut command = place.command(verb);
        command.env("NO_COLOR", "1").env("TERM", "xterm-256color");
        let shown = on_terminal(command, 100);
        assert!(!shown.contains("\x1b[3") && !shown.contains("\x1b[1m"), "{verb:?}: {shown:?}");
        let mut command = place.command(verb);
        let output = command.env("LC_ALL", "C").env("TERM", "dumb").output().expect("it starts");
        assert!(output.status.success() && output.stdout.is_ascii(), "{verb:?}");
        assert!(!output.stdout.is_empty());
    }
    let output = place.command(&["simulate", "small.toml"]).env("LC_ALL", "C").output().expect("it starts");
    let shown = String::from_utf8(output.stdout).expect("text");
    assert!(shown.contains("mean +/- half width") && shown.matches("+/-").count() > 10, "{shown}");
}

#[test]
fn help_that_cannot_be_printed_is_code_1_too() {
    let place = Place::new();
    for arguments in [&["--help"][..], &["--version"], &["help", "connect"]] {
        let output =
            place.command(arguments).stdout(full()).stderr(Stdio::piped()).output().expect("it starts");
        let line = "anabranch: cannot print: No space left on device (os error 28)\n";
        assert_eq!((said(&output), output.status.code()), (line.to_owned(), Some(1)), "{arguments:?}");
    }
}
