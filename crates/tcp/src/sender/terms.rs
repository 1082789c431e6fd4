//! Terms of a sender for its whole life: the configuration, and the outcome of the handshake.

use crate::config::{Config, LossRecovery, RttSampling};
use anabranch_transport::congestion::Controller;
use std::sync::Arc;

/// The configuration, with the outcome of the handshake.
#[derive(Debug)]
pub(super) struct Terms {
    config: Arc<Config>,
    /// Without the peer's SACK the kinds that need it become NewReno.
    recovery: LossRecovery,
    sack: bool,
    mss: u64,
}

impl Terms {
    pub(super) fn new(config: Arc<Config>) -> Self {
        let mss = u64::from(config.mss.max(1));
        Self { recovery: config.recovery, sack: false, mss, config }
    }

    /// The handshake is over: payload of a full segment, and whether SACK may be used.
    pub(super) fn agree(&mut self, mss: u64, sack: bool) {
        self.mss = mss.max(1);
        self.sack = sack;
        if !sack && (self.recovery.has_scoreboard() || self.recovery == LossRecovery::Ns2Sack1) {
            self.recovery = LossRecovery::NewReno;
        }
    }

    #[inline]
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// The loss recovery in force.
    #[inline]
    pub(super) fn recovery(&self) -> LossRecovery {
        self.recovery
    }

    #[inline]
    pub(super) fn sack(&self) -> bool {
        self.sack
    }

    /// Payload of a full segment.
    #[inline]
    pub(super) fn mss(&self) -> u64 {
        self.mss
    }

    /// True if the flight must keep the segments that each acknowledgement reports. `model`: the controller follows a
    /// model of the path.
    pub(super) fn wants_news(&self, model: bool) -> bool {
        let segments = self.config.rtt_sampling == RttSampling::Segments;
        self.recovery == LossRecovery::Rack || model || self.config.frto || segments
    }

    pub(super) fn controller(&self) -> Controller {
        self.config.congestion(self.mss, self.recovery.has_scoreboard())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_sack_of_the_peer_recovery_is_newreno() {
        for recovery in [LossRecovery::Sack6675, LossRecovery::Rack, LossRecovery::Ns2Sack1] {
            let config = Arc::new(Config { recovery, ..Config::default() });
            let mut terms = Terms::new(Arc::clone(&config));
            terms.agree(1000, true);
            assert_eq!((terms.recovery(), terms.mss()), (recovery, 1000));
            terms.agree(1000, false);
            assert_eq!(terms.recovery(), LossRecovery::NewReno);
        }
        let mut terms = Terms::new(Arc::new(Config { recovery: LossRecovery::Reno, ..Config::default() }));
        terms.agree(0, false);
        assert_eq!((terms.recovery(), terms.mss()), (LossRecovery::Reno, 1), "a segment has at least a byte");
    }
}
