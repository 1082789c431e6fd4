//! States of RFC 9260, section 4. CLOSED is an association that no longer exists for the network.

/// State of an association (RFC 9260, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// INIT sent.
    CookieWait,
    /// COOKIE ECHO sent.
    CookieEchoed,
    /// Up.
    Established,
    /// Our user asked for shutdown; outstanding data comes first.
    ShutdownPending,
    /// SHUTDOWN sent.
    ShutdownSent,
    /// SHUTDOWN received; outstanding data comes first.
    ShutdownReceived,
    /// SHUTDOWN ACK sent.
    ShutdownAckSent,
    /// Gone.
    Closed,
}

impl State {
    /// True if DATA may be sent, new or again.
    // rfc9260:5-1 rfc9260:6-1
    pub(crate) fn sends_data(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// True if DATA is accepted from the peer: "the endpoint ... SHUTDOWN-SENT" still takes it.
    pub(crate) fn receives_data(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent)
    }

    /// True before the INIT ACK, when nothing is known of the peer yet.
    pub(crate) fn is_before_init_ack(self) -> bool {
        self == Self::CookieWait
    }

    /// True once the handshake is complete.
    pub(crate) fn is_up(self) -> bool {
        !matches!(self, Self::CookieWait | Self::CookieEchoed | Self::Closed)
    }
}
