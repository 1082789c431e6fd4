//! The arguments of calls that send, beside the data: records and ancillary data (RFC 6458, 5.3 and 9), and addresses.

use std::net::SocketAddr;

use super::send::{self, How};
use super::socket::Socket;
use crate::syntax::Call;
use crate::value::{Field, Value};

/// The parameters of one call that sends.
pub(crate) struct Asked {
    pub(crate) len: usize,
    pub(crate) how: How,
    /// An address is given, to which an association can be set up.
    pub(crate) addressed: bool,
    /// The association of a one-to-many socket.
    pub(crate) association: Option<i64>,
    /// SCTP_INIT.
    pub(crate) init: Option<Value>,
}

/// Reads the arguments of a call that sends.
pub(crate) fn of_call(socket: &Socket, call: &Call) -> Asked {
    let any = Value::Any;
    let arg = |index: usize| call.args.get(index).unwrap_or(&any);
    let len = arg(2).number().unwrap_or(0).max(0) as usize;
    let mut asked = Asked {
        len,
        how: send::how(socket, &any),
        // False until the call names an address or an association.
        addressed: false,
        association: None,
        init: None,
    };
    match call.name.as_str() {
        "sctp_sendmsg" => {
            asked.addressed = is_address(arg(3));
            asked.how.ppid = arg(5).number().unwrap_or(0) as u32;
            asked.how.flags = arg(6).number().unwrap_or(0);
            asked.how.stream = arg(7).number().unwrap_or(0) as u16;
            asked.how.limit(asked.how.flags, arg(8).number().unwrap_or(0));
            asked.how.context = arg(9).number().unwrap_or(0) as u32;
        }
        "sctp_send" => asked.told(socket, arg(3)),
        "sctp_sendx" => {
            asked.addressed = is_address(arg(3));
            asked.told(socket, arg(5));
        }
        "sctp_sendv" => {
            asked.len = room_of(arg(1));
            asked.addressed = is_address(arg(3));
            asked.told(socket, arg(5));
        }
        "sendmsg" => {
            asked.len = arg(1).get("msg_iov").map_or(0, room_of);
            asked.addressed = arg(1).get("msg_name").is_some_and(is_address);
            if let Some(Value::List(items)) = arg(1).get("msg_control") {
                items.iter().for_each(|item| asked.control(socket, item));
            }
        }
        _ => {}
    }
    asked
}

impl Asked {
    /// sctp_sndinfo, sctp_sndrcvinfo, or the record that holds one of them.
    fn told(&mut self, socket: &Socket, info: &Value) {
        self.how = send::how(socket, info);
        let inner = info.get("sendv_sndinfo").unwrap_or(info);
        let id = inner.number_of("snd_assoc_id").or_else(|| inner.number_of("sinfo_assoc_id"));
        self.association = id.filter(|id| *id > 0);
    }

    /// One piece of ancillary data.
    fn control(&mut self, socket: &Socket, item: &Value) {
        let (Some(Value::Word(kind)), Some(data)) = (item.get("cmsg_type"), item.get("cmsg_data")) else {
            return;
        };
        match kind.as_str() {
            "SCTP_SNDINFO" | "SCTP_SNDRCV" => self.told(socket, data),
            "SCTP_INIT" => self.init = Some(data.clone()),
            "SCTP_DSTADDRV4" | "SCTP_DSTADDRV6" => self.addressed = true,
            "SCTP_PRINFO" => self.how.partly(data),
            // AUTH does not exist here.
            _ => {}
        }
    }
}

/// Whether an argument is an address, and not `...` or NULL.
fn is_address(value: &Value) -> bool {
    match value {
        Value::Record(_) => true,
        Value::List(items) => items.iter().any(is_address),
        _ => false,
    }
}

/// Bytes of an iovec: `[{..., 1000}]`, or keyed.
pub(crate) fn room_of(vector: &Value) -> usize {
    let Value::List(items) = vector else { return 0 };
    let len = |item: &Value| {
        let by_place = item.fields().get(1).and_then(|field| field.value.number());
        item.number_of("iov_len").or(by_place).unwrap_or(0)
    };
    items.iter().map(len).sum::<i64>().max(0) as usize
}

/// An address as scripts write it.
pub(crate) fn address(address: SocketAddr) -> Value {
    let word = |word: &str| Value::Word(word.to_owned());
    let call = |name: &str, argument: Value| Value::Call(name.to_owned(), vec![argument]);
    let port = call("htons", Value::Number(i64::from(address.port())));
    let text = Value::Text(address.ip().to_string());
    Value::Record(match address {
        SocketAddr::V4(_) => vec![
            Field::keyed("sa_family", word("AF_INET")),
            Field::keyed("sin_port", port),
            Field::keyed("sin_addr", call("inet_addr", text)),
        ],
        SocketAddr::V6(_) => vec![
            Field::keyed("sa_family", word("AF_INET6")),
            Field::keyed("sin6_port", port),
            Field::keyed("sin6_flowinfo", Value::Any),
            Field::keyed("sin6_addr", call("inet_pton", text)),
            Field::keyed("sin6_scope_id", Value::Any),
        ],
    })
}
