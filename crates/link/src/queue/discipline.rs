//! The interface of queue disciplines to their link, and their counters.

use anabranch_base::Instant;

use crate::stats::Span;
use crate::{AverageStats, ClassStats, Dropped, Frame};

/// A queue discipline. `now` is the exact virtual time of the step, which may lie before the time of the call that
/// caused it: a link catches up with events since the last call.
pub trait QueueDiscipline {
    /// Takes a frame, or drops it, or drops another. `free_at`: when the transmitter has sent the frame that left the queue
    /// last. Until then it is busy; afterwards, and with nothing waiting, the link has been idle since then.
    fn enqueue(&mut self, now: Instant, free_at: Instant, frame: Frame, dropped: &mut Vec<Dropped>);

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

/// The counters of a queue discipline. Not part of [`QueueDiscipline`], because spans of time are private to this
/// crate.
pub(crate) trait Counted {
    /// Starts counting anew, within `span`.
    fn count(&mut self, now: Instant, span: Span);

    /// Frames marked instead of dropped.
    fn marks(&self) -> u64;

    /// The average of a discipline that has one.
    fn average(&self) -> Option<AverageStats>;

    /// Counts class by class.
    fn classes(&self, now: Instant) -> Vec<ClassStats>;
}
