//! Profiles: named sets of values. Each lists only its differences.

use anabranch_base::{Dscp, Duration};

use super::{
    Checksums, Config, CongestionConfig, EmulationConfig, ExtensionConfig, FastRecovery, InitialWindow,
    LimitConfig, MaxBurst, PacingConfig, PathMtuConfig, SackConfig, StreamConfig, SubflowConfig,
    SubflowLevel, TimerConfig, WindowUnit,
};

impl Config {
    /// Today's rules (RFC 9260, sections 6, 7 and 16).
    // rfc9260:7.2.1-3 rfc9260:7.2.1-8 rfc9260:16-1 rfc9260:16-2
    #[must_use]
    pub fn rfc9260() -> Self {
        Self {
            profile: "rfc9260",
            mtu: 1500,
            ip_overhead: 20,
            checksums: Checksums::Crc32c,
            dscp: Dscp::DEFAULT,
            streams: StreamConfig::DEFAULT,
            limits: LimitConfig::DEFAULT,
            timers: TimerConfig::DEFAULT,
            sack: SackConfig::DEFAULT,
            congestion: CongestionConfig::DEFAULT,
            pacing: PacingConfig::DEFAULT,
            subflows: SubflowConfig::DEFAULT,
            extensions: ExtensionConfig::DEFAULT,
            path_mtu: PathMtuConfig::DEFAULT,
            emulation: EmulationConfig::DEFAULT,
        }
    }

    /// The rules of 2000 that the studies' stacks followed: the 4th missing report, a floor of 2 MTU, no recovery
    /// point, windows in MTU, the first of 2, an initial RTO of 3 s.
    #[must_use]
    pub fn rfc2960() -> Self {
        Self::rfc9260().with(|c| {
            c.profile = "rfc2960";
            c.timers.rto_initial = Duration::from_secs(3);
            // RFC 2960, 7.2.1 to 7.2.3: windows start, grow and shrink in units of the path MTU.
            c.emulation.window_unit = WindowUnit::Mtu;
            c.congestion.initial_window = InitialWindow::Packets(2);
            c.congestion.initial_ssthresh = None;
            c.congestion.ssthresh_floor = 2;
            c.congestion.fast_retransmit_threshold = 4;
            c.congestion.fast_recovery = FastRecovery::Off;
            c.congestion.pba_clamp = false;
            c.congestion.idle_decay_floor = Some(2);
            c.emulation.flight_counts_padding = false;
        })
    }

    /// RFC 2960 as the University of Delaware's ns-2 module of 2002 to 2005 has it: the engine of Alamgir et al. (2005)
    /// and Zou (2007).
    #[must_use]
    pub fn ns2_2_28() -> Self {
        Self::ns2_2_35().with(|c| {
            c.profile = "ns2-2.28";
            c.congestion.fast_retransmit_threshold = 4;
            c.congestion.ssthresh_floor = 2;
            c.congestion.fast_recovery = FastRecovery::Off;
            c.emulation.pba_needs_full_window = false;
            c.emulation.pba_counts_twice = true;
            // Findings of the comparison with 2.35 hold for 2.35 only.
            c.emulation.fills_past_cwnd = false;
            c.emulation.sack_filled_hole = true;
        })
    }

    /// The module of 2009, as Debian's ns2 2.35 ships it: 3 reports, a floor of 4 x 1468, one cut a window,
    /// initial window 2, Max.Burst after recovery, a SACK for every packet, windows in DATA chunk bytes.
    #[must_use]
    pub fn ns2_2_35() -> Self {
        Self::rfc9260().with(|c| {
            c.profile = "ns2-2.35";
            c.streams.outbound = 1;
            c.limits.receive_window = 65_536;
            c.congestion.initial_ssthresh = Some(65_536);
            c.timers.rto_initial = Duration::from_secs(3);
            c.congestion.initial_window = InitialWindow::Packets(2);
            c.emulation.backoff_keeps_ssthresh = true;
            c.congestion.fast_recovery = FastRecovery::PerWindow;
            c.emulation.hold_after_fast_retransmit = true;
            c.congestion.max_burst = MaxBurst::AfterRecovery(4);
            c.emulation.pba_needs_full_window = true;
            c.congestion.pba_clamp = false;
            c.sack.every = 1;
            c.emulation.data_with_cookie = false;
            c.congestion.idle_decay_floor = Some(2);
            c.emulation.rwnd_counts_headers = true;
            c.emulation.fills_past_cwnd = true;
            c.emulation.flight_counts_padding = false;
            c.emulation.sack_filled_hole = false;
        })
    }

    /// The thesis of Zou (2007) as its text has it: the rules of RFC 2960, an acknowledgement for every packet, no
    /// data with COOKIE ECHO, Max.Burst 4, its own encoding of subflows. On sealed networks only. (Its figures were drawn
    /// with `ns2-2.28`.)
    #[must_use]
    pub fn sf2007() -> Self {
        Self::rfc2960().with(|c| {
            c.profile = "sf2007";
            c.subflows.level = SubflowLevel::Sf2007;
            c.sack.every = 1;
            c.sack.delay = Duration::ZERO;
            c.emulation.data_with_cookie = false;
        })
    }
}

impl Default for Config {
    /// The profile `rfc9260`.
    fn default() -> Self {
        Self::rfc9260()
    }
}
