//! A capture with its packets and flows, and the analyses of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::analysis::{self, Analysis, Assumptions};
use crate::bottleneck::{Arrival, Bottleneck};
use crate::capture::Capture;
use crate::flow::{End, Flows};
use crate::packet::{Content, Packet, Reading};
use crate::report::{self, BottleneckReport, FlowReport, PacketLine, Retransmission};
use crate::{plot, reader};

/// The protocols that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// SCTP, over UDP too.
    Sctp,
    /// TCP.
    Tcp,
}

/// The packets that count. Nothing set: all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Flows by their numbers.
    pub flows: Vec<u32>,
    /// One protocol.
    pub protocol: Option<Protocol>,
    /// Interfaces by name or number.
    pub interfaces: Vec<String>,
    /// From this time on, nanoseconds since the capture's first packet.
    pub from_ns: Option<i64>,
    /// Before this time.
    pub to_ns: Option<i64>,
}

/// From where to where. `None` is anywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// Source address.
    pub source: Option<IpAddr>,
    /// Destination address.
    pub destination: Option<IpAddr>,
}

impl std::str::FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write SOURCE>DESTINATION with addresses or *, for example 10.0.1.1>*".to_owned();
        let (source, destination) = text.split_once('>').ok_or_else(wrong)?;
        let address = |text: &str| match text.trim() {
            "*" => Ok(None),
            text => text.parse().map(Some).map_err(|_| wrong()),
        };
        Ok(Self { source: address(source)?, destination: address(destination)? })
    }
}

/// A capture, taken apart.
#[derive(Clone, Debug)]
pub struct Trace<'a> {
    capture: Capture<'a>,
    packets: Vec<Packet<'a>>,
    flows: Flows,
    analyses: Vec<Analysis>,
    zero_ns: i64,
    /// Frames without IP, by why.
    skipped: BTreeMap<String, u64>,
}

impl<'a> Trace<'a> {
    /// Takes a capture apart. Only packets that `filter` lets through are looked at, except that flows keep the
    /// numbers they have in the whole capture.
    #[must_use]
    pub fn new(mut capture: Capture<'a>, reading: &Reading, filter: &Filter, assumed: &Assumptions) -> Self {
        let zero_ns = capture.frames.iter().map(|frame| frame.time_ns).min().unwrap_or(0);
        let reader::Read { packets, skipped, notes } = reader::read(&capture, reading);
        capture.notes.extend(notes);
        let whole = Flows::of(&packets);
        let mut flows = Flows::default();
        let mut kept = Vec::new();
        for (packet, place) in packets.into_iter().zip(&whole.places) {
            let flow = place.and_then(|place| whole.flows.get(place.flow)).map(|flow| flow.id);
            if filter.lets(&packet, flow, &capture, zero_ns) {
                kept.push(packet);
                flows.places.push(*place);
            }
        }
        flows.flows = whole.flows;
        if !filter.interfaces.is_empty() {
            // The place of measurement is chosen again, among the packets that the filter has kept.
            flows.look_again(&kept);
        }
        let analyses = analysis::all(&kept, &flows, assumed);
        capture.notes.extend(begun_before(&flows, &analyses));
        Self { capture, packets: kept, flows, analyses, zero_ns, skipped }
    }

    /// The capture.
    #[must_use]
    pub fn capture(&self) -> &Capture<'a> {
        &self.capture
    }

    /// Nanoseconds from 1970 to the first packet, which is time 0 in all results.
    #[must_use]
    pub fn zero_ns(&self) -> i64 {
        self.zero_ns
    }

    /// Frames that hold no IP, by why.
    #[must_use]
    pub fn skipped(&self) -> &BTreeMap<String, u64> {
        &self.skipped
    }

    /// How many flows the whole capture has, also those that the filter leaves out.
    #[must_use]
    pub fn flow_count(&self) -> usize {
        self.flows.flows.len()
    }

    /// One line a packet.
    pub fn lines(&self) -> impl Iterator<Item = PacketLine> {
        // An ICMP error is put to the last of several flows between the same ends.
        let ends: BTreeMap<(End, End), usize> =
            self.flows.flows.iter().enumerate().map(|(at, flow)| ((flow.client, flow.server), at)).collect();
        self.packets.iter().zip(&self.flows.places).map(move |(packet, place)| {
            let mentioned = match &packet.content {
                Content::Refusal(of) => {
                    let found = ends.get(&(of.source, of.destination));
                    found.or_else(|| ends.get(&(of.destination, of.source))).copied()
                }
                _ => None,
            };
            let flow = place.map(|place| place.flow).or(mentioned).and_then(|at| self.flows.flows.get(at));
            let bases = match (place, &packet.content) {
                (Some(place), Content::Tcp(tcp)) => {
                    let sides = self.analyses.get(place.flow).map(|analysis| &analysis.sides);
                    let base = |back: bool| {
                        let space = sides?.get(usize::from(back))?.spaces.get(&-1)?;
                        Some(space.base)
                    };
                    let own = base(place.back).unwrap_or(tcp.header.seq);
                    (own, base(!place.back).unwrap_or(0))
                }
                _ => (0, 0),
            };
            PacketLine {
                number: packet.number,
                time_s: report::seconds(packet.time_ns.saturating_sub(self.zero_ns)),
                interface: self.capture.interface_name(packet.interface),
                flow: flow.map(|flow| flow.id),
                source: packet.source.to_string(),
                destination: packet.destination.to_string(),
                protocol: packet.protocol(),
                size: packet.size,
                copy_of: packet.copy_of.map(|(number, _)| number),
                info: packet.line(flow.is_some_and(|flow| flow.sf2007), bases),
            }
        })
    }

    /// Flows of which the filter left anything, by number.
    #[must_use]
    pub fn flows(&self) -> Vec<FlowReport> {
        self.seen()
            .map(|(flow, analysis)| {
                FlowReport::of(flow, analysis, self.zero_ns, |index| self.capture.interface_name(index))
            })
            .collect()
    }

    fn seen(&self) -> impl Iterator<Item = (&crate::flow::Flow, &Analysis)> {
        let all = self.flows.flows.iter().zip(&self.analyses);
        all.filter(|(_, analysis)| analysis.sides.iter().any(|side| side.packets > 0))
    }

    /// The retransmissions, by time.
    #[must_use]
    pub fn retransmissions(&self) -> Vec<Retransmission> {
        let mut list: Vec<Retransmission> = self
            .seen()
            .flat_map(|(flow, analysis)| report::retransmissions(flow, analysis, self.zero_ns))
            .collect();
        list.sort_by_key(|again| (again.number, again.flow, again.relative));
        list
    }

    /// Simulates a bottleneck: one for all packets of `direction`, or without it one for each pair of addresses. A
    /// packet that was seen at several interfaces counts at one: that of its flow, or that where most packets of its
    /// pair of addresses were seen.
    #[must_use]
    pub fn bottlenecks(&self, bottleneck: Bottleneck, direction: Option<Direction>) -> Vec<BottleneckReport> {
        let mut pairs: BTreeMap<(IpAddr, IpAddr), BTreeMap<u32, Vec<Arrival>>> = BTreeMap::new();
        for packet in &self.packets {
            if packet.is_copy_here() || direction.is_some_and(|direction| !direction.has(packet)) {
                continue;
            }
            let arrival = Arrival {
                number: packet.number,
                time_ns: packet.time_ns.saturating_sub(self.zero_ns),
                size: packet.size,
            };
            let pair = pairs.entry((packet.source, packet.destination)).or_default();
            pair.entry(packet.interface).or_default().push(arrival);
        }
        // Each pair at the interface with most packets, among equals where they were first.
        let best = pairs.into_iter().filter_map(|(ends, interfaces)| {
            let first = |list: &[Arrival]| list.first().map_or(i64::MAX, |arrival| arrival.time_ns);
            let best = interfaces.into_iter().min_by_key(|(_, list)| (usize::MAX - list.len(), first(list)));
            best.map(|(interface, list)| (ends, interface, list))
        });
        let run = |source, destination, interface, arrivals: &[Arrival]| {
            let (passages, occupancy) = bottleneck.pass(arrivals);
            BottleneckReport {
                source,
                destination,
                interface,
                rate_bps: bottleneck.rate_bps,
                limit_packets: bottleneck.limit,
                occupancy,
                passages,
            }
        };
        let Some(direction) = direction else {
            return best
                .map(|((source, destination), interface, arrivals)| {
                    let name = self.capture.interface_name(interface);
                    run(source.to_string(), destination.to_string(), name, &arrivals)
                })
                .collect();
        };
        let mut names = BTreeSet::new();
        let mut all = Vec::new();
        for (_, interface, arrivals) in best {
            names.insert(self.capture.interface_name(interface));
            all.extend(arrivals);
        }
        if all.is_empty() {
            return Vec::new();
        }
        let any = |end: Option<IpAddr>| end.map_or_else(|| "*".to_owned(), |end| end.to_string());
        let names: Vec<String> = names.into_iter().collect();
        vec![run(any(direction.source), any(direction.destination), names.join(", "), &all)]
    }

    /// A time-sequence plot as SVG, and its title. Without flows named by `filter`, the flow with most user data;
    /// of each flow the direction with more of it, unless `back` says which. A panel for each numbering.
    ///
    /// # Errors
    /// There is nothing to plot: a sentence.
    pub fn plot(&self, filter: &Filter, back: Option<bool>) -> Result<(String, String), String> {
        let side = |analysis: &Analysis, back: bool| -> u64 {
            let side = analysis.sides.get(usize::from(back));
            side.map_or(0, |side| side.purposes.payload + side.purposes.payload_again)
        };
        let mut chosen: Vec<(&crate::flow::Flow, &Analysis, bool)> = self
            .seen()
            .map(|(flow, analysis)| {
                let back = back.unwrap_or_else(|| side(analysis, true) > side(analysis, false));
                (flow, analysis, back)
            })
            .filter(|(_, analysis, back)| side(analysis, *back) > 0)
            .collect();
        if filter.flows.is_empty() {
            // The first of those with most.
            let most = chosen.iter().map(|(_, analysis, back)| side(analysis, *back)).max();
            let first = chosen.iter().position(|(_, analysis, back)| Some(side(analysis, *back)) == most);
            chosen = first.and_then(|first| chosen.get(first).copied()).into_iter().collect();
        }
        if chosen.is_empty() {
            return Err("no flow with user data to plot".to_owned());
        }
        let mut panels = Vec::new();
        let mut told = Vec::new();
        for (flow, analysis, back) in chosen {
            let (from, to) = if back { (flow.server, flow.client) } else { (flow.client, flow.server) };
            let name =
                format!("flow {} {} {} > {}", flow.id, flow.protocol, report::end(from), report::end(to));
            told.push(name.clone());
            let spaces = analysis.sides.get(usize::from(back)).into_iter().flat_map(|side| &side.spaces);
            for (&subflow, space) in spaces {
                let name = if subflow >= 0 { format!("{name}, subflow {subflow}") } else { name.clone() };
                panels.push(plot::Panel { name, space, bytes: flow.protocol == "TCP" });
            }
        }
        Ok((plot::svg(&panels, self.zero_ns), told.join("; ")))
    }
}

/// A sentence about flows whose beginning is not in the capture.
fn begun_before(flows: &Flows, analyses: &[Analysis]) -> Option<String> {
    let late: Vec<(u32, bool)> = flows
        .flows
        .iter()
        .zip(analyses)
        .filter(|(_, analysis)| {
            analysis.sides.iter().any(|side| side.packets > 0) && !analysis.opening_seen()
        })
        .map(|(flow, _)| (flow.id, flow.protocol == "TCP"))
        .collect();
    let (&(first, _), more) = late.split_first()?;
    let which = match more.len() {
        0 => format!("flow {first} began"),
        1 => format!("flow {first} and another began"),
        more => format!("flow {first} and {more} others began"),
    };
    let tcp = late.iter().any(|&(_, tcp)| tcp);
    let windows =
        if tcp { ", and windows of TCP are as they stand in the header, without their scale" } else { "" };
    Some(format!("{which} before the capture: who sent first is taken for the client{windows}"))
}

impl Direction {
    fn has(&self, packet: &Packet<'_>) -> bool {
        self.source.is_none_or(|source| source == packet.source)
            && self.destination.is_none_or(|destination| destination == packet.destination)
    }
}

impl Filter {
    fn lets(&self, packet: &Packet<'_>, flow: Option<u32>, capture: &Capture<'_>, zero_ns: i64) -> bool {
        let at = packet.time_ns.saturating_sub(zero_ns);
        let protocol = match (&self.protocol, &packet.content) {
            (None, _) => true,
            (Some(Protocol::Sctp), Content::Sctp(_)) | (Some(Protocol::Tcp), Content::Tcp(_)) => true,
            (Some(_), _) => false,
        };
        let interface = self.interfaces.is_empty()
            || self.interfaces.iter().any(|wanted| {
                *wanted == packet.interface.to_string() || *wanted == capture.interface_name(packet.interface)
            });
        protocol
            && interface
            && (self.flows.is_empty() || flow.is_some_and(|flow| self.flows.contains(&flow)))
            && self.from_ns.is_none_or(|from| at >= from)
            && self.to_ns.is_none_or(|to| at < to)
    }
}
