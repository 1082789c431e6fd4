//! Texts that are no scripts: each ends with an error of one sentence.

use std::path::Path;

use anabranch_base::Rng;
use anabranch_script::{Options, run, suite};

#[test]
fn mutations_of_scripts_never_panic() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts");
    let mut rng = Rng::stream(1, "garbage", "script");
    let words = [
        "...",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "-",
        "~",
        "+",
        "|",
        ":",
        "0xffffffffffffffff",
        "99999999999",
        "-1",
        ";",
        "\"",
        "=",
        "tag=",
        "len=3",
        "*",
    ];
    for found in suite::find(&root).unwrap() {
        let text = std::fs::read_to_string(&found.path).unwrap();
        for _ in 0..30 {
            let mut chars: Vec<char> = text.chars().collect();
            for _ in 0..=rng.below(4) {
                let at = rng.below(chars.len() as u64) as usize;
                match rng.below(3) {
                    0 => {
                        chars.remove(at);
                    }
                    1 => {
                        let word = words[rng.below(words.len() as u64) as usize];
                        chars.splice(at..at, word.chars());
                    }
                    _ => chars[at] = char::from(rng.below(128) as u8),
                }
            }
            let text: String = chars.into_iter().collect();
            if let Err(failure) = run(&text, &Options::default()) {
                assert!(!failure.what.is_empty());
            }
        }
    }
}

#[test]
fn deep_and_long_texts_end() {
    for text in [
        "0.0 f(".to_owned() + &"[".repeat(100_000),
        "0.0 f(".to_owned() + &"-".repeat(100_000),
        "#ifdef A\n".repeat(10_000),
    ] {
        assert!(run(&text, &Options::default()).is_err());
    }
}
