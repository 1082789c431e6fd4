//! Fast recovery: how it begins and how it ends (RFC 5681, section 3.2; RFC 6582; RFC 6675).

use super::state::{Context, Phase, Sender};
use crate::config::{LossRecovery, Reduction};
use anabranch_base::{RetransmitReason, TraceEvent};
use anabranch_transport::congestion::Congestion;
use anabranch_transport::reduction::Reducing;

impl Sender {
    /// A loss was found: the window comes down, and the first segment that is missing leaves again.
    pub(super) fn enter_fast_recovery(&mut self, cx: &mut Context<'_>) {
        cx.stats.fast_retransmits += 1;
        let base = self.loss_base();
        let before = self.congestion.window();
        self.doubt();
        if let Some(doubt) = &mut self.doubt {
            // A retransmission of the episode before may still be on its way: an echo of it is no original's.
            doubt.first = self.flight.oldest_resent();
        }
        self.congestion.on_congestion(Congestion::FastRetransmit(base));
        if self.recovery.has_scoreboard() && !self.congestion.is_model() {
            // In whole segments, as Linux counts. What is SACKed stays so until a timeout, which ends the reduction: nothing counts twice.
            let most = before.max(self.flight.outstanding());
            self.reducing = match self.config.reduction {
                Reduction::AtOnce => None,
                Reduction::Prr => Some(Reducing::proportional(before, most, self.mss, self.mss)),
                Reduction::RateHalving => Some(Reducing::halving(before, self.mss)),
            };
        }
        let counted = self.duplicates.min(self.config.duplicate_threshold);
        self.phase = Phase::Fast;
        self.recover = Some(self.max);
        self.partials = 0;
        self.rescued = false;
        // What is timed may be the lost segment, or wait behind it.
        self.timed = None;
        self.inflation = (u64::from(counted) * self.mss) as i64;
        self.ns2_entering = true;
        self.ns2_pipe = self.flight.segments() as i64 - i64::from(counted);
        self.flight.rewind();
        self.probe = None;
        let first = match self.recovery {
            LossRecovery::Rack => self.flight.next_lost().unwrap_or(self.flight.front_index()),
            _ => self.flight.front_index(),
        };
        if !matches!(self.recovery, LossRecovery::Ns2Sack1 | LossRecovery::Rack) {
            self.flight.mark_front_lost();
        }
        // "The TCP sender MUST retransmit the lost segment", whatever the window says.
        self.forced = Some((first, RetransmitReason::FastRetransmit));
        if self.config.fast_retransmit_restarts_timer {
            self.restart_timer(cx.now);
        }
        let seq = self.una.saturating_sub(1);
        cx.record(|| TraceEvent::FastRetransmit { seq });
    }

    /// All that was outstanding when it began is acknowledged, or with Reno anything new.
    pub(super) fn leave_fast_recovery(&mut self) {
        self.phase = Phase::Open;
        self.reducing = None;
        self.settle_doubt();
        if let Some(rack) = &mut self.rack {
            rack.core.recovered();
        }
        self.recover = None;
        self.inflation = 0;
        self.duplicates = 0;
        self.limited = 0;
        if self.recovery == LossRecovery::Ns2Sack1 {
            self.flight.clear_sacks();
        }
        // RFC 6582, section 3.2, step 3: "min (ssthresh, max(FlightSize, SMSS) + SMSS)".
        let deflate = self.recovery == LossRecovery::NewReno && self.config.deflate_to_flight;
        if deflate {
            self.congestion.limit_window(self.flight.outstanding().max(self.mss) + self.mss);
        }
    }
}
