//! The counters of a link.

use anabranch_base::{Duration, Instant};

use crate::DropReason;

/// Counts of a link since its start or since [`crate::Link::reset_stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkStats {
    /// Frames offered, dropped ones included.
    pub arrivals: u64,
    /// Bytes offered.
    pub arrival_bytes: u64,
    /// Frames that the queue dropped.
    pub drops_queue: u64,
    /// Of these, dropped because nothing more fitted.
    pub drops_full: u64,
    /// Of these, dropped at random, early.
    pub drops_early: u64,
    /// Of these, dropped because the average was beyond its threshold.
    pub drops_forced: u64,
    /// Of these, dropped because they had waited too long.
    pub drops_sojourn: u64,
    /// Frames that a policer at the entry dropped.
    pub drops_policed: u64,
    /// Frames that the loss model took.
    pub drops_error: u64,
    /// Frames that the queue marked (congestion experienced) instead of dropping them.
    pub marks: u64,
    /// Frames that were sent, whether the loss model took them afterwards or not.
    pub sent: u64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
    /// Time spent sending, to the end of the span.
    pub busy: Duration,
    /// Length of the span that the counts cover.
    pub span: Duration,
    /// Frames waiting, without the one being sent, averaged over time.
    pub queue_mean: f64,
    /// Most frames waiting at once, for any time at all.
    pub queue_max: u64,
}

impl LinkStats {
    /// Share of the time in which the link was sending, 0 to 1.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        if self.span == Duration::ZERO {
            return 0.0;
        }
        self.busy.as_nanos() as f64 / self.span.as_nanos() as f64
    }
}

/// Statistics of the average that a random early drop decides by, over the frames that arrived since counting started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AverageStats {
    /// The average queue length at each arrival, averaged over the arrivals. Packets; where bytes are counted, bytes
    /// divided by the mean packet size.
    pub mean: f64,
    /// The average at the last arrival.
    pub last: f64,
    /// The probability of a drop or a mark before it is spread over arrivals, averaged over the arrivals.
    pub probability: f64,
}

/// Counts of one class of a queue, or of one virtual queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassStats {
    /// Its name; that of a class within a class stands behind a dot.
    pub name: String,
    /// Frames offered, dropped ones included.
    pub arrivals: u64,
    /// Bytes offered.
    pub arrival_bytes: u64,
    /// Frames that the queue dropped.
    pub drops_queue: u64,
    /// Of these, dropped because nothing more fitted.
    pub drops_full: u64,
    /// Of these, dropped at random, early.
    pub drops_early: u64,
    /// Of these, dropped because the average was beyond its threshold.
    pub drops_forced: u64,
    /// Of these, dropped because they had waited too long.
    pub drops_sojourn: u64,
    /// Frames marked instead of dropped.
    pub marks: u64,
    /// Frames that left the queue to be sent.
    pub sent: u64,
    /// Bytes that left the queue to be sent.
    pub sent_bytes: u64,
    /// Frames waiting, averaged over time.
    pub queue_mean: f64,
    /// Most frames waiting at once, for any time at all.
    pub queue_max: u64,
    /// For a discipline that averages.
    pub average: Option<AverageStats>,
}

/// The time span of the counts (nanoseconds): events outside are not counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) until: u64,
}

impl Span {
    pub(crate) const ALL: Self = Self { from: 0, until: u64::MAX };

    #[inline]
    pub(crate) const fn contains(self, at: u64) -> bool {
        self.from <= at && at < self.until
    }

    /// How much of `start..end` lies within the span.
    #[inline]
    pub(crate) fn overlap(self, start: u64, end: u64) -> u64 {
        end.min(self.until).saturating_sub(start.max(self.from))
    }
}

/// The length of a queue over the span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauge {
    span: Span,
    /// Integral of the queue length over the span, up to `changed`.
    area: u128,
    changed: u64,
    length: u64,
    longest: u64,
}

impl Gauge {
    pub(crate) const fn start(now: u64, span: Span, length: u64) -> Self {
        Self { span, area: 0, changed: now, length, longest: 0 }
    }

    /// From `now` on, `length` frames wait.
    #[inline]
    pub(crate) fn set(&mut self, now: u64, length: usize) {
        let length = length as u64;
        if length != self.length {
            let held = self.span.overlap(self.changed, now);
            if held > 0 {
                self.area += u128::from(self.length) * u128::from(held);
                self.longest = self.longest.max(self.length);
            }
            self.changed = now;
            self.length = length;
        }
    }

    /// Mean and maximum up to `now`.
    pub(crate) fn at(&self, now: u64) -> (f64, u64) {
        let now = now.min(self.span.until);
        let span = now.saturating_sub(self.span.from);
        let held = self.span.overlap(self.changed, now);
        let area = self.area + u128::from(self.length) * u128::from(held);
        let mean = if span == 0 { self.length as f64 } else { area as f64 / span as f64 };
        (mean, if held > 0 { self.longest.max(self.length) } else { self.longest })
    }
}

/// The running counts of a span. Events outside the span are not counted, so a link may be ahead of its driver's clock.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    arrivals: u64,
    arrival_bytes: u64,
    drops: [u64; DropReason::ALL.len()],
    sent: u64,
    sent_bytes: u64,
    span: Span,
    /// Nanoseconds of sending within the span, those of the frame in service to its very end.
    busy: u64,
    waiting: Gauge,
}

impl Counters {
    /// Nothing counted yet. At `now`, which is not later than the span's start, `length` frames wait and the transmitter
    /// is busy until `free_at`.
    pub(crate) fn start(now: u64, span: Span, length: usize, free_at: u64) -> Self {
        Self {
            arrivals: 0,
            arrival_bytes: 0,
            drops: [0; DropReason::ALL.len()],
            sent: 0,
            sent_bytes: 0,
            span,
            busy: span.overlap(now, free_at),
            waiting: Gauge::start(now, span, length as u64),
        }
    }

    #[inline]
    pub(crate) fn arrival(&mut self, now: u64, size: u32) {
        if self.span.contains(now) {
            self.arrivals += 1;
            self.arrival_bytes += u64::from(size);
        }
    }

    /// A frame was dropped.
    pub(crate) fn dropped(&mut self, at: u64, reason: DropReason) {
        if self.span.contains(at) {
            if let Some(count) = self.drops.get_mut(reason as usize) {
                *count += 1;
            }
        }
    }

    /// A frame went into service.
    #[inline]
    pub(crate) fn sending(&mut self, start: u64, end: u64, size: u32) {
        // As a rule all of it lies within the span.
        if self.span.from <= start && end < self.span.until {
            self.sent += 1;
            self.sent_bytes += u64::from(size);
            self.busy += end - start;
        } else {
            self.sending_at_edge(start, end, size);
        }
    }

    #[inline(never)]
    fn sending_at_edge(&mut self, start: u64, end: u64, size: u32) {
        if self.span.contains(start) {
            self.sent += 1;
            self.sent_bytes += u64::from(size);
        }
        self.busy += self.span.overlap(start, end);
    }

    /// A frame came in and went into service at once.
    #[inline]
    pub(crate) fn passing(&mut self, start: u64, end: u64, size: u32) {
        self.arrival(start, size);
        self.sending(start, end, size);
    }

    /// From `now` on, `length` frames wait.
    #[inline]
    pub(crate) fn queue_length(&mut self, now: u64, length: usize) {
        self.waiting.set(now, length);
    }

    pub(crate) fn at(&self, now: Instant, free_at: u64, marks: u64) -> LinkStats {
        let now = now.as_nanos().min(self.span.until);
        let drops = |reason: DropReason| self.drops.get(reason as usize).copied().unwrap_or(0);
        let (queue_mean, queue_max) = self.waiting.at(now);
        let (drops_full, drops_early) = (drops(DropReason::QueueFull), drops(DropReason::Early));
        let (drops_forced, drops_sojourn) = (drops(DropReason::Forced), drops(DropReason::Sojourn));
        LinkStats {
            arrivals: self.arrivals,
            arrival_bytes: self.arrival_bytes,
            drops_queue: drops_full + drops_early + drops_forced + drops_sojourn,
            drops_full,
            drops_early,
            drops_forced,
            drops_sojourn,
            drops_policed: drops(DropReason::Policed),
            drops_error: drops(DropReason::Error),
            marks,
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            // Busy time booked beyond `now` belongs to the frame in service alone: the next starts when it has ended.
            busy: Duration::from_nanos(self.busy.saturating_sub(self.span.overlap(now, free_at))),
            span: Duration::from_nanos(now.saturating_sub(self.span.from)),
            queue_mean,
            queue_max,
        }
    }
}
