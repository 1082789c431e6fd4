//! How the window comes down during fast recovery, when not at once.

use crate::config::Reduction;

#[derive(Debug)]
pub(super) struct Reducing {
    halving: bool,
    mss: u64,
    /// The window at the moment, bytes.
    window: u64,
    /// The window when recovery began (RecoverFS of RFC 6937).
    prior: u64,
    /// Bytes that the peer has reported since (prr_delivered).
    delivered: u64,
    /// Segments sent since (prr_out).
    out: u64,
    /// Rate halving: acknowledgements since.
    acks: u64,
}

impl Reducing {
    /// Recovery begins with a window of `prior` bytes; `None` when it is reduced at once.
    pub(super) fn new(kind: Reduction, prior: u64, mss: u64) -> Option<Self> {
        let halving = match kind {
            Reduction::AtOnce => return None,
            Reduction::Prr => false,
            Reduction::RateHalving => true,
        };
        Some(Self { halving, mss, window: prior, prior: prior.max(mss), delivered: 0, out: 0, acks: 0 })
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    pub(super) fn on_sent(&mut self) {
        self.out += 1;
    }

    /// An acknowledgement in recovery reported `delivered` bytes and left `pipe` in flight.
    pub(super) fn on_ack(&mut self, delivered: u64, advanced: bool, pipe: u64, ssthresh: u64) {
        if self.halving {
            self.halve(pipe, ssthresh);
        } else {
            self.proportional(delivered, advanced, pipe, ssthresh);
        }
    }

    /// RFC 6937, section 3, in whole segments rounded up, as Linux counts.
    fn proportional(&mut self, delivered: u64, advanced: bool, pipe: u64, ssthresh: u64) {
        self.delivered += delivered;
        let segments = |bytes: u64| bytes.div_ceil(self.mss);
        let mut count = if pipe > ssthresh {
            // "sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out".
            let share = u128::from(self.delivered) * u128::from(ssthresh) / u128::from(self.prior.max(1));
            segments(share as u64).saturating_sub(self.out)
        } else {
            // The slow-start reduction bound; the segment on top only while una moves.
            let limit = segments(self.delivered).saturating_sub(self.out).max(segments(delivered))
                + u64::from(advanced);
            segments(ssthresh - pipe).min(limit)
        };
        if self.out == 0 {
            // The fast retransmission itself.
            count = count.max(1);
        }
        self.window = pipe + count * self.mss;
    }

    /// Linux before 3.2: a segment less for every second acknowledgement, never above what is in flight plus one.
    fn halve(&mut self, pipe: u64, ssthresh: u64) {
        self.acks += 1;
        if self.acks % 2 == 0 && self.window > ssthresh {
            self.window = (self.window - self.mss.min(self.window)).max(ssthresh);
        }
        self.window = self.window.min(pipe + self.mss);
    }
}
