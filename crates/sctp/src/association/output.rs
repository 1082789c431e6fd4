//! Packets on their way out: what is bundled, in which order, and what cwnd, rwnd and Max.Burst allow.

use anabranch_base::{Dscp, Ecn, Instant, RetransmitReason, TraceEvent, Transmit};
use anabranch_wire::CommonHeader;
use anabranch_wire::chunk::{
    CookieAck, CookieEcho, Data, GapBlock, Heartbeat, HeartbeatKind, Shutdown, ShutdownAck, ShutdownComplete,
    sack,
};
use anabranch_wire::param::HeartbeatInfo;
use anabranch_wire::{ChecksumOut, PacketBuilder, padded};

use super::init::OurInit;
use super::{Association, State, any_of, causes};
use crate::config::{Checksums, RttSampling};
use crate::sf::offer::Offer;
use crate::subflow::flight::ChunkState;
use crate::subflow::gate::Candidate;

/// Where one packet goes and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Route {
    path: u8,
    dscp: Dscp,
}

/// What DATA a packet got.
#[derive(Clone, Copy, Debug, Default)]
struct DataWritten {
    chunks: u32,
    new: bool,
}

impl Association {
    /// Appends up to `max_packets` packets of equal size (the last may be shorter) to `buf`.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        max_packets: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let start = buf.len();
        let route = self.next_packet(now, buf)?;
        let segment_size = buf.len() - start;
        let mut packets = 1;
        while packets < max_packets {
            let before = buf.len();
            let Some(next) = self.next_packet(now, buf) else { break };
            let size = buf.len() - before;
            if next != route || size > segment_size {
                // It was built, so its chunks count as sent: it leaves first next time.
                self.stash.clear();
                self.stash.extend_from_slice(buf.get(before..).unwrap_or_default());
                self.stash_route = next;
                buf.truncate(before);
                break;
            }
            packets += 1;
            if size < segment_size {
                break;
            }
        }
        let path = self.paths.get(usize::from(route.path))?;
        Some(Transmit {
            destination: path.remote,
            source: self.source,
            dscp: route.dscp,
            ecn: Ecn::NotEct,
            size: buf.len() - start,
            segment_size,
        })
    }

    /// Whether anything might leave now. Cheap; may be wrong in favour of asking.
    pub(crate) fn wants_to_transmit(&self) -> bool {
        self.wants_control()
            || !self.stash.is_empty()
            || self.owes_sack()
            || any_of(&self.subflows, |s| !s.out.is_empty())
            || any_of(&self.lanes, |l| l.loss.any())
    }

    /// Appends one packet.
    fn next_packet(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<Route> {
        if !self.stash.is_empty() {
            buf.append(&mut self.stash);
            return Some(self.stash_route);
        }
        let mut chosen = if self.state.sends_data() { self.choose(now) } else { None };
        let control = self.wants_control();
        let sack = self.state.is_up() && self.owes_sack();
        if chosen.is_none() && !control && !sack {
            return None;
        }
        let acknowledged = if self.spaces.len() > 1 && chosen.is_none() { self.acknowledged() } else { None };
        let header = CommonHeader {
            source_port: self.local_port,
            destination_port: self.peer_port,
            // "the Verification Tag of the packet containing the INIT chunk MUST be set to 0" (8.5.1 A).
            verification_tag: if self.control.init { 0 } else { self.peer_tag },
        };
        let mut packet = PacketBuilder::new(buf, header);
        let limit = self.config.max_packet() as usize;
        let more = self.write_control(now, &mut packet, limit, control, chosen.is_some());
        if more {
            // In COOKIE-ECHOED only the packet with the COOKIE ECHO may carry DATA (5.1 C).
            if self.state == State::CookieEchoed && !packet.has_no_chunks() {
                chosen = self.choose_with_cookie(now);
            }
            self.write_sack_and_data(now, &mut packet, limit, chosen);
        }
        if packet.has_no_chunks() {
            // Nobody else would be asked: a subflow that is chosen must have something to send.
            debug_assert!(chosen.is_none(), "subflow {chosen:?} was chosen and wrote nothing");
            packet.abandon();
            return None;
        }
        let checksum = match self.config.checksums {
            Checksums::Crc32c => ChecksumOut::Compute,
            Checksums::Elided => ChecksumOut::Zero,
        };
        packet.finish(checksum);
        // A packet without data goes like one of the subflow that it acknowledges, or of the first.
        let subflow = self.subflows.get(usize::from(chosen.or(acknowledged).unwrap_or(0)));
        Some(Route { path: 0, dscp: subflow.map_or(self.config.dscp, |s| s.dscp) })
    }

    /// Whether control chunks are to leave.
    #[inline]
    fn wants_control(&self) -> bool {
        self.control.any() || self.reconfig_due() || any_of(&self.paths, |p| p.heartbeat_wanted)
    }

    /// The subflow of the first space that owes an acknowledgement.
    fn acknowledged(&self) -> Option<u8> {
        let space = self.spaces.iter().position(|s| s.sack.is_due_now())?;
        self.subflows.iter().position(|s| usize::from(s.space) == space).map(|index| index as u8)
    }

    /// The subflow whose data the next packet carries.
    #[inline]
    fn choose(&mut self, now: Instant) -> Option<u8> {
        if self.subflows.len() == 1 {
            return self.may_send(now, 0).is_some().then_some(0);
        }
        self.choose_among(now)
    }

    #[inline(never)]
    fn choose_with_cookie(&mut self, now: Instant) -> Option<u8> {
        self.choose(now)
    }

    #[inline(never)]
    fn choose_among(&mut self, now: Instant) -> Option<u8> {
        let mut candidates = self.gate.begin();
        for index in 0..self.subflows.len() {
            let Some(since) = self.may_send(now, index) else { continue };
            if let Some(subflow) = self.subflows.get(index) {
                candidates.push(Candidate { subflow: index as u8, priority: subflow.priority, since });
            }
        }
        self.gate.choose(candidates)
    }

    /// Whether a subflow has a chunk that may leave now, and since when it waits (0: it was lost). The question asked most
    /// often, answered without building a packet.
    #[allow(clippy::inline_always, reason = "asked for every packet of the only subflow; measured")]
    #[inline(always)]
    fn may_send(&mut self, now: Instant, index: usize) -> Option<u64> {
        let subflow = self.subflows.get(index)?;
        let lane = self.lanes.get_mut(usize::from(subflow.lane))?;
        let space = self.spaces.get(usize::from(subflow.space))?;
        // "before sending new DATA chunks, the sender MUST first transmit any DATA chunks that are marked" (6.1 C).
        if lane.loss.any() {
            if let Some(seq) = lane.loss.next_lost(&space.flight) {
                let chunk = space.flight.get(seq).filter(|chunk| usize::from(chunk.subflow) == index)?;
                let paced = lane.pacer.is_some() && !chunk.probe;
                return (lane.may_retransmit() && !(paced && lane.must_wait(now))).then_some(0);
            }
        }
        if subflow.out.is_empty() || !lane.may_send_new() {
            return None;
        }
        let since = subflow.out.waiting_since();
        let paced = lane.pacer.is_some();
        if self.subflows.len() > 1 && !self.may_begin_or_go_on(index) {
            return None;
        }
        // A wide open window needs no closer look.
        if self.has_room(usize::from(subflow.space), u64::from(self.config.mtu)) {
            return (!paced || !self.is_paced_later(now, index)).then_some(since);
        }
        let room = self.config.max_packet() as usize - CommonHeader::LEN;
        let payload = self.next_new(now, index, room)?;
        (!paced || self.is_window_probe(index, payload) || !self.is_paced_later(now, index)).then_some(since)
    }

    /// Whether the pacer keeps the data of a subflow back that may leave otherwise.
    #[inline(never)]
    fn is_paced_later(&mut self, now: Instant, index: usize) -> bool {
        let Some(lane) = self.subflows.get(index).map(|s| usize::from(s.lane)) else { return false };
        self.lanes.get_mut(lane).is_some_and(|lane| lane.must_wait(now))
    }

    /// Control chunks, if there are `any`, "placed first in the outbound SCTP packet" (6); `with_data` tells whether data is
    /// to follow. False when nothing may follow them.
    #[inline]
    fn write_control(
        &mut self,
        now: Instant,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        any: bool,
        with_data: bool,
    ) -> bool {
        let echoes = with_data && self.reconfig.as_ref().is_some_and(|r| r.echo.is_some());
        if any || echoes {
            self.write_controls(now, packet, limit, with_data, echoes)
        } else {
            self.state != State::Closed
        }
    }

    #[inline(never)]
    fn write_controls(
        &mut self,
        now: Instant,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        with_data: bool,
        echoes: bool,
    ) -> bool {
        let reconfigures = echoes || self.reconfig_due();
        // INIT, INIT ACK and SHUTDOWN COMPLETE are never bundled (6.10).
        if self.control.init {
            self.control.init = false;
            self.write_init(packet.buffer());
            return false;
        }
        if let Some(causes) = self.control.abort.take() {
            causes::write_abort(packet.buffer(), false, &causes);
            self.control.shutdown_complete = false;
            return false;
        }
        if self.control.shutdown_complete {
            self.control.shutdown_complete = false;
            ShutdownComplete { reflected_tag: false }.emit(packet.buffer());
            return false;
        }
        if self.control.cookie_echo {
            self.control.cookie_echo = false;
            if let Some(forming) = &self.forming {
                match self.extensions.thesis {
                    None => CookieEcho { cookie: &forming.cookie }.emit(packet.buffer()),
                    Some(_) => {
                        let mut value = forming.cookie.clone();
                        self.write_setup(&mut value);
                        CookieEcho { cookie: &value }.emit(packet.buffer());
                    }
                }
            }
            // "SHOULD bundle the ERROR chunk ... with the chunk sent in response (e.g., COOKIE ECHO)" (3.2.2).
            self.write_errors(packet, limit);
            return self.config.data_with_cookie && self.extensions.thesis.is_none();
        }
        if self.state == State::CookieWait {
            return false;
        }
        if self.state == State::CookieEchoed {
            // "until the COOKIE ACK chunk is returned, the sender MUST NOT send any other packets to the peer" (5.1
            // C), but for the answers to HEARTBEAT that 8.3 demands.
            self.write_heartbeat_acks(packet, limit);
            return false;
        }
        if self.control.cookie_ack {
            self.control.cookie_ack = false;
            if self.extensions.thesis.is_some() {
                self.write_thesis_cookie_ack(packet.buffer());
                // "the modified SCTP will not allow any data chunks to be transmitted inside the Cookie Echo/ACK chunks".
                return false;
            }
            CookieAck.emit(packet.buffer());
        }
        if !self.write_errors(packet, limit) || !self.write_heartbeat_acks(packet, limit) {
            return false; // full: the rest goes into the next packet
        }
        if reconfigures && self.state.is_up() && !self.write_reconfig(now, packet, limit, with_data) {
            return false;
        }
        let out = packet.buffer();
        for index in 0..self.paths.len() {
            if self.paths.get(index).is_some_and(|p| p.heartbeat_wanted) {
                if let Some(info) = self.heartbeat_info(now, index) {
                    Heartbeat { info: HeartbeatInfo { info: &info } }.emit(HeartbeatKind::Request, out);
                }
            }
        }
        if self.control.shutdown {
            self.control.shutdown = false;
            if let Some(asn) = &self.received_asn {
                Shutdown { cumulative: asn.cumulative() }.emit(out);
            } else if let Some(space) = self.spaces.first() {
                Shutdown { cumulative: space.cumulative_received() }.emit(out);
            }
        }
        if self.control.shutdown_ack {
            self.control.shutdown_ack = false;
            ShutdownAck.emit(out);
        }
        true
    }

    /// ERROR chunks that wait, as many as fit; one always does in a packet of its own. True when none is left.
    fn write_errors(&mut self, packet: &mut PacketBuilder<'_>, limit: usize) -> bool {
        while let Some(cause) = self.control.errors.pop_front() {
            if !packet.has_no_chunks() && packet.len() + 4 + cause.len().next_multiple_of(4) > limit {
                self.control.errors.push_front(cause);
                return false;
            }
            causes::write_error(packet.buffer(), &cause);
        }
        true
    }

    /// HEARTBEAT ACK chunks, likewise.
    fn write_heartbeat_acks(&mut self, packet: &mut PacketBuilder<'_>, limit: usize) -> bool {
        while let Some(info) = self.control.heartbeat_acks.pop_front() {
            if !packet.has_no_chunks() && packet.len() + 8 + info.len().next_multiple_of(4) > limit {
                self.control.heartbeat_acks.push_front(info);
                return false;
            }
            Heartbeat { info: HeartbeatInfo { info: &info } }.emit(HeartbeatKind::Ack, packet.buffer());
        }
        true
    }

    fn write_init(&mut self, out: &mut Vec<u8>) {
        let Some(space) = self.spaces.first() else { return };
        let preservative = self.forming.as_ref().and_then(|f| f.preservative);
        let ours = OurInit {
            tag: self.local_tag,
            a_rwnd: self.config.receive_window,
            outbound_streams: self.config.outbound_streams,
            inbound_streams: self.config.inbound_streams,
            initial_tsn: space.send_base,
            preservative,
            // The endpoint has refused what must not be offered.
            offer: Offer::of(&self.config, true),
        };
        ours.write_init(out, self.config.init_size);
    }

    fn write_sack_and_data(
        &mut self,
        now: Instant,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        chosen: Option<u8>,
    ) {
        if self.state.is_up() {
            match self.spaces.as_slice() {
                [space] if !space.sack.is_pending() => {}
                [_] if self.chunk_header == Data::HEADER => self.write_sack(packet, limit, 0, chosen),
                _ => self.write_sacks(now, packet, limit, chosen),
            }
        }
        let Some(chosen) = chosen else { return };
        let before = packet.len();
        let written = self.write_data(now, packet, limit, usize::from(chosen));
        if written.chunks > 0 {
            self.stats.packets_sent += 1;
            self.stats.packets_sent_unique += u64::from(written.new);
            if let Some(subflow) = self.subflows.get_mut(usize::from(chosen)) {
                subflow.stats.packets_sent += 1;
                subflow.stats.packets_sent_unique += u64::from(written.new);
                self.gate.sent(chosen, subflow.weight, (packet.len() - before) as u64);
            }
        }
    }

    /// A SACK that is due, or that can ride with DATA: "the sender SHOULD create a SACK chunk and bundle it with the
    /// outbound DATA chunk, as long as the size of the final SCTP packet does not exceed the current PMTU" (6.1).
    fn write_sack(&mut self, packet: &mut PacketBuilder<'_>, limit: usize, index: usize, chosen: Option<u8>) {
        if !self.spaces.get(index).is_some_and(|s| s.sack.is_pending()) {
            return;
        }
        let window = self.advertised_window();
        let rides = chosen.and_then(|chosen| self.next_chunk_len(usize::from(chosen))).is_some_and(|len| {
            let Some(space) = self.spaces.get(index) else { return false };
            let sack = 16 + 4 * space.received.gaps() + 4 * space.sack.duplicates.len();
            packet.len() + sack + len <= limit
        });
        let Some(subflow) = self.spaces.get_mut(index) else { return };
        if !(subflow.sack.is_due_now() || (subflow.sack.is_pending() && rides)) {
            return;
        }
        let room = limit.saturating_sub(packet.len() + 16) / 4;
        let cumulative = subflow.cumulative_received();
        let mut blocks: [GapBlock; 16] = [GapBlock { start: 0, end: 0 }; 16];
        let count = subflow.received.gaps().min(room);
        let duplicates = subflow.sack.duplicates.len().min(room - count);
        let duplicates = subflow.sack.duplicates.get(..duplicates).unwrap_or_default();
        let listed = subflow.received.gap_blocks().take(count).map(|(start, end)| GapBlock { start, end });
        if count <= blocks.len() {
            let mut n = 0;
            for (slot, block) in blocks.iter_mut().zip(listed) {
                *slot = block;
                n += 1;
            }
            sack::emit(packet.buffer(), cumulative, window, blocks.get(..n).unwrap_or_default(), duplicates);
        } else {
            let list: Vec<GapBlock> = listed.collect();
            sack::emit(packet.buffer(), cumulative, window, &list, duplicates);
        }
        subflow.sack.sent(window);
        self.stats.sacks_sent += 1;
    }

    /// The acknowledgements of every space that owes one: any packet may carry them.
    fn write_sacks(
        &mut self,
        now: Instant,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        chosen: Option<u8>,
    ) {
        for space in 0..self.spaces.len() {
            if !self.spaces.get(space).is_some_and(|s| s.sack.is_pending()) {
                continue;
            }
            if space == 0 && self.extensions.thesis.is_none() {
                self.write_sack(packet, limit, 0, chosen);
                continue;
            }
            let reserved = chosen.and_then(|chosen| self.next_chunk_len(usize::from(chosen)));
            if self.extensions.thesis.is_some() {
                self.write_thesis_sack(packet, limit, space, reserved);
            } else {
                self.write_sf_sack(now, packet, limit, space, reserved);
            }
        }
    }

    /// Length of the DATA chunk that would leave next, padding included, if one may.
    fn next_chunk_len(&mut self, index: usize) -> Option<usize> {
        if !self.state.sends_data() {
            return None;
        }
        let (max_payload, header) = (self.max_payload(), self.chunk_header);
        let subflow = self.subflows.get(index)?;
        let lane = self.lanes.get_mut(usize::from(subflow.lane))?;
        let space = self.spaces.get(usize::from(subflow.space))?;
        if let Some(seq) = lane.loss.next_lost(&space.flight) {
            let payload = space.flight.get(seq)?.fragment.payload.len();
            return lane.may_retransmit().then(|| padded(header + payload));
        }
        let payload = subflow.out.peek(max_payload)?;
        lane.may_send_new().then(|| padded(header + payload))
    }

    /// DATA: first what is marked for retransmission (6.1 C), then new chunks, while they fit and may leave.
    fn write_data(
        &mut self,
        now: Instant,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        index: usize,
    ) -> DataWritten {
        let mut chunks = 0;
        let lane = self.subflows.get(index).map_or(0, |s| usize::from(s.lane));
        let (lost, paced_from) = match self.lanes.get(lane) {
            Some(lane) => (lane.loss.any(), lane.pacer.is_some().then_some(lane.flight)),
            None => (false, None),
        };
        if lost {
            chunks = self.write_lost(now, packet, limit, index, lane);
        }
        let new = self.write_new(now, packet, limit, index);
        let written = DataWritten { chunks: chunks + new, new: new > 0 };
        if written.new {
            if let Some(lane) = self.lanes.get_mut(lane) {
                lane.count_new_packet();
            }
            if let Some(subflow) = self.subflows.get_mut(index) {
                subflow.out.packet_ended();
            }
        }
        if let Some(flight_before) = paced_from {
            if let Some(lane) = self.lanes.get_mut(lane).filter(|_| written.chunks > 0) {
                lane.count_paced(now, flight_before);
            }
        }
        if self.writable_owed {
            self.tell_writable();
        }
        written
    }

    /// Chunks marked for retransmission, while they fit and may leave; how many.
    #[inline(never)]
    fn write_lost(
        &mut self,
        now: Instant,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        index: usize,
        lane: usize,
    ) -> u32 {
        let mut chunks = 0;
        while let Some(seq) = self.next_retransmission(index, limit.saturating_sub(packet.len())) {
            self.retransmit(now, lane, seq, packet.buffer());
            chunks += 1;
        }
        if chunks > 0 {
            if let Some(lane) = self.lanes.get_mut(lane) {
                lane.free_packet = false;
            }
        }
        chunks
    }

    /// The marked chunk to send next, when it fits into `room` and may leave.
    fn next_retransmission(&mut self, index: usize, room: usize) -> Option<u64> {
        let header = self.chunk_header;
        let subflow = self.subflows.get(index)?;
        let lane = self.lanes.get_mut(usize::from(subflow.lane))?;
        let space = self.spaces.get(usize::from(subflow.space))?;
        let seq = lane.loss.next_lost(&space.flight)?;
        if !lane.may_retransmit() {
            return None;
        }
        let chunk = space.flight.get(seq)?;
        // A packet carries data of one subflow.
        let mine = usize::from(chunk.subflow) == index;
        (mine && padded(header + chunk.fragment.payload.len()) <= room).then_some(seq)
    }

    fn retransmit(&mut self, now: Instant, index: usize, seq: u64, out: &mut Vec<u8>) {
        let headers = self.config.rwnd_counts_headers;
        let established = self.state != State::CookieEchoed;
        let framing = self.framing(self.lanes.get(index).map_or(0, |l| usize::from(l.space)));
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let Some(space) = self.spaces.get_mut(usize::from(lane.space)) else { return };
        let tsn = space.tsn_of_sent(seq);
        let first = if space.shared { lane.loss.earliest(&space.flight) } else { space.flight.first() };
        let earliest = seq == first;
        let Some(chunk) = space.flight.get_mut(seq) else { return };
        chunk.state = ChunkState::InFlight;
        chunk.transmissions = chunk.transmissions.saturating_add(1);
        chunk.sent_at = now;
        let owner = chunk.subflow;
        let size = chunk.size();
        let reason = if chunk.lost_by_timeout {
            RetransmitReason::Timeout
        } else if chunk.probe {
            RetransmitReason::Probe
        } else if lane.free_packet {
            RetransmitReason::FastRetransmit
        } else {
            RetransmitReason::Recovery
        };
        let eligible = !chunk.fast_retransmitted;
        // A probe wants its answer at once, not after SACK.Delay.
        let probe = std::mem::take(&mut chunk.probe);
        let before = out.len();
        framing.emit(&chunk.fragment, tsn, chunk.immediate || probe, out);
        let on_wire = (out.len() - before) as u64;
        let len = chunk.fragment.payload.len();
        match &mut lane.rack {
            None => lane.loss.retransmitted(seq, eligible),
            Some(rack) => {
                rack.resent(now, seq);
                lane.loss.retransmitted(seq, false);
            }
        }
        lane.on_sent(now, size);
        // C5: a chunk sent before this retransmission is not timed any more.
        let through = self.config.rtt_sampling == RttSampling::ThroughLoss;
        if lane.timed.is_some_and(|t| t.seq >= seq && (t.seq == seq || !through)) {
            lane.timed = None;
        }
        // "If the timer for that address is already running, the sender MUST restart the timer if the earliest ...
        // outstanding DATA chunk sent to that address is being retransmitted" (6.1).
        let restarts = earliest && !self.config.quirks.t3_runs_on;
        if established && (lane.t3.is_none() || restarts) {
            lane.arm_t3(now);
        }
        let charged = len as u64 + if headers { 16 } else { 0 };
        space.allowance.take(charged);
        self.peer_rwnd = self.peer_rwnd.saturating_sub(charged);
        self.stats.chunks_sent += 1;
        self.stats.retransmissions += 1;
        self.stats.payload_bytes_sent += len as u64;
        if let Some(subflow) = self.subflows.get_mut(usize::from(owner)) {
            subflow.stats.retransmissions += 1;
            subflow.stats.payload_bytes_sent += len as u64;
            subflow.stats.chunk_bytes_sent += on_wire;
        }
        self.mark_path_used();
        self.record(now, owner, 0, TraceEvent::Sent { seq, len: len as u32, retransmit: Some(reason) });
    }

    pub(super) fn mark_path_used(&mut self) {
        if let Some(path) = self.paths.first_mut() {
            path.used = true;
        }
    }
}
