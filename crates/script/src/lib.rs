//! Packet scripts in packetdrill's dialect, run against the stack in virtual time.
//!
//! [`run`] reads a script and plays it: calls of the sockets interface, packets that the script sends, and packets that the
//! stack must send, each at its time. There is no network, no clock and no tolerance unless one asks for it.
//! docs/reference/scripts.md says how to write one.
#![forbid(unsafe_code)]

mod compare;
mod error;
mod names;
mod network;
mod packet;
mod run;
mod sockets;
pub mod suite;
pub mod syntax;
pub mod value;

pub use compare::Difference;
pub use error::ScriptError;
pub use run::{Failure, Options, run};
