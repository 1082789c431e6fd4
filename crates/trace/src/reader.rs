//! From a capture to its packets: datagrams are found in frames, copies among them marked, parts put together.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::capture::Capture;
use crate::clock;
use crate::copies::{self, Seen};
use crate::network::{self, Datagram};
use crate::packet::{self, Content, Packet, Reading};
use crate::reassembly::{Joined, Outcome, Reassembly};

/// The packets of a capture, and its frames without any.
pub(crate) struct Read<'a> {
    pub(crate) packets: Vec<Packet<'a>>,
    /// Frames without IP, by why.
    pub(crate) skipped: BTreeMap<String, u64>,
    /// Sentences that a reader of the results needs.
    pub(crate) notes: Vec<String>,
}

const SCTP: u8 = 132;
const UDP: u8 = 17;

/// Reads all packets.
pub(crate) fn read<'a>(capture: &Capture<'a>, reading: &Reading) -> Read<'a> {
    let (stretches, back) = clock::stretches(capture);
    let mut notes: Vec<String> = back.into_iter().collect();
    let mut skipped = BTreeMap::new();
    let mut found: Vec<(usize, Datagram<'a>)> = Vec::with_capacity(capture.frames.len());
    for (at, frame) in capture.frames.iter().enumerate() {
        let interface = usize::try_from(frame.interface).ok().and_then(|at| capture.interfaces.get(at));
        let link_type = interface.map_or(u16::MAX, |interface| interface.link_type);
        match network::datagram(link_type, frame.bytes, frame.original) {
            Ok(datagram) => found.push((at, datagram)),
            Err(why) => *skipped.entry(why.to_string()).or_insert(0) += 1,
        }
    }
    let seen: Vec<Option<Seen<'_>>> = found
        .iter()
        .map(|(at, datagram)| {
            let frame = capture.frames.get(*at)?;
            let wanted =
                datagram.protocol != UDP || datagram.fragment.is_some() || has_port(datagram, reading);
            wanted.then_some(Seen { interface: frame.interface, time_ns: frame.time_ns, datagram })
        })
        .collect();
    let copies = copies::find(&seen);
    let mut packets: Vec<Packet<'a>> = Vec::with_capacity(found.len());
    let mut reassembly = Reassembly::default();
    for (index, (at, datagram)) in found.iter().enumerate() {
        let Some(frame) = capture.frames.get(*at) else { continue };
        let stretch = stretches.get(*at).copied().unwrap_or(0);
        let mut packet = Packet::new(frame, stretch, datagram, reading);
        let original = copies.get(index).copied().flatten().and_then(|original| packets.get(original));
        packet.copy_of = original.map(|original| (original.number, original.interface));
        // A copy at another interface is put together with the fragments seen there.
        let again = original.is_some_and(|original| original.interface == packet.interface);
        match datagram.fragment {
            None => packet.carry(datagram, datagram.payload_length, reading),
            Some(_) if again => {}
            Some(part) => {
                if let Outcome::Whole(joined) =
                    reassembly.take(index, packet.interface, packet.time_ns, *datagram, part)
                {
                    packet.put_together(&joined, &mut packets, reading);
                }
            }
        }
        packets.push(packet);
    }
    let (incomplete, overlapping) = reassembly.finish();
    let missing = incomplete.len();
    for joined in incomplete.into_iter().filter(|joined| joined.begins) {
        begin(&joined, &mut packets, reading);
    }
    notes.extend(told(&packets, missing, overlapping));
    Read { packets, skipped, notes }
}

fn has_port(datagram: &Datagram<'_>, reading: &Reading) -> bool {
    let Some(&[a, b, c, d]) = datagram.payload.first_chunk::<4>() else { return false };
    [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]
        .iter()
        .any(|port| reading.udp_ports.contains(port))
}

impl Packet<'_> {
    /// Adds the datagram that this packet, the last of its parts, completed.
    fn put_together(&mut self, joined: &Joined<'_>, packets: &mut [Packet<'_>], reading: &Reading) {
        let length = joined.length.unwrap_or(0);
        let whole = network::put_together(&joined.first, &joined.payload, length);
        for &index in &joined.indices {
            if let Some(other) = packets.get_mut(index) {
                other.whole_in = Some(self.number);
                self.parts = self.parts.saturating_add(other.size);
            }
        }
        self.part_count = joined.indices.len() as u32;
        self.ecn = joined.ecn;
        self.outside = self.bytes().saturating_sub(whole.payload_length);
        // The bytes that it borrows are of this moment.
        let mut inner = Packet { content: Content::Other(whole.protocol), ..self.bare() };
        inner.carry(&whole, whole.payload_length, reading);
        self.source = inner.source;
        self.destination = inner.destination;
        self.outside = inner.outside;
        self.content = inner.content.into_owned();
    }

    /// The same without its content.
    fn bare(&self) -> Packet<'static> {
        Packet { content: Content::Other(0), ..*self }
    }
}

/// The first part of a datagram whose others are missing: it counts with the length that headers tell.
fn begin(joined: &Joined<'_>, packets: &mut [Packet<'_>], reading: &Reading) {
    let first = &joined.first;
    let own = first.payload_length;
    let udp = first
        .payload
        .get(4..)
        .and_then(|rest| rest.first_chunk::<2>())
        .map(|length| u16::from_be_bytes(*length));
    let length = match (joined.length, first.protocol) {
        (Some(length), _) => length,
        (None, SCTP) => packet::sctp_length(first.payload),
        (None, UDP) => udp.map_or(own, u32::from),
        _ => own,
    }
    .max(own);
    let Some(packet) = joined.indices.first().and_then(|&index| packets.get_mut(index)) else { return };
    packet.fragment = first.fragment;
    packet.parts = length - own;
    let whole = network::put_together(first, first.payload, length);
    packet.outside = packet.bytes().saturating_sub(whole.payload_length);
    let mut inner = packet.bare();
    inner.carry(&whole, whole.payload_length, reading);
    packet.source = inner.source;
    packet.destination = inner.destination;
    packet.outside = inner.outside;
    packet.content = inner.content.into_owned();
}

fn number(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The sentences that a reader needs about the packets.
fn told(packets: &[Packet<'_>], missing: usize, overlapping: u64) -> Vec<String> {
    let mut notes = Vec::new();
    let copies = packets.iter().filter(|packet| packet.copy_of.is_some()).count();
    if copies > 0 {
        let are = if copies == 1 { "is a copy" } else { "are copies" };
        notes.push(format!(
            "{} {are} of one recorded before, at this place or another: what was recorded twice counts once",
            number(copies, "packet")
        ));
    }
    if missing > 0 {
        notes.push(format!(
            "{} came in parts of which some are missing: the first part counts for all, with the length that headers tell",
            number(missing, "datagram")
        ));
    }
    if overlapping > 0 {
        notes.push(format!(
            "{} came in parts that overlap: refused, as RFC 5722 says, and not counted as SCTP or TCP",
            number(overlapping as usize, "datagram")
        ));
    }
    let hidden = packets
        .iter()
        .filter(|packet| match &packet.content {
            Content::Sctp(sctp) => sctp.hides_chunks(),
            _ => false,
        })
        .count();
    if hidden > 0 {
        notes.push(format!(
            "of {} so little was kept that chunks are not known: their bytes count as control (a longer snap length keeps them)",
            number(hidden, "SCTP packet")
        ));
    }
    let old = packets
        .iter()
        .filter(|packet| matches!(&packet.content, Content::Sctp(sctp) if sctp.sum == packet::Sum::Adler));
    let old = old.count();
    if old > 0 {
        let have = if old == 1 { "has" } else { "have" };
        notes.push(format!(
            "{} {have} Adler-32, the checksum of RFC 2960, which RFC 3309 replaced by CRC32c: a receiver of today drops them",
            number(old, "SCTP packet")
        ));
    }
    if packets.iter().any(|packet| {
        packet.ports().is_some() && packet.source == packet.destination && packet.source == NOWHERE
    }) {
        notes.push("frames without IP have no addresses: 0.0.0.0 stands for both ends".to_owned());
    }
    notes.extend(udp_ports(packets));
    notes
}

const NOWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);

/// SCTP in UDP at ports that were not asked for: the fewest ports with which all of it is read.
fn udp_ports(packets: &[Packet<'_>]) -> Option<String> {
    let mut left: BTreeMap<(u16, u16), u64> = BTreeMap::new();
    for packet in packets {
        if let Content::Udp { source, destination, sctp: true } = packet.content {
            *left.entry((source.min(destination), source.max(destination))).or_insert(0) += 1;
        }
    }
    let total: u64 = left.values().sum();
    let mut ports = Vec::new();
    while !left.is_empty() && ports.len() < 8 {
        let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
        for (&(low, high), &count) in &left {
            *counts.entry(low).or_insert(0) += count;
            if high != low {
                *counts.entry(high).or_insert(0) += count;
            }
        }
        // Among equals the lower one: a server's, rather than one that was given out for a time.
        let most = counts.iter().max_by_key(|&(&port, &count)| (count, std::cmp::Reverse(port)));
        let Some((&port, _)) = most else { break };
        left.retain(|&(low, high), _| low != port && high != port);
        ports.push(port.to_string());
    }
    (total > 0).then(|| {
        let hold = if total == 1 { "holds" } else { "hold" };
        let word = if ports.len() == 1 { "port" } else { "ports" };
        format!(
            "{} of {word} {} {hold} SCTP with a valid CRC32c and {} not read as such: --udp-port {} reads {}",
            number(total as usize, "UDP datagram"),
            ports.join(", "),
            if total == 1 { "is" } else { "are" },
            ports.join(","),
            if total == 1 { "it" } else { "them" }
        )
    })
}
