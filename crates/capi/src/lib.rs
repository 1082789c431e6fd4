//! The stack for programs in C. cbindgen makes `include/anabranch.h` from this crate, and it declares every call and type;
//! docs/reference/c.md compares the calls with those of usrsctp and dcSCTP.
//!
//! # Faults of the caller and of the library
//!
//! A program holds handles, not addresses. A handle has a pointer type, so that a C compiler can check it, but its value is
//! looked up in a table and never followed. So a handle that was freed, freed twice or never made gives an error, as a null
//! pointer does. A call may free an object that another thread's call still uses: the memory is freed after that call has
//! returned.
//!
//! Buffers and structures of the caller are real memory, and nothing here can check them: all accesses to them are
//! `unsafe` blocks in `memory.rs`.
//!
//! No panic leaves the library: if it is built to unwind, a call with an internal fault returns
//! `ANABRANCH_STATUS_ERROR_INTERNAL`, and so does every later call with the same object; in release builds of this
//! workspace a panic ends the process.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

pub mod config;
pub mod endpoint;
pub mod event;
pub mod live;
mod memory;
pub mod message;
pub mod statistics;
pub mod status;
mod table;
pub mod types;
