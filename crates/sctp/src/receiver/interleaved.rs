//! Messages that carry their own numbers (RFC 8260): joined by stream, message identifier and fragment number, whatever
//! sequence space brought them. So messages of one stream may come over several subflows, and a fragment that comes twice
//! is told from a new one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anabranch_wire::Mid;
use bytes::Bytes;

use super::reassembly::{Arena, Inconsistent};
use crate::event::Received;
use crate::ids::SpaceId;

/// One I-DATA or SF-DATA chunk that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// Sequence space that brought it.
    pub(crate) space: SpaceId,
    pub(crate) stream: u16,
    pub(crate) mid: Mid,
    /// Fragment number; 0 in the first.
    pub(crate) fragment: u32,
    /// Of the first fragment only.
    pub(crate) ppid: u32,
    pub(crate) unordered: bool,
    pub(crate) beginning: bool,
    pub(crate) ending: bool,
    pub(crate) payload: &'a [u8],
}

/// A whole message.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) space: SpaceId,
    pub(crate) message: Received,
    /// How many chunks it came in.
    pub(crate) fragments: usize,
}

/// What became of a chunk.
#[derive(Debug)]
pub(crate) enum Added {
    /// It, or its message, was here before.
    Duplicate,
    /// It waits for other fragments of its message.
    Waits,
    /// Its message is whole; whether others of its stream must come first is for [`DeliveryOrder`] to say.
    Whole(Finished),
}

/// Fragments of a message.
#[derive(Debug)]
struct Assembly {
    space: SpaceId,
    ppid: u32,
    /// Fragments 0 to `next` - 1, joined as they came.
    done: Vec<Bytes>,
    open: Vec<u8>,
    next: u32,
    /// Those beyond a missing one.
    loose: BTreeMap<u32, Bytes>,
    /// Number of the last one, once it is known.
    last: Option<u32>,
    len: usize,
}

/// Where the numbers of a stream stand: they wrap at 2^32, and are counted on from here.
#[derive(Debug, Default)]
struct Near {
    ordered: u64,
    unordered: u64,
}

/// Messages in the making.
#[derive(Debug, Default)]
pub(crate) struct Interleaved {
    assemblies: BTreeMap<(u16, bool, u64), Assembly>,
    near: Vec<Near>,
    arena: Arena,
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
        let id = usize::from(stream);
        if id >= self.near.len() {
            self.near.resize_with(id + 1, Near::default);
        }
        &mut self.near[id]
    }

    /// One more than the highest stream that was ever used.
    pub(crate) fn streams(&self) -> usize {
        self.near.len()
    }

    /// The peer gives up what is missing of messages up to `number`: what has come of them goes, too. Space, bytes and pieces
    /// of each.
    pub(crate) fn give_up(
        &mut self,
        stream: u16,
        unordered: bool,
        number: u64,
    ) -> Vec<(SpaceId, usize, usize)> {
        let keys: Vec<_> = self
            .assemblies
            .range((stream, unordered, 0)..=(stream, unordered, number))
            .map(|(key, _)| *key)
            .collect();
        let gone = keys.iter().filter_map(|key| self.assemblies.remove(key));
        gone.map(|a| (a.space, a.len, a.next as usize + a.loose.len())).collect()
    }

    /// A stream is reset: what has come of messages that are not whole is given up. Space, bytes and pieces of each.
    pub(crate) fn reset(&mut self, stream: u16) -> Vec<(SpaceId, usize, usize)> {
        if let Some(near) = self.near.get_mut(usize::from(stream)) {
            *near = Near::default();
        }
        let mut gone = Vec::new();
        self.assemblies.retain(|(id, ..), assembly| {
            if *id == stream {
                let pieces = assembly.next as usize + assembly.loose.len();
                gone.push((assembly.space, assembly.len, pieces));
            }
            *id != stream
        });
        gone
    }

    /// For each space, bytes and fragments of its longest message of which nothing is missing so far.
    pub(crate) fn longest(&self) -> BTreeMap<SpaceId, (usize, usize)> {
        let mut all = BTreeMap::new();
        for growing in self.assemblies.values().filter(|a| a.loose.is_empty()) {
            let entry = all.entry(growing.space).or_insert((0, 0));
            *entry = (*entry).max((growing.len, growing.next as usize));
        }
        all
    }

    /// Bytes that the message of `piece` has so far.
    pub(crate) fn length_so_far(&self, stream: u16, unordered: bool, number: u64) -> usize {
        if self.assemblies.is_empty() {
            return 0;
        }
        self.assemblies.get(&(stream, unordered, number)).map_or(0, |a| a.len)
    }

    /// Takes one chunk. A message that `waits` for others of its stream gets memory of its own.
    ///
    /// # Errors
    /// When it contradicts other fragments of its message: the association must be aborted.
    pub(crate) fn add(&mut self, p: &Piece<'_>, number: u64, waits: bool) -> Result<Added, Inconsistent> {
        let key = (p.stream, p.unordered, number);
        if p.beginning && p.ending {
            if !self.assemblies.is_empty() && self.assemblies.contains_key(&key) {
                return Err(Inconsistent("a whole message with the identifier of one in fragments"));
            }
            let first = if waits { Bytes::copy_from_slice(p.payload) } else { self.arena.copy(p.payload) };
            let message = Received::new(p.stream, p.ppid, p.unordered, first, Vec::new());
            return Ok(Added::Whole(Finished { space: p.space, message, fragments: 1 }));
        }
        if !p.beginning && p.fragment == 0 {
            return Err(Inconsistent("a fragment that is not the first has the number 0"));
        }
        let assembly = match self.assemblies.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Assembly::new(p.space)),
        };
        if !assembly.add(p)? {
            return Ok(Added::Duplicate);
        }
        if assembly.last.is_none_or(|last| assembly.next <= last) {
            return Ok(Added::Waits);
        }
        let Some(assembly) = self.assemblies.remove(&key) else { return Ok(Added::Waits) };
        Ok(Added::Whole(assembly.finish(p.stream, p.unordered)))
    }
}

impl Assembly {
    fn new(space: SpaceId) -> Self {
        Self {
            space,
            ppid: 0,
            done: Vec::new(),
            open: Vec::new(),
            next: 0,
            loose: BTreeMap::new(),
            last: None,
            len: 0,
        }
    }

    /// False for a duplicate.
    fn add(&mut self, p: &Piece<'_>) -> Result<bool, Inconsistent> {
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
        }
        self.len += p.payload.len();
        if number != self.next {
            self.loose.insert(number, Bytes::copy_from_slice(p.payload));
            return Ok(true);
        }
        if self.open.capacity() - self.open.len() < p.payload.len() {
            // A new piece, not a larger buffer: growing would copy what is there.
            let room = self.len.clamp(p.payload.len(), (64 << 10).max(p.payload.len()));
            self.close_piece();
            self.open = Vec::with_capacity(room);
        }
        self.open.extend_from_slice(p.payload);
        self.next += 1;
        while let Some(bytes) = self.loose.remove(&self.next) {
            self.close_piece();
            self.done.push(bytes);
            self.next += 1;
        }
        Ok(true)
    }

    fn close_piece(&mut self) {
        if !self.open.is_empty() {
            self.done.push(Bytes::from(std::mem::take(&mut self.open)));
        }
    }

    fn finish(mut self, stream: u16, unordered: bool) -> Finished {
        self.close_piece();
        let mut pieces = self.done.into_iter();
        let first = pieces.next().unwrap_or_default();
        let message = Received::new(stream, self.ppid, unordered, first, pieces.collect());
        Finished { space: self.space, message, fragments: self.next as usize }
    }
}

/// The order of the messages of each stream, by number.
#[derive(Debug, Default)]
pub(crate) struct DeliveryOrder {
    streams: Vec<InOrder>,
}

#[derive(Debug, Default)]
struct InOrder {
    next: u64,
    waiting: BTreeMap<u64, Finished>,
}

impl DeliveryOrder {
    fn stream(&mut self, id: u16) -> &mut InOrder {
        let id = usize::from(id);
        if id >= self.streams.len() {
            self.streams.resize_with(id + 1, InOrder::default);
        }
        &mut self.streams[id]
    }

    /// Messages up to `number` that have not come never will. Those that have are delivered, and what waited for them.
    pub(crate) fn skip(&mut self, stream: u16, number: u64, mut deliver: impl FnMut(SpaceId, Received)) {
        let stream = self.stream(stream);
        let passed = number.saturating_add(1);
        while let Some(entry) = stream.waiting.first_entry() {
            // The next in order, or one that has others missing before it which are given up.
            let key = *entry.key();
            if key >= passed && key != stream.next.max(passed) {
                break;
            }
            stream.next = key + 1;
            let whole = entry.remove();
            deliver(whole.space, whole.message);
        }
        stream.next = stream.next.max(passed);
    }

    /// A stream is reset: messages that wait for others are given up. Space and bytes of each.
    pub(crate) fn reset(&mut self, stream: u16) -> Vec<(SpaceId, usize)> {
        let Some(stream) = self.streams.get_mut(usize::from(stream)) else { return Vec::new() };
        let waiting = std::mem::take(stream).waiting;
        waiting.into_values().map(|whole| (whole.space, whole.message.len())).collect()
    }

    /// Number of the next message to deliver.
    pub(crate) fn next(&self, stream: u16) -> u64 {
        self.streams.get(usize::from(stream)).map_or(0, |s| s.next)
    }

    /// Whether an ordered message with this number was delivered, or is here and waits.
    pub(crate) fn knows(&self, stream: u16, number: u64) -> bool {
        self.streams
            .get(usize::from(stream))
            .is_some_and(|s| number < s.next || (!s.waiting.is_empty() && s.waiting.contains_key(&number)))
    }

    /// Takes a whole message that it does not know; `deliver` is called for it and for what waited for it, in order.
    pub(crate) fn add(
        &mut self,
        stream: u16,
        number: u64,
        whole: Finished,
        mut deliver: impl FnMut(SpaceId, Received),
    ) {
        let stream = self.stream(stream);
        if number != stream.next {
            stream.waiting.insert(number, whole);
            return;
        }
        stream.next += 1;
        deliver(whole.space, whole.message);
        while let Some(entry) = stream.waiting.first_entry() {
            if *entry.key() != stream.next {
                break;
            }
            stream.next += 1;
            let whole = entry.remove();
            deliver(whole.space, whole.message);
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
            stream: 1,
            mid: Mid::new(mid),
            fragment,
            ppid: 7,
            unordered: false,
            beginning: fragment == 0,
            ending,
            payload,
        }
    }

    fn add(all: &mut Interleaved, p: &Piece<'_>) -> Result<Added, Inconsistent> {
        let number = all.number(p.stream, p.unordered, p.mid).unwrap();
        all.add(p, number, false)
    }

    proptest! {
        /// Messages in fragments, interleaved, repeated and in any order, come out whole, each once.
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
            assert!(matches!(add(&mut all, &piece(0, 2, true, b"c")), Ok(Added::Waits)));
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
            order.add(1, u64::from(mid), whole, |_, message| delivered.push(message.into_bytes()[0]));
            assert!(order.knows(1, u64::from(mid)));
        }
        assert_eq!((delivered, order.next(1)), (vec![0, 1, 2, 3], 4));
    }
}
