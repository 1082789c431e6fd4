//! Retransmissions that prove needless: the original had arrived. Told by timestamps (Eifel detection, RFC 3522), by new
//! data after a timeout (F-RTO, RFC 5682), or by a DSACK for each of them (RFC 3708). The answer restores the window and
//! forgets the losses (RFC 4015).

use super::ack_info::AckInfo;
use super::doubt::Doubt;
use super::state::{Context, Phase, Sender};
use anabranch_base::Instant;

impl Sender {
    /// The window is about to be reduced for a loss.
    pub(super) fn doubt(&mut self) {
        self.doubt = self.config.undo.then(Doubt::default);
    }

    /// Loss recovery ended: only a DSACK may still come.
    pub(super) fn settle_doubt(&mut self) {
        self.doubt = self.doubt.filter(|_| self.config.dsack);
    }

    /// RFC 3522, section 3.2, step 5: the acknowledgement echoes a timestamp older than the first retransmission.
    pub(super) fn echoes_original(&self, cx: &Context<'_>, info: &AckInfo<'_>) -> bool {
        if self.phase == Phase::Open {
            return false;
        }
        let first = self.doubt.and_then(|doubt| doubt.first);
        let (Some(first), Some(age)) = (first, info.echo_age) else { return false };
        // The timestamp clock ticks in milliseconds.
        let millis = |at: Instant| at.as_nanos() / 1_000_000;
        millis(cx.now) < millis(first) + age.as_millis()
    }

    /// RFC 3708, section 2: every retransmission was reported as a duplicate.
    pub(super) fn on_duplicate_report(&mut self, cx: &mut Context<'_>, (_, end): (u64, u64)) {
        let Some(doubt) = &mut self.doubt else { return };
        if doubt.unreported == 0 || end > doubt.end {
            return;
        }
        doubt.unreported -= 1;
        if doubt.unreported == 0 {
            self.undo(cx);
        }
    }

    /// RFC 5682, section 3.1: the SACK-enhanced algorithm, for every acknowledgement after a timeout.
    pub(super) fn step_frto(&mut self, cx: &mut Context<'_>, advanced: bool, sacked: u64) {
        self.frto_new = false;
        let Some(recover) = self.recover.filter(|_| self.frto && self.phase == Phase::Loss) else { return };
        // Step 3b: what was never sent again, and was outstanding at the timeout, has arrived.
        if self.flight.news().iter().any(|d| d.sends == 1 && d.end <= recover) {
            self.undo(cx);
        } else if self.max > recover {
            // Step 3a: new data arrived before, or nothing did: the loss was real.
            self.frto &= advanced && sacked == 0;
        } else if advanced && self.una < recover {
            // Step 2b: send new data, if there is any that may be sent.
            self.frto = self.queue.end() > self.max && self.una + self.limit() > self.max;
            self.frto_new = self.frto;
        }
    }

    /// Everything is as it was before the reduction.
    pub(super) fn undo(&mut self, cx: &mut Context<'_>) {
        cx.stats.undone += 1;
        self.doubt = None;
        self.frto = false;
        self.congestion.undo();
        self.flight.forget_losses();
        self.phase = Phase::Open;
        self.reducing = None;
        self.recover = None;
        self.forced = None;
        self.inflation = 0;
        self.duplicates = 0;
        self.limited = 0;
        self.record_window(cx);
    }
}
