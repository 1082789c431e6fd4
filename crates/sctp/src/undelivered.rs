//! Messages that were accepted and not delivered, to be taken back by their user (RFC 9260, 11.1.14 and 11.1.15). The payload is
//! that of the user, not a copy.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::options::MessageId;
use crate::stream::outbound::{Fragment, Queued};

/// A message that was not delivered, as far as the sender knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undelivered {
    /// Stream id.
    pub stream: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// True if it was to be delivered unordered.
    pub unordered: bool,
    /// Its number in its stream, if a part of it was sent: the low 16 bits are its Stream Sequence Number.
    pub number: Option<u32>,
    /// True if the payload is whole. If not, its beginning was acknowledged for good, and the rest is here.
    pub whole: bool,
    /// True if gap blocks have acknowledged all of the payload here. A peer may take that back (6.2.1), and may not
    /// have given data that it holds behind a hole to its user.
    pub gap_acknowledged: bool,
    /// Number of the message, if its fate or any other option was asked for; other messages have no number, which
    /// costs them nothing.
    pub id: Option<MessageId>,
    /// The user's own mark ([`Message::context`](crate::Message::context)).
    pub context: u32,
    /// Ticket of the message in the sender: see `sender::tickets`.
    pub(crate) ticket: u32,
    pieces: Vec<Bytes>,
}

impl Undelivered {
    /// User data in order.
    pub fn pieces(&self) -> impl Iterator<Item = &Bytes> + '_ {
        self.pieces.iter()
    }

    /// Bytes of user data.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// Never true.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The user data in one piece: free for a message of one piece, a copy otherwise.
    #[must_use]
    pub fn into_bytes(mut self) -> Bytes {
        if self.pieces.len() == 1 {
            return self.pieces.pop().unwrap_or_default();
        }
        self.pieces.concat().into()
    }

    /// A message that was never sent.
    pub(crate) fn unsent(message: Queued) -> Self {
        Self {
            stream: message.stream,
            ppid: message.ppid,
            unordered: message.unordered,
            number: None,
            whole: true,
            gap_acknowledged: false,
            id: None,
            context: 0,
            ticket: message.ticket,
            pieces: vec![message.payload],
        }
    }

    /// The rest, not sent, of a message that has begun to leave.
    pub(crate) fn begun(message: Queued, number: u32) -> Self {
        Self { number: Some(number), ..Self::unsent(message) }
    }

    /// A message of which this fragment is the first that is not acknowledged for good.
    pub(crate) fn sent(fragment: &Fragment, gap_acknowledged: bool) -> Self {
        Self {
            stream: fragment.stream,
            ppid: fragment.ppid,
            unordered: fragment.unordered,
            number: Some(fragment.mid.get()),
            whole: fragment.beginning,
            gap_acknowledged,
            id: None,
            context: 0,
            ticket: fragment.ticket,
            pieces: vec![fragment.payload.clone()],
        }
    }

    /// The next fragment of it.
    pub(crate) fn append(&mut self, fragment: &Fragment, gap_acknowledged: bool) {
        self.gap_acknowledged &= gap_acknowledged;
        self.pieces.push(fragment.payload.clone());
    }
}

/// Messages that a user may take back.
#[derive(Debug, Default)]
pub(crate) struct Returned {
    pub(crate) unsent: VecDeque<Undelivered>,
    pub(crate) unacknowledged: VecDeque<Undelivered>,
    /// Bytes of user data that could be undelivered when the last of it was handed back: subflows may be fewer since.
    pub(crate) most: u64,
}

impl Returned {
    /// Bytes of user data.
    pub(crate) fn bytes(&self) -> usize {
        self.unsent.iter().chain(&self.unacknowledged).map(Undelivered::len).sum()
    }

    /// Forgets the oldest of those that were here `before` (unsent, unacknowledged), as long as all together have more than `most` bytes;
    /// how many.
    pub(crate) fn forget_oldest(&mut self, before: (usize, usize), most: usize) -> usize {
        let (mut unsent, mut unacknowledged) = before;
        let mut bytes = if before == (0, 0) { 0 } else { self.bytes() };
        while bytes > most && (unsent, unacknowledged) != (0, 0) {
            // Messages of which a part was sent are older.
            let (from, left) = if unacknowledged > 0 {
                (&mut self.unacknowledged, &mut unacknowledged)
            } else {
                (&mut self.unsent, &mut unsent)
            };
            *left -= 1;
            bytes -= from.pop_front().map_or(0, |message| message.len());
        }
        before.0 + before.1 - unsent - unacknowledged
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.unsent.is_empty() && self.unacknowledged.is_empty()
    }
}
