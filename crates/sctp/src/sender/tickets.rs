//! What the sender keeps of messages that were given more than stream, order and payload. Each of them has a ticket, which its place
//! in a queue and its chunks in flight carry; most messages have none (0), and cost nothing here.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_base::{Duration, Instant};
use anabranch_wire::Mid;

use super::flight::{AckOutcome, ChunkState, Flight};
use crate::ids::{Id, LaneId, PathId, SpaceId};
use crate::options::{Abandonments, MessageId, Policy, Reliability};

/// When a message is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Never.
    None,
    /// From this time on.
    Until(Instant),
    /// When a chunk would be sent again more often.
    Retransmissions(u16),
    /// When there is no room for a smaller value.
    Priority(u32),
}

impl Limit {
    pub(super) fn of(reliability: Reliability, now: Instant) -> Self {
        match reliability {
            Reliability::Full => Self::None,
            // At its end it may still leave; so one of zero leaves at once, or never.
            Reliability::Lifetime(lifetime) => Self::Until(now + lifetime + Duration::from_nanos(1)),
            Reliability::Retransmissions(most) => Self::Retransmissions(most),
            Reliability::Priority(value) => Self::Priority(value),
        }
    }

    fn policy(self) -> Option<Policy> {
        match self {
            Self::None => None,
            Self::Until(_) => Some(Policy::Lifetime),
            Self::Retransmissions(_) => Some(Policy::Retransmissions),
            Self::Priority(_) => Some(Policy::Priority),
        }
    }

    /// Whether it was a lifetime, and that is over.
    pub(super) fn has_passed(self, now: Instant) -> bool {
        matches!(self, Self::Until(end) if now >= end)
    }

    /// Whether a chunk that was sent so often must not be sent again.
    pub(super) fn forbids(self, now: Instant, transmissions: u16) -> bool {
        match self {
            Self::None | Self::Priority(_) => false,
            // What has left before does not leave again at the very end of its lifetime: "Before transmitting or retransmitting ...
            // If the lifetime of the message is expired, the SCTP sender MUST 'abandon' the message" (RFC 3758, 4.1, TR4).
            Self::Until(end) => now + Duration::from_nanos(1) >= end,
            Self::Retransmissions(most) => transmissions > most,
        }
    }
}

/// One message.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub(super) id: MessageId,
    pub(super) context: u32,
    pub(super) stream: u16,
    /// Whether the fate of the message is told.
    pub(super) tells: bool,
    /// Whether the message may be sent reliably.
    pub(super) or_reliable: bool,
    pub(super) limit: Limit,
    /// It, or the rest of it, waits in a queue.
    pub(super) queued: bool,
    /// A part of it has left.
    pub(super) sent: bool,
    /// Chunks of it that have left and are not acknowledged cumulatively.
    pub(super) chunks: u32,
    /// Where they are, from the first to the last, if they are all in one space.
    pub(super) at: Option<(SpaceId, u64, u64)>,
    /// Its number.
    pub(super) mid: Mid,
    /// Bytes of it.
    pub(super) len: usize,
}

/// What is owed to the peer in one space because of what was given up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forward {
    /// A FORWARD-TSN must leave.
    pub(super) due: bool,
    /// One past the last number that one has named: "Advanced.Peer.Ack.Point" as the peer knows it.
    pub(super) told: u64,
    /// When it left.
    pub(super) told_at: Option<Instant>,
    /// The path on which it leaves: that of the first chunk which it names.
    pub(super) path: Option<PathId>,
}

/// A chunk that was given up before anybody knew whether it was lost: "the appropriate congestion adjustment MUST be made ... if the
/// chunk would have been marked for retransmission later" (RFC 3758, 3.5, F5).
#[derive(Clone, Copy, Debug)]
struct Watched {
    at: SpaceId,
    lane: LaneId,
    seq: u64,
    /// Missing reports so far.
    missing: u8,
}

/// Everything that a sender of plain messages does not have.
#[derive(Debug, Default)]
pub(super) struct Special {
    tickets: Vec<Option<Ticket>>,
    free: Vec<u32>,
    /// Ends of lifetimes that something waits for.
    ends: BTreeSet<(Instant, u32)>,
    /// By space.
    forwards: Vec<Forward>,
    /// Tickets of what the SACK that is being read acknowledges cumulatively.
    pub(super) passed: Vec<u32>,
    /// Whether the SACK that is being read passes something that was given up.
    pub(super) passes_abandoned: bool,
    /// Chunks that were given up in flight.
    watched: Vec<Watched>,
    /// Tickets of what was in flight when its lifetime ended, and may be still.
    pub(super) overdue: Vec<u32>,
    /// Policies of streams, and of those that have none of their own.
    pub(super) streams: BTreeMap<u16, Reliability>,
    pub(super) every_stream: Reliability,
    /// The fate of every message is told.
    pub(super) tells_fates: bool,
    pub(super) tells_dry: bool,
    /// Something was sent since the user was told that nothing is left.
    pub(super) wet: bool,
    counts: Counts,
    counts_of: BTreeMap<u16, Counts>,
}

/// By policy.
type Counts = [Abandonments; 3];

fn row(policy: Policy) -> usize {
    match policy {
        Policy::Lifetime => 0,
        Policy::Retransmissions => 1,
        Policy::Priority => 2,
    }
}

fn read(counts: &Counts, policy: Option<Policy>) -> Abandonments {
    let rows = counts.iter().enumerate().filter(|(at, _)| policy.is_none_or(|policy| row(policy) == *at));
    rows.fold(Abandonments::default(), |sum, (_, one)| Abandonments {
        unsent: sum.unsent + one.unsent,
        sent: sum.sent + one.sent,
    })
}

impl Ticket {
    pub(super) fn new(id: MessageId, stream: u16, limit: Limit) -> Self {
        Self {
            id,
            context: 0,
            stream,
            tells: false,
            or_reliable: false,
            limit,
            queued: true,
            sent: false,
            chunks: 0,
            at: None,
            mid: Mid::new(0),
            len: 0,
        }
    }

    /// Numbers among which all chunks of it in a space are; none where there cannot be any.
    pub(super) fn numbers_in(&self, at: SpaceId, flight: &Flight) -> std::ops::Range<u64> {
        let all = flight.first()..flight.next();
        match self.at {
            None => all,
            Some((space, first, last)) if space == at => first.max(all.start)..(last + 1).min(all.end),
            Some(_) => 0..0,
        }
    }
}

impl Special {
    /// The policy of a stream.
    pub(super) fn reliability_of(&self, stream: u16) -> Reliability {
        self.streams.get(&stream).copied().unwrap_or(self.every_stream)
    }

    /// A ticket for a message that waits now.
    pub(super) fn open(&mut self, ticket: Ticket) -> u32 {
        let limit = ticket.limit;
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.tickets.push(None);
                self.tickets.len() as u32
            }
        };
        if let Some(slot) = self.slot(number) {
            *slot = Some(ticket);
        }
        if let Limit::Until(end) = limit {
            self.ends.insert((end, number));
        }
        number
    }

    fn slot(&mut self, ticket: u32) -> Option<&mut Option<Ticket>> {
        self.tickets.get_mut((ticket as usize).checked_sub(1)?)
    }

    pub(super) fn get(&self, ticket: u32) -> Option<&Ticket> {
        self.tickets.get((ticket as usize).checked_sub(1)?)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, ticket: u32) -> Option<&mut Ticket> {
        self.slot(ticket)?.as_mut()
    }

    /// The message is done with.
    pub(super) fn close(&mut self, ticket: u32) -> Option<Ticket> {
        let closed = self.slot(ticket)?.take()?;
        self.free.push(ticket);
        self.forget_end(ticket, closed.limit);
        if self.free.len() == self.tickets.len() {
            // None is in use: what a burst of messages needed is not kept for ever.
            self.tickets.clear();
            self.free.clear();
            if self.tickets.capacity() > KEPT {
                self.tickets.shrink_to(KEPT);
                self.free.shrink_to(KEPT);
            }
        }
        Some(closed)
    }

    /// Whether a chunk of a message must not be sent again, that was sent so often.
    pub(super) fn forbids(&self, ticket: u32, now: Instant, transmissions: u16) -> bool {
        self.get(ticket).is_some_and(|ticket| ticket.limit.forbids(now, transmissions))
    }

    /// Whether a chunk of a message may leave again: a chunk that was marked in time may leave at the very end of the lifetime.
    pub(super) fn may_leave_again(&self, ticket: u32, now: Instant, transmissions: u16) -> bool {
        self.get(ticket).is_none_or(|ticket| match ticket.limit {
            Limit::Retransmissions(most) => transmissions <= most,
            limit => !limit.has_passed(now),
        })
    }

    /// Every ticket in use.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Ticket)> {
        (1..).zip(&self.tickets).filter_map(|(number, ticket)| Some((number, ticket.as_ref()?)))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Ticket> {
        self.tickets.iter_mut().flatten()
    }

    /// Chunks of a space have left for the first time.
    #[cold]
    #[inline(never)]
    pub(super) fn have_left(&mut self, at: SpaceId, flight: &Flight, numbers: std::ops::Range<u64>) {
        for seq in numbers {
            let Some(fragment) = flight.get(seq).map(|chunk| &chunk.fragment) else { continue };
            if fragment.ticket != 0 {
                self.left(fragment.ticket, at, seq, fragment.mid, fragment.ending);
            }
        }
    }

    fn left(&mut self, ticket: u32, at: SpaceId, seq: u64, mid: Mid, ending: bool) {
        let Some(ticket) = self.get_mut(ticket) else { return };
        ticket.at = match ticket.at {
            None if !ticket.sent => Some((at, seq, seq)),
            Some((space, first, last)) if space == at => Some((at, first.min(seq), last.max(seq))),
            _ => None,
        };
        ticket.sent = true;
        ticket.mid = mid;
        ticket.queued = !ending;
        ticket.chunks += 1;
    }

    /// Chunks have got other numbers, all of them in one space.
    pub(super) fn renumber(&mut self, at: SpaceId, flight: &Flight) {
        for ticket in self.iter_mut() {
            ticket.at = None;
        }
        for seq in flight.first()..flight.next() {
            let number = flight.get(seq).map_or(0, |chunk| chunk.fragment.ticket);
            let Some(ticket) = self.get_mut(number) else { continue };
            let first = ticket.at.map_or(seq, |(_, first, _)| first);
            ticket.at = Some((at, first, seq));
        }
    }

    /// Notes what a SACK is about to acknowledge cumulatively. False where that was never sent: what only a FORWARD-TSN can make the
    /// peer skip, and none has named.
    pub(super) fn collect(&mut self, at: SpaceId, flight: &Flight, next_expected: u64) -> bool {
        self.passed.clear();
        self.passes_abandoned = false;
        let told = self.forward(at).told;
        for seq in flight.first()..next_expected.min(flight.next()) {
            let Some(chunk) = flight.get(seq) else { break };
            if chunk.fragment.ticket != 0 {
                self.passed.push(chunk.fragment.ticket);
            }
            if chunk.state == ChunkState::Abandoned {
                self.passes_abandoned = true;
                if chunk.transmissions == 0 && seq >= told {
                    return false;
                }
            }
        }
        true
    }

    /// Nothing happens at the end of a lifetime any more.
    pub(super) fn forget_end(&mut self, ticket: u32, limit: Limit) {
        if let Limit::Until(end) = limit {
            self.ends.remove(&(end, ticket));
        }
    }

    /// When the next lifetime ends.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// One whose lifetime is over. It is named once.
    pub(super) fn next_ended(&mut self, now: Instant) -> Option<u32> {
        self.ends.first().filter(|(end, _)| *end <= now)?;
        self.ends.pop_first().map(|(_, ticket)| ticket)
    }

    pub(super) fn forward(&self, at: SpaceId) -> Forward {
        self.forwards.get(at.row()).copied().unwrap_or_default()
    }

    pub(super) fn set_forward(&mut self, at: SpaceId, forward: Forward) {
        if at.row() >= self.forwards.len() {
            self.forwards.resize(at.row() + 1, Forward::default());
        }
        if let Some(place) = self.forwards.get_mut(at.row()) {
            *place = forward;
        }
    }

    /// Numbers begin anew.
    pub(super) fn forget_forwards(&mut self) {
        self.forwards.clear();
        self.watched.clear();
    }

    /// A chunk was given up in flight that so many reports had said was missing.
    pub(super) fn watch(&mut self, at: SpaceId, lane: LaneId, seq: u64, missing: u8) {
        self.watched.push(Watched { at, lane, seq, missing });
    }

    /// What a SACK for a space says of the chunks that were given up in flight: those that so many reports say are missing.
    pub(super) fn watched_lost(
        &mut self,
        at: SpaceId,
        flight: &Flight,
        outcome: &AckOutcome,
        reports: u8,
    ) -> Vec<(LaneId, u64)> {
        let mut lost: Vec<(LaneId, u64)> = Vec::new();
        self.watched.retain_mut(|one| {
            if one.at != at {
                return true;
            }
            if one.seq < flight.first() || flight.is_gap_acked(one.seq) {
                return false;
            }
            let newest = outcome.lanes.get(one.lane.row()).and_then(|ack| ack.highest_newly_acked);
            one.missing += u8::from(newest > Some(one.seq));
            if one.missing < reports {
                return true;
            }
            lost.push((one.lane, one.seq));
            false
        });
        lost
    }

    /// Whether a FORWARD-TSN must leave in any space.
    pub(super) fn owes_forward(&self) -> bool {
        self.forwards.iter().any(|forward| forward.due)
    }

    /// The path of the first that must.
    pub(super) fn forward_path(&self) -> Option<PathId> {
        self.forwards.iter().find(|forward| forward.due).and_then(|forward| forward.path)
    }

    /// A message was given up.
    pub(super) fn count(&mut self, ticket: &Ticket) {
        let Some(policy) = ticket.limit.policy() else { return };
        let of_stream = self.counts_of.entry(ticket.stream).or_default();
        for counts in [&mut self.counts, of_stream] {
            if let Some(count) = counts.get_mut(row(policy)) {
                count.sent += u64::from(ticket.sent);
                count.unsent += u64::from(!ticket.sent);
            }
        }
    }

    /// How many were given up, under a policy or any, on a stream or any.
    pub(super) fn abandoned(&self, stream: Option<u16>, policy: Option<Policy>) -> Abandonments {
        match stream {
            None => read(&self.counts, policy),
            Some(stream) => self.counts_of.get(&stream).map_or(Abandonments::default(), |c| read(c, policy)),
        }
    }
}

/// Tickets for which memory is kept when none is in use.
const KEPT: usize = 64;
