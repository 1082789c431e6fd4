//! A directory with a small scenario, and the program run in it.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part")]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A scenario of a few seconds.
pub const SMALL: &str = r#"
duration = "5 s"
warmup = "1 s"
seeds = "1..3"

[[link]]
name = "wire"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", packets = 20 }
loss = { kind = "bernoulli", p = 0.01 }
both = true

[[flow]]
name = "sctp"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "greedy", message = "1000 B" }
start = "uniform(0 s, 0.5 s)"

[[flow]]
name = "tcp"
from = "a"
to = "b"
protocol = "tcp"
engine = "rfc"
traffic = { kind = "transfer", bytes = "50 kB", message = "1000 B" }
"#;

/// A directory of its own with the scenario in it.
pub struct Place(pub tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("small.toml"), SMALL).expect("a file");
        Self(directory)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it starts")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command, which must succeed, and returns its standard output.
    #[track_caller]
    pub fn prints(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The command must fail with this code, print nothing and say this one line.
    #[track_caller]
    pub fn fails(&self, arguments: &[&str], code: i32, line: &str) {
        let output = self.run(arguments);
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("anabranch: {line}\n"));
        assert_eq!(output.status.code(), Some(code));
        assert!(output.stdout.is_empty());
    }
}

impl Place {
    /// Runs a command with this standard input; returns its output.
    pub fn piped(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        std::thread::scope(|scope| {
            // A program that refuses its options does not read.
            scope.spawn(move || stdin.write_all(input));
            child.wait_with_output().expect("it ends")
        })
    }
}

/// To an echo and back: standard input stays open until all has come, as a peer that has heard SHUTDOWN sends no more (RFC 9260, 9.2).
pub fn echoed(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let mut stdout = child.stdout.take().expect("it is piped");
    let mut came = vec![0; input.len()];
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            stdin.write_all(input).expect("it reads");
            stdin
        });
        stdout.read_exact(&mut came).expect("it comes back");
        drop(writer.join().expect("no panic"));
    });
    assert!(came == input, "the echo differs");
    child.wait_with_output().expect("it ends")
}
