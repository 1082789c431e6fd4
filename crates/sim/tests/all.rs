//! Every test of this folder in one program, which is compiled and linked once. A new file is a line here and uses `crate::common`.
//! `cargo test -p anabranch-sim --test all NAME::` runs one file.
//! Files that need a process of their own, or are run by themselves, are programs of their own (Cargo.toml).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

#[path = "against_ns2.rs"]
mod against_ns2;
#[path = "bbr.rs"]
mod bbr;
#[path = "controllers.rs"]
mod controllers;
#[path = "couplings.rs"]
mod couplings;
#[path = "ecn.rs"]
mod ecn;
#[path = "end_to_end.rs"]
mod end_to_end;
#[path = "messages.rs"]
mod messages;
#[path = "ns2_suite.rs"]
mod ns2_suite;
#[path = "objects.rs"]
mod objects;
#[path = "path_mtu.rs"]
mod path_mtu;
#[path = "queues.rs"]
mod queues;
#[path = "rate.rs"]
mod rate;
#[path = "rate_hard_paths.rs"]
mod rate_hard_paths;
#[path = "wire_goodput.rs"]
mod wire_goodput;

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
