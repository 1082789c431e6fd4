//! Failures of scripts, with their reasons.

use std::fmt;

use crate::compare::Difference;
use crate::error::ScriptError;

/// The line at which a script failed, with the expected and the real packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line of the file, from 1.
    pub line: usize,
    /// The reason, in one sentence.
    pub what: String,
    /// The expected value in the script's words: a whole packet or result.
    pub expected: Option<String>,
    /// The actual packet or result, in the same words.
    pub came: Option<String>,
    /// The fields that differ.
    pub differences: Vec<Difference>,
}

impl Failure {
    pub(crate) fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into(), expected: None, came: None, differences: Vec::new() }
    }
}

impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Self {
        Self::new(error.line, error.message)
    }
}

impl fmt::Display for Failure {
    /// Without file and line: the first goes behind them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(expected) = &self.expected {
            write!(f, "\n    expected: {expected}")?;
        }
        if let Some(came) = &self.came {
            write!(f, "\n    came:     {came}")?;
        }
        for difference in &self.differences {
            let Difference { field, expected, came } = difference;
            write!(f, "\n      {field}: expected {expected}, came {came}")?;
        }
        Ok(())
    }
}
