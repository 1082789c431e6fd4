//! Why a command was refused.

/// Why `connect` was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// RFC 9260, 3.1: port 0 is not allowed.
    #[error("port 0 of the peer is not allowed")]
    PortZero,
    /// There is one already.
    #[error("an association with that address and port exists")]
    Exists,
    /// An SCTP address is a unicast address (RFC 9260, 1.3 and 8.4).
    #[error("{0} is not a unicast address")]
    NotUnicast(std::net::IpAddr),
    /// The encoding of the thesis makes other stacks abort or misread.
    #[error(
        "subflow level sf2007 is for sealed networks only: set `sealed` in the configuration of the endpoint, or use level 0 or 1"
    )]
    NotSealed,
}

/// Why `send` was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No such association.
    #[error("no such association")]
    Unknown,
    /// The send buffer is full; `Event::Writable` tells when to try again.
    #[error("the send buffer is full")]
    Full,
    /// The association is shutting down or closed.
    #[error("the association takes no more messages: it is closing or closed")]
    Closing,
    /// Empty messages do not exist in SCTP (RFC 9260, 6.2).
    #[error("a message needs at least one byte")]
    Empty,
    /// Longer than `max_message`.
    #[error("a message of {len} bytes is longer than the limit of {limit}")]
    TooLong {
        /// Its length.
        len: usize,
        /// `Config::max_message`.
        limit: usize,
    },
    /// Not a stream of this association.
    #[error("stream {stream} does not exist: ids are below {streams}")]
    NoSuchStream {
        /// Asked for.
        stream: u16,
        /// Negotiated.
        streams: u16,
    },
}

/// Why a change of subflows was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubflowError {
    /// No such association.
    #[error("no such association")]
    Unknown,
    /// The association is shutting down or closed.
    #[error("subflows do not change any more: the association is closing or closed")]
    Closing,
    /// `Config::max_subflows` are in use, or still have data in flight.
    #[error("no more subflows: {limit} are allowed at once")]
    TooMany {
        /// How many are allowed.
        limit: u8,
    },
    /// There is no such subflow, or it was removed.
    #[error("subflow {index} is not open")]
    NotOpen {
        /// Which one.
        index: u8,
    },
    /// A subflow cannot be moved into itself.
    #[error("subflow {index} cannot be moved into itself")]
    Same {
        /// Which one.
        index: u8,
    },
    /// Not a stream of this association.
    #[error("stream {stream} does not exist: ids are below {streams}")]
    NoSuchStream {
        /// Asked for.
        stream: u16,
        /// Negotiated.
        streams: u16,
    },
}
