//! Errors of a scenario with their places; each prints as one line.

use std::fmt;

pub(super) use anabranch_base::units::{escape, quote};

/// The first thing that is wrong with a scenario. It prints as one line: `FILE:LINE:COLUMN: the fault, and the allowed values`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The name of the file, as the caller gave it.
    pub origin: String,
    /// The place in the file.
    pub place: Place,
    /// A sentence about the mistake and the allowed values.
    pub message: String,
}

/// The place that a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file. Lines and columns (in characters) count from 1.
    File {
        /// Line.
        line: usize,
        /// Column.
        column: usize,
    },
    /// A value that was set from outside, by the path it was set with.
    Override(String),
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File { line, column } => write!(f, "{}:{line}:{column}: {}", self.origin, self.message),
            Place::Override(path) => write!(f, "--set {}: {}", escape(path), self.message),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// A [`ScenarioError`] that does not know its file yet.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) place: Place,
    pub(super) message: String,
}

impl Problem {
    pub(super) fn new(place: &Place, message: impl Into<String>) -> Self {
        Self { place: place.clone(), message: message.into() }
    }
}

/// The text of another library's error on one line.
pub(super) fn one_line(text: &str) -> String {
    text.chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Names one after the other: `a, b, c`.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const LONGEST: usize = 200;
    let names: Vec<&str> = names.into_iter().collect();
    let shown = names.get(..LONGEST).unwrap_or(&names);
    let more = if shown.len() < names.len() { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// ` (did you mean "x"?)` when one of the names is near, else nothing.
pub(super) fn hint<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    if wrong.len() > 100 {
        return String::new();
    }
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(wrong, name), name))
        .filter(|&(distance, name)| {
            distance <= (wrong.len().max(name.len()) / 3).max(1) && distance < name.len()
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| format!(" (did you mean {}?)", quote(name)))
        .unwrap_or_default()
}
