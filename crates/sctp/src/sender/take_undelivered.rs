//! Messages that are handed back to the user: those left when an association ends or its peer has forgotten it, and those that cannot be
//! sent with the reliability or on the stream that they ask for.

use std::collections::BTreeMap;

use super::flight::{ChunkState, Flight};
use super::messages::Messages;
use super::tickets::Limit;
use crate::context::Context;
use crate::event::Event;
use crate::undelivered::{Returned, Undelivered};

impl Messages<'_> {
    /// Takes every message that is not acknowledged for good out of the queues, and copies (by reference) those in flight:
    /// sent messages in the order of their numbers, then unsent ones, stream by stream.
    pub(crate) fn take_undelivered(&mut self, cx: &mut Context, returned: &mut Returned) {
        // The rest of a message that has begun to leave waits in its queue, which keeps the whole message.
        let mut begun = BTreeMap::new();
        for subflow in self.tables.subflows.rows_mut() {
            for (message, number) in subflow.out.take_all() {
                match number {
                    Some(number) => {
                        begun.insert(message.stream, Undelivered::begun(message, number));
                    }
                    None => returned.unsent.push_back(Undelivered::unsent(message)),
                }
            }
        }
        for message in self.buffer.take_deferred() {
            returned.unsent.push_back(Undelivered::unsent(message));
        }
        for space in self.tables.spaces.rows() {
            take_flight(&space.flight, &mut begun, returned);
        }
        self.buffer.note_gone();
        // All sent chunks of these messages have been acknowledged.
        returned.unacknowledged.extend(begun.into_values());
        if let Some(special) = self.special.get_mut() {
            special.fates.name_all_returned(cx, returned);
            self.special.forget_numbers();
        }
    }

    /// Messages on streams that the peer did not grant can never be sent (5.1.1): they are handed back.
    pub(crate) fn drop_ungranted_streams(&mut self, cx: &mut Context) -> Vec<Undelivered> {
        let limit = self.stream_map.streams();
        let mut dropped = Vec::new();
        for subflow in self.tables.subflows.rows_mut() {
            dropped.append(&mut subflow.out.drop_streams_from(limit));
        }
        if !dropped.is_empty() {
            cx.tell(Event::StreamsReduced { messages_dropped: dropped.len() });
            self.buffer.note_gone();
        }
        let mut dropped: Vec<Undelivered> = dropped.into_iter().map(Undelivered::unsent).collect();
        if let Some(special) = self.special.get_mut() {
            special.fates.name_returned(cx, dropped.iter_mut());
        }
        dropped
    }

    /// If the peer turns out not to support FORWARD-TSN, unsent messages that accept only partial reliability are handed
    /// back; the others become reliable.
    #[cold]
    pub(crate) fn settle_reliability(&mut self, cx: &mut Context) -> Vec<Undelivered> {
        if self.special.is_partially_reliable() {
            return Vec::new();
        }
        let Some(special) = self.special.get() else { return Vec::new() };
        let all: Vec<u32> =
            special.fates.iter().filter(|(_, t)| t.limit != Limit::None).map(|(number, _)| number).collect();
        let mut refused = Vec::new();
        for number in all {
            let Some(special) = self.special.get_mut() else { break };
            let Some(ticket) = special.fates.get(number).cloned() else { continue };
            if ticket.or_reliable || ticket.sent {
                special.fates.make_reliable(number);
            } else if let Some(message) = self.buffer.take_queued(
                self.tables,
                self.stream_map,
                self.numbering.identifies(),
                ticket.stream,
                number,
            ) {
                refused.push(Undelivered::unsent(message));
            }
        }
        if !refused.is_empty() {
            self.buffer.note_gone();
        }
        if let Some(special) = self.special.get_mut() {
            special.fates.name_returned(cx, refused.iter_mut());
        }
        refused
    }
}

fn take_flight(flight: &Flight, begun: &mut BTreeMap<u16, Undelivered>, returned: &mut Returned) {
    // By stream, the message whose next fragments may follow: fragments of a stream are in order, those of several may be mixed.
    let mut open: BTreeMap<u16, usize> = BTreeMap::new();
    for chunk in
        flight.iter().filter(|chunk| !matches!(chunk.state, ChunkState::Reserved | ChunkState::Abandoned))
    {
        let (fragment, acknowledged) = (&chunk.fragment, chunk.state == ChunkState::GapAcked);
        let at = open.get(&fragment.stream).copied().filter(|_| !fragment.beginning);
        match at.and_then(|at| returned.unacknowledged.get_mut(at)) {
            Some(message) => message.append(fragment, acknowledged),
            None => {
                open.insert(fragment.stream, returned.unacknowledged.len());
                returned.unacknowledged.push_back(Undelivered::sent(fragment, acknowledged));
            }
        }
        if fragment.ending {
            open.remove(&fragment.stream);
        }
    }
    for (stream, at) in open {
        if let (Some(message), Some(whole)) = (returned.unacknowledged.get_mut(at), begun.remove(&stream)) {
            *message = whole;
        }
    }
}
