//! Reading values from text, and showing them as text.

use anabranch_base::{Dscp, Duration, units};
use anabranch_transport::congestion::{FccClock, FccRounding, FccStep};
use anabranch_wire::sf::CodePoints;

use super::checksums::Checksums;
use super::congestion::{FastRecovery, InitialWindow, MaxBurst};
use super::coupling::{AdaptiveCut, FccCount};
use super::detection::ErrorDetection;
use super::streams::StreamScheduling;
use super::subflows::SubflowScheduler;
use super::timers::RttSampling;

pub(super) fn count<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

pub(super) fn positive_u16(text: &str) -> Option<u16> {
    text.parse().ok().filter(|n| *n > 0)
}

pub(super) fn gap_blocks(text: &str) -> Option<u16> {
    // The highest, the newest and one in turn; and well below the length from which a list may have been cut.
    text.parse().ok().filter(|n| *n == 0 || (3..=64).contains(n))
}

pub(super) fn pacing_gain(text: &str) -> Option<u16> {
    // Less than cwnd in a round trip would leave a part of the window unused for ever.
    text.parse().ok().filter(|percent| (100..=1000).contains(percent))
}

pub(super) fn probes(text: &str) -> Option<u8> {
    text.parse().ok().filter(|probes| (1..=10).contains(probes))
}

pub(super) fn probe_timer(text: &str) -> Option<Duration> {
    // "This value MUST NOT be smaller than 1 second" (RFC 8899, 5.1.1).
    duration(text).filter(|d| *d >= Duration::from_secs(1))
}

pub(super) fn half_at_most(text: &str) -> Option<u8> {
    // With more the window could close before anything is handed over.
    text.parse().ok().filter(|percent| (1..=50).contains(percent))
}

pub(super) fn shown<T: ToString>(value: &T) -> String {
    value.to_string()
}

pub(super) fn switch(text: &str) -> Option<bool> {
    text.parse().ok()
}

/// In the spellings that every quantity of a scenario has.
pub(super) fn duration(text: &str) -> Option<Duration> {
    units::time(text).ok()
}

// rfc9260:6.2-13
pub(super) fn sack_delay(text: &str) -> Option<Duration> {
    // "MUST NOT allow the maximum delay to be configured to be more than 500 ms" (RFC 9260, 6.2).
    duration(text).filter(|d| *d <= Duration::from_millis(500))
}

pub(super) fn show_duration(value: &Duration) -> String {
    value.to_string()
}

/// More than a petabyte is a slip of the pen.
const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// A size; a number alone is one of bytes.
pub(super) fn bytes<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let size = text.trim().parse::<u64>().ok().or_else(|| units::size(text).ok())?;
    (size < MOST_BYTES).then(|| T::try_from(size).ok())?
}

pub(super) fn optional_bytes(text: &str) -> Option<Option<u64>> {
    if text == "peer-rwnd" { Some(None) } else { bytes(text).map(Some) }
}

pub(super) fn optional_count(text: &str) -> Option<Option<u16>> {
    if text == "off" { Some(None) } else { count(text).map(Some) }
}

pub(super) fn optional_number(text: &str) -> Option<Option<u32>> {
    if text == "off" { Some(None) } else { count(text).map(Some) }
}

pub(super) fn error_detection(text: &str) -> Option<Option<ErrorDetection>> {
    match text {
        "off" => Some(None),
        "dtls" => Some(Some(ErrorDetection::Dtls)),
        _ => None,
    }
}

pub(super) fn show_error_detection(value: &Option<ErrorDetection>) -> String {
    match value {
        None => "off".to_owned(),
        Some(ErrorDetection::Dtls) => "dtls".to_owned(),
    }
}

pub(super) fn show_optional<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| "off".to_owned(), ToString::to_string)
}

pub(super) fn show_ssthresh(value: &Option<u64>) -> String {
    value.map_or_else(|| "peer-rwnd".to_owned(), |bytes| format!("{bytes} B"))
}

pub(super) fn checksums(text: &str) -> Option<Checksums> {
    match text {
        "crc32c" => Some(Checksums::Crc32c),
        "elided" => Some(Checksums::Elided),
        _ => None,
    }
}

pub(super) fn show_checksums(value: &Checksums) -> String {
    match value {
        Checksums::Crc32c => "crc32c".to_owned(),
        Checksums::Elided => "elided".to_owned(),
    }
}

pub(super) fn subflow_count(text: &str) -> Option<u8> {
    count(text).filter(|n| *n > 0)
}

pub(super) fn code_points(text: &str) -> Option<CodePoints> {
    let numbers: Vec<u16> = text
        .split_whitespace()
        .map(|word| match word.strip_prefix("0x") {
            Some(hex) => u16::from_str_radix(hex, 16).ok(),
            None => word.parse().ok(),
        })
        .collect::<Option<_>>()?;
    let [data, sack, forward, capability, add, delete, violation] = numbers.try_into().ok()?;
    let (data, sack, forward) =
        (u8::try_from(data).ok()?, u8::try_from(sack).ok()?, u8::try_from(forward).ok()?);
    let codes = CodePoints { data, sack, forward, capability, add, delete, violation };
    codes.check().is_ok().then_some(codes)
}

pub(super) fn show_code_points(c: &CodePoints) -> String {
    format!(
        "{:#x} {:#x} {:#x} {:#x} {:#x} {:#x} {:#x}",
        c.data, c.sack, c.forward, c.capability, c.add, c.delete, c.violation
    )
}

pub(super) fn subflow_scheduler(text: &str) -> Option<SubflowScheduler> {
    Some(match text {
        "fcfs" => SubflowScheduler::Fcfs,
        "wrr" => SubflowScheduler::WeightedRoundRobin,
        "priority" => SubflowScheduler::Priority,
        "wfq" => SubflowScheduler::WeightedFair,
        _ => return None,
    })
}

pub(super) fn show_subflow_scheduler(value: &SubflowScheduler) -> String {
    match value {
        SubflowScheduler::Fcfs => "fcfs",
        SubflowScheduler::WeightedRoundRobin => "wrr",
        SubflowScheduler::Priority => "priority",
        SubflowScheduler::WeightedFair => "wfq",
    }
    .to_owned()
}

pub(super) fn adaptive_cut(text: &str) -> Option<AdaptiveCut> {
    match text {
        "group" => Some(AdaptiveCut::Group),
        "lane" => Some(AdaptiveCut::Lane),
        _ => None,
    }
}

pub(super) fn show_adaptive_cut(value: &AdaptiveCut) -> String {
    match value {
        AdaptiveCut::Group => "group",
        AdaptiveCut::Lane => "lane",
    }
    .to_owned()
}

pub(super) fn fcc_step(text: &str) -> Option<FccStep> {
    match text {
        "packet" => Some(FccStep::Packet),
        "fraction" => Some(FccStep::Fraction),
        _ => None,
    }
}

pub(super) fn show_fcc_step(value: &FccStep) -> String {
    match value {
        FccStep::Packet => "packet",
        FccStep::Fraction => "fraction",
    }
    .to_owned()
}

pub(super) fn fcc_clock(text: &str) -> Option<FccClock> {
    match text {
        "bytes" => Some(FccClock::Bytes),
        "round-trips" => Some(FccClock::RoundTrips),
        _ => None,
    }
}

pub(super) fn show_fcc_clock(value: &FccClock) -> String {
    match value {
        FccClock::Bytes => "bytes",
        FccClock::RoundTrips => "round-trips",
    }
    .to_owned()
}

pub(super) fn fcc_rounding(text: &str) -> Option<FccRounding> {
    match text {
        "exact" => Some(FccRounding::Exact),
        "floor" => Some(FccRounding::Floor),
        "ceil" => Some(FccRounding::Ceil),
        "nearest" => Some(FccRounding::Nearest),
        _ => None,
    }
}

pub(super) fn show_fcc_rounding(value: &FccRounding) -> String {
    match value {
        FccRounding::Exact => "exact",
        FccRounding::Floor => "floor",
        FccRounding::Ceil => "ceil",
        FccRounding::Nearest => "nearest",
    }
    .to_owned()
}

pub(super) fn fcc_count(text: &str) -> Option<FccCount> {
    match text {
        "configured" => Some(FccCount::Configured),
        "active" => Some(FccCount::Active),
        _ => None,
    }
}

pub(super) fn show_fcc_count(value: &FccCount) -> String {
    match value {
        FccCount::Configured => "configured",
        FccCount::Active => "active",
    }
    .to_owned()
}

pub(super) fn dscp(text: &str) -> Option<Dscp> {
    Dscp::new(text.parse().ok()?)
}

pub(super) fn show_dscp(value: &Dscp) -> String {
    value.get().to_string()
}

pub(super) fn fast_recovery(text: &str) -> Option<FastRecovery> {
    match text {
        "off" => Some(FastRecovery::Off),
        "until-exit" => Some(FastRecovery::UntilExit),
        "per-window" => Some(FastRecovery::PerWindow),
        _ => None,
    }
}

pub(super) fn show_recovery(value: &FastRecovery) -> String {
    match value {
        FastRecovery::Off => "off",
        FastRecovery::UntilExit => "until-exit",
        FastRecovery::PerWindow => "per-window",
    }
    .to_owned()
}

pub(super) fn initial_window(text: &str) -> Option<InitialWindow> {
    match text {
        "rfc9260" => return Some(InitialWindow::Rfc9260),
        "rfc4960" => return Some(InitialWindow::Rfc4960),
        _ => {}
    }
    match text.strip_suffix(" full") {
        Some(n) => positive_u16(n.trim()).map(InitialWindow::FullPackets),
        None => positive_u16(text).map(InitialWindow::Packets),
    }
}

pub(super) fn show_window(value: &InitialWindow) -> String {
    match value {
        InitialWindow::Rfc9260 => "rfc9260".to_owned(),
        InitialWindow::Rfc4960 => "rfc4960".to_owned(),
        InitialWindow::Packets(n) => n.to_string(),
        InitialWindow::FullPackets(n) => format!("{n} full"),
    }
}

pub(super) fn max_burst(text: &str) -> Option<MaxBurst> {
    if text == "off" {
        return Some(MaxBurst::Off);
    }
    let (kind, n) = text.split_once(' ')?;
    let n = positive_u16(n.trim())?;
    match kind {
        "clamp" => Some(MaxBurst::Clamp(n)),
        "acknowledged" => Some(MaxBurst::Acknowledged(n)),
        "after-recovery" => Some(MaxBurst::AfterRecovery(n)),
        _ => None,
    }
}

pub(super) fn show_burst(value: &MaxBurst) -> String {
    match value {
        MaxBurst::Off => "off".to_owned(),
        MaxBurst::Clamp(n) => format!("clamp {n}"),
        MaxBurst::Acknowledged(n) => format!("acknowledged {n}"),
        MaxBurst::AfterRecovery(n) => format!("after-recovery {n}"),
    }
}

pub(super) fn sampling(text: &str) -> Option<RttSampling> {
    match text {
        "once-per-round-trip" => Some(RttSampling::OncePerRoundTrip),
        "through-loss" => Some(RttSampling::ThroughLoss),
        "every-ack" => Some(RttSampling::EveryAck),
        _ => None,
    }
}

pub(super) fn show_sampling(value: &RttSampling) -> String {
    match value {
        RttSampling::OncePerRoundTrip => "once-per-round-trip",
        RttSampling::ThroughLoss => "through-loss",
        RttSampling::EveryAck => "every-ack",
    }
    .to_owned()
}

pub(super) fn scheduling(text: &str) -> Option<StreamScheduling> {
    StreamScheduling::ALL.into_iter().find(|kind| kind.name() == text)
}

pub(super) fn show_scheduling(value: &StreamScheduling) -> String {
    value.name().to_owned()
}

pub(super) fn stream_values(text: &str) -> Option<Vec<(u16, u16)>> {
    text.split_whitespace()
        .map(|pair| {
            let (stream, value) = pair.split_once('=')?;
            Some((stream.parse().ok()?, value.parse().ok()?))
        })
        .collect()
}

pub(super) fn show_stream_values(values: &[(u16, u16)]) -> String {
    values.iter().map(|(stream, value)| format!("{stream}={value}")).collect::<Vec<_>>().join(" ")
}

pub(super) fn cookie_size(text: &str) -> Option<u16> {
    // It must fit the smallest packet, 512 bytes, with its chunk header, beside the common header.
    bytes::<u16>(text).filter(|size| *size <= 480)
}

pub(super) fn show_bytes<T: ToString>(value: &T) -> String {
    format!("{} B", value.to_string())
}

pub(super) fn optional_duration(text: &str) -> Option<Option<Duration>> {
    if text == "off" { Some(None) } else { duration(text).map(Some) }
}

pub(super) fn show_optional_duration(value: &Option<Duration>) -> String {
    value.as_ref().map_or_else(|| "off".to_owned(), show_duration)
}
