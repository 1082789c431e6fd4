//! `anabranch pattern make|show|convert`: patterns in files. `docs/reference/patterns.md` describes them.

use std::io::Write;
use std::path::{Path, PathBuf};

use anabranch_base::units;
use anabranch_link::Pattern;
use anabranch_link::pattern::convert::{self, from_list, from_mahimahi, to_csv, to_list};
use anabranch_link::pattern::generate::{Places, Values, generate};
use anabranch_link::pattern::{Driven, Kind, Value};
use clap::{Args, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::{files, load};

/// The options of `anabranch pattern`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Make a pattern: one of --positions, --random, --bursts, --every or --gilbert-elliott says where.
    Make(Make),
    /// Say what patterns hold, with a strip of their positions.
    Show {
        /// Pattern files; - is standard input.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Characters of the strip, 1 to 1000.
        #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1000))]
        width: u64,
    },
    /// Convert between a pattern, a plain list of positions, a table and a Mahimahi trace.
    Convert {
        /// The file to read; - is standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// What it is.
        #[arg(long, value_enum, default_value_t = From::Pattern)]
        from: From,
        /// What to make of it.
        #[arg(long, value_enum, default_value_t = To::Pattern)]
        to: To,
        /// Milliseconds over which the rates of a Mahimahi trace are averaged.
        #[arg(long, default_value_t = 1, value_name = "MS")]
        bin: u64,
        /// What drives a pattern made from a list.
        #[arg(long, value_enum, default_value_t = Drive::Data)]
        driven: Drive,
        /// Where to write; standard output without it.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum From {
    /// A pattern.
    Pattern,
    /// Positions and ranges of losses: 3, 5-7.
    List,
    /// Delivery opportunities, one a line, in milliseconds.
    Mahimahi,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum To {
    /// A pattern.
    Pattern,
    /// The marked positions, one a line.
    List,
    /// first,last,value in base units.
    Csv,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Drive {
    /// Positions are packets.
    Data,
    /// Positions are milliseconds.
    Time,
}

impl Drive {
    const fn driven(self) -> Driven {
        match self {
            Self::Data => Driven::Data,
            Self::Time => Driven::Time,
        }
    }
}

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("places").required(true).args([
    "positions", "random", "bursts", "every", "gilbert_elliott",
]))]
struct Make {
    /// What it changes: loss, bit-error, delay, bandwidth, reorder, duplicate or trigger.
    #[arg(long, default_value = "loss", value_parser = kind)]
    kind: Kind,
    /// Whether positions are packets or milliseconds.
    #[arg(long, value_enum, default_value_t = Drive::Data)]
    driven: Drive,
    /// Number of positions; needed for all but --positions.
    #[arg(long)]
    length: Option<u64>,
    /// Begin anew after the last position.
    #[arg(long)]
    repeat: bool,
    /// Seed of everything that is random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// These positions: 3,5-7.
    #[arg(long, value_name = "LIST")]
    positions: Option<String>,
    /// Each position on its own, with this probability.
    #[arg(long, value_name = "P")]
    random: Option<f64>,
    /// Bursts that start with probability P and have a mean length: P,MEAN.
    #[arg(long, value_name = "P,MEAN", value_delimiter = ',', num_args = 1)]
    bursts: Option<Vec<f64>>,
    /// Every so many positions, so many in a row: EVERY,LENGTH.
    #[arg(long, value_name = "EVERY,LENGTH", value_delimiter = ',', num_args = 1)]
    every: Option<Vec<u64>>,
    /// Probabilities: good to bad, bad to good, of a mark in good, of a mark in bad.
    #[arg(long, value_name = "GB,BG,G,B", value_delimiter = ',', num_args = 1)]
    gilbert_elliott: Option<Vec<f64>>,
    /// The value at each marked position, where the kind has one: "20 ms", "uniform(10 ms, 30 ms)", "3 Mbit/s",
    /// "uniform(1 Mbit/s, 3 Mbit/s)", the bits "33 65", "random(2, 11712)" (so many bits below a limit), or a number.
    #[arg(long)]
    value: Option<String>,
    /// Where to write; standard output without it.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn kind(text: &str) -> Result<Kind, String> {
    let names = Kind::ALL.map(Kind::name).join(", ");
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == text);
    found.ok_or_else(|| format!("no kind of pattern; allowed: {names}"))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.verb {
        Verb::Make(make) => {
            let pattern = made(make)?;
            deliver(&pattern.to_string(), make.out.as_deref())
        }
        Verb::Show { files, width } => {
            let mut text = String::new();
            for path in files {
                let pattern = pattern(path)?;
                text.push_str(&shown(path, &pattern, *width));
            }
            deliver(&text, None)
        }
        Verb::Convert { file, from, to, bin, driven, out } => {
            let wrong = |error| Failure::wrong(format!("{}: {error}", load::origin(file)));
            let pattern = match from {
                From::Pattern => pattern(file)?,
                From::List => from_list(&load::text(file)?, driven.driven()).map_err(wrong)?,
                From::Mahimahi => from_mahimahi(&load::text(file)?, *bin).map_err(wrong)?,
            };
            let text = match to {
                To::Pattern => pattern.to_string(),
                To::List => to_list(&pattern),
                To::Csv => to_csv(&pattern),
            };
            deliver(&text, out.as_deref())
        }
    }
}

fn pattern(path: &Path) -> Result<Pattern, Failure> {
    load::text(path)?.parse().map_err(|error| Failure::wrong(format!("{}: {error}", load::origin(path))))
}

fn deliver(text: &str, out: Option<&Path>) -> Result<(), Failure> {
    match out {
        Some(path) => files::write(path, |out| out.write_all(text.as_bytes())),
        None => {
            std::io::stdout().lock().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))
        }
    }
}

fn made(make: &Make) -> Result<Pattern, Failure> {
    let wrong = |what: String| Failure::wrong(format!("pattern make: {what}"));
    let places = places(make).map_err(wrong)?;
    let length = match (&places, make.length) {
        (_, Some(length)) => length,
        (Places::At(ranges), None) => ranges.iter().map(|range| range.1).max().unwrap_or(1),
        _ => return Err(wrong("--length is missing: how many positions?".to_owned())),
    };
    let values = values(make).map_err(wrong)?;
    generate(&places, &values, make.driven.driven(), length, make.repeat, make.seed)
        .map_err(|error| wrong(error.to_string()))
}

fn places(make: &Make) -> Result<Places, String> {
    if let Some(list) = &make.positions {
        let ranges = list.split(',').map(|word| convert::range(word.trim())).collect::<Result<_, _>>();
        return ranges.map(Places::At).map_err(|error| format!("--positions: {error}"));
    }
    if let Some(p) = make.random {
        return Ok(Places::Random { p });
    }
    match (make.bursts.as_deref(), make.every.as_deref(), make.gilbert_elliott.as_deref()) {
        (Some(&[p, mean]), ..) => Ok(Places::Bursts { p, mean }),
        (_, Some(&[every, length]), _) => Ok(Places::Regular { every, length }),
        (_, _, Some(&[to_bad, to_good, good, bad])) => {
            Ok(Places::GilbertElliott { to_bad, to_good, good, bad })
        }
        (Some(_), ..) => Err("--bursts needs two numbers: P,MEAN".to_owned()),
        (_, Some(_), _) => Err("--every needs two numbers: EVERY,LENGTH".to_owned()),
        _ => Err("--gilbert-elliott needs four probabilities: GB,BG,G,B".to_owned()),
    }
}

fn values(make: &Make) -> Result<Values, String> {
    let told = |error: String| format!("--value: {error}");
    let text = match (make.kind, &make.value) {
        (Kind::Loss, None) => return Ok(Values::Same(Value::Lost)),
        (Kind::Loss, Some(_)) => return Err("--value: a loss has none".to_owned()),
        (_, Some(text)) => text.trim(),
        (kind, None) => {
            return Err(format!("--value is missing: a pattern of kind {} needs one", kind.name()));
        }
    };
    let pair = |name: &str| {
        let inside = text.strip_prefix(name)?.trim_start().strip_prefix('(')?.strip_suffix(')')?;
        inside.split_once(',').map(|(low, high)| (low.trim(), high.trim()))
    };
    let number = |text: &str, least: u32| match text.parse::<u32>() {
        Ok(number) if number >= least => Ok(number),
        _ => Err(told(format!("{} is no whole number from {least}", units::quote(text)))),
    };
    Ok(match make.kind {
        Kind::Delay => match pair("uniform") {
            Some((low, high)) => {
                Values::RandomDelay(units::time(low).map_err(told)?, units::time(high).map_err(told)?)
            }
            None => Values::Same(Value::Delay(units::time(text).map_err(told)?)),
        },
        Kind::Bandwidth => match pair("uniform") {
            Some((low, high)) => {
                Values::RandomRate(units::rate(low).map_err(told)?, units::rate(high).map_err(told)?)
            }
            None => Values::Same(Value::Rate(units::rate(text).map_err(told)?)),
        },
        Kind::BitError => match pair("random") {
            Some((count, below)) => Values::RandomBits { count: number(count, 1)?, below: number(below, 1)? },
            None => Values::Same(Value::Bits(
                text.split_whitespace().map(|bit| number(bit, 0)).collect::<Result<_, _>>()?,
            )),
        },
        Kind::Reorder => Values::Same(Value::Behind(number(text, 1)?)),
        Kind::Duplicate => Values::Same(Value::Copies(number(text, 1)?)),
        Kind::Trigger => Values::Same(Value::Signal(number(text, 0)?)),
        Kind::Loss => Values::Same(Value::Lost),
    })
}

/// A few lines on a pattern: its kind, the number and share of its marks, and their positions.
fn shown(path: &Path, pattern: &Pattern, width: u64) -> String {
    let last = pattern.entries().last().map_or(0, |entry| entry.last);
    let length = pattern.length().unwrap_or(last).max(1);
    let share = pattern.marked() as f64 / length as f64 * 100.0;
    let mut text = format!(
        "{}: kind {}, driven by {}, {} positions{}, {} entries",
        load::origin(path),
        pattern.kind().name(),
        pattern.driven().name(),
        length,
        if pattern.repeats() { " (repeats)" } else { "" },
        pattern.entries().len()
    );
    if !pattern.kind().is_state() {
        text.push_str(&format!(", {} marked ({share:.3} %)", pattern.marked()));
    }
    text.push('\n');
    let columns = width.min(length);
    let mut strip = vec![0_u64; columns as usize];
    for entry in pattern.entries() {
        // Both ends, and every column between them.
        let column =
            |position: u64| (u128::from(position - 1) * u128::from(columns) / u128::from(length)) as usize;
        for slot in strip.iter_mut().take(column(entry.last) + 1).skip(column(entry.first)) {
            *slot += 1;
        }
    }
    let strip: String = strip.iter().map(|&marks| if marks == 0 { '.' } else { '#' }).collect();
    text.push_str(&format!("  1 |{strip}| {length}\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_shows_where_the_marks_are() {
        let pattern: Pattern =
            "anabranch-pattern 1\nkind loss\nlength 10\n1\n5-6\n10\n".parse().expect("sound");
        let text = shown(Path::new("x"), &pattern, 10);
        assert!(text.contains("4 marked (40.000 %)"), "{text}");
        assert!(text.contains("1 |#...##...#| 10"), "{text}");
        assert!(shown(Path::new("x"), &pattern, 5).contains("|#.#.#|"));
    }
}
