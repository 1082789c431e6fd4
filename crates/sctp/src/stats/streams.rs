//! Counters of streams, for who asks for them.

use std::collections::BTreeMap;

use anabranch_base::RetransmitReason;

use super::Reasons;
use crate::event::Direction;

/// What went through a stream, in one direction. Counters since the association began; a reset of the stream does not touch them.
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
    /// Ours: messages given up before any part of them was sent (RFC 7496, 4.4). The peer's: 0.
    pub abandoned_unsent: u64,
    /// Ours: messages given up of which a part, or all, had been sent. The peer's: 0.
    pub abandoned_sent: u64,
    /// The peer's: new DATA chunks that came when one with a lower TSN was missing. Ours: 0.
    pub out_of_order_received: u64,
}

/// Streams that were used.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamTable {
    used: BTreeMap<(bool, u16), StreamCounters>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamCounters {
    pub(crate) messages: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) reasons: Reasons,
    pub(crate) out_of_order: u64,
}

impl StreamTable {
    pub(crate) fn outgoing(&mut self, stream: u16) -> &mut StreamCounters {
        self.used.entry((false, stream)).or_default()
    }

    pub(crate) fn incoming(&mut self, stream: u16) -> &mut StreamCounters {
        self.used.entry((true, stream)).or_default()
    }

    pub(crate) fn stats(&self) -> Vec<StreamStats> {
        let shown = |(&(incoming, stream), counted): (&(bool, u16), &StreamCounters)| StreamStats {
            direction: if incoming { Direction::Incoming } else { Direction::Outgoing },
            stream,
            messages: counted.messages,
            payload_bytes: counted.payload_bytes,
            retransmissions: counted.reasons.all(),
            retransmissions_fast: counted.reasons.of(RetransmitReason::FastRetransmit),
            retransmissions_recovery: counted.reasons.of(RetransmitReason::Recovery),
            retransmissions_timeout: counted.reasons.of(RetransmitReason::Timeout),
            retransmissions_probe: counted.reasons.of(RetransmitReason::Probe),
            abandoned_unsent: 0,
            abandoned_sent: 0,
            out_of_order_received: counted.out_of_order,
        };
        self.used.iter().map(shown).collect()
    }
}
