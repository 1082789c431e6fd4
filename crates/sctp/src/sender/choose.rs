//! Whose data the next packet carries, and with which chunk it begins: decided once for a packet.

use anabranch_base::rare;
use anabranch_wire::{CommonHeader, padded};

use super::filling::Filling;
use super::next::{First, Next};
use super::scheduler::Candidate;
use super::ssn;
use crate::context::Context;
use crate::ids::SubflowId;

impl Filling<'_> {
    /// The subflow whose data the next packet carries, if any may leave.
    #[allow(clippy::inline_always, reason = "asked for every packet; measured")]
    #[inline(always)]
    pub(crate) fn choose(&mut self, cx: &Context) -> Option<Next> {
        if self.tables.subflows.len() == 1 {
            return self.may_send(cx, SubflowId::FIRST).map(|(next, _)| next);
        }
        self.lend().choose_among(cx)
    }

    /// The subflow whose data rides with a COOKIE ECHO: a function of its own, as it is rare.
    #[inline(never)]
    pub(crate) fn choose_with_cookie(&mut self, cx: &Context) -> Option<Next> {
        self.choose(cx)
    }

    #[inline(never)]
    fn choose_among(&mut self, cx: &Context) -> Option<Next> {
        let mut candidates = self.scheduler.begin();
        let one_flow = self.coupling.look_at_flights(self.tables, cx);
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

    /// Whether a subflow has a chunk that may leave now, which, and when its earliest message came (0 for a retransmission, which
    /// has waited longest). The question asked most often, answered without building a
    /// packet.
    // rfc9260:6.1-13 rfc9260:6.1-17
    #[allow(clippy::inline_always, reason = "asked for every packet of the only subflow; measured")]
    #[inline(always)]
    fn may_send(&mut self, cx: &Context, id: SubflowId) -> Option<(Next, u64)> {
        let subflow = self.tables.subflows.get(id)?;
        let (lane_id, at) = (subflow.lane, subflow.space);
        let lane = self.tables.lanes.get_mut(lane_id)?;
        let path = lane.path();
        let dscp = subflow.dscp;
        let next = |first| Next { subflow: id, path, lane: lane_id, space: at, first, dscp };
        // "before sending new DATA chunks, the sender MUST first transmit any DATA chunks that are marked" (6.1 C).
        if lane.loss.any() {
            rare();
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
        if cx.config.congestion.nagle && self.tables.waits_for_more(self.format, cx, id, path) {
            return None;
        }
        if self.tables.subflows.len() > 1
            && !self.tables.may_begin_or_go_on(self.format, self.peer.bytes(), cx, id)
        {
            return None;
        }
        let on = cx.paths.get(path)?;
        let flight = &self.tables.spaces.get(at)?.flight;
        if flight.span() >= ssn::MOST && ssn::run_out(&subflow.out, self.numbering, flight) {
            return None;
        }
        // A wide open window needs no closer look.
        if self.peer.has_room(self.tables, at, u64::from(on.mtu())) {
            let waits = paced && self.tables.waits_for_pacer(cx, lane_id);
            return (!waits).then(|| (next(First::New { roomy: true }), since));
        }
        rare();
        let room = on.max_packet() - CommonHeader::LEN;
        let next = next(First::New { roomy: false });
        let payload = self.lend().next_new_payload(cx, &next, room, false)?;
        let probe = !self.peer.fits(self.tables, cx, at, payload);
        let may = !paced || probe || !self.tables.waits_for_pacer(cx, lane_id);
        may.then_some((next, since))
    }

    /// Length of the chunk that goes first, padding included.
    pub(crate) fn first_chunk_len(&self, cx: &Context, next: &Next) -> Option<usize> {
        let payload = match next.first {
            First::Lost(seq) => self.tables.spaces.get(next.space)?.flight.get(seq)?.fragment.payload.len(),
            First::New { .. } => {
                let subflow = self.tables.subflows.get(next.subflow)?;
                subflow.out.peek(subflow.cut_at(self.format.max_payload(cx, next.path)))?
            }
        };
        Some(padded(self.format.header_len() + payload))
    }
}
