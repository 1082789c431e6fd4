//! What the parts that TCP has too are told (`anabranch_transport`).

use anabranch_base::Duration;
use anabranch_transport::clock::Clock;
use anabranch_transport::congestion::rfc9260::ChunkRules;
use anabranch_transport::congestion::segments::SegmentRules;
use anabranch_transport::congestion::{AckedGrowth, Controller, WindowRules};
use anabranch_transport::pacer::PacerRules;
use anabranch_transport::rtt::{Arithmetic, BackOff, RttRules};

use super::{Config, CongestionControl, Coupling, InitialWindow};

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

    /// The controller of a lane towards a peer that announced so large a window, bytes.
    /// Windows are counted in `unit` bytes.
    pub(crate) fn controller(&self, unit: u32, ipv6: bool, peer_rwnd: u32) -> Controller {
        let unit = u64::from(unit);
        let initial_window = match self.initial_window {
            InitialWindow::Packets(n) => unit * u64::from(n),
            InitialWindow::Rfc4960 => (4 * unit).min((2 * unit).max(4380)),
            // "min(4 * PMDCS, max(2 * PMDCS, 4404)) bytes if the peer address is an IPv4 address", 4344 for IPv6.
            InitialWindow::Rfc9260 => (4 * unit).min((2 * unit).max(if ipv6 { 4344 } else { 4404 })),
        };
        let initial_ssthresh = self.initial_ssthresh.unwrap_or(u64::from(peer_rwnd));
        let floor = unit * u64::from(self.ssthresh_floor);
        let idle_floor = self.idle_decay_floor.map(|n| unit * u64::from(n));
        if self.congestion_control == CongestionControl::RENO {
            return Controller::chunks(&ChunkRules {
                unit,
                initial_window,
                initial_ssthresh,
                floor,
                slow_start_limit: unit * u64::from(self.slow_start_limit),
                idle_floor,
                backoff_keeps_ssthresh: self.backoff_keeps_ssthresh,
                slow_start_at_ssthresh: self.slow_start_at_ssthresh,
                needs_advance: self.growth_needs_advance,
                pba_needs_full_window: self.pba_needs_full_window,
                pba_clamp: self.pba_clamp,
                pba_counts_twice: self.pba_counts_twice,
                fcc_step: self.fcc_step,
                fcc_clock: self.fcc_clock,
                fcc_rounding: self.fcc_rounding,
                fcc_slow_start: self.fcc_slow_start,
            });
        }
        Controller::segments(&SegmentRules {
            algorithm: self.congestion_control.algorithm,
            hystart: self.congestion_control.hystart,
            window: WindowRules {
                segment: unit,
                growth: AckedGrowth::Bytes,
                limit: u32::from(self.slow_start_limit),
                initial_window,
                initial_ssthresh,
                floor,
                loss_window: 1,
            },
            // Nothing here tells that a retransmission was needless.
            undo: false,
            needs_full_window: true,
            needs_advance: self.growth_needs_advance,
            backoff_keeps_ssthresh: self.backoff_keeps_ssthresh,
            idle_floor,
        })
    }

    /// Phi and linked increases are steps of the controller of RFC 9260.
    pub(super) fn controller_fits_coupling(&self) -> bool {
        self.congestion_control == CongestionControl::RENO
            || matches!(self.coupling, Coupling::Independent | Coupling::Shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_windows() {
        const PMDCS: u64 = 1468;
        let rfc = Config::rfc9260();
        let window = |config: &Config, ipv6| config.controller(config.window_unit(), ipv6, 65_536).window();
        assert_eq!(window(&rfc, false), 4404, "min(4 x 1468, max(2 x 1468, 4404))");
        assert_eq!(window(&rfc, true), 4344);
        assert_eq!(window(&Config { mtu: 9000, ..rfc.clone() }, false), 2 * 8968);
        assert_eq!(window(&Config { mtu: 600, ..rfc.clone() }, false), 4 * 568);
        let old = Config::rfc2960();
        assert_eq!(window(&old, false), 2 * PMDCS);
        assert_eq!(old.controller(old.window_unit(), false, 65_536).ssthresh(), 65_536, "the peer's rwnd");
        let mut cubic = rfc;
        cubic.set("congestion_control", "cubic").unwrap();
        assert_eq!(window(&cubic, false), 4404, "whatever the controller");
    }
}
