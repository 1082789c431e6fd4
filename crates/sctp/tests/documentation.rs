//! `docs/sctp.md` names every profile and quirk and holds the table of values as the code has it.

use anabranch_sctp::Config;

const TEXT: &str = include_str!("../../../docs/sctp.md");

fn table() -> String {
    let config = Config::rfc9260();
    let mut table = String::from("| value | `rfc9260` | allowed | meaning |\n|---|---|---|---|\n");
    for key in Config::keys() {
        let value = config.get(key.name).unwrap_or_default();
        table.push_str(&format!("| `{}` | {value} | {} | {} |\n", key.name, key.expected, key.doc));
    }
    table
}

#[test]
fn every_value_is_documented_as_it_is() {
    let (_, rest) = TEXT.split_once("<!-- keys -->\n").expect("the beginning of the table");
    let (written, _) = rest.split_once("<!-- end of keys -->").expect("its end");
    let table = table();
    assert!(written == table, "docs/sctp.md must hold this table:\n{table}");
}

#[test]
fn every_profile_is_named() {
    for name in Config::PROFILES {
        assert!(TEXT.contains(&format!("`{name}`")), "{name}");
    }
}

/// Quirks are off but where the document says so.
#[test]
fn quirks_are_off_and_documented() {
    for key in Config::keys().iter().filter(|key| key.name.starts_with("quirk_")) {
        assert!(TEXT.contains(&format!("| `{}` |", key.name)), "{}", key.name);
        for name in Config::PROFILES.iter().filter(|name| !name.ends_with("-bugs")) {
            let value = Config::named(name).and_then(|config| config.get(key.name));
            let of_linux = ["quirk_t3_runs_on", "quirk_fsn_from_second"].contains(&key.name);
            let expected = (*name == "linux-6.1" && of_linux).to_string();
            assert_eq!(value.as_deref(), Some(&*expected), "{} in {name}", key.name);
        }
    }
}
