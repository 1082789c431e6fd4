//! Amounts and rates in the notation of iperf3.

use crate::live;

/// Unit of a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Format {
    letter: char,
    bytes: bool,
    factor: f64,
}

/// `K`, `M`, `G` alone are powers of 1,024; otherwise a size with its unit.
pub(super) fn size(text: &str) -> Result<u64, String> {
    match with_letter(text, 1024) {
        Some(bytes) => Ok(bytes),
        None => {
            anabranch_base::units::size(text).map_err(|error| format!("{error}; or K, M, G, powers of 1,024"))
        }
    }
}

/// Bits a second. `K`, `M`, `G` alone are powers of 1,000 of them; a size with its unit is bytes a second.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    if let Some(bits) = with_letter(text, 1000).filter(|bits| *bits > 0) {
        return Ok(bits);
    }
    let in_bytes = anabranch_base::units::size(text).ok().and_then(|bytes| bytes.checked_mul(8));
    let bits = match in_bytes {
        Some(bits) => bits,
        None => anabranch_base::units::rate(text)
            .map_err(|error| format!("{error}; K, M, G, powers of 1,000; or a size, bytes a second"))?,
    };
    if bits == 0 { Err("a rate is more than 0".to_owned()) } else { Ok(bits) }
}

/// A number, with one of the three letters or none.
fn with_letter(text: &str, base: u64) -> Option<u64> {
    let (number, letter) = match text.strip_suffix(|c: char| c.is_ascii_alphabetic()) {
        Some(number) => (number, text.chars().last()?),
        None => (text, ' '),
    };
    let power = match letter {
        ' ' => 0,
        'k' | 'K' => 1,
        'm' | 'M' => 2,
        'g' | 'G' => 3,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(base.pow(power))
}

pub(super) fn format(text: &str) -> Result<Format, String> {
    let letter = text.chars().next().filter(|_| text.len() == 1);
    let (power, bytes) = match letter {
        Some('k') => (1, false),
        Some('m') => (2, false),
        Some('g') => (3, false),
        Some('K') => (1, true),
        Some('M') => (2, true),
        Some('G') => (3, true),
        _ => return Err("one of k, m, g (bits), K, M, G (bytes)".to_owned()),
    };
    let base: f64 = if bytes { 1024.0 } else { 1000.0 };
    Ok(Format {
        letter: letter.map_or('K', |letter| letter.to_ascii_uppercase()),
        bytes,
        factor: base.powi(power),
    })
}

/// Bits a second in the unit that is wanted.
pub(super) fn rate_in_words(bits: f64, format: Option<Format>) -> String {
    match format {
        None => live::rate(bits),
        Some(Format { letter, bytes: true, factor }) => format!("{:.2} {letter}Byte/s", bits / 8.0 / factor),
        Some(Format { letter, bytes: false, factor }) => format!("{:.2} {letter}bit/s", bits / factor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_powers_of_1024_in_sizes_and_of_1000_in_rates() {
        assert_eq!(size("16K"), Ok(16 << 10));
        assert_eq!(size("2g"), Ok(2 << 30));
        assert_eq!(size("100"), Ok(100));
        assert_eq!(size("16 kB"), Ok(16_000));
        assert_eq!(rate("10M"), Ok(10_000_000));
        assert_eq!(rate("1 MB"), Ok(8_000_000));
        assert_eq!(rate("3 Mbit/s"), Ok(3_000_000));
        assert!(size("99999999999G").is_err() && rate("0").is_err() && size("K").is_err());
    }

    #[test]
    fn a_rate_is_told_in_the_unit_that_is_wanted() {
        assert_eq!(rate_in_words(8_388_608.0, Some(format("M").unwrap())), "1.00 MByte/s");
        assert_eq!(rate_in_words(8_388_608.0, Some(format("k").unwrap())), "8388.61 Kbit/s");
        assert!(format("x").is_err() && format("kk").is_err());
    }
}
