//! Answers that need no association.

use std::collections::VecDeque;

use anabranch_base::{Dscp, Ecn, Meta, Transmit};

/// Answers that may wait. Beyond it they are dropped: a flood gets no larger answer than this.
const MAX_WAITING: usize = 1024;

/// Packets waiting to be sent that belong to no association.
#[derive(Debug, Default)]
pub(super) struct Replies {
    waiting: VecDeque<(Meta, Vec<u8>)>,
}

impl Replies {
    /// Queues the answer to a packet that came with `question`; false when there are too many.
    // rfc9260:5.1-3 rfc9260:5.2.1-5
    pub(super) fn push(&mut self, question: &Meta, packet: Vec<u8>) -> bool {
        if self.waiting.len() >= MAX_WAITING {
            return false;
        }
        self.waiting.push_back((*question, packet));
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Appends the next packet to `buf`.
    pub(super) fn pop(&mut self, buf: &mut Vec<u8>) -> Option<Transmit> {
        let (question, packet) = self.waiting.pop_front()?;
        buf.extend_from_slice(&packet);
        let size = packet.len();
        Some(Transmit {
            dont_fragment: false,
            destination: question.source,
            // From where it came to: the peer would not know another address.
            source: Some(question.destination),
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
            size,
            segment_size: size,
        })
    }
}
