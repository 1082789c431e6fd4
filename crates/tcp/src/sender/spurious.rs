//! Retransmissions that prove needless: the original had arrived. Told by timestamps (Eifel detection, RFC 3522); the
//! answer restores the window and forgets the losses (RFC 4015).

use super::{AckInfo, Context, Phase, Sender};
use anabranch_base::Instant;

/// A reduction that may prove needless.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubt {
    /// When the first retransmission of this episode left.
    first: Option<Instant>,
}

impl Doubt {
    pub(super) fn on_resent(&mut self, now: Instant) {
        self.first.get_or_insert(now);
    }
}

impl Sender {
    /// The window is about to be reduced for a loss.
    pub(super) fn doubt(&mut self) {
        self.doubt = self.config.undo.then(Doubt::default);
    }

    /// RFC 3522, section 3.2, step 5: the acknowledgement echoes a timestamp older than the first retransmission.
    pub(super) fn echoes_original(&self, cx: &Context<'_>, info: &AckInfo<'_>) -> bool {
        let first = self.doubt.and_then(|doubt| doubt.first);
        let (Some(first), Some(age)) = (first, info.echo_age) else { return false };
        // The timestamp clock ticks in milliseconds.
        let millis = |at: Instant| at.as_nanos() / 1_000_000;
        millis(cx.now) < millis(first) + age.as_millis()
    }

    /// Everything is as it was before the reduction.
    pub(super) fn undo(&mut self, cx: &mut Context<'_>) {
        cx.stats.undone += 1;
        self.doubt = None;
        self.congestion.undo();
        self.flight.forget_losses();
        self.phase = Phase::Open;
        self.reducing = None;
        self.recover = None;
        self.forced = None;
        self.inflation = 0;
        self.duplicates = 0;
        self.limited = 0;
    }
}
