//! RACK and its timer, which runs besides T3-rtx: losses found by time, and tail loss probes.

use anabranch_base::Instant;

use super::rack::Rack;
use crate::config::{Config, LossDetection};

/// The purpose of a lane's timer of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sender) enum LossTimer {
    /// Chunks that may only be late are lost by then (RFC 8985, 6.3).
    Reordering,
    /// The tail may be lost: a probe is due (RFC 8985, 7.3).
    Probe,
    /// KAME's early fast retransmit.
    EarlyRetransmit,
    /// KAME: packets that leave without a SACK.
    Burst,
}

/// RACK where it is in use, and a timer, which the emulation of KAME uses as well.
#[derive(Debug)]
pub(in crate::sender) struct RackTlp {
    /// The state of RACK, where it is in use.
    rack: Option<Box<Rack>>,
    /// The timer besides T3-rtx, and its purpose.
    timer: Option<(Instant, LossTimer)>,
}

impl RackTlp {
    pub(super) fn new(config: &Config) -> Self {
        let finds = config.congestion.loss_detection == LossDetection::Rack;
        Self { rack: finds.then(|| Box::new(Rack::new())), timer: None }
    }

    /// True if losses are found by time.
    #[inline]
    pub(in crate::sender) fn finds_losses(&self) -> bool {
        self.rack.is_some()
    }

    /// RACK, where it finds losses.
    pub(in crate::sender) fn rack(&self) -> Option<&Rack> {
        self.rack.as_deref()
    }

    /// RACK, to be changed, where it is in use.
    pub(in crate::sender) fn rack_mut(&mut self) -> Option<&mut Rack> {
        self.rack.as_deref_mut()
    }

    /// Time at which the timer expires.
    #[inline]
    pub(in crate::sender) fn expires_at(&self) -> Option<Instant> {
        self.timer.map(|(at, _)| at)
    }

    /// True if the timer runs for something that a probe must not put off.
    pub(in crate::sender) fn waits_for_more_than_a_probe(&self) -> bool {
        self.timer.is_some_and(|(_, kind)| kind != LossTimer::Probe)
    }

    /// The timer has expired; returns its purpose.
    pub(in crate::sender) fn expired(&mut self) -> Option<LossTimer> {
        self.timer.take().map(|(_, kind)| kind)
    }

    /// RACK looks for losses again at that time, or has no suspects.
    pub(in crate::sender) fn look_again(&mut self, at: Option<Instant>) {
        self.timer = at.map(|at| (at, LossTimer::Reordering));
    }

    /// KAME: while chunks are `suspected` a running timer is not started anew.
    pub(in crate::sender) fn retransmit_early(&mut self, at: Instant, suspected: bool) {
        let running = self.timer.unwrap_or((at, LossTimer::EarlyRetransmit));
        self.timer = suspected.then_some(running);
    }

    /// The timer is started.
    pub(in crate::sender) fn start(&mut self, at: Instant, kind: LossTimer) {
        self.timer = Some((at, kind));
    }

    /// The timer stops.
    pub(in crate::sender) fn stop(&mut self) {
        self.timer = None;
    }

    /// T3-rtx has expired, or the chunks have gone to another lane: the timer stops, retransmissions and probe are forgotten.
    pub(in crate::sender) fn forget(&mut self) {
        self.timer = None;
        if let Some(rack) = &mut self.rack {
            rack.forget();
        }
    }

    /// Numbers begin anew: forgets the old ones.
    pub(super) fn forget_numbers(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.forget_numbers();
        }
    }
}
