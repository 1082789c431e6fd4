//! Events and the ends of associations in words, for logs and messages: first the event, then its details.

use std::fmt;

use anabranch_wire::cause;

use super::{AbortReason, CloseReason, Direction, Event, Reconfigured};

/// Most stream ids that are listed.
const LISTED: usize = 16;

impl fmt::Display for AbortReason {
    /// As text in quotes. The bytes are the peer's: nothing in them reaches a terminal unescaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", String::from_utf8_lossy(&self.0).escape_debug())
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Graceful => f.write_str("both sides have shut it down"),
            Self::AbortedLocally => f.write_str("this side aborted the association"),
            Self::AbortedByPeer { causes, reason } => {
                f.write_str("the peer aborted the association")?;
                for (at, cause) in causes.iter().enumerate() {
                    f.write_str(if at == 0 { " (" } else { ", " })?;
                    write_cause(f, *cause)?;
                }
                if !causes.is_empty() {
                    f.write_str(")")?;
                }
                write_sentences(f, causes)?;
                reason.as_ref().map_or(Ok(()), |said| write!(f, ": {said}"))
            }
            Self::PortUnreachable => f.write_str("no process listens at the UDP port of the peer"),
            Self::ProtocolUnreachable => f.write_str("the host of the peer has no SCTP"),
            Self::Unreachable { limit } => write!(f, "the peer did not answer: {limit} exceeded"),
            Self::ProtocolViolation { what } => write!(f, "the peer broke the protocol: {what}"),
            Self::ShutdownGuard => {
                f.write_str("the peer did not finish the shutdown: T5-shutdown-guard expired")
            }
            Self::ShutdownDeadline => f.write_str("the shutdown had not ended by its deadline"),
        }
    }
}

/// An error cause by its name and code.
fn write_cause(f: &mut fmt::Formatter<'_>, code: u16) -> fmt::Result {
    write!(f, "error cause {code}")?;
    cause::name(code).map_or(Ok(()), |name| write!(f, ", {name}"))
}

/// Writes the error causes, a sentence each. The cause "User-Initiated Abort" is left out: its sentence would only
/// repeat its name.
fn write_sentences(f: &mut fmt::Formatter<'_>, causes: &[u16]) -> fmt::Result {
    let told = causes.iter().filter(|&&code| code != cause::code::USER_INITIATED_ABORT);
    for (at, sentence) in told.filter_map(|&code| cause::sentence(code)).enumerate() {
        write!(f, "{}{sentence}", if at == 0 { ": " } else { "; " })?;
    }
    Ok(())
}

impl fmt::Display for Reconfigured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Performed => f.write_str("done"),
            Self::Nothing => f.write_str("there was nothing to do"),
            Self::Denied => f.write_str("the peer does not want it"),
            Self::Failed { result } => {
                let why = match result {
                    3 => "wrong stream",
                    4 => "another request is in progress",
                    5 => "bad sequence number",
                    _ => return write!(f, "it failed, result {result}"),
                };
                write!(f, "it failed: {why}")
            }
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Outgoing => "outgoing",
            Self::Incoming => "incoming",
            Self::Both => "outgoing and incoming",
        })
    }
}

/// `1 message`, `2 messages`.
fn number(f: &mut fmt::Formatter<'_>, count: usize, what: &str) -> fmt::Result {
    write!(f, "{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `stream 3`, or the association as a whole.
fn whose(f: &mut fmt::Formatter<'_>, stream: Option<u16>) -> fmt::Result {
    match stream {
        Some(stream) => write!(f, "stream {stream}"),
        None => f.write_str("the association"),
    }
}

/// Writes the streams; an empty list stands for all of them.
fn streams(f: &mut fmt::Formatter<'_>, list: &[u16]) -> fmt::Result {
    if list.is_empty() {
        return f.write_str("all streams");
    }
    f.write_str(if list.len() == 1 { "stream" } else { "streams" })?;
    for (at, stream) in list.iter().take(LISTED).enumerate() {
        write!(f, "{} {stream}", if at == 0 { "" } else { "," })?;
    }
    let more = list.len().saturating_sub(LISTED);
    if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
}

impl fmt::Display for Event {
    /// The name of the event, a colon, and its details.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted { address, outbound_streams, inbound_streams } => {
                write!(f, "Accepted: from {address}, {outbound_streams} streams out, {inbound_streams} in")
            }
            Self::Established { outbound_streams, inbound_streams } => {
                write!(f, "Established: {outbound_streams} streams out, {inbound_streams} in")
            }
            Self::AdaptationIndication { code_point } => {
                write!(f, "AdaptationIndication: code point {code_point}")
            }
            Self::SendFailed { unsent, unacknowledged } => {
                f.write_str("SendFailed: ")?;
                number(f, *unsent, "message")?;
                write!(f, " not sent, {unacknowledged} not acknowledged")
            }
            Self::ReturnedForgotten { messages } => {
                f.write_str("ReturnedForgotten: ")?;
                number(f, *messages, "message")?;
                f.write_str(" handed back before and not taken, are gone")
            }
            Self::Delivered { context, .. } => write!(f, "Delivered: the message with context {context}"),
            Self::Abandoned { context, sent, .. } => {
                write!(f, "Abandoned: the message with context {context}, {}", parts_sent(*sent))
            }
            Self::Failed { context, sent, .. } => {
                write!(f, "Failed: the message with context {context}, {}", parts_sent(*sent))
            }
            Self::SenderDry => f.write_str("SenderDry: everything has been sent and acknowledged"),
            Self::StreamsReduced { messages_dropped } => {
                f.write_str("StreamsReduced: the peer has fewer streams, ")?;
                number(f, *messages_dropped, "message")?;
                f.write_str(" handed back")
            }
            Self::Readable { stream } => write!(f, "Readable: a message on stream {stream}"),
            Self::Writable { stream } => {
                f.write_str("Writable: ")?;
                whose(f, *stream)?;
                f.write_str(" takes messages again")
            }
            Self::BufferedLow { stream } => {
                f.write_str("BufferedLow: little waits on ")?;
                whose(f, *stream)
            }
            Self::Restarted { unsent, unacknowledged, received_bytes_lost } => {
                f.write_str("Restarted: the peer began anew; ")?;
                number(f, *unsent, "message")?;
                write!(
                    f,
                    " not sent, {unacknowledged} not acknowledged, {received_bytes_lost} bytes received in part lost"
                )
            }
            Self::PeerShutdown => f.write_str("PeerShutdown: the peer wants to end"),
            Self::PathDown { path } => write!(f, "PathDown: path {path} stopped answering"),
            Self::PathUp { path } => write!(f, "PathUp: path {path} answers again"),
            Self::Unreachable { path, code } => {
                write!(
                    f,
                    "Unreachable: ICMP says that path {path} leads nowhere (Destination Unreachable, code {code})"
                )
            }
            Self::PathMtu { path, mtu } => {
                write!(f, "PathMtu: path {path} carries packets of up to {mtu} bytes")
            }
            Self::PeerError { cause } => {
                f.write_str("PeerError: ")?;
                write_cause(f, *cause)?;
                write_sentences(f, &[*cause])
            }
            Self::StreamsReset { direction, streams: list, outcome } => {
                write!(f, "StreamsReset: {direction}, ")?;
                streams(f, list)?;
                write!(f, ": {outcome}")
            }
            Self::AssociationReset { outcome } => write!(f, "AssociationReset: {outcome}"),
            Self::StreamsAdded { outbound_streams, inbound_streams, outcome } => {
                write!(f, "StreamsAdded: {outbound_streams} streams out, {inbound_streams} in: {outcome}")
            }
            Self::PartialDeliveryAborted { stream, message, .. } => {
                write!(f, "PartialDeliveryAborted: message {message} of stream {stream} will never end")
            }
            Self::Closed(reason) => write!(f, "Closed: {reason}"),
        }
    }
}

fn parts_sent(sent: bool) -> &'static str {
    if sent { "a part of it was sent" } else { "nothing of it was sent" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_in_sentences() {
        let told = |reason: CloseReason| Event::Closed(reason).to_string();
        assert_eq!(
            told(CloseReason::Unreachable { limit: "Max.Init.Retransmits" }),
            "Closed: the peer did not answer: Max.Init.Retransmits exceeded"
        );
        let by_peer = |causes: &[u16], said: Option<&[u8]>| CloseReason::AbortedByPeer {
            causes: causes.to_vec(),
            reason: said.map(|said| Box::new(AbortReason(said.to_vec()))),
        };
        assert_eq!(
            told(by_peer(&[12], Some(b"dura\x1b[2J"))),
            "Closed: the peer aborted the association (error cause 12, User-Initiated Abort): \"dura\\u{1b}[2J\""
        );
        assert_eq!(
            told(by_peer(&[4, 400], None)),
            "Closed: the peer aborted the association (error cause 4, Out of Resource, error cause 400): it has no \
             resources left for the association"
        );
        assert_eq!(
            told(by_peer(&[14], None)),
            "Closed: the peer aborted the association (error cause 14, Restart of an Association with New \
             Encapsulation Port): the association exists and is reached at another UDP port than the one that the new \
             handshake came from"
        );
        assert_eq!(
            Event::PeerError { cause: 3 }.to_string(),
            "PeerError: error cause 3, Stale Cookie: the State Cookie came back too late"
        );
        assert_eq!(told(by_peer(&[], None)), "Closed: the peer aborted the association");
    }

    #[test]
    fn lists_are_told_in_words() {
        let reset = |list: Vec<u16>, outcome| {
            Event::StreamsReset { direction: Direction::Incoming, streams: list, outcome }.to_string()
        };
        assert_eq!(reset(vec![1, 7], Reconfigured::Performed), "StreamsReset: incoming, streams 1, 7: done");
        assert_eq!(
            reset(Vec::new(), Reconfigured::Failed { result: 4 }),
            "StreamsReset: incoming, all streams: it failed: another request is in progress"
        );
        let many = reset((0..20).collect(), Reconfigured::Denied);
        assert!(many.ends_with("14, 15 and 4 more: the peer does not want it"), "{many}");
        let failed = Event::SendFailed { unsent: 1, unacknowledged: 2 }.to_string();
        assert_eq!(failed, "SendFailed: 1 message not sent, 2 not acknowledged");
    }
}
