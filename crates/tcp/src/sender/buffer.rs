//! Data of the user that the peer has not acknowledged: bytes, and the FIN behind them.

use crate::send_queue::SendQueue;
use bytes::Bytes;

/// Progress of the FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    No,
    /// The user has closed; the FIN leaves with or after the last byte.
    Queued,
    /// With this sequence number.
    Sent(u64),
}

/// Bytes of the user, at most `most`, and the end that he has set.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    queue: SendQueue,
    most: u64,
    fin: Fin,
}

impl SendBuffer {
    pub(super) fn new(most: u64) -> Self {
        Self { queue: SendQueue::new(1), most, fin: Fin::No }
    }

    /// Takes as many bytes as fit; answers their number.
    pub(crate) fn push(&mut self, mut data: Bytes) -> usize {
        let room = self.most.saturating_sub(self.queue.len());
        let taken = data.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        data.truncate(taken);
        self.queue.push(data);
        taken
    }

    pub(crate) fn has_room(&self) -> bool {
        self.queue.len() < self.most
    }

    /// The bytes, to be copied into a segment.
    pub(crate) fn queue(&self) -> &SendQueue {
        &self.queue
    }

    /// Number of bytes that have not been sent; `max` is the highest sequence number sent.
    #[inline]
    pub(super) fn unsent(&self, max: u64) -> u64 {
        self.queue.end().saturating_sub(max)
    }

    /// Number of bytes that are not acknowledged, sent or not.
    pub(super) fn from(&self, una: u64) -> u64 {
        self.queue.end().saturating_sub(una)
    }

    /// Everything below `to` has been acknowledged.
    pub(super) fn acknowledged(&mut self, to: u64) {
        self.queue.trim(to);
    }

    /// The user sends nothing more.
    pub(crate) fn finish(&mut self) {
        if self.fin == Fin::No {
            self.fin = Fin::Queued;
        }
    }

    pub(crate) fn is_finishing(&self) -> bool {
        self.fin != Fin::No
    }

    /// The FIN has not left and follows the last byte.
    pub(super) fn fin_waits(&self) -> bool {
        self.fin == Fin::Queued
    }

    /// The FIN leaves with this sequence number.
    pub(super) fn fin_left(&mut self, seq: u64) {
        self.fin = Fin::Sent(seq);
    }

    pub(crate) fn fin_sent(&self) -> bool {
        matches!(self.fin, Fin::Sent(_))
    }

    /// True if an acknowledgement up to `una` covers the FIN.
    pub(super) fn fin_acknowledged(&self, una: u64) -> bool {
        matches!(self.fin, Fin::Sent(seq) if una > seq)
    }

    /// Nothing will be sent any more: gives the memory back.
    pub(super) fn clear(&mut self, max: u64) {
        self.queue = SendQueue::new(max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_fits_and_counts_what_waits() {
        let mut buffer = SendBuffer::new(5);
        assert_eq!((buffer.push(Bytes::from_static(b"abc")), buffer.has_room()), (3, true));
        assert_eq!((buffer.push(Bytes::from_static(b"defg")), buffer.has_room()), (2, false));
        assert_eq!((buffer.unsent(4), buffer.from(2)), (2, 4));
        buffer.acknowledged(3);
        assert!(buffer.has_room());
    }

    #[test]
    fn fin_is_queued_once_and_acknowledged_with_what_is_before_it() {
        let mut buffer = SendBuffer::new(5);
        buffer.finish();
        assert!(buffer.is_finishing() && buffer.fin_waits());
        buffer.fin_left(1);
        buffer.finish();
        assert!(buffer.fin_sent() && !buffer.fin_waits());
        assert!(!buffer.fin_acknowledged(1));
        assert!(buffer.fin_acknowledged(2));
    }
}
