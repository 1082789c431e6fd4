//! Makes patterns: at named positions, at random, in bursts, by Gilbert and Elliott.

use anabranch_base::{Duration, Rng};

use super::{Driven, Entry, Kind, Pattern, PatternError, Value};

/// The rule that chooses the marked positions.
#[derive(Clone, Debug, PartialEq)]
pub enum Places {
    /// These, as ranges with both ends; in any order.
    At(Vec<(u64, u64)>),
    /// Each position on its own, with probability `p`.
    Random {
        /// 0 to 1.
        p: f64,
    },
    /// Bursts: each position outside one starts one with probability `p`; lengths are geometric.
    Bursts {
        /// 0 to 1.
        p: f64,
        /// Mean length in positions, at least 1.
        mean: f64,
    },
    /// Every `every` positions, `length` in a row, from position `every` on.
    Regular {
        /// Distance of the first positions of two bursts, at least `length`.
        every: u64,
        /// Positions in a row, at least 1.
        length: u64,
    },
    /// Gilbert-Elliott: a good and a bad state, each with a probability of a mark. It starts in the good one.
    GilbertElliott {
        /// From good to bad, at each position.
        to_bad: f64,
        /// From bad to good.
        to_good: f64,
        /// Probability of a mark in the good state.
        good: f64,
        /// Probability of a mark in the bad state.
        bad: f64,
    },
}

/// The values for the marked positions of a generated pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Always the same.
    Same(Value),
    /// So many different bits below a limit.
    RandomBits {
        /// How many, at least 1.
        count: u32,
        /// Bits are drawn from 0 to this - 1; at least `count`.
        below: u32,
    },
    /// A delay between two, both included.
    RandomDelay(Duration, Duration),
    /// A rate between two, both included, bits per second.
    RandomRate(u64, u64),
}

impl Values {
    /// The kind of pattern that they make.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Same(value) => value.kind(),
            Self::RandomBits { .. } => Kind::BitError,
            Self::RandomDelay(..) => Kind::Delay,
            Self::RandomRate(..) => Kind::Bandwidth,
        }
    }
}

/// Makes a pattern of `length` positions. The same seed makes the same pattern.
///
/// # Errors
///
/// When a probability is not between 0 and 1, a range is empty, or positions are not within `length`.
pub fn generate(
    places: &Places,
    values: &Values,
    driven: Driven,
    length: u64,
    repeat: bool,
    seed: u64,
) -> Result<Pattern, PatternError> {
    check(places, values)?;
    let mut rng = Rng::stream(seed, "pattern", "places");
    let mut contents = Rng::stream(seed, "pattern", "values");
    let marked = mark(places, length, &mut rng);
    let each = values.kind().is_state() || !matches!(values, Values::Same(_));
    let mut entries = Vec::new();
    for (first, last) in marked {
        if each {
            let singles =
                (first..=last).map(|at| Entry { first: at, last: at, value: draw(values, &mut contents) });
            entries.extend(singles);
        } else {
            entries.push(Entry { first, last, value: draw(values, &mut contents) });
        }
    }
    Pattern::new(values.kind(), driven, Some(length), repeat, entries)
}

fn check(places: &Places, values: &Values) -> Result<(), PatternError> {
    let probability = |name: &str, p: f64| {
        if (0.0..=1.0).contains(&p) {
            Ok(())
        } else {
            Err(PatternError(format!("{name}: {p} is no probability; allowed: 0 to 1")))
        }
    };
    match places {
        Places::At(_) => {}
        Places::Random { p } => probability("p", *p)?,
        Places::Bursts { p, mean } => {
            probability("p", *p)?;
            if !(*mean >= 1.0 && mean.is_finite()) {
                return Err(PatternError(format!("a burst has a mean length of at least 1, not {mean}")));
            }
        }
        Places::Regular { every, length } => {
            if *length == 0 || every < length {
                return Err(PatternError(format!(
                    "bursts of {length} every {every} positions; allowed: at least 1 and at most the distance"
                )));
            }
        }
        Places::GilbertElliott { to_bad, to_good, good, bad } => {
            probability("good to bad", *to_bad)?;
            probability("bad to good", *to_good)?;
            probability("loss in the good state", *good)?;
            probability("loss in the bad state", *bad)?;
        }
    }
    match values {
        Values::RandomBits { count, below } if *count == 0 || below < count => {
            Err(PatternError(format!("{count} different bits below {below}; allowed: 1 to {below}")))
        }
        Values::RandomDelay(low, high) if low > high => {
            Err(PatternError("the first delay is longer than the second".to_owned()))
        }
        Values::RandomRate(low, high) if low > high => {
            Err(PatternError("the first rate is higher than the second".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Ranges of marked positions, rising, none touching another.
fn mark(places: &Places, length: u64, rng: &mut Rng) -> Vec<(u64, u64)> {
    let mut marked: Vec<(u64, u64)> = Vec::new();
    let mut add = |position: u64| match marked.last_mut() {
        Some(last) if last.1 + 1 == position => last.1 = position,
        _ => marked.push((position, position)),
    };
    match *places {
        Places::At(ref ranges) => return joined(ranges),
        Places::Random { p } => (1..=length).filter(|_| rng.chance(p)).for_each(&mut add),
        Places::Bursts { p, mean } => {
            let mut inside = false;
            for position in 1..=length {
                inside = if inside { !rng.chance(1.0 / mean) } else { rng.chance(p) };
                if inside {
                    add(position);
                }
            }
        }
        Places::Regular { every, length: run } => {
            (1..=length).filter(|at| *at >= every && at % every < run).for_each(&mut add);
        }
        Places::GilbertElliott { to_bad, to_good, good, bad } => {
            let mut is_bad = false;
            for position in 1..=length {
                if rng.chance(if is_bad { bad } else { good }) {
                    add(position);
                }
                is_bad = if is_bad { !rng.chance(to_good) } else { rng.chance(to_bad) };
            }
        }
    }
    marked
}

fn joined(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::new();
    for (first, last) in sorted {
        match out.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => out.push((first, last)),
        }
    }
    out
}

fn draw(values: &Values, rng: &mut Rng) -> Value {
    let between = |rng: &mut Rng, low: u64, high: u64| match (high - low).checked_add(1) {
        Some(span) => low + rng.below(span),
        None => rng.u64(),
    };
    match *values {
        Values::Same(ref value) => value.clone(),
        Values::RandomBits { count, below } => {
            let mut bits: Vec<u32> = Vec::new();
            while bits.len() < count as usize {
                let bit = rng.below(u64::from(below)) as u32;
                if let Err(place) = bits.binary_search(&bit) {
                    bits.insert(place, bit);
                }
            }
            Value::Bits(bits)
        }
        Values::RandomDelay(low, high) => {
            Value::Delay(Duration::from_nanos(between(rng, low.as_nanos(), high.as_nanos())))
        }
        Values::RandomRate(low, high) => Value::Rate(between(rng, low, high)),
    }
}
