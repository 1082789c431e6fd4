//! What a capture is of: links and packets.

use std::net::IpAddr;

use anabranch_base::{Dscp, Ecn};

/// A link whose packets are recorded.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub(crate) name: String,
    /// Bits per second, where there is a limit.
    pub(crate) speed: Option<u64>,
    /// The nodes at its ends.
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// A packet as the recorder sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    /// IP protocol number: 132 for SCTP, 6 for TCP.
    pub(crate) protocol: u8,
    pub(crate) dscp: Dscp,
    pub(crate) ecn: Ecn,
    /// IPv4 identification.
    pub(crate) id: u16,
    pub(crate) bytes: &'a [u8],
}
