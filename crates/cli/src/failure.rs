//! Why the program ends with a code other than 0.

use std::fmt::Display;
use std::path::Path;

/// An exit code, and one line that says why.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl Failure {
    /// A wrong file or option.
    pub(crate) fn wrong(message: impl Display) -> Self {
        Self { code: 2, message: message.to_string() }
    }

    /// A run that failed, or a result that could not be written.
    pub(crate) fn failed(message: impl Display) -> Self {
        Self { code: 1, message: message.to_string() }
    }

    /// Ctrl-C: as a shell reports a program that SIGINT ended.
    pub(crate) fn interrupted(finished: usize, wanted: usize) -> Self {
        Self {
            code: 130,
            message: format!("interrupted; {finished} of {wanted} runs had finished and are kept"),
        }
    }

    pub(crate) fn writing(path: &Path, error: &std::io::Error) -> Self {
        Self::failed(format!("{}: cannot write: {error}", path.display()))
    }

    /// The failure when standard output is gone. A reader that has closed the pipe (`| head`) is an end without a
    /// message.
    pub(crate) fn printing(error: &std::io::Error) -> Self {
        let message = match error.kind() {
            std::io::ErrorKind::BrokenPipe => String::new(),
            _ => format!("cannot print: {error}"),
        };
        Self { code: 1, message }
    }
}
