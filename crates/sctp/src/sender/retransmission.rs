//! Chunks that are sent again.

use anabranch_base::{RetransmitReason, TraceEvent};
use anabranch_wire::PacketBuilder;

use super::abandonment::Special;
use super::flight::ChunkState;
use super::next::{First, Next};
use super::peer_window::WINDOW_HEADER;
use super::tables::Tables;
use crate::config::RttSampling;
use crate::context::Context;
use crate::state::State;

impl Tables {
    /// Writes chunks marked for retransmission, while they fit and may leave; returns their number, and the bytes charged to rwnd.
    #[inline(never)]
    pub(super) fn write_lost(
        &mut self,
        special: Option<&Special>,
        cx: &mut Context,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        next: &Next,
    ) -> (u32, u64) {
        let (mut chunks, mut charged) = (0, 0);
        // The first chunk was decided on when the packet's data was chosen.
        let mut decided = match next.first {
            First::Lost(seq) => Some(seq),
            First::New { .. } => None,
        };
        // Room of an empty packet of the path: `max_fragment` limits only new fragments.
        let empty = cx.env.agreed().header_len() + cx.packet_room(next.path);
        loop {
            let room = limit.saturating_sub(packet.len());
            let Some(seq) = decided.take().or_else(|| self.next_lost(next)) else { break };
            // "Once a user message is fragmented, it cannot be re-fragmented. Instead, if the PMTU has been reduced, then IP
            // fragmentation MUST be used" (6.9): a chunk that fits no packet any more leaves in one of its own.
            if !self.fits(cx, next, seq, room) && room < empty {
                break;
            }
            charged += self.retransmit(special, cx, next, seq, packet.buffer());
            chunks += 1;
        }
        if chunks > 0 {
            if let Some(lane) = self.lanes.get_mut(next.lane) {
                lane.permits.marked_left();
            }
        }
        (chunks, charged)
    }

    /// Sends a chunk again; returns the bytes charged to the peer's window.
    // rfc9260:6.1-19 rfc9260:6.1-20 rfc9260:6.3.1-5
    fn retransmit(
        &mut self,
        special: Option<&Special>,
        cx: &mut Context,
        next: &Next,
        seq: u64,
        out: &mut Vec<u8>,
    ) -> u64 {
        let established = cx.env.state() != State::CookieEchoed;
        let Some(lane) = self.lanes.get_mut(next.lane) else { return 0 };
        let Some(space) = self.spaces.get_mut(lane.space()) else { return 0 };
        let framing =
            cx.env.agreed().encoding().framing(&cx.env.config().subflows.codes, space.fid, space.epoch);
        let tsn = space.tsn_of(seq);
        let first = if space.shared { lane.loss.earliest(&space.flight) } else { space.flight.first() };
        let earliest = seq == first;
        let Some(chunk) = space.flight.get_mut(seq) else { return 0 };
        // The question whether a chunk may leave again was asked when it was marked (`Messages::after_marking`).
        debug_assert!(
            special.is_none_or(|special| special.fates.may_leave_again(
                chunk.fragment.ticket,
                cx.env.now(),
                chunk.transmissions
            )),
            "a chunk leaves again that must not: number {seq}, sent {} times",
            chunk.transmissions
        );
        chunk.state = ChunkState::InFlight;
        chunk.transmissions = chunk.transmissions.saturating_add(1);
        chunk.sent_at = cx.env.now();
        let owner = chunk.subflow;
        let (size, overhead) = (chunk.size(), chunk.overhead);
        let reason = if chunk.lost_by_timeout {
            RetransmitReason::Timeout
        } else if chunk.probe {
            RetransmitReason::Probe
        } else if lane.permits.lets_marked() {
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
        let stream = chunk.fragment.stream;
        let last_sent = lane.window.last_sent();
        let through = cx.env.config().timers.rtt_sampling == RttSampling::ThroughLoss;
        lane.sent_again(cx.env.now(), seq, (size, overhead), eligible, through);
        // "If the timer for that address is already running, the sender MUST restart the timer if the earliest ...
        // outstanding DATA chunk sent to that address is being retransmitted" (6.1).
        let restarts = earliest && !cx.env.config().emulation.quirks.t3_runs_on;
        if established && (lane.t3().is_none() || restarts) {
            lane.arm_t3(cx);
        }
        if space.probe.in_flight {
            lane.sent_probe(last_sent);
            lane.stretch_t3(cx, space.probe.backoff);
        }
        let charged =
            len as u64 + if cx.env.config().emulation.rwnd_counts_headers { WINDOW_HEADER } else { 0 };
        space.allowance.take(charged);
        cx.report.stats.chunks_sent += 1;
        cx.report.stats.reasons.count(reason);
        if let Some(table) = &mut cx.report.streams {
            table.note_sent_again(next.space, tsn, stream, reason);
        }
        cx.report.stats.payload_bytes_sent += len as u64;
        if let Some(subflow) = self.subflows.get_mut(owner) {
            subflow.counters.reasons.count(reason);
            subflow.counters.payload_bytes_sent += len as u64;
            subflow.counters.chunk_bytes_sent += on_wire;
        }
        cx.record(owner, next.path, TraceEvent::Sent { seq, len: len as u32, retransmit: Some(reason) });
        charged
    }
}
