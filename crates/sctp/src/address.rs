//! Which IP addresses an endpoint may talk with, and how many of one peer.

use std::net::{IpAddr, Ipv4Addr};

/// Addresses of a peer beyond which an INIT's list is cut: nobody has more interfaces, an attacker may claim
/// them. So many keep a State Cookie within 512 bytes.
pub(crate) const MAX_PEER_ADDRESSES: usize = 24;

/// Multicast or broadcast. Which other addresses are the broadcast addresses of a subnet, only its members know.
pub(crate) fn is_group(address: IpAddr) -> bool {
    let v4_group = |v4: Ipv4Addr| v4.is_multicast() || v4.is_broadcast();
    match address {
        IpAddr::V4(v4) => v4_group(v4),
        IpAddr::V6(v6) => v6.is_multicast() || v6.to_ipv4_mapped().is_some_and(v4_group),
    }
}

/// An address of one host: "to or from a non-unicast address, a receiver SHOULD silently discard the packet" (8.4, 1).
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    !is_group(address) && !address.is_unspecified()
}
