//! Messages: handed in, and received.

use anabranch_sctp::{Dscp, Duration, Reliability, Undelivered};
use bytes::Bytes;

use crate::memory;
use crate::status::{Answer, Failure, Status};

/// How long a message is worth sending.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum Policy {
    /// As its stream has it; a stream that nothing was said of is reliable.
    OfStream = 0,
    /// Until it is acknowledged.
    Reliable = 1,
    /// `policy_value` nanoseconds (RFC 3758).
    Lifetime = 2,
    /// Each of its chunks is sent again `policy_value` times at most (RFC 7496).
    Retransmissions = 3,
    /// Where the send buffer is full those with the largest `policy_value` make room (RFC 7496).
    Priority = 4,
}

/// A message to be sent. Fill it with zeros, then say what differs from an ordered, reliable message on stream 0.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Message {
    /// The payload, which is copied.
    pub data: *const u8,
    /// Its bytes; at least one.
    pub size: usize,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Stream id.
    pub stream: u16,
    /// It may overtake others of its stream.
    pub unordered: bool,
    /// The peer is asked to acknowledge it at once.
    pub immediate: bool,
    /// One of `anabranch_policy`.
    pub policy: u32,
    /// The parameter of the policy.
    pub policy_value: u64,
    /// Where the peer cannot skip abandoned messages, this one is sent reliably; otherwise it is refused there.
    pub or_reliable: bool,
    /// An event tells its fate: DELIVERED, ABANDONED or FAILED.
    pub tell_fate: bool,
    /// The program's own mark, which that event has.
    pub context: u32,
    /// Whether it leaves with a code point of its own, and its stream with it.
    pub has_dscp: bool,
    /// The code point, 0 to 63.
    pub dscp: u8,
}

/// A message that has arrived, or a part of one; or one that was taken back.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Received {
    /// Its bytes; where the buffer is too small, those that it needs.
    pub size: usize,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Stream id.
    pub stream: u16,
    /// Whether it was sent unordered.
    pub unordered: bool,
    /// More of this message follows: it is handed over in parts, as it is longer than the receive buffer allows.
    pub more: bool,
    /// Tells apart messages that are handed over in parts at the same time; 0 for a message in one piece.
    pub part_of: u32,
    /// Its number in its stream: the low 16 bits are its SSN.
    pub number: u32,
    /// Of a message that was taken back: its context.
    pub context: u32,
}

/// The policy of a message or stream.
pub(crate) fn reliability(policy: u32, value: u64) -> Result<Option<Reliability>, Failure> {
    let too_large = |what: &str| Failure::argument(format!("`policy_value` {value} is too large for {what}"));
    Ok(match policy {
        0 => None,
        1 => Some(Reliability::Full),
        2 => Some(Reliability::Lifetime(Duration::from_nanos(value))),
        3 => {
            let most = u16::try_from(value).map_err(|_| too_large("retransmissions: at most 65535"))?;
            Some(Reliability::Retransmissions(most))
        }
        4 => {
            let value = u32::try_from(value).map_err(|_| too_large("a priority: at most 2^32 - 1"))?;
            Some(Reliability::Priority(value))
        }
        other => return Err(Failure::argument(format!("policy {other}: there are 0 to 4"))),
    })
}

impl Message {
    /// The message as the stack takes it.
    ///
    /// # Safety
    /// Where `data` is not null, `size` bytes can be read there.
    pub(crate) unsafe fn get(&self) -> Result<anabranch_sctp::Message, Failure> {
        // SAFETY: as the caller says.
        let payload = unsafe { memory::bytes(self.data, self.size, "data")? };
        let mut message = anabranch_sctp::Message::new(self.stream, Bytes::copy_from_slice(payload));
        (message.ppid, message.unordered, message.immediate) = (self.ppid, self.unordered, self.immediate);
        if let Some(reliability) = reliability(self.policy, self.policy_value)? {
            message = message.reliability(reliability);
        }
        if self.or_reliable {
            message = message.or_reliable();
        }
        if self.tell_fate {
            message = message.tell_fate();
        }
        if self.context != 0 {
            message = message.context(self.context);
        }
        if self.has_dscp {
            let dscp = Dscp::new(self.dscp);
            message = message.dscp(dscp.ok_or_else(|| Failure::argument("a code point is 0 to 63"))?);
        }
        Ok(message)
    }
}

/// A message with its payload, which waits for a buffer that is large enough.
pub(crate) struct Held {
    pub(crate) about: Received,
    payload: Bytes,
}

impl From<anabranch_sctp::Received> for Held {
    fn from(message: anabranch_sctp::Received) -> Self {
        let about = Received {
            size: message.len(),
            ppid: message.ppid,
            stream: message.stream,
            unordered: message.unordered,
            more: !message.is_end(),
            part_of: message.part.map_or(0, |part| part.message),
            number: message.number,
            context: 0,
        };
        Self { about, payload: message.into_bytes() }
    }
}

impl From<Undelivered> for Held {
    fn from(message: Undelivered) -> Self {
        let about = Received {
            size: message.len(),
            ppid: message.ppid,
            stream: message.stream,
            unordered: message.unordered,
            number: message.number.unwrap_or(0),
            context: message.context,
            ..Received::default()
        };
        Self { about, payload: message.into_bytes() }
    }
}

impl Held {
    /// Hands it over. With an error it was not, and is to be kept.
    ///
    /// # Safety
    /// Where they are not null, `room` bytes can be written to `buffer`, and a structure to `about`.
    pub(crate) unsafe fn hand_over(&self, buffer: *mut u8, room: usize, about: *mut Received) -> Answer {
        // SAFETY: as the caller says.
        unsafe { memory::write(about, self.about, "received")? };
        // SAFETY: as the caller says.
        unsafe { memory::copy(&self.payload, buffer, room, std::ptr::null_mut()) }
    }
}

/// The status and sentence for a message that was not taken.
pub(crate) fn refused(error: &anabranch_sctp::SendError) -> Failure {
    use anabranch_sctp::SendError;
    let status = match error {
        SendError::Full | SendError::StreamFull { .. } | SendError::OtherSubflow { .. } => Status::ErrorFull,
        SendError::Closing => Status::ErrorClosed,
        SendError::Empty | SendError::TooLong { .. } | SendError::NoSuchStream { .. } => {
            Status::ErrorArgument
        }
        SendError::Reliable { .. } | SendError::NoSubflow { .. } => Status::ErrorRefused,
    };
    Failure::new(status, error)
}
