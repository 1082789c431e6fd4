//! Checks of the structure of the source code, which `make lint` runs, and the measures behind them.
//!
//! ```text
//! cargo run -p xtask -- check             all faults, and exit status 1 if there are any
//! cargo run -p xtask -- measure CRATE     its widest types, and its circles of folders with their causes
//! cargo run -p xtask -- needs CRATE       every need of a file, and every need of a folder, a line each
//! ```
//!
//! There is a circle where files or folders of a crate need each other, directly or through others. A file needs the file that defines a
//! name that it takes by `use` or by a path such as `crate::a::b`; a module that only hands the name on (`pub use`) is passed through.
//! Methods of one type may stand in several files and call each other without any import: where an `impl` block says `self.name()`,
//! `Self::name` or `Type::name`, its file needs the one with that method; so with a variable that plainly is of the type. Between folders,
//! handing on counts as a need as well. Code for tests only counts nowhere.
//!
//! Exceptions that are allowed until they are mended, and the order of the crates stand in `xtask/structure.toml`.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints what it finds")]

mod calls;
mod check;
mod crate_;
mod error;
mod graph;
mod let_chains;
mod measure;
mod names;
mod source;
#[cfg(test)]
mod tests;
mod types;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["check"] => check::check(&root),
        ["measure", name] => measure::measure(&root, name).map(|text| print(&text)),
        ["needs", name] => measure::needs(&root, name).map(|text| print(&text)),
        _ => {
            eprintln!("usage: xtask check | measure CRATE | needs CRATE");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(wrong) if wrong.is_empty() => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("{}", wrong.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a measure, in which nothing is wrong.
fn print(text: &str) -> Vec<String> {
    println!("{}", text.trim_end());
    Vec::new()
}
