//! Packet scripts in packetdrill's dialect, run against the stack in virtual time.
//!
//! [`run`] reads a script and plays it: calls of the sockets interface, packets that the script sends, and packets that the
//! stack must send, each at its time. There is no network, no clock and no tolerance unless one asks for it.
//! docs/reference/scripts.md says how to write one.
//!
//! ```
//! use anabranch_script::{Options, run};
//!
//! // The handshake of RFC 9260, 5.1: what the script sends begins with `<`, what the stack must send with `>`.
//! let script = "
//!  0.0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3
//! +0.0 bind(3, ..., ...) = 0
//! +0.0 fcntl(3, F_SETFL, O_RDWR | O_NONBLOCK) = 0
//! +0.1 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
//! +0.0 > sctp: INIT[flgs=0, tag=1, a_rwnd=..., os=..., is=..., tsn=1, ...]
//! +0.1 < sctp: INIT_ACK[flgs=0, tag=2, a_rwnd=65536, os=10, is=10, tsn=1, STATE_COOKIE[len=8, val=...]]
//! +0.0 > sctp: COOKIE_ECHO[flgs=0, len=8, val=...]
//! ";
//! assert!(run(script, &Options::default()).is_ok());
//!
//! let wrong = script.replace("> sctp: COOKIE_ECHO", "> sctp: COOKIE_ACK");
//! assert!(run(&wrong, &Options::default()).is_err());
//! ```
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
