//! A flow: one association or connection, and the application behind it.

use anabranch_base::{Dscp, Duration};
use anabranch_sctp::config::SubflowLevel;
use anabranch_sctp::{Coupling, SubflowScheduler, SubflowSpec};

use super::dscp::dscp;
use super::engine::{self, Engine, EngineChoice};
use super::error::{Place, Problem, hint, list, quote};
use super::keys::{Field, Keys};
use super::protocol::Protocol;
use super::subflow::{self, TimedChange};
use super::time_draw::TimeDraw;
use super::traffic::{self, Traffic};
use super::tree::Table;
use super::units;

/// One association or connection from a sender to a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, unique among the flows.
    pub name: String,
    /// The name in the file of the flows that a `count` made; `None` for a single flow.
    pub group: Option<String>,
    /// The host that sends, by its place in `hosts`.
    pub from: usize,
    /// The host that receives, by its place in `hosts`.
    pub to: usize,
    /// The end that opens it.
    pub opened_by: Opener,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Engine of the sender.
    pub sender: Engine,
    /// Engine of the receiver; the same as the sender's unless the file says otherwise.
    pub receiver: Engine,
    /// The data that the application sends.
    pub traffic: Traffic,
    /// Subflows of the association; a single one unless the file names some.
    pub subflows: Vec<SubflowSpec>,
    /// The rule that chooses the next packet's subflow when several may send.
    pub scheduler: SubflowScheduler,
    /// Changes of the subflows while data flows, in the order of time.
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

/// The end that opens a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opener {
    /// The sender, as in an upload.
    #[default]
    Sender,
    /// The receiver, as in a download: the sender listens, and sends when it has accepted.
    Receiver,
}

/// A flow as the file declares it: `count` of them, and engines that hosts may still complete.
pub(super) struct Declared<'t> {
    /// Engines are still empty, and its hosts have no numbers yet.
    pub(super) flow: Flow,
    /// The names of its hosts: sender, receiver.
    pub(super) hosts: [&'t str; 2],
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

/// More flows than this in one `count` are surely a slip.
const MOST: u64 = 1_000_000;

const KEYS: [&str; 20] = [
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
];

/// Keys of flows with a transport.
const OF_TRANSPORTS: [&str; 9] =
    ["opened_by", "engine", "options", "receiver", "subflows", "coupling", "level", "streams", "unordered"];

/// Keys of SCTP alone.
const OF_SCTP: [&str; 7] = ["subflows", "coupling", "level", "scheduler", "events", "streams", "unordered"];

/// An option of an engine that stands right in a flow: says where it belongs.
fn options_in_place(table: &Table) -> Result<(), Problem> {
    let misplaced = table.entries.iter().find(|entry| {
        let key = entry.key.as_str();
        !KEYS.contains(&key) && Protocol::ALL.iter().any(|&each| engine::option_names(each).contains(&key))
    });
    misplaced.map_or(Ok(()), |entry| {
        let key = &entry.key;
        let told =
            format!("{} is an option of the engine, not a key of [[flow]]: write options.{key}", quote(key));
        Err(Problem::new(&entry.place, told))
    })
}

pub(super) fn read(table: &Table) -> Result<Declared<'_>, Problem> {
    options_in_place(table)?;
    let keys = Keys::of(table, "[[flow]]", &KEYS)?;
    let name = keys.required("name", "\"flow\"")?;
    let from = keys.required("from", "\"a\"")?;
    let to = keys.required("to", "\"b\"")?;
    let field = keys.required("protocol", "\"sctp\"")?;
    if field.text()?.eq_ignore_ascii_case("udp") {
        return Err(field.problem(
            "\"udp\" is no protocol of a flow; datagrams at a constant rate are \"cbr\", in periods \"square\", in bursts \"on-off\"",
        ));
    }
    let protocol = field.choice("protocol", &Protocol::ALL.map(|protocol| (protocol.name(), protocol)))?;
    let (both, receiver) = engine::of_flow(&keys)?;
    if !protocol.is_transport() {
        let why = format!("protocol {} has no transport; leave it out", quote(protocol.name()));
        refuse(&keys, &OF_TRANSPORTS, &why)?;
    }
    let traffic = traffic::read(&keys, protocol)?;
    if protocol == Protocol::Tcp {
        refuse(&keys, &OF_SCTP, "a TCP connection has no streams and no subflows; leave it out")?;
    }
    let code_point = keys.optional("dscp").map_or(Ok(Dscp::DEFAULT), |field| dscp(&field))?;
    let subflows = match keys.optional("subflows") {
        None => vec![SubflowSpec::new(code_point)],
        Some(field) => subflow::subflows(&field, code_point)?,
    };
    let coupling = keys.optional("coupling").map_or(Ok(Coupling::default()), |field| coupling(&field))?;
    let level = keys.optional("level").map_or(Ok(SubflowLevel::default()), |field| level(&field))?;
    let scheduler =
        keys.optional("scheduler").map_or(Ok(SubflowScheduler::default()), |field| scheduler(&field))?;
    let events =
        keys.optional("events").map_or(Ok(Vec::new()), |field| subflow::events(&field, code_point))?;
    let start = match keys.optional("start") {
        None => TimeDraw::Fixed(Duration::ZERO),
        Some(field) => field.quantity("\"0 s\"", units::time_draw)?,
    };
    let stop = stop(&keys, &traffic, start)?;
    let streams = streams(&keys, protocol, &traffic, &subflows)?;
    let opened_by = opened_by(&keys, &traffic)?;
    let own_name = name.name()?;
    from.name()?;
    to.name()?;
    let hosts = [from.text()?, to.text()?];
    let flow = Flow {
        name: own_name,
        group: None,
        from: 0,
        to: 0,
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
    if hosts[0] == hosts[1] {
        return Err(to.problem(format!("a flow needs two hosts, and both ends are {}", quote(hosts[1]))));
    }
    let count = count(&keys, &flow.traffic)?;
    Ok(Declared { flow, hosts, name, from, to, place: keys.place(), both, receiver, count })
}

/// Refuses these keys.
fn refuse(keys: &Keys<'_>, names: &[&'static str], why: &str) -> Result<(), Problem> {
    match names.iter().find_map(|name| keys.optional(name)) {
        Some(field) => Err(field.problem(why)),
        None => Ok(()),
    }
}

fn level(field: &Field<'_>) -> Result<SubflowLevel, Problem> {
    field.quantity("0, 1 or \"sf2007\"", |text| {
        SubflowLevel::parse(text)
            .ok_or_else(|| format!("unknown level {}; allowed: 0, 1, \"sf2007\"", quote(text)))
    })
}

fn scheduler(field: &Field<'_>) -> Result<SubflowScheduler, Problem> {
    field.choice(
        "scheduler",
        &[
            ("fcfs", SubflowScheduler::Fcfs),
            ("wrr", SubflowScheduler::WeightedRoundRobin),
            ("priority", SubflowScheduler::Priority),
            ("wfq", SubflowScheduler::WeightedFair),
        ],
    )
}

fn stop(keys: &Keys<'_>, traffic: &Traffic, start: TimeDraw) -> Result<Option<Duration>, Problem> {
    let Some(field) = keys.optional("stop") else { return Ok(None) };
    if matches!(traffic, Traffic::Transfer { .. } | Traffic::Objects(_)) {
        return Err(field.problem("a transfer stops by itself; leave it out"));
    }
    let stop = field.quantity("\"60 s\"", units::time)?;
    match start {
        TimeDraw::Fixed(start) if start >= stop => Err(field.problem("the flow stops before it starts")),
        _ => Ok(Some(stop)),
    }
}

/// The number of streams: that of the file, or as many as the subflows and the objects need.
fn streams(
    keys: &Keys<'_>,
    protocol: Protocol,
    traffic: &Traffic,
    subflows: &[SubflowSpec],
) -> Result<u16, Problem> {
    let named = subflows.iter().flat_map(|spec| &spec.streams).max().map_or(1, |most| most + 1);
    let fewest = named.max(if named > 1 { 1 } else { subflows.len() as u16 });
    let carried = match traffic {
        Traffic::Messages(sources) => sources.iter().map(|source| source.stream + 1).max().unwrap_or(1),
        _ => 1,
    };
    let Some(field) = keys.optional("streams") else {
        return Ok(match traffic {
            // A stream for each object.
            Traffic::Objects(connection) if protocol == Protocol::Sctp => {
                fewest.max(u16::try_from(connection.own().count()).unwrap_or(u16::MAX))
            }
            _ => fewest.max(carried),
        });
    };
    match u16::try_from(field.integer(1, 65_535)?).unwrap_or(u16::MAX) {
        few if few < fewest => {
            Err(field.problem(format!("{few} are too few for the subflows; at least {fewest}")))
        }
        few if few < carried => {
            Err(field.problem(format!("{few} are too few for the sources; at least {carried}")))
        }
        streams => Ok(streams),
    }
}

fn opened_by(keys: &Keys<'_>, traffic: &Traffic) -> Result<Opener, Problem> {
    match (keys.optional("opened_by"), traffic) {
        (Some(field), Traffic::Objects(_)) => {
            Err(field.problem("who fetches objects opens the connections; leave it out"))
        }
        (Some(field), _) => {
            field.choice("opened_by", &[("sender", Opener::Sender), ("receiver", Opener::Receiver)])
        }
        // The client, which receives the objects, opens the connections.
        (None, Traffic::Objects(_)) => Ok(Opener::Receiver),
        (None, _) => Ok(Opener::Sender),
    }
}

/// How many flows the table stands for.
fn count(keys: &Keys<'_>, traffic: &Traffic) -> Result<Option<u64>, Problem> {
    match (keys.optional("count"), traffic) {
        (Some(field), Traffic::Objects(_)) => {
            Err(field.problem("traffic of kind \"objects\" says how many connections; leave it out"))
        }
        (field, _) => field.map(|field| field.integer(1, MOST)).transpose(),
    }
}

fn coupling(field: &Field<'_>) -> Result<Coupling, Problem> {
    const ALLOWED: [&str; 9] = Coupling::NAMES;
    let text = field.text()?;
    Coupling::parse(text).ok_or_else(|| {
        let hint = hint(text, ALLOWED);
        field.problem(format!("unknown coupling {}{hint}; allowed: {}", quote(text), list(ALLOWED)))
    })
}
