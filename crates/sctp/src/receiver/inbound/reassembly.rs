//! Joins fragments into messages. Every payload byte is copied once, out of the datagram, and never again.

use std::collections::BTreeMap;

use anabranch_wire::Tsn;
use bytes::{Bytes, BytesMut};

use super::partial_message::{Aborted, Inconsistent, Label, PIECE, PartialMessage, take_all};
use crate::ids::SpaceId;
use crate::message::Received;

/// One DATA chunk that has arrived; `seq` is its unwrapped TSN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived<'a> {
    pub(crate) seq: u64,
    pub(crate) tsn: Tsn,
    pub(crate) stream: u16,
    pub(crate) ssn: u16,
    pub(crate) ppid: u32,
    pub(crate) unordered: bool,
    pub(crate) immediate: bool,
    pub(crate) beginning: bool,
    pub(crate) ending: bool,
    /// True if the TSN before has arrived (`before`), and the one after (`after`).
    pub(crate) before: bool,
    pub(crate) after: bool,
    pub(crate) payload: &'a [u8],
}

/// The message that a fragment belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// To a message that goes on or begins.
    Good,
    /// To one that was given up.
    GivenUp,
}

/// A whole message with the numbers that its stream needs to order it.
#[derive(Debug)]
pub(crate) struct Whole {
    /// Unwrapped TSN of its first fragment.
    pub(crate) first_seq: u64,
    /// One past that of its last.
    pub(crate) end_seq: u64,
    pub(crate) ssn: u16,
    pub(crate) message: Received,
    /// Number of pieces to be charged less than before, now that it is whole.
    pub(crate) freed: usize,
}

/// A run of consecutive fragments that begins with a beginning.
#[derive(Debug)]
struct Run {
    first_seq: u64,
    next_seq: u64,
    /// TSN of its first fragment.
    tsn: Tsn,
    stream: u16,
    ssn: u16,
    ppid: u32,
    unordered: bool,
    immediate: bool,
    partial: PartialMessage,
}

#[derive(Debug)]
struct Orphan {
    stream: u16,
    ssn: u16,
    unordered: bool,
    immediate: bool,
    ending: bool,
    payload: Box<[u8]>,
}

/// Memory for messages of one chunk. A message that is read before the next arrives leaves its memory to it, so the
/// steady state allocates nothing; while messages wait, they share blocks of up to 64 KiB, and a block lives as long
/// as the longest-lived message in it.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    block: BytesMut,
    size: usize,
}

impl Arena {
    #[allow(clippy::inline_always, reason = "used once for each message; measured")]
    #[inline(always)]
    pub(crate) fn copy(&mut self, payload: &[u8]) -> Bytes {
        if self.block.capacity() < payload.len() && !self.block.try_reclaim(payload.len()) {
            // Small for an association that receives little, larger with use.
            self.size = (2 * self.size).clamp(payload.len(), (64 << 10).max(payload.len()));
            self.block = BytesMut::with_capacity(self.size);
        }
        self.block.extend_from_slice(payload);
        self.block.split().freeze()
    }
}

/// Fragments that have arrived of messages that are not whole.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    /// The run that grew last: with no loss, the only one.
    current: Option<Run>,
    /// Other runs, by the sequence number that each waits for.
    waiting: BTreeMap<u64, Box<Run>>,
    /// Fragments whose predecessor is missing.
    orphans: BTreeMap<u64, Orphan>,
    arena: Arena,
    /// Runs and orphans there are. Without any, a message of one chunk needs no look at its neighbours.
    unfinished: usize,
    /// Bytes that are charged for runs and orphans.
    held: usize,
    /// Size of the last message that took more than one fragment: room to reserve for the next.
    expected: usize,
    /// A fragment here goes on with a message that the peer has given up, unless a message begins with it.
    tail: Option<u64>,
}

/// Data that was taken back: the numbers under which it came, as `start..end`, and the bytes and pieces that were
/// charged for it.
pub(crate) type DroppedChunks = (Vec<(u64, u64)>, usize, usize);

/// The outcome of one of several chunks of a message.
#[derive(Debug)]
pub(crate) enum Joined {
    /// The chunk waits for others.
    Waits,
    /// Its message is whole.
    Whole(Whole),
    /// Its message was given up: so much that was charged goes, this chunk included.
    GivenUp { bytes: usize, pieces: usize },
}

impl Reassembly {
    /// Bytes that are charged for messages that are not whole.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Takes one chunk that is neither duplicate nor empty. A message that `waits` for others of its stream gets memory
    /// of its own; none may be longer than `limit`.
    ///
    /// # Errors
    /// When it contradicts its neighbours: the association must be aborted.
    // rfc9260:6.9-1 rfc9260:6.9-14 rfc9260:6-11
    pub(crate) fn add(&mut self, c: &Arrived<'_>, waits: bool, limit: usize) -> Result<Joined, Inconsistent> {
        if c.beginning && c.ending {
            self.add_whole(c, waits).map(Joined::Whole)
        } else {
            self.add_part(c, limit)
        }
    }

    /// Takes a message of one chunk.
    ///
    /// # Errors
    /// As [`Reassembly::add`].
    #[allow(
        clippy::inline_always,
        reason = "one copy for DATA, whose messages are not moved about; measured"
    )]
    #[inline(always)]
    pub(crate) fn add_whole(&mut self, c: &Arrived<'_>, waits: bool) -> Result<Whole, Inconsistent> {
        if self.unfinished > 0 {
            self.check_neighbours(c)?;
        }
        Ok(self.whole(c, waits))
    }

    /// Takes one of several chunks of a message.
    ///
    /// # Errors
    /// As [`Reassembly::add`].
    #[inline]
    pub(crate) fn add_part(&mut self, c: &Arrived<'_>, limit: usize) -> Result<Joined, Inconsistent> {
        if self.check_neighbours(c)? == Place::GivenUp {
            return self.pass_over(c);
        }
        // The message that grew last goes on, and nothing waits behind a hole: it grows where it is.
        if !c.beginning && !c.ending && self.orphans.is_empty() {
            if let Some(run) = self.current.as_mut().filter(|run| run.next_seq == c.seq) {
                run.grow(c, limit)?;
                self.held += c.payload.len() + PIECE;
                return Ok(Joined::Waits);
            }
        }
        self.add_fragment(c, limit)
    }

    fn add_fragment(&mut self, c: &Arrived<'_>, limit: usize) -> Result<Joined, Inconsistent> {
        let mut run = if c.beginning {
            self.unfinished += 1;
            self.open_run(c)
        } else if let Some(mut run) = self.take_run(c.seq) {
            self.held -= run.memory();
            run.grow(c, limit)?;
            run
        } else {
            self.unfinished += 1;
            self.held += c.payload.len() + PIECE;
            self.orphans.insert(
                c.seq,
                Orphan {
                    stream: c.stream,
                    ssn: c.ssn,
                    unordered: c.unordered,
                    immediate: c.immediate,
                    ending: c.ending,
                    payload: c.payload.into(),
                },
            );
            return Ok(Joined::Waits);
        };
        let mut ended = c.ending;
        while !ended {
            let Some(orphan) = self.orphans.remove(&run.next_seq) else { break };
            self.unfinished -= 1;
            self.held -= orphan.payload.len() + PIECE;
            check(&run, orphan.stream, orphan.ssn, orphan.unordered)?;
            run.partial.attach(orphan.payload.into(), limit)?;
            run.immediate |= orphan.immediate;
            run.next_seq += 1;
            ended = orphan.ending;
        }
        if ended {
            self.unfinished -= 1;
            self.expected = run.partial.held();
            // Its fragments were charged, and the run itself unless it has just begun.
            let charged = run.partial.fragments() + usize::from(!c.beginning);
            let (first_seq, end_seq, ssn, label) = (run.first_seq, run.next_seq, run.ssn, run.label());
            let message = run.partial.finish(label);
            let freed = charged - message.count();
            return Ok(Joined::Whole(Whole { first_seq, end_seq, ssn, freed, message }));
        }
        self.held += run.memory();
        if let Some(mut previous) = self.current.replace(run) {
            // Room is reserved for the one that grows only.
            previous.partial.trim();
            self.waiting.insert(previous.next_seq, Box::new(previous));
        }
        Ok(Joined::Waits)
    }

    /// The peer has given up the missing chunks before `floor`: "The receiver MUST remove any partially reassembled message, which
    /// is still missing one or more TSNs earlier than or equal to the new cumulative TSN point" (RFC 3758, 3.6). Bytes and
    /// pieces that were charged.
    ///
    /// A message that misses nothing before the floor may still become whole, unless the peer `lists` it.
    // rfc3758:3.6-10
    pub(crate) fn give_up_before(
        &mut self,
        floor: u64,
        lists: impl Fn(u16, u16) -> bool,
        aborted: &mut Vec<Aborted>,
    ) -> (usize, usize) {
        let (mut bytes, mut pieces) = (0, 0);
        let mut gone = |run: &Run| {
            aborted.extend(run.partial.abort(run.stream, run.unordered));
            bytes += run.partial.held();
            pieces += run.partial.fragments() + 1;
        };
        // A run misses the number behind it.
        if let Some(run) = self.current.take_if(|run| run.next_seq < floor) {
            gone(&run);
        }
        while let Some(entry) = self.waiting.first_entry().filter(|entry| *entry.key() < floor) {
            gone(&entry.remove());
        }
        // At most one begins before the floor and reaches it, and its fragments go on from there.
        let reaches = |run: &Run| run.first_seq < floor && run.next_seq >= floor;
        let listed = |run: &Run| reaches(run) && !run.unordered && lists(run.stream, run.ssn);
        let mut tail = Some(floor);
        if self.current.as_ref().is_some_and(reaches) {
            tail = self.current.take_if(|run| listed(run)).map(|run| {
                gone(&run);
                run.next_seq
            });
        } else if let Some(entry) = self.waiting.first_entry().filter(|entry| reaches(entry.get())) {
            tail = listed(entry.get()).then(|| {
                let run = entry.remove();
                gone(&run);
                run.next_seq
            });
        }
        // An orphan lacks the number before it.
        while let Some(entry) = self.orphans.first_entry().filter(|entry| *entry.key() < floor) {
            bytes += entry.remove().payload.len();
            pieces += 1;
        }
        self.held -= bytes + pieces * PIECE;
        self.tail = None;
        if let Some(tail) = tail {
            let (more_bytes, more_pieces) = self.pass_orphans(tail);
            bytes += more_bytes;
            pieces += more_pieces;
        }
        self.unfinished = usize::from(self.current.is_some()) + self.waiting.len() + self.orphans.len();
        (bytes, pieces)
    }

    /// A fragment goes on with a message that was given up.
    #[cold]
    fn pass_over(&mut self, c: &Arrived<'_>) -> Result<Joined, Inconsistent> {
        let (mut bytes, mut pieces) = (c.payload.len(), 1);
        self.tail = None;
        if c.ending {
            if self.orphans.contains_key(&(c.seq + 1)) {
                return Err(Inconsistent("a message goes on behind its end"));
            }
        } else {
            let (more_bytes, more_pieces) = self.pass_orphans(c.seq + 1);
            bytes += more_bytes;
            pieces += more_pieces;
        }
        Ok(Joined::GivenUp { bytes, pieces })
    }

    /// Fragments from `seq` on are of a message that was given up, until it ends.
    fn pass_orphans(&mut self, mut seq: u64) -> (usize, usize) {
        let (mut bytes, mut pieces) = (0, 0);
        self.tail = Some(seq);
        while let Some(orphan) = self.orphans.remove(&seq) {
            bytes += orphan.payload.len();
            pieces += 1;
            self.unfinished -= 1;
            seq += 1;
            self.tail = (!orphan.ending).then_some(seq);
            if orphan.ending {
                break;
            }
        }
        self.held -= bytes + pieces * PIECE;
        (bytes, pieces)
    }

    /// True if a fragment goes on with a message that was given up: nothing is kept of it.
    pub(crate) fn passes_over(&self, c: &Arrived<'_>) -> bool {
        !c.beginning && self.tail == Some(c.seq) && self.run_before(c.seq).is_none()
    }

    /// The run that waits for the fragment `seq`.
    fn run_before(&self, seq: u64) -> Option<&Run> {
        self.current
            .as_ref()
            .filter(|r| r.next_seq == seq)
            .or_else(|| self.waiting.get(&seq).map(|run| &**run))
    }

    /// Identity of the message that a fragment goes on with, if it does: stream, SSN, TSN of the first fragment;
    /// `None` inside for an unordered one.
    pub(crate) fn goes_on_with(&self, seq: u64) -> Option<Option<(u16, u16, u64)>> {
        let run = self.run_before(seq)?;
        Some((!run.unordered).then_some((run.stream, run.ssn, run.first_seq)))
    }

    /// Bytes that are here, and may be handed over, of the message that the fragment `seq` has just made grow.
    pub(crate) fn held_of(&self, seq: u64) -> usize {
        let run = self.current.as_ref().filter(|run| (run.first_seq..run.next_seq).contains(&seq));
        run.map_or(0, |run| run.partial.held())
    }

    /// Takes the part that is here of the message which the fragment `seq` has just made grow, if `may_go`, which is
    /// asked with stream, SSN and the TSN of the first fragment where the message is ordered. With it the number of
    /// pieces to be charged less.
    pub(crate) fn part(
        &mut self,
        seq: u64,
        numbers: &mut u32,
        may_go: impl FnOnce(u16, u16, u64) -> bool,
    ) -> Option<(Received, usize)> {
        let run = self.current.as_mut().filter(|run| (run.first_seq..run.next_seq).contains(&seq))?;
        if !run.unordered && !may_go(run.stream, run.ssn, run.first_seq) {
            return None;
        }
        self.held -= run.partial.memory();
        let (label, charged) = (run.label(), run.partial.fragments());
        let part = run.partial.part(label, numbers);
        let freed = charged - part.count();
        Some((part, freed))
    }

    /// Gives up all data of a stream, or of all: bytes and pieces that were charged.
    pub(crate) fn give_up(&mut self, stream: Option<u16>, aborted: &mut Vec<Aborted>) -> (usize, usize) {
        let (mut bytes, mut pieces) = (0, 0);
        let listed = |of: u16| stream.is_none_or(|stream| stream == of);
        let mut gone = |run: &Run| {
            aborted.extend(run.partial.abort(run.stream, run.unordered));
            bytes += run.partial.held();
            pieces += run.partial.fragments() + 1;
        };
        if let Some(run) = self.current.take_if(|run| listed(run.stream)) {
            gone(&run);
        }
        let keys = self.waiting.iter().filter(|(_, run)| listed(run.stream)).map(|(key, _)| *key);
        let keys: Vec<_> = keys.collect();
        for (_, run) in take_all(&mut self.waiting, &keys) {
            gone(&run);
        }
        let keys = self.orphans.iter().filter(|(_, orphan)| listed(orphan.stream)).map(|(key, _)| *key);
        let keys: Vec<_> = keys.collect();
        for (_, orphan) in take_all(&mut self.orphans, &keys) {
            bytes += orphan.payload.len();
            pieces += 1;
        }
        self.held -= bytes + pieces * PIECE;
        self.unfinished = usize::from(self.current.is_some()) + self.waiting.len() + self.orphans.len();
        (bytes, pieces)
    }

    /// Bytes and pieces that are here, counted: for tests.
    pub(crate) fn count(&self) -> (usize, usize) {
        let runs = self.current.iter().chain(self.waiting.values().map(|run| &**run));
        let of_runs = runs.map(|run| (run.partial.held(), run.partial.fragments() + 1));
        let of_orphans = self.orphans.values().map(|orphan| (orphan.payload.len(), 1));
        of_runs.chain(of_orphans).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Fragments above `seq` whose predecessor is missing, each with its charge.
    pub(crate) fn orphans_above(&self, seq: u64) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.orphans.range(seq + 1..).map(|(at, orphan)| (*at, orphan.payload.len() + PIECE))
    }

    /// Messages that begin above `seq` and of which nothing was handed over: the number that each waits for, and its
    /// charge.
    pub(crate) fn runs_above(&self, seq: u64) -> impl Iterator<Item = (u64, usize)> + '_ {
        let runs = self.current.iter().chain(self.waiting.range(seq + 1..).map(|(_, run)| &**run));
        let untouched = runs.filter(move |run| run.first_seq > seq && !run.partial.has_parts());
        untouched.map(|run| (run.next_seq, run.memory()))
    }

    /// Drops the message that waits for `next`, to make room: the numbers under which it came, and the bytes and pieces that were charged.
    pub(crate) fn forget_run(&mut self, next: u64) -> Option<DroppedChunks> {
        let run = self.take_run(next)?;
        self.unfinished -= 1;
        self.held -= run.memory();
        Some((vec![(run.first_seq, run.next_seq)], run.partial.held(), run.partial.fragments() + 1))
    }

    /// Drops the fragment `seq`, which the receiver has decided to forget; true if it was held here as an orphan.
    pub(crate) fn forget_orphan(&mut self, seq: u64) -> Option<usize> {
        let orphan = self.orphans.remove(&seq)?;
        self.unfinished -= 1;
        self.held -= orphan.payload.len() + PIECE;
        Some(orphan.payload.len())
    }

    /// "An endpoint ... MUST reassemble ... fragments" by their B and E bits and consecutive TSNs (6.9, 3.3.1):
    /// behind a fragment that is not the last of its message comes a further one, and behind a last one a beginning.
    /// A fragment is compared with both neighbours, so the order of arrival does not matter. A fragment that
    /// contradicts them would wait for ever.
    #[inline]
    fn check_neighbours(&self, c: &Arrived<'_>) -> Result<Place, Inconsistent> {
        let grows = self.current.as_ref().is_some_and(|run| run.next_seq == c.seq);
        // In the middle of the message that grew last, with nothing behind it: nothing else need be looked up.
        if grows && !c.beginning && !c.after {
            return Ok(Place::Good);
        }
        self.compare_neighbours(*c, grows)
    }

    #[inline(never)]
    fn compare_neighbours(&self, c: Arrived<'_>, grows: bool) -> Result<Place, Inconsistent> {
        if self.passes_over(&c) {
            return Ok(Place::GivenUp);
        }
        let before = c.seq.checked_sub(1).and_then(|seq| self.orphans.get(&seq));
        let unfinished =
            grows || self.waiting.contains_key(&c.seq) || before.is_some_and(|orphan| !orphan.ending);
        if c.beginning && unfinished {
            return Err(Inconsistent("a message begins inside another"));
        }
        if !c.beginning && c.before && !unfinished {
            return Err(Inconsistent("a fragment that no message goes on with"));
        }
        let goes_on = self.orphans.contains_key(&(c.seq + 1));
        if c.ending && goes_on {
            return Err(Inconsistent("a message goes on behind its end"));
        }
        if !c.ending && c.after && !goes_on {
            return Err(Inconsistent("a message begins inside another"));
        }
        Ok(Place::Good)
    }

    /// A message of one chunk.
    #[allow(clippy::inline_always, reason = "most messages of DATA are such; measured")]
    #[inline(always)]
    fn whole(&mut self, c: &Arrived<'_>, waits: bool) -> Whole {
        let first = if waits { Bytes::copy_from_slice(c.payload) } else { self.arena.copy(c.payload) };
        let label = Label {
            stream: c.stream,
            ppid: c.ppid,
            unordered: c.unordered,
            immediate: c.immediate,
            number: u32::from(c.ssn),
            tsn: c.tsn,
            space: SpaceId::FIRST,
        };
        let message = label.received(None, first, None);
        Whole { first_seq: c.seq, end_seq: c.seq + 1, ssn: c.ssn, message, freed: 0 }
    }

    fn take_run(&mut self, seq: u64) -> Option<Run> {
        if self.current.as_ref().is_some_and(|r| r.next_seq == seq) {
            return self.current.take();
        }
        if self.waiting.is_empty() { None } else { self.waiting.remove(&seq).map(|run| *run) }
    }

    fn open_run(&self, c: &Arrived<'_>) -> Run {
        // At most 64 KiB ahead of the data that has arrived, and for one message only: a hint must not let a peer make us
        // reserve memory by beginning many.
        let alone = self.current.is_none() && self.waiting.is_empty();
        let room = if alone { self.expected.clamp(c.payload.len(), 64 << 10) } else { c.payload.len() };
        Run {
            first_seq: c.seq,
            next_seq: c.seq + 1,
            tsn: c.tsn,
            stream: c.stream,
            ssn: c.ssn,
            ppid: c.ppid,
            unordered: c.unordered,
            immediate: c.immediate,
            partial: PartialMessage::begin(c.payload, room),
        }
    }
}

/// RFC 9260, 6.9: the fragments of one message have one stream, one SSN and one U bit, and consecutive TSNs.
fn check(run: &Run, stream: u16, ssn: u16, unordered: bool) -> Result<(), Inconsistent> {
    if run.stream != stream || run.unordered != unordered {
        return Err(Inconsistent("a fragment of another stream inside a message"));
    }
    if !unordered && run.ssn != ssn {
        return Err(Inconsistent("a fragment with another stream sequence number inside a message"));
    }
    Ok(())
}

impl Run {
    #[inline]
    fn grow(&mut self, c: &Arrived<'_>, limit: usize) -> Result<(), Inconsistent> {
        check(self, c.stream, c.ssn, c.unordered)?;
        self.partial.append(c.payload, limit)?;
        self.next_seq += 1;
        self.immediate |= c.immediate;
        Ok(())
    }

    fn label(&self) -> Label {
        Label {
            stream: self.stream,
            ppid: self.ppid,
            unordered: self.unordered,
            immediate: self.immediate,
            number: u32::from(self.ssn),
            tsn: self.tsn,
            space: SpaceId::FIRST,
        }
    }

    /// Bytes that are charged for it.
    fn memory(&self) -> usize {
        self.partial.memory() + PIECE
    }
}

#[cfg(test)]
mod tests;
