//! What travels over a link.

use anabranch_base::{Dscp, Ecn, Instant};

/// A frame: a packet and what a link may want to know about it. Small, because it is moved, not shared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The transport packet, without an IP header. May be empty: a link never looks at it.
    pub bytes: Vec<u8>,
    /// Bytes on the wire, IP header included. This is what takes time and room.
    pub size: u32,
    /// The driver's name for the sender. A link does not look at it.
    pub source: u32,
    /// The driver's name for the receiver. A link does not look at it.
    pub destination: u32,
    /// Which flow it belongs to, as the driver numbers them.
    pub flow: u32,
    /// A number that tells frames apart in a recording.
    pub id: u32,
    /// Code point.
    pub dscp: Dscp,
    /// ECN field.
    pub ecn: Ecn,
    /// Drop precedence, as a meter marked it.
    pub colour: Colour,
    /// Whether it carries user data. Losses can be limited to such frames.
    pub data: bool,
}

/// Drop precedence (RFC 2697, RFC 2698).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    /// Within its contract.
    #[default]
    Green,
    /// Above it, within the burst.
    Yellow,
    /// Above both.
    Red,
}

/// A frame that will not arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// When it was dropped.
    pub at: Instant,
    /// What was dropped.
    pub frame: Frame,
    /// Why.
    pub reason: DropReason,
}

/// Why a frame was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DropReason {
    /// It did not fit into the queue.
    QueueFull,
    /// The loss model of the link took it.
    Error,
}

impl DropReason {
    /// As recordings write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::Error => "error",
        }
    }
}
