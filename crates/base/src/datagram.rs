//! A datagram on its way between a transport and the network below: addresses and the bits of the IP header
//! that transports care about. The bytes themselves travel beside it.

use std::net::SocketAddr;

/// Differentiated Services code point (RFC 2474): the upper six bits of the old TOS octet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// Best effort.
    pub const DEFAULT: Self = Self(0);

    /// A code point of 0 to 63; `None` for anything larger.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value < 64 { Some(Self(value)) } else { None }
    }

    /// The code point, 0 to 63.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// The ECN field of the IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// 00: the transport does not speak ECN.
    #[default]
    NotEct,
    /// 01: ECN-capable (RFC 9331 gives it to L4S).
    Ect1,
    /// 10: ECN-capable.
    Ect0,
    /// 11: congestion experienced.
    Ce,
}

/// The addresses and IP fields of a received datagram.
///
/// Addresses are socket addresses because SCTP may ride in UDP (RFC 6951): the port is the UDP port there, and
/// zero on raw IP and in the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The address of its sender.
    pub source: SocketAddr,
    /// The local address that it was sent to.
    pub destination: SocketAddr,
    /// Code point it arrived with.
    pub dscp: Dscp,
    /// ECN field it arrived with.
    pub ecn: Ecn,
}

/// Directions for sending the bytes that `poll_transmit` appended to the caller's buffer: `size` bytes that hold one or
/// many packets of `segment_size` bytes each, the last one possibly shorter (the shape of generic segmentation
/// offload).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where to send it.
    pub destination: SocketAddr,
    /// From which of our addresses; `None` leaves the choice to the driver.
    pub source: Option<SocketAddr>,
    /// Code point for every packet of the batch.
    pub dscp: Dscp,
    /// ECN field for every packet of the batch.
    pub ecn: Ecn,
    /// No packet of the batch may be fragmented on its way: the DF bit of IPv4 is to be set, and an IPv6 host must not fragment
    /// it. Where this is false a packet may be larger than the path carries whole (RFC 9260, 6.9).
    pub dont_fragment: bool,
    /// Bytes appended to the buffer.
    pub size: usize,
    /// Size of each packet but perhaps the last; equal to `size` for a single packet.
    pub segment_size: usize,
}

impl Transmit {
    /// How many packets the batch holds.
    #[must_use]
    pub fn packets(&self) -> usize {
        if self.segment_size == 0 { 0 } else { self.size.div_ceil(self.segment_size) }
    }
}
