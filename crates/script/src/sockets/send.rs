//! Calls that send.

use anabranch_base::Duration;
use anabranch_sctp::{Message, Reliability, SendError};
use bytes::Bytes;

use super::answer::Answer;
use super::socket::Socket;
use crate::network::Network;
use crate::value::Value;

/// How a message is to be sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct How {
    pub(crate) stream: u16,
    pub(crate) ppid: u32,
    /// SCTP_UNORDERED and so on.
    pub(crate) flags: i64,
    /// When it is given up (RFC 3758, RFC 7496).
    pub(crate) reliability: Option<Reliability>,
    pub(crate) context: u32,
}

const UNORDERED: i64 = 0x400;
const IMMEDIATE: i64 = 0x4000;
/// SCTP_PR_SCTP_TTL, SCTP_PR_SCTP_BUF, SCTP_PR_SCTP_RTX.
const POLICY: i64 = 0xF;
const END: i64 = 0x100;
const ABORT: i64 = 0x200;

/// The defaults of the socket, changed by the values of a record.
pub(crate) fn how(socket: &Socket, info: &Value) -> How {
    let default =
        socket.kept.get("SCTP_DEFAULT_SNDINFO").or_else(|| socket.kept.get("SCTP_DEFAULT_SEND_PARAM"));
    let mut how = How::default();
    for record in default.into_iter().chain([info]) {
        let get = |keys: [&str; 2]| keys.iter().find_map(|key| record.number_of(key));
        how.stream = get(["snd_sid", "sinfo_stream"]).map_or(how.stream, |stream| stream as u16);
        how.ppid = get(["snd_ppid", "sinfo_ppid"]).map_or(how.ppid, |ppid| ppid as u32);
        how.flags = get(["snd_flags", "sinfo_flags"]).unwrap_or(how.flags);
        // SCTP_SENDV_SPA holds records of its own.
        let valid = record.number_of("sendv_flags").is_none_or(|flags| flags & 1 != 0);
        if let Some(inner) = record.get("sendv_sndinfo").filter(|_| valid) {
            let inner = self::how(socket, inner);
            how = inner;
        }
        how.context = get(["snd_context", "sinfo_context"]).map_or(how.context, |context| context as u32);
        if let Some(value) = record.number_of("sinfo_timetolive") {
            how.limit(how.flags, value);
        }
        let valid = record.number_of("sendv_flags").is_none_or(|flags| flags & 2 != 0);
        let inner = record.get("sendv_prinfo").filter(|_| valid).unwrap_or(record);
        how.partly(inner);
    }
    if how.reliability.is_none() {
        if let Some(default) = socket.kept.get("SCTP_DEFAULT_PRINFO") {
            how.partly(default);
        }
    }
    how
}

impl How {
    /// sctp_prinfo.
    pub(crate) fn partly(&mut self, info: &Value) {
        if let Some(policy) = info.number_of("pr_policy") {
            self.limit(policy, info.number_of("pr_value").unwrap_or(0));
        }
    }

    /// A policy of RFC 7496, 3, and its value. Without one a value is a lifetime, as ever since RFC 3758; 0 is none (RFC 6458, 5.3.2).
    pub(crate) fn limit(&mut self, flags: i64, value: i64) {
        let value = value.max(0);
        self.reliability = match flags & POLICY {
            0 if value == 0 => None,
            0 | 1 => Some(Reliability::Lifetime(Duration::from_millis(value as u64))),
            2 => Some(Reliability::Priority(value as u32)),
            3 => Some(Reliability::Retransmissions(u16::try_from(value).unwrap_or(u16::MAX))),
            _ => None,
        };
    }
}

/// Sends a message of `len` bytes.
pub(crate) fn send(
    socket: &mut Socket,
    network: &mut Network,
    len: usize,
    text: &Value,
    how: &How,
) -> Answer {
    let now = network.now;
    let nonblocking = socket.nonblocking;
    let Some(link) = socket.link() else {
        return Answer::Fails(socket.error.take().unwrap_or("ENOTCONN"));
    };
    let (port, id) = (link.port, link.id);
    if link.shut || link.closed {
        let error = link.error.filter(|_| socket.error.take().is_some());
        return Answer::Fails(error.unwrap_or("EPIPE"));
    }
    // Checked before so many bytes are made.
    if len > socket.config.limits.max_message {
        return Answer::Fails("EMSGSIZE");
    }
    let payload = match text {
        Value::Text(text) => {
            let mut bytes = text.clone().into_bytes();
            bytes.resize(len, 0);
            Bytes::from(bytes)
        }
        _ => Bytes::from(vec![0; len]),
    };
    let message = Message {
        stream: how.stream,
        ppid: how.ppid,
        unordered: how.flags & UNORDERED != 0,
        immediate: how.flags & IMMEDIATE != 0,
        payload,
        options: None,
    };
    let message = match how.reliability {
        // A kernel sends it reliably where the peer skips nothing.
        Some(reliability) => message.reliability(reliability).or_reliable(),
        None => message,
    };
    let message = if how.context == 0 { message } else { message.context(how.context) };
    let Some(mut association) = network.endpoint(port).and_then(|endpoint| endpoint.association(id)) else {
        return Answer::Fails("EPIPE");
    };
    if how.flags & ABORT != 0 {
        association.abort(now, &message.payload);
        return Answer::number(len);
    }
    if len > 0 || how.flags & END == 0 {
        match association.send(now, message) {
            Ok(_) => {}
            Err(SendError::Full | SendError::StreamFull { .. }) if nonblocking => {
                return Answer::Fails("EAGAIN");
            }
            Err(SendError::Full | SendError::StreamFull { .. }) => return Answer::Blocks,
            Err(SendError::Closing) => return Answer::Fails("EPIPE"),
            Err(SendError::TooLong { .. }) => return Answer::Fails("EMSGSIZE"),
            Err(
                SendError::Empty
                | SendError::NoSuchStream { .. }
                | SendError::Reliable { .. }
                | SendError::OtherSubflow { .. }
                | SendError::NoSubflow { .. },
            ) => return Answer::Fails("EINVAL"),
        }
    }
    if how.flags & END != 0 {
        association.shutdown(now);
        drop(association);
        if let Some(link) = socket.link_mut() {
            link.shut = true;
        }
    }
    Answer::number(len)
}
