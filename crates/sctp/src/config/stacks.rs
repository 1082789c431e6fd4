//! Stacks that other people wrote: what the studies of 2005 and 2006 ran, Linux of today, and RACK-TLP. Their profiles.

use anabranch_base::Duration;

use super::emulation::{ImmediateBit, LossDetection, Quirks, WindowUnit};
use super::{Config, FastRecovery, InitialWindow, MaxBurst, RttSampling};

impl Config {
    /// RFC 9260 with RACK-TLP (RFC 8985 carried over to SCTP): loss is found by time, a probe goes out for a lost tail.
    #[must_use]
    pub fn rfc9260_rack() -> Self {
        Self {
            profile: "rfc9260-rack",
            loss_detection: LossDetection::Rack,
            tail_loss_probe: true,
            ..Self::rfc9260()
        }
    }

    /// The SCTP of Linux 6.1 with its default sysctls, as packet logs of the kernel show it.
    #[must_use]
    pub fn linux_6_1() -> Self {
        Self {
            profile: "linux-6.1",
            receive_window: 106_496,
            send_buffer: 212_992,
            rto_initial: Duration::from_secs(3),
            init_size: 36,
            // 228, and 8 bytes of other parameters in the INIT ACK: half of them here, as the cookie travels twice.
            cookie_size: 232,
            timer_tick: Duration::from_millis(10),
            timer_wheel: true,
            sack_filled_hole: false,
            immediate_bit: ImmediateBit::ShutdownKept,
            data_with_cookie: false,
            window_unit: WindowUnit::Mtu,
            flight_counts_headers: false,
            initial_window: InitialWindow::Rfc4960,
            initial_ssthresh: None,
            rtt_sampling: RttSampling::ThroughLoss,
            growth_needs_advance: false,
            timeout_waits_for_ack: false,
            // Its logs show it still: a fast retransmit does not restart T3-rtx.
            quirks: Quirks { t3_runs_on: true, ..Quirks::default() },
            ..Self::rfc9260()
        }
    }

    /// The SCTP of the KAME project on FreeBSD 6.0 (study 003, D.1), without its bugs: an initial window of 1 MTU, fast
    /// retransmit on the 3rd report, a window of 233,016 bytes.
    #[must_use]
    pub fn kame_2006() -> Self {
        Self {
            profile: "kame-2006",
            receive_window: 233_016,
            // One packet, not one and what slops over.
            window_unit: WindowUnit::Pmdcs,
            initial_window: InitialWindow::Packets(1),
            fast_retransmit_threshold: 3,
            immediate_bit: ImmediateBit::Off,
            immediate_bit_obeyed: false,
            data_with_cookie: false,
            ..Self::rfc2960()
        }
    }

    /// `kame-2006` with the bugs that study 003 saw.
    #[must_use]
    pub fn kame_2006_bugs() -> Self {
        Self {
            profile: "kame-2006-bugs",
            quirks: Quirks {
                handshake_rto: true,
                cookie_ack_optional: true,
                faulty_recovery: false,
                burst_before_sack: true,
                ..Quirks::default()
            },
            ..Self::kame_2006()
        }
    }

    /// The SCTP of Linux 2.6.15 (study 003, D.2), without its bugs: an initial window of four full packets, fast retransmit
    /// on the 4th report, a window of 52,736 bytes.
    #[must_use]
    pub fn lksctp_2006() -> Self {
        Self {
            profile: "lksctp-2006",
            receive_window: 52_736,
            window_unit: WindowUnit::Mtu,
            flight_counts_headers: false,
            initial_window: InitialWindow::Rfc4960,
            fast_retransmit_threshold: 4,
            // Its receiver announced the room that the user made, and so acknowledged the last packet without delay (study
            // 003, 6.1). The bit of RFC 7053, which is younger, brings about the same.
            immediate_bit: ImmediateBit::Last,
            data_with_cookie: false,
            ..Self::rfc2960()
        }
    }

    /// `lksctp-2006` with the bugs that study 003 saw.
    #[must_use]
    pub fn lksctp_2006_bugs() -> Self {
        Self {
            profile: "lksctp-2006-bugs",
            quirks: Quirks {
                first_chunk_by_timeout: true,
                t3_runs_on: true,
                faulty_recovery: true,
                ..Quirks::default()
            },
            ..Self::lksctp_2006()
        }
    }

    /// The library of Siemens and the University of Essen before its release 19 (study 000, 5.3.2): an initial window of
    /// 2 MTU, slop-over, fast retransmit on the 4th report, a window of 33 kB.
    #[must_use]
    pub fn sctplib_2001() -> Self {
        Self {
            profile: "sctplib-2001",
            receive_window: 33_000,
            // It makes the handshake 240 bytes longer than that of TCP with its options (172 bytes in three packets), each
            // packet counted with the 16 bytes of header that the study's captures add.
            cookie_size: 108,
            window_unit: WindowUnit::Mtu,
            // RFC 2960 limits no burst, and one packet may go beyond cwnd ("slop-over").
            max_burst: MaxBurst::Off,
            fast_recovery: FastRecovery::Off,
            immediate_bit: ImmediateBit::Off,
            immediate_bit_obeyed: false,
            data_with_cookie: false,
            ..Self::rfc2960()
        }
    }
}
