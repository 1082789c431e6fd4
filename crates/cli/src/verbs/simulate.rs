//! `anabranch simulate FILE.toml`: one run for each seed, and their results.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anabranch_base::units;
use anabranch_sim::scenario::{Checksums, Record, Scenario, Selection, parse_seeds};
use anabranch_sim::{RunOutput, Summary};
use clap::Args;
use serde::Serialize;

use crate::captures::CapturePlan;
use crate::failure::Failure;
use crate::results::Printed;
use crate::{files, load, qlog, runs, table, terminal};

/// The options of `anabranch simulate`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The scenario; - is standard input.
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Print the full summary of every run as JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Run these seeds instead of the file's: "1..30", "7" or "1..5, 9".
    #[arg(long, value_name = "SPEC", value_parser = Seeds::parse)]
    seeds: Option<Seeds>,
    /// How many runs go on at once [default: as many as there are processors].
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// Set a value over what the file says, such as link.bottleneck.rate="3 Mbit/s".
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = load::assignment)]
    overrides: Vec<(String, String)>,
    /// Write what crosses the links as it happens, to a file or into a directory: pcapng, or pcap if the name ends with
    /// ".pcap"; - is standard output, for one seed and instead of the table.
    #[arg(long, value_name = "PATH")]
    pcap: Option<PathBuf>,
    /// --pcap: only these links [default: what the file records, or all].
    #[arg(long = "pcap-link", value_name = "LINK", value_delimiter = ',', requires = "pcap")]
    pcap_links: Vec<String>,
    /// Keep so many bytes of each packet in captures, from its IP header on.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    snaplen: Option<u32>,
    /// Write events as comma-separated values, to a file or into a directory; - as for --pcap.
    #[arg(long, value_name = "PATH")]
    trace: Option<PathBuf>,
    /// Write what every end of a flow did as qlog (JSON-SEQ) into this directory: FLOW-sender-SEED.sqlog and so on.
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Write the summary of each run, and what the file says to record, into this directory as runs end.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Parses the value of `--threads`.
fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("allowed: 1 to 1024".to_owned()),
    }
}

/// The seeds of `--seeds`, in order.
#[derive(Clone, Debug)]
struct Seeds(Vec<u64>);

impl Seeds {
    fn parse(text: &str) -> Result<Self, String> {
        parse_seeds(text).map(Self)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut scenario = load::scenario(&arguments.file, &arguments.overrides)?;
    if let Some(seeds) = &arguments.seeds {
        scenario.seeds.clone_from(&seeds.0);
    }
    let record = record(arguments, &scenario)?;
    for (option, directory) in [("--out", &arguments.out), ("--qlog", &arguments.qlog)] {
        if directory.as_deref().is_some_and(files::is_standard) {
            return Err(Failure::wrong(format!(
                "{option} -: this is a directory of several files; --trace - and --pcap - go to standard output"
            )));
        }
    }
    for directory in [&arguments.out, &arguments.qlog].into_iter().flatten() {
        files::directory(directory)?;
    }
    for path in [&arguments.pcap, &arguments.trace].into_iter().flatten() {
        prepare(path)?;
    }
    let several = scenario.seeds.len() > 1;
    standard(arguments, several)?;
    distinct(arguments, &scenario, &record)?;
    if !record.pcap.is_none() {
        // Readers of a capture check its checksums, so they are computed. Nothing else depends on them.
        scenario.checksums = Checksums::Verify;
    }
    let capture = capture_plan(arguments, &scenario, &record);
    if let Some(note) = capture.as_ref().and_then(|plan| plan.note(&scenario, &record)) {
        let _ = writeln!(std::io::stderr().lock(), "anabranch: {note}");
    }
    let processors = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = arguments.threads.unwrap_or_else(processors);
    let mut summaries: Vec<Option<Summary>> = vec![None; scenario.seeds.len()];
    let outcome = runs::all(&scenario, &record, threads, capture, |index, output| {
        keep(arguments, &output, several)?;
        if let Some(place) = summaries.get_mut(index) {
            *place = Some(output.summary);
        }
        Ok(())
    });
    // The finished runs are printed, even after an interrupt or an error.
    let finished: Vec<&Summary> = summaries.iter().flatten().collect();
    let printed = Printed::new(load::origin(&arguments.file), &finished);
    if let Some(out) = &arguments.out {
        files::write(&out.join("summary.json"), |file| json(&printed, file))?;
    }
    if to_standard(arguments).is_some() {
        return outcome;
    }
    // Standard output is written line by line unless it is told otherwise, and a result has 40,000 lines.
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    let shown = if arguments.json {
        json(&printed, &mut stdout)
    } else {
        stdout.write_all(table::render(&finished, terminal::width()).as_bytes())
    };
    shown.and_then(|()| stdout.flush()).map_err(|error| Failure::printing(&error))?;
    outcome
}

/// Records only the results that are written in the end: those named in `[record]` when there is a directory for them, and those
/// of an option, which means everything where `[record]` names nothing of the kind.
fn record(arguments: &Arguments, scenario: &Scenario) -> Result<Record, Failure> {
    let mut record = scenario.record.clone();
    if arguments.trace.is_some() || arguments.qlog.is_some() {
        // Samples alone are a trace, but no qlog.
        if record.trace.is_none() && (record.sample.is_none() || arguments.qlog.is_some()) {
            record.trace = Selection::All;
        }
    } else if arguments.out.is_none() {
        record.trace = Selection::None;
        record.queue_interval = None;
        record.sample = None;
        record.packets = anabranch_sim::scenario::Selection::None;
    }
    if arguments.pcap.is_some() {
        if record.pcap.is_none() {
            record.pcap = Selection::All;
        }
    } else if arguments.out.is_none() {
        record.pcap = Selection::None;
    }
    if !arguments.pcap_links.is_empty() {
        let place = |wanted: &String| {
            scenario.links.iter().position(|link| link.name == *wanted).ok_or_else(|| {
                let names = scenario.links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>();
                let (wanted, names) = (units::quote(wanted), names.join(", "));
                Failure::wrong(format!("--pcap-link {wanted}: there is no such link; allowed: {names}"))
            })
        };
        record.pcap = Selection::Only(arguments.pcap_links.iter().map(place).collect::<Result<_, _>>()?);
    }
    record.snaplen = arguments.snaplen.or(record.snaplen);
    Ok(record)
}

/// Captures go where `--pcap` says, or with everything else.
fn capture_plan(arguments: &Arguments, scenario: &Scenario, record: &Record) -> Option<CapturePlan> {
    let place = arguments.pcap.as_ref().or(arguments.out.as_ref())?;
    (!record.pcap.is_none()).then(|| CapturePlan::new(place, scenario))
}

/// Refuses runs that would write two outputs to one file, or one over the scenario.
fn distinct(arguments: &Arguments, scenario: &Scenario, record: &Record) -> Result<(), Failure> {
    let several = scenario.seeds.len() > 1;
    let plan = capture_plan(arguments, scenario, record);
    let mut outputs = Vec::new();
    for &seed in &scenario.seeds {
        if let Some(path) = &arguments.trace {
            outputs.push(("--trace", files::for_seed(path, "trace", "csv", seed, several)));
        }
        if let Some(directory) = &arguments.qlog {
            for flow in &scenario.flows {
                for end in ["sender", "receiver"] {
                    let end = format!("{}:{end}", flow.name);
                    outputs.push(("--qlog", qlog::path(directory, seed, &end)));
                }
            }
        }
        if let Some(plan) = &plan {
            outputs.push((if arguments.pcap.is_some() { "--pcap" } else { "--out" }, plan.path(seed)));
        }
        if let Some(out) = &arguments.out {
            outputs.push(("--out", out.join(format!("seed-{seed}.json"))));
            if is_traced(record) {
                outputs.push(("--out", files::for_seed(out, "trace", "csv", seed, several)));
            }
        }
    }
    if let Some(out) = &arguments.out {
        outputs.push(("--out", out.join("summary.json")));
    }
    if arguments.json {
        outputs.push(("--json", PathBuf::from("-")));
    }
    if !files::is_standard(&arguments.file) {
        outputs.push(("the scenario", arguments.file.clone()));
    }
    files::distinct(outputs)
}

/// The option that sends a file to standard output, if one does.
fn to_standard(arguments: &Arguments) -> Option<&'static str> {
    let options = [("--trace", &arguments.trace), ("--pcap", &arguments.pcap)];
    options
        .iter()
        .find(|(_, path)| path.as_deref().is_some_and(files::is_standard))
        .map(|(option, _)| *option)
}

/// Refuses several files where there is room for one.
fn standard(arguments: &Arguments, several: bool) -> Result<(), Failure> {
    match to_standard(arguments) {
        Some(option) if several => Err(Failure::wrong(format!(
            "{option} -: one run goes to standard output; choose a seed, as in --seeds 1"
        ))),
        _ => Ok(()),
    }
}

fn is_traced(record: &Record) -> bool {
    !record.trace.is_none()
        || record.sample.is_some()
        || record.queue_interval.is_some()
        || !record.packets.is_none()
}

/// Finds out before the runs, not after them, whether there is a place for a file.
fn prepare(path: &Path) -> Result<(), Failure> {
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return files::directory(path);
    }
    files::has_folder(path)
}

/// Writes the files of one run.
fn keep(arguments: &Arguments, output: &RunOutput, several: bool) -> Result<(), Failure> {
    let seed = output.summary.seed;
    if let Some(columns) = &output.trace {
        for path in [&arguments.trace, &arguments.out].into_iter().flatten() {
            let path = files::for_seed(path, "trace", "csv", seed, several);
            files::write(&path, |file| files::trace(columns, file))?;
        }
        if let Some(directory) = &arguments.qlog {
            qlog::write(columns, &output.summary, directory)?;
        }
    }
    if let Some(out) = &arguments.out {
        files::write(&out.join(format!("seed-{seed}.json")), |file| json(&output.summary, file))?;
    }
    Ok(())
}

fn json(value: &impl Serialize, out: &mut dyn Write) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(std::io::Error::from)?;
    out.write_all(b"\n")
}
