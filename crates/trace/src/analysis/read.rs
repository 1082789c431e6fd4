//! The packets of each flow, one after the other.

use super::{Analysis, Assumptions};
use crate::flow::{Flow, Flows};
use crate::packet::{Content, Packet};

impl Analysis {
    /// Analyses a flow from its packets, each with whether it went back to the client.
    fn of(flow: &Flow, packets: &[(&Packet<'_>, bool)], assumed: &Assumptions) -> Self {
        let mut analysis = Self::default();
        for &(packet, back) in packets {
            let [client, server] = &mut analysis.sides;
            let side = if back { server } else { client };
            side.packets += 1;
            side.marked += u64::from(packet.ecn == 3);
            analysis.pass(packet);
            match &packet.content {
                Content::Tcp(tcp) => analysis.tcp(packet, tcp, back, assumed),
                Content::Sctp(sctp) => analysis.sctp(packet, sctp, back, flow.sf2007, assumed),
                _ => {}
            }
        }
        analysis
    }
}

/// Analyses every flow, in their order.
pub(crate) fn all(packets: &[Packet<'_>], flows: &Flows, assumed: &Assumptions) -> Vec<Analysis> {
    let mut lists: Vec<Vec<(&Packet<'_>, bool)>> = vec![Vec::new(); flows.flows.len()];
    for (index, packet) in packets.iter().enumerate() {
        if let Some(place) = flows.counted(index, packet) {
            if let Some(list) = lists.get_mut(place.flow) {
                list.push((packet, place.back));
            }
        }
    }
    for list in &mut lists {
        // Interfaces may have been written one after the other. Where times go back the order of the file counts.
        list.sort_by_key(|(packet, _)| (packet.stretch, packet.time_ns));
    }
    let mut all: Vec<Analysis> =
        flows.flows.iter().zip(&lists).map(|(flow, list)| Analysis::of(flow, list, assumed)).collect();
    for (packet, place) in packets.iter().zip(&flows.places) {
        let Some(place) = place.filter(|_| packet.copy_of.is_some()) else { continue };
        let side =
            all.get_mut(place.flow).and_then(|analysis| analysis.sides.get_mut(usize::from(place.back)));
        if let Some(side) = side {
            side.copies += 1;
        }
    }
    all
}
