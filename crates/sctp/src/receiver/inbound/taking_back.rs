//! Data that is given up again for a chunk that fills a hole: "the receiver SHOULD drop the largest TSN held for reordering and accept the new
//! incoming DATA chunk" (RFC 9260, 6.2).

use super::Inbound;
use crate::receiver::inbound::interleaved::Key;

/// A message or fragment that came wholly above a hole, that the user has had nothing of, and that can be dropped by itself.
#[derive(Clone, Copy, Debug)]
pub(in crate::receiver) struct Behind {
    /// The highest number under which it came.
    pub(in crate::receiver) highest: u64,
    /// Bytes that are charged for it.
    pub(in crate::receiver) memory: usize,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// A fragment of DATA without those before it.
    Orphan(u64),
    /// The beginning of a message of DATA that waits for this number.
    Run(u64),
    /// A whole message of DATA: its stream and place.
    Message(u16, u64),
    /// A whole message with a number of its own.
    Numbered(u16, u64),
    /// The fragments from the first on of a message with a number of its own.
    Begun(Key),
    /// A fragment of a message with a number of its own, which has others missing before it.
    Loose(Key, u32),
}

impl Inbound {
    /// Data of the TSN space that can be given up for the chunk `seq`; in the order of their highest numbers: the last goes first.
    pub(in crate::receiver) fn behind(&self, seq: u64) -> Vec<Behind> {
        let mut all: Vec<_> =
            self.reassembly.orphans_above(seq).map(|(at, memory)| (at, memory, What::Orphan(at))).collect();
        all.extend(self.reassembly.runs_above(seq).map(|(next, memory)| (next - 1, memory, What::Run(next))));
        let whole = self.streams.waiting.above(seq);
        all.extend(whole.map(|(stream, at, highest, memory)| (highest, memory, What::Message(stream, at))));
        if let Some(numbered) = &self.numbered {
            let whole = numbered.order.waiting().above(seq);
            all.extend(
                whole.map(|(stream, at, highest, memory)| (highest, memory, What::Numbered(stream, at))),
            );
            let begun = numbered.interleaved.begun_above(seq);
            all.extend(begun.map(|(key, highest, memory)| (highest, memory, What::Begun(key))));
            let loose = numbered.interleaved.loose_above(seq);
            all.extend(loose.map(|(key, fragment, at, memory)| (at, memory, What::Loose(key, fragment))));
        }
        let mut all: Vec<_> =
            all.into_iter().map(|(highest, memory, what)| Behind { highest, memory, what }).collect();
        all.sort_unstable_by_key(|behind| behind.highest);
        all
    }

    /// Gives it up: the numbers under which it came, which count as not received from now on, as `start..end`.
    pub(in crate::receiver) fn take_back(&mut self, behind: &Behind) -> Vec<(u64, u64)> {
        let interleaved = self.numbered.as_mut().map(|numbered| &mut numbered.interleaved);
        let freed = match behind.what {
            What::Message(stream, at) => return self.take_message_back(false, stream, at),
            What::Numbered(stream, at) => return self.take_message_back(true, stream, at),
            What::Orphan(seq) => self.reassembly.forget_orphan(seq).map(|len| (vec![(seq, seq + 1)], len, 1)),
            What::Run(next) => self.reassembly.forget_run(next),
            What::Begun(key) => interleaved.and_then(|all| all.forget_begun(key)),
            What::Loose(key, fragment) => interleaved.and_then(|all| all.forget_loose(key, fragment)),
        };
        let Some((numbers, bytes, pieces)) = freed else { return Vec::new() };
        self.uncharge(bytes, pieces);
        numbers
    }

    fn take_message_back(&mut self, is_numbered: bool, stream: u16, at: u64) -> Vec<(u64, u64)> {
        let numbered = self.numbered.as_mut().filter(|_| is_numbered);
        let waiting = numbered.map_or(&mut self.streams.waiting, |numbered| numbered.order.waiting_mut());
        let Some((message, numbers)) = waiting.take_back(stream, at) else { return Vec::new() };
        self.apart = self.numbered.as_ref().map_or(0, |numbered| numbered.order.waiting().apart());
        self.forget(&message);
        numbers.ranges().collect()
    }
}
