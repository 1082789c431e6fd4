//! Counting inside a queue, class by class.

use anabranch_base::Instant;

use crate::stats::{Gauge, Span};
use crate::{AverageStats, ClassStats, DropReason};

/// The number of marks, and sums of the average and of the probability of a drop.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    span: Span,
    marks: u64,
    looks: u64,
    average_sum: f64,
    probability_sum: f64,
    last: f64,
}

impl Watch {
    pub(crate) const fn start(span: Span) -> Self {
        Self { span, marks: 0, looks: 0, average_sum: 0.0, probability_sum: 0.0, last: 0.0 }
    }

    #[inline]
    pub(crate) fn marked(&mut self, now: Instant) {
        self.marks += u64::from(self.span.contains(now.as_nanos()));
    }

    /// A frame arrived; this is the average now, and this the probability that follows from it.
    #[inline]
    pub(crate) fn look(&mut self, now: Instant, average: f64, probability: f64) {
        if self.span.contains(now.as_nanos()) {
            self.looks += 1;
            self.average_sum += average;
            self.probability_sum += probability;
            self.last = average;
        }
    }

    pub(crate) const fn marks(&self) -> u64 {
        self.marks
    }

    /// In units of `scale`.
    pub(crate) fn average(&self, scale: f64) -> AverageStats {
        let looks = if self.looks == 0 { 1.0 } else { self.looks as f64 };
        AverageStats {
            mean: self.average_sum / looks / scale,
            last: self.last / scale,
            probability: self.probability_sum / looks,
        }
    }
}

/// The counts of one class.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    span: Span,
    arrivals: u64,
    arrival_bytes: u64,
    drops: [u64; DropReason::ALL.len()],
    sent: u64,
    sent_bytes: u64,
    waiting: Gauge,
    pub(crate) watch: Watch,
}

impl Tally {
    /// Nothing counted yet; `length` frames wait at `now`.
    pub(crate) const fn start(now: u64, span: Span, length: u64) -> Self {
        Self {
            span,
            arrivals: 0,
            arrival_bytes: 0,
            drops: [0; DropReason::ALL.len()],
            sent: 0,
            sent_bytes: 0,
            waiting: Gauge::start(now, span, length),
            watch: Watch::start(span),
        }
    }

    #[inline]
    pub(crate) fn arrival(&mut self, now: Instant, size: u32) {
        if self.span.contains(now.as_nanos()) {
            self.arrivals += 1;
            self.arrival_bytes += u64::from(size);
        }
    }

    pub(crate) fn dropped(&mut self, at: Instant, reason: DropReason) {
        if self.span.contains(at.as_nanos()) {
            if let Some(count) = self.drops.get_mut(reason as usize) {
                *count += 1;
            }
        }
    }

    #[inline]
    pub(crate) fn sent(&mut self, now: Instant, size: u32) {
        if self.span.contains(now.as_nanos()) {
            self.sent += 1;
            self.sent_bytes += u64::from(size);
        }
    }

    #[inline]
    pub(crate) fn length(&mut self, now: Instant, length: usize) {
        self.waiting.set(now.as_nanos(), length);
    }

    /// The counts. A caller that keeps the average and the marks elsewhere adds them.
    pub(crate) fn stats(&self, name: &str, now: Instant) -> ClassStats {
        let drops = |reason: DropReason| self.drops.get(reason as usize).copied().unwrap_or(0);
        let (drops_full, drops_early) = (drops(DropReason::QueueFull), drops(DropReason::Early));
        let (drops_forced, drops_sojourn) = (drops(DropReason::Forced), drops(DropReason::Sojourn));
        let (queue_mean, queue_max) = self.waiting.at(now.as_nanos());
        ClassStats {
            name: name.to_owned(),
            arrivals: self.arrivals,
            arrival_bytes: self.arrival_bytes,
            drops_queue: drops_full + drops_early + drops_forced + drops_sojourn,
            drops_full,
            drops_early,
            drops_forced,
            drops_sojourn,
            marks: self.watch.marks(),
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            queue_mean,
            queue_max,
            average: None,
        }
    }
}
