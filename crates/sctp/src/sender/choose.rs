//! Whose data the next packet carries, and with which chunk it begins: decided once for a packet.

use anabranch_wire::{CommonHeader, padded};

use super::Sender;
use super::next::{First, Next};
use super::scheduler::Candidate;
use crate::context::Context;
use crate::ids::{LaneId, SubflowId};

impl Sender {
    /// The subflow whose data the next packet carries, if any may leave.
    #[inline]
    pub(crate) fn choose(&mut self, cx: &Context) -> Option<Next> {
        if self.subflows.len() == 1 {
            return self.may_send(cx, SubflowId::FIRST);
        }
        self.choose_among(cx)
    }

    #[inline(never)]
    fn choose_among(&mut self, cx: &Context) -> Option<Next> {
        let mut candidates = self.scheduler.begin();
        for id in self.subflows.ids() {
            let Some(next) = self.may_send(cx, id) else { continue };
            if let Some(subflow) = self.subflows.get(id) {
                candidates.push(Candidate { next, priority: subflow.priority, since: next.since });
            }
        }
        self.scheduler.choose(candidates)
    }

    /// Whether a subflow has a chunk that may leave now, and which. The question asked most often, answered without building a
    /// packet.
    #[allow(clippy::inline_always, reason = "asked for every packet of the only subflow; measured")]
    #[inline(always)]
    fn may_send(&mut self, cx: &Context, id: SubflowId) -> Option<Next> {
        let several = self.subflows.len() > 1;
        let subflow = self.subflows.get(id)?;
        let lane = self.lanes.get_mut(subflow.lane)?;
        let space = self.spaces.get(subflow.space)?;
        let path = lane.path;
        let next = Next {
            subflow: id,
            path,
            lane: subflow.lane,
            space: subflow.space,
            first: First::New { roomy: true },
            since: 0,
        };
        // "before sending new DATA chunks, the sender MUST first transmit any DATA chunks that are marked" (6.1 C).
        if lane.loss.any() {
            if let Some(seq) = lane.loss.next_lost(&space.flight) {
                let chunk = space.flight.get(seq).filter(|chunk| chunk.subflow == id)?;
                let paced = lane.pacer.is_some() && !chunk.probe;
                let may = lane.may_retransmit() && !(paced && lane.must_wait(cx));
                return may.then_some(Next { first: First::Lost(seq), ..next });
            }
        }
        if subflow.out.is_empty() || !lane.may_send_new() {
            return None;
        }
        let next = Next { since: subflow.out.waiting_since(), ..next };
        let (id_of_lane, at, paced) = (next.lane, next.space, lane.pacer.is_some());
        if several && !self.may_begin_or_go_on(cx, id) {
            return None;
        }
        let on = cx.paths.get(path)?;
        // A wide open window needs no closer look.
        if self.has_room(at, u64::from(on.mtu())) {
            return (!paced || !self.waits_for_pacer(cx, id_of_lane)).then_some(next);
        }
        let room = on.max_packet() - CommonHeader::LEN;
        let payload = self.next_new_payload(cx, &next, room, false)?;
        let probe = !self.fits_peer_window(cx, at, payload);
        let may = !paced || probe || !self.waits_for_pacer(cx, id_of_lane);
        may.then_some(Next { first: First::New { roomy: false }, ..next })
    }

    /// Whether the pacer keeps the data of a lane back that may leave otherwise.
    #[inline(never)]
    fn waits_for_pacer(&mut self, cx: &Context, lane: LaneId) -> bool {
        self.lanes.get_mut(lane).is_some_and(|lane| lane.must_wait(cx))
    }

    /// Length of the chunk that goes first, padding included.
    pub(crate) fn first_chunk_len(&self, cx: &Context, next: &Next) -> Option<usize> {
        let payload = match next.first {
            First::Lost(seq) => self.spaces.get(next.space)?.flight.get(seq)?.fragment.payload.len(),
            First::New { .. } => {
                self.subflows.get(next.subflow)?.out.peek(self.max_payload(cx, next.path))?
            }
        };
        Some(padded(self.encoding.header_len() + payload))
    }
}
