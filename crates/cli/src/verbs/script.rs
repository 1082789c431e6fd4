//! `anabranch script FILE|DIR...`: packet scripts in packetdrill's dialect, in virtual time.

use std::io::Write;
use std::path::PathBuf;

use anabranch_base::{Duration, units};
use anabranch_script::suite::{self, Counts, Outcome, Verdict};
use anabranch_script::{Failure as ScriptFailure, Options};
use anabranch_sctp::Config;
use clap::Args;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::hint;

/// The options of `anabranch script`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Scripts, and folders of scripts (*.pkt).
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Print JSON: one object.
    #[arg(long)]
    json: bool,
    /// How far a packet may be from its time: "10 ms", or "script" for what each script says itself.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = tolerance)]
    tolerance: Tolerance,
    /// Define a symbol for #ifdef.
    #[arg(short = 'D', long = "define", value_name = "NAME")]
    defined: Vec<String>,
    /// Packets that no line has taken at the end of a script are a failure.
    #[arg(long)]
    strict: bool,
    /// The profile that sockets begin with.
    #[arg(long, value_name = "PROFILE", default_value = "rfc9260")]
    engine: String,
    /// Set an option of SCTP on top of it, such as rto_min="200 ms".
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = crate::load::option)]
    overrides: Vec<(String, String)>,
    /// What tags, TSNs and the jitter of heartbeats are drawn from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the scripts that pass, too.
    #[arg(long)]
    verbose: bool,
}

#[derive(Clone, Copy, Debug)]
enum Tolerance {
    Fixed(Duration),
    OfScript,
}

fn tolerance(text: &str) -> Result<Tolerance, String> {
    match text {
        "script" => Ok(Tolerance::OfScript),
        "0" => Ok(Tolerance::Fixed(Duration::ZERO)),
        text => units::time(text).map(Tolerance::Fixed),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let options = options(arguments)?;
    let mut outcomes = Vec::new();
    for path in &arguments.paths {
        let found = suite::find(path).map_err(Failure::wrong)?;
        if found.is_empty() {
            return Err(Failure::wrong(format!("{}: there is no script (*.pkt) in it", path.display())));
        }
        outcomes.extend(found.iter().map(|each| suite::run_file(each, &options)));
    }
    let text = if arguments.json {
        format!("{:#}\n", as_json(&outcomes))
    } else {
        as_text(&outcomes, arguments.verbose)
    };
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))?;
    let bad = outcomes.iter().filter(|outcome| outcome.is_bad()).count();
    match bad {
        0 => Ok(()),
        _ => Err(Failure::failed(format!("{bad} of {} scripts failed", outcomes.len()))),
    }
}

fn options(arguments: &Arguments) -> Result<Options, Failure> {
    let engine = &arguments.engine;
    let Some(config) = Config::named(engine) else {
        let near = hint::near(engine, Config::PROFILES.iter().copied());
        let allowed = Config::PROFILES.join(", ");
        return Err(Failure::wrong(format!("--engine {engine}: unknown profile{near}; allowed: {allowed}")));
    };
    let mut config = Options::sockets(config);
    for (key, value) in &arguments.overrides {
        let value = value.trim_matches('"');
        config
            .set(key, value)
            .map_err(|error| Failure::wrong(format!("--set: {}", hint::refused(&error))))?;
    }
    let tolerance = match arguments.tolerance {
        Tolerance::Fixed(tolerance) => Some(tolerance),
        Tolerance::OfScript => None,
    };
    let (strict, seed) = (arguments.strict, arguments.seed);
    Ok(Options { tolerance, strict, defined: arguments.defined.clone(), config, seed, ..Options::default() })
}

fn as_text(outcomes: &[Outcome], verbose: bool) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        match outcome.report() {
            Some(report) => text.push_str(&format!("{report}\n")),
            None if verbose => text.push_str(&format!("{}: passes\n", outcome.path.display())),
            None => {}
        }
    }
    let folders = suite::by_folder(outcomes);
    let mut all = Counts::default();
    for (folder, counts) in &folders {
        text.push_str(&format!("{}: {}\n", folder.display(), in_words(counts)));
        all.passed += counts.passed;
        all.failed += counts.failed;
        all.expected_failures += counts.expected_failures;
    }
    if folders.len() != 1 {
        text.push_str(&format!("all: {}\n", in_words(&all)));
    }
    text
}

fn in_words(counts: &Counts) -> String {
    let mut words = format!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.expected_failures > 0 {
        words.push_str(&format!(", {} failed as expected", counts.expected_failures));
    }
    words
}

fn as_json(outcomes: &[Outcome]) -> Value {
    let folders: serde_json::Map<String, Value> = suite::by_folder(outcomes)
        .into_iter()
        .map(|(folder, counts)| {
            let counts = json!({
                "passed": counts.passed,
                "failed": counts.failed,
                "expected_failures": counts.expected_failures,
            });
            (folder.display().to_string(), counts)
        })
        .collect();
    let scripts: Vec<Value> = outcomes.iter().map(one).collect();
    json!({ "scripts": scripts, "folders": folders })
}

fn one(outcome: &Outcome) -> Value {
    let path = outcome.path.display().to_string();
    match &outcome.verdict {
        Verdict::Passed => json!({ "path": path, "verdict": "passed" }),
        Verdict::Failed(failure) => json!({ "path": path, "verdict": "failed", "failure": told(failure) }),
        Verdict::ExpectedFailure(failure, reason) => {
            json!({ "path": path, "verdict": "expected-failure", "reason": reason, "failure": told(failure) })
        }
        Verdict::UnexpectedPass(reason) => {
            json!({ "path": path, "verdict": "unexpected-pass", "reason": reason })
        }
        Verdict::Unreadable(error) => json!({ "path": path, "verdict": "unreadable", "error": error }),
    }
}

fn told(failure: &ScriptFailure) -> Value {
    let differences: Vec<Value> = failure
        .differences
        .iter()
        .map(|told| json!({ "field": told.field, "expected": told.expected, "came": told.came }))
        .collect();
    json!({
        "line": failure.line,
        "what": failure.what,
        "expected": failure.expected,
        "came": failure.came,
        "differences": differences,
    })
}
