//! Profiles: named sets of values. Each says only in what it differs.

use anabranch_base::{Dscp, Duration};
use anabranch_wire::sf::CodePoints;

use super::{
    AdaptiveCut, Checksums, Config, CongestionConfig, CongestionControl, Coupling, EcnBackoff, EcnMode,
    EmulationConfig, ExtensionConfig, FastRecovery, FccClock, FccCount, FccRounding, FccStep, ImmediateBit,
    InitialWindow, LimitConfig, LossDetection, MaxBurst, PacingConfig, PathMtuConfig, Quirks, Reduction,
    RttSampling, SackConfig, SendBufferCounts, StreamConfig, StreamScheduling, SubflowConfig, SubflowLevel,
    SubflowScheduler, TimerConfig, WindowUnit,
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
            streams: StreamConfig {
                outbound: 10,
                inbound: 2048,
                max_outbound: 2048,
                statistics: false,
                scheduling: StreamScheduling::Fcfs,
                values: Vec::new(),
            },
            limits: LimitConfig {
                receive_window: 1 << 20,
                max_receive_window: 0,
                partial_delivery_point: 50,
                partial_delivery_bytes: 0,
                send_buffer: 256 << 10,
                max_send_buffer: 0,
                send_buffer_counts: SendBufferCounts::Unsent,
                stream_send_buffer: 0,
                stream_send_minimum: 0,
                max_message: 16 << 20,
                max_fragment: 0,
                association_max_retrans: 10,
                path_max_retrans: 5,
                max_init_retransmits: 8,
            },
            timers: TimerConfig {
                rto_initial: Duration::from_secs(1),
                rto_min: Duration::from_secs(1),
                rto_max: Duration::from_secs(60),
                rto_max_init: Duration::ZERO,
                rtt_sampling: RttSampling::OncePerRoundTrip,
                heartbeat_interval: Duration::from_secs(30),
                valid_cookie_life: Duration::from_secs(60),
                shutdown_guard_rto_max: 5,
                control_probe: false,
            },
            sack: SackConfig {
                delay: Duration::from_millis(200),
                every: 2,
                first_at_once: true,
                immediate_bit: ImmediateBit::Shutdown,
                immediate_bit_obeyed: true,
            },
            congestion: CongestionConfig {
                control: CongestionControl::RENO,
                gentle_convergence: false,
                initial_window: InitialWindow::Rfc9260,
                nagle: false,
                // "The initial value of ssthresh SHOULD be arbitrarily high" (7.2.1).
                initial_ssthresh: Some(1 << 30),
                ssthresh_floor: 4,
                slow_start_limit: 1,
                slow_start_at_ssthresh: true,
                growth_needs_advance: true,
                credit_given_up: false,
                loss_detection: LossDetection::MissingReports,
                tail_loss_probe: false,
                fast_retransmit_threshold: 3,
                fast_recovery: FastRecovery::UntilExit,
                reduction: Reduction::AtOnce,
                undo: false,
                timeout_keeps_exit: false,
                lost_again_cuts: false,
                max_burst: MaxBurst::Clamp(4),
                pba_clamp: true,
                idle_decay_floor: Some(4),
                window_validation: false,
                ecn_backoff: EcnBackoff::AsLoss,
            },
            pacing: PacingConfig {
                enabled: false,
                gain: 120,
                gain_slow_start: 200,
                // As many as Max.Burst (16), which it stands for.
                burst: 4,
                quantum: Duration::ZERO,
            },
            subflows: SubflowConfig {
                open: Vec::new(),
                scheduler: SubflowScheduler::Fcfs,
                level: SubflowLevel::Zero,
                max_inbound: 16,
                max: 64,
                buffer_floor: 3000,
                codes: CodePoints::DEFAULT,
                coupling: Coupling::Independent,
                fcc_step: FccStep::Packet,
                fcc_clock: FccClock::Bytes,
                fcc_rounding: FccRounding::Exact,
                fcc_count: FccCount::Configured,
                fcc_slow_start: false,
                adaptive_cut: AdaptiveCut::Group,
            },
            path_mtu: PathMtuConfig::DEFAULT,
            extensions: ExtensionConfig {
                interleaving: false,
                // "applications must enable this extension explicitly before it is used" (RFC 6525, 7), and an endpoint must not
                // offer I-DATA "unless the user has requested its use" (RFC 8260, 2.2.1): both are off.
                reconfiguration: false,
                // No study's stack has it, and who does not ask for it sends nothing of it.
                partial_reliability: false,
                peer_resets_streams: true,
                // It throws away what the two sides agree on; nobody needs it by accident.
                peer_resets_association: false,
                peer_adds_streams: true,
                zero_checksum: None,
                address_types: false,
                adaptation_indication: None,
                // RFC 9260 only keeps its numbers reserved.
                ecn: EcnMode::Off,
                selected_gap_blocks: 0,
            },
            emulation: no_emulation(),
        }
    }

    /// The rules of 2000 that the studies' stacks followed: the 4th missing report, a floor of 2 MTU, no recovery
    /// point, an initial window of 2 MTU, an initial RTO of 3 s.
    #[must_use]
    pub fn rfc2960() -> Self {
        Self::rfc9260().with(|c| {
            c.profile = "rfc2960";
            c.timers.rto_initial = Duration::from_secs(3);
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
            // What was learnt by comparing with 2.35 is said of 2.35 only.
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

/// Nothing but what the RFC says.
fn no_emulation() -> EmulationConfig {
    EmulationConfig {
        init_size: 0,
        cookie_size: 0,
        timer_tick: Duration::ZERO,
        timer_wheel: false,
        data_with_cookie: true,
        lists_all_extensions: false,
        sack_filled_hole: true,
        window_unit: WindowUnit::Pmdcs,
        flight_counts_headers: true,
        flight_counts_padding: true,
        fills_past_cwnd: false,
        probes_at_once: false,
        rwnd_counts_headers: false,
        backoff_keeps_ssthresh: false,
        hold_after_fast_retransmit: false,
        pba_needs_full_window: false,
        pba_counts_twice: false,
        early_fast_retransmit: None,
        timeout_waits_for_ack: true,
        quirks: Quirks::default(),
    }
}
