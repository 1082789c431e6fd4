//! From a frame to an IP datagram: link headers, IPv4, IPv6 and its extension headers, tunnels of IP in IP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where a datagram is a part of a larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// First byte of this part in the whole payload.
    pub offset: u32,
    /// More parts follow.
    pub more: bool,
    /// What the parts have in common.
    pub id: u32,
}

/// An IP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Who sent it.
    pub source: IpAddr,
    /// Who it is for.
    pub destination: IpAddr,
    /// What it carries: 6 is TCP, 17 UDP, 132 SCTP.
    pub protocol: u8,
    /// Bytes of the whole datagram, of the outermost one in a tunnel.
    pub length: u32,
    /// What was kept of its payload.
    pub payload: &'a [u8],
    /// Bytes of its payload on the link.
    pub payload_length: u32,
    /// Set where the datagram is one of several parts.
    pub fragment: Option<Fragment>,
    /// The two bits of ECN.
    pub ecn: u8,
}

/// Why a frame holds no datagram that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotIp {
    /// The link type is not known here.
    #[error("link type {0} is not known")]
    LinkType(u16),
    /// The link carries something else.
    #[error("protocol {0:#06x} on the link")]
    Protocol(u16),
    /// Too little of it was kept, or lengths contradict each other.
    #[error("{0} is cut or malformed")]
    Malformed(&'static str),
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Tunnels within tunnels are read to this depth.
const DEEPEST: u32 = 4;

/// The datagram in a frame of this link type, which had `original` bytes on the link.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn datagram(link_type: u16, bytes: &[u8], original: u32) -> Result<Datagram<'_>, NotIp> {
    let (protocol, rest) = link(link_type, bytes)?;
    let skipped = (bytes.len() - rest.len()) as u32;
    match protocol {
        IPV4 | IPV6 => ip(rest, original.saturating_sub(skipped)),
        other => Err(NotIp::Protocol(other)),
    }
}

/// Skips the header of the link: the type of what it carries, as Ethernet numbers it, and the rest.
fn link(link_type: u16, bytes: &[u8]) -> Result<(u16, &[u8]), NotIp> {
    let cut = NotIp::Malformed("the link header");
    let u16_at = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let found = match link_type {
        // Ethernet.
        1 => return ethernet(bytes),
        // BSD loopback: the family of addresses, in the order of whoever wrote it (or of the network); the version
        // of IP says as much.
        0 | 108 => bytes.get(4..).and_then(|rest| Some((by_version(rest)?, rest))),
        // Raw IP: by the file format's number and by the two of older systems; or of one version.
        12 | 14 | 101 | 228 | 229 => by_version(bytes).map(|protocol| (protocol, bytes)),
        // PPP, with or without its HDLC header.
        9 | 50 => {
            let rest = bytes.strip_prefix(&[0xff, 0x03]).unwrap_or(bytes);
            ppp(rest)
        }
        // Linux cooked, versions 1 and 2.
        113 => u16_at(14).and_then(|protocol| Some((protocol, bytes.get(16..)?))),
        276 => u16_at(0).and_then(|protocol| Some((protocol, bytes.get(20..)?))),
        other => return Err(NotIp::LinkType(other)),
    };
    let (protocol, rest) = found.ok_or(cut)?;
    if protocol == 0x8100 || protocol == 0x88a8 { tagged(protocol, rest) } else { Ok((protocol, rest)) }
}

fn by_version(bytes: &[u8]) -> Option<u16> {
    match bytes.first()? >> 4 {
        4 => Some(IPV4),
        6 => Some(IPV6),
        _ => None,
    }
}

fn ppp(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (protocol, rest) = bytes.split_first_chunk::<2>()?;
    match u16::from_be_bytes(*protocol) {
        0x0021 => Some((IPV4, rest)),
        0x0057 => Some((IPV6, rest)),
        other => Some((other, rest)),
    }
}

fn ethernet(bytes: &[u8]) -> Result<(u16, &[u8]), NotIp> {
    let cut = NotIp::Malformed("the Ethernet header");
    let (kind, rest) = bytes.get(12..).and_then(|rest| rest.split_first_chunk::<2>()).ok_or(cut)?;
    tagged(u16::from_be_bytes(*kind), rest)
}

/// VLAN tags (802.1Q, 802.1ad), LLC/SNAP and PPPoE in front of what is carried.
fn tagged(mut kind: u16, mut rest: &[u8]) -> Result<(u16, &[u8]), NotIp> {
    while matches!(kind, 0x8100 | 0x88a8 | 0x9100) {
        let (tag, behind) = rest.split_first_chunk::<4>().ok_or(NotIp::Malformed("a VLAN tag"))?;
        kind = u16::from_be_bytes([tag[2], tag[3]]);
        rest = behind;
    }
    match kind {
        0x8864 => rest.get(6..).and_then(ppp).ok_or(NotIp::Malformed("the PPPoE header")),
        // Below 1536 it is a length (IEEE 802.3).
        0..1536 => match rest.split_first_chunk::<8>() {
            Some((&[0xaa, 0xaa, 3, 0, 0, 0, a, b], rest)) => Ok((u16::from_be_bytes([a, b]), rest)),
            _ => Err(NotIp::Protocol(kind)),
        },
        _ => Ok((kind, rest)),
    }
}

/// Reads IP and what it wraps. `available` is what the link carried of it.
fn ip(bytes: &[u8], available: u32) -> Result<Datagram<'_>, NotIp> {
    let mut found = one(bytes, available)?;
    let length = found.length;
    for _ in 0..DEEPEST {
        if !matches!(found.protocol, 4 | 41) || found.fragment.is_some() {
            break;
        }
        let Ok(inner) = one(found.payload, found.payload_length) else { break };
        found = inner;
    }
    found.length = length;
    Ok(found)
}

fn one(bytes: &[u8], available: u32) -> Result<Datagram<'_>, NotIp> {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => v4(bytes, available),
        Some(6) => v6(bytes, available),
        _ => Err(NotIp::Malformed("the IP header")),
    }
}

/// RFC 791, section 3.1.
fn v4(bytes: &[u8], available: u32) -> Result<Datagram<'_>, NotIp> {
    let cut = NotIp::Malformed("the IPv4 header");
    let Some(head) = bytes.first_chunk::<20>() else { return Err(cut) };
    let header = usize::from(head[0] & 0x0f) * 4;
    // A length of zero: the sender's network card was to cut it (segmentation offload).
    let length = match u16::from_be_bytes([head[2], head[3]]) {
        0 => available,
        length => u32::from(length),
    };
    let payload_length = length.checked_sub(header as u32).filter(|_| header >= 20).ok_or(cut.clone())?;
    let kept = bytes.get(header..).ok_or(cut)?;
    let bits = u16::from_be_bytes([head[6], head[7]]);
    let (more, offset) = (bits & 0x2000 != 0, u32::from(bits & 0x1fff) * 8);
    let id = u32::from(u16::from_be_bytes([head[4], head[5]]));
    Ok(Datagram {
        source: Ipv4Addr::new(head[12], head[13], head[14], head[15]).into(),
        destination: Ipv4Addr::new(head[16], head[17], head[18], head[19]).into(),
        protocol: head[9],
        length,
        payload: within(kept, payload_length),
        payload_length,
        fragment: (more || offset > 0).then_some(Fragment { offset, more, id }),
        ecn: head[1] & 3,
    })
}

/// RFC 8200, sections 3 and 4.
fn v6(bytes: &[u8], available: u32) -> Result<Datagram<'_>, NotIp> {
    let cut = NotIp::Malformed("the IPv6 header");
    let Some((head, mut rest)) = bytes.split_first_chunk::<40>() else { return Err(cut) };
    let address = |at: usize| -> Option<IpAddr> {
        let octets: [u8; 16] = *head.get(at..)?.first_chunk()?;
        Some(Ipv6Addr::from(octets).into())
    };
    let (Some(source), Some(destination)) = (address(8), address(24)) else { return Err(cut) };
    // Zero: a jumbogram, or segmentation offload.
    let payload = match u16::from_be_bytes([head[4], head[5]]) {
        0 => available.saturating_sub(40),
        length => u32::from(length),
    };
    let mut left = payload;
    let mut next = head[6];
    let mut fragment = None;
    loop {
        let length = match (next, rest) {
            // Hop-by-hop, routing, destination options, mobility, HIP, shim6: units of 8 bytes beyond the first.
            (0 | 43 | 60 | 135 | 139 | 140, &[_, units, ..]) => (usize::from(units) + 1) * 8,
            // Authentication header: units of 4 bytes, minus 2.
            (51, &[_, units, ..]) => (usize::from(units) + 2) * 4,
            (44, &[_, _, hi, lo, a, b, c, d, ..]) => {
                let bits = u16::from_be_bytes([hi, lo]);
                let (more, offset) = (bits & 1 != 0, u32::from(bits & 0xfff8));
                if more || offset > 0 {
                    fragment = Some(Fragment { offset, more, id: u32::from_be_bytes([a, b, c, d]) });
                }
                8
            }
            (0 | 43 | 44 | 51 | 60 | 135 | 139 | 140, _) => {
                return Err(NotIp::Malformed("an IPv6 extension header"));
            }
            _ => break,
        };
        let wrong = NotIp::Malformed("an IPv6 extension header");
        left = left.checked_sub(length as u32).ok_or(wrong.clone())?;
        next = rest.first().copied().unwrap_or(59);
        rest = rest.get(length..).ok_or(wrong)?;
        // The parts behind the first begin in the middle of something.
        if fragment.is_some_and(|fragment: Fragment| fragment.offset > 0) {
            break;
        }
    }
    Ok(Datagram {
        source,
        destination,
        protocol: next,
        length: payload.saturating_add(40),
        payload: within(rest, left),
        payload_length: left,
        fragment,
        ecn: head[1] >> 4 & 3,
    })
}

/// Without what the link added behind: padding of short Ethernet frames, check sequences.
fn within(kept: &[u8], length: u32) -> &[u8] {
    kept.get(..length as usize).unwrap_or(kept)
}
