//! A capture in the pcapng format (draft-ietf-opsawg-pcapng): one section, one interface for each recorded link, and
//! a packet block for each packet, with an IP header made for it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anabranch_base::{Dscp, Ecn, Instant};

/// Packets begin with their IP header: LINKTYPE_RAW.
const LINKTYPE_RAW: u16 = 101;
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const OPTION_END: u16 = 0;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_SPEED: u16 = 8;
const OPTION_IF_TSRESOL: u16 = 9;

/// A link whose packets are recorded.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub(crate) name: String,
    /// Bits per second, where there is a limit.
    pub(crate) speed: Option<u64>,
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

/// A capture in memory.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    out: Vec<u8>,
}

impl Capture {
    /// A capture on these interfaces; a packet names its interface by its place in this list.
    pub(crate) fn new(interfaces: &[Interface]) -> Self {
        let mut capture = Self { out: Vec::new() };
        capture.block(SECTION_HEADER, |out| {
            out.extend(0x1a2b_3c4d_u32.to_le_bytes());
            out.extend(1_u16.to_le_bytes());
            out.extend(0_u16.to_le_bytes());
            // Length of the section: not said.
            out.extend(u64::MAX.to_le_bytes());
        });
        for interface in interfaces {
            capture.block(INTERFACE_DESCRIPTION, |out| {
                out.extend(LINKTYPE_RAW.to_le_bytes());
                out.extend(0_u16.to_le_bytes());
                // No limit on the length of a packet.
                out.extend(0_u32.to_le_bytes());
                option(out, OPTION_IF_NAME, interface.name.as_bytes());
                if let Some(speed) = interface.speed {
                    option(out, OPTION_IF_SPEED, &speed.to_le_bytes());
                }
                // Time stamps in units of 10^-9 s.
                option(out, OPTION_IF_TSRESOL, &[9]);
                option(out, OPTION_END, &[]);
            });
        }
        capture
    }

    /// Adds a packet.
    pub(crate) fn packet(&mut self, now: Instant, interface: u32, packet: &Packet<'_>) {
        self.block(ENHANCED_PACKET, |out| {
            let at = now.as_nanos();
            out.extend(interface.to_le_bytes());
            out.extend(((at >> 32) as u32).to_le_bytes());
            out.extend((at as u32).to_le_bytes());
            let length_at = out.len();
            out.extend([0; 8]);
            let start = out.len();
            ip_header(out, packet);
            out.extend_from_slice(packet.bytes);
            let length = ((out.len() - start) as u32).to_le_bytes();
            out[length_at..length_at + 4].copy_from_slice(&length);
            out[length_at + 4..length_at + 8].copy_from_slice(&length);
            pad(out, start);
        });
    }

    /// The file.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.out
    }

    /// A block: type, length, body, length again.
    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        self.out.extend(kind.to_le_bytes());
        self.out.extend([0; 4]);
        body(&mut self.out);
        let length = ((self.out.len() - start + 4) as u32).to_le_bytes();
        self.out.extend(length);
        self.out[start + 4..start + 8].copy_from_slice(&length);
    }
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    let start = out.len();
    out.extend_from_slice(value);
    pad(out, start);
}

/// Fills up to a multiple of four bytes since `start`.
fn pad(out: &mut Vec<u8>, start: usize) {
    while (out.len() - start) % 4 != 0 {
        out.push(0);
    }
}

/// The IP header that the packet would have had.
fn ip_header(out: &mut Vec<u8>, packet: &Packet<'_>) {
    match (packet.source, packet.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            out.extend(ipv4_header(source, destination, packet));
        }
        (source, destination) => ipv6_header(out, as_v6(source), as_v6(destination), packet),
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
fn ipv4_header(source: Ipv4Addr, destination: Ipv4Addr, packet: &Packet<'_>) -> [u8; 20] {
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

fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// RFC 1071: the complement of the ones' complement sum of the 16-bit words.
fn internet_checksum(header: &[u8; 20]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    // Ten words: one folding leaves at most one carry, a second takes it.
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

#[cfg(test)]
#[path = "pcapng/tests.rs"]
mod tests;
