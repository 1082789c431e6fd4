//! The objects of a capture: links and packets.

use std::net::IpAddr;

use anabranch_base::{Dscp, Ecn};

/// A link whose packets are recorded.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name in the file.
    pub name: String,
    /// Bits per second, where there is a limit.
    pub speed: Option<u64>,
    /// The node that sends: its number is the Ethernet address.
    pub from: u32,
    /// The node at the other end.
    pub to: u32,
}

/// Which way a packet goes at an interface that sees both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The packet comes in.
    In,
    /// The packet goes out.
    Out,
}

impl Way {
    /// draft-ietf-opsawg-pcapng, 4.3.1: "Inbound / Outbound packet (00 = information not available, 01 = inbound, 10 = outbound)".
    pub(super) const fn flags(self) -> u32 {
        match self {
            Self::In => 1,
            Self::Out => 2,
        }
    }
}

/// A packet as the recorder sees it.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// IP address that it comes from.
    pub source: IpAddr,
    /// IP address that it goes to.
    pub destination: IpAddr,
    /// IP protocol number: 132 for SCTP, 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// Code point.
    pub dscp: Dscp,
    /// ECN field.
    pub ecn: Ecn,
    /// IPv4 identification.
    pub id: u16,
    /// Which way it goes, at an interface that sees both.
    pub way: Option<Way>,
    /// The payload of the IP datagram.
    pub bytes: &'a [u8],
}
