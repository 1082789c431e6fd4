//! A TCP without sockets, clock or hidden randomness, with real headers: the comparator of the laboratory.
//!
//! # How a segment is processed
//!
//! **In.** [`Stack::handle_datagram`] parses the [`header`], verifies the checksum and finds the connection, or a
//! listener, or answers with RST. `connection/input.rs` then follows RFC 9293, section 3.10.7, check by check:
//! sequence number, RST, SYN, ACK, data, FIN. The acknowledgement goes to the [sender](#modules), which takes
//! acknowledged segments out of the flight, measures the round trip, and lets loss recovery and the congestion
//! controller speak. The data goes to the receiver, which keeps segments out of order, and the `acks` decide when
//! to acknowledge.
//!
//! **Out.** [`Stack::send`] puts `Bytes` into a rope. [`Stack::poll_transmit`] asks each connection that may have
//! something: a RST, a SYN, data (`sender/choose.rs` says which segment), or a pure acknowledgement. The payload
//! is copied once, from the rope into the packet.
//!
//! Events leave by [`Stack::poll_event`]; [`Stack::poll_timeout`] says when to come back and why.
//!
//! # Modules
//!
//! | file | question |
//! |---|---|
//! | `sender/` | may a segment leave, and which? |
//! | `flight.rs` | what is outstanding, SACKed, lost, sent again? |
//! | `anabranch_transport` | how much may be outstanding, how long to wait, when does a timer really expire, which numbers are there? |
//! | `host_cache.rs` | what did earlier connections to this host learn? |
//! | `receiver.rs` | what has arrived, what is the window? |
//! | `acks.rs` | when to acknowledge? |
//! | `config.rs` | every rule as a value; profiles are sets of them |
//!
//! # Determinism
//!
//! The same calls with the same times and the same [`anabranch_base::Rng`] give the same bytes, always.
//!
//! # Example
//!
//! ```
//! use anabranch_base::{Ecn, Instant, Meta, Rng};
//! use anabranch_tcp::{Config, Stack};
//! use std::net::SocketAddr;
//! use std::sync::Arc;
//!
//! let at: [SocketAddr; 2] = [([10, 0, 0, 1], 0).into(), ([10, 0, 0, 2], 5001).into()];
//! let [mut client, mut server] = at.map(|local| Stack::new(local, Rng::stream(1, &local.to_string(), "doc")));
//! let (now, config) = (Instant::ZERO, Arc::new(Config::default()));
//! server.listen(5001, Arc::clone(&config));
//! let id = client.connect(now, 40000, at[1], config);
//! client.send(now, id, "hello".into())?;
//!
//! // Segments are carried until neither has any.
//! let (mut buffer, mut moved) = (Vec::new(), true);
//! while std::mem::take(&mut moved) {
//!     for ask in [0, 1] {
//!         let (from, to) = if ask == 0 { (&mut client, &mut server) } else { (&mut server, &mut client) };
//!         while let Some(transmit) = from.poll_transmit(now, 1, &mut buffer) {
//!             let meta = Meta { source: at[ask], destination: at[1 - ask], dscp: transmit.dscp, ecn: Ecn::NotEct };
//!             to.handle_datagram(now, meta, &buffer);
//!             buffer.clear();
//!             moved = true;
//!         }
//!     }
//! }
//! let (accepted, _) = server.poll_event().expect("a connection is there");
//! assert_eq!(server.receive(now, accepted).as_deref(), Some(&b"hello"[..]));
//! # Ok::<(), anabranch_tcp::SendError>(())
//! ```
#![forbid(unsafe_code)]

mod acks;
mod config;
mod connection;
mod event;
mod flight;
pub mod header;
mod host_cache;
mod receiver;
mod send_queue;
mod sender;
mod stack;
mod stats;

pub use config::{
    AckedGrowth, Algorithm, Config, ConfigError, InitialWindow, Key, LossRecovery, PROFILES, Percent,
    Reduction, RttEstimator, RttSampling, SsthreshBase,
};
pub use event::{ConnectionId, Event, Failure, SendError, State, Timer};
pub use stack::Stack;
pub use stats::{HeldBack, StackStats, Stats};
