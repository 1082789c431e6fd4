//! What every pure room shares, and nothing more: virtual time, random streams, the shape of a datagram on its
//! way in or out, the one set of trace events that both SCTP and TCP speak, and how quantities are written.
//!
//! Nothing here reads a clock, a socket or an unseeded generator.
#![forbid(unsafe_code)]

mod datagram;
pub mod driver;
mod rare;
mod rng;
mod secret;
mod time;
mod trace;
pub mod units;

pub use datagram::{Dscp, Ecn, Meta, Transmit};
pub use rare::rare;
pub use rng::Rng;
pub use secret::SecretRng;
pub use time::{Duration, Instant};
pub use trace::{RetransmitReason, Trace, TraceEvent, TraceRecord};
