//! Profiles of stacks that other people wrote: those of the studies of 2005 and 2006, Linux of today, and RACK-TLP.

use anabranch_base::Duration;

use super::groups::Quirks;
use super::values::{ImmediateBit, LossDetection, WindowUnit};
use super::{
    Algorithm, Config, CongestionControl, EcnBackoff, EcnMode, ErrorDetection, FastRecovery, InitialWindow,
    MaxBurst, MtuDiscovery, Reduction, RttSampling,
};

impl Config {
    /// RFC 9260 with RACK-TLP (RFC 8985 carried over to SCTP): loss is found by time, a probe goes out for a lost tail.
    #[must_use]
    pub fn rfc9260_rack() -> Self {
        Self::rfc9260().with(|c| {
            c.profile = "rfc9260-rack";
            c.congestion.loss_detection = LossDetection::Rack;
            c.congestion.tail_loss_probe = true;
        })
    }

    /// For a program of today on an unknown network: nearly the whole rate of the path, with nothing to choose
    /// (docs/explanation/rate.md). CUBIC (RFC 9438) that leaves slow start by HyStart++ (RFC 9406), RACK-TLP (RFC
    /// 8985), pacing (RFC 9002, 7.7), an initial window of ten packets (RFC 6928), and windows for a long fast path.
    #[must_use]
    pub fn modern() -> Self {
        Self::rfc9260_rack().with(|c| {
            c.profile = "modern";
            c.congestion.control = CongestionControl { algorithm: Algorithm::Cubic, hystart: true };
            c.congestion.initial_window = InitialWindow::Packets(10);
            // "L: infinity if paced" (RFC 9406, 4.3): a SACK speaks of two packets as a rule, and of many where one was lost or an operating
            // system hands over a batch.
            c.congestion.slow_start_limit = u16::MAX;
            c.congestion.growth_needs_advance = false;
            c.timers.rtt_sampling = RttSampling::EveryAck;
            c.timers.control_probe = true;
            // The initial window leaves at once; as soon as a round trip is known the pacer stands for Max.Burst.
            c.congestion.max_burst = MaxBurst::Acknowledged(10);
            c.congestion.reduction = Reduction::Prr;
            c.congestion.undo = true;
            c.congestion.timeout_keeps_exit = true;
            c.congestion.lost_again_cuts = true;
            // RFC 5681, 3.1: when the timer expires again for the same segment "the value of ssthresh is held constant".
            c.emulation.backoff_keeps_ssthresh = true;
            c.congestion.window_validation = true;
            c.congestion.idle_decay_floor = None;
            c.pacing.enabled = true;
            c.pacing.quantum = Duration::from_millis(1);
            c.limits.max_receive_window = 16 << 20;
            c.limits.max_send_buffer = 4 << 20;
            c.limits.stream_send_minimum = 8 << 10;
            // A peer that offers no more than RFC 9260 gets the features that both have: streams beyond those cost
            // nothing until they are used.
            c.streams.outbound = 2048;
            c.extensions.ecn = EcnMode::Classic;
            c.extensions.selected_gap_blocks = 8;
            c.congestion.ecn_backoff = EcnBackoff::Abe;
        })
    }

    /// [`Config::modern`] with two additions for real networks, with which no figure is drawn: probes find the MTU of
    /// each path (RFC 8899), which would be a black hole where its MTU is smaller and no router says that a packet
    /// was too big; and partial reliability is offered (RFC 3758), as deployed stacks do.
    #[must_use]
    pub fn for_networks() -> Self {
        Self::modern().with(|c| {
            c.path_mtu.discovery = MtuDiscovery::Probes;
            c.path_mtu.waits_for_data = true;
            c.extensions.partial_reliability = true;
        })
    }

    /// The requirements of data channels on SCTP (RFC 8831, 5 and 6; RFC 8261): every packet travels in a DTLS record
    /// over UDP, on one path, and there is one subflow until another is opened.
    #[must_use]
    pub fn webrtc() -> Self {
        Self::rfc9260().with(|c| {
            c.profile = "webrtc";
            // "The number of streams negotiated during SCTP association setup SHOULD be 65535" (RFC 8831, 6.2).
            c.streams.outbound = u16::MAX;
            c.streams.inbound = u16::MAX;
            c.streams.max_outbound = u16::MAX;
            // "The stream reconfiguration extension defined in [RFC6525] MUST be supported", "the partial reliability
            // extension defined in [RFC3758] MUST be supported", and interleaving "SHOULD be used" (RFC 8831, 6.1).
            c.extensions.reconfiguration = true;
            c.extensions.partial_reliability = true;
            c.extensions.interleaving = true;
            // A file on one channel must not stop text that is typed on another.
            c.limits.stream_send_minimum = 8 << 10;
            // DTLS finds errors better than the CRC32c (RFC 9653, 6).
            c.extensions.zero_checksum = Some(ErrorDetection::Dtls);
            // "Path MTU discovery without relying on ICMP", by probes; "The initial Path MTU at the IP layer SHOULD NOT
            // exceed 1200 bytes for IPv4" (RFC 8831, 5).
            c.path_mtu.discovery = MtuDiscovery::Probes;
            c.path_mtu.base = 1200;
            // In front of SCTP: IP 20, UDP 8, and a DTLS 1.2 record with AES-GCM, 13 + 8 + 16.
            c.ip_overhead = 65;
        })
    }

    /// The SCTP of Linux 6.1 with its default sysctls, as packet logs of the kernel show it.
    #[must_use]
    pub fn linux_6_1() -> Self {
        Self::rfc9260().with(|c| {
            c.profile = "linux-6.1";
            c.limits.receive_window = 106_496;
            c.limits.send_buffer = 212_992;
            c.timers.rto_initial = Duration::from_secs(3);
            c.emulation.init_size = 36;
            // 228, and 8 bytes of other parameters in the INIT ACK: half of them here, as the cookie travels twice.
            c.emulation.cookie_size = 232;
            c.emulation.timer_tick = Duration::from_millis(10);
            c.emulation.timer_wheel = true;
            c.emulation.sack_filled_hole = false;
            c.sack.immediate_bit = ImmediateBit::ShutdownKept;
            c.emulation.data_with_cookie = false;
            c.emulation.window_unit = WindowUnit::Mtu;
            c.emulation.flight_counts_headers = false;
            c.emulation.flight_counts_padding = false;
            c.congestion.initial_window = InitialWindow::Rfc4960;
            c.congestion.initial_ssthresh = None;
            c.timers.rtt_sampling = RttSampling::ThroughLoss;
            c.congestion.growth_needs_advance = false;
            c.emulation.timeout_waits_for_ack = false;
            // Its logs show it still: a fast retransmit does not restart T3-rtx.
            c.emulation.quirks = Quirks { t3_runs_on: true, fsn_from_second: true, ..Quirks::default() };
        })
    }

    /// The SCTP of the KAME project on FreeBSD 6.0 (Hurtig et al. 2006, D.1), without its bugs: an initial window of 1 MTU, fast
    /// retransmit on the 3rd report, a window of 233,016 bytes.
    #[must_use]
    pub fn kame_2006() -> Self {
        Self::rfc2960().with(|c| {
            c.profile = "kame-2006";
            c.limits.receive_window = 233_016;
            // One packet at first, and no second one for user data that does not fit it.
            c.congestion.initial_window = InitialWindow::FullPackets(1);
            c.congestion.fast_retransmit_threshold = 3;
            c.sack.immediate_bit = ImmediateBit::Off;
            c.sack.immediate_bit_obeyed = false;
            c.emulation.data_with_cookie = false;
        })
    }

    /// `kame-2006` with the bugs that Hurtig et al. (2006) saw.
    #[must_use]
    pub fn kame_2006_bugs() -> Self {
        Self::kame_2006().with(|c| {
            c.profile = "kame-2006-bugs";
            c.emulation.quirks = Quirks {
                handshake_rto: true,
                cookie_ack_optional: true,
                faulty_recovery: false,
                burst_before_sack: true,
                ..Quirks::default()
            };
        })
    }

    /// The SCTP of Linux 2.6.15 (Hurtig et al. 2006, D.2), without its bugs: an initial window of four full packets, fast retransmit
    /// on the 4th report, a window of 52,736 bytes.
    #[must_use]
    pub fn lksctp_2006() -> Self {
        Self::rfc2960().with(|c| {
            c.profile = "lksctp-2006";
            c.limits.receive_window = 52_736;
            c.emulation.flight_counts_headers = false;
            c.congestion.initial_window = InitialWindow::Rfc4960;
            c.congestion.fast_retransmit_threshold = 4;
            // Its receiver announced the room that the user made, and so acknowledged the last packet without delay (study
            // 003, 6.1). The bit of RFC 7053, which is younger, brings about the same.
            c.sack.immediate_bit = ImmediateBit::Last;
            c.emulation.data_with_cookie = false;
        })
    }

    /// `lksctp-2006` with the bugs that Hurtig et al. (2006) saw.
    #[must_use]
    pub fn lksctp_2006_bugs() -> Self {
        Self::lksctp_2006().with(|c| {
            c.profile = "lksctp-2006-bugs";
            c.emulation.quirks = Quirks {
                first_chunk_by_timeout: true,
                t3_runs_on: true,
                faulty_recovery: true,
                ..Quirks::default()
            };
        })
    }

    /// The library of Siemens and the University of Essen before its release 19 (Andersson 2005, 5.3.2): an initial window of
    /// 2 MTU, slop-over, fast retransmit on the 4th report, a window of 33 kB.
    #[must_use]
    pub fn sctplib_2001() -> Self {
        Self::rfc2960().with(|c| {
            c.profile = "sctplib-2001";
            c.limits.receive_window = 33_000;
            // It makes the handshake 240 bytes longer than that of TCP with its options (172 bytes in three packets), each
            // packet counted with the 16 bytes of header that the study's captures add.
            c.emulation.cookie_size = 108;
            // RFC 2960 limits no burst, and one packet may go beyond cwnd ("slop-over").
            c.congestion.max_burst = MaxBurst::Off;
            c.congestion.fast_recovery = FastRecovery::Off;
            c.sack.immediate_bit = ImmediateBit::Off;
            c.sack.immediate_bit_obeyed = false;
            c.emulation.data_with_cookie = false;
        })
    }
}
