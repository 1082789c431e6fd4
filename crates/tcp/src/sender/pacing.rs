//! When the next segment may leave, and what a controller hears that follows a model of the path (BBR): every departure, every
//! acknowledgement that reports something, every loss.

use super::rack::is_of_original;
use super::state::{Phase, Sender};
use crate::flight::Taken;
use anabranch_base::{Duration, Instant};
use anabranch_transport::congestion::{Acked, Timing};
use anabranch_transport::pacer::Rate;

/// What an acknowledgement reported.
pub(super) struct Told {
    pub(super) taken: Taken,
    /// By how much it moved `una`.
    pub(super) advanced: u64,
    /// Bytes SACKed for the first time.
    pub(super) sacked: u64,
    /// Pipe before it came.
    pub(super) flight_before: u64,
}

impl Sender {
    /// How fast segments leave; `None` where they are not paced, or no round trip is known.
    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        let pacer = self.pacer.as_ref()?;
        if self.congestion.is_model() {
            return self.congestion.pacing_rate().and_then(Rate::per_second);
        }
        // As the timeout, it waits no longer for a round trip than the largest timeout.
        let srtt = self.rtt.srtt().map(|srtt| srtt.min(self.config.rto_max));
        pacer.rate(self.congestion.window(), self.congestion.ssthresh(), srtt)
    }

    /// Whether the pacer keeps the next segment back; then its timer is set. Probes and what is forced never ask.
    pub(super) fn must_wait(&mut self, now: Instant) -> bool {
        let Some(rate) = self.pacing_rate() else { return false };
        let longest = self.config.rto_max;
        let waits = self.pacer.as_mut().is_some_and(|pacer| !pacer.lets(now, rate, longest));
        // "A sender SHOULD NOT consider itself application limited if it would have fully utilized the congestion window without pacing
        // delay" (RFC 9002, 7.8).
        if waits && self.queue.end().saturating_sub(self.una) >= self.cwnd() {
            self.cwnd_limited_to = self.max;
        }
        waits
    }

    /// When what waits for the pacer may leave. No clock rounds it: Linux paces by timers of high resolution.
    pub(crate) fn pacing_timer(&self) -> Option<Instant> {
        self.pacer.as_ref()?.at
    }

    /// That time has come, or nothing waits any more.
    pub(crate) fn clear_pacing_timer(&mut self) {
        if let Some(pacer) = &mut self.pacer {
            pacer.at = None;
        }
    }

    /// A segment left, with so many bytes. Pipe was `flight_before`.
    pub(super) fn count_paced(&mut self, now: Instant, flight_before: u64, bytes: u64) {
        if self.pacer.is_none() {
            return;
        }
        let rate = self.pacing_rate();
        if let (Some(pacer), Some(rate)) = (&mut self.pacer, rate) {
            if let Some(quantum) = self.congestion.quantum() {
                pacer.set_bucket(quantum);
            }
            pacer.sent(now, rate, bytes);
        }
        if self.congestion.is_model() {
            let dry = self.is_starved();
            self.congestion.on_sent(now, flight_before, self.flight.pipe(), dry);
        }
    }

    /// Nothing waits to be sent, new or again.
    fn is_starved(&self) -> bool {
        self.queue.end() <= self.max && !self.flight.owes() && self.forced.is_none()
    }

    /// A model hears of every acknowledgement that reports something, also in recovery and without a cumulative advance.
    pub(super) fn tell_acked(&mut self, now: Instant, echo: Option<Duration>, told: &Told) {
        let &Told { taken, advanced, sacked, flight_before } = told;
        if !self.congestion.is_model() || taken.newly + sacked == 0 {
            return;
        }
        let acked = Acked {
            cumulative: taken.newly,
            gap: sacked,
            flight_before,
            cumulative_advanced: advanced > 0,
            in_recovery: self.phase == Phase::Fast,
            all_acked: self.flight.is_empty(),
            ..Acked::default()
        };
        let min_rtt = self.min_rtt.get();
        let (mut once, mut newest) = (None, None);
        for d in self.flight.news() {
            if d.sends == 1 {
                once = once.max(Some(d.sent_at));
            } else if is_of_original(d, now, echo, min_rtt) {
                continue;
            }
            newest = newest.max(Some(d.sent_at));
        }
        let timing = Timing {
            now,
            rtt: once.map(|sent_at| now - sent_at),
            srtt: self.rtt.srtt(),
            una: self.una,
            max: self.max,
            newest_sent: newest,
            flight_before,
            flight: self.flight.pipe(),
            starved: self.is_starved(),
        };
        self.congestion.on_ack(&acked, || timing);
    }

    /// A model hears of every loss that acknowledgements or the time have shown.
    pub(super) fn tell_losses(&mut self, now: Instant) {
        for lost in self.flight.take_losses() {
            self.congestion.on_lost(now, lost.sent_at, lost.size);
        }
    }
}
