//! Reading: messages, parts of messages, notifications, the end.

use anabranch_sctp::{AssociationId, Received};

use super::answer::Answer;
use super::socket::{Link, Socket};
use crate::names::constant;
use crate::network::Network;
use crate::value::{Field, Value};

/// What was read.
pub(crate) struct Read {
    pub(crate) len: usize,
    pub(crate) content: Value,
    /// MSG_EOR, MSG_NOTIFICATION.
    pub(crate) flags: i64,
    /// sctp_sndrcvinfo and sctp_rcvinfo.
    pub(crate) info: Value,
}

fn flag(name: &str) -> i64 {
    constant(name).unwrap_or(0)
}

/// Reads up to `room` bytes. Err: nothing to read, and what the call comes to.
pub(crate) fn read(socket: &mut Socket, network: &mut Network, room: usize) -> Result<Read, Answer> {
    if let Some(note) = socket.early.pop_front() {
        return Ok(notification(note.content, note.len));
    }
    if socket.links.is_empty() && !socket.many {
        return Err(match socket.error.take() {
            Some(error) => Answer::Fails(error),
            None => Answer::Fails("ENOTCONN"),
        });
    }
    for link in &mut socket.links {
        if let Some(read) = data(link, network, room) {
            return Ok(read);
        }
    }
    if let Some(note) = socket.late.pop_front() {
        return Ok(notification(note.content, note.len));
    }
    if !socket.many {
        if let Some(error) = socket.error.take() {
            return Err(Answer::Fails(error));
        }
        let over = socket.link().is_some_and(|link| link.ended || link.closed);
        if over {
            return Ok(Read { len: 0, content: Value::Any, flags: 0, info: Value::Any });
        }
    }
    Err(if socket.nonblocking { Answer::Fails("EAGAIN") } else { Answer::Blocks })
}

fn notification(content: Value, len: usize) -> Read {
    Read { len, content, flags: flag("MSG_NOTIFICATION") | flag("MSG_EOR"), info: Value::Any }
}

fn receive(link: &Link, network: &mut Network) -> Option<Received> {
    let id: AssociationId = link.id;
    network.endpoint(link.port)?.association(id)?.receive()
}

fn data(link: &mut Link, network: &mut Network, room: usize) -> Option<Read> {
    let (len, info, end) = match link.rest.take() {
        Some(rest) => rest,
        None => {
            let message = receive(link, network)?;
            let unordered = if message.unordered { flag("SCTP_UNORDERED") } else { 0 };
            let info = info(message.stream, message.ppid, unordered);
            (message.len(), info, message.is_end())
        }
    };
    let taken = len.min(room);
    let whole = taken == len;
    if !whole {
        link.rest = Some((len - taken, info.clone(), end));
    }
    // A message that is delivered in parts ends with the last of them.
    let flags = if whole && end { flag("MSG_EOR") } else { 0 };
    Some(Read { len: taken, content: Value::Any, flags, info })
}

/// Both structures in one: a script names the fields of either. The core does not tell SSN and TSN.
fn info(stream: u16, ppid: u32, flags: i64) -> Value {
    let mut fields = Vec::new();
    for prefix in ["sinfo", "rcv"] {
        let stream_key = if prefix == "rcv" { "sid" } else { "stream" };
        fields.push(Field::keyed(&format!("{prefix}_{stream_key}"), Value::Number(i64::from(stream))));
        fields.push(Field::keyed(&format!("{prefix}_ppid"), Value::Number(i64::from(ppid))));
        fields.push(Field::keyed(&format!("{prefix}_flags"), Value::Number(flags)));
        for key in ["ssn", "tsn", "cumtsn", "context", "assoc_id", "timetolive"] {
            fields.push(Field::keyed(&format!("{prefix}_{key}"), Value::Any));
        }
    }
    Value::Record(fields)
}

/// Whether a read would not block.
pub(crate) fn is_readable(socket: &Socket, network: &mut Network) -> bool {
    let waits = !socket.early.is_empty() || !socket.late.is_empty() || socket.error.is_some();
    let over = !socket.many && socket.link().is_some_and(|link| link.ended || link.closed);
    // The core does not say whether a message waits; what is taken out to look is not put back.
    let mut socket = socket.clone();
    waits
        || over
        || !socket.backlog.is_empty()
        || socket.links.iter_mut().any(|link| link.rest.is_some() || peeked(link, network))
}

fn peeked(link: &Link, network: &Network) -> bool {
    let stats = network
        .view(link.port)
        .and_then(|endpoint| endpoint.view(link.id))
        .map(anabranch_sctp::Association::stats);
    stats.is_some_and(|stats| stats.payload_bytes_received_new > stats.payload_bytes_delivered)
}
