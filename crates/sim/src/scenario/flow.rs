//! A flow: one association or connection, and the application behind it.

use std::collections::BTreeMap;

use anabranch_base::{Dscp, Duration};

use super::TimeDraw;

/// One association or connection from a sender to a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, unique among the flows.
    pub name: String,
    /// The host that opens it and sends.
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Engine of the sender.
    pub sender: Engine,
    /// Engine of the receiver; the same as the sender's unless the file says otherwise.
    pub receiver: Engine,
    /// What the application sends.
    pub traffic: Traffic,
    /// Subflows of the association; 1 for now.
    pub subflows: u16,
    /// How the windows of the subflows hold together.
    pub coupling: Coupling,
    /// Code point of its packets, both directions.
    pub dscp: Dscp,
    /// When the application opens it.
    pub start: TimeDraw,
    /// When a greedy application stops sending. `None`: at the end of the run.
    pub stop: Option<Duration>,
    /// Streams; messages go round them in turn. 1 for TCP.
    pub streams: u16,
    /// Whether messages are sent unordered. False for TCP.
    pub unordered: bool,
}

/// Transport protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// SCTP.
    Sctp,
    /// TCP.
    Tcp,
}

impl Protocol {
    /// As the file writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sctp => "sctp",
            Self::Tcp => "tcp",
        }
    }
}

/// Which rules a transport follows: `Config::named(name)`, then `set(key, value)` for each option, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Engine {
    /// Name of the profile.
    pub name: String,
    /// Options on top of it, as the file writes them, without quotes.
    pub options: BTreeMap<String, String>,
}

/// What the application sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Traffic {
    /// Always has something to send.
    Greedy {
        /// Size of one message in bytes of payload.
        message: u32,
    },
    /// A fixed number of bytes, then a graceful close.
    Transfer {
        /// Payload bytes in all.
        bytes: u64,
        /// Size of one message; the last may be shorter.
        message: u32,
    },
}

/// How the windows of an association's subflows hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coupling {
    /// Each on its own.
    #[default]
    Independent,
}
