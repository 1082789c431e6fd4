//! Data that will not come: messages that the peer gives up, streams that begin anew, a peer that has restarted.

use std::collections::BTreeSet;

use anabranch_wire::Mid;

use super::{Inbound, Reassembly, Streams, Waiting};
use crate::ids::{Id, SpaceId};
use crate::receiver::inbound::partial_message::Aborted;

impl Inbound {
    /// The peer gives up the messages of a stream, ordered or unordered, up to `mid`. True when a message became ready where
    /// none was.
    pub(crate) fn skip(
        &mut self,
        stream: u16,
        unordered: bool,
        mid: Mid,
        aborted: &mut Vec<Aborted>,
    ) -> bool {
        let numbered = self.numbered.get_or_insert_default();
        let Some(number) = numbered.interleaved.number(stream, unordered, mid) else { return false };
        for (space, bytes, pieces) in numbered.interleaved.give_up(stream, unordered, number, aborted) {
            self.release(space, bytes);
            self.count_pieces(space, 0, pieces);
        }
        let was_quiet = self.ready.is_quiet(stream);
        if !unordered {
            let ready = &mut self.ready;
            let order = &mut self.numbered.get_or_insert_default().order;
            order.skip(stream, number, |message| ready.push_other(message));
            self.apart = order.waiting().apart();
        }
        was_quiet && !self.ready.is_quiet(stream)
    }

    /// The peer gives up the missing parts of DATA before `floor`, and the messages that it `lists` by stream and
    /// SSN.
    pub(crate) fn give_up_before(
        &mut self,
        floor: u64,
        lists: impl Fn(u16, u16) -> bool,
        aborted: &mut Vec<Aborted>,
    ) {
        let (bytes, pieces) = self.reassembly.give_up_before(floor, lists, aborted);
        self.uncharge(bytes, pieces);
    }

    /// The peer gives up the missing messages of an ordered stream up to `ssn`: "immediately make available for
    /// delivery stream sequence numbers earlier than or equal to the stream sequence number listed" (RFC 3758, 3.6),
    /// and the messages that wait behind them. True when a message became ready where none was.
    // rfc3758:3.6-7 rfc3758:3.6-8
    pub(crate) fn skip_ssn(&mut self, stream: u16, ssn: u16) -> bool {
        // The number of messages that are skipped; above half of the numbers the report is old.
        let skipped = ssn.wrapping_sub(self.streams.next(stream)).wrapping_add(1);
        if skipped == 0 || skipped > 1 << 15 {
            return false;
        }
        let was_quiet = self.ready.is_quiet(stream);
        let Streams { next, waiting } = &mut self.streams;
        let next = next.at(stream);
        let mut left = skipped;
        while let Some((seq, waits)) = waiting.first_of(stream) {
            // Waiting messages are ahead of those delivered: the distance needs no sign.
            let ahead = (waits as u16).wrapping_sub(*next);
            if ahead > left {
                break;
            }
            left = left.saturating_sub(ahead + 1);
            *next = next.wrapping_add(ahead).wrapping_add(1);
            let message = waiting.remove(stream, seq);
            message.into_iter().for_each(|message| self.ready.push_other(message));
        }
        *next = next.wrapping_add(left);
        was_quiet && !self.ready.is_quiet(stream)
    }

    /// The next message of some streams (of all, if none is listed) has the number 0. Nothing of them can wait for another,
    /// unless the peer left out numbers: that is given up, and so is a message that has begun and not ended.
    // rfc6525:5.2.2-7
    // rfc8260:2-2
    pub(crate) fn reset_streams(&mut self, streams: &[u16], aborted: &mut Vec<Aborted>) {
        let mut all = BTreeSet::new();
        if streams.is_empty() {
            all.extend(self.streams.next.iter().map(|(stream, _)| stream));
            all.extend(self.streams.waiting.streams());
            all.extend(self.numbered.iter().flat_map(|numbered| numbered.order.streams()));
            self.give_up_fragments(None, aborted);
        }
        for id in streams.iter().copied().chain(all) {
            if !streams.is_empty() {
                self.give_up_fragments(Some(id), aborted);
            }
            if let Some(next) = self.streams.next.get_mut(id) {
                *next = 0;
            }
            for message in self.streams.waiting.take(id) {
                self.forget(&message);
            }
            let Some(numbered) = &mut self.numbered else { continue };
            let waiting = numbered.order.reset(id);
            self.apart = numbered.order.waiting().apart();
            for message in waiting {
                self.forget(&message);
            }
        }
    }

    /// Fragments of messages that are not whole, of a stream or of all, are given up.
    fn give_up_fragments(&mut self, stream: Option<u16>, aborted: &mut Vec<Aborted>) {
        let (bytes, pieces) = self.reassembly.give_up(stream, aborted);
        let mut freed = vec![(SpaceId::FIRST, bytes, pieces)];
        if let Some(numbered) = &mut self.numbered {
            freed.extend(numbered.interleaved.reset(stream, aborted));
            for (index, reassembly) in numbered.by_space.iter_mut().enumerate() {
                let (bytes, pieces) = reassembly.give_up(stream, aborted);
                freed.push((SpaceId::at(index), bytes, pieces));
            }
        }
        for (space, bytes, pieces) in freed {
            self.release(space, bytes);
            self.count_pieces(space, 0, pieces);
        }
    }

    /// Begins sequence spaces anew (restart); messages that are ready stay readable. Returns the bytes of all others.
    pub(crate) fn restart(&mut self, aborted: &mut Vec<Aborted>) -> usize {
        let before = self.buffered_bytes;
        self.give_up_fragments(None, aborted);
        self.reassembly = Reassembly::default();
        self.streams.next.clear();
        self.streams.waiting = Waiting::default();
        self.numbered = None;
        // Messages that are ready belong to no space any more: none is charged for them.
        self.buffered_of_others.clear();
        self.ready.leave_spaces();
        self.apart = 0;
        self.buffered_bytes = 0;
        let ready: usize = self.ready.sizes().map(|(_, len, _)| len).sum();
        self.charge(SpaceId::FIRST, ready);
        self.buffered_pieces = self.ready.sizes().map(|(.., pieces)| pieces).sum();
        before.saturating_sub(ready)
    }
}
