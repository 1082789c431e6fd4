//! The links between the nodes, and the way of a packet over them.

use std::net::IpAddr;

use anabranch_base::{Dscp, Instant};
use anabranch_link::{Frame, Link};

use crate::app::Progress;
use crate::engine::Format;
use crate::event_queue::{Entity, EventQueue};
use crate::mtu::{self, LinkMtu, Verdict};
use crate::record::{LinkSeries, Packet, Recorder, Shares};

/// No link leads there.
pub(crate) const NO_LINK: u32 = u32::MAX;

/// Number of the first link among the entities; entity 0 is the world's own clock.
pub(crate) const FIRST_LINK: Entity = 1;

/// A link in its place.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) link: Link,
    /// The node that sends into it.
    pub(crate) from: u32,
    /// The node at its far end.
    pub(crate) to: u32,
    /// Its MTU, if it decides on packets itself; `None` when the ends know the MTU.
    pub(crate) mtu: Option<Box<LinkMtu>>,
    /// Its number in the capture.
    pub(crate) interface: Option<u32>,
    /// Whether its packets go into the trace.
    pub(crate) traced: bool,
    /// Whether one other link is all that leads packets here: then they may come before their time (see
    /// [`Network::settle`]).
    pub(crate) fed_by_one: bool,
    /// Whether packets go on to such a link.
    pub(crate) feeds_ahead: bool,
    /// Whether it is the only link that leads to its far end, and a host there may take packets before their time (see
    /// `World::run_ahead`).
    pub(crate) feeds_host_alone: bool,
    /// Its samples, if they are taken.
    pub(crate) series: Option<Box<LinkSeries>>,
    /// Counts flow by flow, where the summary shall have them.
    pub(crate) shares: Option<Box<Shares>>,
    /// Whether it has none of these: samples, counts by flow, a place in a capture or trace, packets that it does not carry.
    pub(crate) is_plain: bool,
}

/// Everything between the hosts.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) queue: EventQueue,
    pub(crate) wires: Vec<Wire>,
    /// For node `n` and destination `d`, at `n * nodes + d` from where the class of the code point begins: the link, or
    /// [`NO_LINK`].
    pub(crate) next_hop: Vec<u32>,
    /// Where in `next_hop` the class of each code point begins.
    pub(crate) classes: [u32; 64],
    pub(crate) nodes: u32,
    /// Address of each node.
    pub(crate) addresses: Vec<IpAddr>,
    /// How the packets of each flow are to be read.
    pub(crate) formats: Vec<Format>,
    pub(crate) recorder: Recorder,
    /// Whether some loss model asks which packets carry data.
    pub(crate) marks_data: bool,
    /// Packets that arrived at the far end of a link before the end of the run.
    pub(crate) hops: u64,
    /// Packets that links dropped of each flow's sender, since the end of the warm-up.
    pub(crate) lost: Vec<u64>,
    /// The node of each flow's sender.
    pub(crate) senders: Vec<u32>,
    /// End of the warm-up: counting begins.
    pub(crate) counts_from: Instant,
    pub(crate) end: Instant,
    /// Empty buffers, to be used again: the last one first, because it is still in the cache.
    pub(crate) buffers: Vec<Vec<u8>>,
    pub(crate) next_id: u32,
    /// Changes of pages' connections, by page, until the world takes them.
    pub(crate) progress: Vec<(u32, Progress)>,
    /// ICMP messages of a host's own first link, which go nowhere.
    pub(crate) bounced: Vec<Frame>,
}

impl Network {
    /// An empty buffer.
    #[inline]
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_else(|| Vec::with_capacity(2048))
    }

    /// Takes a buffer back.
    #[inline]
    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        // A packet that is only a size brings no buffer back.
        if buffer.capacity() > 0 {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    /// A number for a new packet.
    #[inline]
    pub(crate) fn new_id(&mut self) -> u32 {
        self.next_id = self.next_id.wrapping_add(1);
        self.next_id
    }

    #[inline]
    fn hop(&self, node: u32, destination: u32, dscp: Dscp) -> u32 {
        let class = self.classes.get(usize::from(dscp.get())).copied().unwrap_or(0);
        self.next_hop.get((class + node * self.nodes + destination) as usize).copied().unwrap_or(NO_LINK)
    }

    /// Sends a packet on its way from `node`. Forwarding takes no time.
    #[inline]
    pub(crate) fn forward(&mut self, now: Instant, node: u32, frame: Frame) {
        self.enter(now, self.hop(node, frame.destination, frame.dscp), frame);
    }

    /// Takes the samples of a link that are due before the events at `now` reach it.
    pub(crate) fn sample(&mut self, now: Instant, index: u32) {
        while let Some(Wire { link, series: Some(series), .. }) = self.wires.get_mut(index as usize) {
            if !series.is_due(now) {
                return;
            }
            series.take(now, index as u16, link, &mut self.recorder);
            // Looking at a link brings it up to date, and frames dropped by that have to be taken.
            self.settle(index);
        }
    }

    /// A packet enters a link, and those after it as long as nothing is in its way.
    fn enter(&mut self, mut now: Instant, mut hop: u32, mut frame: Frame) {
        loop {
            let Some(wire) = self.wires.get(hop as usize) else {
                // No host has the address that the packet is for.
                self.recycle(frame.bytes);
                return;
            };
            let (is_plain, feeds_ahead, node) = (wire.is_plain, wire.feeds_ahead, wire.to);
            if !is_plain {
                self.note_arrival(now, hop, &frame);
            }
            if feeds_ahead {
                let next = self.hop(node, frame.destination, frame.dscp);
                if self.wires.get(next as usize).is_some_and(|next| next.fed_by_one) {
                    let passed =
                        self.wires.get_mut(hop as usize).and_then(|wire| wire.link.pass(now, frame.size));
                    if let Some(at) = passed {
                        self.hops += u64::from(at < self.end);
                        (now, hop) = (at, next);
                        continue;
                    }
                }
            }
            if !is_plain {
                match self.wires.get(hop as usize).and_then(|wire| self.verdict(now, wire, &frame)) {
                    None => {}
                    Some(Verdict::Passes(size)) => frame.size = size,
                    Some(Verdict::TooBig(mtu)) => {
                        self.refuse(now, hop, mtu, frame);
                        return;
                    }
                }
            }
            if let Some(wire) = self.wires.get_mut(hop as usize) {
                wire.link.handle_frame(now, frame);
            }
            self.settle(hop);
            return;
        }
    }

    /// A packet comes to a link of which samples or counts are taken, or whose packets are recorded.
    #[inline(never)]
    fn note_arrival(&mut self, now: Instant, hop: u32, frame: &Frame) {
        self.sample(now, hop);
        let Some(wire) = self.wires.get_mut(hop as usize) else { return };
        if let Some(series) = &mut wire.series {
            series.packets += 1;
            series.bytes += u64::from(frame.size);
        }
        if let Some(shares) = &mut wire.shares {
            shares.arrival(now, frame);
        }
        if !wire.feeds_ahead && (wire.interface.is_some() || wire.traced) {
            self.capture(now, hop, frame);
        }
    }

    /// Whether a link carries a packet, where it does not carry every one.
    #[inline(never)]
    fn verdict(&self, now: Instant, wire: &Wire, frame: &Frame) -> Option<Verdict> {
        let rule = wire.mtu.as_ref()?;
        Some(rule.verdict(now, frame, ip_header(&self.addresses, frame.source)))
    }

    /// A packet is too large for a link: it is lost, and its sender may be told.
    #[cold]
    fn refuse(&mut self, now: Instant, hop: u32, mtu: u32, frame: Frame) {
        let Some(wire) = self.wires.get_mut(hop as usize) else { return };
        let (node, answers) = (wire.from, wire.mtu.as_ref().is_some_and(|rule| rule.answers) && !frame.icmp);
        let address = |node: u32| self.addresses.get(node as usize).copied();
        let protocol = self.formats.get(frame.flow as usize).copied().unwrap_or_default().protocol;
        let told = address(frame.source).zip(address(frame.destination)).filter(|_| answers);
        let told = told.map(|(source, destination)| {
            let bytes = mtu::too_big(source, destination, protocol, mtu, &frame.bytes);
            Frame {
                size: bytes.len() as u32 + ip_header(&self.addresses, frame.source),
                source: node,
                destination: frame.source,
                flow: frame.flow,
                icmp: true,
                bytes,
                ..Frame::default()
            }
        });
        wire.link.refuse(now, frame);
        self.settle(hop);
        match told {
            Some(icmp) if icmp.destination == node => self.bounced.push(icmp),
            Some(icmp) => self.forward(now, node, icmp),
            None => {}
        }
    }

    /// Records a packet that enters a link. Where something is recorded, nothing is told to links ahead of its time.
    #[cold]
    fn capture(&mut self, now: Instant, hop: u32, frame: &Frame) {
        if frame.icmp {
            return; // records are of the flows' packets
        }
        let Some(Wire { interface, traced, .. }) = self.wires.get(hop as usize) else { return };
        let (interface, traced) = (*interface, *traced);
        let format = self.formats.get(frame.flow as usize).copied().unwrap_or_default();
        if traced {
            let (user, kind) = format.describe(frame);
            self.recorder.offered(now, hop as u16, frame, user, kind);
        }
        let (Some(interface), Some(capture)) = (interface, &mut self.recorder.capture) else { return };
        let address = |node: u32| self.addresses.get(node as usize).copied();
        if let (Some(source), Some(destination)) = (address(frame.source), address(frame.destination)) {
            let packet = Packet {
                source,
                destination,
                protocol: format.protocol,
                dscp: frame.dscp,
                ecn: frame.ecn,
                id: frame.id as u16,
                way: None,
                bytes: &frame.bytes,
            };
            capture.packet(now, interface, &packet);
        }
    }

    /// After a link was touched: takes dropped frames back, sends ahead the frames that can be, and notes the time at which the
    /// link wants to be woken.
    ///
    /// Sending ahead: a packet that a link has sent will arrive at a known time. If it goes on over a link that nothing
    /// else feeds, that link can be told at once: its packets come in the same order, at the same times, as if it were
    /// told when they arrive. So a packet costs an event only where ways meet, and where it reaches its host.
    #[inline]
    pub(crate) fn settle(&mut self, index: u32) {
        let at = self.send_on(index);
        self.queue.set_if_earlier(FIRST_LINK + index, at);
    }

    /// As [`Network::settle`], for a link that has been woken.
    #[inline]
    pub(crate) fn settle_woken(&mut self, index: u32) {
        let at = self.send_on(index);
        self.queue.set(FIRST_LINK + index, at);
    }

    /// Takes dropped frames back from a link and sends ahead the frames that can be. Returns the time at which the link wants to be woken.
    #[inline]
    fn send_on(&mut self, index: u32) -> Option<Instant> {
        if self.wires.get(index as usize).is_some_and(|wire| wire.feeds_ahead) {
            self.send_ahead(index);
        }
        let link = &self.wires.get(index as usize)?.link;
        let (at, has_dropped) = (link.poll_timeout(), link.has_dropped());
        if has_dropped {
            self.take_dropped(index);
        }
        at
    }

    #[inline(never)]
    fn take_dropped(&mut self, index: u32) {
        let Some(Wire { link, series, shares, .. }) = self.wires.get_mut(index as usize) else { return };
        while let Some(dropped) = link.poll_dropped() {
            if let Some(series) = series {
                series.drops += 1;
            }
            if let Some(shares) = shares {
                shares.dropped(&dropped);
            }
            if dropped.at < self.end {
                self.recorder.dropped(index as u16, &dropped);
                let flow = dropped.frame.flow as usize;
                if dropped.at >= self.counts_from && self.senders.get(flow) == Some(&dropped.frame.source) {
                    if let Some(lost) = self.lost.get_mut(flow) {
                        *lost += 1;
                    }
                }
            }
            let mut buffer = dropped.frame.bytes;
            if buffer.capacity() > 0 {
                buffer.clear();
                self.buffers.push(buffer);
            }
        }
    }

    fn send_ahead(&mut self, index: u32) {
        while let Some(wire) = self.wires.get_mut(index as usize) {
            let node = wire.to;
            let Some((_, frame)) = wire.link.peek_sent() else { return };
            let (destination, dscp) = (frame.destination, frame.dscp);
            let hop = self.hop(node, destination, dscp);
            if !self.wires.get(hop as usize).is_some_and(|next| next.fed_by_one) {
                return;
            }
            let Some(sent) = self.wires.get_mut(index as usize).and_then(|wire| wire.link.poll_sent()) else {
                return;
            };
            let (at, frame) = sent;
            self.hops += u64::from(at < self.end);
            self.enter(at, hop, frame);
        }
    }
}

/// Bytes of the IP header of a node's packets.
fn ip_header(addresses: &[IpAddr], node: u32) -> u32 {
    if addresses.get(node as usize).is_some_and(IpAddr::is_ipv6) { 40 } else { 20 }
}
