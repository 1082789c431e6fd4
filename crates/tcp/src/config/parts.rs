//! Settings of the parts shared with SCTP (`anabranch_transport`), taken from the configuration.

use super::table::Config;
use super::value::RttEstimator;
use anabranch_base::Duration;
use anabranch_transport::clock::Clock;
use anabranch_transport::congestion::segments::SegmentRules;
use anabranch_transport::congestion::{Algorithm, Controller, WindowRules};
use anabranch_transport::pacer::{Pacer, PacerRules};
use anabranch_transport::rtt::{Arithmetic, BackOff, RttRules};

impl Config {
    /// Clock that timers follow: its tick, and whether they wait on a timer wheel.
    pub(crate) fn clock(&self) -> Clock {
        Clock::new(self.timer_tick, self.timer_wheel, true)
    }

    /// The pacer of a connection with full segments of so many bytes of payload. A model has no other way to act (`always`).
    pub(crate) fn pacer(&self, mss: u64, always: bool) -> Option<Box<Pacer>> {
        let rules = PacerRules {
            gain: self.pacing_gain.0,
            gain_slow_start: self.pacing_gain_slow_start.0,
            packet: u32::try_from(mss).unwrap_or(u32::MAX),
            burst: self.pacing_burst.get(),
            quantum: self.pacing_quantum,
        };
        (self.pacing || always).then(|| Box::new(Pacer::new(&rules)))
    }

    /// Rules by which round-trip samples become a timeout.
    pub(crate) fn rtt_rules(&self) -> RttRules {
        RttRules {
            arithmetic: match self.rtt_estimator {
                RttEstimator::Rfc6298 => Arithmetic::Rfc6298,
                RttEstimator::Ticks => Arithmetic::FixedPoint,
                RttEstimator::Linux => Arithmetic::Linux,
            },
            granularity: self.rto_granularity.max(Duration::from_nanos(1)),
            initial: self.rto_initial.max(self.rto_min),
            min: self.rto_min,
            max: self.rto_max,
            slop: self.rto_slop,
            back_off: if self.quirk_faulty_recovery { BackOff::Stays } else { BackOff::UntilSample },
        }
    }

    /// The controller of a connection with full segments of so many bytes of payload. A model of the path needs
    /// reports of delivered and lost segments: without a scoreboard it is CUBIC.
    pub(crate) fn congestion(&self, mss: u64, scoreboard: bool) -> Controller {
        let algorithm = match self.controller {
            Algorithm::Bbr if !scoreboard => Algorithm::Cubic,
            algorithm => algorithm,
        };
        Controller::segments(&SegmentRules {
            algorithm,
            hystart: self.hystart,
            window: WindowRules {
                segment: mss,
                growth: self.growth,
                limit: self.growth_limit,
                initial_window: self.initial_window.bytes(mss),
                initial_ssthresh: self.initial_ssthresh.unwrap_or(u64::MAX),
                floor: 2 * mss,
                loss_window: self.loss_window,
            },
            undo: self.undo,
            // Set by the sender, which knows a connection's own option (`growth_needs_full_window`) and the number of
            // timeouts in a row (`ssthresh_held_on_backoff`).
            needs_full_window: false,
            needs_advance: false,
            backoff_keeps_ssthresh: false,
            idle_floor: None,
            validation: false,
            gentle_convergence: false,
        })
    }
}
