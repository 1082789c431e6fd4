//! How a window grows in congestion avoidance where lanes are coupled: the terms of fractional congestion control
//! (study 004, 3.4) and of linked increases (RFC 6356).

/// How a window grows in congestion avoidance, as the coupling of the lanes has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// One packet in so many round trips, at least 1 (fractional congestion control).
    Phi(f64),
    /// So many packets in a round trip, with every acknowledgement a little (LIA, OLIA); may be negative.
    Linked(f64),
}

/// Growth slower than this is none: a packet in so many round trips.
const SLOWEST: f64 = 1e6;

impl Growth {
    /// Round trips for a packet of growth, for controllers with a law of their own. Never below 1.
    pub(super) fn phi(self) -> f64 {
        let phi = match self {
            Self::Phi(phi) => phi,
            Self::Linked(packets) if packets > 0.0 => 1.0 / packets,
            Self::Linked(_) => SLOWEST,
        };
        phi.clamp(1.0, SLOWEST)
    }
}

/// By how much the window grows under fractional congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FccStep {
    /// By a packet, once in Phi round trips (the staircase of Fig. 4.1b).
    #[default]
    Packet,
    /// By the Phi-th part of a packet, every round trip.
    Fraction,
}

/// The event that counts as a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FccClock {
    /// A window of bytes acknowledged (`partial_bytes_acked`).
    #[default]
    Bytes,
    /// The acknowledgement of data sent after the last round trip had ended.
    RoundTrips,
}

/// The rounding of a Phi that is no whole number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FccRounding {
    /// Phi stays as it is.
    #[default]
    Exact,
    /// The next smaller whole number, at least 1.
    Floor,
    /// The next larger one.
    Ceil,
    /// The nearest one.
    Nearest,
}

impl FccRounding {
    /// Phi as it is used.
    #[must_use]
    pub fn apply(self, phi: f64) -> f64 {
        let phi = match self {
            Self::Exact => phi,
            Self::Floor => phi.floor(),
            Self::Ceil => phi.ceil(),
            Self::Nearest => phi.round(),
        };
        phi.max(1.0)
    }
}
