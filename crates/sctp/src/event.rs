//! Events of an endpoint for its user.

mod words;

use std::net::SocketAddr;

use crate::options::MessageId;

/// One association of an endpoint. The generation makes the id of a released association stay unknown for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl AssociationId {
    /// The slot number, as trace records carry it.
    #[must_use]
    pub fn index(self) -> u32 {
        self.index
    }
}

/// Reason why an association ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// SHUTDOWN COMPLETE was sent or received; or all that was missing was that of a peer which has no association any more. Everything was
    /// delivered.
    Graceful,
    /// We aborted.
    AbortedLocally,
    /// The peer aborted; its error causes in the order of the chunk, as raw codes.
    AbortedByPeer {
        /// Cause codes (RFC 9260, 3.3.10).
        causes: Vec<u16>,
        /// Reason given by the peer's user, if that user aborted and gave one.
        reason: Option<Box<AbortReason>>,
    },
    /// ICMP has said that no process takes packets at the UDP port of the peer (RFC 6951, 5.5).
    PortUnreachable,
    /// ICMP has said that the peer's host has no SCTP (RFC 9260, 10, ICMP8).
    ProtocolUnreachable,
    /// Nothing came back: a retransmission limit was exceeded.
    Unreachable {
        /// Name of the limit in the RFC.
        limit: &'static str,
    },
    /// The peer broke the protocol; we aborted.
    ProtocolViolation {
        /// The violation.
        what: &'static str,
    },
    /// T5-shutdown-guard expired.
    ShutdownGuard,
    /// The association had not ended when our user wanted it to:
    /// [`AssociationHandle::shutdown_within`](crate::AssociationHandle::shutdown_within).
    ShutdownDeadline,
}

/// Reason of the peer's user for an abort: "Upper Layer Abort Reason" (RFC 9260, 3.3.10.12), the first 1,024 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbortReason(pub Vec<u8>);

/// Direction of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Ours.
    Outgoing,
    /// The peer's.
    Incoming,
    /// Ours and the peer's.
    Both,
}

/// Outcome of a re-configuration (RFC 6525, table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconfigured {
    /// The request was performed.
    Performed,
    /// There was nothing to do.
    Nothing,
    /// The peer does not want it.
    Denied,
    /// The request failed.
    Failed {
        /// The peer's result code: 3 wrong stream, 4 another request is in progress, 5 bad sequence number.
        result: u32,
    },
}

impl Reconfigured {
    pub(crate) fn from_result(result: u32) -> Self {
        match result {
            0 => Self::Nothing,
            1 => Self::Performed,
            2 => Self::Denied,
            result => Self::Failed { result },
        }
    }
}

/// Event of an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A peer has set up an association with us. [`Event::Established`] follows.
    Accepted {
        /// Address of the peer; the port is the UDP port (RFC 6951), or 0.
        address: SocketAddr,
        /// Streams we may send on: ids 0 to this - 1.
        outbound_streams: u16,
        /// Streams the peer may send on.
        inbound_streams: u16,
    },
    /// The association we asked for is up.
    Established {
        /// Streams we may send on: ids 0 to this - 1.
        outbound_streams: u16,
        /// Streams the peer may send on.
        inbound_streams: u16,
    },
    /// Code point that the layer above the peer sent in the handshake: Adaptation Layer Indication (RFC 5061, 4.2.6).
    /// It comes right behind [`Event::Established`].
    AdaptationIndication {
        /// The adaptation code point.
        code_point: u32,
    },
    /// These many messages cannot be delivered (SEND FAILURE, RFC 9260, 11.2.2): the association ends, or the peer has restarted.
    /// They can be taken back until it is released: [`AssociationHandle::receive_unsent`] and
    /// [`AssociationHandle::receive_unacknowledged`].
    ///
    /// [`AssociationHandle::receive_unsent`]: crate::AssociationHandle::receive_unsent
    /// [`AssociationHandle::receive_unacknowledged`]: crate::AssociationHandle::receive_unacknowledged
    SendFailed {
        /// Number of messages of which nothing was sent.
        unsent: usize,
        /// Number of messages of which at least a part was sent.
        unacknowledged: usize,
    },
    /// Messages that were handed back before, by [`Event::SendFailed`] or [`Event::Restarted`], and not taken, are gone: the oldest, as a
    /// peer restarts again and again and all together would have more than two send buffers and a receive window.
    ReturnedForgotten {
        /// Number of messages.
        messages: usize,
    },
    /// Every byte of a message whose fate was asked for has been acknowledged for good: the peer has it. Nothing
    /// shows that its user has read it.
    Delivered {
        /// The message.
        message: MessageId,
        /// Its context.
        context: u32,
    },
    /// A message whose fate was asked for was given up, as its options or its stream have it ([`Reliability`](crate::Reliability)).
    Abandoned {
        /// The message.
        message: MessageId,
        /// Its context.
        context: u32,
        /// True if a part of it was sent: then the peer may have it all the same.
        sent: bool,
    },
    /// A message whose fate was asked for cannot be delivered any more: the association has ended, the peer has restarted, or it does
    /// not have the stream or the reliability asked for. The message is among those that can be taken back.
    Failed {
        /// The message.
        message: MessageId,
        /// Its context.
        context: u32,
        /// True if a part of it was sent: then the peer may have it all the same.
        sent: bool,
    },
    /// Nothing waits to be sent or acknowledged any more (RFC 6458, 6.1.9), where
    /// [`AssociationHandle::tell_when_dry`](crate::AssociationHandle::tell_when_dry) has asked for it.
    SenderDry,
    /// The peer granted fewer streams than messages were queued on: those messages are handed back as unsent
    /// ([`AssociationHandle::receive_unsent`](crate::AssociationHandle::receive_unsent)).
    StreamsReduced {
        /// Number of messages.
        messages_dropped: usize,
    },
    /// A message can be received where there was none: of the association, or, once the user has read a stream alone
    /// ([`AssociationHandle::receive_from`]), of the stream.
    ///
    /// [`AssociationHandle::receive_from`]: crate::AssociationHandle::receive_from
    Readable {
        /// Stream id of the first message that can be received.
        stream: u16,
    },
    /// `send` takes messages again after it said [`SendError::Full`](crate::SendError::Full), or, of one stream,
    /// [`SendError::StreamFull`](crate::SendError::StreamFull) or [`SendError::OtherSubflow`](crate::SendError::OtherSubflow). Each
    /// subflow has a send buffer, which `Full` does not name: where several
    /// were full it is told for each, and one of them may be full still.
    Writable {
        /// The stream; `None`: the association.
        stream: Option<u16>,
    },
    /// The amount of buffered data has fallen to the threshold that the user has set, or below
    /// ([`AssociationHandle::set_low_threshold`](crate::AssociationHandle::set_low_threshold)).
    BufferedLow {
        /// The stream; `None`: all of them together.
        stream: Option<u16>,
    },
    /// The peer restarted: sequence spaces began anew (RFC 9260, 5.2.4 A). Messages that it had not acknowledged are handed back, with
    /// [`Event::SendFailed`].
    Restarted {
        /// Messages handed back of which nothing was sent.
        unsent: usize,
        /// Messages handed back of which at least a part was sent: the peer may have got them before.
        unacknowledged: usize,
        /// Bytes of the peer's messages that had arrived and will never be readable: parts of messages, and messages that waited for
        /// others.
        received_bytes_lost: u64,
    },
    /// The peer wants to end: no new messages are taken.
    PeerShutdown,
    /// A path stopped answering.
    PathDown {
        /// The path.
        path: u8,
    },
    /// A path answers again.
    PathUp {
        /// The path.
        path: u8,
    },
    /// ICMP says that a path leads nowhere (RFC 9260, ICMP9). It may be wrong or pass: nothing else has changed.
    Unreachable {
        /// The path.
        path: u8,
        /// The code of "Destination Unreachable" (ICMP or ICMPv6).
        code: u8,
    },
    /// The MTU of a path has changed.
    PathMtu {
        /// The path.
        path: u8,
        /// Largest IP packet, bytes.
        mtu: u16,
    },
    /// The peer reported an error (RFC 9260, 3.3.10); the association goes on.
    PeerError {
        /// Cause code.
        cause: u16,
    },
    /// Streams began anew, or a request for it has ended otherwise (RFC 6525, 6.1.1). Of incoming streams: messages received
    /// later are numbered anew.
    StreamsReset {
        /// Direction of the streams; never both at once.
        direction: Direction,
        /// The streams; none listed: all.
        streams: Vec<u16>,
        /// Outcome.
        outcome: Reconfigured,
    },
    /// All streams and TSNs of both sides began anew, or our request for it has ended otherwise (RFC 6525, 6.1.2).
    AssociationReset {
        /// Outcome.
        outcome: Reconfigured,
    },
    /// Streams were added, or a request of ours for more has ended otherwise (RFC 6525, 6.1.3).
    StreamsAdded {
        /// Streams that we may send on now.
        outbound_streams: u16,
        /// Streams that the peer may send on now.
        inbound_streams: u16,
        /// Outcome.
        outcome: Reconfigured,
    },
    /// A message whose first parts were handed over will never end: the peer gave it up, reset its stream or the association,
    /// or restarted (RFC 6458, 6.1.7). Parts that are not read yet stay readable.
    PartialDeliveryAborted {
        /// Stream id.
        stream: u16,
        /// True if it was sent unordered.
        unordered: bool,
        /// The message: [`Part::message`](crate::Part::message).
        message: u32,
    },
    /// The end. Received messages stay readable until the association is released.
    Closed(CloseReason),
}

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Waiting for INIT ACK.
    T1Init,
    /// Waiting for COOKIE ACK.
    T1Cookie,
    /// Waiting for SHUTDOWN ACK or SHUTDOWN COMPLETE.
    T2Shutdown,
    /// COOKIE ECHO, SHUTDOWN or SHUTDOWN ACK is to be sent once more before T1-cookie or T2-shutdown expires.
    ControlProbe,
    /// Waiting for a SACK.
    T3Rtx,
    /// A probe of the tail is due, or chunks that may only be late are lost by then.
    Lane,
    /// Bound on the whole shutdown.
    T5ShutdownGuard,
    /// The shutdown takes longer than the user wants to wait.
    ShutdownDeadline,
    /// A delayed SACK is due.
    Sack,
    /// A HEARTBEAT is due, or its answer overdue.
    Heartbeat,
    /// A closed window is due for a probe.
    WindowProbe,
    /// The pacer lets the next packet of a lane leave.
    Pacer,
    /// Waiting for the answer to a RE-CONFIG request.
    Reconfiguration,
    /// The cookie of a peer that waits for the user becomes stale.
    Incoming,
    /// Waiting for the answer to a probe of a path's MTU, or a larger one is to be looked for.
    PathMtu,
    /// The lifetime of a message ends.
    Lifetime,
}
