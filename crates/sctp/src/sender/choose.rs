//! Choice of the subflow whose data the next packet carries, and of the packet's first chunk: decided once for a
//! packet.

use anabranch_base::cold_path;
use anabranch_wire::{CommonHeader, padded};

use super::Sender;
use super::next::{First, Next};
use super::scheduler::Candidate;
use super::ssn;
use crate::context::Context;
use crate::ids::{PathId, SubflowId};

impl Sender {
    /// The subflow whose data the next packet carries, if any may leave.
    #[allow(clippy::inline_always, reason = "asked for every packet; measured")]
    #[inline(always)]
    pub(crate) fn choose(&mut self, cx: &Context) -> Option<Next> {
        if self.tables.subflows.len() == 1 {
            return self.may_send(cx, SubflowId::FIRST).map(|(next, _)| next);
        }
        self.choose_among(cx)
    }

    /// The subflow whose data rides with a COOKIE ECHO: a function of its own, as it is rare.
    #[inline(never)]
    pub(crate) fn choose_with_cookie(&mut self, cx: &Context) -> Option<Next> {
        self.choose(cx)
    }

    #[inline(never)]
    fn choose_among(&mut self, cx: &Context) -> Option<Next> {
        let mut candidates = self.scheduler.begin();
        let one_flow = self.coupling.look_at_flights(&mut self.tables, cx);
        for id in self.tables.subflows.ids() {
            let Some((next, since)) = self.may_send(cx, id) else { continue };
            if one_flow && matches!(next.first, First::New { .. }) && self.coupling.is_out(next.lane) {
                continue;
            }
            if let Some(subflow) = self.tables.subflows.get(id) {
                candidates.push(Candidate { next, priority: subflow.priority, since });
            }
        }
        self.scheduler.choose(candidates)
    }

    /// The chunk of a subflow that may leave now, with the time at which the subflow's earliest message came (0 for a
    /// retransmission, which has waited longest); `None` where there is none. The question asked most often: answered
    /// without building a packet.
    // rfc9260:6.1-13 rfc9260:6.1-17
    #[allow(clippy::inline_always, reason = "asked for every packet of the only subflow; measured")]
    #[inline(always)]
    fn may_send(&mut self, cx: &Context, id: SubflowId) -> Option<(Next, u64)> {
        if cx.paths.len() > 1 {
            cold_path();
            if let Some(next) = self.tables.lost_elsewhere(cx, id) {
                return Some((next, 0));
            }
        }
        let subflow = self.tables.subflows.get(id)?;
        let (lane_id, at) = (subflow.lane, subflow.space);
        let lane = self.tables.lanes.get_mut(lane_id)?;
        let path = lane.path();
        let dscp = subflow.dscp;
        let next = |first| Next { subflow: id, path, lane: lane_id, space: at, first, dscp };
        // "before sending new DATA chunks, the sender MUST first transmit any DATA chunks that are marked" (6.1 C).
        if lane.loss.any() {
            cold_path();
            let space = self.tables.spaces.get(at)?;
            if let Some(seq) = lane.loss.next_lost(&space.flight) {
                let chunk = space.flight.get(seq).filter(|chunk| chunk.subflow == id)?;
                let paced = lane.has_pacer() && !chunk.probe;
                let may = lane.may_retransmit() && !(paced && lane.must_wait(cx));
                return may.then(|| (next(First::Lost(seq)), 0));
            }
        }
        if subflow.out.is_empty() || !lane.may_send_new() {
            return None;
        }
        let (since, paced) = (subflow.out.waiting_since(), lane.has_pacer());
        if cx.env.config().congestion.nagle && self.waits_for_more(cx, id, path) {
            return None;
        }
        if self.tables.subflows.len() > 1 && !self.tables.may_begin_or_go_on(self.peer.bytes(), cx, id) {
            return None;
        }
        let on = cx.paths.get(path)?;
        let flight = &self.tables.spaces.get(at)?.flight;
        if flight.span() >= ssn::MOST && ssn::run_out(&subflow.out, &self.numbering, flight) {
            return None;
        }
        // A wide open window needs no closer look.
        if self.peer.has_room(&self.tables, at, u64::from(on.mtu())) {
            let waits = paced && self.tables.waits_for_pacer(cx, lane_id);
            return (!waits).then(|| (next(First::New { roomy: true }), since));
        }
        cold_path();
        let room = on.max_packet() - CommonHeader::LEN;
        let next = next(First::New { roomy: false });
        let payload = self.next_new_payload(cx, &next, room, false)?;
        let probe = !self.peer.fits(&self.tables, cx, at, payload);
        let may = !paced || probe || !self.tables.waits_for_pacer(cx, lane_id);
        may.then_some((next, since))
    }

    /// True if the data that waits is too little for a packet while data is outstanding: "any Nagle-like algorithm"
    /// (RFC 6458, 8.1.5). All data that waits when nothing is outstanding leaves.
    #[inline(never)]
    fn waits_for_more(&self, cx: &Context, id: SubflowId, path: PathId) -> bool {
        let Some(subflow) = self.tables.subflows.get(id).filter(|subflow| !subflow.flushes) else {
            return false;
        };
        // The queued payload is less than the length of its chunks: counted message by message only where that decides.
        let (room, header) = (cx.packet_room(path), cx.env.agreed().header_len());
        let most = subflow.cut_at(cx.env.config().limits.most_payload(room));
        self.tables.has_data_in_flight()
            && subflow.out.queued_bytes() < room
            && !subflow.out.fills(room + header, header, most)
    }

    /// Length of the chunk that goes first, padding included.
    pub(crate) fn first_chunk_len(&self, cx: &Context, next: &Next) -> Option<usize> {
        let payload = match next.first {
            First::Lost(seq) => self.tables.spaces.get(next.space)?.flight.get(seq)?.fragment.payload.len(),
            First::New { .. } => {
                let subflow = self.tables.subflows.get(next.subflow)?;
                subflow.out.peek(subflow.cut_at(cx.max_payload(next.path)))?
            }
        };
        Some(padded(cx.env.agreed().header_len() + payload))
    }
}
