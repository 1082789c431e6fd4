//! The content of a scenario file: a network, its hosts, their traffic, and the recordings to make.
//!
//! The types here are plain data that has been checked. `docs/reference/scenario.md` lists every key of the file.
//! The simulator runs a [`Scenario`]; it never sees the TOML behind it.

mod applies;
mod condition;
mod definition;
mod dscp;
mod engine;
mod error;
mod file;
mod flow;
mod host;
mod keys;
mod link;
mod loss;
mod message;
mod messages;
mod names;
mod objects;
mod pattern;
mod ports;
mod protocol;
mod queue;
mod rate;
mod record;
mod resolved;
mod route;
mod routing;
mod seeds;
mod source;
mod subflow;
mod time_draw;
mod traffic;
mod tree;
mod units;
mod write;

pub use anabranch_link::QueueConfig as Queue;
pub use anabranch_sctp::{Coupling, Reliability, SubflowScheduler, SubflowSpec};
pub use applies::Applies;
pub use definition::{Checksums, RandomNumbers, Scenario};
pub use engine::Engine;
pub use error::{Place, ScenarioError};
pub use flow::{Flow, Opener};
pub use host::Host;
pub use link::{Link, MtuAnswer};
pub use loss::Loss;
pub(crate) use messages::MESSAGE_HEADER;
pub use messages::MessageSource;
pub use objects::{Closer, Connection, Objects, Opening, Order, Request};
pub use pattern::{PatternUse, ReadFile};
pub use ports::Ports;
pub use protocol::Protocol;
pub use rate::Rate;
pub use record::{EventKind, Record, Selection};
pub use route::Route;
pub use seeds::parse_seeds;
pub use source::{Distribution, PacketSource, Rhythm};
pub use subflow::{Change, TimedChange};
pub use time_draw::TimeDraw;
pub use traffic::Traffic;

#[cfg(test)]
mod tests;
