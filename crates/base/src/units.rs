//! Numbers with their units written out: `48 ms`, `1468 B`, `10 Mbit/s`. Exact: a value that is not a whole number of
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

/// Other spellings that mean one unit only.
const SPELLINGS: [(&str, &str); 49] = [
    ("\u{b5}s", "us"),
    ("\u{3bc}s", "us"),
    ("usec", "us"),
    ("msec", "ms"),
    ("sec", "s"),
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("Kbps", "kbit/s"),
    ("Mbps", "Mbit/s"),
    ("mbps", "Mbit/s"),
    ("Gbps", "Gbit/s"),
    ("gbps", "Gbit/s"),
    ("bit", "bit/s"),
    ("kbit", "kbit/s"),
    ("Kbit", "kbit/s"),
    ("Mbit", "Mbit/s"),
    ("mbit", "Mbit/s"),
    ("Gbit", "Gbit/s"),
    ("gbit", "Gbit/s"),
    ("mbit/s", "Mbit/s"),
    ("gbit/s", "Gbit/s"),
    ("nsec", "ns"),
    ("usecs", "us"),
    ("microseconds", "us"),
    ("msecs", "ms"),
    ("millisecond", "ms"),
    ("milliseconds", "ms"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hour", "h"),
    ("hours", "h"),
    ("byte", "B"),
    ("bytes", "B"),
    ("Byte", "B"),
    ("Bytes", "B"),
    ("bits/s", "bit/s"),
    ("Kbit/s", "kbit/s"),
    ("kbits/s", "kbit/s"),
    ("Mbits/s", "Mbit/s"),
    ("Gbits/s", "Gbit/s"),
    ("MBit/s", "Mbit/s"),
    ("GBit/s", "Gbit/s"),
    ("kbit/sec", "kbit/s"),
    ("Mbit/sec", "Mbit/s"),
    ("Gbit/sec", "Gbit/s"),
];

/// Units that may mean one of ours, or another: the first that is one of the quantity's is the question to ask.
const DOUBTS: [(&str, &[&str]); 20] = [
    ("k", &["kbit/s", "kB"]),
    ("K", &["kbit/s", "KiB"]),
    ("M", &["Mbit/s", "MB"]),
    ("m", &["Mbit/s", "ms", "MB"]),
    ("G", &["Gbit/s", "GB"]),
    ("g", &["Gbit/s", "GB"]),
    ("kb", &["kbit/s", "kB"]),
    ("KB", &["kB"]),
    ("Kb", &["kbit/s", "kB"]),
    ("mb", &["Mbit/s", "MB"]),
    ("Mb", &["Mbit/s", "MB"]),
    ("gb", &["Gbit/s", "GB"]),
    ("Gb", &["Gbit/s", "GB"]),
    ("b", &["bit/s", "B"]),
    ("kb/s", &["kbit/s"]),
    ("Kb/s", &["kbit/s"]),
    ("mb/s", &["Mbit/s"]),
    ("Mb/s", &["Mbit/s"]),
    ("gb/s", &["Gbit/s"]),
    ("Gb/s", &["Gbit/s"]),
];

/// Bytes a second: a rate is in bits.
const OF_BYTES: [(&str, &str); 4] =
    [("B/s", "bit/s"), ("kB/s", "kbit/s"), ("MB/s", "Mbit/s"), ("GB/s", "Gbit/s")];

const RATES: [Unit; 4] = [("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];

/// A time such as `250 us`.
///
/// # Errors
///
/// One sentence with the fault and the allowed form.
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

/// Foreign text in an error: in quotes, escaped, and not too long.
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

/// The quantity that an unknown unit may have meant.
fn meant(number: &str, unit: &str, units: &[Unit]) -> Option<String> {
    let known = |wanted: &str| units.iter().any(|&(name, _)| name == wanted);
    if let Some((_, bits)) = OF_BYTES.iter().find(|&&(other, bits)| other == unit && known(bits)) {
        let eight = number.parse::<u64>().ok()?.checked_mul(8)?;
        return Some(format!("{eight} {bits}"));
    }
    let asked = DOUBTS.iter().find(|&&(other, _)| other == unit);
    let asked = asked.and_then(|(_, names)| names.iter().copied().find(|name| known(name)));
    let alike = || units.iter().map(|&(name, _)| name).find(|name| name.eq_ignore_ascii_case(unit));
    Some(format!("{number} {}", asked.or_else(alike)?))
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
    let known = |wanted: &str| units.iter().find(|&&(name, _)| name == wanted);
    let spelt = || SPELLINGS.iter().find(|&&(other, _)| other == unit).and_then(|&(_, name)| known(name));
    let Some(&(_, scale)) = known(unit).or_else(spelt) else {
        // Guessing a factor of eight or of a thousand would mislead; asking does not.
        let hint = meant(number, unit, units)
            .map_or(String::new(), |text| format!(" (did you mean {}?)", quote(&text)));
        return Err(format!(
            "{} has an unknown unit {}{hint}; allowed units: {}",
            quote(text),
            quote(unit),
            names()
        ));
    };
    let too_large = || {
        let (largest, scale) = units.last().copied().unwrap_or((base, 1));
        format!("{} is too large; allowed: up to {} {largest}", quote(text), u64::MAX / scale)
    };
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

#[cfg(test)]
mod tests {
    use super::{rate, size, time};
    use crate::Duration;

    #[test]
    fn spellings_that_mean_one_unit_are_taken_and_others_are_asked_about() {
        for text in ["10 Mbit/s", "10mbit", "10Mbps", "10 mbps", "10 Mbit"] {
            assert_eq!(rate(text), Ok(10_000_000), "{text}");
        }
        for text in ["10 us", "10us", "10 \u{b5}s", "10 \u{3bc}s", "10 usec"] {
            assert_eq!(time(text), Ok(Duration::from_micros(10)), "{text}");
        }
        assert_eq!(
            rate("10M").unwrap_err(),
            "\"10M\" has an unknown unit \"M\" (did you mean \"10 Mbit/s\"?); allowed units: bit/s, kbit/s, Mbit/s, Gbit/s"
        );
        assert!(size("10M").unwrap_err().contains("(did you mean \"10 MB\"?)"));
        assert!(time("5m").unwrap_err().contains("(did you mean \"5 ms\"?)"));
        assert_eq!(
            rate("99999999999999 Gbit/s").unwrap_err(),
            "\"99999999999999 Gbit/s\" is too large; allowed: up to 18446744073 Gbit/s"
        );
        assert!(time("6000000 h").unwrap_err().ends_with("allowed: up to 5124095 h"));
        for (text, meant) in [("10 MB/s", "80 Mbit/s"), ("10 mb/s", "10 Mbit/s"), ("10 GBIT/S", "10 Gbit/s")]
        {
            let told = rate(text).unwrap_err();
            assert!(told.contains(&format!("(did you mean \"{meant}\"?)")), "{told}");
        }
        assert!(time("10 MS").unwrap_err().contains("(did you mean \"10 ms\"?)"));
        assert!(size("10 kib").unwrap_err().contains("(did you mean \"10 KiB\"?)"));
        assert_eq!(time("2 seconds"), time("2 s"));
        assert_eq!(size("10 bytes"), size("10 B"));
        assert_eq!(rate("10 MBit/s"), rate("10 Mbit/s"));
        // A size is no rate, and bytes a second are no unit here.
        assert!(size("10 Mbps").is_err() && rate("10 MB/s").is_err());
    }
}
