//! Every test of this folder in one program, which is compiled and linked once. A new file is a line here and uses `crate::common`.
//! `cargo test -p anabranch-tcp --test all NAME::` runs one file.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

#[path = "bbr.rs"]
mod bbr;
#[path = "documentation.rs"]
mod documentation;
#[path = "extremes.rs"]
mod extremes;
#[path = "flavours.rs"]
mod flavours;
#[path = "linux61.rs"]
mod linux61;
#[path = "ns2.rs"]
mod ns2;
#[path = "quirks.rs"]
mod quirks;
#[path = "rack.rs"]
mod rack;
#[path = "recovery.rs"]
mod recovery;
#[path = "rules.rs"]
mod rules;
#[path = "transfer.rs"]
mod transfer;

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
