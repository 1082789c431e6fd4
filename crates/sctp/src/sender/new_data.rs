//! New data on its way into a packet. Values that the chunks of a packet need are looked up once for all of them;
//! only other subflows, or a closed window, are looked at chunk by chunk.

use anabranch_base::{Instant, TraceEvent, TraceRecord, cold_path};
use anabranch_wire::PacketBuilder;

use super::Sender;
use super::flight::{CHUNK, ChunkState, Flight, SentChunk};
use super::lane::Lane;
use super::next::{First, Next};
use super::peer_window::WINDOW_HEADER;
use super::ssn;
use super::subflow::Subflow;
use crate::config::ImmediateBit;
use crate::context::Context;
use crate::encoding::Framing;
use crate::state::State;

/// Chunks that were written one after the other.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    chunks: u32,
    /// True if only the sender as a whole can decide whether more chunks may leave.
    undecided: bool,
    /// The stream whose message the last chunk ended.
    ended: Option<u16>,
}

/// Sizes by which messages are cut into chunks, bytes.
#[derive(Clone, Copy, Debug)]
struct Cut {
    header: usize,
    /// Most payload of a chunk.
    most: usize,
    /// A message that does not fit a packet of its own may be cut where this packet ends.
    anywhere: bool,
    /// Room for chunks in a packet that holds nothing else, where chunks of `most` bytes do not fit it: the path carried more when
    /// the numbers of their message were kept.
    too_long_for: Option<usize>,
}

impl Cut {
    /// Payload of the next chunk, when `whole` bytes of its message wait and the packet has `room` for chunks.
    #[inline]
    fn payload(self, whole: usize, room: usize) -> Option<usize> {
        let fit = room.checked_sub(self.header)? & !3;
        if whole <= fit && whole <= self.most {
            Some(whole)
        } else if self.too_long_for.is_some_and(|empty| room >= empty) {
            // "Once a user message is fragmented, it cannot be re-fragmented. Instead, if the PMTU has been reduced, then IP
            // fragmentation MUST be used" (6.9).
            Some(whole.min(self.most))
        } else if whole <= self.most {
            None // the payload fits a packet of its own: not worth cutting
        } else if fit >= self.most {
            Some(self.most)
        } else if fit >= self.most / 2 && self.anywhere {
            Some(fit) // the payload must be cut anyway: fill the packet
        } else {
            None
        }
    }
}

impl Sender {
    /// Writes the data that was chosen to leave: first chunks marked for retransmission (6.1 C), then new chunks, while they fit and may
    /// leave.
    // rfc9260:6.10-4
    #[inline]
    pub(crate) fn write_data(
        &mut self,
        cx: &mut Context,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        next: &Next,
    ) {
        let before = packet.len();
        let Some(lane) = self.tables.lanes.get(next.lane) else { return };
        let paced_from = lane.has_pacer().then_some(lane.in_flight.bytes());
        let begins = cx.env.config().congestion.nagle && !self.tables.has_data_in_flight();
        let lost = if lane.loss.any() {
            cold_path();
            let special = self.special.get();
            let (chunks, charged) = self.tables.write_lost(special, cx, packet, limit, next);
            self.peer.charge(charged);
            chunks
        } else {
            0
        };
        // Chunks that leave again on another path than new data takes share no packet with new data.
        let elsewhere = lost > 0
            && self.tables.subflows.get(next.subflow).is_some_and(|subflow| subflow.lane != next.lane);
        let new = if elsewhere { 0 } else { self.write_new(cx, packet, limit, next) };
        if lost + new > 0 {
            let is_new = new > 0;
            cx.report.stats.packets_sent += 1;
            cx.report.stats.packets_sent_unique += u64::from(is_new);
            if let Some(subflow) = self.tables.subflows.get_mut(next.subflow) {
                subflow.counters.packets_sent += 1;
                subflow.counters.packets_sent_unique += u64::from(is_new);
                self.scheduler.sent(next.subflow, subflow.weight, (packet.len() - before) as u64);
                if is_new {
                    subflow.out.packet_ended();
                    subflow.flushes = (subflow.flushes | begins) & !subflow.out.is_empty();
                }
            }
            if let Some(lane) = self.tables.lanes.get_mut(next.lane) {
                if is_new {
                    lane.count_new_packet();
                }
                if let Some(flight_before) = paced_from {
                    cold_path();
                    lane.count_paced(cx, flight_before);
                    if lane.window.is_model() {
                        self.tables.tell_model(cx, next.lane, flight_before);
                    }
                }
            }
        }
        self.buffer.tell_writable(&mut self.tables, &self.stream_map, cx);
    }

    /// Writes new chunks, while they fit and may leave; returns their number.
    #[inline]
    fn write_new(
        &mut self,
        cx: &mut Context,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        next: &Next,
    ) -> u32 {
        if self.tables.subflows.len() > 1 || self.tables.spaces.len() > 1 {
            return self.write_new_asking(cx, packet, limit, next);
        }
        let run = self.write_run(cx, packet, limit, next, None);
        if run.undecided { run.chunks + self.write_new_asking(cx, packet, limit, next) } else { run.chunks }
    }

    /// Writes new chunks where other subflows, or a closed window, must be looked at between two chunks.
    #[inline(never)]
    fn write_new_asking(
        &mut self,
        cx: &mut Context,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        next: &Next,
    ) -> u32 {
        let several = self.tables.subflows.len() > 1;
        // For the first chunk the choice of the packet's data has answered these questions already.
        let (mut decided, mut roomy) = match next.first {
            First::New { roomy } => (true, roomy && several),
            First::Lost(_) => (false, false),
        };
        let mut chunks = 0;
        loop {
            if chunks > 0 && cx.env.config().emulation.fills_past_cwnd {
                if let Some(lane) = self.tables.lanes.get_mut(next.lane) {
                    // The permit ends with this packet.
                    lane.permits.add_new();
                }
            }
            let room = limit.saturating_sub(packet.len());
            if several
                && !std::mem::take(&mut decided)
                && !self.tables.may_begin_or_go_on(self.peer.bytes(), cx, next.subflow)
            {
                break;
            }
            let roomy = std::mem::take(&mut roomy);
            let Some(payload) = self.next_new_payload(cx, next, room, roomy) else { break };
            let probes = !roomy && !self.peer.fits(&self.tables, cx, next.space, payload);
            let last_sent = self.tables.lanes.get(next.lane).and_then(|lane| lane.window.last_sent());
            if probes {
                self.tables.begin_probe(cx, next.space);
            }
            let run = self.write_run(cx, packet, limit, next, Some(payload));
            chunks += run.chunks;
            if probes {
                self.tables.probe_has_left(cx, next, last_sent);
            }
            if several {
                self.tables.keep_contiguous(cx, next.subflow);
                if let Some(stream) = run.ended.filter(|_| self.stream_map.any_moves()) {
                    self.stream_map.move_waiting_stream(&mut self.tables, cx, stream);
                }
            }
            if !run.undecided {
                break;
            }
        }
        chunks
    }

    /// Writes new chunks of one subflow: one of `first` bytes, which may leave, and where it is the only subflow all that follow.
    /// With other subflows these must be looked at between two chunks.
    // rfc9260:6.1-18 rfc9260:6.10-5
    #[inline(never)]
    fn write_run(
        &mut self,
        cx: &mut Context,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        next: &Next,
        mut first: Option<usize>,
    ) -> Run {
        let alone = self.tables.subflows.len() == 1 && self.tables.spaces.len() == 1;
        let mut run = Run { undecided: !alone, ..Run::default() };
        let header_charge = if cx.env.config().emulation.rwnd_counts_headers { WINDOW_HEADER } else { 0 };
        let established = cx.env.state() != State::CookieEchoed;
        let pending = cx.env.state() == State::ShutdownPending;
        let whole_packet = cx.packet_room(next.path);
        let most = cx.env.config().limits.most_payload(whole_packet);
        let mut left = self.buffer.retention_left_here(&self.tables, cx);
        let Some(subflow) = self.tables.subflows.get_mut(next.subflow) else { return Run::default() };
        let cut = Cut::of(subflow, cx.env.agreed().header_len(), most, whole_packet);
        let Some(lane) = self.tables.lanes.get_mut(next.lane) else { return Run::default() };
        let Some(space) = self.tables.spaces.get_mut(next.space) else { return Run::default() };
        let framing =
            cx.env.agreed().encoding().framing(&cx.env.config().subflows.codes, space.fid, space.epoch);
        // "before sending new DATA chunks, the sender MUST first transmit any DATA chunks that are marked".
        if first.is_none() && lane.loss.any() && lane.loss.next_lost(&space.flight).is_some() {
            return Run::default();
        }
        let (mut bytes, mut last) = (0, 0);
        let before = packet.len();
        loop {
            let room = limit.saturating_sub(packet.len());
            if room <= cut.header {
                break;
            }
            if !(first.is_some() || lane.may_send_new()) {
                // Where the packet that exceeds cwnd is filled, only its first chunk must fit the window.
                if run.chunks == 0 || !cx.env.config().emulation.fills_past_cwnd {
                    break;
                }
            }
            if space.flight.span() >= ssn::MOST && ssn::run_out(&subflow.out, &self.numbering, &space.flight)
            {
                break;
            }
            let open = self.peer.bytes();
            let fragment = subflow.out.pop(&mut self.numbering, |whole| {
                if let Some(decided) = first.take() {
                    return Some(decided.min(whole));
                }
                let payload = cut.payload(whole, room)?;
                run.undecided = payload as u64 + header_charge > open;
                (!run.undecided).then_some(payload)
            });
            let Some(mut fragment) = fragment else { break };
            match framing {
                Framing::Sf2007 { .. } => {
                    fragment.number = self.numbering.take_asn().get();
                }
                Framing::IData if cx.env.config().emulation.quirks.fsn_from_second => {
                    fragment.number = fragment.number.wrapping_sub(1);
                }
                _ => {}
            }
            let kept = subflow.reserved.next();
            let seq = kept.unwrap_or(space.flight.next());
            let immediate = pending && wants_sack_at_once(cx, subflow.out.is_empty(), self.shutdown_at);
            framing.emit(&fragment, space.tsn_of(seq), immediate, packet.buffer());
            let len = fragment.payload.len() as u64;
            let (stream, ending) = (fragment.stream, fragment.ending);
            self.buffer.chunk_left(stream);
            subflow.begun = !ending;
            let chunk = SentChunk {
                fragment,
                sent_at: cx.env.now(),
                state: ChunkState::InFlight,
                lane: next.lane,
                subflow: next.subflow,
                missing: 0,
                transmissions: 1,
                fast_retransmitted: false,
                lost_by_timeout: false,
                overhead: lane.in_flight.overhead_of(len),
                probe: false,
                too_long: false,
                acked_at: 0,
                immediate: immediate && cx.env.config().sack.immediate_bit == ImmediateBit::ShutdownKept,
            };
            into_flight(cx, lane, &mut space.flight, kept, chunk, established);
            space.allowance.take(len + header_charge);
            // Bookkeeping counts at once: it is most of a flight of small messages, and the next SACK would be too late.
            left = left.saturating_sub(len + CHUNK);
            self.peer.charge_new(len + header_charge, left);
            let (at, association) = (cx.env.now(), cx.report.association());
            cx.report.trace.record(|| {
                let event = TraceEvent::Sent { seq, len: len as u32, retransmit: None };
                let (subflow, path) = (next.subflow.get(), next.path.get());
                TraceRecord { at, association, subflow, path, event }
            });
            run.chunks += 1;
            last = seq;
            bytes += len;
            if !alone {
                run.ended = ending.then_some(stream);
                break;
            }
        }
        if run.chunks > 0 {
            if let Some(special) = self.special.get_mut() {
                cold_path();
                special.fates.have_left(
                    next.space,
                    &space.flight,
                    last + 1 - u64::from(run.chunks)..last + 1,
                );
            }
            count_run(cx, subflow, u64::from(run.chunks), bytes, (packet.len() - before) as u64);
            if let Some(path) = cx.paths.get_mut(next.path) {
                path.mark_used();
            }
            if cx.env.config().needs_loss_timer() {
                cold_path();
                let first_of_all = last + 1 == u64::from(run.chunks);
                if let Some(mut scope) = self.tables.scope(next.lane) {
                    scope.sent_with_loss_timer(cx, first_of_all);
                }
            }
            self.buffer.note_retention_left(&self.tables, cx, left);
        }
        run
    }

    /// Payload bytes of the next new chunk, when it fits into `room` and may leave as far as windows go; where it is `roomy`,
    /// the peer's window is known to be open.
    // rfc8260:2.2.2-4
    pub(super) fn next_new_payload(
        &mut self,
        cx: &Context,
        next: &Next,
        room: usize,
        roomy: bool,
    ) -> Option<usize> {
        let whole_packet = cx.packet_room(next.path);
        let most = cx.env.config().limits.most_payload(whole_packet);
        let subflow = self.tables.subflows.get(next.subflow)?;
        let cut = Cut::of(subflow, cx.env.agreed().header_len(), most, whole_packet);
        let lane = self.tables.lanes.get_mut(next.lane)?;
        let space = self.tables.spaces.get(next.space)?;
        // "before sending new DATA chunks, the sender MUST first transmit any DATA chunks that are marked".
        if !lane.may_send_new() || (lane.loss.any() && lane.loss.next_lost(&space.flight).is_some()) {
            return None;
        }
        if space.flight.span() >= ssn::MOST && ssn::run_out(&subflow.out, &self.numbering, &space.flight) {
            return None;
        }
        let payload = cut.payload(subflow.out.peek(usize::MAX)?, room)?;
        let may = roomy
            || self.peer.fits(&self.tables, cx, next.space, payload)
            || self.tables.window_probe(cx, next);
        may.then_some(payload)
    }
}

impl Cut {
    #[inline]
    fn of(subflow: &Subflow, header: usize, most: usize, packet: usize) -> Self {
        // The numbers that are kept for the rest of a message were counted for chunks of full size.
        let (cut, anywhere) = (subflow.cut_at(most), subflow.reserved.is_empty());
        Self { header, most: cut, anywhere, too_long_for: (cut > packet).then_some(header + packet) }
    }
}

/// True if a chunk that leaves in SHUTDOWN-PENDING asks for its SACK at once: that state is a reason to set the I bit
/// (RFC 9260, 6.1).
fn wants_sack_at_once(cx: &Context, last: bool, shutdown_at: Instant) -> bool {
    match cx.env.config().sack.immediate_bit {
        ImmediateBit::Shutdown => true,
        // A kernel has sent all it may before the user can close.
        ImmediateBit::ShutdownKept => cx.env.now() > shutdown_at,
        ImmediateBit::Last => last,
        ImmediateBit::Off => false,
    }
}

/// New chunks have left, with so many bytes of user data, and so many on the wire.
#[inline]
fn count_run(cx: &mut Context, subflow: &mut Subflow, chunks: u64, bytes: u64, on_wire: u64) {
    let counters = &mut subflow.counters;
    counters.payload_bytes_sent += bytes;
    counters.payload_bytes_unique += bytes;
    counters.chunks_unique += chunks;
    counters.chunk_bytes_sent += on_wire;
    counters.chunk_bytes_unique += on_wire;
    cx.report.stats.chunks_sent += chunks;
    cx.report.stats.payload_bytes_sent += bytes;
    cx.report.stats.payload_bytes_unique += bytes;
}

/// A new chunk joins the flight, under a number that was kept for it or the next one; `established`: T3-rtx runs for it.
#[allow(clippy::inline_always, reason = "once for each chunk, in one place")]
#[inline(always)]
fn into_flight(
    cx: &Context,
    lane: &mut Lane,
    flight: &mut Flight,
    kept: Option<u64>,
    chunk: SentChunk,
    established: bool,
) {
    let seq = kept.unwrap_or(flight.next());
    lane.sent(cx.env.now(), seq, chunk.size(), chunk.overhead);
    match kept {
        None => flight.push(chunk),
        Some(seq) => flight.fill(seq, chunk),
    }
    // "if the T3-rtx timer of that address is not currently running, the sender MUST start that timer" (RFC 9260, 6.1).
    if established && lane.t3().is_none() {
        lane.arm_t3(cx);
    }
}
