//! `docs/explanation/tcp.md` names every profile and holds the table of values as the code has it.

use anabranch_tcp::{Config, PROFILES};

const TEXT: &str = include_str!("../../../docs/explanation/tcp.md");

fn table() -> String {
    let mut table = String::from("| value | default | allowed | meaning |\n|---|---|---|---|\n");
    for key in Config::keys() {
        let doc = key.doc.replace('|', "\\|");
        table.push_str(&format!("| `{}` | {} | {} | {} |\n", key.name, key.default, key.allowed, doc));
    }
    table
}

#[test]
fn every_value_is_documented_as_it_is() {
    let (_, rest) = TEXT.split_once("<!-- keys -->\n").expect("the beginning of the table");
    let (written, _) = rest.split_once("<!-- end of keys -->").expect("its end");
    let table = table();
    assert!(written == table, "docs/explanation/tcp.md must hold this table:\n{table}");
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
