//! State of an association as text in which equal situations are equal: times count from now, numbers that were drawn
//! are called in the order in which they appear, and counters for statistics are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anabranch_base::Instant;

/// Numbers from here on are taken to be drawn: tags, TSNs, nonces.
const DRAWN: u64 = 100_000;
/// Numbers so near to each other have something to do with each other: TSNs of one space.
const NEAR: u64 = 64;

/// Gives names to numbers that were drawn.
#[derive(Default)]
pub(crate) struct Names {
    bases: Vec<u64>,
    lists: BTreeMap<Vec<u8>, usize>,
}

impl Names {
    fn number(&mut self, value: u64, out: &mut String) {
        let near = self.bases.iter().position(|base| base.abs_diff(value) < NEAR);
        let place = near.unwrap_or_else(|| {
            self.bases.push(value);
            self.bases.len() - 1
        });
        let _ = write!(out, "#{place}{:+}", value as i128 - i128::from(self.bases[place]));
    }

    /// Appends `text`, rewritten.
    pub(crate) fn rewrite(&mut self, now: Instant, text: &str, out: &mut String) {
        let bytes = text.as_bytes();
        let (mut at, mut word) = (0, false);
        while let Some(&byte) = bytes.get(at) {
            if let Some(skip) = left_out(&text[at..]).filter(|_| !word) {
                at += skip;
                continue;
            }
            if byte == b'[' {
                let len = list(&bytes[at..]);
                if len > 60 {
                    let next = self.lists.len();
                    let place = *self.lists.entry(bytes[at..at + len].to_vec()).or_insert(next);
                    let _ = write!(out, "[list {place}]");
                    at += len;
                    continue;
                }
            }
            if byte.is_ascii_digit() && !word {
                let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
                let value: u64 = text[at..at + digits].parse().unwrap_or(u64::MAX);
                at += digits;
                let fraction = text.get(at..at + 12).filter(|f| f.starts_with('.') && f.ends_with(" s"));
                if let Some(nanos) = fraction.and_then(|f| f[1..10].parse::<u64>().ok()) {
                    let instant = i128::from(value) * 1_000_000_000 + i128::from(nanos);
                    let _ = write!(out, "{:+}ns", instant - i128::from(now.as_nanos()));
                    at += 12;
                } else if value >= DRAWN {
                    self.number(value, out);
                } else {
                    let _ = write!(out, "{value}");
                }
                continue;
            }
            word = byte.is_ascii_alphanumeric() || byte == b'_';
            out.push(char::from(byte));
            at += 1;
        }
    }
}

/// Length of a list of small numbers, 0 if it is none.
fn list(bytes: &[u8]) -> usize {
    let inner = bytes[1..].iter().take_while(|b| b.is_ascii_digit() || matches!(b, b',' | b' ')).count();
    if bytes.get(1 + inner) == Some(&b']') { inner + 2 } else { 0 }
}

/// Length of a field that says nothing of the situation.
fn left_out(text: &str) -> Option<usize> {
    if text.starts_with("now: ") {
        return text.find(',');
    }
    let name = ["stats: Stats {", "config: Config {"].into_iter().find(|name| text.starts_with(name))?;
    let mut depth = 1;
    let rest = text[name.len()..].bytes().position(|byte| {
        depth += i32::from(byte == b'{') - i32::from(byte == b'}');
        depth == 0
    })?;
    Some(name.len() + rest + 1)
}

#[test]
fn what_was_drawn_and_when_makes_no_difference() {
    let text = |now: u64, tag: u32, tsn: u32| {
        let mut out = String::new();
        let said = format!(
            "A {{ now: {now}.000000000 s, tag: {tag}, tsn: Tsn({tsn}), next: {}, t1: {}.500000000 s, \
             stats: Stats {{ a: {tag}, b: X {{ c: {now} }} }}, small: 7 }}",
            tsn + 1,
            now + 3
        );
        Names::default().rewrite(Instant::from_nanos(now * 1_000_000_000), &said, &mut out);
        out
    };
    assert_eq!(text(5, 1_000_000, 2_000_000), text(80, 3_456_789, 9_000_000));
    assert_ne!(text(5, 1_000_000, 2_000_000), text(5, 1_000_000, 1_000_001));
    assert!(text(5, 1_000_000, 2_000_000).contains("next: #1+1, t1: +3500000000ns"));
}
