//! Snapshots of the two ends of an association at the end of a run: the values of `Association::snapshot`, under its
//! own names.

use std::net::SocketAddr;

use anabranch_sctp::{Direction, Negotiated, PathStats, Snapshot, StreamStats, SubflowStats};
use serde::{Serialize, Serializer};

/// Both ends of an SCTP flow at the end of the run. Counters are those of the whole run, the warm-up included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AssociationSummary {
    /// The end that sends the flow; `None` when it had no association.
    pub sender: Option<EndSummary>,
    /// The end that receives it.
    pub receiver: Option<EndSummary>,
}

/// One end: its snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndSummary {
    /// When the association was touched last, nanoseconds since the start of the run.
    pub at_ns: u64,
    /// State of the association (RFC 9260, 4).
    pub state: String,
    /// The result of the negotiation; `None` before the peer has said anything.
    pub negotiated: Option<NegotiatedSummary>,
    /// Counters and gauges of the whole association.
    pub stats: Named,
    /// Control chunks by type.
    pub control: ControlSummary,
    /// Each address of the peer, that of the handshake first.
    pub paths: Vec<PathSummary>,
    /// Each subflow that there ever was, by number.
    pub subflows: Vec<SubflowSnapshot>,
    /// Streams that messages went through; empty without the option `stream_statistics`.
    pub streams: Vec<StreamSummary>,
}

/// Numbers by name, as the stack gives them.
#[derive(Clone, Debug, PartialEq)]
pub struct Named(pub Vec<(&'static str, Option<u64>)>);

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// The result of the handshake's negotiation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NegotiatedSummary {
    /// Streams that it may send on.
    pub outbound_streams: u16,
    /// Streams that the peer may send on.
    pub inbound_streams: u16,
    /// I-DATA (RFC 8260).
    pub interleaving: bool,
    /// RE-CONFIG (RFC 6525).
    pub reconfiguration: bool,
    /// Messages may be given up (RFC 3758, RFC 8260).
    pub partial_reliability: bool,
    /// How the two ends know of subflows: `0`, `1` or `sf2007`.
    pub subflow_level: String,
    /// Packets leave with a checksum of zero (RFC 9653).
    pub sends_zero_checksum: bool,
    /// The peer may send packets with a checksum of zero.
    pub takes_zero_checksum: bool,
    /// Packets with data leave as ECN-capable, and marks of routers are reported (RFC 3168).
    pub ecn: bool,
    /// Adaptation Layer Indication of the peer (RFC 5061).
    pub adaptation: Option<u32>,
}

/// Control chunks by type.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlSummary {
    /// Sent, those that were sent again included.
    pub sent: Named,
    /// Received, copies included.
    pub received: Named,
}

/// One address of the peer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathSummary {
    /// Address of the peer, and UDP port or 0.
    pub address: SocketAddr,
    /// Data goes there.
    pub primary: bool,
    /// Whether the path answers.
    pub active: bool,
    /// Whether the peer is known to be there.
    pub confirmed: bool,
    /// Its counters and gauges.
    #[serde(flatten)]
    pub stats: Named,
}

/// One subflow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubflowSnapshot {
    /// Code point of its packets.
    pub dscp: u8,
    /// Whether it is in use.
    pub open: bool,
    /// Number of the first subflow with which it has one window.
    pub window_of: u8,
    /// One-way delay, microseconds less the difference of the two clocks.
    pub one_way_delay_us: Option<i64>,
    /// Its counters and gauges.
    #[serde(flatten)]
    pub stats: Named,
}

/// One stream in one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamSummary {
    /// `outgoing` or `incoming`.
    pub direction: &'static str,
    /// Its number.
    pub stream: u16,
    /// Its counters.
    #[serde(flatten)]
    pub stats: Named,
}

impl From<Snapshot> for EndSummary {
    fn from(all: Snapshot) -> Self {
        Self {
            at_ns: all.at.as_nanos(),
            state: format!("{:?}", all.state),
            negotiated: all.negotiated.map(NegotiatedSummary::from),
            stats: Named(all.stats.named().collect()),
            control: ControlSummary {
                sent: Named(all.control.sent.named().collect()),
                received: Named(all.control.received.named().collect()),
            },
            paths: all.paths.iter().map(PathSummary::from).collect(),
            subflows: all.subflows.iter().map(SubflowSnapshot::from).collect(),
            streams: all.streams.iter().map(StreamSummary::from).collect(),
        }
    }
}

impl From<Negotiated> for NegotiatedSummary {
    fn from(agreed: Negotiated) -> Self {
        Self {
            outbound_streams: agreed.outbound_streams,
            inbound_streams: agreed.inbound_streams,
            interleaving: agreed.interleaving,
            reconfiguration: agreed.reconfiguration,
            partial_reliability: agreed.partial_reliability,
            subflow_level: agreed.subflow_level.to_string(),
            sends_zero_checksum: agreed.sends_zero_checksum,
            takes_zero_checksum: agreed.takes_zero_checksum,
            ecn: agreed.ecn,
            adaptation: agreed.adaptation,
        }
    }
}

impl From<&PathStats> for PathSummary {
    fn from(path: &PathStats) -> Self {
        Self {
            address: path.address,
            primary: path.primary,
            active: path.active,
            confirmed: path.confirmed,
            stats: Named(path.named().collect()),
        }
    }
}

impl From<&SubflowStats> for SubflowSnapshot {
    fn from(subflow: &SubflowStats) -> Self {
        Self {
            dscp: subflow.dscp.get(),
            open: subflow.open,
            window_of: subflow.window_of,
            one_way_delay_us: subflow.one_way_delay_us,
            stats: Named(subflow.named().collect()),
        }
    }
}

impl From<&StreamStats> for StreamSummary {
    fn from(stream: &StreamStats) -> Self {
        Self {
            direction: if stream.direction == Direction::Outgoing { "outgoing" } else { "incoming" },
            stream: stream.stream,
            stats: Named(stream.named().collect()),
        }
    }
}
