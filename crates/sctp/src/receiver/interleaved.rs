//! Messages that carry their own numbers (RFC 8260): joined by stream, message identifier and fragment number, whatever
//! sequence space brought them. So messages of one stream may come over several subflows, and a fragment that comes twice
//! is told from a new one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anabranch_wire::{Mid, Tsn};
use bytes::Bytes;

use super::growing::{Aborted, Growing, Inconsistent, Label, PIECE, SPLIT, TOO_LONG, memory_of, take_all};
use super::reassembly::Arena;
use crate::encoding::DataChunk;
use crate::ids::SpaceId;
use crate::message::Received;
use crate::per_stream::PerStream;

/// One I-DATA or SF-DATA chunk that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// Sequence space that brought it.
    pub(crate) space: SpaceId,
    pub(crate) tsn: Tsn,
    pub(crate) stream: u16,
    pub(crate) mid: Mid,
    /// Fragment number; 0 in the first.
    pub(crate) fragment: u32,
    /// Of the first fragment only.
    pub(crate) ppid: u32,
    pub(crate) unordered: bool,
    pub(crate) immediate: bool,
    pub(crate) beginning: bool,
    pub(crate) ending: bool,
    pub(crate) payload: &'a [u8],
}

impl<'a> Piece<'a> {
    pub(crate) fn of(space: SpaceId, data: &DataChunk<'a>) -> Self {
        Self {
            space,
            tsn: data.tsn,
            stream: data.stream,
            mid: data.mid,
            fragment: data.fragment,
            ppid: data.ppid,
            unordered: data.flags.unordered,
            immediate: data.flags.immediate,
            beginning: data.flags.beginning,
            ending: data.flags.ending,
            payload: data.payload,
        }
    }
}

/// A whole message.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) message: Received,
    /// How many pieces were charged for it before its last chunk came.
    pub(crate) charged: usize,
}

/// What became of a chunk.
#[derive(Debug)]
pub(crate) enum Added {
    /// It, or its message, was here before.
    Duplicate,
    /// The chunk waits for other fragments of its message. The space is charged for so many pieces more.
    Waits(SpaceId, usize),
    /// Its message is whole; whether others of its stream must come first is for [`DeliveryOrder`] to say.
    Whole(Finished),
}

/// Fragments of a message.
#[derive(Debug)]
struct Assembly {
    /// The space of the first fragment to come, which is charged for all.
    space: SpaceId,
    ppid: u32,
    /// Message identifier, as the wire has it.
    mid: Mid,
    /// TSN of its first fragment.
    tsn: Tsn,
    immediate: bool,
    /// Fragments 0 to `next` - 1, in as far as they have not been handed over.
    growing: Growing,
    next: u32,
    /// Fragments beyond a missing one.
    loose: BTreeMap<u32, Bytes>,
    loose_bytes: usize,
    /// Number of the last one, once it is known.
    last: Option<u32>,
}

/// What is given up: the space that was charged, bytes and pieces.
pub(crate) type Freed = (SpaceId, usize, usize);

/// Where the numbers of a stream stand: they wrap at 2^32, and are counted on from here.
#[derive(Debug, Default)]
struct Near {
    ordered: u64,
    unordered: u64,
    /// Unordered messages before this one have been given up, unless they are whole.
    given_up: u64,
}

/// Messages in the making.
#[derive(Debug, Default)]
pub(crate) struct Interleaved {
    assemblies: BTreeMap<(u16, bool, u64), Assembly>,
    near: PerStream<Near>,
    arena: Arena,
    /// What is charged for them, bytes.
    held: usize,
}

/// The place of a message in its stream, counted on through the wrap of 32 bits.
fn unwrap(mid: Mid, near: u64) -> Option<u64> {
    near.checked_add_signed(i64::from(mid.signed_distance_from(Mid::new(near as u32))))
}

impl Interleaved {
    /// The unwrapped number of a message; `None` for one before the first of its stream.
    pub(crate) fn number(&mut self, stream: u16, unordered: bool, mid: Mid) -> Option<u64> {
        let near = self.near(stream);
        let near = if unordered { &mut near.unordered } else { &mut near.ordered };
        let number = unwrap(mid, *near)?;
        *near = number.max(*near);
        Some(number)
    }

    fn near(&mut self, stream: u16) -> &mut Near {
        self.near.at(stream)
    }

    /// What is charged for messages in the making, bytes.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// The peer gives up what is missing of messages up to `number`: what has come of them goes, too.
    pub(crate) fn give_up(
        &mut self,
        stream: u16,
        unordered: bool,
        number: u64,
        aborted: &mut Vec<Aborted>,
    ) -> Vec<Freed> {
        if unordered {
            let near = self.near(stream);
            near.given_up = near.given_up.max(number.saturating_add(1));
        }
        let range = (stream, unordered, 0)..=(stream, unordered, number);
        let keys: Vec<_> = self.assemblies.range(range).map(|(key, _)| *key).collect();
        self.forget(&keys, aborted)
    }

    /// A stream is reset, or all: what has come of messages that are not whole is given up.
    pub(crate) fn reset(&mut self, stream: Option<u16>, aborted: &mut Vec<Aborted>) -> Vec<Freed> {
        match stream {
            Some(stream) => {
                if let Some(near) = self.near.get_mut(stream) {
                    *near = Near::default();
                }
            }
            None => self.near.clear(),
        }
        let listed = |of: u16| stream.is_none_or(|stream| stream == of);
        let keys: Vec<_> = self.assemblies.keys().filter(|(of, ..)| listed(*of)).copied().collect();
        self.forget(&keys, aborted)
    }

    fn forget(&mut self, keys: &[(u16, bool, u64)], aborted: &mut Vec<Aborted>) -> Vec<Freed> {
        let freed =
            take_all(&mut self.assemblies, keys).into_iter().map(|((stream, unordered, _), assembly)| {
                self.held -= assembly.memory();
                aborted.extend(assembly.growing.abort(stream, unordered));
                (assembly.space, assembly.bytes(), assembly.pieces())
            });
        freed.collect()
    }

    /// What is charged to each space, counted: for tests.
    pub(crate) fn count(&self) -> impl Iterator<Item = Freed> + '_ {
        self.assemblies.values().map(|assembly| (assembly.space, assembly.bytes(), assembly.pieces()))
    }

    /// The unwrapped number of a message, without noting that it was heard of.
    pub(crate) fn number_of(&self, stream: u16, unordered: bool, mid: Mid) -> Option<u64> {
        let near = self.near.get(stream);
        unwrap(mid, near.map_or(0, |near| if unordered { near.unordered } else { near.ordered }))
    }

    /// Whether a fragment goes on with an unordered message that was given up, and whose beginning is not here. (Ordered ones are told
    /// by [`DeliveryOrder::knows`].)
    pub(crate) fn passes_over(&self, p: &Piece<'_>, number: u64) -> bool {
        let near = self.near.get(p.stream);
        p.unordered && !p.beginning && near.is_some_and(|near| number < near.given_up) && {
            !self.assemblies.contains_key(&(p.stream, true, number))
        }
    }

    /// Whether a fragment costs nothing or goes on where its message ends so far.
    pub(crate) fn is_next(&self, stream: u16, unordered: bool, number: u64, fragment: u32) -> bool {
        let assembly = self.assemblies.get(&(stream, unordered, number));
        fragment <= assembly.map_or(0, |assembly| assembly.next)
    }

    /// Bytes of a message that are here and may be handed over.
    pub(crate) fn grown(&self, stream: u16, unordered: bool, number: u64) -> usize {
        self.assemblies.get(&(stream, unordered, number)).map_or(0, |assembly| assembly.growing.held())
    }

    /// What is here of a message, as the next part of it, with how many pieces were charged for that.
    pub(crate) fn part(
        &mut self,
        stream: u16,
        unordered: bool,
        number: u64,
        numbers: &mut u32,
    ) -> Option<(Received, usize)> {
        let assembly = self.assemblies.get_mut(&(stream, unordered, number))?;
        let charged = assembly.growing.fragments();
        if charged == 0 {
            return None;
        }
        self.held -= assembly.growing.memory();
        let label = assembly.label(stream, unordered);
        Some((assembly.growing.part(label, numbers), charged))
    }

    /// Takes one chunk. A message that `waits` for others of its stream gets memory of its own.
    ///
    /// # Errors
    /// When it contradicts other fragments of its message: the association must be aborted.
    // rfc8260:2.2.3-1 rfc8260:2.2.3-2
    pub(crate) fn add(
        &mut self,
        p: &Piece<'_>,
        number: u64,
        waits: bool,
        limit: usize,
    ) -> Result<Added, Inconsistent> {
        let key = (p.stream, p.unordered, number);
        if p.beginning && p.ending {
            if !self.assemblies.is_empty() && self.assemblies.contains_key(&key) {
                return Err(Inconsistent("a whole message with the identifier of one in fragments"));
            }
            let first = if waits { Bytes::copy_from_slice(p.payload) } else { self.arena.copy(p.payload) };
            let label = Label {
                stream: p.stream,
                ppid: p.ppid,
                unordered: p.unordered,
                immediate: p.immediate,
                number: p.mid.get(),
                tsn: p.tsn,
                space: p.space,
            };
            let message = label.received(None, first, None);
            return Ok(Added::Whole(Finished { message, charged: 0 }));
        }
        if !p.beginning && p.fragment == 0 {
            return Err(Inconsistent("a fragment that is not the first has the number 0"));
        }
        let (assembly, new) = match self.assemblies.entry(key) {
            Entry::Occupied(entry) => (entry.into_mut(), false),
            Entry::Vacant(entry) => (entry.insert(Assembly::new(p.space, p.mid)), true),
        };
        // "The fragments of one message stay on one subflow" (docs/subflows.md). Between subflow 0 and another that is how it looks when a
        // sender gives the extension up: it sends all again on subflow 0.
        if assembly.space != p.space && ![assembly.space, p.space].contains(&SpaceId::FIRST) {
            return Err(SPLIT);
        }
        let before = assembly.pieces();
        if !assembly.add(p, limit)? {
            return Ok(Added::Duplicate);
        }
        if assembly.last.is_none_or(|last| assembly.next <= last) {
            // The message itself is charged like a piece.
            let more = 1 + usize::from(new);
            self.held += p.payload.len() + more * PIECE;
            return Ok(Added::Waits(assembly.space, more));
        }
        let Some(assembly) = self.assemblies.remove(&key) else { return Ok(Added::Duplicate) };
        self.held -= assembly.memory() - p.payload.len() - PIECE;
        let label = assembly.label(p.stream, p.unordered);
        Ok(Added::Whole(Finished { message: assembly.growing.finish(label), charged: before }))
    }
}

impl Assembly {
    fn new(space: SpaceId, mid: Mid) -> Self {
        Self {
            space,
            ppid: 0,
            mid,
            tsn: Tsn::default(),
            immediate: false,
            growing: Growing::default(),
            next: 0,
            loose: BTreeMap::new(),
            loose_bytes: 0,
            last: None,
        }
    }

    fn label(&self, stream: u16, unordered: bool) -> Label {
        Label {
            stream,
            ppid: self.ppid,
            unordered,
            immediate: self.immediate,
            number: self.mid.get(),
            tsn: self.tsn,
            space: self.space,
        }
    }

    /// Bytes that are here.
    fn bytes(&self) -> usize {
        self.growing.held() + self.loose_bytes
    }

    /// Pieces that are charged: its fragments, and the message itself.
    fn pieces(&self) -> usize {
        self.growing.fragments() + self.loose.len() + 1
    }

    fn memory(&self) -> usize {
        self.bytes() + self.pieces() * PIECE
    }

    /// False for a duplicate.
    fn add(&mut self, p: &Piece<'_>, limit: usize) -> Result<bool, Inconsistent> {
        let number = if p.beginning { 0 } else { p.fragment };
        if number < self.next || self.loose.contains_key(&number) {
            return Ok(false);
        }
        if self.last.is_some_and(|last| number > last || p.ending) {
            return Err(Inconsistent("a fragment after the last of its message"));
        }
        if p.ending {
            if self.loose.last_key_value().is_some_and(|(highest, _)| *highest > number) {
                return Err(Inconsistent("a fragment after the last of its message"));
            }
            self.last = Some(number);
        }
        if p.beginning {
            self.ppid = p.ppid;
            self.tsn = p.tsn;
        }
        self.immediate |= p.immediate;
        if number != self.next {
            let so_far = self.growing.total() + self.loose_bytes;
            if so_far > 0 && so_far + p.payload.len() > limit {
                return Err(TOO_LONG);
            }
            self.loose_bytes += p.payload.len();
            self.loose.insert(number, Bytes::copy_from_slice(p.payload));
            return Ok(true);
        }
        let most = limit.saturating_sub(self.loose_bytes).max(p.payload.len());
        self.growing.append(p.payload, most)?;
        self.next += 1;
        while let Some(bytes) = self.loose.remove(&self.next) {
            self.loose_bytes -= bytes.len();
            self.growing.attach(bytes, limit)?;
            self.next += 1;
        }
        Ok(true)
    }
}

/// The order of the messages of each stream, by number.
#[derive(Debug, Default)]
pub(crate) struct DeliveryOrder {
    streams: PerStream<InOrder>,
    /// What is charged for messages that wait for others, bytes.
    held: usize,
}

#[derive(Debug, Default)]
struct InOrder {
    next: u64,
    waiting: BTreeMap<u64, Received>,
}

impl DeliveryOrder {
    /// Streams of which something was ever delivered in order, or waits for that.
    pub(crate) fn streams(&self) -> impl Iterator<Item = u16> + '_ {
        self.streams.iter().map(|(stream, _)| stream)
    }

    /// What is charged for messages that wait for others, bytes.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// What is charged to each space, counted: for tests.
    pub(crate) fn count(&self) -> impl Iterator<Item = &Received> + '_ {
        self.streams.values().flat_map(|stream| stream.waiting.values())
    }

    /// Messages up to `number` that have not come never will. Those that have are delivered, and what waited for them.
    pub(crate) fn skip(&mut self, stream: u16, number: u64, mut deliver: impl FnMut(Received)) {
        let stream = self.streams.at(stream);
        let passed = number.saturating_add(1);
        while let Some(entry) = stream.waiting.first_entry() {
            // The next in order, or one that has others missing before it which are given up.
            let key = *entry.key();
            if key >= passed && key != stream.next.max(passed) {
                break;
            }
            stream.next = key + 1;
            let message = entry.remove();
            self.held -= memory_of(&message);
            deliver(message);
        }
        stream.next = stream.next.max(passed);
    }

    /// A stream is reset: messages that wait for others are given up.
    pub(crate) fn reset(&mut self, stream: u16) -> Vec<Received> {
        let Some(stream) = self.streams.get_mut(stream) else { return Vec::new() };
        let waiting: Vec<_> = std::mem::take(stream).waiting.into_values().collect();
        self.held -= waiting.iter().map(memory_of).sum::<usize>();
        waiting
    }

    /// Number of the next message to deliver.
    pub(crate) fn next(&self, stream: u16) -> u64 {
        self.streams.get(stream).map_or(0, |s| s.next)
    }

    /// The number of a message that has 16 bits of it; fewer than 2^15 messages of a stream wait.
    pub(crate) fn number(&self, stream: u16, ssn: u16) -> Option<u64> {
        let next = self.next(stream);
        next.checked_add_signed(i64::from(ssn.wrapping_sub(next as u16) as i16))
    }

    /// Whether that is the next message to deliver.
    pub(crate) fn is_next(&self, stream: u16, ssn: u16) -> bool {
        self.next(stream) as u16 == ssn
    }

    /// Whether an ordered message with this number was delivered, or is here and waits.
    pub(crate) fn knows(&self, stream: u16, number: u64) -> bool {
        self.streams
            .get(stream)
            .is_some_and(|s| number < s.next || (!s.waiting.is_empty() && s.waiting.contains_key(&number)))
    }

    /// Takes a whole message that it does not know; `deliver` is called for it and for what waited for it, in order.
    pub(crate) fn add(
        &mut self,
        stream: u16,
        number: u64,
        message: Received,
        mut deliver: impl FnMut(Received),
    ) {
        let stream = self.streams.at(stream);
        if number != stream.next {
            self.held += memory_of(&message);
            stream.waiting.insert(number, message);
            return;
        }
        stream.next += 1;
        deliver(message);
        while let Some(entry) = stream.waiting.first_entry() {
            if *entry.key() != stream.next {
                break;
            }
            stream.next += 1;
            let message = entry.remove();
            self.held -= memory_of(&message);
            deliver(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn piece(mid: u32, fragment: u32, ending: bool, payload: &[u8]) -> Piece<'_> {
        Piece {
            space: SpaceId::FIRST,
            tsn: Tsn::default(),
            stream: 1,
            mid: Mid::new(mid),
            fragment,
            ppid: 7,
            unordered: false,
            immediate: false,
            beginning: fragment == 0,
            ending,
            payload,
        }
    }

    fn add(all: &mut Interleaved, p: &Piece<'_>) -> Result<Added, Inconsistent> {
        let number = all.number(p.stream, p.unordered, p.mid).unwrap();
        all.add(p, number, false, 1 << 20)
    }

    proptest! {
        /// Messages in fragments, interleaved, repeated and in any order, come out whole, each once.
        // rfc8260:2.2.3-1 rfc8260:2.2.3-2
        #[test]
        fn any_order_of_arrival(
            sizes in prop::collection::vec(1_usize..6, 1..20),
            order: u64,
            start in prop_oneof![Just(0_u32), Just(u32::MAX - 3)],
        ) {
            let mut all = Interleaved::default();
            all.near(1).ordered = u64::from(start);
            let mut pieces = Vec::new();
            for (m, n) in sizes.iter().enumerate() {
                for i in 0..*n {
                    let payload = vec![m as u8; i + 1];
                    pieces.push((start.wrapping_add(m as u32), i as u32, i + 1 == *n, payload));
                }
            }
            pieces.extend(pieces.clone().into_iter().step_by(2));
            let mut rng = anabranch_base::Rng::stream(order, "test", "shuffle");
            for i in (1..pieces.len()).rev() {
                pieces.swap(i, rng.below(i as u64 + 1) as usize);
            }
            let mut seen = BTreeMap::new();
            let mut done = std::collections::BTreeSet::new();
            for (mid, fragment, ending, payload) in &pieces {
                let p = piece(*mid, *fragment, *ending, payload);
                if done.contains(mid) {
                    continue; // what a finished message's identifier means is `DeliveryOrder`'s business
                }
                if let Added::Whole(whole) = add(&mut all, &p).unwrap() {
                    done.insert(*mid);
                    let bytes = whole.message.into_bytes();
                    let m = bytes[0];
                    prop_assert!(bytes.iter().all(|x| *x == m));
                    prop_assert!(seen.insert(m, bytes.len()).is_none());
                }
            }
            for (m, n) in sizes.iter().enumerate() {
                prop_assert_eq!(seen.get(&(m as u8)).copied(), Some(n * (n + 1) / 2));
            }
            prop_assert!(all.assemblies.is_empty());
        }

        /// Anything at all: no panic, and no message longer than what came.
        #[test]
        fn any_pieces(
            pieces in prop::collection::vec(
                (0_u32..4, 0_u32..5, any::<bool>(), any::<bool>(), any::<bool>(), 1_usize..9), 0..60),
        ) {
            let mut all = Interleaved::default();
            let mut came = 0;
            for (mid, fragment, unordered, beginning, ending, len) in pieces {
                let payload = vec![0; len];
                came += len;
                let p = Piece { unordered, beginning, ..piece(mid, fragment, ending, &payload) };
                match add(&mut all, &p) {
                    Ok(Added::Whole(whole)) => prop_assert!(whole.message.len() <= came),
                    Ok(_) => {}
                    Err(_) => return Ok(()),
                }
            }
        }
    }

    #[test]
    fn contradictions_are_errors() {
        let fresh = || {
            let mut all = Interleaved::default();
            assert!(matches!(add(&mut all, &piece(0, 2, true, b"c")), Ok(Added::Waits(..))));
            all
        };
        assert!(add(&mut fresh(), &piece(0, 3, false, b"d")).is_err(), "after the end");
        assert!(add(&mut fresh(), &piece(0, 1, true, b"b")).is_err(), "two ends");
        assert!(add(&mut fresh(), &piece(0, 0, true, b"a")).is_err(), "whole, and in fragments");
        let unnumbered = Piece { beginning: false, ..piece(0, 0, false, b"a") };
        assert!(add(&mut fresh(), &unnumbered).is_err());
        let mut all = fresh();
        assert!(matches!(add(&mut all, &piece(0, 2, true, b"c")), Ok(Added::Duplicate)));
    }

    #[test]
    fn order_is_kept_and_doubles_are_known() {
        let mut order = DeliveryOrder::default();
        let mut all = Interleaved::default();
        let mut delivered = Vec::new();
        for mid in [2, 0, 3, 1] {
            let payload = [mid as u8];
            let Ok(Added::Whole(whole)) = add(&mut all, &piece(mid, 0, true, &payload)) else {
                panic!("not whole")
            };
            assert!(!order.knows(1, u64::from(mid)));
            order.add(1, u64::from(mid), whole.message, |message| delivered.push(message.into_bytes()[0]));
            assert!(order.knows(1, u64::from(mid)));
        }
        assert_eq!((delivered, order.next(1)), (vec![0, 1, 2, 3], 4));
    }
}
