//! Sans-I/O SCTP (RFC 9260): no sockets, no clock, no hidden randomness. The same inputs and the same seed give the
//! same bytes, always.
//!
//! # How a packet is processed
//!
//! **In.** [`Endpoint::handle_datagram`] checks the CRC32c and finds the association by its verification tag, or
//! answers without one (`endpoint`). `association::input` walks the chunks. DATA goes to the `receiver`: the receive map
//! of its space, reassembly, its stream, and becomes an [`Event::Readable`]. A SACK goes to the `sender`: the flight says
//! what is newly acknowledged, the lane takes its round-trip sample, its controller grows or shrinks the window,
//! `sender::lane::loss` marks what is missing.
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
#![forbid(unsafe_code)]

mod address;
mod association;
mod budget;
pub mod config;
mod context;
mod cookie;
mod encoding;
mod endpoint;
mod error;
mod event;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod icmp;
mod ids;
mod incoming;
mod message;

mod negotiation;
mod options;
mod path;
mod per_stream;
pub mod properties;
mod receive_buffer;
mod receiver;
mod room;
mod sender;
mod shard;
mod state;
mod stats;
mod status;
mod stream;
mod tie_tags;
mod undelivered;
mod violation;

pub use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng, SecretRng, TraceRecord, Transmit};
pub use association::Association;
pub use config::{ChangeError, Config, ConfigError, Coupling, SubflowLevel, SubflowScheduler, SubflowSpec};
pub use endpoint::handle::AssociationHandle;
pub use endpoint::packets::Packets;
pub use endpoint::{Endpoint, EndpointConfig};
pub use error::{ConnectError, PathError, PathMtuError, ReconfigError, SendError, SubflowError};
pub use event::{AbortReason, AssociationId, CloseReason, Direction, Event, Reconfigured, Timer};
pub use icmp::{IcmpError, IcmpKind};
pub use incoming::{AcceptConfig, AcceptError, EndpointEvent, Incoming, IncomingId, Offered, Withdrawn};
pub use message::{Message, Part, Received};
pub use options::{Abandonments, MessageId, MessageOptions, Policy, Reliability};
pub use shard::Shard;
pub use state::State;
pub use stats::{
    ControlChunks, ControlStats, EndpointStats, Negotiated, PathStats, Snapshot, Stats, StreamStats,
    SubflowStats,
};
pub use status::{PathStatus, Status};
pub use undelivered::Undelivered;

/// The examples of docs/api.md are run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/api.md")]
struct Interface;
