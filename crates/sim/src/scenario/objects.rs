//! Traffic of kind `objects`: a list of objects, such as the files of a web page, over several connections or over the
//! streams of one.

use std::sync::Arc;

use anabranch_base::Duration;

use super::error::Problem;
use super::keys::{Field, Keys};
use super::message;
use super::tree::{Table, Value};
use super::units;

/// More objects than this in one list are surely a slip.
const MOST_OBJECTS: u64 = 1_000_000;

/// More connections than this for one list are surely a slip.
const MOST_CONNECTIONS: u64 = 10_000;

/// Objects that one client fetches, and the way it does.
#[derive(Clone, Debug, PartialEq)]
pub struct Objects {
    /// Bytes of each object, in the order in which they are asked for.
    pub sizes: Vec<u64>,
    /// Size of one message (SCTP) or write (TCP); the last one of an object may be shorter. Streams take turns message by
    /// message.
    pub message: u32,
    /// How many connections or associations; object `i` belongs to connection `i` modulo this.
    pub connections: u32,
    /// The rule that says when the next connection is opened.
    pub opening: Opening,
    /// Whether the streams of an association take turns, or one object follows the other.
    pub order: Order,
    /// The end that closes a connection after its last object.
    pub closed_by: Closer,
    /// How the client asks for objects; `None`: it does not, and the server sends all as soon as there is a connection.
    pub request: Option<Request>,
}

/// When connections are opened, one after the other or several at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Number of connections opened at once. The next ones follow when all of these are established (or have failed).
    pub burst: u32,
    /// Time from then until the next ones are opened.
    pub gap: Duration,
    /// Limit on the connections that have not delivered all of their objects yet.
    pub at_once: u32,
}

/// The order in which the streams of one association take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// A message of each stream in turn.
    #[default]
    RoundRobin,
    /// All of an object before the next.
    OneByOne,
}

/// The end that closes a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Closer {
    /// The server, as soon as it has handed over the last object (HTTP/1.0); the client closes its side in turn.
    #[default]
    Server,
    /// The server, but the client closes its sides only when it has every object of the list.
    ServerFirst,
    /// The client, when it has the last object.
    Client,
}

/// The requests of a client for objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Bytes of one request.
    pub size: u32,
    /// Whether the requests of a connection go out together, or each when the object before it is there.
    pub pipeline: bool,
}

/// The part of one connection in a list of objects: its flow is one of several that a `[[flow]]` became.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// All of the objects.
    pub objects: Arc<Objects>,
    /// Which of the connections this is, from 0.
    pub number: u32,
}

impl Connection {
    /// The objects of this connection: number in the list (from 0) and size.
    pub fn own(&self) -> impl Iterator<Item = (usize, u64)> {
        let step = self.objects.connections.max(1) as usize;
        self.objects.sizes.iter().copied().enumerate().skip(self.number as usize).step_by(step)
    }
}

pub(super) fn read(table: &Table) -> Result<Objects, Problem> {
    let keys = Keys::of(
        table,
        "traffic of kind \"objects\"",
        &[
            "kind",
            "objects",
            "bytes",
            "sizes",
            "message",
            "connections",
            "open",
            "at_once",
            "order",
            "closed_by",
            "request",
            "pipeline",
        ],
    )?;
    let sizes = sizes(&keys)?;
    let message = message::read(&keys.required("message", "\"1400 B\"")?)?;
    let count = sizes.len() as u64;
    let connections = match keys.optional("connections") {
        None => None,
        Some(field) => match field.integer(1, MOST_CONNECTIONS)? {
            many if many > count => {
                return Err(
                    field.problem(format!("{many} connections for {count} objects; at most one each"))
                );
            }
            some => Some(some as u32),
        },
    };
    let (burst, gap) = match keys.optional("open") {
        None => (1, Duration::ZERO),
        Some(field) => opening(&field)?,
    };
    let at_once = match keys.optional("at_once") {
        None => u32::MAX,
        Some(field) => field.integer(1, MOST_CONNECTIONS)? as u32,
    };
    let order = match keys.optional("order") {
        None => Order::default(),
        Some(field) => {
            field.choice("order", &[("round-robin", Order::RoundRobin), ("one-by-one", Order::OneByOne)])?
        }
    };
    let closed_by = match keys.optional("closed_by") {
        None => Closer::default(),
        Some(field) => field.choice(
            "closed_by",
            &[("server", Closer::Server), ("server-first", Closer::ServerFirst), ("client", Closer::Client)],
        )?,
    };
    let request = match (keys.optional("request"), keys.optional("pipeline")) {
        (None, None) => None,
        (None, Some(field)) => {
            return Err(field.problem("without a request there is nothing to pipeline; leave it out"));
        }
        (Some(field), pipeline) => Some(Request {
            size: message::read(&field)?,
            pipeline: pipeline.map_or(Ok(false), |field| field.boolean())?,
        }),
    };
    Ok(Objects {
        sizes,
        message,
        // 0 until the protocol is known: one for each object (TCP), or a single one (SCTP).
        connections: connections.unwrap_or(0),
        opening: Opening { burst, gap, at_once },
        order,
        closed_by,
        request,
    })
}

/// `sizes`, or `bytes` in so many `objects`.
fn sizes(keys: &Keys<'_>) -> Result<Vec<u64>, Problem> {
    if let Some(field) = keys.optional("sizes") {
        for key in ["objects", "bytes"] {
            if let Some(other) = keys.optional(key) {
                return Err(other.problem("sizes says how large each object is; leave it out"));
            }
        }
        let sizes = field
            .items("a list of sizes such as [\"100 kB\", \"4 kB\"]")?
            .map(|item| match item.quantity("\"4 kB\"", units::size)? {
                0 => Err(item.problem("an object needs at least 1 B")),
                size => Ok(size),
            })
            .collect::<Result<Vec<_>, _>>()?;
        if sizes.is_empty() {
            return Err(field.problem("no sizes; at least one object is needed"));
        }
        return Ok(sizes);
    }
    let total = keys.required("bytes", "\"300 kB\"")?;
    let bytes = total.quantity("\"300 kB\"", units::size)?;
    let count = keys.optional("objects").map_or(Ok(1), |field| field.integer(1, MOST_OBJECTS))?;
    if bytes < count {
        return Err(total.problem(format!("{bytes} B are too few for {count} objects; at least 1 B each")));
    }
    // The remainder makes the first objects a byte larger.
    Ok((0..count).map(|index| bytes / count + u64::from(index < bytes % count)).collect())
}

fn opening(field: &Field<'_>) -> Result<(u32, Duration), Problem> {
    if let Value::Table(table) = &field.node.value {
        let keys = Keys::of(table, "open", &["burst", "gap"])?;
        let burst = keys.required("burst", "4")?.integer(1, MOST_CONNECTIONS)? as u32;
        let gap = keys
            .optional("gap")
            .map_or(Ok(Duration::ZERO), |field| field.quantity("\"100 ms\"", units::time))?;
        return Ok((burst, gap));
    }
    field.choice("open", &[("sequence", (1, Duration::ZERO)), ("parallel", (u32::MAX, Duration::ZERO))])
}
