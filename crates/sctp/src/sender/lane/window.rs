//! The congestion window of a lane: its controller, its peak, the end of the round trip and the time of the last data.

use anabranch_base::{Duration, Instant};
use anabranch_transport::congestion::{Acked, Congestion, Controller, Growth, Timing};

use super::mark_response::{Circumstances, Marked, Report};

/// Congestion window of a lane.
#[derive(Debug)]
pub(in crate::sender) struct Window {
    controller: Controller,
    /// The largest window so far, bytes.
    peak: u64,
    /// The number whose acknowledgement ends the round trip.
    round_end: u64,
    /// Time of the last DATA sent that was no window probe.
    last_sent: Option<Instant>,
}

impl Window {
    pub(super) fn new(controller: Controller) -> Self {
        Self { peak: controller.window(), controller, round_end: 0, last_sent: None }
    }

    /// Bytes that may be in flight.
    #[inline]
    pub(in crate::sender) fn cwnd(&self) -> u64 {
        self.controller.window()
    }

    #[inline]
    pub(in crate::sender) fn ssthresh(&self) -> u64 {
        self.controller.ssthresh()
    }

    /// The controller, to be looked at.
    #[inline]
    pub(in crate::sender) fn controller(&self) -> &Controller {
        &self.controller
    }

    /// True if a model of the path decides.
    #[inline]
    pub(in crate::sender) fn is_model(&self) -> bool {
        self.controller.is_model()
    }

    /// The largest window so far, bytes.
    pub(in crate::sender) fn peak(&self) -> u64 {
        self.peak
    }

    /// The largest window counts from now on.
    pub(in crate::sender) fn reset_peak(&mut self) {
        self.peak = self.controller.window();
    }

    /// The window has changed: it may be the largest so far.
    #[inline]
    pub(in crate::sender) fn note_peak(&mut self) {
        self.peak = self.peak.max(self.controller.window());
    }

    /// Time at which the last data left that was no window probe.
    #[inline]
    pub(in crate::sender) fn last_sent(&self) -> Option<Instant> {
        self.last_sent
    }

    /// A chunk leaves at `now`.
    #[inline]
    pub(super) fn sent(&mut self, now: Instant) {
        self.last_sent = Some(now);
    }

    /// The last chunk was a window probe. Probes do not end the idleness of the window: it counts from `last_sent`, as before.
    pub(super) fn sent_probe(&mut self, last_sent: Option<Instant>) {
        self.last_sent = last_sent;
    }

    /// A packet has left: a model hears of every departure.
    pub(in crate::sender) fn packet_left(&mut self, now: Instant, before: u64, in_flight: u64, dry: bool) {
        self.controller.on_sent(now, before, in_flight, dry);
    }

    /// True if a round trip has ended, as `first` is the first number not acknowledged; the next one ends with
    /// `next`.
    #[inline]
    pub(in crate::sender) fn ends_round(&mut self, first: u64, next: u64) -> bool {
        let ended = first > self.round_end;
        if ended {
            self.round_end = next;
        }
        ended
    }

    /// Chunks were acknowledged, and the controller wants no times ([`Controller::wants_times`]).
    #[inline]
    pub(in crate::sender) fn acknowledged(&mut self, acked: &Acked) {
        self.controller.on_ack(acked, Timing::default);
    }

    /// Chunks were acknowledged, and the controller wants times.
    pub(in crate::sender) fn acknowledged_in_time(&mut self, acked: &Acked, timing: &Timing) {
        self.controller.on_timed_ack(acked, timing);
    }

    /// Chunks were lost, or a lane that shares the bottleneck has lost some.
    #[inline]
    pub(in crate::sender) fn cut(&mut self, event: Congestion) {
        self.controller.on_congestion(event);
    }

    /// A chunk of so many bytes is lost: a model counts each.
    #[inline]
    pub(in crate::sender) fn chunk_lost(&mut self, now: Instant, sent_at: Instant, bytes: u64) {
        self.controller.on_lost(now, sent_at, bytes);
    }

    /// Packets were marked, as `report` says. True when the window has come down for it.
    pub(super) fn packets_marked(
        &mut self,
        marked: &mut Marked,
        around: &Circumstances<'_>,
        report: &Report,
        unit: u64,
        known: bool,
    ) -> bool {
        marked.on_report(&mut self.controller, around, report, unit, known)
    }

    /// The cut was needless.
    pub(super) fn undo(&mut self) {
        self.controller.undo();
    }

    /// Lanes that are coupled grow together.
    #[inline]
    pub(in crate::sender) fn set_growth(&mut self, growth: Growth) {
        self.controller.set_growth(growth);
    }

    /// The lane acts as one flow with others, and has its window.
    pub(in crate::sender) fn share(&mut self, bytes: u64) {
        self.controller.set_window(bytes);
        self.note_peak();
    }

    /// The lane has acted as one flow with others, and has its part of the window from now on.
    pub(in crate::sender) fn divide(&mut self, bytes: u64) {
        self.controller.limit_window(bytes);
        self.controller.seed_ssthresh(bytes);
    }

    /// Another lane was merged into this one: windows add up.
    pub(in crate::sender) fn absorb(&mut self, window: u64, ssthresh: u64) {
        self.controller.absorb(window, ssthresh);
        self.note_peak();
    }

    /// Windows are counted in so many bytes.
    pub(super) fn resize(&mut self, unit: u64) {
        self.controller.resize(unit);
        self.note_peak();
    }

    /// Numbers begin anew.
    pub(in crate::sender) fn forget_numbers(&mut self) {
        self.round_end = 0;
        self.controller.end_round();
    }

    /// No data was sent for `pause`.
    pub(super) fn paused(&mut self, pause: Duration) {
        self.controller.on_pause(pause);
    }

    /// So many RTOs have passed without a transmission, and are over now: the controller adapts to each.
    pub(super) fn idled(&mut self, now: Instant, times: u64) {
        for _ in 0..times {
            self.controller.on_idle();
        }
        if times > 0 {
            self.last_sent = Some(now);
        }
    }
}
