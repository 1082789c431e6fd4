//! Settings of the parts shared with TCP (`anabranch_transport`), taken from the configuration.

use anabranch_base::Duration;
use anabranch_transport::clock::Clock;
use anabranch_transport::congestion::rfc9260::ChunkRules;
use anabranch_transport::congestion::segments::SegmentRules;
use anabranch_transport::congestion::{AckedGrowth, Algorithm, Controller, WindowRules};
use anabranch_transport::pacer::PacerRules;
use anabranch_transport::rtt::{Arithmetic, BackOff, RttRules};

use super::{Config, CongestionControl, Coupling, InitialWindow};

impl Config {
    /// Clock that timers follow: its tick, and whether they wait on a timer wheel.
    #[inline]
    pub(crate) fn clock(&self) -> Clock {
        Clock::new(self.emulation.timer_tick, self.emulation.timer_wheel, false)
    }

    /// Rules by which round-trip samples become an RTO.
    pub(crate) fn rtt_rules(&self) -> RttRules {
        let exact = self.emulation.timer_tick == Duration::ZERO;
        RttRules {
            arithmetic: if exact { Arithmetic::Rfc9260 } else { Arithmetic::WholeTicks },
            granularity: self.emulation.timer_tick,
            initial: self.timers.rto_initial,
            min: self.timers.rto_min,
            max: self.timers.rto_max,
            slop: Duration::ZERO,
            back_off: if self.emulation.quirks.backoff_stays {
                BackOff::StaysAndCounts
            } else {
                BackOff::UntilSample
            },
        }
    }

    /// Settings of the pacer; full packets hold `pmdcs` bytes of chunks.
    pub(crate) fn pacer_rules(&self, pmdcs: u32) -> PacerRules {
        PacerRules {
            gain: self.pacing.gain,
            gain_slow_start: self.pacing.gain_slow_start,
            packet: pmdcs,
            burst: self.pacing.burst,
            quantum: self.pacing.quantum,
        }
    }

    /// The controller of a lane towards a peer that announced so large a window, bytes.
    /// Windows are counted in `unit` bytes.
    // rfc9260:7.2.1-1
    pub(crate) fn controller(&self, unit: u32, ipv6: bool, peer_rwnd: u32) -> Controller {
        let unit = u64::from(unit);
        let initial_window = match self.congestion.initial_window {
            InitialWindow::Packets(n) => unit * u64::from(n),
            InitialWindow::FullPackets(n) => {
                let beside = u64::from(self.window_unit() - self.pmdcs());
                unit.saturating_sub(beside) * u64::from(n)
            }
            InitialWindow::Rfc4960 => (4 * unit).min((2 * unit).max(4380)),
            // "min(4 * PMDCS, max(2 * PMDCS, 4404)) bytes if the peer address is an IPv4 address", 4344 for IPv6.
            InitialWindow::Rfc9260 => (4 * unit).min((2 * unit).max(if ipv6 { 4344 } else { 4404 })),
        };
        let initial_ssthresh = self.congestion.initial_ssthresh.unwrap_or(u64::from(peer_rwnd));
        let floor = unit * u64::from(self.congestion.ssthresh_floor);
        let idle_floor = self.congestion.idle_decay_floor.map(|n| unit * u64::from(n));
        if self.congestion.control == CongestionControl::RENO {
            return Controller::chunks(&ChunkRules {
                unit,
                initial_window,
                initial_ssthresh,
                floor,
                slow_start_limit: unit * u64::from(self.congestion.slow_start_limit),
                idle_floor,
                backoff_keeps_ssthresh: self.emulation.backoff_keeps_ssthresh,
                slow_start_at_ssthresh: self.congestion.slow_start_at_ssthresh,
                needs_advance: self.congestion.growth_needs_advance,
                pba_needs_full_window: self.emulation.pba_needs_full_window,
                pba_clamp: self.congestion.pba_clamp,
                pba_counts_twice: self.emulation.pba_counts_twice,
                fcc_step: self.subflows.fcc_step,
                fcc_clock: self.subflows.fcc_clock,
                fcc_rounding: self.subflows.fcc_rounding,
                fcc_slow_start: self.subflows.fcc_slow_start,
            });
        }
        Controller::segments(&SegmentRules {
            algorithm: self.congestion.control.algorithm,
            hystart: self.congestion.control.hystart,
            window: WindowRules {
                segment: unit,
                growth: AckedGrowth::Bytes,
                limit: u32::from(self.congestion.slow_start_limit),
                initial_window,
                initial_ssthresh,
                floor,
                loss_window: 1,
            },
            undo: self.congestion.undo,
            needs_full_window: true,
            needs_advance: self.congestion.growth_needs_advance,
            backoff_keeps_ssthresh: self.emulation.backoff_keeps_ssthresh,
            idle_floor,
            validation: self.congestion.window_validation,
            gentle_convergence: self.congestion.gentle_convergence,
        })
    }

    /// True if packets are paced: a controller that follows a model of the path has no other way.
    pub(crate) fn paces(&self) -> bool {
        self.pacing.enabled || self.congestion.control.algorithm == Algorithm::Bbr
    }

    /// BIC and Vegas know neither Phi nor linked increases.
    pub(super) fn controller_fits_coupling(&self) -> bool {
        !matches!(self.congestion.control.algorithm, Algorithm::Bic | Algorithm::Vegas)
            || matches!(self.subflows.coupling, Coupling::Independent | Coupling::Shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // rfc9260:7.2.1-1
    #[test]
    fn initial_windows() {
        const PMDCS: u64 = 1468;
        let rfc = Config::rfc9260();
        let window = |config: &Config, ipv6| config.controller(config.window_unit(), ipv6, 65_536).window();
        assert_eq!(window(&rfc, false), 4404, "min(4 x 1468, max(2 x 1468, 4404))");
        assert_eq!(window(&rfc, true), 4344);
        assert_eq!(window(&rfc.clone().with(|c| c.mtu = 9000), false), 2 * 8968);
        assert_eq!(window(&rfc.clone().with(|c| c.mtu = 600), false), 4 * 568);
        let old = Config::rfc2960();
        assert_eq!(window(&old, false), 2 * 1500, "RFC 2960, 7.2.1: 2 x MTU");
        assert_eq!(old.controller(old.window_unit(), false, 65_536).ssthresh(), 65_536, "the peer's rwnd");
        let full = old.with(|c| c.congestion.initial_window = InitialWindow::FullPackets(1));
        assert_eq!(window(&full, false), PMDCS, "one packet, and nothing that slops over");
        let mut cubic = rfc.clone();
        cubic.set("congestion_control", "cubic").unwrap();
        assert_eq!(window(&cubic, false), 4404, "whatever the controller");
    }

    /// "The initial value of ssthresh SHOULD be arbitrarily high" (RFC 9260, 7.2.1): whatever the peer's window, a thousand times ours.
    // rfc9260:7.2.1-3
    #[test]
    fn the_first_threshold_is_arbitrarily_high() {
        let rfc = Config::rfc9260();
        for peer_rwnd in [1500, 65_536, u32::MAX] {
            let threshold = rfc.controller(rfc.window_unit(), false, peer_rwnd).ssthresh();
            assert!(threshold >= 1000 * u64::from(rfc.limits.receive_window), "{threshold} with {peer_rwnd}");
        }
    }
}
