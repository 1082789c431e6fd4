//! Trace events: one vocabulary for SCTP and TCP, so that there is one recorder, one file format and one plot.

use crate::{Duration, Instant, cold_path};

/// Why something was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RetransmitReason {
    /// Enough missing reports or duplicate acknowledgements.
    FastRetransmit,
    /// In recovery: a hole that an acknowledgement showed, a partial acknowledgement.
    Recovery,
    /// The retransmission timer expired.
    Timeout,
    /// A probe (zero window, tail loss).
    Probe,
}

/// A traced event. Sequence numbers are unwrapped (64 bits) and relative: SCTP counts DATA chunks from 0 at the Initial
/// TSN, TCP counts payload bytes from 0 after the SYN. Sizes are payload bytes unless the name says more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TraceEvent {
    /// Data left for the network.
    Sent {
        /// First sequence number.
        seq: u64,
        /// Payload bytes.
        len: u32,
        /// `None` the first time.
        retransmit: Option<RetransmitReason>,
    },
    /// Data arrived from the network.
    Received {
        /// First sequence number.
        seq: u64,
        /// Payload bytes.
        len: u32,
        /// Whether the data had arrived before.
        duplicate: bool,
    },
    /// An acknowledgement arrived.
    AckReceived {
        /// Next sequence number that the peer misses.
        cumulative: u64,
        /// Payload bytes acknowledged for the first time, cumulatively or by blocks.
        newly_acked: u32,
        /// Number of gap or SACK blocks.
        gaps: u16,
    },
    /// A window variable changed. Bytes, in the unit the engine counts its window in.
    Window {
        /// Congestion window.
        cwnd: u64,
        /// Slow-start threshold.
        ssthresh: u64,
        /// Outstanding bytes.
        flight: u64,
    },
    /// A round trip was measured.
    Rtt {
        /// The sample.
        sample: Duration,
        /// Smoothed estimate after it.
        srtt: Duration,
        /// Retransmission timeout after it.
        rto: Duration,
    },
    /// A fast retransmit began: one loss indication (Eq. 5.1 of Zou (2007) counts these and timeouts).
    FastRetransmit {
        /// First sequence number sent again.
        seq: u64,
    },
    /// The retransmission timer expired.
    Timeout {
        /// Timeout after backing off.
        rto: Duration,
    },
}

/// One event with its time and place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceRecord {
    /// When.
    pub at: Instant,
    /// Association or connection, numbered as its endpoint numbers them.
    pub association: u32,
    /// Subflow; 0 where there is only one.
    pub subflow: u8,
    /// Path; 0 where there is only one.
    pub path: u8,
    /// The event.
    pub event: TraceEvent,
}

/// Where an engine puts its events. Off (the default) it holds nothing, and an event is never even built.
#[derive(Debug, Default)]
pub struct Trace {
    records: Option<Vec<TraceRecord>>,
}

impl Trace {
    /// A trace that keeps its records until [`Trace::drain`].
    #[must_use]
    pub fn on() -> Self {
        Self { records: Some(Vec::new()) }
    }

    /// Whether records are kept.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.records.is_some()
    }

    /// Keeps the record that `build` makes; does not call it when off.
    #[inline]
    pub fn record(&mut self, build: impl FnOnce() -> TraceRecord) {
        if let Some(records) = &mut self.records {
            cold_path();
            records.push(build());
        }
    }

    /// Takes the kept records, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = TraceRecord> + '_ {
        self.records.iter_mut().flat_map(|records| records.drain(..))
    }
}
