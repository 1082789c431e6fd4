//! Traffic of kind `messages`: sources of messages that share a connection, each with its own sizes and times.

use anabranch_base::Duration;
use anabranch_sctp::Reliability;

use super::error::Problem;
use super::keys::{Field, Keys};
use super::message;
use super::protocol::Protocol;
use super::time_draw::TimeDraw;
use super::tree::{Table, Value};
use super::units;

/// More sources than this in one flow are surely a slip.
const MOST_SOURCES: usize = 1000;
/// Bytes of the header at the beginning of every message: its source, length, number and time of birth.
pub(crate) const MESSAGE_HEADER: u32 = 24;

/// One source of messages.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageSource {
    /// Its name, unique in its flow.
    pub name: String,
    /// The stream that carries its messages; 0 for TCP.
    pub stream: u16,
    /// Sizes of its messages in bytes, in turn.
    pub sizes: Vec<u32>,
    /// Time from one message to the next; `None`: there is always another one.
    pub every: Option<TimeDraw>,
    /// When the first one is there, after the flow was opened.
    pub start: TimeDraw,
    /// How many in all; `None`: until the flow stops.
    pub count: Option<u64>,
    /// Whether its messages are sent unordered.
    pub unordered: bool,
    /// A message that takes longer is late.
    pub deadline: Option<Duration>,
    /// How long a message is worth sending; a lifetime counts from its making.
    pub reliability: Reliability,
}

/// Reads a table of kind `messages`.
pub(super) fn read(table: &Table, protocol: Protocol) -> Result<Vec<MessageSource>, Problem> {
    let keys = Keys::of(table, "traffic of kind \"messages\"", &["kind", "sources"])?;
    let field = keys.required("sources", "[{ name = \"calls\", message = \"200 B\", every = \"20 ms\" }]")?;
    let sources = field
        .items("a list of tables such as { name = \"calls\", message = \"200 B\", every = \"20 ms\" }")?
        .map(|item| source(&item, protocol))
        .collect::<Result<Vec<_>, _>>()?;
    if sources.is_empty() || sources.len() > MOST_SOURCES {
        return Err(field.problem(format!("{} sources; allowed: 1 to {MOST_SOURCES}", sources.len())));
    }
    for (place, source) in sources.iter().enumerate() {
        if sources[..place].iter().any(|other| other.name == source.name) {
            return Err(field.problem(format!("two sources are called \"{}\"", source.name)));
        }
    }
    Ok(sources)
}

fn source(item: &Field<'_>, protocol: Protocol) -> Result<MessageSource, Problem> {
    let table = item.table("a table such as { name = \"calls\", message = \"200 B\", every = \"20 ms\" }")?;
    let keys = Keys::of(
        table,
        "a source",
        &[
            "name",
            "stream",
            "message",
            "every",
            "start",
            "count",
            "unordered",
            "deadline",
            "lifetime",
            "retransmissions",
            "priority",
        ],
    )?;
    if protocol == Protocol::Tcp {
        for key in ["stream", "unordered", "lifetime", "retransmissions", "priority"] {
            if let Some(field) = keys.optional(key) {
                return Err(field.problem(
                    "a TCP connection has one stream of bytes, all of which it delivers; leave it out",
                ));
            }
        }
    }
    let message = keys.required("message", "\"200 B\"")?;
    let sizes = match &message.node.value {
        Value::Array(_) => message.items("a list of sizes")?.map(|item| size(&item)).collect(),
        _ => size(&message).map(|size| vec![size]),
    }?;
    if sizes.is_empty() {
        return Err(message.problem("no sizes; at least one is needed"));
    }
    let every = keys.optional("every").map(|field| interval(&field)).transpose()?;
    Ok(MessageSource {
        name: keys.required("name", "\"calls\"")?.name()?,
        stream: keys.optional("stream").map_or(Ok(0), |field| field.integer(0, 65_534))? as u16,
        sizes,
        every,
        start: keys.optional("start").map_or(Ok(TimeDraw::Fixed(Duration::ZERO)), |field| {
            field.quantity("\"uniform(0 s, 20 ms)\"", units::time_draw)
        })?,
        count: keys.optional("count").map(|field| field.integer(1, u64::from(u32::MAX))).transpose()?,
        unordered: keys.optional("unordered").map_or(Ok(false), |field| field.boolean())?,
        deadline: keys
            .optional("deadline")
            .map(|field| field.quantity("\"100 ms\"", units::time))
            .transpose()?,
        reliability: reliability(&keys)?,
    })
}

/// At most one of the policies of RFC 3758 and RFC 7496.
fn reliability(keys: &Keys<'_>) -> Result<Reliability, Problem> {
    let mut said = Reliability::Full;
    for key in ["lifetime", "retransmissions", "priority"] {
        let Some(field) = keys.optional(key) else { continue };
        if said != Reliability::Full {
            return Err(field.problem("a message has one policy of partial reliability; leave it out"));
        }
        said = match key {
            "lifetime" => Reliability::Lifetime(field.quantity("\"100 ms\"", units::time)?),
            "retransmissions" => Reliability::Retransmissions(field.integer(0, 65_535)? as u16),
            _ => Reliability::Priority(field.integer(0, u64::from(u32::MAX))? as u32),
        };
    }
    Ok(said)
}

fn size(field: &Field<'_>) -> Result<u32, Problem> {
    match message::read(field)? {
        small if small < MESSAGE_HEADER => Err(field.problem(format!(
            "{small} B are too few: a message begins with {MESSAGE_HEADER} B that say which one it is"
        ))),
        size => Ok(size),
    }
}

fn interval(field: &Field<'_>) -> Result<TimeDraw, Problem> {
    let every = field.quantity("\"20 ms\"", units::time_draw)?;
    let mean = match every {
        TimeDraw::Fixed(time) | TimeDraw::Exponential(time) => time,
        TimeDraw::Uniform(_, high) => high,
    };
    if mean == Duration::ZERO {
        return Err(
            field.problem("messages that come all at once; leave it out for a source that never ends")
        );
    }
    Ok(every)
}
