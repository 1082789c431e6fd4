//! Headers in front of the transport packets of a capture, made up where a packet has none: an Ethernet header of its
//! link and an IP header.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anabranch_base::Ecn;

use super::packet::{Interface, Packet, Way};

const UDP: u8 = 17;

/// IEEE 802.3, 3.1: destination, source, type. Addresses are locally administered ones with the number of the node:
/// `02:00` and four bytes.
pub(super) fn ethernet(out: &mut Vec<u8>, interface: &Interface, packet: &Packet<'_>) {
    let far_near = [interface.to, interface.from];
    let nodes = if packet.way == Some(Way::In) { [interface.from, interface.to] } else { far_near };
    for node in nodes {
        out.extend([2, 0]);
        out.extend(node.to_be_bytes());
    }
    out.extend(if is_ipv4(packet) { 0x0800_u16 } else { 0x86dd }.to_be_bytes());
}

/// Whether the packet has an IPv4 header.
const fn is_ipv4(packet: &Packet<'_>) -> bool {
    packet.source.is_ipv4() && packet.destination.is_ipv4()
}

/// The IP datagram that the packet would have been.
pub(super) fn datagram(out: &mut Vec<u8>, packet: &Packet<'_>) {
    match (packet.source, packet.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            out.extend(ipv4_header(source, destination, packet));
            out.extend_from_slice(packet.bytes);
        }
        (source, destination) => {
            let (source, destination) = (as_v6(source), as_v6(destination));
            ipv6_header(out, source, destination, packet);
            let start = out.len();
            out.extend_from_slice(packet.bytes);
            // RFC 8200, 8.1: "a UDP checksum of zero" is no checksum over IPv4, and not allowed over IPv6.
            if packet.protocol == UDP && packet.bytes.get(6..8) == Some(&[0, 0]) {
                let sum = udp_checksum(source, destination, packet.bytes).to_be_bytes();
                if let Some(field) = out.get_mut(start + 6..start + 8) {
                    field.copy_from_slice(&sum);
                }
            }
        }
    }
}

fn traffic_class(packet: &Packet<'_>) -> u8 {
    let ecn = match packet.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    packet.dscp.get() << 2 | ecn
}

/// RFC 791, section 3.1: 20 bytes, do not fragment, time to live 64.
pub(super) fn ipv4_header(source: Ipv4Addr, destination: Ipv4Addr, packet: &Packet<'_>) -> [u8; 20] {
    let mut header = [0; 20];
    header[0] = 0x45;
    header[1] = traffic_class(packet);
    header[2..4].copy_from_slice(&((20 + packet.bytes.len()) as u16).to_be_bytes());
    header[4..6].copy_from_slice(&packet.id.to_be_bytes());
    header[6] = 0x40;
    header[8] = 64;
    header[9] = packet.protocol;
    header[12..16].copy_from_slice(&source.octets());
    header[16..20].copy_from_slice(&destination.octets());
    let checksum = internet_checksum(&header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// RFC 8200, section 3: 40 bytes, hop limit 64.
fn ipv6_header(out: &mut Vec<u8>, source: Ipv6Addr, destination: Ipv6Addr, packet: &Packet<'_>) {
    let first = 6_u32 << 28 | u32::from(traffic_class(packet)) << 20;
    out.extend(first.to_be_bytes());
    out.extend((packet.bytes.len() as u16).to_be_bytes());
    out.extend([packet.protocol, 64]);
    out.extend(source.octets());
    out.extend(destination.octets());
}

/// RFC 8200, 8.1: over the pseudo-header and the datagram; 0 is sent as 0xffff.
fn udp_checksum(source: Ipv6Addr, destination: Ipv6Addr, bytes: &[u8]) -> u16 {
    let mut covered = Vec::with_capacity(40 + bytes.len());
    covered.extend(source.octets());
    covered.extend(destination.octets());
    covered.extend((bytes.len() as u32).to_be_bytes());
    covered.extend([0, 0, 0, UDP]);
    covered.extend_from_slice(bytes);
    match internet_checksum(&covered) {
        0 => 0xffff,
        sum => sum,
    }
}

fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// RFC 1071: the complement of the ones' complement sum of the 16-bit words.
pub(super) fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| match *pair {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(u16::from_be_bytes([high, 0])),
        _ => 0,
    });
    // 65,535 bytes are fewer than 2^16 words: the sum fits. One folding leaves at most one carry, a second takes it.
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}
