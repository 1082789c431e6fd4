//! A link: one direction, its rate, its delay, its queue and what it loses.

use anabranch_base::Duration;

/// One direction between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name, unique among the links. The reverse that `both = true` makes is called `NAME-back`.
    pub name: String,
    /// The node that sends into it.
    pub from: String,
    /// The node that it leads to.
    pub to: String,
    /// How fast bits leave it.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// What waits for the link, and what is dropped instead.
    pub queue: Queue,
    /// What the link itself loses, after the queue.
    pub loss: Loss,
    /// Largest IP packet in bytes.
    pub mtu: u32,
}

/// How fast a link sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bits per second, at least 1.
    BitsPerSecond(u64),
    /// A packet leaves in no time; nothing ever waits.
    Infinite,
}

impl Rate {
    /// Bits per second, or `None` when infinite.
    #[must_use]
    pub const fn bits_per_second(self) -> Option<u64> {
        match self {
            Self::BitsPerSecond(bits) => Some(bits),
            Self::Infinite => None,
        }
    }
}

/// The queue in front of a link.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Queue {
    /// First in, first out; what does not fit is dropped. The packet that is being sent does not count as queued.
    /// Without a limit nothing is dropped; with both, both hold.
    DropTail {
        /// At most so many packets wait.
        packets: Option<u64>,
        /// At most so many bytes (with IP headers) wait.
        bytes: Option<u64>,
    },
}

/// What a link loses.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Loss {
    /// Nothing.
    None,
    /// Every packet on its own, with one probability.
    Bernoulli {
        /// Probability, 0 to 1.
        p: f64,
        /// Which packets can be lost; the others take no random number.
        applies: Applies,
        /// Links that name the same stream see the same sequence of losses (with common random numbers).
        stream: Option<String>,
    },
    /// The packets at given places.
    Positions {
        /// Packet numbers from 1, rising, none twice. Counted are the packets that `applies` and `flow` select.
        drop: Vec<u64>,
        /// Which packets are counted.
        applies: Applies,
        /// Count only the packets of this flow, in the direction of the link. `None`: all.
        flow: Option<String>,
    },
}

/// Which packets a loss looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Applies {
    /// Every packet.
    #[default]
    All,
    /// Packets that carry user data: an SCTP packet with a DATA chunk, a TCP segment with payload.
    Data,
}
