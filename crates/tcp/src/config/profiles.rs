//! Profiles: named sets of values. No code asks for a profile's name.

use super::table::Config;
use super::value::{InitialWindow, LossRecovery, Reduction, RttEstimator, RttSampling, SsthreshBase};
use anabranch_base::Duration;
use anabranch_transport::congestion::{AckedGrowth, Algorithm};

/// Every profile with a line about it.
pub const PROFILES: &[(&str, &str)] = &[
    (
        "rfc",
        "today's standards: RFC 5681, SACK recovery (6675), limited transmit, timestamps, scaling, IW 10",
    ),
    ("reno", "as rfc, without SACK, RFC 5681's Reno recovery"),
    ("newreno", "as rfc, without SACK, RFC 6582"),
    ("sack", "as rfc (SACK, RFC 6675) without timestamps"),
    (
        "study-2005",
        "what the satellite study says of its TCP: SACK, no delayed ACK, no limited transmit, 64 KB",
    ),
    (
        "ns2-sack1",
        "ns-2.35's Agent/TCP/Sack1 as the satellite reference runs set it: limited transmit, window_ 45",
    ),
    (
        "freebsd-6.0",
        "FreeBSD 6.0 as the loss-position study ran it: RFC 3390, RTO slop of 200 ms; inflight limiting and quirks are off",
    ),
    (
        "linux-2.4",
        "Linux 2.4 as the web-objects study ran it: IW 2, SACK, FACK, MSS 1412, window 63 KB, SYN after 3, 6, 12 s",
    ),
    (
        "linux-2.6.15",
        "Linux 2.6.15: BIC (controller = vegas by choice), SACK, FACK, rate halving, RTO min 200 ms",
    ),
    (
        "linux-6.1",
        "Linux 6.1: CUBIC, IW 10, RACK-TLP, F-RTO, RTO min 200 ms, proportional rate reduction, ticks of 10 ms",
    ),
    (
        "rack-cubic",
        "as rfc with CUBIC (RFC 9438), RACK-TLP (RFC 8985), DSACK, F-RTO and proportional rate reduction",
    ),
];

impl Config {
    /// The profile called `name`; `None` when there is none ([`PROFILES`] lists them).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "rfc" => Some(Self::default()),
            "reno" => Some(Self { sack: false, recovery: LossRecovery::Reno, ..Self::default() }),
            "newreno" => Some(Self {
                sack: false,
                recovery: LossRecovery::NewReno,
                partial_ack_restarts_timer: false,
                ..Self::default()
            }),
            "sack" => Some(Self { timestamps: false, ..Self::default() }),
            "study-2005" => Some(study_2005()),
            "ns2-sack1" => Some(ns2_sack1()),
            "freebsd-6.0" => Some(freebsd_6_0()),
            "linux-2.4" => Some(linux_2_4()),
            "linux-2.6.15" => Some(linux_2_6_15()),
            "linux-6.1" => Some(linux_6_1()),
            "rack-cubic" => Some(rack_cubic()),
            _ => None,
        }
    }
}

/// Alamgir et al. (2005), section 4, and a behaviour that its Fig. 8 shows: two duplicate acknowledgements that send
/// nothing.
fn study_2005() -> Config {
    Config {
        // 1448 + 40 bytes of headers: 3.967 ms at 3 Mb/s, the spacing of Fig. 8.
        mss: 1448,
        sack_blocks: 3,
        timestamps: false,
        window_scaling: false,
        receive_buffer: 65535,
        delayed_ack: false,
        initial_window: InitialWindow::Segments(2),
        initial_ssthresh: Some(65535),
        recovery: LossRecovery::Ns2Sack1,
        limited_transmit: false,
        keep_sack_on_timeout: false,
        partial_ack_clears_backoff: true,
        fast_retransmit_restarts_timer: true,
        ssthresh_held_on_backoff: false,
        growth: AckedGrowth::Packets,
        growth_needs_full_window: false,
        ssthresh_base: SsthreshBase::Cwnd,
        slow_start_restart: false,
        one_segment_after_handshake_loss: false,
        rto_initial: Duration::from_secs(3),
        rto_min: Duration::from_secs(1),
        rto_max: Duration::from_secs(60),
        rto_granularity: Duration::from_millis(10),
        rtt_estimator: RttEstimator::Ticks,
        ..Config::default()
    }
}

fn ns2_sack1() -> Config {
    Config {
        limited_transmit: true,
        // window_ 45 packets of 1448 B, and ssthresh starts there.
        send_limit: 45 * 1448,
        initial_ssthresh: Some(45 * 1448),
        // ns-2's sink has no window of its own: the sender's window_ is the only limit.
        window_scaling: true,
        receive_buffer: 1 << 20,
        ..study_2005()
    }
}

/// Hurtig et al. (2006), section 4.2 and appendix C.1: its baseline, which had inflight limiting switched off.
fn freebsd_6_0() -> Config {
    Config {
        receive_buffer: 65536,
        sack_blocks: 3,
        ack_delay: Duration::from_millis(100),
        initial_window: InitialWindow::Rfc3390,
        growth: AckedGrowth::PerAck,
        growth_needs_full_window: false,
        ssthresh_base: SsthreshBase::Cwnd,
        // "adds about three seconds": no slower start on top (Hurtig et al. 2006, section 5.1).
        one_segment_after_handshake_loss: false,
        scoreboard_starts_recovery: false,
        nextseg_rule3: false,
        rescue_retransmission: false,
        keep_sack_on_timeout: false,
        ssthresh_held_on_backoff: false,
        // The window of one segment comes with the server's own repetition, not with its answer to the client's.
        handshake_losses_forgiven: 1,
        rto_initial: Duration::from_secs(3),
        // "3ms in FreeBSD", and 200 ms are added before it is looked at.
        rto_min: Duration::from_millis(3),
        rto_slop: Duration::from_millis(200),
        rto_max: Duration::from_secs(64),
        // The timeout taken from the handshake is the quirk of Hurtig et al. (2006), section 7.1.1.
        rtt_from_handshake: false,
        retransmissions: 12,
        syn_retransmissions: 3,
        ..Config::default()
    }
}

/// Andersson (2005), sections 4.2 and 5.1: Red Hat 7.2 with its route metrics flushed before every run.
fn linux_2_4() -> Config {
    Config {
        // 1400 bytes of data and 12 of the timestamp option.
        mss: 1412,
        // A SYN has 60 bytes (76 in a capture: Andersson (2005), section 5.3.2): the scale is offered, and 0.
        window_scaling: true,
        receive_buffer: 63 << 10,
        quick_acks: 16,
        rtt_from_repeated_handshake: true,
        // One segment after a loss in the handshake came with Linux 3.1.
        one_segment_after_handshake_loss: false,
        // Table 5.1: three segments on one acknowledgement, the third with the FIN.
        fin_beyond_window: true,
        initial_window: InitialWindow::Segments(2),
        ..linux_2_6_15_reno()
    }
}

/// Hurtig et al. (2006), appendix C.2.
fn linux_2_6_15() -> Config {
    Config { controller: Algorithm::Bic, quick_acks: 16, ..linux_2_6_15_reno() }
}

/// The settings that Linux 2.4 and 2.6.15 have in common.
fn linux_2_6_15_reno() -> Config {
    Config {
        receive_buffer: 87380,
        ack_delay: Duration::from_millis(40),
        initial_window: InitialWindow::Rfc3390,
        growth: AckedGrowth::Packets,
        ssthresh_base: SsthreshBase::Cwnd,
        one_segment_after_handshake_loss: true,
        scoreboard_starts_recovery: false,
        fack: true,
        reduction: Reduction::RateHalving,
        nextseg_rule3: false,
        rescue_retransmission: false,
        undo: true,
        rto_initial: Duration::from_secs(3),
        rto_min: Duration::from_millis(200),
        rto_max: Duration::from_secs(120),
        rtt_estimator: RttEstimator::Linux,
        dsack: true,
        syn_retransmissions: 5,
        duplicate_syn_restarts_timer: false,
        ..Config::default()
    }
}

/// The kernel of the witness in `tests/`, which ticks a hundred times a second.
fn linux_6_1() -> Config {
    Config {
        receive_buffer: 131_072,
        // tcp_rmem allows 6 MiB; with tcp_adv_win_scale = 1 half of it is window.
        receive_buffer_limit: 3 << 20,
        ack_delay: Duration::from_millis(40),
        quick_acks: 16,
        controller: Algorithm::Cubic,
        growth_limit: u32::MAX,
        fin_beyond_window: true,
        ssthresh_base: SsthreshBase::Cwnd,
        handshake_losses_forgiven: 1,
        recovery: LossRecovery::Rack,
        reduction: Reduction::Prr,
        dsack: true,
        tlp: true,
        probe_margin: Duration::from_millis(2),
        rack_dsack_needs_reordering: true,
        rtt_from_repeated_handshake: true,
        rto_from_head: true,
        frto: true,
        undo: true,
        fast_retransmit_restarts_timer: true,
        sack_restarts_timer: true,
        rto_min: Duration::from_millis(200),
        rto_max: Duration::from_secs(120),
        rtt_estimator: RttEstimator::Linux,
        rtt_sampling: RttSampling::Segments,
        timer_tick: Duration::from_millis(10),
        timer_wheel: true,
        ..Config::default()
    }
}

fn rack_cubic() -> Config {
    Config {
        controller: Algorithm::Cubic,
        recovery: LossRecovery::Rack,
        reduction: Reduction::Prr,
        dsack: true,
        tlp: true,
        frto: true,
        undo: true,
        rtt_sampling: RttSampling::Segments,
        ..Config::default()
    }
}
