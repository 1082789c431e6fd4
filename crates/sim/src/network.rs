//! The links between the nodes, and the way of a packet over them.

use std::net::IpAddr;

use anabranch_base::Instant;
use anabranch_link::{Frame, Link};

use crate::event_queue::{Entity, EventQueue};
use crate::record::{Packet, Recorder};

/// No link leads there.
pub(crate) const NO_LINK: u32 = u32::MAX;

/// Number of the first link among the entities; entity 0 is the world's own clock.
pub(crate) const FIRST_LINK: Entity = 1;

/// A link in its place.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) link: Link,
    /// The node at its far end.
    pub(crate) to: u32,
    /// Its number in the capture.
    pub(crate) interface: Option<u32>,
}

/// Everything between the hosts.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) queue: EventQueue,
    pub(crate) wires: Vec<Wire>,
    /// For node `n` and destination `d`, at `n * nodes + d`: the link, or [`NO_LINK`].
    pub(crate) next_hop: Vec<u32>,
    pub(crate) nodes: u32,
    /// Address of each node.
    pub(crate) addresses: Vec<IpAddr>,
    /// IP protocol of each flow.
    pub(crate) protocols: Vec<u8>,
    pub(crate) recorder: Recorder,
    /// Whether some loss model asks which packets carry data.
    pub(crate) marks_data: bool,
    /// Packets that arrived at the far end of a link.
    pub(crate) hops: u64,
    /// Empty buffers, to be used again: the last one first, because it is still in the cache.
    pub(crate) buffers: Vec<Vec<u8>>,
    pub(crate) next_id: u32,
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
        buffer.clear();
        self.buffers.push(buffer);
    }

    /// A number for a new packet.
    #[inline]
    pub(crate) fn new_id(&mut self) -> u32 {
        self.next_id = self.next_id.wrapping_add(1);
        self.next_id
    }

    /// Sends a packet on its way from `node`. Forwarding takes no time.
    pub(crate) fn forward(&mut self, now: Instant, node: u32, frame: Frame) {
        let hop = self.next_hop.get((node * self.nodes + frame.destination) as usize).copied();
        let Some(wire) = hop.and_then(|hop| self.wires.get_mut(hop as usize)) else {
            // Nobody there: a packet for an address that is no host's.
            self.recycle(frame.bytes);
            return;
        };
        if let (Some(interface), Some(capture)) = (wire.interface, &mut self.recorder.capture) {
            let address = |node: u32| self.addresses.get(node as usize).copied();
            if let (Some(source), Some(destination)) = (address(frame.source), address(frame.destination)) {
                let packet = Packet {
                    source,
                    destination,
                    protocol: self.protocols.get(frame.flow as usize).copied().unwrap_or_default(),
                    dscp: frame.dscp,
                    ecn: frame.ecn,
                    id: frame.id as u16,
                    bytes: &frame.bytes,
                };
                capture.packet(now, interface, &packet);
            }
        }
        wire.link.handle_frame(now, frame);
        self.settle(hop.unwrap_or(NO_LINK));
    }

    /// After a link was touched: takes back what it dropped, and notes when it wants to be woken.
    #[inline]
    pub(crate) fn settle(&mut self, wire: u32) {
        let Some(Wire { link, .. }) = self.wires.get_mut(wire as usize) else { return };
        while let Some(dropped) = link.poll_dropped() {
            self.recorder.dropped(wire as u16, &dropped);
            let mut buffer = dropped.frame.bytes;
            buffer.clear();
            self.buffers.push(buffer);
        }
        self.queue.set(FIRST_LINK + wire, link.poll_timeout());
    }
}
