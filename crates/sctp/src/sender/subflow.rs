//! A subflow: the streams that share one DSCP, and the messages that they have to send. Its sequence space is its own
//! or shared with others (`space`); its round-trip estimate, losses and window are those of its lane. RFC 9260 is the
//! case of one subflow.

use std::ops::Range;

use anabranch_base::Dscp;

use crate::config::{Config, SubflowSpec};
use crate::ids::{LaneId, PathId, SpaceId};
use crate::stats::SubflowCounters;
use crate::stream::outbound::Outbound;

/// State of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// In use.
    Open,
    /// The subflow takes no streams any more; its chunks in flight are still acknowledged.
    Closing,
    /// All chunks were acknowledged cumulatively; the peer is being told that the FID is free (level 1).
    Deleting,
    /// The subflow is gone; its place may be taken.
    Free,
}

/// A set of streams with one DSCP.
#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) out: Outbound,
    /// The lane of the subflow on the path in use.
    pub(super) lane: LaneId,
    /// The subflow's own path, while that is down and another one is used.
    pub(super) left_path: Option<PathId>,
    /// Its sequence space.
    pub(super) space: SpaceId,
    pub(super) life: Life,
    /// The peer has not opened its FID yet: it may not send (level 1).
    pub(super) awaits_fid: bool,
    /// A message has begun to leave and has not ended.
    pub(super) begun: bool,
    /// Messages that wait may leave though they fill no packet, until nothing waits ([`nagle`](crate::config::CongestionConfig::nagle)).
    pub(super) flushes: bool,
    /// `send` said Full on one of its streams: Writable is owed.
    pub(super) writable_owed: bool,
    pub(super) dscp: Dscp,
    /// Smaller values are served first (strict priority).
    pub(super) priority: u8,
    /// Share of the bytes that the scheduler lets leave (weighted schedulers).
    pub(super) weight: u16,
    /// Sequence numbers kept for the rest of the message that is leaving.
    pub(super) reserved: Range<u64>,
    /// Payload of the fragments that those numbers were counted for, bytes.
    pub(super) reserved_size: u16,
    pub(super) counters: SubflowCounters,
}

impl Subflow {
    /// Most payload of the next chunk, when `most` bytes fit a packet: the rest of a message whose numbers are kept is cut to the size
    /// for which they were counted.
    #[inline]
    pub(super) fn cut_at(&self, most: usize) -> usize {
        if self.reserved.is_empty() { most } else { usize::from(self.reserved_size) }
    }

    pub(super) fn new(config: &Config, spec: &SubflowSpec, lane: LaneId) -> Self {
        Self {
            out: Outbound::new(config),
            lane,
            left_path: None,
            space: SpaceId::FIRST,
            life: Life::Open,
            awaits_fid: false,
            begun: false,
            flushes: false,
            writable_owed: false,
            dscp: spec.dscp,
            priority: spec.priority,
            weight: spec.weight.max(1),
            reserved: 0..0,
            reserved_size: 0,
            counters: SubflowCounters::default(),
        }
    }
}
