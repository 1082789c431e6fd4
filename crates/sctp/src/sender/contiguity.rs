//! Fragments that must stay together. DATA has no fragment numbers: "the TSNs for each fragment of a fragmented user message
//! MUST be strictly sequential" (RFC 9260, 3.3.1). Where several subflows share a numbering, another's chunk must not take a
//! number in the middle of a message.
//!
//! With a window for each subflow, the numbers of the whole message are kept when its first fragment leaves: the others go on
//! with later numbers, whether the message is held up or not, as long as the peer's buffer has room for all of it. With one window for all,
//! a held-up subflow holds up all: a message that has begun ends first. I-DATA and SF-DATA number fragments themselves and need neither.

use super::lane::Lane;
use super::subflow::Subflow;
use super::tables::Tables;
use crate::config::Coupling;
use crate::context::Context;
use crate::ids::SubflowId;
use crate::state::State;

/// Most numbers in a flight while some are kept: the offset of a gap block is at most 65,535.
const MOST_NUMBERS: usize = 60_000;
/// A window of the peer, in bytes, from which on no room is kept for the lost chunks of other subflows.
const SCARCE: u64 = 1 << 16;

impl Tables {
    /// True if a subflow, one of several, may send a new chunk as far as the begun messages of the other subflows allow it.
    #[inline(never)]
    pub(super) fn may_begin_or_go_on(&self, rwnd: u64, cx: &Context, id: SubflowId) -> bool {
        let Some(subflow) = self.subflows.get(id) else { return false };
        if subflow.awaits_fid {
            return false; // chunks taken over from another subflow may still be sent again
        }
        let Some(space) = self.spaces.get(subflow.space) else { return false };
        if !cx.env.agreed().encoding().needs_sequence() {
            return subflow.begun || space.fid != 0 || self.may_begin_beside(rwnd, cx, id, subflow);
        }
        if space.exclusive_subflow.is_some_and(|exclusive| exclusive != id) {
            return false;
        }
        let (most, next) = (self.max_payload_of(cx, subflow), subflow.out.peek(usize::MAX).unwrap_or(0));
        let keeps = next > most && subflow.reserved.is_empty();
        if rwnd < SCARCE {
            let lost = self.lost_of_others(subflow.lane, subflow.space);
            if lost > 0 && lost * most as u64 >= rwnd {
                return false;
            }
        }
        match space.flight.first_reserved() {
            None if !keeps => true,
            None => {
                // Before the peer has granted our streams for good, no numbers may be kept.
                let granted = cx.env.state() != State::CookieEchoed;
                granted
                    && (space.flight.is_empty() || space.flight.span() + next.div_ceil(most) < MOST_NUMBERS)
            }
            // The peer waits for these numbers.
            Some(first) if subflow.reserved.contains(&first) => true,
            Some(_) => {
                let numbers = if keeps { next.div_ceil(most) } else { 1 };
                if subflow.reserved.is_empty() && space.flight.span() + numbers >= MOST_NUMBERS {
                    return false;
                }
                // A peer gives nothing of a message to its user before it is whole. Two halves could fill its buffer for ever:
                // the begun messages of other subflows keep their room.
                let need = if keeps { next } else { next.min(most) };
                let begun =
                    self.subflows.iter().filter(|(other, s)| *other != id && s.space == subflow.space);
                let promised: u64 =
                    begun.map(|(_, s)| (s.reserved.end - s.reserved.start) * most as u64).sum();
                need as u64 + promised <= rwnd
            }
        }
    }

    /// True if there is room for a message of a subflow beside those that others under the same numbering have begun,
    /// where fragments number themselves: they need not stay together, but parts of many could fill the buffer, and
    /// none could end.
    // rfc8260:2.2.2-6
    fn may_begin_beside(&self, rwnd: u64, cx: &Context, id: SubflowId, subflow: &Subflow) -> bool {
        // In a large window there is room for all messages.
        if rwnd >= self.subflows.len() as u64 * cx.env.config().limits.max_message as u64 {
            return true;
        }
        let begun =
            self.subflows.iter().filter(|(other, s)| s.begun && *other != id && s.space == subflow.space);
        let promised: u64 = begun.map(|(_, s)| s.out.peek(usize::MAX).unwrap_or(0) as u64).sum();
        let need = subflow.out.peek(usize::MAX).unwrap_or(0) as u64;
        promised == 0 || need + promised <= rwnd
    }

    /// Most payload of a chunk of a subflow, bytes.
    fn max_payload_of(&self, cx: &Context, subflow: &Subflow) -> usize {
        let path = self.lanes.get(subflow.lane).map_or(cx.paths.for_data(), Lane::path);
        subflow.cut_at(cx.max_payload(path)).max(1)
    }

    /// The encoding has changed, and with it the header of a chunk: "When determining when to fragment, the SCTP implementation
    /// MUST take into account the SCTP packet header as well as the DATA chunk header(s)" (RFC 9260, 6.9). The rest of a
    /// message that has not left is cut to the new size where fragments number themselves. It uses up the numbers kept for it first, and
    /// may use more.
    // rfc9260:6.9-7
    pub(super) fn cut_rests_anew(&mut self, cx: &Context) {
        if cx.env.agreed().encoding().needs_sequence() {
            return;
        }
        for id in self.subflows.ids() {
            let Some(subflow) = self.subflows.get(id).filter(|subflow| !subflow.reserved.is_empty()) else {
                continue;
            };
            let path = self.lanes.get(subflow.lane).map_or(cx.paths.for_data(), Lane::path);
            let most = cx.max_payload(path) as u16;
            if let Some(subflow) = self.subflows.get_mut(id) {
                subflow.reserved_size = subflow.reserved_size.min(most);
            }
        }
    }

    /// Keeps numbers for the rest of the message that a subflow, one of several, has begun; with one window, the whole numbering.
    // rfc9260:3.3.1-12 rfc9260:6.9-11
    #[inline(never)]
    pub(super) fn keep_contiguous(&mut self, cx: &Context, id: SubflowId) {
        let Some(subflow) = self.subflows.get(id) else { return };
        let (begun, at) = (subflow.begun, subflow.space);
        let needed = begun
            && cx.env.agreed().encoding().needs_sequence()
            && self.subflows.rows().iter().filter(|other| other.space == at).count() > 1;
        let most = self.max_payload_of(cx, subflow);
        let Some(space) = self.spaces.get_mut(at) else { return };
        let Some(subflow) = self.subflows.get_mut(id) else { return };
        if cx.env.config().subflows.coupling == Coupling::Shared {
            if needed {
                space.exclusive_subflow = Some(id);
            } else if space.exclusive_subflow == Some(id) {
                space.exclusive_subflow = None;
            }
        } else if needed && subflow.reserved.is_empty() {
            let rest = subflow.out.peek(usize::MAX).unwrap_or(0).div_ceil(most) as u64;
            let first = space.flight.reserve(rest, subflow.lane, id);
            subflow.reserved = first..first + rest;
            subflow.reserved_size = most as u16;
        }
    }
}
