//! Every test of this folder in one program, which is compiled and linked once. A new file is a line here.
//! `cargo test -p anabranch-script --test all NAME::` runs one file.

#[path = "garbage.rs"]
mod garbage;
#[path = "own_scripts.rs"]
mod own_scripts;
