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

// rfc9260:16-1
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

const INTERFACE: &str = include_str!("../../../docs/api.md");

/// The names of the variants of an enum, as its file has them.
fn variants(source: &'static str, name: &str) -> Vec<&'static str> {
    let (_, rest) = source.split_once(&format!("pub enum {name} {{\n")).expect("the enum");
    let (body, _) = rest.split_once("\n}\n").expect("its end");
    let name = |line: &'static str| {
        let line = line.strip_prefix("    ").filter(|line| line.starts_with(char::is_uppercase))?;
        line.split(|c: char| !c.is_alphanumeric()).next()
    };
    body.lines().filter_map(name).collect()
}

#[test]
fn every_event_has_a_row() {
    let (_, events) = INTERFACE.split_once("\n## Events\n").expect("the tables of events");
    let (events, _) = events.split_once("\n## ").expect("their end");
    let first_cells: Vec<&str> = events.lines().filter_map(|line| line.split('|').nth(1)).collect();
    let told = variants(include_str!("../src/event.rs"), "Event");
    let of_endpoints = variants(include_str!("../src/incoming.rs"), "EndpointEvent");
    assert!(told.len() > 20 && of_endpoints.contains(&"Drained"), "{told:?} {of_endpoints:?}");
    for event in told.iter().chain(&of_endpoints) {
        let rows = first_cells.iter().filter(|cell| cell.contains(&format!("`{event}`"))).count();
        assert_eq!(rows, 1, "{event}");
    }
    let named: usize = first_cells.iter().map(|cell| cell.matches('`').count() / 2).sum();
    assert_eq!(named, told.len() + of_endpoints.len(), "an event that does not exist");
}

#[test]
fn what_can_be_changed_is_listed() {
    let (_, list) = TEXT.split_once("others are refused, by name: ").expect("the list");
    let (list, _) = list.split_once('.').expect("its end");
    let listed: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
    assert_eq!(listed, Config::changeable());
}

/// The tests that a page names, as `file::test`.
fn named(page: &str) -> Vec<(&str, &str)> {
    let quoted = page.split('`').skip(1).step_by(2);
    let names = quoted.filter_map(|quoted| quoted.split_once("::"));
    let is_name = |name: &str| {
        name.starts_with(char::is_lowercase) && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    names.filter(|(file, test)| is_name(file) && is_name(test)).collect()
}

#[test]
fn every_test_that_a_page_names_exists() {
    for (page, least) in
        [(include_str!("../../../docs/faults.md"), 45), (include_str!("../../../docs/attacks.md"), 40)]
    {
        let mut count = 0;
        for (file, test) in named(page) {
            let path = format!("{}/tests/{file}.rs", env!("CARGO_MANIFEST_DIR"));
            let Ok(source) = std::fs::read_to_string(path) else { continue };
            assert!(source.contains(&format!("fn {test}(")), "{file}::{test}");
            count += 1;
        }
        assert!(count >= least, "{count}");
    }
}
