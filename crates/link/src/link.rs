//! A link: queue, transmitter, losses, impairments and propagation delay.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant};

use crate::impairments::{self, Impairments};
use crate::pattern::{Pattern, Signal};
use crate::queue::Counted;
use crate::stats::{Counters, Span};
use crate::transmitter::Transmitter;
use crate::{
    Applies, AverageStats, ClassStats, Conditioner, DropReason, Dropped, Frame, LinkStats, Loss, LossModel,
    Queue, QueueDiscipline,
};

/// The parameters of a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Rate at which bits leave the transmitter.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// The queue in front of the transmitter: it holds waiting frames and decides which to drop.
    pub queue: Queue,
    /// Random loss on the link itself, beside the queue's drops.
    pub loss: Loss,
    /// The point of the link at which `loss` takes frames away.
    pub loss_at: LossAt,
}

/// The rate of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bits per second; 0 counts as 1.
    BitsPerSecond(u64),
    /// A frame takes no time, and nothing ever waits.
    Infinite,
}

/// The place of the loss model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossAt {
    /// Before the queue: a lost frame takes neither room nor time.
    Entry,
    /// Behind the transmitter: a lost frame has taken its room and its time. ns-2's `link-lossmodel` sits there.
    #[default]
    Exit,
}

/// One direction of a link.
///
/// The calls, in the order in which a driver makes them:
/// - [`Link::handle_frame`]: a frame comes in.
/// - [`Link::poll_dropped`] until `None`: the frames dropped since; also after `poll_delivery`.
/// - [`Link::poll_timeout`]: when to call [`Link::poll_delivery`], until `None`. Every other call but `poll_sent` invalidates it.
///
/// `now` never goes back, except that `poll_delivery` may be called with the time of an arrival that was announced. At one and the same nanosecond the transmitter becomes free before a new frame is looked at.
#[derive(Clone, Debug)]
pub struct Link {
    queue: Queue,
    transmitter: Transmitter,
    delay: u64,
    loss: Loss,
    loss_at: LossAt,
    /// Frames in propagation with their arrival times in nanoseconds, in order of arrival.
    line: VecDeque<(u64, Frame)>,
    dropped: Vec<Dropped>,
    counters: Counters,
    /// Traffic conditioners at the entry, on links that have any.
    conditioners: Vec<Conditioner>,
    /// Patterns, on links that have any.
    impairments: Option<Box<Impairments>>,
    /// Whether it has none of these: a frame leaves when its turn has come, and arrives.
    is_plain: bool,
}

impl Link {
    /// An idle link at time zero.
    #[must_use]
    pub fn new(config: LinkConfig) -> Self {
        let rate = match config.rate {
            Rate::BitsPerSecond(bits) => Some(bits),
            Rate::Infinite => None,
        };
        let is_plain = matches!(config.loss, Loss::None);
        Self {
            is_plain,
            queue: config.queue,
            transmitter: Transmitter::new(rate),
            delay: config.delay.as_nanos(),
            loss: config.loss,
            loss_at: config.loss_at,
            line: VecDeque::new(),
            dropped: Vec::new(),
            counters: Counters::start(0, Span::ALL, 0, 0),
            conditioners: Vec::new(),
            impairments: None,
        }
    }

    /// The same link with conditioners at its entry, in the order in which they act.
    #[must_use]
    pub fn with_conditioners(mut self, conditioners: Vec<Conditioner>) -> Self {
        self.is_plain &= conditioners.is_empty();
        self.conditioners = conditioners;
        self
    }

    /// The same link with patterns, each with the packets that it counts and acts on. They act on packets that have been
    /// sent; the rate of a bandwidth pattern holds for packets as they are sent.
    #[must_use]
    pub fn with_patterns(mut self, patterns: Vec<(Pattern, Applies)>) -> Self {
        if !patterns.is_empty() {
            self.is_plain = false;
            self.impairments = Some(Box::new(Impairments::new(patterns, self.transmitter.rate())));
        }
        self
    }

    /// The next number that a trigger pattern reported.
    pub fn poll_signal(&mut self) -> Option<Signal> {
        self.impairments.as_mut()?.signals.pop_front()
    }

    /// A frame comes in.
    pub fn handle_frame(&mut self, now: Instant, frame: Frame) {
        self.advance(now);
        self.counters.arrival(now.as_nanos(), frame.size);
        if self.is_plain || self.conditioners.is_empty() {
            self.admit(now, frame);
        } else {
            self.condition(now, frame);
        }
    }

    /// Counts a frame as lost that the driver does not let in, because it is too large.
    #[cold]
    pub fn refuse(&mut self, now: Instant, frame: Frame) {
        self.advance(now);
        self.counters.arrival(now.as_nanos(), frame.size);
        self.lose(now, frame, DropReason::Error);
    }

    /// Passes a frame through the conditioners.
    #[cold]
    fn condition(&mut self, now: Instant, mut frame: Frame) {
        if self.conditioners.iter_mut().all(|conditioner| conditioner.condition(now, &mut frame)) {
            self.admit(now, frame);
        } else {
            self.lose(now, frame, DropReason::Policed);
        }
    }

    /// Passes a frame to the queue.
    #[inline(always)]
    fn admit(&mut self, now: Instant, frame: Frame) {
        if !self.is_plain && self.loss_at == LossAt::Entry && self.loss.is_lost(&frame) {
            self.lose(now, frame, DropReason::Error);
            return;
        }
        // After `advance` the transmitter is free exactly when its time has come: then nothing waits.
        let sending = self.transmitter.free_at() > now.as_nanos();
        if !sending && self.queue.lets_pass(frame.size) {
            self.transmit(now.as_nanos(), frame);
            return;
        }
        let before = self.dropped.len();
        let free_at = Instant::from_nanos(self.transmitter.free_at());
        self.queue.enqueue(now, free_at, frame, &mut self.dropped);
        self.count_drops(before);
        if sending {
            self.counters.queue_length(now.as_nanos(), self.queue.len());
        } else {
            self.send_one(now.as_nanos());
        }
    }

    /// As [`Link::handle_frame`] and [`Link::poll_sent`] together, for a frame of `size` bytes that finds nothing in its way:
    /// nothing waits, nothing is on its way, and nothing is ever lost here. Says when it will arrive; the frame itself is not
    /// needed. `None`: it is not so simple, and nothing has happened.
    #[inline]
    pub fn pass(&mut self, now: Instant, size: u32) -> Option<Instant> {
        let turn = now.as_nanos();
        let is_clear = self.is_plain
            && self.line.is_empty()
            && self.transmitter.free_at() <= turn
            && self.queue.lets_pass(size);
        if !is_clear {
            return None;
        }
        let (start, end) = self.transmitter.send(turn, size);
        self.counters.passing(start, end, size);
        Some(Instant::from_nanos(end.saturating_add(self.delay)))
    }

    /// When the next frame arrives at the far end, or when the link has other work to do.
    #[inline]
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if let Some(impairments) = &self.impairments {
            return impairments.wake(
                self.line.front().map(|(at, _)| *at),
                (!self.queue.is_empty()).then(|| self.transmitter.free_at()),
            );
        }
        match self.line.front() {
            // A frame that still waits arrives later, so this is early enough.
            Some((at, _)) => Some(Instant::from_nanos(*at)),
            None if self.queue.is_empty() => None,
            // The first frame that waits leaves no earlier than when the transmitter is free, so it arrives no earlier
            // than this: the result is the same as if the link had been driven earlier.
            None => Some(Instant::from_nanos(self.transmitter.free_at().saturating_add(self.delay))),
        }
    }

    /// The next frame that has arrived at the far end.
    #[inline]
    pub fn poll_delivery(&mut self, now: Instant) -> Option<Frame> {
        self.advance(now);
        match self.line.front() {
            Some((at, _)) if *at <= now.as_nanos() => self.line.pop_front().map(|(_, frame)| frame),
            _ => None,
        }
    }

    /// Whether [`Link::poll_delivery`], which has just been asked at `now`, has more.
    #[inline]
    #[must_use]
    pub fn has_arrived(&self, now: Instant) -> bool {
        self.impairments.is_some() || self.line.front().is_some_and(|(at, _)| *at <= now.as_nanos())
    }

    /// Whether [`Link::poll_dropped`] has something.
    #[inline]
    #[must_use]
    pub fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// The next frame that is on its way, and when it will arrive; [`Link::poll_sent`] takes it.
    #[inline]
    #[must_use]
    pub fn peek_sent(&self) -> Option<(Instant, &Frame)> {
        // A pattern may still put something before it.
        self.line
            .front()
            .filter(|_| self.impairments.is_none())
            .map(|(at, frame)| (Instant::from_nanos(*at), frame))
    }

    /// Takes the next frame that is on its way before it has arrived, and says when it will: for a driver that can make
    /// use of the future, because nothing else can enter the next link, or reach the host at the end, in between.
    #[inline]
    pub fn poll_sent(&mut self) -> Option<(Instant, Frame)> {
        self.line.pop_front().map(|(at, frame)| (Instant::from_nanos(at), frame))
    }

    /// The next frame that was dropped. Times only rise within one reason.
    #[inline]
    pub fn poll_dropped(&mut self) -> Option<Dropped> {
        // Taken from the end, which is cheap: a driver that reuses buffers needs no order, and a recorder sorts by
        // time.
        self.dropped.pop()
    }

    /// Frames waiting at `now`, without the one being sent.
    pub fn queue_len(&mut self, now: Instant) -> usize {
        self.advance(now);
        self.queue.len()
    }

    /// Bytes waiting at `now`, without those being sent.
    pub fn queue_bytes(&mut self, now: Instant) -> u64 {
        self.advance(now);
        self.queue.bytes()
    }

    /// The counts up to `now`.
    pub fn stats(&mut self, now: Instant) -> LinkStats {
        self.advance(now);
        self.counters.at(now, self.transmitter.free_at(), self.queue.marks())
    }

    /// The counts of each class or virtual queue up to `now`; empty for a queue without classes.
    pub fn class_stats(&mut self, now: Instant) -> Vec<ClassStats> {
        self.advance(now);
        self.queue.classes(now)
    }

    /// Statistics of the average queue length, for a queue with one average; `None` for the others.
    pub fn average(&mut self, now: Instant) -> Option<AverageStats> {
        self.advance(now);
        self.queue.average()
    }

    /// Starts counting anew. Frames that wait or are being sent stay.
    pub fn reset_stats(&mut self, now: Instant) {
        self.count_between(now, now, Instant::FAR_FUTURE);
    }

    /// Starts counting anew, but counts only events from `from`, which is not earlier than `now`, until `until`.
    pub fn count_between(&mut self, now: Instant, from: Instant, until: Instant) {
        self.advance(now);
        let span = Span { from: from.as_nanos(), until: until.as_nanos() };
        self.counters = Counters::start(now.as_nanos(), span, self.queue.len(), self.transmitter.free_at());
        self.queue.count(now, span);
    }

    /// Brings the transmitter up to `now`: everything whose turn came is sent, each at its exact time.
    ///
    /// Every waiting frame came while the transmitter was busy, so its turn comes when the transmitter is free.
    #[inline]
    fn advance(&mut self, now: Instant) {
        while !self.queue.is_empty() && self.transmitter.free_at() <= now.as_nanos() {
            if !self.send_one(self.transmitter.free_at()) {
                break;
            }
        }
        if let Some(impairments) = &mut self.impairments {
            impairments.release(now.as_nanos(), &mut self.line);
        }
    }

    /// Sends the next frame at `turn`. False when the queue gave none.
    #[inline]
    fn send_one(&mut self, turn: u64) -> bool {
        let before = self.dropped.len();
        let frame = self.queue.dequeue(Instant::from_nanos(turn), &mut self.dropped);
        self.count_drops(before);
        self.counters.queue_length(turn, self.queue.len());
        let Some(frame) = frame else { return false };
        self.transmit(turn, frame);
        true
    }

    /// The transmitter takes a frame.
    #[inline]
    fn transmit(&mut self, turn: u64, frame: Frame) {
        if self.is_plain {
            let (start, end) = self.transmitter.send(turn, frame.size);
            self.counters.sending(start, end, frame.size);
            self.line.push_back((end.saturating_add(self.delay), frame));
        } else {
            self.transmit_elsewhere(turn, frame);
        }
    }

    /// As [`Link::transmit`], on a link that may lose the frame.
    #[inline(never)]
    fn transmit_elsewhere(&mut self, turn: u64, frame: Frame) {
        if self.impairments.is_some() {
            self.transmit_impaired(turn, frame);
            return;
        }
        let (start, end) = self.transmitter.send(turn, frame.size);
        self.counters.sending(start, end, frame.size);
        if self.loss_at == LossAt::Exit && self.loss.is_lost(&frame) {
            self.lose(Instant::from_nanos(end), frame, DropReason::Error);
        } else {
            self.line.push_back((end.saturating_add(self.delay), frame));
        }
    }

    /// As [`Link::transmit`], on a link with patterns.
    #[cold]
    fn transmit_impaired(&mut self, turn: u64, frame: Frame) {
        let Some(impairments) = &mut self.impairments else { return };
        let start = turn.max(self.transmitter.free_at());
        let (start, end) = match impairments.rate(Instant::from_nanos(start), &frame) {
            impairments::RateNow::Own => self.transmitter.send(turn, frame.size),
            impairments::RateNow::Bits(rate) => {
                self.transmitter.set_rate(rate);
                self.transmitter.send(turn, frame.size)
            }
            impairments::RateNow::Changing(schedule) => self.transmitter.send_by(turn, frame.size, schedule),
        };
        self.counters.sending(start, end, frame.size);
        let lost = if self.loss_at == LossAt::Exit && self.loss.is_lost(&frame) {
            Some(frame)
        } else {
            impairments.pass(end, self.delay, frame, &mut self.line)
        };
        if let Some(frame) = lost {
            self.lose(Instant::from_nanos(end), frame, DropReason::Error);
        }
    }

    /// Counts the drops of the queue beyond the first `before`.
    #[inline]
    fn count_drops(&mut self, before: usize) {
        if self.dropped.len() > before {
            self.count_dropped(before);
        }
    }

    #[inline(never)]
    fn count_dropped(&mut self, before: usize) {
        for dropped in self.dropped.get(before..).unwrap_or_default() {
            self.counters.dropped(dropped.at.as_nanos(), dropped.reason);
        }
    }

    fn lose(&mut self, at: Instant, frame: Frame, reason: DropReason) {
        self.counters.dropped(at.as_nanos(), reason);
        self.dropped.push(Dropped { at, frame, reason });
    }
}

#[cfg(test)]
mod tests;
