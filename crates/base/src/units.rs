//! Numbers with their units written out: `48 ms`, `1468 B`, `10 Mbit/s`. Exact: what is not a whole number of
//! nanoseconds, bytes or bits per second is an error, not rounded.

use crate::Duration;

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
///
/// # Errors
///
/// One sentence that says what is wrong and what is allowed.
pub fn time(text: &str) -> Result<Duration, String> {
    quantity(text, "a time", "nanoseconds", &TIMES).map(Duration::from_nanos)
}

/// A size such as `64 KiB`, in bytes.
///
/// # Errors
///
/// As [`time`].
pub fn size(text: &str) -> Result<u64, String> {
    quantity(text, "a size", "bytes", &SIZES)
}

/// A rate such as `10 Mbit/s`, in bits per second; may be 0.
///
/// # Errors
///
/// As [`time`].
pub fn rate(text: &str) -> Result<u64, String> {
    quantity(text, "a rate", "bit/s", &RATES)
}

/// Somebody else's words in an error: in quotes, escaped, and not too long.
#[must_use]
pub fn quote(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

/// Control characters escaped, the end cut off.
#[must_use]
pub fn escape(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        out.push_str("...");
    }
    out
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
