//! DATA that arrives (RFC 9260, 6.2).

use anabranch_base::TraceEvent;
use anabranch_wire::chunk::Data;

use super::input::{Context, Violation};
use super::{Association, causes};
use crate::event::Event;
use crate::stream::inbound;
use crate::subflow::receive::Arrival;

impl Association {
    pub(super) fn on_data(&mut self, cx: &mut Context, data: &Data<'_>) -> Result<(), Violation> {
        // "DATA chunks MUST only be received ... in the ESTABLISHED, SHUTDOWN-PENDING, and SHUTDOWN-SENT states.
        // ... in any other state SHOULD be discarded" (6).
        if !self.state.receives_data() {
            return Ok(());
        }
        if data.payload.is_empty() {
            return Err(Violation::NoUserData(data.tsn));
        }
        let Some(space) = self.spaces.get_mut(cx.space) else { return Ok(()) };
        cx.summary.has_data = true;
        let Some(seq) = space.unwrap_received(data.tsn) else {
            // Before the peer's Initial TSN: not a TSN of this association.
            return Ok(());
        };
        cx.summary.hole |= space.received.has_holes();
        let arrival = space.received.classify(seq);
        if arrival == Arrival::Duplicate {
            cx.summary.duplicate = true;
            space.sack.on_duplicate(data.tsn);
            self.stats.duplicates_received += 1;
            self.record(
                cx.now,
                0,
                0,
                TraceEvent::Received { seq, len: data.payload.len() as u32, duplicate: true },
            );
            return Ok(());
        }
        if !self.make_room(cx.space, seq, arrival) {
            // "the receiver MUST immediately send back a SACK chunk with the current receive window".
            self.stats.dropped_no_buffer += 1;
            cx.summary.immediate = true;
            return Ok(());
        }
        let Some(space) = self.spaces.get_mut(cx.space) else { return Ok(()) };
        space.received.record(seq);
        cx.summary.new = true;
        cx.summary.hole |= space.received.has_holes();
        cx.summary.immediate |= data.flags.immediate;
        self.stats.payload_bytes_received_new += data.payload.len() as u64;
        self.record(
            cx.now,
            0,
            0,
            TraceEvent::Received { seq, len: data.payload.len() as u32, duplicate: false },
        );
        if data.stream >= self.inbound_streams {
            // "it MUST acknowledge the reception of the DATA chunk following the normal procedure and immediately
            // send an ERROR chunk with cause set to 'Invalid Stream Identifier'" (6.5).
            self.control.report(causes::invalid_stream(data.stream));
            return Ok(());
        }
        let arrived = inbound::Arrived {
            seq,
            stream: data.stream,
            ssn: data.ssn.get(),
            ppid: data.ppid,
            unordered: data.flags.unordered,
            beginning: data.flags.beginning,
            ending: data.flags.ending,
            payload: data.payload,
        };
        if self.inbound.message_would_exceed(&arrived, self.config.max_message) {
            return Err(Violation::Protocol("a message is longer than this endpoint takes"));
        }
        match self.inbound.add(&arrived) {
            Ok(true) => self.events.push_back(Event::Readable),
            Ok(false) => {}
            Err(inconsistent) => return Err(Violation::Protocol(inconsistent.0)),
        }
        Ok(())
    }

    /// Whether there is buffer for a new chunk. A chunk that fills a hole may push out what waits behind it: "the
    /// receiver SHOULD drop the largest TSN held for reordering and accept the new incoming DATA chunk" (6.2). Where
    /// whole messages wait behind the hole they are kept and the chunk is taken on top, up to a second buffer:
    /// refusing it would leave them waiting for ever.
    fn make_room(&mut self, space: usize, seq: u64, arrival: Arrival) -> bool {
        // The common case, without a closer look: memory is more than what counts against the window.
        if self.memory_held() < self.config.receive_window as usize {
            return true;
        }
        while self.advertised_window() == 0 {
            if arrival != Arrival::FillsHole {
                return false;
            }
            let Some(space) = self.spaces.get_mut(space) else { return false };
            let highest = space.received.end().saturating_sub(1);
            if highest > seq && self.inbound.forget_orphan(highest) {
                space.received.forget_highest();
                continue;
            }
            let limit = 2 * self.config.receive_window as usize;
            return self.inbound.held_bytes() < limit && self.memory_held() / 3 < limit;
        }
        true
    }
}
