//! From a frame to a packet of SCTP, TCP or something else; and one line a packet.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::IpAddr;

use anabranch_tcp::header::{self, Flags};
use anabranch_wire::chunk::kind;
use anabranch_wire::param::Param;
use anabranch_wire::{
    Checksum, CommonHeader, Packet as SctpPacket, RawChunk, adler32, crc32c, padded, sf2007,
};

use crate::capture::Frame;
use crate::icmp::{self, Refusal};
use crate::network::{Datagram, Fragment};

/// SCTP over UDP is looked for at this port (RFC 6951).
pub const UDP_PORT: u16 = 9899;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const SCTP: u8 = 132;

/// Options for reading packets.
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
    /// SCTP with Adler-32, the checksum of RFC 2960.
    Adler,
}

/// An SCTP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sctp<'a> {
    /// Ports and tag.
    pub header: CommonHeader,
    /// The bytes that the file has of it.
    bytes: Cow<'a, [u8]>,
    /// Bytes that it had on the link.
    length: usize,
    /// Ports of the UDP datagram around it.
    pub udp: Option<(u16, u16)>,
    /// Whether the CRC32c holds.
    pub sum: Sum,
}

/// An SCTP packet in its whole length, filled up with zeros where less was kept. It lives only while it is looked at: a capture may say of every few
/// bytes that they were many.
#[derive(Clone, Debug)]
pub struct Filled<'p> {
    bytes: Cow<'p, [u8]>,
    /// So many bytes are real.
    kept: usize,
}

impl Filled<'_> {
    /// The chunks whose fixed fields were kept, up to the first that is malformed.
    pub fn chunks(&self) -> impl Iterator<Item = RawChunk<'_>> {
        let packet = SctpPacket::parse(&self.bytes, Checksum::Ignore).ok();
        let mut at = CommonHeader::LEN;
        packet.into_iter().flat_map(|packet| packet.chunks()).map_while(Result::ok).take_while(move |raw| {
            // Data: only the fields in front of the user's bytes. Everything else is used whole.
            let needed = match raw.kind {
                kind::DATA => raw.bytes.len().min(16),
                kind::I_DATA | kind::SF_DATA => raw.bytes.len().min(20),
                _ => raw.bytes.len(),
            };
            let real = at + needed <= self.kept;
            at += padded(raw.bytes.len());
            real
        })
    }
}

impl Sctp<'_> {
    /// The packet in its whole length.
    #[must_use]
    pub fn filled(&self) -> Filled<'_> {
        let kept = self.bytes.len();
        if kept >= self.length {
            return Filled { bytes: Cow::Borrowed(&self.bytes), kept };
        }
        let mut bytes = self.bytes.to_vec();
        bytes.resize(self.length, 0);
        Filled { bytes: Cow::Owned(bytes), kept }
    }

    /// Whether so little was kept that a chunk is not known.
    #[must_use]
    pub fn hides_chunks(&self) -> bool {
        self.bytes.len() < self.length && {
            let shown: usize = self.filled().chunks().map(|raw| padded(raw.bytes.len())).sum();
            CommonHeader::LEN + shown < self.length
        }
    }

    /// Whether INIT or INIT ACK asks for the encoding of the 2007 thesis.
    #[must_use]
    pub fn asks_sf2007(&self) -> bool {
        self.filled().chunks().filter(|raw| matches!(raw.kind, kind::INIT | kind::INIT_ACK)).any(|raw| {
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

/// The payload of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// SCTP, with its subflows.
    Sctp(Sctp<'a>),
    /// TCP.
    Tcp(Tcp),
    /// UDP that is not looked at.
    Udp {
        /// Source port.
        source: u16,
        /// Destination port.
        destination: u16,
        /// It holds a packet of SCTP with a valid CRC32c.
        sctp: bool,
    },
    /// ICMP that quotes SCTP.
    Refusal(Refusal),
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
    /// Which stretch of time it belongs to: later ones begin where times go back.
    pub stretch: u32,
    /// Bytes of the IP datagram, and the bytes that a link adds as [`Reading::link_bytes`] says.
    pub size: u32,
    /// Bytes of other parts of its datagram, which count with it.
    pub parts: u32,
    /// Bytes of headers outside of SCTP and TCP, of all parts: link, IP, UDP around SCTP.
    pub outside: u32,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Where the datagram is the first of several parts, and the others are not there.
    pub fragment: Option<Fragment>,
    /// The two bits of ECN.
    pub ecn: u8,
    /// The frame with the packet that this one is a copy of, and its interface.
    pub copy_of: Option<(u64, u32)>,
    /// The frame in which the datagram that this is a part of was put together.
    pub whole_in: Option<u64>,
    /// From how many parts it was put together.
    pub part_count: u32,
    /// The payload.
    pub content: Content<'a>,
}

impl<'a> Packet<'a> {
    /// A packet whose content is not yet known.
    pub(crate) fn new(frame: &Frame<'_>, stretch: u32, ip: &Datagram<'_>, reading: &Reading) -> Self {
        let size = ip.length.saturating_add(reading.link_bytes);
        Self {
            number: frame.number,
            interface: frame.interface,
            time_ns: frame.time_ns,
            stretch,
            size,
            parts: 0,
            outside: size.saturating_sub(ip.payload_length),
            source: ip.source,
            destination: ip.destination,
            fragment: None,
            ecn: ip.ecn,
            copy_of: None,
            whole_in: None,
            part_count: 1,
            content: ip.fragment.map_or(Content::Other(ip.protocol), |part| Content::Part(ip.protocol, part)),
        }
    }

    /// Reads the payload of a datagram, of which `part` others have come before. `length` are the bytes of its payload.
    pub(crate) fn carry(&mut self, ip: &Datagram<'a>, length: u32, reading: &Reading) {
        self.source = ip.source;
        self.destination = ip.destination;
        let ends = (ip.source, ip.destination);
        self.content = match ip.protocol {
            TCP => tcp(ip.payload, length, ends),
            SCTP => sctp(ip.payload, length, None),
            UDP => match ip.payload.split_first_chunk::<8>() {
                Some((&[a, b, c, d, ..], data)) => {
                    let (source, destination) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                    let length = length.saturating_sub(8);
                    if reading.udp_ports.contains(&source) || reading.udp_ports.contains(&destination) {
                        self.outside = self.outside.saturating_add(8);
                        sctp(data, length, Some((source, destination)))
                    } else {
                        let sctp = holds_sctp(data, length);
                        Content::Udp { source, destination, sctp }
                    }
                }
                _ => Content::Malformed("UDP: shorter than its header".to_owned()),
            },
            protocol @ (ICMP | ICMPV6) => {
                let refusal = icmp::refusal(ip.payload, protocol == ICMPV6, &reading.udp_ports);
                refusal.map_or(Content::Other(protocol), Content::Refusal)
            }
            other => Content::Other(other),
        };
    }

    /// Whether it was recorded before at the same interface: then it does not count.
    #[must_use]
    pub fn is_copy_here(&self) -> bool {
        self.copy_of.is_some_and(|(_, interface)| interface == self.interface)
    }

    /// All bytes that count with it.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.size.saturating_add(self.parts)
    }

    /// Ports of the transport, source first.
    #[must_use]
    pub fn ports(&self) -> Option<(u16, u16)> {
        match &self.content {
            Content::Sctp(sctp) => Some((sctp.header.source_port, sctp.header.destination_port)),
            Content::Tcp(tcp) => Some((tcp.header.source, tcp.header.destination)),
            Content::Udp { source, destination, .. } => Some((*source, *destination)),
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
            Content::Udp { .. } => "UDP",
            Content::Part(..) => "part",
            Content::Refusal(_) | Content::Other(ICMP) if self.source.is_ipv4() => "ICMP",
            Content::Refusal(_) => "ICMPv6",
            Content::Other(ICMPV6) => "ICMPv6",
            Content::Other(_) => "IP",
            Content::Malformed(_) => "malformed",
        }
    }

    /// The content in one line, without time and addresses. `sf2007` is whether its association speaks that encoding;
    /// `bases` are the numbers from which sequence and acknowledgement numbers of TCP are counted.
    #[must_use]
    pub fn line(&self, sf2007: bool, bases: (u32, u32)) -> String {
        let mut line = match &self.content {
            Content::Sctp(sctp) => sctp_line(sctp, sf2007),
            Content::Tcp(tcp) => tcp_line(tcp, bases),
            Content::Udp { source, destination, sctp } => {
                let holds = if *sctp { " holds SCTP with a valid CRC32c" } else { "" };
                format!("{source} > {destination}{holds}")
            }
            Content::Refusal(refusal) => refusal.to_string(),
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
            let _ = write!(line, " [first part of a fragmented datagram, id={id:#x}; others are missing]");
        }
        if self.part_count > 1 {
            let _ = write!(line, " [put together from {} parts]", self.part_count);
        }
        if let Some(whole) = self.whole_in {
            let _ = write!(line, " [put together in frame {whole}]");
        }
        if let Some((original, _)) = self.copy_of {
            let _ = write!(line, " [recorded twice, first in frame {original}]");
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
            Sum::Adler => " [Adler-32, the checksum of RFC 2960]",
        });
        line
    }
}

impl Content<'_> {
    /// The same content with copies of all borrowed bytes.
    pub(crate) fn into_owned(self) -> Content<'static> {
        match self {
            Self::Sctp(sctp) => Content::Sctp(Sctp {
                header: sctp.header,
                bytes: Cow::Owned(sctp.bytes.into_owned()),
                length: sctp.length,
                udp: sctp.udp,
                sum: sctp.sum,
            }),
            Self::Tcp(tcp) => Content::Tcp(tcp),
            Self::Udp { source, destination, sctp } => Content::Udp { source, destination, sctp },
            Self::Refusal(refusal) => Content::Refusal(refusal),
            Self::Part(protocol, part) => Content::Part(protocol, part),
            Self::Other(protocol) => Content::Other(protocol),
            Self::Malformed(what) => Content::Malformed(what),
        }
    }
}

/// Whether the payload of UDP is a packet of SCTP beyond doubt.
fn holds_sctp(bytes: &[u8], length: u32) -> bool {
    bytes.len() == length as usize
        && bytes.len() >= CommonHeader::LEN + RawChunk::HEADER
        && SctpPacket::parse(bytes, Checksum::Verify)
            .is_ok_and(|packet| packet.chunks().all(|raw| raw.is_ok()))
}

/// The length of a packet whose end is missing: to the end of the chunk in which the kept bytes stop.
pub(crate) fn sctp_length(bytes: &[u8]) -> u32 {
    let mut at = CommonHeader::LEN;
    while let Some(&[_, _, hi, lo, ..]) = bytes.get(at..) {
        at += padded(usize::from(u16::from_be_bytes([hi, lo])).max(RawChunk::HEADER));
    }
    at.max(bytes.len()).min(usize::from(u16::MAX)) as u32
}

fn sctp(bytes: &[u8], length: u32, udp: Option<(u16, u16)>) -> Content<'_> {
    // No IP datagram is longer, even if a damaged header says so.
    let (kept, length) = (bytes.len(), (length as usize).min(usize::from(u16::MAX)));
    let sum = match bytes.get(8..12).and_then(|sum| sum.first_chunk::<4>()) {
        _ if kept < length => Sum::Unknown,
        Some([0, 0, 0, 0]) => Sum::Zero,
        Some(&found) if crc32c::load(found) == crc32c::packet_checksum(bytes) => Sum::Good,
        _ if adler32::holds(bytes) => Sum::Adler,
        _ => Sum::Bad,
    };
    if kept < CommonHeader::LEN {
        return Content::Malformed(format!("SCTP: {kept} bytes are shorter than the common header"));
    }
    match SctpPacket::parse(bytes, Checksum::Ignore) {
        Ok(packet) => {
            let header = packet.header();
            Content::Sctp(Sctp { header, bytes: Cow::Borrowed(bytes), length, udp, sum })
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
    // Of a truncated packet only the kept bytes are shown.
    match SctpPacket::parse(&sctp.bytes, Checksum::Ignore) {
        Ok(packet) if sctp.sum != Sum::Unknown && sf2007 => sf2007::Show(packet).to_string(),
        Ok(packet) if sctp.sum != Sum::Unknown => packet.to_string(),
        _ => {
            let header = sctp.header;
            let ports = format!("{} > {}", header.source_port, header.destination_port);
            let mut line = format!("{ports} tag={:#010x}", header.verification_tag);
            for (at, raw) in sctp.filled().chunks().enumerate() {
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
