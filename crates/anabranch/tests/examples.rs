//! Every program of `examples/` runs, and prints the text in its head.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The expected output of a program: the block of text in its head.
fn promised(source: &str) -> String {
    let head = source.lines().map_while(|line| line.strip_prefix("//!"));
    let head = head.map(|line| line.strip_prefix(' ').unwrap_or(line));
    let block: Vec<&str> =
        head.skip_while(|line| *line != "```text").skip(1).take_while(|line| *line != "```").collect();
    block.join("\n")
}

/// Where cargo puts the examples of the profile that this test was built with.
fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples")
}

#[test]
fn each_prints_what_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    names.sort();
    assert!(names.len() >= 10, "only {} examples were found", names.len());
    let mut wrong = Vec::new();
    for path in names {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let source = std::fs::read_to_string(&path).unwrap();
        let program = built().join(name).with_extension(std::env::consts::EXE_EXTENSION);
        let run = Command::new(&program).output();
        let run =
            run.unwrap_or_else(|error| panic!("{}: {error}; with --test, add --examples", program.display()));
        let printed = String::from_utf8_lossy(&run.stdout).trim_end().replace('\r', "");
        let lines =
            source.lines().filter(|line| !line.trim_start().starts_with("//") && !line.is_empty()).count();
        if !run.status.success() || printed != promised(&source) || lines > 70 {
            let told = String::from_utf8_lossy(&run.stderr);
            wrong.push(format!(
                "{name} ({lines} lines): it says\n{}\nand prints\n{printed}\n{told}",
                promised(&source)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
