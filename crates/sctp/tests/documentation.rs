//! `docs/explanation/engines.md` names every profile and quirk, `docs/reference/api.md` every event, and the tests that pages name exist.

use std::path::{Path, PathBuf};

use anabranch_sctp::Config;

const TEXT: &str = include_str!("../../../docs/explanation/engines.md");

const VALUES: &str = include_str!("golden/rfc9260-values.txt");

/// The values of `rfc9260` are those that RFC 9260 recommends, and change only when the golden file does.
// rfc9260:16-1
#[test]
fn every_value_is_as_it_was_written_down() {
    let config = Config::rfc9260();
    let value = |name: &str| config.get(name).unwrap_or_default();
    let line = |name: &str| format!("{name} = {}", value(name)).trim_end().to_string() + "\n";
    let values: String = Config::keys().iter().map(|key| line(key.name)).collect();
    assert!(VALUES == values, "crates/sctp/tests/golden/rfc9260-values.txt must hold:\n{values}");
}

/// The sentences that `anabranch engines` prints of an option.
#[test]
fn every_option_says_what_it_does_and_what_is_allowed() {
    for key in Config::keys() {
        assert!(!key.doc.is_empty() && !key.expected.is_empty(), "{}", key.name);
    }
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

const INTERFACE: &str = include_str!("../../../docs/reference/api.md");

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

/// Every example that the page names exists.
#[test]
fn every_example_is_there() {
    let (_, examples) = INTERFACE.split_once("\n## Examples\n").expect("the table of examples");
    let (examples, _) = examples.split_once("\n## ").unwrap_or((examples, ""));
    let cells = examples.lines().filter_map(|line| line.split('|').nth(2));
    let named: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(named.len() > 20, "{named:?}");
    let sources = texts(&root().join("crates/sctp/src"), "rs");
    for name in named {
        let (owner, item) = name.split_once("::").unwrap_or(("", name));
        // The documentation in front of an item ends with an example.
        let shown = sources.iter().any(|(_, text)| {
            let declares = |line: &str| {
                let line = line.trim_start().trim_start_matches("pub ").trim_start_matches("const ");
                let words = ["fn ", "struct ", "enum ", ""];
                let declared = words.iter().any(|word| {
                    let rest = line.strip_prefix(word).and_then(|line| line.strip_prefix(item));
                    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
                });
                declared && !line.starts_with("///")
            };
            let lines: Vec<&str> = text.lines().collect();
            let of_owner = owner.is_empty()
                || [
                    format!("impl {owner}"),
                    format!("impl<'a> {owner}"),
                    format!("impl {owner}<"),
                    format!("enum {owner}"),
                ]
                .iter()
                .any(|head| text.contains(head.as_str()));
            of_owner
                && lines.iter().enumerate().filter(|(_, line)| declares(line)).any(|(at, _)| {
                    let before = lines.iter().take(at).rev().map(|line| line.trim_start());
                    let mut doc = before
                        .skip_while(|line| line.starts_with('#'))
                        .take_while(|line| line.starts_with("///"));
                    doc.any(|line| line.starts_with("/// ```"))
                })
        });
        assert!(shown, "{name} has no example");
    }
}

#[test]
fn what_can_be_changed_is_listed() {
    let (_, list) = TEXT.split_once("others are refused, by name: ").expect("the list");
    let (list, _) = list.split_once('.').expect("its end");
    let listed: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
    assert_eq!(listed, Config::changeable());
}

/// The names in backquotes in the cells under "tests" of a page's tables, cell by cell.
fn cells_with_tests(page: &str) -> Vec<Vec<&str>> {
    let mut column = None;
    let mut found = Vec::new();
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if !line.starts_with('|') {
            column = None;
        } else if column.is_none() {
            column = cells.iter().position(|cell| *cell == "tests");
        } else if let Some(cell) =
            column.and_then(|column| cells.get(column)).filter(|cell| cell.contains('`'))
        {
            found.push(cell.split('`').skip(1).step_by(2).collect());
        }
    }
    found
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below a folder with that ending, with their texts.
fn texts(folder: &Path, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "target" {
            found.extend(texts(&path, ending));
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.extend(std::fs::read_to_string(&path).ok().map(|text| (path, text)));
        }
    }
    found
}

/// Source texts in which the tests that pages name are searched.
struct Tests {
    code: Vec<(PathBuf, String)>,
    scripts: Vec<(PathBuf, String)>,
}

/// File or folder named before in the same cell: it holds for the names that follow it.
#[derive(Default)]
struct Place<'a> {
    file: Option<&'a str>,
    folder: Option<&'a str>,
}

impl Tests {
    fn of_the_repository() -> Self {
        let scripts = texts(&root().join("tests/scripts"), "pkt");
        Self { code: texts(&root().join("crates"), "rs"), scripts }
    }

    /// True if a script of that folder has this name, of which `*` may stand for a part.
    fn has_script(&self, folder: &str, name: &str) -> bool {
        let (begin, end) = name.split_once('*').unwrap_or((name, ""));
        self.scripts.iter().any(|(path, _)| {
            let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
            let fits = if name.contains('*') {
                file.starts_with(begin) && file.ends_with(end)
            } else {
                file == name
            };
            fits && path.parent().is_some_and(|parent| parent.ends_with(folder))
        })
    }

    /// True if a test of that name is in that file of the crate, or in any file where none is named. `*`: true if the
    /// file exists.
    fn has_test(&self, file: Option<&str>, test: &str) -> bool {
        let own = root().join("crates/sctp");
        let (folder, test) = test.strip_prefix("tests::").map_or(("tests", test), |test| ("src", test));
        let path = file.map(|file| own.join(folder).join(format!("{file}.rs")));
        let code = texts_of(&self.code, path.as_deref());
        code.into_iter().any(|text| test == "*" || declares(text, test))
    }

    /// True if the test that a page names exists; `None` for a name of something else.
    fn has<'a>(&self, named: &'a str, place: &mut Place<'a>) -> Option<bool> {
        if named.starts_with("make ") || named.starts_with("crates/") {
            return None;
        }
        if named.ends_with(".pkt") {
            let (folder, name) =
                named.rsplit_once('/').map_or((place.folder, named), |(f, name)| (Some(f), name));
            place.folder = folder;
            return Some(folder.is_some_and(|folder| self.has_script(folder, name)));
        }
        let (file, test) =
            named.split_once("::").map_or((place.file, named), |(file, test)| (Some(file), test));
        place.file = file;
        Some(self.has_test(file, test))
    }
}

/// True if a text has a function of that name that is marked as a test.
fn declares(text: &str, test: &str) -> bool {
    let at = text.find(&format!("fn {test}("));
    at.and_then(|at| text[..at].rsplit("\n\n").next()).is_some_and(|before| before.contains("#[test]"))
}

/// The text of a file, or of all.
fn texts_of<'a>(code: &'a [(PathBuf, String)], file: Option<&Path>) -> Vec<&'a str> {
    let of = |path: &Path| file.is_none_or(|file| file == path);
    code.iter().filter(|(path, _)| of(path)).map(|(_, text)| text.as_str()).collect()
}

#[test]
fn every_test_that_a_page_names_exists() {
    let tests = Tests::of_the_repository();
    for (name, least) in [("docs/explanation/faults.md", 80), ("docs/explanation/attacks.md", 130)] {
        let page = std::fs::read_to_string(root().join(name)).expect("a page");
        let mut count = 0;
        for cell in cells_with_tests(&page) {
            let mut place = Place::default();
            for named in cell {
                let found = tests.has(named, &mut place);
                assert!(found != Some(false), "{name} names `{named}`, which does not exist");
                count += u32::from(found.is_some());
            }
        }
        assert!(count >= least, "{name}: {count} tests are named");
    }
}
