//! Recordings of a run besides its summary.

use anabranch_base::Duration;

use super::error::Problem;
use super::keys::{Field, Keys};
use super::names::Names;
use super::tree::{Table, Value};
use super::units;

/// The recordings to make. The default is none, which costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Kinds of events that go into the trace.
    pub trace: Selection<EventKind>,
    /// Links whose packets go into the capture, by their places in `links`.
    pub pcap: Selection<usize>,
    /// Bytes of each packet in the capture, from its IP header on; at least 1. `None`: all of it.
    pub snaplen: Option<u32>,
    /// Record the length of every queue at this interval.
    pub queue_interval: Option<Duration>,
    /// Record the counts and the state of every end and every link at this interval.
    pub sample: Option<Duration>,
    /// The beginning of the first interval, after the start of the run.
    pub sample_from: Duration,
    /// When the last one has ended. `None`: at the end of the run.
    pub sample_until: Option<Duration>,
    /// Links, by their places in `links`, whose packets go into the trace one by one.
    pub packets: Selection<usize>,
    /// Links, by their places in `links`, whose counts the summary gives flow by flow too.
    pub by_flow: Selection<usize>,
}

/// None, all or some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection<T> {
    /// None of them.
    #[default]
    None,
    /// All of them.
    All,
    /// These; never empty.
    Only(Vec<T>),
}

impl<T: PartialEq> Selection<T> {
    /// Whether `item` is selected.
    pub fn contains(&self, item: &T) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(items) => items.contains(item),
        }
    }

    /// Whether nothing is selected.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// A kind of event in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// Data left a host, the first time or again.
    Sent,
    /// Data arrived at a host.
    Received,
    /// An acknowledgement arrived.
    Ack,
    /// A congestion window, a threshold or a flight changed.
    Window,
    /// A round trip was measured.
    Rtt,
    /// A fast retransmit began.
    FastRetransmit,
    /// A retransmission timer expired.
    Timeout,
    /// A link or a queue dropped a packet.
    Dropped,
    /// A queue's length, at the sampling interval.
    Queue,
    /// Packets and bytes of an end or a link since the last sample, and its state.
    Sample,
    /// A packet was offered to a link.
    Offered,
}

impl EventKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::Sent,
        Self::Received,
        Self::Ack,
        Self::Window,
        Self::Rtt,
        Self::FastRetransmit,
        Self::Timeout,
        Self::Dropped,
        Self::Queue,
        Self::Sample,
        Self::Offered,
    ];

    /// As the file writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Received => "received",
            Self::Ack => "ack",
            Self::Window => "window",
            Self::Rtt => "rtt",
            Self::FastRetransmit => "fast-retransmit",
            Self::Timeout => "timeout",
            Self::Dropped => "dropped",
            Self::Queue => "queue",
            Self::Sample => "sample",
            Self::Offered => "offered",
        }
    }
}

/// Reads `[record]`; `links` are the names of all links.
pub(super) fn read(table: &Table, links: &Names<'_>) -> Result<Record, Problem> {
    let keys = Keys::of(
        table,
        "[record]",
        &[
            "trace",
            "pcap",
            "snaplen",
            "queue_interval",
            "sample",
            "sample_from",
            "sample_until",
            "packets",
            "by_flow",
        ],
    )?;
    // Packets are asked for by link.
    let kinds: Vec<_> = EventKind::ALL
        .into_iter()
        .filter(|kind| *kind != EventKind::Offered)
        .map(|kind| (kind.name(), kind))
        .collect();
    let links: Vec<(&str, usize)> = links.iter().zip(0..).collect();
    let trace = selection(&keys, "trace", "true, false or a list of events such as [\"window\"]", |item| {
        item.choice("event", &kinds)
    })?;
    let pcap = selection(&keys, "pcap", "true, false or a list of links such as [\"bottleneck\"]", |item| {
        item.choice("link", &links)
    })?;
    let snaplen = match keys.optional("snaplen") {
        None => None,
        Some(field) => match field.quantity("\"96 B\"", units::size)? {
            bytes @ 1..=65_535 => Some(bytes as u32),
            _ => return Err(field.problem("allowed: 1 B to 65535 B of each packet")),
        },
    };
    let packets =
        selection(&keys, "packets", "true, false or a list of links such as [\"bottleneck\"]", |item| {
            item.choice("link", &links)
        })?;
    let by_flow =
        selection(&keys, "by_flow", "true, false or a list of links such as [\"bottleneck\"]", |item| {
            item.choice("link", &links)
        })?;
    let interval = |key: &'static str| match keys.optional(key) {
        None => Ok(None),
        Some(field) => match field.quantity("\"10 ms\"", units::time)? {
            Duration::ZERO => Err(field.problem("the interval must be longer than 0 s")),
            interval => Ok(Some(interval)),
        },
    };
    let (queue_interval, sample) = (interval("queue_interval")?, interval("sample")?);
    let time = |key: &'static str| match keys.optional(key) {
        Some(field) if sample.is_none() => {
            Err(field.problem("nothing is sampled; say sample = \"0.1 s\" too"))
        }
        Some(field) => field.quantity("\"400 s\"", units::time).map(Some),
        None => Ok(None),
    };
    let (sample_from, sample_until) = (time("sample_from")?.unwrap_or(Duration::ZERO), time("sample_until")?);
    if let (Some(until), Some(field)) = (sample_until, keys.optional("sample_until")) {
        if until <= sample_from {
            return Err(field.problem("the samples end before they begin"));
        }
    }
    Ok(Record { trace, pcap, snaplen, queue_interval, sample, sample_from, sample_until, packets, by_flow })
}

fn selection<T>(
    keys: &Keys<'_>,
    key: &'static str,
    what: &str,
    read: impl Fn(Field<'_>) -> Result<T, Problem>,
) -> Result<Selection<T>, Problem> {
    let Some(field) = keys.optional(key) else { return Ok(Selection::None) };
    if let Value::Boolean(all) = field.node.value {
        return Ok(if all { Selection::All } else { Selection::None });
    }
    let items: Vec<T> = field.items(what)?.map(read).collect::<Result<_, _>>()?;
    Ok(if items.is_empty() { Selection::None } else { Selection::Only(items) })
}
