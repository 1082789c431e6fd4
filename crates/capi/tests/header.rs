//! `include/anabranch.h` is the header that cbindgen makes of the crate.

use std::path::Path;

/// `ANABRANCH_HEADER=accept` writes it.
#[test]
fn the_header_is_current() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = crate_folder.join("include/anabranch.h");
    let config = cbindgen::Config::from_file(crate_folder.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_crate(crate_folder)
        .with_config(config)
        .generate()
        .unwrap()
        .write(&mut made);
    let made = String::from_utf8(made).unwrap();
    if std::env::var_os("ANABRANCH_HEADER").is_some_and(|wish| wish == "accept") {
        std::fs::write(&header, &made).unwrap();
    }
    let there = std::fs::read_to_string(&header).unwrap_or_default();
    let different = there.lines().zip(made.lines()).find(|(there, made)| there != made);
    assert!(
        there == made,
        "include/anabranch.h is not current ({different:?}): ANABRANCH_HEADER=accept cargo test -p anabranch-capi header"
    );
}
