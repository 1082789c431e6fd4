//! Stacks that other people wrote: what the studies of 2005 and 2006 ran, Linux of today, and RACK-TLP. Their profiles, and
//! the values that exist because of them.

use std::fmt;

use anabranch_base::Duration;

use super::{Config, FastRecovery, InitialWindow, MaxBurst, RttSampling};

/// What windows are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUnit {
    /// Path Maximum DATA Chunk Size (RFC 9260, 7.2).
    Pmdcs,
    /// The MTU of the path, IP header included (RFC 2960 and RFC 4960).
    Mtu,
}

/// Which DATA chunks ask for a SACK at once (the I bit, RFC 7053).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImmediateBit {
    /// None.
    Off,
    /// All that leave in SHUTDOWN-PENDING (RFC 9260, 6.1).
    Shutdown,
    /// Likewise, but for those that leave at the time of the close: a kernel has sent them before. Also when they are sent
    /// again (Linux).
    ShutdownKept,
    /// The last one before a shutdown.
    Last,
}

/// How loss is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// A number of missing reports (RFC 9260, 7.2.4).
    MissingReports,
    /// Time: what was sent a reordering window before something that has arrived is lost (RFC 8985).
    Rack,
}

macro_rules! words {
    ($kind:ident, $($variant:ident = $word:literal),+) => {
        impl $kind {
            /// The value of that name.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $word,)+
                })
            }
        }
    };
}

words!(WindowUnit, Pmdcs = "pmdcs", Mtu = "mtu");
words!(ImmediateBit, Off = "off", Shutdown = "shutdown", ShutdownKept = "shutdown-kept", Last = "last");
words!(LossDetection, MissingReports = "missing-reports", Rack = "rack");

/// Bugs that study 003 saw in the stacks of 2006 (its sections 6 and 7). No rule asks for any of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// KAME: the round trip of the handshake sets the RTO. Its packets are small, so on slow links the RTO is too short for
    /// the first DATA (6.2.1, 6.4.1).
    pub handshake_rto: bool,
    /// KAME: "does not care if the COOKIE_ACK is lost": DATA that arrives in COOKIE-ECHOED ends the handshake (6.2.2).
    pub cookie_ack_optional: bool,
    /// T3-rtx does not back off, so once the RTO is too short everything is sent twice. KAME: "the RTO timer did not
    /// back-off accordingly" (6.4.1, one position only); LKSCTP: spurious retransmissions continue "throughout the entire
    /// association" (7.2.1).
    pub faulty_recovery: bool,
    /// KAME: "when the first data packet is sent KAME waits for about 400ms [at an RTO.Min of 200 ms] and then sends three
    /// additional packets, even if no SACK has been received" (6.4.1).
    pub burst_before_sack: bool,
    /// LKSCTP: "unable to recover a loss of the first data packet with the fast retransmit mechanism" (6.2.2).
    pub first_chunk_by_timeout: bool,
    /// LKSCTP: "starts to spuriously retransmit packets that are in flight when the retransmission of the fifth packet is
    /// conducted", unless SACKs were delayed before (7.2.1). A fast retransmit does not restart T3-rtx, which then expires
    /// before the answer can be there, and what is in flight is sent again; delayed SACKs in the samples make the RTO long
    /// enough. The packet logs of Linux 6.1 show the same.
    pub t3_runs_on: bool,
    /// "The implementation is unable to undo this exponential back-off when new acknowledgments are received" (7.1.2).
    pub backoff_stays: bool,
}

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
