//! A golden file: one line a run, compared with what the runs give today.
#![allow(dead_code, unreachable_pub, reason = "every test that includes this uses its own part of it")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Set to `accept`: the golden file is written anew.
const MODE: &str = "ANABRANCH_GOLDEN";
/// Name of a run whose packets shall be written out.
const DUMP: &str = "ANABRANCH_GOLDEN_DUMP";
/// The folder for that; without it that of temporary files.
const FOLDER: &str = "ANABRANCH_GOLDEN_OUT";

/// FNV-1a with 128 bits: the same on every machine, in every version.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u128);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fnv {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    /// Takes bytes, their number first: so no two lists of parts are alike.
    pub fn part(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes(bytes);
    }

    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(Self::PRIME);
        }
    }

    pub fn text(self) -> String {
        format!("{:032x}", self.0)
    }
}

/// The notes on a run: facts for a reader, then hashes.
pub type Book = BTreeMap<String, String>;

/// The beginning of the line of a run that panicked.
const PANIC: &str = "panicked: ";

/// The line of a run; of one that panics it says so, and the others go on.
pub fn line(run: impl FnOnce() -> String) -> String {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    done.unwrap_or_else(|why| {
        let why = match (why.downcast_ref::<String>(), why.downcast_ref::<&str>()) {
            (Some(why), _) => why.as_str(),
            (None, Some(why)) => why,
            (None, None) => "",
        };
        format!("{PANIC}{}", why.replace('\n', " "))
    })
}

/// The run whose packets shall be written out, if one is named.
pub fn dumped() -> Option<String> {
    std::env::var(DUMP).ok().filter(|name| !name.is_empty())
}

/// Writes files about a run and says where; for use between two checkouts.
pub fn dump(name: &str, files: &[(&str, &[u8])]) -> String {
    let folder = std::env::var_os(FOLDER).map_or_else(std::env::temp_dir, PathBuf::from);
    let mut said = format!("{name}:");
    for (kind, bytes) in files {
        let path = folder.join(format!("{}.{kind}", name.replace('/', "-")));
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let _ = write!(said, " {}", path.display());
    }
    said
}

/// A line of a dump.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Compares with the file at `path`, or writes it.
pub fn check(path: &Path, today: &Book) {
    if std::env::var(MODE).is_ok_and(|mode| mode == "accept") {
        let failed: Vec<_> = today.iter().filter(|(_, facts)| facts.starts_with(PANIC)).collect();
        assert!(failed.is_empty(), "nothing is accepted from runs that fail: {failed:?}");
        let lines: String = today.iter().map(|(name, facts)| format!("{name} {facts}\n")).collect();
        std::fs::write(path, lines).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let golden: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let mut differences = String::new();
    let mut count = 0;
    let names = golden.keys().copied().chain(today.keys().map(String::as_str));
    let names: std::collections::BTreeSet<&str> = names.collect();
    for name in names {
        let (was, is) = (golden.get(name).copied(), today.get(name).map(String::as_str));
        if was == is {
            continue;
        }
        count += 1;
        let (was, is) = (was.unwrap_or("not there"), is.unwrap_or("not there"));
        // A reader needs every name, but not every hash.
        let _ = match count {
            1..=20 => write!(differences, "\n{name}\n  golden: {was}\n  today:  {is}"),
            _ => write!(differences, "\n{name}"),
        };
    }
    assert!(count == 0, "{count} of {} runs differ from {}:{differences}", today.len(), path.display());
}
