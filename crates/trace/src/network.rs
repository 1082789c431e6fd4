//! From a frame to an IP datagram: link headers, IPv4, IPv6 and its extension headers, and tunnels: IP in IP, GRE, MPLS, VXLAN, Geneve, GTP-U.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where a datagram is a part of a larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// First byte of this part in the whole payload.
    pub offset: u32,
    /// More parts follow.
    pub more: bool,
    /// The identification that all parts of the datagram share.
    pub id: u32,
}

/// An IP datagram: the innermost one, where it came through tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Source address. Unspecified where a capture has transport packets without IP.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol of the payload: 6 is TCP, 17 UDP, 132 SCTP.
    pub protocol: u8,
    /// Bytes of the whole datagram, of the outermost one in a tunnel.
    pub length: u32,
    /// The bytes of its payload that the file has.
    pub payload: &'a [u8],
    /// Bytes of its payload on the link.
    pub payload_length: u32,
    /// Set where the datagram is one of several parts.
    pub fragment: Option<Fragment>,
    /// The two bits of ECN.
    pub ecn: u8,
    /// Identification of IPv4; 0 in IPv6.
    pub id: u16,
    /// TTL or hop limit.
    pub hops: u8,
    /// A hash of the headers around it: addresses of the link, VLANs, tunnels. The same at two places only by chance.
    pub around: u64,
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
    /// A PDU that Wireshark exported, of another protocol.
    #[error("an exported PDU of the protocol {0}; allowed: sctp, ip")]
    Exported(String),
    /// Too little of it was kept, or lengths contradict each other.
    #[error("{0} is cut or malformed")]
    Malformed(&'static str),
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// An Ethernet frame inside of something else.
const BRIDGED: u16 = 0x6558;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
/// Tunnels within tunnels are read to this depth.
const DEEPEST: u32 = 6;

/// The datagram in a frame of this link type, which had `original` bytes on the link.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn datagram(link_type: u16, bytes: &[u8], original: u32) -> Result<Datagram<'_>, NotIp> {
    match link_type {
        // SCTP without anything around it.
        248 => Ok(bare((NOWHERE, NOWHERE), bytes, original)),
        252 => exported(bytes, original),
        _ => {
            let (protocol, rest) = link(link_type, bytes)?;
            let skipped = bytes.len() - rest.len();
            let mut walk = Walk { around: SEED, depth: 0 };
            walk.passed(place(link_type, bytes.get(..skipped).unwrap_or_default()));
            walk.carried(protocol, rest, original.saturating_sub(skipped as u32))
        }
    }
}

/// The datagram that was put together from its parts: `parts` is its first part, `payload` the whole payload.
pub(crate) fn put_together<'a>(part: &Datagram<'_>, payload: &'a [u8], payload_length: u32) -> Datagram<'a> {
    let whole = Datagram {
        source: part.source,
        destination: part.destination,
        protocol: part.protocol,
        length: part.length,
        payload,
        payload_length,
        fragment: None,
        ecn: part.ecn,
        id: part.id,
        hops: part.hops,
        around: part.around,
    };
    Walk { around: part.around, depth: 0 }.unwrapped(whole)
}

/// The datagram that an ICMP message quotes.
pub(crate) fn quoted(bytes: &[u8]) -> Option<Datagram<'_>> {
    one(bytes, bytes.len() as u32).ok()
}

const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// SCTP without IP.
fn bare((source, destination): (IpAddr, IpAddr), bytes: &[u8], length: u32) -> Datagram<'_> {
    Datagram {
        source,
        destination,
        protocol: 132,
        length,
        payload: bytes,
        payload_length: length,
        fragment: None,
        ecn: 0,
        id: 0,
        hops: 0,
        around: SEED,
    }
}

/// A PDU that Wireshark exported (`wsutil/exported_pdu_tlvs.h` there): tags of a type, a length and a value, which end
/// with the type 0; then the PDU.
fn exported(bytes: &[u8], original: u32) -> Result<Datagram<'_>, NotIp> {
    let cut = NotIp::Malformed("the header of an exported PDU");
    let (mut rest, mut name) = (bytes, None);
    let (mut source, mut destination) = (NOWHERE, NOWHERE);
    loop {
        let Some((&[k0, k1, l0, l1], behind)) = rest.split_first_chunk::<4>() else { return Err(cut) };
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        let Some((value, behind)) = behind.split_at_checked(length) else { return Err(cut) };
        rest = behind;
        let v4 = || value.first_chunk::<4>().map(|address| IpAddr::from(*address));
        let v6 = || value.first_chunk::<16>().map(|address| IpAddr::from(*address));
        match u16::from_be_bytes([k0, k1]) {
            0 => break,
            // The dissector by its name, which may end with zeros.
            12 => name = Some(String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()),
            20 => source = v4().ok_or(cut.clone())?,
            21 => destination = v4().ok_or(cut.clone())?,
            22 => source = v6().ok_or(cut.clone())?,
            23 => destination = v6().ok_or(cut.clone())?,
            _ => {}
        }
    }
    let left = original.saturating_sub((bytes.len() - rest.len()) as u32);
    match name.as_deref() {
        Some("sctp") => Ok(bare((source, destination), rest, left)),
        Some("ip" | "ipv6") => Walk { around: SEED, depth: 0 }.ip(rest, left),
        // A capture may be full of these, and the name is the file's own text: only a few characters are kept.
        Some(other) => {
            Err(NotIp::Exported(other.chars().take(40).collect::<String>().escape_debug().to_string()))
        }
        None => Err(NotIp::Exported("without a name".to_owned())),
    }
}

/// Skips the header of the link: the type of its payload, as Ethernet numbers it, and the rest.
fn link(link_type: u16, bytes: &[u8]) -> Result<(u16, &[u8]), NotIp> {
    let cut = NotIp::Malformed("the link header");
    let u16_at = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let found = match link_type {
        // Ethernet.
        1 => return ethernet(bytes),
        // BSD loopback: the family of addresses, in the byte order of the host that wrote it (or of the network); the
        // version of IP says as much.
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
        // MPLS without anything around it.
        219 => Some((MPLS, bytes)),
        other => return Err(NotIp::LinkType(other)),
    };
    let (protocol, rest) = found.ok_or(cut)?;
    if protocol == 0x8100 || protocol == 0x88a8 { tagged(protocol, rest) } else { Ok((protocol, rest)) }
}

/// A hash of the parts of a link's header that tell places apart. The priority of a VLAN tag is not one of them.
fn place(link_type: u16, header: &[u8]) -> u64 {
    let (fixed, tags) = header.split_at_checked(if link_type == 1 { 12 } else { 0 }).unwrap_or((header, &[]));
    match link_type {
        1 => {
            let mut sum = mixed(SEED, fixed);
            let mut tags = tags;
            while let Some((&[a, b, c, d], behind)) = tags.split_first_chunk::<4>() {
                if !matches!(u16::from_be_bytes([a, b]), 0x8100 | 0x88a8 | 0x9100) {
                    break;
                }
                sum = mixed(sum, &[c & 0x0f, d]);
                tags = behind;
            }
            sum
        }
        // Whether it came or left, at which interface, and the link's address.
        113 => mixed(SEED, header.get(..14).unwrap_or(header)),
        276 => mixed(SEED, header.get(4..).unwrap_or(header)),
        _ => SEED,
    }
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a.
fn mixed(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
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
        0x0281 => Some((MPLS, rest)),
        0x0283 => Some((MPLS_MULTICAST, rest)),
        other => Some((other, rest)),
    }
}

fn ethernet(bytes: &[u8]) -> Result<(u16, &[u8]), NotIp> {
    let cut = NotIp::Malformed("the Ethernet header");
    let (kind, rest) = bytes.get(12..).and_then(|rest| rest.split_first_chunk::<2>()).ok_or(cut)?;
    tagged(u16::from_be_bytes(*kind), rest)
}

/// Skips VLAN tags (802.1Q, 802.1ad), LLC/SNAP and PPPoE in front of the payload.
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

/// The way into tunnels.
struct Walk {
    around: u64,
    depth: u32,
}

impl Walk {
    fn passed(&mut self, place: u64) {
        self.around = mixed(self.around, &place.to_be_bytes());
    }

    /// Reads the payload of a link or a tunnel, by the number that Ethernet has for its type. `available` bytes of it were on the link.
    fn carried<'a>(&mut self, protocol: u16, bytes: &'a [u8], available: u32) -> Result<Datagram<'a>, NotIp> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(NotIp::Malformed("a tunnel in many others"));
        }
        match protocol {
            IPV4 | IPV6 => self.ip(bytes, available),
            BRIDGED => {
                let (protocol, rest) = ethernet(bytes)?;
                let skipped = bytes.len() - rest.len();
                self.passed(place(1, bytes.get(..skipped).unwrap_or_default()));
                self.carried(protocol, rest, available.saturating_sub(skipped as u32))
            }
            MPLS | MPLS_MULTICAST => {
                let rest = unlabelled(bytes)?;
                let skipped = bytes.len() - rest.len();
                self.passed(mixed(SEED, bytes.get(..skipped).unwrap_or_default()));
                let left = available.saturating_sub(skipped as u32);
                match by_version(rest) {
                    Some(protocol) => self.carried(protocol, rest, left),
                    // A pseudowire of Ethernet has a control word that begins with zero (RFC 4448), or none.
                    None if rest.first().is_some_and(|first| first >> 4 == 0) => {
                        let rest = rest.get(4..).ok_or(NotIp::Malformed("a pseudowire"))?;
                        self.carried(BRIDGED, rest, left.saturating_sub(4))
                    }
                    None => self.carried(BRIDGED, rest, left),
                }
            }
            other => Err(NotIp::Protocol(other)),
        }
    }

    /// Reads an IP datagram, and any tunnel in it.
    fn ip<'a>(&mut self, bytes: &'a [u8], available: u32) -> Result<Datagram<'a>, NotIp> {
        let mut found = one(bytes, available)?;
        found.around = self.around;
        Ok(self.unwrapped(found))
    }

    /// The datagram inside a tunnel; the outer one, where it is no tunnel that can be read.
    fn unwrapped<'a>(&mut self, outer: Datagram<'a>) -> Datagram<'a> {
        if outer.fragment.is_some() {
            return outer;
        }
        let (bytes, length) = (outer.payload, outer.payload_length);
        let around = self.around;
        let found = match outer.protocol {
            4 | 41 => by_version(bytes).map(|protocol| (protocol, bytes)),
            47 => gre(bytes),
            // EtherIP (RFC 3378) and MPLS (RFC 4023) right on IP.
            97 => bytes.get(2..).map(|rest| (BRIDGED, rest)),
            137 => Some((MPLS, bytes)),
            17 => over_udp(bytes),
            _ => None,
        };
        let Some((protocol, rest)) = found else { return outer };
        for end in [outer.source, outer.destination] {
            match end {
                IpAddr::V4(end) => self.around = mixed(self.around, &end.octets()),
                IpAddr::V6(end) => self.around = mixed(self.around, &end.octets()),
            }
        }
        let skipped = (bytes.len() - rest.len()) as u32;
        match self.carried(protocol, rest, length.saturating_sub(skipped)) {
            Ok(inner) => Datagram { length: outer.length, ..inner },
            Err(_) => {
                self.around = around;
                outer
            }
        }
    }
}

/// The bytes behind the labels of MPLS (RFC 3032): the last of them has the bit S.
fn unlabelled(mut bytes: &[u8]) -> Result<&[u8], NotIp> {
    loop {
        let (label, rest) = bytes.split_first_chunk::<4>().ok_or(NotIp::Malformed("the labels of MPLS"))?;
        bytes = rest;
        if label[2] & 1 != 0 {
            return Ok(bytes);
        }
    }
}

/// Skips the header of GRE (RFC 2784, RFC 2890; version 1 as PPTP has it, RFC 2637), and of ERSPAN, with which switches mirror.
fn gre(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (&[flags, version, a, b], rest) = bytes.split_first_chunk::<4>()?;
    let protocol = u16::from_be_bytes([a, b]);
    let (checksum, routed, key, sequence) =
        (flags & 0x80 != 0, flags & 0x40 != 0, flags & 0x20 != 0, flags & 0x10 != 0);
    let words = |counts: &[bool]| 4 * counts.iter().filter(|&&set| set).count();
    match version & 7 {
        0 if !routed => {
            let rest = rest.get(words(&[checksum, key, sequence])..)?;
            match protocol {
                // Type I has no header of its own, type II has one of 8 bytes; type III 12, and 8 more if the bit O is set.
                0x88be => Some((BRIDGED, if sequence { rest.get(8..)? } else { rest })),
                0x22eb => {
                    let more = if rest.get(11)? & 1 != 0 { 8 } else { 0 };
                    Some((BRIDGED, rest.get(12 + more..)?))
                }
                _ => Some((protocol, rest)),
            }
        }
        1 if protocol == 0x880b => {
            let rest = rest.get(words(&[key, sequence, version & 0x80 != 0])..)?;
            ppp(rest.strip_prefix(&[0xff, 0x03]).unwrap_or(rest))
        }
        _ => None,
    }
}

/// Skips UDP and the header of a tunnel that has its port: VXLAN (RFC 7348), Geneve (RFC 8926), MPLS (RFC 7510), GTP-U (3GPP TS 29.281).
fn over_udp(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (&[_, _, a, b, ..], rest) = bytes.split_first_chunk::<8>()?;
    let source = u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?]);
    match (source, u16::from_be_bytes([a, b])) {
        // Linux took 8472 before the port was assigned. The bit I says that the header is VXLAN's.
        (_, 4789 | 8472) => match rest.split_first_chunk::<8>()? {
            (&[flags, ..], rest) if flags & 0x08 != 0 => Some((BRIDGED, rest)),
            _ => None,
        },
        (_, 6081) => {
            let (&[options, _, a, b, ..], _) = rest.split_first_chunk::<8>()?;
            let header = 8 + 4 * usize::from(options & 0x3f);
            (options >> 6 == 0).then_some(())?;
            Some((u16::from_be_bytes([a, b]), rest.get(header..)?))
        }
        (_, 6635) => Some((MPLS, rest)),
        (2152, _) | (_, 2152) => gtp(rest),
        _ => None,
    }
}

/// Skips the header of GTP-U: version 1, a message that carries a packet of a user, extension headers.
fn gtp(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (&[flags, kind, ..], mut rest) = bytes.split_first_chunk::<8>()?;
    if flags >> 4 != 3 || kind != 0xff {
        return None;
    }
    if flags & 7 != 0 {
        let (&[_, _, _, mut next], behind) = rest.split_first_chunk::<4>()?;
        rest = behind;
        if flags & 4 == 0 {
            next = 0;
        }
        while next != 0 {
            // Extension headers have a length in units of four bytes; the last byte is the type of the next one.
            let length = 4 * usize::from(*rest.first()?);
            next = *rest.get(length.checked_sub(1)?)?;
            rest = rest.get(length..)?;
        }
    }
    by_version(rest).map(|protocol| (protocol, rest))
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
        id: id as u16,
        hops: head[8],
        around: SEED,
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
        id: 0,
        hops: head[7],
        around: SEED,
    })
}

/// Cuts off bytes that the link added behind: padding of short Ethernet frames, check sequences.
fn within(kept: &[u8], length: u32) -> &[u8] {
    kept.get(..length as usize).unwrap_or(kept)
}
