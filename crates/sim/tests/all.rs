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
