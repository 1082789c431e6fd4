//! Types for packets, for the socket and for its part for each platform.

use std::net::SocketAddr;

use anabranch_base::Ecn;
use anabranch_sctp::IcmpKind;

/// An error that the system tells of a packet that has left.
#[derive(Debug)]
pub(crate) struct QueuedError {
    /// `None` for an error that is of no interest.
    pub(crate) kind: Option<IcmpKind>,
    pub(crate) destination: SocketAddr,
    /// Bytes of the packet that it quotes.
    pub(crate) quoted: usize,
}

/// The two bits of the ECN field (RFC 3168, 5).
pub(crate) fn ecn_bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    }
}
