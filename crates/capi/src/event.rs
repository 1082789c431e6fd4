//! Events of an association.

use anabranch_sctp::{CloseReason, Direction as Whose, Event as Told, Reconfigured};

/// The kind of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum EventKind {
    /// Nothing that this version of the header knows.
    #[default]
    Other = 0,
    /// A peer has begun an association with us; ESTABLISHED follows. `outbound_streams`, `inbound_streams`.
    Accepted = 1,
    /// It is up. `outbound_streams`, `inbound_streams`.
    Established = 2,
    /// There is a message where there was none. `stream`.
    Readable = 3,
    /// There is room in the send buffer again, after a call answered ERROR_FULL. `stream`, if it was that of one.
    Writable = 4,
    /// The amount of buffered data has fallen to the threshold. `stream`, if it is that of one.
    BufferedLow = 5,
    /// The peer has a message. `message`, `context`.
    Delivered = 6,
    /// A message was given up. `message`, `context`, `sent`.
    Abandoned = 7,
    /// A message cannot be delivered any more. `message`, `context`, `sent`.
    Failed = 8,
    /// So many messages cannot be delivered; they can be taken back. `unsent`, `unacknowledged`.
    SendFailed = 9,
    /// Nothing waits to be sent or acknowledged.
    SenderDry = 10,
    /// Streams began anew, or a request for it has ended otherwise. `direction`, `stream_count` (0: all), `outcome`.
    StreamsReset = 11,
    /// There are more streams. `outbound_streams`, `inbound_streams`, `outcome`.
    StreamsAdded = 12,
    /// Streams and TSNs of both sides began anew. `outcome`.
    AssociationReset = 13,
    /// The rest of a message that is handed over in parts will never come. `stream`, `message` (as `part_of`).
    PartialDeliveryAborted = 14,
    /// The peer has restarted. `unsent`, `unacknowledged`.
    Restarted = 15,
    /// The peer wants to end: no new messages are taken.
    PeerShutdown = 16,
    /// A path stopped answering. `path`.
    PathDown = 17,
    /// A path answers again. `path`.
    PathUp = 18,
    /// The MTU of a path has changed. `path`, `mtu`.
    PathMtu = 19,
    /// The peer reported an error; the association goes on. `cause`.
    PeerError = 20,
    /// The end: `close`. Messages that have arrived can still be read.
    Closed = 21,
}

/// The direction of the streams, as this side sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum Direction {
    /// Ours.
    #[default]
    Outgoing = 0,
    /// The peer's.
    Incoming = 1,
    /// Ours and the peer's.
    Both = 2,
}

/// The result of a request (RFC 6525).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum Outcome {
    /// It was performed.
    #[default]
    Performed = 0,
    /// There was nothing to do.
    Nothing = 1,
    /// The peer does not want it.
    Denied = 2,
    /// It failed.
    Failed = 3,
}

/// The reason for the end of an association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum Close {
    /// In order: everything was delivered.
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
    /// The association, of an endpoint without I/O.
    pub association: u64,
    /// The number of the message, as `anabranch_endpoint_send` gave it.
    pub message: u64,
    /// Messages of which nothing was sent.
    pub unsent: u64,
    /// Messages of which at least a part was sent.
    pub unacknowledged: u64,
    /// The program's own mark of the message.
    pub context: u32,
    /// Streams that we may send on.
    pub outbound_streams: u16,
    /// Streams that the peer may send on.
    pub inbound_streams: u16,
    /// Whether it is about one stream.
    pub has_stream: bool,
    /// The stream.
    pub stream: u16,
    /// Number of streams listed.
    pub stream_count: usize,
    /// A part of the message was sent.
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

/// An event as C has it.
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
