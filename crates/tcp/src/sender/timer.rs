//! The one timer of a sender, for timeout, probe and reordering (RFC 8985, section 8); with a shut window it is the persist timer.

use anabranch_base::{Duration, Instant};
use anabranch_transport::clock::Clock;

/// Purpose of the timer; the persist timer is a timeout with a shut window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    Timeout,
    /// Tail loss probe.
    Probe,
    /// RACK's reordering timer.
    Reordering,
}

/// The sender's timer, its purpose, and its expiries in a row without success.
#[derive(Debug)]
pub(super) struct SendTimer {
    clock: Clock,
    /// Retransmission or persist timer; never both.
    at: Option<Instant>,
    alarm: Alarm,
    /// When the retransmission timer would expire, were it not for a probe.
    timeout_at: Instant,
    /// Timeouts in a row without an acknowledgement of new data.
    failures: u32,
}

impl SendTimer {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, at: None, alarm: Alarm::Timeout, timeout_at: Instant::ZERO, failures: 0 }
    }

    #[inline]
    pub(super) fn at(&self) -> Option<Instant> {
        self.at
    }

    #[inline]
    pub(super) fn is_running(&self) -> bool {
        self.at.is_some()
    }

    /// Its purpose now, or when it last ran.
    #[inline]
    pub(super) fn alarm(&self) -> Alarm {
        self.alarm
    }

    /// When the retransmission timer would expire, were it not for a probe.
    pub(super) fn timeout_at(&self) -> Instant {
        self.timeout_at
    }

    pub(super) fn arm(&mut self, now: Instant, span: Duration, alarm: Alarm) {
        self.at = Some(self.clock.after(now, span));
        self.alarm = alarm;
    }

    pub(super) fn stop(&mut self) {
        self.at = None;
    }

    /// The retransmission timeout counts from now, whatever the timer itself is armed for.
    pub(super) fn timeout_in(&mut self, now: Instant, rto: Duration) {
        self.timeout_at = now + rto;
    }

    /// The timer expired as a timeout. Returns the number of timeouts in a row.
    pub(super) fn failed(&mut self) -> u32 {
        self.failures += 1;
        self.failures
    }

    /// New data was acknowledged.
    pub(super) fn answered(&mut self) {
        self.failures = 0;
    }
}
