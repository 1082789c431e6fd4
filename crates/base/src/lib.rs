//! The parts that every crate without I/O shares, and nothing more: virtual time, random streams, the shape of a
//! datagram on its way in or out, the one set of trace events that both SCTP and TCP speak, and how quantities are
//! written.
//!
//! Nothing here reads a clock, a socket or an unseeded generator.
//!
//! ```
//! use anabranch_base::{Duration, Instant, Rng, units};
//!
//! // The time is what the caller says it is.
//! let later = Instant::ZERO + Duration::from_millis(1500);
//! assert_eq!(later - Instant::ZERO, units::time("1.5 s")?);
//!
//! // Each entity draws from a stream of its own; the same seed gives the same numbers.
//! let mut losses = Rng::stream(1, "link", "loss");
//! assert_eq!(losses.u64(), Rng::stream(1, "link", "loss").u64());
//! # Ok::<(), String>(())
//! ```
#![forbid(unsafe_code)]

mod cold_path;
mod datagram;
pub mod driver;
mod rng;
mod secret;
mod time;
mod trace;
pub mod units;

pub use cold_path::cold_path;
pub use datagram::{Dscp, Ecn, Meta, Transmit};
pub use rng::Rng;
pub use secret::SecretRng;
pub use time::{Duration, Instant};
pub use trace::{RetransmitReason, Trace, TraceEvent, TraceRecord};
