//! What waits for a link, and what is dropped instead.

mod droptail;

pub use droptail::{Counts, DropTail};

use anabranch_base::Instant;

use crate::{Dropped, Frame};

/// A queue discipline. `now` is the exact virtual time of the step, which may lie before the time of the call that
/// caused it: a link catches up with what has happened since the last call.
pub trait QueueDiscipline {
    /// Takes a frame, or drops it, or drops another. `sending`: the transmitter is busy with a frame that has left the
    /// queue.
    fn enqueue(&mut self, now: Instant, frame: Frame, sending: bool, dropped: &mut Vec<Dropped>);

    /// The next frame to send. It may drop frames on the way, all of them if it likes; `None` only when nothing waits
    /// any more.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Frame>;

    /// Whether a frame of `size` bytes that finds nothing waiting and the transmitter idle may pass without being
    /// enqueued and dequeued, because that would change nothing. Saves most of the work on links that are not full.
    fn lets_pass(&self, _size: u32) -> bool {
        false
    }

    /// Frames that wait, without the one being sent.
    fn len(&self) -> usize;

    /// Bytes that wait, without those of the frame being sent.
    fn bytes(&self) -> u64;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One of the disciplines. An enum: a call per frame through a table of functions would be slower.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Queue {
    /// First in, first out, with a limit.
    DropTail(DropTail),
}

impl QueueDiscipline for Queue {
    #[inline]
    fn enqueue(&mut self, now: Instant, frame: Frame, sending: bool, dropped: &mut Vec<Dropped>) {
        match self {
            Self::DropTail(queue) => queue.enqueue(now, frame, sending, dropped),
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Frame> {
        match self {
            Self::DropTail(queue) => queue.dequeue(now, dropped),
        }
    }

    #[inline]
    fn lets_pass(&self, size: u32) -> bool {
        match self {
            Self::DropTail(queue) => queue.lets_pass(size),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::DropTail(queue) => queue.len(),
        }
    }

    #[inline]
    fn bytes(&self) -> u64 {
        match self {
            Self::DropTail(queue) => queue.bytes(),
        }
    }
}
