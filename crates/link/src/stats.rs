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
    /// Most frames waiting at once.
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

/// The running counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) arrivals: u64,
    pub(crate) arrival_bytes: u64,
    pub(crate) drops_queue: u64,
    pub(crate) drops_error: u64,
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    since: u64,
    /// Nanoseconds of sending that have been booked, those of the frame in service to its very end.
    busy: u64,
    /// Integral of the queue length over time, up to `changed`.
    area: u128,
    changed: u64,
    length: u64,
    longest: u64,
}

impl Counters {
    /// Nothing counted yet, from `now` on. `length` frames wait, the transmitter is busy until `free_at`.
    pub(crate) fn start(now: u64, length: usize, free_at: u64) -> Self {
        let length = length as u64;
        Self {
            since: now,
            changed: now,
            length,
            longest: length,
            busy: free_at.saturating_sub(now),
            ..Self::default()
        }
    }

    /// A frame went into service.
    #[inline]
    pub(crate) fn sending(&mut self, start: u64, end: u64, size: u32) {
        self.sent += 1;
        self.sent_bytes += u64::from(size);
        self.busy += end - start;
    }

    /// From `now` on, `length` frames wait.
    #[inline]
    pub(crate) fn queue_length(&mut self, now: u64, length: usize) {
        let length = length as u64;
        if length != self.length {
            self.area += u128::from(self.length) * u128::from(now.saturating_sub(self.changed));
            self.changed = now;
            self.length = length;
            self.longest = self.longest.max(length);
        }
    }

    pub(crate) fn at(&self, now: Instant, free_at: u64) -> LinkStats {
        let now = now.as_nanos();
        let span = now.saturating_sub(self.since);
        let area = self.area + u128::from(self.length) * u128::from(now.saturating_sub(self.changed));
        LinkStats {
            arrivals: self.arrivals,
            arrival_bytes: self.arrival_bytes,
            drops_queue: self.drops_queue,
            drops_error: self.drops_error,
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            // What is booked beyond `now` belongs to the frame in service alone: the next starts when it has ended.
            busy: Duration::from_nanos(self.busy.saturating_sub(free_at.saturating_sub(now))),
            span: Duration::from_nanos(span),
            queue_mean: if span == 0 { self.length as f64 } else { area as f64 / span as f64 },
            queue_max: self.longest,
        }
    }
}
