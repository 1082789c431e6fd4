//! Many scripts: files and folders, results by folder, and a list of those that are known to fail.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{Failure, Options, run};

/// The file in a folder that lists scripts that are known to fail, each with its reason: `NAME.pkt: reason`, the path counted
/// from the folder.
pub const EXPECTED_FAILURES: &str = "expected-failures.txt";

/// The result of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The script ran to its end.
    Passed,
    /// The script failed.
    Failed(Failure),
    /// The script failed, and the list says so, with this reason.
    ExpectedFailure(Failure, String),
    /// The script ran to its end although the list says that it does not.
    UnexpectedPass(String),
    /// The file could not be read.
    Unreadable(String),
}

/// A script and its result.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The file, as it was found.
    pub path: PathBuf,
    /// The result of the run.
    pub verdict: Verdict,
}

/// The counts of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Scripts that ran to their end.
    pub passed: usize,
    /// Scripts that did not.
    pub failed: usize,
    /// Scripts that did not, as the list says.
    pub expected_failures: usize,
}

/// A script that is to be run, and the reason if it is known to fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// The reason why it is known to fail; `None`: it must pass.
    pub known: Option<String>,
}

/// The scripts of a file or of a folder and all folders in it, sorted.
///
/// # Errors
/// A sentence, when something cannot be read, or a listed file does not exist.
pub fn find(root: &Path) -> Result<Vec<Found>, String> {
    if !root.exists() {
        return Err(format!("{}: there is no such file or folder", root.display()));
    }
    if !root.is_dir() {
        return Ok(vec![Found { path: root.to_owned(), known: None }]);
    }
    let mut paths = Vec::new();
    collect(root, &mut paths)?;
    paths.sort();
    let mut known = listed(&root.join(EXPECTED_FAILURES))?;
    let found = paths
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            Found { known: known.remove(&name), path }
        })
        .collect();
    match known.keys().next() {
        Some(name) => Err(format!("{}: there is no {name}", root.join(EXPECTED_FAILURES).display())),
        None => Ok(found),
    }
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("{}: cannot read: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            paths.push(path);
        }
    }
    Ok(())
}

fn listed(path: &Path) -> Result<BTreeMap<String, String>, String> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: cannot read: {error}", path.display()))?;
    let mut known = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, reason)) = line.split_once(": ") else {
            return Err(format!("{}:{}: expected `NAME.pkt: reason`", path.display(), index + 1));
        };
        known.insert(name.to_owned(), reason.trim().to_owned());
    }
    Ok(known)
}

/// Runs one script.
#[must_use]
pub fn run_file(found: &Found, options: &Options) -> Outcome {
    let verdict = match std::fs::read_to_string(&found.path) {
        Err(error) => Verdict::Unreadable(error.to_string()),
        Ok(text) => match (run(&text, options), &found.known) {
            (Ok(()), None) => Verdict::Passed,
            (Ok(()), Some(reason)) => Verdict::UnexpectedPass(reason.clone()),
            (Err(failure), None) => Verdict::Failed(failure),
            (Err(failure), Some(reason)) => Verdict::ExpectedFailure(failure, reason.clone()),
        },
    };
    Outcome { path: found.path.clone(), verdict }
}

impl Outcome {
    /// Whether this is a reason for exit code 1.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        !matches!(self.verdict, Verdict::Passed | Verdict::ExpectedFailure(..))
    }

    /// `file:line: reason`, and below it the expected and the actual packet or result; `None` for a script that passed.
    #[must_use]
    pub fn report(&self) -> Option<String> {
        let path = self.path.display();
        match &self.verdict {
            Verdict::Passed => None,
            Verdict::Failed(failure) => Some(format!("{path}:{}: {failure}", failure.line)),
            Verdict::ExpectedFailure(failure, reason) => {
                Some(format!("{path}:{}: fails as expected: {reason}", failure.line))
            }
            Verdict::UnexpectedPass(reason) => {
                Some(format!("{path}: passes, but is listed in {EXPECTED_FAILURES}: {reason}"))
            }
            Verdict::Unreadable(error) => Some(format!("{path}: cannot read: {error}")),
        }
    }
}

/// The counts by folder.
#[must_use]
pub fn by_folder(outcomes: &[Outcome]) -> BTreeMap<PathBuf, Counts> {
    let mut counts: BTreeMap<PathBuf, Counts> = BTreeMap::new();
    for outcome in outcomes {
        let folder = outcome.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        let counts = counts.entry(folder).or_default();
        match outcome.verdict {
            Verdict::Passed => counts.passed += 1,
            Verdict::ExpectedFailure(..) => counts.expected_failures += 1,
            _ => counts.failed += 1,
        }
    }
    counts
}
