//! The numbers of messages, stream by stream. They belong to the association: a stream that changes its subflow goes on
//! counting.

use anabranch_wire::{Mid, Tsn};

use crate::per_stream::PerStream;

/// Message numbers still to give. DATA carries the low 16 bits of one as its stream sequence number.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    next: PerStream<Mid>,
    /// Unordered messages count for themselves (RFC 8260, 2.1); `None` where DATA is sent, which has no number for them.
    unordered: Option<PerStream<Mid>>,
    /// The association sequence number of the next chunk (encoding of 2007).
    asn: Tsn,
}

impl Numbering {
    /// Numbering with `asn` as the first association sequence number.
    pub(crate) fn new(asn: Tsn) -> Self {
        Self { asn, ..Self::default() }
    }

    /// Association sequence numbers begin with this one.
    pub(crate) fn begin_asn(&mut self, asn: Tsn) {
        self.asn = asn;
    }

    /// The association sequence number of a chunk that leaves.
    #[inline]
    pub(crate) fn take_asn(&mut self) -> Tsn {
        let asn = self.asn;
        self.asn = asn.next();
        asn
    }

    /// From now on messages travel with identifiers (I-DATA) or not. True where they do and did not.
    pub(crate) fn identify(&mut self, on: bool) -> bool {
        let changes = on != self.unordered.is_some();
        if changes {
            self.unordered = on.then(PerStream::default);
        }
        changes && on
    }

    /// True if messages travel with identifiers, so that those of several streams may be mixed.
    #[inline]
    pub(crate) fn identifies(&self) -> bool {
        self.unordered.is_some()
    }

    /// The number of a message whose first fragment leaves now. "the Stream Sequence Number ... SHOULD be ignored" for
    /// unordered data (RFC 9260, 3.3.1): with DATA it uses none up.
    // rfc6525:5.1.5-2
    // rfc9260:6.5-3 rfc9260:6.5-4
    #[inline]
    pub(crate) fn take(&mut self, stream: u16, unordered: bool) -> Mid {
        // Ordered and not the first of its stream: the usual case.
        match self.next.get_mut(stream) {
            Some(next) if !unordered => std::mem::replace(next, next.next()),
            _ => self.take_rare(stream, unordered),
        }
    }

    /// The number that the next ordered message of a stream will have.
    pub(crate) fn next(&self, stream: u16) -> Mid {
        self.next.get(stream).copied().unwrap_or(Mid::new(0))
    }

    // rfc9260:6.5-6
    #[inline(never)]
    fn take_rare(&mut self, stream: u16, unordered: bool) -> Mid {
        let (list, counts) = match &mut self.unordered {
            Some(list) if unordered => (list, true),
            _ => (&mut self.next, !unordered),
        };
        list.make(stream);
        let Some(next) = list.get_mut(stream) else { return Mid::new(0) };
        let mid = *next;
        if counts {
            *next = mid.next();
        }
        mid
    }

    /// Some streams begin anew, all if none is listed: "the two counters ... MUST be reset to 0" (RFC 8260, 2.3.2).
    // rfc8260:2.3.2-1
    pub(crate) fn begin_anew(&mut self, streams: &[u16]) {
        for list in std::iter::once(&mut self.next).chain(&mut self.unordered) {
            if streams.is_empty() {
                list.clear();
            }
            for stream in streams {
                if let Some(next) = list.get_mut(*stream) {
                    *next = Mid::new(0);
                }
            }
        }
    }

    /// True if the next message of each of these streams (of all, if none is listed) is its first.
    pub(crate) fn is_fresh(&self, streams: &[u16]) -> bool {
        std::iter::once(&self.next).chain(&self.unordered).all(|list| {
            let unused = |stream: &u16| list.get(*stream).is_none_or(|next| next.get() == 0);
            if streams.is_empty() {
                list.values().all(|next| next.get() == 0)
            } else {
                streams.iter().all(unused)
            }
        })
    }

    /// Every stream begins anew (restart), and association sequence numbers with `asn`.
    pub(crate) fn restart(&mut self, asn: Tsn) {
        *self = Self::new(asn);
    }
}
