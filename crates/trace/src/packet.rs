//! From a frame to a packet of SCTP, TCP or something else; and one line a packet.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::IpAddr;

use anabranch_tcp::header::{self, Flags};
use anabranch_wire::chunk::kind;
use anabranch_wire::param::Param;
use anabranch_wire::{Checksum, CommonHeader, Packet as SctpPacket, RawChunk, crc32c, padded, sf2007};

use crate::capture::{Capture, Frame};
use crate::network::{self, Fragment, NotIp};

/// SCTP over UDP is looked for at this port (RFC 6951).
pub const UDP_PORT: u16 = 9899;
const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;

/// How to read packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// UDP datagrams from or to one of these ports carry SCTP.
    pub udp_ports: Vec<u16>,
    /// Bytes that a link adds to every IP datagram, for all that counts bytes.
    pub link_bytes: u32,
}

impl Default for Reading {
    fn default() -> Self {
        Self { udp_ports: vec![UDP_PORT], link_bytes: 0 }
    }
}

/// Whether the transport's checksum holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// The checksum holds.
    Good,
    /// The checksum does not hold: damaged, or captured before the network card filled it in.
    Bad,
    /// Part of the packet was not kept.
    Unknown,
    /// SCTP with a checksum of zero (RFC 9653).
    Zero,
}

/// An SCTP packet, filled up with zeros where less was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sctp<'a> {
    /// Ports and tag.
    pub header: CommonHeader,
    bytes: Cow<'a, [u8]>,
    /// So many bytes are real.
    kept: usize,
    /// Ports of the UDP datagram around it.
    pub udp: Option<(u16, u16)>,
    /// Whether the CRC32c holds.
    pub sum: Sum,
}

impl Sctp<'_> {
    /// The chunks whose fixed fields were kept, up to the first that is malformed.
    pub fn chunks(&self) -> impl Iterator<Item = RawChunk<'_>> {
        let packet = SctpPacket::parse(&self.bytes, Checksum::Ignore).ok();
        let mut at = CommonHeader::LEN;
        packet.into_iter().flat_map(|packet| packet.chunks()).map_while(Result::ok).take_while(move |raw| {
            // Data: only the fields in front of the user's bytes. Everything else is used whole.
            let needed = match raw.kind {
                kind::DATA | kind::I_DATA | kind::SF_DATA => raw.bytes.len().min(20),
                _ => raw.bytes.len(),
            };
            let real = at + needed <= self.kept;
            at += padded(raw.bytes.len());
            real
        })
    }

    /// Whether INIT or INIT ACK asks for the encoding of the 2007 thesis.
    #[must_use]
    pub fn asks_sf2007(&self) -> bool {
        self.chunks().filter(|raw| matches!(raw.kind, kind::INIT | kind::INIT_ACK)).any(|raw| {
            let Ok(init) = anabranch_wire::chunk::Init::parse(raw) else { return false };
            init.params.iter().filter_map(Result::ok).any(|raw| {
                matches!(Param::parse(raw), Ok(Param::Unknown(raw))
                    if raw.kind == sf2007::SUBFLOW_CAPABLE && sf2007::SubflowCapable::parse(raw).is_ok())
            })
        })
    }
}

/// A TCP segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Header and options.
    pub header: header::Header,
    /// Bytes of header and options.
    pub header_length: u32,
    /// Bytes of user data.
    pub length: u32,
    /// Whether the checksum holds.
    pub sum: Sum,
}

/// What a packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// SCTP, with its subflows.
    Sctp(Sctp<'a>),
    /// TCP.
    Tcp(Tcp),
    /// UDP that is not SCTP: ports.
    Udp(u16, u16),
    /// A part of a datagram other than its first.
    Part(u8, Fragment),
    /// Another protocol over IP.
    Other(u8),
    /// A protocol that is known, but not in this form.
    Malformed(String),
}

/// One IP packet of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Number of its frame, from 1.
    pub number: u64,
    /// Interface it was seen at.
    pub interface: u32,
    /// Nanoseconds since 1970.
    pub time_ns: i64,
    /// Bytes of the IP datagram, with what a link adds as [`Reading::link_bytes`] says.
    pub size: u32,
    /// Bytes of headers outside of SCTP and TCP: link, IP, UDP around SCTP.
    pub outside: u32,
    /// Who sent it.
    pub source: IpAddr,
    /// Who it is for.
    pub destination: IpAddr,
    /// Where the datagram is the first of several parts.
    pub fragment: Option<Fragment>,
    /// The two bits of ECN.
    pub ecn: u8,
    /// What it carries.
    pub content: Content<'a>,
}

impl<'a> Packet<'a> {
    /// Reads the packet in a frame.
    ///
    /// # Errors
    /// The frame holds no IP.
    pub fn read(frame: &Frame<'a>, capture: &Capture<'_>, reading: &Reading) -> Result<Self, NotIp> {
        let interface = usize::try_from(frame.interface).ok().and_then(|at| capture.interfaces.get(at));
        let link_type = interface.map_or(u16::MAX, |interface| interface.link_type);
        let ip = network::datagram(link_type, frame.bytes, frame.original)?;
        let mut packet = Self {
            number: frame.number,
            interface: frame.interface,
            time_ns: frame.time_ns,
            size: ip.length.saturating_add(reading.link_bytes),
            outside: ip.length.saturating_sub(ip.payload_length).saturating_add(reading.link_bytes),
            source: ip.source,
            destination: ip.destination,
            fragment: ip.fragment,
            ecn: ip.ecn,
            content: Content::Other(ip.protocol),
        };
        let ends = (ip.source, ip.destination);
        packet.content = match (ip.protocol, ip.fragment) {
            (protocol, Some(fragment)) if fragment.offset > 0 => Content::Part(protocol, fragment),
            (TCP, _) => tcp(ip.payload, ip.payload_length, ends),
            (SCTP, _) => sctp(Cow::Borrowed(ip.payload), ip.payload_length, None),
            (UDP, _) => match ip.payload.split_first_chunk::<8>() {
                Some((&[a, b, c, d, ..], data)) => {
                    let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                    if reading.udp_ports.contains(&ports.0) || reading.udp_ports.contains(&ports.1) {
                        packet.outside += 8;
                        sctp(Cow::Borrowed(data), ip.payload_length.saturating_sub(8), Some(ports))
                    } else {
                        Content::Udp(ports.0, ports.1)
                    }
                }
                _ => Content::Malformed("UDP: shorter than its header".to_owned()),
            },
            (other, _) => Content::Other(other),
        };
        Ok(packet)
    }

    /// Ports of the transport, source first.
    #[must_use]
    pub fn ports(&self) -> Option<(u16, u16)> {
        match &self.content {
            Content::Sctp(sctp) => Some((sctp.header.source_port, sctp.header.destination_port)),
            Content::Tcp(tcp) => Some((tcp.header.source, tcp.header.destination)),
            Content::Udp(source, destination) => Some((*source, *destination)),
            _ => None,
        }
    }

    /// The protocol's name.
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        match &self.content {
            Content::Sctp(sctp) if sctp.udp.is_some() => "SCTP/UDP",
            Content::Sctp(_) => "SCTP",
            Content::Tcp(_) => "TCP",
            Content::Udp(..) => "UDP",
            Content::Part(..) => "part",
            Content::Other(1) => "ICMP",
            Content::Other(58) => "ICMPv6",
            Content::Other(_) => "IP",
            Content::Malformed(_) => "malformed",
        }
    }

    /// What it says, in a line without time and addresses. `sf2007` is whether its association speaks that encoding;
    /// `bases` are the numbers from which sequence and acknowledgement numbers of TCP are counted.
    #[must_use]
    pub fn line(&self, sf2007: bool, bases: (u32, u32)) -> String {
        let mut line = match &self.content {
            Content::Sctp(sctp) => sctp_line(sctp, sf2007),
            Content::Tcp(tcp) => tcp_line(tcp, bases),
            Content::Udp(source, destination) => format!("{source} > {destination}"),
            Content::Part(protocol, part) => format!(
                "bytes from {} of protocol {protocol} id={:#x}{}",
                part.offset,
                part.id,
                if part.more { "" } else { " (last)" }
            ),
            Content::Other(protocol) => format!("protocol {protocol}"),
            Content::Malformed(what) => what.clone(),
        };
        if self.ecn == 3 {
            line.push_str(" [CE]");
        }
        if let Some(Fragment { offset: 0, id, .. }) = self.fragment {
            // Writing to a String does not fail.
            let _ = write!(line, " [first part of a fragmented datagram, id={id:#x}]");
        }
        let sum = match &self.content {
            Content::Sctp(sctp) => sctp.sum,
            Content::Tcp(tcp) => tcp.sum,
            _ => Sum::Good,
        };
        line.push_str(match sum {
            Sum::Good => "",
            Sum::Bad => " [wrong checksum]",
            Sum::Unknown => " [cut]",
            Sum::Zero => " [no checksum]",
        });
        line
    }
}

fn sctp<'a>(bytes: Cow<'a, [u8]>, length: u32, udp: Option<(u16, u16)>) -> Content<'a> {
    let kept = bytes.len();
    let length = length as usize;
    let (bytes, sum) = if kept < length {
        let mut whole = bytes.into_owned();
        // No IP datagram is longer, whatever a damaged header says.
        whole.resize(length.min(usize::from(u16::MAX)).max(kept), 0);
        (Cow::Owned(whole), Sum::Unknown)
    } else {
        let sum = match bytes.get(8..12).and_then(|sum| sum.first_chunk::<4>()) {
            Some([0, 0, 0, 0]) => Sum::Zero,
            Some(&found) if crc32c::load(found) == crc32c::packet_checksum(&bytes) => Sum::Good,
            _ => Sum::Bad,
        };
        (bytes, sum)
    };
    if kept < CommonHeader::LEN {
        return Content::Malformed(format!("SCTP: {kept} bytes are shorter than the common header"));
    }
    match SctpPacket::parse(&bytes, Checksum::Ignore) {
        Ok(packet) => {
            let header = packet.header();
            Content::Sctp(Sctp { header, bytes, kept, udp, sum })
        }
        Err(error) => Content::Malformed(format!("SCTP: {error}")),
    }
}

fn tcp<'a>(bytes: &'a [u8], length: u32, ends: (IpAddr, IpAddr)) -> Content<'a> {
    let whole = bytes.len() >= length as usize;
    let Some(fixed) = bytes.first_chunk::<{ header::MIN_HEADER }>() else {
        return Content::Malformed(format!("TCP: {} bytes are shorter than its header", bytes.len()));
    };
    let header_length = usize::from(fixed[12] >> 4) * 4;
    // Options that were not kept, or that do not hold together, are left out: the rest of the header is sound.
    let parsed = header::Header::parse(bytes).map(|(header, _)| header).or_else(|_| {
        let mut bare = fixed.to_vec();
        bare.resize(header_length.max(header::MIN_HEADER), 0);
        header::Header::parse(&bare).map(|(header, _)| header)
    });
    match parsed {
        Ok(header) => {
            let sum = match whole {
                false => Sum::Unknown,
                true if header::verify(bytes, ends.0, ends.1) => Sum::Good,
                true => Sum::Bad,
            };
            let length = length.saturating_sub(header_length as u32);
            Content::Tcp(Tcp { header, header_length: header_length as u32, length, sum })
        }
        Err(error) => Content::Malformed(format!("TCP: {error}")),
    }
}

fn sctp_line(sctp: &Sctp<'_>, sf2007: bool) -> String {
    // Where less was kept, what is not there is not shown.
    let kept = sctp.bytes.get(..sctp.kept).unwrap_or(&sctp.bytes);
    match SctpPacket::parse(kept, Checksum::Ignore) {
        Ok(packet) if sctp.sum != Sum::Unknown && sf2007 => sf2007::Show(packet).to_string(),
        Ok(packet) if sctp.sum != Sum::Unknown => packet.to_string(),
        _ => {
            let header = sctp.header;
            let ports = format!("{} > {}", header.source_port, header.destination_port);
            let mut line = format!("{ports} tag={:#010x}", header.verification_tag);
            for (at, raw) in sctp.chunks().enumerate() {
                line.push_str(if at == 0 { " " } else { "; " });
                let shown = match anabranch_wire::chunk::Chunk::parse(raw) {
                    _ if sf2007 && raw.kind == kind::DATA => {
                        sf2007::Data::parse(raw).map(|data| data.to_string())
                    }
                    _ if sf2007 && raw.kind == kind::SACK => {
                        sf2007::Sack::parse(raw).map(|sack| sack.to_string())
                    }
                    chunk => chunk.map(|chunk| chunk.to_string()),
                };
                line.push_str(&shown.unwrap_or_else(|error| format!("MALFORMED ({error})")));
            }
            line
        }
    }
}

fn tcp_line(tcp: &Tcp, (base, ack_base): (u32, u32)) -> String {
    let header = &tcp.header;
    let mut line = format!("{} > {}", header.source, header.destination);
    const NAMES: [(u8, &str); 8] = [
        (0x02, "SYN"),
        (0x01, "FIN"),
        (0x04, "RST"),
        (0x08, "PSH"),
        (0x10, "ACK"),
        (0x20, "URG"),
        (0x40, "ECE"),
        (0x80, "CWR"),
    ];
    for (bit, name) in NAMES {
        if header.flags.has(Flags(bit)) {
            line.push(' ');
            line.push_str(name);
        }
    }
    // Writing to a String does not fail.
    let seq = header.seq.wrapping_sub(base);
    let _ = write!(line, " seq={seq}");
    if tcp.length > 0 {
        let _ = write!(line, "-{}", u64::from(seq) + u64::from(tcp.length));
    }
    if header.flags.has(Flags::ACK) {
        let _ = write!(line, " ack={}", header.ack.wrapping_sub(ack_base));
    }
    let _ = write!(line, " win={} len={}", header.window, tcp.length);
    let options = &header.options;
    if let Some(mss) = options.mss {
        let _ = write!(line, " mss={mss}");
    }
    if let Some(scale) = options.window_scale {
        let _ = write!(line, " wscale={scale}");
    }
    if options.sack_permitted {
        line.push_str(" sack-permitted");
    }
    if let Some((value, echo)) = options.timestamps {
        let _ = write!(line, " ts={value}/{echo}");
    }
    for (at, (left, right)) in options.sack.as_slice().iter().enumerate() {
        let (left, right) = (left.wrapping_sub(ack_base), right.wrapping_sub(ack_base));
        let _ = write!(line, "{}{left}-{right}", if at == 0 { " sack=" } else { "," });
    }
    line
}
