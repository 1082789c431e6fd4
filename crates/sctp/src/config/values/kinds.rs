//! Kinds of values: their text form, allowed values and unit. A kind that only one option has is named after that
//! option.

use std::fmt::Display;
use std::str::FromStr;

use anabranch_base::{Dscp, Duration};
use anabranch_transport::congestion::{FccClock, FccRounding, FccStep};
use anabranch_wire::sf::CodePoints;

use super::buffers::SendBufferCounts;
use super::checksums::Checksums;
use super::congestion::{CongestionControl, FastRecovery, InitialWindow, MaxBurst, Reduction};
use super::coupling::{AdaptiveCut, Coupling, FccCount};
use super::detection::ErrorDetection;
use super::ecn::{EcnBackoff, EcnMode};
use super::emulation::{ImmediateBit, LossDetection, WindowUnit};
use super::path_mtu::MtuDiscovery;
use super::streams::StreamScheduling;
use super::subflows::{SubflowLevel, SubflowScheduler};
use super::text;
use super::timers::RttSampling;

/// Text form of the values of one type.
pub(in crate::config) struct Kind<T> {
    /// Switch, number, size, time, choice or list.
    pub(in crate::config) name: &'static str,
    /// Unit of a bare number; empty where it has none, or the text names it.
    pub(in crate::config) unit: &'static str,
    /// Allowed values, for people: the range of a number, the words of a choice.
    pub(in crate::config) allowed: &'static str,
    pub(in crate::config) parse: fn(&str) -> Option<T>,
    pub(in crate::config) show: fn(&T) -> String,
}

/// A whole number, of any width.
pub(in crate::config) const fn count<T: FromStr + Display>() -> Kind<T> {
    Kind { name: "number", unit: "", allowed: "a whole number", parse: text::count, show: text::shown }
}

/// A number of bytes, of any width.
pub(in crate::config) const fn size<T: TryFrom<u64> + Display>() -> Kind<T> {
    Kind {
        name: "size",
        unit: "B",
        allowed: "a size in B, kB, MB, GB, KiB, MiB or GiB such as \"64 KiB\"",
        parse: text::bytes,
        show: text::shown,
    }
}

pub(in crate::config) const OPTIONAL_NUMBER: Kind<Option<u32>> = Kind {
    name: "number",
    unit: "",
    allowed: "a number of 0 to 4294967295 or \"off\"",
    parse: text::optional_number,
    show: text::show_optional,
};
pub(in crate::config) const ADAPTIVE_CUT: Kind<AdaptiveCut> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"group\" or \"lane\"",
    parse: text::adaptive_cut,
    show: text::show_adaptive_cut,
};
pub(in crate::config) const SWITCH: Kind<bool> =
    Kind { name: "switch", unit: "", allowed: "true or false", parse: text::switch, show: text::shown };
pub(in crate::config) const CHECKSUMS: Kind<Checksums> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"crc32c\" or \"elided\"",
    parse: text::checksums,
    show: text::show_checksums,
};
pub(in crate::config) const CONGESTION_CONTROL: Kind<CongestionControl> = Kind {
    name: "choice",
    unit: "",
    allowed: CongestionControl::EXPECTED,
    parse: CongestionControl::parse,
    show: text::shown,
};
pub(in crate::config) const PADDED_SIZE: Kind<u16> = Kind {
    name: "size",
    unit: "B",
    allowed: "a size of 0 B to 480 B",
    parse: text::cookie_size,
    show: text::show_bytes,
};
pub(in crate::config) const COUPLING: Kind<Coupling> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"independent\", \"shared\", \"fcc(n)\", \"fcc(n^2)\", \"fcc(2n^2)\", \"fcc(NUMBER from 1)\", \"lia\", \"olia\" or \"adaptive\"",
    parse: Coupling::parse,
    show: text::shown,
};
pub(in crate::config) const CODE_POINT: Kind<Dscp> = Kind {
    name: "number",
    unit: "",
    allowed: "a code point of 0 to 63",
    parse: text::dscp,
    show: text::show_dscp,
};
pub(in crate::config) const OPTIONAL_TIME: Kind<Option<Duration>> = Kind {
    name: "time",
    unit: "",
    allowed: "a time in ns, us, ms, s, min or h such as \"200 ms\", or \"off\"",
    parse: text::optional_duration,
    show: text::show_optional_duration,
};
pub(in crate::config) const ECN: Kind<EcnMode> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"off\", \"classic\" or \"l4s\"; l4s not with bbr",
    parse: EcnMode::parse,
    show: text::shown,
};
pub(in crate::config) const ECN_BACKOFF: Kind<EcnBackoff> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"as-loss\" or \"abe\"",
    parse: EcnBackoff::parse,
    show: text::shown,
};
pub(in crate::config) const FAST_RECOVERY: Kind<FastRecovery> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"off\", \"until-exit\" or \"per-window\"",
    parse: text::fast_recovery,
    show: text::show_recovery,
};
pub(in crate::config) const REPORTS: Kind<u8> = Kind {
    name: "number",
    unit: "reports",
    allowed: "a whole number of 1 to 255",
    parse: text::count,
    show: text::shown,
};
pub(in crate::config) const FCC_CLOCK: Kind<FccClock> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"bytes\" or \"round-trips\"",
    parse: text::fcc_clock,
    show: text::show_fcc_clock,
};
pub(in crate::config) const FCC_COUNT: Kind<FccCount> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"configured\" or \"active\"",
    parse: text::fcc_count,
    show: text::show_fcc_count,
};
pub(in crate::config) const FCC_ROUNDING: Kind<FccRounding> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"exact\", \"floor\", \"ceil\" or \"nearest\"",
    parse: text::fcc_rounding,
    show: text::show_fcc_rounding,
};
pub(in crate::config) const FCC_STEP: Kind<FccStep> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"packet\" or \"fraction\"",
    parse: text::fcc_step,
    show: text::show_fcc_step,
};
pub(in crate::config) const TIME: Kind<Duration> = Kind {
    name: "time",
    unit: "",
    allowed: "a time in ns, us, ms, s, min or h such as \"200 ms\"",
    parse: text::duration,
    show: text::show_duration,
};
pub(in crate::config) const OPTIONAL_PMDCS: Kind<Option<u16>> = Kind {
    name: "number",
    unit: "PMDCS",
    allowed: "a number of PMDCS or \"off\"",
    parse: text::optional_count,
    show: text::show_optional,
};
pub(in crate::config) const IMMEDIATE_BIT: Kind<ImmediateBit> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"off\", \"shutdown\", \"shutdown-kept\" or \"last\"",
    parse: ImmediateBit::parse,
    show: text::shown,
};
pub(in crate::config) const SUBFLOWS: Kind<u8> = Kind {
    name: "number",
    unit: "subflows",
    allowed: "a whole number of 1 to 255",
    parse: text::subflow_count,
    show: text::shown,
};
pub(in crate::config) const SSTHRESH: Kind<Option<u64>> = Kind {
    name: "size",
    unit: "B",
    allowed: "a size in B, kB, MB, GB, KiB, MiB or GiB, or \"peer-rwnd\"",
    parse: text::optional_bytes,
    show: text::show_ssthresh,
};
pub(in crate::config) const INITIAL_WINDOW: Kind<InitialWindow> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"rfc9260\", \"rfc4960\", a number of PMDCS (or MTU, as `window_unit` has it), or \"1 full\" for what so many full packets hold",
    parse: text::initial_window,
    show: text::show_window,
};
pub(in crate::config) const LOSS_DETECTION: Kind<LossDetection> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"missing-reports\" or \"rack\"",
    parse: LossDetection::parse,
    show: text::shown,
};
pub(in crate::config) const MAX_BURST: Kind<MaxBurst> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"off\", \"clamp N\", \"acknowledged N\" or \"after-recovery N\"",
    parse: text::max_burst,
    show: text::show_burst,
};
pub(in crate::config) const PACKET_SIZE: Kind<u16> =
    Kind { name: "number", unit: "B", allowed: "576 to 65535", parse: text::count, show: text::shown };
pub(in crate::config) const MTU_DISCOVERY: Kind<MtuDiscovery> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"off\", \"icmp\" or \"probes\"",
    parse: MtuDiscovery::parse,
    show: text::shown,
};
pub(in crate::config) const PROBES: Kind<u8> = Kind {
    name: "number",
    unit: "probes",
    allowed: "a whole number of 1 to 10",
    parse: text::probes,
    show: text::shown,
};
pub(in crate::config) const PROBE_TIME: Kind<Duration> = Kind {
    name: "time",
    unit: "",
    allowed: "a time of 1 s or more",
    parse: text::probe_timer,
    show: text::show_duration,
};
pub(in crate::config) const PACKETS: Kind<u8> = Kind {
    name: "number",
    unit: "packets",
    allowed: "a number of packets of 1 to 255",
    parse: text::subflow_count,
    show: text::shown,
};
pub(in crate::config) const GAIN: Kind<u16> = Kind {
    name: "number",
    unit: "%",
    allowed: "a percentage of 100 to 1000",
    parse: text::pacing_gain,
    show: text::shown,
};
pub(in crate::config) const HALF: Kind<u8> = Kind {
    name: "number",
    unit: "%",
    allowed: "a percentage of 1 to 50",
    parse: text::half_at_most,
    show: text::shown,
};
pub(in crate::config) const REDUCTION: Kind<Reduction> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"at-once\" or \"prr\"",
    parse: Reduction::parse,
    show: text::shown,
};
pub(in crate::config) const RTT_SAMPLING: Kind<RttSampling> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"once-per-round-trip\", \"through-loss\" or \"every-ack\"",
    parse: text::sampling,
    show: text::show_sampling,
};
pub(in crate::config) const SACK_DELAY: Kind<Duration> = Kind {
    name: "time",
    unit: "",
    allowed: "a time of 0 ms to 500 ms; 0 ms acknowledges every packet",
    parse: text::sack_delay,
    show: text::show_duration,
};
pub(in crate::config) const FROM_ONE: Kind<u16> = Kind {
    name: "number",
    unit: "",
    allowed: "a whole number of 1 or more",
    parse: text::positive_u16,
    show: text::shown,
};
pub(in crate::config) const GAP_BLOCKS: Kind<u16> = Kind {
    name: "number",
    unit: "blocks",
    allowed: "0, or a whole number of 3 to 64",
    parse: text::gap_blocks,
    show: text::shown,
};
pub(in crate::config) const SEND_BUFFER_COUNTS: Kind<SendBufferCounts> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"unsent\" or \"unacknowledged\"",
    parse: SendBufferCounts::parse,
    show: text::shown,
};
pub(in crate::config) const CODE_POINTS: Kind<CodePoints> = Kind {
    name: "list",
    unit: "",
    allowed: "seven numbers: SF-DATA, SF-SACK, SF-FORWARD, SF-CAP, SF-ADD, SF-DEL, SF-Violation, as in \"0x5f 0x9f 0xdf 0xb05f 0x405f 0x4060 0x5f01\"",
    parse: text::code_points,
    show: text::show_code_points,
};
pub(in crate::config) const PMDCS: Kind<u16> = Kind {
    name: "number",
    unit: "PMDCS",
    allowed: "a number of PMDCS of 1 or more",
    parse: text::positive_u16,
    show: text::shown,
};
pub(in crate::config) const STREAM_SCHEDULING: Kind<StreamScheduling> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"fcfs\", \"round-robin\", \"round-robin-packet\", \"priority\", \"fair-capacity\" or \"wfq\"",
    parse: text::scheduling,
    show: text::show_scheduling,
};
pub(in crate::config) const STREAM_VALUES: Kind<Vec<(u16, u16)>> = Kind {
    name: "list",
    unit: "",
    allowed: "streams and values from 0 to 65535, as in \"0=4 3=1\"",
    parse: text::stream_values,
    show: |values| text::show_stream_values(values),
};
pub(in crate::config) const SUBFLOW_LEVEL: Kind<SubflowLevel> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"0\", \"1\" or \"sf2007\"",
    parse: SubflowLevel::parse,
    show: text::shown,
};
pub(in crate::config) const SUBFLOW_SCHEDULER: Kind<SubflowScheduler> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"fcfs\", \"wrr\", \"priority\" or \"wfq\"",
    parse: text::subflow_scheduler,
    show: text::show_subflow_scheduler,
};
pub(in crate::config) const WINDOW_UNIT: Kind<WindowUnit> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"pmdcs\" or \"mtu\"",
    parse: WindowUnit::parse,
    show: text::shown,
};
pub(in crate::config) const ZERO_CHECKSUM: Kind<Option<ErrorDetection>> = Kind {
    name: "choice",
    unit: "",
    allowed: "\"off\" or \"dtls\"",
    parse: text::error_detection,
    show: text::show_error_detection,
};
