//! RACK (RFC 8985, section 6): a segment is lost when one that was sent long enough after it has arrived.

use super::{Alarm, Context, Phase, Sender};
use crate::config::LossRecovery;
use crate::flight::Delivered;
use anabranch_base::{Duration, Instant};

/// State of the connection, named as in section 5.3.
#[derive(Debug)]
pub(super) struct Rack {
    /// RACK.rtt.
    rtt: Duration,
    /// RACK.xmit_ts and RACK.end_seq: the segment sent last of those that arrived.
    newest: Option<(Instant, u64)>,
    /// RACK.fack.
    forward: u64,
    reordering_seen: bool,
    dsack_round: Option<u64>,
    reo_wnd_mult: u64,
    reo_wnd_persist: u32,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            rtt: Duration::ZERO,
            newest: None,
            forward: 0,
            reordering_seen: false,
            dsack_round: None,
            reo_wnd_mult: 1,
            reo_wnd_persist: 16,
        }
    }

    /// Step 2: the segment sent last of those that arrived. `echo` is the time that the timestamp option echoes.
    fn update(&mut self, news: &[Delivered], now: Instant, echo: Option<Instant>, min_rtt: Option<Duration>) {
        let mut last = None;
        for d in news {
            let rtt = now - d.sent_at;
            if d.sends > 1 {
                // It may be the original that arrived, not the retransmission.
                let older = echo.is_some_and(|echo| echo < floor_millis(d.sent_at));
                if older || min_rtt.is_some_and(|min| rtt < min) {
                    continue;
                }
            }
            last = last.max(Some((d.sent_at, d.end)));
        }
        if let Some(last) = last {
            self.rtt = now - last.0;
            self.newest = self.newest.max(Some(last));
        }
    }

    /// Step 3: "original data segments being delivered out of order". `news` is in order of sequence numbers.
    fn detect_reordering(&mut self, news: &[Delivered]) {
        for d in news {
            if d.end > self.forward {
                self.forward = d.end;
            } else if d.end < self.forward && d.sends == 1 {
                self.reordering_seen = true;
            }
        }
    }

    /// Step 4, the part about DSACK: a round with one widens the window.
    fn adapt(&mut self, duplicate: bool, una: u64, max: u64) {
        if self.dsack_round.is_some_and(|round| una >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && duplicate {
            self.dsack_round = Some(max);
            self.reo_wnd_mult += 1;
            self.reo_wnd_persist = 16;
        }
    }

    /// "Reset the window after 16 DSACK-free recoveries".
    pub(super) fn on_recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }
}

/// The timestamp clock ticks in milliseconds.
fn floor_millis(at: Instant) -> Instant {
    Instant::from_nanos(at.as_nanos() / 1_000_000 * 1_000_000)
}

impl Sender {
    /// Steps 2 to 5 for an acknowledgement. `echo` is the age of the timestamp that it echoes.
    pub(super) fn rack_on_ack(&mut self, cx: &mut Context<'_>, echo: Option<Duration>, duplicate: bool) {
        let min_rtt = self.min_rtt.get();
        let Some(rack) = &mut self.rack else { return };
        let echo = echo.map(|age| Instant::ZERO + (floor_millis(cx.now) - Instant::ZERO).saturating_sub(age));
        let news = self.flight.news();
        rack.update(news, cx.now, echo, min_rtt);
        rack.detect_reordering(news);
        let counts = rack.reordering_seen || !self.config.rack_dsack_needs_reordering;
        rack.adapt(duplicate && counts, self.una, self.max);
        self.rack_detect_loss(cx);
    }

    /// RACK.reo_wnd, step 4.
    fn reordering_window(&self, rack: &Rack) -> Duration {
        if !rack.reordering_seen {
            let enough = self.flight.sacked_segments() >= self.config.duplicate_threshold as usize;
            if self.phase != Phase::Open || enough {
                return Duration::ZERO;
            }
        }
        let window = self.min_rtt.get().map_or(Duration::ZERO, |min| min * rack.reo_wnd_mult / 4);
        self.rtt.srtt().map_or(window, |srtt| window.min(srtt))
    }

    /// Step 5.
    fn rack_detect_loss(&mut self, cx: &mut Context<'_>) {
        let Some(rack) = &self.rack else { return };
        let Some(newest) = rack.newest else { return };
        let span = rack.rtt + self.reordering_window(rack);
        let (lost, wait) = self.flight.lose_older(newest, span, cx.now);
        if lost && self.phase == Phase::Open {
            self.enter_fast_recovery(cx);
        }
        if let Some(wait) = wait {
            self.arm(cx.now, wait + self.config.probe_margin, Alarm::Reordering);
        }
    }

    /// The reordering timer expired: what is still missing is lost.
    pub(super) fn on_reordering_timer(&mut self, cx: &mut Context<'_>) {
        self.timer = None;
        let before = self.phase;
        self.rack_detect_loss(cx);
        if let Some(reducing) = self.reducing.as_mut().filter(|_| before == Phase::Open) {
            // What was reported last began this; no acknowledgement will count it.
            reducing.on_ack(self.mss, false, self.flight.pipe(), self.congestion.ssthresh());
        }
        if self.timer.is_none() {
            self.resume_timeout(cx.now);
        }
        self.record_window(cx);
    }

    /// Section 6.3: which segments a timeout holds for lost.
    pub(super) fn lose_at_timeout(&mut self, now: Instant) {
        match &self.rack {
            Some(rack) if self.recovery == LossRecovery::Rack => {
                let span = rack.rtt + self.reordering_window(rack);
                self.flight.lose_at_timeout(span, now);
                // What is still under way does not count against the loss window.
                let window = self.flight.pipe() + u64::from(self.config.loss_window.max(1)) * self.mss;
                self.congestion.set_window(window);
            }
            _ => self.flight.mark_all_lost(),
        }
    }
}

#[cfg(test)]
mod tests;
