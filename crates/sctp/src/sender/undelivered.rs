//! What is left when an association ends, or its peer has forgotten it.

use std::collections::BTreeMap;

use super::Sender;
use super::flight::{ChunkState, Flight};
use crate::context::Context;
use crate::undelivered::{Returned, Undelivered};

impl Sender {
    /// Takes every message that is not acknowledged for good out of the queues, and copies (by reference) what is in flight:
    /// what was sent in the order of its numbers, then what was not, stream by stream.
    pub(crate) fn take_undelivered(&mut self, cx: &mut Context, returned: &mut Returned) {
        // The end of a message that has begun to leave waits in its queue, and the whole of it is there.
        let mut begun = BTreeMap::new();
        for subflow in self.subflows.rows_mut() {
            for (message, number) in subflow.out.take_all() {
                match number {
                    Some(number) => {
                        begun.insert(message.stream, Undelivered::begun(message, number));
                    }
                    None => returned.unsent.push_back(Undelivered::unsent(message)),
                }
            }
        }
        for message in self.deferred.take().map(|deferred| deferred.into_messages()).unwrap_or_default() {
            returned.unsent.push_back(Undelivered::unsent(message));
        }
        for space in self.spaces.rows() {
            take_flight(&space.flight, &mut begun, returned);
        }
        self.note_gone();
        // Whatever of these was sent has been acknowledged.
        returned.unacknowledged.extend(begun.into_values());
        self.name_all_returned(cx, returned);
    }
}

fn take_flight(flight: &Flight, begun: &mut BTreeMap<u16, Undelivered>, returned: &mut Returned) {
    // By stream, the message of which more may come: fragments of a stream are in order, those of several may be mixed.
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
