//! Losses found by time: RACK (RFC 8985, section 6). A segment is lost when one that was sent long enough after it has arrived.

use super::rack::Rack;
use super::state::{Alarm, Context, Phase, Sender};
use crate::config::LossRecovery;
use anabranch_base::{Duration, Instant};

impl Sender {
    /// Steps 2 to 5 for an acknowledgement. `echo` is the age of the timestamp that it echoes.
    pub(super) fn rack_on_ack(&mut self, cx: &mut Context<'_>, echo: Option<Duration>, duplicate: bool) {
        let min_rtt = self.min_rtt.get();
        let Some(rack) = &mut self.rack else { return };
        let news = self.flight.news();
        rack.update(news, cx.now, echo, min_rtt);
        rack.detect_reordering(news);
        let counts = rack.core.reordering_seen() || !self.config.rack_dsack_needs_reordering;
        if duplicate && counts {
            rack.core.duplicate(self.una, self.max);
        }
        self.rack_detect_loss(cx);
    }

    /// RACK.rtt and RACK.reo_wnd, step 4.
    fn patience(&self, rack: &Rack) -> Duration {
        let enough = self.flight.sacked_segments() >= self.config.duplicate_threshold as usize;
        let hurry = self.phase != Phase::Open || enough;
        rack.core.rtt() + rack.core.window(hurry, self.min_rtt.get(), self.rtt.srtt())
    }

    /// Step 5.
    fn rack_detect_loss(&mut self, cx: &mut Context<'_>) {
        let Some(rack) = &self.rack else { return };
        let Some(newest) = rack.core.newest() else { return };
        let span = self.patience(rack);
        let (lost, wait) = self.flight.lose_older(newest, span, cx.now);
        self.tell_losses(cx.now);
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
            reducing.on_ack(self.mss, 0, false, self.flight.pipe(), self.congestion.ssthresh());
        }
        if self.timer.is_none() {
            self.resume_timeout(cx.now);
        }
        self.record_window(cx);
    }

    /// RFC 8985, section 6.3: which segments a timeout holds for lost.
    pub(super) fn lose_at_timeout(&mut self, now: Instant) {
        match &self.rack {
            Some(rack) if self.recovery == LossRecovery::Rack => {
                let span = self.patience(rack);
                self.flight.lose_at_timeout(span, now);
                // What is still under way does not count against the loss window.
                let window = self.flight.pipe() + u64::from(self.config.loss_window.max(1)) * self.mss;
                self.congestion.set_window(window);
            }
            _ => self.flight.mark_all_lost(),
        }
    }
}
