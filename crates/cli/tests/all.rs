//! Every test of this folder in one program, which is compiled and linked once. A new file is a line here and uses `crate::place`.
//! `cargo test -p anabranch-cli --test all NAME::` runs one file.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod place;

#[path = "bad_places.rs"]
mod bad_places;
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
#[path = "opening.rs"]
mod opening;
#[path = "results.rs"]
mod results;
#[path = "script.rs"]
mod script;
#[path = "streams.rs"]
mod streams;
#[path = "watching.rs"]
mod watching;
