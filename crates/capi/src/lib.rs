//! The stack for programs in C. `include/anabranch.h` is made from this crate and has all of it; docs/reference/c.md sets the calls
//! beside those of usrsctp and dcSCTP.
//!
//! # Faults of the caller and of the library
//!
//! A program holds handles, not addresses: a pointer type for the sake of C's checks, whose value is looked up in a
//! table and never followed. So a handle that was freed, freed twice or never made is answered with an error, as a null
//! pointer is. A call may free an object that another thread's call still uses: the memory goes when that call has
//! returned.
//!
//! Buffers and structures of the caller are real memory, and nothing here can check them: all accesses to them are
//! `unsafe` blocks in `memory.rs`.
//!
//! No panic leaves the library: where it is built to unwind, a fault of its own is answered with
//! `ANABRANCH_STATUS_ERROR_INTERNAL`, and the object concerned answers nothing else from then on; in release builds of
//! this workspace a panic ends the process.
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
