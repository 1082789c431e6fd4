//! What is sent when the MTU of a path has changed.
//!
//! Fragments that have left keep their size: "Once a user message is fragmented, it cannot be re-fragmented. Instead, if the PMTU
//! has been reduced, then IP fragmentation MUST be used" (RFC 9260, 6.9). The rest of a message is cut to the new size, but where
//! TSNs are kept for it (`contiguity`): those were counted for fragments of one size.

use anabranch_base::Instant;
use anabranch_wire::{CommonHeader, padded};

use super::Sender;
use super::flight::{AckOutcome, ChunkState, Counted, SentChunk};
use crate::context::Context;
use crate::event::Event;
use crate::ids::{Id, LaneId, PathId};
use crate::path::{Path, Paths};
use crate::stats::count_lost;

/// Packets that were lost again. Short chunks were bundled in them: those that left at the same time filled one after the other.
#[derive(Debug, Default)]
pub(super) struct LostAgain {
    /// When the last one left, and the bytes of its chunks.
    at: Option<Instant>,
    chunks: usize,
    /// The most that was in one, bytes of chunks.
    longest: usize,
}

impl LostAgain {
    /// A chunk was lost once more, in a packet with `room` bytes for chunks. One that fits none left alone, and IP may have fragmented it.
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

    pub(super) fn any(&self) -> bool {
        self.at.is_some()
    }
}

/// Bytes of chunks that a packet of a path has room for.
pub(super) fn room_of(paths: &Paths, id: PathId) -> usize {
    paths.get(id).map_or(0, Path::max_packet).saturating_sub(CommonHeader::LEN)
}

impl Sender {
    /// Discovery has found what a path carries.
    pub(crate) fn use_found_mtu(&mut self, cx: &mut Context, id: PathId, mtu: u16) {
        self.use_mtu(cx, id, mtu);
        cx.tell_if_read(Event::PathMtu { path: id.get(), mtu });
    }

    /// A path carries IP packets of so many bytes from now on.
    pub(crate) fn use_mtu(&mut self, cx: &mut Context, id: PathId, mtu: u16) {
        let config = &cx.config;
        if cx.paths.get_mut(id).is_some_and(|path| path.size_mut().set(config, mtu)) {
            self.path_mtu_changed(cx, id);
        }
    }

    /// T3-rtx of a lane has expired, and nothing is marked yet: the packets that were lost once more may be too long for the path
    /// (RFC 8899, 4.3). Other lanes may have had answers all the time, and so may packets that are smaller.
    pub(super) fn suspect_lost_sizes(&mut self, cx: &mut Context, id: LaneId) {
        let Some(lane) = self.lanes.get(id) else { return };
        if cx.paths.get(lane.path).is_none_or(|path| !path.size().is_searched()) {
            return;
        }
        let Some(space) = self.spaces.get(lane.space) else { return };
        let (header, room) = (self.encoding.header_len(), room_of(&cx.paths, lane.path));
        let mut lost = LostAgain::default();
        for chunk in space.flight.of_lane(id).filter_map(|seq| space.flight.get(seq)) {
            // T3-rtx expired before it was sent again, and now once more.
            if chunk.state == ChunkState::InFlight && chunk.lost_by_timeout {
                lost.add(chunk, header, room);
            }
        }
        self.suspect_black_hole(cx, id, &lost);
    }

    /// Packets were lost again on a lane.
    #[cold]
    pub(super) fn suspect_black_hole(&mut self, cx: &mut Context, id: LaneId, lost: &LostAgain) {
        let Some(id) = self.lanes.get(id).map(|lane| lane.path) else { return };
        let (config, len) = (&cx.config, CommonHeader::LEN + lost.longest);
        if let Some(mtu) =
            cx.paths.get_mut(id).and_then(|path| path.size_mut().packet_lost_again(config, len))
        {
            self.use_found_mtu(cx, id, mtu);
        }
    }

    /// Data of a lane was acknowledged, and the search for the MTU of its path waits for packets of some size.
    #[cold]
    pub(super) fn note_sizes_that_arrived(&mut self, cx: &mut Context, id: LaneId, outcome: &AckOutcome) {
        let (Some(lane), Some(ack)) = (self.lanes.get(id), outcome.lanes.get(id.row())) else { return };
        if ack.acked_chunks == 0 {
            return;
        }
        let (once, resent) =
            (self.packet_of(ack.longest_once as usize), self.packet_of(ack.longest_resent as usize));
        let (now, config) = (cx.now, &cx.config);
        if let Some(path) = cx.paths.get_mut(lane.path) {
            path.size_mut().packets_arrived(now, config, once, resent);
        }
    }

    /// The packet of one chunk with so many bytes of payload, common header included, bytes.
    pub(super) fn packet_of(&self, payload: usize) -> usize {
        CommonHeader::LEN + padded(self.encoding.header_len() + payload)
    }

    /// The packets of a path have another size: what windows are counted in. "An update to the PLPMTU (or MPS) MUST NOT increase the
    /// congestion window measured in bytes" (RFC 8899, 3), and a smaller one is no sign of congestion.
    pub(crate) fn path_mtu_changed(&mut self, cx: &Context, id: PathId) {
        let Some(path) = cx.paths.get(id) else { return };
        let (unit, pmdcs) = (path.size().window_unit(&cx.config), path.pmdcs());
        for lane in self.lanes.rows_mut().iter_mut().filter(|lane| lane.path == id) {
            lane.resize(unit, pmdcs);
        }
        if let Some(coupler) = &mut self.coupler {
            coupler.resize(u64::from(unit));
        }
    }

    /// The network has said that packets larger than the path now carries did not arrive: chunks that fill such packets leave again
    /// at once, but for what must not leave again. That is no sign of congestion: what may leave is what cwnd has room for once they are out
    /// of the flight, and no more (RFC 9260, 6.1 B).
    ///
    /// Who sees packets of ours can forge such messages, a smaller size with each. So a chunk leaves again for a size once a round trip:
    /// by then it was acknowledged if it has arrived. It may be fragmented on its way by now (6.9), and as a rule needs no
    /// other size; where routers do not fragment, and a hop behind the first has said less, missing reports and T3-rtx find it, too.
    pub(crate) fn resend_too_long(&mut self, cx: &mut Context, id: PathId) {
        for lane in self.lanes.ids() {
            if self.lanes.get(lane).is_some_and(|lane| lane.path == id) {
                self.resend_too_long_of(cx, lane);
            }
        }
        self.after_marking(cx);
    }

    fn resend_too_long_of(&mut self, cx: &mut Context, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        let Some(space) = self.spaces.get_mut(lane.space) else { return };
        let room = room_of(&cx.paths, lane.path);
        // What was just sent again lets queues grow: the last round trip may be longer than the usual one.
        let round_trip = lane.srtt(cx).max(lane.last_rtt()).unwrap_or_else(|| lane.rto(cx));
        let header = self.encoding.header_len();
        let mut all = Counted::default();
        for seq in space.flight.of_lane(id).collect::<Vec<_>>() {
            let leaves_again = space.flight.get(seq).is_some_and(|chunk| {
                let fits = padded(header + chunk.fragment.payload.len()) <= room;
                let just_left = chunk.too_long && cx.now < chunk.sent_at + round_trip;
                !(fits || just_left)
            });
            if !leaves_again {
                continue;
            }
            // As if a window had opened: the fast retransmit that a chunk has once is not used up.
            if let Some(chunk) = lane.loss.mark(&mut space.flight, seq) {
                chunk.fast_retransmitted = false;
                chunk.too_long = true;
                all.add(chunk);
                count_lost(&mut cx.streams, chunk.fragment.stream);
            }
        }
        self.lose(cx, id, all);
    }
}
