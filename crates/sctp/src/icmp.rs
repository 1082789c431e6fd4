//! ICMP messages about packets of ours (RFC 9260, 10): read, and not yet checked against any association.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IP protocol numbers.
const SCTP: u8 = 132;
const UDP: u8 = 17;
/// Bytes of a UDP header (RFC 6951: SCTP may ride in UDP).
const UDP_HEADER: usize = 8;
/// Extension headers of IPv6 that are skipped; a message that quotes more is ignored.
const MAX_EXTENSIONS: usize = 4;

/// An ICMP error, as [`Endpoint::handle_icmp`](crate::Endpoint::handle_icmp) takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpError<'a> {
    /// The kind of error.
    pub kind: IcmpKind,
    /// Destination of the packet that it quotes.
    pub destination: IpAddr,
    /// The quoted packet, from the common header of SCTP on, as much of it as came back.
    pub quoted: &'a [u8],
    /// The UDP port that it was going to, if it was encapsulated (RFC 6951).
    pub udp_port: Option<u16>,
}

/// Error that an ICMP message reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpKind {
    /// The packet was too big for a link: "Fragmentation Needed" (RFC 1191), "Packet Too Big" (RFC 4443).
    TooBig {
        /// Largest IP packet of that link, bytes, as the message has it: 0 when its sender does not say.
        mtu: u32,
    },
    /// The host does not know SCTP: "Protocol Unreachable", "Unrecognized Next Header Type Encountered".
    ProtocolUnreachable,
    /// "Port Unreachable".
    PortUnreachable,
    /// The host or its network cannot be reached.
    Unreachable {
        /// The code of the message.
        code: u8,
    },
}

impl<'a> IcmpError<'a> {
    /// Reads an ICMP message of IPv4, from its type on. `None` for messages that SCTP ignores: "MAY ignore all ICMPv4
    /// messages where the type field is not set to 'Destination Unreachable'" (10, ICMP1), and when it quotes no SCTP packet.
    #[must_use]
    pub fn parse_v4(message: &'a [u8]) -> Option<Self> {
        let ([kind, code, _, _, _, _, mtu @ ..], packet) = message.split_first_chunk::<8>()?;
        let kind = match (kind, code) {
            (3, 2) => IcmpKind::ProtocolUnreachable,
            (3, 3) => IcmpKind::PortUnreachable,
            (3, 4) => IcmpKind::TooBig { mtu: u32::from(u16::from_be_bytes(*mtu)) },
            (3, code) => IcmpKind::Unreachable { code: *code },
            _ => return None,
        };
        let head = packet.first_chunk::<20>()?;
        let header = usize::from(head[0] & 0x0F) * 4;
        let fragment_offset = u16::from_be_bytes([head[6], head[7]]) & 0x1FFF;
        // Only the first fragment has our header.
        if head[0] >> 4 != 4 || header < 20 || fragment_offset != 0 {
            return None;
        }
        let [.., a, b, c, d] = *head;
        let (quoted, udp_port) = sctp(head[9], packet.get(header..)?)?;
        Some(Self { kind, destination: Ipv4Addr::new(a, b, c, d).into(), quoted, udp_port })
    }

    /// Reads an ICMP message of IPv6, from its type on. `None` for messages that SCTP ignores: "MAY ignore all ICMPv6
    /// messages where the type field is not 'Destination Unreachable', 'Parameter Problem', or 'Packet Too Big'" (10, ICMP2), "of type
    /// 'Parameter Problem' if the code is not 'Unrecognized Next Header Type Encountered'" (10, ICMP4), and when it quotes no SCTP packet.
    #[must_use]
    pub fn parse_v6(message: &'a [u8]) -> Option<Self> {
        let ([kind, code, _, _, number @ ..], packet) = message.split_first_chunk::<8>()?;
        let kind = match (kind, code) {
            (1, 4) => IcmpKind::PortUnreachable,
            (1, code) => IcmpKind::Unreachable { code: *code },
            (2, _) => IcmpKind::TooBig { mtu: u32::from_be_bytes(*number) },
            (4, 1) => IcmpKind::ProtocolUnreachable,
            _ => return None,
        };
        let (head, mut rest) = packet.split_first_chunk::<40>()?;
        if head[0] >> 4 != 6 {
            return None;
        }
        let mut next = head[6];
        for _ in 0..MAX_EXTENSIONS {
            let len = match next {
                // Hop-by-hop options, routing, destination options.
                0 | 43 | 60 => usize::from(*rest.get(1)?) * 8 + 8,
                // Fragment: only the first has our header.
                44 if u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]) >> 3 == 0 => 8,
                _ => break,
            };
            next = *rest.first()?;
            rest = rest.get(len..)?;
        }
        let address: [u8; 16] = *head.last_chunk()?;
        let (quoted, udp_port) = sctp(next, rest)?;
        Some(Self { kind, destination: Ipv6Addr::from(address).into(), quoted, udp_port })
    }
}

/// The SCTP packet behind the headers of IP: SCTP itself, or in UDP, then with the port where that was going.
fn sctp(protocol: u8, payload: &[u8]) -> Option<(&[u8], Option<u16>)> {
    match protocol {
        SCTP => Some((payload, None)),
        UDP => {
            let ([_, _, hi, lo, ..], packet) = payload.split_first_chunk::<UDP_HEADER>()?;
            Some((packet, Some(u16::from_be_bytes([*hi, *lo]))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(kind: u8, code: u8, mtu: u16) -> Vec<u8> {
        let [hi, lo] = mtu.to_be_bytes();
        let mut message = vec![kind, code, 0, 0, 0, 0, hi, lo];
        let mut ip = [0; 20];
        (ip[0], ip[9]) = (0x45, SCTP);
        ip[16..].copy_from_slice(&[192, 0, 2, 7]);
        message.extend_from_slice(&ip);
        message.extend_from_slice(b"eight+++");
        message
    }

    fn v6(kind: u8, code: u8, number: u32, next: u8, extensions: &[u8]) -> Vec<u8> {
        let mut message = vec![kind, code, 0, 0];
        message.extend_from_slice(&number.to_be_bytes());
        let mut ip = [0; 40];
        (ip[0], ip[6], ip[39]) = (0x60, next, 9);
        message.extend_from_slice(&ip);
        message.extend_from_slice(extensions);
        message.extend_from_slice(b"eight+++");
        message
    }

    #[test]
    fn messages_of_ipv4() {
        for (kind, code, what) in [
            (3, 0, Some(IcmpKind::Unreachable { code: 0 })),
            (3, 1, Some(IcmpKind::Unreachable { code: 1 })),
            (3, 2, Some(IcmpKind::ProtocolUnreachable)),
            (3, 3, Some(IcmpKind::PortUnreachable)),
            (3, 4, Some(IcmpKind::TooBig { mtu: 1400 })),
            (11, 0, None),
            (8, 0, None),
        ] {
            let message = v4(kind, code, 1400);
            let read = IcmpError::parse_v4(&message);
            assert_eq!(read.map(|e| e.kind), what, "{kind}/{code}");
            if let Some(read) = read {
                assert_eq!((read.destination, read.quoted), ([192, 0, 2, 7].into(), &b"eight+++"[..]));
            }
        }
    }

    #[test]
    fn messages_of_ipv6() {
        for (kind, code, what) in [
            (1, 0, Some(IcmpKind::Unreachable { code: 0 })),
            (1, 4, Some(IcmpKind::PortUnreachable)),
            (2, 0, Some(IcmpKind::TooBig { mtu: 70_000 })),
            (4, 1, Some(IcmpKind::ProtocolUnreachable)),
            (4, 0, None),
            (3, 0, None),
            (129, 0, None),
        ] {
            let message = v6(kind, code, 70_000, SCTP, &[]);
            let read = IcmpError::parse_v6(&message);
            assert_eq!(read.map(|e| e.kind), what, "{kind}/{code}");
            assert!(read.is_none_or(
                |e| e.quoted == b"eight+++" && e.destination == IpAddr::V6(Ipv6Addr::from(9_u128))
            ));
        }
        // Behind options and the header of a first fragment; a later fragment has no header of ours.
        let options = [44, 0, 0, 0, 0, 0, 0, 0, SCTP, 0, 0, 1, 0, 0, 0, 5];
        assert_eq!(IcmpError::parse_v6(&v6(2, 0, 1400, 0, &options)).unwrap().quoted, b"eight+++");
        let later = [SCTP, 0, 0, 9, 0, 0, 0, 5];
        assert_eq!(IcmpError::parse_v6(&v6(2, 0, 1400, 44, &later)), None);
    }

    /// "This processing SHOULD be limited to avoid a denial-of-service attack when arbitrary headers are included" (RFC 8899, 8): so many
    /// headers are passed over, and a message with more quotes no packet of ours.
    // rfc8899:8-3
    #[test]
    fn few_extension_headers_are_passed_over() {
        for count in 0..=MAX_EXTENSIONS + 3 {
            let mut headers = [60, 0, 0, 0, 0, 0, 0, 0].repeat(count);
            if let Some(last) = count.checked_sub(1) {
                headers[8 * last] = SCTP;
            }
            let message = v6(2, 0, 1400, if count == 0 { SCTP } else { 60 }, &headers);
            assert_eq!(IcmpError::parse_v6(&message).is_some(), count <= MAX_EXTENSIONS, "{count} headers");
        }
    }

    /// Cut anywhere, and with every byte changed: read or refused.
    #[test]
    fn hostile_messages() {
        let options = [60, 0, 0, 0, 0, 0, 0, 0, SCTP, 255, 0, 0];
        for message in [v4(3, 4, 68), v6(2, 0, 68, 0, &options), v6(2, 0, 1280, SCTP, &[])] {
            for len in 0..=message.len() {
                for at in 0..len {
                    for value in [0, 1, 0x0F, 0x45, 0x60, 17, 43, 44, 60, SCTP, 255] {
                        let mut cut = message[..len].to_vec();
                        cut[at] = value;
                        for read in
                            [IcmpError::parse_v4(&cut), IcmpError::parse_v6(&cut)].into_iter().flatten()
                        {
                            assert!(read.quoted.len() <= len);
                        }
                    }
                }
            }
        }
        let mut udp = v4(3, 4, 1400);
        udp[8 + 9] = UDP;
        assert_eq!(IcmpError::parse_v4(&udp).unwrap().quoted, b"", "nothing behind the header of UDP");
        udp[8] = 0x46;
        assert_eq!(IcmpError::parse_v4(&udp), None, "an option, and not enough for UDP");
    }
}
