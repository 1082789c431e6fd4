//! Messages that the program sends and receives.

use anabranch_sctp::{Dscp, Duration, Reliability, Undelivered};
use bytes::Bytes;

use crate::memory;
use crate::status::{Answer, Failure, Status};

/// The limit of the stack's attempts to deliver a message.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum Policy {
    /// The policy of the stream of the message, which is RELIABLE by default.
    OfStream = 0,
    /// No limit: the message is sent again until the peer has acknowledged it.
    Reliable = 1,
    /// The message is given up after `policy_value` nanoseconds (RFC 3758).
    Lifetime = 2,
    /// Each chunk of the message is sent again `policy_value` times at most (RFC 7496).
    Retransmissions = 3,
    /// If the send buffer is full, messages with the largest `policy_value` are given up to make room (RFC 7496).
    Priority = 4,
}

/// A message to be sent. A structure filled with zeros stands for an ordered, reliable message on stream 0: fill it with zeros,
/// then set the payload and the fields that need another value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Message {
    /// The payload. The call copies it.
    pub data: *const u8,
    /// The size of the payload in bytes; at least 1.
    pub size: usize,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Stream id.
    pub stream: u16,
    /// True for an unordered message: it may overtake other messages of its stream.
    pub unordered: bool,
    /// True to ask the peer for an immediate acknowledgement.
    pub immediate: bool,
    /// A value of `anabranch_policy`: the limit of the attempts to deliver the message.
    pub policy: u32,
    /// The parameter of the policy; see `anabranch_policy` for its unit.
    pub policy_value: u64,
    /// True to send the message reliably to a peer without partial reliability; false to refuse the call in that case.
    pub or_reliable: bool,
    /// True to ask for an event about the fate of the message: DELIVERED, ABANDONED or FAILED.
    pub tell_fate: bool,
    /// The program's own mark, which events about the message contain.
    pub context: u32,
    /// True to send this message, and its stream from now on, with the code point `dscp`.
    pub has_dscp: bool,
    /// The code point for the IP header, 0 to 63, if `has_dscp` is true.
    pub dscp: u8,
}

/// A received message, a part of a received message, or a message that was taken back.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Received {
    /// The size in bytes. After ERROR_BUFFER: the number of bytes that the buffer needs.
    pub size: usize,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Stream id.
    pub stream: u16,
    /// True if the message was sent unordered.
    pub unordered: bool,
    /// True if another part of this message follows: a message that is too long for the receive buffer comes in parts.
    pub more: bool,
    /// The same number for all parts of one message, so that parts of different messages can be told apart; 0 for a whole message.
    pub part_of: u32,
    /// The number of the message in its stream; the low 16 bits are its SSN.
    pub number: u32,
    /// The field `context` of a message that was taken back; 0 for received messages.
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
    /// Converts the message to one of the stack, with a copy of the payload.
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
    /// Writes the message to the caller's memory. After an error the caller does not have the message: keep it.
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

/// The status and sentence for a message that the stack refused.
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
