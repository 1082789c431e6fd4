//! How much may be in flight on a lane.
//!
//! A controller sees one [`Acked`] per SACK and every [`Congestion`]; it answers [`Controller::window`]. What is in
//! flight, what is lost and when something leaves is decided elsewhere: `subflow::flight`, `subflow::loss`, the
//! association's output.

mod reno;

use crate::config::Config;
pub(crate) use reno::Reno;

/// What one SACK acknowledged on a lane. Bytes count whole DATA chunks, header included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    /// Acknowledged for the first time by the cumulative TSN.
    pub(crate) cumulative: u64,
    /// Acknowledged for the first time by a gap block.
    pub(crate) gap: u64,
    /// Passed by the cumulative TSN now, acknowledged by a gap block earlier.
    pub(crate) earlier_gap: u64,
    /// Bytes in flight before the SACK arrived.
    pub(crate) flight_before: u64,
    /// Whether the cumulative TSN Ack Point advanced.
    pub(crate) cumulative_advanced: bool,
    /// Whether the lane is in Fast Recovery after this SACK.
    pub(crate) in_recovery: bool,
    /// Nothing of the lane is left in flight.
    pub(crate) all_acked: bool,
    /// A round trip has ended: what was sent after the end of the last one is acknowledged.
    pub(crate) round_trip: bool,
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Congestion {
    /// Loss seen by missing reports.
    FastRetransmit,
    /// T3-rtx expired.
    Timeout,
    /// Another lane, which shares a full bottleneck with this one, saw a loss: what one flow would do is done by all.
    OtherLane,
}

/// How a window grows in congestion avoidance, as the coupling of the lanes has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Growth {
    /// One packet in so many round trips, at least 1 (fractional congestion control).
    Phi(f64),
    /// So many packets in a round trip, with every acknowledgement a little (LIA, OLIA); may be negative.
    Linked(f64),
}

/// Decides how much may be in flight on a lane.
pub(crate) trait Controller {
    /// A SACK acknowledged data.
    fn on_ack(&mut self, acked: &Acked);
    /// The network lost something.
    fn on_congestion(&mut self, event: Congestion);
    /// An RTO passed without a transmission.
    fn on_idle(&mut self);
    /// Growth in congestion avoidance.
    fn set_growth(&mut self, growth: Growth);
    /// Takes over the window of another lane whose traffic comes here: windows add up.
    fn absorb(&mut self, window: u64, ssthresh: u64);
    /// cwnd, bytes.
    fn window(&self) -> u64;
    /// ssthresh, bytes.
    fn ssthresh(&self) -> u64;
}

/// The controller a configuration asks for. An enum, not a box: the window is asked for with every packet.
#[derive(Clone, Debug)]
pub(crate) enum AnyController {
    /// RFC 9260, section 7.
    Reno(Reno),
}

impl AnyController {
    /// Windows are counted in `unit` bytes.
    pub(crate) fn new(config: &Config, unit: u32, ipv6: bool, peer_rwnd: u32) -> Self {
        Self::Reno(Reno::new(config, unit, ipv6, peer_rwnd))
    }
}

impl Controller for AnyController {
    fn on_ack(&mut self, acked: &Acked) {
        match self {
            Self::Reno(c) => c.on_ack(acked),
        }
    }

    fn on_congestion(&mut self, event: Congestion) {
        match self {
            Self::Reno(c) => c.on_congestion(event),
        }
    }

    fn on_idle(&mut self) {
        match self {
            Self::Reno(c) => c.on_idle(),
        }
    }

    fn set_growth(&mut self, growth: Growth) {
        match self {
            Self::Reno(c) => c.set_growth(growth),
        }
    }

    fn absorb(&mut self, window: u64, ssthresh: u64) {
        match self {
            Self::Reno(c) => c.absorb(window, ssthresh),
        }
    }

    fn window(&self) -> u64 {
        match self {
            Self::Reno(c) => c.window(),
        }
    }

    fn ssthresh(&self) -> u64 {
        match self {
            Self::Reno(c) => c.ssthresh(),
        }
    }
}
