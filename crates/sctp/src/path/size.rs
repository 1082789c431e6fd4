//! Packet sizes of a path.

use std::net::SocketAddr;

use super::search::Sizes;
use crate::config::{Config, MtuDiscovery};

/// The header of IPv6 is so much longer than that of IPv4, bytes.
const IPV6_MORE: u16 = 20;
/// UDP header, where SCTP rides in UDP (RFC 6951), bytes.
const UDP_HEADER: u16 = 8;
/// The smallest SCTP packet that any path must carry, bytes.
const SMALLEST_PACKET: u32 = 512;
/// Least MTU that we use, bytes of IP packet: the size that every host takes (RFC 1122, 3.3.2), and every link of IPv6 (RFC 8200, 5).
const LEAST_IPV4: u16 = 576;
const LEAST_IPV6: u16 = 1280;

/// The headers in front of SCTP in a packet to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Under {
    ipv6: bool,
    udp: bool,
}

impl Under {
    /// Without a UDP port SCTP is right on IP.
    pub(super) fn of(remote: SocketAddr) -> Self {
        Self { ipv6: remote.is_ipv6(), udp: remote.port() != 0 }
    }
}

/// The size that a path begins with, bytes of IP packet: "connectivity ... using packets of the BASE_PLPMTU" (RFC 8899, 5.1.4) where
/// probes look for more.
pub(super) fn first_mtu(config: &Config, under: Under) -> u16 {
    match config.path_mtu.discovery {
        MtuDiscovery::Probes => sizes(config, under).base,
        MtuDiscovery::Off | MtuDiscovery::Icmp => config.mtu,
    }
}

/// The least IP packet that a path to an address carries, bytes.
pub(super) fn least(under: Under) -> u16 {
    if under.ipv6 { LEAST_IPV6 } else { LEAST_IPV4 }
}

/// Between which sizes a search goes on.
pub(super) fn sizes(config: &Config, under: Under) -> Sizes {
    let max = aligned(config, under, config.mtu);
    let min = aligned(config, under, least(under)).min(max);
    let base = aligned(config, under, config.path_mtu.base).clamp(min, max);
    Sizes { min, base, max }
}

/// The largest IP packet of at most `mtu` bytes that an SCTP packet of a multiple of four bytes fills.
pub(super) fn aligned(config: &Config, under: Under, mtu: u16) -> u16 {
    let overhead = overhead(config, under);
    overhead + (mtu.saturating_sub(overhead) & !3)
}

/// Bytes of header in front of SCTP.
fn overhead(config: &Config, under: Under) -> u16 {
    let ipv6 = if under.ipv6 { IPV6_MORE } else { 0 };
    // "If an SCTP endpoint starts to encapsulate the packets of a path, it MUST decrease the Path MTU of that path by the size of
    // the UDP header" (RFC 6951, 5.6).
    let udp = if under.udp { UDP_HEADER } else { 0 };
    config.ip_overhead + ipv6 + udp
}

/// Largest SCTP packet to an address when IP packets have `mtu` bytes, common header included.
pub(super) fn max_packet(config: &Config, under: Under, mtu: u16) -> u32 {
    u32::from(mtu.saturating_sub(overhead(config, under))).max(SMALLEST_PACKET) & !3
}
