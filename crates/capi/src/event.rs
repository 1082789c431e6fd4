//! Events of an association.

use anabranch_sctp::{CloseReason, Direction as Whose, Event as Told, Reconfigured};

/// The kind of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum EventKind {
    /// An event without a kind of its own in this version of the header.
    #[default]
    Other = 0,
    /// A peer has begun an association with us; ESTABLISHED follows. Fields: `outbound_streams`, `inbound_streams`.
    Accepted = 1,
    /// The association is up. Fields: `outbound_streams`, `inbound_streams`.
    Established = 2,
    /// A message can be read, and before there was none. Field: `stream`.
    Readable = 3,
    /// The send buffer has room again, after a call returned ERROR_FULL. Field: `stream`, if one stream was full.
    Writable = 4,
    /// The amount of buffered data has fallen to the threshold. Field: `stream`, if the threshold belongs to one stream.
    BufferedLow = 5,
    /// The peer has acknowledged a message. Fields: `message`, `context`.
    Delivered = 6,
    /// A message was given up because of its policy. Fields: `message`, `context`, `sent`.
    Abandoned = 7,
    /// A message cannot be delivered any more. Fields: `message`, `context`, `sent`.
    Failed = 8,
    /// Messages cannot be delivered; the program can take them back. Fields with their numbers: `unsent`, `unacknowledged`.
    SendFailed = 9,
    /// No data is left to be sent or acknowledged.
    SenderDry = 10,
    /// Streams were reset, or a request for a reset has failed. Fields: `direction`, `stream_count` (0: all), `outcome`.
    StreamsReset = 11,
    /// Streams were added, or a request for more has failed. Fields: `outbound_streams`, `inbound_streams`, `outcome`.
    StreamsAdded = 12,
    /// The streams and TSNs of both sides were reset, or a request for it has failed. Field: `outcome`.
    AssociationReset = 13,
    /// The rest of a partly received message will never come. Fields: `stream`, `message` (the value of `part_of`).
    PartialDeliveryAborted = 14,
    /// The peer has restarted. Fields: `unsent`, `unacknowledged`.
    Restarted = 15,
    /// The peer is shutting down the association: it takes no new messages.
    PeerShutdown = 16,
    /// A path stopped answering. Field: `path`.
    PathDown = 17,
    /// A path answers again. Field: `path`.
    PathUp = 18,
    /// The MTU of a path has changed. Fields: `path`, `mtu`.
    PathMtu = 19,
    /// The peer reported an error; the association goes on. Field: `cause`.
    PeerError = 20,
    /// The association has ended. Field: `close`. Messages that have arrived can still be read.
    Closed = 21,
}

/// The direction of the streams, as this side sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum Direction {
    /// Our outgoing streams.
    #[default]
    Outgoing = 0,
    /// The peer's outgoing streams, which are our incoming ones.
    Incoming = 1,
    /// The outgoing streams of both sides.
    Both = 2,
}

/// The result of a request (RFC 6525).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum Outcome {
    /// The request was performed.
    #[default]
    Performed = 0,
    /// The request needed no change.
    Nothing = 1,
    /// The peer has denied the request.
    Denied = 2,
    /// The request failed.
    Failed = 3,
}

/// The reason for the end of an association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum Close {
    /// A shutdown in order: all messages were delivered.
    #[default]
    Graceful = 0,
    /// We aborted.
    AbortedLocally = 1,
    /// The peer aborted.
    AbortedByPeer = 2,
    /// The peer did not answer.
    Unreachable = 3,
    /// The peer broke the protocol.
    ProtocolViolation = 4,
    /// The shutdown took too long.
    ShutdownTimeout = 5,
}

/// An event. Fields that do not belong to its kind are 0.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// The number of the association at an endpoint without I/O; 0 with a driver.
    pub association: u64,
    /// The number of the message: `anabranch_endpoint_send` and `anabranch_association_send` have written it to `id`.
    pub message: u64,
    /// The number of messages of which no part was sent.
    pub unsent: u64,
    /// The number of messages of which at least a part was sent.
    pub unacknowledged: u64,
    /// The program's own mark of the message: its field `context`.
    pub context: u32,
    /// The number of streams on which we may send.
    pub outbound_streams: u16,
    /// The number of streams on which the peer may send.
    pub inbound_streams: u16,
    /// True if the event concerns one stream, which is in `stream`.
    pub has_stream: bool,
    /// The stream id, if `has_stream` is true.
    pub stream: u16,
    /// The number of streams in the list of the event, which `anabranch_endpoint_event_streams` gives.
    pub stream_count: usize,
    /// True if a part of the message was sent: then the peer may have received it.
    pub sent: bool,
    /// Number of the path.
    pub path: u8,
    /// Largest IP packet of the path, bytes.
    pub mtu: u16,
    /// Cause code (RFC 9260, 3.3.10).
    pub cause: u16,
    /// The direction of the streams, as this side sees it.
    pub direction: Direction,
    /// The result of the request.
    pub outcome: Outcome,
    /// The reason for the end of the association.
    pub close: Close,
}

/// The parts of an event that do not fit into a structure.
#[derive(Default)]
pub(crate) struct Detail {
    pub(crate) text: String,
    pub(crate) streams: Vec<u16>,
    pub(crate) reason: Vec<u8>,
}

impl From<Reconfigured> for Outcome {
    fn from(outcome: Reconfigured) -> Self {
        match outcome {
            Reconfigured::Performed => Self::Performed,
            Reconfigured::Nothing => Self::Nothing,
            Reconfigured::Denied => Self::Denied,
            Reconfigured::Failed { .. } => Self::Failed,
        }
    }
}

impl From<&CloseReason> for Close {
    fn from(reason: &CloseReason) -> Self {
        match reason {
            CloseReason::Graceful => Self::Graceful,
            CloseReason::AbortedLocally => Self::AbortedLocally,
            CloseReason::AbortedByPeer { .. } => Self::AbortedByPeer,
            CloseReason::PortUnreachable
            | CloseReason::ProtocolUnreachable
            | CloseReason::Unreachable { .. } => Self::Unreachable,
            CloseReason::ProtocolViolation { .. } => Self::ProtocolViolation,
            CloseReason::ShutdownGuard | CloseReason::ShutdownDeadline => Self::ShutdownTimeout,
        }
    }
}

/// Converts an event to the structure for C, and the details that do not fit into it.
pub(crate) fn told(association: u64, event: &Told) -> (Event, Detail) {
    let mut detail = Detail { text: event.to_string(), ..Detail::default() };
    let base = Event { association, ..Event::default() };
    let of = |kind| Event { kind, ..base };
    let stream_of = |kind, stream: Option<u16>| Event {
        has_stream: stream.is_some(),
        stream: stream.unwrap_or(0),
        ..of(kind)
    };
    let fate = |kind, message: u64, context, sent| Event { message, context, sent, ..of(kind) };
    let event = match event {
        Told::Accepted { outbound_streams, inbound_streams, .. } => Event {
            outbound_streams: *outbound_streams,
            inbound_streams: *inbound_streams,
            ..of(EventKind::Accepted)
        },
        Told::Established { outbound_streams, inbound_streams } => Event {
            outbound_streams: *outbound_streams,
            inbound_streams: *inbound_streams,
            ..of(EventKind::Established)
        },
        Told::Readable { stream } => stream_of(EventKind::Readable, Some(*stream)),
        Told::Writable { stream } => stream_of(EventKind::Writable, *stream),
        Told::BufferedLow { stream } => stream_of(EventKind::BufferedLow, *stream),
        Told::Delivered { message, context } => fate(EventKind::Delivered, message.0, *context, true),
        Told::Abandoned { message, context, sent } => fate(EventKind::Abandoned, message.0, *context, *sent),
        Told::Failed { message, context, sent } => fate(EventKind::Failed, message.0, *context, *sent),
        Told::SendFailed { unsent, unacknowledged } => Event {
            unsent: *unsent as u64,
            unacknowledged: *unacknowledged as u64,
            ..of(EventKind::SendFailed)
        },
        Told::SenderDry => of(EventKind::SenderDry),
        Told::StreamsReset { direction, streams, outcome } => {
            detail.streams.clone_from(streams);
            let direction = match direction {
                Whose::Outgoing => Direction::Outgoing,
                Whose::Incoming => Direction::Incoming,
                Whose::Both => Direction::Both,
            };
            let stream_count = streams.len();
            Event { direction, stream_count, outcome: (*outcome).into(), ..of(EventKind::StreamsReset) }
        }
        Told::StreamsAdded { outbound_streams, inbound_streams, outcome } => Event {
            outbound_streams: *outbound_streams,
            inbound_streams: *inbound_streams,
            outcome: (*outcome).into(),
            ..of(EventKind::StreamsAdded)
        },
        Told::AssociationReset { outcome } => {
            Event { outcome: (*outcome).into(), ..of(EventKind::AssociationReset) }
        }
        Told::PartialDeliveryAborted { stream, message, .. } => Event {
            message: u64::from(*message),
            ..stream_of(EventKind::PartialDeliveryAborted, Some(*stream))
        },
        Told::Restarted { unsent, unacknowledged, .. } => Event {
            unsent: *unsent as u64,
            unacknowledged: *unacknowledged as u64,
            ..of(EventKind::Restarted)
        },
        Told::PeerShutdown => of(EventKind::PeerShutdown),
        Told::PathDown { path } => Event { path: *path, ..of(EventKind::PathDown) },
        Told::PathUp { path } => Event { path: *path, ..of(EventKind::PathUp) },
        Told::PathMtu { path, mtu } => Event { path: *path, mtu: *mtu, ..of(EventKind::PathMtu) },
        Told::PeerError { cause } => Event { cause: *cause, ..of(EventKind::PeerError) },
        Told::Closed(reason) => {
            if let CloseReason::AbortedByPeer { reason: Some(said), .. } = reason {
                detail.reason.clone_from(&said.0);
            }
            Event { close: reason.into(), ..of(EventKind::Closed) }
        }
        Told::AdaptationIndication { .. }
        | Told::ReturnedForgotten { .. }
        | Told::StreamsReduced { .. }
        | Told::Unreachable { .. } => base,
    };
    (event, detail)
}
