//! The data that the application of a flow sends.

use super::error::Problem;
use super::keys::{Field, Keys};
use super::message;
use super::messages::{self, MessageSource};
use super::objects::{self, Connection};
use super::protocol::Protocol;
use super::source::{self, PacketSource};
use super::units;

/// Bytes that an application writes to TCP at once if the file does not say.
const TCP_WRITE: u32 = 65_536;

/// The data that the application of a flow sends.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Traffic {
    /// Always has something to send.
    Greedy {
        /// Size of one message in bytes of payload.
        message: u32,
    },
    /// A fixed number of bytes, then a graceful close.
    Transfer {
        /// Payload bytes in all.
        bytes: u64,
        /// Size of one message; the last may be shorter.
        message: u32,
    },
    /// Messages of several sources, each with its own sizes and times.
    Messages(Vec<MessageSource>),
    /// Some of the objects that a client fetches, then a graceful close.
    Objects(Connection),
    /// Packets of a flow without a transport.
    Packets(PacketSource),
}

/// Reads `traffic` of a flow with any protocol.
pub(super) fn read(keys: &Keys<'_>, protocol: Protocol) -> Result<Traffic, Problem> {
    if protocol.is_transport() {
        let field = keys.required("traffic", "{ kind = \"greedy\", message = \"1452 B\" }")?;
        return of_transport(&field, protocol);
    }
    let example = "{ rate = \"5 Mbit/s\", packet = \"1000 B\" }";
    source::read(&keys.required("traffic", example)?, protocol).map(Traffic::Packets)
}

fn of_transport(field: &Field<'_>, protocol: Protocol) -> Result<Traffic, Problem> {
    let table = field.table("a table such as { kind = \"greedy\", message = \"1452 B\" }")?;
    let kind = Keys::kind(table, "traffic", "\"greedy\"", &["greedy", "transfer", "messages", "objects"])?;
    if kind == "messages" {
        return messages::read(table, protocol).map(Traffic::Messages);
    }
    if kind == "objects" {
        let mut objects = objects::read(table)?;
        if objects.connections == 0 {
            objects.connections = match protocol {
                Protocol::Tcp => objects.sizes.len() as u32,
                _ => 1,
            };
        }
        return Ok(Traffic::Objects(Connection { objects: objects.into(), number: 0 }));
    }
    let transfer = kind == "transfer";
    let keys = if transfer {
        Keys::of(table, "traffic of kind \"transfer\"", &["kind", "bytes", "message"])?
    } else {
        Keys::of(table, "traffic of kind \"greedy\"", &["kind", "message"])?
    };
    let message = match keys.optional("message") {
        // The size of writes has no meaning for TCP.
        None if protocol == Protocol::Tcp => TCP_WRITE,
        _ => message::read(&keys.required("message", "\"1452 B\"")?)?,
    };
    if !transfer {
        return Ok(Traffic::Greedy { message });
    }
    let total = keys.required("bytes", "\"10 MB\"")?;
    match total.quantity("\"10 MB\"", units::size)? {
        0 => Err(total.problem("a transfer needs at least 1 B")),
        bytes => Ok(Traffic::Transfer { bytes, message }),
    }
}
