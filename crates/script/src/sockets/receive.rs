//! Reading: messages, parts of messages, notifications, the end.

use anabranch_sctp::AssociationId;

use super::answer::Answer;
use super::socket::{Link, Socket, TakenMessage};
use crate::names::constant;
use crate::network::Network;
use crate::value::{Field, Value};

/// The result of one read.
pub(crate) struct Read {
    pub(crate) len: usize,
    /// The fields of a notification, or a placeholder for data.
    pub(crate) content: Value,
    /// MSG_EOR, MSG_NOTIFICATION.
    pub(crate) flags: i64,
    /// The message that was read; `None`: a notification or the end.
    pub(crate) message: Option<TakenMessage>,
    /// The message that comes next, where the user wants to know.
    pub(crate) next: Option<TakenMessage>,
}

impl Read {
    fn end() -> Self {
        Self { len: 0, content: Value::Any, flags: 0, message: None, next: None }
    }
}

fn flag(name: &str) -> i64 {
    constant(name).unwrap_or(0)
}

/// Reads up to `room` bytes; `peek` leaves them where they are. Err: there is nothing to read, with the result of the
/// call.
pub(crate) fn read(
    socket: &mut Socket,
    network: &mut Network,
    room: usize,
    peek: bool,
) -> Result<Read, Answer> {
    if let Some(note) = first(&mut socket.early, peek) {
        return Ok(note);
    }
    if socket.links.is_empty() && !socket.many {
        return Err(match socket.error.take() {
            Some(error) => Answer::Fails(error),
            None => Answer::Fails("ENOTCONN"),
        });
    }
    let look_ahead = socket.wants_next();
    for link in &mut socket.links {
        if let Some(read) = data(link, network, room, peek, look_ahead) {
            return Ok(read);
        }
    }
    if let Some(note) = first(&mut socket.late, peek) {
        return Ok(note);
    }
    if !socket.many {
        if let Some(error) = socket.error.take() {
            return Err(Answer::Fails(error));
        }
        let over = socket.link().is_some_and(|link| link.ended || link.closed || link.deaf);
        if over {
            return Ok(Read::end());
        }
    }
    Err(if socket.nonblocking { Answer::Fails("EAGAIN") } else { Answer::Blocks })
}

fn first(queue: &mut std::collections::VecDeque<super::socket::Waiting>, peek: bool) -> Option<Read> {
    let note = if peek { queue.front().cloned() } else { queue.pop_front() }?;
    let flags = flag("MSG_NOTIFICATION") | flag("MSG_EOR");
    Some(Read { len: note.len, content: note.content, flags, message: None, next: None })
}

/// Takes messages out of the core until `count` wait here.
fn fetch(link: &mut Link, network: &mut Network, count: usize) {
    let id: AssociationId = link.id;
    while link.waiting.len() < count {
        let Some(mut association) = network.endpoint(link.port).and_then(|e| e.association(id)) else {
            return;
        };
        let Some(message) = association.receive() else { return };
        link.waiting.push_back(TakenMessage {
            stream: message.stream,
            ppid: message.ppid,
            unordered: message.unordered,
            len: message.len(),
            end: message.is_end(),
        });
    }
}

fn data(link: &mut Link, network: &mut Network, room: usize, peek: bool, look_ahead: bool) -> Option<Read> {
    fetch(link, network, 1);
    let mut message = link.waiting.pop_front()?;
    let read = message.clone();
    let taken = message.len.min(room);
    let whole = taken == message.len;
    if peek {
        link.waiting.push_front(message);
    } else if !whole {
        message.len -= taken;
        link.waiting.push_front(message);
    } else if look_ahead {
        fetch(link, network, 1);
    }
    let next = link.waiting.get(usize::from(peek)).filter(|_| look_ahead && whole).cloned();
    // A message that is delivered in parts ends with the last of them.
    let flags = if whole && read.end { flag("MSG_EOR") } else { 0 };
    if !peek {
        link.in_parts = !whole || !read.end;
    }
    Some(Read { len: taken, content: Value::Any, flags, message: Some(read), next })
}

/// The descriptions of a message that RFC 6458 has, sctp_sndrcvinfo and sctp_rcvinfo in one: a script names the fields of either.
/// The core does not tell SSN and TSN.
pub(crate) fn info(message: &TakenMessage, context: i64) -> Value {
    let unordered = if message.unordered { flag("SCTP_UNORDERED") } else { 0 };
    let mut fields = Vec::new();
    for prefix in ["sinfo", "rcv"] {
        let stream_key = if prefix == "rcv" { "sid" } else { "stream" };
        let numbers = [
            (stream_key, i64::from(message.stream)),
            ("ppid", i64::from(message.ppid)),
            ("flags", unordered),
            ("context", context),
            ("timetolive", 0),
            ("pr_value", 0),
        ];
        let keyed =
            |(key, number): (&str, i64)| Field::keyed(&format!("{prefix}_{key}"), Value::Number(number));
        fields.extend(numbers.into_iter().map(keyed));
        for key in ["ssn", "tsn", "cumtsn", "assoc_id"] {
            fields.push(Field::keyed(&format!("{prefix}_{key}"), Value::Any));
        }
    }
    Value::Record(fields)
}

/// sctp_nxtinfo: the message that comes next (RFC 6458, 5.3.6).
pub(crate) fn next_info(message: &TakenMessage) -> Value {
    let complete = if message.end { flag("SCTP_COMPLETE") } else { 0 };
    let unordered = if message.unordered { flag("SCTP_UNORDERED") } else { 0 };
    let numbers = [
        ("nxt_sid", i64::from(message.stream)),
        ("nxt_flags", complete | unordered),
        ("nxt_ppid", i64::from(message.ppid)),
        ("nxt_length", message.len as i64),
    ];
    let mut fields: Vec<Field> =
        numbers.into_iter().map(|(key, number)| Field::keyed(key, Value::Number(number))).collect();
    fields.push(Field::keyed("nxt_assoc_id", Value::Any));
    Value::Record(fields)
}

/// sctp_extrcvinfo: both in one (RFC 6458, 5.3.3).
fn extended_info(message: &TakenMessage, next: Option<&TakenMessage>, context: i64) -> Value {
    let Value::Record(mut fields) = info(message, context) else { return Value::Any };
    let mut flags = 0;
    if let Some(next) = next {
        flags |= flag("SCTP_NEXT_MSG_AVAIL");
        flags |= if next.end { flag("SCTP_NEXT_MSG_ISCOMPLETE") } else { 0 };
        flags |= if next.unordered { flag("SCTP_NEXT_MSG_IS_UNORDERED") } else { 0 };
    }
    for (key, number) in [
        ("serinfo_next_flags", flags),
        ("serinfo_next_stream", next.map_or(0, |next| i64::from(next.stream))),
        ("serinfo_next_length", next.map_or(0, |next| next.len as i64)),
        ("serinfo_next_ppid", next.map_or(0, |next| i64::from(next.ppid))),
    ] {
        fields.push(Field::keyed(key, Value::Number(number)));
    }
    fields.push(Field::keyed("serinfo_next_aid", Value::Any));
    Value::Record(fields)
}

/// The ancillary data of recvmsg, as far as the user has asked for it.
pub(crate) fn ancillary(socket: &Socket, read: &Read) -> Value {
    let Some(message) = &read.message else { return Value::List(Vec::new()) };
    let context = socket.context();
    let mut items = Vec::new();
    let mut item = |kind: &str, len: i64, data: Value| {
        items.push(Value::Record(vec![
            Field::keyed("cmsg_len", Value::Number(len)),
            Field::keyed("cmsg_level", Value::Word("IPPROTO_SCTP".to_owned())),
            Field::keyed("cmsg_type", Value::Word(kind.to_owned())),
            Field::keyed("cmsg_data", data),
        ]));
    };
    if socket.switch("SCTP_RECVRCVINFO") {
        item("SCTP_RCVINFO", 40, info(message, context));
    }
    if let Some(next) = read.next.as_ref().filter(|_| socket.switch("SCTP_RECVNXTINFO")) {
        item("SCTP_NXTINFO", 28, next_info(next));
    }
    if socket.data_io {
        if socket.switch("SCTP_USE_EXT_RCVINFO") {
            item("SCTP_EXTRCV", 140, extended_info(message, read.next.as_ref(), context));
        } else {
            item("SCTP_SNDRCV", 140, info(message, context));
        }
    }
    Value::List(items)
}

/// The result of sctp_recvv: the description, its length and its type, for a buffer of `room` bytes (RFC 6458, 9.13).
pub(crate) fn described(socket: &Socket, read: &Read, room: i64) -> (Value, i64, &'static str) {
    let none = (Value::Any, 0, "SCTP_RECVV_NOINFO");
    let Some(message) = &read.message else { return none };
    let about = socket.switch("SCTP_RECVRCVINFO").then(|| info(message, socket.context()));
    let next = read.next.as_ref().filter(|_| socket.switch("SCTP_RECVNXTINFO")).map(next_info);
    match (about, next) {
        (Some(about), Some(next)) if room >= 44 => {
            let both = vec![Field::keyed("recvv_rcvinfo", about), Field::keyed("recvv_nxtinfo", next)];
            (Value::Record(both), 44, "SCTP_RECVV_RN")
        }
        (Some(about), _) if room >= 28 => (about, 28, "SCTP_RECVV_RCVINFO"),
        (None, Some(next)) if room >= 16 => (next, 16, "SCTP_RECVV_NXTINFO"),
        _ => none,
    }
}

/// Whether a read would not block.
pub(crate) fn is_readable(socket: &Socket, network: &Network) -> bool {
    let waits = !socket.early.is_empty() || !socket.late.is_empty() || socket.error.is_some();
    let over = !socket.many && socket.link().is_some_and(|link| link.ended || link.closed || link.deaf);
    let data = |link: &Link| !link.waiting.is_empty() || has_data(link, network);
    waits || over || !socket.backlog.is_empty() || socket.links.iter().any(data)
}

/// Whether data has come in that was not delivered.
fn has_data(link: &Link, network: &Network) -> bool {
    let stats = network
        .view(link.port)
        .and_then(|endpoint| endpoint.view(link.id))
        .map(anabranch_sctp::Association::stats);
    stats.is_some_and(|stats| stats.payload_bytes_received_new > stats.payload_bytes_delivered)
}
