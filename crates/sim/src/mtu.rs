//! Links that do not carry packets of every size, and the ICMP errors of their routers.

use std::net::IpAddr;

use anabranch_base::Instant;
use anabranch_link::Frame;

/// Bytes of the transport that an ICMP message quotes: as many as every router must (RFC 792).
const QUOTED: usize = 8;

/// The MTU of a link over time, and its answer to larger packets.
#[derive(Clone, Debug)]
pub(crate) struct LinkMtu {
    /// The largest IP packet, bytes, from which time on; the first from the start.
    pub(crate) steps: Vec<(Instant, u32)>,
    /// Whether the sender is told (ICMP).
    pub(crate) answers: bool,
}

/// The decision about a packet at a link with an MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The packet goes on, as so many bytes: with a header for each fragment.
    Passes(u32),
    /// The packet is lost; the link carries so many bytes.
    TooBig(u32),
}

impl LinkMtu {
    /// Decides on a packet that comes now.
    pub(crate) fn verdict(&self, now: Instant, frame: &Frame, header: u32) -> Verdict {
        let passed = self.steps.partition_point(|(from, _)| *from <= now);
        let mtu =
            passed.checked_sub(1).and_then(|last| self.steps.get(last)).map_or(u32::MAX, |(_, mtu)| *mtu);
        if frame.size <= mtu {
            return Verdict::Passes(frame.size);
        }
        if frame.dont_fragment {
            return Verdict::TooBig(mtu);
        }
        // Fragments carry multiples of eight bytes (RFC 791, 3.2).
        let room = (mtu.saturating_sub(header) & !7).max(8);
        let fragments = frame.size.saturating_sub(header).div_ceil(room).max(1);
        Verdict::Passes(frame.size + (fragments - 1) * header)
    }
}

/// "Fragmentation Needed" (RFC 1191) or "Packet Too Big" (RFC 4443) about a packet between two addresses.
pub(crate) fn too_big(source: IpAddr, destination: IpAddr, protocol: u8, mtu: u32, packet: &[u8]) -> Vec<u8> {
    let quoted = packet.get(..QUOTED).unwrap_or(packet);
    let mut message = Vec::with_capacity(64);
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            message.extend([3, 4, 0, 0, 0, 0]);
            message.extend(u16::try_from(mtu).unwrap_or(u16::MAX).to_be_bytes());
            message.extend([0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0]);
            message.extend(source.octets());
            message.extend(destination.octets());
        }
        (source, destination) => {
            let octets = |address: IpAddr| match address {
                IpAddr::V6(address) => address.octets(),
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            };
            message.extend([2, 0, 0, 0]);
            message.extend(mtu.to_be_bytes());
            message.extend([0x60, 0, 0, 0, 0, 0, protocol, 64]);
            message.extend(octets(source));
            message.extend(octets(destination));
        }
    }
    message.extend(quoted);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_and_in_how_many_pieces() {
        let second = |n: u64| Instant::from_nanos(n * 1_000_000_000);
        let rule = LinkMtu { steps: vec![(second(0), 1500), (second(5), 576)], answers: true };
        let whole = |size| Frame { size, dont_fragment: true, ..Frame::default() };
        let any = |size| Frame { size, ..Frame::default() };
        assert_eq!(rule.verdict(second(4), &whole(1500), 20), Verdict::Passes(1500));
        assert_eq!(rule.verdict(second(4), &whole(1501), 20), Verdict::TooBig(1500));
        assert_eq!(rule.verdict(second(5), &whole(577), 20), Verdict::TooBig(576));
        assert_eq!(rule.verdict(second(9), &any(576), 20), Verdict::Passes(576));
        // 1480 bytes in pieces of 552.
        assert_eq!(rule.verdict(second(9), &any(1500), 20), Verdict::Passes(1540));
    }
}
