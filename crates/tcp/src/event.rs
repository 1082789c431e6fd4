//! Events of a connection, as its user sees them.

/// Names a connection of one [`crate::Stack`]; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// Something the user wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection that we opened is established.
    Connected,
    /// A peer opened a connection to a port that we listen on; it is established.
    Accepted,
    /// [`crate::Stack::receive`] has something (again).
    Readable,
    /// [`crate::Stack::send`] has room again after it had refused some.
    Writable,
    /// The peer will send nothing more (FIN); everything before it has been delivered in order.
    PeerClosed,
    /// Both directions ended in good order. The connection may linger in TIME-WAIT.
    Closed,
    /// The peer reset the connection, or refused it.
    Reset,
    /// We gave up.
    Failed {
        /// The reason.
        why: Failure,
    },
}

/// Reason for giving up a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The SYN (or SYN-ACK) was sent `syn_retransmissions` times more, and never answered.
    HandshakeTimeout,
    /// A segment was sent `retransmissions` times more, and never acknowledged.
    RetransmissionLimit,
}

/// Reason why `send` refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No such connection.
    #[error("connection {} does not exist (any more)", .0.0)]
    Unknown(ConnectionId),
    /// `close` or `abort` was called, or the peer reset the connection.
    #[error("connection {} is closed for sending", .0.0)]
    Closed(ConnectionId),
}

/// Timer that a wake-up belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Retransmission of data, a SYN or a FIN (RFC 6298).
    Retransmission,
    /// Tail loss probe (RFC 8985, section 7).
    TailProbe,
    /// RACK's reordering timer (RFC 8985, section 6.2).
    Reordering,
    /// The next segment may leave (`pacing`).
    Pacing,
    /// Delayed acknowledgement (RFC 1122, section 4.2.3.2).
    DelayedAck,
    /// Zero-window probe (RFC 9293, section 3.8.6.1).
    Persist,
    /// End of TIME-WAIT.
    TimeWait,
}

/// The states of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are the RFC's own")]
pub enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

impl State {
    /// True if the handshake is over and the connection not closed.
    #[must_use]
    pub const fn is_synchronized(self) -> bool {
        !matches!(self, Self::SynSent | Self::SynReceived | Self::Closed)
    }
}
