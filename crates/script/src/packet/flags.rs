//! Chunk flags as numbers and as letters.

use crate::value::Value;

/// The letters of a chunk, highest bit first.
fn letters(chunk: &str) -> &'static [(char, u8)] {
    match chunk {
        "DATA" | "I_DATA" => &[('I', 8), ('U', 4), ('B', 2), ('E', 1)],
        "ABORT" | "SHUTDOWN_COMPLETE" => &[('T', 1)],
        _ => &[],
    }
}

/// The number that a script's flags stand for. An error is a sentence about the wrong flag.
pub(crate) fn number(chunk: &str, value: &Value) -> Result<Option<u8>, String> {
    let known = letters(chunk);
    let names: String = known.iter().map(|(letter, _)| *letter).collect();
    let wrong = || {
        let allowed =
            if names.is_empty() { "a number".to_owned() } else { format!("a number or letters of {names}") };
        format!("{chunk}: flgs={value} is not understood; allowed: {allowed}")
    };
    match value {
        Value::Any => Ok(None),
        Value::Number(number) => u8::try_from(*number).map(Some).map_err(|_| wrong()),
        Value::Word(word) => {
            let mut sum = 0;
            for letter in word.chars() {
                let Some((_, bit)) = known.iter().find(|(known, _)| *known == letter) else {
                    return Err(wrong());
                };
                sum |= bit;
            }
            Ok(Some(sum))
        }
        Value::Or(parts) => {
            let mut sum = 0;
            for part in parts {
                sum |= number(chunk, part)?.unwrap_or(0);
            }
            Ok(Some(sum))
        }
        _ => Err(wrong()),
    }
}

/// As a script would write them.
pub(crate) fn shown(chunk: &str, flags: u8) -> String {
    let known = letters(chunk);
    let all = known.iter().fold(0, |sum, (_, bit)| sum | bit);
    if flags == 0 || flags & !all != 0 {
        return flags.to_string();
    }
    known.iter().filter(|(_, bit)| flags & bit != 0).map(|(letter, _)| *letter).collect()
}
