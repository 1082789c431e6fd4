//! Patterns from and into other formats: Mahimahi's delivery traces, plain lists of positions, tables.

use std::fmt::Write as _;

use anabranch_base::units::quote;

use super::{Driven, Entry, Kind, Pattern, PatternError, Value};

/// Bytes that one line of a Mahimahi trace lets through.
pub const MAHIMAHI_BYTES: u64 = 1_504;

/// A bandwidth pattern from a Mahimahi trace: one line for each delivery opportunity of [`MAHIMAHI_BYTES`], holding the
/// millisecond at which it comes; the trace begins anew after its last millisecond. Rates are averaged over `bin`
/// milliseconds: 1 follows the trace to the millisecond, more is smoother.
///
/// # Errors
///
/// When a line is no whole number, numbers fall, nothing is delivered at all, or `bin` is 0.
pub fn from_mahimahi(text: &str, bin: u64) -> Result<Pattern, PatternError> {
    if bin == 0 {
        return Err(PatternError("a bin has at least 1 ms".to_owned()));
    }
    let mut times: Vec<u64> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let at = |what: String| PatternError(format!("line {}: {what}", number + 1));
        let time: u64 =
            line.parse().map_err(|_| at(format!("{} is no whole number of milliseconds", quote(line))))?;
        if times.last().is_some_and(|&last| last > time) {
            return Err(at(format!("{time} ms comes before the line above; times rise")));
        }
        times.push(time);
    }
    let Some(&length) = times.last().filter(|&&last| last > 0) else {
        return Err(PatternError("the trace delivers nothing; a line holds a millisecond from 1".to_owned()));
    };
    let mut entries: Vec<Entry> = Vec::new();
    let mut next = times.iter().peekable();
    let mut first = 1;
    while first <= length {
        let last = first.saturating_add(bin - 1).min(length);
        let mut deliveries: u64 = 0;
        // Deliveries at millisecond 0 are counted in millisecond 1.
        while next.next_if(|&&time| time <= last).is_some() {
            deliveries += 1;
        }
        let rate = deliveries * MAHIMAHI_BYTES * 8 * 1_000 / (last - first + 1);
        if entries.last().is_none_or(|entry| entry.value != Value::Rate(rate)) {
            entries.push(Entry { first, last: first, value: Value::Rate(rate) });
        }
        // The last millisecond that there is has none after it.
        let Some(after) = last.checked_add(1) else { break };
        first = after;
    }
    Pattern::new(Kind::Bandwidth, Driven::Time, Some(length), true, entries)
}

/// A loss pattern from a plain list: a position or a range `5-7` in each line, or several with commas or blanks between.
///
/// # Errors
///
/// When something is no position.
pub fn from_list(text: &str, driven: Driven) -> Result<Pattern, PatternError> {
    let mut ranges = Vec::new();
    for word in text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty()) {
        ranges.push(range(word)?);
    }
    let length = ranges.iter().map(|range| range.1).max().unwrap_or(1);
    let places = super::generate::Places::At(ranges);
    let values = super::generate::Values::Same(Value::Lost);
    super::generate::generate(&places, &values, driven, length, false, 0)
}

/// `5` or `5-7`.
///
/// # Errors
///
/// When it is neither.
pub fn range(word: &str) -> Result<(u64, u64), PatternError> {
    let wrong = || PatternError(format!("{} is no position; write 5 or 5-7, from 1", quote(word)));
    let place = |text: &str| text.trim().parse::<u64>().ok().filter(|&place| place > 0).ok_or_else(wrong);
    match word.split_once('-') {
        None => place(word).map(|at| (at, at)),
        Some((first, last)) => {
            let (first, last) = (place(first)?, place(last)?);
            if first > last { Err(wrong()) } else { Ok((first, last)) }
        }
    }
}

/// The marked positions, one in each line.
#[must_use]
pub fn to_list(pattern: &Pattern) -> String {
    let mut out = String::new();
    for entry in pattern.entries() {
        for position in entry.first..=entry.last {
            let _ = writeln!(out, "{position}");
        }
    }
    out
}

/// A table: `first,last,value`, values in the base unit (nanoseconds, bits per second, bits with blanks between).
#[must_use]
pub fn to_csv(pattern: &Pattern) -> String {
    let mut out = String::from("first,last,value\n");
    for Entry { first, last, value } in pattern.entries() {
        let value = match value {
            Value::Lost => "1".to_owned(),
            Value::Bits(bits) => bits.iter().map(u32::to_string).collect::<Vec<_>>().join(" "),
            Value::Delay(delay) => delay.as_nanos().to_string(),
            Value::Rate(rate) => rate.to_string(),
            Value::Behind(n) | Value::Copies(n) | Value::Signal(n) => n.to_string(),
        };
        let _ = writeln!(out, "{first},{last},{value}");
    }
    out
}
