//! Sans-I/O SCTP (RFC 9260): no sockets, no clock, no hidden randomness. The same inputs and the same seed give the
//! same bytes, always.
//!
//! # How a packet is processed
//!
//! **In.** [`Endpoint::handle_datagram`] checks the CRC32c and finds the association by its verification tag, or
//! answers without one (`endpoint`). `association::packet_reader` walks the chunks. DATA goes to the `receiver`: the receive map
//! of its space, reassembly, its stream, and becomes an [`Event::Readable`]. A SACK goes to the `sender`: the flight finds
//! the newly acknowledged chunks, the lane takes its round-trip sample, its controller grows or shrinks the window,
//! `sender::lane::loss` marks missing chunks.
//!
//! **Out.** [`AssociationHandle::send`] puts a message into the queue of its stream (`stream::outbound`). When
//! [`Endpoint::poll_transmit`] is asked, `association::output` bundles control chunks, a SACK that is due, marked
//! chunks and new fragments, as far as the lane's window, the peer's window and Max.Burst allow, into the caller's
//! buffer. The payload is copied there, and nowhere else.
//!
//! # Subflows, paths and lanes
//!
//! An association is a table of lanes: subflows times paths. RFC 9260 on one address is one subflow on one path, one
//! lane. Nothing but the codec knows how a sequence number travels.
//!
//! # Example
//!
//! ```
//! use anabranch_sctp::{Config, Ecn, Endpoint, EndpointConfig, Instant, Message, Meta, Rng};
//! use std::sync::Arc;
//!
//! let (at_a, at_z) = (([10, 0, 0, 1], 0).into(), ([10, 0, 0, 2], 0).into());
//! // On a network the seed comes from the operating system.
//! let mut a = Endpoint::new(EndpointConfig::new(at_a, 5000), Rng::stream(1, "a", "doc").secret());
//! let mut z = Endpoint::new(EndpointConfig::new(at_z, 5000), Rng::stream(1, "z", "doc").secret());
//! let (now, config) = (Instant::ZERO, Arc::new(Config::rfc9260()));
//! z.listen(Arc::clone(&config))?;
//! let id = a.connect(now, at_z, 5000, config)?;
//! a.association(id).expect("just opened").send(now, Message::new(0, "hello"))?;
//!
//! // The handshake, the message and its acknowledgement: packets are carried until neither has any.
//! loop {
//!     let there: Vec<_> = a.packets(now).collect();
//!     let back: Vec<_> = z.packets(now).collect();
//!     if there.is_empty() && back.is_empty() {
//!         break;
//!     }
//!     for (to, packets, source, destination) in [(&mut z, there, at_a, at_z), (&mut a, back, at_z, at_a)] {
//!         for (transmit, packet) in packets {
//!             to.handle_datagram(now, Meta { source, destination, dscp: transmit.dscp, ecn: Ecn::NotEct }, &packet);
//!         }
//!     }
//! }
//! let (peer, _) = z.poll_event().expect("the association is up");
//! let message = z.association(peer).expect("it lives").receive().expect("the message is there");
//! assert_eq!(message.into_bytes(), "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod address;
mod agreed;
mod association;
mod budget;
mod causes;
pub mod config;
mod context;
mod control;
mod cookie;
mod encoding;
mod endpoint;
mod env;
mod error;
mod event;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod handed_back;
mod icmp;
mod ids;
mod incoming;
mod message;

mod negotiation;
mod options;
mod path;
mod path_manager;
mod per_stream;
pub mod properties;
mod receive_buffer;
mod receiver;
mod reconfig;
mod report;
mod room;
mod scope;
mod sender;
mod shard;
mod state;
mod stats;
mod status;
mod stream;
mod subflow_manager;
mod tie_tags;
mod undelivered;
mod violation;

pub use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng, SecretRng, TraceRecord, Transmit};
pub use association::Association;
pub use config::{ChangeError, Config, ConfigError, Coupling, SubflowLevel, SubflowScheduler, SubflowSpec};
pub use endpoint::handle::AssociationHandle;
pub use endpoint::polling::Packets;
pub use endpoint::{Endpoint, EndpointConfig};
pub use error::{ConnectError, PathError, PathMtuError, ReconfigError, SendError, SubflowError};
pub use event::{AbortReason, AssociationId, CloseReason, Direction, Event, Reconfigured, Timer};
pub use icmp::{IcmpError, IcmpKind};
pub use incoming::{AcceptConfig, AcceptError, EndpointEvent, Incoming, IncomingId, Offered, Withdrawn};
pub use message::{IntoPayload, Message, Part, Received};
pub use options::{Abandonments, MessageId, MessageOptions, Policy, Reliability};
pub use shard::Shard;
pub use state::State;
pub use stats::{
    ControlChunks, ControlStats, EndpointStats, Negotiated, PathStats, Snapshot, Stats, StreamStats,
    SubflowStats,
};
pub use status::{PathStatus, Status};
pub use undelivered::Undelivered;

/// The examples of docs/reference/api.md are run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/api.md")]
struct Interface;
