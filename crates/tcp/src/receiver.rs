//! Received data: in order for the user, out of order until its hole is filled; the window and the SACK blocks.

use anabranch_base::{Duration, Instant};
use anabranch_transport::ranges::RangeSet;
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, VecDeque};

use anabranch_transport::autotune::Autotune;

/// Relation of a segment's data to the data that had arrived before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Bytes that had not arrived before.
    pub(crate) new: u64,
    /// True if the segment is not the next in order: above a hole.
    pub(crate) out_of_order: bool,
    /// True if the segment filled a hole or a part of one.
    pub(crate) filled: bool,
    /// The whole segment had arrived before.
    pub(crate) duplicate: bool,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    /// Next sequence number in order (RCV.NXT).
    next: u64,
    /// Finished pieces for the user, then the one that grows.
    ready: VecDeque<Bytes>,
    growing: BytesMut,
    waiting: u64,
    /// Out of order, disjoint, by first sequence number.
    pieces: BTreeMap<u64, Bytes>,
    ranges: RangeSet,
    /// Sequence numbers that arrived lately, newest first: RFC 2018's order of blocks.
    recent: VecDeque<u64>,
    /// Sequence number of the peer's FIN.
    fin: Option<u64>,
    fin_taken: bool,
    buffer: u64,
    /// Growth of the buffer with the rate at which the user reads; `None` where its size is fixed.
    autotune: Option<Box<Autotune>>,
    /// The next window lacks this much, as if the user had not read it yet (a quirk).
    unread: u64,
    /// Right edge that we have promised; never moves left (RFC 9293, section 3.8.6.2.1).
    edge: u64,
}

impl Receiver {
    pub(crate) fn new(buffer: u64) -> Self {
        Self {
            next: 1,
            ready: VecDeque::new(),
            growing: BytesMut::new(),
            waiting: 0,
            pieces: BTreeMap::new(),
            ranges: RangeSet::default(),
            recent: VecDeque::new(),
            fin: None,
            fin_taken: false,
            buffer: buffer.max(1),
            autotune: None,
            unread: 0,
            edge: 1,
        }
    }

    /// The buffer grows up to `limit`.
    pub(crate) fn grow_up_to(&mut self, limit: u64, mss: u64) {
        self.autotune = (limit > self.buffer).then(|| Box::new(Autotune::new(limit, mss)));
    }

    /// A segment has come, and with it a timestamp of this age; `None` without timestamps. `full`: it was no small one.
    #[inline]
    pub(crate) fn measure(&mut self, now: Instant, echo_age: Option<Duration>, full: bool) {
        let Some(autotune) = &mut self.autotune else { return };
        match echo_age {
            Some(age) if full => autotune.echoed(age),
            Some(_) => {}
            None => autotune.arrived(now, self.next, self.edge),
        }
    }

    /// True if the buffer grows with the rate at which the user reads.
    #[inline]
    pub(crate) const fn grows(&self) -> bool {
        self.autotune.is_some()
    }

    /// The user has read something.
    pub(crate) fn adjust(&mut self, now: Instant) {
        if let Some(autotune) = &mut self.autotune {
            self.buffer = autotune.read(now, self.next - self.waiting, self.buffer);
        }
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// One past the last sequence number that we have promised to take.
    pub(crate) fn edge(&self) -> u64 {
        self.edge
    }

    /// The edge that we could promise now.
    pub(crate) fn possible_edge(&self) -> u64 {
        self.edge.max(self.next.saturating_add(self.buffer.saturating_sub(self.waiting + self.unread)))
    }

    /// The window was all but shut, and the user has read enough for the peer to be told (receiver's silly window
    /// avoidance, RFC 1122, 4.2.3.3). An open window needs no telling: the next acknowledgement does it.
    pub(crate) fn window_reopened(&self, mss: u64) -> bool {
        let worth = (self.buffer / 2).min(2 * mss);
        self.edge.saturating_sub(self.next) < 2 * mss && self.possible_edge() - self.edge >= worth
    }

    /// The window field for a segment that leaves now, and the promise that goes with it.
    pub(crate) fn advertise(&mut self, shift: u8, mss: u64) -> u16 {
        // While the window is shut, a gift of less than a segment would only invite small segments.
        let possible = self.possible_edge();
        let room = possible - self.next;
        let edge =
            if self.edge <= self.next && room < (self.buffer / 2).min(mss) { self.edge } else { possible };
        self.unread = 0;
        let window = (edge.saturating_sub(self.next) >> shift).min(0xffff);
        self.edge = self.edge.max(self.next + (window << shift));
        window as u16
    }

    pub(crate) fn has_holes(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// The acknowledgement of these bytes, in order, will leave as if the user had not read them.
    pub(crate) fn hold_back(&mut self, bytes: u64) {
        self.unread = bytes;
    }

    /// Data arrived at sequence number `seq`.
    pub(crate) fn data(&mut self, seq: u64, data: &[u8]) -> Arrival {
        let limit = self.fin.unwrap_or(u64::MAX).min(self.edge);
        let start = seq.max(self.next);
        let end = (seq + data.len() as u64).min(limit);
        if end <= start {
            return Arrival { duplicate: true, ..Arrival::default() };
        }
        let part = |a: u64, b: u64| data.get((a - seq) as usize..(b - seq) as usize).unwrap_or(&[]);
        if start == self.next && self.ranges.is_empty() {
            // The common case: next in order, nothing held back.
            self.deliver(part(start, end));
            return Arrival { new: end - start, ..Arrival::default() };
        }
        if start > self.next {
            return self.store(start, part(start, end));
        }
        self.fill(end, part)
    }

    /// In order, with holes above: takes the new data up to `end`, then data that has become in order.
    fn fill<'a>(&mut self, end: u64, part: impl Fn(u64, u64) -> &'a [u8]) -> Arrival {
        let mut arrival = Arrival { filled: true, ..Arrival::default() };
        loop {
            let hole_end = self.pieces.first_key_value().map_or(end, |(at, _)| (*at).min(end));
            if hole_end > self.next {
                arrival.new += hole_end - self.next;
                self.deliver(part(self.next, hole_end));
            }
            match self.pieces.first_entry() {
                Some(piece) if *piece.key() == self.next => {
                    let piece = piece.remove();
                    self.next += piece.len() as u64;
                    self.waiting += piece.len() as u64;
                    self.close_growing();
                    self.ready.push_back(piece);
                }
                _ => break,
            }
        }
        self.ranges.remove_below(self.next);
        if self.ranges.is_empty() {
            self.recent.clear();
        }
        arrival
    }

    /// Out of order: kept, unless the peer cuts its data so small that the book-keeping would eat us.
    fn store(&mut self, seq: u64, data: &[u8]) -> Arrival {
        let mut arrival = Arrival { out_of_order: true, ..Arrival::default() };
        let most = 64 + self.buffer / 128;
        if self.pieces.len() as u64 >= most || self.ranges.len() as u64 >= most {
            return arrival;
        }
        let mut fresh = Vec::new();
        self.ranges.insert_range(seq, seq + data.len() as u64, |a, b| fresh.push((a, b)));
        for (a, b) in fresh {
            arrival.new += b - a;
            let part = data.get((a - seq) as usize..(b - seq) as usize).unwrap_or(&[]);
            self.pieces.insert(a, Bytes::copy_from_slice(part));
        }
        arrival.duplicate = arrival.new == 0;
        self.recent.push_front(seq);
        self.recent.truncate(16);
        arrival
    }

    fn deliver(&mut self, data: &[u8]) {
        self.next += data.len() as u64;
        self.waiting += data.len() as u64;
        self.growing.extend_from_slice(data);
    }

    fn close_growing(&mut self) {
        if !self.growing.is_empty() {
            self.ready.push_back(self.growing.split().freeze());
        }
    }

    /// The peer's FIN has sequence number `at`.
    pub(crate) fn fin(&mut self, at: u64) {
        if self.fin.is_none() && at >= self.next && at <= self.edge.max(self.next) {
            self.fin = Some(at);
            if at > self.next {
                // SACKed like data: else the segment that carries it would never count as arrived.
                self.ranges.insert(at);
                self.recent.push_front(at);
            }
        }
    }

    /// True once, when everything up to the FIN has arrived; the FIN is then acknowledged.
    pub(crate) fn take_fin(&mut self) -> bool {
        if self.fin_taken || self.fin != Some(self.next) {
            return false;
        }
        self.fin_taken = true;
        self.next += 1;
        self.ranges.remove_below(self.next);
        true
    }

    pub(crate) fn readable(&self) -> bool {
        self.waiting > 0
    }

    /// The next piece for the user.
    pub(crate) fn read(&mut self) -> Option<Bytes> {
        if self.ready.is_empty() {
            self.close_growing();
        }
        let piece = self.ready.pop_front()?;
        self.waiting -= piece.len() as u64;
        Some(piece)
    }

    /// SACK blocks, at most `most`: "the first SACK block MUST specify the contiguous block of data containing the
    /// segment which triggered this ACK", then the most recently reported others (RFC 2018, section 4).
    pub(crate) fn sack_blocks(&self, most: usize, mut emit: impl FnMut(u64, u64)) {
        let mut seen: [(u64, u64); 4] = [(0, 0); 4];
        let mut count = 0;
        let most = most.min(seen.len());
        let recent = self.recent.iter().filter_map(|at| self.ranges.containing(*at));
        for block in recent.chain(self.ranges.iter()) {
            if count >= most {
                break;
            }
            if seen.iter().take(count).any(|s| *s == block) {
                continue;
            }
            if let Some(slot) = seen.get_mut(count) {
                *slot = block;
            }
            count += 1;
            emit(block.0, block.1);
        }
    }

    /// Gives its memory back; nothing will be read any more.
    pub(crate) fn clear(&mut self) {
        self.ready.clear();
        self.growing.clear();
        self.waiting = 0;
        self.pieces.clear();
        self.ranges.clear();
        self.recent.clear();
    }
}

#[cfg(test)]
mod tests;
