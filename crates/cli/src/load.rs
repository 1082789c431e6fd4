//! Reads a scenario file with the overrides of the command line.

use std::path::Path;

use anabranch_sim::scenario::Scenario;

use crate::failure::Failure;

/// `KEY=VALUE` of `--set`.
pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("write KEY=VALUE, for example link.bottleneck.rate=\"3 Mbit/s\"".to_owned()),
    }
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let origin = path.display().to_string();
    let bytes =
        std::fs::read(path).map_err(|error| Failure::wrong(format!("{origin}: cannot read: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes().iter().take(error.utf8_error().valid_up_to()).filter(|&&b| b == b'\n').count()
                + 1;
        Failure::wrong(format!("{origin}:{line}: not text in UTF-8"))
    })
}

/// The scenario in a file with every default, as TOML.
pub(crate) fn resolved(path: &Path, overrides: &[(String, String)]) -> Result<String, Failure> {
    let origin = path.display().to_string();
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    Scenario::resolved(&text(path)?, &origin, overrides, &files).map_err(Failure::wrong)
}

/// The scenario in a file, checked as far as it can be without running it.
pub(crate) fn scenario(path: &Path, overrides: &[(String, String)]) -> Result<Scenario, Failure> {
    let origin = path.display().to_string();
    let text = text(path)?;
    // Files that the scenario names lie beside it.
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    let scenario = Scenario::from_toml_with(&text, &origin, overrides, &files).map_err(Failure::wrong)?;
    anabranch_sim::check(&scenario).map_err(|error| Failure::wrong(format!("{origin}: {error}")))?;
    Ok(scenario)
}
