//! Changes of a flight by an acknowledgement, lane by lane.

use anabranch_base::{Duration, Instant};
use anabranch_transport::rack::Rack;

/// Changes of one lane by one SACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LaneAck {
    /// Bytes acknowledged for the first time by the cumulative TSN.
    pub(crate) cumulative: u64,
    /// Bytes acknowledged for the first time by gap blocks.
    pub(crate) gap: u64,
    /// Bytes of chunks given up that have arrived all the same, passed by the cumulative TSN.
    pub(crate) given_up: u32,
    /// Bytes acknowledged, cumulatively or by gap blocks, that had been acknowledged and taken back before: windows have grown by them.
    pub(crate) again: u32,
    /// Bytes passed by the cumulative TSN that gap blocks had acknowledged.
    pub(crate) earlier_gap: u64,
    /// Bytes and chunks that left the flight (chunks marked lost had left before).
    pub(crate) left_flight: u64,
    pub(crate) left_chunks: u32,
    pub(crate) left_overhead: u32,
    /// Bytes and chunks that came back into flight because the peer reneged.
    pub(crate) reneged: u64,
    pub(crate) reneged_chunks: u32,
    pub(crate) reneged_overhead: u32,
    /// Chunks newly acknowledged, cumulatively or by gap blocks.
    pub(crate) acked_chunks: u32,
    /// True if a chunk was passed by the cumulative TSN (T3 restarts, 6.3.2, R3).
    pub(crate) earliest_acked: bool,
    /// Highest sequence number of the lane newly acknowledged (HTNA).
    pub(crate) highest_newly_acked: Option<u64>,
    /// Newest of the newly acknowledged chunks that were sent once: sequence number and time of sending.
    pub(crate) newest_once: Option<(u64, Instant)>,
    /// The longest of the newly acknowledged chunks sent once, and of those sent again, bytes of payload.
    pub(crate) longest_once: u32,
    pub(crate) longest_resent: u32,
    /// Newest of the newly acknowledged chunks that were sent more than once: time of the last sending and sequence number.
    pub(crate) newest_resent: Option<(Instant, u64)>,
    /// The cumulative TSN passed a chunk that had been fast retransmitted.
    pub(crate) fast_retransmitted_acked: bool,
}

impl LaneAck {
    /// Bytes acknowledged that were not acknowledged right before, for the first time or again.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.cumulative + self.gap + u64::from(self.again)
    }

    /// Time at which the newest of the acknowledged chunks left; a retransmitted chunk counts only where the acknowledgement
    /// cannot be to the original.
    pub(crate) fn newest_sent(&self, now: Instant, min_rtt: Option<Duration>) -> Option<Instant> {
        let once = self.newest_once.map(|(_, sent)| sent);
        let resent = self.newest_resent.map(|(sent, _)| sent);
        once.max(resent.filter(|sent| !Rack::<u64>::is_of_original(*sent, now, min_rtt)))
    }
}

/// Chunks that gap blocks had acknowledged and that the peer has dropped, as the cumulative point shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NotThere {
    #[default]
    Nothing,
    /// The number right behind the point; the gap blocks say which of the others.
    First,
    /// The number right behind the point and all above, after a SHUTDOWN chunk, which has no gap blocks, or a SACK
    /// without gap blocks.
    All,
}

/// Changes by one SACK.
#[derive(Debug, Default)]
pub(crate) struct AckOutcome {
    /// By lane.
    pub(crate) lanes: Vec<LaneAck>,
    /// Highest sequence number that the SACK acknowledges, newly or not.
    pub(crate) highest_acked: Option<u64>,
    /// The cumulative point moved.
    pub(crate) advanced: bool,
    /// A selection of gap blocks that is older than one that was read before.
    pub(crate) overtaken: bool,
    /// Chunks that had been acknowledged and that the peer has dropped, as the cumulative point shows.
    pub(crate) not_there: NotThere,
    /// Payload bytes newly acknowledged.
    pub(crate) payload: u64,
}

impl AckOutcome {
    pub(super) fn reset(&mut self, lanes: usize) {
        // As a rule there is one lane: memory for just as many as there are.
        if let ([only], 1) = (self.lanes.as_mut_slice(), lanes) {
            *only = LaneAck::default();
        } else {
            self.lanes.clear();
            self.lanes.reserve_exact(lanes);
            self.lanes.resize(lanes, LaneAck::default());
        }
        self.highest_acked = None;
        self.advanced = false;
        self.overtaken = false;
        self.not_there = NotThere::Nothing;
        self.payload = 0;
    }
}

/// A SACK that cannot be true: it acknowledges chunks that were never sent, or its blocks are out of shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BogusSack(pub(crate) &'static str);
