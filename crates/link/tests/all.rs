//! Every test of this folder in one program, which is compiled and linked once. A new file is a line here.
//! `cargo test -p anabranch-link --test all NAME::` runs one file.

#[path = "against_ns2.rs"]
mod against_ns2;
#[path = "properties.rs"]
mod properties;
