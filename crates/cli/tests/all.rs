//! Every test of this folder in one program, which is compiled and linked once. A new file is a line here and uses `crate::place`.
//! `cargo test -p anabranch-cli --test all NAME::` runs one file.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod place;

#[path = "captures.rs"]
mod captures;
#[path = "command_line.rs"]
mod command_line;
#[path = "decode.rs"]
mod decode;
#[path = "marks.rs"]
mod marks;
#[path = "network.rs"]
mod network;
#[path = "results.rs"]
mod results;
#[path = "script.rs"]
mod script;
#[path = "streams.rs"]
mod streams;
#[path = "watching.rs"]
mod watching;

/// A file that nobody lists would be a test that never runs.
#[test]
fn every_file_of_this_folder_is_run() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mine = include_str!("all.rs");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("Cargo.toml");
    for entry in std::fs::read_dir(folder.join("tests")).expect("tests/") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|end| end == "rs") {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let here = mine.contains(&format!("\nmod {name};\n"));
            let alone = manifest.contains(&format!("name = \"{name}\"\n"));
            assert!(
                here != alone,
                "tests/{name}.rs: list it in tests/all.rs, or as a [[test]] in Cargo.toml"
            );
        }
    }
}
