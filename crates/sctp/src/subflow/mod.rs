//! A subflow: the streams that share one DSCP, and what they have to send. Its sequence space is its own or shared with
//! others (`space`); its round-trip estimate, losses and window are those of its lane. RFC 9260 is the case of one subflow.

pub(crate) mod flight;
pub(crate) mod gate;
pub(crate) mod loss;
pub(crate) mod rack;
pub(crate) mod receive;
pub(crate) mod sack;
pub(crate) mod space;

use std::ops::Range;

use anabranch_base::Dscp;

use crate::config::{Config, SubflowSpec};
use crate::stats::SubflowStats;
use crate::stream::outbound::Outbound;

/// Where a subflow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// In use.
    Open,
    /// It takes no streams any more; what it has in flight is still acknowledged.
    Closing,
    /// Everything was acknowledged; the peer is being told that its FID is free (level 1).
    Deleting,
    /// Nothing of it is left; its place may be taken.
    Free,
}

/// A set of streams with one DSCP.
#[derive(Debug)]
pub(crate) struct Subflow {
    pub(crate) dscp: Dscp,
    /// Share of what the gate gives out (weighted schedulers).
    pub(crate) weight: u16,
    /// The smaller, the sooner (strict priority).
    pub(crate) priority: u8,
    pub(crate) life: Life,
    /// Its sequence space.
    pub(crate) space: u8,
    /// Its lane on the path in use.
    pub(crate) lane: u8,
    /// The peer has not opened its FID yet: it may not send (level 1).
    pub(crate) waits: bool,
    pub(crate) out: Outbound,
    /// A message has begun to leave and has not ended.
    pub(crate) begun: bool,
    /// Sequence numbers kept for the rest of the message that is leaving.
    pub(crate) reserved: Range<u64>,
    /// `send` said Full on one of its streams: Writable is owed.
    pub(crate) writable_owed: bool,
    pub(crate) stats: SubflowStats,
}

impl Subflow {
    pub(crate) fn new(config: &Config, spec: &SubflowSpec, space: u8, lane: u8) -> Self {
        Self {
            dscp: spec.dscp,
            weight: spec.weight.max(1),
            priority: spec.priority,
            life: Life::Open,
            space,
            lane,
            waits: false,
            out: Outbound::new(config),
            begun: false,
            reserved: 0..0,
            writable_owed: false,
            stats: SubflowStats::default(),
        }
    }
}
