//! Packets between script and stack: in the script's words, with its tags and TSNs.

use std::net::IpAddr;

use anabranch_base::Ecn;
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Packet as WirePacket, PacketBuilder};

use crate::compare::{Difference, differences};
use crate::network::Sent;
use crate::packet::build::{self, Defaults};
use crate::packet::identity::{Identity, Way};
use crate::packet::{check, decode, flags};
use crate::syntax::{Body, Packet};
use crate::value::Value;

/// The numbers that the packets of both sides have fixed so far: tags, TSNs, cookies.
#[derive(Debug, Default)]
pub(super) struct Wire {
    identity: Identity,
    defaults: Defaults,
    /// The tag of the last packet of the script; an answer to an "out of the blue" packet reflects it.
    last_tag: u32,
}

/// A packet of the stack, as a script would write it.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) differences: Vec<Difference>,
}

/// Whether every name in a packet exists, and its addresses are of the script's family.
pub(super) fn check(packet: &Packet, ipv6: bool) -> Result<(), String> {
    if let Some((from, to)) = packet.addresses.filter(|(from, _)| from.is_ipv6() != ipv6) {
        let (family, way) = if ipv6 { ("IPv6", "without") } else { ("IPv4", "with") };
        return Err(format!(
            "this script's packets are of {family}, found {from} > {to}; allowed {way} --ip_version=ipv6"
        ));
    }
    match &packet.body {
        Body::Chunks(chunks) => chunks.iter().try_for_each(check::chunk),
        Body::Raw(_) | Body::Icmp(_) => Ok(()),
    }
}

fn name_of(chunk: &Value) -> &str {
    match chunk {
        Value::Node(name, _) => name,
        _ => "",
    }
}

/// Whether the T bit is set: the tag is that of the other direction.
fn reflects(chunk: &Value) -> bool {
    let name = name_of(chunk);
    let number = chunk.get("flgs").and_then(|value| flags::number(name, value).ok().flatten());
    matches!(name, "ABORT" | "SHUTDOWN_COMPLETE") && number.is_some_and(|flags| flags & 1 != 0)
}

pub(super) fn ecn(word: Option<&str>) -> Ecn {
    match word {
        Some("ect0") => Ecn::Ect0,
        Some("ect1") => Ecn::Ect1,
        Some("ce") => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}

fn ecn_word(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "noecn",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}

impl Wire {
    /// The bytes of a packet that the script sends, from port to port.
    pub(super) fn outgoing(&mut self, packet: &Packet, ports: (u16, u16)) -> Result<Vec<u8>, String> {
        let mut region = Vec::new();
        let mut chunks: &[Value] = &[];
        match &packet.body {
            Body::Icmp(_) => {}
            Body::Raw(list) => region = list.bytes().unwrap_or_default(),
            Body::Chunks(named) => {
                chunks = named;
                for chunk in chunks {
                    let real = self.identity.translated(chunk, Way::ToStack);
                    region.extend(build::chunk(&real, &self.defaults)?);
                }
            }
        }
        let tag = match (packet.tag, chunks.first()) {
            (Some(tag), _) => self.identity.real_tag(tag as u32),
            // However the INIT is written: by name, as a chunk of type 1, or in bytes.
            (None, _) if region.first() == Some(&1) => 0,
            (None, Some(chunk)) if name_of(chunk) == "COOKIE_ECHO" => self.identity.newest_tag(),
            (None, Some(chunk)) if reflects(chunk) => self.identity.peer_tag(),
            _ => match self.identity.tag() {
                // Out of the blue no tag is right, and with 0 it would be discarded for that (RFC 9260, 8.5.1 A).
                0 => self.last_tag.max(1),
                tag => tag,
            },
        };
        let header = CommonHeader { source_port: ports.0, destination_port: ports.1, verification_tag: tag };
        let mut bytes = Vec::new();
        let mut builder = PacketBuilder::new(&mut bytes, header);
        builder.buffer().extend(region);
        builder.finish(if packet.zero_checksum { ChecksumOut::Zero } else { ChecksumOut::Compute });
        if packet.bad_checksum {
            if let Some(byte) = bytes.get_mut(8) {
                *byte ^= 0xff;
            }
        }
        self.identity.sent_by_script(chunks, tag);
        self.last_tag = tag;
        for chunk in chunks {
            match (name_of(chunk), chunk.number_of("tsn")) {
                ("INIT" | "INIT_ACK", tsn) => self.defaults.next_tsn = tsn.unwrap_or(1) as u32,
                ("DATA" | "I_DATA", tsn) => {
                    let tsn = tsn.map_or(self.defaults.next_tsn, |tsn| tsn as u32);
                    self.defaults.next_tsn = tsn.wrapping_add(1);
                }
                _ => {}
            }
        }
        Ok(bytes)
    }

    /// Compares a packet of the stack with the expected one. Remembers the values that later packets need.
    pub(super) fn compare(&mut self, expected: Option<&Packet>, sent: &Sent) -> Shown {
        let none: &[Value] = &[];
        let wanted = match expected.map(|packet| &packet.body) {
            Some(Body::Chunks(chunks)) => chunks,
            _ => none,
        };
        let real = match decode::chunks(&sent.bytes, wanted) {
            Ok(real) => real,
            Err(error) => {
                let told = Difference::new("packet", "one that can be read", &error);
                return Shown { text: error, differences: vec![told] };
            }
        };
        let mut found = Vec::new();
        if let Some(packet) = expected {
            found.extend(self.tag_difference(packet, &real, sent));
            found.extend(checksum_difference(packet, sent));
            let udp = packet.udp.unwrap_or_default();
            if udp != sent.udp {
                found.push(Difference::new("udp", &shown_ports(udp), &shown_ports(sent.udp)));
            }
            if let Some(wanted) = packet.addresses.filter(|wanted| *wanted != sent.addresses) {
                let shown = |(from, to): (IpAddr, IpAddr)| format!("{from} > {to}");
                found.push(Difference::new("addresses", &shown(wanted), &shown(sent.addresses)));
            }
            if let Some(word) = packet.ecn.as_deref() {
                if ecn(Some(word)) != sent.ecn {
                    found.push(Difference::new("ecn", &word, &ecn_word(sent.ecn)));
                }
            }
        }
        let mut came = Vec::new();
        for (index, chunk) in real.iter().enumerate() {
            self.remember(wanted.get(index), chunk);
            came.push(self.identity.translated(chunk, Way::ToScript));
        }
        match expected.map(|packet| &packet.body) {
            Some(Body::Raw(list)) => {
                let there = sent.bytes.get(CommonHeader::LEN..).unwrap_or_default();
                found.extend(differences("bytes", list, &Value::from_bytes(there)));
            }
            Some(Body::Chunks(_)) => found.extend(chunk_differences(wanted, &came)),
            Some(Body::Icmp(_)) | None => {}
        }
        Shown { text: came.iter().map(shown).collect::<Vec<_>>().join("; "), differences: found }
    }

    fn remember(&mut self, wanted: Option<&Value>, chunk: &Value) {
        let name = name_of(chunk);
        let inner = |kind: &str, key: &str| -> Option<Vec<u8>> {
            let found = chunk.fields().iter().find(|field| name_of(&field.value) == kind)?;
            found.value.get(key)?.bytes()
        };
        match name {
            "INIT" | "INIT_ACK" => {
                self.identity.learn(wanted.filter(|wanted| name_of(wanted) == name), chunk);
                if let Some(tsn) = chunk.number_of("tsn") {
                    self.defaults.cumulative = (tsn as u32).wrapping_sub(1);
                }
                if let Some(cookie) = inner("STATE_COOKIE", "val") {
                    self.defaults.cookie = Some(cookie);
                }
            }
            "HEARTBEAT" => self.defaults.heartbeat = inner("HEARTBEAT_INFORMATION", "val"),
            "DATA" | "I_DATA" => {
                if let Some(tsn) = chunk.number_of("tsn").map(|tsn| tsn as u32) {
                    if tsn.wrapping_sub(self.defaults.cumulative) < 1 << 31 {
                        self.defaults.cumulative = tsn;
                    }
                }
            }
            _ => {}
        }
        self.identity.sent_by_stack(name);
    }

    /// Whether the tag in the common header is right (RFC 9260, 8.5).
    fn tag_difference(&self, packet: &Packet, chunks: &[Value], sent: &Sent) -> Option<Difference> {
        let header = WirePacket::parse(&sent.bytes, Checksum::Ignore).ok()?.header();
        let tag = header.verification_tag;
        let shown = |tag: u32| self.identity.script_tag(tag).unwrap_or(tag);
        let first = chunks.first();
        let wanted = match (packet.tag, first) {
            (Some(wanted), _) if shown(tag) == wanted as u32 => return None,
            (Some(wanted), _) => wanted as u32,
            (None, Some(chunk)) if name_of(chunk) == "INIT" => 0,
            (None, Some(chunk)) if name_of(chunk) == "INIT_ACK" => self.identity.peer_tag(),
            (None, Some(chunk)) if reflects(chunk) => self.last_tag,
            _ if self.identity.is_peer_tag(tag) => return None,
            _ => self.identity.peer_tag(),
        };
        (wanted != tag).then(|| Difference::new("tag of the packet", &shown(wanted), &shown(tag)))
    }
}

/// `udp(9899 > 1234)`, or that there is none.
fn shown_ports((from, to): (u16, u16)) -> String {
    if (from, to) == (0, 0) { "without UDP".to_owned() } else { format!("udp({from} > {to})") }
}

/// The checksum must be right, or zero where the script says so.
fn checksum_difference(packet: &Packet, sent: &Sent) -> Option<Difference> {
    let there = WirePacket::parse(&sent.bytes, Checksum::Ignore).ok()?.checksum();
    let right = WirePacket::parse(&sent.bytes, Checksum::Verify).is_ok();
    match packet.zero_checksum {
        true if there != 0 => Some(Difference::new("checksum", "zero", "another")),
        false if !right => Some(Difference::new("checksum", "the right one", &there)),
        _ => None,
    }
}

/// A chunk as a script would write it, flags as letters.
fn shown(chunk: &Value) -> String {
    let name = name_of(chunk);
    let Value::Node(_, fields) = chunk else { return chunk.to_string() };
    let fields = fields.iter().map(|field| {
        let mut field = field.clone();
        if field.key.as_deref() == Some("flgs") {
            let flags = field.value.number().unwrap_or(0) as u8;
            field.value = Value::Word(flags::shown(name, flags));
        }
        field
    });
    Value::Node(name.to_owned(), fields.collect()).to_string()
}

fn chunk_differences(wanted: &[Value], came: &[Value]) -> Vec<Difference> {
    let mut found = Vec::new();
    for index in 0..wanted.len().max(came.len()) {
        match (wanted.get(index), came.get(index)) {
            (Some(wanted), Some(came)) if name_of(wanted) != name_of(came) => {
                found.push(Difference::new(format!("chunk {}", index + 1), &name_of(wanted), &name_of(came)));
            }
            (Some(wanted), Some(came)) => found.extend(differences(name_of(wanted), wanted, came)),
            (Some(wanted), None) => {
                found.push(Difference::new(format!("chunk {}", index + 1), &name_of(wanted), "nothing"));
            }
            (None, Some(came)) => {
                found.push(Difference::new(format!("chunk {}", index + 1), "nothing", &name_of(came)));
            }
            (None, None) => {}
        }
    }
    found
}
