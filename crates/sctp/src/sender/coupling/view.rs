//! Views of lanes and reports of SACKs and losses for a coupling.

use anabranch_base::{Dscp, Duration, Instant};
use anabranch_transport::congestion::Congestion;

use crate::ids::PathId;

/// A lane as a coupling sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneView {
    /// True if the lane carries an open subflow.
    pub(crate) open: bool,
    /// True if the lane has something to send or in flight.
    pub(crate) active: bool,
    /// The path of the lane.
    pub(crate) path: PathId,
    /// Code point of its packets.
    pub(crate) dscp: Dscp,
    /// cwnd, bytes.
    pub(crate) cwnd: u64,
    /// Bytes in flight.
    pub(crate) flight: u64,
    /// Smoothed round-trip time.
    pub(crate) srtt: Option<Duration>,
}

/// The delay of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delay {
    /// To the peer and back, ns.
    RoundTrip(i64),
    /// To the peer, ns, less the difference of the clocks.
    OneWay(i64),
}

/// The part of a SACK that concerns one lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LaneReport {
    /// Bytes acknowledged for the first time.
    pub(crate) bytes: u64,
    /// Delay of the newest chunk that was sent only once.
    pub(crate) delay: Option<Delay>,
    /// Time at which that chunk had left, if no lane has a newer one in the same SACK.
    pub(crate) sent_at: Option<Instant>,
    /// The SACK acknowledges no more than one packet.
    pub(crate) alone: bool,
}

/// A loss of a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    /// True if the window of the lane is cut for it.
    pub(crate) cut: bool,
    /// Time at which the last of the lost chunks had left.
    pub(crate) sent_at: Instant,
    /// The congestion event for a window.
    pub(crate) event: Congestion,
}
