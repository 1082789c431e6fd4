//! Numbers with their units written out: `48 ms`, `1468 B`, `10 Mbit/s`. Exact: what is not a whole number of
//! nanoseconds, bytes or bits per second is an error, not rounded.

use anabranch_base::Duration;

use super::error::quote;
use super::{Rate, TimeDraw};

/// Name of a unit, and how many of the base unit it is.
type Unit = (&'static str, u64);

const TIMES: [Unit; 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

const SIZES: [Unit; 7] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

const RATES: [Unit; 4] = [("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];

/// A time such as `250 us`.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    quantity(text, "a time", "nanoseconds", &TIMES).map(Duration::from_nanos)
}

/// A size such as `64 KiB`, in bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    quantity(text, "a size", "bytes", &SIZES)
}

/// A rate such as `10 Mbit/s`, or `infinite`.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    if text.trim() == "infinite" {
        return Ok(Rate::Infinite);
    }
    match quantity(text, "a rate", "bit/s", &RATES) {
        Ok(0) => Err(format!("{} is no rate; at least 1 bit/s, or \"infinite\"", quote(text))),
        Ok(bits) => Ok(Rate::BitsPerSecond(bits)),
        Err(message) => Err(format!("{message}, or \"infinite\"")),
    }
}

/// A time, `uniform(A, B)` or `exponential(MEAN)`.
pub(super) fn time_draw(text: &str) -> Result<TimeDraw, String> {
    let trimmed = text.trim();
    let inside = |name: &str| trimmed.strip_prefix(name)?.trim_start().strip_prefix('(')?.strip_suffix(')');
    if let Some(inside) = inside("uniform") {
        let Some((low, high)) = inside.split_once(',') else {
            return Err(format!("{} needs two times, as in \"uniform(0 s, 1 s)\"", quote(text)));
        };
        let (low, high) = (time(low)?, time(high)?);
        if low > high {
            return Err(format!("{}: the first time is later than the second", quote(text)));
        }
        return Ok(TimeDraw::Uniform(low, high));
    }
    if let Some(inside) = inside("exponential") {
        return time(inside).map(TimeDraw::Exponential);
    }
    if trimmed.contains('(') {
        return Err(format!(
            "{} is no time; write \"2 s\", \"uniform(0 s, 1 s)\" or \"exponential(1 s)\"",
            quote(text)
        ));
    }
    time(trimmed).map(TimeDraw::Fixed)
}

/// The number in `text` in the base unit.
fn quantity(text: &str, what: &str, base: &str, units: &[Unit]) -> Result<u64, String> {
    let names = || units.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(", ");
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let unit = unit.trim_start();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
        return Err(format!("{} is not {what}; write a number and a unit: {}", quote(text), names()));
    }
    if unit.is_empty() {
        return Err(format!("{} has no unit; allowed units: {}", quote(text), names()));
    }
    let Some(&(_, scale)) = units.iter().find(|&&(name, _)| name == unit) else {
        return Err(format!(
            "{} has an unknown unit {}; allowed units: {}",
            quote(text),
            quote(unit),
            names()
        ));
    };
    let too_large = || format!("{} is too large", quote(text));
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let too_fine = || format!("{} is not a whole number of {base}", quote(text));
    // The fraction is exact: its digits times the scale must divide by ten for each digit.
    let fraction = fraction.trim_end_matches('0');
    let power = u32::try_from(fraction.len()).ok().and_then(|digits| 10_u128.checked_pow(digits));
    let power = power.ok_or_else(too_fine)?;
    let digits = fraction.bytes().fold(0_u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    let part = digits.checked_mul(u128::from(scale)).ok_or_else(too_fine)?;
    if part % power != 0 {
        return Err(too_fine());
    }
    let part = u64::try_from(part / power).map_err(|_| too_large())?;
    whole.checked_mul(scale).and_then(|value| value.checked_add(part)).ok_or_else(too_large)
}
