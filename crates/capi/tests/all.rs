//! The header is the one that cbindgen makes of the crate, and programs in C pass their tests under sanitizers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod header;
mod programs;
