//! A sequence space: one numbering of chunks in each direction, what is in flight under it and what was received.

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use super::flight::Flight;
use super::receive::ReceiveMap;
use super::sack::SackScheduler;
use crate::sf::credit::Allowance;

/// One sequence space in each direction. Sequence numbers are unwrapped: 0 is the Initial TSN.
#[derive(Debug)]
pub(crate) struct Space {
    /// Our Initial TSN.
    pub(crate) send_base: Tsn,
    /// The peer's.
    pub(crate) receive_base: Tsn,
    pub(crate) flight: Flight,
    pub(crate) received: ReceiveMap,
    pub(crate) sack: SackScheduler,
    /// Several lanes send under this numbering: each must know which of its chunks are its own.
    pub(crate) shared: bool,
    /// The subflow whose message has begun to leave and keeps the numbering to itself, where all share one window.
    pub(crate) talks: Option<u8>,
    /// Its subflow identifier on the wire; 0 is the TSN space of the association.
    pub(crate) fid: u8,
    /// Incarnation of the FID, ours and the peer's.
    pub(crate) send_epoch: u8,
    pub(crate) receive_epoch: u8,
    /// What the peer's credit for this subflow leaves us; space 0 has none of its own.
    pub(crate) allowance: Allowance,
    pub(crate) probe: WindowProbe,
    /// When the highest sequence number so far arrived.
    pub(crate) newest: Option<Instant>,
}

/// Zero-window probing (RFC 9260, 6.1 A).
#[derive(Debug, Default)]
pub(crate) struct WindowProbe {
    /// When the next probe may leave; set when the window closed on waiting data.
    pub(crate) at: Option<Instant>,
    /// One chunk may leave although the window is closed.
    pub(crate) due: bool,
    /// The chunk in flight is a probe: its timeouts say nothing about the path while SACKs arrive.
    pub(crate) in_flight: bool,
    /// A SACK arrived since the probe, or its last retransmission, was sent.
    pub(crate) answered: bool,
}

impl Space {
    pub(crate) fn new(send_base: Tsn, receive_base: Tsn) -> Self {
        Self {
            send_base,
            receive_base,
            flight: Flight::default(),
            received: ReceiveMap::default(),
            sack: SackScheduler::default(),
            shared: false,
            talks: None,
            fid: 0,
            send_epoch: 0,
            receive_epoch: 0,
            allowance: Allowance::UNLIMITED,
            probe: WindowProbe::default(),
            newest: None,
        }
    }

    /// The TSN that stands for our unwrapped sequence number `seq`.
    pub(crate) fn tsn_of_sent(&self, seq: u64) -> Tsn {
        self.send_base.add(seq as u32)
    }

    /// The TSN that stands for the peer's unwrapped sequence number `seq`.
    pub(crate) fn tsn_of_received(&self, seq: u64) -> Tsn {
        self.receive_base.add(seq as u32)
    }

    /// The last TSN received in sequence: what a SACK or SHUTDOWN acknowledges.
    pub(crate) fn cumulative_received(&self) -> Tsn {
        self.receive_base.add((self.received.next() as u32).wrapping_sub(1))
    }

    /// Unwraps an acknowledgement of ours around the cumulative point: one past the acknowledged TSN. `None` when it
    /// lies before the beginning of the association.
    pub(crate) fn unwrap_ack(&self, cumulative: Tsn) -> Option<u64> {
        let reference = self.flight.first();
        let distance = cumulative.next().signed_distance_from(self.tsn_of_sent(reference));
        reference.checked_add_signed(i64::from(distance))
    }

    /// Unwraps a TSN of the peer around what has been received.
    pub(crate) fn unwrap_received(&self, tsn: Tsn) -> Option<u64> {
        let reference = self.received.next();
        let distance = tsn.signed_distance_from(self.tsn_of_received(reference));
        reference.checked_add_signed(i64::from(distance))
    }
}
