//! The summary of a run.

use anabranch_link::ClassStats;
use serde::Serialize;

use crate::snapshot::AssociationSummary;

/// The summary of one run. All counts and rates are those of the span from the end of the warm-up to the end of the
/// run, unless they say otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Version of the keys: [`Summary::SCHEMA`].
    pub schema: u32,
    /// The seed of the run.
    pub seed: u64,
    /// Length of the run, seconds.
    pub duration_s: f64,
    /// Length of the warm-up, seconds.
    pub warmup_s: f64,
    /// Packets that reached the far end of a link, over the whole run.
    pub packet_hops: u64,
    /// One for each flow, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// One for each set of flows that a `count` made, in the order of the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupSummary>,
    /// One for each object that a client fetches, in the order of the list; lists in the order of the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ObjectSummary>,
    /// One for each source of messages, flow by flow, in the order of the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceSummary>,
    /// One for each link, in the order of the scenario.
    pub links: Vec<LinkSummary>,
}

impl Summary {
    /// Version of the keys and their meaning (`docs/reference/results.md`). It grows when a key gets another meaning or goes, not when one
    /// is added. 1: goodput over the whole window only.
    pub const SCHEMA: u32 = 2;
}

/// An object that a client fetches. Times are seconds since the client opened its first connection for the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObjectSummary {
    /// The name that the file gives the flow.
    pub name: String,
    /// Its number in the list, from 0.
    pub object: u64,
    /// The connection that carries it, as the flows name it.
    pub flow: String,
    /// The stream that carries it.
    pub stream: u16,
    /// Its size.
    pub bytes: u64,
    /// When its connection was opened; `None` when the run ended before.
    pub open_s: Option<f64>,
    /// When the client had its first byte.
    pub first_byte_s: Option<f64>,
    /// When the client had its last byte.
    pub completion_s: Option<f64>,
}

/// Results of one source of messages: of those made from the end of the warm-up on. Latencies are from the making of a message to the
/// moment in which the receiving application has all of it; nearest ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceSummary {
    /// The name that the file gives the flow.
    pub name: String,
    /// The flow that carries it, as the flows name it.
    pub flow: String,
    /// Its own name.
    pub source: String,
    /// The stream that carries it.
    pub stream: u16,
    /// Messages made.
    pub made: u64,
    /// Of these, those that the receiving application had before the end of the run.
    pub delivered: u64,
    /// Of these, those that came within the deadline; all of them where there is none.
    pub in_time: u64,
    /// Bytes of the delivered messages.
    pub delivered_bytes: u64,
    /// Mean latency, seconds; `None` when nothing was delivered, as for the others.
    pub latency_mean_s: Option<f64>,
    /// Least.
    pub latency_min_s: Option<f64>,
    /// Median.
    pub latency_p50_s: Option<f64>,
    /// 90 % took no longer.
    pub latency_p90_s: Option<f64>,
    /// 99 % took no longer.
    pub latency_p99_s: Option<f64>,
    /// 99.9 % took no longer.
    pub latency_p999_s: Option<f64>,
    /// Longest.
    pub latency_max_s: Option<f64>,
}

/// Combined results of the flows of one `count`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupSummary {
    /// The name that the file gives them.
    pub name: String,
    /// Number of flows.
    pub flows: u64,
    /// Jain's index of their goodputs, (sum x)^2 / (n sum x^2): 1 when all have the same, 1 / n when one has all.
    pub jain: f64,
    /// Packets of their senders that links dropped.
    pub packets_lost: u64,
    /// Sums; the rate of loss indications over all packets, the round-trip time as the mean of the flows, and the largest
    /// window of any.
    #[serde(flatten)]
    pub measures: Measures,
}

/// Results of one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// As the scenario writes it: `sctp`, `tcp`, `cbr` and so on.
    pub protocol: String,
    /// The engine of its sender; `None` without a transport.
    pub engine: Option<String>,
    /// When an application opened it, seconds since the start of the run; `None` when the run ended before.
    pub start_s: Option<f64>,
    /// Seconds from its start until the end that opened it was told that it is established; `None` when that did not
    /// happen.
    pub established_s: Option<f64>,
    /// Seconds from its start until the receiving application had the first byte.
    pub first_byte_s: Option<f64>,
    /// For a transfer and for objects: seconds from its start until the receiving application had the last byte; `None`
    /// when that did not happen, and for other traffic.
    pub completion_s: Option<f64>,
    /// Seconds from its start until the receiving application had everything and was told that no more comes (FIN,
    /// SHUTDOWN): the time measured by a program that reads to the end of a connection.
    pub end_s: Option<f64>,
    /// For a transfer and for objects: seconds from its start until the sender knew that the association or connection had ended in
    /// good order.
    pub close_s: Option<f64>,
    /// Why it failed, if it did: a sentence.
    pub failed: Option<String>,
    /// Remarks that a reader needs before its figures; often empty.
    pub notes: Vec<Note>,
    /// When its sender first sent user data, or the end of the warm-up if that was later: seconds since the start of the run.
    pub active_from_s: Option<f64>,
    /// How long it was active in the window of statistics, seconds: from `active_from_s` until the last byte had come, or until the end
    /// of the run if not everything had come. `None` when there is no such time.
    pub active_s: Option<f64>,
    /// Share of its active time in which the congestion window would have let data out and the window of the receiver did not.
    pub receiver_limited_share: Option<f64>,
    /// Share of its active time in which the sending application had nothing to send; the end of a transfer does not count.
    pub application_limited_share: Option<f64>,
    /// How the two ends know of subflows, as agreed on: `0`, `1` or `sf2007`; `None` before an SCTP handshake and for others.
    pub negotiated_level: Option<String>,
    /// For a transfer whose content was checked: whether every byte arrived in its place. `None` when nothing was
    /// checked, and while the transfer is not complete.
    pub intact: Option<bool>,
    /// Packets of its sender that a queue or a loss model dropped, on any link.
    pub packets_lost: u64,
    /// The counts of its sender and receiver, all subflows together.
    #[serde(flatten)]
    pub measures: Measures,
    /// Results of each subflow.
    pub subflows: Vec<SubflowSummary>,
    /// Snapshots of both ends of an SCTP association over the whole run, where they were asked for
    /// ([`Attached::snapshots`](crate::Attached::snapshots)); `None` without an association.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub association: Option<AssociationSummary>,
}

/// A remark that a reader needs before the figures of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Note {
    /// The flow failed: `failed` says why.
    Failed,
    /// The sender of the flow sent no user data.
    NeverStarted,
    /// A transfer or objects that had not all come when the run ended.
    NotFinished,
    /// The flow was active, but not in the window of statistics: before the end of the warm-up.
    OutsideWindow,
    /// For a tenth of its active time or more the receiver's window held it back.
    ReceiverLimited,
    /// For a tenth of its active time or more its application had nothing to send.
    ApplicationLimited,
}

impl Note {
    /// As tables write it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::NeverStarted => "never started",
            Self::NotFinished => "not finished",
            Self::OutsideWindow => "over before the statistics",
            Self::ReceiverLimited => "receiver-limited",
            Self::ApplicationLimited => "application-limited",
        }
    }
}

/// Results of one subflow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubflowSummary {
    /// Its number.
    pub index: u16,
    /// Code point of its packets at the end of the run.
    pub dscp: u8,
    /// Number of the first subflow with which it has one window at the end of the run; its own where its window is its own.
    pub window_of: u16,
    /// The counts of the sender and the receiver.
    #[serde(flatten)]
    pub measures: Measures,
}

/// The counts of a sender and its receiver. `None` for values that a flow without a transport does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// User data that arrived for the first time, bits per second of the time in which the flow was active.
    pub goodput_payload_bps: f64,
    /// Packets that brought new user data, with their transport and IP headers, bits per second of the time in which the flow was
    /// active.
    pub goodput_wire_bps: f64,
    /// User data that arrived for the first time, bits per second of the whole window of statistics.
    pub goodput_payload_run_bps: f64,
    /// Packets that brought new user data, with their transport and IP headers, bits per second of the whole window of statistics.
    pub goodput_wire_run_bps: f64,
    /// User data sent for the first time, bits per second of the whole window of statistics.
    pub sent_unique_payload_bps: f64,
    /// Packets with user data that the sender sent.
    pub packets_sent: u64,
    /// Of these, those with user data that had not been sent before.
    pub packets_unique: u64,
    /// Packets that brought the receiver user data that it had not had; `None` for one of several subflows.
    pub packets_received: Option<u64>,
    /// Packets (TCP) or chunks (SCTP) of user data sent again.
    pub retransmissions: Option<u64>,
    /// Fast retransmits: loss indications, not packets.
    pub fast_retransmits: Option<u64>,
    /// Expiries of the retransmission timer.
    pub timeouts: Option<u64>,
    /// (fast retransmits + timeouts) / packets sent: Eq. 5.1 of Zou (2007). 0 when nothing was sent.
    pub loss_indication_rate: Option<f64>,
    /// The smoothed round-trip time, averaged over the acknowledgements; `None` without a sample.
    pub srtt_mean_s: Option<f64>,
    /// Largest congestion window, bytes, in the unit in which the engine counts.
    pub cwnd_peak_bytes: Option<u64>,
    /// User data given to the receiving application, bytes.
    pub delivered_bytes: u64,
}

/// Results of one link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSummary {
    /// Its name.
    pub name: String,
    /// Packets offered to it, dropped ones included.
    pub arrivals: u64,
    /// Packets that its queue dropped.
    pub drops_queue: u64,
    /// Of these, dropped because nothing more fitted.
    pub drops_full: u64,
    /// Of these, dropped at random, early (RED and its relatives).
    pub drops_early: u64,
    /// Of these, dropped because the average was beyond the threshold from which everything is dropped.
    pub drops_forced: u64,
    /// Of these, dropped because they had waited too long (CoDel).
    pub drops_sojourn: u64,
    /// Packets that a policer at its entry dropped.
    pub drops_policed: u64,
    /// Packets that its loss model took.
    pub drops_error: u64,
    /// Packets that its queue marked (congestion experienced) instead of dropping them.
    pub marks: u64,
    /// Packets that it sent, the lost ones included.
    pub sent: u64,
    /// Share of the time in which it was sending, 0 to 1.
    pub utilisation: f64,
    /// Packets waiting, without the one being sent, averaged over time.
    pub queue_mean_packets: f64,
    /// Most packets waiting at once.
    pub queue_max_packets: u64,
    /// For RED: its average, averaged over the arrivals.
    pub queue_average_packets: Option<f64>,
    /// For RED: the probability of a drop before it is spread over arrivals, averaged over the arrivals.
    pub queue_drop_probability: Option<f64>,
    /// One for each class or virtual queue of its queue.
    pub classes: Vec<ClassSummary>,
    /// The counts of each flow at this link, where the scenario asks for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<ShareSummary>,
}

/// Results of one class or virtual queue of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassSummary {
    /// Its name; that of a class within a class stands behind a dot.
    pub name: String,
    /// Packets offered to it, dropped ones included.
    pub arrivals: u64,
    /// Packets that were dropped.
    pub drops_queue: u64,
    /// Of these, dropped because nothing more fitted.
    pub drops_full: u64,
    /// Of these, dropped at random, early.
    pub drops_early: u64,
    /// Of these, dropped because the average was beyond the threshold from which everything is dropped.
    pub drops_forced: u64,
    /// Of these, dropped because they had waited too long.
    pub drops_sojourn: u64,
    /// Packets marked instead of dropped.
    pub marks: u64,
    /// Packets that left the queue to be sent.
    pub sent: u64,
    /// Bytes of these, IP headers included.
    pub sent_bytes: u64,
    /// Packets waiting, averaged over time.
    pub queue_mean_packets: f64,
    /// Most packets waiting at once.
    pub queue_max_packets: u64,
    /// For RED and its relatives: the average, averaged over the class's arrivals.
    pub queue_average_packets: Option<f64>,
    /// For RED and its relatives: the probability of a drop before it is spread, averaged over the class's arrivals.
    pub queue_drop_probability: Option<f64>,
}

impl From<ClassStats> for ClassSummary {
    fn from(stats: ClassStats) -> Self {
        Self {
            name: stats.name,
            arrivals: stats.arrivals,
            drops_queue: stats.drops_queue,
            drops_full: stats.drops_full,
            drops_early: stats.drops_early,
            drops_forced: stats.drops_forced,
            drops_sojourn: stats.drops_sojourn,
            marks: stats.marks,
            sent: stats.sent,
            sent_bytes: stats.sent_bytes,
            queue_mean_packets: stats.queue_mean,
            queue_max_packets: stats.queue_max,
            queue_average_packets: stats.average.map(|average| average.mean),
            queue_drop_probability: stats.average.map(|average| average.probability),
        }
    }
}

/// The counts of one flow at one link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareSummary {
    /// Name of the flow.
    pub name: String,
    /// Packets that it offered to the link, dropped ones included.
    pub arrivals: u64,
    /// Of these, dropped by the queue.
    pub drops_queue: u64,
    /// Of these, dropped by a policer before the queue.
    pub drops_policed: u64,
    /// Of these, taken by the loss model.
    pub drops_error: u64,
    /// Packets dropped for any reason / packets offered; 0 when none was offered.
    pub drop_rate: f64,
    /// Rate at which the queue took the flow's packets, as a share of the link's capacity, 0 to 1; `None` for a link of
    /// infinite rate.
    pub share: Option<f64>,
}
