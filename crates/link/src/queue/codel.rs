//! CoDel: controlled delay (RFC 8289). Frames are dropped at the head when they have waited too long for too long.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant};

use super::discipline::QueueDiscipline;
use crate::stats::Span;
use crate::tally::Watch;
use crate::{DropReason, Dropped, Frame};

/// The parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoDelConfig {
    /// At most so many frames wait, the one being sent not included.
    pub packets: Option<u64>,
    /// At most so many bytes wait.
    pub bytes: Option<u64>,
    /// A wait that is always acceptable (TARGET).
    pub target: Duration,
    /// For so long a longer wait is acceptable: about the longest round trip (INTERVAL).
    pub interval: Duration,
    /// Whether frames that can be marked are marked instead of dropped, except when the queue is full.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    /// 1000 packets, 5 ms and 100 ms, without ECN: RFC 8289, section 4.4, and the defaults of Linux.
    fn default() -> Self {
        Self {
            packets: Some(1000),
            bytes: None,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
        }
    }
}

/// Frames in line, each with the time when it came (nanoseconds).
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    waiting: VecDeque<(u64, Frame)>,
    bytes: u64,
}

impl Line {
    pub(super) fn push(&mut self, now: Instant, frame: Frame) {
        self.bytes += u64::from(frame.size);
        self.waiting.push_back((now.as_nanos(), frame));
    }

    pub(super) fn pop(&mut self) -> Option<(u64, Frame)> {
        let (came, frame) = self.waiting.pop_front()?;
        self.bytes -= u64::from(frame.size);
        Some((came, frame))
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The algorithm's state for one queue. Times are nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// When the wait will have been too long for an interval; 0 while it is not too long.
    first_above: u64,
    /// In the dropping state: when the next one goes.
    drop_next: u64,
    /// Drops since the dropping state was entered, and the start of that number.
    count: u32,
    last_count: u32,
    dropping: bool,
    /// The largest frame seen. A line that holds no more than that is never too long.
    largest: u32,
}

impl State {
    /// The next frame of `line`, and whether it may be dropped (RFC 8289, section 5.6).
    fn next(&mut self, config: &CoDelConfig, now: u64, line: &mut Line) -> Option<(Frame, bool)> {
        let Some((came, frame)) = line.pop() else {
            self.first_above = 0;
            return None;
        };
        self.largest = self.largest.max(frame.size);
        let waited = now.saturating_sub(came);
        let mut may_drop = false;
        if waited < config.target.as_nanos() || line.bytes() <= u64::from(self.largest) {
            self.first_above = 0;
        } else if self.first_above == 0 {
            self.first_above = now.saturating_add(config.interval.as_nanos());
        } else {
            may_drop = now >= self.first_above;
        }
        Some((frame, may_drop))
    }

    /// The control law: the time between drops falls with the square root of their number (RFC 8289, section 3.3).
    fn after(&self, config: &CoDelConfig, time: u64) -> u64 {
        let interval = config.interval.as_nanos() as f64;
        time.saturating_add((interval / f64::from(self.count.max(1)).sqrt()) as u64)
    }

    /// Takes the next frame to send out of `line` and drops frames before it as the law asks (RFC 8289, section 5.5).
    pub(super) fn dequeue(
        &mut self,
        config: &CoDelConfig,
        at: Instant,
        line: &mut Line,
        dropped: &mut Vec<Dropped>,
        watch: &mut Watch,
    ) -> Option<Frame> {
        let now = at.as_nanos();
        let Some((mut frame, mut may_drop)) = self.next(config, now, line) else {
            self.dropping = false;
            return None;
        };
        let mut mark = |frame: &mut Frame| {
            let marked = config.ecn && frame.can_be_marked();
            if marked {
                frame.mark();
                watch.marked(at);
            }
            marked
        };
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if mark(&mut frame) {
                    self.drop_next = self.after(config, self.drop_next);
                    break;
                }
                dropped.push(Dropped { at, frame, reason: DropReason::Sojourn });
                let Some(next) = self.next(config, now, line) else {
                    self.dropping = false;
                    return None;
                };
                (frame, may_drop) = next;
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next = self.after(config, self.drop_next);
                }
            }
            return Some(frame);
        }
        if !may_drop {
            return Some(frame);
        }
        let kept = if mark(&mut frame) {
            Some(frame)
        } else {
            dropped.push(Dropped { at, frame, reason: DropReason::Sojourn });
            self.next(config, now, line).map(|(frame, _)| frame)
        };
        self.dropping = true;
        // If it was dropping a short while ago, it goes on from about the rate that held the wait down then.
        let delta = self.count - self.last_count.min(self.count);
        let recent = now.saturating_sub(self.drop_next) < 16 * config.interval.as_nanos();
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.after(config, now);
        self.last_count = self.count;
        kept
    }
}

/// A queue with controlled delay.
#[derive(Clone, Debug)]
pub struct CoDel {
    config: CoDelConfig,
    line: Line,
    state: State,
    watch: Watch,
}

impl CoDel {
    /// An empty queue.
    #[must_use]
    pub fn new(config: CoDelConfig) -> Self {
        Self { config, line: Line::default(), state: State::default(), watch: Watch::start(Span::ALL) }
    }

    pub(crate) fn count(&mut self, span: Span) {
        self.watch = Watch::start(span);
    }

    pub(crate) const fn marks(&self) -> u64 {
        self.watch.marks()
    }
}

impl QueueDiscipline for CoDel {
    fn enqueue(&mut self, now: Instant, _free_at: Instant, frame: Frame, dropped: &mut Vec<Dropped>) {
        let fits = self.config.packets.is_none_or(|limit| (self.line.len() as u64) < limit)
            && self.config.bytes.is_none_or(|limit| self.line.bytes() + u64::from(frame.size) <= limit);
        if fits {
            self.line.push(now, frame);
        } else {
            dropped.push(Dropped { at: now, frame, reason: DropReason::QueueFull });
        }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Frame> {
        self.state.dequeue(&self.config, now, &mut self.line, dropped, &mut self.watch)
    }

    #[inline]
    fn len(&self) -> usize {
        self.line.len()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.line.bytes()
    }
}

#[cfg(test)]
mod tests;
