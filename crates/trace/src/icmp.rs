//! ICMP errors about packets that did not get through (RFC 792, RFC 4443).

use std::net::IpAddr;

use anabranch_wire::chunk::kind;
use anabranch_wire::{RawChunk, padded};

use crate::network;

/// An ICMP message that quotes a packet of SCTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A sentence about the packet's fate.
    pub what: String,
    /// Address and port that the packet came from.
    pub source: (IpAddr, u16),
    /// Address and port that it went to.
    pub destination: (IpAddr, u16),
    /// UDP ports around it.
    pub udp: Option<(u16, u16)>,
    /// Its verification tag, if so much was quoted.
    pub tag: Option<u32>,
    /// Names of its chunks, as far as they were quoted.
    pub chunks: Vec<String>,
}

/// Reads an ICMP message, of IPv6 if `v6`. `None` if it quotes no SCTP; SCTP in UDP is looked for at `udp_ports`.
pub(crate) fn refusal(bytes: &[u8], v6: bool, udp_ports: &[u16]) -> Option<Refusal> {
    let (&[kind, code, _, _, a, b, c, d], quote) = bytes.split_first_chunk::<8>()?;
    let what = if v6 { what_v6(kind, code, [a, b, c, d])? } else { what_v4(kind, code, [c, d])? };
    let packet = network::quoted(quote)?;
    let mut sctp = packet.payload;
    let mut udp = None;
    if packet.protocol == 17 {
        let (&[a, b, c, d, ..], rest) = sctp.split_first_chunk::<8>()?;
        let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        if !udp_ports.contains(&ports.0) && !udp_ports.contains(&ports.1) {
            return None;
        }
        udp = Some(ports);
        sctp = rest;
    } else if packet.protocol != 132 {
        return None;
    }
    // RFC 792 asks for eight bytes of the refused packet: ports and tag of SCTP; of SCTP in UDP nothing but the UDP header.
    let number = |at: usize| sctp.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
    let ports = (number(0).unwrap_or(0), number(2).unwrap_or(0));
    let tag = sctp.get(4..).and_then(|rest| rest.first_chunk()).map(|tag| u32::from_be_bytes(*tag));
    let mut chunks = Vec::new();
    let mut rest = sctp.get(12..).unwrap_or_default();
    while let &[kind, _, hi, lo, ..] = rest {
        chunks.push(kind::name(kind).map_or_else(|| format!("CHUNK {kind}"), str::to_owned));
        let length = usize::from(u16::from_be_bytes([hi, lo])).max(RawChunk::HEADER);
        rest = rest.get(padded(length)..).unwrap_or_default();
    }
    let (source, destination) = ((packet.source, ports.0), (packet.destination, ports.1));
    Some(Refusal { what, source, destination, udp, tag, chunks })
}

fn what_v4(kind: u8, code: u8, mtu: [u8; 2]) -> Option<String> {
    let what = match (kind, code) {
        (3, 0) => "network unreachable",
        (3, 1) => "host unreachable",
        (3, 2) => "protocol unreachable: the host has no SCTP",
        (3, 3) => "port unreachable: no process has this UDP port",
        (3, 4) => {
            let mtu = u16::from_be_bytes(mtu);
            return Some(format!("too long and not to be fragmented, next MTU {mtu}"));
        }
        (3, 9 | 10 | 13) => "prohibited by an administrator",
        (3, _) => return Some(format!("unreachable, code {code}")),
        (4, _) => "source quench",
        (5, _) => "redirect",
        (11, 1) => "parts of it did not come in time",
        (11, _) => "no hops left",
        (12, _) => return Some(format!("a problem with its header, code {code}")),
        _ => return None,
    };
    Some(what.to_owned())
}

fn what_v6(kind: u8, code: u8, field: [u8; 4]) -> Option<String> {
    let what = match (kind, code) {
        (1, 0) => "no route",
        (1, 1 | 5 | 6) => "prohibited by an administrator",
        (1, 3) => "address unreachable",
        (1, 4) => "port unreachable: no process has this UDP port",
        (1, _) => return Some(format!("unreachable, code {code}")),
        (2, _) => {
            let mtu = u32::from_be_bytes(field);
            return Some(format!("too long, next MTU {mtu}"));
        }
        (3, 1) => "parts of it did not come in time",
        (3, _) => "no hops left",
        (4, 1) => "next header not recognized: the host has no SCTP",
        (4, _) => return Some(format!("a problem with its header, code {code}")),
        _ => return None,
    };
    Some(what.to_owned())
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ((source, from), (destination, to)) = (self.source, self.destination);
        write!(f, "{}; refused: {source} > {destination} ", self.what)?;
        if let Some((source, destination)) = self.udp {
            write!(f, "UDP {source} > {destination} ")?;
        }
        f.write_str("SCTP")?;
        // There is no port 0: it was not quoted.
        if from != 0 || to != 0 {
            write!(f, " {from} > {to}")?;
        }
        if let Some(tag) = self.tag {
            write!(f, " tag={tag:#010x}")?;
        }
        if !self.chunks.is_empty() {
            write!(f, " {}", self.chunks.join("; "))?;
        }
        Ok(())
    }
}
