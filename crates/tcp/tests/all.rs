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
