//! Packets on their way out: the chunks that are bundled, and their order. The sender chooses the data, and the receiver
//! the acknowledgements.

use anabranch_base::{Dscp, Ecn, Transmit, cold_path};
use anabranch_wire::{ChecksumOut, CommonHeader, PacketBuilder};

use super::checksum::checksum_of;
use super::control_chunks::{Sources, wants_control, write_control, write_mtu_probe, write_shutdown};
use super::deferred_packet::{DeferredPacket, Route};
use super::handshake::Handshake;
use crate::config::{Config, MtuDiscovery};
use crate::context::Context;
use crate::control::Kind;
use crate::ids::{PathId, SpaceId};
use crate::path::Path;
use crate::scope::Scope;
use crate::sender::{Next, Sender};
use crate::state::State;

/// Makes packets. It has the ports, tags and checksum that every packet of an association has, and the packet that waits for the next batch.
#[derive(Debug)]
pub(super) struct PacketWriter {
    local_port: u16,
    peer_port: u16,
    local_tag: u32,
    peer_tag: u32,
    /// The checksum that packets leave with.
    checksum: ChecksumOut,
    deferred: Option<Box<DeferredPacket>>,
}

impl PacketWriter {
    /// For packets between two ports, ours and the peer's; neither side has a tag yet.
    pub(super) fn new(config: &Config, ports: (u16, u16)) -> Self {
        Self {
            local_port: ports.0,
            peer_port: ports.1,
            local_tag: 0,
            peer_tag: 0,
            checksum: checksum_of(config),
            deferred: None,
        }
    }

    /// Our SCTP port, and the peer's.
    pub(super) fn ports(&self) -> (u16, u16) {
        (self.local_port, self.peer_port)
    }

    /// The verification tag that the peer's packets must have, and the one that ours have.
    pub(super) fn tags(&self) -> (u32, u32) {
        (self.local_tag, self.peer_tag)
    }

    /// The tag that an INIT of ours says.
    pub(super) fn set_local_tag(&mut self, tag: u32) {
        self.local_tag = tag;
    }

    /// The peer has said which tag its packets are to have.
    pub(super) fn set_peer_tag(&mut self, tag: u32) {
        self.peer_tag = tag;
    }

    /// True if packets leave with a checksum of zero.
    pub(super) fn leaves_checksum_out(&self) -> bool {
        self.checksum == ChecksumOut::Zero
    }

    /// The association is up, with or without checksums. Before that they are always right: "When an endpoint sends a packet
    /// containing a COOKIE ECHO chunk, it MUST include a correct CRC32c checksum", and so it is with INIT (RFC 9653, 5.2).
    // rfc9653:5.2-2 rfc9653:5.2-4 rfc9653:5.2-6
    pub(super) fn settle_checksum(&mut self, config: &Config, zero: bool) {
        self.checksum = if zero { ChecksumOut::Zero } else { checksum_of(config) };
    }

    /// A peer that does not answer may have forgotten the association, and then takes no packet without a checksum (RFC 9653, 5.3): it
    /// could never answer that all is delivered, or that it has no such association. So every packet until it answers has one.
    fn checksum_now(&self, scope: &Scope<'_>) -> ChecksumOut {
        if scope.cx.paths.errors() > 0 { checksum_of(scope.cx.env.config()) } else { self.checksum }
    }

    /// True if a packet waits for the next batch.
    #[inline]
    pub(super) fn has_deferred(&self) -> bool {
        self.deferred.is_some()
    }

    /// The packet that waits is not sent any more.
    pub(super) fn forget_deferred(&mut self) {
        self.deferred = None;
    }

    /// Appends up to `max_packets` packets of equal size (the last may be shorter) to `buf`.
    // rfc6951:5.3-1
    #[allow(clippy::inline_always, reason = "the association is its only caller; measured")]
    #[inline(always)]
    pub(super) fn poll(
        &mut self,
        from: &mut Sources<'_>,
        max_packets: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let start = buf.len();
        let route = self.next_packet(from, buf)?;
        let segment_size = buf.len() - start;
        let mut packets = 1;
        while packets < max_packets {
            let before = buf.len();
            let Some(next) = self.next_packet(from, buf) else { break };
            let size = buf.len() - before;
            if next != route || size > segment_size {
                // The packet was built, so its chunks count as sent.
                let bytes = buf.split_off(before);
                self.deferred = Some(Box::new(DeferredPacket { bytes, route: next }));
                break;
            }
            packets += 1;
            if size < segment_size {
                break;
            }
        }
        let path = from.scope.cx.paths.get(route.path)?;
        Some(Transmit {
            destination: path.remote(),
            source: path.local(),
            dscp: route.dscp,
            ecn: route.ecn,
            dont_fragment: route.dont_fragment,
            size: buf.len() - start,
            segment_size,
        })
    }

    /// Takes the deferred packet and frees its memory: an association that is idle after its first probe of the path keeps none.
    #[cold]
    fn take_deferred(&mut self, buf: &mut Vec<u8>) -> Option<Route> {
        let deferred = self.deferred.take()?;
        buf.extend_from_slice(&deferred.bytes);
        Some(deferred.route)
    }

    /// Appends one packet.
    // rfc9260:3.1-3 rfc9260:3.1-4 rfc9260:3.3.2-6 rfc9260:3.3.3-4 rfc9260:3.3.11-1 rfc9260:6.10-1
    // rfc9260:6.10-3 rfc9260:8.5.1-4 rfc9260:8.5.1-12
    fn next_packet(&mut self, from: &mut Sources<'_>, buf: &mut Vec<u8>) -> Option<Route> {
        if self.deferred.is_some() {
            return self.take_deferred(buf);
        }
        let state = from.scope.cx.env.state();
        let mut chosen = if state.sends_data() { from.scope.sender.choose(from.scope.cx) } else { None };
        let control =
            wants_control(from.scope.cx, from.scope.sender, from.scope.control, from.reconfig.as_deref());
        let sack = state.is_up() && from.scope.receiver.arrivals().owes_sack();
        if chosen.is_none() && !control && !sack {
            return None;
        }
        let path = path_of_packet(from, control, chosen.as_ref());
        if from.scope.cx.paths.len() > 1 {
            cold_path();
            // The chosen data leaves with the next packet, if this one goes elsewhere.
            chosen = chosen.filter(|next| next.path == path);
        }
        let several = from.scope.sender.tables().has_several_spaces();
        let acknowledged =
            if several && chosen.is_none() { from.scope.receiver.arrivals().first_owing() } else { None };
        let header = CommonHeader {
            source_port: self.local_port,
            destination_port: self.peer_port,
            // "the Verification Tag of the packet containing the INIT chunk MUST be set to 0" (8.5.1 A).
            verification_tag: if from.scope.control.is_due(Kind::Init) { 0 } else { self.peer_tag },
        };
        let mut packet = PacketBuilder::new(buf, header);
        let on = from.scope.cx.paths.get(path)?;
        let (limit, fixed) = (on.max_packet(), on.size().is_fixed());
        let before = packet.buffer().len();
        if control && write_mtu_probe(from.scope.cx, from.scope.control, &mut packet, path) {
            cold_path();
            from.scope.cx.report.stats.control.leave(packet.buffer().get(before..).unwrap_or_default());
            packet.finish(self.checksum_now(&from.scope));
            let dscp = from.scope.sender.dscp_of_space(None);
            return Some(Route { path, dscp, ecn: Ecn::NotEct, dont_fragment: true });
        }
        let more = write_control(from, self.local_tag, &mut packet, limit, path, control, chosen.is_some());
        if more {
            // In COOKIE-ECHOED only the packet with the COOKIE ECHO may carry DATA (5.1 C).
            if from.scope.cx.env.state() == State::CookieEchoed && !packet.has_no_chunks() {
                cold_path();
                chosen = from.scope.sender.choose_with_cookie(from.scope.cx).filter(|next| next.path == path);
                // Where a network drops the code point of the data, the COOKIE ECHO gets through without it.
                let turn = from.phase.handshake().map_or(0, Handshake::code_point);
                if turn > 0 {
                    chosen = chosen.filter(|next| next.dscp == from.scope.sender.dscp_in_turn(turn));
                }
            }
            write_sack_and_data(&mut from.scope, &mut packet, limit, path, chosen.as_ref());
        }
        if packet.has_no_chunks() {
            cold_path();
            // No other subflow is asked: a chosen subflow must have something to send.
            debug_assert!(chosen.is_none(), "{chosen:?} was chosen and wrote nothing");
            packet.abandon();
            return None;
        }
        let len = packet.finish(self.checksum_now(&from.scope));
        // "if the PMTU has been reduced, then IP fragmentation MUST be used" (6.9): a packet that is longer than the path
        // MTU could not be made shorter.
        let dont_fragment =
            len <= limit && !fixed && from.scope.cx.env.config().path_mtu.discovery != MtuDiscovery::Off;
        // A packet without data goes like one of the subflow that it acknowledges, or of the first.
        let dscp = match chosen {
            Some(next) => next.dscp,
            None => dscp_without_data(from, acknowledged),
        };
        let ecn = match &chosen {
            Some(next) if from.scope.cx.env.ect() != Ecn::NotEct => {
                ecn_of(from.scope.cx, from.scope.sender, path, next)
            }
            _ => Ecn::NotEct,
        };
        Some(Route { path, dscp, ecn, dont_fragment })
    }
}

/// Code point of a packet without data: that of the subflow whose space it acknowledges, or of the first. INIT and COOKIE ECHO are
/// repeated with the code points of the others in turn: a network that drops one does not keep the association from coming up.
#[inline]
fn dscp_without_data(from: &Sources<'_>, acknowledged: Option<SpaceId>) -> Dscp {
    match from.phase.handshake() {
        Some(handshake) if handshake.code_point() > 0 => {
            cold_path();
            from.scope.sender.dscp_in_turn(handshake.code_point())
        }
        _ => from.scope.sender.dscp_of_space(acknowledged),
    }
}

/// The path of the next packet: that of its first control chunk, of its data, or of the data that it acknowledges.
#[inline]
fn path_of_packet(from: &Sources<'_>, control: bool, chosen: Option<&Next>) -> PathId {
    if from.scope.cx.paths.len() == 1 {
        return from.scope.cx.paths.for_control();
    }
    path_of_several(from, control, chosen)
}

#[inline(never)]
fn path_of_several(from: &Sources<'_>, control: bool, chosen: Option<&Next>) -> PathId {
    let wants_heartbeat = || from.scope.cx.paths.iter().find(|(_, path)| path.wants_heartbeat());
    let of_control = || {
        let reconfig = || {
            let due =
                from.reconfig.as_deref().filter(|reconfig| reconfig.is_due(from.scope.cx, from.scope.sender));
            due.map(|reconfig| reconfig.path_due(from.scope.cx, from.scope.sender))
        };
        let heartbeat = || wants_heartbeat().map(|(id, _)| id);
        let forward =
            || from.scope.sender.special().forward_path().filter(|_| from.scope.cx.env.state().sends_data());
        from.scope.control.first_path().or_else(reconfig).or_else(heartbeat).or_else(forward)
    };
    let of_control = if control { of_control() } else { None };
    of_control
        .or(chosen.map(|next| next.path))
        .or_else(|| from.scope.receiver.arrivals().answer_path())
        .unwrap_or(from.scope.cx.paths.for_control())
}

fn write_sack_and_data(
    scope: &mut Scope<'_>,
    packet: &mut PacketBuilder<'_>,
    limit: usize,
    path: PathId,
    chosen: Option<&Next>,
) {
    if scope.cx.env.state().is_up() && scope.receiver.arrivals().has_pending_sack() {
        let len = chosen.and_then(|next| scope.sender.first_chunk_len(scope.cx, next));
        scope.receiver.write_acknowledgements(scope.cx, packet, limit, len);
    }
    if chosen.is_none() {
        write_shutdown(scope, packet, limit, path);
    }
    if let Some(next) = chosen {
        scope.sender.write_data(scope.cx, packet, limit, next);
    }
}

/// The ECN field of a packet whose data begins with `next`. Control chunks alone are Not-ECT, as are retransmissions ("TCP
/// senders MUST NOT set either an ECT(0) or ECT(1) codepoint in the IP header for retransmitted data packets", RFC 3168, 6.1.5) and window
/// probes (RFC 3168, 6.1.6). So is the data that rides with COOKIE ECHO: whether ECT gets through at all is to be found out by data
/// that nothing else depends on.
#[inline]
fn ecn_of(cx: &Context, sender: &Sender, path: PathId, next: &Next) -> Ecn {
    let capable = sender.is_ecn_capable(next) && cx.env.state() != State::CookieEchoed;
    if capable && !cx.paths.get(path).is_none_or(Path::refuses_ect) { cx.env.ect() } else { Ecn::NotEct }
}
