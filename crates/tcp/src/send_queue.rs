//! Bytes that the user gave us and the peer has not acknowledged: a rope of `Bytes`, never copied until they go
//! into a packet.

use bytes::{Buf, Bytes};
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct SendQueue {
    /// Pieces with the sequence number of their first byte.
    pieces: VecDeque<(u64, Bytes)>,
    start: u64,
    end: u64,
}

impl SendQueue {
    /// Empty; the next byte has sequence number `at`.
    pub(crate) fn new(at: u64) -> Self {
        Self { pieces: VecDeque::new(), start: at, end: at }
    }

    pub(crate) fn len(&self) -> u64 {
        self.end - self.start
    }

    /// One past the last byte queued.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn push(&mut self, data: Bytes) {
        if !data.is_empty() {
            let at = self.end;
            self.end += data.len() as u64;
            self.pieces.push_back((at, data));
        }
    }

    /// Forgets everything below `to`: it has been acknowledged.
    pub(crate) fn trim(&mut self, to: u64) {
        let to = to.min(self.end);
        self.start = self.start.max(to);
        while let Some((at, data)) = self.pieces.front_mut() {
            let gone = to.saturating_sub(*at);
            if gone < data.len() as u64 {
                data.advance(gone as usize);
                *at += gone;
                break;
            }
            self.pieces.pop_front();
        }
    }

    /// Copies `len` bytes from `at` to the end of `buf`; the only copy on the way out.
    pub(crate) fn copy(&self, at: u64, len: u32, buf: &mut Vec<u8>) {
        let (mut at, end) = (at, at + u64::from(len));
        let first = self.pieces.partition_point(|(start, data)| start + data.len() as u64 <= at);
        for (start, data) in self.pieces.range(first..) {
            if at >= end {
                break;
            }
            let from = at.saturating_sub(*start) as usize;
            let upto = (end - start).min(data.len() as u64) as usize;
            let part = data.get(from..upto).unwrap_or(&[]);
            buf.extend_from_slice(part);
            at += part.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn copies_are_what_was_pushed(sizes in prop::collection::vec(0_usize..40, 1..20), cuts in prop::collection::vec((0_u64..500, 0_u32..60), 1..20)) {
            let (mut queue, mut model) = (SendQueue::new(1), vec![0_u8]);
            for size in sizes {
                let data: Vec<u8> = (0..size).map(|i| (model.len() + i) as u8).collect();
                model.extend_from_slice(&data);
                queue.push(Bytes::from(data));
            }
            let mut low = 1;
            for (at, len) in cuts {
                let at = at.clamp(low, queue.end());
                let len = len.min((queue.end() - at) as u32);
                let mut out = Vec::new();
                queue.copy(at, len, &mut out);
                prop_assert_eq!(&out[..], &model[at as usize..at as usize + len as usize]);
                if len % 3 == 0 {
                    queue.trim(at);
                    low = at;
                    prop_assert_eq!(queue.len(), queue.end() - at);
                }
            }
        }
    }
}
