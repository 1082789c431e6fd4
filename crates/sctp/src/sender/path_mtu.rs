//! Chunks that are sent again when the MTU of a path has changed.
//!
//! Fragments that have left keep their size: "Once a user message is fragmented, it cannot be re-fragmented. Instead, if the PMTU
//! has been reduced, then IP fragmentation MUST be used" (RFC 9260, 6.9). The rest of a message is cut to the new size, unless
//! TSNs are kept for it (`contiguity`): those were counted for fragments of one size.

use anabranch_base::Instant;
use anabranch_wire::{CommonHeader, padded};

use super::effect::Effect;
use super::flight::{ChunkState, Counted, LaneAck, SentChunk};
use super::losses::Losses;
use super::tables::Scope;
use crate::context::Context;
use crate::ids::PathId;
use crate::path::{Path, Paths};
use crate::stats::count_lost;

/// Packets that were lost again. Packets of several short chunks are rebuilt: chunks that left at the same time filled one after the other.
#[derive(Debug, Default)]
pub(super) struct LostAgain {
    /// Time at which the last packet left, and the bytes of its chunks.
    at: Option<Instant>,
    chunks: usize,
    /// The most bytes of chunks in one packet.
    longest: usize,
}

impl LostAgain {
    /// A chunk was lost once more, in a packet with `room` bytes for chunks. A longer one left alone, and IP may have fragmented it.
    #[cold]
    pub(super) fn add(&mut self, chunk: &SentChunk, header: usize, room: usize) {
        let len = padded(header + chunk.fragment.payload.len());
        if len > room {
            return;
        }
        if self.at != Some(chunk.sent_at) || self.chunks + len > room {
            (self.at, self.chunks) = (Some(chunk.sent_at), 0);
        }
        self.chunks += len;
        self.longest = self.longest.max(self.chunks);
    }

    /// The most bytes of chunks in one packet; 0 where none was lost again.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }
}

/// Bytes of chunks that a packet of a path has room for.
pub(super) fn room_of(paths: &Paths, id: PathId) -> usize {
    paths.get(id).map_or(0, Path::max_packet).saturating_sub(CommonHeader::LEN)
}

impl Losses<'_> {
    /// The network has said that packets larger than the path now carries did not arrive: chunks that fill such
    /// packets leave again at once, except for messages that must not leave again. That is no sign of congestion: no
    /// more may leave than cwnd has room for once those chunks are out of the flight (RFC 9260, 6.1 B).
    ///
    /// An attacker that sees packets of ours can forge such messages, a smaller size with each. So a chunk leaves again at most once a
    /// round trip: by then it was acknowledged if it has arrived. It may be fragmented on its way by now (6.9), and as a rule needs no
    /// other size; where routers do not fragment, and a later hop needs a smaller size, missing reports and T3-rtx find the loss.
    pub(crate) fn resend_too_long(&mut self, cx: &mut Context, id: PathId) {
        for lane in self.tables.lanes.ids() {
            if self.tables.lanes.get(lane).is_some_and(|lane| lane.path() == id) {
                if let Some(mut scope) = self.tables.scope(lane) {
                    let freed = scope.resend_too_long(cx);
                    self.settle(cx, lane, &Effect::freed(freed));
                }
            }
        }
        self.messages().after_marking(cx);
    }
}

impl Scope<'_> {
    fn resend_too_long(&mut self, cx: &mut Context) -> u64 {
        let Self { lane, space, .. } = self;
        let room = room_of(&cx.paths, lane.path());
        // Chunks that were just sent again let queues grow: the last round trip may be longer than the usual one.
        let round_trip = lane.srtt(cx).max(lane.round_trip.last()).unwrap_or_else(|| lane.rto(cx));
        let header = cx.env.agreed().header_len();
        let mut all = Counted::default();
        for seq in space.flight.of_lane(self.id).collect::<Vec<_>>() {
            let leaves_again = space.flight.get(seq).is_some_and(|chunk| {
                let fits = padded(header + chunk.fragment.payload.len()) <= room;
                let just_left = chunk.too_long && cx.env.now() < chunk.sent_at + round_trip;
                !(fits || just_left)
            });
            if !leaves_again {
                continue;
            }
            // As after a window has opened: this is not the one fast retransmit of the chunk.
            if let Some(chunk) = lane.loss.mark(&mut space.flight, seq) {
                chunk.fast_retransmitted = false;
                chunk.too_long = true;
                all.add(chunk);
                count_lost(&mut cx.report.streams, chunk.fragment.stream);
            }
        }
        self.lose(cx, all)
    }

    /// T3-rtx has expired, and nothing is marked yet: the longest packet that was lost once more, bytes of chunks. It may be too long for
    /// the path (RFC 8899, 4.3). Other lanes may have had answers all the time, and so may packets that are smaller.
    pub(super) fn lost_sizes(&self, cx: &Context) -> usize {
        let (header, room) = (cx.env.agreed().header_len(), room_of(&cx.paths, self.lane.path()));
        let mut lost = LostAgain::default();
        for chunk in self.space.flight.of_lane(self.id).filter_map(|seq| self.space.flight.get(seq)) {
            // T3-rtx expired for the chunk before its last transmission, and now once more.
            if chunk.state == ChunkState::InFlight && chunk.lost_by_timeout {
                lost.add(chunk, header, room);
            }
        }
        lost.longest()
    }
}

/// Data of a lane was acknowledged, and the search for the MTU of its path waits for the arrival of packets of some size.
#[cold]
pub(super) fn note_sizes_that_arrived(cx: &mut Context, path: PathId, ack: Option<&LaneAck>) {
    let Some(ack) = ack.filter(|ack| ack.acked_chunks > 0) else { return };
    let (once, resent) = (
        cx.env.agreed().packet_of(ack.longest_once as usize),
        cx.env.agreed().packet_of(ack.longest_resent as usize),
    );
    let (now, config) = (cx.env.now(), cx.env.config());
    if let Some(path) = cx.paths.get_mut(path) {
        path.size_mut().packets_arrived(now, config, once, resent);
    }
}
