//! What is sent when the MTU of a path has changed.
//!
//! Fragments that have left keep their size: "Once a user message is fragmented, it cannot be re-fragmented. Instead, if the PMTU
//! has been reduced, then IP fragmentation MUST be used" (RFC 9260, 6.9). The rest of a message is cut to the new size, but where
//! TSNs are kept for it (`contiguity`): those were counted for fragments of one size.

use anabranch_wire::{CommonHeader, padded};

use super::Sender;
use super::flight::Counted;
use crate::context::Context;
use crate::ids::{LaneId, PathId};
use crate::stats::count_lost;

impl Sender {
    /// The packets of a path have another size: what windows are counted in. "An update to the PLPMTU (or MPS) MUST NOT increase the
    /// congestion window measured in bytes" (RFC 8899, 3), and a smaller one is no sign of congestion.
    pub(crate) fn path_mtu_changed(&mut self, cx: &Context, id: PathId) {
        let Some(path) = cx.paths.get(id) else { return };
        let (unit, pmdcs) = (path.window_unit(&cx.config), path.pmdcs());
        for lane in self.lanes.rows_mut().iter_mut().filter(|lane| lane.path == id) {
            lane.resize(unit, pmdcs);
        }
    }

    /// The network has said that packets larger than the path now carries did not arrive: chunks that fill such packets leave again
    /// at once, but for what must not leave again. That is no sign of congestion.
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
        let room = cx.paths.get(lane.path).map_or(0, crate::path::Path::max_packet) - CommonHeader::LEN;
        let header = self.encoding.header_len();
        let mut all = Counted::default();
        for seq in space.flight.of_lane(id).collect::<Vec<_>>() {
            let len = space.flight.get(seq).map_or(0, |chunk| chunk.fragment.payload.len());
            if padded(header + len) <= room {
                continue;
            }
            // As if a window had opened: the fast retransmit that a chunk has once is not used up.
            if let Some(chunk) = lane.loss.mark(&mut space.flight, seq) {
                chunk.fast_retransmitted = false;
                all.add(chunk);
                count_lost(&mut cx.streams, chunk.fragment.stream);
            }
        }
        lane.on_lost(all);
        let freed = all.charged(cx.config.emulation.rwnd_counts_headers);
        space.allowance.give_back(freed);
        self.peer_rwnd += freed;
    }
}
