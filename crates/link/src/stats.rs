//! What a link has counted.

use anabranch_base::{Duration, Instant};

/// Counts of a link since its start or since [`crate::Link::reset_stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkStats {
    /// Frames offered, dropped ones included.
    pub arrivals: u64,
    /// Bytes offered.
    pub arrival_bytes: u64,
    /// Frames that the queue dropped.
    pub drops_queue: u64,
    /// Frames that the loss model took.
    pub drops_error: u64,
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

/// The running counts of the span `from..until`. What happens outside the span does not count, so a link may be ahead of
/// its driver's clock.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    arrivals: u64,
    arrival_bytes: u64,
    drops_queue: u64,
    drops_error: u64,
    sent: u64,
    sent_bytes: u64,
    from: u64,
    until: u64,
    /// Nanoseconds of sending within the span, those of the frame in service to its very end.
    busy: u64,
    /// Integral of the queue length over the span, up to `changed`.
    area: u128,
    changed: u64,
    length: u64,
    longest: u64,
}

impl Counters {
    /// Nothing counted yet; counts from `from` until `until`. At `now`, which is not later than `from`, `length` frames
    /// wait and the transmitter is busy until `free_at`.
    pub(crate) fn start(now: u64, from: u64, until: u64, length: usize, free_at: u64) -> Self {
        let length = length as u64;
        let mut counters = Self {
            arrivals: 0,
            arrival_bytes: 0,
            drops_queue: 0,
            drops_error: 0,
            sent: 0,
            sent_bytes: 0,
            from,
            until,
            busy: 0,
            area: 0,
            changed: now,
            length,
            longest: 0,
        };
        counters.busy = counters.overlap(now, free_at);
        counters
    }

    #[inline]
    fn counts(&self, at: u64) -> bool {
        self.from <= at && at < self.until
    }

    /// How much of `start..end` lies within the span.
    #[inline]
    fn overlap(&self, start: u64, end: u64) -> u64 {
        end.min(self.until).saturating_sub(start.max(self.from))
    }

    #[inline]
    pub(crate) fn arrival(&mut self, now: u64, size: u32) {
        if self.counts(now) {
            self.arrivals += 1;
            self.arrival_bytes += u64::from(size);
        }
    }

    #[inline]
    pub(crate) fn queue_drops(&mut self, now: u64, frames: usize) {
        if frames > 0 && self.counts(now) {
            self.drops_queue += frames as u64;
        }
    }

    pub(crate) fn error(&mut self, now: u64) {
        if self.counts(now) {
            self.drops_error += 1;
        }
    }

    /// A frame went into service.
    #[inline]
    pub(crate) fn sending(&mut self, start: u64, end: u64, size: u32) {
        if self.counts(start) {
            self.sent += 1;
            self.sent_bytes += u64::from(size);
        }
        self.busy += self.overlap(start, end);
    }

    /// From `now` on, `length` frames wait.
    #[inline]
    pub(crate) fn queue_length(&mut self, now: u64, length: usize) {
        let length = length as u64;
        if length != self.length {
            let held = self.overlap(self.changed, now);
            if held > 0 {
                self.area += u128::from(self.length) * u128::from(held);
                self.longest = self.longest.max(self.length);
            }
            self.changed = now;
            self.length = length;
        }
    }

    pub(crate) fn at(&self, now: Instant, free_at: u64) -> LinkStats {
        let now = now.as_nanos().min(self.until);
        let span = now.saturating_sub(self.from);
        let held = self.overlap(self.changed, now);
        let area = self.area + u128::from(self.length) * u128::from(held);
        LinkStats {
            arrivals: self.arrivals,
            arrival_bytes: self.arrival_bytes,
            drops_queue: self.drops_queue,
            drops_error: self.drops_error,
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            // What is booked beyond `now` belongs to the frame in service alone: the next starts when it has ended.
            busy: Duration::from_nanos(self.busy.saturating_sub(self.overlap(now, free_at))),
            span: Duration::from_nanos(span),
            queue_mean: if span == 0 { self.length as f64 } else { area as f64 / span as f64 },
            queue_max: if held > 0 { self.longest.max(self.length) } else { self.longest },
        }
    }
}
