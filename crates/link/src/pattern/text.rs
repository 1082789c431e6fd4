//! The text format: a header of words, then one entry a line. `docs/reference/patterns.md` describes it.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use anabranch_base::units::{self, quote};

use super::{Driven, Entry, HOLD_LIMIT, Kind, Pattern, PatternError, Value};

/// First line of every pattern.
const MAGIC: &str = "anabranch-pattern 1";
/// Bits and copies beyond this are a slip of the pen.
const MOST_COPIES: u32 = 1_000;
const LAST_BIT: u32 = 8 * 65_535 - 1;

struct Reader {
    kind: Option<Kind>,
    driven: Option<Driven>,
    length: Option<u64>,
    repeat: bool,
    hold: Option<anabranch_base::Duration>,
    entries: Vec<Entry>,
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let mut reader =
            Reader { kind: None, driven: None, length: None, repeat: false, hold: None, entries: Vec::new() };
        let mut begun = false;
        let mut end = 0;
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let at = |message: String| PatternError(format!("line {}: {message}", number + 1));
            if !begun {
                if line != MAGIC {
                    return Err(at(format!("{} is no pattern; the first line is \"{MAGIC}\"", quote(line))));
                }
                begun = true;
            } else if line.starts_with(|c: char| c.is_ascii_digit()) {
                let entry = reader.entry(line).map_err(at)?;
                if entry.first <= end {
                    return Err(at(format!(
                        "position {} is out of order; positions rise from 1",
                        entry.first
                    )));
                }
                end = entry.last;
                reader.entries.push(entry);
            } else {
                reader.word(line).map_err(at)?;
            }
        }
        if !begun {
            return Err(PatternError(format!("an empty pattern; the first line is \"{MAGIC}\"")));
        }
        let kind = reader.kind.ok_or_else(|| PatternError("the line \"kind ...\" is missing".to_owned()))?;
        let driven = reader.driven.unwrap_or_default();
        let pattern = Self::new(kind, driven, reader.length, reader.repeat, reader.entries)?;
        match reader.hold {
            Some(_) if kind != Kind::Reorder => {
                Err(PatternError("\"hold\" has a meaning only in a pattern of kind reorder".to_owned()))
            }
            hold => Ok(pattern.holding(hold.unwrap_or(HOLD_LIMIT))),
        }
    }
}

impl Reader {
    /// A line of the header.
    fn word(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        if !self.entries.is_empty() {
            return Err(format!("{} after the first position; the header comes first", quote(word)));
        }
        match word {
            "kind" => {
                let found = Kind::ALL.into_iter().find(|kind| kind.name() == rest);
                let names = Kind::ALL.map(Kind::name).join(", ");
                once(
                    &mut self.kind,
                    found.ok_or_else(|| format!("no kind {}; allowed: {names}", quote(rest)))?,
                    word,
                )
            }
            "driven" => match rest {
                "data" => once(&mut self.driven, Driven::Data, word),
                "time" => once(&mut self.driven, Driven::Time, word),
                _ => Err(format!("{} drives no pattern; allowed: data, time", quote(rest))),
            },
            "length" => once(&mut self.length, whole(rest, 1, u64::MAX)?, word),
            "hold" => once(&mut self.hold, units::time(rest)?, word),
            "repeat" if rest.is_empty() => {
                self.repeat = true;
                Ok(())
            }
            _ => Err(format!(
                "unknown word {}; allowed: kind, driven, length, repeat, hold, or a position",
                quote(line)
            )),
        }
    }

    fn entry(&self, line: &str) -> Result<Entry, String> {
        let kind = self.kind.ok_or("\"kind ...\" comes before the first position")?;
        let (places, value) = match line.split_once(':') {
            Some((places, value)) => (places.trim(), Some(value.trim())),
            None => (line, None),
        };
        let (first, last) = match places.split_once('-') {
            Some((first, last)) => (whole(first.trim(), 1, u64::MAX)?, whole(last.trim(), 1, u64::MAX)?),
            None => {
                let place = whole(places, 1, u64::MAX)?;
                (place, place)
            }
        };
        if last < first {
            return Err(format!("positions {first}-{last} end before they start"));
        }
        let needed =
            || value.ok_or_else(|| format!("a value is missing, as in \"{first}: {}\"", example(kind)));
        let number = |most| Ok::<u32, String>(whole(needed()?, 1, u64::from(most))? as u32);
        let value = match kind {
            Kind::Loss if value.is_some() => return Err("a loss has no value".to_owned()),
            Kind::Loss => Value::Lost,
            Kind::BitError => {
                let bits = needed()?.split_whitespace().map(|bit| Ok(whole(bit, 0, LAST_BIT.into())? as u32));
                let bits = bits.collect::<Result<Vec<_>, String>>()?;
                if bits.is_empty() {
                    return Err(needed().err().unwrap_or_else(|| "no bit is named".to_owned()));
                }
                Value::Bits(bits)
            }
            Kind::Delay => Value::Delay(units::time(needed()?)?),
            Kind::Bandwidth => Value::Rate(units::rate(needed()?)?),
            Kind::Reorder => Value::Behind(number(u32::MAX)?),
            Kind::Duplicate => Value::Copies(number(MOST_COPIES)?),
            Kind::Trigger => Value::Signal(whole(needed()?, 0, u32::MAX.into())? as u32),
        };
        Ok(Entry { first, last, value })
    }
}

fn once<T>(place: &mut Option<T>, value: T, word: &str) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("\"{word}\" stands twice")),
    }
}

fn whole(text: &str, least: u64, most: u64) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("{} is no whole number of {least} to {most}", quote(text))),
    }
}

const fn example(kind: Kind) -> &'static str {
    match kind {
        Kind::Loss => "",
        Kind::BitError => "33 65",
        Kind::Delay => "20 ms",
        Kind::Bandwidth => "3 Mbit/s",
        Kind::Reorder | Kind::Duplicate | Kind::Trigger => "2",
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{MAGIC}")?;
        writeln!(f, "kind {}", self.kind.name())?;
        writeln!(f, "driven {}", self.driven.name())?;
        if let Some(length) = self.length {
            writeln!(f, "length {length}")?;
        }
        if self.repeat {
            writeln!(f, "repeat")?;
        }
        if self.kind == Kind::Reorder && self.hold != HOLD_LIMIT {
            writeln!(f, "hold {} ns", self.hold.as_nanos())?;
        }
        for Entry { first, last, value } in &self.entries {
            write!(f, "{first}")?;
            if last != first {
                write!(f, "-{last}")?;
            }
            writeln!(f, "{}", Shown(value))?;
        }
        Ok(())
    }
}

/// A value as a line has it behind its position.
struct Shown<'v>(&'v Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Lost => Ok(()),
            Value::Bits(bits) => {
                f.write_char(':')?;
                bits.iter().try_for_each(|bit| write!(f, " {bit}"))
            }
            Value::Delay(delay) => write!(f, ": {}", unit(delay.as_nanos(), &["ns", "us", "ms", "s"])),
            Value::Rate(rate) => write!(f, ": {}", unit(*rate, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])),
            Value::Behind(n) | Value::Copies(n) | Value::Signal(n) => write!(f, ": {n}"),
        }
    }
}

/// A number in the largest of `units`, each a thousand of the one before, in which it is whole.
fn unit(mut number: u64, units: &[&str]) -> String {
    let mut names = units.iter();
    let mut name = names.next().copied().unwrap_or_default();
    for larger in names {
        if number == 0 || number % 1_000 != 0 {
            break;
        }
        number /= 1_000;
        name = larger;
    }
    format!("{number} {name}")
}
