//! Sorts the reports of engines and links into columns. Off, it holds nothing and costs a branch.

use anabranch_base::{Instant, RetransmitReason, TraceEvent, TraceRecord};
use anabranch_link::{DropReason, Dropped, Frame};
use anabranch_trace::write::Capture;

use super::columns::{Columns, Reason, Row};
use crate::scenario::{EventKind, Record};

/// The recorder of a run.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    columns: Option<Columns>,
    wanted: [bool; EventKind::ALL.len()],
    pub(crate) capture: Option<Capture>,
}

impl Recorder {
    pub(crate) fn new(record: &Record, entities: Vec<String>, flows: Vec<String>) -> Self {
        let wanted = EventKind::ALL.map(|kind| match kind {
            EventKind::Sample => record.sample.is_some(),
            EventKind::Offered => !record.packets.is_none(),
            _ => record.trace.contains(&kind),
        });
        let columns = wanted.contains(&true).then(|| Columns { entities, flows, ..Columns::default() });
        Self { columns, wanted, capture: None }
    }

    /// Whether it records anything.
    pub(crate) fn records(&self) -> bool {
        self.columns.is_some() || self.capture.is_some()
    }

    /// Whether engines have to report at all.
    pub(crate) fn wants_engines(&self) -> bool {
        use EventKind::{Ack, FastRetransmit, Received, Rtt, Sent, Timeout, Window};
        [Sent, Received, Ack, Window, Rtt, FastRetransmit, Timeout].iter().any(|kind| self.wants(*kind))
    }

    pub(crate) fn wants(&self, kind: EventKind) -> bool {
        self.wanted[kind as usize]
    }

    /// Records an event that an engine reports.
    pub(crate) fn engine(&mut self, entity: u16, flow: u32, record: &TraceRecord) {
        use EventKind as Kind;
        let none = Reason::None;
        let (kind, reason, seq, size, values) = match record.event {
            TraceEvent::Sent { seq, len, retransmit } => {
                (Kind::Sent, retransmit.map_or(none, why), seq, len, [0; 3])
            }
            TraceEvent::Received { seq, len, duplicate } => {
                let reason = if duplicate { Reason::Duplicate } else { none };
                (Kind::Received, reason, seq, len, [0; 3])
            }
            TraceEvent::AckReceived { cumulative, newly_acked, gaps } => {
                (Kind::Ack, none, cumulative, newly_acked, [u64::from(gaps), 0, 0])
            }
            TraceEvent::Window { cwnd, ssthresh, flight } => {
                (Kind::Window, none, 0, 0, [cwnd, ssthresh, flight])
            }
            TraceEvent::Rtt { sample, srtt, rto } => {
                (Kind::Rtt, none, 0, 0, [sample.as_nanos(), srtt.as_nanos(), rto.as_nanos()])
            }
            TraceEvent::FastRetransmit { seq } => (Kind::FastRetransmit, none, seq, 0, [0; 3]),
            TraceEvent::Timeout { rto } => (Kind::Timeout, none, 0, 0, [rto.as_nanos(), 0, 0]),
        };
        self.push(&Row {
            time_ns: record.at.as_nanos(),
            entity,
            kind,
            flow,
            subflow: record.subflow,
            path: record.path,
            reason,
            seq,
            size,
            values,
        });
    }

    /// Records a packet that a link dropped.
    pub(crate) fn dropped(&mut self, entity: u16, drop: &Dropped) {
        let reason = match drop.reason {
            DropReason::QueueFull => Reason::QueueFull,
            DropReason::Error => Reason::Error,
            DropReason::Early => Reason::Early,
            DropReason::Forced => Reason::Forced,
            DropReason::Sojourn => Reason::Sojourn,
            DropReason::Policed => Reason::Policed,
            _ => Reason::Other,
        };
        self.push(&Row {
            time_ns: drop.at.as_nanos(),
            entity,
            kind: EventKind::Dropped,
            flow: drop.frame.flow,
            subflow: 0,
            path: 0,
            reason,
            seq: u64::from(drop.frame.id),
            size: drop.frame.size,
            values: [u64::from(drop.frame.data), 0, 0],
        });
    }

    /// A packet that a link was offered. `user` are its bytes of user data, `kind` the flags of a TCP segment or the type
    /// of the first chunk of an SCTP packet.
    pub(crate) fn offered(&mut self, now: Instant, entity: u16, frame: &Frame, user: u64, kind: u8) {
        self.push(&Row {
            time_ns: now.as_nanos(),
            entity,
            kind: EventKind::Offered,
            flow: frame.flow,
            subflow: 0,
            path: 0,
            reason: Reason::None,
            seq: u64::from(frame.id),
            size: frame.size,
            values: [user, u64::from(kind), 0],
        });
    }

    /// Records the length of a queue.
    pub(crate) fn queue(&mut self, now: Instant, entity: u16, packets: u64, bytes: u64) {
        self.push(&Row {
            time_ns: now.as_nanos(),
            entity,
            kind: EventKind::Queue,
            flow: Columns::NO_FLOW,
            subflow: 0,
            path: 0,
            reason: Reason::None,
            seq: 0,
            size: 0,
            values: [packets, bytes, 0],
        });
    }

    /// One row of a sample.
    pub(super) fn sample(
        &mut self,
        now: Instant,
        (entity, flow, subflow): (u16, u32, u8),
        (packets, bytes): (u64, u64),
        values: [u64; 3],
    ) {
        self.push(&Row {
            time_ns: now.as_nanos(),
            entity,
            kind: EventKind::Sample,
            flow,
            subflow,
            path: 0,
            reason: Reason::None,
            seq: packets,
            size: u32::try_from(bytes).unwrap_or(u32::MAX),
            values,
        });
    }

    /// The trace, and the capture if it is in memory.
    ///
    /// # Errors
    /// When the capture could not be written.
    pub(crate) fn finish(self) -> Result<(Option<Columns>, Option<Vec<u8>>), String> {
        let columns = self.columns.map(|mut columns| {
            columns.sort();
            columns
        });
        let capture = self.capture.map(Capture::finish).transpose()?.flatten();
        Ok((columns, capture))
    }

    pub(super) fn push(&mut self, row: &Row) {
        if self.wanted[row.kind as usize] {
            if let Some(columns) = &mut self.columns {
                columns.push(row);
            }
        }
    }
}

const fn why(reason: RetransmitReason) -> Reason {
    match reason {
        RetransmitReason::FastRetransmit => Reason::FastRetransmit,
        RetransmitReason::Recovery => Reason::Recovery,
        RetransmitReason::Timeout => Reason::Timeout,
        RetransmitReason::Probe => Reason::Probe,
    }
}
