//! Limits on outstanding data and on its rate: the congestion controller, reductions of its window, and the pacer.
//!
//! A controller that follows a model of the path (BBR) hears of every departure, every acknowledgement that reports something, and
//! every loss; the others hear of new acknowledgements and of congestion.

use super::inflight::Inflight;
use super::phase::Phase;
use super::terms::Terms;
use crate::config::Reduction;
use crate::flight::Lost;
use anabranch_base::{Duration, Instant};
use anabranch_transport::congestion::{Acked, Base, Congestion, Controller, Timing};
use anabranch_transport::pacer::{Pacer, Rate};
use anabranch_transport::reduction::Reducing;

/// A segment that left, for a controller or pacer that counts departures.
pub(super) struct Departure {
    /// Sequence numbers that it takes.
    pub(super) bytes: u64,
    /// The pipe before and after.
    pub(super) pipe: (u64, u64),
    /// Nothing waits behind it, new or again.
    pub(super) starved: bool,
    /// The smoothed round trip.
    pub(super) srtt: Option<Duration>,
}

/// The congestion window and the pace.
#[derive(Debug)]
pub(super) struct Window {
    controller: Controller,
    /// With `pacing`, and where the controller follows a model.
    pacer: Option<Box<Pacer>>,
    /// While the window comes down by and by.
    reducing: Option<Reducing>,
    inflight: Option<Inflight>,
    last_sent: Option<Instant>,
    /// cwnd was the limit for everything sent before this sequence number.
    limited_to: u64,
    /// As the timeout, the pacer waits no longer for a round trip than the largest timeout.
    longest: Duration,
}

impl Window {
    pub(super) fn new(terms: &Terms) -> Self {
        Self {
            controller: terms.controller(),
            pacer: None,
            reducing: None,
            inflight: terms.config().inflight_limit.then(Inflight::default),
            last_sent: None,
            limited_to: 0,
            longest: terms.config().rto_max,
        }
    }

    /// The handshake is over, the size of segments is known.
    pub(super) fn establish(&mut self, terms: &Terms) {
        self.controller = terms.controller();
        self.pacer = terms.config().pacer(terms.mss(), self.is_model());
    }

    /// The controller's window.
    #[inline]
    pub(super) fn size(&self) -> u64 {
        self.controller.window()
    }

    #[inline]
    pub(super) fn ssthresh(&self) -> u64 {
        self.controller.ssthresh()
    }

    /// True if the controller follows a model of the path.
    #[inline]
    pub(super) fn is_model(&self) -> bool {
        self.controller.is_model()
    }

    /// Bytes that may be outstanding, as reduced or limited at the moment.
    #[inline]
    pub(super) fn allowed(&self, phase: Phase) -> u64 {
        let window = match &self.reducing {
            Some(reducing) if phase == Phase::Fast => reducing.window(),
            _ => self.controller.window(),
        };
        self.inflight.as_ref().and_then(Inflight::window).map_or(window, |limit| window.min(limit))
    }

    /// The window held back the data from `max` on.
    #[inline]
    pub(super) fn held_back(&mut self, max: u64) {
        self.limited_to = max;
    }

    /// Takes over the ssthresh with which earlier connections to the host ended.
    pub(super) fn seed(&mut self, ssthresh: u64) {
        self.controller.seed_ssthresh(ssthresh);
    }

    /// Sets the window to so many bytes.
    pub(super) fn set(&mut self, bytes: u64) {
        self.controller.set_window(bytes);
    }

    /// Slow start begins again, with so many bytes.
    pub(super) fn restart(&mut self, bytes: u64) {
        self.controller.restart(bytes);
    }

    /// Fast recovery deflates the window to at most so many bytes.
    pub(super) fn limit(&mut self, bytes: u64) {
        self.controller.limit_window(bytes);
    }

    /// RFC 5681, section 4.1: "cwnd ... reduced ... if the TCP has not sent data in an interval exceeding the RTO". Nothing is outstanding,
    /// and new data waits.
    pub(super) fn restart_after_idle(&mut self, terms: &Terms, now: Instant, rto: Duration) {
        if self.last_sent.is_some_and(|at| now - at > rto) {
            self.last_sent = None;
            self.controller.restart(terms.config().initial_window.bytes(terms.mss()));
        }
    }

    /// New data was acknowledged: the capacity of the path is measured, with `inflight_limit`.
    pub(super) fn measure(&mut self, terms: &Terms, timing: &Timing) {
        if let Some(inflight) = &mut self.inflight {
            inflight.on_ack(timing.now, timing.una, timing.rtt, timing.srtt, terms.mss());
        }
    }

    /// So many bytes were acknowledged in order, outside of fast recovery.
    pub(super) fn grow(&mut self, terms: &Terms, bytes: u64, timing: Timing) {
        if self.is_model() {
            // A model takes every acknowledgement with news, in recovery as well.
            return;
        }
        if !terms.config().growth_needs_full_window || timing.una <= self.limited_to {
            let acked = Acked {
                cumulative: bytes,
                flight_before: u64::MAX,
                cumulative_advanced: true,
                ..Acked::default()
            };
            self.controller.on_ack(&acked, || timing);
        }
    }

    /// A model hears of every acknowledgement that reports something, also in recovery and without a cumulative advance.
    pub(super) fn tell_acked(&mut self, acked: &Acked, timing: Timing) {
        self.controller.on_ack(acked, || timing);
    }

    /// A model hears of every loss that acknowledgements or the time have shown.
    pub(super) fn tell_losses(&mut self, now: Instant, losses: Vec<Lost>) {
        for lost in losses {
            self.controller.on_lost(now, lost.sent_at, lost.size);
        }
    }

    /// Fast recovery begins: the window comes down, at once or by and by.
    pub(super) fn reduce(&mut self, terms: &Terms, base: Base, outstanding: u64) {
        let before = self.controller.window();
        self.answer_loss(base);
        if terms.recovery().has_scoreboard() && !self.is_model() {
            // In whole segments, as Linux counts. A SACKed segment stays so until a timeout, which ends the
            // reduction: nothing counts twice.
            let (most, mss) = (before.max(outstanding), terms.mss());
            self.reducing = match terms.config().reduction {
                Reduction::AtOnce => None,
                Reduction::Prr => Some(Reducing::proportional(before, most, mss, mss)),
                Reduction::RateHalving => Some(Reducing::halving(before, mss)),
            };
        }
    }

    /// A loss was found and repaired at once: ssthresh and window answer, and no recovery begins.
    pub(super) fn answer_loss(&mut self, base: Base) {
        self.controller.on_congestion(Congestion::FastRetransmit(base));
    }

    /// A timeout; without `base` ssthresh stays.
    pub(super) fn on_timeout(&mut self, base: Option<Base>) {
        self.controller.on_congestion(Congestion::Timeout(base));
        self.reducing = None;
    }

    /// So many bytes were reported while the window may be coming down.
    pub(super) fn reported(&mut self, bytes: u64, advanced: bool, pipe: u64) {
        if let Some(reducing) = &mut self.reducing {
            reducing.on_ack(bytes, 0, advanced, pipe, self.controller.ssthresh());
        }
    }

    /// Fast recovery is over: the controller's window is the limit on outstanding data again.
    pub(super) fn recovered(&mut self) {
        self.reducing = None;
    }

    /// The last reduction was needless.
    pub(super) fn undo(&mut self) {
        self.controller.undo();
        self.reducing = None;
    }

    /// Rate at which segments leave; `None` where they are not paced, or no round trip is known.
    #[inline]
    pub(super) fn pacing_rate(&self, srtt: Option<Duration>) -> Option<Rate> {
        let pacer = self.pacer.as_ref()?;
        if self.is_model() {
            return self.controller.pacing_rate().and_then(Rate::per_second);
        }
        let srtt = srtt.map(|srtt| srtt.min(self.longest));
        pacer.rate(self.controller.window(), self.controller.ssthresh(), srtt)
    }

    /// True if the pacer keeps the next segment back; then its timer is set. Probes and forced retransmissions never
    /// ask.
    #[inline]
    pub(super) fn must_wait(&mut self, now: Instant, srtt: Option<Duration>) -> bool {
        let Some(rate) = self.pacing_rate(srtt) else { return false };
        let longest = self.longest;
        self.pacer.as_mut().is_some_and(|pacer| !pacer.lets(now, rate, longest))
    }

    /// Time at which the next segment that waits for the pacer may leave. No clock rounds it: Linux paces by timers
    /// of high resolution.
    #[inline]
    pub(super) fn pacing_timer(&self) -> Option<Instant> {
        self.pacer.as_ref()?.at
    }

    /// Clears the pacing timer, once it has fired or nothing waits any more.
    #[inline]
    pub(super) fn clear_pacing_timer(&mut self) {
        if let Some(pacer) = &mut self.pacer {
            pacer.at = None;
        }
    }

    /// A segment left.
    #[inline]
    pub(super) fn on_sent(&mut self, terms: &Terms, now: Instant, departure: &Departure) {
        self.last_sent = Some(now);
        if let Some(reducing) = &mut self.reducing {
            reducing.on_sent(terms.mss());
        }
        if self.pacer.is_none() {
            return;
        }
        let rate = self.pacing_rate(departure.srtt);
        if let (Some(pacer), Some(rate)) = (&mut self.pacer, rate) {
            if let Some(quantum) = self.controller.quantum() {
                pacer.set_bucket(quantum);
            }
            pacer.sent(now, rate, departure.bytes);
        }
        if self.is_model() {
            let (before, after) = departure.pipe;
            self.controller.on_sent(now, before, after, departure.starved);
        }
    }

    /// Nothing will be sent any more: gives the memory back.
    pub(super) fn clear(&mut self) {
        self.pacer = None;
    }
}
