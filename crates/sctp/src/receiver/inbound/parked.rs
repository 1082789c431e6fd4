//! A message that waits for others, or for a user that reads stream by stream, in as little room as possible: as many may wait as fit the
//! receive buffer.

use anabranch_base::Instant;
use bytes::Bytes;

use super::partial_message::PIECE;
use crate::ids::SpaceId;
use crate::message::{Part, Received, Rest};

/// A message, but for its stream.
#[derive(Debug)]
pub(in crate::receiver) struct Parked {
    /// Its first piece, in memory of its own: it must not keep alive that of others which are read and gone.
    first: Box<[u8]>,
    at: Instant,
    beside: Option<Box<Beside>>,
    ppid: u32,
    number: u32,
    tsn: u32,
    path: u8,
    unordered: bool,
    immediate: bool,
    space: SpaceId,
}

/// Attributes that few messages have.
#[derive(Debug)]
struct Beside {
    part: Option<Part>,
    rest: Option<Box<Rest>>,
}

impl Parked {
    pub(in crate::receiver) fn of(message: Received) -> Self {
        let Received { part, mut rest, .. } = message;
        if let Some(rest) = &mut rest {
            rest.0.shrink_to_fit();
        }
        let beside = (part.is_some() || rest.is_some()).then(|| Box::new(Beside { part, rest }));
        Self {
            first: Vec::from(message.first).into_boxed_slice(),
            at: message.at,
            beside,
            ppid: message.ppid,
            number: message.number,
            tsn: message.tsn,
            path: message.path,
            unordered: message.unordered,
            immediate: message.immediate,
            space: message.space,
        }
    }

    /// The message, which is of this stream.
    pub(in crate::receiver) fn of_stream(self, stream: u16) -> Received {
        let (part, rest) = self.beside.map_or((None, None), |beside| (beside.part, beside.rest));
        Received {
            stream,
            ppid: self.ppid,
            unordered: self.unordered,
            immediate: self.immediate,
            path: self.path,
            number: self.number,
            tsn: self.tsn,
            at: self.at,
            part,
            space: self.space,
            first: Bytes::from(self.first),
            rest,
        }
    }

    fn rest(&self) -> &[Bytes] {
        let rest = self.beside.as_ref().and_then(|beside| beside.rest.as_ref());
        rest.map_or(&[], |rest| &rest.0)
    }

    /// Its charge: the space that brought it, its bytes, and its number of pieces.
    pub(in crate::receiver) fn size(&self) -> (SpaceId, usize, usize) {
        let rest = self.rest();
        (self.space, self.first.len() + rest.iter().map(Bytes::len).sum::<usize>(), 1 + rest.len())
    }

    /// Bytes that are charged for it.
    pub(in crate::receiver) fn memory(&self) -> usize {
        let (_, bytes, pieces) = self.size();
        bytes + pieces * PIECE
    }

    /// SSN or MID.
    pub(in crate::receiver) fn number(&self) -> u32 {
        self.number
    }

    /// True if it is a part of a message.
    pub(in crate::receiver) fn is_part(&self) -> bool {
        self.beside.as_ref().is_some_and(|beside| beside.part.is_some())
    }

    /// It belongs to the first space from now on.
    pub(in crate::receiver) fn leave_space(&mut self) {
        self.space = SpaceId::FIRST;
    }
}
