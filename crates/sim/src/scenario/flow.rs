//! A flow: one association or connection, and the application behind it.

use anabranch_base::{Dscp, Duration};
use anabranch_sctp::config::SubflowLevel;
use anabranch_sctp::{Coupling, SubflowScheduler, SubflowSpec};

use super::engine::{self, EngineChoice};
use super::error::{Place, Problem, hint, list, quote};
use super::keys::{Field, Keys};
use super::objects::{self, Connection};
use super::subflow::{self, TimedChange};
use super::tree::{Table, Value};
use super::{Engine, PacketSource, TimeDraw, source, units};

/// One association or connection from a sender to a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, unique among the flows.
    pub name: String,
    /// The name in the file of the flows that a `count` made; `None` for a single flow.
    pub group: Option<String>,
    /// The host that sends.
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// Who opens it.
    pub opened_by: Opener,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Engine of the sender.
    pub sender: Engine,
    /// Engine of the receiver; the same as the sender's unless the file says otherwise.
    pub receiver: Engine,
    /// What the application sends.
    pub traffic: Traffic,
    /// Subflows of the association; a single one without a word in the file.
    pub subflows: Vec<SubflowSpec>,
    /// Whose packet is next when several subflows may send.
    pub scheduler: SubflowScheduler,
    /// What changes in the subflows while data flows, in the order of time.
    pub events: Vec<TimedChange>,
    /// How the windows of the subflows hold together.
    pub coupling: Coupling,
    /// How the two ends know of subflows.
    pub level: SubflowLevel,
    /// Code point of its packets, both directions.
    pub dscp: Dscp,
    /// When the application opens it; of several connections for one list of objects, when the first is opened.
    pub start: TimeDraw,
    /// When a greedy application or a source of packets stops sending. `None`: at the end of the run.
    pub stop: Option<Duration>,
    /// Streams; messages go round them in turn. 1 for TCP.
    pub streams: u16,
    /// Whether messages are sent unordered. False for TCP.
    pub unordered: bool,
}

/// Which end opens a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opener {
    /// The sender, as who uploads does.
    #[default]
    Sender,
    /// The receiver, as who downloads does: the sender listens, and sends when it has accepted.
    Receiver,
}

/// Transport protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// SCTP.
    Sctp,
    /// TCP.
    Tcp,
    /// No transport: packets at a constant rate.
    Cbr,
    /// No transport: packets at a constant rate during the first part of each period.
    Square,
    /// No transport: bursts of packets and silences of random lengths.
    OnOff,
}

impl Protocol {
    /// As the file writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sctp => "sctp",
            Self::Tcp => "tcp",
            Self::Cbr => "cbr",
            Self::Square => "square",
            Self::OnOff => "on-off",
        }
    }

    /// Whether there is an association or connection: somebody who answers, an engine, something to recover.
    #[must_use]
    pub const fn is_transport(self) -> bool {
        matches!(self, Self::Sctp | Self::Tcp)
    }
}

/// What the application sends.
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
    /// Some of the objects that a client fetches, then a graceful close.
    Objects(Connection),
    /// Packets of a flow without a transport.
    Packets(PacketSource),
}

/// A flow as the file declares it: `count` of them, and engines that hosts may still complete.
pub(super) struct Declared<'t> {
    /// Engines are still empty.
    pub(super) flow: Flow,
    pub(super) name: Field<'t>,
    pub(super) from: Field<'t>,
    pub(super) to: Field<'t>,
    pub(super) place: &'t Place,
    /// `engine` and `options`: both ends.
    pub(super) both: EngineChoice,
    /// `receiver`: the receiving end only.
    pub(super) receiver: EngineChoice,
    /// How many; `None` for a single flow that keeps its name.
    pub(super) count: Option<u64>,
}

const PROTOCOLS: [Protocol; 5] =
    [Protocol::Sctp, Protocol::Tcp, Protocol::Cbr, Protocol::Square, Protocol::OnOff];

/// More flows than this in one `count` are surely a slip.
const MOST: u64 = 1_000_000;

/// Largest message that an application may send in one piece.
const LARGEST_MESSAGE: u64 = 16 << 20;

pub(super) fn read(table: &Table) -> Result<Declared<'_>, Problem> {
    let keys = Keys::of(
        table,
        "[[flow]]",
        &[
            "name",
            "from",
            "to",
            "opened_by",
            "protocol",
            "engine",
            "options",
            "receiver",
            "traffic",
            "subflows",
            "coupling",
            "level",
            "scheduler",
            "events",
            "dscp",
            "start",
            "stop",
            "streams",
            "unordered",
            "count",
        ],
    )?;
    let name = keys.required("name", "\"flow\"")?;
    let from = keys.required("from", "\"a\"")?;
    let to = keys.required("to", "\"b\"")?;
    let protocol = keys
        .required("protocol", "\"sctp\"")?
        .choice("protocol", &PROTOCOLS.map(|protocol| (protocol.name(), protocol)))?;
    let (both, receiver) = engine::of_flow(&keys)?;
    let traffic = if protocol.is_transport() {
        traffic(&keys.required("traffic", "{ kind = \"greedy\", message = \"1452 B\" }")?, protocol)?
    } else {
        for key in [
            "opened_by",
            "engine",
            "options",
            "receiver",
            "subflows",
            "coupling",
            "level",
            "streams",
            "unordered",
        ] {
            if let Some(field) = keys.optional(key) {
                return Err(field
                    .problem(format!("protocol {} has no transport; leave it out", quote(protocol.name()))));
            }
        }
        let example = "{ rate = \"5 Mbit/s\", packet = \"1000 B\" }";
        Traffic::Packets(source::read(&keys.required("traffic", example)?, protocol)?)
    };
    if protocol == Protocol::Tcp {
        for key in ["subflows", "coupling", "level", "scheduler", "events", "streams", "unordered"] {
            if let Some(field) = keys.optional(key) {
                return Err(field.problem("a TCP connection has no streams and no subflows; leave it out"));
            }
        }
    }
    let code_point = keys.optional("dscp").map_or(Ok(Dscp::DEFAULT), |field| dscp(&field))?;
    let subflows = match keys.optional("subflows") {
        None => vec![SubflowSpec::new(code_point)],
        Some(field) => subflow::subflows(&field, code_point)?,
    };
    let coupling = match keys.optional("coupling") {
        None => Coupling::default(),
        Some(field) => coupling(&field)?,
    };
    let level = match keys.optional("level") {
        None => SubflowLevel::default(),
        Some(field) => field.quantity("0, 1 or \"sf2007\"", |text| {
            SubflowLevel::parse(text)
                .ok_or_else(|| format!("unknown level {}; allowed: 0, 1, \"sf2007\"", quote(text)))
        })?,
    };
    let scheduler = match keys.optional("scheduler") {
        None => SubflowScheduler::default(),
        Some(field) => field.choice(
            "scheduler",
            &[
                ("fcfs", SubflowScheduler::Fcfs),
                ("wrr", SubflowScheduler::WeightedRoundRobin),
                ("priority", SubflowScheduler::Priority),
                ("wfq", SubflowScheduler::WeightedFair),
            ],
        )?,
    };
    let events = match keys.optional("events") {
        None => Vec::new(),
        Some(field) => subflow::events(&field, code_point)?,
    };
    let start = match keys.optional("start") {
        None => TimeDraw::Fixed(Duration::ZERO),
        Some(field) => field.quantity("\"0 s\"", units::time_draw)?,
    };
    let stop = match keys.optional("stop") {
        None => None,
        Some(field) if !matches!(traffic, Traffic::Transfer { .. } | Traffic::Objects(_)) => {
            let stop = field.quantity("\"60 s\"", units::time)?;
            if let TimeDraw::Fixed(start) = start {
                if start >= stop {
                    return Err(field.problem("the flow stops before it starts"));
                }
            }
            Some(stop)
        }
        Some(field) => return Err(field.problem("a transfer stops by itself; leave it out")),
    };
    let named = subflows.iter().flat_map(|spec| &spec.streams).max().map_or(1, |most| most + 1);
    let fewest = named.max(if named > 1 { 1 } else { subflows.len() as u16 });
    let wanted = match &traffic {
        // A stream for each object.
        Traffic::Objects(connection) if protocol == Protocol::Sctp => {
            fewest.max(u16::try_from(connection.own().count()).unwrap_or(u16::MAX))
        }
        _ => fewest,
    };
    let streams = match keys.optional("streams") {
        None => wanted,
        Some(field) => match u16::try_from(field.integer(1, 65_535)?).unwrap_or(u16::MAX) {
            few if few < fewest => {
                return Err(field.problem(format!("{few} are too few for the subflows; at least {fewest}")));
            }
            streams => streams,
        },
    };
    let opened_by = match (keys.optional("opened_by"), &traffic) {
        (Some(field), Traffic::Objects(_)) => {
            return Err(field.problem("who fetches objects opens the connections; leave it out"));
        }
        (Some(field), _) => {
            field.choice("opened_by", &[("sender", Opener::Sender), ("receiver", Opener::Receiver)])?
        }
        // Who fetches objects opens the connections.
        (None, Traffic::Objects(_)) => Opener::Receiver,
        (None, _) => Opener::Sender,
    };
    let flow = Flow {
        name: name.name()?,
        group: None,
        from: from.name()?,
        to: to.name()?,
        opened_by,
        protocol,
        sender: Engine::default(),
        receiver: Engine::default(),
        traffic,
        subflows,
        coupling,
        level,
        scheduler,
        events,
        dscp: code_point,
        start,
        stop,
        streams,
        unordered: keys.optional("unordered").map_or(Ok(false), |field| field.boolean())?,
    };
    if flow.from == flow.to {
        return Err(to.problem(format!("a flow needs two hosts, and both ends are {}", quote(&flow.to))));
    }
    let count = match (keys.optional("count"), &flow.traffic) {
        (Some(field), Traffic::Objects(_)) => {
            return Err(field.problem("traffic of kind \"objects\" says how many connections; leave it out"));
        }
        (field, _) => field.map(|field| field.integer(1, MOST)).transpose()?,
    };
    Ok(Declared { flow, name, from, to, place: keys.place(), both, receiver, count })
}

fn coupling(field: &Field<'_>) -> Result<Coupling, Problem> {
    const ALLOWED: [&str; 9] = Coupling::NAMES;
    let text = field.text()?;
    Coupling::parse(text).ok_or_else(|| {
        let hint = hint(text, ALLOWED);
        field.problem(format!("unknown coupling {}{hint}; allowed: {}", quote(text), list(ALLOWED)))
    })
}

fn traffic(field: &Field<'_>, protocol: Protocol) -> Result<Traffic, Problem> {
    let table = field.table("a table such as { kind = \"greedy\", message = \"1452 B\" }")?;
    let kind = Keys::kind(table, "traffic", "\"greedy\"", &["greedy", "transfer", "objects"])?;
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
    let message = message(&keys.required("message", "\"1452 B\"")?)?;
    if !transfer {
        return Ok(Traffic::Greedy { message });
    }
    let total = keys.required("bytes", "\"10 MB\"")?;
    match total.quantity("\"10 MB\"", units::size)? {
        0 => Err(total.problem("a transfer needs at least 1 B")),
        bytes => Ok(Traffic::Transfer { bytes, message }),
    }
}

/// The size of one message.
pub(super) fn message(field: &Field<'_>) -> Result<u32, Problem> {
    let size = field.quantity("\"1452 B\"", units::size)?;
    if !(1..=LARGEST_MESSAGE).contains(&size) {
        return Err(field.problem(format!("{size} B is out of range; allowed: 1 B to 16 MiB")));
    }
    Ok(u32::try_from(size).unwrap_or(u32::MAX))
}

/// Code points with the names that RFC 2474, 2597, 3246, 5865 and 8622 give them.
const CODE_POINTS: [(&str, u8); 24] = [
    ("BE", 0),
    ("LE", 1),
    ("CS0", 0),
    ("CS1", 8),
    ("CS2", 16),
    ("CS3", 24),
    ("CS4", 32),
    ("CS5", 40),
    ("CS6", 48),
    ("CS7", 56),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("EF", 46),
    ("VA", 44),
];

pub(super) fn dscp(field: &Field<'_>) -> Result<Dscp, Problem> {
    let value = match &field.node.value {
        Value::Text(text) => {
            let names = || CODE_POINTS.iter().map(|&(name, _)| name);
            CODE_POINTS.iter().find(|(name, _)| name == text).map(|&(_, value)| value).ok_or_else(|| {
                field.problem(format!(
                    "unknown code point {}{}; allowed: 0 to 63, {}",
                    quote(text),
                    hint(text, names()),
                    list(names())
                ))
            })?
        }
        _ => u8::try_from(field.integer(0, 63)?).unwrap_or(0),
    };
    Ok(Dscp::new(value).unwrap_or_default())
}
