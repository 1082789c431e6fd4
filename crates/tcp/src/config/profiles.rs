//! Profiles: named sets of values. No code asks for a profile's name.

use super::{AckedGrowth, Config, InitialWindow, LossRecovery, RttEstimator, SsthreshBase};
use anabranch_base::Duration;

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
            _ => None,
        }
    }
}

/// Study 002, section 4, and what its Fig. 8 shows: two duplicate acknowledgements that send nothing.
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
