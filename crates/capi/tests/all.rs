//! The header is what cbindgen makes of the crate, and programs in C do what they should, watched by sanitizers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod header;
mod programs;
