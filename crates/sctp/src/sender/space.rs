//! The sending half of a sequence space: one numbering of chunks, and the flight under it.

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use super::allowance::Allowance;
use super::flight::Flight;
use crate::ids::SubflowId;

/// Numbers are unwrapped: 0 is our Initial TSN.
#[derive(Debug)]
pub(crate) struct SendSpace {
    pub(super) flight: Flight,
    /// The peer's credit for this subflow; space 0 has none of its own.
    pub(super) allowance: Allowance,
    pub(super) probe: WindowProbe,
    /// Our Initial TSN.
    pub(super) base: Tsn,
    /// Several lanes send under this numbering: each must know which of its chunks are its own.
    pub(super) shared: bool,
    /// The subflow whose message has begun to leave and that alone may use the numbering, where all share one window.
    pub(super) exclusive_subflow: Option<SubflowId>,
    /// Its subflow identifier on the wire; 0 is the TSN space of the association.
    pub(super) fid: u8,
    /// Incarnation of the FID.
    pub(super) epoch: u8,
}

/// Zero-window probing (RFC 9260, 6.1 A).
#[derive(Debug, Default)]
pub(super) struct WindowProbe {
    /// When the next probe may leave; set when the window closed on waiting data.
    pub(super) at: Option<Instant>,
    /// One chunk may leave although the window is closed.
    pub(super) due: bool,
    /// The flight, from its earliest chunk on, left into a closed window: its timeouts do not concern the path while
    /// SACKs arrive.
    pub(super) in_flight: bool,
    /// The last SACK left no room for the earliest chunk, which is not acknowledged: its next transmission is a
    /// probe.
    pub(super) closed: bool,
    /// A SACK arrived since the probe, or its last retransmission, was sent.
    pub(super) answered: bool,
    /// Doublings of the interval of probes that are answered. The path works, and its RTO stays.
    pub(super) backoff: u8,
}

impl WindowProbe {
    /// True if the next probe waits for its time, or may leave.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        self.at.is_some() || self.due
    }
}

impl SendSpace {
    // rfc9260:5.1-20
    pub(super) fn new(fid: u8, base: Tsn) -> Self {
        Self {
            flight: Flight::default(),
            allowance: Allowance::UNLIMITED,
            probe: WindowProbe::default(),
            base,
            shared: false,
            exclusive_subflow: None,
            fid,
            epoch: 0,
        }
    }

    /// The TSN that stands for an unwrapped number.
    #[inline]
    pub(super) fn tsn_of(&self, seq: u64) -> Tsn {
        self.base.add(seq as u32)
    }

    /// The TSN of the last chunk that has left.
    pub(super) fn last_tsn(&self) -> Tsn {
        self.tsn_of(self.flight.next()).sub(1)
    }

    /// Unwraps an acknowledgement around the cumulative point: one past the acknowledged TSN. `None` when it
    /// lies before the beginning of the association.
    pub(super) fn unwrap_ack(&self, cumulative: Tsn) -> Option<u64> {
        let reference = self.flight.first();
        let distance = cumulative.next().signed_distance_from(self.tsn_of(reference));
        reference.checked_add_signed(i64::from(distance))
    }
}
