//! The command line that all drivers share: benches/peers/README.md.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};

/// The side of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Waits for an association.
    Listen,
    /// Asks for one.
    Connect,
}

/// The action of this side when it has sent all and has received all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ending {
    /// Ends the association gracefully.
    Shutdown,
    /// Aborts it.
    Abort,
    /// Waits for the other side.
    Wait,
}

/// The actions of one end.
#[derive(Clone, Debug, Parser)]
#[command(about = "One end of an SCTP association over UDP (RFC 6951)", args_override_self = true)]
pub struct Plan {
    /// Listens or connects.
    #[arg(value_enum)]
    pub role: Role,
    /// Own UDP address.
    #[arg(long)]
    pub local: SocketAddr,
    /// UDP address of the other side (or of a relay in front of it).
    #[arg(long)]
    pub remote: SocketAddr,
    /// Name of the case, for the report only.
    #[arg(long, default_value = "")]
    pub case: String,
    /// Messages that this side sends in each association.
    #[arg(long, default_value_t = 0)]
    pub send: u64,
    /// Messages that this side waits for before it ends the association.
    #[arg(long, default_value_t = 0)]
    pub expect: u64,
    /// Bytes of a message.
    #[arg(long, default_value_t = 1024)]
    pub size: usize,
    /// Streams that the messages take turns on.
    #[arg(long, default_value_t = 1)]
    pub streams: u16,
    /// Messages may overtake each other.
    #[arg(long)]
    pub unordered: bool,
    /// A message is given up after so many retransmissions (RFC 3758).
    #[arg(long)]
    pub rtx: Option<u16>,
    /// Resets the streams after half of the messages (RFC 6525).
    #[arg(long)]
    pub reset: bool,
    /// Associations, one after the other.
    #[arg(long, default_value_t = 1)]
    pub associations: u64,
    /// The report is printed as soon as the first association is up.
    #[arg(long)]
    pub until_up: bool,
    /// How this side ends them.
    #[arg(long, value_enum, default_value = "wait")]
    pub end: Ending,
    /// Shuts down behind the last message, without waiting for those that are still queued in the stack.
    #[arg(long)]
    pub at_once: bool,
    /// The first so many milliseconds of an association nothing is read.
    #[arg(long, default_value_t = 0)]
    pub pause: u64,
    /// Microseconds for which sockets are looked at again before the driver sleeps. Of `live`.
    #[arg(long, default_value_t = 0)]
    pub busy_poll: u64,
    /// Seconds after which the driver gives up and reports the results so far.
    #[arg(long, default_value_t = 30.0)]
    pub deadline: f64,
    /// Largest SCTP packet, bytes.
    #[arg(long, default_value_t = 1228)]
    pub mtu: u16,
    /// Receive window, bytes; without it the stack's own.
    #[arg(long)]
    pub window: Option<u32>,
    /// Offers I-DATA (RFC 8260).
    #[arg(long)]
    pub interleaving: bool,
    /// Offers to go without checksums (RFC 9653).
    #[arg(long)]
    pub zero_checksum: bool,
    /// Bytes that the application keeps waiting in stacks that have no limit for queued messages.
    #[arg(long, default_value_t = 1 << 20)]
    pub backlog: usize,
    /// When time begins.
    #[arg(skip = Instant::now())]
    pub epoch: Instant,
    /// No digests of sent and received data: for measurements.
    #[arg(long)]
    pub no_digest: bool,
    /// A value of anabranch's configuration, KEY=VALUE; other stacks take none.
    #[arg(long)]
    pub set: Vec<String>,
}

impl Plan {
    /// Reads the command line.
    #[must_use]
    pub fn read() -> Self {
        Self::parse()
    }

    /// When the driver gives up.
    #[must_use]
    pub fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.deadline)
    }
}
