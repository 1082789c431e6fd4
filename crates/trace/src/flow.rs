//! Which packets belong together: TCP connections and SCTP associations, and where to look at them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anabranch_tcp::header::Flags;
use anabranch_wire::chunk::{Init, kind};

use crate::packet::{Content, Packet};

/// An address and a port.
pub type End = (IpAddr, u16);

/// A connection or an association.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its place in the capture, from 1, by its first packet.
    pub id: u32,
    /// `TCP`, `SCTP` or `SCTP/UDP`.
    pub protocol: &'static str,
    /// The end that opened it; the sender of the first packet, where no opening was seen.
    pub client: End,
    /// The end that answers the client.
    pub server: End,
    /// Speaks the encoding of the 2007 thesis.
    pub sf2007: bool,
    /// For both directions (client to server first): the interface at which it is looked at.
    pub interfaces: [Option<u32>; 2],
    opened: Option<u32>,
    /// A packet with a tag was seen: someone has answered.
    answered: bool,
    /// A tag of the way to the server is known.
    forward: bool,
}

/// The flow and direction that a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the flow.
    pub flow: usize,
    /// From the server to the client.
    pub back: bool,
}

/// The flows of a capture and the place of each of its packets.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    /// By their first packets.
    pub flows: Vec<Flow>,
    /// For each packet its place, if it belongs to a flow.
    pub places: Vec<Option<Place>>,
}

impl Flows {
    /// Sorts packets into flows.
    #[must_use]
    pub fn of(packets: &[Packet<'_>]) -> Self {
        let mut sorter = Sorter::default();
        let places: Vec<Option<Place>> = packets.iter().map(|packet| sorter.place(packet)).collect();
        let mut flows = Self { flows: sorter.flows, places };
        flows.look_again(packets);
        flows
    }

    /// Says where each direction is looked at. A packet that crosses several links is in the capture several times:
    /// where most of a direction was seen; among equals where it was seen first, which is nearest to its sender.
    pub(crate) fn look_again(&mut self, packets: &[Packet<'_>]) {
        let mut seen: BTreeMap<(usize, bool), Vec<(u32, u64)>> = BTreeMap::new();
        for (packet, place) in packets.iter().zip(&self.places) {
            let Some(place) = place else { continue };
            if packet.is_copy_here() {
                continue;
            }
            let list = seen.entry((place.flow, place.back)).or_default();
            match list.iter_mut().find(|(interface, _)| *interface == packet.interface) {
                Some((_, count)) => *count += 1,
                None => list.push((packet.interface, 1)),
            }
        }
        for ((flow, back), list) in seen {
            let most = list.iter().map(|&(_, count)| count).max();
            let best = list.iter().find(|&&(_, count)| Some(count) == most).map(|&(interface, _)| interface);
            let flow = self.flows.get_mut(flow);
            if let Some(slot) = flow.and_then(|flow| flow.interfaces.get_mut(usize::from(back))) {
                *slot = best;
            }
        }
    }

    /// The place of a packet, if it was seen at the interface at which its flow is looked at, and there for the first time.
    #[must_use]
    pub fn counted(&self, index: usize, packet: &Packet<'_>) -> Option<Place> {
        let place = self.places.get(index).copied().flatten().filter(|_| !packet.is_copy_here())?;
        let flow = self.flows.get(place.flow)?;
        let interface = flow.interfaces.get(usize::from(place.back)).copied().flatten();
        (interface == Some(packet.interface)).then_some(place)
    }
}

#[derive(Default)]
struct Sorter {
    flows: Vec<Flow>,
    /// The flow of two ends now, the smaller end first.
    ends: BTreeMap<(bool, End, End), usize>,
    /// Tag and destination port of SCTP packets of a direction: addresses may change (multihoming).
    tags: BTreeMap<(u32, u16, u16), Place>,
}

impl Sorter {
    fn place(&mut self, packet: &Packet<'_>) -> Option<Place> {
        let (from, to) = packet.ports()?;
        let (source, destination) = ((packet.source, from), (packet.destination, to));
        match &packet.content {
            Content::Tcp(tcp) => {
                let opens = tcp.header.flags.has(Flags::SYN) && !tcp.header.flags.has(Flags::ACK);
                // A SYN with another number on known ends is another connection.
                let open = opens.then_some(tcp.header.seq);
                let known = self.ends.get(&key(true, source, destination)).copied();
                let fresh = known.and_then(|at| self.flows.get(at)).is_none_or(|flow| {
                    open.is_some() && flow.opened != open && (flow.opened.is_some() || flow.client != source)
                });
                let at = match known {
                    Some(at) if !fresh => at,
                    _ => {
                        // The side that answers did not open it.
                        let answer = tcp.header.flags.has(Flags::SYN) && !opens;
                        let ends = if answer { (destination, source) } else { (source, destination) };
                        self.open(true, packet.protocol(), ends, open)
                    }
                };
                Some(self.direction(at, source))
            }
            Content::Sctp(sctp) => {
                let tag = sctp.header.verification_tag;
                let filled = sctp.filled();
                let init =
                    filled.chunks().next().filter(|raw| matches!(raw.kind, kind::INIT | kind::INIT_ACK));
                let own = init.and_then(|raw| Some((raw.kind, Init::parse(raw).ok()?.initiate_tag)));
                let mut place = (tag != 0).then(|| self.tags.get(&(tag, from, to)).copied()).flatten();
                if place.is_none() {
                    let known = self.ends.get(&key(false, source, destination)).copied();
                    let open = own.filter(|&(what, _)| what == kind::INIT).map(|(_, tag)| tag);
                    // Without addresses, and with one port at both ends, only tags tell the directions apart.
                    let alike = source == destination;
                    let fresh = known.and_then(|at| self.flows.get(at)).is_none_or(|flow| {
                        open.is_some()
                            && flow.opened.is_some()
                            && flow.opened != open
                            && flow.client == source
                            // Both may begin at the same time.
                            && (!alike || flow.answered)
                    });
                    let at = match known {
                        Some(at) if !fresh => at,
                        _ => {
                            let answer = own.is_some_and(|(what, _)| what == kind::INIT_ACK);
                            let ends = if answer { (destination, source) } else { (source, destination) };
                            self.open(false, packet.protocol(), ends, open)
                        }
                    };
                    let mut found = self.direction(at, source);
                    if alike && known == Some(at) && !fresh {
                        // The first tag goes to the server, and a tag that is new in this flow to the other end.
                        let (opened, forward) =
                            self.flows.get(at).map_or((None, false), |flow| (flow.opened, flow.forward));
                        found.back = match open {
                            Some(open) => Some(open) != opened,
                            None => forward && tag != 0,
                        };
                    }
                    if tag != 0 {
                        self.tags.insert((tag, from, to), found);
                    }
                    place = Some(found);
                }
                let place = place?;
                if let Some(flow) = self.flows.get_mut(place.flow) {
                    flow.answered |= tag != 0;
                    flow.forward |= tag != 0 && !place.back;
                }
                if let Some((_, own)) = own {
                    // Packets of the other direction will carry it.
                    if let Some(flow) = self.flows.get_mut(place.flow).filter(|_| place.back) {
                        flow.forward = true;
                    }
                    self.tags.insert((own, to, from), Place { back: !place.back, ..place });
                }
                if own.is_some() && sctp.asks_sf2007() {
                    if let Some(flow) = self.flows.get_mut(place.flow) {
                        flow.sf2007 = true;
                    }
                }
                Some(place)
            }
            _ => None,
        }
    }

    fn open(&mut self, tcp: bool, protocol: &'static str, ends: (End, End), opened: Option<u32>) -> usize {
        let at = self.flows.len();
        self.ends.insert(key(tcp, ends.0, ends.1), at);
        self.flows.push(Flow {
            id: u32::try_from(at + 1).unwrap_or(u32::MAX),
            protocol,
            client: ends.0,
            server: ends.1,
            sf2007: false,
            interfaces: [None; 2],
            opened,
            answered: false,
            forward: false,
        });
        at
    }

    fn direction(&self, at: usize, source: End) -> Place {
        let back = self.flows.get(at).is_some_and(|flow| flow.client != source);
        Place { flow: at, back }
    }
}

fn key(tcp: bool, a: End, b: End) -> (bool, End, End) {
    if a <= b { (tcp, a, b) } else { (tcp, b, a) }
}
