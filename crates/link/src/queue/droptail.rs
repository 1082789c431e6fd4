//! First in, first out; a frame that does not fit is dropped.

use std::collections::VecDeque;

use anabranch_base::Instant;

use super::discipline::QueueDiscipline;
use crate::{DropReason, Dropped, Frame};

/// First in, first out, with a limit in frames, in bytes, in both (both hold) or in neither.
#[derive(Clone, Debug)]
pub struct DropTail {
    waiting: VecDeque<Frame>,
    bytes: u64,
    max_frames: u64,
    max_bytes: u64,
    counts: Counts,
}

/// The meaning of a drop-tail limit: which frames it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counts {
    /// As ns-2.35 does (`queue/drop-tail.cc`): a frame is dropped when *waiting + 1 >= limit*. A busy transmitter holds
    /// one more frame, so a limit of n frames means n in all, the one being sent included. With a limit in
    /// bytes a frame is dropped when *waiting + size >= limit*, where waiting leaves out the frame being sent.
    ///
    /// One deviation: a frame that meets an idle transmitter and an empty queue is always taken. ns-2 drops every
    /// frame at a limit of 1 frame, which would be of no use.
    #[default]
    Ns2,
    /// Only the waiting frames: n frames or bytes besides the one being sent.
    Waiting,
}

impl DropTail {
    /// `None` is no limit.
    #[must_use]
    pub fn new(max_frames: Option<u64>, max_bytes: Option<u64>, counts: Counts) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            max_frames: max_frames.unwrap_or(u64::MAX),
            max_bytes: max_bytes.unwrap_or(u64::MAX),
            counts,
        }
    }

    /// A limit in frames, counted as ns-2 does.
    #[must_use]
    pub fn frames(limit: u64) -> Self {
        Self::new(Some(limit), None, Counts::Ns2)
    }

    #[inline]
    fn fits(&self, size: u32, sending: bool) -> bool {
        let frames = self.waiting.len() as u64 + 1;
        let bytes = self.bytes + u64::from(size);
        match self.counts {
            Counts::Ns2 => {
                !sending && self.waiting.is_empty() || frames < self.max_frames && bytes < self.max_bytes
            }
            Counts::Waiting => frames <= self.max_frames && bytes <= self.max_bytes,
        }
    }
}

impl QueueDiscipline for DropTail {
    #[inline]
    fn enqueue(&mut self, now: Instant, free_at: Instant, frame: Frame, dropped: &mut Vec<Dropped>) {
        if self.fits(frame.size, free_at > now) {
            self.bytes += u64::from(frame.size);
            self.waiting.push_back(frame);
        } else {
            dropped.push(Dropped { at: now, frame, reason: DropReason::QueueFull });
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _dropped: &mut Vec<Dropped>) -> Option<Frame> {
        let frame = self.waiting.pop_front()?;
        self.bytes -= u64::from(frame.size);
        Some(frame)
    }

    #[inline]
    fn lets_pass(&self, size: u32) -> bool {
        self.waiting.is_empty() && self.fits(size, false)
    }

    #[inline]
    fn len(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `offered` frames of 1000 bytes are taken while the transmitter is busy.
    fn taken(mut queue: DropTail, offered: usize) -> usize {
        let mut dropped = Vec::new();
        for _ in 0..offered {
            let frame = Frame { size: 1000, ..Frame::default() };
            queue.enqueue(Instant::ZERO, Instant::from_nanos(1), frame, &mut dropped);
        }
        assert_eq!(queue.len() + dropped.len(), offered);
        assert_eq!(queue.bytes(), 1000 * queue.len() as u64);
        queue.len()
    }

    #[test]
    fn a_limit_in_frames_counts_the_one_being_sent_as_ns2_does() {
        // (q_->length() + 1) >= qlim_ drops: 99 wait at a limit of 100, the hundredth is being sent.
        assert_eq!(taken(DropTail::frames(100), 200), 99);
        assert_eq!(taken(DropTail::frames(2), 5), 1);
        assert_eq!(taken(DropTail::frames(1), 5), 0);
        assert_eq!(taken(DropTail::new(Some(100), None, Counts::Waiting), 200), 100);
        assert_eq!(taken(DropTail::new(None, None, Counts::Ns2), 200), 200);
    }

    #[test]
    fn a_limit_in_bytes_is_strict_as_in_ns2() {
        assert_eq!(taken(DropTail::new(None, Some(5000), Counts::Ns2), 20), 4);
        assert_eq!(taken(DropTail::new(None, Some(5001), Counts::Ns2), 20), 5);
        assert_eq!(taken(DropTail::new(None, Some(5000), Counts::Waiting), 20), 5);
        assert_eq!(taken(DropTail::new(Some(3), Some(5000), Counts::Waiting), 20), 3);
    }

    #[test]
    fn an_idle_transmitter_takes_a_frame_at_any_limit() {
        let mut queue = DropTail::frames(1);
        let mut dropped = Vec::new();
        queue.enqueue(Instant::ZERO, Instant::ZERO, Frame { size: 10, ..Frame::default() }, &mut dropped);
        assert!(dropped.is_empty());
        assert_eq!(queue.dequeue(Instant::ZERO, &mut dropped).map(|f| f.size), Some(10));
        assert!(queue.is_empty());
    }
}
