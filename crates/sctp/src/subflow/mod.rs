//! A subflow: the streams that share one DSCP, with a sequence space of their own, what is in flight, what is lost
//! and what was received. RFC 9260 is the case of one subflow.

pub(crate) mod flight;
pub(crate) mod loss;
pub(crate) mod ranges;
pub(crate) mod receive;
pub(crate) mod sack;

use anabranch_base::Dscp;
use anabranch_wire::Tsn;

use crate::config::Config;
use crate::stream::outbound::Outbound;
use flight::Flight;
use loss::Loss;
use receive::ReceiveMap;
use sack::SackScheduler;

/// One sequence space in each direction and everything that hangs on it.
#[derive(Debug)]
pub(crate) struct Subflow {
    pub(crate) dscp: Dscp,
    /// Our sequence numbers: unwrapped 0 is our Initial TSN.
    pub(crate) send_base: Tsn,
    /// The peer's: unwrapped 0 is its Initial TSN.
    pub(crate) receive_base: Tsn,
    pub(crate) out: Outbound,
    pub(crate) flight: Flight,
    pub(crate) loss: Loss,
    pub(crate) received: ReceiveMap,
    pub(crate) sack: SackScheduler,
}

impl Subflow {
    pub(crate) fn new(config: &Config, send_base: Tsn, receive_base: Tsn) -> Self {
        Self {
            dscp: config.dscp,
            send_base,
            receive_base,
            out: Outbound::new(config.stream_scheduling),
            flight: Flight::default(),
            loss: Loss::new(config.fast_retransmit_threshold),
            received: ReceiveMap::default(),
            sack: SackScheduler::default(),
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
