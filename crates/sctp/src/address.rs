//! The IP addresses that an endpoint may talk with, and their number for one peer.

use std::net::{IpAddr, Ipv4Addr};

/// Addresses of a peer beyond which an INIT's list is cut: no real host has more interfaces, an attacker may claim
/// them. So many keep a State Cookie within 512 bytes.
pub(crate) const MAX_PEER_ADDRESSES: usize = 24;

/// True for a multicast address and for 255.255.255.255. The broadcast addresses of subnets cannot be told: only
/// members of a subnet know them.
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
