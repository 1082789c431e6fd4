//! New data on its way into a packet. What the chunks of a packet need of the association is looked up once for all of
//! them; only what concerns other subflows, or a closed window, is looked at chunk by chunk.

use anabranch_base::{Instant, TraceEvent, TraceRecord};
use anabranch_wire::PacketBuilder;

use super::framing::Framing;
use super::{Association, State};
use crate::config::ImmediateBit;
use crate::lane::rtt::TimedChunk;
use crate::subflow::Subflow;
use crate::subflow::flight::{ChunkState, SentChunk};

/// Chunks that were written one after the other.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    chunks: u32,
    /// Whether more may leave is a question to the association as a whole.
    undecided: bool,
    /// The stream whose message the last chunk ended.
    ended: Option<u16>,
}

/// How messages are cut into chunks, bytes.
#[derive(Clone, Copy, Debug)]
struct Cut {
    header: usize,
    /// Most payload of a chunk.
    most: usize,
    /// A message that does not fit a packet of its own may be cut where this packet ends.
    anywhere: bool,
}

impl Cut {
    /// Payload of the next chunk, when `whole` bytes of its message wait and the packet has `room` for chunks.
    #[inline]
    fn payload(self, whole: usize, room: usize) -> Option<usize> {
        let fit = room.checked_sub(self.header)? & !3;
        if whole <= fit && whole <= self.most {
            Some(whole)
        } else if whole <= self.most {
            None // it fits a packet of its own: not worth cutting
        } else if fit >= self.most {
            Some(self.most)
        } else if fit >= self.most / 2 && self.anywhere {
            Some(fit) // it must be cut anyway: fill the packet
        } else {
            None
        }
    }
}

impl Association {
    /// New chunks, while they fit and may leave; how many.
    pub(super) fn write_new(
        &mut self,
        now: Instant,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        index: usize,
    ) -> u32 {
        let alone = self.subflows.len() == 1 && self.spaces.len() == 1;
        let mut run = if alone {
            self.write_run(now, packet, limit, index, None)
        } else {
            Run { undecided: true, ..Run::default() }
        };
        let mut chunks = run.chunks;
        while run.undecided {
            let room = limit.saturating_sub(packet.len());
            let Some(payload) = self.next_new(now, index, room) else { break };
            let space = self.subflows.get(index).map_or(0, |s| usize::from(s.space));
            if !self.fits_peer_window(space, payload) {
                self.begin_probe(space);
            }
            run = self.write_run(now, packet, limit, index, Some(payload));
            chunks += run.chunks;
            if self.subflows.len() > 1 {
                self.keep_together(index);
                if let Some(stream) = run.ended.filter(|_| !self.moves.is_empty()) {
                    self.move_waiting_stream(stream);
                }
            }
        }
        chunks
    }

    /// New chunks of one subflow: one of `first` bytes, which may leave, and where it is the only subflow all that follow.
    /// The others must be asked between two chunks.
    #[inline(never)]
    fn write_run(
        &mut self,
        now: Instant,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        index: usize,
        mut first: Option<usize>,
    ) -> Run {
        let alone = self.subflows.len() == 1 && self.spaces.len() == 1;
        let mut run = Run { undecided: !alone, ..Run::default() };
        let header_charge = if self.config.rwnd_counts_headers { 16 } else { 0 };
        let established = self.state != State::CookieEchoed;
        let pending = self.state == State::ShutdownPending;
        let association = self.id.index;
        let Some(subflow) = self.subflows.get(index) else { return Run::default() };
        let framing = self.framing(usize::from(subflow.space));
        let cut = self.cut(subflow);
        let Some(subflow) = self.subflows.get_mut(index) else { return Run::default() };
        let Some(lane) = self.lanes.get_mut(usize::from(subflow.lane)) else { return Run::default() };
        let Some(space) = self.spaces.get_mut(usize::from(subflow.space)) else { return Run::default() };
        // "before sending new DATA chunks, the sender MUST first transmit any DATA chunks that are marked".
        if first.is_none() && lane.loss.any() && lane.loss.next_lost(&space.flight).is_some() {
            return Run::default();
        }
        let (mut bytes, mut first_of_all) = (0, false);
        let before = packet.len();
        loop {
            let room = limit.saturating_sub(packet.len());
            if room <= cut.header || !(first.is_some() || lane.may_send_new()) {
                break;
            }
            let open = self.peer_rwnd;
            let fragment = subflow.out.pop(&mut self.numbering, |whole| {
                if let Some(decided) = first.take() {
                    return Some(decided.min(whole));
                }
                let payload = cut.payload(whole, room)?;
                run.undecided = payload as u64 + header_charge > open;
                (!run.undecided).then_some(payload)
            });
            let Some(mut fragment) = fragment else { break };
            if matches!(framing, Framing::Thesis { .. }) {
                fragment.number = self.next_asn.get();
                self.next_asn = self.next_asn.next();
            }
            let kept = subflow.reserved.next();
            let seq = kept.unwrap_or(space.flight.next());
            // "The sender is in the SHUTDOWN-PENDING state" is a reason to set the I bit (6.1).
            let immediate = pending
                && match self.config.immediate_bit {
                    ImmediateBit::Shutdown => true,
                    // A kernel sends what it may before the user can close.
                    ImmediateBit::ShutdownKept => now > self.shutdown_at,
                    ImmediateBit::Last => subflow.out.is_empty(),
                    ImmediateBit::Off => false,
                };
            framing.emit(&fragment, space.tsn_of_sent(seq), immediate, packet.buffer());
            let len = fragment.payload.len() as u64;
            let (stream, ending) = (fragment.stream, fragment.ending);
            subflow.begun = !ending;
            let chunk = SentChunk {
                fragment,
                sent_at: now,
                state: ChunkState::InFlight,
                lane: subflow.lane,
                subflow: index as u8,
                missing: 0,
                transmissions: 1,
                fast_retransmitted: false,
                lost_by_timeout: false,
                header: lane.chunk_header,
                probe: false,
                immediate: immediate && self.config.immediate_bit == ImmediateBit::ShutdownKept,
            };
            lane.on_sent(now, chunk.size());
            lane.unacked += 1;
            match kept {
                None => space.flight.push(chunk),
                Some(seq) => space.flight.fill(seq, chunk),
            }
            if lane.loss.sent(seq) {
                lane.earliest = seq;
            }
            if lane.timed.is_none() {
                lane.timed = Some(TimedChunk { seq, sent_at: now });
            }
            // "if the T3-rtx timer of that address is not currently running, the sender MUST start that timer" (6.1).
            if established && lane.t3.is_none() {
                lane.arm_t3(now);
            }
            space.allowance.take(len + header_charge);
            self.peer_rwnd = self.peer_rwnd.saturating_sub(len + header_charge);
            self.trace.record(|| {
                let event = TraceEvent::Sent { seq, len: len as u32, retransmit: None };
                TraceRecord { at: now, association, subflow: index as u8, path: 0, event }
            });
            run.chunks += 1;
            bytes += len;
            first_of_all |= seq == 0;
            if !alone {
                run.ended = ending.then_some(stream);
                break;
            }
        }
        if run.chunks > 0 {
            let chunks = u64::from(run.chunks);
            subflow.stats.payload_bytes_sent += bytes;
            subflow.stats.payload_bytes_unique += bytes;
            subflow.stats.chunks_unique += chunks;
            let on_wire = (packet.len() - before) as u64;
            subflow.stats.chunk_bytes_sent += on_wire;
            subflow.stats.chunk_bytes_unique += on_wire;
            self.stats.chunks_sent += chunks;
            self.stats.payload_bytes_sent += bytes;
            self.stats.payload_bytes_unique += bytes;
            self.mark_path_used();
            if self.config.needs_second_timer() {
                self.sent_with_second_timer(now, index, first_of_all);
            }
        }
        run
    }

    #[inline]
    fn cut(&self, subflow: &Subflow) -> Cut {
        // The numbers that are kept for the rest of a message were counted for chunks of full size.
        let anywhere = subflow.reserved.is_empty();
        Cut { header: self.chunk_header, most: self.max_payload(), anywhere }
    }

    /// Payload bytes of the next new chunk, when it fits into `room` and may leave.
    pub(super) fn next_new(&mut self, now: Instant, index: usize, room: usize) -> Option<usize> {
        let subflow = self.subflows.get(index)?;
        let cut = self.cut(subflow);
        let lane = self.lanes.get_mut(usize::from(subflow.lane))?;
        let at = usize::from(subflow.space);
        let space = self.spaces.get(at)?;
        // "before sending new DATA chunks, the sender MUST first transmit any DATA chunks that are marked".
        if !lane.may_send_new() || (lane.loss.any() && lane.loss.next_lost(&space.flight).is_some()) {
            return None;
        }
        let payload = cut.payload(subflow.out.peek(usize::MAX)?, room)?;
        if self.subflows.len() > 1 && !self.may_begin_or_go_on(index) {
            return None;
        }
        (self.fits_peer_window(at, payload) || self.window_probe(now, index)).then_some(payload)
    }

    /// Whether the peer has room for a chunk of this space: in its buffer, and in what it gives the subflow.
    #[inline]
    fn fits_peer_window(&self, space: usize, payload: usize) -> bool {
        let bytes = payload as u64 + if self.config.rwnd_counts_headers { 16 } else { 0 };
        self.has_room(space, bytes)
    }

    /// Whether a chunk that may leave is a probe of a closed window.
    #[inline(never)]
    pub(super) fn is_window_probe(&self, index: usize, payload: usize) -> bool {
        let space = self.subflows.get(index).map(|s| usize::from(s.space));
        space.is_some_and(|space| !self.fits_peer_window(space, payload))
    }

    /// Whether the peer has room for so many bytes of this space, as windows count them.
    #[inline]
    pub(super) fn has_room(&self, space: usize, bytes: u64) -> bool {
        if self.spaces.len() == 1 {
            return bytes <= self.peer_rwnd;
        }
        if self.spaces.get(space).is_some_and(|s| bytes > s.allowance.window) {
            return false;
        }
        // A wide open window has room for every floor, and they need not be looked at one by one.
        bytes.saturating_add(self.floors_at_most()) <= self.peer_rwnd
            || bytes.saturating_add(self.floors_of_others(space)) <= self.peer_rwnd
            || (bytes <= self.peer_rwnd && self.within_own_floor(space, bytes))
    }

    /// The peer's window is closed. True when one chunk may leave all the same, as a probe: "SHOULD only be sent
    /// when all outstanding DATA chunks have been cumulatively acknowledged", first "after 1 RTO" (6.1 A). Each sequence
    /// space is probed for itself.
    fn window_probe(&mut self, now: Instant, index: usize) -> bool {
        let Some(subflow) = self.subflows.get(index) else { return false };
        let Some(lane) = self.lanes.get(usize::from(subflow.lane)) else { return false };
        let lanes_quiet = self.lanes.iter().all(|l| l.space != subflow.space || l.unacked == 0);
        let Some(space) = self.spaces.get_mut(usize::from(subflow.space)) else { return false };
        let quiet = match space.flight.first_reserved() {
            None => space.flight.is_empty(),
            // Only what comes next for the peer can make it move.
            Some(first) => subflow.reserved.start == first && lanes_quiet,
        };
        if !quiet {
            return false;
        }
        if space.probe.due {
            return true;
        }
        if space.probe.at.is_none() {
            space.probe.at = Some(now + lane.rtt.rto());
        }
        false
    }

    /// A chunk leaves although the window is closed.
    fn begin_probe(&mut self, space: usize) {
        let Some(space) = self.spaces.get_mut(space) else { return };
        space.probe.due = false;
        space.probe.in_flight = true;
        space.probe.answered = false;
        self.stats.window_probes += 1;
    }
}
