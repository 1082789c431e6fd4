//! Quantities of a scenario: those of `anabranch_base::units`, an infinite rate, and times that are drawn.

use anabranch_base::units;
pub(super) use anabranch_base::units::{size, time};

use super::error::quote;
use super::rate::Rate;
use super::time_draw::TimeDraw;

/// A rate such as `10 Mbit/s`, or `infinite`.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    if text.trim() == "infinite" {
        return Ok(Rate::Infinite);
    }
    match units::rate(text) {
        Ok(0) => Err(format!("{} is no rate; at least 1 bit/s, or \"infinite\"", quote(text))),
        Ok(bits) => Ok(Rate::BitsPerSecond(bits)),
        // After a list of units there is one more thing to write.
        Err(message) if message.ends_with("Gbit/s") => Err(format!("{message}, or \"infinite\"")),
        Err(message) => Err(format!("{message}; \"infinite\" is a rate too")),
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
