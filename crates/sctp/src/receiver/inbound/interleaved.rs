//! Messages that carry their own numbers (RFC 8260): joined by stream, message identifier and fragment number, whatever
//! sequence space brought them. So messages of one stream may come over several subflows, and a fragment that comes twice
//! is told from a new one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::RangeInclusive;

use anabranch_wire::{Mid, Tsn};
use bytes::Bytes;

use super::numbers::Numbers;
use super::partial_message::{
    Aborted, Inconsistent, Label, PIECE, PartialMessage, SPLIT, TOO_LONG, take_all,
};
use super::reassembly::{Arena, DroppedChunks};
use crate::encoding::DataChunk;
use crate::ids::SpaceId;
use crate::message::Received;
use crate::per_stream::PerStream;

/// One I-DATA or SF-DATA chunk that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// Sequence space that brought it.
    pub(crate) space: SpaceId,
    /// Its unwrapped number in that sequence space.
    pub(crate) seq: u64,
    pub(crate) tsn: Tsn,
    pub(crate) stream: u16,
    pub(crate) mid: Mid,
    /// Fragment number; 0 in the first.
    pub(crate) fragment: u32,
    /// Payload protocol identifier, which only the first fragment carries.
    pub(crate) ppid: u32,
    pub(crate) unordered: bool,
    pub(crate) immediate: bool,
    pub(crate) beginning: bool,
    pub(crate) ending: bool,
    pub(crate) payload: &'a [u8],
}

impl<'a> Piece<'a> {
    pub(crate) fn of(space: SpaceId, seq: u64, data: &DataChunk<'a>) -> Self {
        Self {
            space,
            seq,
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
pub(in crate::receiver) struct Finished {
    pub(in crate::receiver) message: Received,
    /// The numbers of its sequence space under which it came.
    pub(in crate::receiver) numbers: Numbers,
    /// Number of pieces charged for it before its last chunk came.
    pub(in crate::receiver) charged: usize,
}

/// The outcome of a chunk.
#[derive(Debug)]
pub(in crate::receiver) enum Added {
    /// The chunk, or its message, was here before.
    Duplicate,
    /// The chunk waits for other fragments of its message. The space is charged for so many pieces more.
    Waits(SpaceId, usize),
    /// Its message is whole; whether others of its stream must come first is for [`DeliveryOrder`](super::delivery_order::DeliveryOrder) to say.
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
    /// Two sequence spaces have brought fragments of it.
    of_two: bool,
    /// Fragments 0 to `next` - 1, in as far as they have not been handed over.
    partial: PartialMessage,
    /// Numbers of the sequence space under which those fragments came.
    numbers: Numbers,
    next: u32,
    /// Fragments beyond a missing one, and their bytes.
    loose: u32,
    loose_bytes: usize,
    /// Number of the last one, once it is known.
    last: Option<u32>,
}

/// A message: its stream, whether it is unordered, and its number.
pub(crate) type Key = (u16, bool, u64);

/// The message of a fragment, and its place in that.
type LooseKey = (u16, bool, u64, u32);

/// A fragment beyond a missing one: the number under which it came, and its payload.
type Loose = (u64, Box<[u8]>);

/// The fragments of a message that wait for one before them.
fn loose_of((stream, unordered, number): Key) -> RangeInclusive<LooseKey> {
    (stream, unordered, number, 0)..=(stream, unordered, number, u32::MAX)
}

/// Charge of data that is given up: the space that was charged, bytes and pieces.
pub(crate) type Freed = (SpaceId, usize, usize);

/// Highest numbers seen on a stream, unwrapped: Message Identifiers wrap at 2^32, and the next ones are unwrapped
/// near these.
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
    assemblies: BTreeMap<Key, Box<Assembly>>,
    /// Fragments beyond a missing one, by their message and place in it.
    loose: BTreeMap<LooseKey, Loose>,
    near: PerStream<Near>,
    arena: Arena,
    /// Bytes that are charged for them.
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

    /// Bytes that are charged for messages in the making.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// The peer gives up the missing parts of messages up to `number`: the fragments that have come go, too.
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

    /// A stream is reset, or all: the fragments of messages that are not whole are given up.
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

    fn forget(&mut self, keys: &[Key], aborted: &mut Vec<Aborted>) -> Vec<Freed> {
        let freed = take_all(&mut self.assemblies, keys).into_iter().map(
            |(key @ (stream, unordered, _), assembly)| {
                self.held -= assembly.memory();
                if assembly.loose > 0 {
                    let loose: Vec<_> = self.loose.range(loose_of(key)).map(|(key, _)| *key).collect();
                    take_all(&mut self.loose, &loose);
                }
                aborted.extend(assembly.partial.abort(stream, unordered));
                (assembly.space, assembly.bytes(), assembly.pieces())
            },
        );
        freed.collect()
    }

    /// The charge of each space, counted: for tests.
    pub(crate) fn count(&self) -> impl Iterator<Item = Freed> + '_ {
        self.assemblies.values().map(|assembly| (assembly.space, assembly.bytes(), assembly.pieces()))
    }

    /// The unwrapped number of a message, without noting that it was heard of.
    pub(crate) fn number_of(&self, stream: u16, unordered: bool, mid: Mid) -> Option<u64> {
        let near = self.near.get(stream);
        unwrap(mid, near.map_or(0, |near| if unordered { near.unordered } else { near.ordered }))
    }

    /// True if a fragment goes on with an unordered message that was given up, and whose beginning is not here. (For
    /// ordered messages see [`DeliveryOrder::knows`](super::delivery_order::DeliveryOrder::knows).)
    pub(crate) fn passes_over(&self, p: &Piece<'_>, number: u64) -> bool {
        let near = self.near.get(p.stream);
        p.unordered && !p.beginning && near.is_some_and(|near| number < near.given_up) && {
            !self.assemblies.contains_key(&(p.stream, true, number))
        }
    }

    /// True if a fragment costs nothing or goes on where its message ends so far.
    pub(crate) fn is_next(&self, stream: u16, unordered: bool, number: u64, fragment: u32) -> bool {
        let assembly = self.assemblies.get(&(stream, unordered, number));
        fragment <= assembly.map_or(0, |assembly| assembly.next)
    }

    /// Messages of the TSN space whose fragments from the first on came above `seq`, and were not handed over: which, the highest number
    /// under which they came, and the bytes charged for them.
    pub(in crate::receiver) fn begun_above(&self, seq: u64) -> impl Iterator<Item = (Key, u64, usize)> + '_ {
        let begun = self.of_first().filter(move |(_, a)| !a.partial.has_parts() && a.numbers.are_above(seq));
        begun.map(|(key, assembly)| (*key, assembly.numbers.highest(), assembly.partial.memory()))
    }

    /// Fragments of the TSN space that came above `seq` and have others missing before them.
    pub(in crate::receiver) fn loose_above(
        &self,
        seq: u64,
    ) -> impl Iterator<Item = (Key, u32, u64, usize)> + '_ {
        let of_first = self.of_first().filter(|(_, assembly)| assembly.loose > 0);
        let loose = of_first.flat_map(|(key, _)| self.loose.range(loose_of(*key)).map(|loose| (*key, loose)));
        let above = loose.filter(move |(_, (_, (at, _)))| *at > seq);
        above.map(|(key, ((.., fragment), (at, payload)))| (key, *fragment, *at, payload.len() + PIECE))
    }

    fn of_first(&self) -> impl Iterator<Item = (&Key, &Assembly)> {
        let all = self.assemblies.iter().map(|(key, assembly)| (key, &**assembly));
        all.filter(|(_, assembly)| assembly.space == SpaceId::FIRST && !assembly.of_two)
    }

    /// Drops the fragments of a message from the first on, to make room.
    pub(in crate::receiver) fn forget_begun(&mut self, key: Key) -> Option<DroppedChunks> {
        let assembly = self.assemblies.get_mut(&key)?;
        let (partial, numbers) =
            (std::mem::take(&mut assembly.partial), std::mem::take(&mut assembly.numbers));
        self.held -= partial.memory();
        if assembly.last.is_some_and(|last| last < assembly.next) {
            assembly.last = None;
        }
        assembly.next = 0;
        let message = self.forget_empty(key);
        Some((numbers.ranges().collect(), partial.held(), partial.fragments() + message))
    }

    /// Drops a fragment that has others missing before it, to make room.
    pub(in crate::receiver) fn forget_loose(&mut self, key: Key, fragment: u32) -> Option<DroppedChunks> {
        let assembly = self.assemblies.get_mut(&key)?;
        let (seq, payload) = self.loose.remove(&(key.0, key.1, key.2, fragment))?;
        assembly.loose -= 1;
        assembly.loose_bytes -= payload.len();
        self.held -= payload.len() + PIECE;
        if assembly.last == Some(fragment) {
            assembly.last = None;
        }
        let message = self.forget_empty(key);
        Some((vec![(seq, seq + 1)], payload.len(), 1 + message))
    }

    /// Forgets a message of which nothing is left, and the user has had nothing: how many pieces were charged for it.
    fn forget_empty(&mut self, key: Key) -> usize {
        let is_empty = |a: &Assembly| a.bytes() == 0 && !a.partial.has_parts();
        if !self.assemblies.get(&key).is_some_and(|assembly| is_empty(assembly)) {
            return 0;
        }
        self.assemblies.remove(&key);
        self.held -= PIECE;
        1
    }

    /// Bytes of a message that are here and may be handed over.
    pub(crate) fn held_of(&self, stream: u16, unordered: bool, number: u64) -> usize {
        self.assemblies.get(&(stream, unordered, number)).map_or(0, |assembly| assembly.partial.held())
    }

    /// The bytes that are here of a message, as the next part of it, with how many pieces were charged for that.
    pub(crate) fn part(
        &mut self,
        stream: u16,
        unordered: bool,
        number: u64,
        numbers: &mut u32,
    ) -> Option<(Received, usize)> {
        let assembly = self.assemblies.get_mut(&(stream, unordered, number))?;
        let charged = assembly.partial.fragments();
        if charged == 0 {
            return None;
        }
        self.held -= assembly.partial.memory();
        assembly.numbers = Numbers::default();
        let label = assembly.label(stream, unordered);
        Some((assembly.partial.part(label, numbers), charged))
    }

    /// Takes one chunk. A message that `waits` for others of its stream gets memory of its own.
    ///
    /// # Errors
    /// When it contradicts other fragments of its message: the association must be aborted.
    // rfc8260:2.2.3-1 rfc8260:2.2.3-2
    pub(in crate::receiver) fn add(
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
            let numbers = Numbers::of(p.seq, p.seq + 1);
            return Ok(Added::Whole(Finished { message, numbers, charged: 0 }));
        }
        if !p.beginning && p.fragment == 0 {
            return Err(Inconsistent("a fragment that is not the first has the number 0"));
        }
        let (assembly, new) = match self.assemblies.entry(key) {
            Entry::Occupied(entry) => (entry.into_mut(), false),
            Entry::Vacant(entry) => (entry.insert(Box::new(Assembly::new(p.space, p.mid))), true),
        };
        // "The fragments of one message stay on one subflow" (docs/explanation/subflows.md). Between subflow 0 and another that is how it looks when a
        // sender gives the extension up: it sends all again on subflow 0.
        if assembly.space != p.space && ![assembly.space, p.space].contains(&SpaceId::FIRST) {
            return Err(SPLIT);
        }
        assembly.of_two |= assembly.space != p.space;
        let before = assembly.pieces();
        if !assembly.add(p, key, &mut self.loose, limit)? {
            return Ok(Added::Duplicate);
        }
        if assembly.last.is_none_or(|last| assembly.next <= last) {
            let more = 1 + usize::from(new);
            self.held += p.payload.len() + more * PIECE;
            return Ok(Added::Waits(assembly.space, more));
        }
        let Some(assembly) = self.assemblies.remove(&key) else { return Ok(Added::Duplicate) };
        self.held -= assembly.memory() - p.payload.len() - PIECE;
        let label = assembly.label(p.stream, p.unordered);
        let (message, numbers) = (assembly.partial.finish(label), assembly.numbers);
        Ok(Added::Whole(Finished { message, numbers, charged: before }))
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
            of_two: false,
            partial: PartialMessage::default(),
            numbers: Numbers::default(),
            next: 0,
            loose: 0,
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
        self.partial.held() + self.loose_bytes
    }

    /// Pieces that are charged: its fragments, and the message itself.
    fn pieces(&self) -> usize {
        self.partial.fragments() + self.loose as usize + 1
    }

    fn memory(&self) -> usize {
        self.bytes() + self.pieces() * PIECE
    }

    /// False for a duplicate.
    fn add(
        &mut self,
        p: &Piece<'_>,
        key: Key,
        loose: &mut BTreeMap<LooseKey, Loose>,
        limit: usize,
    ) -> Result<bool, Inconsistent> {
        let number = if p.beginning { 0 } else { p.fragment };
        let at = |fragment| (key.0, key.1, key.2, fragment);
        if number < self.next || (self.loose > 0 && loose.contains_key(&at(number))) {
            return Ok(false);
        }
        if self.last.is_some_and(|last| number > last || p.ending) {
            return Err(Inconsistent("a fragment after the last of its message"));
        }
        if p.ending {
            let mut behind = loose.range(at(number)..=at(u32::MAX));
            if self.loose > 0 && behind.next_back().is_some_and(|((.., highest), _)| *highest > number) {
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
            let so_far = self.partial.total() + self.loose_bytes;
            if so_far > 0 && so_far + p.payload.len() > limit {
                return Err(TOO_LONG);
            }
            self.loose_bytes += p.payload.len();
            self.loose += 1;
            loose.insert(at(number), (p.seq, p.payload.into()));
            return Ok(true);
        }
        let most = limit.saturating_sub(self.loose_bytes).max(p.payload.len());
        self.partial.append(p.payload, most)?;
        self.numbers.add(p.seq);
        self.next += 1;
        while self.loose > 0 {
            let Some((seq, payload)) = loose.remove(&at(self.next)) else { break };
            self.loose -= 1;
            self.loose_bytes -= payload.len();
            self.partial.attach(payload.into(), limit)?;
            self.numbers.add(seq);
            self.next += 1;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
