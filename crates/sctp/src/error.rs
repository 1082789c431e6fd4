//! Reasons for which commands are refused.

/// Reason why `connect` was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// RFC 9260, 3.1: port 0 is not allowed.
    #[error("port 0 is not allowed, neither of the peer nor of our own")]
    PortZero,
    /// The configuration has a value that is not allowed ([`Config::validate`](crate::Config::validate)).
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// After `drain`.
    #[error("the endpoint drains: it takes and makes no more associations")]
    Draining,
    /// There is an association with that address and port already.
    #[error("an association with that address and port exists")]
    Exists,
    /// An SCTP address is a unicast address (RFC 9260, 1.3 and 8.4).
    #[error("{0} is not a unicast address")]
    NotUnicast(std::net::IpAddr),
    /// The encoding of the thesis makes other stacks abort or misread.
    #[error(
        "subflow level sf2007 is for sealed networks only: set `allow_private_encodings` in the configuration of the endpoint, or use level 0 or 1"
    )]
    PrivateEncodings,
}

/// Reason why a path does not take a command or answer a question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The peer has no such address.
    #[error("{address} is no address of the peer; it has {}", known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// Asked for.
        address: std::net::IpAddr,
        /// The addresses that the peer has.
        known: Vec<std::net::IpAddr>,
    },
    /// The peer only says that it is there (RFC 9260, 5.4).
    #[error("{0} is not confirmed: nothing shows that the peer is there")]
    NotConfirmed(std::net::IpAddr),
    /// Data leaves on one path.
    #[error("{0} is confirmed, but an association sends on the path of its handshake only")]
    NotUsed(std::net::IpAddr),
    /// The association is not up, or shutting down.
    #[error("the association is not up, or it is shutting down")]
    NotUp,
}

/// Reason why `send` was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The send buffer is full; `Event::Writable` tells when to try again.
    #[error("the send buffer is full")]
    Full,
    /// This stream has as much in the send buffer as `stream_send_buffer` allows; `Event::Writable` with its number tells when to
    /// try again. Others may be written.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// let config = Config::rfc9260().with(|c| c.limits.stream_send_buffer = 20_000);
    /// # let mut two = Two::up(config);
    /// two.send(1, 30_000)?;
    /// assert_eq!(two.send(1, 1), Err(SendError::StreamFull { stream: 1 }));
    /// assert_eq!(two.send(2, 1), Ok(()));
    /// two.exchange();
    /// assert!(two.told.contains(&(0, Event::Writable { stream: Some(1) })));
    /// # Ok::<(), SendError>(())
    /// ```
    #[error("stream {stream} has its share of the send buffer filled")]
    StreamFull {
        /// The stream.
        stream: u16,
    },
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
    /// The message may be given up, and the peer would wait for it for ever. [`Message::or_reliable`](crate::Message::or_reliable) sends it
    /// reliably then.
    #[error("a message cannot be given up: {why}")]
    Reliable {
        /// The reason.
        why: &'static str,
    },
    /// The message asks for a code point that its stream does not have, and others of that stream are under way: they would wait for
    /// each other. `Event::Writable` with its number tells when none is under way any more.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # use anabranch_sctp::Dscp;
    /// # let mut two = Two::up(Config::rfc9260());
    /// let voice = Message::new(1, "now").dscp(Dscp::new(46).expect("a code point"));
    /// two.send(1, 10)?;
    /// let now = two.now;
    /// let busy = SendError::OtherSubflow { stream: 1, dscp: 0, asked: 46 };
    /// assert_eq!(two.a().send(now, voice.clone()), Err(busy));
    /// two.exchange();
    /// assert!(two.told_a().contains(&Event::Writable { stream: Some(1) }));
    /// let now = two.now;
    /// two.a().send(now, voice)?;
    /// # Ok::<(), SendError>(())
    /// ```
    #[error("stream {stream} goes with code point {dscp}, with {asked} once nothing of it is under way")]
    OtherSubflow {
        /// Its stream.
        stream: u16,
        /// Code point of the subflow of that stream.
        dscp: u8,
        /// Asked for.
        asked: u8,
    },
    /// The message asks for a code point for which there is no subflow, and none can be opened.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # use anabranch_sctp::{Dscp, SubflowError};
    /// # let mut two = Two::up(Config::rfc9260().with(|c| c.subflows.max = 1));
    /// let voice = Message::new(1, "now").dscp(Dscp::new(46).expect("a code point"));
    /// let now = two.now;
    /// let why = SubflowError::TooMany { limit: 1 };
    /// assert_eq!(two.a().send(now, voice), Err(SendError::NoSubflow { asked: 46, why }));
    /// ```
    #[error("there can be no subflow with code point {asked}: {why}")]
    NoSubflow {
        /// Asked for.
        asked: u8,
        /// The reason.
        why: SubflowError,
    },
}

/// Reason why a change of subflows was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubflowError {
    /// The association is shutting down or closed.
    #[error("subflows do not change any more: the association is closing or closed")]
    Closing,
    /// `Config::max_subflows` are in use, or still have data in flight.
    #[error("no more subflows: {limit} are allowed at once")]
    TooMany {
        /// Number allowed.
        limit: u8,
    },
    /// There is no such subflow, or it was removed.
    #[error("subflow {index} is not open")]
    NotOpen {
        /// The subflow.
        index: u8,
    },
    /// A subflow cannot be moved into itself.
    #[error("subflow {index} cannot be moved into itself")]
    Same {
        /// The subflow.
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

/// Reason why a re-configuration (RFC 6525) cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReconfigError {
    /// The handshake is still running.
    #[error("the association is not up yet")]
    NotUp,
    /// The association is shutting down or closed.
    #[error("streams do not change any more: the association is closing or closed")]
    Closing,
    /// One of the two sides does not have the extension, or has it turned off.
    #[error("the two sides have not agreed on RE-CONFIG (option `reconfiguration`)")]
    NotSupported,
    /// Not a stream of this association.
    #[error("stream {stream} does not exist: ids are below {streams}")]
    NoSuchStream {
        /// Asked for.
        stream: u16,
        /// Number of streams there are.
        streams: u16,
    },
    /// A request must fit a packet.
    #[error("{listed} streams are too many for one request: {limit} fit; list none to reset all")]
    TooManyListed {
        /// Number of streams listed.
        listed: usize,
        /// Number that fits.
        limit: usize,
    },
    /// More streams than there can be.
    #[error("so many streams are too many: the limit is {limit}")]
    TooManyStreams {
        /// Number of streams allowed.
        limit: u16,
    },
    /// "Only one SSN/TSN Reset Request SHOULD be sent within 30 seconds" (RFC 6525, 5.1.4).
    #[error("the last SSN/TSN reset is less than 30 s ago")]
    TooSoon,
    /// TSNs begin anew only where they are the only numbers.
    #[error("an SSN/TSN reset is not possible while subflows have sequence spaces of their own")]
    SeveralSpaces,
    /// Requests are answered one after the other; these many wait already.
    #[error("too many requests wait for the peer's answer")]
    TooManyRequests,
}

/// Reason why a path MTU is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a path MTU of {mtu} bytes is too small: the least is {}", PathMtuError::LEAST)]
pub struct PathMtuError {
    /// Asked for, bytes.
    pub mtu: u16,
}

impl PathMtuError {
    /// The least path MTU, bytes: the size that every host takes (RFC 1122, 3.3.2).
    pub const LEAST: u16 = 576;
}
