//! Amounts and rates as a person reads them.

/// Bytes as a person reads them, in powers of 1,000.
pub(crate) fn amount(bytes: f64) -> String {
    with_prefix(bytes, "B")
}

/// Bits a second as a person reads them.
pub(crate) fn rate(bits: f64) -> String {
    with_prefix(bits, "bit/s")
}

fn with_prefix(number: f64, unit: &str) -> String {
    let prefixes = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    match prefixes.iter().find(|(least, _)| number >= *least) {
        Some((least, prefix)) => format!("{:.2} {prefix}{unit}", number / least),
        None => format!("{number:.0} {unit}"),
    }
}
