//! `docs/explanation/engines.md` names every profile and quirk, and the examples and tests that pages name exist.

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

/// What can be changed while an association lives: a promise, as values are.
const CHANGEABLE: &str = "\
adaptive_cut association_max_retrans coupling dscp fcc_count heartbeat_interval immediate_bit immediate_bit_obeyed max_burst \
max_fragment max_init_retransmits max_send_buffer mtu_base mtu_discovery mtu_max_probes mtu_probe_timer mtu_raise_timer nagle \
partial_delivery_bytes partial_delivery_point path_max_retrans peer_adds_streams peer_resets_association peer_resets_streams \
receive_window rto_initial rto_max rto_max_init rto_min sack_delay sack_every send_buffer send_buffer_counts \
shutdown_guard_rto_max stream_scheduling stream_send_buffer stream_send_minimum stream_values subflow_scheduler \
valid_cookie_life";

#[test]
fn what_can_be_changed_stays() {
    assert_eq!(CHANGEABLE.split_whitespace().collect::<Vec<_>>(), Config::changeable());
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
    let pages =
        [("docs/explanation/faults.md", 80), ("docs/explanation/attacks.md", 130), ("tests/rfc8540.md", 75)];
    for (name, least) in pages {
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
