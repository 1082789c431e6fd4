//! A segment arrived: RFC 9293, section 3.10.7, in its order.

use super::{Connection, Outside};
use crate::event::{Event, State};
use crate::header::{Flags, Header};
use crate::receiver::Arrival;
use crate::sender::AckInfo;
use anabranch_base::{Duration, TraceEvent};

impl Connection {
    pub(crate) fn on_segment(&mut self, out: &mut Outside<'_>, header: &Header, payload: &[u8]) {
        match self.state {
            State::Closed => return,
            State::SynSent => self.in_syn_sent(out, header, payload),
            _ => self.in_other_states(out, header, payload),
        }
        self.sender.write_gauges(&mut self.stats);
    }

    fn in_syn_sent(&mut self, out: &mut Outside<'_>, header: &Header, payload: &[u8]) {
        let acked = header.flags.has(Flags::ACK);
        if acked && !self.numbers.acknowledges_syn(header.ack) {
            self.stats.bad_acks += 1;
            // "If the segment acknowledgment is not acceptable": a RST that believes it, unless it is one.
            return;
        }
        if header.flags.has(Flags::RST) {
            if acked {
                self.on_reset(out);
            }
            return;
        }
        if !header.flags.has(Flags::SYN) {
            return;
        }
        self.take_syn(header);
        if acked {
            self.establish(out, header, false);
            self.acks.demand();
            self.emit_event(out, Event::Connected);
            self.take_payload(out, header, payload);
        } else {
            // Simultaneous open: both have sent a SYN.
            self.state = State::SynReceived;
            self.syn.answer();
        }
    }

    fn in_other_states(&mut self, out: &mut Outside<'_>, header: &Header, payload: &[u8]) {
        let flags = header.flags;
        // In SYN-RECEIVED the same SYN again: the handshake's own repetition, not an attack.
        if self.state == State::SynReceived && flags.has(Flags::SYN) && header.seq == self.numbers.peer_syn()
        {
            if !flags.has(Flags::ACK) {
                self.repeat_syn_ack();
                return;
            }
        } else if !self.is_acceptable(out, header, payload.len()) {
            return;
        } else if flags.has(Flags::SYN) {
            // RFC 5961, section 4: a SYN in a synchronized state gets a challenge ACK, nothing more.
            self.stats.out_of_window += 1;
            self.acks.demand();
            return;
        }
        if flags.has(Flags::RST) {
            self.in_window_reset(out, header);
            return;
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        self.timestamps.note(header, |near| self.numbers.unwrap_peer(near, header.seq));
        if self.state == State::SynReceived && !self.finish_handshake(out, header) {
            return;
        }
        if !self.take_ack(out, header, payload.is_empty()) {
            return;
        }
        self.take_payload(out, header, payload);
    }

    /// First check: sequence number, then PAWS (RFC 7323, section 5.3).
    fn is_acceptable(&mut self, out: &mut Outside<'_>, header: &Header, len: usize) -> bool {
        let flags = header.flags;
        if self.timestamps.is_old(header) && !flags.has(Flags::RST) {
            self.stats.paws_rejected += 1;
            self.acks.demand();
            return false;
        }
        let size = len as i64 + i64::from(flags.has(Flags::SYN)) + i64::from(flags.has(Flags::FIN));
        let next = self.receiver.next() as i64;
        let edge = (self.receiver.edge() as i64).max(next);
        let start = self.numbers.unwrap_peer(next as u64, header.seq);
        // One more than the RFC at the right edge: a peer that has filled our window acknowledges from there.
        let fits =
            if size == 0 { start >= next && start <= edge } else { start < edge && start + size > next };
        // A FIN alone takes no buffer: at the edge of a shut window it is welcome.
        if fits || (len == 0 && flags.has(Flags::FIN) && start == edge && edge == next) {
            return true;
        }
        self.stats.out_of_window += 1;
        if len > 0 {
            self.stats.packets_received += 1;
            self.stats.duplicates_received += u64::from(start + size <= next);
            self.note_duplicate(start, start + len as i64);
            let (seq, len) = ((start - 1).max(0) as u64, len as u32);
            if start + size <= next {
                let stats = &mut self.stats;
                let mut cx = crate::sender::Context { now: out.now, id: self.id, stats, trace: out.trace };
                cx.record(|| TraceEvent::Received { seq, len, duplicate: true });
            }
        }
        if flags.has(Flags::RST) {
            return false;
        }
        if self.state == State::TimeWait && flags.has(Flags::FIN) {
            // The peer missed our last ACK: "restart the 2 MSL time-wait timeout".
            self.time_wait = Some(out.now + self.config.time_wait);
        }
        if size > 0 {
            self.acks.demand();
        } else if out.now >= self.mute_until {
            // Two confused ends must not answer each other's empty segments for ever.
            self.mute_until = out.now + Duration::from_millis(500);
            self.acks.demand();
        }
        false
    }

    /// With `dsack`: this much of the data that arrived had arrived before.
    fn note_duplicate(&mut self, start: i64, end: i64) {
        if self.config.dsack && self.agreed.sack() {
            let end = end.min(self.receiver.next() as i64).max(0) as u64;
            let start = start.max(1) as u64;
            self.duplicate = Some((start, end)).filter(|_| start < end).or(self.duplicate);
        }
    }

    /// RFC 5961, section 3: only a RST at exactly RCV.NXT counts, others get a challenge ACK.
    fn in_window_reset(&mut self, out: &mut Outside<'_>, header: &Header) {
        if self.numbers.unwrap_peer(self.receiver.next(), header.seq) == self.receiver.next() as i64 {
            self.on_reset(out);
        } else {
            self.stats.out_of_window += 1;
            self.acks.demand();
        }
    }

    /// SYN-RECEIVED: the ACK of our SYN. Answers false when it is not.
    fn finish_handshake(&mut self, out: &mut Outside<'_>, header: &Header) -> bool {
        if !self.numbers.acknowledges_syn(header.ack)
            && self.numbers.unwrap_own(self.sender.max(), header.ack) != 1
        {
            self.stats.bad_acks += 1;
            return false;
        }
        let scaled = !header.flags.has(Flags::SYN);
        self.establish(out, header, scaled);
        if self.config.quirk_initial_window {
            self.sender.grow_by_syn();
        }
        self.emit_event(out, if self.syn.is_passive() { Event::Accepted } else { Event::Connected });
        true
    }

    /// Fifth check: the ACK field. Answers false when the segment must go no further.
    fn take_ack(&mut self, out: &mut Outside<'_>, header: &Header, no_data: bool) -> bool {
        let (una, max) = (self.sender.una(), self.sender.max());
        let ack = self.numbers.unwrap_own(una, header.ack);
        if ack > max as i64 {
            // "If the ACK acks something not yet sent, then send an ACK, drop the segment".
            self.stats.bad_acks += 1;
            self.acks.demand();
            return false;
        }
        if ack < 0 {
            return true;
        }
        let ack = ack as u64;
        let mut sacks = [(0, 0); 4];
        let mut count = 0;
        let blocks = header.options.sack.as_slice();
        let duplicate = self.reported_duplicate(blocks, una, ack);
        let blocks = blocks.get(usize::from(duplicate.is_some())..).unwrap_or(&[]);
        for &(left, right) in blocks {
            let (start, end) = (self.numbers.unwrap_own(una, left), self.numbers.unwrap_own(una, right));
            if start >= end || end > max as i64 {
                self.stats.bad_acks += 1;
            } else if start >= ack as i64 {
                if let Some(slot) = sacks.get_mut(count) {
                    *slot = (start as u64, end as u64);
                    count += 1;
                }
            }
            // Below the acknowledgement: a report of a duplicate (RFC 2883), not of a hole.
        }
        let age = self.timestamps.echo_age(out.now, header);
        let shift = if header.flags.has(Flags::SYN) { 0 } else { self.agreed.peer_shift() };
        let info = AckInfo {
            ack,
            sacks: sacks.get(..count).unwrap_or(&[]),
            duplicate,
            seq: self.numbers.unwrap_peer(self.receiver.next(), header.seq).max(0) as u64,
            window: u64::from(header.window) << shift,
            empty: no_data && !header.flags.has(Flags::FIN) && !header.flags.has(Flags::SYN),
            echo_age: age.filter(|_| ack > una),
            echo_any: age,
        };
        self.with_sender(out, |sender, cx| sender.on_ack(cx, &info));
        if self.wants_room && self.sender.buffer().has_room() {
            self.wants_room = false;
            self.emit_event(out, Event::Writable);
        }
        if self.sender.fin_acknowledged() {
            self.on_fin_acknowledged(out);
        }
        self.state != State::Closed
    }

    /// RFC 2883, section 4: the first block reports a duplicate when it lies below the acknowledgement, or within the second.
    fn reported_duplicate(&self, blocks: &[(u32, u32)], una: u64, ack: u64) -> Option<(u64, u64)> {
        let place = |(left, right): (u32, u32)| {
            let (start, end) = (self.numbers.unwrap_own(una, left), self.numbers.unwrap_own(una, right));
            (start.max(0) as u64, end.max(0) as u64)
        };
        let first = place(*blocks.first()?);
        let within = |second: (u64, u64)| second.0 <= first.0 && first.1 <= second.1;
        let repeated = first.1 <= ack || blocks.get(1).is_some_and(|second| within(place(*second)));
        (self.config.dsack && first.0 < first.1 && repeated).then_some(first)
    }

    /// Seventh and eighth: the payload, and the FIN.
    fn take_payload(&mut self, out: &mut Outside<'_>, header: &Header, payload: &[u8]) {
        let after_syn = i64::from(header.flags.has(Flags::SYN));
        let start = self.numbers.unwrap_peer(self.receiver.next(), header.seq) + after_syn;
        let fin = header.flags.has(Flags::FIN);
        if start < 0 || (payload.is_empty() && !fin) {
            return;
        }
        let start = start as u64;
        if !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            // "This should not occur since a FIN has been received": ignored, but acknowledged again.
            self.acks.demand();
            return;
        }
        if !payload.is_empty() {
            self.take_data(out, header, start, payload);
        }
        if fin {
            self.receiver.fin(start + payload.len() as u64);
            self.acks.demand();
        }
        if self.receiver.take_fin() {
            self.on_fin_received(out);
        }
    }

    fn take_data(&mut self, out: &mut Outside<'_>, header: &Header, start: u64, payload: &[u8]) {
        let (before, silent) = (self.receiver.next(), !self.receiver.readable());
        let (first, last) = (start as i64, start as i64 + payload.len() as i64);
        self.note_duplicate(first, last);
        let arrival: Arrival = self.receiver.data(start, payload);
        if arrival.duplicate && arrival.out_of_order && self.config.dsack && self.agreed.sack() {
            self.duplicate = Some((start, last as u64));
        }
        if self.config.quirk_window_update {
            self.receiver.hold_back(self.receiver.next() - before);
        }
        if self.receiver.grows() {
            let age = self.timestamps.echo_age(out.now, header);
            self.receiver.measure(out.now, age, payload.len() as u64 >= self.sender.mss());
        }
        self.acks.on_data(out.now, &self.config, arrival);
        let stats = &mut self.stats;
        stats.packets_received += 1;
        if arrival.new > 0 {
            stats.packets_received_new += 1;
            stats.segment_bytes_received_new += (header.size() + payload.len()) as u64;
            stats.payload_bytes_received_new += arrival.new;
        } else {
            stats.duplicates_received += 1;
        }
        let mut cx = crate::sender::Context { now: out.now, id: self.id, stats, trace: out.trace };
        cx.record(|| TraceEvent::Received {
            seq: start.saturating_sub(1),
            len: payload.len() as u32,
            duplicate: arrival.new == 0,
        });
        if silent && self.receiver.next() > before {
            self.emit_event(out, Event::Readable);
        }
    }
}
