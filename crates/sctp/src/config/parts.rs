//! What the parts that TCP has too are told (`anabranch_transport`).

use anabranch_base::Duration;
use anabranch_transport::clock::Clock;
use anabranch_transport::pacer::PacerRules;
use anabranch_transport::rtt::{Arithmetic, BackOff, RttRules};

use super::Config;

impl Config {
    /// What timers follow.
    #[inline]
    pub(crate) fn clock(&self) -> Clock {
        Clock::new(self.timer_tick, self.timer_wheel, false)
    }

    /// How round trips become an RTO.
    pub(crate) fn rtt_rules(&self) -> RttRules {
        let exact = self.timer_tick == Duration::ZERO;
        RttRules {
            arithmetic: if exact { Arithmetic::Rfc9260 } else { Arithmetic::WholeTicks },
            granularity: self.timer_tick,
            initial: self.rto_initial,
            min: self.rto_min,
            max: self.rto_max,
            slop: Duration::ZERO,
            back_off: if self.quirks.backoff_stays { BackOff::StaysAndCounts } else { BackOff::UntilSample },
        }
    }

    /// How packets are spread over the round trip; full ones hold `pmdcs` bytes of chunks.
    pub(crate) fn pacer_rules(&self, pmdcs: u32) -> PacerRules {
        PacerRules {
            gain: self.pacing_gain,
            gain_slow_start: self.pacing_gain_slow_start,
            packet: pmdcs,
            burst: self.pacing_burst,
        }
    }
}
