//! The content of TCP segments.

use anabranch_tcp::header::Flags;

use super::{Analysis, Assumptions, Ending};
use crate::packet::{Packet, Sum, Tcp};
use crate::space::{Ack, Outgoing, Space};

/// RFC 7323, section 2.3: a larger shift counts as this one.
const LARGEST_SHIFT: u8 = 14;

impl Analysis {
    pub(super) fn tcp(&mut self, packet: &Packet<'_>, tcp: &Tcp, back: bool, assumed: &Assumptions) {
        let header = &tcp.header;
        let elapsed = self.elapsed_ns;
        let (syn, fin) = (header.flags.has(Flags::SYN), header.flags.has(Flags::FIN));
        let (ack, reset) = (header.flags.has(Flags::ACK), header.flags.has(Flags::RST));
        let answered = self.syn_answered;
        if syn && !ack {
            self.opened_ns.get_or_insert((packet.stretch, packet.time_ns));
        }
        self.syn_answered |= syn && ack;
        let third = answered && ack && !syn && !back && self.established_ns.is_none();
        if third {
            self.established_ns = Some((packet.stretch, packet.time_ns));
        }
        let (side, peer) = self.both(back);
        side.wrong_checksums += u64::from(tcp.sum == Sum::Bad);
        if syn {
            side.scale = header.options.window_scale.map(|scale| scale.min(LARGEST_SHIFT));
            side.mss = header.options.mss;
            side.sack_permitted = header.options.sack_permitted;
            side.timestamps = header.options.timestamps.is_some();
        }
        // The window of a SYN is never scaled, and others only where both sides have said how.
        let shift = if syn || peer.scale.is_none() { 0 } else { side.scale.unwrap_or(0) };
        let window = u64::from(header.window) << shift;
        let changed = window != side.offered.now();
        if !reset {
            side.offered.seen(window);
        }
        // The acknowledgement of this side, in the numbers of the other.
        if ack && !reset {
            if let Some(space) = peer.spaces.get_mut(&-1) {
                let next = space.widen(header.ack);
                let mut blocks: Vec<(i64, i64)> = Vec::new();
                let mut twice = Vec::new();
                let told = header.options.sack.as_slice();
                for (at, &(left, right)) in told.iter().enumerate() {
                    let block = (space.widen(left), space.widen(right));
                    // RFC 2883, section 4: the first block is below the acknowledgement, or inside the second.
                    let inside = told.get(1).is_some_and(|&(left, right)| {
                        space.widen(left) <= block.0 && block.1 <= space.widen(right)
                    });
                    if at == 0 && (block.1 <= next || inside) {
                        twice.push(block);
                    } else if block.0 < block.1 {
                        blocks.push(block);
                    }
                }
                let more = tcp.length > 0 || syn || fin || (changed && blocks.is_empty());
                space.acknowledge(Ack {
                    time_ns: packet.time_ns,
                    stretch: packet.stretch,
                    next,
                    blocks,
                    twice,
                    window,
                    more,
                    echo: header.options.timestamps.map(|(_, echo)| echo),
                });
            }
        }
        // SYN and FIN have a number each.
        let numbers = i64::from(tcp.length) + i64::from(syn) + i64::from(fin);
        let space =
            side.spaces.entry(-1).or_insert_with(|| Space::new(header.seq, 32, assumed.least_timeout_ns));
        let start = space.widen(header.seq);
        let before = space.again.len();
        let mut again = 0;
        if numbers > 0 && !reset {
            again = space.send(Outgoing {
                frame: packet.number,
                time_ns: packet.time_ns,
                stretch: packet.stretch,
                start,
                end: start + numbers,
                bytes: tcp.length,
                stamp: header.options.timestamps.map(|(value, _)| value),
            });
        }
        // A keep-alive has no data, and is one below the expected number: RFC 9293, section 3.8.4.
        let keep_alive =
            numbers == 0 && ack && !reset && start + 1 == space.highest && space.next == Some(space.highest);
        side.packets_again += u64::from(space.again.len() > before);
        let again = u64::from(again.min(tcp.length));
        let purposes = &mut side.purposes;
        if tcp.length > 0 {
            purposes.payload += u64::from(tcp.length) - again;
            purposes.payload_again += again;
            purposes.network_headers += u64::from(packet.outside);
            purposes.transport_headers += u64::from(tcp.header_length);
            side.data_seen(elapsed);
        } else {
            let purpose = if syn || third {
                &mut purposes.handshake
            } else if fin || reset {
                &mut purposes.teardown
            } else if keep_alive {
                &mut purposes.control
            } else {
                &mut purposes.acknowledgements
            };
            *purpose += u64::from(packet.outside) + u64::from(tcp.header_length);
        }
        if reset {
            self.ending = Ending::Aborted;
        }
        if fin {
            if let Some(slot) = self.fins.get_mut(usize::from(back)) {
                *slot = true;
            }
            if self.ending != Ending::Aborted {
                self.ending = if self.fins == [true; 2] { Ending::Closed } else { Ending::HalfClosed };
            }
        }
    }
}
