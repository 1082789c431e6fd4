//! Reads a scenario file with the overrides of the command line.

use std::io::Read;
use std::path::{Path, PathBuf};

use anabranch_sim::scenario::Scenario;

use crate::failure::Failure;
use crate::files;

/// `KEY=VALUE` of `--set`, where a key is a path in a scenario.
pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    pair(text, "link.bottleneck.rate=\"3 Mbit/s\"")
}

/// `KEY=VALUE` of `--set`, where a key is an option of SCTP.
pub(crate) fn option(text: &str) -> Result<(String, String), String> {
    pair(text, "rto_min=\"200 ms\"")
}

fn pair(text: &str, example: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!("write KEY=VALUE, for example {example}")),
    }
}

/// The name of a file in messages.
pub(crate) fn origin(path: &Path) -> String {
    if files::is_standard(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if files::is_standard(path) {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.map_err(|error| Failure::wrong(format!("{}: cannot read: {error}", origin(path))))
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(bytes(path)?).map_err(|error| {
        let line =
            error.as_bytes().iter().take(error.utf8_error().valid_up_to()).filter(|&&b| b == b'\n').count()
                + 1;
        Failure::wrong(format!("{}:{line}: not text in UTF-8", origin(path)))
    })
}

/// A scenario as it was read, so that standard input is read once.
pub(crate) struct Source {
    text: String,
    origin: String,
    folder: PathBuf,
}

impl Source {
    /// The text of a scenario. Files that it names lie beside it; those of a scenario from standard input in this folder.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let folder = if files::is_standard(path) { None } else { path.parent() };
        Ok(Self {
            text: text(path)?,
            origin: origin(path),
            folder: folder.unwrap_or(Path::new("")).to_owned(),
        })
    }

    fn beside(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.folder.join(name)).map_err(|error| error.to_string())
    }

    /// With every default, as TOML.
    pub(crate) fn resolved(&self, overrides: &[(String, String)]) -> Result<String, Failure> {
        Scenario::resolved(&self.text, &self.origin, overrides, &|name: &str| self.beside(name))
            .map_err(Failure::wrong)
    }

    /// The scenario, checked as far as it can be without running it.
    pub(crate) fn scenario(&self, overrides: &[(String, String)]) -> Result<Scenario, Failure> {
        let files = |name: &str| self.beside(name);
        let scenario =
            Scenario::from_toml_with(&self.text, &self.origin, overrides, &files).map_err(Failure::wrong)?;
        anabranch_sim::check(&scenario)
            .map_err(|error| Failure::wrong(format!("{}: {error}", self.origin)))?;
        Ok(scenario)
    }
}

/// The scenario in a file, checked as far as it can be without running it.
pub(crate) fn scenario(path: &Path, overrides: &[(String, String)]) -> Result<Scenario, Failure> {
    Source::read(path)?.scenario(overrides)
}
