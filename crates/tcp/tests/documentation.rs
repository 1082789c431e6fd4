//! `docs/explanation/tcp.md` names every profile and quirk.

use anabranch_tcp::{Config, PROFILES};

const TEXT: &str = include_str!("../../../docs/explanation/tcp.md");

const VALUES: &str = include_str!("data/rfc-values.txt");

/// The values of `rfc` change only when the golden file does.
#[test]
fn every_value_is_as_it_was_written_down() {
    let line = |name: &str, value: &str| format!("{name} = {value}").trim_end().to_string() + "\n";
    let values: String = Config::keys().iter().map(|key| line(key.name, &key.default)).collect();
    assert!(VALUES == values, "crates/tcp/tests/data/rfc-values.txt must hold:\n{values}");
}

/// The sentences that `anabranch engines` prints of an option.
#[test]
fn every_option_says_what_it_does_and_what_is_allowed() {
    for key in Config::keys() {
        assert!(!key.doc.is_empty() && !key.allowed.is_empty(), "{}", key.name);
    }
}

#[test]
fn every_profile_is_named() {
    for (name, about) in PROFILES {
        assert!(TEXT.contains(&format!("`{name}`")), "{name}");
        assert!(!about.is_empty());
    }
}

/// The quirks are off unless somebody asks for them.
#[test]
fn quirks_are_off_in_every_profile_and_documented() {
    for key in Config::keys().iter().filter(|key| key.name.starts_with("quirk_")) {
        for (name, _) in PROFILES {
            let value = Config::named(name).and_then(|config| config.get(key.name));
            assert_eq!(value.as_deref(), Some("false"), "{} in {name}", key.name);
        }
        assert!(TEXT.contains(&format!("| `{}` | 00", key.name)), "{}", key.name);
    }
}
