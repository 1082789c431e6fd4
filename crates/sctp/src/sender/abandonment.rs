//! Messages that are given up (RFC 3758, 3.5, A2 and A3; RFC 7496, 3).

use super::flight::{ChunkState, Counted, Flight, SentChunk};
use super::partial_reliability::PartialReliability;
use super::reset_bounds::ResetBounds;
use super::send_buffer::SendBuffer;
use super::stream_map::StreamMap;
use super::tables::Tables;
use super::tickets::{MessageFates, Ticket};
use crate::context::Context;
use crate::event::Event;
use crate::ids::{Id, LaneId, SpaceId};
use crate::stream::outbound::Removed;

/// State for partial reliability and reports of fate, which a sender of plain messages does not have.
#[derive(Debug, Default)]
pub(super) struct Special {
    pub(super) fates: MessageFates,
    pub(super) reliability: PartialReliability,
}

/// Places of messages that may be given up: queues, flights, and messages deferred by a stream reset.
pub(super) struct Queues<'a> {
    pub(super) tables: &'a mut Tables,
    pub(super) map: &'a mut StreamMap,
    pub(super) buffer: &'a mut SendBuffer,
    /// Resets that FORWARD-TSN must mind.
    pub(super) bounds: Option<&'a ResetBounds>,
    /// Messages have identifiers (I-DATA, SF-DATA).
    pub(super) interleaves: bool,
}

/// Counts and numbers of the messages that were given up together.
#[derive(Default)]
struct GivenUp {
    /// A chunk of the messages had left.
    sent: bool,
    /// The first and the last of the numbers of each lane.
    lanes: Vec<Option<(u64, u64)>>,
}

impl GivenUp {
    fn note(&mut self, lane: LaneId, seq: u64) {
        if lane.row() >= self.lanes.len() {
            self.lanes.resize(lane.row() + 1, None);
        }
        if let Some(numbers) = self.lanes.get_mut(lane.row()) {
            let (first, last) = numbers.unwrap_or((seq, seq));
            *numbers = Some((first.min(seq), last.max(seq)));
        }
    }

    fn of_lane(&self, lane: LaneId) -> Option<(u64, u64)> {
        self.lanes.get(lane.row()).copied().flatten()
    }

    /// Chunks are gone from lanes.
    fn settle_lanes(&self, tables: &mut Tables) {
        for (id, lane) in tables.lanes.iter_mut() {
            let Some(space) = tables.spaces.get(lane.space()) else { continue };
            if let Some((first, last)) = self.of_lane(id) {
                lane.loss.forget_abandoned(&space.flight, first, last);
            }
            if space.shared {
                lane.loss.find_earliest(&space.flight);
            }
            if lane.in_flight.unacked() > 0 {
                continue;
            }
            // "turn off the T3-rtx timer" (RFC 9260, 6.3.2, R2); it runs again for a FORWARD-TSN.
            lane.stop_t3();
            lane.permits.given_up();
        }
    }
}

impl Special {
    /// Notes the chunks that a SACK is about to acknowledge cumulatively. False if one of them was never sent: an abandoned number
    /// that no FORWARD-TSN has named.
    pub(super) fn collect(&mut self, at: SpaceId, flight: &Flight, next_expected: u64) -> bool {
        self.fates.begin_sack();
        self.reliability.begin_sack();
        let told = self.reliability.forward(at).told;
        for seq in flight.first()..next_expected.min(flight.next()) {
            let Some(chunk) = flight.get(seq) else { break };
            self.fates.pass(chunk.fragment.ticket);
            if chunk.state == ChunkState::Abandoned {
                self.reliability.pass_abandoned();
                if chunk.transmissions == 0 && seq >= told {
                    return false;
                }
            }
        }
        true
    }

    /// Gives up messages that have outlived their lifetime, except those only in flight: they may have arrived, and are given up
    /// before a retransmission. So "the appropriate congestion adjustment" (RFC 3758, 3.5, F5) has been made by then.
    // rfc3758:4.1-3 rfc3758:4.1-4 rfc3758:4.1-5 rfc3758:4.1-6
    pub(super) fn end_lifetimes(&mut self, queues: &mut Queues<'_>, cx: &mut Context) {
        let mut ended = Vec::new();
        while let Some(number) = self.fates.next_ended(cx.env.now()) {
            let Some(ticket) = self.fates.get(number) else { continue };
            // A message that has left is kept until an INIT ACK says whether the peer skips it ([`Special::review_losses`]).
            let may = !(ticket.sent && cx.env.state().is_before_init_ack());
            if may && (ticket.queued || self.is_lost(queues.tables, number)) {
                ended.push(number);
            } else {
                self.reliability.note_overdue(number);
            }
        }
        self.abandon(queues, cx, &ended);
    }

    /// A message that has outlived its lifetime in flight is given up once a SACK reports it missing, before it
    /// counts as lost. "The sending SCTP MAY evaluate the lifetime of messages at anytime" (RFC 3758, 4.1, TR5).
    pub(super) fn review_overdue(&mut self, queues: &mut Queues<'_>, cx: &mut Context) {
        let mut overdue = self.reliability.take_overdue();
        if overdue.is_empty() {
            return;
        }
        let mut ended = Vec::new();
        overdue.retain(|number| {
            // The number may have been given to another message since.
            if !self.fates.get(*number).is_some_and(|ticket| ticket.limit.has_passed(cx.env.now())) {
                return false;
            }
            let missing = self.is_reported_missing(queues.tables, *number);
            if missing {
                ended.push(*number);
            }
            !missing
        });
        self.abandon(queues, cx, &ended);
        self.reliability.keep_overdue(overdue);
    }

    /// True if a SACK has reported a chunk of a message missing that is in flight still.
    fn is_reported_missing(&self, tables: &Tables, number: u32) -> bool {
        self.has_chunk(tables, number, |chunk| chunk.state == ChunkState::InFlight && chunk.missing > 0)
    }

    /// True if a chunk of a message is marked for retransmission.
    fn is_lost(&self, tables: &Tables, number: u32) -> bool {
        self.has_chunk(tables, number, |chunk| chunk.state == ChunkState::Lost)
    }

    fn has_chunk(&self, tables: &Tables, number: u32, wanted: impl Fn(&SentChunk) -> bool) -> bool {
        let Some(ticket) = self.fates.get(number) else { return false };
        tables.spaces.iter().any(|(at, space)| {
            ticket.numbers_in(at, &space.flight).any(|seq| {
                let chunk = space.flight.get(seq);
                chunk.is_some_and(|chunk| chunk.fragment.ticket == number && wanted(chunk))
            })
        })
    }

    /// Losses may have been found: gives up messages that must not be sent again.
    pub(super) fn review_losses(&mut self, queues: &mut Queues<'_>, cx: &mut Context) {
        let mut all = Vec::new();
        for id in queues.tables.lanes.ids() {
            self.review_lane(queues.tables, cx, id, &mut all);
        }
        self.abandon(queues, cx, &all);
    }

    /// Adds the tickets of the messages that a lane must not send again.
    fn review_lane(&self, tables: &Tables, cx: &Context, id: LaneId, all: &mut Vec<u32>) {
        let Some(lane) = tables.lanes.get(id).filter(|lane| lane.loss.any()) else { return };
        let Some(space) = tables.spaces.get(lane.space()) else { return };
        for seq in lane.loss.marked() {
            let Some(chunk) = space.flight.get(seq) else { continue };
            let number = chunk.fragment.ticket;
            // Chunks of one message are side by side, as a rule; a message that is named twice is given up once.
            if number == 0 || chunk.state != ChunkState::Lost || all.last() == Some(&number) {
                continue;
            }
            if self.fates.forbids(number, cx.env.now(), chunk.transmissions) {
                all.push(number);
            }
        }
    }

    /// Gives messages up. The consequences for lanes, and for the FORWARD-TSN, are found once for all of them: a
    /// timeout may give up all chunks in flight.
    #[cold]
    #[inline(never)]
    pub(super) fn abandon(&mut self, queues: &mut Queues<'_>, cx: &mut Context, numbers: &[u32]) {
        let mut given_up = GivenUp::default();
        for number in numbers {
            self.abandon_message(queues, cx, *number, &mut given_up);
        }
        if given_up.sent {
            given_up.settle_lanes(queues.tables);
            self.reliability.advance_forwards(queues.tables, queues.bounds, cx, false);
        }
    }

    /// Gives a whole message up: "if it is part of a fragmented message, all other TSN's within that fragmented message MUST be
    /// abandoned at the same time" (RFC 3758, 3.5, A3).
    // rfc3758:3.5-4
    fn abandon_message(
        &mut self,
        queues: &mut Queues<'_>,
        cx: &mut Context,
        number: u32,
        given_up: &mut GivenUp,
    ) {
        let Some(ticket) = self.fates.close(number) else { return };
        self.reliability.count(&ticket);
        let subflow = queues.map.subflow_of(ticket.stream);
        if let Some(subflow) = queues.tables.subflows.get_mut(subflow) {
            let [unsent, sent] = &mut subflow.counters.abandoned;
            let count = if ticket.sent { sent } else { unsent };
            *count = count.saturating_add(1);
        }
        queues.buffer.note_gone();
        if ticket.queued {
            abandon_rest(queues, cx, number, &ticket);
        }
        if ticket.sent {
            given_up.sent = true;
            match ticket.at {
                Some((at, ..)) => self.abandon_chunks(queues.tables, at, number, &ticket, given_up),
                None => {
                    for at in queues.tables.spaces.ids() {
                        self.abandon_chunks(queues.tables, at, number, &ticket, given_up);
                    }
                }
            }
        }
        if ticket.tells {
            let Ticket { id, context, sent, .. } = ticket;
            cx.tell(Event::Abandoned { message: id, context, sent });
        }
    }

    /// Abandons sent chunks: "the sender MUST treat the data chunk as being finally acked and no longer outstanding" (RFC 3758, 3.5, A2).
    // rfc3758:3.5-2
    fn abandon_chunks(
        &mut self,
        tables: &mut Tables,
        at: SpaceId,
        number: u32,
        ticket: &Ticket,
        given_up: &mut GivenUp,
    ) {
        let Some(space) = tables.spaces.get_mut(at) else { return };
        for seq in ticket.numbers_in(at, &space.flight) {
            let Some(chunk) = space.flight.get(seq).filter(|chunk| chunk.fragment.ticket == number) else {
                continue;
            };
            let (id, state, missing) = (chunk.lane, chunk.state, chunk.missing);
            let one = Counted::one(chunk);
            space.flight.abandon(seq);
            let Some(lane) = tables.lanes.get_mut(id) else { continue };
            if state == ChunkState::InFlight {
                self.reliability.watch(at, id, seq, missing);
            }
            lane.given_up(seq, state, one);
            given_up.note(id, seq);
        }
    }
}

/// Gives up the unsent part of a message. If the peer may have all of the sent part, a FORWARD-TSN must name a TSN beyond it: the
/// numbers that are kept for the rest, or one that is used for nothing else.
fn abandon_rest(queues: &mut Queues<'_>, cx: &Context, number: u32, ticket: &Ticket) {
    let Some(Removed { begun: Some(mid), unordered }) =
        queues.buffer.remove_queued(queues.tables, queues.map, queues.interleaves, ticket.stream, number)
    else {
        return;
    };
    let id = queues.map.subflow_of(ticket.stream);
    let Some(subflow) = queues.tables.subflows.get_mut(id) else { return };
    let Some(space) = queues.tables.spaces.get_mut(subflow.space) else { return };
    let mut end = SentChunk::reserved(subflow.lane, id);
    end.state = ChunkState::Abandoned;
    (end.fragment.stream, end.fragment.mid, end.fragment.unordered) = (ticket.stream, mid, unordered);
    let kept = std::mem::take(&mut subflow.reserved);
    subflow.begun = false;
    if space.exclusive_subflow == Some(id) {
        space.exclusive_subflow = None;
    }
    if kept.is_empty() {
        space.flight.push_abandoned(end);
    } else {
        for seq in kept {
            space.flight.abandon_reserved(seq, &end);
        }
    }
    if queues.map.any_moves() {
        queues.map.move_waiting_stream(queues.tables, cx, ticket.stream);
    }
}
