//! No input makes the reader panic, and every error is one line.

use proptest::prelude::*;

use super::super::{Place, Scenario};
use super::{EXAMPLES, GOOD};

/// Reads, and looks at the error if there is one.
fn survives(text: &str, overrides: &[(String, String)]) -> Result<(), TestCaseError> {
    if let Err(error) = Scenario::from_toml(text, "f.toml", overrides) {
        let line = error.to_string();
        prop_assert_eq!(line.lines().count(), 1, "{:?}", line);
        prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
        if let Place::File { line, column } = error.place {
            prop_assert!(line >= 1 && line <= text.matches('\n').count() + 1 && column >= 1);
        }
    }
    Ok(())
}

/// Pieces that mean something somewhere.
const PIECES: [&str; 30] = [
    "\"",
    "=",
    "[",
    "]",
    "{",
    "}",
    "[[link]]",
    "[[flow]]",
    "[record]",
    "\n",
    ".",
    "-1",
    "0",
    "1e400",
    "nan",
    "inf",
    "\"10 s\"",
    "\"infinite\"",
    "\"uniform(1 s\"",
    "true",
    "\u{0}",
    "\u{202e}",
    "é",
    "both = true\n",
    "count = 1000\n",
    "99999999999999999999",
    "name",
    "\"\"\"",
    "'''",
    "1979-05-27",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text(text in any::<String>(), pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..12)) {
        survives(&text, &[])?;
        survives(&pieces.concat(), &[])?;
    }

    /// A good file with a few bytes cut out and a few pieces put in.
    #[test]
    fn mutated_files(
        file in 0..5_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..20_usize, prop::sample::select(&PIECES[..])), 1..5),
    ) {
        let mut text: Vec<char> = if file == 4 { GOOD } else { EXAMPLES[file].1 }.chars().collect();
        for (at, cut, piece) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, piece.chars());
        }
        survives(&text.into_iter().collect::<String>(), &[])?;
    }

    /// A value replaced by another of the file: well-formed, and wrong in meaning more often than in form.
    #[test]
    fn swapped_values(file in 0..4_usize, a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let mut lines: Vec<String> = EXAMPLES[file].1.lines().map(str::to_owned).collect();
        let (a, b) = (a.index(lines.len()), b.index(lines.len()));
        if let (Some((key, _)), Some((_, value))) = (lines[a].split_once('='), lines[b].split_once('=')) {
            lines[a] = format!("{key}={value}");
        }
        survives(&lines.join("\n"), &[])?;
    }

    #[test]
    fn arbitrary_overrides(path in "[a-z.*\\-]{0,20}|(link|flow)\\.[a-z*]{1,5}\\.[a-z_.]{1,12}", value in any::<String>()) {
        survives(GOOD, &[(path, value)])?;
    }

    #[test]
    fn seeds_never_run_wild(text in "[0-9., -]{0,30}") {
        if let Ok(seeds) = super::super::parse_seeds(&text) {
            prop_assert!(!seeds.is_empty() && seeds.len() <= 1_000_000);
        }
    }
}

#[test]
fn depth_is_bounded() {
    let n = 100_000;
    for text in [
        format!("a = {}1{}", "[".repeat(n), "]".repeat(n)),
        format!("a = {}1{}", "{a=".repeat(n), "}".repeat(n)),
        format!("[{}a]\n", "a.".repeat(n)),
        format!("{}a = 1\n", "a.".repeat(n)),
    ] {
        let line = Scenario::from_toml(&text, "f.toml", &[]).expect_err("too deep").to_string();
        assert!(line.starts_with("f.toml:1:") && line.contains("not TOML: "), "{line}");
    }
    let path = "a.".repeat(n) + "a";
    assert!(Scenario::from_toml(GOOD, "f.toml", &[(path, "1".to_owned())]).is_err());
    let value = "[".repeat(n);
    assert!(Scenario::from_toml(GOOD, "f.toml", &[("seeds".to_owned(), value)]).is_err());
}
