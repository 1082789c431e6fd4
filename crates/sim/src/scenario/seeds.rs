//! Seeds: `"1..30"` (both ends included), `"1..5, 9"`, `7`, `[1, 2, 3]`.

use super::error::{Problem, quote};
use super::keys::Field;
use super::tree::Value;

/// More runs than this in one scenario are surely a slip.
const MOST: usize = 1_000_000;

/// A list of seeds written as text: numbers and ranges with both ends included, separated by commas.
///
/// # Errors
/// One sentence with the fault and the allowed form.
pub fn parse_seeds(text: &str) -> Result<Vec<u64>, String> {
    let wrong = || format!("{} is no list of seeds; write \"1..30\", \"7\" or \"1..5, 9\"", quote(text));
    let number = |text: &str| {
        let text = text.trim();
        if text.bytes().all(|b| b.is_ascii_digit()) { text.parse::<u64>().ok() } else { None }
    };
    let mut seeds = Vec::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once("..") {
            Some((first, last)) => (number(first), number(last)),
            None => (number(part), number(part)),
        };
        let (Some(first), Some(last)) = (first, last) else { return Err(wrong()) };
        if first > last {
            return Err(format!(
                "{} is an empty range of seeds; the first is larger than the last",
                quote(part.trim())
            ));
        }
        let room = MOST.saturating_sub(seeds.len());
        if usize::try_from(last - first).map_or(true, |more| more >= room) {
            return Err(too_many());
        }
        seeds.extend(first..=last);
    }
    unique(seeds)
}

fn too_many() -> String {
    format!("too many seeds; allowed: 1 to {MOST}")
}

fn unique(seeds: Vec<u64>) -> Result<Vec<u64>, String> {
    let mut sorted = seeds.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair.first() == pair.last()).and_then(<[u64]>::first) {
        Some(twice) => Err(format!("seed {twice} is there twice")),
        None => Ok(seeds),
    }
}

pub(super) fn read(field: &Field<'_>) -> Result<Vec<u64>, Problem> {
    let most = i64::MAX.unsigned_abs();
    match &field.node.value {
        Value::Integer(_) => Ok(vec![field.integer(0, most)?]),
        Value::Array(items) if items.is_empty() => Err(field.problem("no seeds; at least one is needed")),
        Value::Array(items) if items.len() > MOST => Err(field.problem(too_many())),
        Value::Array(_) => {
            let seeds = field
                .items("a list of seeds")?
                .map(|item| item.integer(0, most))
                .collect::<Result<_, _>>()?;
            unique(seeds).map_err(|message| field.problem(message))
        }
        Value::Text(text) => parse_seeds(text).map_err(|message| field.problem(message)),
        other => Err(field
            .problem(format!("expected \"1..30\", a number or a list of numbers, found {}", other.kind()))),
    }
}
