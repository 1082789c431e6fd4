//! Status of an association, as the primitive STATUS returns it (RFC 9260, 11.1.8).

use std::net::SocketAddr;

use anabranch_base::Duration;

use crate::state::State;

/// Status of an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// "association connection state".
    pub state: State,
    /// "destination transport address list", with "reachability states", windows, SRTT and RTO of each.
    pub paths: Vec<PathStatus>,
    /// "current receiver window size": the peer's, less the bytes on their way there.
    pub peer_window: u64,
    /// Our own: free bytes of the receive buffer.
    pub receive_window: u32,
    /// "number of unacknowledged DATA chunks".
    pub unacknowledged: usize,
    /// "number of DATA chunks pending receipt": messages, or parts of such, that can be read.
    pub pending: usize,
    /// Bytes accepted and not sent.
    pub queued_bytes: usize,
    /// Streams that messages may be sent on, and that the peer may send on.
    pub streams: (u16, u16),
}

impl Status {
    /// "primary path".
    #[must_use]
    pub fn primary(&self) -> Option<&PathStatus> {
        self.paths.iter().find(|path| path.primary)
    }
}

/// One address of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStatus {
    /// Its address: the port is the UDP port (RFC 6951), or 0.
    pub address: SocketAddr,
    /// Data goes there.
    pub primary: bool,
    /// True if it answers.
    pub active: bool,
    /// True if the address is CONFIRMED to be the peer's (5.4).
    pub confirmed: bool,
    /// True if heartbeats are sent when it is idle.
    pub heartbeats: bool,
    /// Congestion window of all subflows on it, bytes.
    pub cwnd: u64,
    /// SRTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// RTO.
    pub rto: Duration,
    /// Largest IP packet, bytes.
    pub mtu: u16,
}
