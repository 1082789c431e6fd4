//! `anabranch VERB ...`: one thin file for each verb.
//!
//! The result of a verb goes to standard output; progress and errors go to standard error. Exit codes: 0 done, 1 a run
//! failed or a result could not be written, 2 a wrong file or option (one line names the fault and its place), 130 interrupted,
//! 143 terminated.
#![forbid(unsafe_code)]

mod amounts;
mod captures;
mod decoded;
mod ending;
mod failure;
mod files;
mod fitting;
mod half_close;
mod hint;
mod input;
mod live;
mod load;
mod marks;
mod opening;
mod pipe;
mod progress;
mod qlog;
mod recording;
mod results;
mod runs;
mod serving;
mod statistics;
mod stopwatch;
mod table;
mod terminal;
mod verbs;

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use failure::Failure;

/// The allocator of the static program: with musl's own a receiver takes more than twice the processor time.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// SCTP in virtual time and on the network: runs scenario files and prints the results; moves data over SCTP in UDP.
#[derive(Parser, Debug)]
#[command(name = "anabranch", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Run a scenario once for each of its seeds and print a summary.
    Simulate(verbs::simulate::Arguments),
    /// Check scenario files without running them.
    Check(verbs::check::Arguments),
    /// List the engines (profiles) of SCTP and TCP, and the options on top of them.
    Engines(verbs::engines::Arguments),
    /// Make, show and convert patterns: what happens to packets, position by position.
    Pattern(verbs::pattern::Arguments),
    /// Decode a capture: packets, flows, retransmissions, bottlenecks, time-sequence plots.
    Decode(verbs::decode::Arguments),
    /// Run packet scripts in packetdrill's dialect against the SCTP stack.
    Script(verbs::script::Arguments),
    /// Wait for an association over UDP: what comes goes to standard output.
    Listen(verbs::listen::Arguments),
    /// Begin an association over UDP: standard input goes to the peer.
    Connect(verbs::connect::Arguments),
    /// Measure throughput and latency between two hosts.
    Perf(verbs::perf::Arguments),
    /// Measure how long a handshake and heartbeats take.
    Ping(verbs::ping::Arguments),
    /// Say what this machine can do for SCTP, and how to make it do more.
    Doctor(verbs::doctor::Arguments),
    /// Print the completions of a shell.
    Completions(verbs::completions::Completions),
    /// Write manual pages into a directory.
    Man(verbs::completions::Man),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            return match error.print().and_then(|()| std::io::stdout().lock().flush()) {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    report(&Failure::printing(&error))
                }
                // A reader that closes the pipe before the end of the help text is no error.
                _ => ExitCode::SUCCESS,
            };
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Without a verb: the whole help, as the user may know no verb.
            let _ = error.print();
            return ExitCode::from(2);
        }
        Err(error) => return report(&Failure::wrong(one_line(&error))),
    };
    let done = match &arguments.verb {
        Verb::Simulate(arguments) => verbs::simulate::run(arguments),
        Verb::Check(arguments) => verbs::check::run(arguments),
        Verb::Engines(arguments) => verbs::engines::run(arguments),
        Verb::Pattern(arguments) => verbs::pattern::run(arguments),
        Verb::Decode(arguments) => verbs::decode::run(arguments),
        Verb::Script(arguments) => verbs::script::run(arguments),
        Verb::Listen(arguments) => verbs::listen::run(arguments),
        Verb::Connect(arguments) => verbs::connect::run(arguments),
        Verb::Perf(arguments) => verbs::perf::run(arguments),
        Verb::Ping(arguments) => verbs::ping::run(arguments),
        Verb::Doctor(arguments) => verbs::doctor::run(arguments),
        Verb::Completions(arguments) => verbs::completions::completions(arguments, Arguments::command()),
        Verb::Man(arguments) => verbs::completions::man(arguments, Arguments::command()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
}

fn report(failure: &Failure) -> ExitCode {
    if !failure.message.is_empty() {
        let _ = writeln!(std::io::stderr().lock(), "anabranch: {}", failure.message);
    }
    ExitCode::from(failure.code)
}

/// The message of a wrong option without the usage below it.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let told = text.split("\nUsage:").next().unwrap_or(&text);
    let told = told.split("\nFor more information").next().unwrap_or(told);
    let lines: Vec<&str> = told.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let told = lines.join(" ").trim_start_matches("error: ").replace(" tip: ", "; ");
    // An argument such as -1 was meant as the value of an option: to let it pass as an argument is no help.
    let told = told.split("; to pass '-").next().unwrap_or(&told).trim_end().to_owned();
    // The standard library names the fault of a value; the user needs to read the allowed values instead.
    let allowed = [
        ("invalid digit found in string", "write a whole number"),
        ("cannot parse integer from empty string", "write a whole number"),
        ("invalid float literal", "write a number"),
        ("cannot parse float from empty string", "write a number"),
        ("invalid IP address syntax", "write an IP address, such as 192.0.2.1 or 2001:db8::1"),
        ("invalid socket address syntax", "write ADDRESS:PORT, such as 127.0.0.1:9464 or [::1]:9464"),
    ];
    let said = allowed.iter().find(|(said, _)| told.ends_with(said));
    said.map_or(told.clone(), |(said, instead)| told.replace(said, instead))
}
