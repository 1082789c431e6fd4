//! Messages that may be given up, those that were, and the FORWARD-TSNs for them (RFC 3758, RFC 7496).

use std::collections::BTreeMap;

use anabranch_base::Instant;

use super::flight::{AckOutcome, Flight};
use super::tickets::Ticket;
use crate::ids::{Id, LaneId, PathId, SpaceId};
use crate::options::{Abandonments, Policy, Reliability};

/// The FORWARD-TSN of one space: state of the last one and of the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forward {
    /// True if a FORWARD-TSN must leave.
    pub(super) due: bool,
    /// One past the last number that a FORWARD-TSN has named: "Advanced.Peer.Ack.Point" as the peer knows it.
    pub(super) told: u64,
    /// Time at which the last FORWARD-TSN left.
    pub(super) told_at: Option<Instant>,
    /// The path on which the FORWARD-TSN leaves: that of the first chunk which it names.
    pub(super) path: Option<PathId>,
}

/// A chunk that was given up before it was known whether it was lost: "the appropriate congestion adjustment MUST be made ... if the
/// chunk would have been marked for retransmission later" (RFC 3758, 3.5, F5).
#[derive(Clone, Copy, Debug)]
struct Watched {
    at: SpaceId,
    lane: LaneId,
    seq: u64,
    /// Missing reports so far.
    missing: u8,
}

/// Messages that may be given up, those that were, and the FORWARD-TSNs that the peer has yet to get.
#[derive(Debug, Default)]
pub(super) struct PartialReliability {
    /// By space.
    forwards: Vec<Forward>,
    /// True if the SACK that is being read passes a chunk that was given up.
    passes_abandoned: bool,
    /// Chunks that were given up in flight, until they are found lost or acknowledged.
    watched: Vec<Watched>,
    /// Tickets of messages that were in flight when their lifetime ended, and may still be in flight.
    overdue: Vec<u32>,
    /// Policies of streams, and of those that have none of their own.
    streams: BTreeMap<u16, Reliability>,
    every_stream: Reliability,
    counts: Counts,
    counts_of: BTreeMap<u16, Counts>,
}

/// Numbers of abandoned messages, by policy.
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

impl PartialReliability {
    /// Sets the policy of a stream, or of all streams that have none of their own.
    pub(super) fn set_policy(&mut self, stream: Option<u16>, reliability: Reliability) {
        match stream {
            Some(stream) => {
                self.streams.insert(stream, reliability);
            }
            None => self.every_stream = reliability,
        }
    }

    /// A SACK is being read.
    pub(super) fn begin_sack(&mut self) {
        self.passes_abandoned = false;
    }

    /// The SACK passes a chunk that was given up.
    pub(super) fn pass_abandoned(&mut self) {
        self.passes_abandoned = true;
    }

    /// True if the SACK that was read last passes a chunk that was given up.
    pub(super) fn passes_abandoned(&self) -> bool {
        self.passes_abandoned
    }

    /// A message is in flight, and its lifetime has ended.
    pub(super) fn note_overdue(&mut self, number: u32) {
        self.overdue.push(number);
    }

    /// Takes the tickets of messages that were in flight when their lifetime ended, to look at them.
    pub(super) fn take_overdue(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.overdue)
    }

    /// Puts back the tickets of overdue messages that are still in flight.
    pub(super) fn keep_overdue(&mut self, mut overdue: Vec<u32>) {
        self.overdue.append(&mut overdue);
    }

    /// The policy of a stream.
    pub(super) fn reliability_of(&self, stream: u16) -> Reliability {
        self.streams.get(&stream).copied().unwrap_or(self.every_stream)
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

    /// Numbers begin anew: FORWARD-TSNs and watched chunks are forgotten.
    pub(super) fn forget_forwards(&mut self) {
        self.forwards.clear();
        self.watched.clear();
    }

    /// Watches a chunk that was given up in flight after `missing` reports.
    pub(super) fn watch(&mut self, at: SpaceId, lane: LaneId, seq: u64, missing: u8) {
        self.watched.push(Watched { at, lane, seq, missing });
    }

    /// A SACK for a space has come: the chunks given up in flight that now have `reports` missing reports.
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

    /// True if a FORWARD-TSN must leave in any space.
    pub(super) fn owes_forward(&self) -> bool {
        self.forwards.iter().any(|forward| forward.due)
    }

    /// The path of the first FORWARD-TSN that must leave.
    pub(super) fn forward_path(&self) -> Option<PathId> {
        self.forwards.iter().find(|forward| forward.due).and_then(|forward| forward.path)
    }

    /// Counts a message that was given up.
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

    /// Number of messages given up, under one policy or all, on one stream or all.
    pub(super) fn abandoned(&self, stream: Option<u16>, policy: Option<Policy>) -> Abandonments {
        match stream {
            None => read(&self.counts, policy),
            Some(stream) => self.counts_of.get(&stream).map_or(Abandonments::default(), |c| read(c, policy)),
        }
    }
}
