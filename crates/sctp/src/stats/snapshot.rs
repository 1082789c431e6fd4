//! All counters of an association at once, with a name for each.

use std::net::SocketAddr;

use anabranch_base::{Duration, Instant};

use super::{ControlStats, Stats, StreamStats, SubflowStats};
use crate::config::SubflowLevel;
use crate::state::State;

/// State and statistics of an association: [`Association::snapshot`](crate::Association::snapshot).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Time of the snapshot: that of the last call that touched the association.
    pub at: Instant,
    /// State of the association.
    pub state: State,
    /// The whole association.
    pub stats: Stats,
    /// Control chunks by type.
    pub control: ControlStats,
    /// Outcome of the negotiation; `None` before the peer has said anything.
    pub negotiated: Option<Negotiated>,
    /// Each address of the peer, that of the handshake first.
    pub paths: Vec<PathStats>,
    /// Each subflow that there ever was, by number.
    pub subflows: Vec<SubflowStats>,
    /// Streams that messages went through, by direction and id: with the option `stream_statistics` only.
    pub streams: Vec<StreamStats>,
}

/// Outcome of the handshake, with the changes made since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Streams that we may send on.
    pub outbound_streams: u16,
    /// Streams that the peer may send on.
    pub inbound_streams: u16,
    /// I-DATA (RFC 8260).
    pub interleaving: bool,
    /// RE-CONFIG (RFC 6525).
    pub reconfiguration: bool,
    /// Messages may be given up: FORWARD-TSN (RFC 3758), I-FORWARD-TSN (RFC 8260).
    pub partial_reliability: bool,
    /// Signalling of subflows between the two ends.
    pub subflow_level: SubflowLevel,
    /// Packets leave with a checksum of zero (RFC 9653).
    pub sends_zero_checksum: bool,
    /// The peer may send packets with a checksum of zero (RFC 9653).
    pub takes_zero_checksum: bool,
    /// Packets with data leave as ECN-capable, and marks of routers are reported (RFC 3168; RFC 4960, appendix A).
    pub ecn: bool,
    /// Adaptation Layer Indication of the peer (RFC 5061, 4.2.6).
    pub adaptation: Option<u32>,
}

/// One address of the peer. Data leaves on the path of the handshake, so the counters of sent data are those of the
/// subflows which use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStats {
    /// Its address: the port is the UDP port (RFC 6951), or 0.
    pub address: SocketAddr,
    /// Data goes there.
    pub primary: bool,
    /// True if it answers.
    pub active: bool,
    /// True if the address is CONFIRMED to be the peer's (RFC 9260, 5.4).
    pub confirmed: bool,
    /// Packets sent there that carry DATA.
    pub packets_sent: u64,
    /// User data sent there, bytes, retransmissions included.
    pub payload_bytes_sent: u64,
    /// User data sent there for the first time, bytes.
    pub payload_bytes_unique: u64,
    /// DATA chunks sent there again: the sum of the four that follow.
    pub retransmissions: u64,
    /// As in [`Stats`].
    pub retransmissions_fast: u64,
    /// As in [`Stats`].
    pub retransmissions_recovery: u64,
    /// As in [`Stats`].
    pub retransmissions_timeout: u64,
    /// As in [`Stats`].
    pub retransmissions_probe: u64,
    /// Duplicates that the peer has reported, as in [`SubflowStats`].
    pub retransmissions_spurious: u64,
    /// DATA chunks sent there that were taken for lost.
    pub chunks_lost: u64,
    /// Messages of its subflows that were given up, as in [`SubflowStats`].
    pub messages_abandoned_unsent: u64,
    /// As in [`SubflowStats`].
    pub messages_abandoned_sent: u64,
    /// Out of order, in the sequence spaces of its subflows, as in [`SubflowStats`].
    pub out_of_order_received: u64,
    /// T3-rtx expiries.
    pub timeouts: u64,
    /// Errors in a row (RFC 9260, 8.2).
    pub errors: u32,
    /// Congestion window of all subflows on it, bytes.
    pub cwnd: u64,
    /// Slow-start threshold of all subflows on it, bytes; 2^64 - 1 while one of them has none.
    pub ssthresh: u64,
    /// Bytes in flight, chunk headers included.
    pub flight: u64,
    /// SRTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Variation of the round-trip time (RTTVAR), once there is a sample.
    pub rttvar: Option<Duration>,
    /// Shortest round trip of data.
    pub min_rtt: Option<Duration>,
    /// The last round trip of data, of the first subflow that has one.
    pub last_rtt: Option<Duration>,
    /// RTO.
    pub rto: Duration,
    /// Largest IP packet, bytes.
    pub mtu: u16,
}
