//! Errors of a script, found before or while it runs.

/// A script that cannot be read, or has an unknown name: one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// Line of the file, from 1.
    pub line: usize,
    /// A sentence about the mistake, and the allowed text.
    pub message: String,
}

impl ScriptError {
    /// An error at a line of the script.
    pub fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}
