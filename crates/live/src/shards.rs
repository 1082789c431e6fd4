//! Several drivers behind the same UDP addresses, each on a thread of its own: which of them a packet is for.
//!
//! The verification tag of a packet names the shard of its association: a tag drawn by a shard, modulo the number of
//! shards, is the shard's number. An INIT has no tag yet, and a chunk with the T bit has the peer's (RFC 9260, 8.5.1):
//! those go by the address of the sender and both SCTP ports. UDP ports, which may change while an association lives
//! (RFC 6951, 5.4), say nothing.
//!
//! The kernel hands out by the same rule where it lets us tell it (`linux.rs`). A packet that reaches another shard all
//! the same, such as one of a batch that GRO has joined from several associations, is passed on in this process.

use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use anabranch_base::Meta;
use anabranch_sctp::{IcmpError, IcmpKind, Shard};
use tokio::sync::mpsc;

/// Packets that may wait for another shard. Further packets are lost, as on a network.
const MOST_WAITING: usize = 4096;
/// Chunk types with a T bit: ABORT and SHUTDOWN COMPLETE (RFC 9260, 3.3.7, 3.3.13), and the bit.
pub(crate) const ABORT: u8 = 6;
pub(crate) const SHUTDOWN_COMPLETE: u8 = 14;
pub(crate) const REFLECTED: u8 = 1;
/// Spreads addresses and ports (Knuth, multiplicative hashing); the upper half of the product counts.
pub(crate) const SPREAD: u32 = 0x9e37_79b1;

/// The shard that an INIT is for: of an address of the peer, and both SCTP ports, the peer's first.
pub(crate) fn of_peer(peer: IpAddr, (theirs, ours): (u16, u16), count: u16) -> u16 {
    let address = match peer {
        IpAddr::V4(v4) => v4.to_bits(),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            (0..4).fold(0, |sum, word| sum ^ (bits >> (32 * word)) as u32)
        }
    };
    let ports = u32::from(theirs) << 16 | u32::from(ours);
    ((address ^ ports).wrapping_mul(SPREAD) >> 16) as u16 % count.max(1)
}

/// The shard that a packet is for; `None` where it is too short to say.
pub(crate) fn of_packet(source: IpAddr, packet: &[u8], count: u16) -> Option<u16> {
    let (&[a, b, c, d, t, u, v, w], rest) = packet.split_first_chunk::<8>()?;
    let tag = u32::from_be_bytes([t, u, v, w]);
    let reflected =
        matches!(rest.get(4..6), Some([ABORT | SHUTDOWN_COMPLETE, flags]) if flags & REFLECTED != 0);
    if tag == 0 || reflected {
        let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        return Some(of_peer(source, ports, count));
    }
    Some(Shard::of_tag(tag, count))
}

/// A packet or ICMP error that one shard has received for another.
#[derive(Debug)]
pub(crate) enum Forwarded {
    Packet(Meta, Vec<u8>),
    Icmp { kind: IcmpKind, destination: IpAddr, quoted: Vec<u8>, udp_port: Option<u16> },
}

/// One shard among its siblings, as its driver has it.
#[derive(Debug)]
pub(crate) struct Siblings {
    shard: Shard,
    senders: Arc<[mpsc::Sender<Forwarded>]>,
    receiver: mpsc::Receiver<Forwarded>,
}

impl Siblings {
    /// So many of them.
    pub(crate) fn all(count: u16) -> Vec<Self> {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| mpsc::channel(MOST_WAITING)).unzip();
        let senders: Arc<[_]> = senders.into();
        let with_number = (0..count).zip(receivers);
        let all = with_number.filter_map(|(index, receiver)| {
            let shard = Shard::new(index, count)?;
            Some(Self { shard, senders: Arc::clone(&senders), receiver })
        });
        all.collect()
    }

    pub(crate) fn shard(&self) -> Shard {
        self.shard
    }

    /// Passes on a packet that is for another. False: it is for this one.
    pub(crate) fn pass_on(&self, meta: &Meta, packet: &[u8]) -> bool {
        let Some(owner) = of_packet(meta.source.ip(), packet, self.shard.count()) else { return false };
        if owner == self.shard.index() {
            return false;
        }
        if let Some(sender) = self.senders.get(usize::from(owner)) {
            let _ = sender.try_send(Forwarded::Packet(*meta, packet.to_vec()));
        }
        true
    }

    /// Passes an ICMP error to all other shards: the kernel gives it to any socket of the port, and it quotes a packet
    /// of ours with the peer's tag, which does not name the shard.
    pub(crate) fn tell(&self, error: &IcmpError<'_>) {
        for (index, sender) in self.senders.iter().enumerate() {
            if index != usize::from(self.shard.index()) {
                let _ = sender.try_send(Forwarded::Icmp {
                    kind: error.kind,
                    destination: error.destination,
                    quoted: error.quoted.to_vec(),
                    udp_port: error.udp_port,
                });
            }
        }
    }

    /// The next packet or error that another shard has passed on. Wakes the task when there is one.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Forwarded> {
        match self.receiver.poll_recv(cx) {
            Poll::Ready(Some(forwarded)) => Poll::Ready(forwarded),
            // `None` cannot come: this shard itself holds a sender of the channel.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(tag: u32, chunk: u8, flags: u8) -> Vec<u8> {
        let mut packet = vec![0x13, 0x88, 0xc0, 0x01];
        packet.extend_from_slice(&tag.to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0, 0, chunk, flags, 0, 4]);
        packet
    }

    #[test]
    fn tags_decide_and_where_they_say_nothing_the_peer() {
        let peer: IpAddr = "192.0.2.7".parse().expect("an address");
        let home = of_peer(peer, (0x1388, 0xc001), 5);
        for tag in [1u32, 2, 77, u32::MAX] {
            assert_eq!(of_packet(peer, &packet(tag, 0, 3), 5), Some((tag % 5) as u16));
            assert_eq!(of_packet(peer, &packet(tag, ABORT, 0), 5), Some((tag % 5) as u16));
            assert_eq!(of_packet(peer, &packet(tag, ABORT, REFLECTED), 5), Some(home));
            assert_eq!(of_packet(peer, &packet(tag, SHUTDOWN_COMPLETE, REFLECTED), 5), Some(home));
        }
        assert_eq!(of_packet(peer, &packet(0, 1, 0), 5), Some(home));
        assert_eq!(of_packet(peer, &[1, 2, 3], 5), None);
    }

    #[test]
    fn peers_are_spread() {
        let count = 4;
        for v6 in [false, true] {
            let mut shards = [0; 4];
            for n in 0..4000u32 {
                let peer = if v6 {
                    IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, (n / 40) as u16])
                } else {
                    IpAddr::from((0x0a00_0000 + n / 40).to_be_bytes())
                };
                shards[usize::from(of_peer(peer, (49152 + (n % 40) as u16, 5000), count))] += 1;
            }
            assert!(shards.iter().all(|n| (800..1200).contains(n)), "{shards:?}");
        }
    }
}
