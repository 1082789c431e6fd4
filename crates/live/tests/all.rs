//! Every test of this folder in one program, which is compiled and linked once. A new file is a line here and uses `crate::common`.
//! `cargo test -p anabranch-live --test all NAME::` runs one file.
//! Files that need a process of their own, or are run by themselves, are programs of their own (Cargo.toml).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

#[path = "blocking.rs"]
mod blocking;
#[path = "ecn.rs"]
mod ecn;
#[path = "faults.rs"]
mod faults;
#[path = "loopback.rs"]
mod loopback;
#[path = "namespace.rs"]
mod namespace;
#[path = "network.rs"]
mod network;
#[path = "observe.rs"]
mod observe;
#[path = "raw_ip.rs"]
mod raw_ip;
#[path = "shards.rs"]
mod shards;
