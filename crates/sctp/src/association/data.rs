//! DATA that arrives (RFC 9260, 6.2).

use anabranch_base::{Instant, TraceEvent};
use anabranch_wire::chunk::{Data, DataFlags, IData, IForwardTsn};
use anabranch_wire::{Mid, Tsn};

use super::input::{Context, Violation};
use super::{Association, State, causes};
use crate::event::Event;
use crate::stream::inbound;
use crate::stream::interleaved::Piece;
use crate::stream::reassembly::Inconsistent;
use crate::subflow::receive::Arrival;

/// What any kind of data chunk says.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataChunk<'a> {
    pub(super) flags: DataFlags,
    /// Its number in its sequence space.
    pub(super) tsn: Tsn,
    pub(super) stream: u16,
    /// Number of its message; of DATA the stream sequence number.
    pub(super) mid: Mid,
    /// Place of the fragment in its message, where it has one.
    pub(super) fragment: u32,
    pub(super) ppid: u32,
    pub(super) payload: &'a [u8],
}

impl Association {
    #[allow(
        clippy::inline_always,
        reason = "the loop over the chunks of a packet is its only caller; measured"
    )]
    #[inline(always)]
    pub(super) fn on_data(&mut self, cx: &mut Context, data: &Data<'_>) -> Result<(), Violation> {
        if self.extensions.interleaving {
            // "if an endpoint that has indicated I-DATA support receives a DATA chunk ... it MUST abort" (RFC 8260, 2.2.1).
            return Err(Violation::Protocol("a DATA chunk where I-DATA was agreed"));
        }
        let chunk = DataChunk {
            flags: data.flags,
            tsn: data.tsn,
            stream: data.stream,
            mid: Mid::new(u32::from(data.ssn.get())),
            fragment: 0,
            ppid: data.ppid,
            payload: data.payload,
        };
        let Some(seq) = self.note_arrival(cx, &chunk)? else { return Ok(()) };
        let ready = self.hand_in(seq, &chunk);
        self.tell_readable(ready)
    }

    pub(super) fn on_i_data(&mut self, cx: &mut Context, data: &IData<'_>) -> Result<(), Violation> {
        self.enter_space(cx, 0);
        self.on_chunk(
            cx,
            &DataChunk {
                flags: data.flags,
                tsn: data.tsn,
                stream: data.stream,
                mid: data.mid,
                fragment: data.fragment(),
                ppid: data.ppid().unwrap_or(0),
                payload: data.payload,
            },
        )
    }

    /// I-FORWARD-TSN (RFC 8260, 2.3.1): the peer gives up what it has not got through. Who is listed with I-FORWARD-TSN must
    /// be able to read it, though nothing here sends it.
    pub(super) fn on_i_forward_tsn(&mut self, cx: &mut Context, forward: &IForwardTsn<'_>) {
        if !self.state.receives_data() {
            return;
        }
        self.enter_space(cx, 0);
        let Some(space) = self.spaces.first_mut() else { return };
        // "... the data receiver MUST ... send back a SACK", be the news old or not (RFC 3758, 3.6).
        space.sack.demand();
        let Some(last) = space.unwrap_received(forward.cumulative) else { return };
        if last < space.received.next() {
            return;
        }
        space.received.advance_to(last + 1);
        for skipped in forward.skipped().filter(|skipped| skipped.stream < self.inbound_streams) {
            if self.inbound.skip(skipped.stream, skipped.unordered, skipped.mid) {
                self.events.push_back(Event::Readable);
            }
        }
    }

    /// What follows in the packet belongs to that sequence space.
    pub(super) fn enter_space(&mut self, cx: &mut Context, space: usize) {
        if cx.space == space {
            return;
        }
        if cx.summary.has_data {
            self.close_summary(cx);
        }
        cx.space = space;
    }

    /// Takes one data chunk, other than DATA, of the space that the packet has entered. Apart from DATA, so that each is
    /// compiled for itself.
    #[inline(never)]
    pub(super) fn on_chunk(&mut self, cx: &mut Context, data: &DataChunk<'_>) -> Result<(), Violation> {
        let Some(seq) = self.note_arrival(cx, data)? else { return Ok(()) };
        let ready = self.hand_in_extended(cx.space, seq, data);
        self.tell_readable(ready)
    }

    #[inline]
    fn tell_readable(&mut self, ready: Result<bool, Inconsistent>) -> Result<(), Violation> {
        match ready {
            Ok(true) => self.events.push_back(Event::Readable),
            Ok(false) => {}
            Err(inconsistent) => return Err(Violation::Protocol(inconsistent.0)),
        }
        Ok(())
    }

    /// Notes that a chunk has arrived. Its sequence number, where it is new and its message is to be delivered.
    #[allow(clippy::inline_always, reason = "one copy for DATA, one for all others; measured")]
    #[inline(always)]
    fn note_arrival(&mut self, cx: &mut Context, data: &DataChunk<'_>) -> Result<Option<u64>, Violation> {
        // "DATA chunks MUST only be received ... in the ESTABLISHED, SHUTDOWN-PENDING, and SHUTDOWN-SENT states.
        // ... in any other state SHOULD be discarded" (6).
        if !self.state.receives_data() && !self.takes_data_for_cookie_ack(cx.now) {
            return Ok(None);
        }
        if data.payload.is_empty() {
            return Err(Violation::NoUserData(data.tsn));
        }
        let Some(space) = self.spaces.get_mut(cx.space) else { return Ok(None) };
        cx.summary.has_data = true;
        let Some(seq) = space.unwrap_received(data.tsn) else {
            // Before the peer's Initial TSN: not a TSN of this association.
            return Ok(None);
        };
        cx.summary.hole |= space.received.has_holes() && self.config.sack_filled_hole;
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
            return Ok(None);
        }
        if self.reconfig.is_some() && cx.space == 0 {
            // After an SSN/TSN reset the old TSNs lie half of the numbers ahead: nobody sends that far ahead.
            let far = arrival == Arrival::BeyondHole && seq - self.received_next(0) > 1 << 30;
            if far || self.comes_too_early(seq, data.stream) {
                return Ok(None);
            }
        }
        if !self.make_room(cx.space, seq, arrival, data.flags.beginning) {
            // "the receiver MUST immediately send back a SACK chunk with the current receive window".
            self.stats.dropped_no_buffer += 1;
            cx.summary.immediate = true;
            return Ok(None);
        }
        let Some(space) = self.spaces.get_mut(cx.space) else { return Ok(None) };
        space.received.record(seq);
        if self.sf.is_some() && space.received.end() == seq + 1 {
            space.newest = Some(cx.now);
        }
        cx.summary.new = true;
        cx.summary.hole |= space.received.has_holes();
        cx.summary.immediate |= data.flags.immediate && self.config.immediate_bit_obeyed;
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
            return Ok(None);
        }
        Ok(Some(seq))
    }

    /// KAME: who sends DATA has our cookie, and a lost COOKIE ACK is not waited for. Whether the state allows DATA now.
    #[cold]
    fn takes_data_for_cookie_ack(&mut self, now: Instant) -> bool {
        if self.state != State::CookieEchoed || !self.config.quirks.cookie_ack_optional {
            return false;
        }
        self.control.cookie_echo = false;
        self.enter_established(now);
        true
    }

    fn received_next(&self, space: usize) -> u64 {
        self.spaces.get(space).map_or(0, |s| s.received.next())
    }

    /// Gives what came as DATA to reassembly.
    #[allow(clippy::inline_always, reason = "used once; measured")]
    #[inline(always)]
    fn hand_in(&mut self, seq: u64, data: &DataChunk<'_>) -> Result<bool, Inconsistent> {
        let arrived = arrived(seq, data);
        if self.inbound.message_would_exceed(&arrived, self.config.max_message) {
            return Err(Inconsistent("a message is longer than this endpoint takes"));
        }
        self.inbound.add(&arrived)
    }

    /// Likewise for any other kind of chunk, as the encoding in use numbers messages.
    #[inline(never)]
    fn hand_in_extended(
        &mut self,
        space: usize,
        seq: u64,
        data: &DataChunk<'_>,
    ) -> Result<bool, Inconsistent> {
        let limit = self.config.max_message;
        if self.extensions.thesis.is_some() {
            return self.inbound.add_of_space(space as u8, &arrived(seq, data), limit);
        }
        let piece = Piece {
            space: space as u8,
            stream: data.stream,
            mid: data.mid,
            fragment: data.fragment,
            ppid: data.ppid,
            unordered: data.flags.unordered,
            beginning: data.flags.beginning,
            ending: data.flags.ending,
            payload: data.payload,
        };
        self.inbound.add_piece(&piece, limit)
    }

    /// Whether there is buffer for a new chunk. A chunk that fills a hole may push out what waits behind it: "the
    /// receiver SHOULD drop the largest TSN held for reordering and accept the new incoming DATA chunk" (6.2). Where
    /// whole messages wait behind the hole they are kept and the chunk is taken on top, up to a second buffer:
    /// refusing it would leave them waiting for ever.
    #[inline]
    fn make_room(&mut self, space: usize, seq: u64, arrival: Arrival, beginning: bool) -> bool {
        // The common case, without a closer look: memory is more than what counts against the window.
        let plenty = self.config.receive_window as usize / if self.sf.is_some() { 2 } else { 1 };
        self.memory_held() < plenty || self.find_room(space, seq, arrival, beginning)
    }

    #[inline(never)]
    fn find_room(&mut self, space: usize, seq: u64, arrival: Arrival, beginning: bool) -> bool {
        while self.window_of(space) == 0 {
            // Likewise what a message in the making needs to become whole: others may wait for it, brought by other subflows, and
            // fill the buffer.
            let needed = self.sf.is_some() && arrival == Arrival::InOrder && !beginning;
            if needed {
                return self.held() < 2 * self.config.receive_window as usize;
            }
            if arrival != Arrival::FillsHole {
                return false;
            }
            let plain = self.chunk_header == Data::HEADER;
            let Some(space) = self.spaces.get_mut(space) else { return false };
            let highest = space.received.end().saturating_sub(1);
            if plain && highest > seq && self.inbound.forget_orphan(highest) {
                space.received.forget_highest();
                continue;
            }
            return self.held() < 2 * self.config.receive_window as usize;
        }
        true
    }

    /// What a sequence space may still fill of the receive buffer.
    fn window_of(&self, space: usize) -> u32 {
        if self.sf.is_some() { self.credit_of(space) } else { self.advertised_window() }
    }
}

#[inline]
fn arrived<'a>(seq: u64, data: &DataChunk<'a>) -> inbound::Arrived<'a> {
    inbound::Arrived {
        seq,
        stream: data.stream,
        ssn: data.mid.get() as u16,
        ppid: data.ppid,
        unordered: data.flags.unordered,
        beginning: data.flags.beginning,
        ending: data.flags.ending,
        payload: data.payload,
    }
}
