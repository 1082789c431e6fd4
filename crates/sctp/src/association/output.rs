//! Packets on their way out: what is bundled, and in which order. What data may leave is for the sender to say, and what is
//! acknowledged for the receiver.

use anabranch_base::{Dscp, Ecn, Transmit, rare};
use anabranch_wire::chunk::{
    CookieAck, CookieEcho, Heartbeat, HeartbeatKind, Shutdown, ShutdownAck, ShutdownComplete, heartbeat,
};
use anabranch_wire::param::{HeartbeatInfo, SupportedAddressTypes};
use anabranch_wire::{CommonHeader, PacketBuilder};

use super::control::{Kind, Next as NextControl};
use super::deferred_packet::{DeferredPacket, Route};
use super::init::OurInit;
use super::{Association, causes};
use crate::config::MtuDiscovery;
use crate::encoding::Encoding;
use crate::ids::{PathId, SpaceId, any_of};
use crate::negotiation::offer::Offer;
use crate::path::Path;
use crate::sender::Next;
use crate::state::State;

impl Association {
    /// Appends up to `max_packets` packets of equal size (the last may be shorter) to `buf`.
    // rfc6951:5.3-1
    #[allow(clippy::inline_always, reason = "the endpoint is its only caller; measured")]
    #[inline(always)]
    pub(crate) fn poll_transmit(
        &mut self,
        now: anabranch_base::Instant,
        max_packets: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        self.cx.set_now(now);
        if self.sender.has_ended(&self.cx) {
            self.end_lifetimes();
        }
        let start = buf.len();
        let route = self.next_packet(buf)?;
        let segment_size = buf.len() - start;
        let mut packets = 1;
        while packets < max_packets {
            let before = buf.len();
            let Some(next) = self.next_packet(buf) else { break };
            let size = buf.len() - before;
            if next != route || size > segment_size {
                // It was built, so its chunks count as sent.
                let bytes = buf.split_off(before);
                self.deferred_packet = Some(Box::new(DeferredPacket { bytes, route: next }));
                break;
            }
            packets += 1;
            if size < segment_size {
                break;
            }
        }
        let path = self.cx.paths.get(route.path)?;
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

    /// Whether anything might leave now. Cheap; may be wrong in favour of asking.
    #[inline]
    pub(crate) fn wants_to_transmit(&self) -> bool {
        self.receiver.arrivals().owes_sack()
            || self.sender.may_have_data()
            || self.wants_control()
            || self.deferred_packet.is_some()
    }

    /// Its room goes with it: an association that is idle afterwards, as most are behind their first probe of the path, keeps none.
    #[cold]
    fn take_deferred(&mut self, buf: &mut Vec<u8>) -> Option<Route> {
        let deferred = self.deferred_packet.take()?;
        buf.extend_from_slice(&deferred.bytes);
        Some(deferred.route)
    }

    /// Appends one packet.
    // rfc9260:3.1-3 rfc9260:3.1-4 rfc9260:3.3.2-6 rfc9260:3.3.3-4 rfc9260:3.3.11-1 rfc9260:6.10-1
    // rfc9260:6.10-3 rfc9260:8.5.1-4 rfc9260:8.5.1-12
    fn next_packet(&mut self, buf: &mut Vec<u8>) -> Option<Route> {
        if self.deferred_packet.is_some() {
            return self.take_deferred(buf);
        }
        let state = self.cx.state;
        let mut chosen = if state.sends_data() { self.sender.choose(&self.cx) } else { None };
        let control = self.wants_control();
        let sack = state.is_up() && self.receiver.arrivals().owes_sack();
        if chosen.is_none() && !control && !sack {
            return None;
        }
        let path = self.path_of_packet(control, chosen.as_ref());
        if self.cx.paths.len() > 1 {
            rare();
            // What was chosen leaves with the next packet, if this one goes elsewhere.
            chosen = chosen.filter(|next| next.path == path);
        }
        let several = self.sender.has_several_spaces();
        let acknowledged =
            if several && chosen.is_none() { self.receiver.arrivals().first_owing() } else { None };
        let header = CommonHeader {
            source_port: self.local_port,
            destination_port: self.peer_port,
            // "the Verification Tag of the packet containing the INIT chunk MUST be set to 0" (8.5.1 A).
            verification_tag: if self.control.is_due(Kind::Init) { 0 } else { self.peer_tag },
        };
        let mut packet = PacketBuilder::new(buf, header);
        let on = self.cx.paths.get(path)?;
        let (limit, fixed) = (on.max_packet(), on.is_mtu_fixed());
        let before = packet.buffer().len();
        if control && self.write_mtu_probe(&mut packet, path) {
            rare();
            self.cx.stats.control.leave(packet.buffer().get(before..).unwrap_or_default());
            packet.finish(self.checksum_now());
            let dscp = self.sender.dscp_of_space(None);
            return Some(Route { path, dscp, ecn: Ecn::NotEct, dont_fragment: true });
        }
        let more = self.write_control(&mut packet, limit, path, control, chosen.is_some());
        if more {
            // In COOKIE-ECHOED only the packet with the COOKIE ECHO may carry DATA (5.1 C).
            if self.cx.state == State::CookieEchoed && !packet.has_no_chunks() {
                rare();
                chosen = self.sender.choose_with_cookie(&self.cx).filter(|next| next.path == path);
                // Where a network drops the code point of the data, the COOKIE ECHO gets through without it.
                let turn = self.phase.handshake().map_or(0, |handshake| handshake.code_point);
                if turn > 0 {
                    chosen = chosen.filter(|next| next.dscp == self.sender.dscp_in_turn(turn));
                }
            }
            self.write_sack_and_data(&mut packet, limit, path, chosen.as_ref());
        }
        if packet.has_no_chunks() {
            rare();
            // Nobody else would be asked: a subflow that is chosen must have something to send.
            debug_assert!(chosen.is_none(), "{chosen:?} was chosen and wrote nothing");
            packet.abandon();
            return None;
        }
        let len = packet.finish(self.checksum_now());
        // "if the PMTU has been reduced, then IP fragmentation MUST be used" (6.9): what is longer than the path carries whole
        // could not be made shorter.
        let dont_fragment = len <= limit && !fixed && self.cx.config.path_mtu.discovery != MtuDiscovery::Off;
        // A packet without data goes like one of the subflow that it acknowledges, or of the first.
        let dscp = match chosen {
            Some(next) => next.dscp,
            None => self.dscp_without_data(acknowledged),
        };
        let ecn = match &chosen {
            Some(next) if self.cx.ect != Ecn::NotEct => self.ecn_of(path, next),
            _ => Ecn::NotEct,
        };
        Some(Route { path, dscp, ecn, dont_fragment })
    }

    /// Code point of a packet without data: that of the subflow whose space it acknowledges, or of the first. INIT and COOKIE ECHO are
    /// repeated with the code points of the others in turn: a network that drops one does not keep the association from coming up.
    #[inline]
    fn dscp_without_data(&self, acknowledged: Option<SpaceId>) -> Dscp {
        match self.phase.handshake() {
            Some(handshake) if handshake.code_point > 0 => {
                rare();
                self.sender.dscp_in_turn(handshake.code_point)
            }
            _ => self.sender.dscp_of_space(acknowledged),
        }
    }

    /// The path of the next packet: that of the control chunk that goes first, of the data, or of what it acknowledges.
    #[inline]
    fn path_of_packet(&self, control: bool, chosen: Option<&Next>) -> PathId {
        if self.cx.paths.len() == 1 {
            return PathId::FIRST;
        }
        self.path_of_several(control, chosen)
    }

    #[inline(never)]
    fn path_of_several(&self, control: bool, chosen: Option<&Next>) -> PathId {
        let wants_heartbeat = || self.cx.paths.iter().find(|(_, path)| path.wants_heartbeat());
        let of_control = || {
            let reconfig = || self.reconfig_due().then(|| self.reconfig_path());
            let heartbeat = || wants_heartbeat().map(|(id, _)| id);
            let forward = || self.sender.forward_path().filter(|_| self.cx.state.sends_data());
            self.control.first_path().or_else(reconfig).or_else(heartbeat).or_else(forward)
        };
        let of_control = if control { of_control() } else { None };
        of_control.or(chosen.map(|next| next.path)).unwrap_or_else(|| self.receiver.arrivals().answer_path())
    }

    /// Whether control chunks are to leave.
    #[inline]
    fn wants_control(&self) -> bool {
        // Bit by bit: one branch for what is seldom there.
        let rare = self.sender.has_special() | self.reconfig.is_some();
        self.control.any()
            || any_of(self.cx.paths.rows(), Path::wants_heartbeat)
            || (rare && self.wants_rare_control())
    }

    #[inline(never)]
    fn wants_rare_control(&self) -> bool {
        (self.sender.owes_forward() && self.cx.state.sends_data()) || self.reconfig_due()
    }

    /// Control chunks, if there are `any`, "placed first in the outbound SCTP packet" (6); `with_data` tells whether data is
    /// to follow. False when nothing may follow them.
    #[inline]
    fn write_control(
        &mut self,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        path: PathId,
        any: bool,
        with_data: bool,
    ) -> bool {
        let repeats_answer = with_data && self.reconfig.as_ref().is_some_and(|r| r.repeats_answer());
        if any || repeats_answer {
            rare();
            let before = packet.buffer().len();
            let more = self.write_controls(packet, limit, path, with_data, repeats_answer);
            self.cx.stats.control.leave(packet.buffer().get(before..).unwrap_or_default());
            more
        } else {
            self.cx.state != State::Closed
        }
    }

    // rfc9260:3-1 rfc9260:3.2.2-3 rfc9260:3.3.7-2 rfc9260:3.3.12-1 rfc9260:5.1.5-5 rfc9260:5.1.5-7
    // rfc9260:5.1-7 rfc9260:5.1-8 rfc9260:5.4-2 rfc9260:8.5.1-8 rfc9260:9.1-2
    #[inline(never)]
    fn write_controls(
        &mut self,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        path: PathId,
        with_data: bool,
        repeats_answer: bool,
    ) -> bool {
        if self.cx.paths.get(path).is_some_and(|path| !path.is_confirmed()) {
            // "An endpoint MUST NOT send any chunks to an UNCONFIRMED address", but HEARTBEAT (5.4).
            if self.cx.state.is_up() {
                self.write_heartbeat(packet.buffer(), path);
            }
            return false;
        }
        // INIT, INIT ACK and SHUTDOWN COMPLETE are never bundled (6.10).
        if self.control.take(Kind::Init, path) {
            self.write_init(packet.buffer());
            return false;
        }
        if let Some(causes) = self.control.take_abort(path) {
            causes::write_abort(packet.buffer(), false, &causes);
            self.control.cancel(Kind::ShutdownComplete);
            return false;
        }
        if self.control.take(Kind::ShutdownComplete, path) {
            ShutdownComplete { reflected_tag: false }.emit(packet.buffer());
            return false;
        }
        if self.control.take(Kind::CookieEcho, path) {
            self.write_cookie_echo(packet.buffer());
            // "SHOULD bundle the ERROR chunk ... with the chunk sent in response (e.g., COOKIE ECHO)" (3.2.2).
            self.write_errors(packet, limit, path);
            return self.cx.config.emulation.data_with_cookie && self.encoding != Encoding::Sf2007;
        }
        if self.cx.state == State::CookieWait {
            return false;
        }
        if self.cx.state == State::CookieEchoed {
            // "until the COOKIE ACK chunk is returned, the sender MUST NOT send any other packets to the peer" (5.1
            // C), but for the answers to HEARTBEAT that 8.3 demands.
            self.write_heartbeat_acks(packet, limit, path);
            return false;
        }
        // Before anything else: a peer that has begun anew does not have the tag of this packet, and may look no further than to its
        // first chunk (8.5.1 E).
        if self.control.take(Kind::ShutdownAck, path) {
            ShutdownAck.emit(packet.buffer());
        }
        if self.control.take(Kind::CookieAck, path) {
            if self.encoding == Encoding::Sf2007 {
                self.write_sf2007_cookie_ack(packet.buffer());
                // "the modified SCTP will not allow any data chunks to be transmitted inside the Cookie Echo/ACK chunks".
                return false;
            }
            CookieAck.emit(packet.buffer());
        }
        if self.control.take(Kind::Cwr, path) {
            self.sender.write_cwr(&self.cx, packet.buffer());
        }
        if !self.write_errors(packet, limit, path) || !self.write_heartbeat_acks(packet, limit, path) {
            return false; // full: the rest goes into the next packet
        }
        let reconfigures = repeats_answer || self.reconfig_due();
        if reconfigures && self.cx.state.is_up() && !self.write_reconfig(packet, limit, path, with_data) {
            return false;
        }
        // "The data sender SHOULD always attempt to bundle an outgoing FORWARD TSN with outbound DATA chunks" (RFC 3758, 3.5, F2).
        let forwards = self.cx.state.sends_data() && self.sender.owes_forward();
        if forwards && !self.sender.write_forwards(&self.cx, packet, limit, path) {
            return false;
        }
        // What fills the packet leaves none for it: it goes first in the next.
        if !packet.has_no_chunks() && packet.len() + Path::HEARTBEAT > limit && self.owes_heartbeat(path) {
            return false;
        }
        self.write_heartbeat(packet.buffer(), path);
        true
    }

    fn owes_heartbeat(&self, path: PathId) -> bool {
        self.cx.paths.get(path).is_some_and(Path::wants_plain_heartbeat)
    }

    /// SHUTDOWN as the last chunk, after a SACK: webrtc-sctp takes a packet in which anything follows SHUTDOWN for malformed. Data never
    /// goes along: all of it has been acknowledged by then (9.2). What finds no room leaves with the next packet.
    #[inline]
    fn write_shutdown(&mut self, packet: &mut PacketBuilder<'_>, limit: usize, path: PathId) {
        const LEN: usize = 8;
        let fits = packet.has_no_chunks() || packet.len() + LEN <= limit;
        if !fits || !self.control.is_due(Kind::Shutdown) {
            return;
        }
        rare();
        let before = packet.buffer().len();
        if self.control.take(Kind::Shutdown, path) {
            if let Some(cumulative) = self.receiver.arrivals().shutdown_cumulative() {
                Shutdown { cumulative }.emit(packet.buffer());
            }
        }
        self.cx.stats.control.leave(packet.buffer().get(before..).unwrap_or_default());
    }

    fn write_heartbeat(&mut self, out: &mut Vec<u8>, id: PathId) {
        let (now, rng) = (self.cx.now, &mut self.cx.rng);
        let Some(path) = self.cx.paths.get_mut(id).filter(|path| path.wants_plain_heartbeat()) else {
            return;
        };
        let info = path.heartbeat_info(id, now, rng);
        Heartbeat { info: HeartbeatInfo { info: &info } }.emit(HeartbeatKind::Request, out);
    }

    /// ERROR chunks that wait, as many as fit; one always does in a packet of its own. True when none is left.
    fn write_errors(&mut self, packet: &mut PacketBuilder<'_>, limit: usize, path: PathId) -> bool {
        loop {
            let (alone, len) = (packet.has_no_chunks(), packet.len());
            let fits = |cause: usize| alone || len + 4 + cause.next_multiple_of(4) <= limit;
            match self.control.next_error(path, fits) {
                NextControl::None => return true,
                NextControl::Full => return false,
                NextControl::Ready(cause) => causes::write_error(packet.buffer(), &cause),
            }
        }
    }

    /// HEARTBEAT ACK chunks, in the same way.
    fn write_heartbeat_acks(&mut self, packet: &mut PacketBuilder<'_>, limit: usize, path: PathId) -> bool {
        loop {
            let (alone, len) = (packet.has_no_chunks(), packet.len());
            let fits = |value: usize| alone || len + 4 + value.next_multiple_of(4) <= limit;
            match self.control.next_heartbeat_ack(path, fits) {
                NextControl::None => return true,
                NextControl::Full => return false,
                NextControl::Ready(value) => heartbeat::emit_answer(&value, packet.buffer()),
            }
        }
    }

    // rfc9260:5.1-1 rfc9260:5.1.1-1
    fn write_init(&mut self, out: &mut Vec<u8>) {
        let config = &self.announced();
        let types = match self.cx.paths.first() {
            Some(path) if path.remote().is_ipv6() => SupportedAddressTypes::IPV6,
            _ => SupportedAddressTypes::IPV4,
        };
        let ours = OurInit {
            tag: self.local_tag,
            a_rwnd: config.limits.receive_window,
            outbound_streams: config.streams.outbound,
            inbound_streams: config.streams.inbound,
            initial_tsn: self.sender.base(),
            preservative: self.phase.handshake().and_then(|handshake| handshake.preservative),
            address_types: config.extensions.address_types.then_some(types),
            // The endpoint has refused what must not be offered.
            offer: Offer::of(config, true),
        };
        ours.write_init(out, config.emulation.init_size);
    }

    // rfc9260:3.3.11-2
    fn write_cookie_echo(&mut self, out: &mut Vec<u8>) {
        let Some(handshake) = self.phase.handshake() else { return };
        if self.encoding == Encoding::Sf2007 {
            let mut value = handshake.cookie.clone();
            self.write_sf2007_setup(&mut value);
            CookieEcho { cookie: &value }.emit(out);
        } else {
            CookieEcho { cookie: &handshake.cookie }.emit(out);
        }
    }

    fn write_sack_and_data(
        &mut self,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        path: PathId,
        chosen: Option<&Next>,
    ) {
        if self.cx.state.is_up() && self.receiver.arrivals().has_pending_sack() {
            let len = chosen.and_then(|next| self.sender.first_chunk_len(&self.cx, next));
            self.receiver.write_acknowledgements(&mut self.cx, packet, limit, len);
        }
        if chosen.is_none() {
            self.write_shutdown(packet, limit, path);
        }
        if let Some(next) = chosen {
            self.sender.write_data(&mut self.cx, packet, limit, next);
        }
    }
}
