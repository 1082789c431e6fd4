//! Messages that are given up (RFC 3758, 3.5, A2 and A3; RFC 7496, 3).

use super::Sender;
use super::flight::{ChunkState, Counted, SentChunk};
use super::loss_response::NewlyLost;
use super::tickets::Ticket;
use super::timer_kind::SenderTimer;
use crate::config::FastRecovery;
use crate::context::Context;
use crate::event::Event;
use crate::ids::{Id, LaneId, SpaceId};
use crate::stats::count_lost;
use crate::stream::outbound::Removed;

/// What was given up together.
#[derive(Default)]
struct GivenUp {
    /// Something of it had left.
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
}

impl Sender {
    /// Whether the lifetime of something has ended.
    #[inline]
    pub(crate) fn has_ended(&self, cx: &Context) -> bool {
        self.special.as_ref().is_some_and(|special| special.next_end().is_some_and(|end| end <= cx.now))
    }

    /// Gives up what has outlived its lifetime, but for what is only in flight: that may have arrived, and is given up when it would
    /// have to be sent again. So "the appropriate congestion adjustment" (RFC 3758, 3.5, F5) has been made by then.
    // rfc3758:4.1-3 rfc3758:4.1-4 rfc3758:4.1-5 rfc3758:4.1-6
    #[cold]
    #[inline(never)]
    pub(crate) fn end_lifetimes(&mut self, cx: &mut Context) {
        let mut ended = Vec::new();
        while let Some(number) = self.special.as_mut().and_then(|special| special.next_ended(cx.now)) {
            let Some(ticket) = self.special.as_ref().and_then(|special| special.get(number)) else {
                continue;
            };
            // What has left is kept until an INIT ACK says whether the peer skips it ([`Sender::after_marking`]).
            let may = !(ticket.sent && cx.state.is_before_init_ack());
            if may && (ticket.queued || self.is_lost(number)) {
                ended.push(number);
            } else if let Some(special) = &mut self.special {
                special.overdue.push(number);
            }
        }
        self.abandon(cx, &ended);
        self.tell_if_dry(cx);
        self.buffer.tell_writable(&mut self.tables, &self.stream_map, cx);
    }

    /// What has outlived its lifetime in flight is given up once a SACK reports it missing: it is not worth to be waited for until it
    /// counts as lost. "The sending SCTP MAY evaluate the lifetime of messages at anytime" (RFC 3758, 4.1, TR5).
    fn review_overdue(&mut self, cx: &mut Context) {
        let Some(special) = self.special.as_mut().filter(|special| !special.overdue.is_empty()) else {
            return;
        };
        let mut overdue = std::mem::take(&mut special.overdue);
        let mut ended = Vec::new();
        overdue.retain(|number| {
            let ticket = self.special.as_ref().and_then(|special| special.get(*number));
            // The number may have been given to another message since.
            if !ticket.is_some_and(|ticket| ticket.limit.has_passed(cx.now)) {
                return false;
            }
            let missing = self.is_reported_missing(*number);
            if missing {
                ended.push(*number);
            }
            !missing
        });
        self.abandon(cx, &ended);
        if let Some(special) = &mut self.special {
            special.overdue.append(&mut overdue);
        }
    }

    /// Whether a SACK has reported a chunk of a message missing that is in flight still.
    fn is_reported_missing(&self, number: u32) -> bool {
        self.has_chunk(number, |chunk| chunk.state == ChunkState::InFlight && chunk.missing > 0)
    }

    /// Whether a chunk of a message is marked for retransmission.
    fn is_lost(&self, number: u32) -> bool {
        self.has_chunk(number, |chunk| chunk.state == ChunkState::Lost)
    }

    fn has_chunk(&self, number: u32, wanted: impl Fn(&SentChunk) -> bool) -> bool {
        let Some(ticket) = self.special.as_ref().and_then(|special| special.get(number)) else {
            return false;
        };
        self.tables.spaces.iter().any(|(at, space)| {
            ticket.numbers_in(at, &space.flight).any(|seq| {
                let chunk = space.flight.get(seq);
                chunk.is_some_and(|chunk| chunk.fragment.ticket == number && wanted(chunk))
            })
        })
    }

    /// Chunks may have been marked for retransmission, for whatever reason: what must not be sent again is given up. Whatever marks
    /// chunks ends here, if not through [`Sender::on_timer`] or with a SACK ([`Sender::after_acknowledgement`]).
    pub(crate) fn after_marking(&mut self, cx: &mut Context) {
        // Before the INIT ACK nobody knows whether the peer skips anything, and nothing leaves.
        if self.special.is_some() && !cx.state.is_before_init_ack() {
            self.review_losses(cx);
            self.tell_if_dry(cx);
        }
    }

    /// A SACK for a space was read.
    #[cold]
    #[inline(never)]
    pub(super) fn after_acknowledgement(&mut self, cx: &mut Context, at: SpaceId) {
        self.tell_delivered(cx);
        self.review_watched(cx, at);
        self.review_losses(cx);
        self.review_overdue(cx);
        if self.special.as_ref().is_some_and(|special| special.passes_abandoned) {
            // The peer has answered, if not to data.
            for lane in self.tables.lanes.rows_mut().iter_mut().filter(|lane| lane.space() == at) {
                lane.heard();
            }
        }
        self.advance_forwards(cx, false);
        self.tell_if_dry(cx);
    }

    /// Losses may have been found: what must not be sent again is given up.
    fn review_losses(&mut self, cx: &mut Context) {
        let mut all = Vec::new();
        for id in self.tables.lanes.ids() {
            self.review_lane(cx, id, &mut all);
        }
        self.abandon(cx, &all);
    }

    /// Chunks that were given up in flight and turn out to be lost: the window shrinks as if they had to be sent again (RFC 3758, 3.5,
    /// F5).
    // rfc3758:3.5-20
    fn review_watched(&mut self, cx: &mut Context, at: SpaceId) {
        let reports = cx.config.congestion.fast_retransmit_threshold;
        let (Some(special), Some(space)) = (&mut self.special, self.tables.spaces.get(at)) else { return };
        let mut cut = Vec::new();
        for (id, seq) in special.watched_lost(at, &space.flight, &self.outcome, reports) {
            let Some(lane) = self.tables.lanes.get_mut(id) else { continue };
            lane.loss.count_more(1);
            if let Some(chunk) = self.tables.spaces.get(at).and_then(|space| space.flight.get(seq)) {
                count_lost(&mut cx.streams, chunk.fragment.stream);
            }
            // Those of one SACK are one loss to the window.
            if cut.contains(&id) {
                continue;
            }
            cut.push(id);
            let first = self.tables.spaces.get(at).map_or(0, |space| lane.loss.first(&space.flight));
            let recovers =
                cx.config.congestion.fast_recovery != FastRecovery::Off && lane.recovery.is_at(first);
            self.after_losses(cx, id, &NewlyLost::only(seq), recovers);
        }
    }

    /// After a timer.
    // rfc3758:3.5-14
    pub(super) fn review_timer(&mut self, cx: &mut Context, timer: SenderTimer) {
        match timer {
            // "Any time the T3-rtx timer expires, on any destination, the sender SHOULD try to advance" (RFC 3758, 3.5, A5).
            SenderTimer::T3(_) => {
                self.review_losses(cx);
                self.advance_forwards(cx, true);
            }
            SenderTimer::Loss(_) => self.review_losses(cx),
            _ => {}
        }
        self.tell_if_dry(cx);
    }

    /// Adds what a lane must not send again.
    fn review_lane(&self, cx: &Context, id: LaneId, all: &mut Vec<u32>) {
        let Some(lane) = self.tables.lanes.get(id).filter(|lane| lane.loss.any()) else { return };
        let Some(space) = self.tables.spaces.get(lane.space()) else { return };
        let Some(special) = &self.special else { return };
        for seq in lane.loss.marked() {
            let Some(chunk) = space.flight.get(seq) else { continue };
            let number = chunk.fragment.ticket;
            // Chunks of one message are side by side, as a rule; one that is named twice is given up once.
            if number == 0 || chunk.state != ChunkState::Lost || all.last() == Some(&number) {
                continue;
            }
            if special.forbids(number, cx.now, chunk.transmissions) {
                all.push(number);
            }
        }
    }

    /// Gives messages up. What follows for lanes, and for what the peer is told, is found once for all of them: a timeout may give up
    /// everything in flight.
    #[cold]
    #[inline(never)]
    pub(super) fn abandon(&mut self, cx: &mut Context, numbers: &[u32]) {
        let mut given_up = GivenUp::default();
        for number in numbers {
            self.abandon_message(cx, *number, &mut given_up);
        }
        if given_up.sent {
            self.settle_lanes(&given_up);
            self.advance_forwards(cx, false);
        }
    }

    /// Gives a message up, all of it: "if it is part of a fragmented message, all other TSN's within that fragmented message MUST be
    /// abandoned at the same time" (RFC 3758, 3.5, A3).
    // rfc3758:3.5-4
    fn abandon_message(&mut self, cx: &mut Context, number: u32, given_up: &mut GivenUp) {
        let Some(special) = &mut self.special else { return };
        let Some(ticket) = special.close(number) else { return };
        special.count(&ticket);
        let subflow = self.stream_map.subflow_of(ticket.stream);
        if let Some(subflow) = self.tables.subflows.get_mut(subflow) {
            let [unsent, sent] = &mut subflow.counters.abandoned;
            let count = if ticket.sent { sent } else { unsent };
            *count = count.saturating_add(1);
        }
        self.buffer.note_gone();
        if ticket.queued {
            self.abandon_rest(cx, number, &ticket);
        }
        if ticket.sent {
            given_up.sent = true;
            match ticket.at {
                Some((at, ..)) => self.abandon_chunks(at, number, &ticket, given_up),
                None => {
                    for at in self.tables.spaces.ids() {
                        self.abandon_chunks(at, number, &ticket, given_up);
                    }
                }
            }
        }
        if ticket.tells {
            let Ticket { id, context, sent, .. } = ticket;
            cx.tell(Event::Abandoned { message: id, context, sent });
        }
    }

    /// What has not left of it. Where a part has, the peer may have all of that part, and a FORWARD-TSN must name a TSN beyond: the
    /// numbers that are kept for the rest, or one that nothing else will have.
    fn abandon_rest(&mut self, cx: &Context, number: u32, ticket: &Ticket) {
        let Some(Removed { begun: Some(mid), unordered }) = self.buffer.remove_queued(
            &mut self.tables,
            &self.stream_map,
            self.numbering.identifies(),
            ticket.stream,
            number,
        ) else {
            return;
        };
        let id = self.stream_map.subflow_of(ticket.stream);
        let Some(subflow) = self.tables.subflows.get_mut(id) else { return };
        let Some(space) = self.tables.spaces.get_mut(subflow.space) else { return };
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
        if self.stream_map.any_moves() {
            self.stream_map.move_waiting_stream(&mut self.tables, cx, ticket.stream);
        }
    }

    /// What has left of it: "the sender MUST treat the data chunk as being finally acked and no longer outstanding" (RFC 3758, 3.5, A2).
    // rfc3758:3.5-2
    fn abandon_chunks(&mut self, at: SpaceId, number: u32, ticket: &Ticket, given_up: &mut GivenUp) {
        let Some(space) = self.tables.spaces.get_mut(at) else { return };
        for seq in ticket.numbers_in(at, &space.flight) {
            let Some(chunk) = space.flight.get(seq).filter(|chunk| chunk.fragment.ticket == number) else {
                continue;
            };
            let (id, state, missing) = (chunk.lane, chunk.state, chunk.missing);
            let one = Counted::one(chunk);
            space.flight.abandon(seq);
            let Some(lane) = self.tables.lanes.get_mut(id) else { continue };
            if let Some(special) = self.special.as_mut().filter(|_| state == ChunkState::InFlight) {
                special.watch(at, id, seq, missing);
            }
            lane.given_up(seq, state, one);
            given_up.note(id, seq);
        }
    }

    /// Chunks are gone from lanes.
    fn settle_lanes(&mut self, given_up: &GivenUp) {
        for (id, lane) in self.tables.lanes.iter_mut() {
            let Some(space) = self.tables.spaces.get(lane.space()) else { continue };
            if let Some((first, last)) = given_up.of_lane(id) {
                lane.loss.forget_abandoned(&space.flight, first, last);
            }
            if space.shared {
                lane.loss.find_earliest(&space.flight);
            }
            if lane.in_flight.unacked() > 0 {
                continue;
            }
            // "turn off the T3-rtx timer" (RFC 9260, 6.3.2, R2); it runs again for what the peer must be told.
            lane.stop_t3();
            lane.permits.given_up();
        }
    }
}
