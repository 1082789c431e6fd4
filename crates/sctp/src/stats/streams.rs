//! Counters of streams, kept on request of the user.

use std::collections::{BTreeMap, VecDeque};

use anabranch_base::RetransmitReason;
use anabranch_wire::Tsn;

use super::Reasons;
use crate::event::Direction;
use crate::ids::SpaceId;

/// Messages and bytes of a stream, in one direction. Counters since the association began; a reset of the stream does
/// not touch them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamStats {
    /// Ours or the peer's; never both.
    pub direction: Direction,
    /// Stream id.
    pub stream: u16,
    /// Messages: accepted by `send`, or handed to the user (parts count with the last).
    pub messages: u64,
    /// User data of these, bytes.
    pub payload_bytes: u64,
    /// Ours: DATA chunks sent again: the sum of the four that follow. The peer's: 0.
    pub retransmissions: u64,
    /// As in [`Stats`](super::Stats).
    pub retransmissions_fast: u64,
    /// As in [`Stats`](super::Stats).
    pub retransmissions_recovery: u64,
    /// As in [`Stats`](super::Stats).
    pub retransmissions_timeout: u64,
    /// As in [`Stats`](super::Stats).
    pub retransmissions_probe: u64,
    /// Ours: duplicates that the peer has reported of the last 1,024 chunks that were sent again, as in
    /// [`Stats`](super::Stats). The peer's: 0.
    pub retransmissions_spurious: u64,
    /// Ours: DATA chunks that were taken for lost; each counts whenever it is. The peer's: 0.
    pub chunks_lost: u64,
    /// Ours: messages given up before any part of them was sent (RFC 7496, 4.4). The peer's: 0.
    pub messages_abandoned_unsent: u64,
    /// Ours: messages given up of which a part, or all, had been sent. The peer's: 0.
    pub messages_abandoned_sent: u64,
    /// The peer's: new DATA chunks that came when one with a lower TSN was missing. Ours: 0.
    pub out_of_order_received: u64,
}

/// Streams that were used.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamTable {
    used: BTreeMap<(bool, u16), StreamCounters>,
    /// Streams of chunks that were sent again, by space and TSN.
    sent_again: BTreeMap<(SpaceId, u32), u16>,
    /// The same chunks, the youngest last.
    by_age: VecDeque<(SpaceId, u32)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamCounters {
    pub(crate) messages: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) reasons: Reasons,
    pub(crate) spurious: u64,
    pub(crate) lost: u64,
    pub(crate) out_of_order: u64,
}

impl StreamCounters {
    pub(crate) fn stats(&self, incoming: bool, stream: u16) -> StreamStats {
        StreamStats {
            direction: if incoming { Direction::Incoming } else { Direction::Outgoing },
            stream,
            messages: self.messages,
            payload_bytes: self.payload_bytes,
            retransmissions: self.reasons.all(),
            retransmissions_fast: self.reasons.of(RetransmitReason::FastRetransmit),
            retransmissions_recovery: self.reasons.of(RetransmitReason::Recovery),
            retransmissions_timeout: self.reasons.of(RetransmitReason::Timeout),
            retransmissions_probe: self.reasons.of(RetransmitReason::Probe),
            retransmissions_spurious: self.spurious,
            chunks_lost: self.lost,
            messages_abandoned_unsent: 0,
            messages_abandoned_sent: 0,
            out_of_order_received: self.out_of_order,
        }
    }
}

/// Number of retransmitted chunks that are remembered, for the duplicates that the peer may report.
const REMEMBERED: usize = 1024;

impl StreamTable {
    pub(crate) fn outgoing(&mut self, stream: u16) -> &mut StreamCounters {
        self.used.entry((false, stream)).or_default()
    }

    pub(crate) fn incoming(&mut self, stream: u16) -> &mut StreamCounters {
        self.used.entry((true, stream)).or_default()
    }

    /// A chunk is sent again.
    pub(crate) fn note_sent_again(&mut self, at: SpaceId, tsn: Tsn, stream: u16, reason: RetransmitReason) {
        self.outgoing(stream).reasons.count(reason);
        if self.sent_again.insert((at, tsn.get()), stream).is_some() {
            return;
        }
        self.by_age.push_back((at, tsn.get()));
        if self.by_age.len() > REMEMBERED {
            if let Some(oldest) = self.by_age.pop_front() {
                self.sent_again.remove(&oldest);
            }
        }
    }

    /// The numbers begin anew.
    pub(crate) fn forget_numbers(&mut self) {
        self.sent_again.clear();
        self.by_age.clear();
    }

    /// The peer has a chunk twice: if it was sent again, once of those was needless.
    pub(crate) fn note_duplicate(&mut self, at: SpaceId, tsn: Tsn) {
        if let Some(&stream) = self.sent_again.get(&(at, tsn.get())) {
            self.outgoing(stream).spurious += 1;
        }
    }

    pub(crate) fn stats(&self) -> Vec<StreamStats> {
        self.used.iter().map(|(&(incoming, stream), counted)| counted.stats(incoming, stream)).collect()
    }
}

/// A chunk of a stream was taken for lost; counted where stream statistics are on.
#[inline]
pub(crate) fn count_lost(table: &mut Option<Box<StreamTable>>, stream: u16) {
    if let Some(table) = table {
        table.outgoing(stream).lost += 1;
    }
}
