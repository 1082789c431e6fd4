//! Every test of this folder in one program. A new file is a line here.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod captures;
mod common;
mod others;
mod tunnels;
