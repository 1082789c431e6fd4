//! Why the source code or the file with the limits could not be read.

use std::path::{Path, PathBuf};

/// A fault of a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{}: {why}", file.display())]
    Unreadable { file: PathBuf, why: std::io::Error },
    #[error("{}: not Rust: {why}", file.display())]
    Parse { file: PathBuf, why: syn::Error },
    #[error("{}: {why}", file.display())]
    Toml { file: PathBuf, why: toml::de::Error },
    #[error("{}: neither src/lib.rs nor src/main.rs", folder.display())]
    NoRoot { folder: PathBuf },
    #[error("no crate of the workspace stands in a folder called {name}")]
    NoMember { name: String },
}

impl Error {
    pub(crate) fn unreadable(file: &Path, why: std::io::Error) -> Self {
        Self::Unreadable { file: file.to_owned(), why }
    }
}
